"""Votes of neighbours of neighbours, against SciPy's products."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'gpu': consilience[gpu]")

from consilience.engines import get_engine
from consilience.engines.torch import device as devices
from consilience.engines.torch import walks
from consilience.engines.torch.device import Device

CPU, ORACLE = Device.of("cpu"), get_engine("numpy")
N, K = 120, 6


def random_lists(seed, n_ends=N):
    rng = np.random.default_rng(seed)
    lists = np.array([rng.permutation(n_ends)[:K] for _ in range(N)])
    lists[:10] = np.arange(10)[:, None]  # these name nobody
    lists[10:, -1] = np.where(rng.random(N - 10) < 0.3, np.arange(10, N), lists[10:, -1])
    lists = np.where(lists == 0, np.arange(N)[:, None], lists)  # and the first is isolated
    return lists.astype(np.int32)


def both(lists, members):
    graph = walks.neighbor_graph(torch.from_numpy(lists), CPU)
    return walks.votes(graph, members), ORACLE.votes(ORACLE.neighbor_graph(lists), members)


@pytest.mark.parametrize("block", [1, 2000, 1 << 26])
@pytest.mark.parametrize("n_ends", [N, 12], ids=["everywhere", "hubs"])
def test_votes(block, n_ends, monkeypatch):
    monkeypatch.setitem(devices._BLOCK_BYTES, "cpu", block)
    members = np.random.default_rng(0).dirichlet(np.ones(4), N)
    members.setflags(write=False)
    found, expected = both(random_lists(1, n_ends), members)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    np.testing.assert_allclose(found[0], members.mean(axis=0), rtol=1e-9)  # nobody votes on it
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-9)


def test_the_graph_is_that_of_scipy():
    lists = random_lists(2)
    mine, theirs = walks.neighbor_graph(torch.from_numpy(lists), CPU), ORACLE.neighbor_graph(lists)
    np.testing.assert_allclose(mine.step.get().toarray(), theirs.step.toarray(), rtol=1e-12)
    np.testing.assert_allclose(mine.returns.numpy(), theirs.returns, rtol=1e-12)
    np.testing.assert_array_equal(mine.n_named.numpy(), theirs.n_named.ravel())


def test_nobody_has_a_neighbour():
    lists = np.arange(5, dtype=np.int32)[:, None].repeat(2, axis=1)
    found, expected = both(lists, np.eye(5)[:, :2])
    np.testing.assert_allclose(found, expected, rtol=1e-12)
