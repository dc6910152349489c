"""The study of labels by other engines, on tiny data: what it measures, and what it says about it."""

import doctest
import json
import re

import numpy as np
import pytest

from benchmarks.quality import engine_labels
from benchmarks.quality.data import Facts
from consilience import make_multiview

N = 60  # samples of an invented data set


def save(path, seed):
    made = make_multiview(N, n_views=3, n_clusters=3, separation=5.0, random_state=seed)
    path.parent.mkdir(exist_ok=True)
    np.savez(path, **{f"X{i}": view for i, view in enumerate(made.views.values())}, y=made.y)
    return path


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "data"
    save(place / "first.npz", 0)
    save(place / "validation" / "held.npz", 1)
    return place


def test_examples():
    failed, tried = doctest.testmod(engine_labels)
    assert tried > 0 == failed


@pytest.mark.parametrize("engine", ["numpy", "torch"])
def test_every_set_by_both_engines_and_again_from_what_is_kept(engine, folder, tmp_path, capsys):
    if engine == "torch":
        pytest.importorskip("torch", reason="needs the extra 'gpu': consilience[gpu]")
    out = tmp_path / "labels.json"
    command = ["--data", str(folder), "--engines", engine, "--device", "cpu", "--out", str(out)]
    command += ["--jobs", "1", "--effort", "low", "--seeds", "2"]
    engine_labels.main([*command, "--max-seconds", "0"])
    printed = capsys.readouterr()
    assert "Nothing has been measured." in printed.out and "8 pieces were not begun" in printed.err
    engine_labels.main(command)
    printed = capsys.readouterr()
    by = "torch on cpu" if engine == "torch" else "numpy"
    for system in engine_labels.SYSTEMS:
        assert f"| {system}, effort low: {by} | 2 of 2 | – | – | – |" in printed.out
    assert re.search(r"\*\*worst of 1 tuning sets.*\*\*worst of 1 validation sets", printed.out, re.DOTALL)
    cells = json.loads(out.read_text())["cells"].values()
    others = [cell for cell in cells if cell["engine"] == engine]
    assert len(others) == 4 == sum(len(cell["seeds"]) == 2 for cell in cells if "seeds" in cell)
    assert all(cell["ari"] == 1 and cell["edges"] == 0 and cell["weights"] < 1e-9 for cell in others)
    engine_labels.main(command)  # nothing is left to do
    again = capsys.readouterr()
    assert (again.out, again.err) == (printed.out, "")
    engine_labels.main(["--tables", str(out)])
    assert capsys.readouterr().out == printed.out


def test_fits_of_other_seeds_are_made_once_for_all_engines():
    facts = Facts("x", None, N, 3)
    one, other = (
        {piece.key for piece in engine_labels.pieces([facts], devices, "low", 5)}
        for devices in ({"numpy": ""}, {"numpy": "", "torch": "cpu"})
    )
    assert len(one) == 4 and len(other) == 6 and one < other


def test_an_engine_that_fails_is_a_result(folder, monkeypatch, capsys):
    piece = engine_labels.Piece(Facts("first", folder / "first.npz", N, 3), "DGF", "low", "numpy")

    def refuse(*_):
        raise MemoryError("The device is full.\nIndeed.")

    monkeypatch.setattr(engine_labels, "_engine", refuse)
    cells = engine_labels.measure(piece)
    (cell,) = cells.values()
    assert cell["reason"] == "MemoryError: The device is full."
    report = engine_labels.report(cells)
    assert "first: MemoryError: The device is full." in report
    assert "| DGF, effort low: numpy | 0 of 1 | – | first | – |" in report


@pytest.mark.parametrize(
    ("ari", "lowest", "expected"),
    [(1.0, 0.5, "pass"), (0.9, 0.8, "seeds"), (0.8, 0.9, "FAIL"), (0.8, 0.8, "FAIL"), (0.8, None, "open")],
)
def test_the_goal_is_met_or_other_seeds_differ_by_more(ari, lowest, expected):
    assert engine_labels.verdict({"ari": ari, "lowest": lowest}) == expected


def test_labels_that_differ_are_never_shown_as_the_same():
    assert [engine_labels._shown(value) for value in (1.0, 1 - 1e-9, 0.5, None)] == [
        "1",
        "0.9999",
        "0.5000",
        "–",
    ]


def test_a_device_that_is_not_there_is_one_line(folder, capsys):
    with pytest.raises(SystemExit) as ended:
        engine_labels.main(["--data", str(folder), "--device", "cuda:99"])
    assert ended.value.code == 2 and len(capsys.readouterr().err.splitlines()) == 1
