"""The page about a fit, in a browser: it draws, it answers to mouse and keyboard, it fits every screen."""

import contextlib
import re
import zlib

import numpy as np
import pytest

from consilience import DistanceGraphFusion, Views, make_multiview
from consilience.inspection import does_fusion_help, inspect
from consilience.pages.report import SECTIONS, write_report

HOSTILE_SAMPLE = "<img src=x onerror=alert(1)>"
HOSTILE_VIEW = "</script><script>alert(1)</script>"
VIEWS = [HOSTILE_VIEW, "projections", "{c|b} <b>", "d"]
CHARTS = ["map", "confidence", "eigenvalues", "convergence", "conflicts"]

# Where a sample, given by its number, is on the map, in the window.
PLACE = """(sample) => {
  const place = document.getElementById("chart-map");
  place.scrollIntoView({ block: "center" });
  const chart = echarts.getInstanceByDom(place);
  const series = chart.getOption().series;
  const at = series.findIndex((one) => one.data.some((point) => point.value[2] === sample));
  const point = series[at].data.find((one) => one.value[2] === sample);
  const [x, y] = chart.convertToPixel({ seriesIndex: at }, point.value);
  const box = place.getBoundingClientRect();
  return [box.x + x, box.y + y];
}"""
OVERFLOW = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def fitted():
    made = make_multiview(240, n_clusters=3, separation=4.0, scrambled=[0.3, 0, 0, 0], random_state=0)
    views = dict(zip(VIEWS, made.views.values(), strict=True))
    model = DistanceGraphFusion(n_clusters=3, random_state=0).fit(views)
    found = inspect(model)
    names = [f"sample {i}" for i in range(240)]
    # The hostile name goes to a sample that is flagged, so that it is in every table.
    names[int(np.flatnonzero(found.samples.flagged[:, 0])[0])] = HOSTILE_SAMPLE
    help = does_fusion_help(views, 3, y=made.y, n_resamples=2, random_state=0)
    return {"model": model, "found": found, "names": names, "help": help, "y": made.y}


@pytest.fixture(scope="module")
def report(fitted, tmp_path_factory):
    return write_report(
        tmp_path_factory.mktemp("report") / "report.html",
        fitted["model"],
        inspection=fitted["found"],
        fusion_help=fitted["help"],
        y=fitted["y"],
        sample_names=fitted["names"],
        notes=[HOSTILE_SAMPLE],
        command=f"consilience report '{HOSTILE_VIEW}'",
        title=HOSTILE_VIEW,
    )


def cells(page, table, column):
    return page.locator(f"#{table} tbody tr:not([hidden]) > :nth-child({column})").all_text_contents()


def test_every_chart_is_drawn(open_page, report):
    page = open_page(report)
    for name in CHARTS:
        place = page.locator(f"#chart-{name}")
        assert place.locator("svg path").count() > 5, name
        assert place.get_attribute("role") == "img"
    assert page.locator("#chart-conflicts svg text", has_text="projections").count() == 1


def test_pointing_at_a_sample_tells_what_each_view_says(open_page, report, fitted):
    page = open_page(report)
    page.mouse.move(*page.evaluate(PLACE, 17))
    tip = page.locator("#chart-map .tip")
    tip.wait_for()
    shown = tip.locator("strong").text_content()
    i = fitted["names"].index(shown)  # itself, or one drawn upon it
    assert f"cluster {fitted['model'].labels_[i]}" in tip.text_content()
    rows = [row.locator("td").all_text_contents() for row in tip.locator("tr").all()][1:]
    scores = fitted["found"].samples.scores[i]
    assert {row[0]: row[1] for row in rows} == {
        name: f"{score:.2f}" for name, score in zip(VIEWS, scores, strict=True)
    }
    flagged = fitted["found"].samples.flagged[i]
    assert {row[0] for row in rows if row[2] == "flagged"} == {
        name for name, flag in zip(VIEWS, flagged, strict=True) if flag
    }


def test_a_sample_is_found_by_name_without_a_mouse(open_page, report, fitted):
    page = open_page(report)
    page.locator("#map-find").focus()
    page.keyboard.type("Sample 23")
    page.keyboard.type("1")
    said = page.locator("#map-found").text_content()
    assert said.startswith(f"sample 231; cluster {fitted['model'].labels_[231]}, second ")
    assert all(name in said for name in VIEWS)
    assert page.locator("#chart-map .tip strong").text_content() == "sample 231"
    page.keyboard.type("9999")
    assert page.locator("#map-found").text_content() == "No sample has this name."


def found(page, name):
    page.locator("#map-find").fill(name)
    return page.locator("#map-found").text_content()


def test_samples_of_like_names_are_found_one_after_the_other(open_page, fitted, tmp_path):
    names = [f"sample {i}" for i in range(240)]
    names[10], names[20], names[30], names[40] = "Case", "case", "a case", "case 2"
    given = {"inspection": fitted["found"], "sample_names": names}
    page = open_page(write_report(tmp_path / "names.html", fitted["model"], **given))
    assert found(page, "case").startswith("case; ")
    assert found(page, "case").endswith("Match 1 of 4; Enter for the next.")
    order = []
    for _ in range(4):
        page.locator("#map-find").press("Enter")
        order.append(page.locator("#chart-map .tip strong").text_content())
    assert order == ["Case", "case 2", "a case", "case"]
    page.locator("#map-find").press("Shift+Enter")
    assert page.locator("#map-found").text_content().startswith("a case; ")
    assert found(page, "Case").startswith("Case; ")
    assert "Match" not in found(page, "a case")


def test_what_is_found_is_found_among_the_samples_drawn(open_page, fitted, tmp_path, monkeypatch):
    few = fitted["found"].labels.size // 2
    monkeypatch.setattr("consilience.pages.report.sample_map.drawn_samples.__defaults__", (few,))
    page = open_page(write_report(tmp_path / "few.html", fitted["model"], inspection=fitted["found"]))
    assert found(page, "no such name") == "None of the 120 drawn has this name."
    assert "of the 120 drawn; Enter for the next." in found(page, "1")


@pytest.mark.parametrize("colour", ["confidence", "conflict", "0"])
def test_the_map_can_be_coloured_otherwise(open_page, report, fitted, colour):
    page = open_page(report)
    assert "0" in page.locator("#chart-map svg text").all_text_contents()
    page.locator("#map-colour").select_option(colour)
    shapes = page.evaluate(
        """() => echarts.getInstanceByDom(document.getElementById("chart-map")).getOption().series[0]
        .data.filter((one) => one.symbol === "diamond").map((one) => one.value[2])"""
    )
    flagged = fitted["found"].samples.flagged
    expected = {
        "confidence": [],
        "conflict": np.flatnonzero(flagged.any(axis=1)),
        "0": np.flatnonzero(flagged[:, 0]),
    }
    assert sorted(shapes) == list(expected[colour])
    scale = "sure" if colour == "confidence" else "misplaced"
    assert page.locator("#chart-map svg text", has_text=scale).count() == 1


def test_tables_are_sorted_by_mouse(open_page, report):
    page = open_page(report)
    header = page.locator("#clusters th", has_text="samples")
    header.locator("button").click()
    sizes = [int(cell) for cell in cells(page, "clusters", 2)]
    assert header.get_attribute("aria-sort") == "descending"
    assert sizes == sorted(sizes, reverse=True)
    header.locator("button").click()
    assert header.get_attribute("aria-sort") == "ascending"
    assert [int(cell) for cell in cells(page, "clusters", 2)] == sizes[::-1]


@pytest.mark.parametrize("key", ["Enter", "Space"])
def test_tables_are_sorted_by_keyboard(open_page, report, key):
    page = open_page(report)
    before = cells(page, "pairs", 4)
    assert [float(cell) for cell in before] == sorted(map(float, before), reverse=True)
    button = page.locator("#pairs th", has_text="fused").locator("button")
    button.focus()
    page.keyboard.press(key)
    fused = [float(cell) for cell in cells(page, "pairs", 6)]
    assert fused == sorted(fused, reverse=True)
    assert len(set(fused)) > 3
    page.keyboard.press("Shift+Tab")  # from one header to the one before
    page.keyboard.press("Shift+Tab")
    page.keyboard.press(key)
    assert page.locator("#pairs th[aria-sort]").all_text_contents() == ["conflict"]


def test_names_are_sorted_as_people_count(open_page, report):
    page = open_page(report)
    page.locator("#flagged th", has_text="sample").first.locator("button").click()
    numbers = [int(name.split()[1]) for name in cells(page, "flagged", 1) if name.startswith("sample")]
    assert numbers == sorted(numbers)
    assert len(numbers) > 50


def test_pairs_are_filtered_by_sample_and_by_view(open_page, report, fitted):
    page = open_page(report)
    pairs = fitted["found"].pairs
    controls = page.locator("[data-filters=pairs]")
    controls.get_by_label("Odd view").select_option("1")
    expected = int((pairs.odd_view == 1).sum())
    assert len(cells(page, "pairs", 1)) == expected < len(pairs.pairs)
    assert controls.locator("output").text_content() == f"{expected} of {len(pairs.pairs)} shown"
    controls.get_by_label("Odd view").select_option("")
    name = fitted["names"][int(pairs.pairs[0, 1])]
    controls.get_by_label("Sample").focus()
    page.keyboard.type(name.upper())
    shown = list(zip(cells(page, "pairs", 1), cells(page, "pairs", 2), strict=True))
    assert shown
    assert all(name in a or name in b for a, b in shown)
    assert len(shown) < len(pairs.pairs)
    controls.get_by_label("Sample").fill("no such name")
    assert not cells(page, "pairs", 1)
    assert controls.locator("output").text_content() == "No row matches"


def opened(page):
    return page.locator("#view-panels details[open]").evaluate_all("(all) => all.map((one) => one.id)")


def test_a_view_shows_its_disagreement(open_page, report, fitted):
    page = open_page(report)
    assert opened(page) == ["view-0"]  # the one with most flags
    page.locator("#views-table").get_by_role("link", name="projections").click()
    assert opened(page) == ["view-1"]
    assert page.evaluate("document.activeElement.parentElement.id") == "view-1"
    page.locator("#views-table").get_by_role("link", name=HOSTILE_VIEW).focus()
    page.keyboard.press("Enter")
    assert opened(page) == ["view-0"]
    flagged = int(fitted["found"].samples.n_flagged[0])
    assert f"{flagged} of its 240 rows are flagged" in page.locator("#view-0").text_content()
    page.locator("#view-0").get_by_role("button", name="Show its flagged rows").click()
    assert len(cells(page, "flagged", 1)) == flagged
    assert set(cells(page, "flagged", 2)) == {HOSTILE_VIEW}


def test_it_is_said_if_not_all_flagged_rows_of_a_view_are_listed(open_page, fitted, tmp_path, monkeypatch):
    monkeypatch.setattr("consilience.pages.report.sections.conflict_tables.MOST_ROWS", 20)
    page = open_page(write_report(tmp_path / "some.html", fitted["model"], inspection=fitted["found"]))
    there = fitted["found"].samples.n_flagged
    assert there[1:].sum() < 20 < there[0]
    shown = 20 - there[1:].sum()
    page.get_by_role("button", name=f"Show {shown} of its {there[0]} flagged rows").click()
    assert len(cells(page, "flagged", 1)) == shown
    said = page.locator("[data-filters=flagged] output").text_content()
    assert said.endswith(f"{shown} of the {there[0]} flagged rows of this view are listed")


def test_the_heat_map_counts_the_rows_that_were_seen(open_page, tmp_path):
    made = make_multiview(300, n_views=3, n_clusters=3, separation=5.0, random_state=0)
    mask = np.ones((300, 3), dtype=bool)
    mask[::2, 1] = False
    model = DistanceGraphFusion(n_clusters=3, random_state=0).fit(Views(made.views, mask=mask))
    page = open_page(write_report(tmp_path / "missing.html", model))
    judged, sizes = page.evaluate(
        """() => {
          const { judged, sizes } = JSON.parse(document.getElementById("data").textContent).conflicts;
          return [judged.map((row) => row[1]), sizes];
        }"""
    )
    i = next(i for i, (rows, size) in enumerate(zip(judged, sizes, strict=True)) if 0 < rows < size)
    page.evaluate(
        """(bin) => {
          const chart = echarts.getInstanceByDom(document.getElementById("chart-conflicts"));
          const at = chart.getOption().series[0].data.findIndex((one) => one[0] === bin && one[1] === 1);
          chart.dispatchAction({ type: "showTip", seriesIndex: 0, dataIndex: at });
        }""",
        i,
    )
    said = page.locator("#chart-conflicts .tip").text_content()
    assert f"{sizes[i]} samples" in said
    assert said.endswith(f"of {judged[i]} {'row' if judged[i] == 1 else 'rows'}")


def test_a_click_on_the_heat_map_shows_the_view(open_page, report):
    page = open_page(report)
    page.locator("#chart-conflicts svg text", has_text="projections").click()
    assert opened(page) == ["view-1"]
    # A cell in the row of the last view.
    place = page.evaluate(
        """() => {
          const place = document.getElementById("chart-conflicts");
          place.scrollIntoView({ block: "center" });
          const [x, y] = echarts.getInstanceByDom(place).convertToPixel("grid", [30, 3]);
          const box = place.getBoundingClientRect();
          return [box.x + x, box.y + y];
        }"""
    )
    page.mouse.move(*place)
    assert page.locator("#chart-conflicts .tip strong").text_content() == "d"
    page.mouse.click(*place)
    assert opened(page) == ["view-3"]


def test_hostile_names_stay_text(open_page, report, fitted):
    page = open_page(report)
    assert page.title() == HOSTILE_VIEW
    i = fitted["names"].index(HOSTILE_SAMPLE)
    page.locator("#map-find").fill(HOSTILE_SAMPLE)
    tip = page.locator("#chart-map .tip")
    assert tip.locator("strong").text_content() == HOSTILE_SAMPLE
    assert HOSTILE_VIEW in tip.text_content()
    assert page.locator("#map-found").text_content().startswith(HOSTILE_SAMPLE)
    assert HOSTILE_SAMPLE in cells(page, "flagged", 1)
    for view in range(4):
        page.mouse.move(*page.evaluate(PLACE, i))
        page.locator("#map-colour").select_option(str(view))
    assert page.locator("img").count() == 0
    assert page.locator("b").count() == 0
    assert page.locator("script").count() == 4  # and open_page fails on any dialog


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [360, 768, 1280])
def test_nothing_is_wider_than_the_screen(open_page, report, width, dark):
    page = open_page(report, width=width, height=740, dark=dark, touch=width == 360)
    assert page.evaluate(OVERFLOW) == 0
    wide = page.locator("#pairs").evaluate("(table) => table.parentElement.scrollWidth")
    if width == 360:
        assert wide > 360  # it is scrolled in its box, which the keyboard reaches
        assert page.locator(".box:has(#pairs)").get_attribute("tabindex") == "0"
    page.evaluate(PLACE, 5)
    page.locator("#map-find").fill("sample 5")
    assert page.evaluate(OVERFLOW) == 0


def test_charts_follow_the_window(open_page, report):
    page = open_page(report)
    wide = page.locator("#chart-map svg").bounding_box()["width"]
    page.set_viewport_size({"width": 500, "height": 800})
    page.wait_for_function(f"() => document.querySelector('#chart-map svg').clientWidth < {wide / 2}")
    assert page.evaluate(OVERFLOW) == 0


def luminance(page, script):
    """Return how light a colour is, from 0 to 1."""
    colour = page.evaluate(script)
    numbers = page.evaluate(
        """(colour) => {
          const context = document.createElement("canvas").getContext("2d");
          context.fillStyle = colour;
          context.fillRect(0, 0, 1, 1);
          return [...context.getImageData(0, 0, 1, 1).data];
        }""",
        colour,
    )
    return sum(numbers[:3]) / 765


PAPER = "() => getComputedStyle(document.body).backgroundColor"
LABEL = """() => [...document.querySelectorAll("#chart-confidence svg text")]
  .find((one) => one.textContent === "0 to 0.25").getAttribute("fill")"""


def test_dark_and_light_reach_the_charts_also_later(open_page, report):
    page = open_page(report, dark=True)
    assert luminance(page, PAPER) < 0.15
    assert luminance(page, LABEL) > 0.8
    page.emulate_media(color_scheme="light")
    assert luminance(page, PAPER) > 0.9
    assert luminance(page, LABEL) < 0.2


def test_paper_is_light_and_holds_everything(open_page, report):
    page = open_page(report, dark=True, width=680)
    page.emulate_media(media="print")
    page.wait_for_function("() => 'printing' in document.documentElement.dataset")
    assert luminance(page, PAPER) > 0.9
    assert luminance(page, LABEL) < 0.2
    assert page.evaluate(OVERFLOW) == 0
    assert page.locator("#chart-map svg").bounding_box()["height"] > 300
    assert not page.locator("#map-find").is_visible()
    box = page.locator(".box:has(#flagged)")
    assert box.evaluate("(one) => getComputedStyle(one).overflowY") == "visible"
    page.emulate_media(media="screen")
    page.wait_for_function("() => !('printing' in document.documentElement.dataset)")
    assert luminance(page, LABEL) > 0.8


def test_printing_gives_back_the_screen(open_page, report):
    page = open_page(report, dark=True)
    wide = page.locator("#chart-map svg").bounding_box()["width"]
    assert page.pdf(format="A4").startswith(b"%PDF")
    assert luminance(page, LABEL) > 0.8
    assert page.locator("#chart-map svg").bounding_box()["width"] == wide


@pytest.fixture(scope="module")
def many_views(tmp_path_factory):
    made = make_multiview(300, n_views=30, n_clusters=3, separation=2.5, random_state=0)
    model = DistanceGraphFusion(n_clusters=3, n_neighbors=30, effort="low", random_state=0).fit(made.views)
    return write_report(tmp_path_factory.mktemp("views") / "many.html", model)


def filled(pdf):
    """Return how many areas a PDF fills."""
    streams = re.findall(rb"stream\r?\n(.*?)endstream", pdf, re.DOTALL)
    pages = []
    for stream in streams:
        with contextlib.suppress(zlib.error):  # those that are no text of a page
            pages.append(zlib.decompress(stream))
    return sum(len(re.findall(rb"^f\*?$", page, re.MULTILINE)) for page in pages)


def test_a_heat_map_of_many_views_is_on_paper_too(open_page, many_views):
    page = open_page(many_views)
    assert page.locator("#chart-conflicts canvas").count() > 0  # so many cells are drawn otherwise
    n_cells = page.evaluate(
        """() => JSON.parse(document.getElementById("data").textContent).conflicts.means.flat().length"""
    )
    assert n_cells > 6000
    with_it = filled(page.pdf(format="A4", print_background=True))
    assert page.locator("#chart-conflicts canvas").count() > 0
    page.evaluate(
        "() => { document.getElementById('chart-conflicts').parentElement.style.visibility = 'hidden'; }"
    )
    assert with_it - filled(page.pdf(format="A4", print_background=True)) > n_cells


def test_a_heat_map_of_many_views_answers_after_printing(open_page, many_views):
    page = open_page(many_views)
    page.pdf(format="A4")
    place = page.evaluate(
        """() => {
          const place = document.getElementById("chart-conflicts");
          place.scrollIntoView({ block: "center" });
          const [x, y] = echarts.getInstanceByDom(place).convertToPixel("grid", [30, 17]);
          const box = place.getBoundingClientRect();
          return [box.x + x, box.y + y];
        }"""
    )
    page.mouse.click(*place)
    assert opened(page) == ["view-17"]


def test_panels_are_printed_open_and_closed_again(open_page, report):
    page = open_page(report)
    assert opened(page) == ["view-0"]
    page.emulate_media(media="print")
    page.wait_for_function("() => 'printing' in document.documentElement.dataset")
    assert opened(page) == [f"view-{i}" for i in range(4)]
    page.emulate_media(media="screen")
    page.wait_for_function("() => !('printing' in document.documentElement.dataset)")
    assert opened(page) == ["view-0"]


LONG_VIEWS = [
    "mirna_expression_rnaseq_log2_normalised_batch_corrected_v1",
    "mirna_expression_rnaseq_log2_normalised_batch_corrected_v2",
    "methylation/450k/beta_values/quantile_normalised/promoters.csv",
    "d",
]
# Names that run out of their cell, over the next one.
RUN_OVER = """() => [...document.querySelectorAll("th, td")].filter((cell) => {
  const range = document.createRange();
  range.selectNodeContents(cell);
  const [inside, whole] = [range, cell].map((one) => one.getBoundingClientRect());
  return cell.checkVisibility() && inside.right > whole.right + 1;
}).map((cell) => cell.textContent)"""


@pytest.mark.parametrize("width", [360, 1280])
def test_long_names_run_over_nothing_and_can_be_distinguished(open_page, tmp_path, width):
    made = make_multiview(120, n_clusters=3, separation=4.0, scrambled=[0.3, 0, 0, 0], random_state=0)
    views = dict(zip(LONG_VIEWS, made.views.values(), strict=True))
    model = DistanceGraphFusion(n_clusters=3, random_state=0).fit(views)
    page = open_page(write_report(tmp_path / "long.html", model), width=width)
    page.evaluate("() => document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert page.evaluate(RUN_OVER) == []
    assert page.evaluate(OVERFLOW) == 0
    heads = page.locator("#clusters-views thead th").all_text_contents()[2:]
    assert len(set(heads)) == 4  # although clipped
    labels = page.locator("#chart-conflicts svg text", has_text="…").all_text_contents()
    assert len(set(labels)) == 3


def test_bars_of_a_column_start_at_the_same_place(open_page, report):
    page = open_page(report)
    for table, n_bars in (("views-table", 5), ("clusters", 1), ("contenders", 1)):
        starts = page.evaluate(
            """(table) => {
              const starts = {};
              for (const bar of document.querySelectorAll(`#${table} .bar`)) {
                (starts[bar.parentElement.cellIndex] ??= []).push(bar.getBoundingClientRect().x);
              }
              return Object.values(starts).map((all) => Math.max(...all) - Math.min(...all));
            }""",
            table,
        )
        assert len(starts) == n_bars
        assert max(starts) < 0.5, table


def test_headers_are_named_without_their_arrows(open_page, report):
    page = open_page(report)
    head = page.locator("#clusters thead")
    head.get_by_role("button", name="share", exact=True).click()
    assert '"share"' in head.aria_snapshot()
    assert not set("↕↑↓") & set(head.aria_snapshot())


# The least contrast of text on a shade.
CONTRAST = """() => {
  const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const light = (...colours) => {
    context.clearRect(0, 0, 1, 1);
    for (const colour of colours) { context.fillStyle = colour; context.fillRect(0, 0, 1, 1); }
    const [r, g, b] = [...context.getImageData(0, 0, 1, 1).data].map((x) => (
      x <= 10 ? x / 255 / 12.92 : ((x / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const paper = getComputedStyle(document.body).backgroundColor;
  return Math.min(...[...document.querySelectorAll(".shade")].map((cell) => {
    const style = getComputedStyle(cell);
    const [a, b] = [light(paper, style.backgroundColor), light(style.color)].sort((x, y) => x - y);
    return (b + 0.05) / (a + 0.05);
  }));
}"""


@pytest.mark.parametrize("dark", [False, True])
def test_numbers_on_a_shade_can_be_read(open_page, report, dark):
    page = open_page(report, dark=dark)
    page.evaluate("() => document.querySelector('.shade').style.setProperty('--share', '100%')")
    assert page.evaluate(CONTRAST) >= 4.5


def test_the_keyboard_reaches_everything(open_page, report):
    page = open_page(report)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to: The answer"
    assert page.locator(".skip").bounding_box()["x"] >= 0
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('section').id") == "answer"
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    reached = []
    for _ in range(200):
        name = page.evaluate("document.activeElement.id || document.activeElement.textContent")
        reached.append(name)
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement === document.body"):
            break
    assert {"map-colour", "map-find", "projections", "odd view", "Show its flagged rows", "Copy"} <= set(
        reached
    )
    labels = page.locator("input, select").evaluate_all("(all) => all.map((one) => one.labels.length)")
    assert labels == [1] * 6


def test_the_code_can_be_copied(open_page, report, fitted):
    page = open_page(report)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    button = page.locator("[data-copy=code]")
    button.click()
    page.wait_for_function("() => document.querySelector('[data-copy=code]').textContent !== 'Copy'")
    copied = page.evaluate("() => navigator.clipboard.readText()")
    assert fitted["model"].data_fingerprint_ in copied
    assert copied == page.locator("#code").text_content()


def test_without_scripts_the_words_and_tables_are_there(chromium, report):
    context = chromium.new_context(java_script_enabled=False, offline=True)
    page = context.new_page()
    page.goto(report.as_uri())
    assert page.get_by_text("need JavaScript").is_visible()
    assert page.locator("#flagged").is_visible()
    assert page.locator("#contenders").is_visible()
    assert page.locator("#code").is_visible()
    assert not page.locator("#chart-map").is_visible()
    assert not page.locator("#map-find").is_visible()
    context.close()


def test_a_single_view_and_a_single_cluster(open_page, tmp_path):
    made = make_multiview(40, n_views=1, n_clusters=2, separation=3.0, random_state=0)
    page = open_page(write_report(tmp_path / "one.html", DistanceGraphFusion(n_clusters=1).fit(made.views)))
    assert page.locator("#chart-map svg path").count() > 20
    page.locator("#map-colour").select_option("conflict")
    page.locator("#map-find").fill("3")
    assert page.locator("#chart-map .tip").text_content().startswith("3cluster 0")


@pytest.mark.parametrize("left_out", [one.name for one in SECTIONS])
def test_a_page_without_one_of_its_sections_still_works(open_page, fitted, tmp_path, left_out):
    """Sections may be left out; an error of a script would make this test fail when it ends."""
    sections = [one for one in SECTIONS if one.name != left_out]
    path = write_report(
        tmp_path / "some.html", fitted["model"], inspection=fitted["found"], sections=sections
    )
    page = open_page(path)
    assert page.locator(f"#{left_out}").count() == 0
    if left_out != "made":  # it holds the code to copy
        page.locator("[data-copy]").first.click()
        # The clipboard answers when it has time: on a busy machine not at once.
        page.wait_for_function(
            "['Copied', 'Selected'].includes(document.querySelector('[data-copy]').textContent)"
        )
