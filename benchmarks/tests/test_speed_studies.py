"""The machinery of the studies of speed: limits, data, truth, tables. Not the figures."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from benchmarks.speed import engines, scale, searches
from benchmarks.speed.data import between, blobs, documents
from benchmarks.speed.limited import Outcome, run_limited
from benchmarks.speed.scale_tables import exponent, growth
from benchmarks.speed.search_libraries import LIBRARIES, without_own
from benchmarks.speed.truth import drawn_queries, reach, recall

HERE = "benchmarks.tests.speed_children."


def test_a_function_returns_from_its_own_process():
    outcome = run_limited("os.path.join", {"a": "x"}, seconds=30, gibibytes=1)
    assert (outcome.value, outcome.reason) == ("x", "")


def test_a_process_says_what_went_wrong():
    assert run_limited(HERE + "wrong", {}, seconds=30, gibibytes=1).reason == "ValueError: as it should"


def test_a_process_is_stopped_at_its_memory():
    outcome = run_limited(HERE + "hungry", {"megabytes": 400}, seconds=50, gibibytes=0.3)
    assert outcome.value is None
    assert outcome.reason.startswith("stopped at 0.3 GiB")


def test_time_counts_from_the_beginning_of_the_work():
    limits = {"seconds": 1.0, "gibibytes": 1, "warm_up": 60.0}
    assert run_limited(HERE + "late", {"warm": 1.5, "work": 0.0}, **limits).value == "done"
    outcome = run_limited(HERE + "late", {"warm": 0.0, "work": 30.0}, **limits)
    assert outcome.reason == "stopped after 1 s"


def test_blobs_are_the_same_for_a_seed_and_lie_around_their_centres():
    sample = blobs(4000)
    assert [x.shape[1] for x in sample.views] == [64, 32, 128]
    assert all(np.array_equal(a, b) for a, b in zip(sample.views, blobs(4000).views, strict=True))
    x = sample.views[0].astype(float)
    centres = np.array([x[sample.y == c].mean(axis=0) for c in range(20)])
    assert np.std(x - centres[sample.y]) == pytest.approx(1.0, abs=0.02)
    assert np.std(centres) == pytest.approx(0.55, abs=0.05)


def test_documents_are_sparse_rows_of_unit_length():
    text = documents(500, n_words=3000)
    assert sparse.issparse(text) and text.dtype == np.float32 and text.shape == (500, 3000)
    np.testing.assert_allclose(np.asarray(text.multiply(text).sum(axis=1)).ravel(), 1, rtol=1e-5)
    assert 30 < text.nnz / 500 < 60


def test_rows_between_rows_stay_near_them():
    x = np.random.default_rng(0).normal(size=(60, 3)) @ np.ones((3, 10))
    drawn = between(x, 400)
    spectrum = np.linalg.svd(drawn - drawn.mean(axis=0), compute_uv=False)
    assert spectrum[0] > 20 * spectrum[1]  # they are on the same line, but for the noise


@pytest.mark.parametrize("name", ["dense", "sparse"])
def test_the_truth_is_that_of_scikit_learn(name):
    x = blobs(1500, (12,)).views[0] if name == "dense" else documents(1500, n_words=2000)
    queries = drawn_queries(1500)
    near = NearestNeighbors(n_neighbors=11).fit(x).kneighbors(x[queries], return_distance=False)[:, 1:]
    far = reach(x, queries)
    assert recall(x, near, queries, far) >= 0.9999
    half = near.copy()
    half[:, 5:] = -1  # nobody
    assert recall(x, half, queries, far) == pytest.approx(0.5)
    twice = np.hstack([near[:, :5], near[:, :5]])
    assert recall(x, twice, queries, far) == pytest.approx(0.5)


def test_rows_are_not_their_own_neighbours():
    found = np.array([[0, 1, 2], [0, 1, 2], [0, 1, 3], [-1, 3, 2]])
    np.testing.assert_array_equal(without_own(found, 2), [[1, 2], [0, 2], [0, 1], [-1, 2]])


@pytest.mark.parametrize("library", [name for name, one in LIBRARIES.items() if not one.packages])
def test_our_searches_and_scikit_learns_are_near_the_truth(library):
    x = blobs(2000).views[1]
    queries = drawn_queries(2000)
    found = LIBRARIES[library].search(x, 10, "euclidean", 2, 0, **LIBRARIES[library].settings[0])
    assert recall(x, found[queries], queries, reach(x, queries)) > 0.9


def test_nobody_who_was_stopped_is_tried_on_more():
    limits = scale.Limits(seconds=1, gibibytes=1)
    small, large = (case for case in scale.cases((1000, 3000), 2000, "n"))
    limits.note("DGF", small, {"stopped": "stopped after 1 s"})
    assert limits.fit("DGF", large, "auto") == {"stopped": "not tried: stopped after 1 s at n = 1,000"}
    centre = next(case for case in scale.cases((), 2000, "k"))
    assert "not tried" in limits.fit("DGF", centre, "auto")["stopped"]


def test_exponents_are_of_the_three_largest():
    cells = [{"at": n, "seconds": 5.0 + 1e-6 * n**2} for n in (1, 10, 10**5, 10**6, 10**7)]
    assert growth(cells, "seconds") == pytest.approx(2.0, abs=0.01)
    assert exponent([5], [1]) is None


def test_a_study_goes_on_where_it_stopped_and_reports(tmp_path, capsys, monkeypatch):
    tried = []

    def fitted(function, arguments, **limits):
        tried.append(arguments["n"])
        if len(tried) == 2:
            raise KeyboardInterrupt
        figures = {
            "seconds": arguments["n"] / 1000,
            "megabytes": arguments["n"] / 10,
            "peak": 9.0,
            "ari": 0.75,
        }
        return Outcome(figures, "", 1.0, 9.0)

    monkeypatch.setattr(scale, "run_limited", fitted)
    given = ["--out", str(tmp_path / "scale.json"), "--quick", "--axes", "n", "--systems", "MiniBatch"]
    with pytest.raises(KeyboardInterrupt):
        scale.main(given)
    scale.main(given)
    assert tried == [1000, 3000, 3000, 10_000]
    scale.main([*given, "--tables"])
    assert len(tried) == 4
    printed = capsys.readouterr().out
    assert "| MiniBatchKMeans | 1.0 s, 9 MB, ARI 0.75 | 3.0 s, 9 MB, ARI 0.75 | 10.0 s" in printed
    assert "| 1.00 | 1.00 |" in printed


def test_figures_are_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    from benchmarks.speed.scale_plots import draw

    fits = []
    for case in scale.cases((1000, 3000), 1000, "nvkd"):
        figures = {"seconds": 1.0, "megabytes": 5.0, "timings": {"fuse": 0.5}, "peaks": {"fuse": 4.0}}
        fits += [{"system": "DGF", **case, **figures}, {"system": "SNF", **case, **figures}]
    fits[-1] = {"system": "SNF", **case, "stopped": "stopped after 1 s"}
    paths = draw(fits, tmp_path / "plots")
    assert [path.stat().st_size > 10_000 for path in paths] == [True] * 3


def test_recall_is_drawn_against_time(tmp_path):
    pytest.importorskip("matplotlib")
    from benchmarks.speed import search_plots

    assert set(search_plots.LOOKS) == set(searches.LIBRARIES)
    of = {"trial": "search", "n": 1000, "library": "hnswlib"}
    cells = [
        {**of, "name": name, "cpu": 1.0, "recall": recall} for name in searches.DATA for recall in (0.5, 0.9)
    ]
    assert search_plots.draw([{**of, "name": "blobs", "stopped": "stopped"}], tmp_path / "none.png") is None
    drawn = search_plots.draw(cells, tmp_path / "plots" / "searches.png")
    assert drawn.stat().st_size > 10_000


def test_searches_that_are_not_installed_say_so(tmp_path, capsys, monkeypatch):
    def absent(package):
        raise searches.metadata.PackageNotFoundError(package)

    monkeypatch.setattr(searches.metadata, "version", absent)
    searches.main(["--quick", "--n", "1000", "--data", "none of them", "--library", "faiss, exact"])
    printed = capsys.readouterr().out
    assert "faiss-cpu is not installed" in printed


def answered(seconds, labels="same"):
    stages = {"search": seconds / 2, "label": 0.1}
    return {
        "seconds": seconds,
        "processor": 8.0,
        "stages": stages,
        "stages of all processors": {"search": 6.0},
        "GiB": 1.5,
        "ari": 0.99,
        "labels": labels,
    }


def test_the_table_of_threads_says_what_each_gains():
    ceilings = {1: {"GFLOP/s": 50.0, "GB/s": 10.0}, 4: {"GFLOP/s": 180.0, "GB/s": 20.0}}
    found = {1: answered(8.0), 4: answered(2.5)}
    lines = engines.table(found, ceilings).splitlines()
    assert lines[0].split() == ["threads", "1", "4"]
    search = next(line for line in lines if line.startswith("search"))
    assert search.split()[1:] == ["4.00", "1.0x", "1.00", "1.25", "3.2x", "1.00"]
    assert any(line.startswith("ceiling: GFLOP/s") and line.endswith("180   3.6x") for line in lines)
    assert lines[-1] == "labels: the same on all; ARI with the truth 0.990"
    found[4] = answered(2.5, labels="others")
    assert "NOT the same" in engines.table(found, ceilings)


def test_threads_are_measured_and_drawn(tmp_path):
    found = engines.fit(1500, 2, "low")
    assert found["ari"] > 0.9 and set(found["stages"]) >= {"search", "fuse", "label"}
    assert 0 < found["processor"] and 0.1 < found["GiB"] < 4
    ceilings = {1: {"GFLOP/s": 1.0, "GB/s": 1.0}}
    engines.draw({1: found}, ceilings, tmp_path / "threads.svg")
    assert "times as fast as on 1" in (tmp_path / "threads.svg").read_text()
