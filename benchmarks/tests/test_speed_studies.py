"""The machinery of the studies of speed: limits, data, truth, tables. Not the figures."""

from __future__ import annotations

import json

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
        "recall": [1.0, 0.9],
        "ari": 0.99,
        "labels": labels,
    }


SIZE = {
    **{"n": 1000, "k": 5, "features": [10, 30], "bytes of a feature": 4, "pairs": [999.0, 100.0]},
    **{"edges": 8000, "bytes of a weight": 4, "rounds": 6, "has trust": False, "graph": 7000, "clusters": 3},
    "kept bytes": 5_000_000,
}
GPU = {"GFLOP/s": 10.0, "GB/s": 2.0, "GB/s from here, pinned": 0.5, "GB/s to here, pinned": 0.25}


def answered_by_device(seconds, bits=True):
    return {
        **answered(seconds),
        **{"start": 3.0, "first": {"seconds": 9.0}, "device GiB": {"allocated": 0.5, "reserved": 0.75}},
        **{"size": SIZE, "product bytes": {}, "same bits": {"labels": True, "embedding": bits}},
    }


def row(text, name):
    return next(line for line in text.splitlines() if line.startswith(name))[len(name) :].split()


def test_the_table_of_threads_says_what_each_gains():
    ceilings = {1: {"GFLOP/s": 50.0, "GB/s": 10.0}, 4: {"GFLOP/s": 180.0, "GB/s": 20.0}}
    found = {1: answered(8.0), 4: answered(2.5)}
    table = engines.table(engines.thread_columns(found, ceilings))
    assert table.splitlines()[0].split() == ["1", "threads", "4", "threads"]
    assert row(table, "search") == ["4.00", "1.0x", "1.00", "1.25", "3.2x", "1.00"]
    assert row(table, "ceiling: GFLOP/s") == ["50", "1.0x", "180", "3.6x"]
    assert row(table, "recall of each view") == ["1.000", "0.900"] * 2
    assert engines.verdicts(found, {}) == ["numba: labels are the same on all threads"]
    found[4] = answered(2.5, labels="others")
    assert "NOT the same" in engines.verdicts(found, {})[0]


def test_the_table_of_devices_says_how_near_each_stage_is_to_its_floor():
    found = {"cuda:0": answered_by_device(2.0)}
    columns = engines.device_columns(found, {"cuda:0": GPU | {"facts": {}}}, answered(8.0))
    both = [*engines.thread_columns({1: answered(8.0)}, {1: GPU}), *columns]
    least = 2 * 1000 * (999 * 10 + 100 * 30) / 10e9
    assert row(engines.table(columns), "search") == ["1.00", "4.0x", f"{least:.4f}", f"{least:.0%}"]
    assert row(engines.table(both), "search")[3:] == row(engines.table(columns), "search")
    assert row(engines.table(both), "label") == ["0.10", "1.0x", "0.00", "0.10", "1.0x"]
    assert row(engines.table(columns), "first fit, s") == ["9.00"]
    assert row(engines.table(columns), "reserved there, GiB") == ["0.75"]
    assert engines.verdicts({}, found)[0].endswith("have the same bits")
    found["cuda:0"] = answered_by_device(2.0, bits=False)
    assert engines.verdicts({}, found)[0].endswith("have NOT the same bits: embedding")


def test_floors_are_bytes_and_products_at_the_ceilings():
    found = engines.floors(SIZE, {"embed": 1e6}, GPU)
    assert found == pytest.approx(
        {
            "prepare": 1000 * 40 * 4 / 0.5e9,
            "search": 2 * 1000 * (999 * 10 + 100 * 30) / 10e9,
            "agree": 4 * 1000 * 5 * 2 / 2e9,
            "connect": (4 * 1000 * 5 * 2 + 4 * 8000 + 8 * 1000) / 2e9,
            "weigh": 8000 * (40 * 4 + 2 * 4) / 2e9,
            "fuse": 6 * 8000 * (3 * 2 + 1) * 4 / 2e9,
            "sparsify": (8000 + 7000) * 8 / 2e9,
            "embed": 1e6 / 2e9,
            "label": 8 * 1000 * 4 / 2e9,
            "rest": 5e6 / 0.25e9,
        }
    )
    few = engines.floors({**SIZE, "pairs": [999.0, float("nan")]}, {}, {"GFLOP/s": 10.0, "GB/s": 2.0})
    assert few["prepare"] == pytest.approx(1000 * 40 * 4 / 2e9)
    assert set(found) - set(few) == {"search", "embed", "label"}


def test_threads_are_measured_and_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    found = engines.fit(1500, 2, "low")
    ceilings = {1: {"GFLOP/s": 1.0, "GB/s": 1.0}}
    engines.draw({1: found}, ceilings, tmp_path / "threads.svg")
    assert "times as fast as on 1" in (tmp_path / "threads.svg").read_text()


def test_fits_are_measured():
    found = engines.fit(1500, 2, "low")
    assert found["ari"] > 0.9 and set(found["stages"]) >= {"search", "fuse", "label", "rest"}
    assert sum(found["stages"].values()) == pytest.approx(found["seconds"])
    assert 0 < found["processor"] and 0.1 < found["GiB"] < 4
    assert found["recall"] == [1.0] * 3


@pytest.fixture
def one_thread():
    """Let PyTorch run on one thread: where others work, too, several wait for each other."""
    torch = pytest.importorskip("torch", reason="needs the extra 'gpu': consilience[gpu]")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_devices_are_measured(one_thread, monkeypatch):
    finished = []
    monkeypatch.setattr(engines.Where, "finish", lambda self: finished.append(self.where.type))
    found = engines.fit_on("cpu", 1500, "low")
    assert found["same bits"] == {"labels": True, "embedding": True}
    assert found["labels"] == engines.fit(1500, 2, "low")["labels"]
    n_parts = len(found["stages"]) - 1 + 2  # without the rest; there are three searches
    assert len(finished) == 1 + 2 * (n_parts + 1) and set(finished) == {"cpu"}
    assert found["device GiB"] == {} and found["start"] > 0
    assert found["size"]["pairs"] == [1499.0] * 3
    assert engines.fit_on("cpu", 1500, "low", n_fits=1)["same bits"] is None
    monkeypatch.setattr(engines, "_SIDE", 64)
    monkeypatch.setattr(engines, "_COPIED", 1 << 12)
    ceiling = engines.ceiling_on("cpu")
    least = engines.floors(found["size"], found["product bytes"], ceiling)
    assert set(least) == set(found["stages"]) - {"embed", "label"}
    assert "torch on cpu" in engines.table(engines.device_columns({"cpu": found}, {"cpu": ceiling}))


def test_products_with_blocks_are_counted():
    torch = pytest.importorskip("torch", reason="needs the extra 'gpu': consilience[gpu]")
    from consilience.engines.torch.handles import DeviceGraph
    from consilience.engines.torch.spectrum.block_product import BlockProduct

    indptr, indices = torch.tensor([0, 2, 3]), torch.tensor([0, 1, 0], dtype=torch.int32)
    product = BlockProduct(DeviceGraph(indptr, indices, torch.ones(3, dtype=torch.float64), (2, 2)))
    block = torch.ones((2, 4))
    with engines._product_bytes() as counted:
        first = product(block)
        assert counted() == 3 * (4 + 4) + 3 * 4 + (3 + 2) * 4 * 4
        product(block)
    assert counted() == 2 * 116
    assert torch.equal(product(block), first) and counted() == 2 * 116


def test_a_device_that_is_not_there_is_one_line(capsys):
    with pytest.raises(SystemExit) as ended:
        engines.main(["--engines", "torch", "--device", "cuda:99"])
    printed = capsys.readouterr()
    assert ended.value.code == 2 and printed.out == ""
    assert len(printed.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("engine", "option"), [("torch", "--threads"), ("torch", "--figure"), ("numba", "--device")]
)
def test_an_option_of_the_other_engine_is_an_error(engine, option, capsys):
    with pytest.raises(SystemExit):
        engines.main(["--engines", engine, option, "1"])
    other = "torch" if engine == "numba" else "numba"
    assert f"{option} is of {other}: add --engines {other}" in capsys.readouterr().err


def test_engines_are_measured_side_by_side_and_kept(tmp_path, capsys, monkeypatch):
    out, asked = tmp_path / "engines.json", []
    answers = {
        "ceiling": GPU,
        "ceiling_on": GPU | {"facts": {"device": "cpu"}},
        "fit": answered(8.0),
        "fit_on": answered_by_device(2.0),
    }

    def run(function, arguments, **limits):
        name = function.rpartition(".")[2]
        asked.append((name, arguments.get("n_jobs", arguments.get("device"))))
        return Outcome(None if len(asked) == stop else answers[name], "stopped", 1.0, 9.0)

    monkeypatch.setattr(engines, "run_limited", run)
    stop = 4
    with pytest.raises(SystemExit, match="stopped"):
        engines.main(["--threads", "1", "2", "--n", "500", "--out", str(out)])
    assert asked == [("ceiling", 2), ("fit", 2), ("ceiling", 1), ("fit", 1)]
    assert json.loads(out.read_text())["found"]["2"]["seconds"] == 8.0
    capsys.readouterr()
    pytest.importorskip("torch", reason="needs the extra 'gpu': consilience[gpu]")
    asked.clear()
    command = ["--engines", "numba", "torch", "--threads", "1", "--device", "cpu", "cpu", "--out", str(out)]
    stop = 0
    engines.main(command)
    assert asked == [("ceiling", 1), ("fit", 1), ("ceiling_on", "cpu"), ("fit_on", "cpu")]
    printed = capsys.readouterr().out
    assert "1 threads" in printed and "torch on cpu" in printed and "the same bits" in printed
    kept = json.loads(out.read_text())
    assert kept["devices"]["cpu"]["seconds"] == 2.0 and kept["floors"]["cpu"]["rest"] == 0.02
