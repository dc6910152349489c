"""Figures of `scale`: time and memory as the data grow, and where the time goes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from consilience.inspection.drawing import (
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
    own_style,
)

from .scale_tables import AXES, OURS, Cell, growth, measured

# Each its own colour and mark, so that they differ in grey, too; ours is drawn thicker.
LOOKS = {
    "DGF": (VERMILION, "o"),
    "Average": (BLUE, "s"),
    "MiniBatchKMeans": (GREEN, "^"),
    "spectral, k nearest": (ORANGE, "D"),
    "muon WNN, Leiden": (PURPLE, "v"),
    "SNF": (SKY, "P"),
    "snfpy": (GREY, "X"),
    "spectral, dense": (INK, "*"),
}
STAGES = (GREY, VERMILION, YELLOW, ORANGE, BLUE, SKY, GREEN, PURPLE, INK)
_PANELS = (("seconds", "seconds"), ("megabytes", "megabytes without the libraries"))


def draw(cells: list[Cell], folder: Path) -> list[Path]:
    """Draw all figures for which there are rows, and return their files."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    with own_style():
        if any(cell["axis"] == "n" and "seconds" in cell for cell in cells):
            paths.append(_save(_growth(cells), folder / "scale_n.png"))
            if measured(cells, "n", OURS):
                paths.append(_save(_stages(measured(cells, "n", OURS)), folder / "scale_stages.png"))
        axes = [axis for axis in AXES if axis != "n" and measured(cells, axis, OURS)]
        if axes:
            paths.append(_save(_others(cells, axes), folder / "scale_views_k_features.png"))
    return paths


def _save(figure: Any, path: Path) -> Path:
    figure.savefig(path, dpi=160)
    return path


def _figure(width: float, height: float) -> Any:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _growth(cells: list[Cell]) -> Any:
    """Draw time and memory against n, with the exponents next to the names."""
    figure = _figure(10.4, 4.4)
    panels = figure.subplots(1, 2)
    for panel, (what, words) in zip(panels, _PANELS, strict=True):
        for system in LOOKS:
            _curve(panel, cells, "n", system, what)
        _logarithmic(panel, "samples", words)
        panel.margins(x=0.09)
    handles, names = panels[0].get_legend_handles_labels()
    labels = [f"{name}\n{_powers(measured(cells, 'n', name))}" for name in names]
    figure.legend(
        handles,
        labels,
        loc="outside right center",
        title="exponents of time, memory",
        alignment="left",
        labelspacing=0.9,
    )
    title = "From features to labels: three views, two cores   (the limit that ended a line is at its end)"
    figure.suptitle(title, fontsize=10, x=0.01, ha="left")
    return figure


def _powers(fits: list[Cell]) -> str:
    powers = [growth(fits, what) for what, _ in _PANELS]
    return ", ".join("–" if power is None else f"{power:.2f}" for power in powers)


def _others(cells: list[Cell], axes: list[str]) -> Any:
    """Draw time against the number of views, neighbours and features."""
    figure = _figure(9.6, 3.9)
    panels = figure.subplots(1, len(axes), sharey=True, squeeze=False)[0]
    for panel, axis in zip(panels, axes, strict=True):
        for system in LOOKS:
            _curve(panel, cells, axis, system, "seconds")
        _logarithmic(panel, AXES[axis], "seconds" if panel is panels[0] else "")
        places = sorted({cell["at"] for cell in cells if cell["axis"] == axis})
        panel.set_xticks(places, [f"{place:,}" for place in places])
        panel.minorticks_off()
    shown = {}
    for panel in panels:  # not everybody is in each of them
        handles, names = panel.get_legend_handles_labels()
        shown.update(dict(zip(names, handles, strict=True)))
    n = next(cell["n"] for cell in cells if cell["axis"] == axes[0])
    figure.legend(
        shown.values(),
        shown,
        loc="outside lower center",
        ncols=len(shown),
        columnspacing=1.2,
        handletextpad=0.4,
    )
    figure.suptitle(f"{n:,} samples, two cores", fontsize=10, x=0.01, ha="left")
    return figure


def _curve(panel: Any, cells: list[Cell], axis: str, system: str, what: str) -> None:
    fits = measured(cells, axis, system)
    if not fits:
        return
    from matplotlib.patheffects import withStroke

    colour, mark = LOOKS[system]
    at, values = [cell["at"] for cell in fits], [max(cell[what], 1e-3) for cell in fits]
    ours = system == OURS
    panel.plot(
        at,
        values,
        color=colour,
        marker=mark,
        markersize=6 if ours else 5,
        linewidth=2.4 if ours else 1.2,
        zorder=3 if ours else 2,
        label=system,
    )
    limit = next((_limit(cell) for cell in cells if _is_end(cell, axis, system)), "")
    if limit:  # what it came to on the next size
        panel.annotate(
            limit,
            (at[-1], values[-1]),
            (8, -2),
            textcoords="offset points",
            color=colour,
            fontsize=7,
            path_effects=[withStroke(linewidth=2.5, foreground="white")],
        )


def _is_end(cell: Cell, axis: str, system: str) -> bool:
    return (cell["axis"], cell["system"]) == (axis, system) and "stopped" in cell


def _limit(cell: Cell) -> str:
    """Return the limit that a system ran into, in short."""
    words = cell["stopped"].split()
    if words[:2] in (["stopped", "at"], ["stopped", "after"]):
        return f"> {words[2]} {words[3]}"
    return "refused: memory" if words[0] == "MemoryError:" else "crashes"


def _logarithmic(panel: Any, across: str, up: str) -> None:
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.set_xlabel(across)
    panel.set_ylabel(up)
    panel.grid(True, which="major")
    panel.spines[["top", "right"]].set_visible(False)


def _stages(fits: list[Cell]) -> Any:
    """Draw where the time goes, in microseconds a sample: bars of one height mean linear growth."""
    figure = _figure(9.6, 4.2)
    left, right = figure.subplots(1, 2)
    names = list(dict.fromkeys(name for cell in fits for name in cell["timings"]))
    across = np.arange(len(fits))
    bottom = np.zeros(len(fits))
    for name, colour in zip(names, STAGES, strict=False):
        height = np.array([1e6 * cell["timings"].get(name, 0.0) / cell["n"] for cell in fits])
        left.bar(
            across, height, 0.7, bottom=bottom, color=colour, edgecolor="white", linewidth=0.5, label=name
        )
        bottom += height
        peaks = [cell["peaks"].get(name, np.nan) for cell in fits]
        right.plot([cell["n"] for cell in fits], peaks, color=colour, marker="o", markersize=4, label=name)
    left.set_xticks(across, [f"{cell['n']:,}" for cell in fits], rotation=30, ha="right")
    left.set_xlabel("samples")
    left.set_ylabel("microseconds a sample")
    left.grid(True, axis="y", color=PALE)
    left.spines[["top", "right"]].set_visible(False)
    _logarithmic(right, "samples", "megabytes at most, without the libraries")
    handles, words = left.get_legend_handles_labels()
    figure.legend(handles, words, loc="outside right center", title=f"stages of {OURS}", alignment="left")
    return figure
