"""Views that are searched by whole rows of distances or similarities: other metrics, and given matrices."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import PAIRWISE_BOOLEAN_FUNCTIONS

from ....spaces import Metric, metric_label
from ....spaces.space import metric_parameters, pair_label, undefined_distance
from ...points.given import as_queries, given_pairs
from ...points.protocol import (
    Edges,
    Floats,
    Index,
    Kind,
    cross_edges,
    row_blocks,
)
from ...results import Neighbors, SearchReport
from ..search.exact import nearest_given
from ..search.ties import Neighbourhoods, nearest_ends
from .features import rows_are_equal, sparse_rows_are_equal


class MetricPoints:
    """Any other metric of scikit-learn's `pairwise_distances`, or a `Metric`, a block of rows at a time.

    Parameters
    ----------
    x : ndarray or CSR of shape (n, d)
        Features.
    metric : str or Metric
        Its name, or a metric of the user. Metrics of yes/no features take everything that is not 0 for yes.
    name : str
        The view's name, for messages.
    sample_ids : sequence, default=None
        Names of the samples, for messages; None: their numbers.

    Examples
    --------
    >>> import numpy as np
    >>> points = MetricPoints(np.array([[0.0, 0.0], [1.0, 1.0], [3.0, 0.0]]), "manhattan", "view")
    >>> points.nearest(1).lists.ravel()
    array([1, 0, 0], dtype=int32)
    """

    kind: Literal["distance"] = "distance"
    ranks_ties = False

    def __init__(
        self, x: Any, metric: str | Metric, name: str, sample_ids: Sequence[Any] | NDArray[Any] | None = None
    ) -> None:
        self.metric, self.name, self.sample_ids = metric, name, sample_ids
        self.dtype = x.dtype
        self.parameters = {} if isinstance(metric, Metric) else metric_parameters(x, metric, name)
        self.is_boolean = metric in PAIRWISE_BOOLEAN_FUNCTIONS
        self.x = x != 0 if self.is_boolean else x

    def _rows(self, start: int, stop: int) -> Floats:
        block = self._distances(self.x[start:stop])
        undefined = np.isnan(block)
        undefined[np.arange(stop - start), np.arange(start, stop)] = False  # these are not used
        self._check(undefined, start, new=False)
        return block

    def _distances(self, rows: Any) -> Floats:
        if isinstance(self.metric, Metric):
            return self._by_users_metric(rows)
        with np.errstate(divide="ignore", invalid="ignore"):
            block = pairwise_distances(rows, self.x, metric=self.metric, **self.parameters)
        return np.ascontiguousarray(block, dtype=np.float64)

    def _by_users_metric(self, rows: Any) -> Floats:
        shape = rows.shape[0], self.x.shape[0]
        assert isinstance(self.metric, Metric)
        block = np.ascontiguousarray(self.metric.distances(rows, self.x), dtype=np.float64)
        if block.shape != shape or not np.all((block >= 0) & (block < np.inf)):
            what = f"an array of shape {block.shape}" if block.shape != shape else "what is no such number"
            raise ValueError(
                f"The metric {metric_label(self.metric)!r} must return {shape[0]} x {shape[1]} finite "
                f"numbers, not negative, for rows of view {self.name!r}; it returned {what}."
            )
        return block

    def _check(self, undefined: NDArray[np.bool_], start: int, *, new: bool) -> None:
        if undefined.any():
            i, j = divmod(int(np.argmax(undefined)), undefined.shape[1])
            pair = pair_label(self.sample_ids, start + i, j, new=new)
            raise undefined_distance(self.metric, self.name, pair)

    def nearest(self, k: int, search: str = "exact") -> Neighbors:
        """Return each sample's k nearest others; always by comparing all pairs."""
        n = self.x.shape[0]
        return Neighbors(nearest_given(self._rows, n, n, k, own=True), SearchReport(pairs=n - 1.0))

    def measure(self, edges: Edges, known: Any = None) -> Floats:
        """Return squared distances on the edges."""
        return squared_on_edges(self._rows, self.x.shape[0], edges)

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

    def reordered(self, order: NDArray[np.intp]) -> MetricPoints:
        """Return the points of the same samples in another order."""
        other = copy.copy(self)
        other.x = self.x[order]
        ids = range(len(order)) if self.sample_ids is None else self.sample_ids
        other.sample_ids = [ids[i] for i in order.tolist()]
        return other

    def query(self, rows: Any) -> MetricQueries:
        """Put new samples, with the same features, next to these."""
        rows = as_queries(rows, self.x, self.dtype)
        return MetricQueries(self, rows != 0 if self.is_boolean else rows)


class MetricQueries:
    """New samples next to `MetricPoints`."""

    kind: Literal["distance"] = "distance"

    def __init__(self, points: MetricPoints, rows: Any) -> None:
        self.points, self.x = points, rows

    def _rows(self, start: int, stop: int) -> Floats:
        block = self.points._distances(self.x[start:stop])
        self.points._check(np.isnan(block), start, new=True)
        return block

    def nearest(self, k: int) -> Index:
        """Return the k nearest placed samples for each new one."""
        return nearest_given(self._rows, self.x.shape[0], self.points.x.shape[0], k, own=False)

    def measure(self, edges: Edges) -> Floats:
        """Return squared distances on edges to placed samples."""
        m, n = self.x.shape[0], self.points.x.shape[0]
        return squared_on_edges(self._rows, n, cross_edges(edges, m, n))


def squared_on_edges(rows: Callable[[int, int], Floats], n: int, edges: Edges) -> Floats:
    """Return the squares of distances on the edges, from a function that gives whole rows of n distances."""
    out = np.empty(len(edges.indices))
    for start, stop in row_blocks(n, 8, 0, len(edges.indptr) - 1):
        here = slice(edges.indptr[start], edges.indptr[stop])
        if here.start == here.stop:
            continue
        places = np.repeat(np.arange(stop - start), np.diff(edges.indptr[start : stop + 1]))
        out[here] = rows(start, stop)[places, edges.indices[here]]
    return out * out


class PairPoints:
    """Distances or similarities that the user gives, as an n x n matrix; similarities may be sparse.

    Sparse ones are edges of a graph: of equal ones those come first whose ends share more of their
    neighbours (`ties`). In dense ones the lower index is nearer.

    Parameters
    ----------
    matrix : ndarray or CSR of shape (n, n)
        Not negative.
    kind : {"distance", "similarity"}
        What they are. A similarity of 0 is no edge.
    squared : bool
        Whether distances are squared already.

    Examples
    --------
    >>> import numpy as np
    >>> points = PairPoints(np.array([[0.0, 2.0], [2.0, 0.0]]), "distance", squared=False)
    >>> points.query(np.array([[3.0, 1.0]])).nearest(3)
    array([[ 1,  0, -1]], dtype=int32)
    """

    def __init__(self, matrix: Any, kind: Kind, squared: bool) -> None:
        self.matrix, self.squared = matrix, squared
        self.kind: Kind = kind
        self.ranks_ties = bool(sparse.issparse(matrix))

    def nearest(self, k: int, search: str = "exact") -> Neighbors:
        """Return each sample's k nearest others: smallest distances or largest positive similarities."""
        report = SearchReport(pairs=self.matrix.shape[0] - 1.0)
        return Neighbors(self._nearest(self.matrix, k, own=True), report)

    def _nearest(self, matrix: Any, k: int, own: bool) -> Index:
        m, n = matrix.shape
        if self.ranks_ties and not sparse.issparse(matrix):
            matrix = sparse.csr_array(matrix)
        if sparse.issparse(matrix):
            around = (lambda: self._around) if self.ranks_ties else None
            return nearest_ends(matrix, k, "similarity", around, own=own)
        if self.kind == "distance":
            return nearest_given(lambda a, b: np.ascontiguousarray(matrix[a:b]), m, n, k, own)
        least = -np.finfo(matrix.dtype).smallest_subnormal
        return nearest_given(lambda a, b: -matrix[a:b], m, n, k, own, least)

    @cached_property
    def _around(self) -> Neighbourhoods:
        return Neighbourhoods.of(self.matrix, "similarity")

    def measure(self, edges: Edges, known: Any = None) -> Floats:
        """Return squared distances, or similarities, on the edges."""
        return self._measure(self.matrix, edges)

    def _measure(self, matrix: Any, edges: Edges) -> Floats:
        rows = np.repeat(np.arange(matrix.shape[0]), np.diff(edges.indptr))
        values = np.asarray(matrix[rows, edges.indices], dtype=np.float64).ravel()
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

    def reordered(self, order: NDArray[np.intp]) -> PairPoints:
        """Return the points of the same samples in another order."""
        matrix = self.matrix[order][:, order]
        return PairPoints(
            sparse.csr_array(matrix) if sparse.issparse(matrix) else matrix, self.kind, self.squared
        )

    def query(self, rows: Any) -> PairQueries:
        """Put new samples next to these, given by their distances or similarities to all these.

        Parameters
        ----------
        rows : ndarray of shape (m, n), or CSR for similarities
            Distances or similarities, as `kind` and `squared` say. Not negative.
        """
        return PairQueries(self, given_pairs(rows, self.matrix.shape[0], self.kind))


class PairQueries:
    """New samples next to `PairPoints`."""

    def __init__(self, points: PairPoints, matrix: Any) -> None:
        self.points, self.matrix = points, matrix
        self.kind: Kind = points.kind

    def nearest(self, k: int) -> Index:
        """Return the k nearest placed samples for each new one."""
        return self.points._nearest(self.matrix, k, own=False)

    def measure(self, edges: Edges) -> Floats:
        """Return squared distances, or similarities, on edges to placed samples."""
        return self.points._measure(self.matrix, cross_edges(edges, *self.matrix.shape))
