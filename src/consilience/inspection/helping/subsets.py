"""Random subsets of the samples, and a view on them without a new search for neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...neighbors import CrossSpace, Space
from ...neighbors.spaces import CompressedRows, Edges, Floats, Index

SUBSET = 0.8  # share of the samples in a resample
Rows = NDArray[np.intp]


def draw_subsets(n_samples: int, n_subsets: int, seed: Any) -> list[Rows]:
    """Return random subsets of the samples, without replacement, each in ascending order.

    Examples
    --------
    >>> [rows.size for rows in draw_subsets(10, 2, seed=0)]
    [8, 8]
    """
    rng, size = np.random.default_rng(seed), subset_size(n_samples)
    return [np.sort(rng.choice(n_samples, size, replace=False)) for _ in range(n_subsets)]


def subset_size(n_samples: int) -> int:
    """Return how many samples a resample has."""
    return max(1, round(SUBSET * n_samples))


def n_to_search(n_neighbors: int) -> int:
    """Return how many neighbours to find so that a resample will hardly ever lack one of its own.

    Of the nearest K of all samples, a share `SUBSET` is in a resample, give or take chance.

    Examples
    --------
    >>> n_to_search(20)
    42
    """
    return int(np.ceil((n_neighbors + 3 * np.sqrt(n_neighbors)) / SUBSET))


class SubsetSpace:
    """A space of some of the samples, which asks the space of all.

    Neighbours are the same as a search among these samples would find: the nearest of all samples, without
    those that are not among them.

    Parameters
    ----------
    space : Space
        The view on all samples; it should remember its answers.
    rows : ndarray of int
        The samples, ascending.
    n_samples : int
        Number of all samples.

    Examples
    --------
    >>> import numpy as np
    >>> from consilience.neighbors import as_space
    >>> space = as_space(np.array([[0.0], [1.0], [1.5], [3.0]]), "euclidean")
    >>> SubsetSpace(space, np.array([0, 1, 3]), 4).nearest(1).ravel()
    array([1, 0, 1], dtype=int32)
    """

    def __init__(self, space: Space, rows: Rows, n_samples: int) -> None:
        self.space, self.rows, self.n_samples, self.kind = space, rows, n_samples, space.kind
        self._permuted: dict[bytes, SubsetSpace] = {}

    def nearest(self, k: int) -> Index:
        """Return each sample's k nearest others; its own index where there are fewer."""
        place = np.full(self.n_samples, -1, dtype=np.int32)
        place[self.rows] = np.arange(len(self.rows), dtype=np.int32)
        own = np.arange(len(self.rows), dtype=np.int32)[:, None]
        width = min(self.n_samples - 1, n_to_search(k))
        while True:
            asked = self.space.nearest(width)[self.rows]
            ended = asked[:, -1] == self.rows  # the view has no more neighbours to name
            found = place[asked]
            usable = (found >= 0) & (found != own)
            lacking = (usable.sum(axis=1) < k) & ~ended
            if width >= self.n_samples - 1 or not lacking.any():
                break
            width = min(self.n_samples - 1, 2 * width)
        order = np.argsort(~usable, axis=1, kind="stable")[:, :k]
        result = np.where(
            np.take_along_axis(usable, order, axis=1), np.take_along_axis(found, order, axis=1), own
        )
        if result.shape[1] < k:  # fewer others than asked for
            result = np.concatenate([result, np.repeat(own, k - result.shape[1], axis=1)], axis=1)
        return result.astype(np.int32)

    def on_edges(self, edges: Edges) -> Floats:
        """Return squared distances, or similarities, on the edges."""
        counts = np.zeros(self.n_samples, dtype=np.int64)
        counts[self.rows] = np.diff(edges.indptr)
        indptr = np.concatenate([[0], np.cumsum(counts)])
        # The index types of an EdgeSet, so that nothing is compiled again for others.
        return self.space.on_edges(CompressedRows(indptr, self.rows[edges.indices].astype(np.int32)))

    def mean_over_pairs(self) -> float:
        """Return the mean over all pairs of all samples."""
        return self.space.mean_over_pairs()

    def is_constant(self) -> bool:
        """Say whether all samples look the same, those that are not among these included."""
        return self.space.is_constant()

    def permuted(self, order: Rows) -> SubsetSpace:
        """Return the space of the same samples in another order."""
        key = order.tobytes()
        if key not in self._permuted:
            others = np.setdiff1d(np.arange(self.n_samples), self.rows, assume_unique=True)
            space = self.space.permuted(np.concatenate([self.rows[order], others]))
            self._permuted = {key: SubsetSpace(space, np.arange(len(order)), self.n_samples)}
        return self._permuted[key]

    def beside(self, queries: Any) -> CrossSpace:
        """Set new samples, as the space of all takes them, beside these."""
        return _SubsetCross(self.space.beside(queries), self.rows, self.n_samples)


class _SubsetCross:
    """New samples beside some of the samples of a space."""

    def __init__(self, cross: CrossSpace, rows: Rows, n_samples: int) -> None:
        self.cross, self.rows, self.n_samples, self.kind = cross, rows, n_samples, cross.kind

    def nearest(self, k: int) -> Index:
        """Return the k nearest of these samples for each new one; -1 where there are fewer."""
        place = np.full(self.n_samples, -1, dtype=np.int32)
        place[self.rows] = np.arange(len(self.rows), dtype=np.int32)
        width = min(self.n_samples, n_to_search(k))
        while True:
            asked = self.cross.nearest(width)
            found = np.where(asked < 0, np.int32(-1), place[asked])
            lacking = ((found >= 0).sum(axis=1) < k) & (asked[:, -1] >= 0)
            if width >= self.n_samples or not lacking.any():
                break
            width = min(self.n_samples, 2 * width)
        order = np.argsort(found < 0, axis=1, kind="stable")[:, :k]
        found = np.take_along_axis(found, order, axis=1)
        return np.pad(found, ((0, 0), (0, k - found.shape[1])), constant_values=-1)

    def on_edges(self, edges: Edges) -> Floats:
        """Return squared distances, or similarities, on edges to these samples."""
        return self.cross.on_edges(CompressedRows(edges.indptr, self.rows[edges.indices].astype(np.int32)))
