"""Rows of a view as another source would have measured them.

Of measurements, each feature has another scale and another zero point. Counts and sparse views have no zero
point to move: they must stay sparse, and what was not negative must not become so. Under the cosine, which
such views are mostly compared by, factors alone would hardly matter; what sets documents of two sources apart
is length and the words that a source puts into each of its documents.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.float64]
Positions = NDArray[np.intp]

SPREAD = 0.25  # standard deviation of the logarithm of a feature's factor
OFFSETS = (2.0, 4.0)  # in standard deviations of the feature, up or down
LENGTHENED = 3.0  # a document is so many times as long
N_WORDS = 10  # that the source puts into each document: a tenth of the columns, and at most so many
WORDS_SHARE = 0.7  # of the length of the document without them, both in the Euclidean norm


def from_other_source(
    array: Any, members: Positions, batch: Positions, columns: Positions, rng: np.random.Generator
) -> Any:
    """Return a view in which the rows of a batch come from another source, all in the same way.

    Parameters
    ----------
    array : ndarray or CSR of shape (n, d)
        The view.
    members, batch : ndarray of int
        The rows that there are; those of them that come from the other source.
    columns : ndarray of int
        The columns that hold measured numbers, the only ones that change.
    rng : Generator
        For factors, offsets and words.

    Returns
    -------
    ndarray or CSR of shape (n, d)
        Sparse if it was, of the same type and precision.
    """
    d = columns.size
    factors = np.exp(SPREAD * rng.standard_normal(d))
    offsets = rng.choice([-1.0, 1.0], d) * rng.uniform(*OFFSETS, d)
    words = rng.permutation(d)[: max(1, min(N_WORDS, d // 10))]
    if sparse.issparse(array):
        block = _lengthened(array[batch].astype(np.float64), factors, words, _is_whole(array.data))
        everything = sparse.vstack([array, block.astype(array.dtype)], format="csr")
        order = np.arange(array.shape[0])
        order[batch] = array.shape[0] + np.arange(batch.size)
        return type(array)(everything[order])
    known = array[np.ix_(members, columns)].astype(np.float64)
    rows = array[np.ix_(batch, columns)].astype(np.float64)
    if _is_counted(known):
        block = _lengthened(sparse.csr_array(rows), factors, words, _is_whole(known)).toarray()
    else:
        block = rows * factors + offsets * _deviations(known)
    changed = array.copy()
    with np.errstate(over="ignore"):  # `Views` says where an infinite entry is
        changed[np.ix_(batch, columns)] = block
    return changed


def _lengthened(rows: Any, factors: Floats, words: Positions, whole: bool) -> Any:
    """Return longer documents, with the words of their source; whole numbers stay so, and none vanishes."""
    n, d = rows.shape
    norms = np.sqrt(np.bincount(_row_numbers(rows), np.nan_to_num(rows.data) ** 2, minlength=n))
    # In proportion to a document's own length, so that who is near whom in direction stays as it was.
    added = np.repeat(WORDS_SHARE * norms / np.sqrt(words.size), words.size)
    places = np.tile(np.sort(words), n).astype(rows.indices.dtype)  # SciPy would widen those of the rows
    starts = np.arange(n + 1, dtype=rows.indptr.dtype) * words.size
    header = sparse.csr_array((added, places, starts), shape=(n, d))
    longer = sparse.csr_array(rows, copy=True)
    longer.data *= factors[longer.indices]
    longer = sparse.csr_array(LENGTHENED * (longer + header))
    if whole:
        longer.data = np.copysign(np.ceil(np.abs(longer.data)), longer.data)
    longer.eliminate_zeros()
    return longer


def _row_numbers(rows: Any) -> Positions:
    return np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))


def _is_counted(known: Floats) -> bool:
    """Say whether a dense view counts: nothing negative, and whole numbers or half of all entries 0."""
    return not (known < 0).any() and (_is_whole(known) or bool((known == 0).mean() >= 0.5))


def _is_whole(values: NDArray[Any]) -> bool:
    present = values[~np.isnan(values)]
    return bool((present == np.floor(present)).all())


def _deviations(known: Floats) -> Floats:
    """Return the standard deviation of each column over its cells that are not empty; 0 if all are."""
    n = np.maximum((~np.isnan(known)).sum(axis=0), 1)
    with np.errstate(over="ignore"):
        squares = np.nansum((known - np.nansum(known, axis=0) / n) ** 2, axis=0)
    return np.sqrt(squares / n)
