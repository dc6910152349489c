"""The study of the defaults: its corruptions, its fits, its figures, and that it goes on where it stopped."""

import doctest
import importlib
import json
import warnings
from itertools import product

import numpy as np
import pytest
from scipy import sparse

from benchmarks.quality import (
    approximate_search,
    figures,
    held_out,
    prediction,
    results,
    rule_fits,
    rules,
    study,
)
from benchmarks.quality.__main__ import main
from benchmarks.quality.contenders import BEST_VIEW, contenders, estimator, reason_to_skip
from benchmarks.quality.corruptions import CONDITIONS, corrupted
from benchmarks.quality.data import find_sets, load
from benchmarks.quality.fits import labels_of_seeds, measure
from benchmarks.quality.rule_settings import RULES, Setting, with_constants
from benchmarks.quality.targets import targets
from consilience import PAPER, Views, make_multiview
from consilience.metrics import nmi
from consilience.models import SharedViews, systems
from consilience.spaces import scaling

RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def sample():
    return make_multiview(90, n_views=3, n_clusters=3, separation=2.5, random_state=0)


@pytest.fixture(scope="module")
def views(sample):
    return Views(list(sample.views.values()))


@pytest.fixture
def folder(tmp_path):
    """Return a folder with two data sets, one without labels, and something else."""
    for seed, (name, n_views) in enumerate({"three": 3, "two": 2}.items()):
        made = make_multiview(50, n_views=n_views, n_clusters=3, separation=3.0, random_state=seed)
        arrays = {f"X{i}": view for i, view in enumerate(made.views.values())}
        np.savez(tmp_path / f"{name}.npz", **arrays, y=made.y)
    np.savez(tmp_path / "bare.npz", X0=RNG.normal(size=(9, 2)), X1=RNG.normal(size=(9, 2)))
    (tmp_path / "README.md").write_text("Two data sets.")
    return tmp_path


@pytest.mark.parametrize("module", [figures, held_out], ids=lambda module: module.__name__)
def test_examples(module):
    failed, tried = doctest.testmod(module)
    assert tried > 0
    assert failed == 0


# Corruptions


def some_views(as_sparse):
    x = np.where(RNG.random((40, 6)) < 0.5, 0.0, RNG.normal(size=(40, 6)))
    return (sparse.csr_array(x) if as_sparse else x, RNG.normal(size=(40, 3)))


def dense(view):
    return view.toarray() if sparse.issparse(view) else view


@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_corruption_is_the_same_again_and_changes_nothing_that_it_was_given(condition, as_sparse):
    given = some_views(as_sparse)
    before = [dense(view).copy() for view in given]
    once, again = (corrupted(given, "name", condition) for _ in range(2))
    for a, b in zip(once, again, strict=True):
        np.testing.assert_array_equal(dense(a), dense(b))
    for view, was in zip(given, before, strict=True):
        np.testing.assert_array_equal(dense(view), was)
    if condition != "without it":
        assert sparse.issparse(once[0]) == as_sparse


def test_another_set_is_shuffled_otherwise():
    given = some_views(False)
    first, other = (corrupted(given, name, "shuffled view")[0] for name in ("a", "b"))
    assert not np.array_equal(first, other)


@pytest.mark.parametrize(("condition", "n_noise"), [("noise 1:1", 2), ("noise 2:1", 4)])
def test_noise_views(condition, n_noise):
    given = some_views(True)
    found = corrupted(given, "name", condition)
    assert [view.shape for view in found[2:]] == [(40, width) for width in (10, 50, 200, 10)[:n_noise]]
    assert found[0] is given[0]
    everything = np.concatenate([view.ravel() for view in found[2:]])
    assert abs(everything.mean()) < 0.1
    assert everything.std() == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize(("condition", "n_copies"), [("copy", 1), ("copies", 3)])
def test_copies(condition, n_copies):
    given = some_views(True)
    found = corrupted(given, "name", condition)
    assert len(found) == 2 + n_copies
    for view in found[2:]:
        np.testing.assert_array_equal(view.toarray(), given[0].toarray())


@pytest.mark.parametrize("as_sparse", [False, True])
def test_scale_and_columns(as_sparse):
    given = some_views(as_sparse)
    first = dense(given[0])
    np.testing.assert_array_equal(dense(corrupted(given, "name", "times 1e6")[0]), 1e6 * first)
    wider = dense(corrupted(given, "name", "huge columns")[0])
    np.testing.assert_array_equal(wider[:, :-2], first)
    assert wider[:, -2:].std() == pytest.approx(1000 * np.abs(first).max(), rel=0.25)


def test_shuffled_rows():
    given = some_views(False)
    n = 40

    def moved(before, after):
        assert sorted(map(tuple, before)) == sorted(map(tuple, after))
        return set(np.flatnonzero((before != after).any(axis=1)).tolist())

    whole = corrupted(given, "name", "shuffled view")
    assert len(moved(given[0], whole[0])) > 0.8 * n
    assert whole[1] is given[1]
    part = corrupted(given, "name", "30 % shuffled in one")
    assert 0.15 * n < len(moved(given[0], part[0])) <= 0.3 * n
    assert part[1] is given[1]
    both = corrupted(given, "name", "30 % shuffled in all")
    rows = [moved(before, after) for before, after in zip(given, both, strict=True)]
    assert all(0.15 * n < len(one) <= 0.3 * n for one in rows)
    assert rows[0] != rows[1]


def test_without_the_first_view():
    given = some_views(False)
    assert corrupted(given, "name", "without it") == (given[1],)
    with pytest.raises(ValueError, match="only one view"):
        corrupted(given[:1], "name", "without it")


# Contenders and their fits


def test_every_system_is_compared():
    assert set(contenders()) == {*systems(), "paper SGF", "paper DGF", BEST_VIEW}
    assert contenders()[0] == "DGF"


def test_the_papers_fixed_setting():
    model = estimator("paper DGF", 7, "BBCSport")
    expected = {"n_neighbors": 6, "beta": 1, "gamma": 1e4, "metric": "cosine", "n_clusters": 7, **PAPER}
    assert expected.items() <= model.get_params().items()
    assert estimator("paper SGF", 7, "MSRC_v1").metric == "euclidean"
    assert estimator("paper SGF", 7, "another set").metric == "auto"
    assert estimator("DGF", 7).get_params() == systems()["DGF"](n_clusters=7, n_jobs=1).get_params()


def test_dense_systems_have_limits():
    run = [
        (name, condition, n)
        for name, condition, n in product(("RMSC", "SNF", "DGF"), ("clean", "copy"), (1100, 3000, 3001))
        if not reason_to_skip(name, condition, n)
    ]
    assert [one for one in run if one[0] != "DGF"] == [
        ("RMSC", "clean", 1100),
        ("RMSC", "copy", 1100),
        ("SNF", "clean", 1100),
        ("SNF", "clean", 3000),
        ("SNF", "copy", 1100),
    ]
    assert len(run) == 5 + 6
    assert reason_to_skip("SNF", "clean", 51, dense_limit=50) == "dense, and more than 50 samples"


@pytest.mark.filterwarnings("ignore:The graph has .* connected components")
@pytest.mark.parametrize("name", ["SNF", "DGF", "SC"])
def test_labels_of_a_seed_are_those_of_a_fit_with_it(name, views):
    model = estimator(name, 8).set_params(random_state=0).fit(views)
    found = list(labels_of_seeds(model, name, SharedViews(views), range(3)))
    for seed, labels in enumerate(found):
        np.testing.assert_array_equal(
            labels, estimator(name, 8).set_params(random_state=seed).fit(views).labels_
        )
    assert any(not np.array_equal(found[0], labels) for labels in found[1:])  # the seed does matter here


def test_a_measured_cell(views, sample):
    found = measure("DGF", views, SharedViews(views), sample.y, n_seeds=3)
    labels = estimator("DGF", 3).set_params(random_state=2).fit(views).labels_
    assert found["nmi"][2] == 100 * nmi(sample.y, labels)
    assert len(found["nmi"]) == len(found["acc"]) == len(found["ari"]) == 3
    assert found["seconds"] > 0
    assert found["n_warnings"] == 0


def test_warnings_and_errors_are_kept(views, sample):
    with_constant = Views([*views.arrays, np.ones((90, 1))])
    found = measure("AASC", with_constant, SharedViews(with_constant), sample.y, n_seeds=1)
    assert found["n_warnings"] == 1
    assert "view_3" in found["warnings"][0]
    nothing = Views([np.ones((90, 1))])
    found = measure("AASC", nothing, SharedViews(nothing), sample.y)
    assert set(found) == {"reason"}
    assert found["reason"].startswith("ValueError: Every view is constant")


def test_the_best_view_is_chosen_with_the_labels(sample):
    noise = np.random.default_rng(1).normal(size=(90, 5))
    views = Views([noise, sample.views["view_1"], noise[::-1]])
    found = measure(BEST_VIEW, views, SharedViews(views), sample.y, n_seeds=2)
    assert found["view"] == 1
    alone = systems()["SC"](n_clusters=3, view=1, random_state=1).fit(views).labels_
    assert found["nmi"][1] == 100 * nmi(sample.y, alone)


# The study


SMALL = ["--systems", "DGF,paper DGF,best view,SNF", "--seeds", "3", "--corrupted-seeds", "2"]
CONDITIONS_USED = ["--conditions", "clean,times 1e6,without it"]


def test_data_sets_of_a_folder(folder):
    assert list(find_sets(folder)) == ["bare", "three", "two"]
    assert list(find_sets(folder, "two")) == ["two"]
    with pytest.raises(SystemExit, match="no data set 'four'; known: bare, three, two"):
        find_sets(folder, "four")
    assert (load(folder / "two.npz").n_clusters, load(folder / "two.npz").n_samples) == (3, 50)


def test_the_whole_study_and_that_it_goes_on(folder, tmp_path, capsys, monkeypatch):
    out = tmp_path / "results" / "quality.json"
    command = ["--data", str(folder), "--out", str(out), "--jobs", "1", *SMALL, *CONDITIONS_USED]
    main([*command, "--max-seconds", "0"])
    printed = capsys.readouterr()
    assert "bare is left out: bare.npz holds no labels" in printed.err
    assert "6 pieces were not begun" in printed.err
    assert printed.out == "Nothing has been measured.\n"
    main([*command, "--dense-limit", "40"])
    printed = capsys.readouterr().out
    assert "dense, and more than 40 samples" in printed
    assert "## Targets" in printed
    cells = list(json.loads(out.read_text())["cells"].values())
    assert len(cells) == 2 * (4 + 2 * 3)  # the best view is for clean data
    assert {len(cell["nmi"]) for cell in cells if cell["condition"] == "clean" and "nmi" in cell} == {3}
    assert sum("reason" in cell for cell in cells) == 2 * 3

    asked = []
    plain_do = study.do
    monkeypatch.setattr(
        "benchmarks.quality.__main__.do", lambda piece: asked.append(piece) or plain_do(piece)
    )
    main(command)
    assert [piece.names for piece in asked] == [("SNF",)] * 6  # what had no score
    asked.clear()
    main(command)
    assert asked == []
    complete = capsys.readouterr().out
    main(["--tables", str(out)])
    assert complete.endswith(capsys.readouterr().out)


def test_two_processes_find_the_same(folder):
    sets = study.look_at(find_sets(folder, "three,two"))
    found = []
    for n_jobs in (1, 2):
        kept = results.Results()
        pieces, _ = study.plan(sets, ["clean"], ["SGF"], kept, n_seeds=2)
        assert results.run(pieces, study.do, kept, n_jobs=n_jobs) == 0
        found.append({name: cell["nmi"] for name, cell in kept.cells.items()})
    assert len(found[0]) == 2
    assert found[0] == found[1]


def test_results_of_other_versions_are_not_taken_for_ours(monkeypatch):
    name = results.key("set", "clean")
    monkeypatch.setattr(results, "machine_facts", lambda: dict.fromkeys(results.VERSIONS, "0"))
    assert results.key("set", "clean") != name
    assert results.key("set", "clean").startswith("set | clean | consilience 0 | numpy 0")


# Figures


def cell(data, condition, system, nmi_values, n_views=3, **more):
    scores = {"nmi": nmi_values, "seconds": 1.0, "cpu_seconds": 1.0}
    return {"set": data, "condition": condition, "system": system, "n_views": n_views, **scores, **more}


def gathered(cells):
    return figures.Scores({str(i): one for i, one in enumerate(cells)})


def test_losses_are_over_common_seeds():
    scores = gathered([cell("a", "clean", "DGF", [50, 60, 90]), cell("a", "copy", "DGF", [50, 58])])
    assert scores.losses("DGF", "copy") == {"a": 1.0}
    assert scores.mean("a", "clean", "DGF") == pytest.approx(200 / 3)


def test_an_empty_cell_is_in_no_mean():
    empty = {**cell("b", "clean", "SNF", []), "reason": "dense"}
    scores = gathered([cell("a", "clean", "SNF", [40]), empty, cell("a", "clean", "DGF", [50])])
    assert scores.means("clean", "SNF") == {"a": 40.0}
    assert scores.differences("SNF", "DGF") == {"a": -10.0}
    assert scores.cell("b", "clean", "SNF")["reason"] == "dense"


def judged(**changed):
    """Return whether each target is met by scores that meet them all, but for what is changed."""
    after = {
        "noise 1:1": 49.5, "noise 2:1": 49.5, "copy": 49.5, "times 1e6": 50.0, "huge columns": 48.5,
        "shuffled view": 44.5, "without it": 45.0,
    } | changed  # fmt: skip
    means = {"DGF": 50.0, "paper DGF": 44.0, "paper SGF": 45.0, "SNF": changed.get("SNF", 45.0)}
    cells = [cell("a", "clean", name, [value]) for name, value in means.items()]
    cells += [cell("a", condition, "DGF", [value]) for condition, value in after.items()]
    return {target.what: target.met for target in targets(gathered(cells), "DGF")}


@pytest.mark.parametrize(
    ("changed", "missed"),
    [
        ({}, []),
        ({"SNF": 45.1}, ["SNF"]),
        ({"noise 1:1": 48.5}, ["noise 1:1: mean"]),
        ({"noise 2:1": 46.5}, ["noise 2:1: mean", "noise 2:1: worst"]),
        ({"copy": 48.9}, ["copy: worst"]),
        ({"times 1e6": 50.0 + 1e-6}, ["times 1e6"]),
        ({"huge columns": 47.9}, ["huge columns"]),
        ({"shuffled view": 43.9}, ["shuffled view"]),
    ],
)
def test_targets(changed, missed):
    verdicts = judged(**changed)
    assert len(verdicts) == 11
    not_met = [what for what, met in verdicts.items() if not met]
    assert len(not_met) == len(missed)
    assert all(part in what for part, what in zip(missed, not_met, strict=True))


def test_a_shuffled_view_of_two_is_no_matter_of_the_target():
    cells = [cell("a", "shuffled view", "DGF", [10.0], n_views=2), cell("a", "without it", "DGF", [50.0])]
    cells[1]["n_views"] = 2
    assert targets(gathered(cells), "DGF")[-1].met is None


# Rules


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
        model = estimator("DGF", 3).set_params(random_state=0, **setting.resolve(90, 3)).fit(views)
    assert model.agreement_.level == level


def test_numbers_of_neighbours():
    settings = RULES["n_neighbors"].settings
    assert len(settings) == 7 + 5 * 3 * 4
    assert settings["clip(0.6 n / c, 6, 20)"].resolve(200, 10) == {"n_neighbors": 12}
    assert settings["clip(0.6 n / c, 6, 20)"].resolve(2000, 10) == {"n_neighbors": 20}
    assert settings["clip(0.3 n / c, 8, 10)"].resolve(100, 10) == {"n_neighbors": 8}
    assert settings["30"].resolve(20, 2) == {"n_neighbors": 19}


def test_a_setting_is_measured_under_its_constants():
    """Ten words in a hundred, long and short documents: only angles tell the classes."""
    rng = np.random.default_rng(0)
    truth = np.arange(80) % 2
    words = (rng.random((80, 100)) < np.where((np.arange(100) % 2) == truth[:, None], 0.24, 0.06)).astype(
        float
    )
    views = Views([words * rng.lognormal(0, 2, size=(80, 1)) for _ in range(2)])
    share = ("consilience.spaces.scaling", "SPARSE_SHARE")
    settings = {
        "shipped": Setting(),
        "cosine": Setting({}, {share: 0.5}),
        "Euclidean": Setting({}, {share: 0.95}),
        "same": Setting({"metric": "cosine"}),
        "failing": Setting({"metric": "no such metric"}),
    }
    before = scaling.SPARSE_SHARE
    found = rule_fits.scores_of_settings(settings, views, truth, range(2))
    assert scaling.SPARSE_SHARE == before
    assert found["shipped"] == found["cosine"] == found["same"]
    assert found["failing"]["DGF"].startswith("ValueError: Unknown metric")
    model = estimator("DGF", 2).set_params(metric="euclidean", random_state=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert found["Euclidean"]["DGF"][1] == 100 * nmi(truth, model.fit(views).labels_)
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
    found = rule_fits.scores_of_settings(settings, views, truth, range(1))
    expected = {}
    for label, setting in settings.items():
        with with_constants(setting.constants), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            labels = estimator("DGF", 2).set_params(scale="auto", random_state=0).fit(views).labels_
        expected[label] = [100 * nmi(truth, labels)]
    assert {label: one["DGF"] for label, one in found.items()} == expected
    assert expected["at once"][0] > 80
    assert max(expected["never"][0], expected["almost never"][0]) < 20


def test_rules_end_to_end(folder, capsys, tmp_path):
    out = tmp_path / "rules.json"
    command = [
        "--data",
        str(folder),
        "--out",
        str(out),
        "--rule",
        "row_weights",
        "--seeds",
        "1",
        "--jobs",
        "1",
    ]
    rules.main(command)
    printed = capsys.readouterr()
    assert "## row_weights: mean NMI on 2 sets" in printed.out
    assert "all conditions | DGF" in printed.out
    assert "row_weights, three, clean" in printed.err
    rules.main(["--tables", str(out), "--rule", "row_weights"])
    again = capsys.readouterr()
    assert again.out == printed.out
    assert again.err == ""


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


@pytest.mark.filterwarnings("ignore:The graph has .* connected components", "ignore:.* who is near whom")
def test_approximate_next_to_exact_neighbours(folder, tmp_path, capsys):
    out = tmp_path / "results" / "approximate_search.json"
    command = ["--data", str(folder), "--sets", "three,two", "--seeds", "2", "--jobs", "1", "--out", str(out)]
    approximate_search.main(command)
    printed = capsys.readouterr().out
    assert all(
        part in printed for part in ("## Recall", "## DGF", "## SGF", "## Targets", "| three |", "| two |")
    )
    for cell in json.loads(out.read_text())["cells"].values():
        assert len(cell["recall"]) == cell["n_views"]
        assert all(a <= b <= 1 for a, b in zip(cell["recall"], cell["up to ties"], strict=True))
        data = load(folder / f"{cell['set']}.npz")
        model = systems()["SGF"](n_clusters=3, neighbor_search="approximate", random_state=1)
        score = 100 * nmi(data.truth, model.fit(list(data.views)).labels_)
        assert cell["SGF approximate"][1] == score
    approximate_search.main(["--tables", str(out)])
    assert capsys.readouterr().out == printed


# Prediction


def test_by_vote_a_sample_is_not_its_own_neighbour():
    """Samples that come again keep their label by a rule of its own, which the vote does without."""
    sample = make_multiview(150, n_views=3, n_clusters=4, separation=2.2, random_state=0)
    views = Views(sample.views)
    model = systems()["DGF"](n_clusters=4, random_state=0).fit(views)
    np.testing.assert_array_equal(model.predict(views), model.labels_)
    by_vote = prediction.by_vote(model, views)
    assert 0.8 < np.mean(by_vote == model.labels_) < 1
    np.testing.assert_array_equal(model.predict(views), model.labels_)


def test_half_of_the_views_are_hidden(views):
    halved = prediction.halved(views, np.random.default_rng(0))
    assert set(halved.mask.sum(axis=1)) == {1}


def test_clusters_are_matched():
    first, second = np.array([0, 0, 1, 1, 2]), np.array([2, 2, 0, 0, 1])
    np.testing.assert_array_equal(prediction.matching(first, second), [2, 0, 1])
