"""The figure: for each data set, what the order of the rows is worth. SVG, written by hand.

Colours are safe for the colour-blind; a style sheet replaces them where a dark background is preferred.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .study import AVERAGE, SAMPLES

ROW, LEFT, WIDE, TOP, MARGIN = 28, 178, 420, 78, 14
INK, PALE, PAPER, LINE, RED, BLUE = "#1b1b1b", "#6b6b6b", "#ffffff", "#d5d5d5", "#c2500a", "#0072b2"
STYLE = (
    "<style>@media (prefers-color-scheme: dark) { .paper { fill: #121212 } .ink { fill: #ececec } "
    ".pale { fill: #a8a8a8 } .line { stroke: #4a4a4a } .mark { stroke: #ececec } .sorted { fill: #f09a5c } "
    ".shuffled { fill: #56b4e9 } }</style>"
)
TITLE = "What the order of the rows is worth"


def draw(cells: list[dict[str, Any]]) -> str:
    """Return the figure of the results of kind "order"."""
    ranked = sorted(cells, key=lambda cell: _gap(cell["scores"][SAMPLES]), reverse=True)
    bottom = TOP + ROW * len(ranked)
    width, height = LEFT + WIDE + 3 * MARGIN, bottom + 30
    parts = [
        _text(MARGIN, 20, TITLE, weight=600),
        _text(MARGIN, 38, "NMI in percent of a t-SVD tensor method, FFT along the samples", css="pale"),
        _legend(58),
    ]
    for value in range(0, 101, 20):
        x = _x(value / 100)
        parts.append(f'<line class="line" x1="{x}" x2="{x}" y1="{TOP}" y2="{bottom}" stroke="{LINE}"/>')
        parts.append(_text(x, bottom + 14, str(value), css="pale", anchor="middle"))
    for i, cell in enumerate(ranked):
        parts.append(_row(cell, TOP + ROW * (i + 0.5)))
    meaning = (
        f"{TITLE}: NMI sorted by class, shuffled, and of the average of graphs, on {len(ranked)} data sets"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" aria-label="{meaning}" '
        f'font-family="system-ui, sans-serif" font-size="12">{STYLE}'
        f'<rect class="paper" width="100%" height="100%" fill="{PAPER}"/>{"".join(parts)}</svg>\n'
    )


def _gap(score: dict[str, Any]) -> float:
    return float(score["sorted"] - np.mean(score["shuffled"]))


def _row(cell: dict[str, Any], y: float) -> str:
    """Draw a line from the shuffled orders to the sorted one, and a mark for the average of the graphs."""
    score, average = cell["scores"][SAMPLES], cell["scores"][AVERAGE]
    start, end = _x(float(np.mean(score["shuffled"]))), _x(score["sorted"])
    dots = [_dot(_x(value), y, "shuffled", 3.5) for value in score["shuffled"]]
    mark = _mark(_x(float(np.mean(average["shuffled"]))), y)
    return (
        _text(LEFT - 10, y, cell["set"], anchor="end")
        + f'<line class="line" x1="{start}" x2="{end}" y1="{y}" y2="{y}" stroke="{LINE}" stroke-width="3"/>'
        + mark
        + "".join(dots)
        + _dot(end, y, "sorted", 5.5)
    )


def _legend(y: float) -> str:
    return (
        _dot(MARGIN + 6, y, "sorted", 5.5)
        + _text(MARGIN + 17, y, "rows sorted by class")
        + _dot(MARGIN + 166, y, "shuffled", 3.5)
        + _text(MARGIN + 175, y, "rows shuffled, 5 times")
        + _mark(MARGIN + 330, y)
        + _text(MARGIN + 338, y, "plain average of the graphs")
    )


def _x(share: float) -> float:
    return round(LEFT + WIDE * share, 1)


def _dot(x: float, y: float, css: str, radius: float) -> str:
    fill = RED if css == "sorted" else BLUE
    return f'<circle class="{css}" cx="{x}" cy="{y}" r="{radius}" fill="{fill}"/>'


def _mark(x: float, y: float) -> str:
    return f'<path class="mark" d="M{x} {y - 9}v18" stroke="{INK}" stroke-width="2"/>'


def _text(
    x: float, y: float, text: str, *, css: str = "ink", anchor: str = "start", weight: int = 400
) -> str:
    fill = PALE if css == "pale" else INK
    return (
        f'<text class="{css}" x="{x}" y="{y}" dy="0.35em" text-anchor="{anchor}" fill="{fill}" '
        f'font-weight="{weight}">{text}</text>'
    )
