"""Tables of the studies, in Markdown, tuning and validation sets apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from consilience.comparison.formats import Cell, Table

from .data import TUNING, VALIDATION

NONE = "–"
Row = Sequence[Cell | str]
Kept = Mapping[str, Any]  # a result of a study, with its set and part


def table(header: Sequence[str], rows: Sequence[Row]) -> str:
    r"""Return a Markdown table, the first column to the left, all others to the right.

    Examples
    --------
    >>> print(table(["set", "NMI"], [["my_set", "93.1"], bold(["mean", "93.1"])]))
    | set | NMI |
    | :--- | ---: |
    | my\_set | 93.1 |
    | **mean** | **93.1** |
    """
    return Table(header, rows, align=["l", *"r" * (len(header) - 1)]).markdown().rstrip()


def bold(texts: Iterable[str]) -> list[Cell]:
    """Return the cells of a row that stands out: the mean of those before it."""
    return [Cell(text, best=True) for text in texts]


def by_part(cells: Iterable[Kept]) -> dict[str, list[Kept]]:
    """Return results by the part of their set, tuning first, in the order of the names of the sets."""
    ranked = sorted(cells, key=lambda cell: str(cell["set"]).casefold())
    found = {part: [cell for cell in ranked if cell["part"] == part] for part in (TUNING, VALIDATION)}
    return {part: chosen for part, chosen in found.items() if chosen}


def rows_by_part(
    cells: Iterable[Kept],
    row: Callable[[Kept], Row],
    means: Callable[[list[Kept]], Iterable[str]],
    title: str = "mean of {n} {part} sets",
) -> list[Row]:
    """Return a row for each result, and after those of each part one of their means.

    Parameters
    ----------
    cells : iterable of dict
        Results, one for each data set.
    row : callable
        Returns the texts of the row of a result.
    means : callable
        Returns those of the row of means, but for its name.
    title : str, default="mean of {n} {part} sets"
        The name of that row.
    """
    rows: list[Row] = []
    for part, chosen in by_part(cells).items():
        rows += [row(cell) for cell in chosen]
        rows.append(bold([title.format(n=len(chosen), part=part), *means(chosen)]))
    return rows


def mean(values: Iterable[float | None]) -> float | None:
    """Return the mean of the numbers among the values; None if there are none."""
    numbers = [value for value in values if value is not None]
    return float(np.mean(numbers)) if numbers else None


def number(value: float | None, digits: int = 1, *, sign: bool = False) -> str:
    """Return a number with so many digits after the point, or a dash for None."""
    return NONE if value is None else f"{value:{'+' if sign else ''}.{digits}f}"
