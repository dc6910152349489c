"""The tables of `scale`, in Markdown, and how fast figures grow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Cell = dict[str, Any]
OURS = "DGF"
AXES = {
    "n": "samples",
    "views": "views of 64 features",
    "k": "neighbours",
    "features": "features of each view",
}


def exponent(at: Sequence[float], values: Sequence[float]) -> float | None:
    """Return p of the law value = c at^p that fits best in logarithms; None if there is nothing to fit.

    Examples
    --------
    >>> round(exponent([1, 10, 100], [3, 300, 30_000]), 6)
    2.0
    """
    kept = [(a, value) for a, value in zip(at, values, strict=True) if value > 0]
    if len(kept) < 2:
        return None
    logs = np.log(np.array(kept, dtype=float))
    return float(np.polyfit(logs[:, 0], logs[:, 1], 1)[0])


def measured(cells: list[Cell], axis: str, system: str) -> list[Cell]:
    """Return the fits of a system along an axis that came to an end."""
    return [cell for cell in cells if (cell["axis"], cell["system"]) == (axis, system) and "seconds" in cell]


def growth(fits: list[Cell], what: str) -> float | None:
    """Return the exponent of a figure over the three largest fits: small ones are all constants."""
    last = fits[-3:]
    return exponent([cell["at"] for cell in last], [cell[what] for cell in last])


def report(cells: list[Cell], facts: dict[str, Any]) -> str:
    """Return all tables."""
    parts = [", ".join(f"{name} {value}" for name, value in facts.items())]
    parts.append("Exponents are fitted to the three largest. Memory is the peak of the process.")
    for axis, words in AXES.items():
        here = [cell for cell in cells if cell["axis"] == axis]
        if here:
            parts.append(f"### Growth with the number of {words}\n\n{_growth(here, axis)}")
        if measured(here, axis, OURS):
            parts.append(f"Stages of {OURS}, seconds / MB at most:\n\n{_stages(measured(here, axis, OURS))}")
    return "\n\n".join(parts)


def _growth(cells: list[Cell], axis: str) -> str:
    places = sorted({cell["at"] for cell in cells})
    lines = []
    for system in dict.fromkeys(cell["system"] for cell in cells):
        of = {cell["at"]: cell for cell in cells if cell["system"] == system}
        fits = measured(cells, axis, system)
        powers = [growth(fits, what) for what in ("seconds", "megabytes")]
        entries = [_entry(of[place]) if place in of else "" for place in places]
        lines.append([system, *entries, *("" if power is None else f"{power:.2f}" for power in powers)])
    return _table(["system", *(f"{place:,}" for place in places), "time ~", "memory ~"], lines)


def _entry(cell: Cell) -> str:
    if "seconds" not in cell:
        return str(cell.get("stopped") or cell.get("reason"))
    return f"{cell['seconds']:.1f} s, {cell['peak']:.0f} MB, ARI {cell['ari']:.2f}"


def _stages(fits: list[Cell]) -> str:
    names = list(dict.fromkeys(name for cell in fits for name in cell.get("timings", {})))
    at = [cell["at"] for cell in fits]
    lines = []
    for name in names:
        seconds = [cell["timings"].get(name, 0.0) for cell in fits]
        power = exponent(at[-3:], seconds[-3:])
        entries = [
            f"{took:.2f} / {cell['peaks'].get(name, 0):.0f}" for took, cell in zip(seconds, fits, strict=True)
        ]
        lines.append([name, *entries, "" if power is None else f"{power:.2f}"])
    found = [
        [f"{one['recall']:.3f}" for one in cell.get("searches", []) if one["search"] == "approximate"]
        for cell in fits
    ]
    lines.append(["recall it reports", *(", ".join(some) or "exact" for some in found), ""])
    return _table(["stage", *(f"{place:,}" for place in at), "time ~"], lines)


def _table(head: list[str], lines: list[list[str]]) -> str:
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, rule, *lines])
