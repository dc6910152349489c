"""Figures of many systems on many data sets: the diagram of critical differences, and the map of all scores.

Each returns a `Panel` of `picture`, which puts it into a page or a file. `dot_diagrams` has the figures that
show values as dots on a line.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ...words import decimal, distinct, listed, visible
from ..statistics import ScoreTable
from .picture import (
    BLUE,
    DARKEST,
    FONT,
    INK,
    LIGHTEST,
    LONGEST,
    MARGIN,
    PAPER,
    Panel,
    heading,
    text_at,
    width_of,
)

AXIS = 440  # length of the axis of ranks
LINE = 20  # height of a name in the diagram
FIGURE = 44  # width of a mean rank
LONGEST_NAME = 30  # letters, in the diagram
STEP = 9  # from one bar to the next
SCORE_WIDTH, SCORE_HEIGHT = 44, 23
LEAST_SPAN = 5.0  # points between the darkest and the lightest colour, so that small differences look small


def critical_difference_diagram(
    mean_ranks: Sequence[float],
    names: Sequence[str],
    cliques: Sequence[Sequence[str]],
    cd: float | None = None,
    *,
    title: str = "Mean ranks",
    subtitle: str = "best on the right; a bar joins systems that were not shown to differ",
) -> Panel:
    """Draw the systems on an axis of mean ranks, with a bar over each group that was not told apart.

    As in Demšar (2006), the best rank is on the right.

    Parameters
    ----------
    mean_ranks : sequence of float
    names : sequence of str
    cliques : sequence of sequences of str
        Names of the systems of each group, as in `RankGroups.cliques`.
    cd : float, optional
        Nemenyi's critical difference, drawn as a ruler; None where another test made the groups.
    title, subtitle : str

    Returns
    -------
    Panel

    Examples
    --------
    >>> panel = critical_difference_diagram([1.2, 1.8, 3.0], ["A", "B", "C"], [("A", "B")])
    >>> panel.meaning
    'Mean ranks: A 1.20, B 1.80 and C 3.00. Not shown to differ: A and B.'
    """
    if not names or not all(map(math.isfinite, mean_ranks)):
        raise ValueError(
            "A diagram of ranks needs a system, and a rank of each; there are none without sets."
        )
    ranks = dict(zip(names, map(float, mean_ranks), strict=True))
    order = sorted(names, key=lambda name: (ranks[name], name))
    short = dict(zip(names, distinct(names, LONGEST_NAME), strict=True))
    best, worst = order[: (len(order) + 1) // 2], order[(len(order) + 1) // 2 :]
    sides = [width_of([short[name] for name in half], LONGEST_NAME) + FIGURE + 24 for half in (worst, best)]
    axis = _RankAxis.around(mean_ranks, MARGIN + sides[0], MARGIN + (86 if cd is not None else 64))
    spans = [sorted(axis.at(ranks[name]) for name in clique) for clique in cliques]
    levels = _levels([(span[0], span[-1]) for span in spans])
    top = axis.y + 10 + STEP * (1 + max(levels, default=-1))
    parts = [heading(MARGIN, title, subtitle), axis.drawn(), "" if cd is None else axis.ruler(cd)]
    # The outermost name is the highest on both sides, so that no two lines cross.
    for half, right in ((worst[::-1], False), (best, True)):
        for i, name in enumerate(half):
            parts.append(axis.labelled(ranks[name], top + LINE * (i + 0.5), short[name], name, right))
    for clique, span, level in zip(cliques, spans, levels, strict=True):
        parts.append(_bar(span[0] - 4, span[-1] + 4, axis.y + 10 + STEP * level, listed(clique, len(clique))))
    shown = listed([f"{name} {ranks[name]:.2f}" for name in order], len(order))
    groups = "; ".join(listed(clique, len(clique)) for clique in cliques)
    meaning = f"{title}: {shown}." + (f" Not shown to differ: {groups}." if groups else "")
    width = max(axis.left + AXIS + sides[1], 0.6 * FONT * len(subtitle) + MARGIN) + MARGIN
    return Panel("".join(parts), width, top + LINE * len(best) + MARGIN, visible(meaning))


@dataclass(frozen=True)
class _RankAxis:
    """An axis of ranks, the lowest on the right."""

    low: int
    high: int
    left: float
    y: float

    @classmethod
    def around(cls, ranks: Sequence[float], left: float, y: float) -> _RankAxis:
        low = math.floor(min(ranks))
        return cls(low, max(math.ceil(max(ranks)), low + 1), left, y)

    def at(self, rank: float) -> float:
        return self.left + AXIS * (self.high - rank) / (self.high - self.low)

    def drawn(self) -> str:
        step = -(-(self.high - self.low) // 12)  # no more than thirteen numbers
        parts = [_ink_line(f"M{self.left:.1f} {self.y:.1f}h{AXIS}")]
        for rank in range(self.low, self.high + 1):
            parts.append(_ink_line(f"M{self.at(rank):.1f} {self.y:.1f}v-5"))
            if (rank - self.low) % step == 0:
                parts.append(text_at(self.at(rank), self.y - 14, str(rank), anchor="middle", pale=True))
        return "".join(parts)

    def ruler(self, difference: float) -> str:
        """Draw the critical difference above the axis; only in words if it is longer than the axis."""
        length, y = AXIS * difference / (self.high - self.low), self.y - 34
        text = f"CD = {difference:.2f}"
        if length > AXIS:
            return text_at(self.left, y, f"{text}, more than all ranks shown")
        ends = f"M{self.left:.1f} {y:.1f}h{length:.1f}m0 -4v8m{-length:.1f} 0v-8"
        return _ink_line(ends, 1.5) + text_at(self.left + length + 8, y, text)

    def labelled(self, rank: float, y: float, text: str, name: str, right: bool) -> str:
        """Draw a name at the side, its rank, and a line from there to the place on the axis."""
        edge = self.left + AXIS + 12 if right else self.left - 12
        figure, end, anchor = (
            (edge + 6, edge + 6 + FIGURE, "start") if right else (edge - 6, edge - 6 - FIGURE, "end")
        )
        return (
            _ink_line(f"M{self.at(rank):.1f} {self.y:.1f}V{y:.1f}H{edge:.1f}", 0.9)
            + text_at(figure, y, f"{rank:.2f}", anchor=anchor, pale=True)
            + text_at(end, y, text, anchor=anchor, hint=visible(name))
        )


def _levels(spans: Sequence[tuple[float, float]]) -> list[int]:
    """Return for each bar the highest level on which it touches none before it."""
    ends: list[list[tuple[float, float]]] = []
    levels = []
    for start, end in spans:
        free = (i for i, used in enumerate(ends) if all(end + 14 < a or b + 14 < start for a, b in used))
        level = next(free, len(ends))
        ends += [[]] if level == len(ends) else []
        ends[level].append((start, end))
        levels.append(level)
    return levels


def _ink_line(path: str, width: float = 1.2) -> str:
    return f'<path class="cs-spread" d="{path}" stroke="{INK}" stroke-width="{width}" fill="none"/>'


def _bar(start: float, end: float, y: float, hint: str) -> str:
    return (
        f'<rect class="cs-first" x="{start:.1f}" y="{y - 2.5:.1f}" width="{end - start:.1f}" height="5" '
        f'rx="2.5" fill="{BLUE}"><title>{escape(visible(hint))}</title></rect>'
    )


def score_table_map(
    table: ScoreTable,
    reasons: Mapping[tuple[str, str], str] | None = None,
    *,
    colour: Literal["row", "all"] = "row",
    title: str = "Mean scores",
    subtitle: str = "",
) -> Panel:
    """Draw all mean scores, a row for each set and a column for each system; cells without one are hatched.

    Parameters
    ----------
    table : ScoreTable
    reasons : mapping from (set, system) to str, optional
        Why there is no score; shown where the pointer rests.
    colour : {"row", "all"}, default="row"
        By row, the best of each set is darkest, and colour says how far a system is behind it. For all,
        colour is the score itself, from 0 to 100.
    title, subtitle : str

    Returns
    -------
    Panel

    Examples
    --------
    >>> table = ScoreTable(("A", "B"), ("x",), ("x",), np.array([[[71.25], [np.nan]]]))
    >>> panel = score_table_map(table, {("x", "B"): "out of memory"})
    >>> ">71.2<" in panel.content, "out of memory" in panel.content
    (True, True)
    """
    if colour not in ("row", "all"):
        raise ValueError(f'colour must be "row" or "all", not {colour!r}.')
    by_row = "darker: nearer to the best of the row, which is bold; hatched: no result"
    subtitle = subtitle or (
        by_row if colour == "row" else "darker: higher; best of the row bold; hatched: no result"
    )
    sets, systems = distinct(table.sets, LONGEST), distinct(table.systems, LONGEST)
    left, top = MARGIN + width_of(sets) + 10, MARGIN + 44 + width_of(systems) + 4
    parts = [heading(MARGIN, title, subtitle)]
    for j, system in enumerate(systems):
        x = left + SCORE_WIDTH * (j + 0.5)
        parts.append(text_at(x, top - 8, system, upright=True, hint=visible(table.systems[j])))
    for i, name in enumerate(sets):
        y = top + SCORE_HEIGHT * i
        hint = visible(table.sets[i])
        parts.append(text_at(left - 10, y + SCORE_HEIGHT / 2, name, anchor="end", hint=hint))
        parts.append(_map_row(table, i, left, y, reasons or {}, colour))
    width = max(left + SCORE_WIDTH * len(systems), MARGIN + 0.6 * FONT * len(subtitle)) + MARGIN
    height = top + SCORE_HEIGHT * len(sets) + MARGIN
    return Panel("".join(parts), width, height, f"{title} of {len(systems)} systems on {len(sets)} sets")


def _map_row(
    table: ScoreTable, i: int, left: float, y: float, reasons: Mapping[tuple[str, str], str], colour: str
) -> str:
    scores = table.means[i]
    there = scores[~np.isnan(scores)]
    best = there.max() if len(there) else math.nan
    parts = []
    for j, score in enumerate(scores):
        pair = (table.sets[i], table.systems[j])
        hint = f"{pair[1]} on {pair[0]}: "
        x = left + SCORE_WIDTH * j
        if math.isnan(score):
            parts.append(_hatched(x, y, visible(hint + (reasons.get(pair) or "no result"))))
        else:
            shade = _behind(score, there) if colour == "row" else score / 100
            bold = decimal(score, 1) == decimal(best, 1)
            parts.append(_score(x, y, score, min(max(shade, 0.0), 1.0), bold, visible(hint + f"{score:.2f}")))
    return "".join(parts)


def _behind(score: float, row: NDArray[np.float64]) -> float:
    """Return 1 for the best of a row and 0 for the worst, if that is `LEAST_SPAN` points behind or more."""
    return float(1 - (row.max() - score) / max(float(np.ptp(row)), LEAST_SPAN))


def _score(x: float, y: float, score: float, shade: float, bold: bool, hint: str) -> str:
    colour = ",".join(f"{a + shade * (b - a):.0f}" for a, b in zip(LIGHTEST, DARKEST, strict=True))
    weight = ' font-weight="700"' if bold else ""
    return (
        f'<g><title>{escape(hint)}</title><rect x="{x + 1:.1f}" y="{y + 1:.1f}" width="{SCORE_WIDTH - 2}" '
        f'height="{SCORE_HEIGHT - 2}" rx="2" fill="rgb({colour})"/><text x="{x + SCORE_WIDTH / 2:.1f}" '
        f'y="{y + SCORE_HEIGHT / 2:.1f}" dy="0.35em" text-anchor="middle" font-size="{FONT - 1}"{weight} '
        f'fill="{PAPER if shade > 0.68 else INK}">{decimal(score, 1)}</text></g>'
    )


def _hatched(x: float, y: float, hint: str) -> str:
    """Draw a cell of slanted lines; each by itself, since patterns need names that are unique in a page."""
    low, high = y + SCORE_HEIGHT - 3, y + 3
    lines = "".join(f"M{x + 4 + 8 * i:.1f} {low:.1f}L{x + 12 + 8 * i:.1f} {high:.1f}" for i in range(4))
    return (
        f'<g><title>{escape(hint)}</title><rect class="cs-paper" x="{x + 1:.1f}" y="{y + 1:.1f}" '
        f'width="{SCORE_WIDTH - 2}" height="{SCORE_HEIGHT - 2}" fill="{PAPER}"/>'
        f'<path class="cs-line" d="{lines}" stroke="#c4c4c4" fill="none"/></g>'
    )
