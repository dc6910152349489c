"""The rounds of a fusion as the paper writes them, in NumPy, on arrays of shape (v, n_edges).

============  ====================================================================
paper         here
============  ====================================================================
``W, A, E``   ``weights``, ``weights - inconsistent``, ``inconsistent``
``s``         ``fused``
``lambda``    ``view_weights``
``alpha``     ``scales``
``t``         ``view_weights * scales``
``D, L``      ``hessian, linear`` of an edge's quadratic program
``rho``       ``largest``, the largest eigenvalue of D
============  ====================================================================

In addition to the paper, a view's weight lambda is multiplied on each edge by the trust (tau) in it there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..host import edge_curvatures, edge_hessian
from ..results import Sums, Vector

EdgeArray = NDArray[np.floating[Any]]


@dataclass
class State:
    """The edge arrays of one fusion."""

    weights: EdgeArray
    inconsistent: EdgeArray
    fused: EdgeArray
    view_weights: Vector
    total: EdgeArray  # (n_edges,): total weight of the views on the edge
    trust: EdgeArray | None  # (v, n_edges), 0 where unseen; None: no view is trusted less than others


def load(
    weights: EdgeArray, seen: NDArray[np.bool_] | None, trust: EdgeArray | None, view_weights: Vector
) -> State:
    """Take the weights; see `Engine.load` for this and the other functions."""
    dtype, n_edges = weights.dtype, weights.shape[1]
    if trust is not None:
        trust = np.asarray(trust, dtype=dtype)
        total = (view_weights @ trust).astype(dtype)
    elif seen is not None:
        total = (view_weights @ seen).astype(dtype)
    else:
        total = np.full(n_edges, view_weights.sum(), dtype=dtype)
    return State(weights, np.zeros_like(weights), np.zeros(n_edges, dtype=dtype), view_weights, total, trust)


def start(state: State, scales: Vector) -> Sums:
    """Set s to its closed form; E is 0 since `load`."""
    fuse(state, scales)
    return _sums(state)


def fuse(state: State, scales: Vector) -> None:
    """Set s to its minimiser given A (Eq. 24)."""
    consistent = _trusted(state, state.weights - state.inconsistent)
    state.fused = ((state.view_weights * scales) @ consistent / state.total).astype(state.weights.dtype)


def dca_round(state: State, scales: Vector, beta: float, gamma: float, steps: int) -> Sums:
    """Update s, then A by DCA on all edges at once (Algorithm 2)."""
    fuse(state, scales)
    hessian, coupling = edge_hessian(state.view_weights, scales, beta, gamma)
    largest = np.linalg.eigvalsh(hessian)[-1]
    pull = (state.view_weights * scales)[:, None] * state.fused
    linear = 2 * (pull + coupling @ state.weights)
    consistent = state.weights - state.inconsistent
    for _ in range(steps):
        if state.trust is None:
            consistent = consistent + (linear - hessian @ consistent) / largest
        else:
            # An edge now has the Hessian 2 (diag(tau lambda alpha^2) + diag(tau) K diag(tau)). No entry of it
            # exceeds that of D and none is negative, so neither does its largest eigenvalue
            # (Perron-Frobenius): steps of this length do not raise the objective on any edge.
            blame = state.trust * (state.weights - consistent)
            own = (state.view_weights * scales**2)[:, None] * consistent
            consistent = consistent - 2 * state.trust * (own - pull - coupling @ blame) / largest
        consistent = np.clip(consistent, 0, state.weights)
    state.inconsistent = (state.weights - consistent).astype(state.weights.dtype)
    return _sums(state)


def exact_round(state: State, scales: Vector, beta: float, gamma: float) -> Sums:
    """Update s, then A by the closed-form minimiser on each edge."""
    fuse(state, scales)
    free = scales > 0  # a view with scale 0 does not count: its A stays W
    weights, scale = state.weights[free], scales[free][:, None]
    counts = state.view_weights[free][:, None]  # the lambda of each view, on each edge
    if state.trust is not None:
        counts = counts * state.trust[free]
    excess = scale * weights - state.fused
    curvature, cut_gamma = edge_curvatures(counts, beta, gamma, np.float64)
    blame = exact_edge_step(excess, curvature, cut_gamma)
    if state.trust is not None:
        # The gain from blaming a view of little trust may be less than the last digit of the objective, by
        # which supports were compared. The sum of the others gives it: where z > 0, d z = r - gamma m.
        rest = np.maximum(excess - cut_gamma * blame.sum(axis=0), 0)
        np.divide(rest, curvature, out=blame, where=(curvature > 0) & (blame == 0))
    # Where a view does not judge it is 0, so below the fused value: it is not blamed.
    blame /= np.where(counts > 0, counts, 1) * scale
    state.inconsistent = np.zeros_like(state.weights)
    state.inconsistent[free] = np.minimum(blame, weights)
    return _sums(state)


def collect(state: State) -> tuple[EdgeArray, EdgeArray]:
    """Return inconsistent parts and the fused vector."""
    return state.inconsistent, state.fused


def exact_edge_step(
    excess: EdgeArray, curvature: NDArray[np.float64], gamma: float | NDArray[np.float64]
) -> NDArray[np.float64]:
    r"""Minimise :math:`\sum_i d_i z_i^2 + \gamma (\sum_i z_i)^2 - 2 \sum_i r_i z_i` over z >= 0, per column.

    A minimiser's support is a set of the largest r among the views with d > 0 and at most one view with
    d <= 0: two of the latter would make the Hessian indefinite on their plane. So every pair of "the t
    largest" and "this one or none" is tried, from prefix sums, and the least objective wins. At a
    stationary point the objective equals :math:`-r'z`.

    Parameters
    ----------
    excess : ndarray of shape (v, n_edges)
        The r: by how much each scaled view exceeds the fused value.
    curvature : ndarray of shape (v,), (v, 1) or (v, n_edges)
        The d, with d + gamma > 0 where r > 0; the same on all edges, or not.
    gamma : float, or ndarray of shape (1,) or (n_edges,)
        Not negative.

    Returns
    -------
    ndarray of shape (v, n_edges)
        The minimisers z.
    """
    v, n_edges = excess.shape
    curvature = np.broadcast_to(curvature.reshape(v, -1), excess.shape)
    convex = curvature > 0
    n_convex = np.sum(convex, axis=0)
    # On each edge the views with d > 0 first, by r, the largest first.
    order = np.argsort(np.where(convex, -excess, np.inf), axis=0, kind="stable")
    first = np.arange(v)[:, None] < n_convex
    r = np.take_along_axis(excess, order, axis=0)
    d = np.where(first, np.take_along_axis(curvature, order, axis=0), 1.0)
    sum_inverse, sum_r, sum_rr = (_prefix_sums(np.where(first, x, 0.0)) for x in (1 / d, r / d, r * r / d))

    best_value, best_sum = np.zeros(n_edges), np.zeros(n_edges)
    best_count, best_one = np.zeros(n_edges, dtype=int), np.full(n_edges, -1)
    best_z_one = np.zeros(n_edges)
    for count in range(n_convex.max() + 1):
        stiffness = 1 + gamma * sum_inverse[count]
        for one in (-1, *np.flatnonzero(~convex.all(axis=1))):
            valid = n_convex >= count
            if one < 0:
                z_one: Any = np.zeros(n_edges)
                total = sum_r[count] / stiffness
                value = -(sum_rr[count] - gamma * total * sum_r[count])
            else:
                determinant = curvature[one] * stiffness + gamma
                valid = valid & ~convex[one] & (determinant > 0)
                determinant = np.where(valid, determinant, 1.0)
                z_one = (excess[one] * stiffness - gamma * sum_r[count]) / determinant
                total = (curvature[one] * sum_r[count] + excess[one]) / determinant
                value = -(sum_rr[count] - gamma * total * sum_r[count]) - excess[one] * z_one
                valid = valid & (z_one >= 0)
            if count > 0:
                valid = valid & (r[count - 1] >= gamma * total)
            better = valid & (value < best_value)
            best_value[better], best_sum[better] = value[better], total[better]
            best_count[better], best_one[better], best_z_one[better] = count, one, z_one[better]

    inside = np.arange(v)[:, None] < best_count
    sorted_z = np.where(inside, np.maximum((r - gamma * best_sum) / d, 0), 0)
    z: NDArray[np.float64] = np.zeros(excess.shape)
    np.put_along_axis(z, order, sorted_z, axis=0)
    edges = np.flatnonzero(best_one >= 0)
    z[best_one[edges], edges] = best_z_one[edges]
    return z


def _prefix_sums(x: EdgeArray) -> EdgeArray:
    """Cumulative sums down the rows, beginning with a row of zeros."""
    return np.concatenate([np.zeros((1, x.shape[1])), np.cumsum(x, axis=0)])


def _trusted(state: State, values: EdgeArray) -> EdgeArray:
    """Return values of shape (v, n_edges) times the trust, if any is given."""
    return values if state.trust is None else state.trust * values


def _sums(state: State) -> Sums:
    inconsistent = state.inconsistent.astype(float)
    consistent = state.weights.astype(float) - inconsistent
    fused, total = state.fused.astype(float), state.total.astype(float)
    counted_a, counted_e = _trusted(state, consistent), _trusted(state, inconsistent)
    return Sums(
        consistent_squares=np.sum(counted_a * consistent, axis=1),
        inconsistent_gram=counted_e @ counted_e.T,
        consistent_fused=counted_a @ fused,
        fused_square=float(np.sum(total * fused**2)),
        consistent_gram=(counted_a / total) @ counted_a.T,
    )
