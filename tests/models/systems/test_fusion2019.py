import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from consilience import EdgeSet, KMeansLabels, Views, make_multiview
from consilience.engines import get_engine
from consilience.models.systems.fusion2019 import (
    DistanceGraphFusion2019,
    SimilarityGraphFusion2019,
    fuse_2019,
    unite_choices,
)
from consilience.stages import spectral_embedding
from consilience.testing import assert_same_partition

pytestmark = pytest.mark.filterwarnings("ignore:The graph has .* connected components")

SYSTEMS = {"SGF-0": SimilarityGraphFusion2019, "DGF-0": DistanceGraphFusion2019}
METRICS = {"MSRC_v1": "euclidean", "3Sources": "cosine"}
N_CLUSTERS = {"MSRC_v1": 7, "3Sources": 6}
K = 6

every_system = pytest.mark.parametrize("system", SYSTEMS.values(), ids=SYSTEMS)
every_file = pytest.mark.parametrize(("name", "method"), [(n, m) for n in METRICS for m in SYSTEMS])
every_run = pytest.mark.parametrize(
    ("name", "method", "point"), [(n, m, p) for n in METRICS for m in SYSTEMS for p in "ab"]
)


def easy(**options):
    return make_multiview(**{"n_views": 3, "n_clusters": 3, "separation": 7.0, "random_state": 0} | options)


def relative_error(ours, theirs):
    return np.abs(ours - theirs).max() / np.abs(theirs).max()


# Number by number against the authors' program


@every_run
def test_fusion_from_the_stored_weights(golden, name, method, point):
    stored = golden(f"systems/{name}_{method}")
    beta, gamma = stored[f"beta_gamma_{point}"]
    result = fuse_2019(stored["W"], beta=beta, gamma=gamma)
    # Views that differ by 1e9 in size get scales down to 3e-10, of which the program keeps six digits.
    rtol = 1e-4 if (name, method) == ("MSRC_v1", "DGF-0") else 1e-10
    assert result.converged
    assert result.n_iter == len(stored[f"objective_{point}"])
    np.testing.assert_allclose(result.objective, stored[f"objective_{point}"], rtol=rtol)
    np.testing.assert_allclose(result.scales_by_round, stored[f"alpha_{point}"], rtol=rtol, atol=1e-18)
    assert relative_error(result.fused, stored[f"s_{point}"]) < rtol
    for ours, theirs in zip(result.consistent, stored[f"A_{point}"], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=rtol * max(theirs.max(), 1e-300))


@every_run
def test_first_fused_graph(golden, name, method, point):
    stored = golden(f"systems/{name}_{method}")
    beta, gamma = stored[f"beta_gamma_{point}"]
    first = fuse_2019(stored["W"], beta=beta, gamma=gamma, max_iter=1)
    assert not first.converged
    tolerance = 1e-4 if (name, method) == ("MSRC_v1", "DGF-0") else 1e-13
    assert relative_error(first.fused, stored[f"s_first_{point}"]) < tolerance


@pytest.mark.parametrize("engine", ["numba", "numpy"])
@every_run
def test_graph_and_eigenvalues_from_the_stored_fused_weights(golden, name, method, point, engine):
    stored = golden(f"systems/{name}_{method}")
    order = np.lexsort((stored["cols"], stored["rows"]))
    n = 1 + int(stored["rows"].max())
    counts = np.bincount(stored["rows"], minlength=n)
    edges = EdgeSet(np.concatenate([[0], np.cumsum(counts)]), stored["cols"][order].astype(np.int32))
    fused = stored[f"s_{point}"][order]
    if method == "DGF-0":
        np.testing.assert_allclose(fused.sum() / n**2, stored[f"sigma_{point}"], rtol=1e-12)
    similarity = SYSTEMS[method]()._similarity(fused, n)
    graph = get_engine(engine).sparsify(edges, similarity, K)
    theirs = sparse.csr_array(
        (stored[f"graph_values_{point}"], (stored[f"graph_rows_{point}"], stored[f"graph_cols_{point}"])),
        shape=(n, n),
    )
    assert abs(graph - theirs).max() < 1e-12 * theirs.max()
    eigenvalues = stored[f"eigenvalues_{point}"]
    found = spectral_embedding(graph, len(eigenvalues), random_state=0).eigenvalues
    np.testing.assert_allclose(found, eigenvalues, atol=1e-9)


@every_file
def test_weights_from_features(golden, dataset, name, method):
    stored = golden(f"systems/{name}_{method}")
    model = SYSTEMS[method](
        n_clusters=N_CLUSTERS[name], n_neighbors=K, metric=METRICS[name], random_state=0
    ).fit(dataset(name)[0])
    n = model.edges_.n_samples
    for ours, theirs in zip((model.consistent_ + model.inconsistent_).T, stored["W"], strict=True):
        theirs = sparse.csr_array((theirs, (stored["rows"], stored["cols"])), shape=(n, n))
        difference = sparse.coo_array(abs(model.edges_.to_csr(ours) - theirs))
        wrong = difference.data > 1e-12 * theirs.max()
        # The identical samples 9 and 115 are tied at the last place of the lists of 88 and 112.
        assert wrong.sum() == (6 if (name, method) == ("3Sources", "DGF-0") else 0)
        assert set(difference.row[wrong].tolist()) <= {9, 88, 112, 115}


@every_run
def test_whole_fit_ends_where_the_program_does(golden, dataset, name, method, point):
    stored = golden(f"systems/{name}_{method}")
    beta, gamma = stored[f"beta_gamma_{point}"]
    c = N_CLUSTERS[name]
    model = SYSTEMS[method](
        n_clusters=c, n_neighbors=K, metric=METRICS[name], beta=beta, gamma=gamma, random_state=0
    ).fit(dataset(name)[0])
    if (name, method) == ("3Sources", "DGF-0"):
        return  # other edges, by the ties above
    rtol = 1e-4 if (name, method) == ("MSRC_v1", "DGF-0") else 1e-9
    np.testing.assert_allclose(model.history_, stored[f"objective_{point}"], rtol=rtol)
    np.testing.assert_allclose(model.view_weights_, stored[f"alpha_{point}"][-1], rtol=rtol, atol=1e-18)
    np.testing.assert_allclose(model.eigenvalues_, stored[f"eigenvalues_{point}"][:c], atol=rtol)


# The fusion by itself


def naive_round(weights, consistent, beta, gamma):
    """One round, edge by edge, with the matrices as they stand in the paper."""
    v, n_edges = weights.shape
    penalty = gamma + (beta - gamma) * np.eye(v)
    inconsistent = weights - consistent
    gram = consistent @ consistent.T
    hessian = 2 * (np.diag(np.diag(gram)) - gram / v + penalty * (inconsistent @ inconsistent.T))
    system = np.block([[hessian, np.ones((v, 1))], [np.ones((1, v)), np.zeros((1, 1))]])
    scales = np.linalg.solve(system, np.append(np.zeros(v), 1.0))[:v]
    # The projection by bisection of the threshold.
    low, high = scales.min() - 1, scales.max()
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(scales - middle, 0).sum() > 1 else (low, middle)
    scales = np.maximum(scales - low, 0)
    fused = (scales[:, None] * consistent).sum(axis=0) / v
    new = np.empty_like(weights)
    matrix = np.linalg.pinv((penalty + np.eye(v)) * np.outer(scales, scales))
    for e in range(n_edges):
        right = scales * (fused[e] + penalty @ (scales * weights[:, e]))
        new[:, e] = np.clip(matrix @ right, 0, weights[:, e])
    return scales, fused, new


@pytest.mark.parametrize(
    ("beta", "gamma"),
    [(1, 1), (0.1, 1), (1, 0.1), (0, 0), (0, 0.3), (1, 2), (0.5, 1.5), (2, 30)],  # 1 + beta = gamma: singular
)
def test_every_round_is_the_naive_one(beta, gamma):
    weights = np.random.default_rng(0).exponential(size=(4, 50))
    before = fuse_2019(weights, beta=beta, gamma=gamma, max_iter=1)
    np.testing.assert_allclose(before.fused, naive_round(weights, weights, beta, gamma)[1], rtol=1e-12)
    for cap in range(2, 6):
        now = fuse_2019(weights, beta=beta, gamma=gamma, max_iter=cap)
        if now.n_iter < cap:
            break
        scales, fused, consistent = naive_round(weights, before.consistent, beta, gamma)
        np.testing.assert_allclose(now.scales, scales, atol=1e-9)
        np.testing.assert_allclose(now.fused, fused, atol=1e-9)
        np.testing.assert_allclose(now.consistent, consistent, atol=1e-7)
        before = now


def test_two_views_with_one_edge_each_by_hand():
    # By symmetry alpha = 1/2. With C = [[2, 1], [1, 2]] the first edge gets, for s = 1/4,
    # C^-1 (1/4 + 1/2, 1/4 + 1/2) / alpha = (1/2, 1/2), clipped to (1/2, 0); then for s = 1/8 likewise 5/12.
    result = fuse_2019(np.eye(2), beta=1.0, gamma=1.0)
    np.testing.assert_allclose(result.scales_by_round, 0.5, rtol=1e-14)
    # Start: s is the first view: (1/2 - 1)^2 + (1/4 + 1). Then 2 (1/16 + 1/16), then 2 (13 + 49)/576.
    np.testing.assert_allclose(result.objective[:3], [3 / 2, 1 / 4, 31 / 144], rtol=1e-13)
    capped = fuse_2019(np.eye(2), beta=1.0, gamma=1.0, max_iter=2)
    np.testing.assert_allclose(capped.fused, 1 / 8, rtol=1e-13)
    np.testing.assert_allclose(capped.consistent, np.eye(2) * 5 / 12, rtol=1e-13)


@pytest.mark.parametrize("v", [1, 2, 5])
def test_views_that_agree_are_left_as_they_are(v):
    weights = np.tile(np.random.default_rng(1).exponential(size=30), (v, 1))
    result = fuse_2019(weights, beta=1.0, gamma=0.5)
    np.testing.assert_allclose(result.scales, 1 / v, rtol=1e-12)
    np.testing.assert_allclose(result.consistent, weights, rtol=1e-10)
    np.testing.assert_allclose(result.fused, weights[0] / v, rtol=1e-10)
    assert result.converged


def test_the_objective_falls_if_the_views_of_an_edge_are_independent():
    # With gamma = 0 clipping gives each edge's minimum, and alpha is inside the simplex: its Hessian has
    # nothing positive off the diagonal. Otherwise neither need hold, and the objective may rise.
    rng = np.random.default_rng(2)
    for _ in range(20):
        weights = rng.exponential(size=(rng.integers(2, 6), 80)) ** rng.uniform(0.5, 3)
        result = fuse_2019(weights, beta=10.0 ** rng.uniform(-3, 2), gamma=0.0)
        assert result.n_iter >= 3
        assert np.diff(result.objective).max() <= 1e-12 * result.objective[0]


@pytest.mark.parametrize("gamma", [0.5, 1.9, 2.0, 2.1, 50.0])
def test_parts_stay_in_their_bounds_and_scales_in_the_simplex(gamma):
    weights = np.random.default_rng(3).exponential(size=(4, 200)) * np.array([[1e-6], [1], [1], [1e6]])
    result = fuse_2019(weights, beta=1.0, gamma=gamma)
    assert (result.consistent >= 0).all() and (result.consistent <= weights).all()
    assert (result.scales_by_round >= 0).all()
    np.testing.assert_allclose(result.scales_by_round.sum(axis=1), 1, rtol=1e-12)


@pytest.mark.parametrize("factor", [2.0**-600, 2.0**600])
def test_the_unit_of_the_weights_does_not_matter(factor):
    weights = np.random.default_rng(4).exponential(size=(3, 40))
    plain, other = (fuse_2019(w, beta=0.5, gamma=0.1) for w in (weights, weights * factor))
    np.testing.assert_array_equal(other.scales_by_round, plain.scales_by_round)
    np.testing.assert_array_equal(other.consistent, plain.consistent * factor)
    np.testing.assert_array_equal(other.fused, plain.fused * factor)


def test_views_without_any_weight():
    nothing = fuse_2019(np.zeros((3, 5)), beta=1.0, gamma=1.0)
    np.testing.assert_allclose(nothing.scales, 1 / 3)
    assert not nothing.fused.any()
    # One such view is fitted best by itself, and two alike share.
    some = fuse_2019(np.vstack([np.zeros((2, 5)), np.ones((1, 5))]), beta=1.0, gamma=1.0)
    np.testing.assert_allclose(some.scales, [0.5, 0.5, 0], atol=1e-12)
    assert np.isfinite(some.objective).all()


# From views to weights


def test_choices_are_counted_by_view_and_direction():
    # Both views: 0 and 1 choose each other. One view: 2 chooses 1. The other: 2 chooses nobody.
    edges, choices = unite_choices([np.array([[1], [0], [1]]), np.array([[1], [0], [2]])])
    np.testing.assert_array_equal(edges.to_csr(choices).toarray(), [[0, 2, 0], [2, 0, 0.5], [0, 0.5, 0]])


def dense_weights(distances, k, counted):
    """Return the weights of all views as n x n matrices, straight from the definition."""
    n = len(distances[0])
    lists = [np.zeros((n, n)) for _ in distances]
    for d, chosen in zip(distances, lists, strict=True):
        for i in range(n):
            order = np.argsort(np.where(np.arange(n) == i, -1.0, d[i]), kind="stable")
            chosen[i, order[1 : k + 1] if counted else order[1:k]] = 1
    count = sum(chosen + chosen.T for chosen in lists) / 2
    if counted:
        return [np.exp(-d / (2 * d.mean())) * count for d in distances]
    return [d * (count > 0) for d in distances]


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
@every_system
def test_weights_by_definition(system, metric, form):
    rng = np.random.default_rng(5)
    views = [rng.uniform(0.1, 1, size=(25, d)) for d in (3, 6)]
    views[1][4] = 0 if metric == "cosine" else views[1][4]  # similarity 0 to everybody
    distances = []
    for x in views:
        if metric == "cosine":
            length = np.linalg.norm(x, axis=1)
            length[length == 0] = 1
            d = 1 - (x / length[:, None]) @ (x / length[:, None]).T
        else:
            difference = x[:, None] - x[None]
            d = (difference**2).sum(axis=2) if metric == "euclidean" else np.abs(difference).sum(axis=2) ** 2
        np.fill_diagonal(d, 0)
        distances.append(d)
    model = system(n_clusters=2, n_neighbors=4, metric=metric, random_state=0)
    model.fit([form(x) for x in views])
    expected = dense_weights(distances, 4, system is SimilarityGraphFusion2019)
    for ours, theirs in zip((model.consistent_ + model.inconsistent_).T, expected, strict=True):
        np.testing.assert_allclose(model.edges_.to_csr(ours).toarray(), theirs, rtol=1e-9, atol=1e-12)


def test_similarities_are_taken_as_they_are_or_refused():
    sample = easy(n_samples=60)
    x = next(iter(sample.views.values()))
    similarity = np.exp(-((x[:, None] - x[None]) ** 2).sum(axis=2) / 50)
    metric = ["precomputed_similarity", "euclidean"]
    model = SimilarityGraphFusion2019(n_clusters=3, n_neighbors=5, metric=metric, random_state=0)
    model.fit([similarity, x])
    assert_same_partition(model.labels_, sample.y)
    choices = unite_choices([as_nearest(similarity), as_nearest(similarity)])[1]
    weights = (model.consistent_ + model.inconsistent_)[:, 0]
    np.testing.assert_allclose(weights, model.edges_.take(sparse.csr_array(similarity)) * choices)
    with pytest.raises(ValueError, match=r"'view_0' holds similarities, and DistanceGraphFusion2019 needs"):
        DistanceGraphFusion2019(n_clusters=3, metric=metric).fit([similarity, x])


def as_nearest(similarity):
    return np.argsort(-similarity + 9 * np.eye(len(similarity)), axis=1)[:, :5]


# The estimators


@every_system
def test_planted_clusters_are_found(system):
    sample = easy(n_samples=200, n_views=4, n_clusters=5)
    model = system(n_clusters=5, random_state=0).fit(sample.views)
    assert_same_partition(model.labels_, sample.y)
    assert model.converged_
    assert model.n_iter_ == len(model.history_)
    assert model.consistent_.shape == model.inconsistent_.shape == (model.edges_.n_edges, 4)
    np.testing.assert_allclose(np.linalg.norm(model.embedding_, axis=1), 1)
    np.testing.assert_allclose(model.view_weights_.sum(), 1)
    assert abs(model.graph_ - model.graph_.T).max() == 0


@every_system
@pytest.mark.parametrize("n", [2, 3, 5, 10])
@pytest.mark.parametrize("n_clusters", [1, 2])
def test_few_samples_and_one_view(system, n, n_clusters):
    x = np.random.default_rng(n).normal(size=(n, 2))
    for views in ([x], [x, x[:, :1]]):
        for k in {1, n - 1}:
            model = system(n_clusters=n_clusters, n_neighbors=k, random_state=0)
            with warnings.catch_warnings():  # warnings about graphs in pieces are another matter
                warnings.simplefilter("ignore", UserWarning)
                model.fit(views)
            assert len(np.unique(model.labels_)) <= n_clusters
            assert np.isfinite(model.history_).all() and np.isfinite(model.graph_.data).all()


@every_system
def test_duplicate_rows(system):
    # Every neighbour is a copy: all distances on edges are 0.
    x = np.repeat(np.random.default_rng(6).normal(size=(3, 2)), 12, axis=0)
    model = system(n_clusters=3, n_neighbors=5, random_state=0).fit([x, 2 * x])
    assert_same_partition(model.labels_, np.repeat(np.arange(3), 12))


@every_system
def test_a_constant_view_is_left_out(system):
    views = list(easy(n_samples=60).views.values())
    with pytest.warns(UserWarning, match="'view_1' is constant"):
        model = system(n_clusters=3, random_state=0).fit([views[0], np.ones((60, 2)), views[1]])
    without = system(n_clusters=3, random_state=0).fit(views[:2])
    np.testing.assert_array_equal(model.labels_, without.labels_)
    np.testing.assert_array_equal(model.view_weights_, np.insert(without.view_weights_, 1, 0))
    assert np.isnan(model.consistent_[:, 1]).all() and np.isnan(model.inconsistent_[:, 1]).all()


@every_system
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"beta": -1.0}, "beta must be a finite number that is not negative, got -1.0"),
        ({"gamma": np.inf}, "gamma must be a finite number that is not negative, got inf"),
        ({"gamma": "much"}, "gamma must be .* got 'much'"),
        ({"beta": 1e200}, r"beta must not be above 1e\+100, got 1e\+200"),
        ({"max_iter": 0}, "max_iter must be a positive integer, got 0"),
        ({"n_neighbors": 60}, "n_neighbors=60 asks for more"),
    ],
)
def test_bad_parameters(system, parameters, message):
    with pytest.raises(ValueError, match=message):
        system(**{"n_clusters": 3} | parameters).fit(easy(n_samples=60).views)


def test_the_bandwidth_of_the_published_kernel_shrinks_with_n_and_the_other_does_not():
    fused = np.array([1.0, 3.0, 2.0, 2.0])
    published, ours = DistanceGraphFusion2019(), DistanceGraphFusion2019(bandwidth="edges")
    np.testing.assert_allclose(published._similarity(fused, 4), np.exp(-fused), rtol=1e-14)  # sigma = 8/16
    np.testing.assert_allclose(ours._similarity(fused, 4), np.exp(-fused / 4), rtol=1e-14)  # sigma = 2
    np.testing.assert_array_equal(ours._similarity(fused, 1000), ours._similarity(fused, 4))
    with pytest.warns(UserWarning, match="too narrow for 20 samples: .* the similarity 2e-22.*'edges'"):
        published._similarity(fused, 20)
    with pytest.raises(ValueError, match="Unknown bandwidth 'wide'; known: 'pairs', 'edges'"):
        DistanceGraphFusion2019(n_clusters=3, bandwidth="wide").fit(easy(n_samples=60).views)


def test_distances_of_more_samples_than_the_published_kernel_is_good_for():
    sample = easy(n_samples=3000)
    model = DistanceGraphFusion2019(
        n_clusters=3, bandwidth="edges", n_neighbors=6, random_state=0, assign_labels=KMeansLabels(n_init=3)
    )
    assert_same_partition(model.fit(sample.views).labels_, sample.y)


@every_system
def test_missing_samples_are_refused(system):
    sample = easy(n_samples=60, missing=0.2)
    with pytest.raises(ValueError, match=f"{system.__name__} is not defined for samples that a view"):
        system(n_clusters=3).fit(Views(sample.views, mask=sample.mask))


@every_system
def test_the_cap_is_reported(system):
    sample = easy(n_samples=60)
    with pytest.warns(ConvergenceWarning, match="cap of 1 rounds, with the objective at .* Raise max_iter"):
        model = system(n_clusters=3, max_iter=1, random_state=0).fit(sample.views)
    assert not model.converged_
    assert model.n_iter_ == 1
