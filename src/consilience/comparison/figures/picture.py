"""The picture of a comparison as SVG, written by hand: nothing to install, nothing to load.

Colours are safe for the colour-blind. What is drawn carries its colours for a light background as attributes,
which every program that shows SVG understands; a style sheet replaces them where a dark one is preferred.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from unicodedata import east_asian_width

import numpy as np
from numpy.typing import NDArray

FONT = 12  # pixels
LONGEST = 22  # letters of a name; what is beyond is cut
ROW = 24  # height of a system's row
CELL = 34  # side of a square of the heat map
MARGIN = 12
INK, PALE, PAPER, BLUE, RED = "#1b1b1b", "#6b6b6b", "#ffffff", "#0072b2", "#c2500a"
GREEN, PURPLE, OLIVE = "#007f5c", "#a8467f", "#7a6a00"
LIGHTEST, DARKEST = (238, 243, 249), (8, 69, 148)  # of the heat map, at 0 and at 1
STYLE = (
    "<style>@media (prefers-color-scheme: dark) { .cs-paper { fill: #121212 } .cs-ink { fill: #ececec } "
    ".cs-pale { fill: #a8a8a8 } .cs-line { stroke: #4a4a4a } .cs-first { fill: #56b4e9 } "
    ".cs-second { fill: #f09a5c } .cs-third { fill: #3ecf9f } .cs-fourth { fill: #e5a3c8 } "
    ".cs-fifth { fill: #d8c64a } .cs-spread { stroke: #ececec } .cs-first-line { stroke: #56b4e9 } "
    ".cs-second-line { stroke: #f09a5c } .cs-pale-line { stroke: #a8a8a8 } .cs-edge { stroke: #121212 } "
    "}</style>"
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
    left = MARGIN + width_of([row.name for row in rows]) + 10
    second = left + wide + figures + 34
    top, bottom = MARGIN + 44, MARGIN + 44 + ROW * len(rows)
    scale = _Decades.around([row.seconds for row in rows if row.seconds is not None], second, narrow)
    parts = [heading(left, title, subtitle), heading(second, "seconds", "of one fit, log scale")]
    for at in (0, 0.5, 1):
        parts.append(guide(left + wide * at, top, bottom, f"{at:g}"))
    for x, text in scale.ticks:
        parts.append(guide(x, top, bottom, text))
    for i, row in enumerate(rows):
        y = top + ROW * (i + 0.5)
        parts.append(text_at(left - 10, y, cut(row.name), anchor="end", hint=row.name))
        if row.value is not None:
            parts.append(_bar(left, y, wide, row.value, row.spread))
            parts.append(text_at(left + wide + 8, y, f"{row.value:.3f}"))
        elif row.note:
            parts.append(text_at(left + 6, y, row.note, pale=True))
        if row.seconds is not None:
            parts.append(f'<circle class="cs-second" cx="{scale.at(row.seconds):.1f}" cy="{y}" r="4.5" ')
            parts.append(f'fill="{RED}"/>' + text_at(second + narrow + 10, y, _seconds(row.seconds)))
    width = second + narrow + 10 + figures + MARGIN
    return Panel("".join(parts), width, bottom + 26 + MARGIN, f"{title} and seconds of every system")


def heat_map(names: Sequence[str], agreement: NDArray[np.float64], order: Sequence[int]) -> Panel:
    """Draw the agreement of each system with each, in this order."""
    side = width_of(names)
    title, subtitle = "Agreement of the systems (ARI)", "those that agree are side by side"
    left, top = MARGIN + side + 10, MARGIN + 44 + side + 4
    parts = [heading(MARGIN, title, subtitle)]
    for row, i in enumerate(order):
        y = top + CELL * (row + 0.5)
        parts.append(text_at(left - 10, y, cut(names[i]), anchor="end", hint=names[i]))
        x = left + CELL * (row + 0.5)
        parts.append(text_at(x, top - 8, cut(names[i]), upright=True, hint=names[i]))
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


@dataclass(frozen=True)
class Scale:
    """A linear scale with round ends, over a stretch of the picture."""

    low: float
    high: float
    step: float
    left: float
    width: float

    @classmethod
    def around(cls, values: Sequence[float], left: float, width: float) -> Scale:
        """Return the scale with the fewest steps of 1, 2 or 5 that holds all values in at most six."""
        low, high = min(values), max(values)
        span = max(high - low, 1.0)
        step = next(
            size * 10.0**power
            for power in range(math.floor(math.log10(span)) - 1, 20)
            for size in (1, 2, 5)
            if 6 * size * 10.0**power >= span
        )
        first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
        return cls(first * step, max(last, first + 1) * step, step, left, width)

    def at(self, value: float) -> float:
        """Return the place of a value."""
        return self.left + self.width * (value - self.low) / (self.high - self.low)

    def ticks(self, sign: bool = False) -> list[tuple[float, str]]:
        """Return places and texts of the numbers, with their sign if wanted."""
        n = round((self.high - self.low) / self.step)
        digits = max(0, -math.floor(math.log10(self.step) + 1e-9))
        values = [self.low + i * self.step for i in range(n + 1)]
        zero = [abs(value) < self.step / 2 for value in values]
        texts = [
            "0" if z else f"{value:{'+' if sign else ''}.{digits}f}"
            for value, z in zip(values, zero, strict=True)
        ]
        return [(self.at(value), text) for value, text in zip(values, texts, strict=True)]


def cut(name: str, longest: int = LONGEST) -> str:
    """Return the beginning of a name that is too long."""
    return name if len(name) <= longest else name[: longest - 1] + "…"


def width_of(names: Sequence[str], longest: int = LONGEST) -> float:
    """Return a width that the longest name does not exceed in any usual font."""
    wide = [sum(_is_wide(letter) for letter in cut(name, longest)) for name in names]
    lengths = [0.68 * len(cut(name, longest)) + 0.37 * n for name, n in zip(names, wide, strict=True)]
    return FONT * max(lengths, default=0.0)


def _is_wide(letter: str) -> bool:
    """Return whether a character is about as wide as high, as those of East Asian scripts are."""
    return letter in "MWm@%" or east_asian_width(letter) in "WF"


def _seconds(value: float) -> str:
    return f"{value:.3f}" if value < 0.1 else f"{value:.2f}" if value < 10 else f"{value:.0f}"


def text_at(
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


def heading(x: float, title: str, subtitle: str) -> str:
    """Draw the title of a panel and a pale line below it, from this place to the right."""
    return text_at(x, MARGIN + 6, title, bold=True) + text_at(x, MARGIN + 24, subtitle, pale=True)


def guide(x: float, top: float, bottom: float, text: str) -> str:
    """Draw a vertical line of the scale and the number below it."""
    line = f'<line class="cs-line" x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{bottom + 4}" stroke="#d5d5d5"/>'
    return line + text_at(x, bottom + 14, text, anchor="middle", pale=True)


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
