"""`consilience.compare`: any system on any data by the same rules, whatever goes wrong."""

import json
import signal
import subprocess
import sys
import time
import warnings
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans
from tests.comparison import misbehaving
from tests.comparison.misbehaving import Cutting, cut

from consilience import DistanceGraphFusion, Views, compare, make_multiview, prepare_views
from consilience.comparison import DataSet
from consilience.comparison.contenders import contender, find_contenders
from consilience.comparison.corruption_overview import corruption_table
from consilience.comparison.data_sets import find_sets
from consilience.comparison.exchange import as_arrays, checked_labels, side_by_side
from consilience.comparison.planning import ORACLE_IS_CLEAN
from consilience.comparison.store import FILE, Store, key_of
from consilience.datasets import corrupt, corruptions
from consilience.metrics import ari, nmi
from consilience.models import MCGC, MVGL, RMSC, AverageGraph, systems

N, C = 90, 3


@pytest.fixture(scope="module")
def made():
    return make_multiview(N, n_views=3, n_clusters=C, separation=3.0, random_state=0)


@pytest.fixture
def folder(tmp_path):
    """Three sets in two parts, a file that is no data, and one that is broken."""
    place = tmp_path / "sets"
    for i, part in enumerate((".", "tuning", "validation")):
        (place / part).mkdir(parents=True, exist_ok=True)
        sample = make_multiview(70, n_views=2, n_clusters=3, separation=2.0, random_state=i)
        np.savez(place / part / f"set{i}.npz", **sample.views, y=sample.y)
    (place / "README.md").write_text("Not a set.")
    (place / "broken.mat").write_bytes(b"MATLAB 5.0 or so")
    np.savez(place / "no_labels.npz", X0=np.eye(5), X1=np.eye(5))
    return place


def quiet(function, *given, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*given, **options)


# Systems from anywhere


class TakesViews:
    def __init__(self, n_clusters):
        self.n_clusters = n_clusters

    def fit(self, X: Views):
        assert isinstance(X, Views)
        self.labels_ = cut(X.arrays, self.n_clusters)


class SaysViews(Cutting):
    takes = "views"

    def find(self, views):
        assert isinstance(views, Views)
        return cut(views.arrays, self.n_clusters)


class TakesFeatures(ClusterMixin, BaseEstimator):
    def __init__(self, n_clusters=2, random_state=None):
        self.n_clusters, self.random_state = n_clusters, random_state

    def fit(self, X, y=None):
        assert X.shape == (N, 30)
        self.labels_ = cut([X], self.n_clusters)
        return self


def a_function(views, n_clusters, random_state):
    assert isinstance(views, list) and random_state in (0, 1)
    return [f"cluster {number}" for number in cut(views, n_clusters)]


@pytest.mark.parametrize("system", [TakesViews, SaysViews, TakesFeatures, Cutting, a_function, Cutting(3)])
def test_a_system_gets_the_data_that_it_takes(system, made):
    found = compare(made.views, {"it": system}, labels=made.y, seeds=2, preparation="none")
    one = found.outcome("it")
    assert one.status == "ok", one.reason
    assert one.clusters_found == C and len(one.scores) == 2
    if system is not TakesFeatures:
        expected = cut(list(made.views.values()), C)
        assert ari(one.labels, expected) == 1.0 and one.scores[0]["NMI"] == nmi(made.y, expected)


def test_our_systems_find_what_they_find_alone(made):
    shuffled, order = DataSet("data", made.views, made.y).shuffled()
    found = compare(made.views, "dgf,average", labels=made.y, seeds=[3, 4])
    for name, system in {"DGF": DistanceGraphFusion, "Average": AverageGraph}.items():
        for place, seed in enumerate((3, 4)):
            model = system(n_clusters=C, random_state=seed, scale="auto", view_selection="agreement")
            labels = quiet(model.fit, shuffled.views).labels_
            one = found.outcome(name)
            assert one.scores[place]["NMI"] == nmi(shuffled.labels, labels)
            if place == 0:
                assert ari(one.labels[order], labels) == 1.0


def test_names_modules_and_entry_points(monkeypatch):
    assert [one.name for one in find_contenders("dgf, Average,DGF")] == ["DGF", "Average"]
    assert [one.name for one in find_contenders("all")] == list(systems())
    (named,) = find_contenders("mine=tests.comparison.misbehaving:Cutting")
    assert (named.name, named.system, named.takes) == ("mine", Cutting, "arrays")
    (other,) = find_contenders("tests.comparison.misbehaving:Cutting")
    assert other.name == "Cutting"
    point = EntryPoint("Announced", "tests.comparison.misbehaving:Cutting", "consilience.systems")
    monkeypatch.setattr(
        "consilience.comparison.contenders.entry_points", lambda group: [point] * (group == point.group)
    )
    (announced,) = find_contenders("announced")
    assert announced.name == "Announced" and announced.system is Cutting
    assert find_contenders("all")[-1].name == "Announced"
    with pytest.raises(ValueError, match=r"Unknown system 'dgv'; known: all, SC, .*package.module:Class"):
        find_contenders("dgv")
    with pytest.raises(ValueError, match="Two systems are named 'x'"):
        find_contenders([{"x": Cutting}, {"x": KMeans}])


@pytest.mark.parametrize(
    ("system", "reason"),
    [
        ("no.such.module:Thing", "no.such.module:Thing cannot be imported: ModuleNotFoundError"),
        ("json:Nothing", "json:Nothing cannot be imported: AttributeError"),
        (misbehaving.Unfit, "Unfit has neither fit nor fit_predict."),
        (7, "7 is no class, estimator or function."),
        (type("Odd", (), {"fit": None, "takes": "soup"}), "takes must be one of"),
        (misbehaving.Short, f"It returned labels of shape ({N - 1},) for {N} samples."),
        (misbehaving.Leaving, "SystemExit: I am off."),
        (type("Silent", (), {"fit": lambda self, X: self}), "no labels_"),
    ],
)
def test_what_cannot_run_is_a_cell_with_its_reason(system, reason, made):
    found = compare(made.views, [{"bad": system}, "average"], labels=made.y, seeds=1)
    assert found.outcome("bad").status == "failed" and reason in found.outcome("bad").reason
    assert found.outcome("Average").status == "ok"


def test_labels_of_any_kind_are_numbered_by_first_appearance():
    np.testing.assert_array_equal(checked_labels(["z", "a", "z"], 3), [0, 1, 0])
    np.testing.assert_array_equal(checked_labels(np.array([2.0, -1.0, 2.0]), 3), [0, 1, 0])
    np.testing.assert_array_equal(checked_labels(np.array([None, 1, "b"], dtype=object), 3), [0, 1, 2])
    with pytest.raises(ValueError, match="1 labels that are no numbers"):
        checked_labels([0.0, np.nan], 2)


def test_arrays_and_features_of_views():
    dense, counts = np.arange(12.0).reshape(4, 3), sparse.csr_array(np.eye(4))
    views = Views({"a": dense, "b": counts})
    features = side_by_side(views)
    assert sparse.issparse(features) and features.shape == (4, 7)
    parts = features.toarray()[:, :3], features.toarray()[:, 3:]
    for part in parts:
        assert part.var(axis=0).sum() == pytest.approx(1.0)
    masked = Views({"a": dense, "b": dense}, mask=np.array([[1, 1], [1, 0], [1, 1], [1, 1]], dtype=bool))
    assert np.isnan(as_arrays(masked)[1][1]).all() and not np.isnan(as_arrays(masked)[0]).any()
    with pytest.raises(ValueError, match="view 'b' lacks 1"):
        side_by_side(masked)


# The same preparation for all


def test_equal_preparation_gives_others_what_ours_see(made):
    views = {name: array.copy() for name, array in made.views.items()}
    views["view_0"][:, 0] *= 1e6
    views["noise"] = np.random.default_rng(0).normal(size=(N, 20))
    seen = {}

    def watching(given: Views, n_clusters):
        seen[len(given)] = given
        return cut(given.arrays, n_clusters)

    watching.takes = "views"
    shuffled = DataSet("data", views, made.y).shuffled()[0].views
    for preparation in ("equal", "own", "none"):
        compare(views, {"it": watching}, labels=made.y, seeds=1, preparation=preparation)
        expected = quiet(prepare_views, shuffled, C) if preparation == "equal" else shuffled
        assert seen[N].fingerprint() == expected.fingerprint()


def test_preparations_of_our_systems(made):
    views = {**made.views, "noise": np.random.default_rng(0).normal(size=(N, 20))}
    given = {"labels": made.y, "seeds": 1}
    own, equal, none = (
        compare(views, "average,dgf", preparation=how, **given) for how in ("own", "equal", "none")
    )
    wanted = ("scale", "view_selection", "view_weights")

    def parameters(found, name):
        return [found.outcome(name).parameters[key] for key in wanted]

    assert parameters(own, "Average") == ["none", "auto", "uniform"]
    assert parameters(own, "DGF") == ["auto", "auto", "agreement"]
    assert parameters(equal, "Average") == ["auto", "agreement", "uniform"]
    assert parameters(equal, "DGF") == ["auto", "agreement", "agreement"]
    assert parameters(none, "Average") == ["none", "all", "uniform"]
    assert parameters(none, "DGF") == ["none", "all", "uniform"]
    with pytest.raises(ValueError, match="Unknown preparation 'fair'"):
        compare(views, "average", preparation="fair", **given)


def test_rows_are_shuffled_so_that_their_order_tells_nothing(made):
    def by_row(views, n_clusters):
        return np.arange(len(views[0])) * n_clusters // len(views[0])

    order = np.argsort(made.y, kind="stable")
    views, y = {name: array[order] for name, array in made.views.items()}, made.y[order]
    cheating = {
        shuffle: compare(views, by_row, labels=y, seeds=1, shuffle=shuffle) for shuffle in (True, False)
    }
    scores = {shuffle: found.outcome("by_row").scores[0]["NMI"] for shuffle, found in cheating.items()}
    assert scores[False] > 0.9 and scores[True] < 0.2


@pytest.mark.parametrize("system", [MCGC, MVGL, RMSC])
def test_what_is_learned_once_is_what_each_seed_finds(system, made):
    found = compare(made.views, {"it": system}, labels=made.y, seeds=[0, 5])
    alone = compare(made.views, {"it": system}, labels=made.y, seeds=[5])
    assert found.outcome("it").scores[1] == alone.outcome("it").scores[0]


def test_a_system_that_writes_into_its_data_harms_nobody(made):
    views = {name: array.copy() for name, array in made.views.items()}
    for preparation in ("equal", "none"):
        for shuffle in (True, False):
            given = {"labels": made.y, "seeds": 2, "preparation": preparation, "shuffle": shuffle}
            found = compare(
                views, {"bad": misbehaving.Writing, "next": Cutting, "Average": AverageGraph}, **given
            )
            alone = compare(views, {"next": Cutting, "Average": AverageGraph}, **given)
            for name in ("next", "Average"):
                assert found.outcome(name).scores == alone.outcome(name).scores
    for name, array in made.views.items():
        np.testing.assert_array_equal(views[name], array)


def test_the_global_generator_begins_anew_for_every_fit(made):
    given = {"labels": made.y, "seeds": 2}
    alone = compare(made.views, {"it": misbehaving.Drawing}, **given)
    beside = compare(made.views, {"other": misbehaving.Drawing, "it": misbehaving.Drawing}, **given)
    assert alone.outcome("it").scores == beside.outcome("it").scores
    assert alone.outcome("it").scores[0] != alone.outcome("it").scores[1]


def test_ids_do_not_bring_the_rows_back_into_their_order(made):
    order = np.argsort(made.y, kind="stable")
    ids = [f"{made.y[i]}-{i:03d}" for i in order]  # by class
    views = Views([array[order] for array in made.views.values()], sample_ids=ids)
    with_ids = compare(views, "average", labels=made.y[order], seeds=2)
    without = compare(Views(list(views.arrays)), "average", labels=made.y[order], seeds=2)
    assert with_ids.outcome("Average").scores == without.outcome("Average").scores


def test_a_subclass_is_not_its_base(made):
    class Random(RMSC):
        def fit(self, X, y=None):
            self.labels_ = np.random.RandomState(self.random_state).randint(3, size=N)
            return self

    found = compare(made.views, {"it": Random}, labels=made.y, seeds=3)
    assert max(score["NMI"] for score in found.outcome("it").scores) < 0.2


# Data sets


def test_a_folder_of_sets(folder):
    found = compare(folder, {"cut": Cutting}, seeds=1)
    facts = {one.name: one for one in found.sets}
    assert list(facts) == ["broken", "no_labels", "set0", "set1", "set2"]
    assert [facts[f"set{i}"].part for i in range(3)] == ["", "tuning", "validation"]
    assert "It does not load: " in facts["broken"].reason and "broken.mat" in facts["broken"].reason
    assert "has no labels, so the number of clusters must be given" in facts["no_labels"].reason
    for name in ("broken", "no_labels"):
        assert found.outcome("cut", name).status == "failed"
        assert found.outcome("cut", name).reason == facts[name].reason
    assert found.outcome("cut", "set2").status == "ok"
    table = found.score_table(part="tuning")
    assert table.sets == ("set1",) and not np.isnan(table.means).any()
    assert found.parts == ("", "tuning", "validation")


def test_other_ways_to_name_sets(folder, made):
    files = sorted(folder.rglob("set*.npz"))
    assert [one.name for one in find_sets(files)] == ["set0", "set1", "set2"]
    assert [one.name for one in find_sets({"a": files[0], "b": str(files[1])})] == ["a", "b"]
    one = DataSet("blobs", made.views, made.y)
    assert find_sets([one])[0].n_clusters == C and find_sets(one, n_clusters=7)[0].n_clusters == 7
    assert find_sets([one], families={"blobs": "round"})[0].family == "round"
    with pytest.raises(ValueError, match="Two data sets are named 'blobs'"):
        find_sets([one, one])
    with pytest.raises(ValueError, match="labels go with views in memory"):
        find_sets(files[0], labels=made.y)
    with pytest.raises(ValueError, match=r"holds no data set: no file ends in \.mat"):
        find_sets(folder.parent / "sets" / "..", None) if False else find_sets(_empty(folder))
    with pytest.raises(ValueError, match=r"90 samples and labels of shape \(89,\)"):
        DataSet("short", made.views, made.y[1:])
    with pytest.raises(ValueError, match="the number of clusters must be given"):
        compare(made.views, "average")


def _empty(folder):
    (folder.parent / "empty").mkdir()
    return folder.parent / "empty"


def test_sets_of_one_name_in_two_parts_are_told_apart(tmp_path):
    for part in ("a", "b"):
        (tmp_path / part).mkdir()
        np.savez(tmp_path / part / "same.npz", X=np.eye(4), y=[0, 0, 1, 1])
    assert [one.name for one in find_sets(tmp_path)] == ["a/same", "b/same"]


# Corruptions and oracles


def test_corrupted_data_are_those_of_corrupt_a_draw_for_each_seed(made):
    found = compare(
        made.views,
        "average",
        labels=made.y,
        seeds=[4, 5],
        corruptions=["shuffle-all-30", "noise-1:1"],
        preparation="own",
    )
    shuffled = DataSet("data", made.views, made.y).shuffled()[0]
    for place, seed in enumerate((4, 5)):
        spoiled = corrupt(shuffled.views, "shuffle-all-30", random_state=seed)
        assert not spoiled.scored.all()
        model = AverageGraph(n_clusters=C, random_state=seed)
        labels = quiet(model.fit, spoiled.views).labels_
        one = found.outcome("Average", condition="shuffle-all-30")
        assert one.scores[place]["NMI"] == nmi(shuffled.labels[spoiled.scored], labels[spoiled.scored])
        known = quiet(AverageGraph(n_clusters=C, random_state=seed).fit, spoiled.oracle).labels_
        oracle = found.outcome("Average", condition="shuffle-all-30", oracle=True)
        assert oracle.scores[place]["NMI"] == nmi(shuffled.labels[spoiled.oracle_samples], known)
    clean = found.outcome("Average")
    assert found.outcome("Average", condition="noise-1:1", oracle=True).scores == clean.scores


@pytest.mark.parametrize("name", ORACLE_IS_CLEAN)
def test_where_the_oracle_is_said_to_have_the_clean_views_it_has(name, made):
    views = Views(made.views)
    found = corrupt(views, name, random_state=3)
    assert found.oracle.fingerprint() == views.fingerprint() and found.scored.all()


def test_elsewhere_it_has_not(made):
    views = Views(made.views)
    for name in corruptions():
        if name not in (*ORACLE_IS_CLEAN, "clean"):
            assert corrupt(views, name, random_state=3).oracle.fingerprint() != views.fingerprint()


def test_only_some_systems_on_corrupted_data_and_fewer_draws(made):
    found = compare(
        made.views,
        "average,dgf",
        labels=made.y,
        seeds=3,
        corruptions=["copies"],
        corrupted_systems="dgf",
        n_corrupted_seeds=2,
    )
    assert len(found.outcome("DGF", condition="copies").scores) == 2
    assert found.outcome("Average", condition="copies").status == "not run"
    assert not found.interrupted
    for wrong in ({"system": "dgf"}, {"system": "DGF", "data": "b"}, {"system": "DGF", "condition": "rust"}):
        with pytest.raises(ValueError, match="There is no"):
            found.outcome(**wrong)


def test_a_corruption_that_cannot_be_is_a_reason(made):
    one_view = {"only": made.views["view_0"]}
    found = compare(one_view, "average", labels=made.y, seeds=1, corruptions=["shuffled-view"])
    assert "view" in found.outcome("Average", condition="shuffled-view").reason


def test_one_that_never_ran_takes_no_set_from_the_others(made):
    sets = [DataSet(f"set{i}", made.views, made.y) for i in range(2)]
    found = compare(sets, ["average", {"bad": misbehaving.Short}], seeds=1, corruptions=["copies"])
    table = corruption_table(found, ["Average", "bad"])
    assert [row[1].value for row in table.cells] == [2, 2]
    assert table.cells[1][2].value is not None and table.cells[1][4].value is None


# Processes, limits, and what survives


@pytest.fixture(scope="module")
def stopped(made):
    """One comparison with all that can go wrong in processes."""
    bad = ("Hanging", "Greedy", "Crashing", "Leaving", "Printing", "Short")
    return compare(
        made.views,
        {**{name: getattr(misbehaving, name) for name in bad}, "Average": AverageGraph},
        labels=made.y,
        seeds=2,
        n_jobs=2,
        max_seconds=12,
        max_memory="900MB",
    )


@pytest.mark.long
def test_what_hangs_or_takes_too_much_is_stopped_and_the_rest_goes_on(stopped):
    reasons = {name: stopped.outcome(name).reason for name in stopped.systems}
    assert reasons["Hanging"] == "Stopped after 12 s, the limit."
    assert reasons["Greedy"] == "Stopped at 858 MiB of memory, the limit."
    assert reasons["Crashing"] == "Its process died of signal 11."
    assert reasons["Leaving"] == "SystemExit: I am off."
    assert reasons["Short"].startswith("It returned labels of shape")
    assert stopped.outcome("Average").status == stopped.outcome("Printing").status == "ok"


@pytest.mark.long
def test_one_that_cannot_be_sent_is_a_cell(made):
    import threading

    class Locked(Cutting):
        lock = threading.Lock()

    found = compare(made.views, [{"it": Locked()}, "average"], labels=made.y, seeds=1, n_jobs=1)
    assert "cannot be sent to another process" in found.outcome("it").reason
    assert found.outcome("Average").status == "ok"


@pytest.mark.long
def test_processes_find_what_this_one_finds(stopped, made):
    here = compare(made.views, "average", labels=made.y, seeds=2)
    assert here.outcome("Average").scores == stopped.outcome("Average").scores
    assert stopped.outcome("Average").seconds > 0


PROGRAM = """
import sys
from pathlib import Path
from consilience import compare
print(len(compare(Path(sys.argv[1]), "tests.comparison.misbehaving:Slow,average", seeds=5, n_jobs=1,
                  out=sys.argv[2], watch=lambda step: print(step, flush=True)).outcomes))
"""


@pytest.mark.long
def test_killed_it_goes_on_with_the_same_result(folder, tmp_path):
    whole = compare(folder, "tests.comparison.misbehaving:Slow,average", seeds=5)
    command = [sys.executable, "-c", PROGRAM, str(folder), str(tmp_path / "out")]
    n_before = []
    for n_lines in (3, 6):
        running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2])
        for _ in range(n_lines):
            running.stdout.readline()
        running.send_signal(signal.SIGKILL)
        running.communicate()
        n_before.append(len((tmp_path / "out" / FILE).read_text().splitlines()))
    assert 0 < n_before[0] < n_before[1]
    with (tmp_path / "out" / FILE).open("a") as file:
        file.write('["half a line')  # as a kill may leave it
    made = []
    again = compare(
        folder, "tests.comparison.misbehaving:Slow,average", seeds=5, out=tmp_path / "out", watch=made.append
    )
    assert made[-1].total < 30
    for place, one in whole.outcomes.items():
        other = again.outcomes[place]
        assert (other.status, other.scores, other.reason) == (one.status, one.scores, one.reason)
        assert (one.labels is None) == (other.labels is None)
        if one.labels is not None:
            np.testing.assert_array_equal(other.labels, one.labels)


@pytest.mark.long
def test_processes_end_with_the_one_that_started_them(folder, tmp_path):
    command = [sys.executable, "-c", PROGRAM, str(folder), str(tmp_path / "out")]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2])
    running.stdout.readline()
    mine = Path(f"/proc/{running.pid}/task/{running.pid}/children")
    if not mine.exists():
        pytest.skip("the system does not tell the children of a process")
    children = mine.read_text().split()
    assert children
    running.send_signal(signal.SIGKILL)
    running.communicate()
    end = time.monotonic() + 10
    while any(Path(f"/proc/{child}").exists() for child in children) and time.monotonic() < end:
        time.sleep(0.1)
    assert not any(Path(f"/proc/{child}").exists() for child in children)


def test_a_fit_stopped_at_a_limit_is_tried_again_with_a_higher_one(made, tmp_path, monkeypatch):
    given = {"labels": made.y, "seeds": 1, "out": tmp_path}
    compare(made.views, Cutting, **given)
    (line,) = (tmp_path / FILE).read_text().splitlines()
    key, _ = json.loads(line)
    stopped = {"status": "failed", "reason": "Stopped after 3 s, the limit.", "limit": {"seconds": 3}}
    (tmp_path / FILE).write_text(json.dumps([key, stopped]) + "\n")
    same = compare(made.views, Cutting, max_seconds=2, **given)
    assert same.outcome("Cutting").reason == stopped["reason"]
    assert compare(made.views, Cutting, **given).outcome("Cutting").status == "ok"


def test_results_of_other_code_data_or_rules_are_not_used(made, tmp_path):
    steps = []
    given = {"labels": made.y, "seeds": 1, "out": tmp_path, "watch": steps.append}

    def n_made(views, *systems, **options):
        steps.clear()
        compare(views, list(systems), **{**given, **options})
        return steps[-1].total if steps else 0

    assert n_made(made.views, "average") == 1
    assert n_made(made.views, "average") == 0
    assert n_made(made.views, "average", preparation="none") == 1
    assert n_made(made.views, "average", n_neighbors=7) == 1
    assert n_made(made.views, AverageGraph(max_clusters=None, missing="plain")) == 1
    other = {**made.views, "view_0": made.views["view_0"] + 1.0}
    assert n_made(other, "average") == 1
    assert n_made(made.views, "average", shuffle=False) == 1
    assert n_made(made.views, "average", seeds=2) == 1  # the second seed


def test_what_a_result_depends_on_is_in_its_key(made, tmp_path):
    def n_made(system, **options):
        steps = []
        compare(
            made.views, {"it": system}, labels=made.y, seeds=1, out=tmp_path, watch=steps.append, **options
        )
        return steps[-1].total if steps else 0

    def captured(value):
        return lambda views: np.arange(len(views[0])) % value

    assert [n_made(captured(value)) for value in (2, 3, 2)] == [1, 1, 0]

    class WithArray(Cutting):
        def __init__(self, weights=None, n_clusters=2):
            self.weights, self.n_clusters = weights, n_clusters

    first, second = np.zeros(3000), np.zeros(3000)
    second[1500] = 1.0
    assert [n_made(WithArray(weights)) for weights in (first, second, first)] == [1, 1, 0]
    assert n_made(AverageGraph) == 1
    metrics = [lambda a, b: float(abs(a - b).sum()), lambda a, b: float(((a - b) ** 2).sum())]
    assert [n_made(AverageGraph, metric=metric) for metric in metrics] == [1, 1]


def test_failures_that_may_be_gone_are_tried_again(made, tmp_path):
    flag = tmp_path / "installed"

    def needs_a_file(views, n_clusters):
        if not flag.exists():
            raise ImportError("nothing there yet")
        return cut(views, n_clusters)

    given = {"labels": made.y, "seeds": 1, "out": tmp_path / "out"}
    assert compare(made.views, needs_a_file, **given).outcome("needs_a_file").status == "failed"
    flag.touch()
    assert compare(made.views, needs_a_file, **given).outcome("needs_a_file").status == "ok"


def test_other_seeds_in_the_same_folder_have_labels_and_resamples(made, tmp_path):
    given = {"labels": made.y, "out": tmp_path, "n_resamples": 2}
    compare(made.views, "average", seeds=3, **given)
    one = compare(made.views, "average", seeds=[1, 2], **given).outcome("Average")
    assert one.labels is not None and len(one.stability) == 2 and one.parameters


def test_a_file_that_changes_meanwhile_is_noticed(folder):
    def replacing(views, n_clusters):
        other = make_multiview(70, n_views=2, n_clusters=3, separation=2.0, random_state=9)
        np.savez(folder / "validation" / "set2.npz", **other.views, y=other.y)
        return cut(views, n_clusters)

    found = compare([folder / "set0.npz", folder / "validation" / "set2.npz"], replacing, seeds=1)
    assert "has changed since the comparison began" in found.outcome("replacing", "set2").reason


def test_interrupted_systems_are_in_no_table(made, tmp_path):
    def interrupting(views, random_state):
        if random_state == 1:
            raise KeyboardInterrupt
        return cut(views, C)

    sets = [DataSet(f"set{i}", made.views, made.y) for i in range(2)]
    found = compare(sets, ["average", interrupting], seeds=2)
    assert np.isnan(found.score_table().means[0, 1])
    assert "stopped before its end" in (found.write(tmp_path / "r") / "report.html").read_text()


def test_two_comparisons_do_not_share_a_folder(made, tmp_path):
    def nested(views, n_clusters):
        with pytest.raises(ValueError, match=r"Another process is writing into .*; name another folder"):
            compare(made.views, "average", labels=made.y, out=tmp_path)
        return cut(views, n_clusters)

    found = compare(made.views, nested, labels=made.y, seeds=1, out=tmp_path)
    assert found.outcome("nested").status == "ok", found.outcome("nested").reason


def test_an_interrupt_keeps_what_is_done(made):
    def interrupting(views, random_state):
        if random_state == 1:
            raise KeyboardInterrupt
        return cut(views, C)

    found = compare(made.views, ["average", interrupting, "dgf"], labels=made.y, seeds=2)
    statuses = [found.outcome(name).status for name in found.systems]
    assert statuses == ["ok", "interrupted", "not run"] and found.interrupted


def test_strict_lets_the_exception_through(made):
    with pytest.raises(ValueError, match="It returned labels of shape"):
        compare(made.views, misbehaving.Short, labels=made.y, seeds=1, strict=True)


def test_one_clock_that_only_goes_forward(made):
    steps = []
    compare(made.views, ["average", Cutting], labels=made.y, seeds=2, n_resamples=1, watch=steps.append)
    assert [step.total for step in steps] == [6] * len(steps)
    done = [step.done for step in steps]
    assert done == sorted(done) and done[0] == 0 and done[-1] == 6
    elapsed = [step.elapsed for step in steps]
    assert elapsed == sorted(elapsed) and steps[-1].left == 0 and steps[-1].share == 1.0
    assert [step.text for step in steps if step.ended] == ["Average", "Cutting"]


def test_a_store_keeps_records_and_labels(tmp_path):
    store = Store(tmp_path / "new")
    assert store.get("a") is None
    store.put("a", {"status": "ok", "scores": None, "labels": np.array([0, 1, 1])})
    store.close()
    path = tmp_path / "new" / FILE
    path.write_text(
        path.read_text() + '[[1], 2]\n["b", {"status": "ok"}]\n["c", {"status": "ok", "scores": 1, "la\n'
    )
    again = Store(tmp_path / "new")
    np.testing.assert_array_equal(again.get("a")["labels"], [0, 1, 1])
    assert list(again.records) == ["a"]  # damaged lines are not read
    assert not Store(tmp_path / "new", resume=False).records
    assert key_of(1, "a") == key_of(1, "a") != key_of("a", 1)


# Results


def test_scores_as_a_table_and_as_rows(made):
    sets = [DataSet(f"set{i}", made.views, made.y, family="one" if i else "") for i in range(3)]
    found = compare(sets, "average,dgf", seeds=2)
    table = found.score_table("ACC")
    assert table.by_seed.shape == (3, 2, 2) and table.families == ("set0", "one", "one")
    rows = list(found.rows())
    assert len(rows) == 12 and {row["set"] for row in rows} == {"set0", "set1", "set2"}
    first = next(row for row in rows if row["set"] == "set0" and row["system"] == "DGF" and row["seed"] == 1)
    assert 100 * first["ACC"] == table.by_seed[0, 1, 1]
    with pytest.raises(ValueError, match="Unknown score 'F1'"):
        found.score_table("F1")


@pytest.mark.parametrize(
    "wrong",
    [
        ({"seeds": 0}, "seeds must be"),
        ({"seeds": []}, "at least one seed"),
        ({"corruptions": ["rust"]}, "Unknown corruption 'rust'"),
        ({"max_seconds": -1}, "max_seconds must be"),
        ({"max_memory": "lots"}, "max_memory must be"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"n_corrupted_seeds": 0}, "n_corrupted_seeds must be"),
        ({"seeds": [1, 1]}, "names a seed twice"),
        ({"strict": True, "max_seconds": 3}, "no limit can be held"),
        ({"families": {"typo": "x"}}, "families names 'typo'"),
        ({"corrupted_systems": {"Average": Cutting}}, "give that of corrupted_systems another name"),
    ],
)
def test_wrong_arguments_are_errors_at_once(wrong, made):
    options, telling = wrong
    with pytest.raises(ValueError, match=telling):
        compare(made.views, "average", labels=made.y, **options)


def test_writing_it(made, tmp_path):
    sets = [
        DataSet(
            f"set{i}", make_multiview(60, n_clusters=3, separation=2.0, random_state=i).views, made.y[:60]
        )
        for i in range(2)
    ]
    found = compare([*sets], ["average", "dgf", misbehaving.Short], seeds=2, corruptions=["copies"])
    out = found.write(tmp_path / "bench")
    names = {file.name for file in out.iterdir()}
    assert {
        "means.md",
        "means.csv",
        "means.tex",
        "sets.csv",
        "corruptions.md",
        "scores.csv",
        "report.html",
    } <= names
    page = (out / "report.html").read_text()
    assert "It returned labels of shape" in page and "<script" not in page
    with pytest.raises(ValueError, match="No system is named 'SGF'"):
        found.write(tmp_path / "bench", reference="SGF")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("")
    with pytest.raises(ValueError, match="something that is no comparison"):
        found.write(tmp_path / "full")


def test_a_contender_says_what_it_is():
    assert contender("DGF", DistanceGraphFusion).takes == "ours"
    assert contender("k", KMeans).takes == "features"
    instance = contender("mine", DistanceGraphFusion(beta=3.0))
    assert instance.class_name == "DistanceGraphFusion" and "beta" in instance.identity
    assert instance.make({"n_clusters": 5, "unknown": 1}).n_clusters == 5
