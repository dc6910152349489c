"""Tables on the terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any


def bold(text: str) -> str:
    """Return the text in bold, if standard output is a terminal that wants it."""
    return f"\033[1m{text}\033[0m" if sys.stdout.isatty() and "NO_COLOR" not in os.environ else text


def show(text: str = "") -> None:
    """Write a line to standard output."""
    sys.stdout.write(text + "\n")


def show_table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Show a table: the first column to the left, the others to the right; numbers with three digits."""
    cells = [[f"{x:.3f}" if isinstance(x, float) else str(x) for x in row] for row in rows]
    widths = [max(len(row[i]) for row in [list(header), *cells]) for i in range(len(header))]
    for row in [list(header), *cells]:
        parts = [
            text.ljust(width) if i == 0 else text.rjust(width)
            for i, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        line = "  ".join(parts).rstrip()
        show(bold(line) if row == list(header) else line)
