"""Rows of tables: names for people, order, and cells that may be empty."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .definitions import Paper

Row = dict[str, Any]


def set_title(paper: Paper, name: str) -> str:
    """Return the name of a data set as people know it."""
    return paper.sets[name].title if name in paper.sets else name


def system_title(paper: Paper, name: str) -> str:
    """Return the name of a system as people know it."""
    return paper.systems[name].title if name in paper.systems else name


def in_order(rows: Sequence[Row], column: str) -> list[Any]:
    """Return what is in a column, each once, in order of appearance."""
    return list(dict.fromkeys(row[column] for row in rows))


def known(rows: Sequence[Row], column: str) -> list[Row]:
    """Return the rows that have a number in a column: a system may fail on a set."""
    return [row for row in rows if isinstance(row.get(column), int | float) and math.isfinite(row[column])]


def seen_views(row: Row) -> list[tuple[float, float]]:
    """Return inconsistent share and scale of the views that were kept; one left out has no share."""
    pairs = zip(row.get("inconsistent") or [], row.get("scales") or [], strict=False)
    return [(share, scale) for share, scale in pairs if share is not None and math.isfinite(share)]
