"""The strongest edges, symmetric graphs and their means on a device; the readable engine is the oracle."""

import numpy as np
import pytest
from scipy import sparse

torch = pytest.importorskip("torch", reason="needs the extra 'gpu': consilience[gpu]")

from consilience.engines import get_engine
from consilience.engines.torch import device as device_module
from consilience.engines.torch import graphs
from consilience.engines.torch.device import Device
from consilience.engines.torch.handles import DeviceEdges, DeviceGraph
from consilience.graphs import EdgeSet

CPU = Device.of("cpu")
ORACLE = get_engine("numpy")


@pytest.fixture(params=["in one block", "in many blocks"])
def blocks(request, monkeypatch):
    if request.param == "in many blocks":
        monkeypatch.setitem(device_module._BLOCK_BYTES, "cpu", 1000)


def random_edges(n, k, seed):
    """Rows of different lengths, some of them empty."""
    rng = np.random.default_rng(seed)
    neighbors = rng.integers(n, size=(n, k))
    neighbors[n // 2] = np.arange(k)
    empty = rng.random(n) < 0.2
    neighbors[empty] = np.flatnonzero(empty)[:, None]
    return EdgeSet.union([neighbors])


def values_of(kind, edges, seed=0):
    rng = np.random.default_rng(seed)
    if kind == "ties":
        return rng.integers(0, 4, edges.n_edges).astype(float)
    if kind == "nearly ties":
        return rng.integers(0, 4, edges.n_edges) * (1 + 1e-15 * rng.integers(0, 4, edges.n_edges))
    if kind == "tiny":
        return rng.integers(0, 9, edges.n_edges) * 5e-324
    if kind == "any size":
        return 10.0 ** rng.integers(-300, 300, edges.n_edges)
    if kind == "negative":
        return rng.normal(size=edges.n_edges)
    return rng.random(edges.n_edges).astype(kind)


KINDS = ["float64", "float32", "ties", "nearly ties", "tiny", "any size", "negative"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [1, 5, 10**6])
@pytest.mark.usefixtures("blocks")
def test_the_strongest_are_those_of_the_oracle(kind, k):
    edges = random_edges(200, 12, 1)
    values = values_of(kind, edges)
    placed = DeviceEdges.put(edges, CPU), CPU.put(values)
    marks = graphs.mark_strongest(*placed, k)
    np.testing.assert_array_equal(Device.get(marks), ORACLE.mark_strongest(edges, values, k))
    found, expected = graphs.keep_largest(*placed, k).get(), ORACLE.keep_largest(edges, values, k)
    assert found.dtype == expected.dtype
    assert found.has_canonical_format
    for part in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(found, part), getattr(expected, part))


@pytest.mark.parametrize("kind", KINDS)
def test_symmetric_graphs_are_those_of_the_oracle(kind):
    edges = random_edges(150, 9, 2)
    values = values_of(kind, edges)
    placed = DeviceEdges.put(edges, CPU), CPU.put(values)
    for name, arguments in (("sparsify", (4,)), ("symmetrize", ())):
        found = getattr(graphs, name)(*placed, *arguments)
        expected = getattr(ORACLE, name)(edges, values, *arguments)
        assert graphs.is_symmetric(found)
        found = found.get()
        assert found.dtype == expected.dtype
        assert found.nnz == expected.nnz and (found != expected).nnz == 0
        assert found.has_canonical_format


def test_another_shape_and_no_edges():
    edges = EdgeSet(np.array([0, 3, 5]), np.array([1, 4, 6, 0, 5]))  # two of several samples
    found = graphs.keep_largest(DeviceEdges.put(edges, CPU), CPU.put(np.array([2.0, 1, 3, 5, 4])), 2, (2, 7))
    np.testing.assert_array_equal(found.get().toarray(), [[0, 2, 0, 0, 0, 0, 3], [5, 0, 0, 0, 0, 4, 0]])
    nothing = DeviceEdges.put(EdgeSet.union([np.arange(5)[:, None]]), CPU), CPU.put(np.empty(0))
    for graph in (
        graphs.sparsify(*nothing, 3),
        graphs.symmetrize(*nothing),
        graphs.keep_largest(*nothing, 3),
    ):
        assert (graph.get().shape, graph.get().nnz) == ((5, 5), 0)


def test_another_number_of_values_is_an_error():
    edges = DeviceEdges.put(random_edges(20, 3, 0), CPU)
    with pytest.raises(ValueError, match=r"There are 2 values for \d+ edges"):
        graphs.keep_largest(edges, torch.ones(2), 3)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_means_of_graphs(dtype):
    rng = np.random.default_rng(3)
    parts = []
    for density in (0.02, 0.05, 0.01):
        upper = sparse.triu(sparse.random(120, 120, density, random_state=rng, dtype=dtype), 1)
        parts.append(sparse.csr_array(upper + upper.T))
    inside = sparse.diags((rng.random(120) < 0.8).astype(dtype))
    parts[0] = sparse.csr_array(inside @ parts[0] @ inside)  # some samples more are isolated
    shares = np.array([0.5, 0.3, 0.2])
    for count in (1, 2, 3):
        mine = graphs.mix([DeviceGraph.put(part, CPU) for part in parts[:count]], shares[:count])
        expected = ORACLE.mix(parts[:count], shares[:count])
        assert mine.data.dtype == torch.float64
        assert graphs.is_symmetric(mine)
        # The oracle adds up degrees in single precision.
        rtol = 1e-12 if dtype == np.float64 else 1e-6
        np.testing.assert_allclose(mine.get().toarray(), expected.toarray(), rtol=rtol)
        assert mine.get().has_canonical_format
