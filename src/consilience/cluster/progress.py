"""Saying what is going on: a bar on the terminal, log lines, and the time each stage took."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

logger = logging.getLogger("consilience")


class Progress:
    """Times the stages of a fit, logs them, and draws a bar on standard error if asked to.

    Parameters
    ----------
    n_stages : int
        How many stages there will be.
    visible : bool
        Whether to draw the bar.

    Attributes
    ----------
    seconds : dict of str to float
        Wall-clock time per stage, added up over stages of the same name.
    """

    WIDTH = 24

    def __init__(self, n_stages: int, visible: bool) -> None:
        self.n_stages, self.visible = n_stages, visible
        self.n_done = 0
        self.seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str, detail: str = "") -> Iterator[None]:
        """Run one stage inside the block."""
        self._draw(f"{name} {detail}".strip())
        began = time.perf_counter()
        yield
        took = time.perf_counter() - began
        self.seconds[name] = self.seconds.get(name, 0.0) + took
        self.n_done += 1
        logger.info("%s %s: %.3f s", name, detail, took)
        if self.n_done == self.n_stages:
            self._draw(f"done in {sum(self.seconds.values()):.1f} s")
            self._end()

    def _draw(self, text: str) -> None:
        if not self.visible:
            return
        filled = self.WIDTH * self.n_done // self.n_stages
        line = f"[{'#' * filled}{'.' * (self.WIDTH - filled)}] {text}"
        if sys.stderr.isatty():
            sys.stderr.write(f"\r{line:<78.78}")
        else:
            sys.stderr.write(line + "\n")
        sys.stderr.flush()

    def _end(self) -> None:
        if self.visible and sys.stderr.isatty():
            sys.stderr.write("\n")
