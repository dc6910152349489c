"""The command, run as a user runs it, on small sets of its own definitions."""

import csv
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from consilience import KMeansLabels, make_multiview
from consilience.cli import main
from consilience.reproduction import definitions
from consilience.reproduction.definitions import load_paper

pytest.importorskip("matplotlib", reason="figures need matplotlib: pip install 'consilience[plot]'")

SCORED = ("SC", "SGF", "DGF")
SYSTEMS = ("SC", "SGF", "DGF", "SGF-0", "DGF-0")  # quick ones, and those that other experiments need


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Return a folder of definitions with two tiny sets and few systems, and a folder of data for them."""
    root = tmp_path_factory.mktemp("small")
    source = load_paper().folder
    paper = shutil.copytree(source, root / "paper")
    sets = (source / "sets.toml").read_text().split("\n[[sets]]\n")
    kept = [part for part in sets[1:] if 'name = "MSRC_v1"' in part or 'name = "UCI_Digits"' in part]
    small = [_with(part, n_samples=60, n_views=2, n_classes=3) for part in kept]
    (paper / "sets.toml").write_text("\n[[sets]]\n".join([sets[0], *small]))
    systems = (source / "systems.toml").read_text()
    head, *entries = systems.split("\n[[systems]]\n")
    entries = [e for e in entries if e.split('"')[1] in SYSTEMS]
    head = re.sub("scores = .*", f"scores = {json.dumps(SCORED)}", head)
    head = re.sub("times = .*", f"times = {json.dumps(SYSTEMS)}", head)
    (paper / "systems.toml").write_text("\n[[systems]]\n".join([head, *entries]))
    experiments = (source / "experiments.toml").read_text()
    experiments = experiments.replace(
        'sets = ["MSRC_v1", "3Sources", "UCI_Digits"]', 'sets = ["MSRC_v1", "UCI_Digits"]'
    )
    experiments = experiments.replace("view_features = [240, 76, 216, 6]", "view_features = [4, 5]")
    experiments = experiments.replace(
        "values = [5000, 10000, 20000, 40000, 80000]", "values = [100, 200, 400]"
    )
    experiments = experiments.replace("fixed = { n = 10000, v = 4 }", "fixed = { n = 100, v = 4 }")
    experiments = experiments.replace("fixed = { k = 10, n = 10000 }", "fixed = { k = 10, n = 100 }")
    (paper / "experiments.toml").write_text(experiments)
    for name in ("printed_scores.csv", "printed_times.csv"):
        rows = list(csv.reader((source / name).read_text().splitlines()))
        rows = [rows[0]] + [r for r in rows[1:] if r[0] in ("MSRC_v1", "UCI_Digits") and r[1] in SYSTEMS]
        with (paper / name).open("w", newline="") as file:
            csv.writer(file).writerows(rows)
    data = root / "data"
    data.mkdir()
    for seed, name in enumerate(("MSRC_v1", "UCI_Digits")):
        sample = make_multiview(
            60, n_views=2, n_features=[4, 5], n_clusters=3, separation=2.0, random_state=seed
        )
        np.savez(data / f"{name}.npz", X0=sample.views["view_0"], X1=sample.views["view_1"], y=sample.y)
    return paper, data


def _with(part, **values):
    lines = []
    for line in part.splitlines():
        key = line.split(" = ")[0]
        lines.append(f"{key} = {values[key]}" if key in values else line)
    return "\n".join(lines)


@pytest.fixture
def run(small, monkeypatch, tmp_path):
    """Return a function that runs the command in an empty folder on the small sets."""
    paper, data = small
    monkeypatch.setattr(definitions, "_own_folder", lambda: paper)
    monkeypatch.chdir(tmp_path)
    return lambda *words, data=data: main(["reproduce", *words, "--data", str(data), "--jobs", "1"])


def tables(folder):
    """Return all tables except what is timed."""
    timed = ("times", "complexity", "eigengaps")
    return {
        path.name: [
            {k: v for k, v in row.items() if k != "jobs"}
            for row in csv.DictReader(path.read_text().splitlines())
        ]
        for path in sorted(Path(folder).glob("*.csv"))
        if path.stem not in timed
    }


def test_everything_at_once(run, capsys):
    assert run("--quick", "--out", "r") == 0
    names = {
        "scores",
        "times",
        "sensitivity",
        "convergence",
        "complexity",
        "affinity",
        "no-tuning",
        "2019",
        "eigengaps",
    }
    assert {path.stem for path in Path("r").glob("*.csv")} == names
    assert {path.stem for path in Path("r").glob("*.json")} == names
    for stem in ("sensitivity-surface", "sensitivity-heatmap", "convergence", "complexity", "affinity"):
        assert Path(f"r/figures/{stem}.png").exists() and Path(f"r/figures/{stem}.svg").exists()
    page = Path("r/report.html").read_text()
    assert "Quick version" in page and "<script" not in page
    assert page.count("http-equiv") == page.count('http-equiv="Content-Security-Policy"') == 1
    said = capsys.readouterr().out
    assert "Quick version" in said and "report.html" in said
    row = json.loads(Path("r/scores.json").read_text())[0]
    assert row["system"] in SYSTEMS and row["seeds"] == [0, 1]
    for fact in ("consilience", "numpy", "machine", "cores", "threads", "quick"):
        assert fact in row


def test_the_same_again_repeats_nothing_and_gives_the_same(run, monkeypatch):
    assert run("scores", "no-tuning", "--quick", "--out", "r") == 0
    first = tables("r")
    monkeypatch.setattr("consilience.reproduction.work.KINDS", {})  # nothing can be done any more
    assert run("scores", "no-tuning", "--quick", "--out", "r") == 0
    assert tables("r") == first


def test_every_run_is_that_of_the_estimator_with_its_seed(run, small):
    from consilience.io.readers import read_views
    from consilience.metrics import nmi
    from consilience.models import systems

    assert run("2019", "--quick", "--out", "r", "--sets", "UCI_Digits") == 0
    read = read_views(small[1] / "UCI_Digits.npz")
    for row in json.loads(Path("r/2019.json").read_text()):
        given = load_paper(small[0]).systems[row["system"]].fixed | {"n_neighbors": 6, "metric": "euclidean"}
        given["assign_labels"] = KMeansLabels(n_init=given.pop("n_init"))
        model = systems()[row["system"]](n_clusters=3, **given, **row["parameters"])
        found = [nmi(read.labels, model.set_params(random_state=i).fit(read.views).labels_) for i in (0, 1)]
        assert row["NMI"] == pytest.approx(100 * np.mean(found))


def test_numbers_are_those_of_the_estimators(run, small):
    from consilience import PAPER, SimilarityGraphFusion
    from consilience.io.readers import read_views
    from consilience.metrics import nmi

    assert run("sensitivity", "--quick", "--out", "r", "--sets", "MSRC_v1") == 0
    rows = [
        row
        for row in csv.DictReader(Path("r/sensitivity.csv").read_text().splitlines())
        if row["system"] == "SGF"
    ]
    assert len(rows) == 9
    read = read_views(small[1] / "MSRC_v1.npz")
    settings = {**PAPER, "assign_labels": KMeansLabels(n_init="auto")}
    settings |= {"n_clusters": 3, "n_neighbors": 6, "metric": "euclidean", "random_state": 0}
    for row in rows:
        model = SimilarityGraphFusion(beta=float(row["beta"]), gamma=float(row["gamma"]), **settings)
        assert float(row["NMI"]) == pytest.approx(100 * nmi(read.labels, model.fit(read.views).labels_))


def test_a_system_that_fails_is_a_cell_with_its_reason(run, monkeypatch):
    from consilience.models import DistanceGraphFusion

    def refuse(self, X, y=None):
        raise MemoryError("It needs about 8 GiB of memory.")

    monkeypatch.setattr(DistanceGraphFusion, "fit", refuse)
    assert run("scores", "times", "--quick", "--out", "r") == 0
    rows = {(row["set"], row["system"]): row for row in json.loads(Path("r/scores.json").read_text())}
    assert rows["MSRC_v1", "DGF"]["NMI"] is None
    assert rows["MSRC_v1", "DGF"]["reason"] == "It needs about 8 GiB of memory."
    assert rows["MSRC_v1", "SGF"]["NMI"] > 0
    assert "8 GiB" in Path("r/report.html").read_text()


def test_the_definitions_are_those_of_the_paper_by_default():
    assert len(load_paper().sets) == 13


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--data", "nowhere"], "nowhere does not exist"),
        (["--sets", "Iris"], "Unknown data set 'Iris'; known: "),
        (["--jobs", "0"], "--jobs must be at least 1"),
        (["tables"], "invalid choice: 'tables'"),
        (["--out", "nowhere/r"], "does not exist; make it first"),
    ],
)
def test_wrong_words_are_one_line_and_status_2(small, monkeypatch, tmp_path, capsys, words, message):
    monkeypatch.setattr(definitions, "_own_folder", lambda: small[0])
    monkeypatch.chdir(tmp_path)
    given = ["reproduce", "--data", str(small[1]), "--quick", *words]
    try:
        status = main(given)
    except SystemExit as end:
        status = end.code
    said = capsys.readouterr().err
    assert status == 2 and message in said and len(said.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_a_folder_of_somebody_else_is_left_alone(run, capsys):
    Path("r").mkdir()
    Path("r/thesis.txt").write_text("mine")
    assert run("scores", "--quick", "--out", "r") == 2
    assert "holds other things" in capsys.readouterr().err
    assert os.listdir("r") == ["thesis.txt"]


def test_results_of_somebody_else_are_neither_read_nor_removed(run, capsys):
    Path("r/results").mkdir(parents=True)
    Path("r/results/mine.json").write_text('{"failed": 3}')
    assert run("scores", "--quick", "--out", "r") == 2
    assert "holds other things" in capsys.readouterr().err
    assert run("no-tuning", "--quick", "--out", "ours") == 0
    Path("ours/results/mine.json").write_text('{"failed": 3}')
    broken = next(Path("ours/results").glob("fits-*.json"))
    broken.write_text("{")
    before = tables("ours")
    assert run("no-tuning", "--quick", "--out", "ours") == 0
    assert Path("ours/results/mine.json").exists() and tables("ours") == before


def test_quick_and_full_results_do_not_mix(run, capsys):
    assert run("no-tuning", "--quick", "--out", "r", "--sets", "msrc-v1") == 0
    assert run("no-tuning", "--out", "r") == 2
    assert "other protocol" in capsys.readouterr().err


def test_a_set_of_another_shape_is_named_and_not_used(run, small, tmp_path, capsys):
    shutil.copy(small[1] / "MSRC_v1.npz", tmp_path)
    np.savez(tmp_path / "UCI_Digits.npz", X0=np.ones((5, 2)), X1=np.ones((5, 2)), y=[0, 0, 1, 1, 2])
    assert run("no-tuning", "--quick", "--out", "r", data=tmp_path) == 0
    assert "UCI_Digits (unusable)" in capsys.readouterr().out
    assert "5 samples" in Path("r/report.html").read_text()
    assert run("no-tuning", "--out", "q", "--sets", "UCI_Digits", data=tmp_path) == 2
    assert "5 samples, 2 views, 3 classes, expected are 60 samples" in capsys.readouterr().err


def test_a_full_disk_loses_nothing(run, monkeypatch, capsys):
    assert run("no-tuning", "--quick", "--out", "r") == 0
    kept = sorted(os.listdir("r/results"))

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert run("sensitivity", "--quick", "--out", "r") == 2
    said = capsys.readouterr().err
    assert "is full" in said and "kept" in said
    assert sorted(os.listdir("r/results")) == kept
    # And when there is no room for the tables: the old ones stay.
    before = Path("r/no-tuning.csv").read_text()
    monkeypatch.setattr("consilience.commands.reproduce.write_table", full)
    assert run("no-tuning", "--quick", "--out", "r") == 2
    assert "is full" in capsys.readouterr().err
    assert Path("r/no-tuning.csv").read_text() == before


PROGRAM = """
import sys
from pathlib import Path
from consilience.reproduction import definitions
definitions._own_folder = lambda: Path(sys.argv[1])
from consilience.cli import main
words = ["scores", "sensitivity", "no-tuning", "2019", "--quick", "--out", "r", "--jobs", sys.argv[3]]
if __name__ == "__main__":
    sys.exit(main(["reproduce", *words, "--data", sys.argv[2]]))
"""


def program(folder, small, n_jobs):
    """Return the command: a file, which processes that are started anew can import."""
    script = folder / "program.py"
    script.write_text(PROGRAM)
    return [sys.executable, str(script), *map(str, small), str(n_jobs)]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_stops_at_once_and_keeps_what_is_done(small, tmp_path, n_jobs):
    process = subprocess.Popen(
        program(tmp_path, small, n_jobs),
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    results = tmp_path / "r" / "results"
    began = time.monotonic()
    while not list(results.glob("*.json")) and time.monotonic() - began < 60:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    said = process.communicate(timeout=60)[1]
    done = len(list(results.glob("*.json")))
    assert process.returncode == 130 and "what was done is kept" in said and "Traceback" not in said
    time.sleep(1.5)
    assert len(list(results.glob("*.json"))) == done  # nobody goes on behind the back


def test_killed_at_ten_random_moments_it_ends_as_if_nothing_had_been(small, run, tmp_path):
    assert run("scores", "sensitivity", "no-tuning", "2019", "--quick", "--out", "whole") == 0
    chance = random.Random(0)
    kills = 0
    for number in range(10):
        command = program(tmp_path, small, n_jobs=1 + number % 2)
        process = subprocess.Popen(
            command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        results = tmp_path / "r" / "results"
        before = len(list(results.glob("*.json"))) if results.exists() else 0
        began = time.monotonic()
        # From the moment it has done something new, so that kills fall on work and not on the start.
        while process.poll() is None and time.monotonic() - began < 60:
            if results.exists() and len(list(results.glob("*.json"))) > before:
                break
            time.sleep(0.005)
        time.sleep(chance.uniform(0, 0.25))
        kills += process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert kills >= 3  # the rest found everything done
    subprocess.run(command, cwd=tmp_path, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert tables("r") == tables("whole")


def test_the_page_shows_what_was_done_before_too(run, capsys):
    assert run("convergence", "--quick", "--out", "r", "--sets", "MSRC_v1") == 0
    assert run("no-tuning", "--quick", "--out", "r", "--sets", "MSRC_v1") == 0
    assert {path.stem for path in Path("r").glob("*.csv")} == {"convergence", "no-tuning"}
    assert "objective" in Path("r/report.html").read_text()
