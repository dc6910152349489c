import pytest

from consilience import threads, ticks


def test_shares_go_to_who_listens_and_to_nobody_else():
    heard = []
    ticks.tick(1, 2)
    with ticks.listening(heard.append):
        ticks.tick(1, 4)
        with ticks.listening(None):
            ticks.tick(1, 2)
        ticks.tick(5, 4)
        ticks.tick(1, 0)
    assert heard == [0.25, 1.0]


def test_parts_of_parts():
    heard = []
    with ticks.listening(heard.append), ticks.part(0.5, 1.0):
        ticks.tick(0, 3)
        with ticks.part(0.5, 1.0):
            ticks.tick(1, 2)
        ticks.tick(3, 3)
    assert heard == pytest.approx([0.5, 0.875, 1.0])
    with ticks.part(0.0, 0.5):  # nobody listens
        ticks.tick(1, 2)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_a_loop_tells_how_far_it_is_if_asked_to(n_threads):
    heard = []
    with ticks.listening(heard.append), threads.limit(n_threads):
        threads.for_ranges(lambda a, b: None, 1000)
        assert heard == []
        threads.for_ranges(lambda a, b: None, 1000, told=True)
    assert heard == sorted(heard) and heard[-1] == 1.0
