"""The fast back end: one pass over the edges per round, compiled by Numba.

Given the scales, everything about one edge depends only on its own v values of W and E. A round
therefore reads W and E once, computes s and the edge steps while they are in the cache, writes E and s,
and adds up the `Sums` on the way: no temporary of the size of W. The Hessian of an edge's program is
diagonal plus rank one, so a DCA step costs O(v) per edge.

Edge arrays are stored by blocks, of shape (n_blocks, v, BLOCK) and padded with zeros: one pass is then
one sequential stream through memory, and all inner loops have a fixed length and run over edges, which
is what the compiler can vectorise (given permission to reorder sums: hence `fastmath` with just those
flags). Every block has partial sums of its own, added up in order afterwards, so that the result is
the same to the last bit for any number of threads.
"""

# Compiled functions are not annotated: Numba derives their types from the call.
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .. import threads
from .edges_numpy import edge_hessian
from .exact_numba import BLOCK, blame_in_general, blame_one_view, njit, njit_inline, share_blame
from .sums import Sums, Vector

EdgeArray = NDArray[np.floating[Any]]

_GRAIN = 64  # blocks: below this many, starting a thread costs more than it saves


@dataclass
class State:
    """The edge arrays of one fusion."""

    weights: EdgeArray  # (n_blocks, v, BLOCK)
    inconsistent: EdgeArray  # (n_blocks, v, BLOCK)
    fused: EdgeArray  # (n_blocks, BLOCK)
    total: EdgeArray  # (n_blocks, BLOCK), or (1, 1) when every view has seen every edge
    view_weights: Vector
    n_edges: int


def load(
    weights: EdgeArray, view_weights: Vector, seen: NDArray[np.bool_] | None, dtype: DTypeLike = np.float64
) -> State:
    """Take the edge weights; see the package docstring for this and the other functions."""
    n_edges = weights.shape[1]
    blocked = _to_blocks(np.asarray(weights, dtype=dtype))
    if seen is None:
        total = np.full((1, 1), view_weights.sum(), dtype=dtype)
    else:
        total = _to_blocks((view_weights @ seen).astype(dtype)[None])[:, 0]
        total.reshape(-1)[n_edges:] = 1  # padding: any number but zero
    return State(
        weights=blocked,
        inconsistent=_aligned_zeros(blocked.shape, blocked.dtype),
        fused=_aligned_zeros((len(blocked), BLOCK), blocked.dtype),
        total=total,
        view_weights=view_weights,
        n_edges=n_edges,
    )


def start(state: State, scales: Vector, with_gram: bool = False) -> Sums:
    """Set s to its closed form; E is 0 since `load`."""
    if with_gram:
        pull = state.view_weights * scales
        return _run(_exact_blocks, state, np.stack([pull, scales, pull, pull]), 0.0, 0, 0)
    return dca_round(state, scales, 0.0, 0.0, 0)


def fuse(state: State, scales: Vector) -> None:
    """Set s to its minimiser given A (Eq. 26)."""
    dca_round(state, scales, 0.0, 0.0, 0)


def dca_round(state: State, scales: Vector, beta: float, gamma: float, steps: int) -> Sums:
    """Update s, then A by DCA on all edges at once (Algorithm 2)."""
    pull, own = state.view_weights * scales, state.view_weights * scales**2
    hessian, _ = edge_hessian(state.view_weights, scales, beta, gamma)
    step = 2 / np.linalg.eigvalsh(hessian)[-1]
    # A step on A written for E = W - A: E <- clip(keep E - press (s + gamma m) + rise W, 0, W), m = pull'E.
    coefficients = np.stack([pull, 1 - step * ((beta - gamma) * pull**2 + own), step * pull, step * own])
    return _run(_dca_blocks, state, coefficients, gamma, steps)


def exact_round(state: State, scales: Vector, beta: float, gamma: float, sweeps: int = 1) -> Sums:
    """Update s, then A by the closed-form minimiser on each edge, several times."""
    pull = state.view_weights * scales
    curvature = 1 / state.view_weights + beta - gamma
    order = np.argsort(curvature <= 0, kind="stable")  # views with positive curvature first
    coefficients = np.stack([pull, scales, curvature, order.astype(float)])
    return _run(_exact_blocks, state, coefficients, gamma, sweeps, int(np.sum(curvature > 0)))


def collect(state: State) -> tuple[EdgeArray, EdgeArray]:
    """Return inconsistent parts and the fused vector."""
    v = state.weights.shape[1]
    inconsistent = state.inconsistent.transpose(1, 0, 2).reshape(v, -1)[:, : state.n_edges]
    return np.ascontiguousarray(inconsistent), state.fused.reshape(-1)[: state.n_edges].copy()


def _aligned_zeros(shape: tuple[int, ...], dtype: np.dtype[Any]) -> EdgeArray:
    """Allocate zeros that begin on a cache line: vector loads across two lines cost a third of the speed."""
    size = int(np.prod(shape)) * dtype.itemsize
    memory = np.zeros(size + 64, dtype=np.uint8)
    offset = -memory.ctypes.data % 64
    return memory[offset : offset + size].view(dtype).reshape(shape)


def _to_blocks(rows: EdgeArray) -> EdgeArray:
    """Arrange (v, n_edges) as (n_blocks, v, BLOCK), padded with zeros."""
    v, n_edges = rows.shape
    n_blocks = -(-n_edges // BLOCK)
    blocks = _aligned_zeros((n_blocks, v, BLOCK), rows.dtype)
    full = n_edges // BLOCK
    blocks[:full] = rows[:, : full * BLOCK].reshape(v, full, BLOCK).transpose(1, 0, 2)
    if full < n_blocks:
        blocks[full, :, : n_edges - full * BLOCK] = rows[:, full * BLOCK :]
    return blocks


def _run(kernel: Any, state: State, coefficients: NDArray[np.float64], gamma: float, *counts: int) -> Sums:
    """Run a kernel over all blocks and add up the partial sums in order."""
    dtype = state.weights.dtype
    n_blocks, v, _ = state.weights.shape
    pairs = v * (v + 1) // 2
    with_gram = kernel is _exact_blocks
    partial = np.empty((n_blocks, pairs + 2 * v + 1 + with_gram * pairs))
    arguments = (
        state.weights, state.inconsistent, state.fused, state.total,
        coefficients.astype(dtype), dtype.type(gamma), *counts, partial,
    )  # fmt: skip
    threads.for_ranges(lambda first, last: kernel(*arguments, first, last), n_blocks, grain=_GRAIN)
    sums = partial.sum(axis=0)
    return Sums(
        inconsistent_gram=_symmetric(sums[:pairs], v),
        consistent_squares=sums[pairs : pairs + v],
        consistent_fused=sums[pairs + v : pairs + 2 * v],
        fused_square=float(sums[pairs + 2 * v]),
        consistent_gram=_symmetric(sums[pairs + 2 * v + 1 :], v) if with_gram else None,
    )


def _symmetric(lower: Vector, v: int) -> NDArray[np.float64]:
    matrix = np.zeros((v, v))
    matrix[np.tril_indices(v)] = lower
    return matrix + np.tril(matrix, -1).T


@njit
def _dca_blocks(weights, inconsistent, fused, total, coefficients, gamma, steps, partial, first, last):
    """One round on the blocks [first, last): fused values, DCA steps, partial sums."""
    v = weights.shape[1]
    s, blame, push, mass = _buffers(weights.dtype, total)
    zero = weights.dtype.type(0)
    for b in range(first, last):
        w, e = weights[b], inconsistent[b]
        _fuse_block(w, e, s, blame, total, b, mass, coefficients)
        for x in range(BLOCK):
            fused[b, x] = s[x]
        for _ in range(steps):
            for x in range(BLOCK):
                push[x] = s[x] + gamma * blame[x]
                blame[x] = zero
            for i in range(v):
                pull, keep = coefficients[0, i], coefficients[1, i]
                press, rise = coefficients[2, i], coefficients[3, i]
                for x in range(BLOCK):
                    new = keep * e[i, x] - press * push[x] + rise * w[i, x]
                    new = min(max(new, zero), w[i, x])
                    e[i, x] = new
                    blame[x] += pull * new
        _add_up(w, e, s, mass, partial[b])


@njit
def _exact_blocks(
    weights, inconsistent, fused, total, coefficients, gamma, sweeps, n_convex, partial, first, last
):
    """One round on the blocks [first, last): fused values and exact edge steps in turn, partial sums."""
    v = weights.shape[1]
    order = coefficients[3].astype(np.intp)
    s, blame, push, mass = _buffers(weights.dtype, total)
    zero = weights.dtype.type(0)
    for b in range(first, last):
        w, e = weights[b], inconsistent[b]
        _fuse_block(w, e, s, blame, total, b, mass, coefficients)
        for sweep in range(sweeps):
            if sweep > 0:
                _fuse_block(w, e, s, blame, total, b, mass, coefficients)
            if n_convex == 0:
                blame_one_view(w, e, s, blame, push, coefficients, gamma)
            elif n_convex == v:
                share_blame(w, e, s, blame, push, coefficients, gamma)
            else:
                blame_in_general(w, e, s, coefficients, gamma, order, n_convex)
        for x in range(BLOCK):
            fused[b, x] = s[x]
        _add_up(w, e, s, mass, partial[b])
        place = v * (v + 1) // 2 + 2 * v + 1
        for x in range(BLOCK):
            push[x] = 1 / mass[x]
        for i in range(v):
            for j in range(i + 1):
                product = zero
                for x in range(BLOCK):
                    product += (w[i, x] - e[i, x]) * (w[j, x] - e[j, x]) * push[x]
                partial[b, place] = product
                place += 1


@njit_inline
def _buffers(dtype, total):
    """Allocate a block's fused values, blame, push and total weight; the last is often constant."""
    mass = np.empty(BLOCK, dtype)
    mass[:] = total[0, 0]
    return np.empty(BLOCK, dtype), np.empty(BLOCK, dtype), np.empty(BLOCK, dtype), mass


@njit_inline
def _fuse_block(w, e, s, blame, total, b, mass, coefficients):
    """Set a block's fused values s = sum of pull_i A_i over the total weight, and its blame = pull'E."""
    zero = w.dtype.type(0)
    for x in range(BLOCK):
        s[x] = zero
        blame[x] = zero
    for i in range(w.shape[0]):
        pull = coefficients[0, i]
        for x in range(BLOCK):
            s[x] += pull * (w[i, x] - e[i, x])
            blame[x] += pull * e[i, x]
    if total.size == 1:
        inverse = w.dtype.type(1) / total[0, 0]
        for x in range(BLOCK):
            s[x] *= inverse
    else:
        for x in range(BLOCK):
            mass[x] = total[b, x]
            s[x] /= mass[x]


@njit_inline
def _add_up(w, e, s, mass, out):
    """Write a block's partial sums: E E' (lower triangle by rows), A squared, A s and total s squared."""
    v = w.shape[0]
    zero = w.dtype.type(0)
    place = 0
    for i in range(v):
        # Two products at a time: the pass over row i then feeds both.
        for j in range(0, i, 2):
            one, two = zero, zero
            for x in range(BLOCK):
                one += e[i, x] * e[j, x]
                two += e[i, x] * e[j + 1, x]
            out[place + j] = one
            out[place + j + 1] = two
        if i % 2 == 0:
            one = zero
            for x in range(BLOCK):
                one += e[i, x] * e[i, x]
            out[place + i] = one
        place += i + 1
    for i in range(v):
        one, two = zero, zero
        for x in range(BLOCK):
            a = w[i, x] - e[i, x]
            one += a * a
            two += a * s[x]
        out[place + i] = one
        out[place + v + i] = two
    one = zero
    for x in range(BLOCK):
        one += s[x] * s[x] * mass[x]
    out[place + 2 * v] = one
