"""What the constants of the defaults are worth on data that they were not chosen on.

`python -m benchmarks.quality.rules [--data FOLDER] [--out FILE] [--rule NAME]`: for every rule with a
constant, the mean NMI over the data sets with each value that it might have; then, leaving out one set at a
time, the value that is best on the others, and its score on the one left out. The mean of these ("left out")
is what tuning the constant is worth on new data. The best mean on all sets is higher, for it has seen them.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .contenders import FUSIONS
from .data import add_common_options, find_sets, folder_given, pick
from .held_out import HeldOut, Table, by_setting, leave_one_out
from .results import Results, ordered, report_rest, run
from .rule_fits import SHIPPED, Piece, do
from .rule_settings import RULES
from .study import look_at
from .tables import table

TOGETHER = "all conditions"
HEADER = ["condition", "", SHIPPED, "best on all", "its mean", "worst mean", "left out", "chosen then"]
_MOST = 30  # rows of a table of all settings


def rule_report(name: str, cells: Sequence[Mapping[str, Any]]) -> str:
    """Return the tables of one rule, from the cells of all data sets and conditions."""
    conditions = ordered([cell["condition"] for cell in cells], RULES[name].conditions)
    counts = Counter(cell["set"] for cell in cells)
    complete = [data for data, count in counts.items() if count == len(conditions)]
    title = f"## {name}: mean NMI on {len(complete)} sets"
    if len(complete) < 2:
        return f"{title}\n\nIt takes two sets, measured in the same conditions."
    cells = [cell for cell in cells if cell["set"] in complete]
    rows: list[list[str]] = []
    columns: dict[str, dict[str, float]] = {}
    notes: dict[str, str] = {}
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
    first = "–" if shipped is None else f"{np.mean(list(shipped.values())):.2f}"
    return [first, *_cells(leave_one_out(others))] if others else [first, *["–"] * 5]


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
    arguments = _parser().parse_args(given)
    rules = pick(RULES, arguments.rule, "rule")
    results = Results(arguments.tables or arguments.out)
    if arguments.tables is None:
        sets = look_at(find_sets(folder_given(arguments.data), arguments.sets))
        pieces = [
            Piece(name, data.path, condition, arguments.seeds)
            for name, rule in rules.items()
            for condition in rule.conditions
            for data in sets
        ]
        missing = [piece for piece in pieces if not results.has(piece.key)]
        n_left = run(missing, do, results, n_jobs=arguments.jobs, max_seconds=arguments.max_seconds)
        report_rest(n_left, arguments.out)
    print(report(results, rules))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.rules", description=__doc__)
    add_common_options(parser)
    add = parser.add_argument
    add("--rule", default="", help=f"some of: {', '.join(RULES)}")
    add("--seeds", type=int, default=5, help="default: 5")
    return parser


if __name__ == "__main__":
    main()
