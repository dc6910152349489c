"""Every figure from invented tables: what is drawn, that nothing of it leaks, and what is written."""

import importlib.util
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.inspection.figure_texts import overlaps, texts

from consilience.inspection.drawing import own_style, plain, whole_decades
from consilience.reproduction import figures
from consilience.reproduction.graph_figures import _borders, _surface, _together

STEMS = {
    "scores": {"scores", "scores-differences"},
    "times": {"times", "times-stages"},
    "sensitivity": {"sensitivity-surface", "sensitivity-heatmap"},
    "convergence": {"convergence"},
    "complexity": {"complexity"},
    "affinity": {"affinity"},
    "no-tuning": {"no-tuning"},
    "2019": {"2019"},
    "eigengaps": {"eigengaps"},
}
with_matplotlib = pytest.mark.skipif(
    importlib.util.find_spec("matplotlib") is None, reason="needs the extra 'plot': consilience[plot]"
)


def test_without_matplotlib_it_says_what_to_install(invent, paper, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ValueError, match=r"^Figures need matplotlib: pip install 'consilience\[plot\]'\.$"):
        figures.draw("scores", invent.tables()["scores"], paper)


@with_matplotlib
@pytest.mark.parametrize("name", STEMS)
@pytest.mark.parametrize("sets", [("MSRC_v1",), ("MSRC_v1", "BBCSport", "3Sources")])
@pytest.mark.parametrize("note", ["", "quick version: not the paper's protocol"])
def test_names_of_the_figures_and_no_label_on_another(name, sets, note, invent, paper):
    drawn = figures.draw(name, invent.tables(sets)[name], paper, note)
    assert set(drawn) == STEMS[name]
    for stem, figure in drawn.items():
        with own_style():
            found = overlaps(figure)
        assert not note or figure.get_supxlabel() == note
        # The labels of slanted axes are drawn in slanted boxes: their upright frames touch.
        assert not found or stem == "sensitivity-surface", (stem, found)


@with_matplotlib
@pytest.mark.parametrize("name", ["scores", "times", "no-tuning"])
def test_all_sets_of_the_paper_fit(name, invent, paper):
    for stem, figure in figures.draw(name, invent.tables(tuple(paper.sets))[name], paper).items():
        with own_style():
            found = overlaps(figure)
        assert not found, (stem, found)
        shown = " ".join(texts(figure))
        titles = [one.title for one in paper.sets.values() if one.in_paper or stem != "scores-differences"]
        assert all(title in shown for title in titles)


@with_matplotlib
def test_one_panel_per_set_and_method_and_log_axes_on_the_surfaces(invent, paper):
    rows = invent.sensitivity("MSRC_v1", side=11) + invent.sensitivity("BBCSport", side=11)
    figure = figures.draw("sensitivity", rows, paper)["sensitivity-surface"]
    assert [panel.get_title() for panel in figure.axes] == [
        "MSRC-v1  SGF",
        "MSRC-v1  DGF",
        "BBCSport  SGF",
        "BBCSport  DGF",
    ]
    for panel in figure.axes:
        assert panel.get_xlabel() == r"$\log_{10}\beta$" and panel.get_ylabel() == r"$\log_{10}\gamma$"
        assert panel.get_zlim() == (0, 80)
        np.testing.assert_allclose(panel.get_xticks(), [-5, 0, 5])


@with_matplotlib
def test_the_maps_show_the_scores_where_they_belong(invent, paper):
    rows = invent.sensitivity("MSRC_v1", side=11)
    for row in rows:
        row["NMI"] = 50.0 + np.log10(row["beta"]) + 0.1 * np.log10(row["gamma"])
    figure = figures.draw("sensitivity", rows, paper)["sensitivity-heatmap"]
    panel = figure.axes[0]
    picture = panel.get_images()[0].get_array()
    assert picture[0, 0] == pytest.approx(44.5) and picture[10, 10] == pytest.approx(55.5)
    assert picture[0, 10] == pytest.approx(54.5)  # gamma upwards, beta to the right
    ring, *crosses = ([line.get_xdata()[0], line.get_ydata()[0]] for line in panel.get_lines())
    assert ring == [10, 10] and crosses == [[5, 9], [5, 9]]
    assert "44.5 to 55.5" in panel.get_title()


@with_matplotlib
def test_the_curves_of_exact_steps_begin_where_the_others_end(invent, paper):
    figure = figures.draw("convergence", invent.convergence("MSRC_v1"), paper)["convergence"]
    solid, dot, dashed = figure.axes[0].get_lines()[:3]
    assert solid.get_ydata()[0] == 1 and len(solid.get_xdata()) == 21
    assert dashed.get_xdata()[0] == 20 and dashed.get_ydata()[-1] == pytest.approx(0.7)
    assert dot.get_xdata()[0] == 5


@with_matplotlib
def test_slopes_are_drawn_with_their_exponents(invent, paper):
    rows = invent.complexity({"v": 1.25})
    panel = figures.draw("complexity", rows, paper)["complexity"].axes[2]
    claimed, fitted, points = panel.get_lines()
    for line, slope in ((claimed, 2.0), (fitted, 1.25), (points, 1.25)):
        x, y = np.log(line.get_xdata()), np.log(line.get_ydata())
        np.testing.assert_allclose(np.diff(y) / np.diff(x), slope)
    assert [text.get_text() for text in panel.get_legend().get_texts()] == [
        "the paper's exponent, 2",
        "fitted: 1.25 ± 0.03",
    ]


@with_matplotlib
def test_affinity_has_the_scores_and_the_weight_between_classes(invent, paper):
    shown = texts(figures.draw("affinity", invent.tables()["affinity"], paper)["affinity"])
    assert {"view a", "view <c>", "learned by SGF", "45.0 % between classes"} <= set(shown)
    assert "ACC 100.0  ARI 100.0\nNMI 100.0  purity 100.0" in shown


def test_who_is_in_a_cluster_with_whom_by_hand():
    labels = np.array([0, 0, 0, 1])
    np.testing.assert_allclose(_together(labels, 4), [[1, 1, 1, 0]] * 3 + [[0, 0, 0, 1]])
    np.testing.assert_allclose(_together(labels, 2), [[1, 0.5], [0.5, 0.5]])
    assert _borders(np.array([0, 0, 1, 1]), 4) == [1.5] and _borders(np.array([0, 0, 1, 1]), 2) == [0.5]


def test_a_point_that_failed_is_a_hole():
    row = {"beta": 1.0, "gamma": 10.0, "NMI": 70.0}
    betas, gammas, scores = _surface([row, {**row, "gamma": 1.0, "NMI": None}], "NMI")
    assert betas.tolist() == [0] and gammas.tolist() == [0, 1]
    np.testing.assert_array_equal(scores, [[np.nan, 70.0]])


@with_matplotlib
def test_cells_and_points_without_a_result_are_drawn_as_such(invent, paper):
    tables = invent.tables()
    tables["scores"][3] = invent.failed(tables["scores"][3])
    tables["sensitivity"][4] = {**tables["sensitivity"][4], "NMI": None, "reason": "no"}
    tables["times"][2] |= {"seconds": None, "seconds_std": None, "stages": {}}
    tables["no-tuning"][0] = {**invent.failed(tables["no-tuning"][0]), "scales": None, "inconsistent": None}
    drawn = {stem: one for name in tables for stem, one in figures.draw(name, tables[name], paper).items()}
    assert set(drawn) == set().union(*STEMS.values())
    assert texts(drawn["scores"]).count("no result") == texts(drawn["times"]).count("no result") == 1


@with_matplotlib
@pytest.mark.parametrize("name", STEMS)
def test_no_rows_no_figure(name, paper):
    assert figures.draw(name, [], paper) == {}


@with_matplotlib
def test_files_are_the_same_each_time_and_nothing_else_is_left(invent, paper, tmp_path):
    import matplotlib

    before = dict(matplotlib.rcParams)
    for folder in ("a", "b"):
        for stem, figure in figures.draw("sensitivity", invent.sensitivity("MSRC_v1"), paper).items():
            figures.save(figure, tmp_path / folder, stem)
    assert dict(matplotlib.rcParams) == before
    if "matplotlib.pyplot" in sys.modules:
        assert not sys.modules["matplotlib.pyplot"].get_fignums()
    names = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert names == sorted(f"{stem}{end}" for stem in STEMS["sensitivity"] for end in (".png", ".svg"))
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    svg = (tmp_path / "a" / "sensitivity-heatmap.svg").read_text()
    assert "dc:date" not in svg and not re.search(r"(href|src)=\"https?://", svg)


@with_matplotlib
def test_the_style_of_the_user_does_not_matter(invent, paper, tmp_path):
    import matplotlib

    rows = invent.complexity()
    figures.save(figures.draw("complexity", rows, paper)["complexity"], tmp_path, "mine")
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "black", "savefig.dpi": 20}):
        figures.save(figures.draw("complexity", rows, paper)["complexity"], tmp_path, "yours")
    assert (tmp_path / "mine.png").read_bytes() == (tmp_path / "yours.png").read_bytes()


@with_matplotlib
def test_a_figure_that_cannot_be_written_leaves_nothing(tmp_path):
    class Broken:
        def savefig(self, path, **options):
            Path(path).write_text("half")
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        figures.save(Broken(), tmp_path, "scores")
    assert list(tmp_path.iterdir()) == []


def test_axes_end_at_powers_of_ten_in_plain_figures():
    assert whole_decades([0.5, 0.7]) == (0.1, 1.0) and whole_decades([1.0, 1.0]) == (1.0, 10.0)
    assert plain(10000) == "10,000" and plain(0.01) == "0.01"
