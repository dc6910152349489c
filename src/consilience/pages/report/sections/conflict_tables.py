"""The two tables of conflicts that can be sorted and filtered: flagged rows, and pairs of samples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....words import count, counted, decimal, distinct, percent
from ...markup import LONG, Cell, Column, Markup, element, joined, paragraphs, table
from ..content import ReportContent
from ..sample_map import quotas

MOST_ROWS = 1000


def view_columns(content: ReportContent) -> list[Column]:
    """Return a column of numbers for each view."""
    short = distinct(content.found.views.names, LONG)
    return [Column(name, "number", short=one) for name, one in zip(content.view_names, short, strict=True)]


def listed_rows(content: ReportContent) -> list[int]:
    """Return how many flagged rows of each view are listed: all, or a fair share of the places."""
    return quotas(content.found.samples.n_flagged, MOST_ROWS)


def _filters(content: ReportContent, target: str, view_label: str, partly: Sequence[str] = ()) -> Markup:
    """Return the filters of a table; `partly` says of each view which part of its rows is listed."""
    options = [element("option", "all", value="")]
    options += [
        element("option", name, value=str(i), data_partly=(partly[i] if partly else "") or None)
        for i, name in enumerate(content.view_names)
    ]
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
    order = np.argsort(-conflicts.scores[samples, views], kind="stable")
    shown = listed_rows(content)
    # Of each view the rows with the largest scores, so that no view takes all places.
    first = [order[views[order] == i][: shown[i]] for i in range(content.n_views)]
    order = order[np.isin(order, np.concatenate(first))]
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
    which = f"All {counted(len(rows), 'flagged row')}" if len(rows) > 1 else "The flagged row"
    partly = []
    if len(rows) < len(samples):
        which = f"{count(len(rows))} of {count(len(samples))} flagged rows, of each view the worst"
        partly = [
            f"{count(listed)} of the {count(there)} flagged rows of this view are listed"
            if listed < there
            else ""
            for listed, there in zip(shown, conflicts.n_flagged.tolist(), strict=True)
        ]
    caption = f"{which}, at a false discovery rate of {percent(conflicts.fdr)}."
    return joined(
        heading,
        _filters(content, "flagged", "View", partly),
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
        Column("odd view", "view", "The view that differs from the others"),
        Column("conflict", "number", "How far its opinion is from the mean of the others'"),
        Column("clusters", "text"),
        Column("fused", "number", "How near the two are in the unified graph"),
        *view_columns(content),
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
    there = counted(pairs.n_judged, "pair")
    caption = f"{count(len(rows))} of {there} of neighbours in some view, the worst first."
    fault = ""
    if content.found.views.kept.sum() == 2:
        fault = " Of two views either may be the odd one."
    return joined(
        heading,
        paragraphs(
            [
                "Each view's opinion: how near the two are in it, from 0 for the farthest to 1 for the "
                f"nearest of all pairs that it judges.{fault}"
            ],
            "note",
        ),
        _filters(content, "pairs", "Odd view"),
        table(columns, rows, caption=caption, name="pairs", sortable=True, row_attributes=attributes),
    )
