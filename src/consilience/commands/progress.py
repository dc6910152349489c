"""A bar on standard error that says how far a command is."""

from __future__ import annotations

import sys


class Bar:
    """A progress bar, rewritten in place; nothing at all unless standard error is a terminal.

    Parameters
    ----------
    visible : bool
        Whether to draw it if there is a terminal.
    """

    WIDTH = 24

    def __init__(self, visible: bool) -> None:
        self.visible = visible and sys.stderr.isatty()

    def draw(self, share: float, text: str) -> None:
        """Show the share of the work that is done, and what is going on."""
        if self.visible:
            filled = int(self.WIDTH * share)
            line = f"[{'#' * filled}{'.' * (self.WIDTH - filled)}] {text}"
            sys.stderr.write(f"\r{line:<78.78}")
            sys.stderr.flush()

    def end(self) -> None:
        """Take the bar away."""
        if self.visible:
            sys.stderr.write("\r" + " " * 78 + "\r")
            sys.stderr.flush()
