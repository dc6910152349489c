"""`consilience demo`: six real views of handwritten digits, fused; then again with one of them spoiled."""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from ..datasets import load_digits_views
from ..inspection import FusionHelp, inspect
from ..inspection.fusion_help import fusion_help_for
from ..metrics import scores
from ..models import AverageGraph, DistanceGraphFusion, SimilarityGraphFusion
from ..pages.demo import CHOICE_NOTE, CONDITIONS, SPOILED, VIEW_NOTE, demo_page, score_rows
from ..pages.report import write_report
from ..run.progress import Bar
from ..run.versions import versions
from ..views import Views
from ..words import listed
from .output import check_target, result_folder, write_graph, write_json, write_table
from .summary import view_cells, view_rows
from .tables import bold, show, show_table

SHARE = 0.3  # of its rows, in the second report
FUSIONS = {"SGF": SimilarityGraphFusion, "DGF": DistanceGraphFusion}


def run(arguments: argparse.Namespace) -> int:
    """Fit everything on clean and on spoiled views, write the results and show them."""
    check_target(arguments.out, arguments.force)
    digits, truth = load_digits_views(return_X_y=True)
    conditions = {"clean": digits, "spoiled": spoil(digits, arguments.seed)}
    n_fits = sum(len(systems(views)) for views in conditions.values())
    bar = Bar(visible=not arguments.json)
    rows: list[dict[str, Any]] = []
    labels, models = {}, {}
    bar.draw(0.0, "compiling")
    warm_up(digits)
    for condition, views in conditions.items():
        for name, (model, given) in systems(views).items():
            bar.draw(len(rows) / n_fits, f"{name} ({condition})")
            began = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # graphs of single views fall into parts; not the point here
                model.set_params(n_clusters=10, random_state=arguments.seed).fit(given)
            seconds = round(time.perf_counter() - began, 3)
            rows.append(
                {"condition": condition, "system": name, **scores(truth, model.labels_), "seconds": seconds}
            )
            labels[f"{condition}: {name}"] = model.labels_
            models[condition, name] = (model, given)
    bar.draw(1.0, "reports")
    reports = Reports(models["clean", "DGF"][0], digits, truth, arguments.seed)
    bar.erase()
    summary = summarize(rows, models, arguments.seed)
    summary["findings"] += reports.findings()
    with result_folder(arguments.out, arguments.force) as folder:
        write_results(folder, summary, truth, labels, models["clean", "DGF"][0].graph_)
        reports.write(folder)
    if arguments.json:
        show(json.dumps(summary, indent=1))
    else:
        show_summary(summary, arguments.out)
    return 0


class Reports:
    """The pages about two fits: to the views as they are, and to such with some rows of one shuffled."""

    def __init__(self, model: Any, digits: dict[str, Any], truth: Any, seed: int) -> None:
        self.truth, self.model = truth, model
        n = len(truth)
        self.moved = np.random.default_rng(seed).choice(n, round(SHARE * n), replace=False)
        order = np.arange(n)
        order[self.moved] = np.roll(self.moved, 1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of single views whose graphs fall into parts
            self.fusion_help = fusion_help_for(model, digits, truth)
            self.spoiled = clone(model).fit({**digits, SPOILED: digits[SPOILED][order]})
        self.found = inspect(self.spoiled)

    def findings(self) -> list[str]:
        """Say what the pages show."""
        view = list(self.found.samples.names).index(SPOILED)
        flagged = np.flatnonzero(self.found.samples.flagged[:, view])
        right = int(np.isin(flagged, self.moved).sum())
        assert isinstance(self.fusion_help, FusionHelp)
        return [
            f"Does fusing help? {self.fusion_help.sentence}",
            f"With {len(self.moved)} of the {len(self.truth)} rows of {SPOILED!r} shuffled, {len(flagged)} "
            f"rows are flagged as contradicting the other views; {right} of these are really shuffled. "
            "report-spoiled.html shows which.",
        ]

    def write(self, folder: Path) -> None:
        """Write both pages."""
        title = "Six views of handwritten digits"
        command = f"consilience demo --seed {self.model.random_state}"
        write_report(
            folder / "report.html",
            self.model,
            fusion_help=self.fusion_help,
            y=self.truth,
            title=title,
            command=command,
        )
        write_report(
            folder / "report-spoiled.html",
            self.spoiled,
            inspection=self.found,
            y=self.truth,
            title=f"{title}, {SHARE:.0%} of the rows of {SPOILED!r} shuffled",
            command=command,
        )


def warm_up(digits: dict[str, Any]) -> None:
    """Fit every system to a few samples: loading and compiling code is no part of the time of a fit."""
    few = {name: array[:100] for name, array in digits.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for model, given in systems(few).values():
            model.set_params(n_clusters=2, random_state=0).fit(given)


def spoil(digits: dict[str, Any], seed: int) -> dict[str, Any]:
    """Return the views with the rows of one of them in random order: it then describes other samples."""
    order = np.random.default_rng(seed).permutation(len(digits[SPOILED]))
    return {**digits, SPOILED: digits[SPOILED][order]}


def systems(views: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Return name -> (estimator, views to fit it on); all scale the features by the same rule."""
    alone = {f"{name} alone": (AverageGraph(scale="auto"), {name: array}) for name, array in views.items()}
    average = {"average of the graphs": (AverageGraph(scale="auto"), views)}
    return {**alone, **average, **{name: (cls(), views) for name, cls in FUSIONS.items()}}


def summarize(rows: list[dict[str, Any]], models: dict[Any, Any], seed: int) -> dict[str, Any]:
    """Return all figures, ready for JSON, and the sentences that they support."""
    views = [
        {"condition": condition, "system": name, **row}
        for condition in CONDITIONS
        for name in FUSIONS
        for row in view_rows(models[condition, name][0], Views(models[condition, name][1]))
    ]
    return {
        "data": "load_digits_views: 1797 images of handwritten digits in six views, 10 clusters",
        "conditions": CONDITIONS,
        "seed": seed,
        "systems": rows,
        "views": views,
        "findings": findings(rows, views),
        "versions": versions(),
    }


def findings(rows: list[dict[str, Any]], views: list[dict[str, Any]]) -> list[str]:
    """Say in words what the figures show."""
    by_name = {(row["condition"], row["system"]): row["NMI"] for row in rows}
    clean = {name: value for (condition, name), value in by_name.items() if condition == "clean"}
    fused = {name: clean[name] for name in FUSIONS}
    best_name, best = max(((n, v) for n, v in clean.items() if n.endswith("alone")), key=lambda item: item[1])
    sentences = [
        f"The best single view is {best_name.removesuffix(' alone')!r} with NMI {best:.3f}. Fused, the six "
        f"views reach {clean['SGF']:.3f} (SGF) and {clean['DGF']:.3f} (DGF); the plain average of their "
        f"graphs {clean['average of the graphs']:.3f}. {against_the_best(fused, best)}"
    ]
    for name in FUSIONS:
        rows_by_view = {
            condition: {
                row["view"]: row for row in views if (row["condition"], row["system"]) == (condition, name)
            }
            for condition in CONDITIONS
        }
        sentences.append(_on_the_spoiled_view(name, rows_by_view, by_name))
    return sentences


def against_the_best(fused: dict[str, float], best: float) -> str:
    """Say which fusions are better than the best view."""
    better = [name for name, value in fused.items() if value > best]
    others = [name for name in fused if name not in better]
    if not others:
        return f"{listed(better)} are better than the best view."
    if not better:
        return f"{listed(others)} are no better than the best view."
    return f"{listed(better)} is better than the best view, {listed(others)} is not."


def _on_the_spoiled_view(name: str, rows: dict[str, Any], nmi: dict[Any, float]) -> str:
    """Say how a fusion used the spoiled view."""
    left_out = [view for view, row in rows["spoiled"].items() if row["weight"] == 0]
    action = "leaves no view out"
    if left_out:
        rightly = "the spoiled one" if left_out == [SPOILED] else "not just the spoiled one"
        action = f"leaves out {', '.join(map(repr, left_out))}, {rightly}"
    before, now = (rows[condition][SPOILED]["reliability"] for condition in ("clean", "spoiled"))
    others = sorted(row["reliability"] for view, row in rows["spoiled"].items() if view != SPOILED)
    average = "average of the graphs"
    return (
        f"With the rows of {SPOILED!r} shuffled, {name} {action}: its reliability falls from {before:.3f} to "
        f"{now:.3f}, that of the others is {others[0]:.3f} to {others[-1]:.3f}. NMI goes from "
        f"{nmi['clean', name]:.3f} to {nmi['spoiled', name]:.3f}; that of the plain average from "
        f"{nmi['clean', average]:.3f} to {nmi['spoiled', average]:.3f}."
    )


def write_results(
    folder: Path, summary: dict[str, Any], truth: Any, labels: dict[str, Any], graph: Any
) -> None:
    """Write every figure shown, and the labels to compute it from."""
    columns = [np.arange(len(truth)), truth, *labels.values()]
    write_table(folder / "labels.csv", ["sample", "truth", *labels], zip(*columns, strict=True))
    rows = summary["views"]
    write_table(folder / "view_weights.csv", list(rows[0]), [list(row.values()) for row in rows])
    write_graph(folder / "graph.npz", graph)
    write_json(folder / "summary.json", summary)
    (folder / "demo.html").write_text(demo_page(summary), encoding="utf-8")


def show_summary(summary: dict[str, Any], out: Path) -> None:
    """Show the result on the terminal."""
    show(bold("Six views of 1797 handwritten digits, ten clusters"))
    show(f"A view is one description of the same images. 'spoiled': {CONDITIONS['spoiled']}.")
    show("NMI: 1 if the clusters are the digits, 0 if they say nothing. ACC: share of images put right.")
    show()
    show_table(*score_rows(summary))
    show()
    show(VIEW_NOTE)
    for condition, meaning in CONDITIONS.items():
        show()
        show(bold(f"How DGF used each view, {meaning}"))
        rows = [r for r in summary["views"] if (r["condition"], r["system"]) == (condition, "DGF")]
        show_table(
            ["view", "reliability", "contribution", "inconsistent share"],
            [[row["view"], *view_cells(row, "{:.3f}")] for row in rows],
        )
    show()
    for sentence in summary["findings"]:
        show(sentence)
    show()
    show(CHOICE_NOTE)
    show(
        f"Results are in {out}: open report.html, report-spoiled.html and demo.html; labels.csv holds the "
        "labels behind every score."
    )
