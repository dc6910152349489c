"""A sparse graph of distances as a view: which samples have edges, and how long these are.

An absent entry of such a graph is no edge, and never a distance of 0; a stored 0 is an edge between samples
that are the same. The distance of two samples that no edge joins is the largest distance of the graph: as far
as the farthest. Where all edges are equally long that would not distinguish them, and it is twice as far: two
steps. Similarity graphs need no such rule (an absent edge is similarity 0) and are `PairPoints`. In both, of
equally long edges those come first whose ends share more neighbours (`ties`).
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...points.given import given_edges
from ...points.protocol import Edges, Floats, Index, cross_edges
from ...results import Neighbors, SearchReport
from ..search.ties import Neighbourhoods, nearest_ends


class GraphPoints:
    """Distances on the edges of a graph.

    Parameters
    ----------
    matrix : csr_array of shape (n, n)
        The distances, canonical and without a diagonal. The neighbours of a sample are the other ends of the
        edges in its row.
    farthest : float, default=None
        How far samples are that no edge joins; None: as far as the ends of the longest edge, or twice as far
        if all edges are equally long.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> matrix = sparse.csr_array(np.array([[0, 2.0, 5.0], [2.0, 0, 0], [5.0, 0, 0]]))
    >>> GraphPoints(matrix).nearest(2).lists
    array([[1, 2],
           [0, 1],
           [0, 2]], dtype=int32)
    """

    kind: Literal["distance"] = "distance"
    ranks_ties = True

    def __init__(self, matrix: Any, farthest: float | None = None) -> None:
        self.matrix = matrix
        self.farthest = _farthest(matrix.data) if farthest is None else farthest

    def nearest(self, k: int, search: str = "exact") -> Neighbors:
        """Return the k nearest samples that an edge joins to each; its own number where there are fewer."""
        lists = nearest_ends(self.matrix, k, "distance", lambda: self._around, own=True)
        return Neighbors(lists, SearchReport(pairs=self.matrix.nnz / self.matrix.shape[0]))

    @cached_property
    def _around(self) -> Neighbourhoods:
        return Neighbourhoods.of(self.matrix, "distance")

    def measure(self, edges: Edges, known: Any = None) -> Floats:
        """Return squared distances on the edges."""
        return _squares(self.matrix, edges, self.farthest)

    def mean_over_pairs(self) -> float:
        """Return the mean over all pairs of the squared distances."""
        n = self.matrix.shape[0]
        absent = n * (n - 1) - self.matrix.nnz
        return float(np.square(self.matrix.data).sum() + absent * self.farthest**2) / n**2

    def is_constant(self) -> bool:
        """Say whether all pairs of samples are equally far apart."""
        n, lengths = self.matrix.shape[0], self.matrix.data
        return not len(lengths) or (len(lengths) == n * (n - 1) and _are_equal(lengths))

    def reordered(self, order: NDArray[np.intp]) -> GraphPoints:
        """Return the points of the same samples in another order."""
        matrix = sparse.csr_array(self.matrix[order][:, order])
        matrix.sort_indices()
        return GraphPoints(matrix, self.farthest)

    def query(self, rows: Any) -> GraphQueries:
        """Put new samples next to those of the graph.

        Parameters
        ----------
        rows : sparse matrix or array of shape (m, n)
            The edges of each new sample to those of the graph, by their lengths; in an array 0 is no edge. No
            node of a graph has an edge to itself, so one that comes again as a new one is not at 0 from
            itself, unless its row has that edge.
        """
        return GraphQueries(self, given_edges(rows, self.matrix.shape[0]))


class GraphQueries:
    """New samples next to those of a graph."""

    kind: Literal["distance"] = "distance"

    def __init__(self, points: GraphPoints, matrix: Any) -> None:
        self.points, self.matrix = points, matrix

    def nearest(self, k: int) -> Index:
        """Return the k nearest samples that an edge joins to each new one; -1 where there are fewer."""
        return nearest_ends(self.matrix, k, "distance", lambda: self.points._around, own=False)

    def measure(self, edges: Edges) -> Floats:
        """Return squared distances on edges to samples of the graph."""
        return _squares(self.matrix, cross_edges(edges, *self.matrix.shape), self.points.farthest)


def _are_equal(lengths: Floats) -> bool:
    return bool(lengths.max() - lengths.min() <= 1e-12 * lengths.max())


def _farthest(lengths: Floats) -> float:
    longest = float(lengths.max(initial=0.0))
    # If all lengths are 0, only the edges are known: any other number means that there is no edge.
    return longest if not len(lengths) or not _are_equal(lengths) else 2 * longest or 1.0


def _squares(matrix: Any, edges: Edges, farthest: float) -> Floats:
    """Return squared distances on the edges, those that the matrix does not hold as far as the farthest."""
    n = np.int64(matrix.shape[1])
    wanted = np.repeat(np.arange(len(edges.indptr) - 1), np.diff(edges.indptr)) * n + edges.indices
    there = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr)) * n + matrix.indices
    values = np.full(len(wanted), farthest)
    if len(there):
        place = np.minimum(np.searchsorted(there, wanted), len(there) - 1)
        found = there[place] == wanted
        values[found] = matrix.data[place[found]]
    return values * values
