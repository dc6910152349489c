"""Samples that a view has not seen: all the way from views to labels, against plain loops, by symmetry."""

import itertools
import warnings

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from tests.engines.names import HOST_ENGINES

from consilience import DistanceGraphFusion, SimilarityGraphFusion, Views, ampute, make_multiview
from consilience.agreement import row_reliability, view_agreement
from consilience.engines import get_engine, walks
from consilience.engines.expected import expected_values
from consilience.metrics import clustering_accuracy
from consilience.models import AverageGraph
from consilience.spaces import Space
from consilience.stages.search import n_neighbors_of_seen
from consilience.testing import assert_same_partition

FUSIONS = [SimilarityGraphFusion, DistanceGraphFusion]
SYSTEMS = [*FUSIONS, AverageGraph]


def made(n=120, rate=0.3, n_views=4, seed=0, separation=5.0, **other):
    """Views with a mask, and the classes."""
    data = make_multiview(n, n_views=n_views, n_clusters=3, separation=separation, random_state=seed, **other)
    return ampute(data.views, rate, random_state=seed), data.y


def real(digits, rate=0.4, n=240):
    """Some of the bundled digits, in five views, with a mask."""
    views, y = digits
    return ampute({name: x[:n] for name, x in views.items()}, rate, random_state=1), y[:n]


@pytest.fixture(scope="module")
def digits():
    from consilience import load_digits_views

    views, y = load_digits_views(return_X_y=True)
    del views["pixels"]  # of few samples nearly a copy of the Karhunen-Loeve coefficients, and left out
    return views, y


def lists_of(views, k, engine):
    """The nearest of each sample in each view, among those that the view has seen."""
    spaces = [
        Space(name, x, "euclidean", seen=seen)
        for name, x, seen in zip(views.names, views.arrays, views.mask.T, strict=True)
    ]
    return [engine.fetch(engine.nearest(engine.place(space), k).lists) for space in spaces]


def united(views, k, engine):
    lists = [engine.adopt(one) for one in lists_of(views, k, engine)]
    return engine.fetch(engine.unite(lists, views.mask))


def imputed(edges, values, mask, weights, k, engine):
    grown, completed = engine.impute(engine.adopt(edges), engine.adopt(values), mask, weights, k)
    return engine.fetch(grown), engine.fetch(completed)


@pytest.fixture(params=HOST_ENGINES)
def engine(request):
    return get_engine(request.param)


def same_fit(one, other):
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_array_equal(one.graph_.toarray(), other.graph_.toarray())


# Against plain loops


def neighbors_in_loops(x, seen, k):
    """Each sample's nearest others among those seen, as sets."""
    result = [set() for _ in x]
    members = [i for i in range(len(x)) if seen[i]]
    for i in members:
        others = sorted((float(((x[i] - x[j]) ** 2).sum()), j) for j in members if j != i)
        result[i] = {j for _, j in others[:k]}
    return result


def weights_in_loops(views, k, kind):
    """The edges and the scaled weights of section 1b, a number at a time."""
    n, v, mask = views.n_samples, views.n_views, views.mask
    named = []
    for x, seen in zip(views.arrays, mask.T, strict=True):
        share = max(min(k, 6), round(k * int(seen.sum()) / n))
        named.append(neighbors_in_loops(x, seen, share))
    edges = [(i, j) for i in range(n) for j in sorted(set().union(*(one[i] for one in named)))]
    weights = np.zeros((v, len(edges)))
    for i, x in enumerate(views.arrays):
        judged = [e for e, (a, b) in enumerate(edges) if mask[a, i] and mask[b, i]]
        squares = np.array([((x[edges[e][0]] - x[edges[e][1]]) ** 2).sum() for e in judged])
        mean = sum(squares) / len(squares)
        deviation = np.sqrt(sum((one - mean) ** 2 for one in squares) / (len(squares) - 1))
        values = [max((one - mean) / deviation + 1, 0.0) for one in squares]
        if kind == "similarity":
            sigma = sum(np.sqrt(values)) / len(values)
            values = [np.exp(-one / (2 * sigma**2)) for one in values]
        unit = sum(values) / len(values) * len(edges)  # the mean over what is judged becomes 1 / n_edges
        weights[i, judged] = np.array(values) / unit
    return edges, weights


@pytest.mark.parametrize("kind", FUSIONS)
def test_edges_and_weights_are_those_of_plain_loops(kind):
    views, _ = made(60, 0.4)
    settings = {"n_neighbors": 9, "scale": "none", "view_weights": "uniform", "n_jobs": 1}
    model = kind(n_clusters=3, random_state=0, **settings).fit(views)
    edges, weights = weights_in_loops(views, 9, model.edge_fusion().kind)
    assert list(zip(model.edges_.rows.tolist(), model.edges_.indices.tolist(), strict=True)) == edges
    np.testing.assert_allclose(model.fusion_.weights_by_view, weights, rtol=1e-9, atol=1e-15)


def objective_in_loops(model, edges, mask):
    """The objective over what has been seen, and the fused value that minimises it, per edge."""
    result, value, best = model.fusion_, 0.0, []
    weight, scale = result.view_weights, result.view_scales
    consistent = result.weights_by_view - result.inconsistent_by_view
    for e, (a, b) in enumerate(edges):
        judges = [i for i in range(len(weight)) if mask[a, i] and mask[b, i]]
        count = dict.fromkeys(judges, 1.0)
        if result.trust_by_view is not None:
            count = {i: result.trust_by_view[i, e] for i in judges}
        total = sum(weight[i] * count[i] for i in judges)
        best.append(sum(weight[i] * count[i] * scale[i] * consistent[i, e] for i in judges) / total)
        for i in judges:
            value += weight[i] * count[i] * (scale[i] * consistent[i, e] - result.fused[e]) ** 2
        for i, j in itertools.product(judges, judges):
            cost = model.beta if i == j else model.gamma
            one, two = (weight[m] * count[m] * scale[m] * result.inconsistent_by_view[m, e] for m in (i, j))
            value += cost * one * two
    return value, np.array(best)


@pytest.mark.parametrize("rows", ["uniform", "agreement"])
@pytest.mark.parametrize("kind", FUSIONS)
def test_the_exact_solver_ends_at_the_fused_values_and_below_the_last_objective_of_plain_loops(
    kind, rows, engine
):
    views, _ = made(200, 0.2, scrambled=0.1)
    model = kind(n_clusters=3, solver="exact", row_weights=rows, gamma=0.5, engine=engine, random_state=0)
    model.fit(views)
    assert (model.fusion_.trust_by_view is not None) == (rows == "agreement")
    edges = list(zip(model.edges_.rows.tolist(), model.edges_.indices.tolist(), strict=True))
    value, best = objective_in_loops(model, edges, views.mask)
    np.testing.assert_allclose(model.fusion_.fused, best, rtol=1e-9)
    assert value <= model.history_[-1] * (1 + 1e-9)
    assert value >= 0.5 * model.history_[-1]  # the same objective, not another one
    assert (np.diff(model.history_[1:]) <= 1e-12 * model.history_[0]).all()


@pytest.mark.parametrize(("solver", "gamma"), [("dca", 100.0), ("exact", 100.0), ("exact", 0.5)])
@pytest.mark.parametrize("rows", ["uniform", "agreement"])
@pytest.mark.parametrize("kind", FUSIONS)
@pytest.mark.parametrize("source", ["made", "real"])
def test_both_engines_agree(source, kind, rows, solver, gamma, digits):
    views, y = real(digits) if source == "real" else made(250, 0.3, scrambled=0.1)
    settings = {"n_clusters": len(np.unique(y)), "solver": solver, "gamma": gamma, "row_weights": rows}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="View .* Pass scale='none'")
        slow, fast = (
            kind(**settings, descriptions="default", engine=name, random_state=0, n_jobs=1).fit(views)
            for name in ("numpy", "numba")
        )
    assert slow.edges_ == fast.edges_
    assert not slow.edges_.seen.all()
    np.testing.assert_allclose(fast.view_scales_, slow.view_scales_, rtol=1e-6)
    np.testing.assert_allclose(fast.history_, slow.history_, rtol=1e-8)
    size = slow.fusion_.fused.max()
    np.testing.assert_allclose(fast.fusion_.fused, slow.fusion_.fused, rtol=1e-6, atol=1e-9 * size)
    np.testing.assert_allclose(fast.inconsistent_, slow.inconsistent_, rtol=1e-5, atol=1e-8 * size)
    unseen = ~slow.edges_.seen.T
    assert not slow.consistent_[unseen].any()
    assert not fast.inconsistent_[unseen].any()
    assert_same_partition(slow.labels_, fast.labels_)


def test_two_views_are_compared_on_the_samples_that_both_have_seen(engine):
    views, _ = made(150, 0.4, n_views=3)
    lists = lists_of(views, 8, engine)
    found = view_agreement(lists, views.mask, engine=engine)
    for i, j in itertools.combinations(range(3), 2):
        both = np.flatnonzero(views.mask[:, i] & views.mask[:, j])
        place = {s: number for number, s in enumerate(both.tolist())}
        own = []  # the lists of these samples alone; who is not among them is no neighbour
        for one in (lists[i], lists[j]):
            own.append(np.array([[place.get(t, place[s]) for t in one[s].tolist()] for s in both.tolist()]))
        alone = view_agreement(own, engine=engine)
        assert found.n_seen[i, j] == len(both)
        for name in ("shares", "z_scores", "p_values", "shared"):
            expected = getattr(alone, name)[0, 1]
            np.testing.assert_allclose(getattr(found, name)[i, j], expected, rtol=1e-9)


def test_rows_are_judged_by_the_views_that_have_seen_them(engine):
    views, _ = made(300, 0.3, separation=8.0, scrambled=0.2)
    lists = lists_of(views, 12, engine)
    between = view_agreement(lists, views.mask, engine=engine)
    rows = row_reliability(lists, between, views.mask, engine=engine)
    alone = views.mask.sum(axis=1) == 1
    assert alone.any()
    np.testing.assert_array_equal(rows[alone][views.mask[alone]], 1.0)  # nobody can say anything against them
    assert rows[~alone].min() < 0.8


# The graph is completed


def completed_in_loops(edges, values, mask, weights, k, engine):
    """The completed similarities as a dense matrix."""
    n = len(mask)
    graph = engine.fetch(engine.sparsify(engine.adopt(edges), engine.adopt(values), k)).toarray()
    steps = np.zeros((n, n))
    for i, q, r in itertools.product(range(n), repeat=3):
        if graph[q].sum() > 0:
            steps[i, r] += graph[i, q] * graph[q, r] / graph[q].sum()
    pairs = list(zip(edges.rows.tolist(), edges.indices.tolist(), strict=True))
    shares = [weights[mask[i] & mask[r]].sum() / weights.sum() for i, r in pairs]
    walked = [steps[pair] for pair in pairs]
    scale = sum(p * t * s for p, t, s in zip(shares, walked, values, strict=True))
    scale /= sum(p * t * t for p, t in zip(shares, walked, strict=True))
    result = np.zeros((n, n))
    for pair, p, t, s in zip(pairs, shares, walked, values, strict=True):
        result[pair] = p * s + (1 - p) * scale * t
    for i in range(n):
        strangers = [r for r in range(n) if not (mask[i] & mask[r]).any()]
        for r in sorted(strangers, key=lambda r: -steps[i, r])[:k]:
            result[i, r] = scale * steps[i, r]
    return result


@pytest.mark.parametrize("block", [7, 2048])
@pytest.mark.parametrize("rate", [0.3, 0.6])
def test_completing_is_that_of_plain_loops(rate, block, engine, monkeypatch):
    monkeypatch.setattr(walks, "_BLOCK", block)
    views, _ = made(40, rate, n_views=3, seed=3)
    edges = united(views, 4, engine)
    values = np.random.default_rng(0).uniform(0.1, 1, edges.n_edges)
    weights = np.array([0.5, 1.0, 1.5])
    found, completed = imputed(edges, values, views.mask, weights, 5, engine)
    assert found.n_edges > edges.n_edges
    expected = completed_in_loops(edges, values, views.mask, weights, 5, engine)
    np.testing.assert_allclose(found.to_csr(completed).toarray(), expected, rtol=1e-9, atol=1e-15)


def test_edges_that_all_views_judge_stay_as_they_are(engine):
    views, _ = made(60, 0.2)
    edges = united(views, 6, engine)
    values = np.random.default_rng(0).uniform(0.1, 1, edges.n_edges)
    found, completed = imputed(edges, values, views.mask, np.ones(4), 6, engine)
    after = edges.take(found.to_csr(completed))
    known = edges.seen.all(axis=0)
    assert known.any()
    np.testing.assert_array_equal(after[known], values[known])
    assert (after[~known] != values[~known]).all()


def test_without_common_neighbours_nothing_is_completed(engine):
    mask = np.array([[True, True], [True, False], [False, True], [True, True]])
    edges = engine.fetch(engine.unite([engine.adopt(np.array([[1], [0], [3], [2]]))], mask))
    found, completed = imputed(edges, np.ones(4), mask, np.ones(2), 1, engine)
    assert found is edges
    np.testing.assert_array_equal(completed, 1.0)


def test_a_view_names_neighbours_in_proportion_to_what_it_has_seen():
    everyone = np.ones(200, dtype=bool)
    assert n_neighbors_of_seen(20, everyone) == 20
    assert n_neighbors_of_seen(20, np.arange(200) < 100) == 10
    assert n_neighbors_of_seen(20, np.arange(200) < 10) == 6
    assert n_neighbors_of_seen(4, np.arange(200) < 100) == 4
    assert n_neighbors_of_seen(20, np.arange(200) < 3) == 2


# What must not matter, and what must


@pytest.mark.parametrize("solver", ["dca", "exact"])
@pytest.mark.parametrize("kind", FUSIONS)
def test_what_stands_in_rows_that_were_not_seen_does_not_matter(kind, solver):
    data = make_multiview(120, n_clusters=3, separation=4.0, random_state=0)
    mask = ampute(data.views, 0.3, random_state=0).mask
    fits = []
    for garbage in (0.0, 1e9, np.nan, -np.inf):
        arrays = {name: x.copy() for name, x in data.views.items()}
        for x, seen in zip(arrays.values(), mask.T, strict=True):
            x[~seen] = garbage
        fits.append(kind(n_clusters=3, solver=solver, random_state=0).fit(Views(arrays, mask=mask)))
    for one in fits[1:]:
        same_fit(fits[0], one)


@pytest.mark.parametrize("kind", SYSTEMS)
def test_a_mask_that_hides_nothing_changes_no_bit(kind, digits):
    arrays = {name: x[:300] for name, x in digits[0].items()}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="View .* Pass scale='none'")
        without = kind(n_clusters=10, random_state=0).fit(arrays)
        masked = kind(n_clusters=10, random_state=0).fit(Views(arrays, mask=np.ones((300, 5), dtype=bool)))
    same_fit(without, masked)
    if kind is not AverageGraph:
        np.testing.assert_array_equal(without.fusion_.fused, masked.fusion_.fused)
        np.testing.assert_array_equal(without.history_, masked.history_)


@pytest.mark.parametrize("kind", SYSTEMS)
def test_the_order_of_the_samples_does_not_matter(kind):
    views, _ = made(150, 0.4)
    order = np.random.default_rng(0).permutation(150)
    one = kind(n_clusters=3, random_state=0).fit(views)
    other = kind(n_clusters=3, random_state=0).fit(views[order])
    assert_same_partition(one.labels_[order], other.labels_)
    np.testing.assert_allclose(
        one.graph_.toarray()[np.ix_(order, order)], other.graph_.toarray(), rtol=1e-6, atol=1e-12
    )


@pytest.mark.parametrize("kind", SYSTEMS)
def test_the_order_of_the_views_does_not_matter(kind):
    views, _ = made(150, 0.4)
    one = kind(n_clusters=3, random_state=0).fit(views)
    assert_same_partition(
        one.labels_, kind(n_clusters=3, random_state=0).fit(views.select([2, 0, 3, 1])).labels_
    )


@pytest.mark.parametrize("kind", SYSTEMS)
def test_samples_seen_by_one_view_get_the_label_of_their_cluster(kind):
    data = make_multiview(200, n_clusters=4, separation=7.0, random_state=0)
    views = ampute(data.views, 0.5, "paired", random_state=0)
    alone = views.mask.sum(axis=1) == 1
    assert alone.sum() == 100
    assert set(np.flatnonzero(views.mask[alone].any(axis=0))) == {0, 1, 2, 3}
    labels = kind(n_clusters=4, random_state=0).fit(views).labels_
    assert clustering_accuracy(data.y, labels) >= 0.97


@pytest.mark.filterwarnings("ignore:The graph has")  # clusters may well be apart
@pytest.mark.parametrize("kind", SYSTEMS)
@pytest.mark.parametrize("n_seen", [2, 3, 10])
def test_a_view_that_has_seen_a_few_samples_does_no_harm(kind, n_seen):
    data = make_multiview(150, n_views=4, n_clusters=3, separation=6.0, random_state=0)
    mask = np.ones((150, 4), dtype=bool)
    mask[n_seen:, 3] = False
    labels = kind(n_clusters=3, random_state=0).fit(Views(data.views, mask=mask)).labels_
    assert clustering_accuracy(data.y, labels) >= 0.97


@pytest.mark.filterwarnings("ignore:The graph has")  # clusters may well be apart
@pytest.mark.parametrize("kind", SYSTEMS)
def test_a_view_that_has_seen_one_sample_is_left_out(kind):
    data = make_multiview(100, n_views=3, n_clusters=3, separation=6.0, random_state=0)
    mask = np.ones((100, 3), dtype=bool)
    mask[1:, 2] = False
    with pytest.warns(UserWarning, match=r"'view_2' has seen fewer than two samples. It is left out."):
        model = kind(n_clusters=3, random_state=0).fit(Views(data.views, mask=mask))
    assert clustering_accuracy(data.y, model.labels_) >= 0.95


@pytest.mark.parametrize("kind", SYSTEMS)
def test_two_views_without_common_samples_are_two_graphs(kind):
    data = make_multiview(200, n_views=2, n_clusters=2, separation=8.0, random_state=0)
    mask = np.zeros((200, 2), dtype=bool)
    mask[:100, 0] = mask[100:, 1] = True
    with pytest.warns(UserWarning, match="components"):
        model = kind(n_clusters=4, random_state=0).fit(Views(data.views, mask=mask))
    assert model.graph_[:100, 100:].nnz == 0
    assert clustering_accuracy(data.y + 2 * (np.arange(200) >= 100), model.labels_) == 1.0


@pytest.mark.parametrize("kind", SYSTEMS)
def test_two_views_that_a_third_connects_are_one_graph(kind):
    data = make_multiview(300, n_views=3, n_clusters=3, separation=7.0, random_state=0)
    mask = np.zeros((300, 3), dtype=bool)
    mask[:150, 0] = mask[150:, 1] = mask[75:225, 2] = True
    labels = kind(n_clusters=3, random_state=0).fit(Views(data.views, mask=mask)).labels_
    assert clustering_accuracy(data.y, labels) >= 0.97


@pytest.mark.parametrize("kind", FUSIONS)
def test_weights_have_the_same_mean_over_what_each_view_judges(kind):
    data = make_multiview(200, n_views=3, n_clusters=3, separation=4.0, random_state=0)
    views = ampute(data.views, 0.4, "one_view", random_state=0)
    model = kind(n_clusters=3, random_state=0).fit(views)
    seen = model.edges_.seen
    assert seen[2].mean() < 0.5
    means = [row[has].mean() for row, has in zip(model.fusion_.weights_by_view, seen, strict=True)]
    np.testing.assert_allclose(means, 1 / model.edges_.n_edges)


@pytest.mark.parametrize("rows", ["uniform", "agreement"])
@pytest.mark.parametrize("kind", FUSIONS)
def test_a_view_that_is_not_relied_on_is_used_for_samples_that_no_other_view_has_seen(kind, rows):
    data = make_multiview(300, n_views=3, n_clusters=3, separation=5.0, noise_views=1, random_state=0)
    mask = np.ones((300, 4), dtype=bool)
    mask[:5, :3] = False
    message = (
        r"'noise_0' agrees with no other view .* left out, except for 5 samples that no other view has seen"
    )
    with pytest.warns(UserWarning, match=message):
        model = kind(n_clusters=3, row_weights=rows, random_state=0).fit(Views(data.views, mask=mask))
    others = Views(data.views).select([0, 1, 2])[5:]
    without = kind(n_clusters=3, row_weights=rows, random_state=0).fit(others)
    assert clustering_accuracy(without.labels_, model.labels_[5:]) >= 0.98  # it does no harm to the others
    assert (model.graph_[:5].sum(axis=1) > 0).all()  # and these are joined to somebody
    starts, ends = model.edges_.rows, model.edges_.indices
    only_by_noise = model.edges_.seen.sum(axis=0) == 1
    assert ((starts < 5) | (ends < 5))[only_by_noise].all()
    assert model.fusion_.trust_by_view[3][(starts >= 5) & (ends >= 5)].max() <= 1e-4


def test_distances_and_similarities_between_samples_may_be_missing_too():
    data = make_multiview(90, n_views=2, n_clusters=3, separation=7.0, random_state=0)
    one, two = data.views.values()
    views = Views({"features": one, "distances": cdist(two, two)}, pairwise=["distances"])
    views = ampute(views, 0.3, random_state=0)
    metric = ["euclidean", "precomputed_distance"]
    by_matrix = DistanceGraphFusion(n_clusters=3, metric=metric, random_state=0).fit(views)
    by_features = DistanceGraphFusion(n_clusters=3, metric="euclidean", random_state=0).fit(
        Views({"features": one, "distances": two}, mask=views.mask)
    )
    assert by_matrix.edges_ == by_features.edges_
    np.testing.assert_allclose(by_matrix.fusion_.fused, by_features.fusion_.fused, rtol=1e-6, atol=1e-12)
    assert_same_partition(by_matrix.labels_, by_features.labels_)


def test_expected_values_are_those_of_plain_loops():
    rng = np.random.default_rng(0)
    common = rng.gamma(2.0, size=400)
    values = np.stack([common + 0.5 * rng.gamma(2.0, size=400) for _ in range(4)])
    seen = rng.random((4, 400)) < 0.6
    seen[0, ~seen.any(axis=0)] = True
    means = np.array([values[v][seen[v]].mean() for v in range(4)])
    covariance = np.zeros((4, 4))
    for v in range(4):
        for u in range(4):
            both = seen[v] & seen[u]
            covariance[v, u] = np.mean((values[v][both] - means[v]) * (values[u][both] - means[u]))
    assert np.linalg.eigvalsh(covariance)[0] > 0
    expected = values.copy()
    for e in range(400):
        there, gone = np.flatnonzero(seen[:, e]), np.flatnonzero(~seen[:, e])
        apart = np.linalg.solve(covariance[np.ix_(there, there)], values[there, e] - means[there])
        expected[gone, e] = np.maximum(means[gone] + covariance[np.ix_(gone, there)] @ apart, 0)
    hidden = np.where(seen, values, 0.0)
    np.testing.assert_allclose(expected_values(hidden, seen), expected, rtol=1e-9)
    np.testing.assert_array_equal(expected_values(hidden, seen)[seen], values[seen])
    # It is nearer to what the views would have said than their means are.
    gone = ~seen
    by_mean = np.broadcast_to(means[:, None], values.shape)[gone]
    assert np.mean((expected[gone] - values[gone]) ** 2) < 0.7 * np.mean((by_mean - values[gone]) ** 2)


def test_nothing_is_expected_of_views_that_never_judge_the_same_edge():
    values = np.array([[1.0, 2.0, 3.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 5.0, 6.0, 10.0]])
    seen = values > 0
    expected = expected_values(values, seen)
    assert expected[0].tolist() == [1, 2, 3, 2, 2, 2] and expected[1].tolist() == [7, 7, 7, 5, 6, 10]


@pytest.mark.parametrize("kind", [SimilarityGraphFusion, DistanceGraphFusion])
def test_the_unified_graph_is_made_of_what_views_say_and_would_say(kind):
    data = make_multiview(80, n_views=3, n_clusters=3, separation=5.0, missing=0.3, random_state=1)
    model = kind(n_clusters=3, random_state=0, descriptions="default").fit(data.views)
    fusion, edges = model.fusion_, model.edges_
    said = fusion.view_scales[:, None] * fusion.consistent.T
    trust = np.ones(said.shape) if fusion.trust_by_view is None else fusion.trust_by_view
    counts = np.where(edges.seen, trust, 1.0) * fusion.view_weights[:, None]
    fused = np.average(expected_values(said, edges.seen), axis=0, weights=counts)
    if kind is DistanceGraphFusion:
        fused = np.exp(-fused / (2 * fusion.fused.mean()))
    numpy = get_engine("numpy")
    grown, values = numpy.impute(edges, fused, data.mask, fusion.view_weights, model.n_neighbors_)
    expected = numpy.sparsify(grown, values, model.n_neighbors_)
    np.testing.assert_allclose(model.graph_.toarray(), expected.toarray(), rtol=1e-12)


@pytest.mark.parametrize("kind", [SimilarityGraphFusion, DistanceGraphFusion])
def test_plain_is_the_fusion_and_nothing_else(kind):
    data = make_multiview(80, n_views=3, n_clusters=3, separation=5.0, missing=0.3, random_state=1)
    model = kind(
        n_clusters=3, random_state=0, missing="plain", row_order="given", descriptions="default"
    ).fit(data.views)
    fused = model.fusion_.fused
    if kind is DistanceGraphFusion:
        fused = np.exp(-fused / (2 * fused.mean()))
    expected = get_engine("numpy").sparsify(model.edges_, fused, model.n_neighbors_)
    np.testing.assert_array_equal(model.graph_.toarray(), expected.toarray())
    assert {lists.shape[1] for lists in model.neighbors_} == {model.n_neighbors_}
    complete = make_multiview(80, n_views=3, n_clusters=3, separation=5.0, random_state=1)
    one, other = (
        kind(n_clusters=3, random_state=0, missing=m).fit(complete.views) for m in ("plain", "impute")
    )
    np.testing.assert_array_equal(one.graph_.toarray(), other.graph_.toarray())
    with pytest.raises(ValueError, match="missing"):
        kind(missing="fill").fit(complete.views)
