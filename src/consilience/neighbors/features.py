"""Euclidean and cosine distance on features, dense or sparse."""

from __future__ import annotations

import copy
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .. import threads
from . import kernels
from .spaces import Edges, Floats, Index, row_blocks, rows_are_equal, sparse_rows_are_equal


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

        scratch: list[NDArray[np.float32]] = []  # used again, because fresh memory costs time to map

        def search(first: int, last: int) -> None:
            blocks = list(row_blocks(len(x32), 4, first, last))
            longest = max(stop - start for start, stop in blocks)
            buffer = scratch.pop() if scratch else np.empty((0, len(x32)), dtype=np.float32)
            if len(buffer) < longest:
                buffer = np.empty((longest, len(x32)), dtype=np.float32)
            for start, stop in blocks:
                products = np.matmul(x32[start:stop], x32.T, out=buffer[: stop - start])
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
            scratch.append(buffer)

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

    def mean_over_pairs(self) -> float:
        """Return the mean over all pairs of the squared distances, or of the cosine distances."""
        return _mean_over_pairs(self.x, self.blank, self.cosine)

    def is_constant(self) -> bool:
        """Say whether all rows are the same, or under cosine point the same way."""
        return rows_are_equal(self.x, self.cosine)

    def permuted(self, order: NDArray[np.intp]) -> DenseSpace:
        """Return the space of the same samples in another order."""
        other = copy.copy(self)
        other.x, other.blank = self.x[order], self.blank[order]
        return other


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

    def mean_over_pairs(self) -> float:
        """Return the mean over all pairs of the squared distances, or of the cosine distances."""
        return _mean_over_pairs(self.x, self.blank, self.cosine)

    def is_constant(self) -> bool:
        """Say whether all rows are the same, or under cosine point the same way."""
        return sparse_rows_are_equal(self.x, self.cosine)

    def permuted(self, order: NDArray[np.intp]) -> SparseSpace:
        """Return the space of the same samples in another order."""
        other = copy.copy(self)
        other.x, other.blank = sparse.csr_array(self.x[order]), self.blank[order]
        return other


def _mean_over_pairs(x: Any, blank: NDArray[np.bool_], cosine: bool) -> float:
    """Return the mean over all pairs: squared differences, or 1 - cos of rows already of unit length.

    The squared differences of all pairs of m rows sum to 2 m^2 times their total variance, and 1 - cos is
    half of the squared difference. Rows of zeros are at 1 from every other, at 0 from themselves.
    """
    if not cosine:
        return 2.0 * _total_variance(x)
    n, n_blank = len(blank), int(blank.sum())
    share = 1.0 - n_blank / n  # of the rows that have a direction
    among_others = share**2 * _total_variance(x[~blank] if n_blank else x) if share else 0.0
    return among_others + (n_blank / n) * (1.0 + share) - n_blank / n**2


def _total_variance(x: Any) -> float:
    """Return the mean squared distance of the rows from their mean; two passes, so that nothing cancels."""
    if not sparse.issparse(x):
        return float(x.var(axis=0, dtype=np.float64).sum())
    n = x.shape[0]
    means = np.asarray(x.sum(axis=0, dtype=np.float64)).ravel() / n
    absent = n - np.bincount(x.indices, minlength=x.shape[1])
    stored = x.data - means[x.indices]
    return float((stored @ stored + absent @ means**2) / n)


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


def _row_squares(x: sparse.csr_array) -> NDArray[np.float64]:
    """Return the squared norm of each row."""
    squares = sparse.csr_array((x.data.astype(np.float64) ** 2, x.indices, x.indptr), shape=x.shape)
    return np.asarray(squares.sum(axis=1)).ravel()


def _half_squared(squares: Floats) -> Floats:
    """Turn squared differences of unit vectors, 2 (1 - cos), into squared cosine distances."""
    return (0.5 * squares) ** 2
