"""Saying what is going on: a bar on the terminal, log lines, the time each stage took and the time left."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from .. import ticks

if TYPE_CHECKING:
    from .checkpoints import Checkpoints

logger = logging.getLogger("consilience")

Value = TypeVar("Value")


class Progress:
    """Runs and times the stages of a fit, logs them, and draws a bar on standard error if asked to.

    Parameters
    ----------
    n_stages : int
        How many stages there will be.
    visible : bool
        Whether to draw the bar.
    expected : sequence of (str, float), default=()
        Name and cost of the stages to come, in any unit: how much of the work each will be.
    checkpoints : Checkpoints, default=None
        Who keeps what stages have found, and has it from a fit that was killed; None: nobody.

    Attributes
    ----------
    seconds : dict of str to float
        Wall-clock time per stage, added up over stages of the same name.
    """

    WIDTH = 24
    REDRAW = 0.2  # seconds between two looks of the bar within a stage
    TRIAL = 0.02  # the share of the work after which the time left is told,
    TRIAL_SECONDS = 1.0  # and the time

    def __init__(
        self,
        n_stages: int,
        visible: bool,
        expected: Sequence[tuple[str, float]] = (),
        checkpoints: Checkpoints | None = None,
    ) -> None:
        self.n_stages, self.visible, self.checkpoints = n_stages, visible, checkpoints
        self.n_done = 0
        self.seconds: dict[str, float] = {}
        self._forecast = _Forecast(expected)
        self._drawn = -float("inf")

    def run(
        self, name: str, work: Callable[[], Value], detail: str = "", *, done_with: Sequence[str] = ()
    ) -> Value:
        """Run one stage and return what it returns, or what it returned before the fit was killed.

        Parameters
        ----------
        name : str
            Its name.
        work : callable
            What it does. It may set attributes of the model, but not change what they hold, and draw from the
            random state; all that later stages need beside is what it returns.
        detail : str, default=""
            What it is about, for people.
        done_with : sequence of str, default=()
            Stages whose results no later stage needs. In a fit that is resumed after this one they return
            None.
        """
        checkpoint = None if self.checkpoints is None else self.checkpoints.stage(name)
        if checkpoint is not None and checkpoint.is_behind:
            value, took = checkpoint.restore()
            self._skip(name, detail, took)
            return value
        with self.stage(name, detail):
            value = work()
        if checkpoint is not None:
            began = time.perf_counter()
            checkpoint.keep(value, self._took, done_with)
            self._count("checkpoints", time.perf_counter() - began)
        return value

    @contextmanager
    def stage(self, name: str, detail: str = "") -> Iterator[None]:
        """Run one stage inside the block."""
        text = f"{name} {detail}".strip()
        self._forecast.begin(name)
        self._draw(text, 0.0)
        watched = self.visible and sys.stderr.isatty()
        began = time.perf_counter()
        with ticks.listening((lambda share: self._tick(text, share)) if watched else None):
            yield
        self._took = time.perf_counter() - began
        self._forecast.end(self._took)
        self._count(name, self._took)
        logger.info("%s %s: %.3f s", name, detail, self._took)
        self._step()

    def _skip(self, name: str, detail: str, took: float) -> None:
        """Go past a stage that was run before the fit was killed."""
        self._forecast.skip(name)
        self._count(name, took)
        logger.info("%s %s: from a checkpoint (%.3f s)", name, detail, took)
        self._step()

    def _count(self, name: str, took: float) -> None:
        self.seconds[name] = self.seconds.get(name, 0.0) + took

    def _step(self) -> None:
        self.n_done += 1
        if self.n_done == self.n_stages:
            self._draw(f"done in {sum(self.seconds.values()):.1f} s", 0.0)
            self._end()

    def _tick(self, text: str, share: float) -> None:
        """Show how far the present stage is, unless that was just done."""
        if time.perf_counter() - self._drawn >= self.REDRAW:
            self._draw(f"{text} {share:.0%}", share)

    def _draw(self, text: str, share: float) -> None:
        if not self.visible:
            return
        self._drawn = time.perf_counter()
        behind, left = self._forecast.outlook(share)
        if behind is None or self.n_done == self.n_stages:
            behind = self.n_done / self.n_stages
        filled = int(self.WIDTH * min(behind, 1.0))
        line = f"[{'#' * filled}{'.' * (self.WIDTH - filled)}] {text}"
        if left is not None and self.n_done < self.n_stages:
            line += f", about {clock(left)} left"
        if sys.stderr.isatty():
            sys.stderr.write(f"\r{line:<78.78}")
        else:
            sys.stderr.write(line + "\n")
        sys.stderr.flush()

    def _end(self) -> None:
        if self.visible and sys.stderr.isatty():
            sys.stderr.write("\n")


class _Forecast:
    """How much of the work is done, and how long the rest will take at the pace so far."""

    def __init__(self, expected: Sequence[tuple[str, float]]) -> None:
        self._ahead = list(expected)
        self._total = sum(cost for _, cost in expected)
        self._present: float = 0.0  # cost of the stage at work
        self._behind = 0.0  # cost of the stages that are done, or need not be,
        self._run = 0.0  # of those that were run now,
        self._seconds = 0.0  # and the time that these took
        self._began: float | None = None

    def begin(self, name: str) -> None:
        self._present, self._began = self._take(name), time.perf_counter()

    def end(self, seconds: float) -> None:
        self._behind, self._run = self._behind + self._present, self._run + self._present
        self._seconds += seconds
        self._present, self._began = 0.0, None

    def skip(self, name: str) -> None:
        self._behind += self._take(name)

    def _take(self, name: str) -> float:
        """Return what the next stage of a name was expected to cost; 0 if none was expected."""
        for i, (expected, cost) in enumerate(self._ahead):
            if expected == name:
                del self._ahead[i]
                return cost
        return 0.0

    def outlook(self, share: float) -> tuple[float | None, float | None]:
        """Return the share of the work that is done, and the seconds left, as far as they can be told."""
        if not self._total:
            return None, None
        within = share * self._present
        behind = (self._behind + within) / self._total
        run = self._run + within
        seconds = self._seconds
        if within and self._began is not None:
            seconds += time.perf_counter() - self._began
        if seconds < Progress.TRIAL_SECONDS or run < Progress.TRIAL * self._total:
            return behind, None
        return behind, seconds / run * max(self._total - self._behind - within, 0.0)


def clock(seconds: float) -> str:
    """Return a time as people read it off a clock.

    Examples
    --------
    >>> clock(42.7), clock(3725)
    ('0:42', '1:02:05')
    """
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
