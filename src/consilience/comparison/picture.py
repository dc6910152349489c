"""The picture of a comparison as SVG, written by hand: nothing to install, nothing to load.

Colours are safe for the colour-blind. What is drawn carries its colours for a light background as attributes,
which every program that shows SVG understands; a style sheet replaces them where a dark one is preferred.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray

FONT = 12  # pixels
LONGEST = 22  # letters of a name; what is beyond is cut
ROW = 24  # height of a system's row
CELL = 34  # side of a square of the heat map
MARGIN = 12
INK, PALE, PAPER, BLUE, RED = "#1b1b1b", "#6b6b6b", "#ffffff", "#0072b2", "#c2500a"
LIGHTEST, DARKEST = (238, 243, 249), (8, 69, 148)  # of the heat map, at 0 and at 1
STYLE = (
    "<style>@media (prefers-color-scheme: dark) { .cs-paper { fill: #121212 } .cs-ink { fill: #ececec } "
    ".cs-pale { fill: #a8a8a8 } .cs-line { stroke: #4a4a4a } .cs-first { fill: #56b4e9 } "
    ".cs-second { fill: #f09a5c } .cs-spread { stroke: #ececec } }</style>"
)


@dataclass(frozen=True)
class Row:
    """A system: a value from 0 to 1 and its spread, its seconds, or what to say in their place."""

    name: str
    value: float | None = None
    spread: float | None = None
    seconds: float | None = None
    note: str = ""


@dataclass(frozen=True)
class Panel:
    """A part of the picture: what is drawn, in a frame of this size, and what it shows."""

    content: str
    width: float
    height: float
    meaning: str


def bars(rows: Sequence[Row], title: str, subtitle: str) -> Panel:
    """Draw one row per system: a bar for its value, a dot for its time on a logarithmic scale."""
    wide, narrow, figures = 150, 110, 46
    left = MARGIN + _width_of([row.name for row in rows]) + 10
    second = left + wide + figures + 34
    top, bottom = MARGIN + 44, MARGIN + 44 + ROW * len(rows)
    scale = _Decades.around([row.seconds for row in rows if row.seconds is not None], second, narrow)
    parts = [_heading(left, title, subtitle), _heading(second, "seconds", "of one fit, log scale")]
    for at in (0, 0.5, 1):
        parts.append(_guide(left + wide * at, top, bottom, f"{at:g}"))
    for x, text in scale.ticks:
        parts.append(_guide(x, top, bottom, text))
    for i, row in enumerate(rows):
        y = top + ROW * (i + 0.5)
        parts.append(_text(left - 10, y, _cut(row.name), anchor="end", hint=row.name))
        if row.value is not None:
            parts.append(_bar(left, y, wide, row.value, row.spread))
            parts.append(_text(left + wide + 8, y, f"{row.value:.3f}"))
        elif row.note:
            parts.append(_text(left + 6, y, row.note, pale=True))
        if row.seconds is not None:
            parts.append(f'<circle class="cs-second" cx="{scale.at(row.seconds):.1f}" cy="{y}" r="4.5" ')
            parts.append(f'fill="{RED}"/>' + _text(second + narrow + 10, y, _seconds(row.seconds)))
    width = second + narrow + 10 + figures + MARGIN
    return Panel("".join(parts), width, bottom + 26 + MARGIN, f"{title} and seconds of every system")


def heat_map(names: Sequence[str], agreement: NDArray[np.float64], order: Sequence[int]) -> Panel:
    """Draw the agreement of each system with each, in this order."""
    side = _width_of(names)
    title, subtitle = "Agreement of the systems (ARI)", "those that agree are side by side"
    left, top = MARGIN + side + 10, MARGIN + 44 + side + 4
    parts = [_heading(MARGIN, title, subtitle)]
    for row, i in enumerate(order):
        y = top + CELL * (row + 0.5)
        parts.append(_text(left - 10, y, _cut(names[i]), anchor="end", hint=names[i]))
        x = left + CELL * (row + 0.5)
        parts.append(_text(x, top - 8, _cut(names[i]), upright=True, hint=names[i]))
        for column, j in enumerate(order):
            parts.append(_cell(left + CELL * column, top + CELL * row, agreement[i, j], i == j))
    width = max(left + CELL * len(order), MARGIN + 7.2 * len(title)) + MARGIN
    return Panel("".join(parts), width, top + CELL * len(order) + MARGIN, title)


def inline(panel: Panel) -> str:
    """Return a panel as a part of an HTML page."""
    return _svg(panel.content, panel.width, panel.height, panel.meaning, space="")


def side_by_side(panels: Sequence[Panel]) -> str:
    """Return the panels as one SVG file."""
    parts, x = [], 0.0
    for panel in panels:
        parts.append(f'<g transform="translate({x:.0f} 0)">{panel.content}</g>')
        x += panel.width + 2 * MARGIN
    height = max(panel.height for panel in panels)
    meaning = "; ".join(panel.meaning for panel in panels)
    space = 'xmlns="http://www.w3.org/2000/svg" '
    return _svg("".join(parts), x - 2 * MARGIN, height, meaning, space) + "\n"


def _svg(content: str, width: float, height: float, meaning: str, space: str) -> str:
    return (
        f'<svg {space}width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'role="img" aria-label="{escape(meaning)}" font-family="system-ui, sans-serif" font-size="{FONT}">'
        f'{STYLE}<rect class="cs-paper" width="100%" height="100%" fill="{PAPER}"/>{content}</svg>'
    )


@dataclass(frozen=True)
class _Decades:
    """A logarithmic scale from one power of ten to another, over a stretch of the picture."""

    low: int
    high: int
    left: float
    width: float

    @classmethod
    def around(cls, values: Sequence[float], left: float, width: float) -> _Decades:
        logs = [math.log10(max(value, 1e-3)) for value in values] or [0.0]
        low = math.floor(min(logs))
        return cls(low, max(math.ceil(max(logs)), low + 1), left, width)

    def at(self, value: float) -> float:
        share = (math.log10(max(value, 1e-3)) - self.low) / (self.high - self.low)
        return self.left + self.width * share

    @property
    def ticks(self) -> list[tuple[float, str]]:
        step = -(-(self.high - self.low) // 3)  # no more than four, or their texts would touch
        return [(self.at(10.0**power), f"{10.0**power:g}") for power in range(self.low, self.high + 1, step)]


def _cut(name: str) -> str:
    return name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"


def _width_of(names: Sequence[str]) -> float:
    """Return a width that the longest name does not exceed in any usual font."""
    return 0.68 * FONT * max((len(_cut(name)) for name in names), default=0)


def _seconds(value: float) -> str:
    return f"{value:.3f}" if value < 0.1 else f"{value:.2f}" if value < 10 else f"{value:.0f}"


def _text(
    x: float,
    y: float,
    text: str,
    *,
    anchor: str = "start",
    pale: bool = False,
    bold: bool = False,
    upright: bool = False,
    hint: str = "",
) -> str:
    """Draw text, its middle at this height; `upright` reads from bottom to top."""
    css, fill = ("cs-pale", PALE) if pale else ("cs-ink", INK)
    turn = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if upright else ""
    weight = ' font-weight="600"' if bold else ""
    title = f"<title>{escape(hint)}</title>" if hint and hint != text else ""
    return (
        f'<text class="{css}" x="{x:.1f}" y="{y:.1f}" dy="0.35em" text-anchor="{anchor}" fill="{fill}"'
        f"{weight}{turn}>{title}{escape(text)}</text>"
    )


def _heading(x: float, title: str, subtitle: str) -> str:
    return _text(x, MARGIN + 6, title, bold=True) + _text(x, MARGIN + 24, subtitle, pale=True)


def _guide(x: float, top: float, bottom: float, text: str) -> str:
    line = f'<line class="cs-line" x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{bottom + 4}" stroke="#d5d5d5"/>'
    return line + _text(x, bottom + 14, text, anchor="middle", pale=True)


def _bar(left: float, y: float, width: float, value: float, spread: float | None) -> str:
    """Draw a bar from 0, and a line over one spread to both sides of its end."""
    inside = [left + width * min(max(end, 0.0), 1.0) for end in (value, value - (spread or 0.0))]
    inside.append(left + width * min(max(value + (spread or 0.0), 0.0), 1.0))
    end, low, high = inside
    drawn = (
        f'<rect class="cs-first" x="{left:.1f}" y="{y - 7:.1f}" width="{end - left:.1f}" height="14" '
        f'rx="1.5" fill="{BLUE}"/>'
    )
    if high - low >= 1:
        drawn += (
            f'<path class="cs-spread" d="M{low:.1f} {y:.1f}H{high:.1f}M{low:.1f} {y - 3.5:.1f}v7'
            f'M{high:.1f} {y - 3.5:.1f}v7" stroke="{INK}" stroke-width="1.3" fill="none"/>'
        )
    return drawn


def _cell(x: float, y: float, value: float, itself: bool) -> str:
    if itself:
        return ""
    share = min(max(value, 0.0), 1.0)
    colour = ",".join(f"{a + share * (b - a):.0f}" for a, b in zip(LIGHTEST, DARKEST, strict=True))
    ink = PAPER if share > 0.62 else INK
    return (
        f'<rect x="{x + 1:.1f}" y="{y + 1:.1f}" width="{CELL - 2}" height="{CELL - 2}" rx="2" '
        f'fill="rgb({colour})"/><text x="{x + CELL / 2:.1f}" y="{y + CELL / 2:.1f}" dy="0.35em" '
        f'text-anchor="middle" font-size="{FONT - 1}" fill="{ink}">{value:.2f}</text>'
    )
