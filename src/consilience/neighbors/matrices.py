"""Spaces that look at whole rows of distances or similarities: other metrics, and given matrices."""

from __future__ import annotations

import copy
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import PAIRWISE_BOOLEAN_FUNCTIONS

from .. import threads
from . import kernels
from .spaces import Edges, Floats, Index, row_blocks, rows_are_equal, sparse_rows_are_equal


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
        for start, stop in row_blocks(self.x.shape[0], 8):
            _select(self._rows(start, stop), start, k, np.inf, index)
        return index

    def on_edges(self, edges: Edges) -> Floats:
        """Return squared distances on the edges."""
        out = np.empty(len(edges.indices))
        for start, stop in row_blocks(self.x.shape[0], 8):
            here = slice(edges.indptr[start], edges.indptr[stop])
            if here.start == here.stop:
                continue
            rows = np.repeat(np.arange(stop - start), np.diff(edges.indptr[start : stop + 1]))
            out[here] = self._rows(start, stop)[rows, edges.indices[here]]
        return out * out

    def mean_over_pairs(self) -> float:
        """Return the mean over all pairs of the squared distances."""
        n = self.x.shape[0]
        total = 0.0
        for start, stop in row_blocks(n, 8):
            block = self._rows(start, stop)
            block[np.arange(stop - start), np.arange(start, stop)] = 0.0  # may be undefined
            total += float(np.einsum("ij,ij->", block, block))
        return total / n**2

    def is_constant(self) -> bool:
        """Say whether all rows are the same."""
        return sparse_rows_are_equal(self.x) if sparse.issparse(self.x) else rows_are_equal(self.x)

    def permuted(self, order: NDArray[np.intp]) -> MetricSpace:
        """Return the space of the same samples in another order."""
        other = copy.copy(self)
        other.x = self.x[order]
        return other


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
        for start, stop in row_blocks(n, 8):
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

    def mean_over_pairs(self) -> float:
        """Return the mean over all pairs of the squared distances, or of the similarities."""
        if self.kind == "distance" and not self.squared:
            total = np.einsum("ij,ij->", self.matrix, self.matrix, dtype=np.float64)
        else:
            total = self.matrix.sum(dtype=np.float64) - self.matrix.diagonal().sum(dtype=np.float64)
        return float(total) / self.matrix.shape[0] ** 2

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

    def permuted(self, order: NDArray[np.intp]) -> PrecomputedSpace:
        """Return the space of the same samples in another order."""
        matrix = self.matrix[order][:, order]
        return PrecomputedSpace(
            sparse.csr_array(matrix) if sparse.issparse(matrix) else matrix, self.kind, self.squared
        )


def _select(values: Floats, start: int, k: int, largest_allowed: float, index: Index) -> None:
    threads.for_ranges(
        lambda a, b: kernels.select_given(values, start, k, largest_allowed, a, b, index),
        len(values),
        grain=32,
    )
