"""Doing many pieces of work in several processes, and saying how long it will take."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Any

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


Told = Callable[[State], None]


def run(
    pieces: Sequence[Work],
    store: Store,
    do: Do,
    *,
    n_jobs: int = 1,
    told: Told | None = None,
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
    n_jobs : int, default=1
        Number of processes. Each works on one thread.
    told : callable, default=None
        Gets the state of things whenever it changes.
    """
    wanted = {store.path(work): work for work in pieces if work not in store}
    missing = sorted(wanted.values(), key=lambda work: -work.cost)
    pace = _Pace(missing, told)
    if not missing:
        return
    if n_jobs == 1:
        for work in missing:
            pace.tell(work)
            _do_and_keep(do, work, store)
            pace.ended(work)
        return
    # Fresh processes: a fork of one that has compiled code and threads running may hang.
    context = multiprocessing.get_context("spawn")
    parent = os.getpid()
    with ProcessPoolExecutor(n_jobs, context, initializer=_leave_with, initargs=(parent,)) as pool:
        try:
            running = {pool.submit(_do_and_keep, do, work, store): work for work in missing}
            pace.tell(missing[0])
            while running:
                for done in wait(running, return_when=FIRST_COMPLETED).done:
                    work = running.pop(done)
                    done.result()
                    pace.ended(work)
        except BrokenProcessPool:
            raise MemoryError(
                "A process was killed from outside, most often for want of memory; lower --jobs. What "
                "was done is kept: start again with the same --out."
            ) from None
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _do_and_keep(do: Do, work: Work, store: Store) -> None:
    store.put(work, do(work))


def _leave_with(parent: int) -> None:
    """End this process when the one that started it is gone, however it went."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


class _Pace:
    """How much is done, and how long the rest will take at the pace so far."""

    def __init__(self, missing: Sequence[Work], told: Told | None) -> None:
        self.told = told
        self.total, self.done = len(missing), 0
        self.cost, self.cost_done = sum(work.cost for work in missing), 0.0
        self.began = time.monotonic()

    def ended(self, work: Work) -> None:
        self.done += 1
        self.cost_done += work.cost
        self.tell(work)

    def tell(self, work: Work) -> None:
        if self.told is not None:
            share = self.cost_done / self.cost
            left = (time.monotonic() - self.began) * (1 / share - 1) if share else None
            self.told(State(work, self.done, self.total, share, left))
