"""One pass over the edges per round, on one thread, beside a copy of W and the readable NumPy twin."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from consilience import threads
from consilience.backends import get_backend

from .measure import Row, fastest

N_EDGES = 3_000_000


def rows() -> Iterator[Row]:
    rng = np.random.default_rng(0)
    for v in (3, 6, 12):
        for dtype in (np.float64, np.float32):
            weights = rng.random((v, N_EDGES), dtype=np.float32).astype(dtype)
            weights /= weights.sum(axis=1, keepdims=True, dtype=np.float64).astype(dtype)
            yield from _passes(weights, v, np.dtype(dtype))


def _passes(weights: np.ndarray, v: int, dtype: np.dtype) -> Iterator[Row]:
    target = np.zeros_like(weights)
    scales = np.full(v, 1 / v)
    backend = get_backend("numba")
    with threads.limit(1):
        copy = fastest(lambda: np.copyto(target, weights))
        state = backend.load(weights, np.ones(v), None, None, dtype)
        dca = fastest(lambda: backend.dca_round(state, scales, 1.0, 100.0, 3))
        exact = fastest(lambda: backend.exact_round(state, scales, 1.0, 100.0))
        convex = fastest(lambda: backend.exact_round(state, scales, 1.0, 1.0))
    name = f"{v} views, {dtype.name}"
    per_edge = 1e9 / N_EDGES
    # A round must read W, read E and write E: one and a half copies of W.
    beside = f"1.5 copies of W: {1.5 * copy * per_edge:.1f} ns"
    at_most = 3.0 if (v, dtype) == (6, np.float64) else None
    yield Row(f"DCA round, {name}", dca * per_edge, "ns/edge", beside, dca / (1.5 * copy), at_most)
    if (v, dtype) == (6, np.float32):
        yield Row(f"DCA round, {name}, as a figure", dca * per_edge, "ns/edge", at_most=7.0)
    yield Row(f"exact round, {name}", exact * per_edge, "ns/edge", beside, exact / (1.5 * copy))
    yield Row(
        f"exact round (convex case), {name}", convex * per_edge, "ns/edge", beside, convex / (1.5 * copy)
    )
    if dtype == np.float64:
        yield _readable_twin(weights[:, : N_EDGES // 10], scales, dca * per_edge, name)


def _readable_twin(weights: np.ndarray, scales: np.ndarray, ours: float, name: str) -> Row:
    twin = get_backend("numpy")
    state = twin.load(weights, np.ones(len(scales)), None, None, weights.dtype)
    seconds = fastest(lambda: twin.dca_round(state, scales, 1.0, 100.0, 3), repeats=2)
    figure = 1e9 * seconds / weights.shape[1]
    return Row(f"DCA round, {name}, NumPy twin", figure, "ns/edge", f"ours: {ours:.1f} ns", figure / ours)
