"""The rounds of a fusion: one compiled pass over the edges each.

Given the scales, everything about one edge depends only on its own v values of W and E. A round
therefore reads W and E once, computes s and the edge steps while they are in the cache, writes E and s,
and adds up the `Sums` in the same pass: no temporary of the size of W. The Hessian of an edge's program is
diagonal plus rank one, so a DCA step costs O(v) per edge.

Edge arrays are stored by blocks, of shape (n_blocks, v, BLOCK) and padded with zeros: one pass is then
one sequential stream through memory, and all inner loops have a fixed length. Every block has partial
sums of its own, added up in order afterwards, so that the result is the same to the last bit for any
number of threads.

Trust per edge and view (tau) is one more array to read, and has its own kernels. One kernel for both, with a
resident block of ones where there is no trust, was measured: the DCA round without trust takes 1.3 to 2.0
times as long in double precision (0.8 to 1.1 in single), so they stay apart. Without trust, nothing is slower
because of it, and its kernels are not compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import threads
from ..host import edge_curvatures, edge_hessian
from ..results import Sums, Vector
from . import trusted_kernels as trusted
from .round_kernels import BLOCK, dca_blocks, exact_blocks

EdgeArray = NDArray[np.floating[Any]]

_SUMMED = 1 << 14  # edges whose views are added up at once
_GRAIN = 512  # blocks: below this many, starting a thread costs more than it saves


@dataclass
class State:
    """The edge arrays of one fusion."""

    weights: EdgeArray  # (n_blocks, v, BLOCK)
    inconsistent: EdgeArray  # (n_blocks, v, BLOCK)
    fused: EdgeArray  # (n_blocks, BLOCK)
    total: EdgeArray  # (n_blocks, BLOCK), or (1, 1) when every view has seen every edge
    trust: EdgeArray | None  # (n_blocks, v, BLOCK)
    view_weights: Vector
    n_edges: int


def load(
    weights: EdgeArray, seen: NDArray[np.bool_] | None, trust: EdgeArray | None, view_weights: Vector
) -> State:
    """Take the weights; see `Engine.load` for this and the other functions."""
    n_edges, dtype = weights.shape[1], weights.dtype
    blocked = _to_blocks(weights)
    judged = seen if trust is None else trust
    if judged is None:
        total = np.full((1, 1), view_weights.sum(), dtype=dtype)
    else:
        total = _to_blocks(_total(view_weights, judged, dtype)[None])[:, 0]
        total.reshape(-1)[n_edges:] = 1  # padding: any number except zero
    return State(
        weights=blocked,
        inconsistent=_aligned_zeros(blocked.shape, blocked.dtype),
        fused=_aligned_zeros((len(blocked), BLOCK), blocked.dtype),
        total=total,
        trust=None if trust is None else _to_blocks(trust),
        view_weights=view_weights,
        n_edges=n_edges,
    )


def _total(view_weights: Vector, judged: NDArray[Any], dtype: np.dtype[Any]) -> EdgeArray:
    """Return the total weight of the views on each edge.

    Added up view by view: a product by BLAS would depend on its number of threads, in the last bit.
    """
    total = np.zeros(judged.shape[1], dtype=dtype)

    def add(first: int, last: int) -> None:
        for begin in range(first, last, _SUMMED):  # in blocks that stay in the cache
            here = slice(begin, min(begin + _SUMMED, last))
            for weight, row in zip(view_weights, judged, strict=True):
                total[here] += dtype.type(weight) * row[here]

    threads.for_ranges(add, len(total), grain=_SUMMED)
    return total


def start(state: State, scales: Vector) -> Sums:
    """Set s to its closed form; E is 0 since `load`."""
    return dca_round(state, scales, 0.0, 0.0, 0)


def fuse(state: State, scales: Vector) -> None:
    """Set s to its minimiser given A (Eq. 24)."""
    dca_round(state, scales, 0.0, 0.0, 0)


def dca_round(state: State, scales: Vector, beta: float, gamma: float, steps: int) -> Sums:
    """Update s, then A by DCA on all edges at once (Algorithm 2)."""
    pull, own = state.view_weights * scales, state.view_weights * scales**2
    hessian, _ = edge_hessian(state.view_weights, scales, beta, gamma)
    step = 2 / np.linalg.eigvalsh(hessian)[-1]
    numbers = state.weights.dtype.type(gamma), steps
    if state.trust is None:
        # A step on A written for E = W - A:
        # E <- clip(keep E - press (s + gamma m) + rise W, 0, W), with m = pull'E.
        coefficients = np.stack([pull, 1 - step * ((beta - gamma) * pull**2 + own), step * pull, step * own])
        return _run(dca_blocks, state, coefficients, *numbers)
    # With trust E <- clip(E + tau (rise (W - E) - press (s + gamma m) - bend tau E), 0, W), where
    # m = pull'(tau E). The step is not too long for any edge: see `numpy.rounds.dca_round`.
    coefficients = np.stack([pull, step * (beta - gamma) * pull**2, step * pull, step * own])
    return _run(trusted.dca_blocks, state, coefficients, *numbers)


def exact_round(state: State, scales: Vector, beta: float, gamma: float) -> Sums:
    """Update s, then A by the closed-form minimiser on each edge."""
    pull, dtype = state.view_weights * scales, state.weights.dtype
    if state.trust is None:
        curvature, cut = edge_curvatures(state.view_weights, beta, gamma, dtype)
        order = np.argsort(curvature <= 0, kind="stable")  # views with positive curvature first
        coefficients = np.stack([pull, scales, curvature, order.astype(float)])
        return _run(exact_blocks, state, coefficients, dtype.type(cut), int(np.sum(curvature > 0)))
    # The curvature 1 / (lambda tau) + beta - gamma is above 0, by more than rounding as in `edge_curvatures`,
    # for a tau below this bound. It can be kept finite because no tau exceeds 1.
    steepness = state.view_weights * (gamma * (1 + float(np.finfo(dtype).eps) ** (2 / 3)) - beta)
    bound = 1 / np.maximum(steepness, 0.5)
    coefficients = np.stack([pull, scales, state.view_weights, bound])
    return _run(trusted.exact_blocks, state, coefficients, float(beta), float(gamma))


def collect(state: State) -> tuple[EdgeArray, EdgeArray]:
    """Return inconsistent parts and the fused vector."""
    rows = np.empty((state.weights.shape[1], state.n_edges), dtype=state.weights.dtype)
    _for_blocks(state.n_edges, lambda blocks, edges: _copy(rows[:, edges], state.inconsistent[blocks]))
    return rows, state.fused.reshape(-1)[: state.n_edges].copy()


def _aligned_zeros(shape: tuple[int, ...], dtype: np.dtype[Any]) -> EdgeArray:
    """Allocate zeros that begin on a cache line: vector loads across two lines cost a third of the speed."""
    size = int(np.prod(shape)) * dtype.itemsize
    memory = np.zeros(size + 64, dtype=np.uint8)
    offset = -memory.ctypes.data % 64
    return memory[offset : offset + size].view(dtype).reshape(shape)


def _to_blocks(rows: EdgeArray) -> EdgeArray:
    """Arrange (v, n_edges) as (n_blocks, v, BLOCK), padded with zeros."""
    v, n_edges = rows.shape
    result = _aligned_zeros((-(-n_edges // BLOCK), v, BLOCK), rows.dtype)
    _for_blocks(n_edges, lambda blocks, edges: _copy(rows[:, edges], result[blocks], back=True))
    return result


def _for_blocks(n_edges: int, work: Callable[[slice, slice], None]) -> None:
    """Call a function with some blocks and their edges, several at a time: all full ones, then the rest."""
    full = n_edges // BLOCK
    threads.for_ranges(lambda a, b: work(slice(a, b), slice(a * BLOCK, b * BLOCK)), full, grain=_GRAIN)
    if full * BLOCK < n_edges:
        work(slice(full, full + 1), slice(full * BLOCK, n_edges))


def _copy(rows: EdgeArray, blocks: EdgeArray, back: bool = False) -> None:
    """Copy blocks (m, v, BLOCK), the last perhaps not full, to rows (v, n_edges), or back."""
    for row, one in zip(rows, blocks.transpose(1, 0, 2), strict=True):
        many = row.reshape(-1, BLOCK) if len(row) % BLOCK == 0 else row[None]
        some = one[:, : many.shape[1]]
        if back:
            some[:] = many
        else:
            many[:] = some


def _run(kernel: Any, state: State, coefficients: NDArray[np.float64], *numbers: Any) -> Sums:
    """Run a kernel over all blocks and add up the partial sums in order."""
    dtype = state.weights.dtype
    n_blocks, v, _ = state.weights.shape
    pairs = v * (v + 1) // 2
    with_gram = kernel in (exact_blocks, trusted.exact_blocks)
    partial = np.empty((n_blocks, pairs + 2 * v + 1 + with_gram * pairs))
    arguments = [state.weights, state.inconsistent, state.fused, state.total]
    if state.trust is not None:
        arguments.append(state.trust)
    arguments += [coefficients.astype(dtype), *numbers, partial]
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
