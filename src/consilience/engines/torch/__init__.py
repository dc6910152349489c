"""The engine of PyTorch: everything on a GPU, or on the CPU to try the same code.

Between features and labels nothing large leaves the device: lists, edges, weights, graph and embedding stay
there, and only scalars, v x v matrices and labels come to the caller. The same device gives the same bits
again; other engines' numbers are met to rounding.

==================  =====================================================================================
module              what is there
==================  =====================================================================================
`device`            which device, its memory, the way to it and back
`handles`           what lies on it: edges and graphs in compressed rows
`segments`, `sums`  sums over runs of values, and in blocks: the same in every run
`points/`           placed views; equally near neighbours
`search/`           nearest neighbours: of all pairs, and in regions
`overlaps`          what neighbour lists have in common
`trust`, `isotonic` which rows belong to their sample
`walks`             votes of neighbours
`edges`, `weights`  union of lists; weights from values, averages of views
`expected`,         values of views on edges that they have not seen; edges that no view has seen
`completion`
`rounds`,           the passes over the edges of a fusion, with DCA steps and with the exact minimiser
`exact_steps`
`graphs`            keeping the strongest edges, symmetry
`spectrum/`         eigenvectors
`kmeans`            k-means
`new_samples`       edges from new samples
==================  =====================================================================================

What only comparison systems and rare metrics need (dense n x n steps, matrices between samples, functions) is
left to the default engine, and crosses to the host.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...graphs import EdgeKernel, EdgeSet, Moments
from ...spaces import Space
from ...spaces.scaling import Columns
from .. import threads
from ..protocol import Engine, Mask, Search
from ..results import Clusters, Matrix, Neighbors, Overlaps, Spectrum, Sums, Vector
from .device import Device, precision_of
from .handles import DeviceEdges, DeviceGraph

# After `device`, which says what to install where there is no PyTorch.
import torch  # isort: skip
from . import (  # isort: skip
    completion,
    edges as on_edges,
    expected,
    graphs,
    kmeans,
    new_samples,
    overlaps,
    rounds,
    trust as trusted,
    walks,
    weights as of_views,
)
from .points import placing, ties  # isort: skip
from .points.host import host_engine  # isort: skip
from .spectrum import vectors as spectrum  # isort: skip

Tensor: TypeAlias = torch.Tensor


class TorchEngine(Engine):
    """The engine of PyTorch. See the module for its parts, and `Engine` for its functions.

    Parameters
    ----------
    device : str, default="auto"
        "cuda", or "cuda:1" for the second GPU; "cpu"; "auto" is a GPU if there is one.
    dtype : {"auto", "float32", "float64"}, default="auto"
        The precision of weights on edges, which a fusion works on. "auto" is that of the other engines:
        single for more than ten million values, otherwise double. "float32" is faster on GPUs that are slow
        in double precision. Sums, distances and eigenvectors are double always, features as they were given.

    Examples
    --------
    >>> from consilience.engines.torch import TorchEngine
    >>> TorchEngine(device="cpu")
    TorchEngine(device='cpu', dtype='auto')
    """

    name: ClassVar[str] = "torch"
    takes_device_arrays: ClassVar[bool] = True

    def __init__(self, device: str = "auto", dtype: Literal["auto", "float32", "float64"] = "auto") -> None:
        self.device, self.dtype = device, dtype
        self._on, self._precision = Device.of(device), precision_of(dtype)

    def __repr__(self) -> str:
        return f"TorchEngine(device={self.device!r}, dtype={self.dtype!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TorchEngine) and other._key == self._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[Any, ...]:
        return self.name, self._on, self._precision

    # About the engine

    @contextmanager
    def limit(self, n_jobs: int | None) -> Iterator[None]:
        # PyTorch has one number for the process: not touched without a limit, for fits in other threads.
        before = None if n_jobs is None else torch.get_num_threads()
        with threads.limit(n_jobs), self._on.explained(), self._on.as_written():
            try:
                if before is not None:
                    torch.set_num_threads(threads.count())
                yield
            finally:
                if before is not None:
                    torch.set_num_threads(before)

    @property
    def n_threads(self) -> int:
        return threads.count()

    def require(self, n_bytes: float, who: str) -> bool:
        self._on.require(
            n_bytes + self._on.block_bytes,
            who,
            "Take fewer samples, views or neighbours, end what else runs there, or use engine='numba'.",
        )
        return self._on.is_gpu

    def fetch(self, handle: Any) -> Any:
        if isinstance(handle, torch.Tensor):
            return Device.get(handle)
        return handle.get() if isinstance(handle, DeviceEdges | DeviceGraph) else handle

    def adopt(self, value: Any) -> Any:
        if isinstance(value, EdgeSet):
            return DeviceEdges.put(value, self._on)
        if sparse.issparse(value):
            return DeviceGraph.put(value, self._on)
        array = np.asarray(value)
        return self._on.put(array, torch.int32 if array.dtype.kind in "iu" else None)

    # Rows

    def describe(self, rows: Any, seen: Mask | None) -> Columns:
        return placing.describe(rows, seen)

    def place(self, space: Space) -> Any:
        return placing.place(space, self._on)

    def query(self, points: Any, rows: Any) -> Any:
        return placing.query(points, rows)

    def subset(self, points: Any, rows: NDArray[np.intp], n_samples: int) -> Any:
        return placing.subset(points, rows, n_samples)

    def cached(self, points: Any) -> Any:
        return placing.cached(points)

    def is_constant(self, points: Any) -> bool:
        return placing.is_constant(points)

    def mean_over_pairs(self, points: Any) -> float:
        return placing.mean_over_pairs(points)

    # Products of matrices: also outside of `limit`, they must be in the precision that is written here.

    def nearest(self, points: Any, k: int, search: Search = "exact") -> Neighbors:
        with self._on.as_written():
            return placing.nearest(points, k, search)

    def nearest_new(self, queries: Any, k: int) -> Tensor:
        with self._on.as_written():
            return placing.nearest_new(queries, k)

    def break_ties(self, points: Any, lists: Tensor, seed: Sequence[int], search: Search = "exact") -> Tensor:
        return ties.break_ties(points, lists, seed, search)

    def restrict(self, lists: Tensor, samples: Mask) -> Tensor:
        return ties.restrict(lists, samples, self._on)

    # Agreement

    def stack(self, lists: Sequence[Tensor]) -> Tensor:
        return overlaps.stack(lists, self._on)

    def overlaps(self, stacked: Tensor, mask: Mask | None) -> Overlaps:
        return overlaps.count_overlaps(stacked, mask)

    def row_trust(
        self, stacked: Tensor, mask: Mask | None, votes: Matrix, expected: Matrix, units: Vector
    ) -> Tensor:
        return overlaps.confirmed_rates(stacked, mask, votes, expected, units)

    def matched_rows(
        self,
        lists: Sequence[Tensor],
        vectors: Tensor,
        trust: Tensor | None,
        mask: Mask | None,
        seed: int,
        copy_of: Sequence[int] | None = None,
    ) -> tuple[Tensor, Vector]:
        return trusted.matched_rows(lists, vectors, trust, mask, seed, copy_of, self._on)

    def lower_trust(
        self, trust: Tensor | None, n_views: int, columns: Mask, rows: Mask, level: float
    ) -> Tensor:
        return trusted.lower_trust(trust, n_views, columns, rows, level, self._on)

    def bounded(self, trust: Tensor, least: float) -> Tensor | None:
        return trusted.bounded(trust, least)

    def confirmed(
        self, stacked: Tensor, view: int, others: Mask, rows: NDArray[np.intp], places: NDArray[np.intp]
    ) -> NDArray[np.int64]:
        return overlaps.count_confirmed(stacked, view, others, rows, places)

    def neighbor_graph(self, lists: Tensor) -> walks.NeighborGraph:
        return walks.neighbor_graph(lists, self._on)

    def votes(self, graph: walks.NeighborGraph, members: NDArray[np.float64]) -> NDArray[np.float64]:
        return walks.votes(graph, members)

    # Edges

    def unite(self, lists: Sequence[Tensor], mask: Mask | None) -> DeviceEdges:
        return on_edges.unite(lists, mask, self._on)

    def n_edges(self, edges: DeviceEdges) -> int:
        return edges.n_edges

    def judged(self, edges: DeviceEdges) -> Tensor | None:
        return on_edges.judged(edges)

    def judged_shares(self, judged: Tensor) -> Vector:
        return on_edges.judged_shares(judged)

    def measure(self, points: Any, edges: DeviceEdges, known: Any = None) -> Tensor:
        return placing.measure(points, edges, known)

    def trust_on_edges(self, edges: DeviceEdges, trust: Tensor, like: Tensor) -> Tensor:
        return on_edges.trust_on_edges(edges, trust, like)

    def moments(
        self, values: Tensor, judged: Tensor | None, view: int, kernel: EdgeKernel | None = None
    ) -> Moments:
        return on_edges.moments(values, judged, view, kernel)

    def mean_root(
        self, values: Tensor, judged: Tensor | None, view: int, kernel: EdgeKernel | None = None
    ) -> float:
        return on_edges.mean_root(values, judged, view, kernel)

    def mean_positive(self, values: Tensor) -> float:
        return on_edges.mean_positive(values)

    def mean(self, values: Tensor) -> float:
        return on_edges.mean(values)

    def weigh(
        self,
        edges: DeviceEdges,
        n_views: int,
        parts: Iterable[tuple[Tensor, EdgeKernel]],
        double: bool = False,
    ) -> Tensor:
        return on_edges.weigh(edges, n_views, parts, torch.float64 if double else self._precision)

    def transform(self, values: Tensor, kernel: EdgeKernel) -> Tensor:
        return on_edges.transform(values, kernel)

    def n_values(self, weights: Tensor) -> int:
        return of_views.n_values(weights)

    def precision(self, weights: Tensor) -> np.dtype[Any]:
        return of_views.precision(weights)

    def totals(self, weights: Tensor) -> Vector:
        return of_views.totals(weights)

    def divide(self, weights: Tensor, units: Vector) -> Tensor:
        return of_views.divide(weights, units)

    def average(
        self,
        weights: Tensor,
        judged: Tensor | None,
        view_weights: Vector | None = None,
        trust: Tensor | None = None,
    ) -> Tensor:
        return of_views.average(weights, judged, view_weights, trust)

    def expected_average(
        self, weights: Tensor, judged: Tensor, view_weights: Vector, trust: Tensor | None = None
    ) -> Tensor:
        return expected.expected_average(weights, judged, view_weights, trust)

    # Fusion

    def normalize(self, weights: Tensor, judged: Tensor | None, names: Sequence[str]) -> Tensor:
        return of_views.normalize(weights, judged, names)

    def load(
        self, weights: Tensor, judged: Tensor | None, trust: Tensor | None, view_weights: Vector
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

    def consistent(self, weights: Tensor, inconsistent: Tensor, scales: Vector) -> Tensor:
        return of_views.consistent(weights, inconsistent, scales)

    def collect(self, state: rounds.State) -> tuple[Tensor, Tensor]:
        return rounds.collect(state)

    # The unified graph, its eigenvectors and clusters

    def impute(
        self, edges: DeviceEdges, values: Tensor, mask: Mask, view_weights: Vector, k: int
    ) -> tuple[DeviceEdges, Tensor]:
        return completion.impute(edges, values, mask, view_weights, k)

    def symmetrize(self, edges: DeviceEdges, values: Tensor) -> DeviceGraph:
        return graphs.symmetrize(edges, values)

    def keep_largest(
        self, edges: DeviceEdges, values: Tensor, k: int, shape: tuple[int, int] | None = None
    ) -> DeviceGraph:
        return graphs.keep_largest(edges, values, k, shape)

    def sparsify(self, edges: DeviceEdges, values: Tensor, k: int) -> DeviceGraph:
        return graphs.sparsify(edges, values, k)

    def mix(self, graphs_given: Sequence[DeviceGraph], shares: Vector) -> DeviceGraph:
        return graphs.mix(graphs_given, shares)

    def leading_vectors(self, graph: DeviceGraph, n_vectors: int, tol: float | None, seed: int) -> Spectrum:
        with self._on.as_written():
            return spectrum.leading_vectors(graph, n_vectors, tol, seed, self._on)

    def n_rows(self, vectors: Tensor) -> int:
        return spectrum.n_rows(vectors)

    def take(self, vectors: Tensor, rows: NDArray[np.intp]) -> Matrix:
        return spectrum.take(vectors, rows)

    def first_columns(self, vectors: Tensor, n_columns: int) -> Tensor:
        return spectrum.first_columns(vectors, n_columns)

    def unit_rows(self, vectors: Tensor) -> Tensor:
        return kmeans.unit_rows(vectors, self._on)

    def kmeans(self, vectors: Tensor, n_clusters: int, **settings: Any) -> Clusters:
        with self._on.as_written():
            return kmeans.kmeans(vectors, n_clusters, **settings, device=self._on)

    # New samples

    def unite_new(
        self, lists: Sequence[Tensor | None], asked: Mask, masks: Sequence[Mask | None]
    ) -> DeviceEdges:
        return new_samples.unite_new(lists, asked, masks, self._on)

    def measure_new(self, queries: Any, edges: DeviceEdges, asked: Mask) -> Tensor:
        return placing.measure_new(queries, edges, asked)

    def trust_of_ends(self, edges: DeviceEdges, trust: Tensor) -> Tensor:
        return new_samples.trust_of_ends(edges, trust)

    def coinciding(self, edges: DeviceEdges, parts: Sequence[tuple[int, Tensor]], n_views: int) -> Tensor:
        return new_samples.coinciding(edges, parts, n_views)

    def cluster_shares(
        self,
        edges: DeviceEdges,
        values: Tensor,
        same: Tensor,
        labels: NDArray[np.intp],
        n_clusters: int,
        k: int,
    ) -> Matrix:
        return new_samples.cluster_shares(edges, values, same, labels, n_clusters, k)

    # Dense steps of comparison systems: arrays of this process go in and out

    def project_rows(self, values: NDArray[Any], indptr: NDArray[Any] | None = None) -> NDArray[np.float64]:
        return host_engine().project_rows(values, indptr)

    def strongest(self, matrix: NDArray[np.float64], k: int) -> tuple[NDArray[np.intp], Matrix]:
        return host_engine().strongest(matrix, k)

    def diffuse(self, matrix: Matrix, columns: NDArray[np.intp], weights: Matrix, out: Matrix) -> None:
        host_engine().diffuse(matrix, columns, weights, out)

    def symmetrize_dense(self, matrix: Matrix) -> None:
        host_engine().symmetrize_dense(matrix)

    def shrink_round(
        self,
        transitions: Matrix,
        dual: tuple[Matrix, Matrix],
        views: Sequence[tuple[Any, Matrix]],
        steps: tuple[float, float],
        penalty: float,
    ) -> tuple[float, float, float]:
        return host_engine().shrink_round(transitions, dual, views, steps, penalty)
