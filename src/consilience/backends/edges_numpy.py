"""The readable back end: every step as the paper writes it, in NumPy, on arrays of shape (v, n_edges).

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
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .sums import Matrix, Sums, Vector

EdgeArray = NDArray[np.floating[Any]]


@dataclass
class State:
    """The edge arrays of one fusion."""

    weights: EdgeArray
    inconsistent: EdgeArray
    fused: EdgeArray
    view_weights: Vector
    total: EdgeArray  # (n_edges,): total weight of the views that have seen the edge


def load(
    weights: EdgeArray, view_weights: Vector, seen: NDArray[np.bool_] | None, dtype: DTypeLike = np.float64
) -> State:
    """Take the edge weights; see the package docstring for this and the other functions."""
    weights = np.asarray(weights, dtype=dtype)
    n_edges = weights.shape[1]
    if seen is None:
        total = np.full(n_edges, view_weights.sum(), dtype=dtype)
    else:
        total = (view_weights @ seen).astype(dtype)
    return State(weights, np.zeros_like(weights), np.zeros(n_edges, dtype=dtype), view_weights, total)


def start(state: State, scales: Vector) -> Sums:
    """Set s to its closed form; E is 0 since `load`."""
    fuse(state, scales)
    return _sums(state)


def fuse(state: State, scales: Vector) -> None:
    """Set s to its minimiser given A (Eq. 24)."""
    consistent = state.weights - state.inconsistent
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
        consistent = consistent + (linear - hessian @ consistent) / largest
        consistent = np.clip(consistent, 0, state.weights)
    state.inconsistent = (state.weights - consistent).astype(state.weights.dtype)
    return _sums(state)


def exact_round(state: State, scales: Vector, beta: float, gamma: float) -> Sums:
    """Update s, then A by the closed-form minimiser on each edge."""
    fuse(state, scales)
    free = scales > 0  # a view with scale 0 has no say: its A stays W
    weights, scale = state.weights[free], scales[free][:, None]
    view_weights = state.view_weights[free]
    curvature, gamma = edge_curvatures(view_weights, beta, gamma, np.float64)
    blame = exact_edge_step(scale * weights - state.fused, curvature, gamma)
    state.inconsistent = np.zeros_like(state.weights)
    state.inconsistent[free] = np.minimum(blame / (view_weights[:, None] * scale), weights)
    return _sums(state)


def collect(state: State) -> tuple[EdgeArray, EdgeArray]:
    """Return inconsistent parts and the fused vector."""
    return state.inconsistent, state.fused


def edge_hessian(view_weights: Vector, scales: Vector, beta: float, gamma: float) -> tuple[Matrix, Matrix]:
    """Return the Hessian D shared by all edges' programs, and its coupling part K (section 4.6)."""
    pull = view_weights * scales
    coupling = gamma * np.outer(pull, pull)
    np.fill_diagonal(coupling, beta * pull**2)
    return 2 * (np.diag(view_weights * scales**2) + coupling), coupling


def edge_curvatures(
    view_weights: Vector, beta: float, gamma: float, dtype: DTypeLike
) -> tuple[Vector, float]:
    """Return d = 1 / lambda + beta - gamma, and the gamma to go with it.

    Once gamma exceeds all 1 / lambda + beta an edge blames at most one view, and how much more it is does not
    matter: it is cut there, or d would lose all its digits. A d that is hardly more than rounding is taken
    as 0, because what is divided by it would be noise.
    """
    own = 1 / view_weights + beta
    gamma = min(gamma, float(own.max()))
    curvature: Vector = own - gamma
    curvature[np.abs(curvature) <= np.finfo(dtype).eps ** (2 / 3) * gamma] = 0.0
    return curvature, gamma


def exact_edge_step(excess: EdgeArray, curvature: Vector, gamma: float) -> EdgeArray:
    r"""Minimise :math:`\sum_i d_i z_i^2 + \gamma (\sum_i z_i)^2 - 2 \sum_i r_i z_i` over z >= 0, per column.

    A minimiser's support is a set of the largest r among the views with d > 0 and at most one view with
    d <= 0: two of the latter would make the Hessian indefinite on their plane. So every pair of "the t
    largest" and "this one or none" is tried, from prefix sums, and the least objective wins. At a
    stationary point the objective equals :math:`-r'z`.

    Parameters
    ----------
    excess : ndarray of shape (v, n_edges)
        The r: by how much each scaled view exceeds the fused value.
    curvature : ndarray of shape (v,)
        The d, with d + gamma > 0.
    gamma : float
        Not negative.

    Returns
    -------
    ndarray of shape (v, n_edges)
        The minimisers z.
    """
    convex, concave = np.flatnonzero(curvature > 0), np.flatnonzero(curvature <= 0)
    order = np.argsort(-excess[convex], axis=0, kind="stable")
    r = np.take_along_axis(excess[convex], order, axis=0)
    d = curvature[convex][order]
    sum_inverse, sum_r, sum_rr = (_prefix_sums(x) for x in (1 / d, r / d, r * r / d))

    n_edges = excess.shape[1]
    best_value, best_sum = np.zeros(n_edges), np.zeros(n_edges)
    best_count, best_one = np.zeros(n_edges, dtype=int), np.full(n_edges, -1)
    best_z_one = np.zeros(n_edges)
    for count in range(len(convex) + 1):
        stiffness = 1 + gamma * sum_inverse[count]
        for one in (-1, *concave):
            if one < 0:
                z_one: Any = np.zeros(n_edges)
                total = sum_r[count] / stiffness
                value = -(sum_rr[count] - gamma * total * sum_r[count])
                valid = np.ones(n_edges, dtype=bool)
            else:
                determinant = curvature[one] * stiffness + gamma
                valid = determinant > 0
                determinant = np.where(valid, determinant, 1.0)
                z_one = (excess[one] * stiffness - gamma * sum_r[count]) / determinant
                total = (curvature[one] * sum_r[count] + excess[one]) / determinant
                value = -(sum_rr[count] - gamma * total * sum_r[count]) - excess[one] * z_one
                valid &= z_one >= 0
            if count > 0:
                valid &= r[count - 1] >= gamma * total
            better = valid & (value < best_value)
            best_value[better], best_sum[better] = value[better], total[better]
            best_count[better], best_one[better], best_z_one[better] = count, one, z_one[better]

    inside = np.arange(len(convex))[:, None] < best_count
    z = np.zeros(excess.shape)
    sorted_z = np.where(inside, np.maximum((r - gamma * best_sum) / d, 0), 0)
    z[convex] = _unsort(sorted_z, order)
    edges = np.flatnonzero(best_one >= 0)
    z[best_one[edges], edges] = best_z_one[edges]
    return z


def _prefix_sums(x: EdgeArray) -> EdgeArray:
    """Cumulative sums down the rows, beginning with a row of zeros."""
    return np.concatenate([np.zeros((1, x.shape[1])), np.cumsum(x, axis=0)])


def _unsort(values: EdgeArray, order: NDArray[np.intp]) -> EdgeArray:
    """Undo `take_along_axis(..., order, axis=0)`."""
    result = np.empty_like(values)
    np.put_along_axis(result, order, values, axis=0)
    return result


def _sums(state: State) -> Sums:
    inconsistent = state.inconsistent.astype(float)
    consistent = state.weights.astype(float) - inconsistent
    fused, total = state.fused.astype(float), state.total.astype(float)
    return Sums(
        consistent_squares=np.sum(consistent**2, axis=1),
        inconsistent_gram=inconsistent @ inconsistent.T,
        consistent_fused=consistent @ fused,
        fused_square=float(np.sum(total * fused**2)),
        consistent_gram=(consistent / total) @ consistent.T,
    )
