"""Shares of work that are done go to a listener, from parts of a stage and from loops on threads."""

import pytest

from consilience.engines import threads
from consilience.run.progress import listening, part, tick


def test_shares_go_to_the_listener_and_to_nothing_else():
    shares = []
    tick(1, 2)
    with listening(shares.append):
        tick(1, 4)
        with listening(None):
            tick(1, 2)
        tick(5, 4)
        tick(1, 0)
    assert shares == [0.25, 1.0]


def test_parts_of_parts():
    shares = []
    with listening(shares.append), part(0.5, 1.0):
        tick(0, 3)
        with part(0.5, 1.0):
            tick(1, 2)
        tick(3, 3)
    assert shares == pytest.approx([0.5, 0.875, 1.0])
    with part(0.0, 0.5):  # without a listener
        tick(1, 2)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_a_loop_reports_how_far_it_is_if_asked_to(n_threads):
    shares = []
    with listening(shares.append), threads.limit(n_threads):
        threads.for_ranges(lambda a, b: None, 1000)
        assert shares == []
        threads.for_ranges(lambda a, b: None, 1000, reported=True)
    assert shares == sorted(shares) and shares[-1] == 1.0
