"""Doing the work of the gate: fits in two processes of one thread each, speed in processes of its own."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any

from . import fits, sets, speed
from .store import Store

PROCESSES = 2


def measure_speed(store: Store, wanted: Sequence[str] = (), names: Sequence[str] = ()) -> None:
    """Measure seconds and memory, the yardstick before and after; always all of it."""
    for name, work in speed.parts().items():
        if store.get("speed", name) is None:
            before = speed.yardstick()
            value = work()
            after = speed.yardstick()
            mean = {key: (before[key] + after[key]) / 2 for key in before}
            store.put({**value, "yardstick": mean}, "speed", name)
            print(f"  {name}: {value.get('seconds', value.get('reason'))}", flush=True)


def measure_fits(store: Store, wanted: Sequence[str], names: Sequence[str]) -> None:
    """Fit everything once, and keep digests and scores.

    With code that is compiled anew: the last bit may depend on what a process had compiled before it.
    """
    tasks = [(set_name, only) for set_name, only in _tasks(wanted, names) if not _done(store, set_name, only)]
    with _fresh_cache():
        for (set_name, _), found in _in_processes(_fits_of_set, tasks):
            for name, value in found.items():
                store.put(value, "fits", set_name, name)
            seconds = sum(one.get("seconds", 0.0) for one in found.values())
            print(f"  {set_name}: {seconds:.1f} s", flush=True)


def measure_scores(store: Store, wanted: Sequence[str], names: Sequence[str]) -> None:
    """Fit everything with ten seeds, and keep the scores."""
    tasks = [
        (set_name, name)
        for set_name in (wanted or sets.names())
        for name in (names or fits.scored_on(sets.load(set_name)))
        if store.get("scores", set_name, name) is None
    ]
    began = time.perf_counter()
    for (set_name, name), found in _in_processes(_scores_of_fit, tasks):
        store.put(found, "scores", set_name, name)
        print(f"  {time.perf_counter() - began:6.0f} s  {set_name}, {name}", flush=True)


@contextmanager
def _fresh_cache() -> Iterator[None]:
    """Let processes that begin inside the block keep compiled code in a folder of their own."""
    before = os.environ.get("NUMBA_CACHE_DIR")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NUMBA_CACHE_DIR"] = folder
        try:
            yield
        finally:
            if before is None:
                del os.environ["NUMBA_CACHE_DIR"]
            else:
                os.environ["NUMBA_CACHE_DIR"] = before


def _tasks(wanted: Sequence[str], names: Sequence[str]) -> list[tuple[str, tuple[str, ...]]]:
    return [(name, tuple(names)) for name in (wanted or sets.names())]


def _done(store: Store, set_name: str, names: Sequence[str]) -> bool:
    there = store.get("fits", set_name) or {}
    return set(names or fits.fits_of(sets.load(set_name))) <= there.keys()


def _fits_of_set(set_name: str, names: Sequence[str]) -> dict[str, Any]:
    data = sets.load(set_name)
    return {name: fits.measure(name, data) for name in fits.fits_of(data) if not names or name in names}


def _scores_of_fit(set_name: str, name: str) -> Any:
    try:
        return fits.scores(name, sets.load(set_name))
    except Exception as error:  # a cell of the table, not the end of it
        return f"{type(error).__name__}: {' '.join(str(error).split())}"


def _in_processes(function: Callable[..., Any], tasks: Sequence[tuple[Any, ...]]) -> Any:
    """Yield each task and what the function makes of it, in the order in which they end."""
    with ProcessPoolExecutor(PROCESSES, mp_context=get_context("spawn")) as pool:
        running = {pool.submit(function, *task): task for task in tasks}
        waiting = set(running)
        while waiting:
            ended, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for one in ended:
                yield running[one], one.result()
