"""Consistent graph learning: scales, fused graph and consistent parts in turn (the paper's Algorithm 3)."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from ..backends import Sums, get_backend
from ..graph.edges import EdgeSet
from .problem import (
    FusionProblem,
    quadratic_in_scales,
    quadratic_in_scales_and_fused,
)
from .result import FusionResult
from .simplex import Vector, minimize_on_simplex

logger = logging.getLogger(__name__)

SOLVERS = ("dca", "exact")
MIN_ROUNDS = 5  # the authors' program never stops earlier
EXACT_SWEEPS = 3  # of s and A per round: both are local to an edge, so this costs no pass through memory
COLLAPSED = 0.999  # a contribution above this says that one view took all


@dataclass(frozen=True, eq=False)
class RoundInfo:
    """What a callback is told after each round.

    Attributes
    ----------
    objective : float
        The objective after the update of the scales.
    view_scales : ndarray of shape (v,)
        The scales.
    """

    objective: float
    view_scales: NDArray[np.float64]


Callback = Callable[[int, RoundInfo], bool | None]


@dataclass(frozen=True)
class Schedule:
    """How to run the alternation.

    Attributes
    ----------
    solver : {"dca", "exact"}
        Edge step: the paper's DCA steps, or the exact minimiser.
    dca_steps : int
        DCA steps per round.
    tol : float
        Stop at round t >= 5 once ``f[t-1] - f[t] <= tol * (f[0] - f[t])``.
    max_iter : int
        Cap on the number of rounds.
    backend : str
        Who does the passes over the edges.
    callback : callable or None
        ``callback(iteration, info)`` after each update of the scales; True stops.
    """

    solver: str = "dca"
    dca_steps: int = 3
    tol: float = 0.05
    max_iter: int = 100
    backend: str = "numba"
    callback: Callback | None = None

    def __post_init__(self) -> None:
        if self.solver not in SOLVERS:
            raise ValueError(f"Unknown solver {self.solver!r}; known solvers: 'dca', 'exact'.")
        for name, lowest in (("dca_steps", 1), ("max_iter", 1)):
            value = getattr(self, name)
            if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < lowest:
                raise ValueError(f"{name} must be an integer of at least {lowest}, got {value!r}.")
        if not isinstance(self.tol, int | float | np.number) or not 0 <= self.tol < 1:
            raise ValueError(f"tol must be a number with 0 <= tol < 1, got {self.tol!r}.")
        if self.callback is not None and not callable(self.callback):
            raise ValueError(f"callback must be callable or None, got {self.callback!r}.")
        get_backend(self.backend)


def learn_consistent_graph(
    problem: FusionProblem, schedule: Schedule, edges: EdgeSet | None = None
) -> FusionResult:
    """Run Algorithm 3 on a posed problem.

    With ``solver="dca"`` the fused vector returned is the one of the last completed round, as in the
    authors' program: it is not recomputed after the last update of A (their round cap excepted). With
    ``solver="exact"`` it is the minimiser for the scales and consistent parts returned.
    """
    backend = get_backend(schedule.backend)
    state = backend.load(problem.weights, problem.view_weights, problem.seen, problem.weights.dtype)
    exact = schedule.solver == "exact"
    quadratic = quadratic_in_scales_and_fused if exact else quadratic_in_scales
    scales = np.full(len(problem.names), 1 / len(problem.names))

    sums: Sums = backend.start(state, scales, with_gram=exact)
    history = [_value(quadratic_in_scales(problem, sums), scales)]
    status = ""
    while not status:
        iteration = len(history)
        program = quadratic(problem, sums)
        scales = minimize_on_simplex(program[0], program[1], scales)
        history.append(_value(program, scales))
        logger.debug("round %d: objective %.6g, scales %s", iteration, history[-1], scales)
        stop = schedule.callback is not None and schedule.callback(
            iteration, RoundInfo(history[-1], scales.copy())
        )
        if _settled(history, schedule.tol, rounding=1e-15 * float(program[0].max())):
            status = "converged"
        elif stop:
            status = "stopped by callback"
        elif iteration == schedule.max_iter:
            status = "max_iter reached"
        elif exact:
            sums = backend.exact_round(state, scales, problem.beta, problem.gamma, EXACT_SWEEPS)
        else:
            sums = backend.dca_round(state, scales, problem.beta, problem.gamma, schedule.dca_steps)
    if exact or status == "max_iter reached":
        backend.fuse(state, scales)

    inconsistent, fused = backend.collect(state)
    result = FusionResult(
        fused=fused,
        view_names=problem.names,
        view_weights=problem.view_weights,
        view_scales=scales,
        history=np.array(history),
        n_iter=len(history) - 1,
        converged=status == "converged",
        status=status,
        solver=schedule.solver,
        weights_by_view=problem.weights,
        inconsistent_by_view=inconsistent,
        edges=edges,
    )
    _warn_about(result, schedule)
    return result


def _value(program: tuple[Any, Vector, float], x: Vector) -> float:
    hessian, linear, constant = program
    return float(0.5 * (x @ hessian @ x) - linear @ x + constant)


def _settled(history: list[float], tol: float, rounding: float) -> bool:
    """Say whether the last round gained at most `tol` of what has been gained in all, or only rounding."""
    if len(history) - 1 < MIN_ROUNDS:
        return False
    first, previous, last = history[0], history[-2], history[-1]
    return previous - last < tol * (first - last) or previous - last <= rounding


def _warn_about(result: FusionResult, schedule: Schedule) -> None:
    if result.status == "max_iter reached":
        gained = result.history[0] - result.history[-1]
        share = (result.history[-2] - result.history[-1]) / gained if gained > 0 else 0.0
        warnings.warn(
            f"The fusion did not settle in max_iter={schedule.max_iter} rounds: the last one still made "
            f"{share:.2g} of the whole gain, above tol={schedule.tol:g}. Raise max_iter or tol.",
            ConvergenceWarning,
            stacklevel=4,
        )
    contributions = result.view_contributions
    if len(contributions) > 1 and contributions.max() > COLLAPSED:
        name = result.view_names[int(np.argmax(contributions))]
        warnings.warn(
            f"The fusion collapsed onto one view: {name!r} contributes {contributions.max():.4f} of the "
            "unified graph. Raise beta (at least 0.1) or lower gamma.",
            UserWarning,
            stacklevel=4,
        )
