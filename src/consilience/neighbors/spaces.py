"""A view as a space: who is near whom, and how far apart the ends of given edges are.

Every space has the same two methods, `nearest(k)` and `on_edges(edges)`, and a `kind`: ``"distance"``
spaces give squared distances, ``"similarity"`` spaces give similarities. Searches are exact; distances
that agree to twelve digits count as equal, and of equal ones the lower index is nearer.
Memory is O(n) per block of rows; nothing of size n x n is ever held, unless the user brought it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import PAIRWISE_BOOLEAN_FUNCTIONS

from .. import threads
from . import kernels

Floats = NDArray[np.floating[Any]]
Index = NDArray[np.int32]
_BLOCK_BYTES = 1 << 21  # of approximate distances at a time and thread: they stay in the cache


class Edges(Protocol):
    """What a space needs to know of an edge set: compressed rows."""

    @property
    def indptr(self) -> NDArray[Any]:
        """Where each row begins."""

    @property
    def indices(self) -> NDArray[Any]:
        """The other end of each edge."""


class Space(Protocol):
    """A view as a space."""

    @property
    def kind(self) -> Literal["distance", "similarity"]:
        """What `on_edges` gives."""

    def nearest(self, k: int) -> Index:
        """Return each sample's k nearest others, of shape (n, k); its own index where there are fewer."""

    def on_edges(self, edges: Edges) -> Floats:
        """Return squared distances, or similarities, on the edges."""

    def is_constant(self) -> bool:
        """Say whether all samples look the same."""


class DenseSpace:
    """Euclidean or cosine distance on dense features.

    Parameters
    ----------
    x : ndarray of shape (n, d)
        Features.
    cosine : bool
        Whether to measure 1 - cos. The distance to and from a row of zeros is 1.
    """

    kind: Literal["distance"] = "distance"

    def __init__(self, x: Floats, cosine: bool) -> None:
        self.cosine = cosine
        self.x: Floats = x
        self.blank: NDArray[np.bool_] = np.zeros(len(x), dtype=bool)
        if cosine:
            self.x, self.blank = _unit_rows(x)

    def nearest(self, k: int) -> Index:
        """Return each sample's k nearest others."""
        x32 = self._single_precision()
        squares = np.einsum("ij,ij->i", x32, x32, dtype=np.float64)
        squares[self.blank] = 1.0
        lengths = np.sqrt(squares).astype(np.float32)
        squares32 = squares.astype(np.float32)
        # d terms in each inner product, and a few roundings in the copy, the norms and the sums.
        terms = self.x.shape[1] + 16
        slack = np.float32(terms * np.finfo(np.float32).eps)
        floor = np.float32(terms * np.finfo(np.float32).tiny)
        index = np.empty((len(x32), k), dtype=np.int32)

        def search(first: int, last: int) -> None:
            for start, stop in _row_blocks(len(x32), 4, first, last):
                products = x32[start:stop] @ x32.T
                kernels.select_dense(
                    products,
                    self.x,
                    self.blank,
                    squares32,
                    lengths,
                    slack,
                    floor,
                    start,
                    k,
                    0,
                    stop - start,
                    index,
                )

        with threads.libraries_on_one_thread():
            threads.for_ranges(search, len(x32), grain=32)
        return index

    def _single_precision(self) -> NDArray[np.float32]:
        """Return a copy for the fast look at all pairs: distances change by a common factor at most."""
        if self.cosine:
            return self.x.astype(np.float32)
        centered = self.x - self.x.mean(axis=0, dtype=np.float64)
        largest = max(float(centered.max()), -float(centered.min()))
        if largest > 0:
            centered /= largest
        return centered.astype(np.float32)

    def on_edges(self, edges: Edges) -> Floats:
        """Return squared distances on the edges."""
        out = np.empty(len(edges.indices))
        threads.for_ranges(
            lambda a, b: kernels.edge_squares_dense(
                self.x, self.blank, edges.indptr, edges.indices, a, b, out
            ),
            len(self.x),
            grain=256,
        )
        return _half_squared(out) if self.cosine else out

    def is_constant(self) -> bool:
        """Say whether all rows are the same, or under cosine point the same way."""
        return _rows_are_equal(self.x, self.cosine)


class SparseSpace:
    """Euclidean or cosine distance on features in CSR form, which are never made dense."""

    kind: Literal["distance"] = "distance"

    def __init__(self, x: sparse.csr_array, cosine: bool) -> None:
        self.cosine = cosine
        self.x = x
        self.blank: NDArray[np.bool_] = np.zeros(x.shape[0], dtype=bool)
        if cosine:
            self.x, self.blank = _sparse_unit_rows(x)

    def nearest(self, k: int) -> Index:
        """Return each sample's k nearest others."""
        x, transpose = self.x, sparse.csr_array(self.x.T)
        squares = _row_squares(x)
        squares[self.blank] = 1.0
        longest = int(np.diff(x.indptr).max(initial=0))
        # Never so small that distances which count as equal could fall on both sides of the limit.
        slack = max((longest + 16) * float(np.finfo(np.float64).eps), 1e-11)
        floor = (longest + 16) * float(np.finfo(np.float64).tiny)
        index = np.empty((x.shape[0], k), dtype=np.int32)
        csr = (x.data, x.indices, x.indptr)
        transposed = (transpose.data, transpose.indices, transpose.indptr)
        threads.for_ranges(
            lambda a, b: kernels.select_sparse(
                csr, transposed, self.blank, squares, np.sqrt(squares), slack, floor, k, a, b, index
            ),
            x.shape[0],
            grain=64,
        )
        return index

    def on_edges(self, edges: Edges) -> Floats:
        """Return squared distances on the edges."""
        x = self.x
        out = np.empty(len(edges.indices))
        threads.for_ranges(
            lambda a, b: kernels.edge_squares_sparse(
                x.data, x.indices, x.indptr, self.blank, edges.indptr, edges.indices, a, b, out
            ),
            x.shape[0],
            grain=256,
        )
        return _half_squared(out) if self.cosine else out

    def is_constant(self) -> bool:
        """Say whether all rows are the same, or under cosine point the same way."""
        return _sparse_rows_are_equal(self.x, self.cosine)


class MetricSpace:
    """Any other metric of scikit-learn's `pairwise_distances`, a block of rows at a time.

    Parameters
    ----------
    x : ndarray or CSR of shape (n, d)
        Features.
    metric : str
        Its name. Those of yes/no features take whatever is not 0 for yes.
    name : str
        The view's name, for messages.
    """

    kind: Literal["distance"] = "distance"

    def __init__(self, x: Any, metric: str, name: str) -> None:
        self.x, self.metric, self.name = x, metric, name
        self.parameters: dict[str, Any] = {}
        if metric in PAIRWISE_BOOLEAN_FUNCTIONS:
            self.x = x != 0
        # These two are defined by the whole of the data, not by the rows at hand.
        elif metric == "seuclidean":
            variance = np.var(x, axis=0, ddof=1, dtype=np.float64)
            self.parameters["V"] = np.where(variance > 0, variance, 1.0)  # constant features add nothing
        elif metric == "mahalanobis":
            covariance = np.atleast_2d(np.cov(x.T))
            if np.linalg.matrix_rank(covariance, hermitian=True) < len(covariance):
                raise ValueError(
                    f"The metric 'mahalanobis' is undefined for view {name!r}: its features are linearly "
                    "dependent (or more than its samples). Drop some, or use another metric."
                )
            self.parameters["VI"] = np.linalg.inv(covariance)

    def _rows(self, start: int, stop: int) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            block = pairwise_distances(self.x[start:stop], self.x, metric=self.metric, **self.parameters)
        undefined = np.isnan(block)
        undefined[np.arange(stop - start), np.arange(start, stop)] = False  # nobody asks for these
        if undefined.any():
            i, j = np.unravel_index(int(np.argmax(undefined)), block.shape)
            raise ValueError(
                f"The metric {self.metric!r} is undefined between samples {start + i} and {j} of view "
                f"{self.name!r} (rows that are constant or all zero?). Drop them, or use another metric."
            )
        return np.ascontiguousarray(block, dtype=np.float64)

    def nearest(self, k: int) -> Index:
        """Return each sample's k nearest others."""
        index = np.empty((self.x.shape[0], k), dtype=np.int32)
        for start, stop in _row_blocks(self.x.shape[0], 8):
            _select(self._rows(start, stop), start, k, np.inf, index)
        return index

    def on_edges(self, edges: Edges) -> Floats:
        """Return squared distances on the edges."""
        out = np.empty(len(edges.indices))
        for start, stop in _row_blocks(self.x.shape[0], 8):
            here = slice(edges.indptr[start], edges.indptr[stop])
            rows = np.repeat(np.arange(stop - start), np.diff(edges.indptr[start : stop + 1]))
            out[here] = self._rows(start, stop)[rows, edges.indices[here]]
        return out * out

    def is_constant(self) -> bool:
        """Say whether all rows are the same."""
        return _sparse_rows_are_equal(self.x) if sparse.issparse(self.x) else _rows_are_equal(self.x)


class PrecomputedSpace:
    """Distances or similarities that the user brings, as an n x n matrix; similarities may be sparse.

    Parameters
    ----------
    matrix : ndarray or CSR of shape (n, n)
        Not negative.
    kind : {"distance", "similarity"}
        What they are. A similarity of 0 is no edge.
    squared : bool
        Whether distances are squared already.
    """

    def __init__(self, matrix: Any, kind: Literal["distance", "similarity"], squared: bool) -> None:
        self.matrix, self.kind, self.squared = matrix, kind, squared

    def nearest(self, k: int) -> Index:
        """Return each sample's k nearest others: smallest distances or largest positive similarities."""
        n = self.matrix.shape[0]
        index = np.empty((n, k), dtype=np.int32)
        if sparse.issparse(self.matrix):
            csr = (self.matrix.data, self.matrix.indices, self.matrix.indptr)
            threads.for_ranges(lambda a, b: kernels.select_largest(csr, k, a, b, index), n, grain=1024)
            return index
        for start, stop in _row_blocks(n, 8):
            block = self.matrix[start:stop]
            if self.kind == "distance":
                _select(np.ascontiguousarray(block), start, k, np.inf, index)
            else:
                _select(-block, start, k, -np.finfo(block.dtype).smallest_subnormal, index)
        return index

    def on_edges(self, edges: Edges) -> Floats:
        """Return squared distances, or similarities, on the edges."""
        rows = np.repeat(np.arange(self.matrix.shape[0]), np.diff(edges.indptr))
        values = np.asarray(self.matrix[rows, edges.indices], dtype=np.float64).ravel()
        return values * values if self.kind == "distance" and not self.squared else values

    def is_constant(self) -> bool:
        """Say whether all pairs of samples are given the same value."""
        n = self.matrix.shape[0]
        if sparse.issparse(self.matrix):
            entries = self.matrix.tocoo()
            values = entries.data[(entries.row != entries.col) & (entries.data != 0)]
            complete = len(values) == n * (n - 1)
            return len(values) == 0 or (complete and bool(np.all(values == values[0])))
        first = self.matrix[0, n - 1]
        return all(
            np.all(row[:i] == first) and np.all(row[i + 1 :] == first) for i, row in enumerate(self.matrix)
        )


class SeenSpace:
    """A space that has seen only some of the samples; the others have no neighbours in it.

    Parameters
    ----------
    space : Space
        The samples seen, in order.
    seen : ndarray of bool of shape (n,)
        Which of all samples those are.
    """

    def __init__(self, space: Space, seen: NDArray[np.bool_]) -> None:
        self.space, self.seen, self.kind = space, seen, space.kind

    def nearest(self, k: int) -> Index:
        """Return each sample's k nearest others; its own index where there are fewer."""
        members = np.flatnonzero(self.seen).astype(np.int32)
        index = np.repeat(np.arange(len(self.seen), dtype=np.int32)[:, None], k, axis=1)
        k_here = min(k, len(members) - 1)
        if k_here > 0:
            index[members, :k_here] = members[self.space.nearest(k_here)]
        return index

    def on_edges(self, edges: Edges) -> Floats:
        """Return values on the edges, 0 on those with an end that was not seen."""
        rows = np.repeat(np.arange(len(self.seen)), np.diff(edges.indptr))
        judged = self.seen[rows] & self.seen[edges.indices]
        number = np.cumsum(self.seen) - 1  # of each sample among those seen
        counts = np.bincount(number[rows[judged]], minlength=max(int(self.seen.sum()), 1))
        # The index types of an EdgeSet, so that nothing is compiled again for others.
        inner = _CompressedRows(
            np.concatenate([[0], np.cumsum(counts)]), number[edges.indices[judged]].astype(np.int32)
        )
        out = np.zeros(len(edges.indices))
        out[judged] = self.space.on_edges(inner)
        return out

    def is_constant(self) -> bool:
        """Say whether all samples seen look the same."""
        return self.space.is_constant()


class _CompressedRows:
    def __init__(self, indptr: NDArray[Any], indices: NDArray[Any]) -> None:
        self.indptr, self.indices = indptr, indices


def _select(values: Floats, start: int, k: int, largest_allowed: float, index: Index) -> None:
    threads.for_ranges(
        lambda a, b: kernels.select_given(values, start, k, largest_allowed, a, b, index),
        len(values),
        grain=32,
    )


def _row_blocks(n: int, itemsize: int, first: int = 0, last: int | None = None) -> Iterator[tuple[int, int]]:
    """Split the rows [first, last), of n items each, into blocks of bounded size."""
    last = n if last is None else last
    rows = max(8, _BLOCK_BYTES // (itemsize * n))
    for start in range(first, last, rows):
        yield start, min(last, start + rows)


def _unit_rows(x: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Scale rows to unit length; say which are zero and stay so."""
    # The largest entry is taken out first: squares of very large or small numbers would not be finite.
    largest = np.maximum(x.max(axis=1), -x.min(axis=1)).astype(np.float64)
    blank = largest == 0
    scaled = x / np.where(blank, 1.0, largest)[:, None]
    norms = np.sqrt(np.einsum("ij,ij->i", scaled, scaled))
    scaled /= np.where(blank, 1.0, norms)[:, None]
    return scaled, blank


def _sparse_unit_rows(x: sparse.csr_array) -> tuple[sparse.csr_array, NDArray[np.bool_]]:
    """Scale rows to unit length; say which are zero and stay so."""
    counts = np.diff(x.indptr)
    largest = np.asarray(abs(x).max(axis=1).todense(), dtype=np.float64).ravel()
    blank = largest == 0
    data = x.data / np.repeat(np.where(blank, 1.0, largest), counts)
    scaled = sparse.csr_array((data, x.indices, x.indptr), shape=x.shape)
    data /= np.repeat(np.where(blank, 1.0, np.sqrt(_row_squares(scaled))), counts)
    return scaled, blank


def _rows_are_equal(x: Any, to_rounding: bool = False) -> bool:
    """Say whether all rows of an array are the same; most often the first two tell."""
    if to_rounding:
        return bool(
            np.allclose(x[1:2], x[0], rtol=0, atol=1e-12) and np.allclose(x, x[0], rtol=0, atol=1e-12)
        )
    return bool(np.all(x[1:2] == x[0]) and np.all(x == x[0]))


def _sparse_rows_are_equal(x: sparse.csr_array, to_rounding: bool = False) -> bool:
    """Say whether all rows of a CSR matrix are the same; stored zeros count as absent."""
    x = sparse.csr_array(x, copy=True)
    x.eliminate_zeros()
    n, count = x.shape[0], int(x.indptr[1])
    if x.nnz != n * count or not np.all(np.diff(x.indptr) == count):
        return False
    same_places = bool(np.all(x.indices.reshape(n, count) == x.indices[:count]))
    return count == 0 or (same_places and _rows_are_equal(x.data.reshape(n, count), to_rounding))


def _row_squares(x: sparse.csr_array) -> NDArray[np.float64]:
    """Return the squared norm of each row."""
    squares = sparse.csr_array((x.data.astype(np.float64) ** 2, x.indices, x.indptr), shape=x.shape)
    return np.asarray(squares.sum(axis=1)).ravel()


def _half_squared(squares: Floats) -> Floats:
    """Turn squared differences of unit vectors, 2 (1 - cos), into squared cosine distances."""
    return (0.5 * squares) ** 2
