"""The edges that all views share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..io.stored import check_compressed_rows, require, stored

Index = NDArray[np.integer[Any]]


def _check(edges: EdgeSet) -> None:
    n = len(edges.indptr) - 1
    check_compressed_rows(edges.indptr, edges.indices, n, n)
    if edges.seen is not None:
        fits = edges.seen.dtype == bool and edges.seen.ndim == 2 and edges.seen.shape[1] == edges.n_edges
        require(fits, "`seen` does not fit")


@stored(check=_check)
@dataclass(frozen=True, eq=False)
class EdgeSet:
    """A set of directed edges in compressed rows, like a CSR matrix without values.

    The edges of row i are ``indices[indptr[i]:indptr[i + 1]]``, ascending, without i itself. Values on
    the edges are kept separately, in arrays whose last axis runs over the edges in this order.

    Parameters
    ----------
    indptr : ndarray of shape (n_samples + 1,)
        Where each row begins.
    indices : ndarray of shape (n_edges,)
        The other end of each edge.
    seen : ndarray of bool of shape (v, n_edges), or None
        Which view judges which edge: it has seen both ends. None: all views judge all edges.

    Examples
    --------
    >>> import numpy as np
    >>> edges = EdgeSet.union([np.array([[1], [0], [1]]), np.array([[2], [0], [0]])])
    >>> edges
    EdgeSet(n_samples=3, n_edges=5)
    >>> edges.rows, edges.indices
    (array([0, 0, 1, 2, 2]), array([1, 2, 0, 0, 1]))
    """

    indptr: Index = field(repr=False)
    indices: Index = field(repr=False)
    seen: NDArray[np.bool_] | None = field(default=None, repr=False)

    @classmethod
    def union(cls, neighbors: Sequence[Index], mask: NDArray[np.bool_] | None = None) -> EdgeSet:
        """Return the union of the neighbour lists of several views (the paper's index set F).

        Parameters
        ----------
        neighbors : sequence of ndarray of shape (n_samples, k)
            Each sample's neighbours in one view. A sample's own index means "no neighbour".
        mask : ndarray of bool of shape (n_samples, v), default=None
            Which view has seen which sample; an edge is judged by the views that have seen both ends.
        """
        members = np.sort(np.concatenate(neighbors, axis=1), axis=1)
        kept = members != np.arange(len(members))[:, None]
        kept[:, 1:] &= members[:, 1:] != members[:, :-1]
        indptr = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
        return cls(indptr, members[kept]).judged_by(mask)

    def judged_by(self, mask: NDArray[np.bool_] | None) -> EdgeSet:
        """Return the same edges with `seen`, from which view has seen which sample (n_samples, v)."""
        if mask is None or mask.all():
            return self
        both = mask[self.rows] & mask[self.indices]
        return EdgeSet(self.indptr, self.indices, np.ascontiguousarray(both.T))

    @classmethod
    def from_support(cls, graphs: Sequence[sparse.sparray | sparse.spmatrix]) -> EdgeSet:
        """Return the union of the stored entries of several sparse graphs, without the diagonal."""
        n = graphs[0].shape[0]
        pattern = sparse.csr_array((n, n), dtype=np.int64)
        for graph in graphs:
            entries = sparse.coo_array(graph)
            off = entries.row != entries.col
            ones = np.ones(np.count_nonzero(off), dtype=np.int64)
            pattern = pattern + sparse.csr_array((ones, (entries.row[off], entries.col[off])), shape=(n, n))
            pattern.data[:] = 1  # not a count, which could overflow
        pattern.sort_indices()
        return cls(pattern.indptr, pattern.indices)

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return len(self.indptr) - 1

    @property
    def n_edges(self) -> int:
        """Number of directed edges."""
        return len(self.indices)

    @property
    def rows(self) -> Index:
        """The end that each edge starts from, of shape (n_edges,)."""
        return np.repeat(np.arange(self.n_samples, dtype=self.indices.dtype), np.diff(self.indptr))

    def seen_by(self, view: int) -> NDArray[np.bool_] | None:
        """Return which edges a view judges; None: all."""
        return None if self.seen is None else self.seen[view]

    def to_csr(self, values: NDArray[Any]) -> sparse.csr_array:
        """Return the graph with a copy of these values on the edges, every edge stored, zeros included."""
        n = self.n_samples
        return sparse.csr_array((values.copy(), self.indices.copy(), self.indptr.copy()), shape=(n, n))

    def take(self, graph: sparse.sparray | sparse.spmatrix) -> NDArray[Any]:
        """Return the entries of a sparse graph on these edges; 0 where it has none."""
        graph = sparse.csr_array(graph)
        if not graph.has_canonical_format:
            graph = graph.copy()
            graph.sum_duplicates()
        # Both sides are sorted by (row, column), so one search finds every edge among the entries.
        n = np.int64(self.n_samples)
        own = self.rows.astype(np.int64) * n + self.indices
        rows = np.repeat(np.arange(n), np.diff(graph.indptr))
        theirs = rows * n + graph.indices
        position = np.searchsorted(theirs, own)
        position[position == len(theirs)] = 0
        values = np.zeros(self.n_edges, dtype=graph.dtype)
        if len(theirs):
            found = theirs[position] == own
            values[found] = graph.data[position[found]]
        return values

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, EdgeSet):
            return NotImplemented
        return (
            np.array_equal(self.indptr, other.indptr)
            and np.array_equal(self.indices, other.indices)
            and (self.seen is None) == (other.seen is None)
            and (self.seen is None or other.seen is None or np.array_equal(self.seen, other.seen))
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"EdgeSet(n_samples={self.n_samples}, n_edges={self.n_edges})"


def symmetrize(graph: sparse.csr_array) -> sparse.csr_array:
    """Return (S + S') / 2 without stored zeros.

    Examples
    --------
    >>> symmetrize(sparse.csr_array([[0.0, 2.0], [0.0, 0.0]])).toarray()
    array([[0., 1.],
           [1., 0.]])
    """
    result = sparse.csr_array(graph + graph.T)
    result.data /= 2
    result.eliminate_zeros()
    return result
