import numpy as np
import pytest
from sklearn.metrics import pairwise_distances

from consilience import KMeansLabels, load_digits_views, make_multiview
from consilience.engines import get_engine
from consilience.models.systems.snf import SNF, affinity_network, all_pairs, similarity_network_fusion
from consilience.run import memory
from consilience.spaces import Space
from consilience.stages import spectral_clustering
from consilience.testing import assert_same_partition

pytestmark = pytest.mark.filterwarnings("ignore:The graph has .* connected components")
every_engine = pytest.mark.parametrize("engine", ["numba", "numpy"])


def reference(distances, K, n_iter, mu):
    """Return the fused network, and the views' networks of every round, by dense products."""
    P, S = [], []
    for d in distances:
        n = len(d)
        rho = np.array([np.sort(np.delete(d[i], i))[:K].mean() for i in range(n)])
        sigma = (rho[:, None] + rho[None, :] + d) / 3
        if (sigma == 0).any():
            sigma[sigma == 0] = sigma[sigma > 0].min()
        W = np.exp(-(d**2) / (2 * (mu * sigma) ** 2)) / (np.sqrt(2 * np.pi) * mu * sigma)
        W = (W + W.T) / 2
        first = W / W.sum(axis=1, keepdims=True)
        P.append((first + first.T) / 2)
        sparse = np.zeros((n, n))
        for i in range(n):
            strongest = np.argsort(-P[-1][i], kind="stable")[:K]
            sparse[i, strongest] = P[-1][i, strongest]
        S.append(sparse / sparse.sum(axis=1, keepdims=True))
    rounds = [P]
    for _ in range(n_iter):
        P = []
        for i in range(len(S)):
            others = [rounds[-1][j] for j in range(len(S)) if j != i]
            P.append(S[i] @ (sum(others) / len(others)) @ S[i].T + np.eye(len(S[i])))
        rounds.append([(p + p.T) / 2 for p in P])
    W = sum(rounds[-1]) / len(S)
    W /= W.sum(axis=1, keepdims=True)
    return (W + W.T + np.eye(len(W))) / 2, rounds


def random_distances(rng, n, v):
    return [pairwise_distances(rng.normal(size=(n, 3 + i))) for i in range(v)]


@pytest.mark.parametrize("v", [2, 3, 4])
@pytest.mark.parametrize(("n", "K", "mu"), [(7, 3, 0.5), (40, 6, 0.3), (71, 20, 0.8), (133, 13, 0.5)])
def test_every_round_is_that_of_the_plain_method(v, n, K, mu):
    distances = random_distances(np.random.default_rng(n + v), n, v)
    given = [d.copy() for d in distances]
    network, rounds = reference(distances, K, 20, mu)
    for n_iter in (1, 2, 3, 20):
        fused = similarity_network_fusion(distances, K, n_iter, mu)
        assert fused.n_iter == n_iter
        for ours, theirs in zip(fused.view_networks, rounds[n_iter], strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-13)
            np.testing.assert_array_equal(ours, ours.T)
            assert ours.min() >= 0 and ours.diagonal().min() >= 1
    np.testing.assert_allclose(fused.network, network, rtol=1e-10)
    np.testing.assert_array_equal(fused.network, fused.network.T)
    # Half of the identity, and rows of sum 1 on average.
    assert fused.network.sum() == pytest.approx(1.5 * n)
    assert fused.network.diagonal().min() > 0.5
    for before, after in zip(given, distances, strict=True):
        np.testing.assert_array_equal(before, after)


def test_the_plain_method_on_digits():
    views, _ = load_digits_views(return_X_y=True)
    arrays = [array[::9] for array in views.values()]
    squares = [((array[:, None] - array[None]) ** 2).sum(axis=2) for array in arrays]
    for squared in (False, True):
        network, _ = reference([d if squared else np.sqrt(d) for d in squares], 20, 20, 0.5)
        model = SNF(
            n_clusters=10, n_neighbors=20, metric="euclidean", squared_distances=squared, random_state=0
        )
        model.fit(arrays)
        np.testing.assert_allclose(model.graph_, network, rtol=1e-10)
        stream = np.random.RandomState(0)
        assert_same_partition(model.labels_, spectral_clustering(network, 10, random_state=stream).labels)


def test_two_pairs_by_hand():
    # Pairs at distance 1, everybody else far away: with K = 1 every mean distance is 1, and the deviation is
    # 0.5 * (1 + 1 + 1) / 3 = 1/2 inside a pair and 0.5 * 2 / 3 = 1/3 on the diagonal. The density is 2 e^-2
    # between partners and 3 with oneself, so that the rows, of sum 3 + 2 e^-2 but for the far ones, become:
    far = 1e9
    d = np.array([[0, 1, far, far], [1, 0, far, far], [far, far, 0, 1], [far, far, 1, 0]], dtype=float)
    own, partner = 3 / (3 + 2 * np.exp(-2)), 2 * np.exp(-2) / (3 + 2 * np.exp(-2))
    P = np.kron(np.eye(2), [[own, partner], [partner, own]])
    np.testing.assert_allclose(affinity_network(d, 1), P, atol=1e-8)
    # The largest entry of each row is its own: S = I. A round then exchanges the two networks and adds I, so
    # that after two rounds each is P + 2 I; scaled, own + 2 and partner over 3.
    fused = similarity_network_fusion([d, d], 1, n_iter=2)
    np.testing.assert_allclose(fused.view_networks[0], P + 2 * np.eye(4), atol=1e-8)
    expected = np.kron(np.eye(2), [[own + 2, partner], [partner, own + 2]]) / 3 + np.eye(4) / 2
    np.testing.assert_allclose(fused.network, expected, atol=1e-8)


def test_one_view_is_clustered_as_it_is():
    d = random_distances(np.random.default_rng(0), 30, 1)
    fused = similarity_network_fusion(d, 5)
    W = affinity_network(d[0], 5)
    W /= W.sum(axis=1, keepdims=True)
    assert fused.n_iter == 0
    np.testing.assert_allclose(fused.network, (W + W.T + np.eye(30)) / 2, rtol=1e-12)


def test_identical_samples_and_extreme_scales():
    rng = np.random.default_rng(0)
    x = np.repeat(rng.normal(size=(6, 2)), 5, axis=0)  # five of each, K = 3: infinite affinities
    d = [pairwise_distances(x), pairwise_distances(rng.normal(size=(30, 2)))]
    fused = similarity_network_fusion(d, 3)
    np.testing.assert_allclose(fused.network, reference(d, 3, 20, 0.5)[0], rtol=1e-9, atol=1e-12)
    for factor in (1e-300, 1e300):
        scaled = similarity_network_fusion([each * factor for each in d], 3).network
        np.testing.assert_allclose(scaled, fused.network, rtol=1e-9, atol=1e-12)
    for mu in (1e-320, 1e-3, 1e300):
        assert np.isfinite(similarity_network_fusion(d, 3, mu=mu).network).all()
    far = [np.array([[0, 1e-20, 1e300], [1e-20, 0, 1e300], [1e300, 1e300, 0]])] * 2
    assert np.isfinite(similarity_network_fusion(far, 1).network).all()
    nowhere = similarity_network_fusion([np.zeros((4, 4)), np.zeros((4, 4))], 2).network
    assert np.isfinite(nowhere).all()


@every_engine
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan", "precomputed_distance"])
def test_all_pairs(metric, engine):
    engine = get_engine(engine)
    x = np.abs(np.random.default_rng(0).normal(size=(23, 4)))
    x[3] = x[7]
    distances = pairwise_distances(x, metric="euclidean" if metric.startswith("pre") else metric)
    np.fill_diagonal(distances, 0.0)
    space = Space("view", distances if metric.startswith("pre") else x, metric)
    squared = all_pairs(engine.place(space), 23, engine)
    np.testing.assert_allclose(squared, distances**2, atol=1e-13)
    np.testing.assert_array_equal(squared, squared.T)
    assert not squared.diagonal().any()


@every_engine
def test_all_pairs_of_distances_that_are_not_symmetric(engine):
    engine = get_engine(engine)
    matrix = np.array([[0.0, 1.0, 2.0], [3.0, 0.0, 1.0], [2.0, 1.0, 0.0]])
    squared = all_pairs(engine.place(Space("view", matrix, "precomputed_distance")), 3, engine)
    np.testing.assert_array_equal(squared, [[0, 5, 4], [5, 0, 1], [4, 1, 0]])


def test_an_easy_problem_is_solved_exactly_with_any_number_of_threads():
    sample = make_multiview(200, n_views=3, n_clusters=4, separation=8.0, random_state=1)
    graphs = []
    for n_jobs in (1, 2):
        model = SNF(n_clusters=4, n_jobs=n_jobs, random_state=0).fit(sample.views)
        assert_same_partition(model.labels_, sample.y)
        np.testing.assert_allclose(np.linalg.norm(model.embedding_, axis=1), 1)
        graphs.append(model.graph_)
    np.testing.assert_array_equal(*graphs)
    assert graphs[0].shape == (200, 200) and isinstance(graphs[0], np.ndarray)


@pytest.mark.filterwarnings("ignore:Only .* clusters have samples")
def test_tiny_data():
    rng = np.random.default_rng(0)
    for n in range(2, 8):
        views = [rng.normal(size=(n, 2)), rng.normal(size=(n, 3))]
        for n_clusters in range(1, n + 1):
            model = SNF(n_clusters=n_clusters, random_state=0).fit(views)
            assert model.labels_.shape == (n,) and np.isfinite(model.graph_).all()


def test_a_constant_view_is_left_out():
    sample = make_multiview(60, n_views=2, n_clusters=3, separation=6.0, random_state=0)
    alone = SNF(n_clusters=3, random_state=0).fit(sample.views)
    with pytest.warns(UserWarning, match="'flat' is constant"):
        model = SNF(n_clusters=3, random_state=0).fit({**sample.views, "flat": np.ones((60, 2))})
    np.testing.assert_array_equal(model.graph_, alone.graph_)


def test_similarities_and_distances_beyond_numbers_are_refused():
    similarity = np.eye(6) + np.ones((6, 6))
    with pytest.raises(ValueError, match="holds similarities, and SNF needs distances"):
        SNF(n_clusters=2, metric="precomputed_similarity").fit([similarity])
    huge = np.random.default_rng(0).normal(size=(6, 2)) * 1e200
    with pytest.raises(ValueError, match=r"View 'vast' .* too large for numbers; scale it down"):
        SNF(n_clusters=2, metric="euclidean").fit({"vast": huge})


def test_more_than_the_memory_is_refused(monkeypatch):
    sample = make_multiview(1000, n_views=6, n_clusters=3, random_state=0)
    monkeypatch.setattr(memory, "available_bytes", lambda: 100_000_000)
    with pytest.raises(MemoryError, match=r"SNF on 1,000 samples and 6 views needs about 68.7 MiB .* CoReg"):
        SNF(n_clusters=3).fit(sample.views)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_iter": 0}, "n_iter must be a positive integer, got 0"),
        ({"mu": 0}, "mu must be a finite number above 0, got 0"),
        ({"squared_distances": "yes"}, "squared_distances must be True or False, got 'yes'"),
        ({"assign_labels": KMeansLabels(n_init=0)}, "n_init must be 'auto' or a positive integer, got 0"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        SNF(n_clusters=2, **parameters).fit(np.random.default_rng(0).normal(size=(10, 3)))
