"""The spectral step on graphs that are large enough for the methods of large graphs."""

import warnings

import numpy as np
import pytest
from scipy import sparse

from consilience.engines import get_engine, threads
from consilience.engines.numba import large_kmeans
from consilience.engines.numba.spectrum.whole_graph import KERNELS
from consilience.spectra import NormalizedLaplacian
from consilience.stages import assign_cluster_qr, assign_kmeans, spectral_embedding


def planted(n, n_classes, seed):
    """Each sample has 6 edges within its class, and one to anywhere."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    within = (rng.integers(0, n // n_classes, (n, 6)) * n_classes + y[:, None]) % n
    other = np.hstack([within, rng.integers(0, n, (n, 1))])
    half = sparse.csr_array((np.ones(7 * n), (np.repeat(np.arange(n), 7), other.ravel())), shape=(n, n))
    return sparse.csr_array(half + half.T), y


@pytest.fixture(scope="module")
def graph():
    """Two components, of four and of two classes, and three isolated samples."""
    (first, y), (second, z) = planted(16_000, 4, 0), planted(8_000, 2, 1)
    whole = sparse.csr_array(sparse.block_diag([first, sparse.csr_array((3, 3)), second]))
    return whole, np.concatenate([y, np.full(3, -1), z + 4])


@pytest.fixture(scope="module")
def embedding(graph):
    with threads.limit(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return spectral_embedding(graph[0], 6, random_state=0)


def test_residuals_are_reported_and_small(graph, embedding):
    operator = NormalizedLaplacian(graph[0])
    u, values = embedding.vectors, embedding.eigenvalues
    image = u - operator.adjacency @ u
    image[operator.isolated] = 0.0
    np.testing.assert_allclose(embedding.residuals, np.linalg.norm(image - u * values, axis=0), atol=1e-12)
    assert (embedding.residuals <= 1e-5).all()
    assert embedding.residuals.max() > 1e-9  # it was not the solver of small graphs
    assert (values[:2] < 1e-15).all()
    assert 0.01 < values[2] <= values[5] < 0.5
    assert (np.diff(values) >= 0).all()
    np.testing.assert_allclose(u.T @ u, np.eye(6), atol=1e-12)
    assert not u[16_000:16_003].any()


def test_the_same_on_two_threads(graph, embedding):
    with threads.limit(2), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        again = spectral_embedding(graph[0], 6, random_state=0)
    np.testing.assert_array_equal(again.vectors, embedding.vectors)
    np.testing.assert_array_equal(again.eigenvalues, embedding.eigenvalues)


@pytest.mark.parametrize("many", [True, False])
def test_classes_are_found(graph, embedding, many, monkeypatch):
    monkeypatch.setattr(large_kmeans, "MANY", 1000 if many else 10**9)
    seen = graph[1] >= 0
    for labels in (assign_kmeans(embedding, 6, n_init=3, random_state=0), assign_cluster_qr(embedding, 6)):
        pairs = np.unique(np.stack([graph[1], labels])[:, seen], axis=1)
        assert pairs.shape[1] == 6


def test_a_tight_tolerance_is_kept(graph, embedding):
    with threads.limit(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        tight = spectral_embedding(graph[0], 6, tol=1e-10, random_state=1)
    assert (tight.residuals <= 1e-10).all()
    off = embedding.vectors - tight.vectors @ (tight.vectors.T @ embedding.vectors)
    assert np.linalg.norm(off, 2) < 1e-4


def test_products_of_large_graphs_agree_with_those_of_small_ones(graph):
    operator = NormalizedLaplacian(graph[0])
    x = np.random.default_rng(0).normal(size=(operator.shape[0], 5))
    blocked = NormalizedLaplacian(graph[0], KERNELS)
    np.testing.assert_allclose(blocked @ x, operator @ x, atol=1e-13)
    np.testing.assert_allclose(blocked @ x[:, 0], operator @ x[:, 0], atol=1e-13)


def test_the_readable_engine_finds_the_same_to_the_tolerance(graph, embedding):
    with threads.limit(1):
        tight = spectral_embedding(
            graph[0], 6, random_state=0, engine=get_engine("numpy"), warn_disconnected=False
        )
    assert (tight.residuals <= 1e-9).all()
    np.testing.assert_allclose(embedding.eigenvalues, tight.eigenvalues, atol=1e-5)
    off = embedding.vectors - tight.vectors @ (tight.vectors.T @ embedding.vectors)
    assert np.linalg.norm(off, 2) < 1e-4
