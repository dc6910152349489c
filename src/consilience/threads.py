"""How many threads to use, and running a compiled kernel over blocks with them.

Kernels release the interpreter lock and each call writes only its own slice of the output or its own
partial sum, so the result does not depend on how many threads there are or which one ran which block.
Plain threads instead of Numba's own parallel loops: these compile in a fraction of the time, and may be
used from several Python threads at once, which Numba's default threading layer does not survive.
"""

from __future__ import annotations

import itertools
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import lru_cache
from numbers import Integral

import numba
from joblib import cpu_count
from threadpoolctl import ThreadpoolController

_n_threads: ContextVar[int | None] = ContextVar("consilience_n_threads", default=None)


def count() -> int:
    """Return how many threads kernels use now."""
    limit = _n_threads.get()
    return int(getattr(numba.config, "NUMBA_NUM_THREADS")) if limit is None else limit  # noqa: B009


@contextmanager
def limit(n_jobs: int | None) -> Iterator[None]:
    """Use `n_jobs` threads for our kernels, BLAS and OpenMP alike inside the block.

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
    """Keep BLAS and OpenMP to one thread inside the block, whatever `limit` allows our own kernels.

    For work that we spread over threads ourselves, or that is too small to spread: threads of a library
    wait for each other by spinning, which on a busy machine can take twenty times as long as one thread.
    """
    return _limited_libraries(1)


@contextmanager
def _limited_libraries(number: int) -> Iterator[None]:
    """Limit the libraries' threads inside the block.

    OpenMP keeps the number for each Python thread apart, BLAS one for the process: of limits on BLAS that
    several Python threads set at once the least holds, and the last to leave restores what was before.
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
        # Newer threadpoolctl lets only one Python thread set this, until it gives up the right.
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
    """Return the libraries loaded. Looking for them takes milliseconds: again only after new imports."""
    return _libraries_among(len(sys.modules))


@lru_cache(maxsize=1)
def _libraries_among(n_modules: int) -> ThreadpoolController:
    return ThreadpoolController()


def for_ranges(kernel: Callable[[int, int], object], n_items: int, grain: int = 1) -> None:
    """Call `kernel(start, stop)` on consecutive ranges that cover `range(n_items)`.

    Parameters
    ----------
    kernel : callable
        Must release the interpreter lock to profit, and write only what belongs to its own range.
    n_items : int
        Number of items.
    grain : int, default=1
        Ranges begin at multiples of it, and fewer items than this never go to a second thread.
    """
    n_grains = -(-n_items // grain)
    n_threads = min(count(), n_grains)
    if n_threads <= 1:
        kernel(0, n_items)
        return
    # Some four ranges per thread even out ranges that take different times.
    n_ranges = min(n_grains, 4 * n_threads)
    bounds = [min(n_items, grain * (n_grains * r // n_ranges)) for r in range(n_ranges + 1)]
    with ThreadPoolExecutor(n_threads) as pool:
        try:
            for done in [pool.submit(kernel, a, b) for a, b in itertools.pairwise(bounds)]:
                done.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
