"""The two tables of conflicts that can be sorted and filtered: flagged rows, and pairs of samples."""

from __future__ import annotations

import numpy as np

from ..content import ReportContent
from ..markup import Cell, Column, Markup, element, joined, paragraphs, table
from ..wording import count, decimal, percent

MOST_ROWS = 1000


def _filters(content: ReportContent, target: str, view_label: str) -> Markup:
    options = [element("option", "all", value="")]
    options += [element("option", name, value=str(i)) for i, name in enumerate(content.view_names)]
    return element(
        "div",
        element("label", "Sample ", element("input", type="search", autocomplete="off", data_filter="name")),
        element("label", view_label + " ", element("select", options, data_filter="view")),
        element("output", aria_live="polite"),
        class_="controls scripted",
        data_filters=target,
    )


def flagged_rows(content: ReportContent) -> Markup:
    """Return the table of flagged rows."""
    conflicts = content.found.samples
    samples, views = np.nonzero(conflicts.flagged)
    heading = element("h3", "Flagged rows")
    if not len(samples):
        return joined(heading, element("p", "No row is flagged."))
    order = np.argsort(-conflicts.scores[samples, views], kind="stable")[:MOST_ROWS]
    columns = [
        Column("sample", "sample"),
        Column("view", "view"),
        Column("score", "number", "Probability that the row is misplaced"),
        Column("cluster", "number"),
        Column("confidence", "number"),
        Column("worst other view", "number", "The largest score of the sample in another view"),
    ]
    rows, attributes = [], []
    for s, i in zip(samples[order], views[order], strict=True):
        others = np.delete(conflicts.scores[s], i)
        others = others[np.isfinite(others)]
        rows.append(
            [
                content.name(s),
                content.view_names[i],
                decimal(conflicts.scores[s, i], 3),
                str(content.labels[s]),
                decimal(float(content.lowest[s])) if content.n_clusters > 1 else "–",
                decimal(float(others.max())) if len(others) else "–",
            ]
        )
        attributes.append({"data_view": str(i)})
    every = len(rows) == len(samples)
    said = f"All {count(len(rows))} flagged rows" if every else _of(len(rows), len(samples), "flagged rows")
    caption = f"{said}, at a false discovery rate of {percent(conflicts.fdr)}."
    return joined(
        heading,
        _filters(content, "flagged", "View"),
        table(columns, rows, caption=caption, name="flagged", sortable=True, row_attributes=attributes),
    )


def pairs_table(content: ReportContent) -> Markup:
    """Return the table of pairs on which the views differ most, with each view's opinion."""
    pairs = content.found.pairs
    heading = element("h3", "Conflicting pairs")
    if not len(pairs.pairs):
        return joined(heading, element("p", "There is no pair that two views have judged."))
    columns = [
        Column("sample", "sample"),
        Column("other sample", "sample"),
        Column("odd view", "view", "The view that is out of line"),
        Column("conflict", "number", "How far its opinion is from the median of the others'"),
        Column("clusters", "text"),
        Column("fused", "number", "How near the unified graph holds the two"),
        *(Column(name, "number") for name in content.view_names),
    ]
    rows, attributes = [], []
    for k, (a, b) in enumerate(pairs.pairs[:MOST_ROWS]):
        odd = int(pairs.odd_view[k])
        rows.append(
            [
                content.name(a),
                content.name(b),
                content.view_names[odd],
                decimal(pairs.conflict[k]),
                f"{content.labels[a]}, {content.labels[b]}",
                decimal(pairs.fused[k]),
                *(
                    Cell(decimal(float(x)), shade=float(x)) if np.isfinite(x) else "–"
                    for x in pairs.opinions[k]
                ),
            ]
        )
        attributes.append({"data_view": str(odd)})
    caption = f"{_of(len(rows), pairs.n_judged, 'pairs')} that are neighbours in some view."
    fault = ""
    if content.found.views.heard.sum() == 2:
        fault = " Of two views either may be the odd one."
    return joined(
        heading,
        paragraphs(
            [
                "Each view's opinion: how near it holds the two, from 0 for the farthest to 1 for the "
                f"nearest of all pairs that it judges.{fault}"
            ],
            "note",
        ),
        _filters(content, "pairs", "Odd view"),
        table(columns, rows, caption=caption, name="pairs", sortable=True, row_attributes=attributes),
    )


def _of(shown: int, there: int, noun: str) -> str:
    return f"The {count(shown)} worst of {count(there)} {noun}"
