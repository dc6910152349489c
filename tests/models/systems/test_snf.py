import numpy as np
import pytest
from sklearn.metrics import pairwise_distances

from consilience import KMeansLabels, Views, ampute, load_digits_views, make_multiview
from consilience.engines import get_engine
from consilience.metrics import nmi
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


def partial_reference(distances, mask, K, n_iter, mu=0.5):
    """Return the fused network, and the views' networks of every round, where samples are missing.

    Plain sums over the views that have seen a pair, entry by entry.
    """
    v, n = len(distances), len(mask)
    P, S = [], []
    for d, seen in zip(distances, mask.T, strict=True):
        members = np.flatnonzero(seen)
        inner = d[np.ix_(members, members)]
        k = min(K, len(members) - 1)
        rho = np.array([np.sort(np.delete(inner[i], i))[:k].mean() for i in range(len(members))])
        sigma = (rho[:, None] + rho[None, :] + inner) / 3
        W = np.exp(-(inner**2) / (2 * (mu * sigma) ** 2)) / sigma
        first = W / W.sum(axis=1, keepdims=True)
        p, s = np.zeros((n, n)), np.zeros((n, n))
        p[np.ix_(members, members)] = (first + first.T) / 2
        for i in members:
            strongest = np.argsort(-p[i], kind="stable")[:K]
            s[i, strongest] = p[i, strongest] / p[i, strongest].sum()
        P.append(p)
        S.append(s)
    rounds = [P]
    for _ in range(n_iter):
        P = []
        for i in range(v):
            others = sum(rounds[-1][j] for j in range(v) if j != i)
            for a in np.flatnonzero(mask[:, i]):
                near = np.flatnonzero(S[i][a])
                if not any(mask[b, j] for b in near for j in range(v) if j != i):
                    others[a], others[:, a] = rounds[-1][i][a], rounds[-1][i][:, a]
            passed = S[i] @ others @ S[i].T
            p = np.zeros((n, n))
            for a in range(n):
                for b in range(n):
                    if mask[a, i] and mask[b, i]:
                        m = sum(mask[a, j] and mask[b, j] for j in range(v))
                        p[a, b] = passed[a, b] / max(m - 1, 1) + (a == b)
            P.append(p)
        rounds.append(P)
    W = np.zeros((n, n))
    for a in range(n):
        for b in range(n):
            known = [p[a, b] for p, seen in zip(rounds[-1], mask.T, strict=True) if seen[a] and seen[b]]
            W[a, b] = np.mean(known) if known else 0.0
    W /= W.sum(axis=1, keepdims=True)
    return (W + W.T + np.eye(n)) / 2, rounds


def random_mask(rng, n, v, missing):
    mask = rng.random((n, v)) >= missing
    mask[~mask.any(axis=1), 0] = True
    return mask


@every_engine
@pytest.mark.parametrize(("n", "v", "K", "missing"), [(12, 3, 4, 0.3), (40, 4, 6, 0.1), (33, 2, 5, 0.6)])
def test_missing_samples_are_in_no_sum(n, v, K, missing, engine):
    rng = np.random.default_rng(n)
    distances, mask = random_distances(rng, n, v), random_mask(rng, n, v, missing)
    given = [d.copy() for d in distances]
    for i, d in enumerate(distances):  # what a view has not seen is not looked at
        d[~mask[:, i]] = d[:, ~mask[:, i]] = np.nan
    network, rounds = partial_reference(given, mask, K, 20)
    for n_iter in (1, 2, 20):
        fused = similarity_network_fusion(distances, K, n_iter, mask=mask, engine=engine)
        assert fused.n_iter == n_iter
        for i, (ours, theirs) in enumerate(zip(fused.view_networks, rounds[n_iter], strict=True)):
            np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-13)
            assert not ours[~mask[:, i]].any()
    np.testing.assert_allclose(fused.network, network, rtol=1e-10, atol=1e-15)
    if engine == "numba":  # products of NumPy are symmetric up to rounding
        np.testing.assert_array_equal(fused.network, fused.network.T)
    both = (mask.astype(int) @ mask.T) > 0
    assert not fused.network[~both].any()  # no view has seen both
    assert fused.network.diagonal().min() > 0.5


def test_a_mask_of_seen_samples_changes_no_bit():
    distances = random_distances(np.random.default_rng(0), 50, 3)
    plain = similarity_network_fusion(distances, 6)
    masked = similarity_network_fusion(distances, 6, mask=np.ones((50, 3), dtype=bool))
    np.testing.assert_array_equal(masked.network, plain.network)
    sample = make_multiview(90, n_views=3, n_clusters=3, separation=3.0, random_state=0)
    alone = SNF(n_clusters=3, random_state=0).fit(sample.views)
    seen = SNF(n_clusters=3, random_state=0).fit(Views(sample.views, mask=np.ones((90, 3), dtype=bool)))
    np.testing.assert_array_equal(seen.graph_, alone.graph_)
    np.testing.assert_array_equal(seen.labels_, alone.labels_)


def test_the_fit_of_incomplete_views_is_the_plain_method():
    sample = make_multiview(60, n_views=3, n_clusters=3, separation=3.0, missing=0.3, random_state=0)
    views = Views(sample.views)
    assert not views.mask.all()
    model = SNF(n_clusters=3, n_neighbors=7, metric="euclidean", random_state=0).fit(views)
    distances = [pairwise_distances(np.nan_to_num(array)) for array in sample.views.values()]
    network, _ = partial_reference(distances, views.mask, 7, 20)
    np.testing.assert_allclose(model.graph_, network, rtol=1e-9, atol=1e-14)


def test_labels_hardly_change_when_a_tenth_is_missing():
    data = make_multiview(200, n_views=3, n_clusters=4, separation=4.0, random_state=0)
    complete = SNF(n_clusters=4, random_state=0).fit(data.views)
    for seed in range(3):
        partial = SNF(n_clusters=4, random_state=0).fit(ampute(data.views, 0.1, random_state=seed))
        assert nmi(complete.labels_, partial.labels_) > 0.9
        assert np.isfinite(partial.graph_).all()


def test_rows_of_nan_and_a_mask_are_the_same():
    data = make_multiview(80, n_views=2, n_clusters=3, separation=6.0, random_state=0)
    mask = random_mask(np.random.default_rng(0), 80, 2, 0.1)
    holes = [array.copy() for array in data.views.values()]
    for i, array in enumerate(holes):
        array[~mask[:, i]] = np.nan
    by_rows = SNF(n_clusters=3, random_state=0).fit(holes)
    by_mask = SNF(n_clusters=3, random_state=0).fit(Views(data.views, mask=mask))
    np.testing.assert_array_equal(by_rows.graph_, by_mask.graph_)
    assert_same_partition(by_rows.labels_, data.y)


@pytest.mark.parametrize("squared", [False, True])
def test_samples_of_one_view_and_pairs_of_none(squared):
    data = make_multiview(90, n_views=2, n_clusters=3, separation=8.0, random_state=0)
    mask = np.ones((90, 2), dtype=bool)
    mask[[0, 30], 1] = False  # only the first view has seen these
    mask[[1, 31], 0] = False  # and only the second view those
    model = SNF(n_clusters=3, squared_distances=squared, random_state=0).fit(Views(data.views, mask=mask))
    assert_same_partition(model.labels_, data.y)
    assert model.graph_[0, 1] == model.graph_[30, 31] == 0
    assert (np.count_nonzero(model.graph_[[0, 1]], axis=1) > 20).all()


def test_views_that_share_no_sample_keep_their_own_networks():
    data = make_multiview(80, n_views=2, n_clusters=2, separation=8.0, random_state=0)
    mask = np.zeros((80, 2), dtype=bool)
    mask[::2, 0] = mask[1::2, 1] = True
    # Nothing joins the two halves: two clusters in each are four components.
    model = SNF(n_clusters=4, n_neighbors=8, random_state=0).fit(Views(data.views, mask=mask))
    assert not model.graph_[::2, 1::2].any()
    assert_same_partition(model.labels_, 2 * data.y + np.arange(80) % 2)


def test_views_that_have_seen_very_few_samples():
    data = make_multiview(60, n_views=3, n_clusters=3, separation=8.0, random_state=0)
    mask = np.ones((60, 3), dtype=bool)
    mask[2:, 1] = False  # two samples
    mask[4:, 2] = False  # fewer than K
    model = SNF(n_clusters=3, n_neighbors=10, random_state=0).fit(Views(data.views, mask=mask))
    assert_same_partition(model.labels_, data.y)
    assert np.isfinite(model.graph_).all()


def test_a_sample_of_left_out_views_only_has_no_neighbours():
    data = make_multiview(60, n_views=2, n_clusters=3, separation=8.0, random_state=0)
    mask = np.ones((60, 3), dtype=bool)
    mask[5, :2] = False
    with (
        pytest.warns(UserWarning, match="'flat' is constant"),
        pytest.warns(UserWarning, match="1 isolated samples"),
    ):
        model = SNF(n_clusters=3, random_state=0).fit(
            Views({**data.views, "flat": np.ones((60, 2))}, mask=mask)
        )
    assert not model.graph_[5].any() and np.isfinite(model.graph_).all()
    others = np.arange(60) != 5
    assert_same_partition(model.labels_[others], data.y[others])


def test_distances_with_missing_samples():
    data = make_multiview(60, n_views=2, n_clusters=3, separation=8.0, random_state=0)
    mask = random_mask(np.random.default_rng(1), 60, 2, 0.2)
    distances = [pairwise_distances(array) for array in data.views.values()]
    views = Views(distances, mask=mask, pairwise=True)
    model = SNF(n_clusters=3, n_neighbors=6, metric="precomputed_distance", random_state=0).fit(views)
    network, _ = partial_reference(distances, mask, 6, 20)
    np.testing.assert_allclose(model.graph_, network, rtol=1e-9, atol=1e-14)


def test_the_memory_of_incomplete_views(monkeypatch):
    sample = make_multiview(1000, n_views=6, n_clusters=3, missing=0.1, random_state=0)
    monkeypatch.setattr(memory, "available_bytes", lambda: 100_000_000)
    with pytest.raises(MemoryError, match=r"SNF on 1,000 samples and 6 views needs about 76.3 MiB"):
        SNF(n_clusters=3).fit(sample.views)


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
