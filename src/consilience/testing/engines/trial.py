"""A trial of an engine: the engine, the oracle, and how close the two must be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ...engines import Engine, get_engine
from ...graphs import EdgeSet
from .problems import EngineProblem


@dataclass(frozen=True, eq=False)
class Trial:
    """An engine on a problem.

    Attributes
    ----------
    engine : Engine
        The engine that is tried.
    problem : EngineProblem
        What it is tried on.
    rtol : float
        How far its numbers may be from the oracle's, relative to the largest of them.
    """

    engine: Engine
    problem: EngineProblem
    rtol: float = 1e-9

    @property
    def oracle(self) -> Engine:
        """The readable engine."""
        return self.problem.oracle

    def handle(self, value: Any) -> Any:
        """Return a handle of the engine for what the oracle made; None stays None."""
        return None if value is None else self.engine.adopt(value)

    def fetched(self, handle: Any) -> Any:
        """Return what a handle of the engine stands for."""
        return None if handle is None else self.engine.fetch(handle)

    def same(self, found: Any, expected: Any, what: str, slack: float = 1.0) -> None:
        """Raise an AssertionError unless numbers, arrays, edges or graphs are the same to the tolerance."""
        where = f"{what} ({self.problem.name})"
        if isinstance(expected, EdgeSet):
            assert found == expected, f"{where}: other edges."
        elif sparse.issparse(expected):
            assert sparse.issparse(found), f"{where}: no sparse matrix."
            self.same(found.toarray(), expected.toarray(), what, slack)
        elif expected is None:
            assert found is None, f"{where}: None was expected."
        else:
            found, expected = np.asarray(found), np.asarray(expected)
            assert found.shape == expected.shape, f"{where}: shape {found.shape}, not {expected.shape}."
            scale = np.nanmax(np.abs(expected), initial=0.0) if expected.size else 0.0
            np.testing.assert_allclose(
                found, expected, rtol=0, atol=slack * self.rtol * max(float(scale), 1e-300), err_msg=where
            )


@dataclass(frozen=True)
class EngineCheck:
    """A check of some functions of the seam.

    Attributes
    ----------
    name : str
        What it checks.
    covers : tuple of str
        The functions of the seam that it calls.
    run : callable
        Takes a `Trial`; raises an AssertionError that says what is wrong.
    """

    name: str
    covers: tuple[str, ...]
    run: Callable[[Trial], None]

    def __call__(self, engine: Engine | str, problem: EngineProblem, rtol: float = 1e-9) -> None:
        """Run the check: an engine, or its name, on a problem."""
        engine = get_engine(engine)
        try:
            self.run(Trial(engine, problem, rtol))
        except Exception as error:
            error.add_note(f"Check {self.name!r} of {engine!r} on the problem {problem.name!r}.")
            raise


CHECKS: list[EngineCheck] = []


def check(*covers: str) -> Callable[[Callable[[Trial], None]], Callable[[Trial], None]]:
    """Add a function to the checks; `covers` names the functions of the seam that it calls."""

    def add(run: Callable[[Trial], None]) -> Callable[[Trial], None]:
        CHECKS.append(EngineCheck(run.__name__, covers, run))
        return run

    return add
