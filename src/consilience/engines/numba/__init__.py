"""The default engine: compiled by Numba, on all cores, in the memory of this process.

Results have the same bits for any number of threads. Functions that need no compiled code are in the modules
next to this package, for all engines that work in this memory.

==================  =====================================================================================
module              what is there
==================  =====================================================================================
`columns`           statistics of the columns of a large view
`points/`           placed views, one class for each kind of metric
`search/`           nearest neighbours: exact, approximate in regions, among the edges of graphs
`overlaps`          what neighbour lists have in common
`edges`             union of lists, weights from values, trust on edges, keeping the strongest
`rounds`            the passes over the edges of a fusion
`spectrum/`         eigenvectors of many samples by a block method
`large_kmeans`      k-means of many rows
`dense`             dense steps of comparison systems
==================  =====================================================================================
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...graphs import EdgeKernel, EdgeSet, Moments
from ...spaces import Metric, Space
from ...spaces.scaling import Columns, thinned
from ...spaces.space import check_features, check_graph_distances, check_pairs, check_range
from ...views import in_memory
from .. import embedding, threads
from ..host import HostEngine
from ..points.cached import CachedPoints
from ..points.masked import MaskedPoints
from ..points.protocol import Points
from ..points.subset import SubsetPoints
from ..results import Clusters, Matrix, Overlaps, Spectrum, Sums, Vector
from . import dense, large_kmeans, overlaps, rounds
from . import edges as edge_passes
from .columns import describe_columns
from .points.features import DensePoints, SparsePoints
from .points.function import FunctionPoints
from .points.gower import GowerPoints, NanEuclideanPoints
from .points.graphs import GraphPoints
from .points.matrices import MetricPoints, PairPoints
from .spectrum import whole_graph
from .spectrum.filtered_iteration import FilteredIteration

MANY_ENTRIES = 1 << 22  # of a view: up to these NumPy's own functions are used, which make whole copies
_ENTRIES = 1 << 18  # that are computed together, so that no large temporary is made

Mask = NDArray[np.bool_]
Floats = NDArray[np.floating[Any]]


class NumbaEngine(HostEngine):
    """The default engine. See the module for its parts, and `Engine` for its functions."""

    name: ClassVar[str] = "numba"

    def describe(self, rows: Any, seen: Mask | None) -> Columns:
        rows = in_memory(rows)
        if rows.size <= MANY_ENTRIES:
            return Columns.of(rows if seen is None else rows[seen])
        return describe_columns(rows, seen)

    def place(self, space: Space) -> Any:
        return _place(space.in_memory())

    def subset(self, points: Any, rows: NDArray[np.intp], n_samples: int) -> Any:
        return CachedPoints(SubsetPoints(points, rows, n_samples))

    def cached(self, points: Any) -> Any:
        return CachedPoints(points)

    def stack(self, lists: Sequence[Any]) -> Any:
        return overlaps.stack_lists(lists)

    def overlaps(self, stacked: Any, mask: Mask | None) -> Overlaps:
        return overlaps.count_overlaps(stacked, mask)

    def row_trust(
        self, stacked: Any, mask: Mask | None, votes: Matrix, expected: Matrix, units: Vector
    ) -> Any:
        return overlaps.confirmed_rates(stacked, mask, votes, expected, units)

    def confirmed(
        self, stacked: Any, view: int, others: Mask, rows: NDArray[np.intp], places: NDArray[np.intp]
    ) -> NDArray[np.int64]:
        return overlaps.count_confirmed(stacked, view, others, rows, places)

    def unite(self, lists: Sequence[Any], mask: Mask | None) -> EdgeSet:
        return edge_passes.unite(lists, mask)

    def trust_on_edges(self, edges: EdgeSet, trust: Floats, like: Floats) -> Floats:
        return edge_passes.product_of_ends(edges, trust, like.dtype)

    def moments(
        self, values: Floats, judged: Mask | None, view: int, kernel: EdgeKernel | None = None
    ) -> Moments:
        return edge_passes.moments(_judged(values, judged, view, kernel))

    def mean_root(
        self, values: Floats, judged: Mask | None, view: int, kernel: EdgeKernel | None = None
    ) -> float:
        return edge_passes.mean_root(_judged(values, judged, view, kernel))

    def weigh(
        self,
        edges: EdgeSet,
        n_views: int,
        parts: Iterable[tuple[Floats, EdgeKernel]],
        double: bool = False,
    ) -> Floats:
        return edge_passes.weigh(edges, n_views, parts, double)

    def transform(self, values: Floats, kernel: EdgeKernel) -> Floats:
        return values if kernel.changes_nothing else edge_passes.apply(kernel, values)

    def load(
        self, weights: Floats, judged: Mask | None, trust: Floats | None, view_weights: Vector
    ) -> rounds.State:
        return rounds.load(weights, judged, trust, view_weights)

    def start(self, state: rounds.State, scales: Vector) -> Sums:
        return rounds.start(state, scales)

    def dca_round(self, state: rounds.State, scales: Vector, beta: float, gamma: float, steps: int) -> Sums:
        return rounds.dca_round(state, scales, beta, gamma, steps)

    def exact_round(self, state: rounds.State, scales: Vector, beta: float, gamma: float) -> Sums:
        return rounds.exact_round(state, scales, beta, gamma)

    def fuse(self, state: rounds.State, scales: Vector) -> None:
        rounds.fuse(state, scales)

    def collect(self, state: rounds.State) -> tuple[Floats, Floats]:
        return rounds.collect(state)

    def keep_largest(
        self, edges: EdgeSet, values: Floats, k: int, shape: tuple[int, int] | None = None
    ) -> Any:
        return edge_passes.keep_largest(edges, values, k, shape)

    def mark_strongest(self, edges: EdgeSet, values: Floats, k: int) -> Mask:
        return edge_passes.mark_strongest(edges, values, k)

    def leading_vectors(self, graph: Any, n_vectors: int, tol: float | None, seed: int) -> Spectrum:
        return embedding.leading_vectors(
            graph, n_vectors, tol, seed, kernels=whole_graph.KERNELS, start_block=FilteredIteration
        )

    def kmeans(self, vectors: Any, n_clusters: int, **settings: Any) -> Clusters:
        return embedding.kmeans(
            vectors, n_clusters, **settings, many=large_kmeans.kmeans_of_many, n_many=large_kmeans.MANY
        )

    def project_rows(self, values: NDArray[Any], indptr: NDArray[Any] | None = None) -> Matrix:
        return dense.project_rows(values, indptr)

    def strongest(self, matrix: Matrix, k: int) -> tuple[NDArray[np.intp], Matrix]:
        return dense.strongest(matrix, k)

    def diffuse(self, matrix: Matrix, columns: NDArray[np.intp], weights: Matrix, out: Matrix) -> None:
        dense.diffuse(matrix, columns, weights, out)

    def symmetrize_dense(self, matrix: Matrix) -> None:
        dense.symmetrize(matrix)

    def shrink_round(self, *arguments: Any) -> tuple[float, float, float]:
        return dense.shrink_round(*arguments)


def _judged(values: Floats, judged: Mask | None, view: int, kernel: EdgeKernel | None) -> Floats:
    """Return the values on the edges that a view judges, transformed by a kernel if there is one."""
    seen = None if judged is None else judged[view]
    if kernel is not None:
        values = edge_passes.apply(kernel, values, seen)
    return values if seen is None else values[seen]


def _place(space: Space) -> Points:
    """Return a view as points; see `Engine.place`."""
    if not space.is_complete:
        assert space.seen is not None
        return MaskedPoints(_place(space.of_seen()), space.seen, space.is_pairwise)
    metric = space.metric
    if metric == "graph_distance":
        return GraphPoints(check_graph_distances(space))
    if space.is_pairwise:
        return PairPoints(check_pairs(space), space.kind, squared=metric == "precomputed_squared_distance")
    check_features(space)
    rows, ids = _scaled(space), space.sample_ids
    check_range(rows, metric, space.name)
    if metric in ("euclidean", "cosine"):
        rows = thinned(rows)
        if sparse.issparse(rows):
            return SparsePoints(rows, metric == "cosine", space.name)
        return DensePoints(rows, metric == "cosine", name=space.name)
    if metric == "correlation":
        return DensePoints(rows, cosine=True, centered=True, name=space.name)
    if isinstance(metric, Metric):
        return MetricPoints(rows, metric, space.name, ids)
    if callable(metric):
        return FunctionPoints(rows, metric, space.name, ids)
    if metric == "gower":
        return GowerPoints(rows, space.kinds, space.name, ids)
    if metric == "nan_euclidean":
        return NanEuclideanPoints(rows, space.name, ids)
    return MetricPoints(rows, metric, space.name, ids)


def _scaled(space: Space) -> Any:
    """Return the rows on the scale asked for; dense ones in blocks, on several threads."""
    rows, scaling = space.rows, space.scaling
    if scaling.changes_nothing or sparse.issparse(rows):
        return scaling(rows)
    out, grain = np.empty(rows.shape, dtype=rows.dtype), max(1, _ENTRIES // rows.shape[1])

    def write(start: int, stop: int) -> None:
        for a in range(start, stop, grain):
            here = slice(a, min(a + grain, stop))
            out[here] = scaling(rows[here])

    threads.for_ranges(write, len(rows), grain)
    return out
