"""The rounds of a fusion, in blocks of edges; `numpy.rounds` has the mathematics, and the symbols.

Given the scales, everything about one edge depends only on its own values of W and E. A round goes through
blocks of edges whose temporary values fit into a part of the memory: it computes s and the edge steps, in
place, and adds up the block's `Sums`. The Hessian of an edge's program is diagonal plus rank one, so a DCA
step costs O(v) per edge.

Edge arrays are kept in the precision of the weights, double or single; sums are always taken in double
precision. Each block has partial sums of its own, which stay on the device and are added up in order: the
results have the same bits in every run, and one small array comes to the caller in each round.

Rows of W, E and tau are worked on one after the other: `row += factor * other` is then one pass over the
memory, with a number for the factor. A compiled kernel could take the place of `dca_block`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch

from ..host import edge_hessian
from ..results import Sums, Vector
from .device import Device
from .exact_steps import ExactStep, exact_block
from .sums import products, symmetric

Tensor: TypeAlias = torch.Tensor


@dataclass
class State:
    """The edge arrays of one fusion; see `Engine.load`."""

    weights: Tensor  # (v, n_edges); never written
    inconsistent: Tensor  # (v, n_edges)
    fused: Tensor  # (n_edges,)
    view_weights: Vector
    total: Tensor | float  # total weight of the views on each edge; one number if all views judge all
    trust: Tensor | None  # (v, n_edges), 0 where unseen; None: no view is trusted less than others


@dataclass(frozen=True)
class Block:
    """Some edges of a state: what a kernel works on. `inconsistent` and `fused` are written in place."""

    weights: Tensor  # (v, m)
    inconsistent: Tensor  # (v, m)
    fused: Tensor  # (m,)
    total: Tensor | float
    trust: Tensor | None  # (v, m)


@dataclass(frozen=True)
class DcaStep:
    """The numbers of a DCA step, per view, written for E = W - A.

    Without trust a step is ``E <- clip(keep E - press (s + gamma m) + rise W, 0, W)`` with ``m = pull'E``.
    With trust it is ``E <- clip(E + tau (rise (W - E) - press (s + gamma m) - bend tau E), 0, W)``, where
    ``m = pull'(tau E)``.
    """

    pull: list[float]
    keep: list[float]
    bend: list[float]
    press: list[float]
    rise: list[float]
    gamma: float
    steps: int

    @classmethod
    def of(cls, view_weights: Vector, scales: Vector, beta: float, gamma: float, steps: int) -> DcaStep:
        """Return the numbers of steps as long as the largest eigenvalue of the Hessian allows.

        With trust it is not too long for any edge either: see `numpy.rounds.dca_round`.
        """
        hessian, _ = edge_hessian(view_weights, scales, beta, gamma)
        step = 2 / np.linalg.eigvalsh(hessian)[-1]
        pull, own = view_weights * scales, view_weights * scales**2
        bend = step * (beta - gamma) * pull**2
        keep = 1 - (bend + step * own)
        return cls(
            pull=pull.tolist(),
            keep=keep.tolist(),
            bend=bend.tolist(),
            press=(step * pull).tolist(),
            rise=(step * own).tolist(),
            gamma=float(gamma),
            steps=steps,
        )


def load(weights: Tensor, judged: Tensor | None, trust: Tensor | None, view_weights: Vector) -> State:
    """Take the weights; see `Engine.load` for this and the other functions."""
    total: Tensor | float = float(view_weights.sum())
    trust = None if trust is None else trust.to(weights.dtype)
    counts = judged if trust is None else trust
    fused = torch.zeros(weights.shape[1], dtype=weights.dtype, device=weights.device)
    if counts is not None:
        total = torch.zeros_like(fused)
        for weight, row in zip(view_weights.tolist(), counts, strict=True):
            total.add_(row, alpha=weight)
    return State(weights, torch.zeros_like(weights), fused, view_weights, total, trust)


def start(state: State, scales: Vector) -> Sums:
    """Set s to its closed form; E is 0 since `load`."""
    return dca_round(state, scales, 0.0, 0.0, 0)


def fuse(state: State, scales: Vector) -> None:
    """Set s to its minimiser given A (Eq. 24)."""
    pull = (state.view_weights * scales).tolist()
    for block in _blocks(state, 4):
        _fuse_block(block, pull)


def dca_round(state: State, scales: Vector, beta: float, gamma: float, steps: int) -> Sums:
    """Update s, then A by DCA on all edges at once (Algorithm 2)."""
    numbers = DcaStep.of(state.view_weights, scales, beta, gamma, steps)
    return _run(state, lambda block: dca_block(block, numbers), False)


def exact_round(state: State, scales: Vector, beta: float, gamma: float) -> Sums:
    """Update s, then A by the closed-form minimiser on each edge."""
    pull = (state.view_weights * scales).tolist()
    numbers = ExactStep.of(state.view_weights, scales, beta, gamma, state.weights.dtype)

    def work(block: Block) -> None:
        _fuse_block(block, pull)
        exact_block(block.weights, block.inconsistent, block.fused, block.trust, numbers)

    return _run(state, work, True)


def collect(state: State) -> tuple[Tensor, Tensor]:
    """Return inconsistent parts and the fused vector."""
    return state.inconsistent, state.fused


def dca_block(block: Block, numbers: DcaStep) -> None:
    """Set the fused values of a block, then take DCA steps on its inconsistent parts."""
    w, e, s, tau = block.weights, block.inconsistent, block.fused, block.trust
    _fuse_block(block, numbers.pull)
    if not numbers.steps:
        return
    blame, push, change = torch.zeros_like(s), torch.empty_like(s), torch.empty_like(s)
    for i, pull in enumerate(numbers.pull):
        _add_blame(blame, e[i], None if tau is None else tau[i], pull)
    for _ in range(numbers.steps):
        torch.add(s, blame, alpha=numbers.gamma, out=push)
        blame.zero_()
        for i, pull in enumerate(numbers.pull):
            row, trust = e[i], None if tau is None else tau[i]
            if trust is None:
                row.mul_(numbers.keep[i]).add_(w[i], alpha=numbers.rise[i])
                row.sub_(push, alpha=numbers.press[i])
            else:
                torch.sub(w[i], row, out=change).mul_(numbers.rise[i]).sub_(push, alpha=numbers.press[i])
                row.addcmul_(trust, change.addcmul_(trust, row, value=-numbers.bend[i]))
            torch.minimum(row.clamp_(min=0.0), w[i], out=row)
            _add_blame(blame, row, trust, pull)


def _add_blame(blame: Tensor, row: Tensor, trust: Tensor | None, pull: float) -> None:
    """Add a view's part of pull'(tau E)."""
    if trust is None:
        blame.add_(row, alpha=pull)
    else:
        blame.addcmul_(trust, row, value=pull)


def _fuse_block(block: Block, pull: list[float]) -> None:
    """Set s to the sum of pull_i tau_i A_i over the total weight."""
    part = torch.empty_like(block.fused)
    block.fused.zero_()
    for i, factor in enumerate(pull):
        torch.sub(block.weights[i], block.inconsistent[i], out=part)
        if block.trust is not None:
            part.mul_(block.trust[i])
        block.fused.add_(part, alpha=factor)
    block.fused.div_(block.total)


def _blocks(state: State, doubles_per_edge: int) -> list[Block]:
    """Return the state in blocks of edges, for work with so many temporary numbers on each edge."""
    ranges = Device(state.weights.device).blocks(state.weights.shape[1], 8 * doubles_per_edge)
    return [_block(state, slice(first, last)) for first, last in ranges]


def _block(state: State, here: slice) -> Block:
    return Block(
        state.weights[:, here],
        state.inconsistent[:, here],
        state.fused[here],
        state.total[here] if isinstance(state.total, torch.Tensor) else state.total,
        None if state.trust is None else state.trust[:, here],
    )


def _run(state: State, work: Callable[[Block], None], exact: bool) -> Sums:
    """Work on all blocks and add up their partial sums in order."""
    v = len(state.weights)
    pairs = v * (v + 1) // 2
    n_sums = pairs + 2 * v + 1 + exact * pairs
    partial = [torch.zeros(n_sums, dtype=torch.float64, device=state.weights.device)]
    for block in _blocks(state, (12 if exact else 6) * v + 24):
        work(block)
        partial.append(_sums_of(block, exact))
    sums = Device.get(torch.stack(partial).sum(dim=0))
    return Sums(
        inconsistent_gram=symmetric(sums[:pairs], v),
        consistent_squares=sums[pairs : pairs + v],
        consistent_fused=sums[pairs + v : pairs + 2 * v],
        fused_square=float(sums[pairs + 2 * v]),
        consistent_gram=symmetric(sums[pairs + 2 * v + 1 :], v) if exact else None,
    )


def _sums_of(block: Block, with_gram: bool) -> Tensor:
    """Return a block's sums: of tau E times tau E', tau A squared, tau A s, total s squared, perhaps A A'."""
    s, inconsistent = block.fused.double(), block.inconsistent.double()
    consistent = block.weights.double() - inconsistent
    counted_a, counted_e = consistent, inconsistent
    if block.trust is not None:
        trust = block.trust.double()
        counted_a, counted_e = trust * consistent, trust * inconsistent
    sums = products(counted_e, counted_e)
    sums += [torch.dot(counted, row) for counted, row in zip(counted_a, consistent, strict=True)]
    sums += [torch.dot(counted, s) for counted in counted_a]
    sums.append(torch.dot(s, s * block.total))
    if with_gram:
        sums += products(counted_a / block.total, counted_a)
    return torch.stack(sums)
