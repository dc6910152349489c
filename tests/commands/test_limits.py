"""`--max-memory` and `--checkpoint`: what the command refuses, and where it goes on."""

from contextlib import contextmanager

import numpy as np
import pytest

from consilience import make_multiview
from consilience.cli import main
from consilience.run.config import get_config
from consilience.run.progress import Progress

pytestmark = pytest.mark.filterwarnings("ignore:The graph has .* connected components")


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sample = make_multiview(200, n_views=2, n_clusters=3, separation=4.0, random_state=0)
    for name, array in sample.views.items():
        np.save(f"{name}.npy", array)
    return [f"{name}.npy" for name in sample.views]


@pytest.mark.parametrize("command", ["cluster", "report"])
def test_what_needs_more_than_is_allowed_is_refused_in_one_line(command, files, capsys):
    for file in files:
        np.save(file, np.random.default_rng(0).normal(size=(5000, 4)))
    assert main([command, *files, "--clusters", "3", "--neighbors", "20", "--max-memory", "330 MiB"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "more than the limit of 330 MiB" in said
    assert "--neighbors" in said and "n_neighbors" not in said


@pytest.mark.parametrize("command", ["cluster", "report", "compare"])
def test_what_needs_less_runs(command, files, capsys):
    options = ["--no-fusion-help"] if command == "report" else []
    options += ["--systems", "sgf,snf", "--resamples", "0"] if command == "compare" else []
    assert main([command, *files, "--clusters", "3", "--max-memory", "1 GiB", *options]) == 0
    assert get_config().memory_limit is None  # for this command only


def test_a_comparison_says_which_system_needs_too_much(files, capsys):
    options = ["--systems", "coreg,snf,sgf", "--resamples", "0", "--max-memory", "100kB", "--jobs", "0"]
    assert main(["compare", *files, "--clusters", "3", *options]) == 0
    said = capsys.readouterr()
    assert "SNF" in said.out and "more than the limit of 97.7 KiB" in said.out + said.err


@pytest.mark.parametrize("bad", ["lots", "0", "-3GB"])
def test_what_is_no_amount_of_memory(bad, files, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["cluster", *files, "--clusters", "3", f"--max-memory={bad}"])
    assert stop.value.code == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "--max-memory" in said and repr(bad) in said


def test_stopped_the_same_command_goes_on(files, tmp_path, monkeypatch, capsys):
    command = ["cluster", *files, "--clusters", "3", "--json"]
    assert main([*command, "--out", "through"]) == 0
    plain, ran = Progress.stage, []

    @contextmanager
    def stage(progress, name, detail=""):
        ran.append(name)
        with plain(progress, name, detail):
            if stop and name == "embed":
                raise KeyboardInterrupt
            yield

    monkeypatch.setattr(Progress, "stage", stage)
    stop = True
    assert main([*command, "--out", "killed", "--checkpoint", "kept"]) == 130
    assert "stopped" in capsys.readouterr().err and list((tmp_path / "kept").iterdir())
    stop = False
    ran.clear()
    assert main([*command, "--out", "killed", "--checkpoint", "kept"]) == 0
    assert ran == ["prepare", "embed", "label"]
    assert (tmp_path / "killed/labels.csv").read_bytes() == (tmp_path / "through/labels.csv").read_bytes()
    assert list((tmp_path / "kept").iterdir()) == []


def test_a_file_is_no_folder_for_checkpoints(files, capsys):
    assert main(["cluster", *files, "--clusters", "3", "--checkpoint", files[0]]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "it is a file" in said
