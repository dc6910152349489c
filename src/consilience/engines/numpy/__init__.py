"""The readable engine: every function of an engine in plain NumPy; all others are tested against it.

It holds whole rows of values between samples and is slow; nothing in it depends on compiled code.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...graphs import EdgeKernel, EdgeSet, Moments
from ...spaces import Space
from ...spaces.scaling import Columns
from ...views import in_memory
from .. import embedding, threads
from ..host import HostEngine
from ..points.cached import CachedPoints
from ..points.subset import SubsetPoints
from ..results import Clusters, Matrix, Overlaps, Spectrum, Sums, Vector
from . import overlaps, rounds
from .points import place

Mask = NDArray[np.bool_]
Floats = NDArray[np.floating[Any]]


class NumpyEngine(HostEngine):
    """The readable engine. See `Engine` for its functions."""

    name: ClassVar[str] = "numpy"

    @contextmanager
    def limit(self, n_jobs: int | None) -> Iterator[None]:
        # One thread of BLAS always: its sums depend on their number, in the last bit.
        with threads.limit(n_jobs), threads.libraries_on_one_thread():
            yield

    def describe(self, rows: Any, seen: Mask | None) -> Columns:
        rows = in_memory(rows)
        return Columns.of(rows if seen is None else rows[seen])

    def place(self, space: Space) -> Any:
        return place(space.in_memory())

    def subset(self, points: Any, rows: NDArray[np.intp], n_samples: int) -> Any:
        return CachedPoints(SubsetPoints(points, rows, n_samples))

    def cached(self, points: Any) -> Any:
        return CachedPoints(points)

    def stack(self, lists: Sequence[Any]) -> list[list[set[int]]]:
        return overlaps.as_sets(lists)

    def overlaps(self, stacked: Any, mask: Mask | None) -> Overlaps:
        return overlaps.count_overlaps(stacked, mask)

    def row_trust(
        self, stacked: Any, mask: Mask | None, votes: Matrix, expected: Matrix, units: Vector
    ) -> Matrix:
        return overlaps.confirmed_rates(stacked, mask, votes, expected, units)

    def confirmed(
        self, stacked: Any, view: int, others: Mask, rows: NDArray[np.intp], places: NDArray[np.intp]
    ) -> NDArray[np.int64]:
        counts = [
            sum(len(stacked[view][i] & stacked[j][p] - {p}) for j in np.flatnonzero(others[p]))
            for i, p in zip(rows.tolist(), places.tolist(), strict=True)
        ]
        return np.array(counts, dtype=np.int64)

    def unite(self, lists: Sequence[Any], mask: Mask | None) -> EdgeSet:
        return EdgeSet.union(lists, mask)

    def trust_on_edges(self, edges: EdgeSet, trust: Floats, like: Floats) -> Floats:
        both = (trust[edges.rows] * trust[edges.indices]).T
        return np.ascontiguousarray(both if edges.seen is None else both * edges.seen, dtype=like.dtype)

    def moments(
        self, values: Floats, judged: Mask | None, view: int, kernel: EdgeKernel | None = None
    ) -> Moments:
        known = _judged(values, judged, view, kernel)
        if not len(known):
            return Moments(0, 1.0, 0.0)
        exponent = -int(np.frexp(known.max())[1])
        scaled = np.ldexp(known, exponent)
        mean = float(scaled.mean())
        return Moments.from_sums(len(known), exponent, mean, float(((scaled - mean) ** 2).sum()))

    def mean_root(
        self, values: Floats, judged: Mask | None, view: int, kernel: EdgeKernel | None = None
    ) -> float:
        known = _judged(values, judged, view, kernel)
        return (float(np.sqrt(known).mean()) if len(known) else 0.0) or 1.0

    def weigh(
        self,
        edges: EdgeSet,
        n_views: int,
        parts: Iterable[tuple[Floats, EdgeKernel]],
        double: bool = True,
    ) -> Floats:
        rows = [kernel(values, edges.seen_by(i)) for i, (values, kernel) in enumerate(parts)]
        return np.stack(rows)

    def transform(self, values: Floats, kernel: EdgeKernel) -> Floats:
        return kernel(values)

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

    def mark_strongest(self, edges: EdgeSet, values: Floats, k: int) -> Mask:
        kept = np.zeros(edges.n_edges, dtype=bool)
        for start, stop in zip(edges.indptr[:-1], edges.indptr[1:], strict=True):
            # Of equal values, to twelve digits, those with the lower column.
            ranked = np.argsort(-_rounded(values[start:stop]), kind="stable")[:k]
            kept[start + ranked] = True
        return kept

    def keep_largest(
        self, edges: EdgeSet, values: Floats, k: int, shape: tuple[int, int] | None = None
    ) -> sparse.csr_array:
        kept = self.mark_strongest(edges, values, k)
        n = edges.n_samples
        indptr = np.concatenate([[0], np.cumsum(kept)])[edges.indptr]
        return sparse.csr_array((values[kept], edges.indices[kept], indptr), shape=shape or (n, n))

    def leading_vectors(self, graph: Any, n_vectors: int, tol: float | None, seed: int) -> Spectrum:
        return embedding.leading_vectors(graph, n_vectors, tol, seed)

    def kmeans(self, vectors: Any, n_clusters: int, **settings: Any) -> Clusters:
        return embedding.kmeans(vectors, n_clusters, **settings)

    def project_rows(self, values: NDArray[Any], indptr: NDArray[Any] | None = None) -> Matrix:
        if indptr is None:
            return np.stack([_projected(row) for row in np.asarray(values, dtype=np.float64)])
        parts = [_projected(values[a:b]) for a, b in pairwise(indptr)]
        return np.concatenate(parts) if parts else np.empty(0)

    def strongest(self, matrix: Matrix, k: int) -> tuple[NDArray[np.intp], Matrix]:
        ranked = np.argsort(-_rounded(matrix), axis=1, kind="stable")[:, :k]
        columns = np.sort(ranked, axis=1)
        return columns, np.take_along_axis(matrix, columns, axis=1)

    def diffuse(self, matrix: Matrix, columns: NDArray[np.intp], weights: Matrix, out: Matrix) -> None:
        steps = np.zeros(matrix.shape)
        np.put_along_axis(steps, columns, weights, axis=1)
        out[:] = steps @ matrix @ steps.T + np.eye(len(matrix))

    def symmetrize_dense(self, matrix: Matrix) -> None:
        matrix[:] = (matrix + matrix.T) / 2

    def shrink_round(
        self,
        transitions: Matrix,
        dual: tuple[Matrix, Matrix],
        views: Sequence[tuple[Any, Matrix]],
        steps: tuple[float, float],
        penalty: float,
    ) -> tuple[float, float, float]:
        argument, now = dual
        step, next_step = steps
        difference = (argument - now) / step  # Q - P
        argument[:] = (len(views) + 1) * transitions + difference - now / next_step
        residual, l1_norm = 0.0, 0.0
        for walk, multiplier in views:
            excess = transitions - walk.toarray()
            clipped = np.clip(multiplier + step * excess, -penalty, penalty)
            rest = (multiplier - clipped) / step  # T - P - E
            residual = max(residual, float(np.abs(rest).sum(axis=1).max()))
            l1_norm += float(np.abs(excess + rest).sum())
            argument += rest - clipped / next_step
            multiplier[:] = clipped
        return residual, float(np.abs(difference).max()), l1_norm


def _judged(values: Floats, judged: Mask | None, view: int, kernel: EdgeKernel | None) -> Floats:
    """Return the values on the edges that a view judges, transformed by a kernel if there is one."""
    seen = None if judged is None else judged[view]
    values = values if kernel is None else kernel(values, seen)
    return values if seen is None else values[seen]


def _rounded(values: Floats) -> NDArray[np.float64]:
    """Round to about twelve digits, so that values equal up to rounding errors become equal."""
    mantissa, exponent = np.frexp(values.astype(np.float64))
    return np.asarray(np.ldexp(np.floor(mantissa * 2.0**41 + 0.5), exponent - 41))


def _projected(row: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return max(x - tau, 0) with the one tau for which it sums to 1."""
    if not len(row):
        return row
    ordered = np.sort(row)[::-1]
    thresholds = (np.cumsum(ordered) - 1) / np.arange(1, len(row) + 1)
    return np.maximum(row - thresholds[np.flatnonzero(ordered > thresholds)[-1]], 0.0)
