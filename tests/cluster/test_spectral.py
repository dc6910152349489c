import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from threadpoolctl import threadpool_info, threadpool_limits

from consilience.cluster import spectral as module
from consilience.cluster.spectral import (
    SpectralEmbedding,
    assign_kmeans,
    canonical_labels,
    spectral_clustering,
    spectral_embedding,
    unit_rows,
)
from consilience.graph.laplacian import NormalizedLaplacian


def quiet(function, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return function(*args, **kwargs)


def symmetric(upper):
    return sparse.csr_array(upper + upper.T)


def neighbour_graph(n, k, seed, n_blobs=1, spread=6.0):
    """Gaussian k-nearest-neighbour graph of blobs in 4 dimensions, and the blob of each sample."""
    rng = np.random.default_rng(seed)
    blob = np.arange(n) % n_blobs
    x = rng.normal(size=(n, 4)) + spread * rng.normal(size=(n_blobs, 4))[blob]
    d = ((x[:, None] - x[None]) ** 2).sum(axis=2)
    np.fill_diagonal(d, np.inf)
    near = np.argpartition(d, k, axis=1)[:, :k]
    w = np.exp(-np.take_along_axis(d, near, axis=1) / 2)
    return symmetric(
        sparse.csr_array((w.ravel(), (np.repeat(np.arange(n), k), near.ravel())), shape=(n, n)) / 2
    ), blob


def path(n):
    return symmetric(sparse.diags([np.ones(n - 1)], [1], shape=(n, n)))


def ring(n):
    rows = np.arange(n)
    return symmetric(sparse.csr_array((np.ones(n), (rows, (rows + 1) % n)), shape=(n, n)))


def star(n):
    return symmetric(
        sparse.csr_array((np.ones(n - 1), (np.zeros(n - 1, int), np.arange(1, n))), shape=(n, n))
    )


def copies(graph, number, link=0.0):
    """Copies of a graph, chained by edges of weight `link`."""
    size, n = graph.shape[0], graph.shape[0] * number
    rows = size * np.arange(number - 1)
    chain = sparse.csr_array((np.full(number - 1, link), (rows, rows + size)), shape=(n, n))
    return sparse.csr_array(sparse.block_diag([graph] * number)) + symmetric(chain)


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


@given(st.integers(310, 450), st.integers(2, 8), st.integers(1, 12), st.integers(0, 10**6))
@settings(max_examples=15, deadline=None)
def test_sparse_solver_agrees_with_a_dense_one(n, k, c, seed):
    graph, _ = neighbour_graph(n, k, seed, n_blobs=5)
    if NormalizedLaplacian(graph).n_connected <= c:
        assert_right(graph, c, random_state=0)


HARD = {
    "path": (lambda: path(600), 10),
    "ring": (lambda: ring(601), 10),
    "long ring": (lambda: ring(1500), 6),
    "star": (lambda: star(500), 5),
    "complete bipartite": (lambda: sparse.csr_array(np.kron([[0, 1], [1, 0]], np.ones((180, 180)))), 6),
    "complete": (lambda: sparse.csr_array(np.ones((350, 350)) - np.eye(350)), 7),
    "identical components": (lambda: copies(neighbour_graph(40, 5, 0)[0], 20), 33),
    "identical rings": (lambda: copies(ring(30), 15), 30),
    "nearly disconnected": (lambda: copies(neighbour_graph(40, 6, 1)[0], 12, 1e-6), 14),
    "all but disconnected": (lambda: copies(neighbour_graph(40, 6, 1)[0], 12, 1e-12), 14),
    "two levels": (lambda: copies(copies(neighbour_graph(30, 6, 1)[0], 3, 1e-3), 5, 1e-9), 15),
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


def test_all_components_of_a_middle_sized_graph():
    graph, _ = neighbour_graph(320, 6, 0, spread=0)
    assert_right(graph, 320)


def test_fifty_components_are_the_partition():
    parts = [neighbour_graph(20 + i, 6, i, spread=0)[0] for i in range(50)]
    truth = np.repeat(np.arange(50), [p.shape[0] for p in parts])
    order = np.random.default_rng(0).permutation(len(truth))
    graph = sparse.csr_array(sparse.block_diag(parts))[order][:, order]
    assert NormalizedLaplacian(graph).n_connected == 50
    with pytest.warns(UserWarning, match="50 connected components"):
        result = spectral_clustering(graph, 50, random_state=0)
    np.testing.assert_array_equal(result.labels, canonical_labels(truth[order]))
    np.testing.assert_array_equal(result.embedding.eigenvalues.round(14), np.zeros(50))
    assert result.embedding.n_connected == 50


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


def test_isolated_samples_take_no_part():
    graph, _ = neighbour_graph(60, 5, 0, n_blobs=3, spread=2.0)
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
    graph, _ = neighbour_graph(100, 8, 0)
    spectral_clustering(graph, 3, random_state=0)  # warnings are errors


def test_permuting_the_samples_permutes_the_result():
    graph, _ = neighbour_graph(400, 8, 2, n_blobs=4, spread=2.5)
    order = np.random.default_rng(1).permutation(400)
    here = quiet(spectral_clustering, graph, 4, random_state=0)
    there = quiet(spectral_clustering, graph[order][:, order], 4, random_state=5)
    np.testing.assert_allclose(there.embedding.vectors, here.embedding.vectors[order], atol=1e-7)
    np.testing.assert_array_equal(there.labels, canonical_labels(here.labels[order]))


def test_signs_do_not_depend_on_the_seed():
    graph, _ = neighbour_graph(500, 8, 4)
    here, there = (spectral_embedding(graph, 6, random_state=seed) for seed in (0, 1))
    np.testing.assert_allclose(here.vectors, there.vectors, atol=1e-7)
    peak = np.abs(here.vectors).argmax(axis=0)
    assert (here.vectors[peak, np.arange(6)] > 0).all()


def test_rounding_does_not_choose_the_sign():
    mirrored = np.array([[1 - 1e-12], [0.5], [-1.0]])
    np.testing.assert_array_equal(module.fix_signs(mirrored), mirrored)
    np.testing.assert_array_equal(module.fix_signs(-mirrored), mirrored)


def test_solver_and_kmeans_run_on_one_thread(monkeypatch):
    seen = []

    def look(where):
        for pool in threadpool_info():
            if pool["user_api"] in ("blas", "openmp"):  # not SciPy's reader of matrices, if it is loaded
                seen.append((where, pool["filepath"], pool["num_threads"]))

    class Recorder(module.KMeans):
        def fit(self, *args, **kwargs):
            look("k-means")
            return super().fit(*args, **kwargs)

    def recorder(*args, **kwargs):
        look("solver")
        return solve(*args, **kwargs)

    solve = module.smallest_eigenvectors
    monkeypatch.setattr(module, "smallest_eigenvectors", recorder)
    monkeypatch.setattr(module, "KMeans", Recorder)
    with threadpool_limits(2):
        spectral_clustering(ring(20), 2, random_state=0)
    assert {where for where, _, _ in seen} == {"solver", "k-means"}
    assert [one for one in seen if one[2] != 1] == []


@pytest.mark.parametrize("name", ["star", "identical components", "ring", "random"])
def test_same_seed_same_result_whatever_the_threads(name):
    make, c = HARD.get(name, (lambda: neighbour_graph(900, 7, 3, n_blobs=6)[0], 6))
    graph, results = make(), []
    for n_threads in (1, 2, 2):
        with threadpool_limits(n_threads):
            results.append(quiet(spectral_clustering, graph, c, random_state=7))
    for other in results[1:]:
        np.testing.assert_array_equal(other.embedding.vectors, results[0].embedding.vectors)
        np.testing.assert_array_equal(other.labels, results[0].labels)


def test_number_of_threads_is_given_back():
    graph, _ = neighbour_graph(400, 7, 3)
    before = [pool["num_threads"] for pool in threadpool_info()]
    spectral_clustering(graph, 2, random_state=0)
    assert [pool["num_threads"] for pool in threadpool_info()] == before


def test_the_whole_is_its_parts():
    graph, _ = neighbour_graph(350, 8, 2, n_blobs=4, spread=2.0)
    whole = quiet(spectral_clustering, graph, 4, n_init=5, random_state=11)
    embedding = quiet(spectral_embedding, graph, 4, random_state=11)
    np.testing.assert_array_equal(whole.embedding.vectors, embedding.vectors)
    np.testing.assert_array_equal(whole.labels, assign_kmeans(embedding, 4, n_init=5, random_state=11))


@pytest.mark.parametrize("c", [0, -1, 11, 2.0, True, None, "3"])
def test_bad_numbers_are_refused(c):
    with pytest.raises(ValueError, match=r"n_components must be an integer from 1 to .* 10"):
        spectral_embedding(ring(10), c)
    with pytest.raises(ValueError, match=r"n_clusters must be an integer from 1 to .* 10"):
        assign_kmeans(np.ones((10, 2)), c)


def test_numpy_integers_are_integers():
    assert spectral_embedding(ring(10), np.int64(3)).vectors.shape == (10, 3)
    assert spectral_clustering(ring(10), np.int32(2), random_state=0).labels.shape == (10,)


def test_unit_rows():
    x = np.array([[3.0, -4.0], [0.0, 0.0], [1e-200, 0.0], [1e200, 1e200]])
    before = x.copy()
    np.testing.assert_allclose(unit_rows(x), [[0.6, -0.8], [0, 0], [1, 0], [0.5**0.5, 0.5**0.5]])
    np.testing.assert_array_equal(x, before)


@given(st.lists(st.integers(-3, 5), min_size=1))
def test_canonical_labels(labels):
    found = canonical_labels(labels)
    assert found.dtype.kind == "i"
    pairs = set(zip(labels, found.tolist(), strict=True))
    assert len(pairs) == len(set(labels)) == len(set(found.tolist()))  # the same partition
    assert list(dict.fromkeys(found.tolist())) == list(range(len(pairs)))  # numbered as they appear


def test_kmeans_of_one_cluster_and_of_lone_samples():
    np.testing.assert_array_equal(assign_kmeans(np.eye(4), 1, random_state=0), [0, 0, 0, 0])
    np.testing.assert_array_equal(assign_kmeans(np.eye(4), 4, random_state=0), [0, 1, 2, 3])
    rows = np.array([[1, 0.01], [1, 0], [1, -0.01], [-0.3, 1]])
    np.testing.assert_array_equal(assign_kmeans(rows, 2, random_state=0), [0, 0, 0, 1])


def test_kmeans_with_too_few_distinct_rows_warns_once():
    rows = np.repeat(np.eye(2), 5, axis=0)
    with pytest.warns(UserWarning) as record:
        labels = assign_kmeans(rows, 4, random_state=0)
    assert len(record) == 1
    assert "Only 2 of 4 clusters" in str(record[0].message)
    np.testing.assert_array_equal(labels, np.repeat([0, 1], 5))
    with pytest.warns(UserWarning, match="Only 2 of 3"):  # fewer fitted rows than clusters
        np.testing.assert_array_equal(assign_kmeans([[0, 0], [1, 0], [0, 2]], 3, random_state=0)[1:], [1, 0])


def test_zero_rows_do_not_move_the_centres():
    rows = np.array([[1.0, 0], [1, 0.2], [0, 1], [0.2, 1]])
    padded = np.vstack([rows, np.zeros((40, 2))])
    labels = assign_kmeans(padded, 2, random_state=0)
    np.testing.assert_array_equal(labels[:4], [0, 0, 1, 1])
    assert len(set(labels[4:])) == 1


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 2, 1, 0]])
def test_zero_rows_go_to_the_nearest_centre(order):
    # The centre of a wide cluster of unit rows is nearer to the origin than that of a tight one.
    rows = np.array([[1, 0.01], [1, 0.02], [0.5, 1.0], [-0.5, 1.0]])[order]
    labels = assign_kmeans(np.vstack([np.zeros((2, 2)), rows]), 2, random_state=0)
    wide = labels[2 + order.index(2)]
    assert (labels[:2] == wide).all()
    assert labels[2 + order.index(0)] != wide


def test_restarts_of_the_paper(monkeypatch):
    seen = []

    class Recorder(module.KMeans):
        def __init__(self, n_clusters, *, n_init, max_iter, tol, random_state):
            seen.append((n_init, max_iter))
            super().__init__(n_clusters, n_init=1, max_iter=2, random_state=0)

    monkeypatch.setattr(module, "KMeans", Recorder)
    for n in (4999, 5000, 9999, 10_000, 29_999, 30_000):
        assign_kmeans(np.ones((n, 1)), 1, n_init="auto")
    assign_kmeans(np.ones((9, 1)), 1)
    assert [s[0] for s in seen] == [30, 20, 20, 5, 5, 3, 30]
    assert {s[1] for s in seen} == {1000}


def test_embedding_is_frozen():
    found = spectral_embedding(ring(5), 1)
    assert isinstance(found, SpectralEmbedding)
    with pytest.raises(AttributeError):
        found.vectors = None


def test_blobs_are_found():
    graph, blob = neighbour_graph(600, 10, 6, n_blobs=6, spread=8.0)
    labels = quiet(spectral_clustering, graph, 6, random_state=0).labels
    np.testing.assert_array_equal(labels, canonical_labels(blob))
