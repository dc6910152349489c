"""Checks that every engine must pass, ours and yours: each function of the seam next to the oracle."""

from __future__ import annotations

from collections.abc import Iterable

from ...engines import Engine
from . import agreement, dense, edges, graphs, new_samples, rounds, rows  # noqa: F401 - they add their checks
from .problems import EngineProblem, random_problems
from .trial import CHECKS, EngineCheck, Trial

__all__ = ["EngineCheck", "EngineProblem", "check_engine", "engine_checks", "random_problems"]


def engine_checks() -> tuple[EngineCheck, ...]:
    """Return all checks of engines, for test suites that want to see them one by one."""
    return tuple(CHECKS)


def check_engine(
    engine: Engine, *, rtol: float = 1e-9, problems: Iterable[EngineProblem] | None = None
) -> None:
    """Run an engine through every function of the seam; raise an AssertionError that says what is wrong.

    Each function gets what the readable engine made before, and its result is compared with that of the
    readable engine: on views of every kind, with missing samples, with trust, sparse and dense.

    Parameters
    ----------
    engine : Engine
        An instance.
    rtol : float, default=1e-9
        How far its numbers may be from the oracle's, relative to the largest. An engine of single precision
        says so.
    problems : iterable of EngineProblem, default=None
        What to try it on; None: small random problems of every kind.

    Examples
    --------
    >>> from consilience.engines import get_engine
    >>> check_engine(get_engine("numpy"))
    """
    for problem in random_problems() if problems is None else problems:
        for one in CHECKS:
            try:
                one.run(Trial(engine, problem, rtol))
            except Exception as error:
                error.add_note(f"Check {one.name!r} of {engine!r} on the problem {problem.name!r}.")
                raise
