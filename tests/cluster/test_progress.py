"""What is shown while a fit runs."""

import io
import logging
import re
from types import SimpleNamespace

import pytest

from consilience import SimilarityGraphFusion, make_multiview, ticks
from consilience.cluster import progress as module
from consilience.cluster.progress import Progress
from consilience.neighbors import as_space


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clocked(monkeypatch):
    """A clock that stands still unless it is told to go on."""
    now = [0.0]
    monkeypatch.setattr(module.time, "perf_counter", lambda: now[0])

    def go(seconds):
        now[0] += seconds

    return go


@pytest.fixture
def terminal(monkeypatch):
    shown = Terminal()
    monkeypatch.setattr(module, "sys", SimpleNamespace(stderr=shown))
    return lambda: [line.strip() for line in shown.getvalue().split("\r") if line.strip()]


def test_the_time_left_is_told_by_the_pace_so_far(terminal, clocked):
    progress = Progress(3, True, [("a", 1.0), ("b", 2.0), ("c", 7.0)])
    with progress.stage("a"):
        clocked(10)
    with progress.stage("b"):
        clocked(20)
    assert "left" not in terminal()[0]
    assert "b, about 1:30 left" in terminal()[1]
    with progress.stage("c"):
        assert "c, about 1:10 left" in terminal()[-1]
        clocked(70)
    assert terminal()[-1].endswith("done in 100.0 s") and "left" not in terminal()[-1]


def test_within_a_stage_the_share_is_told_and_counts(terminal, clocked):
    progress = Progress(2, True, [("a", 1.0), ("b", 1.0)])
    with progress.stage("a"):
        clocked(5)
        ticks.tick(1, 4)  # a quarter in five seconds: fifteen more, and twenty for the other stage
        assert terminal()[-1].endswith("a 25%, about 0:35 left")
        clocked(0.01)
        ticks.tick(2, 4)  # too soon to draw again
        assert "50%" not in terminal()[-1]


def test_stages_from_checkpoints_do_not_count_for_the_pace(terminal, clocked):
    progress = Progress(3, True, [("a", 100.0), ("b", 10.0), ("c", 10.0)])
    progress._skip("a", "", 1000.0)
    with progress.stage("b"):
        clocked(30)
    with progress.stage("c"):
        assert "c, about 0:30 left" in terminal()[-1]
    assert progress.seconds == {"a": 1000.0, "b": 30.0, "c": 0.0}


def test_without_expectations_no_time_left_is_made_up(terminal, clocked):
    progress = Progress(2, True)
    for name in ("a", "b"):
        with progress.stage(name):
            clocked(100)
    assert not any("left" in line for line in terminal())


def test_stages_that_nobody_expected_do_no_harm(terminal, clocked):
    progress = Progress(2, True, [("a", 1.0)])
    for name in ("x", "a"):
        with progress.stage(name):
            clocked(2)
    assert terminal()[-1].endswith("done in 4.0 s")


def test_elsewhere_than_on_a_terminal_there_is_a_line_per_stage(capsys, clocked):
    progress = Progress(2, True, [("a", 1.0), ("b", 1.0)])
    for name in ("a", "b"):
        with progress.stage(name, "of it"):
            ticks.tick(1, 2)
            clocked(3)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3 and "\r" not in "".join(lines)
    assert lines[1].endswith("b of it, about 0:03 left")


def test_a_fit_that_is_not_to_be_seen_shows_nothing_and_logs(capsys, caplog):
    views = make_multiview(100, n_clusters=3, separation=5.0, random_state=0).views
    with caplog.at_level(logging.INFO, "consilience"):
        SimilarityGraphFusion(n_clusters=3, random_state=0).fit(views)
    assert capsys.readouterr().err == ""
    assert any(re.fullmatch(r"fusion : \d+\.\d{3} s", record.getMessage()) for record in caplog.records)


def test_the_search_tells_how_far_it_is():
    heard = []
    views = make_multiview(600, n_clusters=3, separation=5.0, random_state=0).views
    with ticks.listening(heard.append):
        as_space(next(iter(views.values())), "euclidean").nearest(5)
    assert heard == sorted(heard) and heard[-1] == 1.0
