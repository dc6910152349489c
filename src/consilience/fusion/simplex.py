"""Quadratic programs on the probability simplex: away-step Frank-Wolfe (the paper's Algorithm 1).

=======================  =====================================================
paper                    here
=======================  =====================================================
``H, c``                 ``hessian, linear``
``alpha``                ``point``
``g``                    ``gradient``
``d``, ``eta``           ``direction``, ``step``
``S = {j: alpha_j > 0}`` ``support``
=======================  =====================================================
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engines import get_engine

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
_TRY_AGAIN = 100  # steps after which the minimiser of a face is tried again


def minimize_on_simplex(
    hessian: Matrix, linear: Vector, start: Vector, *, tol: float = 1e-13, max_iter: int = 10_000
) -> Vector:
    r"""Minimise :math:`\tfrac12 x'Hx - c'x` over the probability simplex (Eqs. 19-20, Algorithm 1).

    Away-step Frank-Wolfe with exact line search, warm-started. It finds the right face of the simplex after a
    few steps but approaches the minimiser inside it only linearly. So for each new support the minimiser of
    that face is tried, or the last point in the simplex on the way to it: where that is better, it is taken.
    The result is then exact to rounding for convex problems; a problem that is not convex gets a stationary
    point that is not worse than the start.

    Parameters
    ----------
    hessian : ndarray of shape (v, v)
        Symmetric.
    linear : ndarray of shape (v,)
        The vector c.
    start : ndarray of shape (v,)
        A point of the simplex.
    tol : float, default=1e-13
        Stop when the Frank-Wolfe gap, an upper bound of what is left to gain in a convex problem, is
        below `tol` times the size of the terms of the gradient.
    max_iter : int, default=10000
        Cap on the number of steps.

    Returns
    -------
    ndarray of shape (v,)
        The minimiser.

    Examples
    --------
    >>> import numpy as np
    >>> minimize_on_simplex(np.diag([1.0, 3.0]), np.zeros(2), np.array([0.5, 0.5]))
    array([0.75, 0.25])
    """
    point = np.array(start, dtype=float)
    tried: set[bytes] = set()
    for iteration in range(max_iter):
        if iteration % _TRY_AGAIN == 0:
            tried.clear()  # a minimiser that did not help from far away may help from near
        gradient = hessian @ point - linear
        support = point > 0
        toward = int(np.argmin(gradient))
        away = int(np.argmax(np.where(support, gradient, -np.inf)))
        level = gradient @ point
        gain_toward, gain_away = level - gradient[toward], gradient[away] - level
        if max(gain_toward, gain_away) <= tol * (np.abs(hessian) @ point + np.abs(linear)).max():
            break
        if support.tobytes() not in tried:
            tried.add(support.tobytes())
            face_point = _minimize_on_face(hessian, linear, point, support)
            if face_point is not None:
                point = face_point
                continue
        if gain_toward >= gain_away:
            direction, longest = -point, 1.0
            direction[toward] += 1.0
        else:
            direction, longest = point.copy(), point[away] / (1.0 - point[away])
            direction[away] -= 1.0
        step = _line_search(hessian, gradient, direction, longest)
        point += step * direction
        # At the end of the feasible segment one coordinate is zero; it must be exactly 0.
        if step == longest and gain_toward < gain_away:
            point[away] = 0.0
        point = np.maximum(point, 0.0)
        point /= point.sum()
    return point


def _line_search(hessian: Matrix, gradient: Vector, direction: Vector, longest: float) -> float:
    """Return the best step in (0, longest] along a direction of descent."""
    curvature = direction @ hessian @ direction
    slope = -(gradient @ direction)
    return longest if slope >= curvature * longest else float(slope / curvature)


def _as_far_as_the_face_reaches(point: Vector, aim: Vector) -> Vector:
    """Go from a point of the simplex towards an aim outside until the first coordinate is 0."""
    change = aim - point
    falling = np.flatnonzero(change < 0)
    if not len(falling):  # the aim is the point, up to rounding
        return point
    steps = point[falling] / -change[falling]
    result = np.maximum(point + steps.min() * change, 0.0)
    result[falling[np.argmin(steps)]] = 0.0
    return np.asarray(result / result.sum())


def _minimize_on_face(
    hessian: Matrix, linear: Vector, point: Vector, support: NDArray[np.bool_]
) -> Vector | None:
    """Return the stationary point of the face with this support, or the nearest point to it on the way.

    None if that is not better than the point.
    """
    inside = np.flatnonzero(support)
    gradient = hessian @ point - linear
    for aim in _aims(hessian[np.ix_(inside, inside)], linear[inside], point[inside]):
        candidate = np.zeros_like(point)
        candidate[inside] = aim
        if np.any(aim <= 0):
            candidate = _as_far_as_the_face_reaches(point, candidate)
        change = candidate - point
        if change @ hessian @ change < 0 and gradient @ change > 0:
            # It is a saddle point: along this line, farther away from it is better.
            candidate = _as_far_as_the_face_reaches(point, point - change)
            change = candidate - point
        if gradient @ change + 0.5 * (change @ hessian @ change) < 0:
            return candidate
    return None


def _aims(hessian: Matrix, linear: Vector, point: Vector) -> Iterator[Vector]:
    """Yield the points of a face to try from a point inside it, the better one first."""
    stationary = _stationary_point(hessian, linear)
    if stationary is not None:
        yield stationary
    yield point + _way_down(hessian, hessian @ point - linear)


def _stationary_point(hessian: Matrix, linear: Vector) -> Vector | None:
    """Return the point with equal gradient in all coordinates, and sum 1; None if it is not one point."""
    count = len(linear)
    border = np.abs(hessian).max() or 1.0
    system = np.full((count + 1, count + 1), border)
    system[:count, :count] = hessian
    system[count, count] = 0.0
    try:
        solution = np.linalg.solve(system, np.append(linear, border))[:count]
    except np.linalg.LinAlgError:
        return None
    # The coordinates sum to 1 unless the system is nearly singular.
    if not np.all(np.isfinite(solution)) or not 0.5 < solution.sum() < 2.0:
        return None
    return np.asarray(solution / solution.sum())


def _way_down(hessian: Matrix, gradient: Vector) -> Vector:
    """Return a step that keeps the sum and goes down, on a face without an exact stationary point.

    Such a face has directions without curvature. Where one of them slopes, the step leads down along them and
    out of the simplex; otherwise to the nearest stationary point.
    """
    count = len(gradient)
    centred = np.eye(count) - 1.0 / count
    curvatures, basis = np.linalg.eigh(centred @ hessian @ centred)
    slopes = basis.T @ (centred @ gradient)
    rounding = 4 * count * np.finfo(float).eps
    flat = np.abs(curvatures) <= rounding * np.abs(hessian).max()
    sloping = flat & (np.abs(slopes) > rounding * np.abs(gradient).max())
    if np.any(sloping):
        step = centred @ (basis[:, sloping] @ slopes[sloping])
        return np.asarray(-(count + 1) / np.abs(step).max() * step)
    return np.asarray(-(centred @ (basis[:, ~flat] @ (slopes[~flat] / curvatures[~flat]))))


def project_to_simplex(
    values: NDArray[Any], indptr: NDArray[Any] | None = None, *, engine: Any = "numba"
) -> NDArray[np.float64]:
    r"""Return the nearest point of the probability simplex to each row.

    That is :math:`\max(x - \tau, 0)` with the one :math:`\tau` for which it sums to 1.

    Parameters
    ----------
    values : ndarray of shape (m, d), or of shape (n_values,) with `indptr`
        The rows; with `indptr`, one after the other, each over its own support: the data of a CSR matrix.
    indptr : ndarray of shape (m + 1,), default=None
        Where each row begins. A row without values stays so.
    engine : str or Engine, default="numba"
        The engine that computes.

    Returns
    -------
    ndarray of the shape of `values`
        Not negative, each row of sum 1.

    Examples
    --------
    >>> project_to_simplex(np.array([[0.5, 0.9], [2.0, 0.0]]))
    array([[0.3, 0.7],
           [1. , 0. ]])
    >>> project_to_simplex(np.array([7.0, 0.0, 0.0]), indptr=np.array([0, 1, 3]))
    array([1. , 0.5, 0.5])
    """
    values = np.asarray(values, dtype=np.float64)
    if values.ndim != (2 if indptr is None else 1):
        raise ValueError(f"values must be 2-D, or 1-D with indptr, got shape {values.shape}.")
    if indptr is not None:
        indptr = np.asarray(indptr)
        ascends = indptr.ndim == 1 and len(indptr) > 0 and indptr[0] == 0 and np.all(np.diff(indptr) >= 0)
        if not ascends or indptr[-1] != len(values):
            raise ValueError(f"indptr must ascend from 0 to the number of values, {len(values)}.")
    return get_engine(engine).project_rows(values, indptr)
