"""Pieces of plain, self-contained pages: no script, no request, every name escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from .summary import view_cells

STYLE = """
:root { color-scheme: light dark; --bar: #3a6ea5; --second: #d98c3f; --third: #4a9a7c; --rule: #8886; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; } td, th { padding: .3rem .6rem; text-align: left;
border-bottom: 1px solid var(--rule); } td.number, th.number { text-align: right;
font-variant-numeric: tabular-nums; }
td.bars { width: 6rem; }
.bar { display: inline-block; height: .7rem; background: var(--bar); border-radius: 2px; }
.bar.second { background: var(--second); } .bar.third { background: var(--third); } .note { opacity: .8; }
pre { overflow-x: auto; }
.wide { overflow-x: auto; }
"""


VIEW_NOTE = (
    "Reliability: how far a view's neighbours are those of the other views, beyond chance. A view at 0 "
    "agrees with nobody: it is left out, if any others agree. So is a copy of another view. Contribution: a "
    "view's share of the unified graph. Inconsistent share: the part of its own edge weights that the other "
    "views do not confirm."
)


def page(title: str, parts: Sequence[str]) -> str:
    """Return a whole HTML page."""
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>"
        f"<body><h1>{escape(title)}</h1>{''.join(parts)}</body></html>\n"
    )


def table(header: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int] = ()) -> str:
    """Return an HTML table of cells that are HTML already; `numbers` are the columns of numbers."""

    def cells(row: Sequence[str], tag: str) -> str:
        return "".join(f"<{tag}{_css_class(i in numbers, cell)}>{cell}</{tag}>" for i, cell in enumerate(row))

    body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows)
    return f"<div class='wide'><table><tr>{cells(header, 'th')}</tr>{body}</table></div>"


def _css_class(is_number: bool, cell: str) -> str:
    return " class=number" if is_number else " class=bars" if cell.startswith("<span class='bar") else ""


def bar(share: float, kind: str = "") -> str:
    """Return a bar of this share of the full width."""
    return f"<span class='bar {kind}' style='width:{100 * min(max(share, 0), 1):.2f}%'></span>"


def views_table(rows: Sequence[dict[str, Any]]) -> str:
    """Return the table of views with bars."""
    columns = ("reliability", "contribution", "inconsistent_share")
    largest = {column: max(row[column] or 0.0 for row in rows) or 1.0 for column in columns}
    cells = []
    for row in rows:
        told = view_cells(row, "{:.3f}")
        cells.append([escape(row["view"]), str(row["features"]), escape(row["metric"])])
        for text, column, kind in zip(told, columns, ("third", "", "second"), strict=True):
            cells[-1] += [text, bar((row[column] or 0.0) / largest[column], kind)]
    header = ["view", "features", "metric", "reliability", "", "contribution", "", "inconsistent share", ""]
    return table(header, cells, numbers=(1, 3, 5, 7))
