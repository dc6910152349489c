"""k-means on many rows: restarts on a sample, then Lloyd's iteration on all rows.

A restart on all rows costs as much for a million rows as thirty on a sample do, and finds the same. The
sample is drawn by the lengths of the rows as well as evenly: the rows of a cluster in an orthonormal
embedding have squares that add up to about 1, even for a very small cluster, so that all clusters are seen.
Each row drawn counts for all rows that it stands for, and the answer is that of k-means on all rows.

Rows are worked on in fixed blocks and sums are added in order: the labels do not depend on the number of
threads.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state

from .. import threads
from ..embedding import unit_rows
from ..results import Clusters

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]
Rows = npt.NDArray[np.float32]

MANY = 50_000  # rows: up to here restarts with all of them
_SAMPLE, _PER_CLUSTER = 20_000, 100  # rows that restarts run on
_BLOCK = 4096  # rows that are worked on together
_PARTS = 64  # separate sums at most
_SETTLED = 1e-5  # share of the rows that may still change their cluster
_ROUNDS = 100  # with all rows; where these are not enough there are no clear clusters


def kmeans_of_many(
    vectors: npt.NDArray[np.floating],
    n_clusters: int,
    n_init: int,
    max_iter: int,
    unit: bool,
    random_state: np.random.RandomState | int | None,
) -> Clusters:
    """Return the clusters of k-means, on one thread of BLAS and OpenMP.

    Parameters
    ----------
    vectors : ndarray of shape (n, c)
        At least as many rows as clusters, none of them 0.
    n_clusters : int
        Number of clusters.
    n_init, max_iter : int
        As in scikit-learn's KMeans, on the sample; with all rows there are never more than 100 iterations.
    unit : bool
        Whether to scale rows to unit length.
    random_state : int, RandomState or None
        Draws the sample, and the first centres.

    Examples
    --------
    >>> rows = np.repeat(np.eye(2), 3, axis=0)
    >>> found = kmeans_of_many(rows, 2, n_init=3, max_iter=10, unit=True, random_state=0)
    >>> found.labels[:3] == found.labels[3:]
    array([False, False, False])
    """
    state = check_random_state(random_state)
    leverage = np.einsum("ij,ij->i", vectors, vectors)
    rows = _in_single_precision(vectors, unit)
    drawn, weights = _sample(leverage, max(_SAMPLE, _PER_CLUSTER * n_clusters), state)
    # In double precision: scikit-learn is slow to find first centres in single precision.
    some = rows[drawn].astype(np.float64)
    seeds = state.randint(np.iinfo(np.int32).max, size=n_init).tolist()
    models = [KMeans(n_clusters, n_init=1, max_iter=max_iter, tol=0.0, random_state=seed) for seed in seeds]

    def restart(first: int, last: int) -> None:
        with threads.libraries_on_one_thread():
            for model in models[first:last]:
                model.fit(some, sample_weight=weights)

    threads.for_ranges(restart, n_init)
    best = min(models, key=lambda model: model.inertia_)  # the first of equal ones
    return lloyd(rows, best.cluster_centers_, min(max_iter, _ROUNDS))


def _in_single_precision(vectors: npt.NDArray[np.floating], unit: bool) -> Rows:
    """Return the rows, scaled to unit length or not."""
    rows = np.empty(vectors.shape, dtype=np.float32)
    for begin in range(0, len(rows), 2 * _BLOCK):
        part = vectors[begin : begin + 2 * _BLOCK]
        rows[begin : begin + 2 * _BLOCK] = unit_rows(part) if unit else part
    return rows


def _sample(
    leverage: npt.NDArray[np.floating], size: int, random_state: np.random.RandomState
) -> tuple[IntArray, FloatArray]:
    """Return about this many rows, half of them drawn evenly and half by leverage, and their weights."""
    n = len(leverage)
    chance = np.minimum(size * (0.5 / n + 0.5 * leverage / leverage.sum()), 1.0)
    drawn = np.flatnonzero(random_state.random_sample(n) < chance)
    return drawn, 1.0 / chance[drawn]


def lloyd(rows: Rows, centres: FloatArray, max_iter: int) -> Clusters:
    """Return the clusters that Lloyd's iteration finds from given centres; an empty one keeps its centre.

    Examples
    --------
    >>> rows = np.array([[0.0], [1.0], [8.0]], dtype=np.float32)
    >>> found = lloyd(rows, np.array([[0.0], [1.0]]), 10)
    >>> found.labels, found.centers.ravel()
    (array([0, 0, 1]), array([0.5, 8. ]))
    """
    labels = np.full(len(rows), -1, dtype=np.intp)
    for _ in range(max_iter):
        sums, sizes, n_changed = _assign(rows, centres, labels)
        if n_changed <= _SETTLED * len(rows):
            break
        centres = np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1)[:, None], centres)
    return Clusters(labels, centres)


def _assign(
    rows: Rows, centres: FloatArray, labels: IntArray
) -> tuple[FloatArray, npt.NDArray[np.int64], int]:
    """Assign rows to their nearest centres; return sums and sizes of the clusters, and the rows moved."""
    n, k = len(rows), len(centres)
    n_parts = max(1, min(_PARTS, n // _BLOCK))
    bounds = [n * p // n_parts for p in range(n_parts + 1)]
    sums, sizes = np.zeros((n_parts, *centres.shape)), np.zeros((n_parts, k), dtype=np.int64)
    changed = np.zeros(n_parts, dtype=np.int64)
    factor, offset = centres.T.astype(rows.dtype), (np.square(centres).sum(axis=1) / 2).astype(rows.dtype)

    def parts(first: int, last: int) -> None:
        for p in range(first, last):
            for block in _blocks(bounds[p], bounds[p + 1]):
                nearest = (rows[block] @ factor - offset).argmax(axis=1)
                changed[p] += np.count_nonzero(nearest != labels[block])
                labels[block] = nearest
                sizes[p] += np.bincount(nearest, minlength=k)
                sums[p] += _members(nearest, k, rows.dtype) @ rows[block]

    threads.for_ranges(parts, n_parts)
    return sums.sum(axis=0), sizes.sum(axis=0), int(changed.sum())


def _members(nearest: IntArray, n_clusters: int, dtype: npt.DTypeLike) -> sparse.csc_array:
    """Return the matrix with a one where a row (column here) belongs to a cluster (row here)."""
    m = len(nearest)
    return sparse.csc_array((np.ones(m, dtype), nearest, np.arange(m + 1)), shape=(n_clusters, m))


def _blocks(first: int, last: int) -> Iterator[slice]:
    for begin in range(first, last, _BLOCK):
        yield slice(begin, min(begin + _BLOCK, last))
