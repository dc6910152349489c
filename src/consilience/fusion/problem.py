r"""The model: its data, its objective, and the quadratic programs that follow from it.

The objective (Eq. 9 of the paper), for scales alpha on the simplex, consistent parts 0 <= A <= W and a
fused vector s:

.. math::

    f(\alpha, A, s) = \sum_e \Big[ \sum_i \lambda_i (\alpha_i A_{ie} - s_e)^2
        + \sum_{i,j} B_{ij} \lambda_i \lambda_j \alpha_i \alpha_j E_{ie} E_{je} \Big],
    \qquad E = W - A,

where B is beta on the diagonal and gamma elsewhere. Views that have not seen an edge are not in its sums.

In addition to the paper, a view may be trusted less on some edges than on others. With a trust tau between 0
and 1, on edge e view i counts lambda_i tau_ie instead of lambda_i, everywhere:

.. math::

    f(\alpha, A, s) = \sum_e \Big[ \sum_i \lambda_i \tau_{ie} (\alpha_i A_{ie} - s_e)^2
        + \sum_{i,j} B_{ij} \lambda_i \tau_{ie} \lambda_j \tau_{je} \alpha_i \alpha_j E_{ie} E_{je} \Big].

A trust of 0 is the same as not having seen the edge.

=============  ===========================================================
paper          here
=============  ===========================================================
``W``          ``weights`` (v, n_edges), each row normalised to sum 1
``lambda``     ``view_weights``
``alpha``      ``scales``
``beta``       ``beta``: what inconsistency costs
``gamma``      ``gamma``: the cost of two views inconsistent on one edge
``B``          ``penalty``
``tau``        ``trust`` (v, n_edges); not in the paper
=============  ===========================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..engines import Engine, Sums
from .simplex import Matrix, Vector

EdgeArray = NDArray[np.floating[Any]]
Seen = NDArray[np.bool_]

NO_TRUST = 1e-9  # less trust than this counts as 0: next to any other view it would only lose digits


@dataclass(frozen=True, eq=False)
class FusionProblem:
    """One instance of the model, on weights that an engine holds; `pose` makes and checks it.

    Parameters
    ----------
    weights : weights
        Edge weights (v, n_edges), each view's row normalised to sum 1 (with missing samples: to the mean
        1 / n_edges over the edges it judges); 0 where it does not judge.
    view_weights : ndarray of shape (v,)
        How much each view counts; positive.
    beta, gamma : float
        The two penalties.
    judged : judged, or None
        Which view judges which edge; None: every view judges every edge.
    names : tuple of str
        The views' names, for messages.
    trust : weights, or None
        How much a view counts on an edge, as a part of its weight: from 1e-9 to 1 where it judges, 0
        elsewhere. None: 1 where it judges.
    """

    weights: Any
    view_weights: Vector
    beta: float
    gamma: float
    judged: Any | None
    names: tuple[str, ...]
    trust: Any | None = None

    @property
    def penalty(self) -> Matrix:
        """B scaled by the view weights: what one unit of scaled E E' costs."""
        v = len(self.view_weights)
        b = np.full((v, v), self.gamma)
        np.fill_diagonal(b, self.beta)
        return b * np.outer(self.view_weights, self.view_weights)


def pose(
    weights: EdgeArray,
    *,
    beta: float,
    gamma: float,
    engine: Engine,
    view_weights: ArrayLike | None = None,
    seen: Seen | None = None,
    trust: ArrayLike | None = None,
    names: Sequence[str] | None = None,
) -> FusionProblem:
    """Check the model's data, normalise each view's row, and return the problem.

    Parameters
    ----------
    weights : ndarray of shape (v, n_edges)
        Similarities or distances on the shared edges, not negative.
    beta, gamma : float
        Not negative.
    engine : Engine
        The engine that computes.
    view_weights : array-like of shape (v,), default=None
        Positive; None counts all views alike, as 1.
    seen : ndarray of bool of shape (v, n_edges), default=None
        Which view judges which edge.
    trust : array-like of shape (v, n_edges), default=None
        How much each view counts on each edge, as a part of its weight: numbers from 0 to 1, of which those
        where `seen` is False do not matter. Trust below 1e-9 counts as 0, and 0 as not seen. None: 1.
        The normalisation of a view's row does not depend on how much it is trusted on the edges it judges.
    names : sequence of str, default=None
        For messages; ``view_0, view_1, ...`` by default.

    Returns
    -------
    FusionProblem

    Examples
    --------
    >>> from consilience.engines import get_engine
    >>> trust = [[1, 1], [1, 0.5]]
    >>> problem = pose([[1.0, 3.0], [2.0, 2.0]], beta=1, gamma=100, trust=trust, engine=get_engine("numpy"))
    >>> problem.weights
    array([[0.25, 0.75],
           [0.5 , 0.5 ]])
    >>> problem.trust
    array([[1. , 1. ],
           [1. , 0.5]])
    """
    weights = np.asarray(weights)
    if weights.ndim != 2 or weights.dtype.kind not in "fiub":
        raise ValueError(f"Edge weights must be a real 2-D array, got {weights.ndim}-D of {weights.dtype}.")
    if 0 in weights.shape:
        raise ValueError(f"There is nothing to fuse: {weights.shape[0]} views on {weights.shape[1]} edges.")
    precision = weights.dtype if weights.dtype in (np.float32, np.float64) else np.float64
    v = len(weights)
    names = tuple(names) if names is not None else tuple(f"view_{i}" for i in range(v))
    if len(names) != v:
        raise ValueError(f"There are {len(names)} names for {v} views ({', '.join(map(str, names))}).")
    seen = _check_seen(seen, weights)
    trusted = None
    if trust is not None:
        trusted = _check_trust(trust, seen, weights.shape, precision, names)
        seen = trusted > 0
        trusted = None if bool(np.isin(trusted, (0, 1)).all()) else trusted
    if seen is not None and seen.all():
        seen = None
    own = np.array(weights if seen is None else np.where(seen, weights, 0), dtype=precision, order="C")
    judged = None if seen is None else engine.adopt(seen)
    return FusionProblem(
        weights=engine.normalize(engine.adopt(own), judged, names),
        view_weights=check_view_weights(view_weights, names),
        beta=check_penalty("beta", beta),
        gamma=check_penalty("gamma", gamma),
        judged=judged,
        names=names,
        trust=None if trusted is None else engine.adopt(trusted),
    )


def _check_seen(seen: Seen | None, weights: EdgeArray) -> Seen | None:
    if seen is None:
        return None
    seen = np.asarray(seen, dtype=bool)
    if seen.shape != weights.shape:
        raise ValueError(f"seen has shape {seen.shape}, the edge weights {weights.shape}; they must agree.")
    if not seen.any(axis=0).all():
        edge = int(np.argmin(seen.any(axis=0)))
        raise ValueError(f"Edge {edge} has been seen by no view; leave it out of the edge set.")
    return seen


def _check_trust(
    trust: ArrayLike, seen: Seen | None, shape: tuple[int, ...], precision: Any, names: Sequence[str]
) -> EdgeArray:
    """Return the trust in the precision of the weights, 0 where unseen."""
    given = np.asarray(trust)
    if given.dtype.kind not in "fiub":
        raise ValueError(f"trust must be an array of real numbers, got one of {given.dtype}.")
    if given.shape != shape:
        raise ValueError(f"trust has shape {given.shape}, the edge weights {shape}; they must agree.")
    if seen is not None:
        given = np.where(seen, given, given.dtype.type(0))
    for name, row in zip(names, given, strict=True):
        wrong = ~((row >= 0) & (row <= 1))  # NaN is neither
        if wrong.any():
            edge = int(np.argmax(wrong))
            raise ValueError(
                f"View {name!r} has the trust {row[edge]} at edge {edge}; trust must be from 0 to 1."
            )
    result: EdgeArray = np.array(given, dtype=precision, order="C")
    result[result < NO_TRUST] = 0
    if not result.any(axis=0).all():
        edge = int(np.argmin(result.any(axis=0)))
        raise ValueError(
            f"On edge {edge} no view that has seen it has any trust (below {NO_TRUST:g} counts as 0); "
            "give one of them some, or leave the edge out of the edge set."
        )
    return result


def check_penalty(name: str, value: float) -> float:
    """Return beta or gamma as a float, or raise a ValueError that names it."""
    if not isinstance(value, Real) or isinstance(value, bool) or not 0 <= float(value) < np.inf:
        raise ValueError(f"{name} must be a finite number that is not negative, got {value!r}.")
    return float(value)


def check_view_weights(view_weights: ArrayLike | None, names: Sequence[str]) -> Vector:
    """Return one positive weight per view, or raise a ValueError that names the view at fault."""
    if view_weights is None:
        return np.ones(len(names))
    try:
        given = np.asarray(view_weights)
    except ValueError:
        given = np.asarray(view_weights, dtype=object)
    if given.dtype.kind not in "iuf":
        raise ValueError(f"view_weights must be numbers, one per view, got {view_weights!r}.")
    result = given.astype(float)
    if result.shape != (len(names),):
        raise ValueError(
            f"view_weights must hold one number for each of the {len(names)} views "
            f"({', '.join(names)}), got shape {result.shape}."
        )
    for name, value in zip(names, result, strict=True):
        if not 0 < value < np.inf:
            raise ValueError(
                f"The weight of view {name!r} is {value:g}; weights must be positive and finite. "
                "To leave a view out, do not pass it."
            )
        if not 1e-9 <= value <= 1e9:
            raise ValueError(
                f"The weight of view {name!r} is {value:g}; weights beyond 1e-9 to 1e9 leave nothing of the "
                "other views. To leave a view out, do not pass it."
            )
    return result


def objective(problem: FusionProblem, scales: Vector, consistent: EdgeArray, fused: EdgeArray) -> float:
    """Return the objective as the paper writes it (Eq. 9); faster code is tested against it.

    Parameters
    ----------
    problem : FusionProblem
        With its trust, if it has any; on arrays.
    scales : ndarray of shape (v,)
        alpha.
    consistent : ndarray of shape (v, n_edges)
        A.
    fused : ndarray of shape (n_edges,)
        s.
    """
    scaled_a = scales[:, None] * consistent
    scaled_e = scales[:, None] * (problem.weights - consistent)
    apart = (scaled_a - fused) ** 2
    if problem.judged is not None:
        apart = np.where(problem.judged, apart, 0)
    if problem.trust is not None:
        apart, scaled_e = problem.trust * apart, problem.trust * scaled_e
    return float(problem.view_weights @ apart.sum(axis=1) + np.sum(problem.penalty * (scaled_e @ scaled_e.T)))


def quadratic_in_scales(problem: FusionProblem, sums: Sums) -> tuple[Matrix, Vector, float]:
    """Return H, c and a constant: f = x'Hx/2 - c'x + constant in the scales, A and s fixed (Eq. 17)."""
    hessian = 2 * (
        np.diag(problem.view_weights * sums.consistent_squares) + problem.penalty * sums.inconsistent_gram
    )
    return hessian, 2 * problem.view_weights * sums.consistent_fused, sums.fused_square


def quadratic_in_scales_and_fused(problem: FusionProblem, sums: Sums) -> tuple[Matrix, Vector, float]:
    """Return the same with s eliminated, that is, minimised together with the scales."""
    assert sums.consistent_gram is not None
    pull = np.outer(problem.view_weights, problem.view_weights) * sums.consistent_gram
    hessian, linear, _ = quadratic_in_scales(problem, sums)
    return hessian - 2 * pull, np.zeros_like(linear), 0.0
