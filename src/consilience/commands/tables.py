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
    """Write a line to standard output; what its encoding does not have becomes a question mark."""
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "replace").decode(encoding) + "\n")


def show_table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Show a table: the first column to the left, the others to the right; numbers with three digits."""
    cells, widths = _laid_out(header, rows)
    for row in cells:
        parts = [
            text.ljust(width) if i == 0 else text.rjust(width)
            for i, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        line = "  ".join(parts).rstrip()
        show(bold(line) if row is cells[0] else line)


def table_width(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> int:
    """Return how many columns of the terminal a table takes."""
    widths = _laid_out(header, rows)[1]
    return sum(widths) + 2 * (len(widths) - 1)


def _laid_out(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> tuple[list[list[str]], list[int]]:
    """Return all cells as text, the header's first, and the width of each column."""
    cells = [list(header), *([f"{x:.3f}" if isinstance(x, float) else str(x) for x in row] for row in rows)]
    return cells, [max(map(len, column)) for column in zip(*cells, strict=True)]
