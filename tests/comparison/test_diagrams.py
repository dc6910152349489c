"""The figures: well-formed, complete, to scale, nothing over something else, whatever the names are."""

import math
import re
from xml.etree import ElementTree

import numpy as np
import pytest

from consilience.comparison.figures.dot_diagrams import MARKS, TALL, WIDE, Condition, dot_intervals, headroom
from consilience.comparison.figures.picture import FONT, ROW, Scale, inline, side_by_side, width_of
from consilience.comparison.figures.rank_diagrams import (
    AXIS,
    LINE,
    SCORE_HEIGHT,
    SCORE_WIDTH,
    critical_difference_diagram,
    score_table_map,
)
from consilience.comparison.statistics.differences import MeanDifference
from consilience.comparison.statistics.score_table import ScoreTable

SVG = "{http://www.w3.org/2000/svg}"
NASTY = ["<img src=x>", 'a & "b"', "x\0y\x1b\u202e", "two\nlines", "</title></svg>", "W" * 60, "北京" * 30]


def parsed(panel):
    return ElementTree.fromstring(side_by_side([panel]))


def shown(element):
    """Return the text that is drawn, without the title that appears where the pointer rests."""
    return element.text or (element[0].tail if len(element) else "") or ""


def texts(panel):
    """Return of every text its box (left, top, right, bottom) and what is drawn, with wide letters."""
    boxes = []
    for element in parsed(panel).iter(f"{SVG}text"):
        x, y, text = float(element.get("x")), float(element.get("y")), shown(element)
        long, high = 0.6 * FONT * len(text), 0.8 * FONT
        before = {"start": 0.0, "middle": 0.5, "end": 1.0}[element.get("text-anchor")]
        if element.get("transform"):  # from bottom to top
            boxes.append((x - high / 2, y - long, x + high / 2, y, text))
        else:
            boxes.append((x - before * long, y - high / 2, x + (1 - before) * long, y + high / 2, text))
    return boxes


def check_figure(panel):
    """Assert that nothing leaves the frame and that no text covers another."""
    boxes = texts(panel)
    for left, top, right, bottom, text in boxes:
        assert left >= 0 and top >= 0 and right <= panel.width and bottom <= panel.height, text
    for i, one in enumerate(boxes):
        for other in boxes[:i]:
            apart = one[0] >= other[2] or other[0] >= one[2] or one[1] >= other[3] or other[1] >= one[3]
            assert apart, (one[4], other[4])
    for element in parsed(panel).iter():
        for attribute, limit in (("x", panel.width), ("cx", panel.width), ("y", panel.height)):
            value = element.get(attribute)
            assert value is None or 0 <= float(value) <= limit


def names_of(k):
    return [f"System {i}" if i % 3 else f"A system with a rather long name, {i}" for i in range(k)]


def some_ranks(k, seed=0):
    return np.random.default_rng(seed).permutation(np.linspace(1 + 0.05 * k, 0.9 * k, k)).tolist()


def elbows(panel):
    """Return (x on the axis, y of the axis, y of the name, x of the name's end) of every line to a name."""
    found = re.findall(r'd="M([\d.]+) ([\d.]+)V([\d.]+)H([\d.]+)"', panel.content)
    return [tuple(map(float, one)) for one in found]


# --- the diagram of critical differences


@pytest.mark.parametrize("k", [1, 2, 3, 4, 7, 12, 25])
def test_every_system_is_on_the_axis_and_no_lines_cross(k):
    ranks, names = some_ranks(k), names_of(k)
    panel = critical_difference_diagram(ranks, names, [names[:2]] if k > 1 else [], cd=1.5)
    check_figure(panel)
    lines = elbows(panel)
    assert len(lines) == k
    for i, (x, axis, y, end) in enumerate(lines):
        for a, _, b, other_end in lines[:i]:
            low, high = sorted((a, other_end))
            # A vertical part crosses a horizontal one only if it is inside its stretch and reaches below it.
            assert not (low < x < high and axis < b < y)
            low, high = sorted((x, end))
            assert not (low < a < high and axis < y < b)


def test_places_on_the_axis_are_to_scale_with_the_best_on_the_right():
    panel = critical_difference_diagram([1.5, 3.75, 2.0], ["A", "B", "C"], [], cd=1.5)
    places = {box[4]: (box[0], (box[1] + box[3]) / 2) for box in texts(panel)}
    x = {}
    for name in "ABC":  # the line that ends nearest to the name
        x[name] = min(elbows(panel), key=lambda line: math.dist(line[:1:-1], places[name]))[0]
    assert x["A"] - x["C"] == pytest.approx(0.5 * AXIS / 3, abs=0.2)  # an axis from 1 to 4
    assert x["C"] - x["B"] == pytest.approx(1.75 * AXIS / 3, abs=0.2)
    ruler = re.search(r'd="M[\d.]+ [\d.]+h([\d.]+)m0 -4', panel.content)
    assert float(ruler[1]) == pytest.approx(1.5 * AXIS / 3, abs=0.1) and "CD = 1.50" in panel.content
    assert {"1.50", "3.75", "2.00"} <= set(places)


def bars_of(panel):
    found = []
    for bar in parsed(panel).iter(f"{SVG}rect"):
        if bar.get("class") == "cs-first":
            start, width = float(bar.get("x")), float(bar.get("width"))
            found.append((start, start + width, float(bar.get("y")), bar[0].text))
    return found


def test_bars_cover_their_groups_between_axis_and_names():
    ranks, names = some_ranks(20), names_of(20)
    order = [name for _, name in sorted(zip(ranks, names, strict=True))]
    cliques = [order[i : i + 4 + i % 3] for i in range(0, 16, 2)] + [order[18:]]
    panel = critical_difference_diagram(ranks, names, cliques)
    place = {
        rank: x for rank, (x, *_) in zip(sorted(ranks), sorted(elbows(panel), reverse=True), strict=True)
    }
    at = {name: place[rank] for rank, name in zip(ranks, names, strict=True)}
    bars = bars_of(panel)
    assert len(bars) == len(cliques)
    axis, first_name = elbows(panel)[0][1], min(line[2] for line in elbows(panel))
    for (start, end, y, hint), clique in zip(bars, cliques, strict=True):
        assert start < min(at[name] for name in clique) and end > max(at[name] for name in clique)
        inside = [name for name in names if start < at[name] < end]
        assert sorted(inside) == sorted(clique) and all(name in hint for name in clique)
        assert axis < y < y + 5 < first_name - LINE / 2 + FONT
    for i, (start, end, y, _) in enumerate(bars):
        assert not any(y == other[2] and start < other[1] and other[0] < end for other in bars[:i])
    assert len({y for _, _, y, _ in bars}) < len(bars)  # the last shares a level with another


def test_a_critical_difference_beyond_the_axis_is_said_in_words():
    panel = critical_difference_diagram([1.2, 1.8], ["A", "B"], [("A", "B")], cd=2.5)
    assert "CD = 2.50, more than all ranks shown" in panel.content and "m0 -4" not in panel.content
    check_figure(panel)


@pytest.mark.parametrize("ranks", [[], [1.0, math.nan]])
def test_a_diagram_without_ranks_is_refused(ranks):
    with pytest.raises(ValueError, match="needs a system, and a rank of each"):
        critical_difference_diagram(ranks, ["A", "B"][: len(ranks)], [])


# --- the map of scores


def table_of(scores, systems=None, sets=None):
    scores = np.asarray(scores, dtype=float)
    systems = systems or [f"System {i}" for i in range(scores.shape[1])]
    sets = sets or [f"Set {i}" for i in range(scores.shape[0])]
    return ScoreTable(tuple(systems), tuple(sets), tuple(sets), scores[:, :, np.newaxis])


def test_each_score_is_in_its_cell_and_the_best_of_a_row_is_bold():
    scores = np.random.default_rng(0).uniform(20, 100, (8, 12)).round(1)
    panel = score_table_map(table_of(scores))
    check_figure(panel)
    cells = [t for t in parsed(panel).iter(f"{SVG}text") if re.fullmatch(r"\d+\.\d", shown(t))]
    left, top = (min(float(cell.get(axis)) for cell in cells) for axis in "xy")
    found, bold = np.zeros((8, 12)), np.zeros((8, 12), dtype=bool)
    for cell in cells:
        row = round((float(cell.get("y")) - top) / SCORE_HEIGHT)
        column = round((float(cell.get("x")) - left) / SCORE_WIDTH)
        found[row, column], bold[row, column] = float(shown(cell)), cell.get("font-weight") == "700"
    np.testing.assert_array_equal(found, scores)
    np.testing.assert_array_equal(bold, scores == scores.max(axis=1, keepdims=True))


def colours(panel):
    return [
        tuple(map(int, re.findall(r"\d+", cell.get("fill"))))
        for cell in parsed(panel).iter(f"{SVG}rect")
        if cell.get("fill").startswith("rgb")
    ]


def test_colours_say_how_far_behind_the_best_or_how_high():
    table = table_of([[50.0, 40.0, 45.0], [90.0, 89.0, 90.0]])
    by_row = colours(score_table_map(table))
    assert by_row[0] == by_row[3] == by_row[5]  # the best of each row
    assert by_row[1][0] > by_row[2][0] > by_row[0][0]  # lighter further behind
    assert by_row[4][0] < by_row[2][0]  # one point behind is not shown as the lightest
    for_all = colours(score_table_map(table, colour="all"))
    assert for_all[3] == for_all[5] and for_all[0][0] > for_all[4][0] > for_all[3][0]
    with pytest.raises(ValueError, match="colour"):
        score_table_map(table, colour="column")


def test_empty_cells_are_hatched_and_say_why():
    table = table_of([[50.0, np.nan], [np.nan, np.nan]])
    panel = score_table_map(table, {("Set 0", "System 1"): "out of memory <10 GiB>"})
    check_figure(panel)
    titles = [t.text for t in parsed(panel).iter(f"{SVG}title")]
    assert "System 1 on Set 0: out of memory <10 GiB>" in titles
    assert titles.count("System 0 on Set 1: no result") == 1 and len(titles) == 4
    assert panel.content.count('class="cs-line"') == 3


# --- dots


def difference(name, value, low=None, high=None, reference="R"):
    return MeanDifference(
        name, reference, value, low, high, 0.95, 9, 9, "" if low is not None else "one family"
    )


def test_intervals_are_to_scale_and_open_where_they_hold_zero():
    rows = [
        difference("A", 2.0, 1.0, 4.0),
        difference("B", -1.0, -3.0, 1.0),
        difference("C", -2.0, -3.0, -1.0),
    ]
    panel = dot_intervals([*rows, difference("D", 1.0), difference("E", None)])
    check_figure(panel)
    dots = {}
    for dot in parsed(panel).iter(f"{SVG}circle"):
        dots[round(float(dot.get("cy")) / ROW)] = (float(dot.get("cx")), dot.get("class").split()[0])
    (a, b, c, d) = (dots[key] for key in sorted(dots))
    assert [one[1] for one in (a, b, c, d)] == ["cs-first", "cs-paper", "cs-second", "cs-paper"]
    point = (a[0] - c[0]) / 4
    assert b[0] - c[0] == pytest.approx(point, abs=0.2) and d[0] - c[0] == pytest.approx(3 * point, abs=0.2)
    zero = float(re.search(r'class="cs-spread" d="M([\d.]+)', panel.content)[1])
    assert zero == pytest.approx(c[0] + 2 * point, abs=0.2)
    ends = [tuple(map(float, e)) for e in re.findall(r'line" d="M([\d.]+) [\d.]+H([\d.]+)M', panel.content)]
    assert len(ends) == 3 and ends[0] == pytest.approx((zero + point, zero + 4 * point), abs=0.2)
    assert {"+2.0 (+1.0 to +4.0)", "+1.0", "no common set"} <= {box[4] for box in texts(panel)}


def test_headroom_shows_each_system_the_oracle_and_the_distance():
    rows = [
        Condition("clean", {"A": 70.0, "B": 65.0}, oracle=75.0),
        Condition("noise", {"A": 60.0, "B": None}, oracle=72.5),
        Condition("none", {"B": 55.0}),
    ]
    panel = headroom(rows, ["A", "B"])
    check_figure(panel)
    places = {}
    for mark in parsed(panel).iter():
        if len(mark) and mark[0].tag == f"{SVG}title" and mark.tag != f"{SVG}text":
            moved = re.search(r"translate\(([\d.]+) ([\d.]+)\)", mark.get("transform") or "")
            x, y = map(float, moved.groups() if moved else (mark.get("cx"), mark.get("cy")))
            places[mark[0].text, y] = x
    top = min(y for _, y in places)
    by_row = {(text, round((y - top) / TALL)): x for (text, y), x in places.items()}
    assert set(by_row) == {
        ("A: 70.0", 0),
        ("B: 65.0", 0),
        ("oracle: 75.0", 0),
        ("A: 60.0", 1),
        ("oracle: 72.5", 1),
        ("B: 55.0", 2),
    }
    point = WIDE / 20  # from 55 to 75
    assert by_row["oracle: 75.0", 0] - by_row["A: 60.0", 1] == pytest.approx(15 * point, abs=0.2)
    assert [box[4] for box in texts(panel) if re.fullmatch(r"-\d+\.\d", box[4])] == ["-5.0", "-12.5"]
    lines = re.findall(r'cs-first-line" d="M([\d.]+) [\d.]+H([\d.]+)"', panel.content)
    assert len(lines) == 2
    assert float(lines[0][1]) == by_row["oracle: 75.0", 0] and float(lines[0][0]) == by_row["A: 70.0", 0]


def test_marks_that_would_hide_each_other_are_drawn_apart():
    names = [f"System {i}" for i in range(3)]
    panel = headroom([Condition("all alike", dict.fromkeys(names, 50.0), oracle=60.0)], names)
    titled = [mark for mark in parsed(panel).iter(f"{SVG}path") if len(mark)]
    assert len({mark.get("transform") for mark in titled}) == 3


def test_many_systems_have_a_legend_within_the_frame():
    names = names_of(25)
    rng = np.random.default_rng(0)
    rows = [Condition(f"condition {i}", {n: rng.uniform(30, 90) for n in names}, 95.0) for i in range(6)]
    panel = headroom(rows, names)
    check_figure(panel)
    assert "19 others" in panel.content
    kinds = [mark.get("class") for mark in parsed(panel).iter(f"{SVG}path") if len(mark)]
    assert len(kinds) == 6 * 25 and len(set(kinds)) == len(MARKS) + 1


@pytest.mark.parametrize(
    "values", [[0.0], [1.5, 1.5], [-0.03, 0.04], [-8, 3], [0, 100], [-1e4, 1e6], [0.0, 7.0]]
)
def test_scales_hold_their_values_in_a_few_round_steps(values):
    scale = Scale.around(values, left=10, width=200)
    assert scale.low <= min(values) and max(values) <= scale.high
    places, names = zip(*scale.ticks(), strict=True)
    assert places[0] == pytest.approx(10) and places[-1] == pytest.approx(210) and 2 <= len(places) <= 8
    assert [float(name) for name in names] == pytest.approx(
        np.linspace(scale.low, scale.high, len(names)).tolist()
    )


# --- all of them


def all_figures(names):
    table = table_of(np.linspace(10, 90, len(names) ** 2).reshape(len(names), -1), names, names[::-1])
    differences = [difference(name, 1.0 * i, i - 2.0, i + 1.0, names[0]) for i, name in enumerate(names)]
    conditions = [Condition(name, {n: 10.0 * i for i, n in enumerate(names)}, 99.0) for name in names]
    return [
        critical_difference_diagram(range(1, len(names) + 1), names, [names[:2]], 1.0),
        score_table_map(table, {(names[0], names[0]): names[1]}),
        dot_intervals(differences),
        headroom(conditions, names, oracle=names[0]),
    ]


def test_nasty_names_stay_text():
    for panel in all_figures(NASTY):
        root = parsed(panel)  # well-formed, also with characters that XML does not allow
        assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {
            "svg", "style", "rect", "g", "text", "title", "path", "line", "circle",
        }  # fmt: skip
        assert "<img" not in panel.content and "</svg>" not in panel.content
        assert root.get("role") == "img"
        assert (
            "<img src=x>" in root.get("aria-label") or panel.meaning == "Mean scores of 7 systems on 7 sets"
        )
        ElementTree.fromstring(inline(panel))


def test_long_names_that_begin_alike_stay_different():
    names = [f"{'the same beginning of a name ' * 3}{i}" for i in range(6)]
    for panel in all_figures(names):
        drawn = [box[4] for box in texts(panel) if "…" in box[4]]
        assert len(set(drawn)) >= 6
        check_figure(panel)


def test_widths_are_enough_for_wide_letters():
    assert width_of(["W" * 10]) >= 10 * FONT and width_of(["北" * 10]) >= 10 * FONT
    assert width_of(["i" * 10]) < width_of(["W" * 10]) and width_of([]) == 0
