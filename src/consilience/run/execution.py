"""Running the stages of a fit: in order, timed, shown, and kept in checkpoints."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from .handles import map_handles
from .progress import PlannedStage, Progress

if TYPE_CHECKING:
    from .checkpoints import Checkpoints

Value = TypeVar("Value")


class Run:
    """One run of a list of stages.

    A stage is a function that takes what earlier stages returned, and the keyword `engine`. A run calls it,
    times it, shows how far it is, and keeps what it returned in a checkpoint. In a run that goes on from
    checkpoints, stages that were finished before are not called: `stage` returns the result of then, or None
    if no later stage needs it.

    Parameters
    ----------
    engine : Engine
        Given to every stage.
    plan : sequence of PlannedStage, default=()
        The stages to come: for the progress, and to know which checkpoints can be removed.
    random_state : RandomState, default=None
        The random generator of the stages; None: one with seed 0.
    visible : bool, default=False
        Whether to draw a progress bar.
    checkpoints : Checkpoints, default=None
        The checkpoints that keep the results of stages; None: no checkpoints.

    Examples
    --------
    >>> def double(number, *, engine):
    ...     return 2 * number
    >>> run = Run(engine=None)
    >>> run.stage("double", double, run.stage("double", double, 1))
    4
    """

    def __init__(
        self,
        engine: Any,
        plan: Sequence[PlannedStage] = (),
        random_state: np.random.RandomState | None = None,
        visible: bool = False,
        checkpoints: Checkpoints | None = None,
    ) -> None:
        self.engine, self.plan = engine, tuple(plan)
        self.progress = Progress(plan, visible)
        self.checkpoints = checkpoints
        own = np.random.RandomState(0) if random_state is None else random_state
        self.random_state = own if checkpoints is None else checkpoints.random_state
        self._scope: tuple[str, ...] = ()  # loops that are running, and their rounds

    def stage(self, name: str, function: Callable[..., Value], *given: Any, **options: Any) -> Value:
        """Run one stage and return what it returns, or returned before.

        Parameters
        ----------
        name : str
            Its name.
        function : callable
            What it does: ``function(*given, engine=engine, **options)``.
        """
        return self._run(name, "", lambda: function(*given, engine=self.engine, **options))

    def each(
        self, name: str, function: Callable[..., Value], details: Sequence[str], *given: Any
    ) -> tuple[Value, ...]:
        """Run a stage in parts, one for each detail, and return what they return.

        Each part is ``function(number, *given, engine=engine)``; the progress shows its detail, and it has a
        checkpoint of its own.
        """
        return tuple(
            self._run(name, detail, lambda i=i: function(i, *given, engine=self.engine))  # type: ignore[misc]
            for i, detail in enumerate(details)
        )

    def loop(
        self, name: str, step: Callable[[Value, int], tuple[Value, bool]], start: Value, max_rounds: int
    ) -> Value:
        """Repeat a stage until a fixed point: other stages may run inside a round.

        Parameters
        ----------
        name : str
            Its name.
        step : callable
            Takes the state and the number of the round; returns the next state, and whether it is the last.
        start : object
            The first state.
        max_rounds : int
            Cap on the number of rounds.

        Returns
        -------
        object
            The last state. Each round has a checkpoint; those of the rounds before it, and of the stages
            inside it, are removed.
        """
        state, first = start, 0
        here = ".".join((*self._scope, name))
        if self.checkpoints is not None and (behind := self.checkpoints.last_round(here)) is not None:
            number, checkpoint = behind
            (state, is_last), took = checkpoint.restore()
            self.progress.skip(name, f"round {number + 1}", took)
            state, first = self._on_engine(state), max_rounds if is_last else number + 1
        for number in range(first, max_rounds):
            if number:
                self.progress.expect(name, 0.0)
            state, is_last = self._round(name, number, lambda s=state, i=number: step(s, i))  # type: ignore[misc]
            if is_last:
                break
        return state

    def _round(self, name: str, number: int, work: Callable[[], tuple[Value, bool]]) -> tuple[Value, bool]:
        """Run a round of a loop: the stages inside it have checkpoints of their own until it ends."""
        outer, here = self._scope, ".".join((*self._scope, f"{name}.{number}"))
        inside = sum(self.progress.seconds.values())
        began = time.perf_counter()
        self._scope = (*outer, f"{name}.{number}")
        try:
            state, is_last = work()
        finally:
            self._scope = outer
        inside = sum(self.progress.seconds.values()) - inside
        took = time.perf_counter() - began
        self.progress.done(name, f"round {number + 1}", max(took - inside, 0.0))
        if self.checkpoints is not None:
            before = ".".join((*outer, f"{name}.{number - 1}"))
            kept = map_handles(state, self.engine.fetch), is_last
            self.checkpoints.stage(here).keep(kept, took, [before], inside=here)
        return state, is_last

    def _run(self, name: str, detail: str, work: Callable[[], Value]) -> Value:
        checkpoint = None
        if self.checkpoints is not None and self._is_kept(name):
            checkpoint = self.checkpoints.stage(".".join((*self._scope, name)))
            if checkpoint.is_behind:
                value, took = checkpoint.restore()
                self.progress.skip(name, detail, took)
                return self._on_engine(value)
        with self.progress.stage(name, detail):
            began = time.perf_counter()
            value = work()
            took = time.perf_counter() - began
        if checkpoint is not None:
            began = time.perf_counter()
            checkpoint.keep(map_handles(value, self.engine.fetch), took, self._no_longer_needed(name))
            self.progress.count("checkpoints", time.perf_counter() - began)
        return value

    def _is_kept(self, name: str) -> bool:
        """Say whether the result of a stage goes into a checkpoint: the first stage is always run again."""
        return not self.plan or name != self.plan[0].name

    def _no_longer_needed(self, name: str) -> list[str]:
        """Return the stages whose results are not needed any more.

        Those are the ones that no later stage takes; the last stage names what the fitted model keeps.
        """
        names = [stage.name for stage in self.plan]
        if name not in names or self._scope:
            return []
        last = names.index(name)
        later = self.plan[min(last + 1, len(names) - 1) :]
        needed = {one for stage in later for one in stage.needs}
        return [one for one in names[1:last] if one not in needed]

    def _on_engine(self, value: Any) -> Any:
        return map_handles(value, self.engine.adopt)
