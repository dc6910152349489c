"""Placed views, readable: every metric as a matrix of values between samples, a few rows at a time.

All faster searches are tested against it. The code is as simple as possible: a sample's values to all others
are computed, and its nearest are the first after sorting by (value to twelve digits, number).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import PAIRWISE_BOOLEAN_FUNCTIONS

from ...spaces import Space, takes_missing_cells
from ...spaces.space import (
    as_distance,
    check_features,
    check_graph_distances,
    check_pairs,
    check_range,
    gower_ranges,
    metric_parameters,
    no_distance,
    pair_label,
    undefined_distance,
)
from ..points.given import as_queries, given_edges, given_pairs
from ..points.masked import MaskedPoints
from ..points.protocol import Edges, Index, Kind, Points, cross_edges
from ..results import Neighbors, SearchReport

Values = Callable[[Any, Any], NDArray[np.float64]]
_ROWS = 64  # rows whose values to all others are held at a time
_BITS = 41  # bits of a value that are compared: about twelve digits
_ROUNDING = 4  # entries of a row that differ by no more than this number of last digits are the same
_LARGEST = 1e100  # how close the ends of an edge can be, times the unit; sums of these are still finite


def place(space: Space) -> Points:
    """Return a view as points; see `Engine.place`."""
    if not space.is_complete:
        assert space.seen is not None
        return MaskedPoints(place(space.of_seen()), space.seen, space.is_pairwise)
    if space.metric == "graph_distance":
        graph = check_graph_distances(space)
        return GraphPoints(graph.toarray(), _stored(graph), "distance", _farthest(graph.data))
    if space.is_pairwise:
        matrix = check_pairs(space)
        if sparse.issparse(matrix):
            return GraphPoints(matrix.toarray(), matrix.toarray() > 0, "similarity", 0.0)
        return PairPoints(space, np.asarray(matrix, dtype=np.float64))
    check_features(space)
    rows = space.scaling(space.rows)
    check_range(rows, space.metric, space.name)
    return FeaturePoints(space, rows.toarray() if sparse.issparse(rows) else rows)


# Rows as they are compared


def _prepared(rows: NDArray[Any], metric: Any) -> NDArray[Any]:
    """Return rows as they are compared, each by itself: of unit length for the cosine, yes and no, ..."""
    if callable(metric):
        rows = rows.view()
        rows.flags.writeable = False  # a function of the user gets them
        return rows
    if metric in PAIRWISE_BOOLEAN_FUNCTIONS:
        return np.asarray(rows != 0)
    if metric == "cosine":
        return _unit_rows(rows)
    if metric == "correlation":
        return _unit_rows(_centered_rows(rows))
    return np.ascontiguousarray(rows, dtype=np.float64)


def _unit_rows(x: NDArray[Any]) -> NDArray[np.float64]:
    """Return rows of length 1; rows of zeros stay."""
    scaled = _divided(x.astype(np.float64, order="C"), np.abs(x).max(axis=1))  # squares are finite then
    return _divided(scaled, np.sqrt((scaled**2).sum(axis=1)))


def _divided(x: NDArray[np.float64], divisors: NDArray[Any]) -> NDArray[np.float64]:
    return np.asarray(x / np.where(divisors == 0, 1.0, divisors)[:, None])


def _centered_rows(x: NDArray[Any]) -> NDArray[np.float64]:
    """Return rows minus their means, in any unit; those that are constant up to rounding become zero."""
    _, exponents = np.frexp(np.abs(x).max(axis=1).astype(np.float64))
    scaled = np.ldexp(x.astype(np.float64, order="C"), -exponents[:, None])  # entries of at most 1
    is_constant = np.ptp(scaled, axis=1) <= _ROUNDING * np.finfo(x.dtype).eps * np.abs(scaled).max(axis=1)
    for _ in range(2):  # the second time the rest of the mean, due to rounding
        scaled -= scaled.mean(axis=1, keepdims=True)
    return np.where(is_constant[:, None], 0.0, scaled)


# What is compared: a function of two sets of rows


def _values(space: Space, rows: NDArray[Any]) -> Values:
    """Return the function that compares rows by the metric of a view; `rows` are its own."""
    metric = space.metric
    if callable(metric):
        return lambda a, b: np.array([[as_distance(metric(x, y)) for y in b] for x in a])
    if metric in _BY_ROWS:
        return _BY_ROWS[metric]
    if metric == "gower":
        rows = rows.astype(np.float64)
        ranges = gower_ranges(np.fmin.reduce(rows), np.fmax.reduce(rows), space.kinds, space.name)
        return lambda a, b: _gower_distances(a, b, ranges)
    parameters = metric_parameters(rows, metric, space.name)
    return lambda a, b: pairwise_distances(a, b, metric=metric, **parameters)


def _squared_differences(a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.float64]:
    return np.array([((row - b) ** 2).sum(axis=1) for row in a])


def _cosine_distances(a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.float64]:
    """Return 1 - cos of rows of length 1; rows of zeros are at 1 from every row."""
    blank = ~np.any(a, axis=1, keepdims=True) | ~np.any(b, axis=1)
    return np.where(blank, 1.0, _squared_differences(a, b) / 2)


def _gower_distances(a: NDArray[Any], b: NDArray[Any], ranges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Gower's distance: the mean over the columns that both samples have, 1 if there is none."""
    is_category = ranges == 0
    divisors = np.where(is_category, 1.0, ranges)
    result = np.empty((len(a), len(b)))
    for i, row in enumerate(a):
        both = ~np.isnan(row) & ~np.isnan(b)
        apart = np.where(is_category, row != b, np.abs(row - b) / divisors)
        count = both.sum(axis=1)
        sums = np.where(both, apart, 0.0).sum(axis=1)
        result[i] = np.where(count > 0, sums / np.maximum(count, 1), 1.0)
    return result


def _known_differences(a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.float64]:
    """Return squared differences over the columns that both samples have, scaled up to all columns."""
    result = np.empty((len(a), len(b)))
    for i, row in enumerate(a):
        both = ~np.isnan(row) & ~np.isnan(b)
        count = both.sum(axis=1)
        sums = np.where(both, (row - b) ** 2, 0.0).sum(axis=1)
        result[i] = np.where(count > 0, sums * len(row) / np.maximum(count, 1), np.nan)
    return result


_BY_ROWS: dict[str, Values] = {
    "euclidean": _squared_differences,
    "cosine": _cosine_distances,
    "correlation": _cosine_distances,
    "nan_euclidean": _known_differences,
}


def _rounded(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round to about twelve digits, so that values equal up to rounding errors become equal."""
    mantissa, exponent = np.frexp(values)
    return np.asarray(np.ldexp(np.floor(np.ldexp(mantissa, _BITS) + 0.5), exponent - _BITS))


def _first(
    values: NDArray[np.float64], allowed: Any, kind: Kind, k: int, fill: int, shared: Any = 0.0
) -> Index:
    """Return the k allowed columns that are nearest; of equal ones those that share more, then the first."""
    far = values if kind == "distance" else -values
    shared = np.broadcast_to(shared, far.shape)
    order = np.lexsort((np.arange(len(far)), -_rounded(shared), _rounded(far)))
    order = order[allowed[order]][:k]
    return np.append(order, np.full(k - len(order), fill)).astype(np.int32)


class PlainPoints:
    """Points whose values to each other are computed by a function of two sets of rows.

    Parameters
    ----------
    space : Space
        The view.
    rows : ndarray of shape (n, d)
        The samples as they are compared.
    values : callable
        Compares two sets of rows: distances, squared ones, or similarities.
    power : {1, 2}
        The values to this power are squared distances, or similarities.
    """

    ranks_ties = False

    def __init__(self, space: Space, rows: NDArray[Any], values: Values, power: int) -> None:
        self.space, self.rows, self.values, self.power = space, rows, values, power
        self.ids = np.arange(len(rows)) if space.sample_ids is None else np.asarray(space.sample_ids)
        self.kind: Kind = space.kind

    def _compared(self, rows: NDArray[Any], own: bool) -> Iterator[tuple[int, NDArray[np.float64]]]:
        """Yield the number of each of the rows, and its values to all samples; 0 to itself."""
        for start in range(0, len(rows), _ROWS):
            # What is too far for numbers is infinitely far; what is undefined, NaN, is refused.
            with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
                block = np.array(self.values(rows[start : start + _ROWS], self.rows), dtype=np.float64)
            for i, values in enumerate(block, start):
                if own:
                    values[i] = 0.0
                if np.isnan(values).any():
                    self._refuse(rows, i, int(np.argmax(np.isnan(values))), own)
                yield i, values

    def _refuse(self, rows: NDArray[Any], i: int, j: int, own: bool) -> None:
        metric, name, pair = self.space.metric, self.space.name, pair_label(self.ids, i, j, new=not own)
        if callable(metric):
            raise no_distance(metric, metric(rows[i], self.rows[j]), name, pair)
        raise undefined_distance(metric, name, pair)

    def _nearest(self, rows: NDArray[Any], k: int, own: bool) -> Index:
        lists = np.empty((len(rows), k), dtype=np.int32)
        for i, values in self._compared(rows, own):
            allowed = np.full(len(values), True) if self.kind == "distance" else values > 0
            if own:
                allowed[i] = False
            lists[i] = _first(values, allowed, self.kind, k, fill=i if own else -1)
        return lists

    def _measure(self, rows: NDArray[Any], edges: Edges, own: bool) -> NDArray[np.float64]:
        out = np.empty(len(edges.indices))
        for i, values in self._compared(rows, own):
            here = slice(edges.indptr[i], edges.indptr[i + 1])
            out[here] = values[edges.indices[here]] ** self.power
        return out

    def nearest(self, k: int, search: str = "exact") -> Neighbors:
        """Return each sample's k nearest others; always by comparing all pairs."""
        return Neighbors(self._nearest(self.rows, k, own=True), SearchReport(pairs=len(self.rows) - 1.0))

    def measure(self, edges: Edges, known: Any = None) -> NDArray[np.float64]:
        """Return values on the edges."""
        return self._measure(self.rows, edges, own=True)

    def mean_over_pairs(self) -> float:
        """Return the mean over all pairs; of cosine distances not squared."""
        power = 1 if self.values is _cosine_distances else self.power
        total = sum(float((values**power).sum()) for _, values in self._compared(self.rows, own=True))
        return total / len(self.rows) ** 2


class FeaturePoints(PlainPoints):
    """Points given by their features.

    Parameters
    ----------
    space : Space
        The view.
    rows : ndarray of shape (n, d)
        The samples on the scale asked for.
    """

    def __init__(self, space: Space, rows: NDArray[Any]) -> None:
        metric = space.metric
        self.dtype = np.dtype(np.float64) if metric in ("gower", "nan_euclidean") else rows.dtype
        power = 1 if metric in ("euclidean", "nan_euclidean") else 2
        super().__init__(space, _prepared(rows, metric), _values(space, rows), power)

    def is_constant(self) -> bool:
        """Say whether all samples look the same; which cells are empty says nothing, except to a function."""
        if self.values is _cosine_distances:
            return bool(np.abs(self.rows - self.rows[0]).max() <= 1e-12)
        if callable(self.space.metric):
            return all(np.array_equal(row, self.rows[0], equal_nan=True) for row in self.rows)
        return not bool(np.any(np.fmax.reduce(self.rows) > np.fmin.reduce(self.rows)))

    def reordered(self, order: NDArray[np.intp]) -> FeaturePoints:
        """Return the points of the same samples in another order."""
        other = copy.copy(self)
        other.rows, other.ids = self.rows[order], self.ids[order]
        return other

    def query(self, rows: Any) -> PlainQueries:
        """Put new samples, with the same features, next to these."""
        metric = self.space.metric
        given = as_queries(rows, self.rows, self.dtype, missing=takes_missing_cells(metric))
        return PlainQueries(self, _prepared(given, metric))


class PairPoints(PlainPoints):
    """Points given by a dense matrix of distances or similarities between them.

    Parameters
    ----------
    space : Space
        The view.
    rows : ndarray of shape (n, n)
        The matrix.
    """

    def __init__(self, space: Space, rows: NDArray[np.float64]) -> None:
        super().__init__(space, rows, lambda a, _: a, 2 if space.metric == "precomputed_distance" else 1)

    def is_constant(self) -> bool:
        """Say whether all pairs of samples are given the same value."""
        return bool(np.ptp(self.rows[~np.eye(len(self.rows), dtype=bool)]) == 0)

    def reordered(self, order: NDArray[np.intp]) -> PairPoints:
        """Return the points of the same samples in another order."""
        other = copy.copy(self)
        other.rows, other.ids = self.rows[np.ix_(order, order)], self.ids[order]
        return other

    def query(self, rows: Any) -> PlainQueries:
        """Put new samples next to these, given by their values to all these."""
        given = given_pairs(rows, len(self.rows), self.kind)
        return PlainQueries(self, given.toarray() if sparse.issparse(given) else given)


class PlainQueries:
    """New samples next to `PlainPoints`."""

    def __init__(self, points: PlainPoints, rows: NDArray[Any]) -> None:
        self.points, self.rows = points, rows
        self.kind: Kind = points.kind

    def nearest(self, k: int) -> Index:
        """Return the k nearest placed samples for each new one; -1 where there are fewer."""
        return self.points._nearest(self.rows, k, own=False)

    def measure(self, edges: Edges) -> NDArray[np.float64]:
        """Return values on edges to placed samples."""
        edges = cross_edges(edges, len(self.rows), len(self.points.rows))
        return self.points._measure(self.rows, edges, own=False)


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

    def _closeness(self, values: Any, joined: Any) -> NDArray[np.float64]:
        with np.errstate(over="ignore"):
            ratio = np.minimum(np.where(joined, values, 0.0) / self.unit, _LARGEST)
        return np.where(joined, ratio if self.kind == "similarity" else 1.0 / (1.0 + ratio), 0.0)

    def _ranked(self, values: Any, joined: Any, close: Any, k: int, fill: int) -> Index:
        """Return the nearest k other ends of the edges of one sample."""
        # The share of the weight of each other end's edges that leads to neighbours of the sample.
        shared = (self.close @ close) / np.where(self.strength > 0, self.strength, 1.0)
        return _first(values, joined, self.kind, k, fill, shared)

    def _measure(self, values: Any, joined: Any, edges: Edges) -> NDArray[np.float64]:
        rows = np.repeat(np.arange(len(values)), np.diff(edges.indptr))
        found = np.where(joined, values, self.absent)[rows, edges.indices]
        return np.asarray(found**2 if self.kind == "distance" else found)

    def nearest(self, k: int, search: str = "exact") -> Neighbors:
        """Return the k nearest samples that an edge joins to each; its own number where there are fewer."""
        parts = zip(self.matrix, self.joined, self.close, strict=True)
        lists = [self._ranked(*part, k, fill=i) for i, part in enumerate(parts)]
        return Neighbors(np.array(lists, dtype=np.int32), SearchReport())

    def measure(self, edges: Edges, known: Any = None) -> NDArray[np.float64]:
        """Return values on the edges: squared distances, or similarities."""
        return self._measure(self.matrix, self.joined, edges)

    def mean_over_pairs(self) -> float:
        """Return the mean over all pairs."""
        values = np.where(self.joined, self.matrix, self.absent)
        np.fill_diagonal(values, 0.0)
        return float((values**2 if self.kind == "distance" else values).mean())

    def is_constant(self) -> bool:
        """Say whether all pairs of samples are given the same value."""
        n, values = len(self.matrix), self.matrix[self.joined]
        same = _are_equal if self.kind == "distance" else lambda given: np.ptp(given) == 0
        return len(values) == 0 or (len(values) == n * (n - 1) and bool(same(values)))

    def reordered(self, order: NDArray[np.intp]) -> GraphPoints:
        """Return the points of the same samples in another order."""
        take = np.ix_(order, order)
        return GraphPoints(self.matrix[take], self.joined[take], self.kind, self.absent)

    def query(self, rows: Any) -> GraphQueries:
        """Put new samples, given by their edges, next to those of the graph."""
        n = len(self.matrix)
        if self.kind == "distance":
            graph = given_edges(rows, n)
            return GraphQueries(self, graph.toarray(), _stored(graph))
        given = given_pairs(rows, n, "similarity")
        matrix = given.toarray() if sparse.issparse(given) else given
        return GraphQueries(self, matrix, matrix > 0)


class GraphQueries:
    """New samples next to `GraphPoints`."""

    def __init__(self, points: GraphPoints, matrix: NDArray[Any], joined: NDArray[np.bool_]) -> None:
        self.points, self.matrix, self.joined = points, matrix, joined
        self.kind: Kind = points.kind

    def nearest(self, k: int) -> Index:
        """Return the k nearest samples that an edge joins to each new one; -1 where there are fewer."""
        close = self.points._closeness(self.matrix, self.joined)
        parts = zip(self.matrix, self.joined, close, strict=True)
        lists = [self.points._ranked(*part, k, fill=-1) for part in parts]
        return np.array(lists, dtype=np.int32).reshape(-1, k)

    def measure(self, edges: Edges) -> NDArray[np.float64]:
        """Return values on edges to samples of the graph."""
        return self.points._measure(self.matrix, self.joined, cross_edges(edges, *self.matrix.shape))


def _stored(graph: sparse.csr_array) -> NDArray[np.bool_]:
    """Say where a sparse matrix has entries; a stored 0 is one."""
    stored = np.zeros(graph.shape, dtype=bool)
    stored[np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr)), graph.indices] = True
    return stored


def _farthest(lengths: NDArray[np.float64]) -> float:
    """Return how far samples without an edge are: as far as the farthest, or twice if all are equally far."""
    longest = float(lengths.max(initial=0.0))
    return longest if not len(lengths) or not _are_equal(lengths) else 2 * longest or 1.0


def _are_equal(lengths: NDArray[np.float64]) -> bool:
    return bool(np.ptp(lengths) <= 1e-12 * lengths.max())
