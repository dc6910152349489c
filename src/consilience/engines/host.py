"""The common part of engines that work in the memory of this process: arrays, `EdgeSet`, SciPy matrices."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..graphs import EdgeSet, symmetrize
from . import embedding, expected, kmeans, new_samples, normalize, ties, walks
from .protocol import Engine, Mask, Search
from .results import Clusters, Matrix, Neighbors, Spectrum, Vector

Floats = NDArray[np.floating[Any]]


class HostEngine(Engine):
    """An engine whose handles are plain objects: points have the methods of `points.protocol.Points`."""

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

    def break_ties(self, points: Any, lists: Any, seed: Sequence[int]) -> Any:
        return ties.untied_lists(points, lists, seed)

    def restrict(self, lists: Any, samples: Mask) -> Any:
        own = np.arange(len(samples), dtype=np.int32)[:, None]
        return np.where(samples[:, None], lists, own)

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
        return normalize.normalized(weights, judged, names)

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

    def _leading_vectors(self, *arguments: Any, **solvers: Any) -> Spectrum:
        return embedding.leading_vectors(*arguments, **solvers)

    def n_rows(self, vectors: Floats) -> int:
        return len(vectors)

    def take(self, vectors: Floats, rows: NDArray[np.intp]) -> Matrix:
        return np.asarray(vectors[rows])

    def first_columns(self, vectors: Floats, n_columns: int) -> Floats:
        return np.ascontiguousarray(vectors[:, :n_columns])

    def unit_rows(self, vectors: Floats) -> Floats:
        return embedding.unit_rows(vectors)

    def _kmeans(self, vectors: Any, n_clusters: int, **settings: Any) -> Clusters:
        return kmeans.kmeans(vectors, n_clusters, **settings)

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
