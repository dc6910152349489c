"""The bench and the studies on tiny data: parts, families, going on after a kill, and what each measures."""

import argparse
import doctest
import importlib
import json
import re
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

from benchmarks.quality import (
    approximate_search,
    data,
    descriptions,
    fusion_help,
    held_out,
    missing,
    number_of_clusters,
    permuted_fits,
    prediction,
    results,
    row_permutation,
    rule_fits,
    rules,
    spoiled,
    tables,
    trust,
)
from benchmarks.quality.__main__ import all_parts, main
from benchmarks.quality.data import chosen_sets, find_sets, load, named_sets
from benchmarks.quality.rule_settings import RULES, Setting, with_constants
from consilience import Views, make_multiview, prepare_views
from consilience.comparison import data_sets
from consilience.comparison.store import FILE
from consilience.datasets import corrupt
from consilience.metrics import nmi
from consilience.models import AverageGraph, systems
from consilience.spaces import scaling

RNG = np.random.default_rng(0)
ROOT = Path(__file__).parents[2]
N = 60  # samples of an invented data set
quiet = pytest.mark.filterwarnings(
    "ignore:The graph has .* connected components",
    "ignore:.* who is near whom",
    "ignore:Only . of . clusters",
)


@pytest.fixture(scope="module")
def sample():
    return make_multiview(90, n_views=3, n_clusters=3, separation=4.0, random_state=0)


@pytest.fixture(scope="module")
def views(sample):
    return Views(list(sample.views.values()))


def save(path, seed, n_views):
    """Write an invented data set, sorted by class."""
    path.parent.mkdir(exist_ok=True)
    made = make_multiview(N, n_views=n_views, n_clusters=3, separation=5.0, random_state=seed)
    order = np.argsort(made.y, kind="stable")
    arrays = {f"X{i}": view[order] for i, view in enumerate(made.views.values())}
    np.savez(path, **arrays, y=made.y[order])


@pytest.fixture
def folder(tmp_path):
    """Return a folder with two tuning sets, a validation set, one without labels, and something else."""
    place = tmp_path / "data"
    save(place / "three.npz", 0, 3)
    save(place / "tuning" / "two.npz", 1, 2)
    save(place / "validation" / "held.npz", 2, 3)
    np.savez(place / "bare.npz", X0=RNG.normal(size=(9, 2)), X1=RNG.normal(size=(9, 2)))
    (place / "README.md").write_text("Three data sets.")
    return place


@pytest.mark.parametrize("module", [held_out, tables, permuted_fits], ids=lambda module: module.__name__)
def test_examples(module):
    failed, tried = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert tried > 0
    assert failed == 0


# Data sets


def test_data_sets_of_a_folder_in_two_parts(folder):
    assert list(find_sets(folder)) == ["bare", "three", "two", "held"]
    assert list(find_sets(folder, part="tuning")) == ["bare", "three", "two"]
    assert list(find_sets(folder, part="validation")) == ["held"]
    assert list(find_sets(folder, "held,two")) == ["held", "two"]
    with pytest.raises(SystemExit, match="no data set 'held'; known: bare, three, two"):
        find_sets(folder, "held", "tuning")
    parts = {one.name: one.part for one in named_sets(folder)}
    assert parts == {"bare": "tuning", "three": "tuning", "two": "tuning", "held": "validation"}


def test_sets_of_one_source_are_one_family(folder):
    for name in ("WebKB_Cornell", "WebKB_Texas"):
        save(folder / f"{name}.npz", 3, 2)
    found = {one.name: one.family for one in named_sets(folder)}
    assert found["WebKB_Cornell"] == found["WebKB_Texas"] == "WebKB"
    assert found["three"] == ""
    assert data.family_of("WebKB_Texas") == "WebKB" and data.family_of("three") == "three"


def test_rows_are_shuffled_always_alike(folder):
    path = folder / "three.npz"
    plain, one, other = load(path, shuffle=False), load(path), load(path)
    assert np.all(np.diff(plain.truth) >= 0) and not np.all(np.diff(one.truth) >= 0)
    np.testing.assert_array_equal(one.truth, other.truth)
    rows = {tuple(row): label for row, label in zip(plain.views[1], plain.truth, strict=True)}
    assert [rows[tuple(row)] for row in one.views[1]] == one.truth.tolist()
    assert (one.n_clusters, one.n_samples) == (3, N)


# The bench


def bench(folder, out, *more):
    """Return the command line of a small bench."""
    systems = ["--systems", "average,dgf,tests.comparison.misbehaving:Slow"]
    few = ["--comparisons", "corrupted", "--conditions", "shuffle-one-30"]
    options = ["--sets", "two,held", "--seeds", "1", "--corrupted-seeds", "1", "--jobs", "1"]
    return ["--data", str(folder), "--out", str(out), *systems, *few, *options, *more]


def tables_of(out):
    """Return the tables in a folder of the bench, without the columns of seconds."""
    found = {}
    for path in sorted(out.rglob("*.md")):
        lines = path.read_text(encoding="utf-8").splitlines()
        header = next((line for line in lines if line.startswith("|")), "")
        timed = {i for i, name in enumerate(header.split("|")) if "seconds" in name}
        cells = [[cell for i, cell in enumerate(line.split("|")) if i not in timed] for line in lines]
        found[path.relative_to(out).as_posix()] = cells
    return found


def n_kept(out):
    """Return how many results are kept; a line that a kill cut off is none."""
    lines = [line for path in out.rglob(FILE) for line in path.read_text().splitlines()]
    return sum(line.startswith("[") and line.endswith("]") for line in lines)


@quiet
def test_the_bench_goes_on_after_a_kill_to_the_same_tables(folder, tmp_path, capsys):
    out, whole = tmp_path / "killed", tmp_path / "whole"
    command = [sys.executable, "-m", "benchmarks.quality", *bench(folder, out)]
    running = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + 60
    while n_kept(out) < 2 and running.poll() is None and time.monotonic() < end:
        time.sleep(0.02)
    running.send_signal(signal.SIGKILL)
    assert running.wait() == -signal.SIGKILL  # it had not ended by itself
    n_before = n_kept(out)
    main(bench(folder, out))
    resumed = capsys.readouterr().out
    assert 2 <= n_before < n_kept(out)
    main(bench(folder, whole))
    assert n_kept(whole) == n_kept(out)  # nothing was made twice
    assert tables_of(out) == tables_of(whole)
    assert {"corrupted/means-tuning.md", "corrupted/means-validation.md"} <= set(tables_of(out))
    assert "shuffle-one-30" in resumed and "DGF" in resumed
    n_after = n_kept(out)
    main(bench(folder, out))
    assert n_kept(out) == n_after
    assert capsys.readouterr().out.endswith(resumed)


# All studies


STUDIES = {
    approximate_search: ["--seeds", "1"],
    fusion_help: ["--seeds", "1"],
    missing: ["--seeds", "1"],
    number_of_clusters: [],
    prediction: ["--seeds", "1"],
    row_permutation: ["--orders", "2"],
    spoiled: ["--seeds", "1"],
}


@quiet
@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.__name__.rpartition(".")[2])
def test_a_study_shows_both_parts_and_goes_on(study, folder, tmp_path, capsys, monkeypatch):
    out, shuffled = tmp_path / "study.json", []
    monkeypatch.setattr(spoiled, "planted", lambda: {"few": lambda seeds: iter(())})
    monkeypatch.setattr(missing, "CASES", (("random", 0.3), ("one_view", 0.5)))
    few = make_multiview(40, n_views=3, random_state=0)
    for module in (spoiled, prediction):
        monkeypatch.setattr(module, "load_digits_views", lambda return_X_y: (few.views, few.y))
    monkeypatch.setattr(
        study, "load", lambda path, shuffle=True: shuffled.append(shuffle) or load(path, shuffle=shuffle)
    )
    command = ["--data", str(folder), "--out", str(out), "--jobs", "1", *STUDIES[study]]
    study.main([*command, "--max-seconds", "0"])
    assert "pieces were not begun" in capsys.readouterr().err
    study.main(command)
    printed = capsys.readouterr()
    assert "bare is left out: Data set 'bare' has no labels" in printed.err
    assert re.search(r"\*\*.*1 validation sets", printed.out)
    n_tuning = 1 if study is spoiled else 2  # it takes three views
    assert re.search(rf"\*\*.*{n_tuning} tuning sets", printed.out)
    assert printed.out.index(f"{n_tuning} tuning sets") < printed.out.index("1 validation sets")
    assert shuffled and set(shuffled) == {study is not row_permutation}
    study.main(["--tables", str(out)])
    again = capsys.readouterr()
    assert (again.out, again.err) == (printed.out, "")
    study.main(command)
    assert capsys.readouterr().out == printed.out
    with pytest.raises(SystemExit, match="There is no file"):
        study.main(["--tables", str(tmp_path / "none.json")])


def test_two_processes_find_the_same(capsys):
    pieces = [[(name, {"score": i})] for i, name in enumerate("abc")]  # of which `dict` makes results
    found = []
    for n_jobs in (1, 2):
        kept = results.Results()
        assert results.run(pieces, dict, kept, n_jobs=n_jobs) == 0
        found.append(kept.cells)
        assert len(capsys.readouterr().err.splitlines()) == 3
    assert found[0] == found[1] == {"a": {"score": 0}, "b": {"score": 1}, "c": {"score": 2}}


def test_results_of_other_versions_are_not_taken_for_ours(monkeypatch):
    name = results.key("set", "clean")
    monkeypatch.setattr(results, "machine_facts", lambda: dict.fromkeys(results.VERSIONS, "0"))
    assert results.key("set", "clean") != name
    assert results.key("set", "clean").startswith("set | clean | consilience 0 | numpy 0")


# Rules


def test_rules_end_to_end(folder, capsys, tmp_path):
    out = tmp_path / "rules.json"
    command = ["--data", str(folder), "--out", str(out), "--seeds", "1", "--jobs", "1"]
    rules.main([*command, "--rule", "row_weights"])
    printed = capsys.readouterr()
    assert "## row\\_weights" not in printed.out  # a title is no cell
    assert "## row_weights: mean NMI on 2 families of 2 tuning sets" in printed.out
    assert "all conditions | DGF" in printed.out
    assert "row_weights, three, clean" in printed.err
    assert {cell["condition"] for cell in json.loads(out.read_text())["cells"].values()} == {
        "clean",
        "shuffle-one-30",
        "shuffle-all-30",
    }
    rules.main(["--tables", str(out), "--rule", "row_weights"])
    again = capsys.readouterr()
    assert again.out == printed.out
    assert again.err == ""


def test_rules_never_read_a_validation_set(folder, monkeypatch, capsys):
    (folder / "validation" / "broken.npz").write_bytes(b"nobody may look at this")
    opened, read = [], data_sets.read_views

    def spy(path, *given, **named):
        opened.append(Path(path))
        return read(path, *given, **named)

    monkeypatch.setattr(data_sets, "read_views", spy)
    command = ["--data", str(folder), "--rule", "tol", "--seeds", "1", "--jobs", "1"]
    rules.main(command)
    printed = capsys.readouterr()
    assert {path.stem for path in opened} == {"bare", "three", "two"}
    assert "held" not in printed.out + printed.err and "broken" not in printed.out + printed.err
    for more in (["--sets", "held"], ["--part", "validation"]):
        with pytest.raises(SystemExit):
            rules.main([*command, *more])
    assert not any(path.parent.name == "validation" for path in opened)
    # The spy would have seen it: a study of both parts opens it.
    parser = argparse.ArgumentParser()
    data.add_common_options(parser)
    chosen_sets(parser.parse_args(["--data", str(folder), "--sets", "held"]))
    assert any(path.parent.name == "validation" for path in opened)


@quiet
def test_descriptions_are_shared_out_on_tuning_sets_alone(folder, tmp_path, capsys):
    (folder / "validation" / "broken.npz").write_bytes(b"nobody may look at this")
    command = ["--data", str(folder), "--jobs", "1", "--out", str(tmp_path / "found.json")]
    descriptions.main(command)
    printed = capsys.readouterr()
    assert "broken" not in printed.out + printed.err and "held" not in printed.out + printed.err
    assert "| default only | +0.00 | 0.0 |" in printed.out and "scored on the one left out" in printed.out
    cells = json.loads((tmp_path / "found.json").read_text())["cells"].values()
    assert {cell["set"] for cell in cells} == {"three", "two"}
    assert all(set(cell["gains"]) == set(descriptions.RULES) for cell in cells)
    descriptions.main(command)  # nothing is left to do
    assert capsys.readouterr().out == printed.out


def test_rules_share_out_the_whole_graph_and_ours_is_the_librarys(views):
    for rule in descriptions.RULES.values():
        assert rule(np.array([0.3, 0.5, 0.1, 0.4])).sum() == pytest.approx(1.0)
    model = systems()["SGF"](n_clusters=3, random_state=0, descriptions="confirmed").fit(views)
    found = model.descriptions_
    np.testing.assert_allclose(found.share, descriptions.RULES[descriptions.OURS](found.confirmation))


@quiet
def test_the_power_of_trust_is_compared_on_tuning_sets_alone(folder, tmp_path, capsys):
    (folder / "validation" / "broken.npz").write_bytes(b"nobody may look at this")
    command = ["--data", str(folder), "--jobs", "1", "--out", str(tmp_path / "found.json")]
    trust.main(command)
    printed = capsys.readouterr()
    assert "broken" not in printed.out + printed.err and "held" not in printed.out + printed.err
    cells = list(json.loads((tmp_path / "found.json").read_text())["cells"].values())
    assert {cell["set"] for cell in cells} == {"three"}  # of two views nobody can know which is wrong
    assert [cell["condition"] for cell in cells] == list(trust.CONDITIONS)
    assert all(set(cell["scores"]) == {trust.BEFORE, *trust.RULES} for cell in cells)
    for name in (trust.BEFORE, *trust.RULES):
        row = next(line for line in printed.out.splitlines() if line.startswith(f"| {name} |"))
        means = [float(cell) for cell in row.strip("| ").split("|")[1:]]
        assert means == [pytest.approx(cell["scores"][name], abs=0.006) for cell in cells]


@quiet
def test_the_trust_of_the_study_is_the_librarys():
    """The power of the library, undone and done again, gives the graphs of the models."""
    sample = make_multiview(150, n_views=4, n_clusters=3, separation=4.0, random_state=0)
    spoiled_views = corrupt(sample.views, "shuffle-one-30", random_state=0).views
    graphs = trust.unified_graphs(spoiled_views, 3)
    for i, name in enumerate(("SGF", "DGF")):
        model = systems()[name](n_clusters=3, random_state=0, effort="medium", row_order="given")
        expected = model.fit(spoiled_views).graph_
        assert abs(graphs[trust.OURS][i] - expected).max() < 1e-6 * expected.max()
        assert abs(graphs["1"][i] - expected).max() > 1e-3 * expected.max()


def test_the_parts_of_the_models_add_up_to_their_defaults():
    parts = all_parts()
    assert len(parts) == 12
    for name in ("SGF", "DGF"):
        ours, whole = systems()[name](), parts[f"{name} + both"]
        assert (
            (ours._learns_trust, ours._redescribes)
            == (whole._learns_trust, whole._redescribes)
            == (True, True)
        )
        assert not parts[f"{name} low"]._learns_trust and not parts[f"{name} low"]._redescribes
    assert parts["Average"].get_params() == AverageGraph().get_params()


def test_rules_are_measured_on_the_samples_that_are_scored(folder):
    facts = data.Facts("three", folder / "three.npz", N, 3)
    piece = rule_fits.Piece("row_weights", facts, "shuffle-all-30", 1)
    ((cell,), arrays) = rule_fits.do(piece).values(), load(facts.path)
    spoiled_views = corrupt(Views(list(arrays.views)), "shuffle-all-30", random_state=0)
    kept = spoiled_views.scored
    assert 0 < kept.sum() < N
    model = systems()["DGF"](n_clusters=3, random_state=0, n_jobs=1, effort="low")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        labels = model.fit(spoiled_views.views).labels_
    assert cell["settings"]["as shipped"]["DGF"] == [100 * nmi(arrays.truth[kept], labels[kept])]
    assert cell["part"] == "tuning"


def test_a_corruption_that_makes_no_sense_is_a_reason(folder, monkeypatch):
    facts = data.Facts("three", folder / "three.npz", N, 3)

    def refuse(*_, **__):
        raise ValueError("no such column")

    monkeypatch.setattr(rule_fits, "corrupt", refuse)
    (cell,) = rule_fits.do(rule_fits.Piece("scale", facts, "huge-columns", 1)).values()
    assert cell["reason"] == "no such column"
    good = {"rule": "scale", "condition": "clean", "settings": {"as shipped": {"DGF": [1.0], "SGF": [1.0]}}}
    report = rules.rule_report("scale", [{**good, "set": "a"}, {**good, "set": "b"}, cell])
    assert "Not measured: three, huge-columns: no such column" in report
    assert "on 2 families of 2 tuning sets" in report


def test_leave_one_out_is_what_a_plain_loop_finds():
    rng = np.random.default_rng(3)
    for _ in range(20):
        sets, labels = "abcd", "wxyz"
        scores = {label: {data: float(rng.integers(3)) for data in sets} for label in labels}
        expected = []
        for held in sets:
            means = {label: np.mean([scores[label][d] for d in sets if d != held]) for label in labels}
            ties = [label for label in labels if means[label] >= max(means.values()) - 1e-9]
            expected.append(np.mean([scores[label][held] for label in ties]))
        found = held_out.leave_one_out(scores)
        assert found.honest == pytest.approx(np.mean(expected))
        assert max(found.means.values()) == found.means[found.best[0]]


def test_a_family_is_left_out_as_one():
    sets = {"WebKB": 1.0, "WebKB_Texas": 3.0, "alone": 5.0}
    cells = [{"set": name, "settings": {"x": {"DGF": [score]}}} for name, score in sets.items()]
    assert held_out.by_setting(cells, "DGF") == ({"x": {"WebKB": 2.0, "alone": 5.0}}, {})


def test_constants_are_the_librarys_and_come_back():
    for rule in RULES.values():
        for setting in rule.settings.values():
            before = {key: getattr(importlib.import_module(key[0]), key[1]) for key in setting.constants}
            with with_constants(setting.constants):
                for (module, name), value in setting.constants.items():
                    assert getattr(importlib.import_module(module), name) == value
            assert all(getattr(importlib.import_module(m), name) == old for (m, name), old in before.items())
    with pytest.raises(AttributeError), with_constants({("consilience.spaces.metric", "NO_SUCH"): 1}):
        pass


@pytest.mark.parametrize("level", [0.1, 0.01, 0.001])
def test_the_level_of_agreement_is_that_of_the_setting(level, views):
    setting = RULES["view_weights"].settings[f"agreement, level {level:g}"]
    with with_constants(setting.constants):
        model = systems()["DGF"](n_clusters=3, random_state=0, **setting.resolve(90, 3)).fit(views)
        other = AverageGraph(n_clusters=3, random_state=0, view_selection="agreement").fit(views)
    assert model.agreement_.level == other.agreement_.level == level


def test_constants_reach_every_preparation(sample):
    """What a rule changes for SGF and DGF, it changes for all who ask for the same preparation."""
    alike = {**sample.views, "copy": sample.views["view_0"] + 0.01 * RNG.normal(size=(90, 1))}
    setting = RULES["view_weights"].settings["agreement, copies above 1.1"]
    counts = {
        "a": (RNG.random((90, 40)) < 0.3).astype(float),
        "b": (RNG.random((90, 40)) < 0.3).astype(float),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert prepare_views(alike, 3).n_views == 3
        with with_constants(setting.constants):
            assert prepare_views(alike, 3).n_views == 4
            model = AverageGraph(n_clusters=3, random_state=0, view_selection="agreement").fit(alike)
        assert model.views_.kept.all()
        lengths = []
        for label in ("cosine above 0.6 zeros", "cosine above 0.8 zeros"):
            with with_constants(RULES["metric"].settings[label].constants):
                rows = prepare_views(counts, 3, view_selection="all")["a"]
            lengths.append(np.linalg.norm(np.asarray(rows), axis=1))
    assert np.allclose(lengths[0], 1) and not np.allclose(lengths[1], 1)


def test_numbers_of_neighbours():
    settings = RULES["n_neighbors"].settings
    assert len(settings) == 7 + 5 * 3 * 4
    assert settings["clip(0.6 n / c, 6, 20)"].resolve(200, 10) == {"n_neighbors": 12}
    assert settings["clip(0.6 n / c, 6, 20)"].resolve(2000, 10) == {"n_neighbors": 20}
    assert settings["clip(0.3 n / c, 8, 10)"].resolve(100, 10) == {"n_neighbors": 8}
    assert settings["30"].resolve(20, 2) == {"n_neighbors": 19}


def dgf(**settings):
    return systems()["DGF"](n_clusters=2, n_jobs=1, effort="low", **settings)


def test_a_setting_is_measured_under_its_constants():
    """Ten words in a hundred, long and short documents: only angles tell the classes."""
    rng = np.random.default_rng(0)
    truth = np.arange(80) % 2
    likely = np.where((np.arange(100) % 2) == truth[:, None], 0.24, 0.06)
    words = (rng.random((80, 100)) < likely).astype(float)
    views = Views([words * rng.lognormal(0, 2, size=(80, 1)) for _ in range(2)])
    share = ("consilience.spaces.scaling", "SPARSE_SHARE")
    settings = {
        "shipped": Setting(),
        "cosine": Setting({}, {share: 0.5}),
        "Euclidean": Setting({}, {share: 0.95}),
        "same": Setting({"metric": "cosine"}),
        "failing": Setting({"metric": "no such metric"}),
    }
    before, everybody = scaling.SPARSE_SHARE, np.ones(80, dtype=bool)
    found = rule_fits.scores_of_settings(settings, views, truth, everybody, range(2))
    assert scaling.SPARSE_SHARE == before
    assert found["shipped"] == found["cosine"] == found["same"]
    assert found["failing"]["DGF"].startswith("ValueError: Unknown metric")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        labels = dgf(metric="euclidean", random_state=1).fit(views).labels_
    assert found["Euclidean"]["DGF"][1] == 100 * nmi(truth, labels)
    assert found["Euclidean"]["DGF"] != found["cosine"]["DGF"]


def test_what_was_prepared_under_other_constants_is_not_used():
    """One feature of huge noise carries the view; by some constants nothing would count as that."""
    rng = np.random.default_rng(0)
    truth = np.arange(80) % 2
    x = rng.normal(size=(80, 20)) + 1.5 * truth[:, None]
    x[:, 0] = 1e4 * rng.normal(size=80)
    views = Views([x, x.copy()])
    names = [("consilience.spaces.scaling", name) for name in ("FEW_FEATURES", "STANDS_APART")]
    constants = {"never": (0, 1e9), "at once": (10, 10), "almost never": (0, 1e8)}
    settings = {
        label: Setting({"scale": "auto"}, dict(zip(names, values, strict=True)))
        for label, values in constants.items()
    }
    found = rule_fits.scores_of_settings(settings, views, truth, np.ones(80, dtype=bool), range(1))
    expected = {}
    for label, setting in settings.items():
        with with_constants(setting.constants), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            labels = dgf(scale="auto", random_state=0).fit(views).labels_
        expected[label] = [100 * nmi(truth, labels)]
    assert {label: one["DGF"] for label, one in found.items()} == expected
    assert expected["at once"][0] > 80
    assert max(expected["never"][0], expected["almost never"][0]) < 20


def test_a_setting_that_fails_somewhere_is_left_out_with_the_reason():
    def measured(data, good, bad):
        settings = {"as shipped": [good], "uniform": [good], "agreement": bad}
        both = {label: {"SGF": scores, "DGF": scores} for label, scores in settings.items()}
        return {"rule": "row_weights", "set": data, "condition": "clean", "settings": both}

    report = rules.rule_report(
        "row_weights", [measured("a", 1.0, [9.0]), measured("b", 3.0, "ValueError: no")]
    )
    assert "agreement is left out; on b, SGF: ValueError: no" in report
    assert "| clean | DGF | 2.00 | uniform | 2.00 | 2.00 | 2.00 | uniform (2) |" in report


# Approximate neighbours, prediction, missing samples, numbers of clusters, misplaced rows


@quiet
def test_approximate_next_to_exact_neighbours(folder, tmp_path, capsys):
    out = tmp_path / "results" / "approximate_search.json"
    command = [
        "--data",
        str(folder),
        "--sets",
        "three,held",
        "--seeds",
        "2",
        "--jobs",
        "1",
        "--out",
        str(out),
    ]
    approximate_search.main(command)
    printed = capsys.readouterr().out
    assert all(part in printed for part in ("## Recall", "## DGF", "## SGF", "## Targets", "| three |"))
    for cell in json.loads(out.read_text())["cells"].values():
        assert len(cell["recall"]) == cell["n_views"]
        assert all(a <= b <= 1 for a, b in zip(cell["recall"], cell["up to ties"], strict=True))
        loaded = load(find_sets(folder)[cell["set"]])
        model = systems()["SGF"](n_clusters=3, neighbor_search="approximate", random_state=1)
        score = 100 * nmi(loaded.truth, model.fit(list(loaded.views)).labels_)
        assert cell["SGF approximate"][1] == score


def test_by_vote_a_sample_is_not_its_own_neighbour():
    """Samples that come again keep their label by a rule of its own, which the vote does without."""
    sample = make_multiview(300, n_views=3, n_clusters=4, separation=2.5, random_state=0)
    views = Views(sample.views)
    model = systems()["DGF"](n_clusters=4, random_state=0).fit(views)
    np.testing.assert_array_equal(model.predict(views), model.labels_)
    by_vote = prediction.by_vote(model, views)
    assert 0.8 < np.mean(by_vote == model.labels_) < 1
    np.testing.assert_array_equal(model.predict(views), model.labels_)


def test_half_of_the_views_are_hidden(views):
    four = Views([*views.arrays, views.arrays[0], views.arrays[1]])
    kept = np.array([True, True, False, True, True])
    mask = prediction.halved(four, kept, np.random.default_rng(0)).mask
    assert set(mask.sum(axis=1)) == {2}
    assert not mask[:, 2].any() and mask[:, kept].any(axis=0).all()


def test_clusters_are_matched():
    first, second = np.array([0, 0, 1, 1, 2]), np.array([2, 2, 0, 0, 1])
    np.testing.assert_array_equal(prediction.matching(first, second), [2, 0, 1])


def test_missing_rows_are_filled_by_their_donors():
    x = np.array([[0.0], [1.0], [10.0], [11.0], [12.0], [13.0], [99.0]])
    mask = np.ones((7, 2), dtype=bool)
    mask[6, 0] = False
    views = Views([x, np.array([[0.0], [0.0], [5.0], [5.0], [5.0], [5.0], [5.0]])], mask=mask)
    filled = missing._filled(views, missing._everyone(mask))
    assert filled.arrays[0][6, 0] == pytest.approx(x[:6].mean())
    between = [missing._distances(array, "euclidean") for array in views.arrays]
    donors = missing._nearest(between, mask)
    assert donors[0].tolist() == [[1, 0, 1, 1, 1, 1]]  # five: four that are the same, and the first of others
    labels = np.array([0, 0, 1, 1, 1, 1, -1])
    np.testing.assert_array_equal(
        missing._handed_on(labels, mask.all(axis=1), between, mask), [0, 0, 1, 1, 1, 1, 1]
    )


def test_cases_of_missing_samples_that_leave_each_a_view():
    def facts(n_samples, n_views):
        return data.Facts("x", Path("x.npz"), n_samples, n_views)

    def cases(*given):
        return [(one.pattern, one.rate, one.n_seeds) for one in missing.pieces([facts(*given)], 4)]

    assert len(cases(100, 3)) == len(missing.CASES) and cases(100, 3)[0][2] == 4
    assert {one[2] for one in cases(2000, 3)} == {missing.FEWER_SEEDS}
    assert ("random", 0.5, 4) in cases(100, 2)
    assert cases(100, 1) == cases(3001, 3) == []


def test_numbers_of_clusters_by_systems_that_are_prepared_alike(monkeypatch):
    given = []

    def spy(**settings):
        given.append((settings["scale"], settings["view_selection"], settings["n_clusters"]))
        return AverageGraph(**settings)

    for name in number_of_clusters.SYSTEMS:
        monkeypatch.setitem(number_of_clusters.SYSTEMS, name, spy)
        made = {"n_samples": 60, "n_clusters": 2, "separation": 4.0, "system": name}
        ((cell,),) = [number_of_clusters.do(number_of_clusters.Piece("few", made=made)).values()]
        assert cell["chosen"] == [2] and cell["truth"] == 2
    assert given == [("auto", "agreement", "auto")] * 3


def test_misplaced_rows_are_those_that_were_moved(views):
    for condition in spoiled.CONDITIONS:
        cases = list(spoiled.on_set(views, condition, 3))
        assert len(cases) == (3 if condition == "30 % in one view" else 1)
        for i, (given, rows, _) in enumerate(cases):
            moved = [(given.arrays[j] != views.arrays[j]).any(axis=1) for j in range(3)]
            np.testing.assert_array_equal(np.transpose(moved), rows)
            if len(cases) == 3:
                assert rows.sum(axis=0).tolist() == [27 * (j == i) for j in range(3)]


# Rows in another order


def test_ties_are_those_of_a_plain_search():
    rng = np.random.default_rng(1)
    arrays = [rng.integers(0, 6, size=(60, 2)).astype(float), rng.normal(size=(60, 2))]
    model = AverageGraph(n_clusters=3, n_neighbors=5, random_state=0)
    tied = permuted_fits.tied_samples(permuted_fits.fit_in_order(model, arrays, np.arange(60)), arrays)
    apart = ((arrays[0][:, None] - arrays[0]) ** 2).sum(axis=2) + np.diag(np.full(60, np.inf))
    ranked = np.sort(apart, axis=1)
    np.testing.assert_array_equal(tied, ranked[:, 4] == ranked[:, 5])
    assert 0 < tied.sum() < 60


@quiet
def test_in_the_order_of_the_content_nothing_differs(folder):
    facts = data.Facts("three", folder / "three.npz", N, 3)
    arrays = np.load(facts.path)
    np.savez(facts.path, **{name: np.round(arrays[name]) for name in arrays.files})  # ties
    for system in row_permutation.SYSTEMS:
        (cell,) = row_permutation.measure(row_permutation.Piece(facts, system, 3)).values()
        assert cell["tied"] > 0 == cell["copies"]
        assert cell["labels"] == cell["edges"] == cell["weight"] == [0, 0, 0]
        assert min(cell["given edges"]) > 0 and min(cell["given weight"]) > 1e-12
        assert cell["orders"] == [cell["file"]] * 3
        assert len(cell["given orders"]) == len(cell["seeds"]) == 3


def test_claims_about_row_orders():
    def cells(order, seed, differ=0, copies=0):
        spread = {
            "orders": [50, 50],
            "given orders": [50 - order, 50 + order],
            "seeds": [50 - seed, 50 + seed],
        }
        rest = {"tied": 0.5, "labels": [0, 0], "edges": [differ, 0], "copies": copies}
        return [{"set": f"s{i}", **spread, **rest} for i in range(8)]

    found = {
        "more": cells(3, 1),
        "less": cells(1, 3),
        "edges": cells(1, 1, differ=2),
        "copies": cells(1, 1, differ=2, copies=1),
    }
    verdicts = {
        name: [find(one).partition(":")[0] for find in row_permutation.CLAIMS.values()]
        for name, one in found.items()
    }
    assert verdicts["more"] == ["pass", "pass", "pass", "too few sets", "FAIL"]
    assert verdicts["less"] == ["pass", "pass", "pass", "too few sets", "pass"]
    assert verdicts["edges"] == ["pass", "FAIL", "pass", "too few sets", "pass"]
    assert verdicts["copies"] == ["pass", "pass", "pass", "too few sets", "pass"]
