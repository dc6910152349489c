"""What the constants of the defaults are worth on data that they were not chosen on.

`python -m benchmarks.quality.rules [--data FOLDER] [--out FILE] [--rule NAME]`: for every rule with a
constant, the mean NMI over the tuning sets with each value that it might have; then, leaving out one set at a
time, the value that is best on the others, and its score on the one left out. The mean of these ("left out")
is what tuning the constant is worth on new data. The best mean on all sets is higher, for it has seen them.
Sets of one family count as one set.

Constants are chosen here, so the validation sets are never read.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .data import TUNING, add_common_options, chosen_sets, family_of, pick
from .held_out import HeldOut, Table, by_setting, leave_one_out
from .results import Results, ordered, resume
from .rule_fits import FUSIONS, SHIPPED, Piece, do
from .rule_settings import RULES
from .tables import NONE, table

TOGETHER = "all conditions"
HEADER = ["condition", "", SHIPPED, "best on all", "its mean", "worst mean", "left out", "chosen then"]
_MOST = 30  # rows of a table of all settings


def rule_report(name: str, cells: Sequence[Mapping[str, Any]]) -> str:
    """Return the tables of one rule, from the cells of all data sets and conditions."""
    notes = {
        f"{cell['set']}, {cell['condition']}": f"Not measured: {cell['set']}, {cell['condition']}: "
        f"{cell['reason']}"
        for cell in cells
        if cell.get("reason")
    }
    cells = [cell for cell in cells if not cell.get("reason")]
    conditions = ordered([cell["condition"] for cell in cells], RULES[name].conditions)
    counts = Counter(cell["set"] for cell in cells)
    complete = [data for data, count in counts.items() if count == len(conditions)]
    families = {family_of(data) for data in complete}
    title = f"## {name}: mean NMI on {len(families)} families of {len(complete)} tuning sets"
    if len(families) < 2:
        return "\n\n".join([title, "It takes two families, measured in all conditions.", *notes.values()])
    cells = [cell for cell in cells if cell["set"] in complete]
    rows: list[list[str]] = []
    columns: dict[str, dict[str, float]] = {}
    for condition in [*conditions, TOGETHER] if len(conditions) > 1 else conditions:
        chosen = [cell for cell in cells if condition in (TOGETHER, cell["condition"])]
        for fusion in FUSIONS:
            scores, failed = by_setting(chosen, fusion)
            notes |= {label: f"{label} is left out; {reason}" for label, reason in failed.items()}
            columns[f"{fusion}, {condition}"] = {
                label: float(np.mean(list(one.values()))) for label, one in scores.items()
            }
            rows.append([condition, fusion, *_row(scores)])
    return "\n\n".join([title, table(HEADER, rows), means_table(columns), *notes.values()])


def _row(scores: Table) -> list[str]:
    shipped = scores.get(SHIPPED)
    others = {label: one for label, one in scores.items() if label != SHIPPED}
    first = NONE if shipped is None else f"{np.mean(list(shipped.values())):.2f}"
    return [first, *_cells(leave_one_out(others))] if others else [first, *[NONE] * 5]


def _cells(found: HeldOut) -> list[str]:
    chosen = Counter(map(_first_of, found.chosen.values())).most_common()
    return [
        _first_of(found.best),
        f"{max(found.means.values()):.2f}",
        f"{min(found.means.values()):.2f}",
        f"{found.honest:.2f}",
        "; ".join(f"{label} ({times})" for label, times in chosen),
    ]


def _first_of(labels: Sequence[str]) -> str:
    return labels[0] if len(labels) == 1 else f"{labels[0]} or {len(labels) - 1} equal"


def means_table(columns: Mapping[str, Mapping[str, float]]) -> str:
    """Return the means of all settings, those equal to two digits in one row; of very many rows the best."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for label in dict.fromkeys(label for column in columns.values() for label in column):
        if all(label in column for column in columns.values()):
            groups.setdefault(tuple(f"{one[label]:.2f}" for one in columns.values()), []).append(label)
    rows = [[_first_of(labels), *values] for values, labels in groups.items()]
    if len(rows) > _MOST:
        rows = sorted(rows, key=lambda row: -sum(map(float, row[1:])))[:_MOST]
    return table(["setting", *columns], rows)


def report(results: Results, names: Iterable[str]) -> str:
    """Return the tables of the rules."""
    latest = {(c["rule"], c["set"], c["condition"]): c for c in results.cells.values()}
    found = {name: [cell for (rule, *_), cell in latest.items() if rule == name] for name in names}
    facts = ", ".join(f"{name} {value}" for name, value in results.facts.items())
    return "\n\n".join([facts, *(rule_report(name, cells) for name, cells in found.items() if cells)])


def main(given: list[str] | None = None) -> None:
    """Do what is missing, and print the tables."""
    arguments = _parser().parse_args(given)
    rules = pick(RULES, arguments.rule, "rule")

    def pieces() -> list[Piece]:
        sets = chosen_sets(arguments, TUNING)
        return [
            Piece(name, data, condition, arguments.seeds)
            for name, rule in rules.items()
            for condition in rule.conditions
            for data in sets
        ]

    print(report(resume(arguments, pieces, do), rules))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.rules", description=__doc__)
    add_common_options(parser, parts=False)
    add = parser.add_argument
    add("--rule", default="", help=f"some of: {', '.join(RULES)}")
    add("--seeds", type=int, default=5, help="default: 5")
    return parser


if __name__ == "__main__":
    main()
