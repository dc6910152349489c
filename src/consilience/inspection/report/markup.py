"""HTML that is put together from elements: whatever is no element is text, and is escaped."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape as escaped
from typing import Literal

from .wording import clipped, visible

_VOID = frozenset({"input", "meta"})
LONG = 28  # characters of a name, from which on it may be broken anywhere
_TALL = 25  # rows of a table that is scrolled in its box


def escape(text: str) -> str:
    """Return text as HTML, with a mark in the place of what cannot be seen."""
    return escaped(visible(text))


class Markup(str):
    """A piece of HTML, as opposed to text."""


Content = str | Iterable[str]


def element(tag: str, *children: Content | None, **attributes: str | int | bool | None) -> Markup:
    """Return an HTML element.

    Children are text, elements, or lists of these; None is nothing. Attributes: a trailing underscore is
    dropped, others are hyphens; None and False leave an attribute out, True gives it no value.
    """
    told = "".join(
        f" {name.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{escape(str(value))}"')
        for name, value in attributes.items()
        if value is not None and value is not False
    )
    if tag in _VOID:
        return Markup(f"<{tag}{told}>")
    return Markup(f"<{tag}{told}>{joined(*children)}</{tag}>")


def joined(*children: Content | None) -> Markup:
    """Return children one after the other: elements as they are, text escaped."""
    parts: list[str] = []
    for child in children:
        if isinstance(child, str):
            parts.append(child if isinstance(child, Markup) else escape(child))
        elif child is not None:
            parts.extend(joined(one) for one in child)
    return Markup("".join(parts))


@dataclass(frozen=True)
class Column:
    """A column of a table: its title, what is in it, a word on it, and a title in place of a long one."""

    title: str
    kind: Literal["text", "number", "sample", "view"] = "text"
    note: str | None = None
    short: str | None = None


@dataclass(frozen=True)
class Cell:
    """A cell that is more than its text: with a bar or a shade of this share, or with markup, long or not."""

    content: Content
    bar: float | None = None
    shade: float | None = None
    long: bool = False


def table(
    columns: Sequence[Column],
    rows: Iterable[Sequence[str | Cell]],
    *,
    caption: str,
    name: str | None = None,
    sortable: bool = False,
    row_attributes: Sequence[dict[str, str]] | None = None,
) -> Markup:
    """Return a table in a box that it can be scrolled in. The first column names the row.

    With `sortable` its headers become buttons, once the script runs.
    """
    head = [_header(column) for column in columns]
    body, rows = [], list(rows)
    widths = [max((_width(row[j]) for row in rows), default=0) for j in range(len(columns))]
    for i, row in enumerate(rows):
        cells = [_cell(cell, columns[j], widths[j], first=j == 0) for j, cell in enumerate(row)]
        body.append(element("tr", cells, **(row_attributes[i] if row_attributes else {})))
    whole = element(
        "table",
        element("thead", element("tr", head)),
        element("tbody", body),
        id=name,
        data_sortable=sortable,
        aria_label=caption,
    )
    kind = "box tall" if len(body) > _TALL else "box"
    # The caption stands before the box, lest it be scrolled out of sight with a wide table.
    return joined(element("p", caption, class_="caption"), element("div", whole, class_=kind))


def _header(column: Column) -> Markup:
    """Return the head of a column; of a long title the ends, lest the head be higher than the table."""
    if len(column.title) <= LONG:
        return element("th", column.title, scope="col", class_=column.kind, title=column.note)
    return element(
        "th",
        column.short or clipped(column.title, LONG),
        scope="col",
        class_=f"{column.kind} long",
        title=column.title,
    )


def _width(cell: str | Cell) -> int:
    """Return how many characters stand beside the bar of a cell."""
    barred = isinstance(cell, Cell) and cell.bar is not None
    return len(str(cell.content)) if isinstance(cell, Cell) and barred else 0


def _cell(cell: str | Cell, column: Column, width: int, *, first: bool) -> Markup:
    told = cell if isinstance(cell, Cell) else Cell(cell)
    content, style = told.content, None
    kind: str = column.kind
    if told.bar is not None:
        # Of one width in the whole column, lest bars start at different places.
        number = element("span", content, class_="beside-bar", style=f"min-width:{width}ch")
        bar = element("span", class_="bar", aria_hidden="true", style=_share(told.bar))
        content = joined(bar, number)
        kind += " barred"
    is_text = column.kind != "number" and not isinstance(content, Markup)
    if told.long or (is_text and len(str(content)) > LONG):
        kind += " long"
    if told.shade is not None:
        style, kind = _share(told.shade), kind + " shade"
    return element("th" if first else "td", content, scope="row" if first else None, class_=kind, style=style)


def _share(share: float) -> str:
    """Return a style that carries a share from 0 to 1; what is not a number is none."""
    kept = 0.0 if not math.isfinite(share) else min(max(share, 0.0), 1.0)
    return f"--share:{100 * kept:.3g}%"


def figure(name: str, height: int, description: str, caption: str) -> Markup:
    """Return the place of a chart, for the script to draw in, with words for those who do not see it."""
    place = element(
        "div", id=name, class_="chart", role="img", aria_label=description, style=f"height:{height}px"
    )
    return element("figure", place, element("figcaption", caption), class_="scripted")


def paragraphs(sentences: Iterable[str], class_: str | None = None) -> Markup:
    """Return a paragraph of these sentences; nothing if there are none."""
    told = " ".join(sentences)
    return element("p", told, class_=class_) if told else Markup("")
