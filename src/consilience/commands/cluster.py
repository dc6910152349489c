"""`consilience cluster`: files in, clusters out."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..inspection import Inspection, SampleConflicts, inspect
from ..pages.report import write_report
from ..pages.report.writing import N_PAIRS
from ..views import Views
from .fitting import fit
from .inputs import read_given
from .output import check_target, result_folder, write_graph, write_json, write_table
from .summary import conflict_sentences, summarize, view_cells
from .tables import show, show_table
from .write_back import write_back

VIEW_COLUMNS = ("reliability", "contribution", "inconsistent share", "flagged rows")


def run(arguments: argparse.Namespace) -> int:
    """Read the files, fit, write the results and show them."""
    check_target(arguments.out, arguments.force)
    read = read_given(arguments)
    views = read.views
    model, warned = fit(arguments, views)
    found = inspect(model, n_pairs=N_PAIRS)
    summary = summarize(model, views, read.labels, read.sources, warned, found)
    with result_folder(arguments.out, arguments.force) as folder:
        write_results(folder, model, views, summary, found)
        written = write_back(folder, arguments, read, model, found.samples)
        write_report(
            folder / "report.html",
            model,
            inspection=found,
            y=read.labels,
            notes=warned,
            command=arguments.typed,
        )
    if arguments.json:
        show(json.dumps(summary, indent=1, ensure_ascii=False))
    else:
        show_summary(summary, found, arguments.out, written)
    return 0


def write_results(folder: Path, model: Any, views: Views, summary: dict[str, Any], found: Inspection) -> None:
    """Write labels, views, conflicts, graph and summary into a folder."""
    ids = np.arange(views.n_samples) if views.sample_ids is None else views.sample_ids
    # Where no two views agree, nobody knows which is right: then the reader gets all of their clusters.
    alone = model.labels_by_view() if found.none_agree else {}
    header = ["sample", "label", *(f"label in {name}" for name in alone)]
    columns = ([("" if one < 0 else one) for one in labels.tolist()] for labels in alone.values())
    write_table(folder / "labels.csv", header, zip(ids, model.labels_, *columns, strict=True))
    rows = summary["views"]
    write_table(folder / "view_weights.csv", list(rows[0]), [list(row.values()) for row in rows])
    write_table(folder / "conflicts.csv", ["sample", "view", "probability"], flagged_rows(found.samples))
    write_graph(folder / "graph.npz", model.graph_)
    write_json(folder / "summary.json", summary)


def flagged_rows(conflicts: SampleConflicts) -> Iterator[tuple[Any, str, float]]:
    """Return the rows that contradict the other views: sample, view and probability, the surest first."""
    samples, views = np.nonzero(conflicts.flagged)
    scores = conflicts.scores[samples, views]
    for j in np.argsort(-scores, kind="stable"):
        yield conflicts.sample_names[samples[j]], conflicts.names[views[j]], round(float(scores[j]), 6)


def show_summary(summary: dict[str, Any], found: Inspection, out: Path, written: str | None) -> None:
    """Show the result on the terminal."""
    sizes = ", ".join(map(str, summary["cluster_sizes"]))
    show(f"{summary['n_samples']} samples in {summary['n_clusters']} clusters of {sizes}")
    if summary["cluster_selection"] is not None:
        show(summary["cluster_selection"]["reason"])
    show()
    lacking = any(row["missing_samples"] for row in summary["views"])  # nothing to say if all are complete
    show_table(
        ["view", "features", *["missing"] * lacking, "metric", *VIEW_COLUMNS],
        [
            [
                row["view"],
                row["features"],
                *[row["missing_samples"]] * lacking,
                row["metric"],
                *view_cells(row, "{:.3f}"),
                row["flagged_rows"],
            ]
            for row in summary["views"]
        ],
    )
    show()
    for sentence in conflict_sentences(found.samples):
        show(sentence)
    if summary["scores"] is not None:
        show()
        show("against the labels: " + ", ".join(f"{k} {100 * v:.2f} %" for k, v in summary["scores"].items()))
    show()
    show(
        f"Results are in {out}: open report.html; labels.csv, view_weights.csv, conflicts.csv, graph.npz, "
        "summary.json" + ("" if written is None else f", {written}")
    )
