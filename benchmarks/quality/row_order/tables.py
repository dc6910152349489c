"""The tables of the study, in Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..results import Cells
from .study import AVERAGE, METHODS, MISPLACED_SHARE, MISPLACED_STRENGTHS, NONE, SAME, SAMPLES

ABSENT = "–"


def report(cells: Cells, facts: dict[str, Any]) -> str:
    """Return all tables of what was measured."""
    parts = [
        ", ".join(f"{name} {value}" for name, value in facts.items()),
        order_table(of_kind(cells, "order")),
        strength_table(of_kind(cells, "strength")),
        misplaced_table(of_kind(cells, "misplaced")),
        partition_table(of_kind(cells, "partitions")),
    ]
    return "\n\n".join(part for part in parts if part)


def of_kind(cells: Cells, kind: str) -> list[dict[str, Any]]:
    """Return the results of one kind that hold figures, in the order measured."""
    figures = ("scores", "sorted", "shares")
    return [cell for cell in cells.values() if cell["kind"] == kind and any(name in cell for name in figures)]


def order_table(cells: list[dict[str, Any]]) -> str:
    """Sorted by class against shuffled, for every method."""
    if not cells:
        return ""
    header = ["set", "n", "views", "classes"]
    header += [f"{method}: {how}" for method in METHODS for how in ("sorted", "shuffled")]
    rows = []
    for cell in cells:
        row = [cell["set"], *(str(cell[name]) for name in ("n_samples", "n_views", "n_clusters"))]
        for method in METHODS:
            row += _pair(cell["scores"].get(method))
        rows.append(row)
    found = [score for cell in cells for score in cell["random_labels"]]
    note = (
        "Sorted by labels drawn at random, which is to shuffle: adjusted Rand index of the solver's clusters "
        f"with these labels from {min(found):.3f} to {max(found):.3f}."
    )
    title = "## NMI in percent, rows sorted by class and shuffled (mean ± standard deviation over orders)"
    return f"{title}\n\n{table(header, rows)}\n\n{note}"


def strength_table(cells: list[dict[str, Any]]) -> str:
    """Sorted / shuffled over the weight of the error."""
    if not cells:
        return ""
    rows = [
        [
            cell["set"],
            *(
                f"{100 * a:.1f} / {100 * b:.1f}"
                for a, b in zip(cell["sorted"], cell["shuffled"], strict=True)
            ),
        ]
        for cell in cells
    ]
    header = ["set", *(f"{strength:g}/√n" for strength in cells[0]["strengths"])]
    return f"## {SAMPLES}, over the weight of the error: NMI sorted / shuffled\n\n{table(header, rows)}"


def misplaced_table(cells: list[dict[str, Any]]) -> str:
    """Where misplaced samples go."""
    if not cells:
        return ""
    names = [*(f"{strength:g}" for strength in MISPLACED_STRENGTHS), SAME]
    titles = [*(f"{SAMPLES}, {strength:g}/√n" for strength in MISPLACED_STRENGTHS), SAME]
    header = ["set", *(f"{title}: {to}" for title in titles for to in ("of its rows", "its own"))]
    rows = [
        [cell["set"], *(f"{100 * share:.0f}" for name in names for share in cell["shares"][name])]
        for cell in cells
    ]
    title = (
        f"## {MISPLACED_SHARE:.0%} of the samples stand in the rows of another class: percent of them given "
        "to that class, and to their own"
    )
    return f"{title}\n\n{table(header, rows)}"


def partition_table(cells: list[dict[str, Any]]) -> str:
    """NMI with both partitions of the same noise."""
    if not cells:
        return ""
    columns = [f"{way}, {by}" for way in (SAMPLES, NONE) for by in ("first", "second", "random")] + [AVERAGE]
    rows = []
    for cell in sorted(cells, key=lambda cell: cell["trace"]):
        pairs = [cell["scores"][name] for name in columns]
        rows.append([f"{cell['trace']:g}", *(f"{100 * a:.0f} / {100 * b:.0f}" for a, b in pairs)])
    title = "## Noise with a trace of two partitions: NMI with the first / with the second"
    return f"{title}\n\n{table(['trace', *columns], rows)}"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table, the first column to the left, all others to the right."""
    lines = [header, [":--", *["--:"] * (len(header) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _pair(score: dict[str, Any] | None) -> list[str]:
    if score is None:
        return [ABSENT, ABSENT]
    others = 100 * np.array(score["shuffled"])
    spread = f" ± {others.std(ddof=1):.1f}" if len(others) > 1 else ""
    return [f"{100 * score['sorted']:.1f}", f"{others.mean():.1f}{spread}"]
