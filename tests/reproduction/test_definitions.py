"""The paper's experiments as data: complete, as printed, in step with the package; broken files."""

import pickle
import shutil
from dataclasses import fields

import pytest

from consilience import KMeansLabels
from consilience.commands import catalog
from consilience.metrics import scores
from consilience.models import PAPER, systems
from consilience.reproduction import definitions
from consilience.reproduction.definitions import Printed, load_paper


@pytest.fixture(scope="module")
def paper():
    return load_paper()


@pytest.fixture
def folder(paper, tmp_path):
    return shutil.copytree(paper.folder, tmp_path / "paper")


def test_twelve_sets_of_the_paper_and_one_of_ours(paper):
    own = [name for name, one in paper.sets.items() if not one.in_paper]
    assert len(paper.sets) == 13 and own == ["3Sources"]
    assert sum(one.n_samples for one in paper.sets.values() if one.in_paper) == 32635


def test_every_cell_of_both_tables(paper):
    assert len(paper.scores) == 12 * 10 * 4 and len(paper.times) == 12 * 12
    assert {key[0] for key in paper.scores} == {name for name, one in paper.sets.items() if one.in_paper}
    assert paper.score("3Sources", "SGF", "NMI") is None and paper.score("ORL", "SGF-0", "NMI") is None


@pytest.mark.parametrize(
    ("cell", "mean", "std"),
    [
        (("ORL", "AASC", "NMI"), 86.74, 0.87),  # the corners of the table
        (("ORL", "DGF", "NMI"), 91.82, 0.30),
        (("UCI_Digits", "AASC", "purity"), 87.00, 0.0),
        (("UCI_Digits", "DGF", "purity"), 98.20, 0.0),
        (("Caltech101", "SC", "ACC"), 26.74, 0.54),
        (("Caltech101", "MVGL", "ARI"), -0.55, 0.0),  # negative
        (("NUS-WIDE", "MVGL", "ARI"), 0.16, 0.0),  # behind a space
        (("Yale", "AASC", "ARI"), 42.36, 4.0),
        (("MSRC_v1", "SGF", "ACC"), 80.48, 0.0),
    ],
)
def test_printed_scores(paper, cell, mean, std):
    assert paper.score(*cell) == Printed(mean, std)


@pytest.mark.parametrize(
    ("cell", "mean", "std"),
    [
        (("ORL", "AASC"), 0.36, 0.0),
        (("ORL", "SGF"), 0.40, 0.0),
        (("UCI_Digits", "SGF"), 0.79, 0.02),
        (("Caltech101", "MVGL"), 7274, 8.5),
        (("UCI_Digits", "SGF-0"), 6.61, 0.0),  # the columns are not in the order of the other table
        (("UCI_Digits", "DGF-0"), 1.79, 0.0),
    ],
)
def test_printed_times(paper, cell, mean, std):
    assert paper.seconds(*cell) == Printed(mean, std)


def test_what_the_scores_themselves_demand(paper):
    for name, system, metric in paper.scores:
        score = paper.score(name, system, metric)
        assert -100 <= score.mean <= 100
        if metric == "purity":  # cannot be below accuracy
            assert score.mean >= paper.score(name, system, "ACC").mean, (name, system)


def test_settings_of_the_paper(paper):
    found = paper.experiments
    assert found.arguments["n_neighbors"] == 6 and found.n_runs == 10 and found.nmi_average == "max"
    assert found.grid.values == (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3, 1e4, 1e5)
    assert (found.no_tuning.point.beta, found.no_tuning.point.gamma) == (1, 1e4)
    assert (found.affinity.n_neighbors, len(found.affinity.view_features)) == (15, 4)
    assert {factor.name: factor.exponent for factor in found.complexity.factors} == {"k": 1, "n": 1, "v": 2}
    assert found.complexity.factors[0].sizes[0] == {"k": 5, "n": 10000, "v": 4}
    assert set(found.quick.exponents) <= set(found.grid.exponents)
    assert len(paper.claims) == len(found.claims) >= 9


def test_the_scores_are_those_of_the_package(paper):
    assert set(paper.experiments.metrics) == set(scores([0, 1], [0, 1]))


def test_sets_agree_with_those_of_the_catalogue(paper):
    listed = {one.name: one for one in catalog.SETS if "bundled" not in one.name}
    assert set(listed) == set(paper.sets)
    for name, one in listed.items():
        mine = paper.sets[name]
        assert mine.shape == (one.n_samples, one.n_views, one.n_classes), name
        assert mine.metric == {"distances": "precomputed_distance"}.get(one.metric, one.metric), name


def test_every_system_is_in_the_package(paper):
    assert not [name for name in paper.systems if name not in systems()]


def test_every_system_takes_its_arguments(paper):
    for name in paper.systems.keys() & systems().keys():
        one = paper.systems[name]
        taken = {field.name for field in fields(systems()[name])}
        wanted = {*one.tuned, *one.fixed, *paper.experiments.arguments}
        if "n_init" in wanted:  # the restarts of k-means are part of how labels are assigned
            wanted = wanted - {"n_init"} | {"assign_labels"}
        assert wanted <= taken, (name, wanted - taken)


def test_preset_and_arguments_on_top(paper):
    others = {name: value for name, value in PAPER.items() if name != "assign_labels"}
    assert paper.systems["SGF"].fixed == {**others, "n_init": "auto"}
    assert PAPER["assign_labels"] == KMeansLabels(n_init=30)
    assert paper.systems["CoReg"].fixed == {"n_init": 10}
    assert paper.systems["AWP"].fixed == {}  # it has no k-means
    assert paper.systems["SC"].rule == "best_view"


def test_definitions_can_be_sent_to_another_process(paper):
    assert pickle.loads(pickle.dumps(paper)).experiments == paper.experiments


def test_no_definitions_at_all(monkeypatch, tmp_path):
    monkeypatch.setattr(definitions, "__file__", str(tmp_path / "a" / "b" / "c" / "definitions.py"))
    with pytest.raises(ValueError, match=r"neither in .*c.paper nor in .*benchmarks.paper: install"):
        load_paper()


def test_an_installed_copy_goes_first(monkeypatch, paper, tmp_path):
    own = shutil.copytree(paper.folder, tmp_path / "src" / "consilience" / "reproduction" / "paper")
    shutil.copytree(paper.folder, tmp_path / "benchmarks" / "paper")
    monkeypatch.setattr(definitions, "__file__", str(own.parent / "definitions.py"))
    assert load_paper().folder == own.resolve()


BROKEN = [
    # file, text, what takes its place, message
    ("sets.toml", 'all_sets = "http', 'all_sets = "', None),
    (
        "sets.toml",
        "n_samples = 400",
        "n_samples = '400'",
        r"sets.toml, sets, entry 'ORL', n_samples: .* int, got '400'",
    ),
    (
        "sets.toml",
        "n_samples = 400",
        "n_samples = true",
        r"'ORL', n_samples: it must be of type int, got True",
    ),
    ("sets.toml", "n_samples = 400", "n_samples = 0", r"'ORL': n_samples must be a positive integer, got 0"),
    ("sets.toml", "n_samples = 400", "", r"'ORL': the entry 'n_samples' is missing"),
    (
        "sets.toml",
        "n_samples = 400",
        "n_sample = 400",
        r"'ORL': unknown entry 'n_sample'; known: name, title",
    ),
    (
        "sets.toml",
        'metric = "cosine"',
        'metric = "cosin"',
        r"'Reuters': unknown metric 'cosin'; known: euclid",
    ),
    ("sets.toml", 'name = "Yale"', 'name = "ORL"', r"sets, entry 'ORL': there are two of this name"),
    ("sets.toml", 'name = "Yale"', 'name = "Jail"', r"printed_scores.csv, line 12: unknown set 'Yale'"),
    ("sets.toml", "in_paper = false", "", r"printed_scores.csv: no row for 3Sources, AASC, NMI; 40 rows"),
    ("sets.toml", "[[sets]]", "[sets]", r"sets.toml: it is no TOML file"),
    ("systems.toml", '"AASC", "AWP"', '"AASK", "AWP"', r"tables, scores: unknown system 'AASK'; known: AASC"),
    ("systems.toml", '"AASC", "AWP"', '"AWP", "AWP"', r"tables, scores: it holds something twice"),
    ("systems.toml", 'tuned = ["beta"]', 'tuned = "beta"', r"'MCGC', tuned: it must be a list, got 'beta'"),
    ("systems.toml", 'tuned = ["beta"]', "tuned = [1]", r"'MCGC', tuned, entry 1: it must be of type str"),
    ("systems.toml", 'tuned = ["beta"]', 'tuned = ["n_init"]', r"'MCGC': 'n_init' is both tuned and fixed"),
    (
        "systems.toml",
        'preset = "PAPER"',
        'preset = "PAPIER"',
        r"'SGF': unknown preset 'PAPIER'; known: PAPER",
    ),
    ("systems.toml", '"best_view"', '"best"', r"'SC': unknown rule 'best'; known: best_view"),
    (
        "systems.toml",
        'tuned = ["beta"]',
        'tuned = ["beta"]\narguments = 1',
        r"'MCGC', arguments: it must be a table, got 1",
    ),
    ("systems.toml", 'revises = "SGF-0"', 'revises = "S"', r"entry 'SGF': it revises the unknown 'S'"),
    ("systems.toml", "scores = [", "score = [", r"tables: unknown entry 'score'; known: scores, times"),
    ("experiments.toml", 'set = "UCI_Digits"', 'set = "UCI"', r"affinity: unknown set 'UCI'; known: ORL"),
    ("experiments.toml", 'sets = ["MSRC_v1"', 'sets = ["MSRC"', r"quick: unknown set 'MSRC'"),
    ("experiments.toml", 'system = "SGF"', 'system = "SGV"', r"affinity: unknown system 'SGV'"),
    ("experiments.toml", 'select_by = "NMI"', 'select_by = "MNI"', r"grid: select_by .* unknown score 'MNI'"),
    ("experiments.toml", "gamma = 1e4", "gamma = []", r"no_tuning, point, gamma: it must be of type float"),
    (
        "experiments.toml",
        "exponents = [-5, -4",
        "exponents = [-5, -5",
        r"grid: exponents holds something twice",
    ),
    ("experiments.toml", "exponents = [-3, 0, 3]", "exponents = []", r"quick: exponents is empty"),
    (
        "experiments.toml",
        "n_runs = 10",
        "n_runs = -1",
        r"experiments.toml: n_runs must be a positive integer",
    ),
    ("experiments.toml", "fixed = { n =", "fixed = { m =", r"factors, entry 1: it must vary one of k, n, v"),
    (
        "experiments.toml",
        'id = "best_on',
        'id = "fusion_beats_best_view" # ',
        r"claims holds something twice",
    ),
    (
        "printed_scores.csv",
        "ORL,AWP,NMI",
        "ORL,AASC,NMI",
        r"scores.csv, line 3: a second row for ORL, AASC, NMI",
    ),
    ("printed_scores.csv", "ORL,AASC,NMI", "ORL,AASK,NMI", r"scores.csv, line 2: unknown system 'AASK'"),
    ("printed_scores.csv", "ORL,AASC,NMI", "ORL,AASC,MNI", r"scores.csv, line 2: unknown metric 'MNI'"),
    ("printed_scores.csv", "86.74,0.87", "86.74,-0.87", r"scores.csv, line 2: '-0.87' is out of range"),
    ("printed_scores.csv", "86.74,0.87", "86;74,0.87", r"scores.csv, line 2: '86;74' is no number"),
    ("printed_scores.csv", "86.74,0.87", "nan,0.87", r"scores.csv, line 2: 'nan' is out of range"),
    ("printed_scores.csv", "86.74,0.87", "86.74,0.87,1", r"scores.csv, line 2: it must have 5 entries"),
    ("printed_scores.csv", "86.74,0.87", "86.74", r"scores.csv, line 2: it must have 5 entries"),
    ("printed_times.csv", "ORL,AASC,0.36,0.00\n", "", r"times.csv: no row for ORL, AASC; 1 rows are missing"),
    (
        "printed_times.csv",
        "set,system",
        "Set,system",
        r"times.csv: the columns must be set, system, seconds, std",
    ),
]


@pytest.mark.parametrize(("file", "text", "other", "message"), BROKEN)
def test_broken_files_name_file_and_entry(folder, file, text, other, message):
    path = folder / file
    content = path.read_text(encoding="utf-8")
    assert text in content
    path.write_text(content.replace(text, other, 1), encoding="utf-8")
    if message is None:  # the replacement itself is sound
        load_paper(folder)
        return
    with pytest.raises(ValueError, match=message) as caught:
        load_paper(folder)
    assert file in str(caught.value) or "printed" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "file", ["sets.toml", "systems.toml", "experiments.toml", "printed_scores.csv", "printed_times.csv"]
)
def test_absent_and_binary_files(folder, file):
    (folder / file).write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match=rf"{file}: it is no"):
        load_paper(folder)
    (folder / file).unlink()
    with pytest.raises(ValueError, match=rf"{file}: it cannot be read \(No such file"):
        load_paper(folder)
