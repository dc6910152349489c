"""How many threads to use, and running a compiled kernel over blocks with them.

Kernels release the interpreter lock and each call writes only its own slice of the output or its own
partial sum, so the result does not depend on how many threads there are or which one ran which block.
Plain threads are used instead of Numba's own parallel loops: they compile in a fraction of the time, and may
be used from several Python threads at once, with which Numba's default threading layer crashes.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from functools import cache, lru_cache
from numbers import Integral

import numba
from joblib import cpu_count
from threadpoolctl import ThreadpoolController

from ..run.progress import tick

_AIM = 0.1  # seconds that a range should take
_FIRST = 128  # the first range of a thread is this part of its share

_n_threads: ContextVar[int | None] = ContextVar("consilience_n_threads", default=None)


def count() -> int:
    """Return how many threads kernels use now."""
    limit = _n_threads.get()
    return int(getattr(numba.config, "NUMBA_NUM_THREADS")) if limit is None else limit  # noqa: B009


@contextmanager
def limit(n_jobs: int | None) -> Iterator[None]:
    """Use `n_jobs` threads for our kernels, BLAS and OpenMP inside the block.

    Parameters
    ----------
    n_jobs : int or None
        None leaves everything as it is: all the cores that the process may use, or what the usual
        environment variables and an enclosing joblib worker allow. A negative number counts back from
        the number of cores, as in joblib: -1 is all of them.
    """
    if n_jobs is None:
        yield
        return
    if not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool) or n_jobs == 0:
        raise ValueError(f"n_jobs must be None or a non-zero integer, got {n_jobs!r}.")
    number = int(n_jobs) if n_jobs > 0 else max(1, cpu_count() + 1 + int(n_jobs))
    token = _n_threads.set(number)
    try:
        with _limited_libraries(number):
            yield
    finally:
        _n_threads.reset(token)


def libraries_on_one_thread() -> AbstractContextManager[None]:
    """Keep BLAS and OpenMP to one thread inside the block, even if `limit` allows our own kernels more.

    For work that we distribute over threads ourselves, or that is too small for that: threads of a library
    wait for each other by spinning, which on a busy machine can take twenty times as long as one thread.
    """
    return _limited_libraries(1)


@contextmanager
def _limited_libraries(number: int) -> Iterator[None]:
    """Limit the libraries' threads inside the block.

    OpenMP has a separate number for each Python thread, BLAS one for the process: if several Python threads
    limit BLAS at once, the smallest limit is used, and the last one to end restores the number of before.
    """
    with _libraries().select(user_api="openmp").limit(limits=number):
        with _lock:
            _blas_limits.append(number)
            _limit_blas()
        try:
            yield
        finally:
            with _lock:
                _blas_limits.remove(number)
                _limit_blas()


def _limit_blas() -> None:
    libraries = _libraries().select(user_api="blas").lib_controllers
    for library in libraries:
        before = _blas_before.setdefault(library.filepath, library.num_threads)
        # In newer threadpoolctl only one Python thread can set this, until it gives up the right.
        release = getattr(library, "clear_controlling_thread", lambda force: None)
        release(force=True)
        library.set_num_threads(min(_blas_limits, default=before))
        release(force=True)
    if not _blas_limits:
        _blas_before.clear()


_lock = threading.Lock()
_blas_limits: list[int] = []
_blas_before: dict[str, int] = {}  # number of threads before the first limit, while there is one


def _libraries() -> ThreadpoolController:
    """Return the loaded libraries. The search takes milliseconds: it is done again only after new imports."""
    return _libraries_among(len(sys.modules))


@lru_cache(maxsize=1)
def _libraries_among(n_modules: int) -> ThreadpoolController:
    return ThreadpoolController()


def for_ranges(
    kernel: Callable[[int, int], object], n_items: int, grain: int = 1, *, reported: bool = False
) -> None:
    """Call `kernel(start, stop)` on consecutive ranges that cover `range(n_items)`.

    A range takes about a tenth of a second, as estimated from the ranges before: so Ctrl-C works at once, and
    threads end at about the same time.

    Parameters
    ----------
    kernel : callable
        Must release the interpreter lock to profit, and write only what belongs to its own range.
    n_items : int
        Number of items.
    grain : int, default=1
        Ranges begin at multiples of it, and fewer items than this never go to a second thread.
    reported : bool, default=False
        Whether to report progress (`run.progress.tick`): for the loop that takes most of the time of a stage.
    """
    n_grains = -(-n_items // grain)
    if n_grains <= 1:
        kernel(0, n_items)
        return
    n_threads = min(count(), n_grains)
    ranges = _Ranges(n_items, grain, n_threads)
    report = (lambda: tick(ranges.n_done, n_items)) if reported else None
    _with_helpers(lambda done: ranges.work(kernel, done), ranges.stop, n_threads, report)


def for_parts(parts: Sequence[Callable[[], tuple[int, Callable[[int, int], object]]]]) -> None:
    """Call the kernels of several parts on ranges, one part after another, without waiting in between.

    Parts are made while the one before them is worked on. So what is needed for all of them at once may be
    too large to be there at once, and threads still never wait for each other. Progress is reported.

    Parameters
    ----------
    parts : sequence of callable
        Each returns how many items its part has, and a kernel for them, as in `for_ranges`. Kernels of two
        parts may run at the same time.
    """
    n_threads = count()
    made = [_Part(make, n_threads) for make in parts]

    def work(done: Callable[[], object] | None) -> None:
        for number, part in enumerate(made):
            part.make()
            if n_threads > 1 and number + 1 < len(made):
                made[number + 1].make(only_if_free=True)
            part.work(done)

    def stop() -> None:
        for part in made:
            part.stop()

    _with_helpers(work, stop, n_threads, lambda: tick(sum(one.share_done for one in made), len(made)))


def _with_helpers(
    work: Callable[[Callable[[], object] | None], None],
    stop: Callable[[], None],
    n_threads: int,
    report: Callable[[], object] | None,
) -> None:
    """Call `work` in this thread and in some helpers at once, until all have ended.

    This thread works, too: so all of it gets done even if no helper is free, and nothing can wait for itself.

    Parameters
    ----------
    work : callable
        Takes what to call after each piece of work, or None.
    stop : callable
        Makes all calls of `work` end soon.
    n_threads : int
        Threads in all.
    report : callable or None
        Called in this thread after each piece of its work, and at the end.
    """

    def help_out() -> None:
        try:
            work(None)
        except BaseException:
            stop()
            raise

    helpers: list[Future[None]] = []
    try:
        with suppress(RuntimeError):  # no thread can be begun: then this one does the work
            for _ in range(n_threads - 1):  # in here, so that Ctrl-C between two of them stops the first, too
                helpers.append(_helpers(n_threads - 1).submit(help_out))
        work(report)
        running = [one for one in helpers if not one.cancel()]
        for one in running:
            one.result()
    except BaseException:
        stop()
        wait([one for one in helpers if not one.cancel()])
        raise
    if report is not None:
        report()


@cache
def _helpers(number: int) -> ThreadPoolExecutor:
    """Return the threads that help out: begun when they are first needed, and then kept for the next time.

    To begin sixteen threads takes milliseconds, as long as many a kernel. Calls that ask for as many share
    them: one that finds none free does its work alone.
    """
    return ThreadPoolExecutor(number, thread_name_prefix="consilience")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_helpers.cache_clear)  # a forked process has none of the threads


class _Part:
    """One part of `for_parts`: made by the first thread that comes to it, worked on by all."""

    def __init__(self, make: Callable[[], tuple[int, Callable[[int, int], object]]], n_threads: int) -> None:
        self._make, self._n_threads = make, n_threads
        self._making = threading.Lock()
        self._ranges: _Ranges | None = None
        self._kernel: Callable[[int, int], object] | None = None
        self._stopped = False

    def make(self, only_if_free: bool = False) -> None:
        """Make it, or wait until another thread has; if `only_if_free`, do not wait."""
        if self._making.acquire(blocking=not only_if_free):
            try:
                if self._ranges is None and not self._stopped:
                    n_items, self._kernel = self._make()
                    self._ranges = _Ranges(n_items, 1, self._n_threads)
                    if self._stopped:  # while it was made
                        self._ranges.stop()
            finally:
                self._making.release()

    def work(self, done: Callable[[], object] | None) -> None:
        """Run the kernel on ranges until none are left; call `done` after each."""
        ranges, kernel = self._ranges, self._kernel
        if ranges is not None and kernel is not None:
            ranges.work(kernel, done)
        self._kernel = None  # and what it holds: threads that still run it have it

    @property
    def share_done(self) -> float:
        """The share of its items that are done."""
        ranges = self._ranges
        return 0.0 if ranges is None else ranges.n_done / max(ranges.n_items, 1)

    def stop(self) -> None:
        """Give no more ranges."""
        self._stopped = True
        if self._ranges is not None:
            self._ranges.stop()


class _Ranges:
    """Ranges of items, given one after another to any number of threads.

    Parameters
    ----------
    n_items, grain, n_threads : int
        As in `for_ranges`.
    """

    def __init__(self, n_items: int, grain: int, n_threads: int) -> None:
        self.n_items, self.grain = n_items, grain
        self.n_done = 0
        self._next = 0
        self._lock = threading.Lock()
        # First a small part, because nothing is known; but hardly any time is lost on small work.
        first = -(-n_items // (_FIRST * n_threads))
        self._size = max(grain, first)
        # Not more than this at once: otherwise one thread would end long before another.
        self._longest = n_items if n_threads == 1 else max(grain, -(-n_items // (4 * n_threads)))

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return self

    def __next__(self) -> tuple[int, int]:
        with self._lock:
            start = self._next
            if start >= self.n_items:
                raise StopIteration
            n_grains = max(1, min(self._size, self._longest) // self.grain)
            self._next = min(self.n_items, start + n_grains * self.grain)
            return start, self._next

    def work(self, kernel: Callable[[int, int], object], done: Callable[[], object] | None) -> None:
        """Run a kernel on one range after another, until there are none left; call `done` after each."""
        for start, stop in self:
            began = time.perf_counter()
            kernel(start, stop)
            self._learn(stop - start, time.perf_counter() - began)
            if done is not None:
                done()

    def _learn(self, n_items: int, seconds: float) -> None:
        with self._lock:
            self.n_done += n_items
            wanted = n_items * _AIM / max(seconds, 1e-9)
            self._size = int(min(max(wanted, self.grain), 8 * max(n_items, self.grain)))

    def stop(self) -> None:
        """Give no more ranges."""
        with self._lock:
            self._next = self.n_items
