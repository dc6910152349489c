"""Checks that every engine must pass, ours and yours: each of its functions next to the readable engine."""

from __future__ import annotations

from collections.abc import Iterable

from ...engines import Engine, get_engine
from . import agreement, dense, edges, graphs, new_samples, rounds, rows  # noqa: F401 - they add their checks
from .problems import EngineProblem, random_problems
from .trial import CHECKS, EngineCheck

__all__ = ["EngineCheck", "EngineProblem", "check_engine", "engine_checks", "random_problems"]


def engine_checks() -> tuple[EngineCheck, ...]:
    """Return all checks of engines, for test suites that want to see them one by one."""
    return tuple(CHECKS)


def check_engine(
    engine: Engine | str, *, rtol: float = 1e-9, problems: Iterable[EngineProblem] | None = None
) -> None:
    """Run an engine through every function that it has; raise an AssertionError that says what is wrong.

    Each function gets what the readable engine made before, and its result is compared with that of the
    readable engine: on views of every kind, with missing samples, with trust, sparse and dense.

    Parameters
    ----------
    engine : Engine or str
        An instance, or the name of one.
    rtol : float, default=1e-9
        How far its numbers may be from the readable engine's, relative to the largest. An engine of single
        precision says so.
    problems : iterable of EngineProblem, default=None
        What to try it on; None: small random problems of every kind.

    Examples
    --------
    >>> check_engine("numpy")
    """
    engine = get_engine(engine)
    for problem in random_problems() if problems is None else problems:
        for one in CHECKS:
            one(engine, problem, rtol)
