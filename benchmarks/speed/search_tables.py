"""The tables of `searches`, in Markdown."""

from __future__ import annotations

from typing import Any

Cell = dict[str, Any]
RECALL = 0.9  # at which libraries are compared


def report(cells: list[Cell], facts: dict[str, Any], packages: dict[str, str]) -> str:
    """Return all tables."""
    parts = [", ".join(f"{name} {value}" for name, value in {**facts, **packages}.items())]
    searches = [cell for cell in cells if cell["trial"] == "search"]
    places = list(dict.fromkeys((cell["name"], cell["n"]) for cell in searches))
    if places:
        parts.append(_summary(searches, places))
    for name, n in places:
        here = [cell for cell in searches if (cell["name"], cell["n"]) == (name, n)]
        parts.append(f"### {name}, n = {n:,}\n\n{_searches(here)}")
    once = [cell for cell in cells if cell["trial"] != "search"]
    if once:
        parts.append(f"### Apart from speed\n\n{_once(once)}")
    return "\n\n".join(parts)


def _summary(cells: list[Cell], places: list[tuple[str, int]]) -> str:
    """Return a table of the fastest setting of each library that finds enough, on all data."""
    libraries = list(dict.fromkeys(cell["library"] for cell in cells))
    lines = []
    for library in libraries:
        entries = []
        for name, n in places:
            here = [
                cell for cell in cells if (cell["library"], cell["name"], cell["n"]) == (library, name, n)
            ]
            entries.append(_fastest_enough(here))
        lines.append([library, *entries])
    head = ["CPU s at recall >= 0.9", *(f"{name}, n = {n:,}" for name, n in places)]
    return f"### Seconds of CPU at a recall of at least {RECALL}\n\n{_table(head, lines)}"


def _fastest_enough(cells: list[Cell]) -> str:
    measured = [cell for cell in cells if "recall" in cell]
    enough = [cell for cell in measured if cell["recall"] >= RECALL]
    if enough:
        best = min(enough, key=lambda cell: cell["cpu"])
        return f"{best['cpu']:.1f} ({best['recall']:.2f})"
    if measured:
        best = max(measured, key=lambda cell: cell["recall"])
        return f"only {best['recall']:.2f} in {best['cpu']:.1f}"
    return "; ".join(dict.fromkeys(_why(cell) for cell in cells)) or "not tried"


def _searches(cells: list[Cell]) -> str:
    lines = []
    for cell in cells:
        setting = ", ".join(f"{name} {value}" for name, value in cell["setting"].items()) or "as it comes"
        if "recall" in cell:
            figures = [f"{cell['recall']:.3f}", f"{cell['seconds']:.1f}", f"{cell['cpu']:.1f}"]
            figures += [f"{cell['megabytes']:.0f}", f"{cell['load']:.1f}"]
        else:
            figures = [_why(cell), "", "", "", f"{cell['load']:.1f}"]
        lines.append([cell["library"], setting, *figures])
    return _table(["library", "setting", "recall", "s", "CPU s", "grows by MB", "load before"], lines)


def _once(cells: list[Cell]) -> str:
    of: dict[str, dict[str, Cell]] = {}
    for cell in cells:
        of.setdefault(cell["library"], {})[cell["trial"]] = cell
    lines = []
    for library, known in of.items():
        first, again, takes = (known.get(name, {}) for name in ("first_call", "repeated", "takes"))
        if "seconds" not in first:
            lines.append([library, _why(first), *[""] * 5])
            continue
        lines.append(
            [
                library,
                f"{first['seconds']:.1f}",
                _number(first.get("again"), "{:.1f}"),
                _same(again.get("second run")),
                _same(again.get("one thread")),
                "" if "sparse" not in takes else f"no: {takes['sparse']}" if takes["sparse"] else "yes",
                _number(takes.get("map"), "{:.1f} x"),
            ]
        )
    head = ["library", "first call, s", "again, s", "same in a second run", "same on one thread"]
    return _table([*head, "sparse rows", "adds to a memory map"], lines)


def _same(share: float | None) -> str:
    return "" if share is None else "yes" if share == 0 else f"no: {share:.1%} of rows differ"


def _number(value: float | None, form: str) -> str:
    return "" if value is None else form.format(value)


def _why(cell: Cell) -> str:
    return str(cell.get("stopped") or cell.get("reason") or "not tried")


def _table(head: list[str], lines: list[list[str]]) -> str:
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, rule, *lines])
