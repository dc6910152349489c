"""A placed view that has seen only some of the samples; the others have no neighbours in it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..results import Neighbors, SearchReport
from .protocol import CompressedRows, Edges, Floats, Index, Kind, Points, Queries, cross_edges


class MaskedPoints:
    """Points of the samples that a view has seen, among all samples.

    Parameters
    ----------
    points : Points
        The samples seen, in order.
    seen : ndarray of bool of shape (n,)
        Which of all samples those are.
    pairwise : bool
        Whether the view is a matrix between samples: new ones are then given by their values to all samples.
    """

    def __init__(self, points: Points, seen: NDArray[np.bool_], pairwise: bool) -> None:
        self.points, self.seen, self.pairwise = points, seen, pairwise
        self.kind: Kind = points.kind
        self.ranks_ties = points.ranks_ties

    def nearest(self, k: int, search: str = "exact") -> Neighbors:
        """Return each sample's k nearest others; its own number where there are fewer."""
        members = np.flatnonzero(self.seen).astype(np.int32)
        index = np.repeat(np.arange(len(self.seen), dtype=np.int32)[:, None], k, axis=1)
        k_here = min(k, len(members) - 1)
        if k_here <= 0:
            return Neighbors(index, SearchReport())
        found = self.points.nearest(k_here, search)
        index[members, :k_here] = members[found.lists]
        return Neighbors(index, found.report, found.known)

    def measure(self, edges: Edges, known: Any = None) -> Floats:
        """Return values on the edges, 0 on those with an end that was not seen."""
        rows = np.repeat(np.arange(len(self.seen)), np.diff(edges.indptr))
        judged = self.seen[rows] & self.seen[edges.indices]
        number = np.cumsum(self.seen) - 1  # of each sample among those seen
        counts = np.bincount(number[rows[judged]], minlength=max(int(self.seen.sum()), 1))
        # The index types of an EdgeSet, so that nothing is compiled again for others.
        inner = CompressedRows(
            np.concatenate([[0], np.cumsum(counts)]), number[edges.indices[judged]].astype(np.int32)
        )
        out = np.zeros(len(edges.indices))
        out[judged] = self.points.measure(inner, known)
        return out

    def mean_over_pairs(self) -> float:
        """Return the mean over all pairs of samples seen."""
        return self.points.mean_over_pairs()

    def is_constant(self) -> bool:
        """Say whether all samples seen look the same."""
        return self.points.is_constant()

    def reordered(self, order: NDArray[np.intp]) -> MaskedPoints:
        """Return the points of the same samples in another order."""
        number = np.cumsum(self.seen) - 1  # of each sample among those seen
        inner = self.points.reordered(number[order[self.seen[order]]])
        return MaskedPoints(inner, self.seen[order], self.pairwise)

    def query(self, rows: Any) -> MaskedQueries:
        """Put new samples, all of which the view has seen, next to these."""
        if self.pairwise:
            if rows.shape[1] != len(self.seen):
                raise ValueError(
                    f"New samples are given by {rows.shape[1]} numbers each, one for each of the "
                    f"{len(self.seen)} samples of the view is needed."
                )
            rows = sparse.csr_array(rows) if sparse.issparse(rows) else rows
            rows = rows[:, np.flatnonzero(self.seen) if self.seen.any() else [0]]
        return MaskedQueries(self.points.query(rows), rows.shape[0], self.seen)


class MaskedQueries:
    """New samples next to those that a view has seen."""

    def __init__(self, queries: Queries, m: int, seen: NDArray[np.bool_]) -> None:
        self.queries, self.m, self.seen = queries, m, seen
        self.kind: Kind = queries.kind

    def nearest(self, k: int) -> Index:
        """Return the k nearest samples that were seen."""
        members = np.flatnonzero(self.seen).astype(np.int32)
        if not len(members):
            return np.full((self.m, k), -1, dtype=np.int32)
        found = self.queries.nearest(k)
        return np.where(found < 0, np.int32(-1), members[found])

    def measure(self, edges: Edges) -> Floats:
        """Return values on the edges, 0 on those to a sample that was not seen."""
        edges = cross_edges(edges, self.m, len(self.seen))
        judged = self.seen[edges.indices]
        starts = np.concatenate([[0], np.cumsum(judged)])
        number = np.cumsum(self.seen) - 1  # of each sample among those seen
        inner = CompressedRows(starts[edges.indptr], number[edges.indices[judged]].astype(np.int32))
        out = np.zeros(len(judged))
        out[judged] = self.queries.measure(inner)
        return out
