"""Eigenvectors on a device by its own method for many samples, with few taken for many."""

import numpy as np
import pytest
from scipy import sparse

torch = pytest.importorskip("torch", reason="needs the extra 'gpu': consilience[gpu]")

from tests.engines.torch.device_graphs import GRAPHS, copies, planted, random_graph, ring

from consilience.engines import embedding
from consilience.engines.torch.device import Device
from consilience.engines.torch.handles import DeviceGraph
from consilience.engines.torch.spectrum import vectors as spectrum
from consilience.engines.torch.spectrum.laplacian import DeviceLaplacian
from consilience.spectra import EigensolverError, NormalizedLaplacian, eigenvectors

CPU = Device.of("cpu")
BY_HOST = embedding.leading_vectors


@pytest.fixture
def asked(monkeypatch):
    """Take few samples for many, and say how often the host was asked."""
    calls = []
    monkeypatch.setattr(spectrum, "SMALL", 50)
    monkeypatch.setattr(
        embedding, "leading_vectors", lambda *args, **more: calls.append(1) or BY_HOST(*args, **more)
    )
    return calls


def solve(graph, n_vectors, tol=None, seed=0):
    return spectrum.leading_vectors(DeviceGraph.put(graph, CPU), n_vectors, tol, seed, CPU)


def assert_right(graph, n_vectors, tol):
    """Check everything but the subspace, which is returned with that of the host."""
    found, expected = solve(graph, n_vectors, tol), BY_HOST(graph, n_vectors, None, 0)
    vectors = Device.get(found.vectors)
    assert vectors.dtype == np.float64 and vectors.shape == (graph.shape[0], n_vectors)
    for count in ("n_connected", "n_isolated", "n_dropped"):
        assert getattr(found, count) == getattr(expected, count)
    np.testing.assert_allclose(found.eigenvalues, expected.eigenvalues, rtol=0, atol=max(tol**2, 1e-9))
    laplacian, known = NormalizedLaplacian(graph), ~np.isnan(expected.eigenvalues)
    image = laplacian @ vectors - vectors * np.where(known, found.eigenvalues, 0.0)
    residuals = np.where(known, np.linalg.norm(image, axis=0), np.nan)
    np.testing.assert_allclose(found.residuals, residuals, atol=1e-12)
    assert np.max(residuals, where=known, initial=0.0) <= tol
    assert (np.diff(found.eigenvalues[known]) >= 0).all()
    assert (vectors[laplacian.isolated] == 0).all() and (vectors[:, ~known] == 0).all()
    np.testing.assert_array_equal(embedding.signs(vectors), 1.0)
    return vectors, expected.vectors


def assert_span(one, other, atol):
    np.testing.assert_allclose(one @ one.T, other @ other.T, atol=atol)


@pytest.mark.parametrize(("tol", "atol"), [(1e-5, 1e-3), (1e-10, 1e-8)])
def test_classes(asked, tol, atol):
    found, expected = assert_right(planted(2000, 8, 0.05), 8, tol)
    assert_span(found, expected, atol)
    assert np.abs(found - expected).max() <= atol  # signs too
    assert not asked


@pytest.mark.parametrize("name", GRAPHS)
def test_hard_graphs(asked, name):
    make, n_wanted = GRAPHS[name]
    assert_right(make(), n_wanted, 1e-10)


def test_components_and_isolated_samples(asked):
    parts = [planted(300, 2, 0.02, seed=i) for i in range(4)]
    alone = sparse.csr_array((7, 7))
    graph = sparse.csr_array(sparse.block_diag([alone, *parts[:2], alone, *parts[2:]]))
    found, expected = assert_right(graph, 8, 1e-10)
    assert_span(found, expected, 1e-8)
    assert_span(found[:, :4], NormalizedLaplacian(graph).null_space(), 1e-12)
    found, expected = assert_right(graph, 4, 1e-10)  # no more than the components
    assert_span(found, expected, 1e-12)
    assert not asked


def test_more_components_than_vectors(asked):
    parts = [random_graph(size, 12, size) for size in (60, 90, 60, 120, 80)]
    found, expected = assert_right(sparse.csr_array(sparse.block_diag(parts)), 3, 1e-10)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert not asked


def test_copies_of_all_eigenvalues(asked):
    for seed in range(5):
        found = solve(copies(random_graph(25, 12, 3), 15), 30, seed=seed)
        np.testing.assert_allclose(found.eigenvalues[:15], 0.0, atol=1e-12)
        np.testing.assert_allclose(found.eigenvalues[15:], found.eigenvalues[15], atol=1e-8)
    assert not asked


def test_few_samples_are_solved_as_by_the_other_engines():
    graph = planted(300, 4, 0.05)
    found, expected = solve(graph, 5), BY_HOST(graph, 5, None, 0)
    np.testing.assert_array_equal(Device.get(found.vectors), expected.vectors)
    np.testing.assert_array_equal(found.residuals, expected.residuals)


@pytest.mark.parametrize("graph", [sparse.csr_array((60, 60)), sparse.csr_array(np.diag(np.arange(70.0)))])
def test_nothing_but_isolated_samples_or_loops(asked, graph):
    assert_right(graph, 3, 1e-10)
    assert not asked


def test_few_that_are_not_isolated_and_many_vectors_are_for_the_host(asked):
    graph = sparse.csr_array(sparse.block_diag([planted(40, 2, 0.1), sparse.csr_array((60, 60))]))
    assert_right(graph, 45, 1e-9)
    assert_right(planted(100, 4, 0.05), 30, 1e-9)
    assert len(asked) == 2


def test_a_thin_graph_is_solved_by_the_host(asked, monkeypatch):
    monkeypatch.setattr(spectrum, "_PATIENCE", 50)
    found, expected = assert_right(ring(1200), 5, 1e-5)
    assert_span(found, expected, 1e-6)
    assert len(asked) == 1


def test_the_device_goes_on_where_a_thin_graph_cannot_be_factorised(asked, monkeypatch):
    monkeypatch.setattr(spectrum, "_PATIENCE", 20)
    monkeypatch.setattr(eigenvectors, "LARGE", 50)
    monkeypatch.setattr(eigenvectors, "_MAX_ENVELOPE", 0)
    vectors = Device.get(solve(ring(1000), 5).vectors)
    expected = BY_HOST(ring(1000), 5, None, 0).vectors
    assert_span(vectors, expected, 1e-3)
    assert len(asked) == 1


def test_a_failure_is_an_error_that_names_the_residual(asked, monkeypatch):
    monkeypatch.setattr(spectrum, "_PATIENCE", 5)
    monkeypatch.setattr(eigenvectors, "LARGE", 50)
    for limit in ("_PATIENCE", "_MAX_PRODUCTS", "_MAX_ENVELOPE"):
        monkeypatch.setattr(eigenvectors, limit, 5)
    with pytest.raises(EigensolverError, match=r"best: 0\.\d+.*n_neighbors"):
        solve(planted(800, 8, 0.05), 12)


@pytest.mark.parametrize("scale", [1e-300, 5e-320, 1e300, 1.0])
def test_the_unit_of_the_weights_does_not_matter(asked, scale):
    graph = planted(400, 4, 0.05)
    graph.data[:] = np.round(graph.data) + 1
    expected = Device.get(solve(graph, 4).vectors)
    graph.data *= scale
    np.testing.assert_allclose(Device.get(solve(graph, 4).vectors), expected, atol=1e-4)
    assert not asked


def test_graphs_are_checked(asked):
    graph = planted(200, 2, 0.05).tolil()
    graph[0, 1] = graph[1, 0] = -1.0
    with pytest.raises(ValueError, match="must not be negative"):
        solve(sparse.csr_array(graph), 2)
    graph[0, 1] = 1.0
    graph[1, 0] = 2.0
    with pytest.raises(ValueError, match="must be symmetric"):
        solve(sparse.csr_array(graph), 2)
    graph[1, 0] = np.nan
    with pytest.raises(ValueError, match="must be finite"):
        solve(sparse.csr_array(graph), 2)
    with pytest.raises(ValueError, match="must be square"):
        solve(sparse.csr_array(np.ones((60, 61))), 2)
    with pytest.raises(ValueError, match="tol must be positive"):
        solve(ring(100), 2, tol=0.0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_rounding_and_stored_zeros_are_removed(asked, dtype):
    graph = planted(300, 3, 0.05)
    graph.data[:] = np.ceil(4 * graph.data)
    expected = Device.get(solve(graph, 3).vectors)
    other = graph.astype(dtype)
    if dtype == np.float64:
        other.data *= 1 + 1e-12 * np.random.default_rng(0).random(other.nnz)
    handle = DeviceGraph.put(other, CPU)
    laplacian = DeviceLaplacian.of(handle)
    assert laplacian.adjacency.data.dtype == torch.float64
    np.testing.assert_allclose(Device.get(solve(other, 3).vectors), expected, atol=1e-4)
    data = handle.data.clone()
    row = slice(int(handle.indptr[7]), int(handle.indptr[8]))
    data[row] = 0
    data[handle.columns == 7] = 0
    emptied = DeviceLaplacian.of(DeviceGraph(handle.indptr, handle.indices, data, handle.shape))
    assert int(emptied.components[7]) == -1 and emptied.n_kept == 299
    assert (emptied.adjacency.data > 0).all()


def test_one_seed_one_result(asked):
    graph = planted(600, 6, 0.05)
    one, again, other = (solve(graph, 6, seed=seed).vectors for seed in (1, 1, 2))
    assert torch.equal(one, again)
    assert not torch.equal(one, other)


def test_the_argument_stays_as_it_is(asked):
    graph = DeviceGraph.put(planted(300, 3, 0.05), CPU)
    before = graph.data.clone()
    spectrum.leading_vectors(graph, 3, None, 0, CPU)
    assert torch.equal(graph.data, before)


def test_signs_are_those_of_the_host(monkeypatch):
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(50, 6))
    vectors[:, 1] = 0.0
    vectors[[3, 41], 2] = [-9.0, 9.0]
    vectors[[12, 44], 3] = [-9.0 * (1 - 1e-7), -9.0]
    expected = vectors * embedding.signs(vectors)
    for columns in (32, 4):
        monkeypatch.setattr(spectrum, "_COLUMNS", columns)
        found = CPU.put(vectors.copy())
        spectrum.fix_signs(found)
        np.testing.assert_array_equal(found, expected)


def test_small_functions():
    values = np.random.default_rng(0).normal(size=(20, 4))
    vectors = CPU.put(values)
    assert spectrum.n_rows(vectors) == 20
    rows = np.array([3, 1, 1])
    rows.flags.writeable = False
    np.testing.assert_array_equal(spectrum.take(vectors, rows), values[rows])
    first = spectrum.first_columns(vectors, 2)
    assert first.is_contiguous()
    np.testing.assert_array_equal(first, values[:, :2])
