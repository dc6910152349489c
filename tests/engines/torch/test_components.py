import numpy as np
import pytest
from scipy import sparse

torch = pytest.importorskip("torch", reason="needs the extra 'gpu': consilience[gpu]")

from consilience.engines.torch.device import Device
from consilience.engines.torch.handles import DeviceGraph
from consilience.engines.torch.spectrum.components import find_components
from consilience.spectra import NormalizedLaplacian


def components(graph):
    return Device.get(find_components(DeviceGraph.put(graph, Device.of("cpu"))))


def symmetric(rows, columns, n):
    half = sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(n, n))
    return sparse.csr_array(half + half.T)


@pytest.mark.parametrize("n_edges", [0, 1, 50, 100, 150, 300, 2000])
def test_random_graphs(n_edges):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        graph = symmetric(*rng.integers(0, 300, (2, n_edges)), 300)
        np.testing.assert_array_equal(components(graph), NormalizedLaplacian(graph).components)


@pytest.mark.parametrize("in_order", [True, False])
def test_long_rings_and_paths_take_few_rounds(in_order, monkeypatch):
    n, rounds = 20_000, []
    order = np.arange(n) if in_order else np.random.default_rng(0).permutation(n)
    minimum = torch.minimum
    monkeypatch.setattr(torch, "minimum", lambda *pair: rounds.append(1) or minimum(*pair))
    graph = symmetric(order[: n // 2], np.roll(order[: n // 2], 1), n)  # a ring; the others in a path
    graph = graph + symmetric(order[n // 2 : -1], order[n // 2 + 1 :], n)
    np.testing.assert_array_equal(components(graph), NormalizedLaplacian(graph).components)
    assert len(rounds) <= 30


def test_a_self_loop_is_a_component_and_a_star_is_one():
    graph = sparse.csr_array((np.ones(1), ([1], [1])), shape=(3, 3))
    np.testing.assert_array_equal(components(graph), [-1, 0, -1])
    star = symmetric(np.full(9, 9), np.arange(9), 10)
    np.testing.assert_array_equal(components(star), np.zeros(10))
