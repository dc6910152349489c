"""The picture of a comparison: well-formed, complete, nothing over something else."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from consilience.comparison.figures.picture import CELL, ROW, Row, bars, heat_map, inline, side_by_side

NAMES = ["Concatenated", *(f"System-{i}" for i in range(13)), "a name that is far too long to be shown"]
SVG = "{http://www.w3.org/2000/svg}"


def texts(panel):
    root = ElementTree.fromstring(side_by_side([panel]))
    return [(float(t.get("x")), float(t.get("y")), "".join(t.itertext()), t) for t in root.iter(f"{SVG}text")]


@pytest.fixture
def drawn():
    rows = [Row(name, 0.5, 0.01, 10.0**i) for i, name in enumerate(NAMES, start=-7)]
    return bars(rows, "NMI", "mean")


def test_every_system_has_a_row_of_its_own(drawn):
    heights = sorted(y for _, y, _, text in texts(drawn) if text.get("text-anchor") == "end")
    assert np.allclose(np.diff(heights), ROW) and len(heights) == len(NAMES)


def test_names_end_before_the_bars_and_begin_in_the_picture(drawn):
    root = ElementTree.fromstring(side_by_side([drawn]))
    first_bar = min(float(bar.get("x")) for bar in root.iter(f"{SVG}rect") if bar.get("class") == "cs-first")
    for x, _, text, element in texts(drawn):
        if element.get("text-anchor") == "end":
            shown = element.text or element[0].tail
            assert x < first_bar and x - 0.66 * 12 * len(shown) > 0, text


def test_everything_lies_within_the_frame(drawn):
    for panel in (drawn, heat_map(NAMES, np.eye(15), range(15))):
        root = ElementTree.fromstring(side_by_side([panel]))
        for element in root.iter():
            for attribute, limit in (("x", panel.width), ("cx", panel.width), ("y", panel.height)):
                value = element.get(attribute)
                assert value is None or 0 <= float(value) <= limit


def test_ticks_of_the_time_do_not_touch():
    for high in range(-2, 7):
        panel = bars([Row("A", 0.5, None, 0.002), Row("B", 0.5, None, 10.0**high)], "NMI", "mean")
        ticks = sorted(x for x, _, _, text in texts(panel) if text.get("text-anchor") == "middle")[3:]
        assert 2 <= len(ticks) <= 4 and min(np.diff(ticks)) > 30


def test_values_beyond_the_scale_stay_on_it():
    panel = bars([Row("A", -0.4, 0.3, 0.0), Row("B", 1.0, 0.5, 1e9)], "NMI", "mean")
    root = ElementTree.fromstring(side_by_side([panel]))
    widths = [float(bar.get("width")) for bar in root.iter(f"{SVG}rect") if bar.get("class") == "cs-first"]
    assert widths == [0.0, 150.0] and {"-0.400", "1.000"} <= {text for _, _, text, _ in texts(panel)}


def test_the_heat_map_shows_each_pair_in_the_order_given():
    agreement = np.array([[1, 0.25, -0.5], [0.25, 1, 0.875], [-0.5, 0.875, 1]])
    shown = texts(heat_map(["A", "B", "C"], agreement, [2, 0, 1]))
    figures = {(x, y): text for x, y, text, _ in shown if re.fullmatch(r"-?\d\.\d\d", text)}
    left, top = min(x for x, _ in figures), min(y for _, y in figures)
    places = {(round((y - top) / CELL), round((x - left) / CELL)): text for (x, y), text in figures.items()}
    assert places == {
        (0, 1): "-0.50",
        (0, 2): "0.88",
        (1, 0): "-0.50",
        (1, 2): "0.25",
        (2, 0): "0.88",
        (2, 1): "0.25",
    }


def test_in_a_page_it_needs_no_address():
    assert "http" not in inline(bars([Row("A", note="failed")], "NMI", "mean"))
