"""The approximate search on a device, next to comparing all pairs."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs

torch = pytest.importorskip("torch", reason="needs the extra 'gpu': consilience[gpu]")

from consilience.engines.torch import device as devices
from consilience.engines.torch.device import Device
from consilience.engines.torch.search import (
    region_search,
    region_table,
    regions,
)
from consilience.engines.torch.search.copies import Copies

CPU = Device.of("cpu")


def blobs(n, d, n_centers=20, dtype=np.float64):
    return make_blobs(n, d, centers=n_centers, cluster_std=1.5, random_state=0)[0].astype(dtype)


def squares(x, some):
    """Return the squared distances of some rows to all others, ascending."""
    x = x.astype(np.float64)
    apart = np.stack([((x - x[i]) ** 2).sum(axis=1) for i in some])
    apart[np.arange(len(some)), some] = np.inf
    return np.sort(apart, axis=1)


def check(x, k, found, recall):
    """Check lists on their own, and which share of the true neighbours of some rows is in them."""
    lists, n = found.lists.numpy(), len(x)
    assert lists.shape == (n, k) and lists.dtype == np.int32
    assert lists.min() >= 0 and lists.max() < n
    assert not (lists == np.arange(n)[:, None]).any()
    assert (np.diff(np.sort(lists, axis=1), axis=1) > 0).all()
    apart = ((x[lists].astype(np.float64) - x[:, None].astype(np.float64)) ** 2).sum(axis=2)
    np.testing.assert_allclose(found.squares.numpy(), apart, rtol=1e-12)
    assert (np.diff(apart, axis=1) >= -1e-11 * apart[:, 1:]).all()
    some = np.random.default_rng(1).choice(n, min(n, 300), replace=False)
    reach = squares(x, some)[:, k - 1 : k]
    assert (apart[some] <= reach * (1 + 1e-9)).mean() >= recall


@pytest.mark.parametrize(("n", "d"), [(8000, 1), (5000, 2), (6000, 16), (5000, 64)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_most_neighbours_are_found(n, d, dtype):
    x = blobs(n, d, dtype=dtype)
    found = regions.find_neighbors(torch.from_numpy(x), 10, CPU)
    assert found.report.search == "approximate" and found.report.n_regions > 90
    assert found.report.recall >= 0.99 and found.report.pairs < n / 4
    check(x, 10, found, 0.98)


@pytest.mark.parametrize("recall", [0.6, 0.9, 0.999])
def test_the_recall_sought_is_reached(recall):
    x = np.random.default_rng(0).normal(size=(4000, 12))
    lists, report = regions.approximate_neighbors(torch.from_numpy(x), 10, CPU, recall)
    assert recall <= report.recall < recall + 0.7 * (1 - recall)
    some = np.arange(300)
    apart = ((x[lists[:300].numpy()] - x[:300, None]) ** 2).sum(axis=2)
    near = apart <= squares(x, some)[:, 9:10] * (1 + 1e-9)
    assert near.mean() == pytest.approx(report.recall, abs=0.03)


def test_effort_is_raised_until_the_recall_is_reached(monkeypatch):
    wanted = []
    least_effort = regions.Regions.least_effort

    def too_little(self, rows, queries, nearest, recall, device):
        wanted.append(recall)
        return least_effort(self, rows, queries, nearest, recall - 0.1 / len(wanted) ** 3, device)

    monkeypatch.setattr(regions.Regions, "least_effort", too_little)
    x = torch.from_numpy(np.random.default_rng(0).normal(size=(3000, 8)))
    assert regions.approximate_neighbors(x, 10, CPU, 0.95)[1].recall >= 0.95
    assert len(wanted) > 1 and wanted == sorted(wanted)


def test_a_search_declines_where_all_pairs_cost_less():
    x = torch.from_numpy(np.random.default_rng(0).normal(size=(2000, 50)))
    assert regions.find_neighbors(x, 10, CPU, may_decline=True) is None
    assert regions.find_neighbors(torch.from_numpy(blobs(6000, 2)), 10, CPU, may_decline=True) is not None


def test_the_same_in_every_run_and_with_small_blocks(monkeypatch):
    x = torch.from_numpy(blobs(2000, 3))
    first, again = (regions.find_neighbors(x, 8, CPU) for _ in range(2))
    assert torch.equal(first.lists, again.lists) and first.report == again.report
    monkeypatch.setitem(devices._BLOCK_BYTES, "cpu", 1 << 16)
    monkeypatch.setitem(region_search._WAITING, "cpu", 500)
    monkeypatch.setitem(region_search._PAIRS, "cpu", 3000)
    monkeypatch.setattr(region_search, "_QUERIES", 100)
    small = regions.find_neighbors(x, 8, CPU)
    assert (small.lists == first.lists).double().mean() > 0.999
    check(x.numpy(), 8, small, 0.98)


@pytest.mark.parametrize("k", [3, 40])
def test_regions_together_begin_as_each_alone(monkeypatch, k):
    rng = np.random.default_rng(0)
    parts = [rng.normal(size=(size, 6)) + 20 * rng.normal(size=6) for size in (400, 150, 60, 20, 8, 2, 1)]
    x = torch.from_numpy(np.concatenate(parts))
    table = region_table.Regions.among(x, 12, rng, CPU)

    def begun():
        search = region_search._Search(x, k, table, CPU)
        search.begin()
        return search.lists, search._far

    lists, far = begun()
    monkeypatch.setitem(devices._BLOCK_BYTES, "cpu", 1)  # not even one region is small enough
    alone, far_alone = begun()
    assert (lists < 0).any() and torch.equal(lists, alone)
    torch.testing.assert_close(far, far_alone, rtol=1e-5, atol=1e-3)  # as precise as lengths of 20 are


@pytest.mark.parametrize("n", [2, 5, 11, 39, 40, 41, 100])
def test_few_rows(n):
    x = np.random.default_rng(n).normal(size=(n, 3))
    k = min(10, n - 1)
    found = regions.find_neighbors(torch.from_numpy(x), k, CPU)
    assert found.report.search == ("exact" if n < 40 else "approximate")
    check(x, k, found, 0.95)
    if n < 40:
        np.testing.assert_allclose(found.squares.numpy(), squares(x, np.arange(n))[:, :k])


def test_equally_near_ones_are_in_the_order_of_their_numbers():
    x = np.arange(30.0)[::-1, None].copy()
    lists, _ = regions.approximate_neighbors(torch.from_numpy(x), 2, CPU)
    assert lists[10].tolist() == [9, 11]


@pytest.mark.parametrize(
    "counts",
    [[5000], [2500, 2500], [200] * 25, [1] * 2999 + [2000], [3] * 1500, [4990] + [1] * 10],
    ids=["all", "halves", "groups", "one large", "few each", "hardly any others"],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_copies(counts, dtype):
    rng = np.random.default_rng(0)
    x = np.repeat(rng.normal(size=(len(counts), 4)).astype(dtype), counts, axis=0)
    x = x[rng.permutation(len(x))]
    check(x, 10, regions.find_neighbors(torch.from_numpy(x), 10, CPU), 0.97)


def test_copies_are_told_apart_from_rows_with_the_same_mark(monkeypatch):
    monkeypatch.setattr(
        "consilience.engines.torch.search.copies._marks", lambda rows, device: device.zeros(len(rows))
    )
    x = torch.tensor([[0.0], [-0.0], [1.0]]).repeat_interleave(300, dim=0)
    copies = Copies.among(x, CPU)
    assert copies.first.tolist() == [0, 600] and copies.starts.tolist() == [0, 600, 900]


def test_zeros_of_both_signs_are_copies():
    x = np.where(np.random.default_rng(0).random((400, 2)) < 0.5, 0.0, -0.0)
    assert len(Copies.among(torch.from_numpy(x), CPU).first) == 1


def test_rows_of_very_different_size():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3000, 5))
    x[0], x[1] = 1e30, 1e25
    check(x, 10, regions.find_neighbors(torch.from_numpy(x), 10, CPU), 0.97)
    # Clusters that single precision would merge, seen from the middle of all.
    x = 1e-7 * blobs(3000, 4, 5) + 1e3 * rng.normal(size=(5, 4))[rng.integers(0, 5, 3000)]
    check(x, 10, regions.find_neighbors(torch.from_numpy(x), 10, CPU), 0.97)


def test_regions_of_very_different_size():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(size=(3000, 4)), 1e-6 * rng.normal(size=(3000, 4)), [[50.0, 0, 0, 0]]])
    check(x, 10, regions.find_neighbors(torch.from_numpy(x), 10, CPU), 0.97)
