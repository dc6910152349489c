"""A sparse graph of distances as a space: who is joined to whom, and how long the edges are.

An absent entry of such a graph is no edge, and never a distance of 0; a stored 0 is an edge between samples
that are the same. Whatever asks for the distance of two samples that no edge joins is told the largest
distance of the graph: as far as the farthest. Where all edges are equally long that would say nothing, and it
is twice as far: two steps. Similarity graphs need no such rule (an absent edge is similarity 0) and are
`PrecomputedSpace`. In both, of equally long edges those come first whose ends share more neighbours (`ties`).
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .spaces import Edges, Floats, Index, cross_edges
from .ties import Neighbourhoods, nearest_ends


class GraphDistanceSpace:
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
    >>> GraphDistanceSpace(matrix).nearest(2)
    array([[1, 2],
           [0, 1],
           [0, 2]], dtype=int32)
    """

    kind: Literal["distance"] = "distance"

    def __init__(self, matrix: Any, farthest: float | None = None) -> None:
        self.matrix = matrix
        self.farthest = _farthest(matrix.data) if farthest is None else farthest

    def nearest(self, k: int) -> Index:
        """Return the k nearest samples that an edge joins to each; its own index where there are fewer."""
        return nearest_ends(self.matrix, k, "distance", lambda: self._around, own=True)

    @cached_property
    def _around(self) -> Neighbourhoods:
        return Neighbourhoods.of(self.matrix, "distance")

    def on_edges(self, edges: Edges) -> Floats:
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

    def permuted(self, order: NDArray[np.intp]) -> GraphDistanceSpace:
        """Return the space of the same samples in another order."""
        matrix = sparse.csr_array(self.matrix[order][:, order])
        matrix.sort_indices()
        return GraphDistanceSpace(matrix, self.farthest)

    def beside(self, queries: Any) -> _GraphCross:
        """Set new samples beside those of the graph.

        Parameters
        ----------
        queries : sparse matrix or array of shape (m, n)
            The edges of each new sample to those of the graph, by their lengths; in an array 0 is no edge. No
            node of a graph has an edge to itself, so one that comes again as a new one is not at 0 from
            itself, unless its row says so.
        """
        n = self.matrix.shape[0]
        if queries.ndim != 2 or queries.shape[1] != n:
            raise ValueError(f"New samples of a graph are rows of edges to its {n}, got {queries.shape}.")
        matrix = sparse.csr_array(queries, dtype=np.float64, copy=True)
        matrix.sum_duplicates()
        wrong = np.flatnonzero(~(np.isfinite(matrix.data) & (matrix.data >= 0)))
        if len(wrong):
            i = int(np.searchsorted(matrix.indptr, wrong[0], side="right")) - 1
            value = matrix.data[wrong[0]]
            raise ValueError(f"New sample {i} has an edge of length {value:g}; lengths are 0 or more.")
        return _GraphCross(self, matrix)


def graph_distances(matrix: Any, name: str) -> GraphDistanceSpace:
    """Return a sparse matrix of distances between samples as a space, after checking it.

    Parameters
    ----------
    matrix : CSR of shape (n, n)
        The lengths of edges; what is on the diagonal is left out.
    name : str
        The view's name, for messages.
    """
    if not sparse.issparse(matrix) or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"View {name!r} is no graph: 'graph_distance' takes a square sparse matrix. Pass dense distances "
            "with metric='precomputed_distance'."
        )
    entries = matrix.tocoo()
    off = entries.row != entries.col
    row, column, length = entries.row[off], entries.col[off], entries.data[off].astype(np.float64)
    if len(length) and length.min() < 0:
        e = int(np.argmin(length))
        raise ValueError(
            f"View {name!r} has the negative distance {length[e]:.6g} between samples {row[e]} and "
            f"{column[e]}; distances must not be negative."
        )
    csr = sparse.csr_array((length, (row, column)), shape=matrix.shape)  # keeps stored zeros
    csr.sum_duplicates()
    return GraphDistanceSpace(csr)


class _GraphCross:
    """New samples beside those of a graph."""

    kind: Literal["distance"] = "distance"

    def __init__(self, space: GraphDistanceSpace, matrix: Any) -> None:
        self.space, self.matrix = space, matrix

    def nearest(self, k: int) -> Index:
        """Return the k nearest samples that an edge joins to each new one; -1 where there are fewer."""
        return nearest_ends(self.matrix, k, "distance", lambda: self.space._around, own=False)

    def on_edges(self, edges: Edges) -> Floats:
        """Return squared distances on edges to samples of the graph."""
        return _squares(self.matrix, cross_edges(edges, *self.matrix.shape), self.space.farthest)


def _are_equal(lengths: Floats) -> bool:
    return bool(lengths.max() - lengths.min() <= 1e-12 * lengths.max())


def _farthest(lengths: Floats) -> float:
    longest = float(lengths.max(initial=0.0))
    # A length of 0 throughout says only who is joined; any other number says who is not.
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
