"""Some of the samples of a placed view, without a new search for neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..protocol import enough_for_subset
from ..results import Neighbors
from .protocol import CompressedRows, Edges, Floats, Index, Kind, Points, Queries

Rows = NDArray[np.intp]


class SubsetPoints:
    """Points of some of the samples, which use the points of all.

    Neighbours are the same as a search among these samples would find: the nearest of all samples, without
    those that are not among them.

    Parameters
    ----------
    points : Points
        The view on all samples; it should keep its answers.
    rows : ndarray of int
        The samples, ascending.
    n_samples : int
        Number of all samples.

    Examples
    --------
    >>> import numpy as np
    >>> from consilience.engines.numba.points.features import DensePoints
    >>> points = DensePoints(np.array([[0.0], [1.0], [1.5], [3.0]]), cosine=False)
    >>> SubsetPoints(points, np.array([0, 1, 3]), 4).nearest(1).lists.ravel()
    array([1, 0, 1], dtype=int32)
    """

    def __init__(self, points: Points, rows: Rows, n_samples: int) -> None:
        self.points, self.rows, self.n_samples = points, rows, n_samples
        self.kind: Kind = points.kind
        self.ranks_ties = points.ranks_ties
        self._reordered: dict[bytes, SubsetPoints] = {}

    def _places(self) -> Index:
        """Return the place of each sample among these; -1 for the others."""
        place = np.full(self.n_samples, -1, dtype=np.int32)
        place[self.rows] = np.arange(len(self.rows), dtype=np.int32)
        return place

    def nearest(self, k: int, search: str = "exact") -> Neighbors:
        """Return each sample's k nearest others; its own number where there are fewer."""
        place = self._places()
        own = np.arange(len(self.rows), dtype=np.int32)[:, None]
        width = min(self.n_samples - 1, enough_for_subset(k, len(self.rows) / self.n_samples))
        while True:
            asked = self.points.nearest(width, search)
            lists = asked.lists[self.rows]
            ended = lists[:, -1] == self.rows  # the view has no more neighbours to name
            found = place[lists]
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
        return Neighbors(result.astype(np.int32), asked.report)

    def measure(self, edges: Edges, known: Any = None) -> Floats:
        """Return squared distances, or similarities, on the edges."""
        counts = np.zeros(self.n_samples, dtype=np.int64)
        counts[self.rows] = np.diff(edges.indptr)
        indptr = np.concatenate([[0], np.cumsum(counts)])
        # The index types of an EdgeSet, so that nothing is compiled again for others.
        return self.points.measure(CompressedRows(indptr, self.rows[edges.indices].astype(np.int32)))

    def mean_over_pairs(self) -> float:
        """Return the mean over all pairs of all samples."""
        return self.points.mean_over_pairs()

    def is_constant(self) -> bool:
        """Say whether all samples look the same, those that are not among these included."""
        return self.points.is_constant()

    def reordered(self, order: Rows) -> SubsetPoints:
        """Return the points of the same samples in another order."""
        key = order.tobytes()
        if key not in self._reordered:
            others = np.setdiff1d(np.arange(self.n_samples), self.rows, assume_unique=True)
            points = self.points.reordered(np.concatenate([self.rows[order], others]))
            self._reordered = {key: SubsetPoints(points, np.arange(len(order)), self.n_samples)}
        return self._reordered[key]

    def query(self, rows: Any) -> SubsetQueries:
        """Put new samples, as the points of all take them, next to these."""
        return SubsetQueries(self.points.query(rows), self)


class SubsetQueries:
    """New samples next to some of the samples of a placed view."""

    def __init__(self, queries: Queries, among: SubsetPoints) -> None:
        self.queries, self.among = queries, among
        self.kind: Kind = queries.kind

    def nearest(self, k: int) -> Index:
        """Return the k nearest of these samples for each new one; -1 where there are fewer."""
        place, n = self.among._places(), self.among.n_samples
        width = min(n, enough_for_subset(k, len(self.among.rows) / n))
        while True:
            asked = self.queries.nearest(width)
            found = np.where(asked < 0, np.int32(-1), place[asked])
            lacking = ((found >= 0).sum(axis=1) < k) & (asked[:, -1] >= 0)
            if width >= n or not lacking.any():
                break
            width = min(n, 2 * width)
        order = np.argsort(found < 0, axis=1, kind="stable")[:, :k]
        found = np.take_along_axis(found, order, axis=1)
        return np.pad(found, ((0, 0), (0, k - found.shape[1])), constant_values=-1)

    def measure(self, edges: Edges) -> Floats:
        """Return squared distances, or similarities, on edges to these samples."""
        rows = self.among.rows[edges.indices].astype(np.int32)
        return self.queries.measure(CompressedRows(edges.indptr, rows))
