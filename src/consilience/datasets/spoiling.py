"""What each corruption does to views.

Each function takes the views, the number of "the one" view and a random generator, and returns the spoiled
views and which of their rows are spoiled. What is given is never changed. As much is drawn for a small
share as for a large one, so that what the one spoils is among what the other does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from itertools import cycle, islice
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..views import Encoding, Views
from ..views.reading import Array, take_samples
from ..words import quoted
from .amputation import ampute
from .other_source import from_other_source

Bools: TypeAlias = NDArray[np.bool_]
Spoiled: TypeAlias = tuple[Views, Bools]

NOISE_WIDTHS = (10, 50, 200)
N_COPIES = 3
RESCALED_SHARE = 0.2
RESCALED_BY = 1000.0
N_HUGE = 2
HUGE = 1000.0


def leave(views: Views, one: int, rng: np.random.Generator) -> Spoiled:
    """Leave the views as they are."""
    return views, _no_rows(views)


def add_noise(views: Views, one: int, rng: np.random.Generator, *, per_view: int) -> Spoiled:
    """Add views of standard Gaussian features, so many for each view; they have seen all samples."""
    n = views.n_samples
    dtype = np.result_type(*(array.dtype for array in views.arrays))
    widths = list(islice(cycle(NOISE_WIDTHS), per_view * views.n_views))
    arrays = [rng.standard_normal((n, width)).astype(dtype) for width in widths]
    noisy = _appended(views, "noise", arrays)
    return noisy, np.hstack([_no_rows(views), np.ones((n, len(arrays)), dtype=bool)])


def shuffle_one(views: Views, one: int, rng: np.random.Generator, *, share: float) -> Spoiled:
    """Permute a share of the rows of one view among themselves."""
    return _shuffled(views, [one], share, rng)


def shuffle_all(views: Views, one: int, rng: np.random.Generator, *, share: float) -> Spoiled:
    """Permute a share of the rows of every view among themselves, drawn for each view anew."""
    return _shuffled(views, range(views.n_views), share, rng)


def copy_view(views: Views, one: int, rng: np.random.Generator) -> Spoiled:
    """Add copies of one view. A copy says nothing wrong, so no row of it is spoiled."""
    copied = _appended(views, "copy", [views.arrays[one]] * N_COPIES, like=one)
    return copied, _no_rows(copied)


def shift_batch(views: Views, one: int, rng: np.random.Generator) -> Spoiled:
    """Let half of the rows of one view come from another source."""
    columns = _numeric_columns(views, one)
    if not columns.size:
        _refuse(views, one, "has no column of numbers that another source could measure differently")
    members = _members(views, one)
    batch = np.sort(rng.permutation(members)[: round(members.size / 2)])
    if not batch.size:
        _refuse(views, one, "has too few rows: half of them are to come from another source")
    rows = _no_rows(views)
    rows[batch, one] = True
    shifted = from_other_source(views.arrays[one], members, batch, columns, rng)
    return _replaced(views, {one: shifted}), rows


def rescale_columns(views: Views, one: int, rng: np.random.Generator) -> Spoiled:
    """Multiply a fifth of the columns of numbers of every view, one at least; matrices between samples stay.

    Every row changes alike and still describes its sample, so no row is spoiled.
    """
    arrays = {}
    for i, array in enumerate(views.arrays):
        columns = rng.permutation(_numeric_columns(views, i))
        if columns.size:
            factors = np.ones(array.shape[1], dtype=array.dtype)
            factors[columns[: max(1, round(RESCALED_SHARE * columns.size))]] = RESCALED_BY
            arrays[i] = _times(array, factors)
    if not arrays:
        raise ValueError("No view has a column of numbers that could be in another unit.")
    return _replaced(views, arrays), _no_rows(views)


def add_huge_columns(views: Views, one: int, rng: np.random.Generator) -> Spoiled:
    """Append columns of noise to one view, far larger than its entries; a sparse view stays sparse.

    Every row gets them and still describes its sample in its other columns, so no row is spoiled.
    """
    if views.pairwise[one]:
        _refuse(views, one, "is a matrix between samples: it has no features that columns could be added to")
    array = views.arrays[one]
    values = array.data if sparse.issparse(array) else array
    largest = float(np.nanmax(np.abs(values), initial=0.0)) or 1.0
    with np.errstate(over="ignore"):  # `Views` says where an infinite entry is
        noise = (HUGE * largest * rng.standard_normal((array.shape[0], N_HUGE))).astype(array.dtype)
    draft = copy(views)
    wider = sparse.hstack([array, type(array)(noise)], format="csr") if sparse.issparse(array) else None
    draft.arrays = _put(views.arrays, one, np.hstack([array, noise]) if wider is None else type(array)(wider))
    labels, encoding = views.columns[one], views.encodings[one]
    if labels is not None:
        draft.columns = _put(views.columns, one, _with_new_labels(labels))
    if encoding is not None:
        kinds, categories = (*encoding.kinds, *["numeric"] * N_HUGE), (*encoding.categories, *[None] * N_HUGE)
        draft.encodings = _put(views.encodings, one, Encoding(kinds, categories))  # type: ignore[arg-type]
    return Views(draft), _no_rows(views)


def remove_rows(views: Views, one: int, rng: np.random.Generator, *, share: float) -> Spoiled:
    """Take away a share of the rows that the views have, as far as every sample stays in one view."""
    n_pairs = views.n_samples * views.n_views
    n_seen = n_pairs if views.mask is None else int(views.mask.sum())
    n_removed = min(round(share * n_seen), n_seen - views.n_samples)
    if n_removed == 0:
        raise ValueError(
            f"No row can be taken away: there are {n_seen} rows of {views.n_samples} samples, a share of "
            f"{share:g} is to go, and every sample must stay in one view."
        )
    seed = int(rng.integers(2**31))
    rate = (n_pairs - n_seen + n_removed) / n_pairs  # `ampute` counts what is missing already
    return ampute(views, rate, random_state=seed), _no_rows(views)


def _shuffled(views: Views, which: Iterable[int], share: float, rng: np.random.Generator) -> Spoiled:
    """Permute rows that these views have seen in one cycle, so that no row stays in its place.

    Of a matrix between samples, rows and columns change places together.
    """
    rows, arrays = _no_rows(views), {}
    for i in which:
        members = rng.permutation(_members(views, i))
        chosen = members[: round(share * members.size)]
        if chosen.size < 2:
            _refuse(views, i, f"has {members.size} rows: a share of {share:g} is too few to permute")
        order = np.arange(views.n_samples)
        order[chosen] = np.roll(chosen, 1)
        arrays[i] = take_samples(views.arrays[i], order, views.pairwise[i])
        rows[chosen, i] = True
    return _replaced(views, arrays), rows


def _no_rows(views: Views) -> Bools:
    return np.zeros((views.n_samples, views.n_views), dtype=bool)


def _members(views: Views, i: int) -> NDArray[np.intp]:
    """Return the samples that a view has seen."""
    seen = views.seen(i)
    return np.arange(views.n_samples) if seen is None else np.flatnonzero(seen)


def _numeric_columns(views: Views, i: int) -> NDArray[np.intp]:
    """Return the columns that hold measured numbers: not codes of categories, nor those of other samples."""
    encoding = views.encodings[i]
    if views.pairwise[i]:
        return np.arange(0)
    if encoding is None:
        return np.arange(views.n_features[i])
    return np.flatnonzero([kind == "numeric" for kind in encoding.kinds])


def _times(array: Array, factors: NDArray[Any]) -> Array:
    """Multiply the columns; those with the factor 1 keep their bits."""
    with np.errstate(over="ignore"):  # `Views` says where an infinite entry is
        if not sparse.issparse(array):
            return array * factors
        product = array.copy()
        product.data *= factors[product.indices]
    return product


def _replaced(views: Views, arrays: Mapping[int, Array]) -> Views:
    """Return the views with other values in some of them, and all else as it was."""
    draft = copy(views)
    draft.arrays = tuple(arrays.get(i, array) for i, array in enumerate(views.arrays))
    return Views(draft)  # which checks the values


def _appended(views: Views, prefix: str, arrays: Sequence[Array], like: int | None = None) -> Views:
    """Return the views with others after them: features that have seen all, or all that one of them is."""
    draft, n_new = copy(views), len(arrays)
    draft.names = (*views.names, *_new_names(prefix, n_new, views.names))
    draft.arrays = (*views.arrays, *arrays)
    for part, default in (("pairwise", False), ("columns", None), ("encodings", None), ("graphs", None)):
        own = getattr(views, part)
        setattr(draft, part, (*own, *[default if like is None else own[like]] * n_new))
    if views.mask is not None:
        seen = np.ones(views.n_samples, dtype=bool) if like is None else views.mask[:, like]
        draft.mask = np.column_stack([views.mask, *[seen] * n_new])
    return Views(draft)


def _new_names(prefix: str, n: int, taken: Iterable[Any]) -> list[str]:
    """Return numbered names that are not taken."""
    known = set(map(str, taken))
    numbers = (f"{prefix}_{k}" for k in range(n + len(known)))
    return list(islice((name for name in numbers if name not in known), n))


def _with_new_labels(labels: NDArray[Any]) -> NDArray[Any]:
    """Return labels of columns with new ones for columns of noise; numbers among them stay numbers."""
    new = _new_names("noise", N_HUGE, labels)
    if labels.dtype.kind == "U":
        return np.concatenate([labels, new])
    return np.fromiter([*labels.tolist(), *new], dtype=object, count=labels.size + N_HUGE)


def _put(parts: tuple[Any, ...], i: int, part: Any) -> tuple[Any, ...]:
    return (*parts[:i], part, *parts[i + 1 :])


def _refuse(views: Views, i: int, why: str) -> NoReturn:
    raise ValueError(f"View {quoted(views.names[i])} {why}.")
