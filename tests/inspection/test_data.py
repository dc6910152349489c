"""The other diagnostics: against plain definitions, and at the edges."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import rankdata
from sklearn.metrics import roc_auc_score, silhouette_samples

from consilience import DistanceGraphFusion, SimilarityGraphFusion, Views, fuse_graphs, make_multiview
from consilience.engines import get_engine
from consilience.inspection import (
    agreement_matrix,
    cluster_conflicts,
    conflicting_pairs,
    convergence,
    graph_health,
    inspect,
    sample_confidence,
    sensitivity,
    view_summary,
)
from consilience.inspection.pairs import _nearness, _odd_one_out, _once
from consilience.metrics import clustering_accuracy
from consilience.spaces import Space
from consilience.stages import canonical_labels

from .twins import odd_one_out

BOTH = [SimilarityGraphFusion, DistanceGraphFusion]


def fitted(views, n_clusters=3, cls=DistanceGraphFusion, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cls(n_clusters=n_clusters, random_state=0, **options).fit(views)


@pytest.fixture(scope="module")
def data():
    return make_multiview(
        240, n_views=3, n_clusters=3, separation=5.0, scrambled=[0.15, 0, 0], noise_views=1, random_state=0
    )


@pytest.fixture(scope="module", params=BOTH)
def model(data, request):
    return fitted(data.views, cls=request.param)


def two_graphs():
    rng = np.random.default_rng(0)
    graphs = []
    for _ in range(2):
        upper = np.triu(rng.random((30, 30)) * (rng.random((30, 30)) < 0.3), 1)
        graphs.append(sparse.csr_array(upper + upper.T))
    return graphs


def test_views_are_summarized_as_the_model_has_them(model):
    found = view_summary(model)
    assert found.names == ("view_0", "view_1", "view_2", "noise_0")
    np.testing.assert_array_equal(found.kept, [True, True, True, False])
    np.testing.assert_array_equal(found.contributions, model.view_contributions_)
    np.testing.assert_array_equal(found.inconsistent_shares, model.views_.inconsistent_share)
    np.testing.assert_array_equal(found.reliability, model.view_reliability_)
    np.testing.assert_array_equal(found.weights, model.view_weights_)
    np.testing.assert_array_equal(found.scales, model.view_scales_)
    assert found.names == model.views_.name
    np.testing.assert_array_equal(found.kept, model.views_.kept)


def test_agreement_is_found_even_if_nothing_was_weighed_by_it(data, model):
    found = agreement_matrix(model)
    np.testing.assert_array_equal(found.shares, model.agreement_.shares)
    assert found.significant[:3, :3].sum() == 6 and not found.significant[3].any()
    plain = fitted(data.views, cls=type(model), view_weights="uniform", row_weights="uniform")
    assert plain.agreement_ is None
    np.testing.assert_allclose(agreement_matrix(plain).shares, found.shares)
    reliability = view_summary(plain).reliability
    assert reliability[3] == 0 and (reliability[:3] > 0).all()


def test_of_graphs():
    result = fuse_graphs(dict(zip("ab", two_graphs(), strict=True)), kind="similarity")
    assert view_summary(result).names == ("a", "b")
    assert agreement_matrix(result).shares.shape == (2, 2)
    assert conflicting_pairs(result, n_pairs=5).pairs.shape == (5, 2)
    assert convergence(result).n_iter == result.n_iter
    health = graph_health(result)
    assert health.n_samples == 30 and len(health.degrees) == 30
    everything = inspect(result)
    assert everything.clusters is None and everything.confidence is None and everything.labels is None
    labelled = inspect(result, labels=np.arange(30) % 2)
    assert labelled.clusters.sizes.tolist() == [15, 15]
    with pytest.raises(ValueError, match="pass labels"):
        cluster_conflicts(result)
    with pytest.raises(ValueError, match="embedding"):
        sample_confidence(result)
    with pytest.raises(TypeError, match="FusionResult"):
        sensitivity(result, None, "beta", [1])


def test_distance_graphs_too():
    graphs = two_graphs()
    for graph in graphs:
        graph.data = 2.0 - graph.data
    result = fuse_graphs(graphs, kind="distance", fill="unseen")
    found = conflicting_pairs(result, n_pairs=50)
    both = np.isfinite(found.opinions).all(axis=1)
    assert both.all()  # pairs that only one graph judges are no conflict
    assert inspect(result).samples.scores.shape == (30, 2)


def test_clusters_are_summed_up(data, model):
    found = cluster_conflicts(model)
    conflicts = inspect(model).samples
    for c in range(3):
        members = model.labels_ == c
        assert found.sizes[c] == members.sum()
        np.testing.assert_allclose(found.scores[c], conflicts.scores[members].mean(axis=0))
        np.testing.assert_array_equal(found.n_flagged[c], conflicts.flagged[members].sum(axis=0))
        for i, lists in enumerate(model.neighbors_):
            named = model.labels_[lists[members]]
            np.testing.assert_allclose(found.cohesion[c, i], (named == c).mean())
            others = np.bincount(named[named != c], minlength=3)
            assert found.mixed_up_with[c, i] == (others.argmax() if others.any() else -1)
    share = found.sizes / found.sizes.sum()
    np.testing.assert_allclose(found.cohesion[:, 3], share, atol=0.1)  # noise has no clue
    assert (found.cohesion[:, 1] > 0.8).all()


def test_pairs_are_the_worst_of_all(model):
    found = conflicting_pairs(model, n_pairs=40)
    everything = conflicting_pairs(model, n_pairs=10**9)
    assert len(everything.pairs) == everything.n_judged == found.n_judged
    keys = np.sort(everything.pairs, axis=1)
    assert len(np.unique(keys, axis=0)) == len(keys)
    edges = {
        tuple(sorted(pair))
        for pair in zip(model.edges_.rows.tolist(), model.edges_.indices.tolist(), strict=True)
    }
    assert len(edges) == everything.n_judged
    np.testing.assert_allclose(found.conflict, np.sort(everything.conflict)[::-1][:40])
    assert np.isnan(found.opinions[:, 3]).all() and np.isnan(found.inconsistent[:, 3]).all()
    for j in range(40):
        far, whose = odd_one_out(found.opinions[j])
        assert found.conflict[j] == pytest.approx(far)
        assert found.odd_view[j] == whose
    assert (found.opinions[:, :3] >= 0).all() and (found.opinions[:, :3] <= 1).all()


def test_near_is_near_in_both_kinds(data):
    """Pairs that all views hold near are in the same cluster, whatever is fused."""
    for cls in BOTH:
        model = fitted(data.views, cls=cls)
        found = conflicting_pairs(model, n_pairs=10**9)
        near = (found.opinions[:, 1:3] > 0.9).all(axis=1)
        labels = model.labels_[found.pairs]
        assert (labels[near, 0] == labels[near, 1]).mean() > 0.99
        far = (found.opinions[:, 1:3] < 0.1).all(axis=1)
        assert (labels[far, 0] == labels[far, 1]).mean() < 0.5


def test_ranks_and_odd_ones_against_loops():
    rng = np.random.default_rng(0)
    opinions = rng.random((5, 200))
    opinions[rng.random((5, 200)) < 0.3] = np.nan
    conflict, odd = _odd_one_out(opinions)
    for j in range(200):
        far, whose = odd_one_out(opinions[:, j])
        if whose is None:
            assert np.isnan(conflict[j])
        else:
            assert conflict[j] == pytest.approx(far)
            # Of two, either is as far from the other.
            assert odd[j] == whose or np.isfinite(opinions[:, j]).sum() == 2
    values = rng.permutation(np.repeat(np.arange(1.0, 11.0), 3))
    everyone, some = np.ones(30, bool), values < 6
    expected = (3 * values - 2) / 29
    np.testing.assert_allclose(_nearness(values, everyone, "distance"), 1 - expected)
    np.testing.assert_allclose(_nearness(np.exp(-values), everyone, "similarity"), 1 - expected)
    np.testing.assert_allclose(_nearness(values, some, "distance")[some], 1 - (3 * values[some] - 2) / 14)
    assert np.isnan(_nearness(values, some, "distance")[~some]).all()
    assert np.isnan(_nearness(values, np.zeros(30, bool), "distance")).all()
    np.testing.assert_allclose(_nearness(np.ones(4), np.ones(4, bool), "distance"), 0.5)


@pytest.mark.parametrize("kind", ["distance", "similarity"])
def test_ranks_are_ranks_whatever_is_far_out(kind):
    """A row with a misplaced decimal point must not make all other pairs look alike."""
    rng = np.random.default_rng(0)
    distances = np.concatenate([rng.gamma(2.0, size=5000), 1e6 * rng.gamma(2.0, size=50)])
    weights = distances if kind == "distance" else np.exp(-distances / distances.mean())
    expected = 1 - (rankdata(distances) - 1) / (len(distances) - 1)
    np.testing.assert_allclose(_nearness(weights, np.ones(5050, bool), kind), expected, atol=2e-3)


def test_each_pair_is_marked_once():
    rows, columns = np.array([0, 0, 1, 2, 2, 3]), np.array([1, 2, 0, 0, 1, 2])
    np.testing.assert_array_equal(_once(rows, columns, 4), [True, True, False, False, True, True])
    assert _once(np.array([1]), np.array([0]), 2).tolist() == [True]


@pytest.mark.parametrize("n_pairs", [0, -3, 2.5, "3"])
def test_no_pairs_are_none(model, n_pairs):
    with pytest.raises(ValueError, match="n_pairs must be a positive integer"):
        conflicting_pairs(model, n_pairs=n_pairs)


def test_silhouette_is_that_of_squared_distances(model):
    found = sample_confidence(model)
    expected = silhouette_samples(model.embedding_, model.labels_, metric="sqeuclidean")
    np.testing.assert_allclose(found.silhouette, expected, atol=1e-10)


def test_margin_and_neighbours_by_definition(model):
    found, n = sample_confidence(model), len(model.labels_)
    centres = np.stack([model.embedding_[model.labels_ == c].mean(axis=0) for c in range(3)])
    graph = model.graph_.toarray()
    for s in range(0, n, 7):
        own = model.labels_[s]
        distances = np.linalg.norm(model.embedding_[s] - centres, axis=1)
        others = np.delete(np.arange(3), own)
        second = others[distances[others].argmin()]
        assert found.second[s] == second
        assert found.margin[s] == pytest.approx(max(1 - distances[own] / distances[second], 0), abs=1e-9)
        inside = graph[s, model.labels_ == own].sum() / graph[s].sum()
        assert found.neighbor_agreement[s] == pytest.approx(inside)
    three = np.stack([found.silhouette, found.margin, found.neighbor_agreement])
    np.testing.assert_allclose(found.lowest, np.clip(three.min(axis=0), 0, 1))


def test_unsure_samples_are_those_that_are_wrong():
    data = make_multiview(600, n_clusters=4, separation=3.0, scrambled=0.2, random_state=0)
    model = fitted(data.views, 4)
    table = np.zeros((4, 4))
    np.add.at(table, (model.labels_, data.y), 1)
    wrong = table.argmax(axis=1)[model.labels_] != data.y
    assert wrong.mean() == pytest.approx(1 - clustering_accuracy(data.y, model.labels_))
    assert roc_auc_score(wrong, -sample_confidence(model).lowest) > 0.7


def test_health_of_a_graph_in_pieces():
    """Two groups that are far from each other."""
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(size=(30, 2)), 100 + rng.normal(size=(50, 2))])
    model = fitted([x, x + 0.3 * rng.normal(size=x.shape)], 2, n_neighbors=5)
    health = graph_health(model)
    assert health.n_components == 2 and health.component_sizes.tolist() == [50, 30]
    assert health.n_isolated == 0 and health.n_edges == model.graph_.nnz // 2
    np.testing.assert_array_equal(health.degrees, (model.graph_.toarray() > 0).sum(axis=1))
    np.testing.assert_allclose(health.strengths, model.graph_.toarray().sum(axis=1))
    assert health.eigengap == pytest.approx(health.eigenvalues[2] - health.eigenvalues[1])
    assert health.largest_gap == 2 + int(np.argmax(np.diff(health.eigenvalues)[1:]))
    np.testing.assert_allclose(health.eigenvalues[:2], 0, atol=1e-8)
    assert graph_health(model, n_eigenvalues=0).eigenvalues.size == 0
    assert np.isnan(graph_health(model, n_eigenvalues=2).eigengap)


def test_convergence_is_the_history(model):
    went = convergence(model)
    np.testing.assert_array_equal(went.objective, model.history_)
    assert went.gains.sum() == pytest.approx(1.0) and went.n_iter == model.n_iter_
    assert went.status == "converged" and went.converged


def test_sensitivity(data, model):
    before = model.labels_.copy()
    found = sensitivity(model, data.views, "beta", [0.1, 1.0, 10.0], y=data.y)
    np.testing.assert_array_equal(model.labels_, before)
    assert found.values == (0.1, 1.0, 10.0) and found.current == 1.0
    assert found.agreement[1] == pytest.approx(1.0)
    assert found.scores.shape == (3,) and found.contributions.shape == (3, 4)
    alone = fitted(data.views, cls=type(model), beta=0.1)
    np.testing.assert_allclose(found.contributions[0], alone.view_contributions_)
    with pytest.raises(ValueError, match="There is no parameter 'bta'"):
        sensitivity(model, data.views, "bta", [1])
    with pytest.raises(ValueError, match="at least one value"):
        sensitivity(model, data.views, "beta", [])
    for other in ([x[:100] for x in data.views.values()], {k: x[::-1] for k, x in data.views.items()}):
        with pytest.raises(ValueError, match="not the views that the model was fitted to"):
            sensitivity(model, other, "beta", [1])
    with pytest.raises(ValueError, match="one label for each"):
        sensitivity(model, data.views, "beta", [1], y=[0, 1])


def test_names_of_samples(data):
    ids = np.array([f"patient {i}" for i in range(240)], dtype=object)
    model = fitted(Views(data.views, sample_ids=ids))
    found = inspect(model)
    np.testing.assert_array_equal(found.sample_names, ids)
    np.testing.assert_array_equal(found.samples.sample_names, ids)
    np.testing.assert_array_equal(found.pairs.sample_names, ids)
    other = inspect(model, sample_names=ids[::-1])
    np.testing.assert_array_equal(other.samples.sample_names, ids[::-1])
    np.testing.assert_array_equal(inspect(model).sample_names, ids)
    with pytest.raises(ValueError, match="one for each of 240"):
        inspect(model, sample_names=ids[:3])


def test_one_cluster_and_two_samples():
    data = make_multiview(50, n_views=3, n_clusters=2, separation=4.0, random_state=0)
    found = inspect(fitted(data.views, 1))
    assert (found.confidence.second == -1).all() and found.clusters.sizes.tolist() == [50]
    assert np.isfinite(found.samples.scores).all()
    tiny = inspect(fitted([[[0.0], [1.0], [3.0]], [[0.0], [2.0], [2.5]]], 2))
    assert tiny.samples.scores.shape == (3, 2)


def test_missing_samples_everywhere():
    data = make_multiview(200, n_views=3, n_clusters=3, separation=5.0, missing=0.3, random_state=0)
    views = Views([np.nan_to_num(x) for x in data.views.values()], mask=data.mask)
    found = inspect(fitted(views))
    assert found.pairs.opinions.shape[1] == 3
    assert np.isfinite(found.clusters.scores).all()


def test_labels_of_ones_own(model):
    mine = np.array(["b", "a"])[(np.arange(240) < 100).astype(int)]
    found = inspect(model, labels=mine)
    np.testing.assert_array_equal(found.labels, canonical_labels(mine))
    assert found.clusters.sizes.tolist() == [100, 140]


def test_distances_on_edges_chosen_before_say_nothing_of_agreement():
    """All views weigh the same few edges: that they name the same neighbours is no wonder."""
    rng = np.random.default_rng(0)
    pattern = np.triu(rng.random((100, 100)) < 0.1, 1)
    graphs = [sparse.csr_array((pattern * rng.random((100, 100))) + 0.0) for _ in range(3)]
    result = fuse_graphs(graphs, kind="distance")
    assert np.isnan(agreement_matrix(result).shares).all()
    found = inspect(result)
    assert np.isnan(found.samples.scores).all() and not found.samples.flagged.any()
    full = [sparse.csr_array(x) for x in (rng.random((3, 40, 40)) + 0.01)]
    dense = agreement_matrix(fuse_graphs(full, kind="distance"))  # whole matrices are another matter
    assert not dense.significant.any() and np.isfinite(dense.shares).all()


def test_filled_edges_are_no_neighbours():
    engine = get_engine("numba")
    data = make_multiview(300, n_views=3, n_clusters=3, separation=6.0, scrambled=[0.2, 0, 0], random_state=0)
    graphs = []
    for x in data.views.values():
        lists = engine.fetch(engine.nearest(engine.place(Space("x", x, "euclidean")), 8).lists)
        far = np.linalg.norm(x[:, None] - x[lists], axis=2)
        graphs.append(sparse.csr_array((far.ravel(), lists.ravel(), np.arange(0, 2401, 8)), shape=(300, 300)))
    areas = []
    for fill in ("max", "unseen"):
        found = inspect(fuse_graphs(graphs, kind="distance", fill=fill), labels=data.y).samples
        areas.append(roc_auc_score(data.scrambled[:, 0], found.scores[:, 0]))
    assert min(areas) > 0.95


def test_samples_that_were_only_put_somewhere_are_not_sure():
    """Five pieces, three clusters: two pieces have no place of their own in the embedding."""
    rng = np.random.default_rng(0)
    x = np.concatenate([20.0 * i + rng.normal(size=(30, 2)) for i in range(5)])
    model = fitted([x, x + 0.3 * rng.normal(size=x.shape)], 3, n_neighbors=5)
    sure = sample_confidence(model)
    lost = ~model.embedding_.any(axis=1)
    assert lost.sum() == 60 and (sure.lowest[lost] == 0).all() and (sure.lowest[~lost] > 0.5).all()


def test_a_fit_keeps_its_parameters_and_warnings(data):
    with pytest.warns(UserWarning, match="noise_0"):
        model = DistanceGraphFusion(n_clusters=3, random_state=0).fit(data.views)
    assert any("'noise_0' agrees with no other view" in text for text in model.warnings_)
    model.set_params(n_clusters=7)
    assert model.params_["n_clusters"] == 3 and graph_health(model).n_clusters == 3
    assert graph_health(fitted(data.views)).n_clusters == 3
