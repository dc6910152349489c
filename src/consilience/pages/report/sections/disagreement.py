"""Which view disagrees where: views, their agreement, clusters, samples and pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from ....words import count, counted, decimal, percent
from ...markup import LONG, Cell, Column, Markup, element, figure, joined, paragraphs, table
from ..content import ReportContent
from ..section import Section
from ..view_sentences import disagreement, flag_rule
from .conflict_tables import flagged_rows, pairs_table, view_columns
from .each_view import each_view
from .row_trust import row_trust
from .view_panels import view_panels

MOST_SHADED_CLUSTERS = 100
MOST_NAMED = 2  # views in the conclusion; the others are counted


def _body(content: ReportContent) -> Markup:
    """Return the section that says which view disagrees where."""
    parts = [
        paragraphs(disagreement(content), "conclusion"),
        paragraphs([flag_rule(content)], "note"),
        _views(content),
    ]
    if content.n_views > 1:
        parts += [
            row_trust(content),
            _agreement(content),
            each_view(content),
            _clusters(content),
            view_panels(content),
            _heat_map(content),
            flagged_rows(content),
            pairs_table(content),
        ]
    return joined(parts)


def _conclusion(content: ReportContent) -> str:
    return " ".join(disagreement(content, MOST_NAMED))


def view_button(content: ReportContent, i: int) -> Cell:
    """Return a view's name that opens what there is to say of it."""
    name = content.view_names[i]
    return Cell(element("a", name, href=f"#view-{i}", class_="view-link"), long=len(name) > LONG)


def _views(content: ReportContent) -> Markup:
    views, conflicts = content.found.views, content.found.samples
    columns = [
        Column("view", "view"),
        Column("contribution", "number", "Share of the unified graph that comes from the view"),
        Column("inconsistent", "number", "Part of its own weight that the others do not confirm"),
        Column("reliability", "number", "Median agreement with the other views; 0: with no other"),
        Column("flagged rows", "number"),
        Column(*_misplaced(content)),
    ]
    largest = np.nanmax(np.append(views.inconsistent_shares, 0)) or 1.0
    trusted = np.nanmax(np.append(views.reliability, 0)) or 1.0
    rows: list[Sequence[str | Cell]] = []
    for i in range(content.n_views):
        judged, flagged = int(content.judged[i]), int(conflicts.n_flagged[i])
        share, misplaced = flagged / max(judged, 1), float(content.misplaced[i])
        rows.append(
            [
                view_button(content, i) if content.n_views > 1 else content.view_names[i],
                Cell(percent(views.contributions[i], 1), bar=views.contributions[i])
                if views.kept[i]
                else "left out",
                Cell(percent(views.inconsistent_shares[i], 1), bar=views.inconsistent_shares[i] / largest),
                Cell(decimal(views.reliability[i]), bar=views.reliability[i] / trusted),
                Cell(f"{count(flagged)} ({percent(share)})", bar=share) if judged else "–",
                Cell(percent(misplaced, 1), bar=misplaced) if np.isfinite(misplaced) else "–",
            ]
        )
    return joined(
        element("h3", "View by view"),
        table(
            columns,
            rows,
            caption="What each view contributed, and how far it differs from the others.",
            name="views-table",
        ),
        paragraphs(
            [
                "Contribution: the view's share of the unified graph. Inconsistent: the part of its own "
                "weight that the others do not confirm. Reliability: its median agreement with the other "
                f"views about who is near whom, 0 being chance. {_misplaced_note(content)} The bars of "
                "“inconsistent” and “reliability” show parts of the largest number of their column, the "
                "other bars parts of 100 %."
            ],
            "note",
        ),
    )


def _misplaced(content: ReportContent) -> tuple[str, Literal["number"], str]:
    """Return title, kind and note of the column of misplaced rows; of two views, none is blamed."""
    if len(content.kept) == 2:
        return "contradicted", "number", "Estimated share of rows that the other view contradicts"
    return "misplaced", "number", "Estimated share of rows that are misplaced"


def _misplaced_note(content: ReportContent) -> str:
    if content.none_agree:
        return "As no two views agree, nobody can say how many rows are misplaced."
    if len(content.kept) == 2:
        return (
            "Contradicted: estimated share of rows that say no more of what the other view says of their "
            "sample than any row would; nobody can say which of the two is at fault."
        )
    return "Misplaced: estimated share of rows that say no more of their sample than any row would."


def _agreement(content: ReportContent) -> Markup:
    matrix = content.found.agreement
    columns = [Column("view", "view"), *view_columns(content)]
    rows = []
    for i in range(content.n_views):
        cells: list[str | Cell] = [view_button(content, i)]
        for j in range(content.n_views):
            share = float(matrix.shares[i, j])
            mark = "" if i == j or matrix.significant[i, j] or not np.isfinite(share) else " n.s."
            cells.append("" if i == j else Cell(decimal(share) + mark, shade=share))
        rows.append(cells)
    return joined(
        element("h3", "Which views agree"),
        table(columns, rows, caption="Share of neighbours that two views have in common, beyond chance."),
        paragraphs(
            ["0: no more than unrelated views; 1: copies. “n.s.”: no more than chance explains."], "note"
        ),
    )


def _clusters(content: ReportContent) -> Markup:
    clusters = content.clusters
    columns = [Column("cluster", "number"), Column("samples", "number")]
    columns += view_columns(content)
    worst = np.argsort(-np.nan_to_num(clusters.scores).max(axis=1), kind="stable")[:MOST_SHADED_CLUSTERS]
    rows = [
        [
            str(c),
            count(int(clusters.sizes[c])),
            *(
                Cell(decimal(float(score)), shade=float(score)) if np.isfinite(score) else "–"
                for score in clusters.scores[c]
            ),
        ]
        for c in np.sort(worst)
    ]
    note = []
    if len(rows) < content.n_clusters:
        note = [f"The {len(rows)} worst of {counted(content.n_clusters, 'cluster')} are listed."]
    return joined(
        element("h3", "Which view sees which cluster"),
        table(
            columns,
            rows,
            caption="Mean score of each view's rows in each cluster: 0 at their place, 1 misplaced.",
            name="clusters-views",
            sortable=True,
        ),
        paragraphs(note, "note"),
    )


def _heat_map(content: ReportContent) -> Markup:
    v, n_bins = content.n_views, len(content.bins)
    order = "Samples are ordered by cluster, in each the most contradicted first"
    binned = (
        f"{order}; each column is the mean of a few of the {count(content.n_samples)} samples "
        f"({count(n_bins)} columns)."
        if n_bins < content.n_samples
        else f"{order}; each column is one sample."
    )
    means = ", ".join(
        f"{name} {decimal(float(np.nanmean(scores)) if np.isfinite(scores).any() else np.nan)}"
        for name, scores in zip(content.view_names, content.found.samples.scores.T, strict=True)
    )
    return joined(
        element("h3", "Which samples each view contradicts"),
        figure(
            "chart-conflicts",
            110 + 26 * v,
            f"Heat map of scores, samples by views. Mean score by view: {means}.",
            f"Scores of rows: from 0, at their place, to 1, misplaced. {binned} Click a view to see more.",
        ),
    )


SECTION = Section("views", "Which view disagrees where?", _body, _conclusion)
