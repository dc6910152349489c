"""How much rows counted: the trust that the fit has learned, or found by agreement."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....words import count, decimal, percent, quoted
from ...markup import Cell, Column, Markup, element, joined, paragraphs, table
from ..content import ReportContent

LITTLE = 0.5  # trust below which a row is said to count little


def row_trust(content: ReportContent) -> Markup:
    """Return how much the rows of each view counted; nothing if all rows counted alike."""
    if content.matched is None and not content.distrusts:
        return Markup("")
    trust, matched = content.model.row_reliability_, content.matched
    columns = [Column("view", "view")]
    if matched is not None:
        columns.append(Column("matched rows", "number", "Estimated share of rows that are of their sample"))
    columns += [
        Column("mean trust", "number", "1: every row counts fully"),
        Column("count little", "number", f"Rows with a trust below {LITTLE}"),
    ]
    rows: list[Sequence[str | Cell]] = []
    for i in content.kept:
        known = trust[np.isfinite(trust[:, i]), i]
        few = int((known < LITTLE).sum())
        row: list[str | Cell] = [content.view_names[i]]
        if matched is not None:
            share = float(matched[i])
            row.append(Cell(percent(share), bar=share) if np.isfinite(share) else "–")
        mean = float(known.mean()) if len(known) else np.nan
        row.append(Cell(decimal(mean), bar=mean) if len(known) else "–")
        share = few / max(len(known), 1)
        row.append(Cell(f"{count(few)} ({percent(share)})", bar=share) if len(known) else "–")
        rows.append(row)
    return joined(
        element("h3", "How much rows counted"),
        paragraphs(trust_sentences(content)),
        table(columns, rows, caption="The trust in the rows of each view that was kept.", name="row-trust"),
        paragraphs([_note(content)], "note"),
    )


def trust_sentences(content: ReportContent) -> list[str]:
    """Say where rows counted less, and in which view most of them did."""
    trust, matched = content.model.row_reliability_, content.matched
    if not content.distrusts:
        return ["Every row of every view counted fully."]
    few = np.asarray((trust < LITTLE).sum(axis=0))  # NaN is not below anything
    if matched is None:
        where = "A row counted less where other views confirm hardly any of its neighbours."
    else:
        where = (
            "A row counted less where its neighbours lie elsewhere in the unified graph than those of the "
            "other views: it may be the row of another sample, or say little of its own."
        )
    total = int(few.sum())
    if not total:
        return [where, "No row counted less than half."]
    most = int(np.argmax(few))
    name = quoted(content.view_names[most])
    verb = "row counts" if total == 1 else "rows count"
    found = f"{count(total)} {verb} less than half"
    if total == few[most]:
        found += f", {'it is' if total == 1 else 'all'} in view {name}."
    else:
        found += f", most of them in view {name} ({count(int(few[most]))})."
    return [where, found]


def _note(content: ReportContent) -> str:
    trust = (
        "Trust, from 0 to 1, is how much a row counts within its view; that of an edge is the product of the "
        "trust in its two ends."
    )
    if content.matched is None:
        return trust
    return (
        f"{trust} Matched rows: the share of a view's rows that are of their sample, as far as the other "
        "views can tell from where its neighbours lie. A view that alone sees something has few of them, "
        "too. “Misplaced”, above, is found by shared neighbours instead, and may differ."
    )
