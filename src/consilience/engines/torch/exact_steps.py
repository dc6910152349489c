"""The exact edge step: the least value of each edge's program; see `numpy.rounds.exact_edge_step`.

In its terms an edge's program has the excesses r_i, the curvatures d_i and the answers z_i. Where no view has
a positive curvature, an edge blames one view at most, and this is found in the precision of the weights. All
other edges go through `least_on_edges`, in double precision.

Not d is used where it can be avoided, but d + gamma = 1 / (lambda tau) + beta, whose digits d loses if gamma
is large. So gamma need not be limited.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch

from ..results import Vector

Tensor: TypeAlias = torch.Tensor


@dataclass(frozen=True)
class ExactStep:
    """The numbers of an exact step: per view its weight lambda, its scale alpha, and a bound.

    The curvature 1 / (lambda tau) + beta - gamma is above 0, by more than rounding, for a tau below the
    bound. It can be kept finite because no tau exceeds 1. A view with scale 0 is not blamed: its bound is 0.
    """

    view_weights: list[float]
    scales: list[float]
    bounds: list[float]
    beta: float
    gamma: float

    @classmethod
    def of(
        cls, view_weights: Vector, scales: Vector, beta: float, gamma: float, dtype: torch.dtype
    ) -> ExactStep:
        """Return the numbers for edge arrays of a precision."""
        steepness = view_weights * (gamma * (1 + torch.finfo(dtype).eps ** (2 / 3)) - beta)
        bounds = np.where(scales > 0, 1 / np.maximum(steepness, 0.5), 0.0)
        return cls(view_weights.tolist(), scales.tolist(), bounds.tolist(), float(beta), float(gamma))


def exact_block(w: Tensor, e: Tensor, s: Tensor, tau: Tensor | None, step: ExactStep) -> None:
    """Set E (v, m) of some edges, given W, the fused values s and perhaps trust, to the best there is."""
    if tau is None:
        if max(step.bounds) > 1:
            e.copy_(share_blame(w, s, None, step))
        else:
            _blame_one_view(w, e, s, None, step)
        return
    _blame_one_view(w, e, s, tau, step)
    convex = torch.zeros_like(s, dtype=torch.bool)
    for row, bound in zip(tau, step.bounds, strict=True):
        convex |= (row > 0) & (row < bound)
    some = torch.nonzero(convex)[:, 0]
    if len(some):
        best = share_blame(w[:, some], s[some], tau[:, some], step)
        e[:, some] = best.to(e.dtype)


def _blame_one_view(w: Tensor, e: Tensor, s: Tensor, tau: Tensor | None, step: ExactStep) -> None:
    """Blame the view that gains most: right for the edges on which no view has positive curvature.

    Blaming view i alone gains r_i^2 / (d_i + gamma) if r_i > 0, at z_i = r_i / (d_i + gamma).
    """
    best = torch.zeros_like(s)
    blamed = torch.full(s.shape, -1, dtype=torch.int32, device=s.device)
    for i, (weight, scale) in enumerate(zip(step.view_weights, step.scales, strict=True)):
        excess = (scale * w[i]).sub_(s).clamp_(min=0.0)
        if tau is None:
            gain = excess.square_().mul_(weight / (1 + step.beta * weight))
        else:
            counts = weight * tau[i]
            gain = excess.square_().mul_(counts / (1 + step.beta * counts))
        blamed = torch.where(gain > best, i, blamed)
        torch.maximum(best, gain, out=best)
    for i, (weight, scale) in enumerate(zip(step.view_weights, step.scales, strict=True)):
        if scale <= 0:
            e[i] = 0.0  # it does not count: its A stays W
            continue
        count = weight if tau is None else weight * tau[i]
        value = (scale * w[i]).sub_(s).mul_(1 / scale).div_(1 + step.beta * count)
        e[i] = torch.where(blamed == i, torch.minimum(value, w[i]), 0.0)


def share_blame(w: Tensor, s: Tensor, tau: Tensor | None, step: ExactStep) -> Tensor:
    """Return the best E in double precision, for curvatures of any signs.

    Over the views that exceed the fused value: no other can be blamed.
    """
    weights, scales, bounds = w.new_tensor(
        [step.view_weights, step.scales, step.bounds], dtype=torch.float64
    ).unsqueeze(2)
    w, trust = w.double(), torch.ones_like(scales) if tau is None else tau.double()
    excess = scales * w - s
    active = (excess > 0) & (trust > 0) & (scales > 0)
    counts = torch.where(trust > 0, weights * trust, 1.0)
    own = 1 / counts + step.beta
    small = trust < bounds
    z = least_on_edges(excess, own, active & small, active & ~small, step.gamma)
    return torch.minimum(z / (counts * torch.where(scales > 0, scales, 1.0)), w)


@dataclass
class _Best:
    """The best support on each edge so far: its value, m = sum of z, views of positive curvature, and one."""

    value: Tensor
    total: Tensor
    count: Tensor
    one: Tensor
    z_one: Tensor

    @classmethod
    def none(cls, like: Tensor) -> _Best:
        """Return the support of no views."""
        number = torch.zeros_like(like, dtype=torch.int32)
        return cls(torch.zeros_like(like), torch.zeros_like(like), number, number - 1, torch.zeros_like(like))

    def update(
        self, valid: Tensor, value: Tensor, total: Tensor, count: int, one: int, z_one: Tensor | float
    ) -> None:
        """Take another support where it is valid and better.

        Of supports that differ only in the number of views of positive curvature, the largest that is valid
        is the best. This is not left to the objective, in which a view of little trust may be less than
        rounding.
        """
        better = valid & ((value < self.value) | (self.one == one))
        self.value = torch.where(better, value, self.value)
        self.total = torch.where(better, total, self.total)
        self.count = torch.where(better, count, self.count)
        self.one = torch.where(better, one, self.one)
        self.z_one = torch.where(better, z_one, self.z_one)


def least_on_edges(excess: Tensor, own: Tensor, convex: Tensor, concave: Tensor, gamma: float) -> Tensor:
    """Return the minimisers z (v, m) of the edges' programs.

    Parameters
    ----------
    excess : tensor of shape (v, m)
        The r.
    own : tensor of shape (v, m) or (v, 1)
        d + gamma, without the rounding of d.
    convex, concave : tensor of bool of shape (v, m)
        The views with d > 0, and the others; views in neither are not blamed.
    gamma : float
        Not negative.
    """
    curvature = own - gamma
    ones, most = _supports(convex, concave)
    # On each edge the views with d > 0 first, by r, the largest first; -inf behind them.
    r, order = torch.sort(torch.where(convex, excess, -torch.inf), dim=0, descending=True, stable=True)
    inverse = 1 / torch.where(r > -torch.inf, curvature.expand_as(r).gather(0, order), torch.inf)
    sum_inverse, sum_r, sum_rr = (torch.zeros_like(r[0]) for _ in range(3))
    best, last = _Best.none(r[0]), torch.full_like(r[0], torch.inf)
    for count in range(most + 1):
        if count > 0:
            last = r[count - 1]
            share = last.clamp(min=0.0) * inverse[count - 1]
            sum_inverse, sum_r = sum_inverse + inverse[count - 1], sum_r + share
            sum_rr = sum_rr + last.clamp(min=0.0) * share
        stiffness = 1 + gamma * sum_inverse
        total = sum_r / stiffness
        value = gamma * total * sum_r - sum_rr
        best.update(last >= gamma * total, value, total, count, -1, 0.0)
        for one in ones:
            determinant = own[one] + gamma * sum_inverse * curvature[one]
            valid = concave[one] & (determinant > 0)
            determinant = torch.where(valid, determinant, 1.0)
            z_one = (excess[one] * stiffness - gamma * sum_r) / determinant
            total = (curvature[one] * sum_r + excess[one]) / determinant
            value = gamma * total * sum_r - sum_rr - excess[one] * z_one
            best.update(valid & (z_one >= 0) & (last >= gamma * total), value, total, count, one, z_one)
    z = torch.zeros_like(r)
    sorted_z = ((r - gamma * best.total) * inverse).clamp_(min=0.0)
    places = torch.arange(len(r), device=r.device)[:, None]
    z.scatter_(0, order, torch.where(places < best.count, sorted_z, 0.0))
    for one in ones:
        z[one] = torch.where(best.one == one, best.z_one, z[one])
    return z


def _supports(convex: Tensor, concave: Tensor) -> tuple[list[int], int]:
    """Return the views that are concave on any edge, and how many are convex on one edge at most."""
    found = torch.cat([concave.any(dim=1).long(), convex.sum(dim=0).max()[None]]).tolist()
    return [i for i, there in enumerate(found[:-1]) if there], found[-1]
