"""How well the clusters of an embedding are found again in halves of the samples.

There are many small runs of k-means. scikit-learn's version would spend most of the time on checks and
threads, so there is a simple one here, and an adjusted Rand index of numbered labels. Tests compare both with
scikit-learn's.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ..engines.embedding import unit_rows

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]

_RESTARTS, _MAX_ITER = 2, 30  # of k-means on a half
_SEED_OF_NULL = 0  # the null, of a graph without structure, does not depend on a user's seed


def stability_of(
    take: Callable[[IntArray], FloatArray],
    n_samples: int,
    candidates: IntArray,
    size: int,
    n_resamples: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Return the agreement of halves of `size` samples, new ones each time: (candidates, resamples).

    `take` returns some rows of the embedding.
    """
    agreement = np.zeros((len(candidates), n_resamples))
    for j in range(n_resamples):
        drawn = take(rng.permutation(n_samples)[:size])
        for i, c in enumerate(candidates.tolist()):
            agreement[i, j] = _halves_agree(unit_rows(drawn[:, :c]), c, rng)
    return agreement


@lru_cache(maxsize=64)
def null_stability(largest: int, size: int, n_resamples: int) -> FloatArray:
    """Return the mean agreement of halves without structure, for 2 to `largest` clusters.

    The eigenvectors of a random graph are like Gaussian vectors, except the first, which is constant.
    """
    rng = np.random.default_rng(_SEED_OF_NULL)
    agreement = np.zeros((max(largest - 1, 0), n_resamples))
    for j in range(n_resamples):
        drawn = rng.standard_normal((size, largest))
        drawn[:, 0] = 1.0
        for c in range(2, largest + 1):
            agreement[c - 2, j] = _halves_agree(unit_rows(drawn[:, :c]), c, rng)
    mean = agreement.mean(axis=1)
    mean.flags.writeable = False  # it is kept for the next call
    return mean


def _halves_agree(rows: FloatArray, n_clusters: int, rng: np.random.Generator) -> float:
    """Return the adjusted Rand index of the clusters that the halves of these rows give to all of them."""
    rows = rows[rows.any(axis=1)]  # samples that no eigenvector represents are left out
    half = len(rows) // 2
    if half < n_clusters:
        return 0.0
    first, second = (_nearest(rows, kmeans_centres(part, n_clusters, rng)) for part in np.split(rows, [half]))
    return adjusted_rand(first, second, n_clusters)


def adjusted_rand(first: IntArray, second: IntArray, n_clusters: int) -> float:
    """Return the adjusted Rand index of labels below `n_clusters`."""
    table = np.bincount(first * n_clusters + second, minlength=n_clusters**2).reshape(n_clusters, -1)

    def pairs(counts: npt.NDArray[np.integer]) -> float:
        return float((counts * (counts - 1.0)).sum() / 2)

    n = len(first)
    both, one, other = pairs(table), pairs(table.sum(axis=1)), pairs(table.sum(axis=0))
    expected, most = one * other / (n * (n - 1) / 2), (one + other) / 2
    return 1.0 if most == expected else (both - expected) / (most - expected)


def kmeans_centres(rows: FloatArray, n_clusters: int, rng: np.random.Generator) -> FloatArray:
    """Return the centres of the better of two runs of k-means."""
    runs = [_lloyd(rows, _spread_centres(rows, n_clusters, rng)) for _ in range(_RESTARTS)]
    return min(runs, key=lambda run: run[1])[0]


def _spread_centres(rows: FloatArray, n_clusters: int, rng: np.random.Generator) -> FloatArray:
    """Return the first centres: each the best of some rows drawn by their squared distance (k-means++)."""
    n_trials = 2 + int(np.log(n_clusters))
    squares = np.einsum("ij,ij->i", rows, rows)
    chosen = [int(rng.integers(len(rows)))]
    nearest = _squared_distances(rows, squares, np.array(chosen))[:, 0]
    for _ in range(n_clusters - 1):
        steps = np.cumsum(nearest)
        trials = np.searchsorted(steps, rng.random(n_trials) * steps[-1]).clip(max=len(rows) - 1)
        after = np.minimum(_squared_distances(rows, squares, trials), nearest[:, None])
        best = int(np.argmin(after.sum(axis=0)))
        chosen.append(int(trials[best]))
        nearest = after[:, best]
    return rows[chosen]


def _squared_distances(rows: FloatArray, squares: FloatArray, which: IntArray) -> FloatArray:
    distances = squares[:, None] + squares[which] - 2 * (rows @ rows[which].T)
    return np.maximum(distances, 0.0, out=distances)


def _nearest(rows: FloatArray, centres: FloatArray) -> IntArray:
    """Return the number of each row's nearest centre."""
    return (rows @ centres.T - np.einsum("ij,ij->i", centres, centres) / 2).argmax(axis=1)


def _lloyd(rows: FloatArray, centres: FloatArray) -> tuple[FloatArray, float]:
    """Return the centres that k-means finds, and the sum of squared distances to them."""
    labels = _nearest(rows, centres)
    for _ in range(_MAX_ITER):
        members = np.zeros((len(rows), len(centres)))
        members[np.arange(len(rows)), labels] = 1.0
        sizes = members.sum(axis=0)[:, None]
        centres = np.where(sizes > 0, members.T @ rows / np.maximum(sizes, 1.0), centres)
        before, labels = labels, _nearest(rows, centres)
        if np.array_equal(before, labels):
            break
    return centres, float(((rows - centres[labels]) ** 2).sum())
