"""A run of stages: in order, timed, shown, kept in checkpoints, and continued after an interruption."""

import io
import logging
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

from consilience.engines import get_engine
from consilience.engines.results import Neighbors, SearchReport
from consilience.run import execution, progress
from consilience.run.checkpoints import Checkpoints
from consilience.run.execution import Run
from consilience.run.messages import Advice, Setting, keep_warnings, warn
from consilience.run.progress import PlannedStage

KEY = "0" * 64
PLAN = (
    PlannedStage("prepare"),
    PlannedStage("search", (0.0, 0.0), ("prepare",)),
    PlannedStage("fuse", (0.0,), ("search",)),
    PlannedStage("label", (0.0,), ("fuse",)),
)


class Stop(BaseException):
    """An interruption."""


class Counting:
    """Functions that note how often they are called, and stop when they are asked to."""

    def __init__(self):
        self.called, self.stop_at = [], None

    def note(self, name):
        if name == self.stop_at:
            raise Stop
        self.called.append(name)

    def stage(self, name):
        """Return a stage that adds one to what it gets."""

        def add_one(number=0, *, engine):
            self.note(name)
            return number + 1

        return add_one


@pytest.fixture
def counting():
    return Counting()


@pytest.fixture
def clocked(monkeypatch):
    """A clock that stands still until it is moved."""
    now = [0.0]
    clock = SimpleNamespace(perf_counter=lambda: now[0])
    monkeypatch.setattr(execution, "time", clock)
    monkeypatch.setattr(progress, "time", clock)

    def go(seconds):
        now[0] += seconds

    return go


@pytest.fixture
def terminal(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    shown = Terminal()
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=shown))
    return lambda: [line.strip() for line in shown.getvalue().split("\r") if line.strip()]


def new_run(folder=None, plan=PLAN, engine="numpy", random_state=None, **options):
    """Return a run that keeps checkpoints in a folder, as `fit` makes it."""
    random_state = np.random.RandomState(0) if random_state is None else random_state
    checkpoints = None if folder is None else Checkpoints(folder, KEY, "model", random_state)
    return Run(get_engine(engine), plan, random_state, checkpoints=checkpoints, **options)


def interrupted(run, function):
    """Call a function that is stopped, and leave the checkpoints as `fit` does."""
    with pytest.raises(Stop):
        function(run)
    run.checkpoints.leave()


# Stages


def test_a_stage_gets_what_is_given_and_the_engine():
    engine = get_engine("numpy")

    def work(a, b, *, engine, option):
        return a, b, option, engine

    run = Run(engine)
    assert run.stage("work", work, 1, 2, option=3) == (1, 2, 3, engine)
    assert run.engine is engine


def test_stages_are_recorded_in_order_with_the_time_they_took(clocked):
    run = new_run()
    for name, seconds in (("prepare", 1.0), ("search", 2.0), ("search", 3.0), ("fuse", 0.5)):
        run.stage(name, lambda seconds=seconds, *, engine: clocked(seconds))
    assert list(run.progress.seconds.items()) == [("prepare", 1.0), ("search", 5.0), ("fuse", 0.5)]


def test_the_parts_of_a_stage(caplog, counting):
    caplog.set_level(logging.INFO, "consilience")

    def part(number, factor, *, engine):
        counting.note(number)
        return factor * number

    assert new_run().each("search", part, ["'a'", "'b'", "'c'"], 10) == (0, 10, 20)
    assert counting.called == [0, 1, 2]
    said = [record.getMessage() for record in caplog.records]
    assert [line.split(":")[0] for line in said] == ["search 'a'", "search 'b'", "search 'c'"]
    assert new_run().each("search", part, [], 10) == ()


def test_a_stage_that_fails_is_not_recorded():
    run = new_run()

    def fail(*, engine):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run.stage("fuse", fail)
    assert run.progress.seconds == {}


def test_the_random_state_is_the_one_given_or_seed_0():
    state = np.random.RandomState(5)
    assert Run(get_engine("numpy"), random_state=state).random_state is state
    drawn = Run(get_engine("numpy")).random_state.randint(1 << 30)
    assert drawn == np.random.RandomState(0).randint(1 << 30)


# Checkpoints


def all_stages(run, counting):
    run.stage("prepare", counting.stage("prepare"))
    found = run.each("search", lambda i, *, engine: counting.note(f"search {i}") or i + 1, ["a", "b"])
    fused = run.stage("fuse", lambda found, *, engine: counting.note("fuse") or sum(found) + 1, found)
    return run.stage("label", counting.stage("label"), fused)


@pytest.mark.parametrize(
    ("stop_at", "again"),
    [
        ("search 0", ["prepare", "search 0", "search 1", "fuse", "label"]),
        ("search 1", ["prepare", "search 1", "fuse", "label"]),
        ("fuse", ["prepare", "fuse", "label"]),
        ("label", ["prepare", "label"]),
    ],
)
def test_finished_stages_are_not_called_again(stop_at, again, tmp_path, counting):
    counting.stop_at = stop_at
    interrupted(new_run(tmp_path), lambda run: all_stages(run, counting))
    counting.called.clear()
    counting.stop_at = None
    assert all_stages(new_run(tmp_path), counting) == 5
    assert counting.called == again  # the first stage is always run again


def test_the_time_of_then_is_counted(tmp_path, clocked, counting):
    def slow(number, *, engine):
        clocked(7.0)
        return number

    def stages(run):
        run.stage("prepare", counting.stage("prepare"))
        run.stage("search", slow, 1)
        run.stage("search", slow, 1)
        run.stage("fuse", counting.stage("fuse"))

    counting.stop_at = "fuse"
    interrupted(new_run(tmp_path), stages)
    counting.stop_at, run = None, new_run(tmp_path)
    stages(run)
    assert run.progress.seconds["search"] == 14.0


def test_skipped_stages_are_shown(tmp_path, caplog, counting, terminal):
    counting.stop_at = "label"
    interrupted(new_run(tmp_path), lambda run: all_stages(run, counting))
    counting.stop_at = None
    caplog.set_level(logging.INFO, "consilience")
    all_stages(new_run(tmp_path, visible=True), counting)
    said = [record.getMessage() for record in caplog.records if "from a checkpoint" in record.getMessage()]
    assert [line.split(":")[0].strip() for line in said] == ["search a", "search b", "fuse"]
    assert terminal()[-1].endswith("s") and "done in" in terminal()[-1]


def test_writing_checkpoints_is_a_line_of_its_own(tmp_path, counting):
    run = new_run(tmp_path)
    all_stages(run, counting)
    assert set(run.progress.seconds) == {"prepare", "search", "fuse", "label", "checkpoints"}
    assert "checkpoints" not in new_run().progress.seconds


def test_results_that_no_later_stage_needs_are_not_kept(tmp_path, counting):
    counting.stop_at = "label"
    run = new_run(tmp_path)
    interrupted(run, lambda run: all_stages(run, counting))
    kept = sorted(file.name for file in run.checkpoints.path.glob("*.result"))
    assert kept == ["0002-fuse.result"]  # what `search` returned, only `fuse` has needed
    run = new_run(tmp_path)
    run.stage("prepare", counting.stage("prepare"))
    assert run.each("search", counting.stage("search"), ["a", "b"]) == (None, None)


def test_the_random_state_goes_on_as_if_there_had_been_no_interruption(tmp_path, counting):
    def draw(random_state, *, engine):
        return random_state.randint(1 << 30)

    def stages(run):
        run.stage("prepare", counting.stage("prepare"))
        first = run.stage("search", draw, run.random_state)
        run.stage("fuse", counting.stage("fuse"))
        return first, run.stage("label", draw, run.random_state)

    expected = stages(new_run(random_state=np.random.RandomState(3)))
    counting.stop_at = "fuse"
    interrupted(new_run(tmp_path, random_state=np.random.RandomState(3)), stages)
    counting.stop_at = None
    assert stages(new_run(tmp_path, random_state=np.random.RandomState(3))) == expected


def test_warnings_of_a_stage_are_given_again_with_their_settings(tmp_path, counting):
    def careful(*, engine):
        warn(Advice("Raise ", Setting("gamma", 2.0), "."))

    def stages(run):
        run.stage("prepare", counting.stage("prepare"))
        run.stage("search", careful)
        run.stage("fuse", counting.stage("fuse"))

    counting.stop_at = "fuse"
    with keep_warnings(), pytest.warns(UserWarning, match=r"Raise gamma=2\.0\."):
        interrupted(new_run(tmp_path), stages)
    counting.stop_at = None
    with keep_warnings() as kept, pytest.warns(UserWarning, match=r"Raise gamma=2\.0\."):
        stages(new_run(tmp_path))
    (one,) = kept
    assert one.text.written(lambda setting: f"--{setting.parameter} {setting.value}") == "Raise --gamma 2.0."


@dataclass(frozen=True, eq=False)
class Mine:
    """A handle."""

    content: object


class Wrapping:
    """An engine whose handles only it can open."""

    name = "wrapping"

    def fetch(self, handle):
        assert isinstance(handle, Mine)
        return handle.content

    def adopt(self, value):
        assert not isinstance(value, Mine)
        return Mine(value)


def test_handles_are_fetched_for_the_file_and_adopted_from_it(tmp_path, counting):
    def hold(*, engine):
        counting.note("search")
        return Neighbors(engine.adopt(np.arange(4)), SearchReport(n_regions=3))

    def stages(run):
        run.stage("prepare", counting.stage("prepare"))
        held = run.stage("search", hold)
        run.stage("fuse", counting.stage("fuse"))
        return held

    def wrapped():
        state = np.random.RandomState(0)
        return Run(Wrapping(), PLAN, state, checkpoints=Checkpoints(tmp_path, KEY, "model", state))

    counting.stop_at = "fuse"
    interrupted(wrapped(), stages)
    counting.called.clear()
    counting.stop_at = None
    held = stages(wrapped())
    assert counting.called == ["prepare", "fuse"]
    assert held.report.n_regions == 3 and isinstance(held.lists, Mine)
    np.testing.assert_array_equal(held.lists.content, np.arange(4))


# Loops


def halving(counting):
    """Return a round: halve the state, and end at 1."""

    def step(state, number):
        counting.note(f"round {number}")
        return state // 2, state // 2 <= 1

    return step


def test_a_loop_ends_at_its_last_round_or_at_the_cap(counting):
    assert new_run().loop("weigh", halving(counting), 16, 10) == 1
    assert counting.called == ["round 0", "round 1", "round 2", "round 3"]
    counting.called.clear()
    assert new_run().loop("weigh", halving(counting), 16, 2) == 4
    assert counting.called == ["round 0", "round 1"]
    assert new_run().loop("weigh", halving(counting), 16, 0) == 16


LOOP_PLAN = (PlannedStage("prepare"), PlannedStage("weigh", (1.0,)), PlannedStage("label", (1.0,)))


def test_rounds_are_timed_and_shown(clocked, caplog, terminal):
    caplog.set_level(logging.INFO, "consilience")

    def step(state, number):
        clocked(2.0)
        return state + 1, state == 2

    run = new_run(plan=LOOP_PLAN, visible=True)
    run.stage("prepare", lambda *, engine: None)
    assert run.loop("weigh", step, 0, 9) == 3
    run.stage("label", lambda *, engine: clocked(1.0))
    said = [record.getMessage() for record in caplog.records]
    assert said[1:4] == [f"weigh round {number}: 2.000 s" for number in (1, 2, 3)]
    assert run.progress.seconds == {"prepare": 0.0, "weigh": 6.0, "label": 1.0}
    assert run.progress.n_parts == 5  # two rounds more than planned
    assert terminal()[-1].endswith("done in 7.0 s")


def test_the_time_of_stages_inside_a_round_is_theirs(clocked):
    run = new_run(plan=LOOP_PLAN)

    def step(state, number):
        run.stage("search", lambda *, engine: clocked(3.0))
        clocked(1.0)
        return state, number == 1

    run.loop("weigh", step, 0, 9)
    assert run.progress.seconds == {"search": 6.0, "weigh": 2.0}


@pytest.mark.parametrize("stop_at", range(4))
def test_an_interrupted_loop_goes_on_after_its_last_finished_round(stop_at, tmp_path, counting, caplog):
    def stages(run):
        run.stage("prepare", counting.stage("prepare"))
        return run.loop("weigh", halving(counting), 16, 10)

    counting.stop_at = f"round {stop_at}"
    run = new_run(tmp_path, LOOP_PLAN)
    interrupted(run, stages)
    files = sorted(file.name for file in run.checkpoints.path.glob("*weigh*"))
    assert len(files) == (2 if stop_at else 0)  # only the last round has files
    counting.called.clear()
    counting.stop_at = None
    caplog.set_level(logging.INFO, "consilience")
    assert stages(new_run(tmp_path, LOOP_PLAN)) == 1
    assert counting.called == ["prepare", *(f"round {number}" for number in range(stop_at, 4))]
    said = [one.getMessage() for one in caplog.records if "from a checkpoint" in one.getMessage()]
    assert [line.split(":")[0] for line in said] == ([f"weigh round {stop_at}"] if stop_at else [])


def test_a_loop_that_has_ended_is_not_run_again(tmp_path, counting):
    def stages(run):
        run.stage("prepare", counting.stage("prepare"))
        state = run.loop("weigh", halving(counting), 16, 10)
        return state + run.stage("label", counting.stage("label"))

    counting.stop_at = "label"
    interrupted(new_run(tmp_path, LOOP_PLAN), stages)
    counting.called.clear()
    counting.stop_at = None
    assert stages(new_run(tmp_path, LOOP_PLAN)) == 2
    assert counting.called == ["prepare", "label"]


def test_a_loop_that_was_interrupted_at_its_cap(tmp_path, counting):
    def stages(run):
        run.stage("prepare", counting.stage("prepare"))
        state = run.loop("weigh", halving(counting), 64, 2)
        return state + run.stage("label", counting.stage("label"))

    counting.stop_at = "label"
    interrupted(new_run(tmp_path, LOOP_PLAN), stages)
    counting.called.clear()
    counting.stop_at = None
    assert stages(new_run(tmp_path, LOOP_PLAN)) == 17
    assert counting.called == ["prepare", "label"]


@pytest.mark.parametrize("stop_at", ["second 0", "first 1", "second 1", "label"])
def test_stages_inside_the_interrupted_round_are_not_called_again(stop_at, tmp_path, counting):
    def stages(run):
        def step(state, number):
            first = run.stage("first", counting.stage(f"first {number}"), state)
            second = run.stage("second", counting.stage(f"second {number}"), first)
            return second, number == 1

        run.stage("prepare", counting.stage("prepare"))
        state = run.loop("weigh", step, 0, 9)
        return run.stage("label", counting.stage("label"), state)

    everything = ["first 0", "second 0", "first 1", "second 1", "label"]
    counting.stop_at = stop_at
    interrupted(new_run(tmp_path, LOOP_PLAN), stages)
    counting.called.clear()
    counting.stop_at = None
    assert stages(new_run(tmp_path, LOOP_PLAN)) == 5
    assert counting.called == ["prepare", *everything[everything.index(stop_at) :]]


def test_a_loop_inside_a_loop_goes_on_in_its_round(tmp_path, counting):
    def stages(run):
        def inner(state, number):
            counting.note(f"inner {state}")
            return state + 1, number == 2

        def outer(state, number):
            return run.loop("inner", inner, state, 5), number == 1

        run.stage("prepare", counting.stage("prepare"))
        return run.loop("outer", outer, 0, 5)

    counting.stop_at = "inner 4"
    interrupted(new_run(tmp_path, LOOP_PLAN), stages)
    counting.called.clear()
    counting.stop_at = None
    assert stages(new_run(tmp_path, LOOP_PLAN)) == 6
    assert counting.called == ["prepare", "inner 4", "inner 5"]


def test_handles_in_the_state_of_a_loop(tmp_path, counting):
    def stages(run):
        def step(state, number):
            counting.note(f"round {number}")
            lists = run.engine.adopt(run.engine.fetch(state.lists) + 1)
            return Neighbors(lists, SearchReport(n_regions=number)), number == 2

        run.stage("prepare", counting.stage("prepare"))
        return run.loop("weigh", step, Neighbors(run.engine.adopt(np.zeros(2)), SearchReport()), 9)

    def wrapped():
        state = np.random.RandomState(0)
        return Run(Wrapping(), LOOP_PLAN, state, checkpoints=Checkpoints(tmp_path, KEY, "model", state))

    counting.stop_at = "round 2"
    interrupted(wrapped(), stages)
    counting.called.clear()
    counting.stop_at = None
    found = stages(wrapped())
    assert counting.called == ["prepare", "round 2"]
    assert found.report.n_regions == 2
    np.testing.assert_array_equal(found.lists.content, [3.0, 3.0])


def test_results_of_the_library_come_back_as_they_were(tmp_path, counting):
    report = SearchReport("approximate", 0.97, 30, 250.0)

    def stages(run):
        run.stage("prepare", counting.stage("prepare"))
        found = run.stage("search", lambda *, engine: report)
        run.stage("fuse", counting.stage("fuse"))
        return found

    counting.stop_at = "fuse"
    interrupted(new_run(tmp_path), stages)
    counting.stop_at = None
    assert stages(new_run(tmp_path)) == report
