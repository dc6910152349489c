"""`consilience cluster`: files in, clusters out."""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from ..cluster import DistanceGraphFusion, SimilarityGraphFusion
from ..views import Views
from .fitting import collected_warnings, common_parameters, read_given
from .output import check_target, result_folder, write_graph, write_json, write_table
from .page import write_page
from .summary import summarize, view_cells
from .tables import show, show_table

METHODS = {"sgf": SimilarityGraphFusion, "dgf": DistanceGraphFusion}


def run(arguments: argparse.Namespace) -> int:
    """Read the files, fit, write the results and tell about them."""
    check_target(arguments.out, arguments.force)
    read = read_given(arguments)
    views = read.views
    model, told = fit(arguments, views)
    summary = summarize(model, views, read.labels, read.sources, told)
    with result_folder(arguments.out, arguments.force) as folder:
        write_results(folder, model, views, summary)
    if arguments.json:
        show(json.dumps(summary, indent=1, ensure_ascii=False))
    else:
        tell(summary, arguments.out)
    return 0


def fit(arguments: argparse.Namespace, views: Views) -> tuple[Any, list[str]]:
    """Fit the chosen method; return it with the warnings that came up."""
    model = METHODS[arguments.method](
        **common_parameters(arguments),
        scale=arguments.scale,
        view_weights=arguments.view_weights,
        row_weights=arguments.row_weights,
        random_state=arguments.seed,
        verbose=not arguments.json,
    )
    with collected_warnings() as told:
        model.fit(views)
    told = [_as_options(message) for message in told]
    for message in told:
        warnings.warn(message, stacklevel=2)
    return model, told


def _as_options(message: str) -> str:
    """Turn the advice of a warning, which speaks of parameters, into that for the command."""
    return message.replace("view_weights='uniform'", "--view-weights uniform").replace(
        "scale='none'", "--scale none"
    )


def write_results(folder: Path, model: Any, views: Views, summary: dict[str, Any]) -> None:
    """Write labels, views, graph, summary and page into a folder."""
    ids = np.arange(views.n_samples) if views.sample_ids is None else views.sample_ids
    write_table(folder / "labels.csv", ["sample", "label"], zip(ids, model.labels_, strict=True))
    rows = summary["views"]
    write_table(folder / "view_weights.csv", list(rows[0]), [list(row.values()) for row in rows])
    write_graph(folder / "graph.npz", model.graph_)
    write_json(folder / "summary.json", summary)
    write_page(folder / "report.html", summary)


def tell(summary: dict[str, Any], out: Path) -> None:
    """Show the result on the terminal."""
    sizes = ", ".join(map(str, summary["cluster_sizes"]))
    show(f"{summary['n_samples']} samples in {summary['n_clusters']} clusters of {sizes}")
    show()
    show_table(
        ["view", "features", "metric", "reliability", "contribution", "inconsistent share"],
        [
            [row["view"], row["features"], row["metric"], *view_cells(row, "{:.3f}")]
            for row in summary["views"]
        ],
    )
    if summary["scores"] is not None:
        show()
        show("against the labels: " + ", ".join(f"{k} {100 * v:.2f} %" for k, v in summary["scores"].items()))
    show()
    show(f"Results are in {out}: labels.csv, view_weights.csv, graph.npz, summary.json, report.html")
