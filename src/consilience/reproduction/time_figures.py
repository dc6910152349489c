"""Figures of times: every system, the stages of SGF and DGF, growth with the problem, and eigengaps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..inspection.drawing import (
    BLUE,
    GREEN,
    GREY,
    INK,
    ORANGE,
    PALE,
    PURPLE,
    SKY,
    VERMILION,
    YELLOW,
    list_on_y,
    log_axis,
    plain,
)
from .definitions import Paper
from .drawing import WIDTH, colour_of, new_figure
from .rows import Row, in_order, known, set_title, system_title
from .score_figures import dots_per_set

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Stages of a fit in their order, and how to call them; the fusion is the one to look at.
STAGES = {
    "prepare": ("checking the data", PALE),
    "search": ("neighbours", SKY),
    "connect": ("shared edges", BLUE),
    "weigh": ("edge weights", YELLOW),
    "fuse": ("graph learning", VERMILION),
    "sparsify": ("sparsifying", GREY),
    "embed": ("eigenvectors", ORANGE),
    "label": ("k-means", GREEN),
}
_OTHER = PURPLE
SMALLEST_GAP = 1e-6  # below it an eigengap is rounding: drawn there, on a logarithmic axis


def draw_times(rows: Sequence[Row], paper: Paper) -> dict[str, Figure]:
    """Draw the table of times, and how SGF and DGF spend theirs."""
    figures = {
        "times": dots_per_set(rows, paper, "seconds", "seconds", "seconds_std", "paper", logarithmic=True),
        "times-stages": _stages(rows, paper),
    }
    return {stem: figure for stem, figure in figures.items() if figure is not None}


def _stages(rows: Sequence[Row], paper: Paper) -> Figure | None:
    own = [row for row in rows if paper.systems[row["system"]].revises and row.get("stages")]
    if not own:
        return None
    own.sort(key=lambda row: (in_order(rows, "set").index(row["set"]), row["system"] != "SGF"))
    present = [stage for stage in STAGES if any(stage in row["stages"] for row in own)]
    others = [
        stage for stage in in_order([{"s": s} for r in own for s in r["stages"]], "s") if stage not in STAGES
    ]
    figure = new_figure(WIDTH, 0.2 * len(own) + 1.0)
    panel = figure.subplots()
    left = np.zeros(len(own))
    for stage in [*present, *others]:
        name, colour = STAGES.get(stage, (stage, _OTHER))
        widths = np.array([100 * row["stages"].get(stage, 0.0) for row in own])
        panel.barh(range(len(own)), widths, left=left, height=0.78, color=colour, label=name)
        left += widths
    for y, row in enumerate(own):
        share = row["stages"].get("fuse")
        if share is not None:
            panel.text(101, y, f"{100 * share:.1f} %", va="center", color=VERMILION, fontsize=7.5)
    names = [f"{set_title(paper, row['set'])}  {system_title(paper, row['system'])}" for row in own]
    list_on_y(panel, names)
    panel.grid(visible=False)
    panel.set_xlim(0, 107)
    panel.set_xticks(range(0, 101, 20))
    panel.set_xlabel("share of the time of a fit (%); on the right that of graph learning")
    figure.legend(
        loc="outside upper center", ncols=len(present) + len(others), handlelength=1.2, columnspacing=1.2
    )
    return figure


def draw_complexity(rows: Sequence[Row], paper: Paper) -> dict[str, Figure]:
    """Draw the time of the fusion against neighbours, samples and views, with the slopes."""
    rows = known(rows, "seconds")
    factors = [
        factor for factor in paper.experiments.complexity.factors if factor.name in in_order(rows, "factor")
    ]
    if not factors:
        return {}
    figure = new_figure(WIDTH, 3.3)
    panels = figure.subplots(1, len(factors), sharey=True, squeeze=False)[0]
    for panel, factor in zip(panels, factors, strict=True):
        here = [row for row in rows if row["factor"] == factor.name]
        _growth(panel, here, factor.name)
        fixed = ", ".join(f"{name} = {value:,}" for name, value in factor.fixed.items())
        panel.set_xlabel(f"{factor.title} {factor.name}   ({fixed})")
    log_axis(panels[0].yaxis, [row["seconds"] for row in rows])
    panels[0].set_ylabel("seconds")
    return {"complexity": figure}


def _growth(panel: Axes, rows: Sequence[Row], name: str) -> None:
    from matplotlib.ticker import NullLocator

    sizes = np.array([row[name] for row in rows], dtype=float)
    seconds = np.array([row["seconds"] for row in rows])
    slope, error, claimed = (rows[0][key] for key in ("exponent", "exponent_error", "paper_exponent"))
    middle, level = np.exp(np.log(sizes).mean()), np.exp(np.log(seconds).mean())
    panel.set_xscale("log")
    panel.plot(
        sizes,
        level * (sizes / middle) ** claimed,
        "--",
        color=GREY,
        label=f"the paper's exponent, {claimed:g}",
    )
    fitted = f"fitted: {slope:.2f} ± {error:.2f}"
    panel.plot(sizes, level * (sizes / middle) ** slope, "-", color=BLUE, label=fitted)
    panel.plot(sizes, seconds, "o", color=INK, markersize=5)
    panel.set_xticks(sizes, [plain(size) for size in sizes])
    panel.xaxis.set_minor_locator(NullLocator())
    panel.grid()
    panel.legend(loc="upper left")


def draw_eigengaps(rows: Sequence[Row], paper: Paper) -> dict[str, Figure]:
    """Draw the eigengaps of the graphs of single views and of the learned ones, and the eigen-solves."""
    rows = known(known(rows, "eigengap"), "seconds")
    sets = in_order(rows, "set")
    if not sets:
        return {}
    figure = new_figure(WIDTH, 0.34 * len(sets) + 1.2)
    panels = figure.subplots(1, 2, sharey=True)
    series: list[tuple[str, str | None, float]] = [("a single view", None, -0.2)]
    series += [(name, name, 0.2 * place) for place, name in enumerate(("SGF", "DGF"))]
    for label, name, shift in series:
        here = [row for row in rows if (row["graph"] in ("SGF", "DGF")) == (name is not None)]
        here = [row for row in here if name in (None, row["graph"])]
        y = [sets.index(row["set"]) + shift for row in here]
        style = {"linestyle": "", "marker": "o", "markersize": 5 if name else 4}
        colour = colour_of(label)
        gaps = [max(row["eigengap"], SMALLEST_GAP) for row in here]
        panels[0].plot(gaps, y, color=colour, alpha=0.9, label=label, **style)
        panels[1].plot([1000 * row["seconds"] for row in here], y, color=colour, alpha=0.9, **style)
    log_axis(panels[0].xaxis, [max(row["eigengap"], SMALLEST_GAP) for row in rows])
    log_axis(panels[1].xaxis, [1000 * row["seconds"] for row in rows])
    for panel, label in zip(panels, ("eigengap", "eigen-solve (milliseconds)"), strict=True):
        list_on_y(panel, [set_title(paper, name) for name in sets])
        panel.set_xlabel(label)
    figure.legend(loc="outside upper center", ncols=3)
    return {"eigengaps": figure}
