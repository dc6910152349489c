"""Every plot from invented data: what is drawn, that it fits, and that nothing else changes."""

import doctest
import importlib
import io
import pickle
import pkgutil
import subprocess
import sys
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from tests.inspection.figure_texts import overlaps, texts

from consilience.inspection import (
    AgreementMatrix,
    ClusterConflicts,
    Convergence,
    GraphHealth,
    SampleConfidence,
    SampleConflicts,
    Sensitivity,
    ViewSummary,
    plots,
)
from consilience.inspection.fusion_help import FusionHelp
from consilience.inspection.plots.binning import mean_of_blocks, mean_of_graph, middles_and_ends, places_of
from consilience.inspection.plots.canvas import shown
from consilience.stages import ClusterSelection

REASON = "needs the extra 'plot': consilience[plot]"
LONG = "a view with a very long name, longer than anybody would think, of 25 $ or 30 $"


@pytest.fixture
def plt():
    """Pyplot without windows; whatever a test leaves open is closed."""
    pytest.importorskip("matplotlib", reason=REASON).use("Agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


def names(v):
    return tuple(f"view {i}" for i in range(v))


def some_labels(n, c):
    return np.arange(n) * c // n


def a_graph(n, c=3, seed=0):
    """Return a sparse symmetric graph with most edges within clusters."""
    rng = np.random.default_rng(seed)
    rows = np.repeat(np.arange(n), 5)
    labels = some_labels(n, c)
    columns = np.array([rng.choice(np.flatnonzero(labels == labels[row])) for row in rows])
    graph = sparse.coo_array((rng.random(len(rows)), (rows, columns)), shape=(n, n)).tocsr()
    return graph + graph.T


def summary(v=4, left_out=()):
    kept = ~np.isin(np.arange(v), left_out)
    shares = np.where(kept, np.linspace(0.01, 0.3, v), np.nan)
    part = np.where(kept, np.linspace(1, 2, v), 0.0)
    total = part.sum() or 1.0
    return ViewSummary(names(v), kept, kept * 1.0, part, part / total, shares, np.where(kept, 0.2, 0.0))


def agreement(v=4):
    shares = np.full((v, v), 0.3)
    np.fill_diagonal(shares, 1.0)
    significant = ~np.eye(v, dtype=bool)
    if v > 2:
        shares[0, 1] = shares[1, 0] = 0.004
        significant[0, 1] = significant[1, 0] = False
    return AgreementMatrix(names(v), shares, significant)


def sample_scores(n=30, v=4, flagged=((3, 1), (20, 2))):
    rng = np.random.default_rng(0)
    scores, flags = rng.uniform(0, 0.2, (n, v)), np.zeros((n, v), dtype=bool)
    for row, column in flagged:
        if row < n and column < v:
            scores[row, column], flags[row, column] = 0.99, True
    return SampleConflicts(names(v), np.arange(n), scores, flags, 0.05, np.full(v, 0.1))


def cluster_scores(c=3, v=4):
    rng = np.random.default_rng(0)
    cohesion = np.linspace(0.1, 1.0, c * v).reshape(c, v)
    mixed = (np.arange(c)[:, None] + np.ones((1, v), dtype=int)) % c if c > 1 else np.full((c, v), -1)
    return ClusterConflicts(
        names(v), np.full(c, 10), rng.random((c, v)), np.zeros((c, v), int), cohesion, mixed
    )


def confidence(n=30):
    rng = np.random.default_rng(0)
    return SampleConfidence(rng.uniform(-0.5, 1, n), rng.random(n), np.zeros(n, int), rng.random(n))


def objective(values=(4.0, 3.0, 2.5, 2.4), converged=True):
    return Convergence(np.array(values), converged, "why")


def health(c=3, eigenvalues=(0.0, 0.01, 0.02, 0.5, 0.52, 0.6)):
    degrees = np.full(30, 5)
    return GraphHealth(30, 75, np.array([30]), 0, degrees, degrees * 1.0, c, np.array(eigenvalues))


def sensitivity(values=(0.01, 1, 100), current=1.0, scores=True, parameter="gamma"):
    m = len(values)
    return Sensitivity(
        parameter,
        tuple(values),
        current,
        np.linspace(1, 0.7, m),
        np.linspace(0.6, 0.8, m) if scores else None,
        np.full((m, 2), 0.5),
        names(2),
    )


def help_found(v=3, scores=True):
    m, rng = v + 4, np.random.default_rng(0)
    shown = np.linspace(0.5, 0.9, m)
    return FusionHelp(
        names=(*names(v), "concatenation", "average", "SGF", "DGF"),
        kinds=(*["view"] * v, "concatenation", "average", "fusion", "fusion"),
        labels=np.zeros((m, 5), int),
        shown=shown,
        shown_resampled=shown[:, None] + rng.uniform(-0.05, 0.05, (m, 3)),
        stability=shown / 2,
        resampled=np.full((m, 3), 0.3),
        agreement=np.ones((m, m)),
        scores={"NMI": np.linspace(0.4, 0.8, m)} if scores else None,
        verdict="yes",
        strength="strong",
        sentence="Fusing helps, " + "as far as can be said without labels and for so many reasons, " * 3,
        evidence=None,  # is in the sentence; nothing of it is drawn
        skipped={},
    )


def selection(chosen=5, largest=20):
    """Return a choice among 2 to so many clusters."""
    c = np.arange(2, largest + 1)
    fit = np.exp(-np.abs(c - 5) / 4)
    return ClusterSelection(c, fit / 5, fit / 2, fit, fit / 10, 1.8 / c, chosen, "5 clusters: such is life.")


EVERY = {
    "affinity": lambda **at: plots.plot_affinity(a_graph(30), some_labels(30, 3), **at),
    "affinity, binned": lambda **at: plots.plot_affinity(a_graph(90), some_labels(90, 25), max_bins=40, **at),
    "contributions": lambda **at: plots.plot_contributions(summary(left_out=[2]), **at),
    "agreement": lambda **at: plots.plot_agreement(agreement(), **at),
    "agreement of many": lambda **at: plots.plot_agreement(agreement(18), **at),
    "sample conflicts": lambda **at: plots.plot_sample_conflicts(sample_scores(), some_labels(30, 3), **at),
    "sample conflicts, binned": lambda **at: plots.plot_sample_conflicts(sample_scores(), max_rows=8, **at),
    "cluster conflicts": lambda **at: plots.plot_cluster_conflicts(cluster_scores(25, 6), **at),
    "cohesion": lambda **at: plots.plot_cluster_conflicts(cluster_scores(), show="cohesion", **at),
    "embedding": lambda **at: plots.plot_embedding(
        np.random.default_rng(0).normal(size=(60, 4)), some_labels(60, 20), **at
    ),
    "values": lambda **at: plots.plot_embedding(
        np.random.default_rng(0).normal(size=(30, 2)), values=np.r_[np.nan, np.arange(29)], **at
    ),
    "confidence": lambda **at: plots.plot_confidence(confidence(), some_labels(30, 3), **at),
    "convergence": lambda **at: plots.plot_convergence(objective(), **at),
    "eigengap": lambda **at: plots.plot_eigengap(health(), **at),
    "eigengap elsewhere": lambda **at: plots.plot_eigengap(health(2), **at),
    "sensitivity": lambda **at: plots.plot_sensitivity(sensitivity(), **at),
    "sensitivity, names": lambda **at: plots.plot_sensitivity(
        sensitivity(["auto", 5, 20], "auto", False, "n_neighbors"), **at
    ),
    "fusion help": lambda **at: plots.plot_fusion_help(help_found(), **at),
    "cluster selection": lambda **at: plots.plot_cluster_selection(selection(), **at),
}
every = pytest.mark.parametrize("draw", EVERY.values(), ids=EVERY)


def pixels(figure):
    """Return a figure as it is saved to a file."""
    file = io.BytesIO()
    figure.savefig(file, format="rgba", dpi=80)
    return file.getvalue()


# All of them ------------------------------------------------------------------------------------------------


def test_importing_needs_no_matplotlib_and_drawing_says_what_to_install(monkeypatch):
    program = "import sys; sys.modules['matplotlib'] = None; import consilience.inspection.plots"
    subprocess.run([sys.executable, "-c", program], check=True)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for name, draw in EVERY.items():
        with pytest.raises(ValueError) as caught:
            draw()
        assert str(caught.value) == "Figures need matplotlib: pip install 'consilience[plot]'.", name


def test_every_plot_is_tested_here():
    drawn = {name for draw in EVERY.values() for name in draw.__code__.co_names if name.startswith("plot_")}
    assert drawn == set(plots.__all__)


@every
def test_a_new_figure_of_its_own_where_nothing_overlaps(draw, plt):
    axes = draw()
    assert isinstance(axes, plt.Axes)
    assert plt.get_fignums() == [axes.figure.number]
    assert overlaps(axes.figure) == []


@every
def test_on_given_axes_no_figure_is_made_and_no_setting_changed(draw, plt):
    import matplotlib
    from matplotlib.figure import Figure

    before = dict(matplotlib.rcParams)
    given = Figure(figsize=(8, 6)).add_subplot()
    assert draw(ax=given) is given
    assert given.has_data()
    draw()
    assert dict(matplotlib.rcParams) == before
    assert len(plt.get_fignums()) == 1


@every
def test_our_figures_are_light_whatever_the_style(draw, plt):
    light = draw().figure
    with plt.style.context(["dark_background", {"xtick.direction": "in", "font.size": 20}]):
        dark = draw().figure
        saved = pixels(dark)
    assert saved == pixels(light)


@every
def test_on_axes_of_a_dark_style_text_is_light(draw, plt):
    from matplotlib.figure import Figure

    with plt.style.context("dark_background"):
        axes = draw(ax=Figure().add_subplot())
        labels = [*axes.get_xticklabels(), *axes.get_yticklabels(), axes.title, axes.xaxis.label]
    assert {label.get_color() for label in labels} == {"white"}


@every
def test_a_figure_survives_pickling(draw, plt):
    assert texts(pickle.loads(pickle.dumps(draw().figure)))


def test_a_plot_that_fails_leaves_no_figure(plt):
    with pytest.raises(ValueError, match="values has shape"):
        plots.plot_embedding(np.zeros((3, 2)), values=[1.0])
    assert plt.get_fignums() == []


def test_the_examples_of_the_documentation_run(plt):
    """They are skipped where all examples are run: Matplotlib may not be there."""
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    run = 0
    for module in pkgutil.iter_modules(plots.__path__, plots.__name__ + "."):
        for test in finder.find(importlib.import_module(module.name)):
            for example in test.examples:
                run += example.options.pop(doctest.SKIP, False)
            report = []
            runner.run(test, out=report.append)
            assert runner.failures == 0, "".join(report)
            plt.close("all")
    assert run >= len(plots.__all__)


@every
def test_the_font_of_the_user_stays(draw, plt):
    with plt.style.context({"font.family": "serif"}):
        axes = draw()
    assert axes.title.get_fontfamily() == ["serif"]


# Graphs -----------------------------------------------------------------------------------------------------


def test_the_cells_of_a_graph_are_its_weights_by_cluster(plt):
    labels = np.array([1, 0, 1, 0])
    weights = np.zeros((4, 4))
    weights[1, 3] = weights[3, 1] = 4.0
    weights[0, 2] = weights[2, 0] = 1.0
    axes = plots.plot_affinity(sparse.csr_array(weights), labels)
    order = [1, 3, 0, 2]
    np.testing.assert_array_equal(axes.get_images()[0].get_array(), weights[np.ix_(order, order)])
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0", "1"]
    np.testing.assert_array_equal(axes.get_xticks(), [0.5, 2.5])
    assert [line.get_ydata()[0] for line in axes.get_lines()[::2]] == [1.5]
    assert axes.get_xlabel() == "samples by cluster"


def test_many_samples_are_put_together_and_it_is_said(plt):
    graph, labels = a_graph(90), some_labels(90, 3)
    axes = plots.plot_affinity(graph, labels, max_bins=30)
    cells = axes.get_images()[0].get_array()
    dense = graph.toarray().reshape(30, 3, 30, 3).mean(axis=(1, 3))
    np.testing.assert_allclose(cells, dense)
    assert axes.get_xlabel() == "samples by cluster\n(90 in 30 blocks: means)"


def test_a_graph_is_never_made_dense():
    n = 50_000
    graph = sparse.csr_array((np.ones(n), (np.arange(n), np.roll(np.arange(n), 1))), shape=(n, n))
    tracemalloc.start()
    cells = mean_of_graph(graph, np.arange(n), 400)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200 * n
    assert cells.sum() * (n / 400) ** 2 == pytest.approx(n)


def test_labels_that_are_names_are_shown(plt):
    axes = plots.plot_affinity(a_graph(4, 2), ["b", "a", "b", "a"])
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b"]


def test_what_cannot_be_drawn_is_said_in_one_line(plt):
    with pytest.raises(ValueError, match=r"labels has shape \(3,\); there must be one label for each of 4"):
        plots.plot_affinity(a_graph(4, 2), [0, 1, 2])
    with pytest.raises(ValueError, match=r"graph has shape \(2, 3\); a graph is a square matrix"):
        plots.plot_affinity(sparse.csr_array((2, 3)), [0, 1])
    with pytest.raises(ValueError, match="max_bins must be at least 1, got 0"):
        plots.plot_affinity(a_graph(4, 2), np.zeros(4), max_bins=0)
    with pytest.raises(ValueError, match="max_rows must be at least 1, got 0"):
        plots.plot_sample_conflicts(sample_scores(), max_rows=0)
    with pytest.raises(ValueError, match="show must be 'scores' or 'cohesion', got 'both'"):
        plots.plot_cluster_conflicts(cluster_scores(), show="both")
    with pytest.raises(ValueError, match=r"measure must be one of 'lowest', .*; got 'second'"):
        plots.plot_confidence(confidence(), np.zeros(30), measure="second")
    for given in ({}, {"labels": [0, 0], "values": [0, 0]}):
        with pytest.raises(ValueError, match="Give either labels or values"):
            plots.plot_embedding(np.zeros((2, 2)), **given)
    with pytest.raises(ValueError, match="points has values that are not finite"):
        plots.plot_embedding([[0.0, np.nan]], [0])
    with pytest.raises(ValueError, match=r"points has shape \(2,\)"):
        plots.plot_embedding([0.0, 1.0], [0, 1])
    assert plt.get_fignums() == []


# Views ------------------------------------------------------------------------------------------------------


def test_two_bars_for_each_view_that_was_kept(plt):
    found = summary(4, left_out=[2])
    axes = plots.plot_contributions(found)
    first, second = axes.containers
    kept = [0, 1, 3]
    np.testing.assert_allclose([bar.get_width() for bar in first], 100 * found.contributions[kept])
    np.testing.assert_allclose([bar.get_width() for bar in second], 100 * found.inconsistent_shares[kept])
    middles = [(a.get_y() + b.get_y() + b.get_height()) / 2 for a, b in zip(first, second, strict=True)]
    np.testing.assert_allclose(middles, kept, atol=1e-12)
    left_out = [text for text in axes.texts if text.get_text() == "left out"]
    assert [text.get_position()[1] for text in left_out] == [2]
    assert [label.get_text() for label in axes.get_yticklabels()] == list(found.names)


def test_agreement_shows_numbers_and_brackets_what_is_chance(plt):
    axes = plots.plot_agreement(agreement(3))
    written = {text.get_position(): text.get_text() for text in axes.texts}
    assert written == {
        **dict.fromkeys([(2, 0), (2, 1), (0, 2), (1, 2)], "0.30"),
        **dict.fromkeys([(1, 0), (0, 1)], "(0.00)"),
    }
    assert axes.get_xlabel() == "in brackets: no more than chance"
    assert np.isnan(np.diag(axes.get_images()[0].get_array().filled(np.nan))).all()


def test_agreement_of_many_views_marks_only_chance(plt):
    axes = plots.plot_agreement(agreement(18))
    assert {text.get_position(): text.get_text() for text in axes.texts} == {(1, 0): "o", (0, 1): "o"}


def test_numbers_are_dark_on_light_and_light_on_dark(plt):
    axes = plots.plot_agreement(agreement(3))
    colour = {text.get_text(): text.get_color() for text in axes.texts}
    assert colour == {"(0.00)": "white", "0.30": "#222222"}


# Samples and clusters ---------------------------------------------------------------------------------------


def test_samples_are_ordered_by_cluster_then_by_score(plt):
    found = sample_scores(30, 4)
    labels = np.arange(30) % 2
    axes = plots.plot_sample_conflicts(found, labels)
    cells = axes.get_images()[0].get_array()
    largest = found.scores.max(axis=1)
    order = sorted(range(30), key=lambda i: (labels[i], -largest[i]))
    np.testing.assert_array_equal(cells, found.scores[order])
    (marks,) = axes.collections
    np.testing.assert_allclose(marks.get_offsets(), [[2.5, 0], [1.5, 15]])  # rows 20 and 3
    above = [text.get_text() for text in axes.texts]
    assert above == ["0", "1", "1", "0"]
    assert "5 %" in axes.get_title()


def test_marks_are_where_their_block_is_and_only_if_few(plt):
    flagged = [(row, 0) for row in range(100)]
    axes = plots.plot_sample_conflicts(sample_scores(300, 2, flagged[:2]), max_rows=30)
    (marks,) = axes.collections
    np.testing.assert_allclose(marks.get_offsets()[:, 1], [-0.45, -0.35])
    assert "(300 in 30 blocks: means)" in axes.get_ylabel()
    axes = plots.plot_sample_conflicts(sample_scores(300, 2, flagged), max_rows=30)
    assert len(axes.collections) == 0
    assert [text.get_text() for text in axes.texts] == ["100", "0"]


def test_clusters_by_views_with_their_numbers(plt):
    found = cluster_scores(3, 4)
    axes = plots.plot_cluster_conflicts(found)
    np.testing.assert_array_equal(axes.get_images()[0].get_array(), found.scores)
    assert [text.get_text() for text in axes.texts] == [f"{value:.2f}" for value in found.scores.ravel()]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["0 (10)", "1 (10)", "2 (10)"]
    axes = plots.plot_cluster_conflicts(found, show="cohesion")
    written = [text.get_text() for text in axes.texts]
    assert written[0] == "0.10 →1" and written[-1] == "1.00" and written[-2] == "0.92"


def test_points_in_two_dimensions_stay_where_they_are(plt):
    points = np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])
    axes = plots.plot_embedding(points, ["x", "y", "x"])
    first, second = axes.collections
    np.testing.assert_array_equal(first.get_offsets(), points[[0, 2]])
    np.testing.assert_array_equal(second.get_offsets(), points[[1]])
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["x", "y"]


def test_of_more_dimensions_principal_components_are_drawn(plt):
    from sklearn.decomposition import PCA

    points = np.random.default_rng(0).normal(size=(50, 4)) * [1, 5, 2, 0.1]
    axes = plots.plot_embedding(points, np.zeros(50))
    drawn, expected = axes.collections[0].get_offsets(), PCA(2).fit_transform(points)
    np.testing.assert_allclose(np.abs(drawn), np.abs(expected), atol=1e-9)
    assert axes.get_xlabel() == "first principal component"


def test_clusters_beyond_eight_have_another_marker(plt):
    axes = plots.plot_embedding(np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 20)
    looks = [
        (tuple(one.get_facecolor()[0]), one.get_paths()[0].vertices.tobytes()) for one in axes.collections
    ]
    assert len(looks) == len(set(looks)) == 20
    assert looks[0][0] == looks[8][0] and looks[0][1] != looks[8][1]


def test_values_are_colours_and_none_is_a_cross(plt):
    points = np.arange(8.0).reshape(4, 2)
    axes = plots.plot_embedding(points, values=[3.0, np.nan, 1.0, 2.0], name="conflict")
    crosses, drawn = axes.collections
    np.testing.assert_array_equal(crosses.get_offsets(), points[[1]])
    np.testing.assert_array_equal(drawn.get_array(), [1.0, 2.0, 3.0])  # the largest on top
    np.testing.assert_array_equal(drawn.get_offsets(), points[[2, 3, 0]])
    assert "conflict" in texts(axes.figure)


def test_a_box_for_each_cluster(plt):
    found, labels = confidence(300), some_labels(300, 3)
    axes = plots.plot_confidence(found, labels, measure="margin")
    quartiles = [np.quantile(found.margin[labels == i], [0.25, 0.75]) for i in range(3)]
    drawn = [[bar.get_x(), bar.get_x() + bar.get_width()] for bars in axes.containers for bar in bars]
    np.testing.assert_allclose(drawn, quartiles)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["0 (100)", "1 (100)", "2 (100)"]
    assert axes.get_xlim()[0] > -0.1
    assert plots.plot_confidence(found, labels, measure="silhouette").get_xlim()[0] < -1


# Curves -----------------------------------------------------------------------------------------------------


def test_the_objective_round_by_round(plt):
    axes = plots.plot_convergence(objective())
    (line,) = axes.get_lines()
    np.testing.assert_array_equal(line.get_xydata(), [[0, 4.0], [1, 3.0], [2, 2.5], [3, 2.4]])
    assert axes.get_title() == "stopping rule met after 3 rounds" and axes.get_yscale() == "linear"
    axes = plots.plot_convergence(objective([500.0, 1.0], converged=False))
    assert axes.get_title() == "stopped before the rule was met, after 1 round"
    assert axes.get_yscale() == "log"


def height_of(axes, band):
    """Return where a band begins and ends; it is another kind of patch in older versions of Matplotlib."""
    box = band.get_window_extent().transformed(axes.transData.inverted())
    return box.y0, box.y1


def test_the_gap_behind_the_clusters_is_marked(plt):
    axes = plots.plot_eigengap(health(3))
    (band,) = axes.patches
    assert height_of(axes, band) == pytest.approx((0.02, 0.5))
    assert axes.get_title() == "gap behind 3 clusters: 0.48"
    assert [len(line.get_xdata()) for line in axes.get_lines()[:2]] == [3, 3]
    axes = plots.plot_eigengap(health(2))
    assert axes.get_title() == "gap behind 2 clusters: 0.01\nlargest: 0.48, behind 3"
    assert [height_of(axes, band)[0] for band in axes.patches] == pytest.approx([0.01, 0.02])


def test_the_number_chosen_is_marked(plt):
    axes = plots.plot_cluster_selection(selection())
    assert axes.get_title() == "5 clusters chosen"
    colours = [bar.get_facecolor() for bar in axes.patches]
    assert [i for i, colour in enumerate(colours) if colour != colours[0]] == [3]
    stability, null, mark = axes.get_lines()
    assert stability.get_ydata()[3] == null.get_ydata()[3] + 0.64 == 1.0
    assert list(mark.get_xdata()) == [5, 5]
    axes = plots.plot_cluster_selection(selection(1))
    assert axes.get_title() == "nothing stands out: 1 cluster"
    assert len(axes.get_lines()) == 2


@pytest.mark.parametrize(
    ("values", "current", "scale", "places", "line"),
    [
        ((0.01, 1, 100), 1.0, "log", [0.01, 1, 100], 1.0),
        ((20, 5, 10), 15, "linear", [5, 10, 20], 15),
        ((5, 10, 20), "auto", "linear", [5, 10, 20], None),
        ((0.01, 1, 100), 0.0, "log", [0.01, 1, 100], None),
        (("auto", 5, 20), "auto", "linear", [0, 1, 2], 0),
        ((False, True), True, "linear", [0, 1], 1),
        ((0, 1, 1000), 0, "linear", [0, 1, 2], 0),
        ((7,), 7, "linear", [7], 7),
    ],
)
def test_sensitivity_over_numbers_decades_and_names(values, current, scale, places, line, plt):
    axes = plots.plot_sensitivity(sensitivity(values, current))
    ari, nmi, *marked = axes.get_lines()
    assert axes.get_xscale() == scale
    np.testing.assert_array_equal(ari.get_xdata(), places)
    np.testing.assert_array_equal(nmi.get_xdata(), places)
    assert [one.get_xdata()[0] for one in marked] == ([] if line is None else [line])


def test_values_keep_their_results_when_they_are_sorted(plt):
    axes = plots.plot_sensitivity(sensitivity((20, 5, 10), scores=False))
    np.testing.assert_allclose(axes.get_lines()[0].get_ydata(), [0.85, 0.7, 1.0])
    assert len(axes.get_lines()) == 2  # and the fit itself, at 1


def test_contenders_with_their_resamples_and_scores(plt):
    found = help_found(3)
    axes = plots.plot_fusion_help(found)
    lines = axes.get_lines()
    assert len(lines) == 2 * 7 + 1
    np.testing.assert_allclose([line.get_xdata()[0] for line in lines[1:14:2]], found.shown)
    np.testing.assert_allclose(lines[0].get_xdata(), found.shown_resampled[0])
    np.testing.assert_allclose(lines[14].get_xdata(), found.scores["NMI"])
    assert axes.get_title(loc="left").replace("\n", " ") == found.sentence.strip()
    assert len(plots.plot_fusion_help(help_found(3, scores=False)).get_lines()) == 2 * 7


# Small, empty, unknown --------------------------------------------------------------------------------------

ONE = SampleConflicts(
    names(1), np.arange(2), np.full((2, 1), np.nan), np.zeros((2, 1), bool), 0.05, np.ones(1)
)
EDGES = {
    "n = 2": lambda: plots.plot_affinity(sparse.csr_array(np.ones((2, 2))), [0, 1]),
    "no edges": lambda: plots.plot_affinity(sparse.csr_array((3, 3)), [0, 0, 0]),
    "one view": lambda: plots.plot_contributions(summary(1)),
    "all left out": lambda: plots.plot_contributions(summary(2, left_out=[0, 1])),
    "shares unknown": lambda: plots.plot_contributions(
        replace(summary(2), inconsistent_shares=np.full(2, np.nan))
    ),
    "agreement of one": lambda: plots.plot_agreement(agreement(1)),
    "agreement unknown": lambda: plots.plot_agreement(replace(agreement(3), shares=np.full((3, 3), np.nan))),
    "one view, two samples, unknown": lambda: plots.plot_sample_conflicts(ONE, [0, 0]),
    "clusters unknown": lambda: plots.plot_cluster_conflicts(
        replace(cluster_scores(1, 1), scores=np.full((1, 1), np.nan), cohesion=np.full((1, 1), np.nan))
    ),
    "one cluster": lambda: plots.plot_cluster_conflicts(cluster_scores(1, 2), show="cohesion"),
    "two points": lambda: plots.plot_embedding([[0.0, 0.0], [1.0, 1.0]], [0, 0]),
    "one dimension": lambda: plots.plot_embedding([[0.0], [1.0]], [0, 1]),
    "two points in three dimensions": lambda: plots.plot_embedding(np.eye(3)[:2], [0, 1]),
    "values unknown": lambda: plots.plot_embedding(np.eye(2), values=[np.nan, np.nan]),
    "values equal": lambda: plots.plot_embedding(np.eye(2), values=[0.0, 0.0]),
    "confidence of two": lambda: plots.plot_confidence(confidence(2), [0, 1]),
    "confidence unknown": lambda: plots.plot_confidence(
        replace(confidence(2), neighbor_agreement=np.full(2, np.nan)), [0, 0], measure="neighbor_agreement"
    ),
    "no round": lambda: plots.plot_convergence(objective([1.0])),
    "no eigenvalue": lambda: plots.plot_eigengap(health(eigenvalues=())),
    "too few eigenvalues": lambda: plots.plot_eigengap(health(6)),
    "one cluster's gap": lambda: plots.plot_eigengap(health(1)),
    "no candidate": lambda: plots.plot_cluster_selection(selection(1, largest=1)),
    "one candidate": lambda: plots.plot_cluster_selection(selection(2, largest=2)),
    "nothing shown": lambda: plots.plot_fusion_help(replace(help_found(), shown=np.full(7, np.nan))),
}


@pytest.mark.parametrize("draw", EDGES.values(), ids=EDGES)
def test_small_empty_and_unknown_things_are_drawn(draw, plt):
    axes = draw()
    assert overlaps(axes.figure) == []  # which draws it


def test_what_is_unknown_is_hatched(plt):
    found = sample_scores(10, 2)
    found.scores[:4, 1] = np.nan
    hatched = plots.plot_sample_conflicts(found)
    assert hatched.patch.get_hatch() and hatched.get_images()[0].get_array().mask.sum() == 4
    assert plots.plot_sample_conflicts(sample_scores(10, 2)).patch.get_hatch() is None
    assert "left out" in texts(plots.plot_contributions(summary(2, left_out=[0, 1])).figure)
    assert "no eigenvalues were computed" in texts(EDGES["no eigenvalue"]().figure)


@pytest.mark.parametrize(
    "draw",
    [
        lambda view: plots.plot_contributions(replace(summary(4), names=view)),
        lambda view: plots.plot_agreement(replace(agreement(4), names=view)),
        lambda view: plots.plot_sample_conflicts(replace(sample_scores(), names=view)),
        lambda view: plots.plot_cluster_conflicts(replace(cluster_scores(), names=view)),
    ],
)
def test_long_names_are_shortened_and_stay_within_the_figure(draw, plt):
    axes = draw(("short", LONG, "under_scores_" * 8, "<b>"))
    outside = [one for one in overlaps(axes.figure) if isinstance(one, str)]  # slanted frames touch
    assert outside == []
    assert axes.bbox.width > 0.4 * axes.figure.bbox.width and axes.bbox.height > 0.3 * axes.figure.bbox.height


def test_names_break_and_are_never_formulas():
    assert shown("one two three four", 8) == "one two\nthree\nfour"
    assert shown("a_long_name_in_parts", 8) == "a_long_\nname_in_\nparts"
    assert shown("x" * 30, 10) == "x" * 10 + "\n" + "x" * 10 + "\n" + "x" * 10
    assert shown("x" * 31, 10).endswith("…") and shown("x" * 31, 10).count("\n") == 2
    assert shown(r"$\frac$") == r"\$\frac\$" and shown("") == "" and shown(3) == "3"


# Blocks -----------------------------------------------------------------------------------------------------


def test_blocks_are_even_and_in_order():
    for n, most in ((10, 3), (7, 7), (3, 10), (1000, 400)):
        places, count = places_of(n, most)
        sizes = np.bincount(places)
        assert count == min(n, most) == len(sizes) and sizes.max() - sizes.min() <= 1
        assert (np.diff(places) >= 0).all()


def test_means_of_rows_by_hand():
    values = np.array([[1.0, np.nan], [3.0, np.nan], [5.0, 7.0], [np.nan, 9.0]])
    np.testing.assert_array_equal(mean_of_blocks(values, 2), [[2.0, np.nan], [5.0, 8.0]])
    np.testing.assert_array_equal(mean_of_blocks(values, 9), values)


def test_clusters_have_their_middle_and_end_on_an_axis_of_blocks():
    numbers = np.array([1, 0, 1, 0, 0, 0, 1, 1])
    middles, ends = middles_and_ends(numbers, np.argsort(numbers, kind="stable"), 4)
    np.testing.assert_allclose(middles, [0.5, 2.5])
    np.testing.assert_allclose(ends, [1.5])
