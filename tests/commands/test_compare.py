"""`consilience compare` as a user types it: with real systems, and with fake ones that misbehave."""

import csv
import json
import os
import re
import time
import warnings
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from tests.comparison.misbehaving import CALLS, Counting

from consilience import DistanceGraphFusion, Views, make_multiview
from consilience.cli import main
from consilience.comparison import DataSet
from consilience.inspection.fusion_help.resamples import draw_subsets
from consilience.metrics import ari, clustering_accuracy, nmi
from consilience.models import systems
from consilience.spectra.eigenvectors import EigensolverError

FILES = {
    "comparison.csv",
    "agreement.csv",
    "labels.csv",
    "comparison.json",
    "comparison.svg",
    "fits.jsonl",
    "report.html",
    "scores.csv",
}
N = 60
EVIL = "<img src=x onerror=alert(1)>"


class Fake:
    """A system that cuts the samples by their first feature, as quickly as can be."""

    takes = "views"

    def __init__(self, **parameters):
        self.parameters = parameters

    def get_params(self, deep=False):
        return dict(self.parameters)

    def fit(self, views):
        self.labels_ = self.find(views)
        return self

    def find(self, views):
        ranks = np.argsort(np.argsort(views.arrays[0][:, 0]))
        return ranks * self.parameters["n_clusters"] // views.n_samples


def raising(error, when=lambda views, parameters: True):
    class Raising(Fake):
        def find(self, views):
            if when(views, self.parameters):
                raise error
            return super().find(views)

    return Raising


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def sample(here):
    """Two CSV files with ids, the second in another order, and a file of labels in a third."""
    made = make_multiview(N, n_views=2, n_clusters=3, separation=2.5, random_state=0)
    ids = [f"p{i}" for i in range(N)]
    rng = np.random.default_rng(0)
    for (name, array), order in zip(made.views.items(), [np.arange(N), rng.permutation(N)], strict=True):
        with Path(f"{name}.csv").open("w", newline="") as file:
            header = ["patient", *(f"f{j}" for j in range(array.shape[1]))]
            csv.writer(file).writerows([header, *([ids[i], *array[i]] for i in order)])
    with Path("truth.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["patient", "class"], *((ids[i], made.y[i]) for i in rng.permutation(N))])
    return made


@pytest.fixture
def use(monkeypatch):
    """Return a function that puts other systems in the place of the real ones."""
    return lambda **fakes: monkeypatch.setattr(
        "consilience.comparison.contenders.known_systems", lambda: fakes
    )


VIEWS = ("compare", "view_0.csv", "view_1.csv", "--clusters", 3, "--out", "r", "--jobs", 0)
LABELS = ("--labels", "truth.csv")


def run(*words):
    try:
        return main([str(word) for word in words])
    except SystemExit as end:
        return end.code


def rows_of(path="r/comparison.csv"):
    with Path(path).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def statuses():
    return {row["system"]: row["status"] for row in rows_of()}


@pytest.mark.filterwarnings("ignore:The graph has .* connected components")
@pytest.mark.filterwarnings("ignore:The two views agree")
def test_every_figure_is_what_python_gives(sample, capsys):
    assert run(*VIEWS, *LABELS, "--systems", "average,DGF", "--seeds", 2, "--resamples", 2, "--seed", 5) == 0
    out = capsys.readouterr().out
    assert {file.name for file in Path("r").iterdir()} == FILES
    views, (average, fused) = Views(sample.views), rows_of()
    shuffled, order = DataSet("data", views, sample.y).shuffled()
    views, back = shuffled.views, np.argsort(order)
    given = {"n_clusters": 3, "random_state": 5}
    found = [DistanceGraphFusion(**{**given, "random_state": s}).fit(views).labels_[back] for s in (5, 6)]
    assert (average["system"], fused["system"], fused["class"]) == ("Average", "DGF", "DistanceGraphFusion")
    expected = [nmi(sample.y, labels) for labels in found]
    assert float(fused["NMI_mean"]) == pytest.approx(np.mean(expected))
    assert float(fused["NMI_std"]) == pytest.approx(np.std(expected, ddof=1))
    assert float(fused["ACC_mean"]) == pytest.approx(
        np.mean([clustering_accuracy(sample.y, one) for one in found])
    )
    assert f"{np.mean(expected):.3f}" in out
    subsets = draw_subsets(N, 2, seed=5)
    assert [len(set(rows)) for rows in subsets] == [48, 48] and not np.array_equal(*subsets)
    again = [DistanceGraphFusion(**given).fit(views[rows]).labels_ for rows in subsets]
    stability = [ari(found[0][order][rows], labels) for rows, labels in zip(subsets, again, strict=True)]
    assert float(fused["stability_mean"]) == pytest.approx(np.mean(stability))
    assert fused["stability_draws"] == "2" and fused["seeds"] == "2"
    assert float(fused["largest_share"]) == pytest.approx(np.bincount(found[0]).max() / N)
    assert json.loads(fused["parameters"])["n_clusters"] == 3 and float(fused["seconds"]) > 0
    labels = rows_of("r/labels.csv")
    assert [row["sample"] for row in labels] == [f"p{i}" for i in range(N)]
    assert [int(row["truth"]) for row in labels] == sample.y.tolist()
    assert ari([int(row["DGF"]) for row in labels], found[0]) == 1.0
    other = [int(row["Average"]) for row in labels]
    assert float(fused["agreement"]) == pytest.approx(ari(found[0], other))
    matrix = rows_of("r/agreement.csv")
    assert float(matrix[0]["DGF"]) == float(matrix[1]["Average"]) == pytest.approx(ari(found[0], other))


def test_all_systems_run(sample, capsys):
    assert run(*VIEWS, "--resamples", 0, "--json") == 0
    captured = capsys.readouterr()
    said = json.loads(captured.out)
    assert said == json.loads(Path("r/comparison.json").read_text())
    assert [one["system"] for one in said["systems"]] == list(systems())
    assert {one["status"] for one in said["systems"]} == {"ok"}
    assert said["resamples"] == 0 and said["seeds"] == [0] and said["systems"][0]["stability"]["mean"] is None
    assert said["sources"] == ["view_0.csv", "view_1.csv"] and len(said["data_fingerprint"]) == 16
    assert said["preparation"] == "equal" and said["rows_shuffled"] is True
    assert "consilience" in said["versions"] and ": ok" not in captured.err  # no progress next to JSON


def test_without_labels_there_are_no_scores_and_one_seed(sample, use, capsys):
    use(A=Fake, B=Fake)
    assert run(*VIEWS) == 0
    captured = capsys.readouterr()
    assert "NMI" not in captured.out and "stability" in captured.out
    assert "A and B agree with ARI 1.000." in captured.out
    lines = captured.err.splitlines()
    assert len(lines) == 2 and re.fullmatch(r"\[.{24}\] 6/12 fits, 0:\d\d, about 0:\d\d left: A", lines[0])
    assert re.fullmatch(r"\[#{24}\] 12/12 fits, 0:\d\d, about 0:00 left: B", lines[1])
    (first, _) = rows_of()
    assert first["NMI_mean"] == "" and first["seeds"] == "1" and first["stability_draws"] == "5"
    assert "Stability" in Path("r/comparison.svg").read_text()
    assert "truth" not in rows_of("r/labels.csv")[0]


def test_labels_in_the_file_of_the_views_count_as_given(here, use):
    use(A=Fake, B=Fake)
    made = make_multiview(40, n_views=2, n_clusters=2, random_state=0)
    np.savez("all.npz", **made.views, y=made.y)
    assert run("compare", "all.npz", "--clusters", 2, "--out", "r", "--jobs", 0) == 0
    assert rows_of()[0]["NMI_mean"] != "" and rows_of()[0]["seeds"] == "3"
    assert "NMI" in Path("r/comparison.svg").read_text()


def test_all_systems_see_the_same_seeds_and_subsets(sample, use):
    seen = {}

    def watching(name):
        class Watching(Fake):
            def find(self, views):
                ids = tuple(views.arrays[0][:, 0].tolist())
                seen.setdefault(name, []).append((self.parameters["random_state"], ids))
                return super().find(views)

        return Watching

    use(A=watching("A"), B=watching("B"))
    assert run(*VIEWS, "--seeds", 2, "--resamples", 3, "--seed", 7, "--neighbors", 4) == 0
    assert seen["A"] == seen["B"]
    assert [seed for seed, _ in seen["A"]] == [7, 7, 8, 7, 7, 7]
    assert [len(ids) for _, ids in seen["A"]] == [50, N, N, 48, 48, 48]  # the first to warm up
    assert len({ids for _, ids in seen["A"][3:]}) == 3
    assert json.loads(rows_of()[0]["parameters"])["random_state"] == 7


FAILURES = {
    "ValueError": (ValueError("No such thing.\nSecond line."), "No such thing. Second line."),
    "MemoryError": (MemoryError("It needs 3 TiB."), "It needs 3 TiB."),
    "silent": (MemoryError(), "MemoryError"),
    "RecursionError": (RecursionError("too deep"), "RecursionError: too deep"),
    "EigensolverError": (EigensolverError("no method reached 1e-9"), "no method reached 1e-9"),
    "ZeroDivisionError": (ZeroDivisionError("long " * 60), "ZeroDivisionError: " + ("long " * 60).strip()),
}


@pytest.mark.parametrize("error", FAILURES)
def test_a_system_that_fails_is_a_cell_with_its_reason(sample, use, capsys, error):
    raised, reason = FAILURES[error]
    use(A=Fake, Broken=raising(raised), B=Fake)
    assert run(*VIEWS, *LABELS) == 0
    captured = capsys.readouterr()
    assert statuses() == {"A": "ok", "Broken": "failed", "B": "ok"}
    broken = rows_of()[1]
    assert reason in broken["reason"] and broken["NMI_mean"] == broken["agreement"] == broken["seconds"] == ""
    assert reason in json.loads(Path("r/comparison.json").read_text())["systems"][1]["reason"]
    (said,) = [line for line in captured.out.splitlines() if line.startswith("Broken failed: ")]
    assert reason.splitlines()[0][:50] in said and len(said) <= 160
    assert ": Broken failed: " in captured.err
    assert list(rows_of("r/agreement.csv")[0]) == ["system", "A", "B"]
    assert "Broken" not in rows_of("r/labels.csv")[0]
    assert "failed" in Path("r/comparison.svg").read_text()


def test_one_that_cannot_be_made_or_gives_no_labels_fails_too(sample, use):
    class Unmakeable(Fake):
        def __init__(self, colour):
            pass

    class TooFew(Fake):
        def find(self, views):
            return np.zeros(3, dtype=int)

    use(A=Fake, Unmakeable=Unmakeable, TooFew=TooFew)
    assert run(*VIEWS) == 0
    _, unmakeable, few = rows_of()
    assert unmakeable["reason"].startswith("TypeError: ") and unmakeable["parameters"] == "{}"
    assert few["reason"] == f"It returned labels of shape (3,) for {N} samples."


def test_failing_with_one_seed_is_failing(sample, use):
    use(A=raising(ValueError("Bad luck."), lambda views, parameters: parameters["random_state"] == 2), B=Fake)
    assert run(*VIEWS, *LABELS) == 0
    assert rows_of()[0]["reason"] == "With seed 2: Bad luck." and rows_of()[0]["ACC_mean"] == ""


def test_resamples_that_fail_are_named_and_the_rest_counts(sample, use, capsys):
    shuffled = DataSet("data", sample.views, sample.y).shuffled()[0].views
    second = shuffled.arrays[0][draw_subsets(N, 5, seed=0)[1], 0]

    def once(views, parameters):
        return len(views) == len(second) and np.allclose(views.arrays[0][:, 0], second)

    use(A=raising(ValueError("Odd subset."), once), B=raising(OSError("gone"), lambda v, p: len(v) < N))
    assert run(*VIEWS) == 0
    a, b = rows_of()
    assert (a["status"], a["stability_draws"], a["stability_failed"]) == ("ok", "4", "1")
    assert a["stability_reason"] == "Odd subset." and float(a["stability_mean"]) <= 1
    assert (b["status"], b["stability_mean"], b["stability_reason"]) == ("ok", "", "OSError: gone")
    out = capsys.readouterr().out
    assert "A: 1 of 5 resamples failed: Odd subset." in out
    assert "B: 5 of 5 resamples failed: OSError: gone" in out


def test_the_time_is_that_of_the_fit_not_of_compiling(sample, use):
    class Compiled(Fake):
        ready = False

        def find(self, views):
            if not Compiled.ready:
                time.sleep(0.3)
            Compiled.ready = True
            return super().find(views)

    use(A=Compiled)
    assert run(*VIEWS, "--resamples", 0) == 0
    assert float(rows_of()[0]["seconds"]) < 0.2


def test_one_reason_of_several_systems_is_one_line(sample, use, capsys):
    use(A=raising(ValueError("No.")), B=Fake, C=raising(ValueError("No.")))
    assert run(*VIEWS) == 0
    assert "\nA, C failed: No.\n" in capsys.readouterr().out


def test_subsets_with_too_few_samples_say_so(here, capsys):
    np.savez("few.npz", X=np.random.default_rng(0).normal(size=(9, 2)))
    words = ["--clusters", 8, "--out", "r", "--systems", "average", "--resamples", 1, "--jobs", 0]
    assert run("compare", "few.npz", *words) == 0
    assert "fewer samples (n_samples=7) than clusters (n_clusters=8)" in rows_of()[0]["stability_reason"]


def test_if_all_fail_the_reasons_are_written_and_the_status_is_2(sample, use, capsys):
    use(A=raising(ValueError("This.")), B=raising(MemoryError("That.")))
    assert run(*VIEWS, *LABELS) == 2
    captured = capsys.readouterr()
    assert "A failed: This." in captured.out
    assert captured.err.splitlines()[-1].startswith("consilience: error: Every system failed")
    assert {file.name for file in Path("r").iterdir()} == FILES
    assert [row["reason"] for row in rows_of()] == ["This.", "That."]
    ElementTree.parse("r/comparison.svg")


def test_debug_lets_the_exception_through(sample, use):
    use(A=Fake, B=raising(RuntimeError("here")))
    with pytest.raises(RuntimeError, match="here"):
        run(*VIEWS, "--debug")
    use(A=raising(RuntimeError("there"), lambda views, _: len(views) < N))
    with pytest.raises(RuntimeError, match="there"):
        run(*VIEWS, "--debug")


STOPS = {
    "at once": (lambda views, parameters: True, None),
    "second seed": (lambda v, parameters: parameters["random_state"] == 1, "after 1 of 3 fits on all"),
    "first resample": (lambda views, _: len(views) == 48, "after 3 of 3 fits on all samples and 0 of 5"),
}


@pytest.mark.parametrize("stop", STOPS)
def test_ctrl_c_keeps_what_is_done(sample, use, capsys, stop):
    when, said = STOPS[stop]
    use(A=Fake, B=raising(KeyboardInterrupt(), when), C=Fake)
    assert run(*VIEWS, *LABELS) == 130
    captured = capsys.readouterr()
    assert statuses() == {"A": "ok", "B": "interrupted" if said else "not run", "C": "not run"}
    assert (f"B was interrupted {said}" if said else "Not run: B, C.") in captured.out
    assert captured.err.splitlines()[-1].startswith("consilience: stopped; what was done until then is in r,")
    assert json.loads(Path("r/comparison.json").read_text())["interrupted"]
    assert ("B" in rows_of("r/labels.csv")[0]) == (stop != "at once")
    assert "highest NMI" not in captured.out  # of one that did not finish nothing is claimed


def test_ctrl_c_before_anything_is_done_writes_nothing(sample, use, capsys):
    use(A=raising(KeyboardInterrupt()), B=Fake)
    assert run(*VIEWS) == 130
    captured = capsys.readouterr()
    assert "stopped before any system was done" in captured.err and captured.out == ""
    assert not list(Path("r").iterdir())


def test_a_second_ctrl_c_aborts(sample, use, monkeypatch, capsys):
    def again(path, content):
        path.write_text("half")
        raise KeyboardInterrupt

    use(A=Fake, B=raising(KeyboardInterrupt()))
    monkeypatch.setattr("consilience.pages.bench._write_json", again)
    assert run(*VIEWS) == 130
    assert capsys.readouterr().err.splitlines()[-1] == "consilience: stopped"
    assert [file.name for file in Path("r").iterdir()] == ["fits.jsonl"]


def test_warnings_are_shown_once_with_the_systems_that_gave_them(sample, use, capsys):
    class Warning(Fake):
        def find(self, views):
            for _ in range(10):
                warnings.warn(f"The graph has {len(views)} parts. Do something.", stacklevel=1)
            warnings.warn("View 'X1' is odd.", stacklevel=1)
            warnings.warn("View 'X2' is odd.", stacklevel=1)
            return super().find(views)

    use(A=Warning, B=Warning, C=Fake)
    assert run(*VIEWS) == 0
    said = [line for line in capsys.readouterr().err.splitlines() if "warning" in line]
    assert said == [
        f"consilience: warning: A, B: The graph has {N} parts. Do something.",
        "consilience: warning: A, B: View 'X1' is odd.",
        "consilience: warning: A, B: View 'X2' is odd.",
    ]
    kept = json.loads(Path("r/comparison.json").read_text())["systems"][0]["warnings"]
    assert kept[0] == {"text": f"The graph has {N} parts. Do something.", "fits": 6}
    assert f"The graph has {N} parts. Do something. (in 6 fits)" in rows_of()[0]["warnings"]
    assert "View &#x27;X2&#x27; is odd." in Path("r/report.html").read_text()


def test_names_are_escaped(here, use):
    rng = np.random.default_rng(0)
    np.savez("all.npz", **{EVIL: rng.normal(size=(30, 3)), "b": rng.normal(size=(30, 2))})
    use(
        **{
            EVIL: Fake,
            "</text><script>": raising(ValueError(EVIL)),
            'a "long" & odd name, longer than any': Fake,
        }
    )
    assert run("compare", "all.npz", "--clusters", 2, "--out", "r", "--jobs", 0) == 0
    page, picture = Path("r/report.html").read_text(), Path("r/comparison.svg").read_text()
    for text in (page, picture):
        assert "<img" not in text and "<script" not in text and "&lt;img src=x" in text
    assert "http" not in page.replace("http-equiv", "")  # nothing to fetch
    root = ElementTree.fromstring(picture)
    assert EVIL in {title.text for title in root.iter("{http://www.w3.org/2000/svg}title")}


def test_odd_sample_names_are_kept(here, use):
    use(A=Fake)
    ids = [EVIL, "naïve, comma", 'quote"', *(f"s{i}" for i in range(20))]
    with Path("a.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["id", "f"], *([name, i] for i, name in enumerate(ids))])
    assert run("compare", "a.csv", "--clusters", 2, "--out", "r", "--jobs", 0) == 0
    assert [row["sample"] for row in rows_of("r/labels.csv")] == ids


BAD = [
    (["--systems", "magic"], "Unknown system 'magic'; known: all, A, B; a class of yours is "),
    (["--systems", "a,<b>"], "Unknown system '<b>'"),
    (["--systems", ""], "No system was named; known: all, A, B."),
    (["--systems", " , "], "No system was named"),
    (["--corruptions", "rust"], "Unknown corruption 'rust'; known: clean, noise-1:1"),
    (["--sets", "a"], "name a folder"),
    (["--max-seconds", "0", "--jobs", "1"], "max_seconds must be"),
    (["--max-seconds", "5"], "--max-seconds stops a process of its own; it needs --jobs 1 or more."),
    (["--clusters", "0"], "--clusters must be a positive integer"),
    (["--clusters", "61"], "fewer samples (n_samples=60) than clusters"),
    (["--clusters", "x"], "invalid int value"),
    (["--metric", "euclidian"], "Unknown metric 'euclidian'"),
    (["--metric", "cosine,cosine,cosine"], "got 3 names"),
    (["--neighbors", "60"], "--neighbors 60 asks for more neighbours than there are other samples"),
    (["--seeds", "0"], "--seeds must be at least 1, got 0"),
    (["--resamples", "-1"], "--resamples must be at least 0, got -1"),
    (["--jobs", "-1"], "--jobs must be at least 0, got -1"),
    (["--seed", "-1"], "Seed must be between"),
    (["--labels", "none.csv"], "none.csv"),
    (["--labels", "short.csv"], "short.csv"),
    (["--id-column", "nobody"], "nobody"),
    (["--out", "truth.csv"], "truth.csv is a file; name another folder with --out."),
    (["--reference", "C"], "No system is named 'C'; there are A, B."),
    (["--out", "no/such"], "does not exist"),
    (["--out", "full"], "full holds something that is no comparison; name another folder, or pass --force"),
]


@pytest.mark.parametrize(("words", "telling"), BAD)
def test_bad_input_is_refused_before_any_system_runs(sample, use, capsys, words, telling):
    use(A=raising(AssertionError("ran")), B=raising(AssertionError("ran")))
    Path("short.csv").write_text("class\n" + "1\n" * 59)
    Path("full").mkdir()
    Path("full", "thesis.tex").write_text("")
    before = sorted(os.listdir())
    assert run(*VIEWS, *words) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and telling in captured.err and captured.err.count("\n") == 1
    assert sorted(os.listdir()) == before


def test_the_messages_are_those_of_cluster(sample, use, capsys):
    for words in (["--clusters", 61], ["--metric", "euclidian"], ["--labels", "none.csv"]):
        assert run(*VIEWS, *words) == run("cluster", *VIEWS[1:-2], *words) == 2
        first, second = capsys.readouterr().err.splitlines()
        assert first == second


def test_views_that_are_all_constant_are_named_once(here, capsys):
    np.savez("flat.npz", X=np.ones((20, 2)))
    assert run("compare", "flat.npz", "--clusters", 2) == 2
    assert "Every view is constant" in capsys.readouterr().err


def test_labels_of_the_wrong_length(here, use, capsys):
    use(A=Fake)
    np.savez("all.npz", X=np.random.default_rng(0).normal(size=(30, 3)))
    np.save("y.npy", np.arange(29))
    words = ["all.npz", "--clusters", 2, "--labels", "y.npy", "--out", "r"]
    assert run("compare", *words) == run("cluster", *words) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert first == second and "29 labels" in first


def test_the_same_command_goes_on_and_force_begins_anew(sample, use):
    use(A=Counting)
    made = CALLS
    made.clear()
    assert run(*VIEWS) == 0
    n_first, first = len(made), Path("r/comparison.csv").read_text()
    assert run(*VIEWS) == 0
    assert len(made) == n_first and Path("r/comparison.csv").read_text() == first
    assert run(*VIEWS, "--resamples", 6) == 0
    assert made[n_first:] == [48]  # the one that was not there
    assert run(*VIEWS, "--force", "--metric", "euclidian") == 2
    assert run(*VIEWS) == 0 and len(made) == n_first + 1  # what was there is still there
    assert run(*VIEWS, "--force") == 0
    assert len(made) == 2 * n_first + 1


def test_the_same_seed_gives_the_same_files_except_the_seconds(sample):
    words = [*VIEWS[:5], "--jobs", 0, *LABELS, "--systems", "average,dgf", "--resamples", 2]
    for out in ("one", "two"):
        assert run(*words, "--out", out) == 0
    for name in ("comparison.csv", "labels.csv", "agreement.csv"):
        first, second = rows_of(f"one/{name}"), rows_of(f"two/{name}")
        for row in first + second:
            row.pop("seconds", None)
            row.pop("megabytes", None)
        assert first == second
    assert not np.array_equal(draw_subsets(N, 1, seed=0), draw_subsets(N, 1, seed=1))


def test_the_table_comes_in_two_parts_where_it_is_too_wide(sample, use, capsys, monkeypatch):
    use(A=Fake, B=Fake)
    heads = {}
    for columns in (80, 200):
        monkeypatch.setenv("COLUMNS", str(columns))
        assert run(*VIEWS, *LABELS, "--force") == 0
        lines = capsys.readouterr().out.splitlines()
        heads[columns] = [line.split() for line in lines if line.startswith("system")]
        table = lines[: lines.index("", 2)]
        assert max(map(len, table)) <= columns
    assert heads[200] == [
        ["system", "NMI", "ACC", "ARI", "purity", "agreement", "stability", "largest", "seconds"]
    ]
    assert heads[80] == [heads[200][0][:5], ["system", *heads[200][0][5:]]]


def test_a_terminal_gets_a_bar_in_place(sample, use, capsys, monkeypatch):
    use(A=Fake, Concatenated=Fake)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert run(*VIEWS) == 0
    drawn = capsys.readouterr().err.split("\r")
    assert any("8/12 fits, 0:" in line and "left: Concatenated" in line for line in drawn)
    assert {len(line) for line in drawn[1:-1]} == {78} and drawn[-1] == ""
    assert drawn[1].startswith("[" + "." * 24) and "#" * 24 in drawn[-3]


def test_precomputed_views_are_taken_apart_by_rows_and_columns(here):
    made = make_multiview(40, n_views=2, n_clusters=2, separation=3.0, random_state=0)
    distances = [np.linalg.norm(x[:, None] - x[None], axis=2) for x in made.views.values()]
    np.savez("distances.npz", **{f"D{i}": one for i, one in enumerate(distances)})
    words = ["--clusters", 2, "--metric", "precomputed_distance", "--systems", "sgf", "--resamples", 2]
    words += ["--jobs", 0]
    assert run("compare", "distances.npz", *words, "--out", "r") == 0
    (row,) = rows_of()
    assert row["stability_draws"] == "2" and row["stability_reason"] == ""


def test_one_lump_is_stable_and_said_to_mean_little(sample, use, capsys):
    class Lump(Fake):
        def find(self, views):
            return np.zeros(len(views), dtype=int)

    use(A=Fake, Lump=Lump)
    assert run(*VIEWS) == 0
    assert float(rows_of()[1]["stability_mean"]) == 1.0 and rows_of()[1]["largest_share"] == "1.0"
    assert "Nearly all samples are in one cluster of Lump (100%)" in capsys.readouterr().out
