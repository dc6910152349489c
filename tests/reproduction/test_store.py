import json
import os
import signal
import subprocess
import sys
import time

import pytest

from consilience.reproduction import running
from consilience.reproduction import store as module
from consilience.reproduction.store import Store, Work

pytestmark = pytest.mark.long

WORK = Work("scores", "UCI_Digits", {"system": "SGF", "beta": 0.1})


def double(work):
    return 2 * work.arguments["number"]


def slow_double(work):
    time.sleep(0.05)
    return double(work)


def fail(work):
    raise ValueError(f"no {work.arguments['number']}")


def leave(work):
    os._exit(3)


def numbers(count):
    return [Work("double", "", {"number": i}, cost=i + 1) for i in range(count)]


def test_what_is_put_is_there_and_only_then(tmp_path):
    store = Store(tmp_path / "results", {"UCI_Digits": "abc"})
    assert WORK not in store
    with pytest.raises(KeyError, match="scores on UCI_Digits has not been done"):
        store.get(WORK)
    store.put(WORK, {"NMI": 0.5})
    assert WORK in store
    assert Store(tmp_path / "results", {"UCI_Digits": "abc"}).get(WORK) == {"NMI": 0.5}


@pytest.mark.parametrize("change", ["data", "arguments", "version", "kind"])
def test_a_result_is_found_only_if_nothing_has_changed(tmp_path, change, monkeypatch):
    Store(tmp_path, {"UCI_Digits": "abc"}).put(WORK, 1)
    work, store = WORK, Store(tmp_path, {"UCI_Digits": "other" if change == "data" else "abc"})
    if change == "arguments":
        work = Work("scores", "UCI_Digits", {"system": "SGF", "beta": 1})
    elif change == "kind":
        work = Work("times", "UCI_Digits", WORK.arguments)
    elif change == "version":
        monkeypatch.setattr(module, "versions", lambda: {"consilience": "9.9"})
    assert work not in store


def test_the_order_of_arguments_and_the_cost_do_not_matter(tmp_path):
    Store(tmp_path, {}).put(WORK, 1)
    assert Work("scores", "UCI_Digits", {"beta": 0.1, "system": "SGF"}, cost=7.0) in Store(tmp_path, {})


def test_a_disk_that_is_full_loses_nothing(tmp_path, monkeypatch):
    store = Store(tmp_path, {})
    store.put(WORK, 1)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        store.put(Work("other", "", {}), 2)
    assert store.get(WORK) == 1
    assert len(list(tmp_path.iterdir())) == 1


def test_what_was_left_half_written_is_removed_and_never_read(tmp_path):
    store = Store(tmp_path, {})
    (tmp_path / ".abc.part").write_text('{"work"')
    os.utime(tmp_path / ".abc.part", (0, 0))
    assert not list(tmp_path.glob("*.json"))
    store.tidy()
    assert not list(tmp_path.iterdir())


def test_failures_are_tried_again_and_results_are_not(tmp_path):
    store = Store(tmp_path, {})
    store.put(WORK, [{"NMI": 1.0}, {"reason": "no memory"}])
    store.put(numbers(1)[0], 7)
    assert WORK in store
    store.tidy()
    assert WORK not in store
    assert store.get(numbers(1)[0]) == 7


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_every_piece_is_done_once(tmp_path, n_jobs):
    store, states = Store(tmp_path, {}), []
    store.put(numbers(1)[0], "done before")
    with running.Workers(n_jobs) as workers:
        running.run([*numbers(5), *numbers(5)], store, double, workers=workers, watch=states.append)
        running.run(numbers(5), store, fail, workers=workers)  # nothing is left to do
    assert [store.get(work) for work in numbers(5)] == ["done before", 2, 4, 6, 8]
    states = [state for state in states if state.total == 4]
    assert (states[-1].done, states[-1].total, states[-1].share) == (4, 4, 1.0)
    assert all(state.seconds_left >= 0 for state in states if state.done)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_comes_through_and_the_rest_is_kept(tmp_path, n_jobs):
    store = Store(tmp_path, {})
    store.put(numbers(1)[0], 0)
    with running.Workers(n_jobs) as workers, pytest.raises(ValueError, match="no 1"):
        running.run(numbers(2), store, fail, workers=workers)
    assert store.get(numbers(1)[0]) == 0


def test_a_process_that_is_killed_is_one_clear_line(tmp_path):
    with running.Workers(2) as workers, pytest.raises(MemoryError, match=r"lower --jobs.*is kept"):
        running.run(numbers(2), Store(tmp_path, {}), leave, workers=workers)


PROGRAM = """
import sys
from pathlib import Path
sys.path.insert(0, {here!r})
from test_store import numbers, slow_double
from consilience.reproduction.running import Workers, run
from consilience.reproduction.store import Store
if __name__ == "__main__":
    with Workers({n_jobs}) as workers:
        run(numbers(40), Store(Path({folder!r}), {{}}), slow_double, workers=workers)
"""


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_killed_and_started_again_it_ends_as_if_nothing_had_been(tmp_path, n_jobs):
    script = tmp_path / "program.py"
    folder = tmp_path / "results"
    here = os.path.dirname(__file__)
    script.write_text(PROGRAM.format(here=here, folder=str(folder), n_jobs=n_jobs))
    first = subprocess.Popen([sys.executable, str(script)])
    deadline = time.monotonic() + 60
    while not list(folder.glob("*.json")) and time.monotonic() < deadline:
        time.sleep(0.01)
    first.send_signal(signal.SIGKILL)
    first.wait()
    time.sleep(1.5 if n_jobs > 1 else 0)  # what it had started notices, and ends
    done = {path: path.stat().st_mtime_ns for path in folder.glob("*.json")}
    assert 0 < len(done) < 40
    assert all(json.loads(path.read_text()) for path in done)
    subprocess.run([sys.executable, str(script)], check=True)
    store = Store(folder, {})
    assert [store.get(work) for work in numbers(40)] == [2 * i for i in range(40)]
    assert all(path.stat().st_mtime_ns == changed for path, changed in done.items())
