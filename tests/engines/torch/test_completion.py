"""Imputed edges on a device, against the readable engine."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'gpu': consilience[gpu]")

from consilience.engines import get_engine
from consilience.engines.torch import completion
from consilience.engines.torch import device as devices
from consilience.engines.torch.device import Device
from consilience.engines.torch.handles import DeviceEdges
from consilience.graphs import EdgeSet

CPU, ORACLE = Device.of("cpu"), get_engine("numpy")


def problem(n=120, v=3, k=4, seed=0):
    """Return edges among samples that each view has seen, values on them, the mask and view weights."""
    rng = np.random.default_rng(seed)
    mask = rng.random((n, v)) < 0.6
    mask[np.arange(n), rng.integers(v, size=n)] = True
    mask[-1] = np.arange(v) == 0
    lists = []
    for seen in mask.T:
        one = np.tile(np.arange(n)[:, None], k)
        one[seen] = rng.choice(np.flatnonzero(seen), size=(seen.sum(), k))
        one[-1] = n - 1  # an isolated sample
        lists.append(np.where(one == n - 1, np.arange(n)[:, None], one))
    edges = EdgeSet.union(lists, mask)
    values = rng.random(edges.n_edges)
    values[rng.random(edges.n_edges) < 0.1] = 0.0
    return edges, values, mask, rng.uniform(0.5, 2, size=v)


def imputed(edges, values, *more):
    found, numbers = completion.impute(DeviceEdges.put(edges, CPU), CPU.put(values), *more)
    return found.get(), numbers.numpy()


@pytest.mark.parametrize("size", [1 << 26, 20000, 1])
@pytest.mark.parametrize("v", [2, 3, 64])
def test_edges_are_completed_as_by_the_readable_engine(size, v, monkeypatch):
    monkeypatch.setitem(devices._BLOCK_BYTES, "cpu", max(size, 20000) if v > 3 else size)
    edges, values, mask, view_weights = problem(v=v, n=40 if size == 1 else 120)
    expected, numbers = ORACLE.impute(edges, values, mask, view_weights, 4)
    found, mine = imputed(edges, values, mask, view_weights, 4)
    assert found == expected
    np.testing.assert_allclose(mine, numbers, rtol=1e-12)


def test_without_common_neighbours_everything_stays():
    edges = EdgeSet(np.array([0, 1, 2, 2]), np.array([1, 0]), np.array([[True, True], [False, True]]))
    mask = np.array([[True, False], [True, True], [True, True]])
    values = np.array([0.5, 0.25])
    found, mine = imputed(edges, values, mask, np.ones(2), 1)
    assert found == edges
    np.testing.assert_array_equal(mine, values)
