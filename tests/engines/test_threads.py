import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_info

from consilience.engines import threads


def library_threads():
    """How many threads each BLAS and OpenMP library uses, by file."""
    # SciPy's Matrix Market reader, once used, is listed too, as a library of its own kind.
    kinds = ("blas", "openmp")
    return {lib["filepath"]: lib["num_threads"] for lib in threadpool_info() if lib["user_api"] in kinds}


@pytest.mark.parametrize("n_jobs", [0, True, False, 1.0, 2.5, "2", np.bool_(True), [1], np.float64(1)])
def test_what_is_no_number_of_threads_is_refused(n_jobs):
    with pytest.raises(ValueError, match="n_jobs must be None or a non-zero integer"), threads.limit(n_jobs):
        pass


@pytest.mark.parametrize("n_jobs", [1, 2, 7, np.int64(3)])
def test_limit_sets_the_count(n_jobs):
    before = threads.count()
    with threads.limit(n_jobs):
        assert threads.count() == n_jobs
        assert type(threads.count()) is int
    assert threads.count() == before


def test_nested_limits_are_restored_one_by_one():
    before = threads.count()
    with threads.limit(5):
        with threads.limit(2):
            with threads.limit(None):
                assert threads.count() == 2
            assert threads.count() == 2
        assert threads.count() == 5
    assert threads.count() == before


def test_limits_are_restored_after_an_exception():
    before, libraries = threads.count(), library_threads()
    with pytest.raises(KeyError), threads.limit(before + 1):
        raise KeyError
    assert threads.count() == before
    assert library_threads() == libraries


def test_without_a_limit_there_is_at_least_one_thread():
    assert threads.count() >= 1
    with threads.limit(None):
        assert threads.count() >= 1


def test_negative_numbers_count_back_from_the_cores_as_in_joblib():
    cores = joblib.cpu_count()
    for n_jobs, expected in ((-1, cores), (-2, max(1, cores - 1)), (-(10**6), 1)):
        with threads.limit(n_jobs):
            assert threads.count() == expected


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system cannot tie a process to cores")
def test_all_cores_are_those_that_the_process_may_use():
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        with threads.limit(-1):
            assert threads.count() == 1
    finally:
        os.sched_setaffinity(0, allowed)


def test_limit_reaches_the_libraries_and_lets_them_go():
    before = library_threads()
    assert before, "no BLAS or OpenMP library found: this test would show nothing"
    with threads.limit(1):
        assert set(library_threads().values()) == {1}
    assert library_threads() == before
    with threads.libraries_on_one_thread():
        assert set(library_threads().values()) == {1}
    assert library_threads() == before


def test_libraries_on_one_thread_leaves_our_own_kernels_their_threads():
    with threads.limit(3), threads.libraries_on_one_thread():
        assert threads.count() == 3


@given(st.integers(0, 300), st.integers(1, 60), st.integers(1, 9))
@settings(max_examples=80, deadline=None)
def test_ranges_cover_every_item_once(n_items, grain, n_threads):
    ranges = []
    with threads.limit(n_threads):
        threads.for_ranges(lambda start, stop: ranges.append((start, stop)), n_items, grain)
    covered = [item for start, stop in sorted(ranges) for item in range(start, stop)]
    assert covered == list(range(n_items))
    assert all(start % grain == 0 for start, _ in ranges)
    if n_items:
        assert all(start < stop for start, stop in ranges)


def test_as_many_threads_as_allowed_work_at_once():
    # The barrier opens only when all three have come to it.
    barrier = threading.Barrier(3)
    with threads.limit(3):
        threads.for_ranges(lambda start, stop: barrier.wait(timeout=60), 12)


@pytest.mark.parametrize(
    ("n_threads", "n_items", "grain"), [(1, 100, 1), (4, 100, 100), (4, 0, 1), (4, 1, 1)]
)
def test_little_work_stays_in_the_calling_thread(n_threads, n_items, grain):
    calls = []
    with threads.limit(n_threads):
        threads.for_ranges(lambda a, b: calls.append((threading.get_ident(), a, b)), n_items, grain)
    assert {thread for thread, _, _ in calls} == {threading.get_ident()}
    assert [item for _, a, b in calls for item in range(a, b)] == list(range(n_items))


@pytest.mark.parametrize("n_threads", [1, 4])
@pytest.mark.parametrize("bad", [0, 57, 99])
def test_exceptions_of_a_kernel_arrive(n_threads, bad):
    def kernel(start, stop):
        if start <= bad < stop:
            raise ZeroDivisionError(f"item {bad}")

    with threads.limit(n_threads):
        with pytest.raises(ZeroDivisionError, match=f"item {bad}"):
            threads.for_ranges(kernel, 100)
        done = []
        threads.for_ranges(lambda a, b: done.append(b - a), 100)
    assert sum(done) == 100


def test_several_python_threads_may_run_kernels_at_once():
    def work(seed):
        out = np.zeros(500)

        def kernel(start, stop):
            out[start:stop] += np.arange(start, stop) * seed

        with threads.limit(1 + seed % 3):
            for _ in range(20):
                threads.for_ranges(kernel, 500, grain=7)
        return out

    with ThreadPoolExecutor(6) as pool:
        for seed, found in enumerate(pool.map(work, range(12))):
            np.testing.assert_array_equal(found, np.arange(500) * seed * 20)


def test_a_limit_holds_in_its_own_python_thread_only():
    before, others = threads.count(), []
    with threads.limit(before + 3):
        other = threading.Thread(target=lambda: others.append(threads.count()))
        other.start()
        other.join()
    assert others == [before]


@pytest.mark.parametrize(
    "enter", [threads.libraries_on_one_thread, lambda: threads.limit(1)], ids=["one thread", "limit"]
)
@pytest.mark.parametrize("first_thread", ["main", "other"])
def test_overlapping_limits_of_two_python_threads_leave_the_libraries_as_they_were(enter, first_thread):
    # BLAS has one setting for the whole process, OpenMP one for each Python thread.
    first_in, second_in, first_out = threading.Event(), threading.Event(), threading.Event()
    meanwhile = []

    def first():
        with enter():
            first_in.set()
            assert second_in.wait(60)
        first_out.set()

    def second():
        assert first_in.wait(60)
        with enter():
            second_in.set()
            assert first_out.wait(60)
            meanwhile.append(set(library_threads().values()))

    before = library_threads()
    other = threading.Thread(target=second)
    other.start()
    if first_thread == "main":
        first()
    else:
        worker = threading.Thread(target=first)
        worker.start()
        worker.join()
    other.join()
    assert meanwhile == [{1}], "the limit of the second ended with that of the first"
    assert library_threads() == before


@pytest.mark.parametrize("n_threads", [1, 2])
def test_ranges_take_about_a_tenth_of_a_second(n_threads):
    took = []

    def kernel(start, stop):
        began = time.perf_counter()
        time.sleep(0.001 * (stop - start))
        took.append(time.perf_counter() - began)

    with threads.limit(n_threads):
        threads.for_ranges(kernel, 800)
    assert max(took) < 0.5  # all of it is 0.8 s of work


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="the system has no such signal")
@pytest.mark.parametrize("n_threads", [1, 2])
def test_an_interrupt_works_soon_and_ends_the_threads(n_threads):
    def stop(*_):
        raise KeyboardInterrupt

    done = []

    def kernel(a, b):
        time.sleep(0.001 * (b - a))
        done.append(b - a)

    before, handler = threading.active_count(), signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 0.4)
    began = time.perf_counter()
    try:
        with pytest.raises(KeyboardInterrupt), threads.limit(n_threads):
            threads.for_ranges(kernel, 60_000)  # a minute of work
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
    assert time.perf_counter() - began < 5
    assert threading.active_count() == before and sum(done) < 30_000
