"""Verdicts on claims, and what every judgement of them needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .definitions import Paper
from .rows import Row, set_title, system_title

Tables = Mapping[str, Sequence[Row]]
Judgement = tuple[str, str]  # verdict, and the sentences that support it

HOLDS, IN_PART, FAILS, UNKNOWN = "holds", "holds in part", "does not hold", "nobody can say"
VERDICTS = (HOLDS, IN_PART, FAILS, UNKNOWN)

# A claim about "most" or "some" sets needs a few of them: of one or two, "most" says nothing.
FEWEST_SETS = 3


def own_systems(paper: Paper) -> list[str]:
    """Return the paper's own systems, SGF and DGF: those that replace a version of 2019."""
    return [name for name, system in paper.systems.items() if system.revises]


def single_view(paper: Paper) -> list[str]:
    """Return the systems that cluster one view alone."""
    return [name for name, system in paper.systems.items() if system.rule == "best_view"]


def cells(rows: Iterable[Row], value: str) -> dict[str, dict[str, float]]:
    """Return a table as set -> system -> value, without the cells that have none."""
    found: dict[str, dict[str, float]] = {}
    for row in rows:
        if row.get(value) is not None:
            found.setdefault(row["set"], {})[row["system"]] = row[value]
    return found


def unless_few_sets(n_sets: int, judged: Judgement) -> Judgement:
    """Return a judgement, but without a verdict on "most sets" if there are hardly any."""
    if n_sets >= FEWEST_SETS:
        return judged
    return UNKNOWN, f"{judged[1]} So few sets allow no verdict."


def on(paper: Paper, system: str, data: str) -> str:
    """Return which system on which set."""
    return f"{system_title(paper, system)} on {set_title(paper, data)}"


def untuned_rows(tables: Tables, paper: Paper) -> list[Row]:
    """Return the rows without tuning that have a result, with as many neighbours as in the paper."""
    k = paper.experiments.arguments["n_neighbors"]
    return [row for row in tables["no-tuning"] if row["n_neighbors"] == k and row.get("NMI") is not None]


def nothing(needed: str) -> Judgement:
    """Return that rows were found, but none with what is needed."""
    return UNKNOWN, f"There is no set with results of {needed}."
