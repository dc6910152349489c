"""The figure of `searches`: what each library finds in what time."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

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

from .search_tables import RECALL, Cell

# Each its own colour and mark, so that they differ in grey, too; ours is drawn larger.
LOOKS = {
    "ours, approximate": (VERMILION, "o"),
    "ours, exact": (VERMILION, "D"),
    "faiss, fast scan": (BLUE, "s"),
    "faiss, lists": (SKY, "^"),
    "faiss, HNSW": (GREEN, "v"),
    "faiss, NNDescent": (YELLOW, "P"),
    "faiss, exact": (GREY, "X"),
    "scann": (ORANGE, "<"),
    "pynndescent": (PURPLE, ">"),
    "hnswlib": (INK, "*"),
    "usearch": (GREY, "h"),
    "scikit-learn, exact": (INK, "d"),
}
_TICKS = (1, 2, 5, 10, 20, 50, 100, 200, 500)  # seconds


def draw(cells: list[Cell], path: Path) -> Path | None:
    """Draw recall against seconds of the processors, a panel for each data; None if nothing was measured."""
    from matplotlib.figure import Figure

    measured = [cell for cell in cells if "recall" in cell]
    places = list(dict.fromkeys((cell["name"], cell["n"]) for cell in measured))
    if not places:
        return None
    across = min(3, math.ceil(math.sqrt(len(places))))
    rows = math.ceil(len(places) / across)
    with own_style():
        figure = Figure(figsize=(10.4, 0.9 + 2.7 * rows), layout="constrained")
        panels = figure.subplots(rows, across, sharex=True, squeeze=False).ravel()
        for panel, (name, n) in zip(panels, places, strict=False):
            _panel(panel, [cell for cell in measured if (cell["name"], cell["n"]) == (name, n)])
            panel.set_title(f"{name}, n = {n:,}", fontsize=9)
        for panel in panels[len(places) :]:
            panel.set_visible(False)
        for panel in panels[::across]:
            panel.set_ylabel("recall")
        for panel in panels[len(places) - across : len(places)]:
            panel.set_xlabel("seconds of the processors, in all")
        _plain_ticks(panels[0], [cell["cpu"] for cell in measured])
        shown = {}
        for panel in panels:
            handles, words = panel.get_legend_handles_labels()
            shown.update(dict(zip(words, handles, strict=True)))
        names = [name for name in LOOKS if name in shown]
        figure.legend(
            [shown[name] for name in names], names, loc="outside lower center", ncols=6, columnspacing=1.4
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=160)
    return path


def _panel(panel: Any, cells: list[Cell]) -> None:
    panel.axhline(RECALL, color=PALE, linewidth=1.0, zorder=0)
    for library, (colour, mark) in LOOKS.items():
        found = sorted((cell["cpu"], cell["recall"]) for cell in cells if cell["library"] == library)
        if not found:
            continue
        ours = library.startswith("ours")
        panel.plot(
            *zip(*found, strict=True),
            color=colour,
            marker=mark,
            markersize=9 if ours else 5,
            linewidth=1.0,
            zorder=3 if ours else 2,
            label=library,
        )
    panel.set_xscale("log")
    panel.grid(True, which="major", color=PALE)
    panel.spines[["top", "right"]].set_visible(False)


def _plain_ticks(panel: Any, seconds: list[float]) -> None:
    """Label the axis that all panels share by plain numbers."""
    ticks = [tick for tick in _TICKS if min(seconds) / 2 < tick < 2 * max(seconds)]
    panel.set_xticks(ticks, [str(tick) for tick in ticks])
    panel.minorticks_off()
