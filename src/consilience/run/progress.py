"""Progress: a bar on the terminal, log lines, the time each stage took and the time left.

Long work calls ``tick(done, total)`` as often as it likes; code that shows progress listens to it. Without a
listener the call only reads a variable.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

logger = logging.getLogger("consilience")


class Bar:
    """A progress bar on standard error, rewritten in place on a terminal.

    Parameters
    ----------
    visible : bool
        Whether to draw it.
    lines : bool, default=False
        Whether to write a line each time where there is no terminal; otherwise nothing is written there.
    """

    WIDTH = 24

    def __init__(self, visible: bool, *, lines: bool = False) -> None:
        self._in_place = visible and sys.stderr.isatty()
        self._in_lines = visible and lines and not self._in_place

    @property
    def in_place(self) -> bool:
        """Whether it is on a terminal, where it may be drawn often."""
        return self._in_place

    def draw(self, share: float, text: str) -> None:
        """Show the share of the work that is done, and what is going on."""
        if not (self._in_place or self._in_lines):
            return
        filled = int(self.WIDTH * min(max(share, 0.0), 1.0))
        line = f"[{'#' * filled}{'.' * (self.WIDTH - filled)}] {text}"
        sys.stderr.write(f"\r{line:<78.78}" if self._in_place else line + "\n")
        sys.stderr.flush()

    def end(self) -> None:
        """Keep the bar as it is, and go to the next line."""
        if self._in_place:
            sys.stderr.write("\n")

    def erase(self) -> None:
        """Remove the bar."""
        if self._in_place:
            sys.stderr.write("\r" + " " * 78 + "\r")
            sys.stderr.flush()


@dataclass(frozen=True)
class PlannedStage:
    """A stage that a fit will have.

    Attributes
    ----------
    name : str
        Its name.
    seconds : tuple of float
        What each of its parts costs, in any unit; 0 if that is not known.
    needs : tuple of str
        The stages whose results it takes.
    """

    name: str
    seconds: tuple[float, ...] = (0.0,)
    needs: tuple[str, ...] = ()


class Progress:
    """Times the stages of a fit, logs them, and draws a bar if asked to.

    Parameters
    ----------
    plan : sequence of PlannedStage
        The stages to come.
    visible : bool
        Whether to draw the bar.

    Attributes
    ----------
    seconds : dict of str to float
        Wall-clock time per stage, added up over its parts.
    """

    REDRAW = 0.2  # seconds between two updates of the bar within a stage

    def __init__(self, plan: Sequence[PlannedStage], visible: bool) -> None:
        self.seconds: dict[str, float] = {}
        self.n_parts = sum(len(stage.seconds) for stage in plan)
        self._n_done = 0
        self._bar = Bar(visible, lines=True)
        self._forecast = _Forecast([(stage.name, part) for stage in plan for part in stage.seconds])
        self._drawn = -float("inf")

    def expect(self, name: str, seconds: float) -> None:
        """Add one part more than planned: rounds of a loop are not known before."""
        self.n_parts += 1
        self._forecast.add(name, seconds)

    @contextmanager
    def stage(self, name: str, detail: str = "") -> Iterator[None]:
        """Run a stage, or a part of one, inside the block."""
        text = f"{name} {detail}".strip()
        self._forecast.begin(name)
        self._draw(text, 0.0)
        began = time.perf_counter()
        watching = (lambda share: self._watch(text, share)) if self._bar.in_place else None
        with listening(watching):
            yield
        took = time.perf_counter() - began
        self._forecast.end(took)
        self.count(name, took)
        logger.info("%s %s: %.3f s", name, detail, took)
        self._step()

    def skip(self, name: str, detail: str, took: float) -> None:
        """Skip a stage that ran before the fit was killed."""
        self._forecast.skip(name)
        self.count(name, took)
        logger.info("%s %s: from a checkpoint (%.3f s)", name, detail, took)
        self._step()

    def done(self, name: str, detail: str, took: float) -> None:
        """Count a round of a loop, which took this time in addition to the stages inside it."""
        self._forecast.skip(name)
        self.count(name, took)
        logger.info("%s %s: %.3f s", name, detail, took)
        self._step()

    def count(self, name: str, took: float) -> None:
        """Add to the time of a stage."""
        self.seconds[name] = self.seconds.get(name, 0.0) + took

    def _step(self) -> None:
        self._n_done += 1
        if self._n_done == self.n_parts:
            self._bar.draw(1.0, f"done in {sum(self.seconds.values()):.1f} s")
            self._bar.end()

    def _watch(self, text: str, share: float) -> None:
        """Show how far the present stage is, unless that was done a moment ago."""
        if time.perf_counter() - self._drawn >= self.REDRAW:
            self._draw(f"{text} {share:.0%}", share)

    def _draw(self, text: str, share: float) -> None:
        self._drawn = time.perf_counter()
        behind, left = self._forecast.outlook(share)
        if behind is None:
            behind = self._n_done / max(self.n_parts, 1)
        self._bar.draw(behind, text if left is None else f"{text}, about {clock(left)} left")


class _Forecast:
    """How much of the work is done, and how long the rest will take at the same speed."""

    TRIAL = 0.02  # the share of the work after which the time left is shown,
    TRIAL_SECONDS = 1.0  # and the time

    def __init__(self, expected: Sequence[tuple[str, float]]) -> None:
        self._ahead = list(expected)
        self._total = sum(cost for _, cost in expected)
        self._present: float = 0.0  # cost of the present stage
        self._behind = 0.0  # cost of the stages that are done, or need not run again,
        self._run = 0.0  # of those that were run now,
        self._seconds = 0.0  # and the time that these took
        self._began: float | None = None

    def add(self, name: str, cost: float) -> None:
        self._ahead.append((name, cost))
        self._total += cost

    def begin(self, name: str) -> None:
        self._present, self._began = self._take(name), time.perf_counter()

    def end(self, seconds: float) -> None:
        self._behind, self._run = self._behind + self._present, self._run + self._present
        self._seconds += seconds
        self._present, self._began = 0.0, None

    def skip(self, name: str) -> None:
        self._behind += self._take(name)

    def _take(self, name: str) -> float:
        """Return the expected cost of the next stage of a name; 0 if no such stage was expected."""
        for i, (expected, cost) in enumerate(self._ahead):
            if expected == name:
                del self._ahead[i]
                return cost
        return 0.0

    def outlook(self, share: float) -> tuple[float | None, float | None]:
        """Return the share of the work that is done, and the seconds left, as far as they are known."""
        if not self._total:
            return None, None
        within = share * self._present
        behind = (self._behind + within) / self._total
        run = self._run + within
        seconds = self._seconds
        if within and self._began is not None:
            seconds += time.perf_counter() - self._began
        if seconds < self.TRIAL_SECONDS or run < self.TRIAL * self._total:
            return behind, None
        return behind, seconds / run * max(self._total - self._behind - within, 0.0)


def clock(seconds: float) -> str:
    """Return a time as a clock shows it.

    Examples
    --------
    >>> clock(42.7), clock(3725)
    ('0:42', '1:02:05')
    """
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


Listener = Callable[[float], None]

_listener: ContextVar[Listener | None] = ContextVar("consilience_events", default=None)


def tick(done: float, total: float) -> None:
    """Report how much of the present stage, or of the part of it that `part` names, is done.

    Call it from the thread that runs the stage; from other threads it has no effect.

    Examples
    --------
    >>> with listening(print):
    ...     tick(1, 2)
    0.5
    """
    listener = _listener.get()
    if listener is not None and total > 0:
        listener(min(max(done / total, 0.0), 1.0))


@contextmanager
def part(start: float, stop: float) -> Iterator[None]:
    """Let events inside the block run from one share of the stage to another.

    Examples
    --------
    >>> with listening(print):
    ...     with part(0.25, 0.75):
    ...         tick(1, 2)
    0.5
    """
    outer = _listener.get()
    if outer is None:
        yield
        return
    with listening(lambda share: outer(start + (stop - start) * share)):
        yield


@contextmanager
def listening(listener: Listener | None) -> Iterator[None]:
    """Give the shares reported inside the block to a function; None: to no function."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)
