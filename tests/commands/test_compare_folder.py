"""`consilience compare` on a folder of data sets, as a user types it."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from consilience import make_multiview
from consilience.cli import main

EVIL = "<img src=x onerror=alert(1)>"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "ourmethod", raising=False)  # of another test
    return tmp_path


@pytest.fixture
def folder(here):
    """Four sets in two parts, one that is broken, and a module with a system."""
    for i, part in enumerate(("tuning", "tuning", "validation", "validation")):
        (here / "data" / part).mkdir(parents=True, exist_ok=True)
        made = make_multiview(60, n_views=2, n_clusters=3, separation=2.0, random_state=i)
        np.savez(here / "data" / part / f"set{i}.npz", **made.views, y=made.y)
    (here / "data" / "tuning" / "broken.npz").write_bytes(b"PK, but not really")
    Path("ourmethod.py").write_text(
        "import numpy as np\n"
        "class MyMethod:\n"
        "    def __init__(self, n_clusters):\n"
        "        self.n_clusters = n_clusters\n"
        "    def fit_predict(self, views):\n"
        "        ranks = np.argsort(np.argsort(views[0][:, 0]))\n"
        "        return ranks * self.n_clusters // len(ranks)\n"
        "class Broken(MyMethod):\n"
        f"    def fit_predict(self, views):\n        raise ValueError({EVIL!r})\n"
    )
    return here / "data"


def run(*words):
    try:
        return main([str(word) for word in words])
    except SystemExit as end:
        return end.code


def rows_of(path):
    with Path(path).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


WORDS = ("compare", "data", "--jobs", 0, "--seeds", 2, "--out", "r")
MINE = ("--systems", "average,ourmethod:MyMethod,bad=ourmethod:Broken")


def test_tables_figures_and_a_page_for_each_part(folder, capsys):
    assert run(*WORDS, *MINE, "--corruptions", "copies", "--corrupted-systems", "average") == 0
    captured = capsys.readouterr()
    for part in ("tuning", "validation"):
        for name in (f"means-{part}", f"sets-{part}", f"corruptions-{part}"):
            for ending in ("md", "csv", "tex"):
                assert Path(f"r/{name}.{ending}").stat().st_size > 0
        for name in ("scores", "critical-difference", "corruptions"):
            ElementTree.parse(f"r/{name}-{part}.svg")
    means = {row["system"]: row for row in rows_of("r/means-validation.csv")}
    assert list(means) == ["Average", "MyMethod", "bad"]
    sets = rows_of("r/sets-validation.csv")
    assert [row["set"] for row in sets] == ["set2", "set3"] and sets[0]["bad"] == ""
    assert not Path("r/differences-tuning.svg").exists()  # of two sets an interval says nothing
    expected = np.mean([float(row["MyMethod"]) for row in sets])
    assert float(means["MyMethod"]["mean NMI"]) == pytest.approx(expected)
    scores = rows_of("r/scores.csv")
    mine = [row for row in scores if row["system"] == "MyMethod" and row["set"] == "set2"]
    assert [row["seed"] for row in mine] == ["0", "1"] and mine[0]["part"] == "validation"
    assert 100 * np.mean([float(row["NMI"]) for row in mine]) == pytest.approx(float(sets[0]["MyMethod"]))
    assert "3 systems on 4 data sets. All systems had the same preparation" in captured.out
    assert (
        re.search(r"bad on set\d", captured.out) and "all systems on broken: It does not load" in captured.out
    )
    assert "Fewer than 6 data sets" in captured.out  # nothing is claimed of two
    page = Path("r/report.html").read_text()
    assert "<img" not in page and "&lt;img" in page and "<script" not in page
    assert "It does not load" in page and "http" not in page.replace("http-equiv", "")


def test_json_and_another_reference_and_score(folder, capsys):
    assert run(*WORDS, *MINE, "--json", "--reference", "mymethod", "--score", "ACC") == 0
    said = json.loads(capsys.readouterr().out)
    assert said["preparation"] == "equal" and said["rows_shuffled"] is True
    assert [one["set"] for one in said["sets"] if one["reason"]] == ["broken"]
    header = said["means"]["tuning"]["header"]
    assert "mean ACC" in header
    mine = next(row for row in said["means"]["tuning"]["rows"] if row[0] == "MyMethod")
    assert mine[header.index("wins / ties / losses")] is None  # it is the reference


def test_some_of_the_sets(folder):
    assert run(*WORDS, "--systems", "average", "--sets", "SET3,set0") == 0
    assert {row["set"] for row in rows_of("r/scores.csv")} == {"set0", "set3"}


BAD = [
    (["--sets", "set9"], "There is no data set 'set9'; there are: broken, set0"),
    (["--labels", "y.csv"], "--labels is for one data set, not for a folder of many."),
    (["ourmethod.py"], "ourmethod.py is a file among folders"),
    (["--systems", "magic"], "Unknown system 'magic'"),
    (["--corruptions", "rust"], "Unknown corruption 'rust'"),
    (["--preparation", "fair"], "invalid choice"),
    (["--reference", "sgf"], "No system is named 'sgf'; there are Average."),
]


@pytest.mark.parametrize(("words", "telling"), BAD)
def test_bad_words_end_with_one_line(folder, capsys, words, telling):
    start = ["compare", "data", *words] if words[0].endswith(".py") else [*WORDS, *words]
    systems = [] if "--systems" in words else ["--systems", "average"]
    assert run(*start, *systems) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert telling in error


def test_an_empty_folder_says_what_a_set_is(here, capsys):
    (here / "none").mkdir()
    assert run("compare", "none") == 2
    assert "holds no data set: no file ends in .mat, .npz, .h5mu, .h5ad" in capsys.readouterr().err


@pytest.mark.long
def test_killed_the_same_command_ends_with_the_same_tables(folder):
    words = [str(word) for word in ("compare", "data", *MINE, "--seeds", 3, "--jobs", 2)]
    command = [sys.executable, "-W", "ignore", "-m", "consilience.cli", *words]
    subprocess.run([*command, "--out", "whole"], check=True, capture_output=True)
    running = subprocess.Popen([*command, "--out", "killed"], stderr=subprocess.PIPE, text=True)
    running.stderr.readline()
    running.send_signal(signal.SIGKILL)
    running.communicate()
    assert not Path("killed/report.html").exists() and Path("killed/fits.jsonl").exists()
    subprocess.run([*command, "--out", "killed"], check=True, capture_output=True)
    for name in ("sets-tuning.csv", "sets-validation.csv"):
        assert Path("killed", name).read_text() == Path("whole", name).read_text()
    kept = ("set", "system", "seed", "status", "NMI", "ACC")
    first, second = (
        [[row[name] for name in kept] for row in rows_of(f"{out}/scores.csv")] for out in ("whole", "killed")
    )
    assert first == second


@pytest.mark.long
def test_ctrl_c_in_a_process_keeps_what_is_done(folder):
    words = [
        str(word) for word in ("compare", "data", "--systems", "average,rmsc,mvgl", "--jobs", 1, "--seeds", 9)
    ]
    program = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from consilience.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-W", "ignore", "-c", program, *words, "--out", "r"]
    running = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ
    )
    try:
        running.stderr.readline()
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=60)
    finally:
        running.kill()
    assert running.returncode == 130 and "Traceback" not in err, err
    assert "stopped; what was done until then is in r, and the same command goes on" in err
    assert Path("r/report.html").exists()
    assert any(row["status"] == "ok" for row in rows_of("r/scores.csv"))
