"""The page of a comparison: table, picture, warnings, and how it was made."""

from __future__ import annotations

from typing import Any

from ..comparison.figures.picture import Panel, inline
from ..comparison.summary import cells, legend, notes
from .frame import whole_page
from .markup import Column, Markup, element, joined, table

TITLE = "Systems compared on the same views"


def comparison_page(summary: dict[str, Any], drawn: list[Panel]) -> str:
    """Return the whole page."""
    header, rows = cells(summary)
    views = ", ".join(f"{view['view']} ({view['features']} features)" for view in summary["views"])
    columns = [Column(header[0]), *(Column(name, "number") for name in header[1:])]
    body = joined(
        element("h1", TITLE),
        element(
            "p",
            f"{len(summary['systems'])} systems on {summary['n_samples']} samples, "
            f"{summary['n_clusters']} clusters. Views: {views}.",
        ),
        element("h2", "Systems"),
        table(columns, [[row[0], *map(_cell, row[1:])] for row in rows], class_="dense"),
        [element("p", text) for text in notes(summary)],
        [element("p", text) for text in summary["findings"]],
        [element("p", text, class_="note") for text in legend(summary)],
        element("h2", "In one picture"),
        element("div", [element("div", Markup(inline(panel))) for panel in drawn], class_="side-by-side"),
        _warnings(summary["systems"]),
        element("h2", "How it was made"),
        _how(summary),
    )
    return whole_page(TITLE, body)


def _cell(text: str) -> str:
    value, sign, spread = text.partition("±")
    return joined(value, element("small", f"±{spread}")) if sign else value


def _warnings(systems: list[dict[str, Any]]) -> Markup:
    rows = [
        [system["system"], one["text"], str(one["fits"])] for system in systems for one in system["warnings"]
    ]
    columns = [Column("system"), Column("warning"), Column("fits", "number")]
    return joined(element("h2", "Warnings"), table(columns, rows)) if rows else Markup("")


def _how(summary: dict[str, Any]) -> Markup:
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
    columns = [Column("system"), Column("class"), Column("parameters of its own")]
    rows = [
        [
            system["system"],
            system["class"],
            ", ".join(f"{name}={value}" for name, value in one.items() if name not in common),
        ]
        for system, one in zip(systems, own, strict=True)
    ]
    listing = "\n".join(f"{name} = {value}" for name, value in facts.items())
    return joined(table(columns, rows), element("pre", listing))
