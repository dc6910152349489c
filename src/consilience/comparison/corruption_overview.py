"""What corruptions cost each system, and how far the oracle is: tables and a figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..words import counted
from .figures.dot_diagrams import Condition, headroom
from .figures.picture import Panel
from .fitting import CLEAN
from .formats import Cell, Table
from .overview import reference_of
from .result import Comparison
from .statistics.score_table import ScoreTable

MOST_SETS = 0.8  # share of the sets that a system must have run on to be compared on common ones
VIEWS_APART = {"two views": (1, 2), "three views or more": (3, 10**9)}  # where some sets have two


def corruption_table(
    comparison: Comparison,
    systems: Sequence[str],
    part: str | None = None,
    score: str = "NMI",
    *,
    n_views: tuple[int, int] | None = None,
) -> Table:
    """Return a row for each condition: the mean of each system, and of the same with the oracle's data.

    Means are over the sets that all of the systems ran on, in the condition and for the oracle, where the
    oracle is defined for all. `n_views`: only sets with at least and at most so many views. Of two views that
    disagree nobody can know which is wrong, so sets of two are worth looking at apart.
    """
    header = ["condition", "sets", *(f"{name}{of}" for name in systems for of in ("", ", oracle"))]
    rows = []
    for condition in comparison.conditions:
        spoiled, oracle = condition_scores(comparison, condition, systems, part, score, n_views)
        row: list[Cell | str | int | float | None] = [condition, len(spoiled.sets)]
        for name in systems:
            row.append(_mean(spoiled, name))
            row.append(None if condition == CLEAN else _mean(oracle, name))
        rows.append(row)
    n = len(comparison.corrupted_seeds)
    return Table(header, rows, f"Mean {score} in percent; {counted(n, 'draw')} of each corruption")


def corruption_tables(
    comparison: Comparison, systems: Sequence[str], part: str | None = None, score: str = "NMI"
) -> dict[str, Table]:
    """Return the table of all sets (""), and of sets with two views and with more, if there are both."""
    found = {"": corruption_table(comparison, systems, part, score)}
    apart = {
        name: corruption_table(comparison, systems, part, score, n_views=n_views)
        for name, n_views in VIEWS_APART.items()
    }
    if all(table.cells[0][1].value for table in apart.values()):
        found |= {name: replace(one, caption=f"{one.caption}; {name}") for name, one in apart.items()}
    return found


def condition_scores(
    comparison: Comparison,
    condition: str,
    systems: Sequence[str],
    part: str | None,
    score: str,
    n_views: tuple[int, int] | None = None,
) -> tuple[ScoreTable, ScoreTable]:
    """Return scores in a condition and for the oracle, on the sets that all systems ran on in both."""
    which: dict[str, Any] = {"part": part, "systems": systems, "n_views": n_views}
    spoiled = comparison.score_table(score, condition, **which)
    if condition == CLEAN:  # the seeds that corrupted data have, too
        first = [comparison.seeds.index(seed) for seed in comparison.corrupted_seeds]
        spoiled = replace(spoiled, by_seed=spoiled.by_seed[:, :, first])
    oracle = spoiled
    if condition != CLEAN:
        oracle = comparison.score_table(score, condition, oracle=True, **which)
    there, known = ~np.isnan(spoiled.means), ~np.isnan(oracle.means)
    # A system that did not run on most sets has no mean here, and takes no set away from the others.
    for ran in (there, known):
        ran |= ran.sum(axis=0) < MOST_SETS * ran.any(axis=1).sum()
    rows = np.flatnonzero((there & known).all(axis=1)).tolist()
    columns = list(range(len(systems)))
    return spoiled.part(rows, columns), oracle.part(rows, columns)


def _mean(table: ScoreTable, system: str) -> float | None:
    values = table.column(system)
    return None if not len(values) or np.isnan(values).any() else float(values.mean())


def corruption_figure(
    comparison: Comparison,
    systems: Sequence[str],
    part: str | None = None,
    *,
    reference: str | None = None,
    score: str = "NMI",
) -> Panel | None:
    """Return the picture of what corruptions cost, and how far the oracle is; None if there are none.

    The oracle is the reference, given the data of one who knows what was spoiled.
    """
    base = reference_of(comparison, reference)
    ordered = [*(name for name in systems if name == base), *(name for name in systems if name != base)]
    rows = []
    for condition in comparison.conditions:
        spoiled, oracle = condition_scores(comparison, condition, systems, part, score)
        if spoiled.sets:
            values = {name: _mean(spoiled, name) for name in systems}
            best = _mean(oracle, base) if base in systems and condition != CLEAN else None
            rows.append(Condition(condition, values, best))
    if len(rows) < 2:
        return None
    return headroom(rows, ordered, subtitle=f"mean {score}", oracle=f"{base}, oracle")
