"""Figures with values as dots on a line: differences with their intervals, and the distance to an oracle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from ...words import clipped, counted, decimal, distinct, signed, visible
from ..statistics import MeanDifference
from .picture import (
    BLUE,
    FONT,
    GREEN,
    INK,
    LONGEST,
    MARGIN,
    OLIVE,
    PALE,
    PAPER,
    PURPLE,
    RED,
    ROW,
    Panel,
    Scale,
    guide,
    heading,
    text_at,
    width_of,
)

WIDE = 380  # length of the line
TALL = 30  # height of a condition: marks that would hide each other are drawn higher or lower
# Shape, class and colour: no two systems differ by colour alone.
MARKS = (
    ("circle", "cs-first", BLUE),
    ("square", "cs-second", RED),
    ("up", "cs-third", GREEN),
    ("diamond", "cs-fourth", PURPLE),
    ("down", "cs-fifth", OLIVE),
    ("cross", "cs-ink", INK),
)
OTHER = ("dot", "cs-pale", PALE)  # systems beyond these
_SHAPES = {  # around the middle of a square of side 10
    "circle": "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0z",
    "square": "M-4.4 -4.4h8.8v8.8h-8.8z",
    "up": "M0 -5.4L5.2 4.2H-5.2z",
    "diamond": "M0 -5.8L5.8 0L0 5.8L-5.8 0z",
    "down": "M0 5.4L5.2 -4.2H-5.2z",
    "cross": "M-5 -1.6h3.4v-3.4h3.2v3.4h3.4v3.2h-3.4v3.4h-3.2v-3.4h-3.4z",
    "dot": "M-3 0a3 3 0 1 0 6 0a3 3 0 1 0 -6 0z",
}


@dataclass(frozen=True)
class Condition:
    """A row of `headroom`: the scores of the systems under one condition, and that of the oracle."""

    name: str
    values: Mapping[str, float | None]
    oracle: float | None = None


def dot_intervals(
    differences: Sequence[MeanDifference],
    *,
    title: str = "Mean difference",
    subtitle: str = "",
) -> Panel:
    """Draw mean differences to the reference with their intervals, and a line at zero.

    An interval that holds zero is pale, its dot open.

    Parameters
    ----------
    differences : sequence of MeanDifference
    title, subtitle : str

    Returns
    -------
    Panel

    Examples
    --------
    >>> row = MeanDifference("A", "B", 2.8, 1.8, 4.2, 0.95, 5, 5)
    >>> dot_intervals([row]).meaning
    'Mean difference to B: A +2.8 (+1.8 to +4.2)'
    """
    reference = " or ".join(dict.fromkeys(row.reference for row in differences)) or "nothing"
    level = {f"{100 * row.confidence:g} %" for row in differences}
    subtitle = (
        subtitle or f"in points, to {clipped(reference, 40)}; bootstrap intervals, {', '.join(sorted(level))}"
    )
    names = distinct([row.system for row in differences], LONGEST)
    left, top = MARGIN + width_of(names) + 12, MARGIN + 44
    bottom = top + ROW * len(differences)
    ends = [end for row in differences for end in (row.difference, row.low, row.high) if end is not None]
    scale = Scale.around([0.0, *ends], left, WIDE)
    parts = [heading(MARGIN, title, subtitle)]
    parts += [guide(x, top, bottom, text) for x, text in scale.ticks(sign=True)]
    zero = f"M{scale.at(0):.1f} {top}V{bottom + 4}"
    parts.append(f'<path class="cs-spread" d="{zero}" stroke="{INK}" stroke-width="1.2"/>')
    for i, (row, name) in enumerate(zip(differences, names, strict=True)):
        y = top + ROW * (i + 0.5)
        parts.append(text_at(left - 12, y, name, anchor="end", hint=visible(row.system)))
        parts.append(_interval(scale, row, y))
        parts.append(
            text_at(left + WIDE + 14, y, _in_figures(row), pale=row.low is None, hint=visible(row.reason))
        )
    width = max(left + WIDE + 14 + 23 * 0.62 * FONT, MARGIN + 0.6 * FONT * len(subtitle)) + MARGIN
    shown = "; ".join(f"{row.system} {_in_figures(row)}" for row in differences)
    return Panel("".join(parts), width, bottom + 26 + MARGIN, visible(f"{title} to {reference}: {shown}"))


def _in_figures(row: MeanDifference) -> str:
    if row.difference is None:
        return "no common set"
    interval = "" if row.low is None or row.high is None else f" ({signed(row.low)} to {signed(row.high)})"
    return signed(row.difference) + interval


def _interval(scale: Scale, row: MeanDifference, y: float) -> str:
    if row.difference is None:
        return ""
    certain = row.low is not None and row.high is not None and (row.low > 0 or row.high < 0)
    better = row.difference > 0
    css, colour = (("cs-first", BLUE) if better else ("cs-second", RED)) if certain else ("cs-pale", PALE)
    drawn = ""
    if row.low is not None and row.high is not None:
        low, high = scale.at(row.low), scale.at(row.high)
        drawn = (
            f'<path class="{css}-line" d="M{low:.1f} {y:.1f}H{high:.1f}M{low:.1f} {y - 4:.1f}v8'
            f'M{high:.1f} {y - 4:.1f}v8" stroke="{colour}" stroke-width="2" fill="none"/>'
        )
    inside, fill = (css, colour) if certain else ("cs-paper", PAPER)
    x = scale.at(row.difference)
    return drawn + (
        f'<circle class="{inside} {css}-line" cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="{fill}" '
        f'stroke="{colour}" stroke-width="2"/>'
    )


def headroom(
    conditions: Sequence[Condition],
    systems: Sequence[str],
    *,
    title: str = "Scores and headroom",
    subtitle: str = "",
    oracle: str = "oracle",
) -> Panel:
    """Draw the score of each system under each condition on one line, and the oracle as an open ring.

    A thin line goes from the first system to the oracle: what it leaves on the table, also in figures.

    Parameters
    ----------
    conditions : sequence of Condition
    systems : sequence of str
        The first is the one whose distance to the oracle is drawn. The first six have marks of their own,
        others are small pale dots.
    title, subtitle : str
    oracle : str, default="oracle"
        What the oracle is called.

    Returns
    -------
    Panel

    Examples
    --------
    >>> rows = [Condition("noise", {"A": 70.0, "B": 65.5}, oracle=74.0), Condition("none", {"A": 80.0})]
    >>> headroom(rows, ["A", "B"]).meaning
    'Scores and headroom: noise: A 70.0, B 65.5, oracle 74.0; none: A 80.0'
    """
    subtitle = subtitle or f"line and figure: {clipped(systems[0], 30)} to {oracle}" if systems else subtitle
    names = distinct([row.name for row in conditions], LONGEST)
    left = MARGIN + width_of(names) + 14
    legend, height = _legend(systems, oracle, MARGIN + 46, left + WIDE + 60)
    top = MARGIN + 46 + height
    bottom = top + TALL * len(conditions)
    every = [v for row in conditions for v in (*row.values.values(), row.oracle) if v is not None]
    scale = Scale.around(every or [0.0, 100.0], left, WIDE)
    parts = [heading(MARGIN, title, subtitle), legend]
    parts += [guide(x, top, bottom, text) for x, text in scale.ticks()]
    for i, (row, name) in enumerate(zip(conditions, names, strict=True)):
        y = top + TALL * (i + 0.5)
        parts.append(text_at(left - 14, y, name, anchor="end", hint=visible(row.name)))
        parts.append(_condition(scale, row, systems, oracle, y))
        first = row.values.get(systems[0]) if systems else None
        if first is not None and row.oracle is not None:
            parts.append(text_at(left + WIDE + 14, y, signed(first - row.oracle), pale=True))
    width = max(left + WIDE + 60, MARGIN + 0.6 * FONT * len(subtitle)) + MARGIN
    shown = [
        f"{row.name}: "
        + ", ".join(f"{name} {decimal(value, 1)}" for name, value in _values(row, systems, oracle))
        for row in conditions
    ]
    return Panel("".join(parts), width, bottom + 26 + MARGIN, visible(f"{title}: {'; '.join(shown)}"))


def _values(row: Condition, systems: Sequence[str], oracle: str) -> list[tuple[str, float]]:
    values = [*((name, row.values.get(name)) for name in systems), (oracle, row.oracle)]
    return [(name, value) for name, value in values if value is not None]


def _condition(scale: Scale, row: Condition, systems: Sequence[str], oracle: str, y: float) -> str:
    parts = []
    first = row.values.get(systems[0]) if systems else None
    if first is not None and row.oracle is not None:
        path = f"M{scale.at(first):.1f} {y:.1f}H{scale.at(row.oracle):.1f}"
        parts.append(f'<path class="cs-first-line" d="{path}" stroke="{BLUE}" stroke-width="2" fill="none"/>')
    if row.oracle is not None:
        parts.append(_ring(scale.at(row.oracle), y, f"{oracle}: {row.oracle:.1f}"))
    places: list[tuple[float, float]] = []
    drawn = []
    for i, name in enumerate(systems):
        value = row.values.get(name)
        if value is not None:
            places.append((scale.at(value), _free_height(scale.at(value), y, places)))
            drawn.append(_mark(i, *places[-1], f"{name}: {value:.1f}"))
    # The first system last: it is drawn over the others.
    return "".join(parts + drawn[::-1])


def _free_height(x: float, y: float, taken: Sequence[tuple[float, float]]) -> float:
    """Return this height, or one above or below where no mark is near; this one if there is none."""
    for height in (y, y - 8, y + 8):
        if not any(abs(x - a) < 9 and height == b for a, b in taken):
            return height
    return y


def _mark(i: int, x: float, y: float, hint: str = "") -> str:
    shape, css, colour = MARKS[i] if i < len(MARKS) else OTHER
    title = f"<title>{escape(visible(hint))}</title>" if hint else ""
    return (
        f'<path class="{css} cs-edge" transform="translate({x:.1f} {y:.1f})" d="{_SHAPES[shape]}" '
        f'fill="{colour}" stroke="{PAPER}" stroke-width="1">{title}</path>'
    )


def _ring(x: float, y: float, hint: str = "") -> str:
    title = f"<title>{escape(visible(hint))}</title>" if hint else ""
    return (
        f'<circle class="cs-paper cs-spread" cx="{x:.1f}" cy="{y:.1f}" r="6.5" fill="{PAPER}" stroke="{INK}" '
        f'stroke-width="1.6">{title}</circle>'
    )


def _legend(systems: Sequence[str], oracle: str, top: float, width: float) -> tuple[str, float]:
    """Draw marks and names in as many lines as they need; return them and their height."""
    names = distinct(systems[: len(MARKS)], LONGEST)
    if len(systems) > len(MARKS):
        names.append(counted(len(systems) - len(MARKS), "other"))
    names.append(clipped(oracle, LONGEST))
    parts, x, y = [], float(MARGIN), top + 8
    for i, name in enumerate(names):
        needed = 18 + width_of([name])
        if x > MARGIN and x + needed > width:
            x, y = float(MARGIN), y + 18
        parts.append(_ring(x + 6, y) if i == len(names) - 1 else _mark(i, x + 6, y))
        parts.append(text_at(x + 18, y, name))
        x += needed + 14
    return "".join(parts), y + 16 - top
