"""The common part of engines that work in the memory of this process: arrays, `EdgeSet`, SciPy matrices."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from ..graphs import EdgeSet, symmetrize
from . import embedding, expected, matching, new_samples, threads, walks
from .protocol import Engine, Mask, Search
from .results import Matrix, Neighbors, Vector

Floats = NDArray[np.floating[Any]]
Index = NDArray[np.integer[Any]]

_MANY_TIES = 0.2  # share of the samples whose last two neighbours are equally near
_WIDER = 3  # times as many neighbours are considered where there are ties
_EQUAL = 1e-11  # relative difference of distances that count as equal


class HostEngine(Engine):
    """An engine whose handles are plain objects: points have the methods of `points.protocol.Points`."""

    def limit(self, n_jobs: int | None) -> AbstractContextManager[None]:
        return threads.limit(n_jobs)

    @property
    def n_threads(self) -> int:
        return threads.count()

    def fetch(self, handle: Any) -> Any:
        return handle

    def adopt(self, value: Any) -> Any:
        return value

    def query(self, points: Any, rows: Any) -> Any:
        return points.query(rows)

    def is_constant(self, points: Any) -> bool:
        return bool(points.is_constant())

    def mean_over_pairs(self, points: Any) -> float:
        return float(points.mean_over_pairs())

    def nearest(self, points: Any, k: int, search: Search = "exact") -> Neighbors:
        found: Neighbors = points.nearest(k, search)
        return found

    def nearest_new(self, queries: Any, k: int) -> Any:
        return queries.nearest(k)

    def measure(self, points: Any, edges: EdgeSet, known: Any = None) -> Floats:
        return np.asarray(points.measure(edges, known))

    def break_ties(self, points: Any, lists: Any, seed: Sequence[int], search: Search = "exact") -> Any:
        return _untied_lists(points, lists, seed, search)

    def restrict(self, lists: Any, samples: Mask) -> Any:
        own = np.arange(len(samples), dtype=np.int32)[:, None]
        return np.where(samples[:, None], lists, own)

    def matched_rows(
        self,
        lists: Sequence[Any],
        vectors: Any,
        trust: Any,
        mask: Mask | None,
        seed: int,
        copy_of: Sequence[int] | None = None,
    ) -> tuple[Any, Vector]:
        return matching.matched_rows(lists, vectors, trust, mask, seed, copy_of)

    def mix(self, graphs: Sequence[Any], shares: Vector) -> Any:
        return _mixed(graphs, shares)

    def lower_trust(self, trust: Any, n_views: int, columns: Mask, rows: Mask, level: float) -> Any:
        known = np.ones((len(rows), n_views)) if trust is None else trust
        return np.where(columns & rows[:, None], level, known)

    def bounded(self, trust: Floats, least: float) -> Floats | None:
        clipped = np.clip(trust, least, 1.0)
        return clipped if np.any(clipped != 1) else None

    def neighbor_graph(self, lists: Any) -> walks.NeighborGraph:
        return walks.NeighborGraph.of(lists)

    def votes(self, graph: walks.NeighborGraph, members: NDArray[np.float64]) -> NDArray[np.float64]:
        return graph.votes(members)

    def n_edges(self, edges: EdgeSet) -> int:
        return edges.n_edges

    def judged(self, edges: EdgeSet) -> Mask | None:
        return None if edges.seen is None or edges.seen.all() else edges.seen

    def judged_shares(self, judged: Mask) -> Vector:
        return np.asarray(judged.mean(axis=1))

    def mean_positive(self, values: Floats) -> float:
        positive = values > 0
        return float(values[positive].mean()) if positive.any() else 1.0

    def mean(self, values: Floats) -> float:
        return float(values.mean(dtype=np.float64)) or 1.0

    def n_values(self, weights: Floats) -> int:
        return int(weights.shape[1])

    def precision(self, weights: Floats) -> np.dtype[Any]:
        return weights.dtype

    def totals(self, weights: Floats) -> Vector:
        return np.asarray(weights.sum(axis=1, dtype=np.float64))

    def divide(self, weights: Floats, units: Vector) -> Floats:
        return np.asarray(weights / units[:, None])

    def average(
        self,
        weights: Floats,
        judged: Mask | None,
        view_weights: Vector | None = None,
        trust: Floats | None = None,
    ) -> Floats:
        if view_weights is None and trust is None:
            return np.asarray(weights.sum(axis=0) / (len(weights) if judged is None else judged.sum(axis=0)))
        counts: Any = 1.0 if view_weights is None else view_weights[:, None]
        counts = counts * (np.ones(weights.shape) if judged is None and trust is None else 1.0)
        counts = counts * (1.0 if judged is None else judged) * (1.0 if trust is None else trust)
        return np.asarray((counts * weights).sum(axis=0) / counts.sum(axis=0))

    def expected_average(
        self, weights: Floats, judged: Mask, view_weights: Vector, trust: Floats | None = None
    ) -> Floats:
        counts = np.broadcast_to(view_weights[:, None], weights.shape)
        if trust is not None:
            counts = np.where(judged, counts * trust, counts)
        values = expected.expected_values(weights, judged)
        return np.asarray((counts * values).sum(axis=0) / counts.sum(axis=0))

    def normalize(self, weights: Floats, judged: Mask | None, names: Sequence[str]) -> Floats:
        return _normalized(weights, judged, names)

    def consistent(self, weights: Floats, inconsistent: Floats, scales: Vector) -> Floats:
        return np.asarray(scales[:, None] * (weights - inconsistent))

    @abstractmethod
    def mark_strongest(self, edges: EdgeSet, values: Floats, k: int) -> Mask:
        """Mark the k largest values of each row."""

    def impute(
        self, edges: EdgeSet, values: Floats, mask: Mask, view_weights: Vector, k: int
    ) -> tuple[EdgeSet, Floats]:
        graph = self.sparsify(edges, values, k)
        return walks.complete_graph(edges, values, graph, mask, view_weights, k, self.keep_largest)

    def symmetrize(self, edges: EdgeSet, values: Floats) -> sparse.csr_array:
        return symmetrize(edges.to_csr(values))

    def sparsify(self, edges: EdgeSet, values: Floats, k: int) -> sparse.csr_array:
        return symmetrize(self.keep_largest(edges, values, k))

    def n_rows(self, vectors: Floats) -> int:
        return len(vectors)

    def take(self, vectors: Floats, rows: NDArray[np.intp]) -> Matrix:
        return np.asarray(vectors[rows])

    def first_columns(self, vectors: Floats, n_columns: int) -> Floats:
        return np.ascontiguousarray(vectors[:, :n_columns])

    def unit_rows(self, vectors: Floats) -> Floats:
        return embedding.unit_rows(vectors)

    def unite_new(self, lists: Sequence[Any], asked: Mask, masks: Sequence[Mask | None]) -> EdgeSet:
        return new_samples.unite_new(lists, asked, masks)

    def measure_new(self, queries: Any, edges: EdgeSet, asked: Mask) -> Floats:
        own, inside = new_samples.edges_of_asked(edges, asked)
        values = np.zeros(edges.n_edges)
        if inside.any():
            values[inside] = queries.measure(own)
        return values

    def trust_of_ends(self, edges: EdgeSet, trust: Floats) -> Floats:
        return new_samples.trust_of_ends(edges, trust)

    def coinciding(self, edges: EdgeSet, parts: Sequence[tuple[int, Floats]], n_views: int) -> Mask:
        return new_samples.coinciding(edges, parts, n_views)

    def cluster_shares(
        self, edges: EdgeSet, values: Floats, same: Mask, labels: NDArray[np.intp], n_clusters: int, k: int
    ) -> Matrix:
        kept = self.mark_strongest(edges, values, k)
        return new_samples.count_votes(edges, values, kept, same, labels, n_clusters)


def _normalized(weights: Floats, seen: Mask | None, names: Sequence[str]) -> Floats:
    """Return weights scaled to sum 1 per view, in their own memory; see `Engine.normalize`."""
    _check_weights(weights, names)
    # First divided by the largest weight: sums of very large or small numbers may not be finite.
    np.divide(weights, weights.max(axis=1, keepdims=True), out=weights)
    shares = np.ones(len(weights)) if seen is None else seen.mean(axis=1)
    shares /= weights.sum(axis=1, dtype=np.float64)
    weights *= shares.astype(weights.dtype)[:, None]
    return weights


def _check_weights(weights: Floats, names: Sequence[str]) -> None:
    for name, row in zip(names, weights, strict=True):
        if not np.isfinite(row).all():
            edge = int(np.argmin(np.isfinite(row)))
            raise ValueError(
                f"View {name!r} has the weight {row[edge]} at edge {edge}; weights must be finite."
            )
        if row.min() < 0:
            edge = int(np.argmin(row))
            raise ValueError(
                f"View {name!r} has the negative weight {row[edge]:.6g} at edge {edge}; "
                "similarities and distances must not be negative."
            )
        if row.max() == 0:
            raise ValueError(f"View {name!r} has no positive edge weight, so it says nothing; leave it out.")


def _untied_lists(points: Any, lists: Index, seed: Sequence[int], search: Search) -> Index:
    """Return the lists as they are if there are few ties; otherwise the last ones drawn among equally near.

    Parameters
    ----------
    points : placed view
        With `kind`, `ranks_ties`, `nearest`, `measure` and `reordered`.
    lists : ndarray of shape (n, k)
        Neighbours; of equally near samples the first come first.
    seed : sequence of int
        Draws the order of the samples, and draws among equally near ones.
    search : {"exact", "approximate", "auto"}
        How more neighbours are found.
    """
    if not _has_ties(points, lists):
        return lists
    n, k = lists.shape
    rng = np.random.default_rng(seed)
    if points.ranks_ties:  # a graph ranks equal edges itself; a random order decides the rest
        return _nearest_in_order(points, k, rng.permutation(n), search)
    return _drawn_lists(points, n, k, rng, search)


def _nearest_in_order(points: Any, k: int, order: NDArray[np.intp], search: Search) -> Index:
    """Return each sample's k nearest others; of equally near ones those that come first in the order."""
    found = points.reordered(order).nearest(k, search).lists
    result = np.empty_like(found)
    result[order] = order[found]
    return result


def _has_ties(points: Any, lists: Index) -> bool:
    """Say whether the last two neighbours of many samples are equally near."""
    n, k = lists.shape
    if k < 2:
        return False
    last = np.sort(lists[:, -2:], axis=1)
    values = _distances(points, last)
    values = values[np.isfinite(values).all(axis=1)]
    equal = np.abs(values[:, 0] - values[:, 1]) <= _EQUAL * np.abs(values).max(axis=1)
    return bool(equal.sum() > _MANY_TIES * n)


def _drawn_lists(points: Any, n: int, k: int, rng: np.random.Generator, search: Search) -> Index:
    """Return lists of k neighbours, the last ones drawn from those that are as near as the last one.

    Of very many equally near ones some are considered, the first in a random order of this view.
    """
    wide = _nearest_in_order(points, min(n - 1, _WIDER * k), rng.permutation(n), search)
    wide = np.sort(wide, axis=1)
    values = _distances(points, wide)
    last = np.partition(values, k - 1, axis=1)[:, k - 1 : k]
    tolerance = _EQUAL * np.where(np.isfinite(last), np.abs(last), 0.0)
    rank = np.where(values < last - tolerance, 0.0, np.where(values <= last + tolerance, 1.0, 2.0))
    rank[np.isinf(values)] = 3.0
    chosen = np.argsort(rank + rng.random(wide.shape), axis=1)[:, :k]
    return np.take_along_axis(wide, chosen, axis=1)


def _distances(points: Any, lists: Index) -> NDArray[Any]:
    """Return how far the samples of ascending lists are, infinite for a sample itself ("no neighbour")."""
    n, k = lists.shape
    values = points.measure(EdgeSet(np.arange(0, n * k + 1, k), lists.ravel())).reshape(n, k)
    values = values if points.kind == "distance" else -values
    return np.where(lists == np.arange(n)[:, None], np.inf, values)


def edge_hessian(view_weights: Vector, scales: Vector, beta: float, gamma: float) -> tuple[Matrix, Matrix]:
    """Return the Hessian D shared by all edges' programs, and its coupling part K (section 4.6)."""
    pull = view_weights * scales
    coupling = gamma * np.outer(pull, pull)
    np.fill_diagonal(coupling, beta * pull**2)
    return 2 * (np.diag(view_weights * scales**2) + coupling), coupling


def edge_curvatures(
    counts: NDArray[np.floating[Any]], beta: float, gamma: float, dtype: DTypeLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return d = 1 / lambda + beta - gamma, and the gamma that belongs to it.

    `counts` has a row per view: its lambda on all edges, or one on each, 0 where it does not judge.

    Once gamma exceeds all 1 / lambda + beta an edge blames at most one view, and a larger gamma changes
    nothing: so it is limited to this, because otherwise d would lose all its digits. A d that is hardly more
    than rounding is taken as 0, because a quotient by it would be noise.
    """
    own = np.divide(1, counts, out=np.zeros(counts.shape), where=counts > 0) + beta
    cut = np.minimum(gamma, own.max(axis=0))
    curvature = own - cut
    curvature[np.abs(curvature) <= np.finfo(dtype).eps ** (2 / 3) * cut] = 0.0
    return curvature, cut


def _mixed(graphs: Sequence[sparse.csr_array], shares: Vector) -> sparse.csr_array:
    """Return the weighted sum of graphs, each scaled by its degrees; see `Engine.mix`."""
    total = None
    for graph, share in zip(graphs, shares, strict=True):
        degrees = np.asarray(graph.sum(axis=1), dtype=np.float64).ravel()
        roots = np.divide(1.0, np.sqrt(degrees), out=np.zeros(len(degrees)), where=degrees > 0)
        starts = np.repeat(np.arange(len(degrees)), np.diff(graph.indptr))
        # The product of the roots first: it is the same number in both directions.
        values = share * graph.data * (roots[starts] * roots[graph.indices])
        scaled = sparse.csr_array((values, graph.indices, graph.indptr), shape=graph.shape)
        total = scaled if total is None else total + scaled
    assert total is not None
    total = sparse.csr_array(total)
    total.sort_indices()
    return total
