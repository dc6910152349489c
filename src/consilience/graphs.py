"""Graphs as data: the shared edges, and how values on edges become weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .io.stored import check_compressed_rows, require, stored

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
        check_graphs(graphs)
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
        check_sparse(graph, "the graph")
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


def check_sparse(matrix: Any, what: str) -> None:
    """Raise a ValueError if a sparse matrix has an index outside its shape, or rows that do not add up.

    SciPy's constructors accept such a matrix, and compiled code, SciPy's own included, would read and write
    beyond the end of its arrays. So every matrix is checked once, where it enters.

    Parameters
    ----------
    matrix : sparse array or matrix
        In any format; it is not changed.
    what : str
        What it is called in the message: "view 'words'".

    Examples
    --------
    >>> parts = np.ones(2), np.array([0, 7]), np.array([0, 1, 2])
    >>> check_sparse(sparse.csr_array(parts, shape=(2, 3)), "view 'words'")
    Traceback (most recent call last):
    ...
    ValueError: view 'words' is a damaged sparse matrix: row 1 has an entry in column 7, and columns are ...
    """
    n, d = matrix.shape
    if matrix.format in ("csr", "csc", "bsr"):
        block = matrix.blocksize if matrix.format == "bsr" else (1, 1)
        lines, ends = (d, n) if matrix.format == "csc" else (n // block[0], d // block[1])
        kind = "block " if matrix.format == "bsr" else ""
        names = ("column", "row") if matrix.format == "csc" else (f"{kind}row", f"{kind}column")
        wrong = _damage(matrix.indptr, matrix.indices, len(matrix.data), lines, ends, names)
    elif matrix.format == "coo":
        wrong = next(filter(None, map(_outside, (matrix.row, matrix.col), (n, d), ("row", "column"))), "")
    else:  # converted by safe code, with the indices that it has
        check_sparse(matrix.tocoo(), what)
        return
    if wrong:
        raise ValueError(f"{what} is a damaged sparse matrix: {wrong}; build it again from its entries")


def check_graphs(graphs: Sequence[Any]) -> None:
    """Raise a ValueError for the first of some graphs that is a damaged sparse matrix; see `check_sparse`."""
    for i, graph in enumerate(graphs):
        if sparse.issparse(graph):
            check_sparse(graph, f"graph {i}")


def _damage(
    indptr: NDArray[Any], indices: NDArray[Any], n_data: int, lines: int, ends: int, names: tuple[str, str]
) -> str:
    """Say what is wrong with compressed rows or columns; nothing if they are sound."""
    if len(indptr) != lines + 1 or indptr[0] != 0 or np.any(np.diff(indptr) < 0):
        return f"the places where its {names[0]}s begin do not ascend from 0"
    if indptr[-1] > min(len(indices), n_data):
        return f"its last {names[0]} ends behind its {min(len(indices), n_data)} entries"
    used = indices[: int(indptr[-1])]
    if not used.size or (used.min() >= 0 and used.max() < ends):
        return ""
    first = int(np.argmax((used < 0) | (used >= ends)))
    line = int(np.searchsorted(indptr, first, side="right")) - 1
    column = int(used[first])
    return f"{names[0]} {line} has an entry in {names[1]} {column}, and {names[1]}s are 0 to {ends - 1}"


def _outside(index: NDArray[Any], n: int, name: str) -> str:
    if not index.size or (index.min() >= 0 and index.max() < n):
        return ""
    first = int(index[int(np.argmax((index < 0) | (index >= n)))])
    return f"it has an entry in {name} {first}, and {name}s are 0 to {n - 1}"


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


Floats = NDArray[np.floating[Any]]
Seen = NDArray[np.bool_]


@stored()
@dataclass(frozen=True)
class Moments:
    """Mean and deviation of the values on the edges that a view judges.

    Attributes
    ----------
    exponent : int
        A power of two that is divided out first: distances of 1e200 are valid, but their squares are too
        large.
    mean, deviation : float
        Of the values without it (n - 1 in the denominator). The deviation is 0 if all values are the same,
        to rounding.
    """

    exponent: int
    mean: float
    deviation: float

    @classmethod
    def from_sums(cls, count: int, exponent: int, mean: float, squares: float) -> Moments:
        """Make them from the sum of squared differences from the mean."""
        deviation = float(np.sqrt(squares / (count - 1))) if count > 1 else 0.0
        # Equal distances may differ in the last digits; do not divide by such a deviation.
        return cls(exponent, mean, 0.0 if deviation <= 1e-12 * mean else deviation)

    def standardize(self, values: Floats) -> Floats:
        """Return values standardised by these moments."""
        scaled = np.ldexp(values, self.exponent)
        if self.deviation == 0:
            # All values of the fit were the same; others are larger or smaller relative to it.
            result = np.ones_like(scaled) if self.mean == 0 else scaled / self.mean
            result[np.abs(result - 1) <= 1e-6] = 1.0
            return result
        return np.maximum((scaled - self.mean) / self.deviation + 1.0, 0.0)


@stored()
@dataclass(frozen=True)
class EdgeKernel:
    """How a view's values on edges become weights: measured on the edges of a fit, used for others too.

    Attributes
    ----------
    typical : float or None
        If set, the values are similarities, which first become squared distances, 1 / (1 + s / typical): 1
        without an edge, 1/2 on a typical one.
    moments : Moments or None
        If set, values are then standardised by them.
    width : float or None
        If set, the weights are exp(-x / width).

    Examples
    --------
    >>> import numpy as np
    >>> EdgeKernel(moments=Moments(0, 4.0, 3.0))(np.array([1.0, 4.0, 7.0]))
    array([0., 1., 2.])
    """

    typical: float | None = None
    moments: Moments | None = None
    width: float | None = None

    @property
    def changes_nothing(self) -> bool:
        """Whether weights are the values themselves."""
        return self.typical is None and self.moments is None and self.width is None

    def __call__(self, values: Floats, seen: Seen | None = None) -> Floats:
        """Return the weights; 0 where a value is not seen."""
        judged = values if seen is None else values[seen]
        if self.typical is not None:
            judged = 1.0 / (1.0 + judged / self.typical)
        if self.moments is not None:
            judged = self.moments.standardize(judged)
        if self.width is not None:
            judged = np.exp(judged / -self.width)
        if seen is None:
            return judged
        result = np.zeros(seen.shape, dtype=judged.dtype)
        result[seen] = judged
        return result
