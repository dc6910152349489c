"""Figures of scores: every system next to the paper's, without tuning, and next to the versions of 2019."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..inspection.drawing import GREY, INK, list_on_y, log_axis
from .definitions import Paper
from .drawing import WIDTH, colour_of, new_figure, new_panels, span, spread
from .rows import Row, in_order, known, seen_views, set_title, system_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLUMNS = 4  # panels side by side
_FAR = 10.0  # points of difference with the strongest colour


def draw_scores(rows: Sequence[Row], paper: Paper) -> dict[str, Figure]:
    """Draw the main table: NMI of every system on every set, and all differences from the paper."""
    metric = paper.experiments.grid.select_by
    figures = {
        "scores": dots_per_set(rows, paper, metric, f"{metric} (%)", f"{metric}_std", f"{metric}_paper")
    }
    if known(rows, f"{metric}_difference"):
        figures["scores-differences"] = _differences(rows, paper)
    return {stem: figure for stem, figure in figures.items() if figure is not None}


def dots_per_set(
    rows: Sequence[Row],
    paper: Paper,
    column: str,
    label: str,
    error: str,
    printed: str,
    logarithmic: bool = False,
) -> Figure | None:
    """Draw one panel per set, with the systems as its rows: ours as dots, the paper's as diamonds."""
    sets = in_order(known(rows, column), "set")
    if not sets:
        return None
    systems = in_order(rows, "system")
    columns = min(_COLUMNS, len(sets))
    figure, panels = new_panels(
        len(sets),
        columns,
        0.17 * len(systems) + 0.75,
        width=1.2 + (WIDTH - 1.2) * columns / _COLUMNS,
        gridspec_kw={"wspace": 0.07},
    )
    for number, (panel, data) in enumerate(zip(panels, sets, strict=True)):
        here = {row["system"]: row for row in rows if row["set"] == data}
        values = [row[name] for name in (column, printed) for row in known(list(here.values()), name)]
        if logarithmic:
            log_axis(panel.xaxis, values)
        else:
            panel.set_xlim(*span(values))
        names = [system_title(paper, name) for name in systems]
        list_on_y(panel, names if number % columns == 0 else [""] * len(systems))
        panel.set_title(set_title(paper, data), fontweight="bold")
        for y, name in enumerate(systems):
            _dot(panel, here.get(name, {}), y, column, error, printed)
    figure.supxlabel(label, fontsize=8)
    _explain(figure, ["ours", "the paper's"])
    return figure


def _dot(panel: Axes, row: Row, y: float, column: str, error: str, printed: str) -> None:
    if known([row], printed):
        panel.plot(
            row[printed], y, "D", color=GREY, markerfacecolor="none", markersize=6.5, zorder=2, clip_on=False
        )
    if known([row], column):
        panel.errorbar(
            row[column],
            y,
            xerr=row.get(error) or 0.0,
            fmt="o",
            color=colour_of(row["system"]) if row["system"] in ("SGF", "DGF") else INK,
            markersize=4.5,
            elinewidth=1,
            zorder=3,
            clip_on=False,
        )
    elif row:
        _absent(panel, row.get(printed), y)


def _absent(panel: Axes, printed: float | None, y: float) -> None:
    """Say that there is no result, where the mark of the paper is not."""
    middle = panel.transLimits.transform(panel.transScale.transform((printed or 0.0, y)))[0]
    x = 0.75 if printed is not None and middle < 0.5 else 0.25
    panel.text(x, y, "no result", transform=panel.get_yaxis_transform(), ha="center", va="center", color=GREY)


def _explain(figure: Figure, kinds: Sequence[str]) -> None:
    """Say above the panels what the marks mean."""
    from matplotlib.lines import Line2D

    marks = {
        "ours": Line2D([], [], marker="o", color=INK, linestyle="", markersize=4.5),
        "the paper's": Line2D(
            [], [], marker="D", color=GREY, markerfacecolor="none", linestyle="", markersize=6.5
        ),
    }
    figure.legend([marks[kind] for kind in kinds], kinds, loc="outside upper right", ncols=len(kinds))


def _differences(rows: Sequence[Row], paper: Paper) -> Figure:
    """Draw ours minus the paper's as a table of coloured numbers, one per metric."""
    metrics = paper.experiments.metrics
    sets = in_order(known(rows, f"{metrics[0]}_difference"), "set")
    systems = in_order(rows, "system")
    cells = {(row["set"], row["system"]): row for row in rows}
    figure, panels = new_panels(len(metrics), 2, 0.24 * len(sets) + 0.75)
    for number, (panel, metric) in enumerate(zip(panels, metrics, strict=True)):
        values = np.full((len(sets), len(systems)), np.nan)
        for (i, data), (j, name) in ((i, j) for i in enumerate(sets) for j in enumerate(systems)):
            value = cells.get((data, name), {}).get(f"{metric}_difference")
            values[i, j] = np.nan if value is None else value
        panel.imshow(values, cmap="PuOr", vmin=-_FAR, vmax=_FAR, aspect="auto", interpolation="none")
        for (i, j), value in np.ndenumerate(values):
            if math.isfinite(value):
                colour = "white" if abs(value) > 0.5 * _FAR else INK
                panel.text(j, i, _signed(value), ha="center", va="center", color=colour, fontsize=7)
        panel.set_title(f"{metric}: ours minus the paper's", fontweight="bold")
        panel.set_xticks(
            range(len(systems)), [system_title(paper, name).replace(" ", "\n") for name in systems]
        )
        panel.set_yticks(
            range(len(sets)),
            [set_title(paper, name) for name in sets] if number % 2 == 0 else [""] * len(sets),
        )
        panel.tick_params(length=0)
    return figure


def _signed(value: float) -> str:
    """Return a difference with its sign; none for what is nothing as printed.

    Examples
    --------
    >>> _signed(1.26), _signed(-0.04)
    ('+1.3', '0.0')
    """
    return f"{value:+.1f}" if abs(value) >= 0.05 else "0.0"


def draw_untuned(rows: Sequence[Row], paper: Paper) -> dict[str, Figure]:
    """Draw NMI without tuning at few and at many neighbours, the weight in E, and the scales."""
    metric = paper.experiments.grid.select_by
    rows = known(rows, metric)
    if not rows:
        return {}
    sets, systems = in_order(rows, "set"), in_order(rows, "system")
    figure = new_figure(WIDTH, 0.36 * len(sets) + 1.3)
    panels = figure.subplots(1, 3, width_ratios=(2, 1.2, 1.2), sharey=True, gridspec_kw={"wspace": 0.06})
    few = min(in_order(rows, "n_neighbors"))
    for row in rows:
        y = sets.index(row["set"]) + spread(systems.index(row["system"]), len(systems), 0.4)
        is_few = row["n_neighbors"] == few
        filled = colour_of(row["system"]) if is_few else "white"
        style: dict[str, Any] = {
            "color": colour_of(row["system"]),
            "markerfacecolor": filled,
            "markersize": 5,
        }
        if is_few and known([row], f"{metric}_paper"):
            panels[0].plot(row[f"{metric}_paper"], y, "D", color=GREY, markerfacecolor="none", markersize=5)
        panels[0].plot(row[metric], y, "o" if is_few else "s", **style)
        if is_few:
            seen = seen_views(row)
            panels[1].plot([100 * share for share, _ in seen], [y] * len(seen), "o", alpha=0.75, **style)
            relative = [scale * len(seen) for _, scale in seen]
            panels[2].plot([min(relative), max(relative)], [y, y], "-", color=colour_of(row["system"]))
            panels[2].plot(relative, [y] * len(relative), "o", alpha=0.75, **style)
    shares = [100 * share for row in rows for share, _ in seen_views(row) if share > 0]
    log_axis(panels[1].xaxis, shares or [1.0])
    panels[2].locator_params(axis="x", nbins=5)
    panels[2].axvline(1, color=GREY, linewidth=0.8, zorder=0)
    for panel, label in zip(
        panels,
        (f"{metric} (%)", "weight of a view that is in E (%)", r"scale $\alpha$ of a view, times $v$"),
        strict=True,
    ):
        list_on_y(panel, [set_title(paper, name) for name in sets])
        panel.set_xlabel(label)
    _legend_of_untuned(figure, systems, sorted(in_order(rows, "n_neighbors")), paper)
    return {"no-tuning": figure}


def _legend_of_untuned(
    figure: Figure, systems: Sequence[str], neighbours: Sequence[int], paper: Paper
) -> None:
    from matplotlib.lines import Line2D

    handles, texts = [], []
    for name in systems:
        for k in neighbours:
            first = k == neighbours[0]
            colour = colour_of(name)
            handles.append(
                Line2D(
                    [],
                    [],
                    linestyle="",
                    marker="o" if first else "s",
                    color=colour,
                    markerfacecolor=colour if first else "white",
                    markersize=5,
                )
            )
            texts.append(f"{system_title(paper, name)}, k = {k}")
    handles.append(Line2D([], [], linestyle="", marker="D", color=GREY, markerfacecolor="none", markersize=5))
    texts.append("the paper's, tuned")
    figure.legend(handles, texts, loc="outside upper center", ncols=len(texts))


def draw_2019(rows: Sequence[Row], paper: Paper) -> dict[str, Figure]:
    """Draw what each method gained, or lost, since 2019."""
    metric = paper.experiments.grid.select_by
    rows = known(rows, metric)
    found = {(row["set"], row["system"]): row[metric] for row in rows}
    pairs = [(name, system.revises) for name, system in paper.systems.items() if system.revises]
    sets = in_order(rows, "set")
    if not sets:
        return {}
    figure = new_figure(WIDTH, 0.28 * len(sets) + 1.0)
    panels = figure.subplots(1, len(pairs), sharex=True, sharey=True, squeeze=False)[0]
    for panel, (new, old) in zip(panels, pairs, strict=True):
        list_on_y(panel, [set_title(paper, name) for name in sets])
        for y, data in enumerate(sets):
            before, after = found.get((data, old)), found.get((data, new))
            if before is not None:
                panel.plot(before, y, "o", color=INK, markerfacecolor="white", markersize=6, zorder=3)
            if after is not None:
                panel.plot(after, y, "o", color=colour_of(new), markersize=6, zorder=4)
            if before is not None and after is not None:
                panel.plot([before, after], [y, y], color=colour_of(new), linewidth=2, zorder=2)
        panel.set_title(
            f"{system_title(paper, old)} (hollow) and {system_title(paper, new)} (filled)", fontweight="bold"
        )
        panel.set_xlabel(f"{metric} (%)")
        panel.margins(x=0.08)
    return {"2019": figure}
