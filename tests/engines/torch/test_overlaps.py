"""What lists have in common: counts against those with sets, in blocks of any size."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'gpu': consilience[gpu]")

from consilience.engines import get_engine
from consilience.engines.torch import device as devices
from consilience.engines.torch import overlaps
from consilience.engines.torch.device import Device

CPU, ORACLE = Device.of("cpu"), get_engine("numpy")
N, V = 150, 3
APART = ~np.eye(V, dtype=bool)


@pytest.fixture(params=[None, 1, 5000], ids=["one block", "single rows", "blocks"])
def blocks(request, monkeypatch):
    if request.param:
        monkeypatch.setitem(devices._BLOCK_BYTES, "cpu", request.param)


def random_lists(rng, k, n=N, n_ends=N):
    """Return k neighbours of each sample among the first ones, fewer for some samples, none for others."""
    lists = np.array([rng.permutation(n_ends)[:k] for _ in range(n)])
    own = np.arange(n)[:, None]
    lists = np.where(rng.random((n, k)) < 0.1, own, lists)
    return np.where(rng.random((n, 1)) < 0.05, own, lists).astype(np.int32)


def problem(seed, missing, widths=(7, 7, 7), n_ends=N):
    rng = np.random.default_rng(seed)
    lists = [random_lists(rng, k, n_ends=n_ends) for k in widths]
    mask = rng.random((N, len(widths))) < 0.7 if missing else None
    return lists, mask, overlaps.stack([torch.from_numpy(one) for one in lists], CPU)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("n_ends", [N, 20], ids=["everywhere", "hubs"])
def test_counts_are_those_of_sets(missing, n_ends, blocks):
    lists, mask, stacked = problem(0, missing, n_ends=n_ends)
    found, expected = overlaps.count_overlaps(stacked, mask), ORACLE.overlaps(ORACLE.stack(lists), mask)
    np.testing.assert_array_equal(found.shared, np.tril(expected.shared, -1))
    np.testing.assert_array_equal(found.pairs[APART], expected.pairs[APART])
    np.testing.assert_array_equal(found.n_seen, expected.n_seen)
    assert found.shared.dtype == found.pairs.dtype == np.float64 and found.n_seen.dtype == np.intp


def test_a_mask_that_leaves_nobody_out_is_none():
    _, _, stacked = problem(1, False)
    found = overlaps.count_overlaps(stacked, np.ones((N, V), dtype=bool))
    np.testing.assert_array_equal(found.pairs, overlaps.count_overlaps(stacked, None).pairs)


def test_views_that_have_no_sample_in_common():
    lists, _, stacked = problem(2, False)
    mask = np.arange(N)[:, None] % V == np.arange(V)
    found, expected = overlaps.count_overlaps(stacked, mask), ORACLE.overlaps(ORACLE.stack(lists), mask)
    np.testing.assert_array_equal(found.pairs[APART], expected.pairs[APART])
    assert not found.pairs[APART].any()


def test_one_view_and_lists_of_other_lengths(blocks):
    lists, mask, stacked = problem(3, True, (4, 1, 9))
    assert stacked.shape == (3, N, 9) and stacked.dtype == torch.int32
    assert bool((stacked.diff(dim=2) >= 0).all())
    expected = ORACLE.overlaps(ORACLE.stack(lists), mask)
    np.testing.assert_array_equal(overlaps.count_overlaps(stacked, mask).pairs[APART], expected.pairs[APART])
    alone = overlaps.count_overlaps(stacked[:1], None)
    np.testing.assert_array_equal(alone.pairs, ORACLE.overlaps(ORACLE.stack(lists[:1]), None).pairs)


def test_a_stack_leaves_the_lists_as_they_are():
    lists = torch.tensor([[2, 1], [2, 0], [1, 0]], dtype=torch.int32)
    assert overlaps.stack([lists, lists], CPU)[1].tolist() == [[1, 2], [0, 2], [0, 1]]
    assert lists.tolist() == [[2, 1], [2, 0], [1, 0]]


def test_the_number_of_pairs_of_edges_has_all_its_digits():
    """Of 10^8 edges there are more ordered pairs than a float counts one by one."""
    pairs = overlaps._pairs_of(10**8, 10**8, 10**8 + 2, 10**9, 10**7)
    assert pairs == [10**8, 10**7, 0, 2, 198 * 10**7, 10**16 - 10**8 - 10**7 - 2 - 198 * 10**7]


@pytest.mark.parametrize("missing", [False, True])
def test_confirmed_rates(missing, blocks):
    lists, mask, stacked = problem(4, missing, n_ends=30)
    rng = np.random.default_rng(0)
    votes, expected = rng.random((V, V)), 1 + rng.random((V, V))
    votes[2, 0] = votes[0, 2] = 0.0
    expected, units = (expected + expected.T) / 2, np.array([0.5, 0.0, 2.0])
    arguments = mask, votes, expected, units
    found = overlaps.confirmed_rates(stacked, *arguments)
    theirs = ORACLE.row_trust(ORACLE.stack(lists), *arguments)
    np.testing.assert_allclose(found.numpy(), theirs, rtol=1e-9)
    assert found.dtype == torch.float64 and bool((found[:, 1] == 1).all())


def test_rows_that_vary_no_more_than_by_chance_count_alike():
    own = torch.arange(N, dtype=torch.int32)[:, None]
    stacked = overlaps.stack([(own + 1) % N] * 2, CPU)  # one neighbour in common, everywhere
    votes, expected = 1 - np.eye(2), np.ones((2, 2))
    for units in (np.ones(2), np.zeros(2)):
        assert bool((overlaps.confirmed_rates(stacked, None, votes, expected, units) == 1).all())


def test_confirmed_places(blocks):
    lists, _, stacked = problem(5, False, n_ends=25)
    rng = np.random.default_rng(1)
    rows, places = rng.integers(0, N, 200), rng.integers(0, N, 200)
    places[:50] = rows[:50]
    others = rng.random((N, V)) < 0.7
    found = overlaps.count_confirmed(stacked, 1, others, rows, places)
    expected = ORACLE.confirmed(ORACLE.stack(lists), 1, others, rows, places)
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == np.int64 and found.max() > 3
    none = np.empty(0, dtype=np.intp)
    assert overlaps.count_confirmed(stacked, 1, others, none, none).shape == (0,)
