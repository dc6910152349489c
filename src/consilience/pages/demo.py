"""The page of the demo: six views of handwritten digits, clean and with one of them spoiled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .frame import whole_page
from .markup import Cell, Column, Markup, element, joined, table

TITLE = "Six views of handwritten digits, fused"
SPOILED = "pixels"
CONDITIONS = {"clean": "the views as they are", "spoiled": f"the rows of {SPOILED!r} shuffled"}
VIEW_NOTE = (
    "Reliability: how far a view's neighbours are those of the other views, beyond chance. A view at 0 "
    "agrees with no other: it is left out, if any others agree. So is a copy of another view. Contribution: "
    "a view's share of the unified graph. Inconsistent share: the part of its own edge weights that the "
    "other views do not confirm."
)
CHOICE_NOTE = (
    "The six kinds of description are those of a published data set, Multiple Features (UCI): no score was "
    "looked at in choosing them."
)


def demo_page(summary: dict[str, Any]) -> str:
    """Return the whole page."""
    header, rows = score_rows(summary)
    columns = [Column(header[0]), *(Column(name, "number") for name in header[1:])]
    versions = ", ".join(f"{name} {version}" for name, version in summary["versions"].items())
    body = joined(
        element("h1", TITLE),
        element(
            "p",
            "A view is one description of the same things. Here are six descriptions of 1797 small images of "
            "handwritten digits, each clustered alone, their graphs averaged, and fused by SGF and DGF. Then "
            f"the same with one view spoiled: {CONDITIONS['spoiled']}, so that it describes the wrong "
            "images.",
        ),
        element("h2", "Ten clusters against the true digits"),
        table(columns, [[row[0], *(f"{value:.3f}" for value in row[1:])] for row in rows]),
        [element("p", sentence) for sentence in summary["findings"]],
        [_views(summary, condition) for condition in CONDITIONS],
        element(
            "p",
            f"{VIEW_NOTE} NMI: 1 if the clusters are the digits, 0 if they say nothing about them "
            "(normalised by the larger entropy). ACC: the share of images in the right cluster, clusters "
            f"matched with digits as well as possible. {CHOICE_NOTE} Seed {summary['seed']}; {versions}.",
            class_="note",
        ),
    )
    return whole_page(TITLE, body)


def _views(summary: dict[str, Any], condition: str) -> Markup:
    """Return how DGF used each view."""
    rows = [r for r in summary["views"] if (r["condition"], r["system"]) == (condition, "DGF")]
    measures = ("reliability", "contribution", "inconsistent_share")
    largest = {measure: max(row[measure] or 0.0 for row in rows) or 1.0 for measure in measures}
    columns = [
        Column("view", "view"),
        Column("features", "number"),
        Column("metric"),
        *(Column(measure.replace("_", " "), "number") for measure in measures),
    ]
    cells: list[Sequence[str | Cell]] = []
    for row in rows:
        bars = []
        for measure in measures:
            value = row[measure]
            left_out = row["weight"] == 0 and measure != "reliability"
            missing = "left out" if left_out and measure == "contribution" else ""
            bars.append(
                missing if left_out or value is None else Cell(f"{value:.3f}", bar=value / largest[measure])
            )
        cells.append([row["view"], str(row["features"]), row["metric"], *bars])
    heading = element("h2", f"How DGF used each view: {CONDITIONS[condition]}")
    return joined(heading, table(columns, cells))


def score_rows(summary: dict[str, Any]) -> tuple[list[str], list[list[Any]]]:
    """Return header and rows of the table of systems, clean and spoiled side by side."""
    by_name = {(row["condition"], row["system"]): row for row in summary["systems"]}
    names = [name for condition, name in by_name if condition == "clean"]
    header = ["system", "NMI", "ACC", "seconds", "NMI spoiled", "ACC spoiled"]
    rows = []
    for name in names:
        clean, spoiled = by_name["clean", name], by_name["spoiled", name]
        rows.append([name, clean["NMI"], clean["ACC"], clean["seconds"], spoiled["NMI"], spoiled["ACC"]])
    return header, rows
