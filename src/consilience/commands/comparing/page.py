"""The page of a comparison: table, picture, warnings, and how it was made."""

from __future__ import annotations

from html import escape
from typing import Any

from ..page import page, table
from .picture import Panel, inline
from .summary import cells, legend, notes


def comparison_page(summary: dict[str, Any], drawn: list[Panel]) -> str:
    """Return the whole page; every name on it is escaped."""
    header, rows = cells(summary)
    views = ", ".join(f"{view['view']} ({view['features']} features)" for view in summary["views"])
    parts = [
        f"<p>{len(summary['systems'])} systems on {summary['n_samples']} samples, "
        f"{summary['n_clusters']} clusters. Views: {escape(views)}.</p>",
        "<h2>Systems</h2>",
        "<div style='font-size:.78rem'>",
        table(header, [[_cell(cell) for cell in row] for row in rows], numbers=range(1, len(header))),
        "</div>",
        _paragraphs(notes(summary)),
        _paragraphs(summary["findings"]),
        _paragraphs(legend(summary), css="note"),
        "<h2>In one picture</h2>",
        "<div style='display:flex;flex-wrap:wrap;gap:1rem 2rem;align-items:start'>",
        *(f"<div class='wide'>{inline(panel)}</div>" for panel in drawn),
        "</div>",
        _warnings(summary["systems"]),
        "<h2>How it was made</h2>",
        _how(summary),
    ]
    return page("Systems compared on the same views", parts)


def _cell(text: str) -> str:
    value, sign, spread = escape(text).partition("±")
    return f"{value}<small class='note'>±{spread}</small>" if sign else value


def _paragraphs(sentences: list[str], css: str = "") -> str:
    kind = f" class='{css}'" if css else ""
    return "".join(f"<p{kind}>{escape(sentence)}</p>" for sentence in sentences)


def _warnings(systems: list[dict[str, Any]]) -> str:
    rows = [
        [escape(system["system"]), escape(one["text"]), str(one["fits"])]
        for system in systems
        for one in system["warnings"]
    ]
    return f"<h2>Warnings</h2>{table(['system', 'warning', 'fits'], rows, numbers=(2,))}" if rows else ""


def _how(summary: dict[str, Any]) -> str:
    systems = summary["systems"]
    own = [{name: repr(value) for name, value in system["parameters"].items()} for system in systems]
    known = [parameters for parameters in own if parameters]  # one that could not even be made has none
    common = dict(set(known[0].items()).intersection(*(one.items() for one in known))) if known else {}
    facts = {
        **dict(sorted(common.items())),
        "seeds": summary["seeds"],
        "resamples": f"{summary['resamples']} of {summary['subset_size']} samples",
        "sources": summary["sources"],
        "data fingerprint": summary["data_fingerprint"],
        **summary["versions"],
    }
    listed = "\n".join(f"{name} = {value}" for name, value in facts.items())
    rows = [
        [
            escape(system["system"]),
            escape(system["class"]),
            escape(", ".join(f"{name}={value}" for name, value in one.items() if name not in common)),
        ]
        for system, one in zip(systems, own, strict=True)
    ]
    return table(["system", "class", "parameters of its own"], rows) + f"<pre>{escape(listed)}</pre>"
