import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from tests.engines.names import HOST_ENGINES
from tests.stages.made_graphs import copies, neighbor_graph, path, quiet, ring, star, symmetric
from threadpoolctl import threadpool_info, threadpool_limits

from consilience.engines import embedding, get_engine
from consilience.spectra import NormalizedLaplacian
from consilience.stages import (
    SpectralEmbedding,
    assign_kmeans,
    canonical_labels,
    spectral_clustering,
    spectral_embedding,
)


def random_graph(n, density, seed):
    rng = np.random.default_rng(seed)
    return symmetric(sparse.triu(sparse.random(n, n, density, random_state=rng), 1))


def assert_right(graph, c, atol=1e-8, **kwargs):
    """Check an embedding against a dense solver, subspaces as projectors where the cut is well defined."""
    found = quiet(spectral_embedding, graph, c, **kwargs)
    seen = np.flatnonzero(graph.sum(axis=1) > 0)
    values, vectors = np.linalg.eigh(NormalizedLaplacian(graph).toarray()[np.ix_(seen, seen)])
    available = min(c, len(seen))
    np.testing.assert_allclose(found.eigenvalues[:available], values[:available], atol=atol)
    assert np.isnan(found.eigenvalues[available:]).all()
    assert (np.diff(found.eigenvalues[:available]) >= 0).all()
    assert (found.residuals[:available] <= 1e-9).all()
    u = found.vectors[:, :available]
    np.testing.assert_allclose(u.T @ u, np.eye(available), atol=1e-10)
    for j in range(1, available + 1):
        gap = np.inf if j == len(seen) else values[j] - values[j - 1]
        if gap > 1e-4:
            projector = vectors[:, :j] @ vectors[:, :j].T
            np.testing.assert_allclose(u[seen, :j] @ u[seen, :j].T, projector, atol=1e-9 + 1e-9 / gap)
    return found


@given(st.integers(2, 30), st.floats(0.05, 0.6), st.integers(0, 10**6), st.floats(0, 1))
@settings(max_examples=80, deadline=None)
def test_small_random_graphs_agree_with_a_dense_solver(n, density, seed, part):
    graph = random_graph(n, density, seed)
    q = NormalizedLaplacian(graph).n_connected
    c = max(q, 1 + round(part * (n - 1)))
    found = assert_right(graph, c, random_state=0)
    assert found.n_connected == q


@pytest.mark.long
@given(st.integers(310, 450), st.integers(2, 8), st.integers(1, 12), st.integers(0, 10**6))
@settings(max_examples=15, deadline=None)
def test_sparse_solver_agrees_with_a_dense_one(n, k, c, seed):
    graph, _ = neighbor_graph(n, k, seed, n_blobs=5)
    if NormalizedLaplacian(graph).n_connected <= c:
        assert_right(graph, c, random_state=0)


HARD = {
    "path": (lambda: path(600), 10),
    "ring": (lambda: ring(601), 10),
    "long ring": (lambda: ring(1500), 6),
    "star": (lambda: star(500), 5),
    "complete bipartite": (lambda: sparse.csr_array(np.kron([[0, 1], [1, 0]], np.ones((180, 180)))), 6),
    "complete": (lambda: sparse.csr_array(np.ones((350, 350)) - np.eye(350)), 7),
    "identical components": (lambda: copies(neighbor_graph(40, 5, 0)[0], 20), 33),
    "identical rings": (lambda: copies(ring(30), 15), 30),
    "nearly disconnected": (lambda: copies(neighbor_graph(40, 6, 1)[0], 12, 1e-6), 14),
    "hardly connected": (lambda: copies(neighbor_graph(40, 6, 1)[0], 12, 1e-12), 14),
    "two levels": (lambda: copies(copies(neighbor_graph(30, 6, 1)[0], 3, 1e-3), 5, 1e-9), 15),
    "grid": (lambda: sparse.csr_array(sparse.kronsum(path(20), path(20))), 9),
    "self-loops": (lambda: sparse.csr_array(path(400) + sparse.eye(400)), 5),
    "wide range of weights": (
        lambda: symmetric(sparse.triu(random_graph(400, 0.03, 5).power(20), 1)),
        8,
    ),
}


@pytest.mark.parametrize("name", HARD)
def test_hard_graphs(name):
    make, c = HARD[name]
    assert_right(make(), c, random_state=3)


@pytest.mark.parametrize("make", [path, ring])
def test_long_thin_graphs_have_the_eigenvalues_of_the_formula(make):
    n = 20_000
    found = spectral_embedding(make(n), 6, random_state=0)
    j = np.arange(6) if make is path else np.array([0, 1, 1, 2, 2, 3])
    period = n - 1 if make is path else n / 2
    # 1e-8 is as large as the eigenvalues themselves here, so more is asked.
    np.testing.assert_allclose(found.eigenvalues, 1 - np.cos(np.pi * j / period), atol=1e-13)
    assert found.residuals.max() < 1e-12


@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_every_number_of_components_on_the_smallest_graphs(n):
    graph = sparse.csr_array(np.ones((n, n)) - np.eye(n))
    for c in range(1, n + 1):
        found = assert_right(graph, c)
        assert found.vectors.shape == (n, c)
        assert quiet(spectral_clustering, graph, c, random_state=0).labels.shape == (n,)


@pytest.mark.long
def test_all_components_of_a_middle_sized_graph():
    graph, _ = neighbor_graph(320, 6, 0, spread=0)
    assert_right(graph, 320)


def test_more_components_than_asked_for_takes_the_largest():
    # sizes 3, 5, 4, 5, 2: the two of size 5 are taken, and of a tie the first
    graph = sparse.csr_array(sparse.block_diag([path(m) for m in (3, 5, 4, 5, 2)]))
    with pytest.warns(
        UserWarning, match=r"5 connected components, of which the 2 largest.*9 samples.*n_neighb"
    ):
        found = spectral_embedding(graph, 2)
    truth = np.repeat([-1, 0, -1, 1, -1], [3, 5, 4, 5, 2])
    np.testing.assert_array_equal(found.vectors > 0, truth[:, None] == [0, 1])
    assert found.n_connected == 5
    np.testing.assert_array_equal(found.vectors[truth < 0], 0)
    with pytest.warns(UserWarning, match="3 largest"):
        found = spectral_embedding(graph, 3)
    np.testing.assert_array_equal(np.flatnonzero(found.vectors.any(axis=1)), np.arange(3, 17))
    with pytest.warns(UserWarning):
        labels = spectral_clustering(graph, 2, random_state=0).labels
    assert len({*labels[3:8]}) == len({*labels[12:17]}) == 1
    assert labels[3] != labels[12]


def test_isolated_samples_are_left_out():
    graph, _ = neighbor_graph(60, 5, 0, n_blobs=3, spread=2.0)
    alone = np.array([0, 17, 62])
    kept = np.setdiff1d(np.arange(63), alone)
    padded = sparse.lil_array((63, 63))
    padded[np.ix_(kept, kept)] = graph.toarray()
    expected = quiet(spectral_embedding, graph, 3)
    with pytest.warns(UserWarning, match="3 isolated samples"):
        found = spectral_embedding(padded.tocsr(), 3)
    assert (found.n_connected, found.n_isolated) == (expected.n_connected, 3)
    np.testing.assert_allclose(found.vectors[kept], expected.vectors, atol=1e-12)
    np.testing.assert_array_equal(found.vectors[alone], 0)
    np.testing.assert_allclose(found.eigenvalues, expected.eigenvalues, atol=1e-14)
    labels = assign_kmeans(found, 3, random_state=0)
    np.testing.assert_array_equal(canonical_labels(labels[kept]), assign_kmeans(expected, 3, random_state=0))
    assert set(labels[alone]) <= set(labels[kept])


def test_a_graph_without_edges():
    with pytest.warns(UserWarning, match="4 isolated samples"):
        found = spectral_embedding(sparse.csr_array((4, 4)), 2)
    np.testing.assert_array_equal(found.vectors, np.zeros((4, 2)))
    assert (found.n_connected, found.n_isolated) == (0, 4)
    with pytest.warns(UserWarning, match="Only 1 of 2 clusters"):
        np.testing.assert_array_equal(assign_kmeans(found, 2), [0, 0, 0, 0])


def test_a_connected_graph_does_not_warn():
    graph, _ = neighbor_graph(100, 8, 0)
    spectral_clustering(graph, 3, random_state=0)  # warnings are errors


def test_signs_do_not_depend_on_the_seed():
    graph, _ = neighbor_graph(500, 8, 4)
    here, there = (spectral_embedding(graph, 6, random_state=seed) for seed in (0, 1))
    np.testing.assert_allclose(here.vectors, there.vectors, atol=1e-7)
    peak = np.abs(here.vectors).argmax(axis=0)
    assert (here.vectors[peak, np.arange(6)] > 0).all()


@pytest.mark.parametrize("c", [0, -1, 11, 2.0, True, None, "3"])
def test_bad_numbers_are_refused(c):
    with pytest.raises(ValueError, match=r"n_components must be an integer from 1 to .* 10"):
        spectral_embedding(ring(10), c)
    with pytest.raises(ValueError, match=r"n_clusters must be an integer from 1 to .* 10"):
        assign_kmeans(np.ones((10, 2)), c)


def test_numpy_integers_are_integers():
    assert spectral_embedding(ring(10), np.int64(3)).vectors.shape == (10, 3)
    assert spectral_clustering(ring(10), np.int32(2), random_state=0).labels.shape == (10,)


def test_embedding_is_frozen():
    found = spectral_embedding(ring(5), 1)
    assert isinstance(found, SpectralEmbedding)
    with pytest.raises(AttributeError):
        found.vectors = None


def test_solver_and_kmeans_run_on_one_thread(monkeypatch):
    seen = []

    def look(where):
        for pool in threadpool_info():
            if pool["user_api"] in ("blas", "openmp"):  # not SciPy's reader of matrices, if it is loaded
                seen.append((where, pool["filepath"], pool["num_threads"]))

    class Recorder(embedding.KMeans):
        def fit(self, *args, **kwargs):
            look("k-means")
            return super().fit(*args, **kwargs)

    def recorder(*args, **kwargs):
        look("solver")
        return solve(*args, **kwargs)

    solve = embedding.smallest_eigenvectors
    monkeypatch.setattr(embedding, "smallest_eigenvectors", recorder)
    monkeypatch.setattr(embedding, "KMeans", Recorder)
    with threadpool_limits(2):
        spectral_clustering(ring(20), 2, random_state=0)
    assert {where for where, _, _ in seen} == {"solver", "k-means"}
    assert [one for one in seen if one[2] != 1] == []


@pytest.mark.parametrize("name", ["star", "identical components", "ring", "random"])
def test_same_seed_same_result_whatever_the_threads(name):
    make, c = HARD.get(name, (lambda: neighbor_graph(900, 7, 3, n_blobs=6)[0], 6))
    graph, results = make(), []
    for n_threads in (1, 2, 2):
        with threadpool_limits(n_threads):
            results.append(quiet(spectral_clustering, graph, c, random_state=7))
    for other in results[1:]:
        np.testing.assert_array_equal(other.embedding.vectors, results[0].embedding.vectors)
        np.testing.assert_array_equal(other.labels, results[0].labels)


def test_number_of_threads_is_given_back():
    graph, _ = neighbor_graph(400, 7, 3)
    before = [pool["num_threads"] for pool in threadpool_info()]
    spectral_clustering(graph, 2, random_state=0)
    assert [pool["num_threads"] for pool in threadpool_info()] == before


@pytest.mark.parametrize("name", ["ring", "random"])
def test_every_engine_finds_the_same(name):
    make, c = HARD.get(name, (lambda: neighbor_graph(900, 7, 3, n_blobs=6)[0], 6))
    results = [quiet(spectral_clustering, make(), c, random_state=7, engine=one) for one in HOST_ENGINES]
    for other in results[1:]:
        np.testing.assert_array_equal(other.embedding.vectors, results[0].embedding.vectors)
        np.testing.assert_array_equal(other.labels, results[0].labels)


def test_the_warning_can_be_left_out():
    graph = sparse.csr_array(sparse.block_diag([path(4), path(3), [[0.0]]]))
    with pytest.warns(UserWarning, match="2 connected components and has 1 isolated samples"):
        spoken = spectral_embedding(graph, 2, random_state=0)
    silent = spectral_embedding(graph, 2, random_state=0, warn_disconnected=False)  # warnings are errors
    np.testing.assert_array_equal(silent.vectors, spoken.vectors)
    assert (silent.n_connected, silent.n_isolated) == (2, 1)


@pytest.mark.parametrize("name", HOST_ENGINES)
def test_an_embedding_has_its_first_components(name):
    engine = get_engine(name)
    found = spectral_embedding(ring(30), 5, random_state=0, engine=engine)
    first = found.first(3, engine)
    np.testing.assert_array_equal(first.vectors, found.vectors[:, :3])
    np.testing.assert_array_equal(first.eigenvalues, found.eigenvalues[:3])
    np.testing.assert_array_equal(first.residuals, found.residuals[:3])
    assert (first.n_connected, first.n_isolated) == (found.n_connected, found.n_isolated)


def test_a_nested_list_is_a_graph():
    found = spectral_embedding([[0, 2, 0], [2, 0, 1], [0, 1, 0]], 2, random_state=0)
    expected = spectral_embedding(np.array([[0, 2, 0], [2, 0, 1], [0, 1, 0]]), 2, random_state=0)
    np.testing.assert_array_equal(found.vectors, expected.vectors)
    with pytest.raises(ValueError, match="symmetric"):
        spectral_embedding([[0, 2], [1, 0]], 1)
