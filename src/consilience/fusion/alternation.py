"""Consistent graph learning: scales, fused graph and consistent parts by turns (the paper's Algorithm 3)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from ..engines import Engine, Sums
from ..run.messages import warn
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
COLLAPSED = 0.95  # a contribution above this says that one view took all
ROUNDING: dict[Any, float] = {
    np.dtype(np.float64): 1e-15,
    np.dtype(np.float32): 1e-7,
}  # of an objective, relative to its terms


@dataclass(frozen=True, eq=False)
class RoundInfo:
    """What a callback gets after each round.

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
        The paper's method with its DCA steps; or the same, followed by rounds with the exact minimiser.
    dca_steps : int
        DCA steps per round.
    tol : float
        Stop at round t >= 5 once ``f[t-1] - f[t] < tol * (f[0] - f[t])``, or once a round gains no more
        than rounding. The exact rounds are counted separately.
    max_iter : int
        Cap on the number of rounds, of either kind.
    callback : callable or None
        ``callback(iteration, info)`` after each update of the scales; True stops.
    """

    solver: str = "dca"
    dca_steps: int = 3
    tol: float = 0.05
    max_iter: int = 100
    callback: Callback | None = None

    def __post_init__(self) -> None:
        if self.solver not in SOLVERS:
            raise ValueError(
                f"Unknown solver {self.solver!r}; known solvers: {', '.join(map(repr, SOLVERS))}."
            )
        for name, lowest in (("dca_steps", 1), ("max_iter", 1)):
            value = getattr(self, name)
            if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < lowest:
                raise ValueError(f"{name} must be an integer of at least {lowest}, got {value!r}.")
        if not isinstance(self.tol, Real) or isinstance(self.tol, bool) or not 0 <= float(self.tol) < 1:
            raise ValueError(f"tol must be a number with 0 <= tol < 1, got {self.tol!r}.")
        if self.callback is not None and not callable(self.callback):
            raise ValueError(f"callback must be callable or None, got {self.callback!r}.")


def learn_consistent_graph(
    problem: FusionProblem,
    schedule: Schedule,
    engine: Engine,
    edges: Any = None,
    kind: Literal["similarity", "distance"] | None = None,
) -> FusionResult:
    """Run Algorithm 3 on a posed problem; edge values of the result are handles of the engine.

    With ``solver="dca"`` the fused vector returned is the one of the last completed round, as in the
    authors' program: it is not recomputed after the last update of A (except at their limit of rounds).

    ``solver="exact"`` goes on from there with rounds in which the scales and s, then A, are minimised
    exactly. No step raises the objective, so it ends no higher than DCA; and the fused vector returned is
    the minimiser for the scales and consistent parts returned.
    """
    run = _Run(problem, schedule, engine)
    status = run.alternate(quadratic_in_scales, run.dca_round)
    if status == "max_iter reached":
        run.fuse()
    if schedule.solver == "exact" and status != "stopped by callback":
        run.exact_round()
        status = run.alternate(quadratic_in_scales_and_fused, run.exact_round)
    if schedule.solver == "exact":
        run.fuse()
    inconsistent, fused = engine.collect(run.state)
    result = FusionResult(
        fused=fused,
        view_names=problem.names,
        view_weights=problem.view_weights,
        view_scales=run.scales,
        history=np.array(run.history),
        n_iter=len(run.history) - 1,
        converged=status == "converged",
        status=status,
        solver=schedule.solver,
        weights_by_view=problem.weights,
        inconsistent_by_view=inconsistent,
        seen_by_view=problem.judged,
        edges=edges,
        trust_by_view=problem.trust,
        kind=kind,
        mean_trust=_mean_trust(problem, engine),
    )
    _warn_about(result, schedule)
    return result


def fuse_new_edges(problem: FusionProblem, scales: Vector, solver: str, n_rounds: int, engine: Engine) -> Any:
    """Fuse other edges with the scales that a fusion has found.

    Given the scales, the fused value of an edge depends on its own values alone: the rounds are those of
    `learn_consistent_graph` without the update of the scales.

    Parameters
    ----------
    problem : FusionProblem
        The new edges, with each view's weights in the units of the fusion: divided by the same sums.
    scales : ndarray of shape (v,)
        The scales that it found.
    solver : {"dca", "exact"}
        Which edge step it used.
    n_rounds : int
        How many rounds it took.
    engine : Engine
        The engine that computes.

    Returns
    -------
    values
        The fused values, a handle of the engine.
    """
    run = _Run(problem, Schedule(solver=solver), engine)
    run.scales = scales
    engine.start(run.state, scales)
    for _ in range(max(n_rounds - 1, 0)):
        if solver == "exact":
            run.exact_round()
        else:
            run.dca_round()
    if solver == "exact":
        run.fuse()
    return engine.collect(run.state)[1]


class _Run:
    """One run: the engine's state, the scales, and the objective per round."""

    def __init__(self, problem: FusionProblem, schedule: Schedule, engine: Engine) -> None:
        self.problem, self.schedule, self.engine = problem, schedule, engine
        self.state = engine.load(problem.weights, problem.judged, problem.trust, problem.view_weights)
        self.rounding = ROUNDING[engine.precision(problem.weights)]
        v = len(problem.names)
        self.scales: Vector = np.full(v, 1 / v)
        self.sums: Sums = engine.start(self.state, self.scales)
        self.history = [_value(quadratic_in_scales(problem, self.sums), self.scales)]

    def alternate(self, quadratic: Callable[..., Any], edge_round: Callable[[], None]) -> str:
        """Update scales and edges in turn until a reason to stop; return it."""
        rounds = 0
        while True:
            program = quadratic(self.problem, self.sums)
            self.scales = minimize_on_simplex(program[0], program[1], self.scales)
            self.history.append(_value(program, self.scales))
            rounds += 1
            logger.debug("round %d: objective %.6g, scales %s", rounds, self.history[-1], self.scales)
            stop = self.schedule.callback is not None and self.schedule.callback(
                len(self.history) - 1, RoundInfo(self.history[-1], self.scales.copy())
            )
            rounding = self.rounding * float(program[0].max())
            if rounds >= MIN_ROUNDS and _settled(self.history, self.schedule.tol, rounding):
                return "converged"
            if stop:
                return "stopped by callback"
            if rounds == self.schedule.max_iter:
                return "max_iter reached"
            edge_round()

    def dca_round(self) -> None:
        beta, gamma, steps = self.problem.beta, self.problem.gamma, self.schedule.dca_steps
        self.sums = self.engine.dca_round(self.state, self.scales, beta, gamma, steps)

    def exact_round(self) -> None:
        self.sums = self.engine.exact_round(self.state, self.scales, self.problem.beta, self.problem.gamma)

    def fuse(self) -> None:
        self.engine.fuse(self.state, self.scales)


def _mean_trust(problem: FusionProblem, engine: Engine) -> Vector | None:
    if problem.trust is None:
        return None
    ones = engine.n_values(problem.weights)
    return np.asarray(engine.totals(problem.trust) / ones)


def _value(program: tuple[Any, Vector, float], x: Vector) -> float:
    hessian, linear, constant = program
    return float(0.5 * (x @ hessian @ x) - linear @ x + constant)


def _settled(history: list[float], tol: float, rounding: float) -> bool:
    """Say whether the last round gained less than `tol` of the whole gain, or only rounding."""
    first, previous, last = history[0], history[-2], history[-1]
    return previous - last < tol * (first - last) or previous - last <= rounding


def _warn_about(result: FusionResult, schedule: Schedule) -> None:
    if result.status == "max_iter reached":
        gained = result.history[0] - result.history[-1]
        share = (result.history[-2] - result.history[-1]) / gained if gained > 0 else 0.0
        if schedule.max_iter < MIN_ROUNDS:
            reason = f"the stopping rule looks at round {MIN_ROUNDS} first. Raise max_iter"
        else:
            reason = (
                f"the last one still made {share:.2g} of the whole gain, tol={schedule.tol:g}. "
                "Raise max_iter or tol"
            )
        warn(
            f"The fusion did not settle in max_iter={schedule.max_iter} {result.solver} rounds: {reason}.",
            ConvergenceWarning,
        )
    contributions = result.view_contributions
    if len(contributions) > 1 and contributions.max() > COLLAPSED:
        name = result.view_names[int(np.argmax(contributions))]
        even = "weights" if result.trust_by_view is None else "weights or trust"
        warn(
            f"The fusion collapsed onto one view: {name!r} contributes {contributions.max():.4f} of the "
            f"unified graph. Raise beta (at least 0.1), lower gamma, or give the views more even {even}.",
        )
