"""Corruptions: views spoiled in known ways, next to what an oracle that knows the fault would be given."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..views import Views, as_views
from ..words import counted_of, quoted
from . import spoiling
from .synthetic import _integer

Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False, repr=False)
class Corrupted:
    """Views that are spoiled, together with what is left for one who knows how.

    Attributes
    ----------
    name : str
        Name of the corruption.
    views : Views
        What systems are given: all samples in the same order, with their ids. Added views are the last.
    oracle : Views
        What is left for one who knows what was spoiled: spoiled rows are masked, views without any other row
        and added views are removed, and what was rescaled, enlarged or taken away is as it was.
        Samples that are not `scored` are not in it.
    rows : ndarray of bool, shape (n_samples, number of `views`)
        True where a row is spoiled: it is that of another sample, noise, or from another source. Copies,
        rows in other units or with more columns, and rows taken away are none.
    scored : ndarray of bool, shape (n_samples,)
        False for samples of which no row is left that is not spoiled: nobody can be expected to know them, so
        score nobody on them.
    description : str
        What was done, in one sentence.

    See Also
    --------
    corrupt : Makes it, with an example.
    """

    name: str
    views: Views
    oracle: Views
    rows: Bools
    scored: Bools
    description: str

    @property
    def oracle_samples(self) -> NDArray[np.intp]:
        """The samples that the oracle has, as positions among all: those that are scored."""
        return np.flatnonzero(self.scored)

    def __repr__(self) -> str:
        kept = counted_of(self.oracle.n_views, self.views.n_views, "view")
        return (
            f"Corrupted({self.name!r}: {int(self.rows.sum())} spoiled rows, "
            f"{int(self.scored.sum())} of {self.scored.size} samples scored, {kept} for the oracle)"
        )


@dataclass(frozen=True)
class _Corruption:
    spoil: Callable[[Views, int, np.random.Generator], spoiling.Spoiled]
    text: str  # {view} is the view that is hit
    stream: str  # of random numbers: corruptions with the same one share what they draw
    n_views: int = 1  # that it needs


def _shuffle_one(percent: int) -> _Corruption:
    text = f"{percent} % of the rows of {{view}} are permuted among themselves."
    return _Corruption(partial(spoiling.shuffle_one, share=percent / 100), text, "shuffle-one")


def _shuffle_all(percent: int) -> _Corruption:
    text = f"{percent} % of the rows of every view are permuted among themselves, others in each view."
    return _Corruption(partial(spoiling.shuffle_all, share=percent / 100), text, "shuffle-all")


def _missing(percent: int) -> _Corruption:
    text = f"{percent} % of the rows of all views are missing."
    return _Corruption(partial(spoiling.remove_rows, share=percent / 100), text, "missing", 2)


def _noise(per_view: int, words: str) -> _Corruption:
    text = f"Views of Gaussian noise are added, {words} for each view."
    return _Corruption(partial(spoiling.add_noise, per_view=per_view), text, "noise")


_CORRUPTIONS = {
    "clean": _Corruption(spoiling.leave, "The views are as they were.", "clean"),
    "noise-1:1": _noise(1, "one"),
    "noise-2:1": _noise(2, "two"),
    "shuffled-view": _Corruption(
        partial(spoiling.shuffle_one, share=1.0), "All rows of {view} are permuted.", "shuffled-view", 2
    ),
    "shuffle-one-10": _shuffle_one(10),
    "shuffle-one-30": _shuffle_one(30),
    "shuffle-all-10": _shuffle_all(10),
    "shuffle-all-30": _shuffle_all(30),
    "copies": _Corruption(spoiling.copy_view, "Three more copies of {view} are added.", "copies"),
    "batch-shift": _Corruption(
        spoiling.shift_batch,
        "Half of the rows of {view} come from another source, which measures each feature differently.",
        "batch-shift",
    ),
    "rescaled-columns": _Corruption(
        spoiling.rescale_columns,
        "A fifth of the columns of every view are in another unit, a thousand times as large.",
        "rescaled-columns",
    ),
    "huge-columns": _Corruption(
        spoiling.add_huge_columns,
        "Two columns of noise, a thousand times its largest entry, are added to {view}.",
        "huge-columns",
    ),
    "missing-10": _missing(10),
    "missing-30": _missing(30),
}


def corruptions() -> dict[str, str]:
    """Return the names of the corruptions that `corrupt` knows, and what each does.

    Examples
    --------
    >>> from consilience.datasets import corruptions
    >>> list(corruptions())[:4]
    ['clean', 'noise-1:1', 'noise-2:1', 'shuffled-view']
    >>> corruptions()["shuffle-one-30"]
    '30 % of the rows of one view are permuted among themselves.'
    """
    return {name: corruption.text.format(view="one view") for name, corruption in _CORRUPTIONS.items()}


def corrupt(views: Any, corruption: str, *, random_state: int = 0) -> Corrupted:
    """Spoil views in a known way, and say what is left for one who knows it.

    Score a system on `views` next to the same system on `oracle`: the difference is what the fault costs it,
    apart from what nobody could have saved.

    Parameters
    ----------
    views : list, tuple, mapping, array, sparse matrix, DataFrame or Views
        The views, as `Views` takes them. They are never changed.
    corruption : str
        What to do; `corruptions()` lists the names.

        - "clean": nothing.
        - "noise-1:1", "noise-2:1": views of standard Gaussian features are added, one or two for each view,
          of 10, 50, 200, 10, 50, ... features.
        - "shuffled-view": all rows of one view are permuted.
        - "shuffle-one-10", "shuffle-one-30": 10 or 30 % of the rows of one view are permuted among
          themselves. "shuffle-all-10", "shuffle-all-30": the same in every view, drawn for each view anew.
        - "copies": three more copies of one view are added.
        - "batch-shift": half of the rows of one view come from another source; see the notes.
        - "rescaled-columns": a fifth of the columns of every view, one at least, are multiplied by 1000.
        - "huge-columns": two columns of Gaussian noise are added to one view, with a standard deviation of
          1000 times its largest absolute entry.
        - "missing-10", "missing-30": 10 or 30 % of the rows that the views have are taken away by `ampute`,
          or as many as can be if every sample stays in one view.
    random_state : int, default=0
        The seed. It also says which view "one view" is, the same one for all corruptions.

    Returns
    -------
    Corrupted
        The spoiled views, the views for the oracle, which rows were spoiled, and which samples to score.

    Raises
    ------
    ValueError
        If the name is unknown, or the corruption makes no sense for the views: it needs two views, or columns
        of numbers in a view that is a graph; or there are too few rows to spoil any (to permute takes two).

    Notes
    -----
    What is drawn depends on the seed, the name and the numbers of samples, views and features alone. What the
    smaller share of a corruption spoils is among what the larger share does; shares are rounded to whole
    numbers (halves to even). Of a view that misses samples, only the rows that it has are spoiled and
    counted.

    Rows are permuted in one cycle, so none stays in its place. Of a matrix between samples or a graph, rows
    and columns are permuted together: samples change their places inside this view. Columns of categories are
    permuted with their rows, and never rescaled or shifted; nor are matrices between samples, of which
    "batch-shift" and "huge-columns" refuse any, and "rescaled-columns" only nothing else.

    "batch-shift" multiplies each feature of the rows by a log-normal factor (the logarithm has a standard
    deviation of 0.25) and adds or subtracts 2 to 4 of the feature's standard deviations, the same for all
    these rows. Sparse views and dense ones of counts (nothing negative, and whole numbers or at least half
    zeros) stay sparse and not negative: the rows are multiplied by such factors, gain up to ten words (a
    tenth of the columns at most) of 0.7 times their Euclidean norm together, and are made three times as
    long; whole numbers are rounded up to whole numbers. A row of zeros stays one.

    See Also
    --------
    corruptions : Names and descriptions.
    ampute : Only missing samples, in several patterns.
    make_multiview : Synthetic views, with faults.

    Examples
    --------
    >>> from consilience.datasets import corrupt, make_multiview
    >>> clean = make_multiview(200, n_views=3, random_state=0).views
    >>> spoiled = corrupt(clean, "shuffle-all-30", random_state=0)
    >>> spoiled
    Corrupted('shuffle-all-30': 180 spoiled rows, 194 of 200 samples scored, 3 of 3 views for the oracle)
    >>> spoiled.rows.sum(axis=0).tolist(), len(spoiled.views), len(spoiled.oracle)
    ([60, 60, 60], 200, 194)
    >>> corrupt(clean, "shuffled-view").description
    "All rows of view 'view_1' are permuted."
    """
    if corruption not in _CORRUPTIONS:
        raise ValueError(f"Unknown corruption {corruption!r}; known: {', '.join(map(repr, _CORRUPTIONS))}.")
    chosen, given = _CORRUPTIONS[corruption], as_views(views)
    seed = _integer(random_state, "random_state", 0)
    if given.n_views < chosen.n_views:
        raise ValueError(f"{corruption!r} needs {chosen.n_views} views or more; there is {given.n_views}.")
    one = int(_generator(seed, "one view").integers(given.n_views))
    spoiled, rows = chosen.spoil(given, one, _generator(seed, chosen.stream))
    left = ~rows if spoiled.mask is None else spoiled.mask & ~rows
    scored = np.asarray(left.any(axis=1))
    if not scored.any():
        raise ValueError(f"{corruption!r} leaves nothing of any sample: no view has another row.")
    oracle = _without(given, rows[:, : given.n_views])
    text = chosen.text.format(view=f"view {quoted(given.names[one])}")
    return Corrupted(corruption, spoiled, oracle, rows, scored, text)


def _generator(seed: int, stream: str) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence([seed, zlib.crc32(stream.encode())]))


def _without(views: Views, rows: Bools) -> Views:
    """Return the views without these rows, without samples that have no other, and without such views."""
    if not rows.any():
        return views
    left = ~rows if views.mask is None else views.mask & ~rows
    samples = left.any(axis=1)
    kept = left.any(axis=0) | ~rows.any(axis=0)
    some = views if samples.all() else views[np.flatnonzero(samples)]
    return Views(some.select(np.flatnonzero(kept).tolist()), mask=left[np.ix_(samples, kept)])
