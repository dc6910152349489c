"""The charting bundle that the report carries: what is in it, and that it draws."""

import hashlib
import re
from pathlib import Path

import pytest

import consilience

ASSETS = Path(consilience.__file__).parent / "pages" / "assets"
BUNDLE = ASSETS / "echarts.min.js"

PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>charts</title>
<style>body { margin: 0; display: grid; grid-template-columns: 1fr 1fr } div { height: 400px }</style>
<div id="scatter"></div><div id="heatmap"></div><div id="bar"></div><div id="line"></div>
<script>@bundle</script>
<script>
"use strict";
const series = {
  scatter: [
    { type: "scatter", name: "one", data: [[0, 0], [1, 2], [2, 1]] },
    { type: "scatter", name: "two", data: [[3, 3], [4, 1]] },
  ],
  heatmap: [{ type: "heatmap", data: [[0, 0, 0.1], [1, 0, 0.9], [0, 1, 0.5], [1, 1, 0.3]] }],
  bar: [{ type: "bar", name: "share", data: [0.2, 0.7] }],
  line: [{
    type: "line", name: "objective", data: [[0, 9], [1, 4], [2, 3]],
    markLine: { data: [{ yAxis: 5 }] },
  }],
};
const named = { type: "category", data: ["left", "right"] };
for (const [kind, drawn] of Object.entries(series)) {
  const chart = echarts.init(document.getElementById(kind), null, { renderer: "@renderer" });
  chart.setOption({
    animation: false,
    aria: { enabled: true, decal: { show: true } },
    title: { text: kind },
    legend: { type: "scroll", bottom: 0 },
    tooltip: {},
    dataZoom: [{ type: "inside" }],
    xAxis: kind === "heatmap" || kind === "bar" ? named : { type: "value" },
    yAxis: kind === "heatmap" ? named : { type: "value" },
    visualMap: kind === "heatmap" ? [
      { type: "continuous", min: 0, max: 1, calculable: true, right: 0 },
    ] : kind === "bar" ? [
      {
        type: "piecewise", dimension: 1, right: 0,
        pieces: [{ lt: 0.5, color: "#0072b2" }, { gte: 0.5, color: "#e69f00" }],
      },
    ] : [],
    series: drawn,
  });
}
</script>
"""

# The colours of the opaque pixels around a place of a chart, given in the units of its axes.
COLOURS = """([kind, place]) => {
  const chart = echarts.getInstanceByDom(document.getElementById(kind));
  const [x, y] = chart.convertToPixel("grid", place);
  const seen = [];
  for (const canvas of document.querySelectorAll(`#${kind} canvas`)) {
    const data = canvas.getContext("2d").getImageData(x - 3, y - 3, 7, 7).data;
    for (let i = 0; i < data.length; i += 4) if (data[i + 3] === 255) seen.push([...data.slice(i, i + 3)]);
  }
  return seen;
}"""


def test_the_bundle_is_the_one_its_recipe_makes_and_carries_its_licences():
    recipe = (ASSETS / "README.md").read_text(encoding="utf-8")
    assert hashlib.sha256(BUNDLE.read_bytes()).hexdigest() in recipe
    licences = (ASSETS / "ECHARTS-LICENSE.txt").read_text(encoding="ascii")
    assert BUNDLE.read_text(encoding="ascii").startswith(f"/*!\n{licences}*/\n")
    for owner in ("The Apache Software Foundation", "Mike Bostock", "Baidu Inc.", "Microsoft Corporation"):
        assert owner in licences


def test_the_bundle_may_stand_in_a_script_and_is_small():
    text = BUNDLE.read_text(encoding="ascii")
    assert not re.search(r"</script|<!--|sourceMappingURL", text, re.IGNORECASE)
    assert len(text) < 700_000


@pytest.fixture
def charts(open_page, tmp_path):
    def open_(renderer):
        path = tmp_path / f"{renderer}.html"
        page = PAGE.replace("@renderer", renderer).replace("@bundle", BUNDLE.read_text(encoding="ascii"))
        path.write_text(page, encoding="utf-8")
        return open_page(path)

    return open_


def test_svg_draws_every_kind_of_chart_with_its_words(charts):
    page = charts("svg")
    words = {
        "scatter": ["scatter", "one", "two"],
        "heatmap": ["heatmap", "left", "right"],
        "bar": ["bar", "left", "right", "share"],
        "line": ["line", "objective", "5"],
    }
    for kind, expected in words.items():
        shown = page.locator(f"#{kind} svg text").all_text_contents()
        assert set(expected) <= set(shown), (kind, shown)
        assert page.locator(f"#{kind} svg path").count() > 5, kind
        assert kind in page.locator(f"#{kind}").get_attribute("aria-label")


def test_canvas_draws_every_kind_of_chart(charts):
    page = charts("canvas")
    for kind, place in {"scatter": [1, 2], "heatmap": [1, 0], "bar": [1, 0.3], "line": [0.5, 6.5]}.items():
        assert page.locator(f"#{kind} svg").count() == 0
        # Axes and grid lines are grey: only a mark brings colour to its place.
        colours = page.evaluate(COLOURS, [kind, place])
        assert any(max(colour) - min(colour) > 60 for colour in colours), (kind, colours)


def test_hovering_a_bar_shows_its_tooltip(charts):
    page = charts("canvas")
    assert page.inner_text("#bar") == ""  # a canvas has no text: what comes is the tooltip's
    box = page.locator("#bar").bounding_box()
    x, y = page.evaluate(
        "() => echarts.getInstanceByDom(document.getElementById('bar')).convertToPixel('grid', [1, 0.3])"
    )
    page.mouse.move(box["x"] + x, box["y"] + y)
    page.wait_for_function("() => document.getElementById('bar').innerText.includes('right')")
    assert "0.7" in page.inner_text("#bar")
