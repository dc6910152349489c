"""What is shown while a fit runs."""

import io
import logging
import re
from types import SimpleNamespace

import pytest

from consilience import SimilarityGraphFusion, make_multiview
from consilience.engines import get_engine
from consilience.run import progress as module
from consilience.run.progress import PlannedStage, Progress, listening, tick
from consilience.spaces import Space


class Terminal(io.StringIO):
    def isatty(self):
        return True


def planned(**costs):
    return [PlannedStage(name, (cost,)) for name, cost in costs.items()]


@pytest.fixture
def clocked(monkeypatch):
    """A clock that stands still until it is moved."""
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


def test_the_time_left_is_that_at_the_same_speed(terminal, clocked):
    progress = Progress(planned(a=1.0, b=2.0, c=7.0), True)
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


def test_within_a_stage_the_share_is_shown_and_counts(terminal, clocked):
    progress = Progress(planned(a=1.0, b=1.0), True)
    with progress.stage("a"):
        clocked(5)
        tick(1, 4)  # a quarter in five seconds: fifteen more, and twenty for the other stage
        assert terminal()[-1].endswith("a 25%, about 0:35 left")
        clocked(0.01)
        tick(2, 4)  # too soon to draw again
        assert "50%" not in terminal()[-1]


def test_stages_from_checkpoints_do_not_count_for_the_speed(terminal, clocked):
    progress = Progress(planned(a=100.0, b=10.0, c=10.0), True)
    progress.skip("a", "", 1000.0)
    with progress.stage("b"):
        clocked(30)
    with progress.stage("c"):
        assert "c, about 0:30 left" in terminal()[-1]
    assert progress.seconds == {"a": 1000.0, "b": 30.0, "c": 0.0}


def test_without_costs_no_time_left_is_shown(terminal, clocked):
    progress = Progress(planned(a=0.0, b=0.0), True)
    for name in ("a", "b"):
        with progress.stage(name):
            clocked(100)
    assert not any("left" in line for line in terminal())


def test_stages_of_unknown_cost_do_no_harm(terminal, clocked):
    progress = Progress((PlannedStage("x", (0.0,)), PlannedStage("a", (1.0,))), True)
    for name in ("x", "a"):
        with progress.stage(name):
            clocked(2)
    assert terminal()[-1].endswith("done in 4.0 s")


def test_stages_that_were_not_planned_do_no_harm(terminal, clocked):
    progress = Progress(planned(a=1.0, b=1.0), True)
    for name in ("a", "x", "b"):
        with progress.stage(name):
            clocked(2)
    assert progress.seconds == {"a": 2.0, "x": 2.0, "b": 2.0}
    assert any(line.endswith("x, about 0:02 left") for line in terminal())


def test_without_a_terminal_there_is_a_line_per_stage(capsys, clocked):
    progress = Progress(planned(a=1.0, b=1.0), True)
    for name in ("a", "b"):
        with progress.stage(name, "of it"):
            tick(1, 2)
            clocked(3)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3 and "\r" not in "".join(lines)
    assert lines[1].endswith("b of it, about 0:03 left")


def test_a_fit_that_is_not_verbose_shows_nothing_and_logs(capsys, caplog):
    views = make_multiview(100, n_clusters=3, separation=5.0, random_state=0).views
    with caplog.at_level(logging.INFO, "consilience"):
        SimilarityGraphFusion(n_clusters=3, random_state=0).fit(views)
    assert capsys.readouterr().err == ""
    assert any(re.fullmatch(r"fuse : \d+\.\d{3} s", record.getMessage()) for record in caplog.records)


def test_the_search_reports_how_far_it_is():
    shares, engine = [], get_engine("numba")
    views = make_multiview(600, n_clusters=3, separation=5.0, random_state=0).views
    points = engine.place(Space("view", next(iter(views.values())), "euclidean"))
    with listening(shares.append):
        engine.nearest(points, 5)
    assert shares == sorted(shares) and shares[-1] == 1.0
