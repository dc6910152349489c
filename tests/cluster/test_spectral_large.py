"""The spectral step on graphs that are large enough for the methods of large graphs."""

import warnings

import numpy as np
import pytest
from scipy import sparse

from consilience import threads
from consilience.cluster import spectral as module
from consilience.cluster.spectral import (
    assign_cluster_qr,
    assign_kmeans,
    fix_signs,
    spectral_embedding,
    unit_rows,
)
from consilience.graph import laplacian as laplacian_module
from consilience.graph.laplacian import NormalizedLaplacian


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
    monkeypatch.setattr(module, "MANY", 1000 if many else 10**9)
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


def test_products_of_large_graphs_agree_with_those_of_small_ones(graph, monkeypatch):
    operator = NormalizedLaplacian(graph[0])
    x = np.random.default_rng(0).normal(size=(operator.shape[0], 5))
    large, one = operator @ x, operator @ x[:, 0]
    monkeypatch.setattr(laplacian_module, "LARGE", 10**9)
    np.testing.assert_allclose(large, operator @ x, atol=1e-13)
    np.testing.assert_allclose(one, operator @ x[:, 0], atol=1e-13)


def test_rows_and_signs_do_not_depend_on_the_size_of_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(50, 6))
    vectors[:, 1] = 0.0
    vectors[[3, 41], 2] = [-9.0, 9.0]  # the first of the largest decides, in whatever block
    vectors[[12, 44], 3] = [-9.0 * (1 - 1e-7), -9.0]
    rows, signed = unit_rows(vectors), fix_signs(vectors)
    monkeypatch.setattr(module, "_ROWS", 7)
    np.testing.assert_array_equal(unit_rows(vectors), rows)
    np.testing.assert_array_equal(fix_signs(vectors), signed)
    assert signed[3, 2] > 0 > signed[41, 2]
    assert (signed[[12, 44], 3] > 0).all()
