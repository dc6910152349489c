"""Doing many pieces of work in several processes, and estimating how long it will take."""

from __future__ import annotations

import io
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

from .store import Store, Work

Do = Callable[[Work], Any]


@dataclass(frozen=True)
class State:
    """How far things are.

    Attributes
    ----------
    work : Work
        What was finished last, or is about to begin.
    done, total : int
        Number of pieces.
    share : float
        Of the costs.
    seconds_left : float or None
        A guess, once something is done.
    """

    work: Work
    done: int
    total: int
    share: float
    seconds_left: float | None


Watch = Callable[[State], None]


class Workers:
    """Processes that do pieces of work, started when first needed and kept until the block ends.

    Parameters
    ----------
    n_jobs : int
        How many; with one, the work is done by this process itself.
    """

    def __init__(self, n_jobs: int) -> None:
        self.n_jobs = n_jobs
        self._pool: ProcessPoolExecutor | None = None
        self._stop: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if self._pool is None:
            return
        if kind is not None:  # what is under way is not waited for: it is done again next time
            self._stop.set()
        self._pool.shutdown(cancel_futures=True)

    def submit(self, do: Do, work: Work, store: Store) -> Future[None]:
        """Have a piece of work done and its result kept."""
        if self._pool is None:
            # Fresh processes: a fork of one that has compiled code and threads running may hang.
            context = multiprocessing.get_context("spawn")
            self._stop = context.Event()
            self._pool = ProcessPoolExecutor(
                self.n_jobs, context, initializer=_leave_with, initargs=(os.getpid(), self._stop)
            )
            with _ignoring_ctrl_c():  # the processes start now, and inherit it: Ctrl-C is for us alone
                return self._pool.submit(_do_and_keep, do, work, store)
        return self._pool.submit(_do_and_keep, do, work, store)


def run(
    pieces: Sequence[Work],
    store: Store,
    do: Do,
    *,
    workers: Workers | None = None,
    watch: Watch | None = None,
) -> None:
    """Do the pieces of work that the store does not have yet, the costly ones first.

    Parameters
    ----------
    pieces : sequence of Work
        What is wanted; what is there already is left alone.
    store : Store
        Where results go, each as soon as it is there.
    do : callable
        Takes a piece of work and returns its result; a function that can be sent to another process.
    workers : Workers, default=None
        The processes that do it; None: this process.
    watch : callable, default=None
        Gets the state of things whenever it changes.
    """
    wanted = {store.path(work): work for work in pieces if work not in store}
    missing = sorted(wanted.values(), key=lambda work: -work.cost)
    pace = _Pace(missing, watch)
    if workers is None or workers.n_jobs == 1:
        for work in missing:
            pace.report(work)
            _do_and_keep(do, work, store)
            pace.ended(work)
        return
    try:
        running = {workers.submit(do, work, store): work for work in missing}
        while running:
            for done in wait(running, return_when=FIRST_COMPLETED).done:
                work = running.pop(done)
                done.result()
                pace.ended(work)
    except BrokenProcessPool:
        raise MemoryError(
            "A process was killed from outside, most often for lack of memory; lower --jobs. What was done "
            "is kept: start again with the same --out."
        ) from None


def _do_and_keep(do: Do, work: Work, store: Store) -> None:
    store.put(work, do(work))


@contextmanager
def _ignoring_ctrl_c() -> Iterator[None]:
    """Ignore Ctrl-C inside the block, where that can be asked for."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _leave_with(parent: int, stop: Any) -> None:
    """End this process when the one that started it says so, or is gone, however it went."""

    def watch() -> None:
        while os.getppid() == parent and not stop.wait(0.5):
            pass
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    # The process that ends first takes the pipes that the others read from.
    sys.stderr = _SilencedStream(sys.stderr, stop)


class _SilencedStream(io.TextIOBase):
    """A stream to which nothing is written any more once an event is set."""

    def __init__(self, stream: Any, event: Any) -> None:
        self.stream, self.event = stream, event

    def write(self, text: str) -> int:
        return len(text) if self.event.is_set() else int(self.stream.write(text))

    def flush(self) -> None:
        self.stream.flush()


class _Pace:
    """How much is done, and how long the rest will take at the pace so far."""

    def __init__(self, missing: Sequence[Work], watch: Watch | None) -> None:
        self.watch = watch
        self.total, self.done = len(missing), 0
        self.cost, self.cost_done = sum(work.cost for work in missing), 0.0
        self.began = time.monotonic()

    def ended(self, work: Work) -> None:
        self.done += 1
        self.cost_done += work.cost
        self.report(work)

    def report(self, work: Work) -> None:
        if self.watch is not None:
            share = self.cost_done / self.cost
            left = (time.monotonic() - self.began) * (1 / share - 1) if share else None
            self.watch(State(work, self.done, self.total, share, left))
