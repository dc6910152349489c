import asyncio
import threading
from pathlib import Path

import numpy as np
import pytest

from consilience import config_context, get_config, set_config
from consilience.run import memory
from consilience.run.config import as_bytes


@pytest.fixture(autouse=True)
def nothing_set():
    yield
    set_config(memory_limit=None, checkpoint_dir=None)


@pytest.mark.parametrize(
    ("given", "n_bytes"),
    [
        (1, 1),
        (np.int64(7), 7),
        (2.0**31, 2**31),
        ("123", 123),
        ("123 bytes", 123),
        ("1b", 1),
        ("1 KiB", 1024),
        ("1kB", 1000),
        ("6GiB", 6 * 2**30),
        (" 6 gib ", 6 * 2**30),
        ("6G", 6 * 2**30),
        ("800 MB", 800_000_000),
        ("1.5 TiB", 3 * 2**39),
        (".5k", 512),
    ],
)
def test_amounts_of_memory(given, n_bytes):
    assert as_bytes(given) == n_bytes


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "GiB",
        "-1 GiB",
        "0",
        0,
        -5,
        True,
        None,
        "6 iB",
        "6 XB",
        "1e9",
        "6,5 GB",
        float("nan"),
        float("inf"),
    ],
)
def test_what_is_no_amount_of_memory_is_refused_in_one_line(bad):
    with pytest.raises(ValueError, match=r"^memory_limit must be a positive number of bytes, .* got .*\.$"):
        as_bytes(bad)


@pytest.mark.parametrize("bad", [7, "", b"x", ["folder"]])
def test_what_is_no_folder_is_refused(bad):
    with pytest.raises(ValueError, match="checkpoint_dir"), config_context(checkpoint_dir=bad):
        pass


def test_a_block_sets_what_it_names_and_the_rest_stays(tmp_path):
    assert (get_config().memory_limit, get_config().checkpoint_dir) == (None, None)
    with config_context(memory_limit="1 KiB"):
        with config_context(checkpoint_dir=tmp_path):
            assert (get_config().memory_limit, get_config().checkpoint_dir) == (1024, tmp_path)
            with config_context(memory_limit=None, checkpoint_dir=None):
                assert (get_config().memory_limit, get_config().checkpoint_dir) == (None, None)
        assert get_config().checkpoint_dir is None
    assert get_config().memory_limit is None


def test_a_block_that_fails_restores_what_was():
    with pytest.raises(KeyError), config_context(memory_limit=5):
        raise KeyError
    assert get_config().memory_limit is None


def test_a_folder_is_the_same_wherever_the_process_goes_later(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with config_context(checkpoint_dir="here"):
        assert get_config().checkpoint_dir == Path(tmp_path / "here")


def test_another_thread_sees_what_is_set_for_all_and_no_block():
    set_config(memory_limit=1000)
    seen = []
    with config_context(memory_limit=5):
        other = threading.Thread(target=lambda: seen.append(get_config().memory_limit))
        other.start()
        other.join()
        assert get_config().memory_limit == 5
    assert seen == [1000]


def test_tasks_of_an_event_loop_do_not_see_each_others_blocks():
    async def task(limit, entered, others):
        with config_context(memory_limit=limit):
            entered.set()
            await others.wait()
            return get_config().memory_limit

    async def both():
        one, two = asyncio.Event(), asyncio.Event()
        return await asyncio.gather(task(1, one, two), task(2, two, one))

    assert asyncio.run(both()) == [1, 2]


def test_a_limit_is_checked_before_any_work(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: None)
    with config_context(memory_limit="2 GiB"):
        memory.require(2 * 2**30, "It", "Take less.")
        with pytest.raises(
            MemoryError, match=r"It needs about 2\.1 GiB .* the limit of 2\.0 GiB\. Take less\."
        ):
            memory.require(2.1 * 2**30, "It", "Take less.")
