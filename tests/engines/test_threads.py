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
from consilience.run.progress import listening


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
def test_an_interrupt_works_soon_and_ends_the_work(n_threads):
    def stop(*_):
        raise KeyboardInterrupt

    done = []

    def kernel(a, b):
        time.sleep(0.001 * (b - a))
        done.append(b - a)

    handler = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 0.4)
    began = time.perf_counter()
    try:
        with pytest.raises(KeyboardInterrupt), threads.limit(n_threads):
            threads.for_ranges(kernel, 60_000)  # a minute of work
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
    assert time.perf_counter() - began < 5
    n_done = sum(done)
    assert n_done < 30_000
    time.sleep(0.3)
    assert sum(done) == n_done  # no thread goes on


def test_threads_are_kept_and_used_again():
    with threads.limit(4):
        for _ in range(50):
            threads.for_ranges(lambda a, b: time.sleep(1e-4), 40)
    ours = [one for one in threading.enumerate() if one.name.startswith("consilience")]
    assert 1 <= len(ours) < 30  # not one hundred and fifty


def test_a_kernel_may_run_kernels():
    done = []

    def outer(a, b):
        for _ in range(a, b):
            threads.for_ranges(lambda c, d: done.append(d - c), 10)

    with threads.limit(3):
        threads.for_ranges(outer, 20)
    assert sum(done) == 200


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own():
    with threads.limit(3):
        threads.for_ranges(lambda a, b: time.sleep(1e-3), 30)
        child = os.fork()
        if child == 0:
            done = []
            try:
                threads.for_ranges(lambda a, b: done.append(b - a), 30)
            finally:
                os._exit(sum(done))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 30


def parts_of(sizes, done, kernel=None):
    """Return parts that note what they do: which part, and which of its items."""

    def part(number, size):
        def make():
            done.append((number, "made"))
            return size, kernel or (lambda a, b: done.extend((number, item) for item in range(a, b)))

        return make

    return [part(number, size) for number, size in enumerate(sizes)]


@given(st.lists(st.integers(0, 60), max_size=8), st.integers(1, 6))
@settings(max_examples=60, deadline=None)
def test_parts_are_made_once_and_done_whole(sizes, n_threads):
    done = []
    with threads.limit(n_threads):
        threads.for_parts(parts_of(sizes, done))
    made = [number for number, what in done if what == "made"]
    assert made == list(range(len(sizes)))
    items = sorted(one for one in done if one[1] != "made")
    assert items == [(number, item) for number, size in enumerate(sizes) for item in range(size)]


def test_one_thread_has_one_part_at_a_time():
    done = []
    with threads.limit(1):
        threads.for_parts(parts_of([2, 1], done))
    assert done == [(0, "made"), (0, 0), (0, 1), (1, "made"), (1, 0)]


def test_threads_do_not_wait_for_the_end_of_a_part():
    """One thread is held up in the first part until another has come to the second."""
    reached = threading.Event()

    def first(a, b):
        if a == 0:
            assert reached.wait(60)

    parts = [lambda: (8, first), lambda: (8, lambda a, b: reached.set())]
    with threads.limit(2):
        threads.for_parts(parts)
    assert reached.is_set()


@pytest.mark.parametrize("n_threads", [1, 4])
@pytest.mark.parametrize("where", ["make", "kernel"])
def test_exceptions_of_parts_arrive(n_threads, where):
    def wrong(*_):
        raise ZeroDivisionError("here")

    done = []
    parts = parts_of([30, 30, 30], done)
    parts[1] = wrong if where == "make" else lambda: (30, wrong)
    with threads.limit(n_threads), pytest.raises(ZeroDivisionError, match="here"):
        threads.for_parts(parts)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_parts_report_progress(n_threads):
    seen = []
    with threads.limit(n_threads), listening(seen.append):
        threads.for_parts(parts_of([20, 20], []))
    assert seen and seen == sorted(seen) and seen[-1] == 1.0


def test_an_interrupt_while_helpers_are_called_ends_those_that_came(monkeypatch):
    done, calls, plain = [], [], ThreadPoolExecutor.submit

    def submit(pool, work):
        calls.append(work)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return plain(pool, work)

    def kernel(start, stop):
        time.sleep(0.001 * (stop - start))
        done.append(stop - start)

    monkeypatch.setattr(ThreadPoolExecutor, "submit", submit)
    with threads.limit(3), pytest.raises(KeyboardInterrupt):
        threads.for_ranges(kernel, 4000)
    ended = sum(done)
    time.sleep(0.2)
    assert sum(done) == ended < 4000


def test_a_part_that_is_stopped_while_it_is_made_does_nothing():
    done = []

    def make():
        part.stop()  # as another thread does after Ctrl-C
        return 5000, lambda start, stop: done.append(stop - start)

    part = threads._Part(make, 2)
    part.make()
    part.work(None)
    assert not done


def test_threads_do_not_grow_in_number():
    before = threading.active_count()
    with threads.limit(3):
        for _ in range(3000):
            threads.for_ranges(lambda start, stop: None, 6)
    assert threading.active_count() <= before + 2


def test_where_no_thread_can_be_begun_this_one_does_the_work(monkeypatch):
    def submit(pool, work):
        raise RuntimeError("cannot schedule new futures after interpreter shutdown")

    monkeypatch.setattr(ThreadPoolExecutor, "submit", submit)
    done = []
    with threads.limit(3):
        threads.for_ranges(lambda start, stop: done.append(stop - start), 600)
    assert sum(done) == 600
