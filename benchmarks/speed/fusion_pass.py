"""One pass over the edges per round, on one thread, next to a copy of W and the readable NumPy engine."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from consilience.engines import get_engine

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
    engine = get_engine("numba")
    with engine.limit(1):
        copy = fastest(lambda: np.copyto(target, weights))
        state = engine.load(engine.adopt(weights), None, None, np.ones(v))
        dca = fastest(lambda: engine.dca_round(state, scales, 1.0, 100.0, 3))
        exact = fastest(lambda: engine.exact_round(state, scales, 1.0, 100.0))
        convex = fastest(lambda: engine.exact_round(state, scales, 1.0, 1.0))
    name = f"{v} views, {dtype.name}"
    per_edge = 1e9 / N_EDGES
    # A round must read W, read E and write E: one and a half copies of W.
    compared_with = f"1.5 copies of W: {1.5 * copy * per_edge:.1f} ns"
    at_most = 3.0 if (v, dtype) == (6, np.float64) else None
    yield Row(f"DCA round, {name}", dca * per_edge, "ns/edge", compared_with, dca / (1.5 * copy), at_most)
    if (v, dtype) == (6, np.float32):
        yield Row(f"DCA round, {name}, as a figure", dca * per_edge, "ns/edge", at_most=7.0)
    yield Row(f"exact round, {name}", exact * per_edge, "ns/edge", compared_with, exact / (1.5 * copy))
    yield Row(
        f"exact round (convex case), {name}",
        convex * per_edge,
        "ns/edge",
        compared_with,
        convex / (1.5 * copy),
    )
    if dtype == np.float64:
        yield _readable_engine(weights[:, : N_EDGES // 10], scales, dca * per_edge, name)


def _readable_engine(weights: np.ndarray, scales: np.ndarray, ours: float, name: str) -> Row:
    readable = get_engine("numpy")
    state = readable.load(readable.adopt(weights), None, None, np.ones(len(scales)))
    seconds = fastest(lambda: readable.dca_round(state, scales, 1.0, 100.0, 3), repeats=2)
    figure = 1e9 * seconds / weights.shape[1]
    return Row(f"DCA round, {name}, NumPy engine", figure, "ns/edge", f"ours: {ours:.1f} ns", figure / ours)
