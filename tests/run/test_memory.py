import numpy as np
import pytest

from consilience.run import memory


def test_work_that_fits_passes_and_work_that_does_not_is_refused(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 2 * 2**30)
    memory.require(2**30, "It", "Take less.")
    with pytest.raises(MemoryError, match=r"It needs about 1.1 GiB .* 2.0 GiB that are free. Take less."):
        memory.require(1.1 * 2**30, "It", "Take less.")


def test_where_the_system_does_not_report_it_nothing_is_refused(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: None)
    memory.require(1e30, "It", "Take less.")


def test_the_limit_of_a_control_group_counts(monkeypatch):
    monkeypatch.setattr(memory, "_free_on_machine", lambda: 1000)
    monkeypatch.setattr(memory, "_free_in_group", lambda: 10)
    assert memory.available_bytes() == 10
    monkeypatch.setattr(memory, "_free_in_group", lambda: None)
    assert memory.available_bytes() == 1000


def test_what_is_free_is_about_what_can_be_taken():
    free = memory.available_bytes()
    assert free is None or free > np.zeros(10**6).nbytes
