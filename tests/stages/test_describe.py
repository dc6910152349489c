"""The stage `describe`: which descriptions the views confirm, and what they change."""

from importlib import import_module

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from consilience import DistanceGraphFusion, SimilarityGraphFusion, Views, graph_view, make_multiview
from consilience.metrics import ari
from consilience.stages.describe import DEFAULT_SHARE, FEW_NEIGHBORS, DescriptionTable, shared_information

pytestmark = [
    pytest.mark.filterwarnings("ignore:The graph has .* connected components"),
    pytest.mark.filterwarnings("ignore:.* about who is near whom"),
    pytest.mark.filterwarnings("ignore:The two views agree .* no more than by chance"),
]
N, C = 150, 3
MODULE = import_module("consilience.stages.describe")  # the package has the function of that name


@pytest.fixture(scope="module")
def sample():
    return make_multiview(N, n_views=3, n_clusters=C, separation=5.0, random_state=0)


def fit(views, system=SimilarityGraphFusion, **parameters):
    return system(**{"n_clusters": C, "random_state": 0, **parameters}).fit(views)


def forms(model):
    """Return what was tried: forms and numbers of neighbours."""
    table = model.descriptions_
    return list(zip(table.name, table.n_neighbors, strict=True))


# How much two clusterings share


@pytest.mark.parametrize("seed", range(5))
def test_the_information_that_clusterings_share_is_symmetric_and_does_not_depend_on_names(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 5, 300), rng.integers(0, 4, 300)
    b[:150] = a[:150] % 4
    found = shared_information(a, b)
    assert found == pytest.approx(shared_information(b, a), abs=1e-12)
    assert found == pytest.approx(shared_information(rng.permutation(9)[a], 7 - b), abs=1e-12)
    assert 0 < found < 1


def test_the_same_clustering_shares_all_and_unrelated_ones_nothing():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 6, 2000)
    assert shared_information(a, a) == pytest.approx(1.0, abs=1e-12)
    by_chance = [shared_information(a, rng.permutation(a)) for _ in range(200)]
    assert abs(np.mean(by_chance)) < 1e-3 and np.max(np.abs(by_chance)) < 0.02


def test_many_small_clusters_are_told_from_chance():
    rng = np.random.default_rng(1)
    a = rng.permutation(np.repeat(np.arange(100), 8))
    spoiled = [np.where(rng.random(800) < share, rng.integers(0, 100, 800), a) for share in (0.1, 0.5)]
    little, much, unrelated = (shared_information(a, b) for b in (*spoiled, rng.permutation(a)))
    assert shared_information(a, a) == pytest.approx(1.0, abs=1e-12)
    assert 0.7 < little < 0.95 and 0.15 < much < 0.5 and abs(unrelated) < 0.05


def test_clusterings_without_information():
    assert shared_information(np.zeros(0, dtype=int), np.zeros(0, dtype=int)) == 0
    assert shared_information(np.zeros(9, dtype=int), np.arange(9)) == pytest.approx(0.0)
    assert shared_information(np.zeros(9, dtype=int), np.zeros(9, dtype=int)) == 0
    assert np.isfinite(shared_information(np.arange(4), np.arange(4)))


# What is tried


def test_every_form_with_every_number_of_neighbours_is_tried_the_default_first(sample):
    model = fit(sample.views)
    k = model.n_neighbors_
    few = [one for one in FEW_NEIGHBORS if one < k]
    assert k == 20 and len(few) == 2
    assert forms(model) == [
        (name, number) for name in ("default", "direction", "log", "rank") for number in (k, *few)
    ]


@pytest.mark.parametrize("system", [SimilarityGraphFusion, DistanceGraphFusion])
def test_shares_sum_to_one_and_the_default_has_at_least_half(system, sample):
    table = fit(sample.views, system).descriptions_
    assert isinstance(table, DescriptionTable)
    assert table.share.sum() == pytest.approx(1) and table.share[0] >= DEFAULT_SHARE
    assert np.all(table.share >= 0) and np.all(table.confirmation <= 1)
    others = table.share[1:]
    assert len(set(others[others > 0].tolist())) == 1  # the better half share the rest alike
    better = table.confirmation[1:][others > 0].min()
    assert better >= table.confirmation[1:][others == 0].max()
    assert table.others == [i for i in range(1, len(table)) if table.share[i] > 0]
    text = str(table)
    assert text.count("\n") == len(table) and f"{table.share[0]:.0%}" in text


@pytest.mark.parametrize(
    "fixed",
    [
        {"metric": "euclidean"},
        {"metric": "cosine"},
        {"metric": ["cosine", "euclidean", "manhattan"]},
        {"scale": "none"},
        {"scale": "standard"},
    ],
    ids=str,
)
def test_a_metric_or_scale_that_is_given_is_never_changed(fixed, sample):
    model = fit(sample.views, **fixed)
    assert {name for name, _ in forms(model)} == {"default"} and len(forms(model)) == 3
    assert all(one is None for other in model.predictor_.others for one in other.transforms)


def test_the_metric_of_one_view_may_be_given(sample):
    model = fit(sample.views, metric={"view_0": "euclidean", "view_1": "auto", "view_2": "auto"})
    assert len(forms(model)) == 12
    for other in model.predictor_.others:
        assert other.transforms[0] is None
        assert {one is None for one in other.transforms[1:]} in ({True}, {False})


def test_a_number_of_neighbours_that_is_given_is_never_changed(sample):
    model = fit(sample.views, n_neighbors=12)
    assert {k for _, k in forms(model)} == {12} and len(forms(model)) == 4
    assert all(other.n_neighbors == 12 for other in model.predictor_.others)


def test_where_all_is_given_there_is_nothing_to_try(sample):
    model = fit(sample.views, n_neighbors=12, metric="euclidean")
    assert forms(model) == [("default", 12)]
    assert model.descriptions_.share.tolist() == [1.0] and np.isnan(model.descriptions_.confirmation).all()
    plain = fit(sample.views, n_neighbors=12, metric="euclidean", descriptions="default")
    np.testing.assert_array_equal(model.graph_.toarray(), plain.graph_.toarray())


def test_with_more_samples_only_the_default_is_used(sample, monkeypatch):
    monkeypatch.setattr(MODULE, "MANY_SAMPLES", N - 1)
    model = fit(sample.views)
    assert forms(model) == [("default", model.n_neighbors_)] and model.predictor_.others == ()
    plain = fit(sample.views, descriptions="default")
    np.testing.assert_array_equal(model.graph_.toarray(), plain.graph_.toarray())
    np.testing.assert_array_equal(model.labels_, plain.labels_)
    monkeypatch.setattr(MODULE, "MANY_SAMPLES", N)
    assert len(forms(fit(sample.views))) == 12


def test_one_view_confirms_nothing(sample):
    model = fit(sample.views["view_0"])
    assert np.isnan(model.descriptions_.confirmation).all() and model.descriptions_.share[0] == 1
    assert model.predictor_.others == ()


def test_two_views_confirm_each_other(sample):
    model = fit({name: sample.views[name] for name in ("view_0", "view_1")})
    assert np.isfinite(model.descriptions_.confirmation).all() and model.predictor_.others


def test_one_cluster_confirms_nothing(sample):
    model = fit(sample.views, n_clusters=1)
    assert np.isnan(model.descriptions_.confirmation).all() and set(model.labels_) == {0}


# Views of every kind


def test_matrices_and_graphs_have_other_numbers_of_neighbours_only(sample):
    x = list(sample.views.values())
    rows = np.repeat(np.arange(N), 8)
    near = np.argsort(cdist(x[1], x[1]), axis=1)[:, 1:9].ravel()
    links = sparse.csr_array((np.ones(8 * N), (rows, near)), shape=(N, N))
    net = graph_view(links.maximum(links.T), kind="similarity")
    model = fit(Views({"distances": cdist(x[0], x[0]), "net": net}, pairwise=["distances"]))
    assert {name for name, _ in forms(model)} == {"default"}
    model = fit(Views({"distances": cdist(x[0], x[0]), "net": net, "x": x[2]}, pairwise=["distances"]))
    assert len({name for name, _ in forms(model)}) == 4
    for other in model.predictor_.others:
        assert other.transforms[:2] == (None, None)
    assert ari(sample.y, model.labels_) > 0.9


def test_tables_with_categories_are_described_by_default(sample):
    table = pd.DataFrame({"kind": np.array(list("abc"))[sample.y], "size": sample.views["view_0"][:, 0]})
    table["other"] = table["kind"]
    model = fit({"table": table, "x": sample.views["view_1"], "z": sample.views["view_2"]})
    assert model.metrics_[0] == "gower" and len({name for name, _ in forms(model)}) == 4
    assert all(other.transforms[0] is None for other in model.predictor_.others)


def test_sparse_views_are_described_as_sparse(sample):
    rng = np.random.default_rng(0)
    topics = rng.random((C, 40)) ** 4
    words = [sparse.csr_array(rng.poisson(2 * topics[sample.y]).astype(float)) for _ in range(2)]
    model = fit([*words, sample.views["view_0"]])
    found = [one for other in model.predictor_.others for one in other.transforms[:2] if one is not None]
    assert found and all(one.is_of_sparse for one in found)
    assert ari(sample.y, model.labels_) > 0.9


def test_samples_that_views_lack(sample):
    mask = np.random.default_rng(0).random((N, 3)) > 0.25
    mask[~mask.any(axis=1), 0] = True
    model = fit(Views(sample.views, mask=mask))
    assert len(forms(model)) == 12 and np.isfinite(model.descriptions_.confirmation).all()
    assert ari(sample.y, model.labels_) > 0.8
    spoilt = {
        name: np.where(seen[:, None], x, 1e3)
        for (name, x), seen in zip(sample.views.items(), mask.T, strict=True)
    }
    other = fit(Views(spoilt, mask=mask))
    np.testing.assert_array_equal(other.labels_, model.labels_)
    np.testing.assert_array_equal(other.descriptions_.confirmation, model.descriptions_.confirmation)


def test_a_view_that_is_the_same_for_all_in_another_form_keeps_the_default(sample):
    """Of features that differ in their size alone, directions are all the same."""
    ray = np.outer(1 + sample.y + 0.05 * np.random.default_rng(0).random(N), [1.0, 2.0, 3.0])
    model = fit({"ray": sparse.csr_array(ray), **sample.views}, view_weights="uniform", scale="auto")
    for number, other in zip(model.descriptions_.others, model.predictor_.others, strict=True):
        if model.descriptions_.name[number] in ("direction", "rank"):
            assert other.transforms[0] is None


def test_the_number_of_clusters_may_be_chosen(sample):
    model = fit(sample.views, n_clusters="auto")
    assert model.n_clusters_ == C and np.isfinite(model.descriptions_.confirmation).all()


def test_the_description_that_shows_the_clusters_is_confirmed():
    """Sizes differ from sample to sample in each view on its own: only directions show the clusters."""
    rng = np.random.default_rng(0)
    y = np.arange(N) % C
    views = [
        np.exp(2.5 * rng.normal(size=(N, 1))) * (rng.random((C, 8))[y] + 0.03 * rng.random((N, 8)) + 0.1)
        for _ in range(3)
    ]
    shown = fit(views, scale="auto")
    table = shown.descriptions_
    best = {
        name: max(c for n, c in zip(table.name, table.confirmation, strict=True) if n == name)
        for name in table.name
    }
    assert max(best, key=best.get) != "log" and best["direction"] > best["log"]


@pytest.mark.parametrize("seed", [1, 2])
def test_the_seed_of_a_fit_does_not_change_what_is_confirmed(seed, sample):
    first, other = fit(sample.views).descriptions_, fit(sample.views, random_state=seed).descriptions_
    np.testing.assert_array_equal(first.confirmation, other.confirmation)


def test_only_some_of_many_samples_are_looked_at(monkeypatch):
    made = make_multiview(700, n_views=2, n_clusters=2, separation=5.0, random_state=0)
    sizes = []
    plain = MODULE.cluster_view

    def cluster_view(view, *rest, **engine):
        sizes.append(view.n_samples)
        return plain(view, *rest, **engine)

    monkeypatch.setattr(MODULE, "cluster_view", cluster_view)
    model = fit(made.views, n_clusters=2)
    assert set(sizes) == {500} and len(sizes) == 2 * len(model.descriptions_)
    assert ari(made.y, model.labels_) == 1
