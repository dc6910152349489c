"""One view's disagreement: how it sees each cluster, and its worst rows."""

from __future__ import annotations

import numpy as np

from ....words import count, decimal, percent
from ...markup import Cell, Column, Markup, element, joined, paragraphs, table
from ..content import ReportContent
from ..view_sentences import of_view
from .conflict_tables import listed_rows

N_WORST = 15
MOST_CLUSTERS = 30


def view_panels(content: ReportContent) -> Markup:
    """Return a panel for each view; the one with most flags is open."""
    flagged = content.found.samples.n_flagged
    opened = int(np.argmax(flagged)) if flagged.any() else -1
    panels = [_panel(content, i, is_open=i == opened) for i in range(content.n_views)]
    return joined(
        element("h3", "One view at a time"), element("div", panels, id="view-panels", class_="panels")
    )


def _panel(content: ReportContent, i: int, *, is_open: bool) -> Markup:
    flagged, judged = int(content.found.samples.n_flagged[i]), int(content.judged[i])
    summary = f"{count(flagged)} of {count(judged)} rows flagged" if judged else "nothing to compare"
    if i in content.absences:
        summary = f"left out; {summary}" if flagged else "left out"
    show = None
    if flagged:
        show = element(
            "button", button_text(content, i), type="button", class_="scripted", data_show_flagged=str(i)
        )
    return element(
        "details",
        element(
            "summary", element("span", content.view_names[i], class_="name"), " ", element("small", summary)
        ),
        paragraphs(of_view(content, i)),
        element(
            "div",
            element("div", _clusters(content, i)),
            element("div", _worst(content, i)),
            class_="two-columns",
        )
        if judged
        else None,
        show,
        id=f"view-{i}",
        open=is_open,
        data_view=str(i),
    )


def button_text(content: ReportContent, i: int) -> str:
    """Say what the button shows: all flagged rows of a view, or those of them that are listed."""
    there, shown = int(content.found.samples.n_flagged[i]), listed_rows(content)[i]
    if shown == there:
        return "Show its flagged rows"
    return f"Show {count(shown)} of its {count(there)} flagged rows"


def _clusters(content: ReportContent, i: int) -> Markup:
    clusters = content.clusters
    judged = np.bincount(
        content.labels[np.isfinite(content.found.samples.scores[:, i])], minlength=content.n_clusters
    )
    columns = [
        Column("cluster", "number"),
        Column("mean score", "number"),
        Column("flagged", "number"),
        Column("cohesion", "number", "Share of neighbours that are in the same cluster"),
        Column("mixed up with", "number", "The other cluster that has most of these neighbours"),
    ]
    order = np.argsort(-np.nan_to_num(clusters.scores[:, i], nan=-1.0), kind="stable")[:MOST_CLUSTERS]
    rows: list[list[str | Cell]] = [
        [
            str(c),
            Cell(decimal(float(clusters.scores[c, i])), shade=float(clusters.scores[c, i])),
            f"{count(int(clusters.n_flagged[c, i]))} of {count(int(judged[c]))}",
            percent(float(clusters.cohesion[c, i])),
            str(clusters.mixed_up_with[c, i]) if clusters.mixed_up_with[c, i] >= 0 else "–",
        ]
        for c in order
    ]
    caption = "Its clusters, the worst first."
    if len(rows) < content.n_clusters:
        caption = f"The {len(rows)} worst of its {count(content.n_clusters)} clusters."
    return table(columns, rows, caption=caption)


def _worst(content: ReportContent, i: int) -> Markup:
    conflicts = content.found.samples
    columns = [
        Column("sample", "sample"),
        Column("score", "number", "Probability that the row is misplaced"),
        Column("flagged"),
        Column("cluster", "number"),
    ]
    rows = [
        [
            content.name(s),
            Cell(decimal(float(conflicts.scores[s, i]), 3), shade=float(conflicts.scores[s, i])),
            "yes" if conflicts.flagged[s, i] else "no",
            str(content.labels[s]),
        ]
        for s in conflicts.worst(i, N_WORST)
    ]
    return table(columns, rows, caption=f"Its {len(rows)} rows with the largest scores.")
