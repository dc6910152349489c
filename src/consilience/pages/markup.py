"""HTML that is put together from elements: everything else is text, and is escaped.

The one toolkit for every page that the library writes. Examples in ``docs/extend``.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape as escaped
from typing import Literal

from ..words import clipped, visible

_VOID = frozenset({"br", "img", "input", "meta"})
LONG = 28  # characters of a name, from which on it may be broken anywhere
_TALL = 25  # rows of a table that is scrolled in its box
LEAST_WIDTH = 660  # pixels: a figure gets no smaller, it scrolls


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
    written = "".join(
        f" {name.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{escape(str(value))}"')
        for name, value in attributes.items()
        if value is not None and value is not False
    )
    if tag in _VOID:
        return Markup(f"<{tag}{written}>")
    return Markup(f"<{tag}{written}>{joined(*children)}</{tag}>")


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
    """A column of a table: its title, what is in it, a note on it, and a title in place of a long one."""

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
    caption: str | None = None,
    name: str | None = None,
    class_: str | None = None,
    sortable: bool = False,
    row_attributes: Sequence[dict[str, str]] | None = None,
) -> Markup:
    """Return a table in a box that it can be scrolled in; nothing if there are no rows.

    Parameters
    ----------
    columns : sequence of Column
        Titles and kinds of the columns; the first one names the row. Without any title there is no head.
    rows : iterable of sequences
        The cells: text, which is escaped, markup, or a `Cell`.
    caption : str, optional
        What the table shows.
    name : str, optional
        Its id on the page.
    class_ : str, optional
        Classes of the style sheet: "fixed" keeps the first column in sight, "dense" is for many columns,
        "stacked" puts cells below each other on a narrow screen.
    sortable : bool, default=False
        Whether its headers become buttons, once the script runs.
    row_attributes : sequence of dict, optional
        Attributes of each row.
    """
    body, rows = [], list(rows)
    if not rows:
        return Markup("")
    widths = [max((_width(row[j]) for row in rows), default=0) for j in range(len(columns))]
    for i, row in enumerate(rows):
        cells = [_cell(cell, columns[j], widths[j], first=j == 0) for j, cell in enumerate(row)]
        body.append(element("tr", cells, **(row_attributes[i] if row_attributes else {})))
    head = element("thead", element("tr", [_header(column) for column in columns]))
    whole = element(
        "table",
        head if any(column.title for column in columns) else None,
        element("tbody", body),
        id=name,
        class_=class_,
        data_sortable=sortable,
        aria_label=caption,
    )
    kind = "box tall" if len(body) > _TALL and class_ is None else "box"
    # The caption stands before the box, so that it is not scrolled out of sight with a wide table.
    above = None if caption is None else element("p", caption, class_="caption")
    return joined(above, element("div", whole, class_=kind))


def _header(column: Column) -> Markup:
    """Return the head of a column; of a long title the ends, so that the head is not too high."""
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
    """Return how many characters stand next to the bar of a cell."""
    barred = isinstance(cell, Cell) and cell.bar is not None
    return len(str(cell.content)) if isinstance(cell, Cell) and barred else 0


def _cell(cell: str | Cell, column: Column, width: int, *, first: bool) -> Markup:
    cell = cell if isinstance(cell, Cell) else Cell(cell)
    content, style = cell.content, None
    kind: str = column.kind
    if cell.bar is not None:
        # Of one width in the whole column, so that all bars start at the same place.
        number = element("span", content, class_="bar-value", style=f"min-width:{width}ch")
        bar = element("span", class_="bar", aria_hidden="true", style=_share(cell.bar))
        content = joined(bar, number)
        kind += " barred"
    is_text = column.kind != "number" and not isinstance(content, Markup)
    if cell.long or (is_text and len(str(content)) > LONG):
        kind += " long"
    if cell.shade is not None:
        style, kind = _share(cell.shade), kind + " shade"
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
    text = " ".join(sentences)
    return element("p", text, class_=class_) if text else Markup("")


def section(name: str, title: str, inside: Markup) -> Markup:
    """Return a section with a heading that can be linked to by its name."""
    heading = element("h2", title, id=f"{name}-title")
    return element("section", heading, inside, id=name, aria_labelledby=f"{name}-title", tabindex=-1)


def block(name: str, title: str, text: str) -> Markup:
    """Return text to be copied, such as code."""
    button = element("button", "Copy", type="button", class_="scripted copy", data_copy=name)
    return element(
        "div",
        element("div", element("span", title), button, class_="block-head"),
        element("pre", element("code", text, id=name), tabindex=0, aria_label=title),
        class_="block",
    )


def picture(svg: str, caption: str) -> Markup:
    """Return a figure on a light card: as an image, so that names inside it cannot clash or do anything."""
    found = re.search(r'<svg[^>]*?\swidth="([\d.]+)(pt|px)?"', svg)
    natural = 960 if found is None else round(float(found[1]) * (4 / 3 if found[2] == "pt" else 1))
    image = element(
        "img",
        alt=caption,
        src=f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}",
        style=f"max-width:{natural}px;min-width:{min(natural, LEAST_WIDTH)}px",
    )
    return element("figure", element("div", image, class_="card"), element("figcaption", caption))


def link(address: str) -> Markup:
    """Return an address, as a link if it is one of the web."""
    if not re.match(r"https?://", address):
        return joined(address)
    return element("a", address, href=address)
