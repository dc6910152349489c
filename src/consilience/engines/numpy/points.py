"""Placed views, readable: every metric as a matrix of values between samples, a few rows at a time.

All faster searches are tested against it. The code is as simple as possible: a sample's values to all others
are computed, and its nearest are the first after sorting by (value to twelve digits, number).
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import PAIRWISE_BOOLEAN_FUNCTIONS

from ...spaces import Space
from ...spaces.space import (
    check_features,
    check_graph_distances,
    check_pairs,
    check_range,
    metric_parameters,
)
from ..points.masked import MaskedPoints
from ..points.protocol import Edges, Kind, Points
from ..results import Neighbors, SearchReport

Values = Callable[[Any, Any], NDArray[np.float64]]
_ROWS = 64  # rows whose values to all others are held at a time
_BITS = 41  # bits of a value that are compared: about twelve digits


def place(space: Space) -> Points:
    """Return a view as points; see `Engine.place`."""
    if not space.is_complete:
        assert space.seen is not None
        return MaskedPoints(place(space.of_seen()), space.seen, space.is_pairwise)
    if space.metric == "graph_distance":
        return GraphPoints.of_distances(check_graph_distances(space))
    if space.is_pairwise:
        matrix = check_pairs(space)
        if sparse.issparse(matrix):
            return GraphPoints(matrix.toarray(), matrix.toarray() > 0, "similarity", 0.0)
        power = 2 if space.metric == "precomputed_distance" else 1
        return PlainPoints(
            np.asarray(matrix, dtype=np.float64), lambda rows, _: rows**power, space.kind, True
        )
    check_features(space)
    rows = space.scaling(space.rows)
    check_range(rows, space.metric, space.name)
    rows = rows.toarray() if sparse.issparse(rows) else rows
    if callable(space.metric):
        return PlainPoints(rows, _by_function(space.metric), "distance")
    rows = np.asarray(rows, dtype=np.float64)
    return PlainPoints(*_features(rows, space))


def _features(rows: NDArray[Any], space: Space) -> tuple[NDArray[Any], Values, Kind]:
    """Return rows, the function that compares them, and the kind of its values: distances."""
    metric = space.metric
    if metric in _BY_ROWS:
        return rows, _BY_ROWS[metric], "distance"
    if metric == "gower":
        return rows, _gower(rows, space.kinds), "distance"
    parameters = metric_parameters(rows, metric, space.name)
    if metric in PAIRWISE_BOOLEAN_FUNCTIONS:
        return rows, lambda a, b: pairwise_distances(a != 0, b != 0, metric=metric) ** 2, "distance"
    return rows, lambda a, b: pairwise_distances(a, b, metric=metric, **parameters) ** 2, "distance"


def _squared_differences(a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.float64]:
    return np.array([((row - b) ** 2).sum(axis=1) for row in a])


def _squared_cosine_distances(a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.float64]:
    """Return (1 - cos)^2; rows without direction are at 1 from every row."""
    lengths = [np.linalg.norm(x, axis=1) for x in (a, b)]
    tiny = [length <= 1e-15 * np.sqrt(x.shape[1]) for length, x in zip(lengths, (a, b), strict=True)]
    unit = [x / np.where(small, 1.0, n)[:, None] for x, n, small in zip((a, b), lengths, tiny, strict=True)]
    half = _squared_differences(*unit) / 2
    return np.asarray(np.where(tiny[0][:, None] | tiny[1], 1.0, half) ** 2)


def _squared_correlation_distances(a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.float64]:
    """Return the same of rows minus their means."""
    return _squared_cosine_distances(*(x - x.mean(axis=1, keepdims=True) for x in (a, b)))


def _gower(rows: NDArray[np.float64], kinds: tuple[str, ...] | None) -> Values:
    """Return Gower's distance, squared: the mean over the columns that both samples have."""
    spans = np.nanmax(rows, axis=0) - np.nanmin(rows, axis=0)
    spans = np.where(spans > 0, spans, np.inf)
    is_category = np.array([kind == "categorical" for kind in kinds or ("numeric",) * rows.shape[1]])

    def values(a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.float64]:
        result = np.empty((len(a), len(b)))
        for i, row in enumerate(a):
            both = ~np.isnan(row) & ~np.isnan(b)
            apart = np.where(is_category, row != b, np.abs(row - b) / spans)
            count = both.sum(axis=1)
            sums = np.where(both, apart, 0.0).sum(axis=1)
            result[i] = np.where(count > 0, sums / np.maximum(count, 1), 1.0)
        return result**2

    return values


def _known_differences(a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.float64]:
    """Return squared differences over the columns that both samples have, scaled up to all columns."""
    result = np.empty((len(a), len(b)))
    for i, row in enumerate(a):
        both = ~np.isnan(row) & ~np.isnan(b)
        sums = np.where(both, (row - b) ** 2, 0.0).sum(axis=1)
        result[i] = sums * len(row) / both.sum(axis=1)
    return result


_BY_ROWS: dict[str, Values] = {
    "euclidean": _squared_differences,
    "cosine": _squared_cosine_distances,
    "correlation": _squared_correlation_distances,
    "nan_euclidean": _known_differences,
}
_COSINES = (_squared_cosine_distances, _squared_correlation_distances)


def _by_function(metric: Any) -> Values:
    return lambda a, b: np.array([[float(metric(x, y)) for y in b] for x in a]) ** 2


def _rounded(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round to about twelve digits, so that values equal up to rounding errors become equal."""
    mantissa, exponent = np.frexp(values)
    return np.asarray(np.ldexp(np.floor(np.ldexp(mantissa, _BITS) + 0.5), exponent - _BITS))


def _first(far: NDArray[np.float64], shared: NDArray[np.float64], k: int, fill: int) -> NDArray[np.int32]:
    """Return the k columns that are least far; of equal ones those that share more, then the lower number."""
    order = np.lexsort((np.arange(len(far)), -_rounded(shared), _rounded(far)))
    order = order[np.isfinite(far[order])][:k]
    return np.append(order, np.full(k - len(order), fill)).astype(np.int32)


class PlainPoints:
    """Points whose values to each other are computed by a function of two sets of rows.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        The samples; of a matrix between samples, their rows.
    values : callable
        Squared distances, or similarities, between two sets of rows.
    kind : {"distance", "similarity"}
        Which.
    pairwise : bool, default=False
        Whether rows are values between samples.
    """

    ranks_ties = False

    def __init__(self, rows: Any, values: Values, kind: Kind, pairwise: bool = False) -> None:
        self.rows, self.values, self.pairwise = rows, values, pairwise
        self.kind: Kind = kind

    def _block(self, rows: Any) -> NDArray[np.float64]:
        return np.asarray(self.values(rows, self.rows), dtype=np.float64)

    def nearest(self, k: int, search: str = "exact") -> Neighbors:
        """Return each sample's k nearest others; always by comparing all pairs."""
        n = len(self.rows)
        lists = np.empty((n, k), dtype=np.int32)
        for start in range(0, n, _ROWS):
            for i, row in enumerate(self._block(self.rows[start : start + _ROWS]), start):
                far = self._far(row)
                far[i] = np.inf
                lists[i] = _first(far, np.zeros(n), k, fill=i)
        return Neighbors(lists, SearchReport(pairs=n - 1.0))

    def nearest_to(self, row: Any, k: int) -> NDArray[np.int32]:
        """Return the nearest k samples for a new one; -1 where there are fewer."""
        far = self._far(self._block(row[None])[0])
        return _first(far, np.zeros(len(far)), k, fill=-1)

    def _far(self, row: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how far samples are, from a row of values; a similarity of 0 is no neighbour."""
        return row.copy() if self.kind == "distance" else np.where(row > 0, -row, np.inf)

    def measure(self, edges: Edges, known: Any = None) -> NDArray[np.float64]:
        """Return values on the edges."""
        return self._on_edges(self.rows, edges)

    def _on_edges(self, rows: Any, edges: Edges) -> NDArray[np.float64]:
        out = np.empty(len(edges.indices))
        for start in range(0, len(edges.indptr) - 1, _ROWS):
            block = self._block(rows[start : start + _ROWS])
            for i, row in enumerate(block, start):
                here = slice(edges.indptr[i], edges.indptr[i + 1])
                out[here] = row[edges.indices[here]]
        return out

    def mean_over_pairs(self) -> float:
        """Return the mean over all pairs; of cosine distances not squared."""
        n, total = len(self.rows), 0.0
        for start in range(0, n, _ROWS):
            block = self._block(self.rows[start : start + _ROWS])
            block[np.arange(len(block)), np.arange(start, start + len(block))] = 0.0
            total += float((np.sqrt(block) if self.values in _COSINES else block).sum())
        return total / n**2

    def is_constant(self) -> bool:
        """Say whether all samples look the same."""
        if self.pairwise:
            off = ~np.eye(len(self.rows), dtype=bool)
            return bool(np.ptp(self.rows[off]) == 0)
        if self.values in _COSINES:
            return bool(self._block(self.rows[:1]).max() <= 1e-24)
        first = self.rows[0]
        known = ~(np.isnan(self.rows) | np.isnan(first)) if self.rows.dtype.kind == "f" else True
        return bool(np.all((self.rows == first) | ~np.asarray(known)))

    def reordered(self, order: NDArray[np.intp]) -> PlainPoints:
        """Return the points of the same samples in another order."""
        other = copy.copy(self)
        other.rows = self.rows[order][:, order] if self.pairwise else self.rows[order]
        return other

    def query(self, rows: Any) -> PlainQueries:
        """Put new samples next to these."""
        dense = rows.toarray() if sparse.issparse(rows) else np.asarray(rows)
        return PlainQueries(self, dense)


class PlainQueries:
    """New samples next to `PlainPoints` or `GraphPoints`."""

    def __init__(self, points: Any, rows: NDArray[Any]) -> None:
        self.points, self.rows = points, rows
        self.kind: Kind = points.kind

    def nearest(self, k: int) -> NDArray[np.int32]:
        """Return the k nearest placed samples for each new one; -1 where there are fewer."""
        return np.array([self.points.nearest_to(row, k) for row in self.rows], dtype=np.int32).reshape(-1, k)

    def measure(self, edges: Edges) -> NDArray[np.float64]:
        """Return values on edges to placed samples."""
        return np.asarray(self.points._on_edges(self.rows, edges))


class GraphPoints:
    """A sparse graph as a view, held as a dense matrix: equal edges are ranked by their common neighbours.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
        Similarities, or distances.
    joined : ndarray of bool of shape (n, n)
        Where there are edges.
    kind : {"distance", "similarity"}
        Which.
    absent : float
        The value where there is no edge.
    """

    ranks_ties = True

    def __init__(self, matrix: Any, joined: Any, kind: Kind, absent: float) -> None:
        self.matrix, self.joined, self.absent = matrix, joined & ~np.eye(len(matrix), dtype=bool), absent
        self.kind: Kind = kind
        values = matrix[self.joined]
        if kind == "similarity":
            self.unit = float(values.max(initial=0.0)) or 1.0
        else:
            self.unit = (float(values.mean()) if len(values) else 0.0) or 1.0
        self.close = self._closeness(matrix, self.joined)
        self.close = self.close + self.close.T
        self.strength = self.close.sum(axis=1)

    @classmethod
    def of_distances(cls, graph: sparse.csr_array) -> GraphPoints:
        """Read a graph of distances; samples without an edge are as far as the farthest, or twice as far."""
        joined = np.zeros(graph.shape, dtype=bool)
        joined[np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr)), graph.indices] = True
        lengths = graph.data
        longest = float(lengths.max(initial=0.0))
        all_equal = len(lengths) > 0 and lengths.max() - lengths.min() <= 1e-12 * lengths.max()
        return cls(graph.toarray(), joined, "distance", (2 * longest or 1.0) if all_equal else longest)

    def _closeness(self, values: Any, joined: Any) -> NDArray[np.float64]:
        ratio = values / self.unit
        return np.where(joined, ratio if self.kind == "similarity" else 1.0 / (1.0 + ratio), 0.0)

    def _ranked(self, values: Any, joined: Any, close: Any, k: int, fill: int) -> NDArray[np.int32]:
        """Return the nearest k other ends of the edges of one sample."""
        far = np.where(joined, -values if self.kind == "similarity" else values, np.inf)
        # The share of the weight of each other end's edges that leads to neighbours of the sample.
        strength = np.where(self.strength > 0, self.strength, 1.0)
        return _first(far, (self.close @ close) / strength, k, fill)

    def nearest(self, k: int, search: str = "exact") -> Neighbors:
        """Return the k nearest samples that an edge joins to each; its own number where there are fewer."""
        parts = zip(self.matrix, self.joined, self.close, strict=True)
        lists = [self._ranked(*part, k, fill=i) for i, part in enumerate(parts)]
        return Neighbors(np.array(lists, dtype=np.int32), SearchReport())

    def nearest_to(self, row: NDArray[Any], k: int) -> NDArray[np.int32]:
        """Return the nearest k samples for a new one, given by its edges; 0 is no edge."""
        return self._ranked(row, row > 0, self._closeness(row, row > 0), k, fill=-1)

    def measure(self, edges: Edges, known: Any = None) -> NDArray[np.float64]:
        """Return values on the edges: squared distances, or similarities."""
        rows = np.repeat(np.arange(len(self.matrix)), np.diff(edges.indptr))
        values = np.where(self.joined, self.matrix, self.absent)[rows, edges.indices]
        return np.asarray(values**2 if self.kind == "distance" else values)

    def _on_edges(self, rows: NDArray[Any], edges: Edges) -> NDArray[np.float64]:
        values = np.where(rows > 0, rows, self.absent)
        found = values[np.repeat(np.arange(len(rows)), np.diff(edges.indptr)), edges.indices]
        return np.asarray(found**2 if self.kind == "distance" else found)

    def mean_over_pairs(self) -> float:
        """Return the mean over all pairs."""
        values = np.where(self.joined, self.matrix, self.absent)
        np.fill_diagonal(values, 0.0)
        return float((values**2 if self.kind == "distance" else values).mean())

    def is_constant(self) -> bool:
        """Say whether all pairs of samples are given the same value."""
        off = ~np.eye(len(self.matrix), dtype=bool)
        values = self.matrix[self.joined]
        return len(values) == 0 or (
            bool(self.joined[off].all()) and bool(np.ptp(values) <= 1e-12 * values.max())
        )

    def reordered(self, order: NDArray[np.intp]) -> GraphPoints:
        """Return the points of the same samples in another order."""
        take = np.ix_(order, order)
        return GraphPoints(self.matrix[take], self.joined[take], self.kind, self.absent)

    def query(self, rows: Any) -> PlainQueries:
        """Put new samples next to those of the graph."""
        return PlainQueries(self, rows.toarray() if sparse.issparse(rows) else np.asarray(rows))
