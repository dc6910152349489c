"""The two estimators: how they behave, their results, and what they say to bad input."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import pairwise_distances
from sklearn.model_selection import GridSearchCV, KFold
from tests.models.sklearn_checks import failed_checks

from consilience import (
    PAPER,
    DistanceGraphFusion,
    KMeansLabels,
    SimilarityGraphFusion,
    Views,
    make_multiview,
)
from consilience.engines import get_engine
from consilience.metrics import ari, nmi
from consilience.testing import assert_same_partition, check_multiview_estimator

# Clusters planted far apart make disconnected graphs; the test of that warning asks for it by name.
pytestmark = pytest.mark.filterwarnings("ignore:The graph has .* connected components")
both = pytest.mark.parametrize("method", [SimilarityGraphFusion, DistanceGraphFusion])


@pytest.fixture(scope="module")
def easy():
    return make_multiview(150, n_views=3, n_clusters=3, separation=6.0, random_state=1)


@pytest.fixture(scope="module")
def hard():
    return make_multiview(200, n_views=3, n_clusters=4, separation=4.0, random_state=2)


@both
@pytest.mark.filterwarnings("ignore:Only .* clusters have samples")
def test_scikit_learn_checks_pass_in_full(method):
    failed, skipped = failed_checks(method())
    assert not failed, failed
    # What scikit-learn itself skips: array API input, unless an environment variable is set.
    assert skipped <= {"check_array_api_input"}


@both
@pytest.mark.parametrize("solver", ["dca", "exact"])
def test_multiview_checks_pass(method, solver):
    check_multiview_estimator(method(solver=solver, effort="high" if solver == "dca" else "low"))


@both
def test_planted_clusters_are_found_and_attributes_are_consistent(method, hard):
    model = method(n_clusters=4, random_state=0).fit(hard.views)
    n, v = len(hard.y), 3
    assert ari(hard.y, model.labels_) > 0.9
    assert model.graph_.shape == (n, n) and isinstance(model.graph_, sparse.csr_array)
    assert abs(model.graph_ - model.graph_.T).max() == 0 and model.graph_.diagonal().max() == 0
    assert model.embedding_.shape == (n, 4)
    np.testing.assert_allclose(np.linalg.norm(model.embedding_, axis=1), 1)
    assert np.all(np.diff(model.eigenvalues_) >= 0)
    np.testing.assert_allclose(model.view_weights_.mean(), 1)
    np.testing.assert_allclose(model.view_scales_.sum(), 1)
    np.testing.assert_allclose(model.view_contributions_.sum(), 1)
    shares = model.agreement_.shares
    assert shares.shape == (v, v) and np.all(np.diag(shares) == 1)
    assert np.all((model.view_reliability_ > 0) & (model.view_reliability_ < 1))
    assert model.row_reliability_.shape == (n, v) and 0 < model.row_reliability_.min() < 1
    assert model.n_iter_ == len(model.history_) - 1 and model.converged_ is True
    assert np.all(np.diff(model.history_) <= 0)
    e = model.edges_.n_edges
    assert model.consistent_.shape == model.inconsistent_.shape == (e, v)
    assert model.consistent_.min() >= 0 and model.inconsistent_.min() >= 0
    np.testing.assert_allclose((model.consistent_ + model.inconsistent_).sum(axis=0), 1)
    assert model.n_neighbors_ == 20 and model.metrics_ == ("euclidean",) * 3
    assert list(model.view_names_) == ["view_0", "view_1", "view_2"]
    assert set(model.timings_) == {
        "prepare",
        "search",
        "agree",
        "connect",
        "trust",
        "weigh",
        "fuse",
        "sparsify",
        "describe",
        "redescribe",
        "embed",
        "label",
    }


@both
def test_exact_solver_fuses_what_it_returns(method, hard):
    model = method(
        n_clusters=4, solver="exact", beta=0.5, gamma=2.0, row_weights="uniform", random_state=0
    ).fit(hard.views)
    t = model.view_weights_ * model.view_scales_ / model.view_weights_.sum()
    np.testing.assert_allclose(model.fusion_.fused, model.consistent_ @ t, rtol=1e-10)
    assert model.inconsistent_.sum() > 0


def test_paper_is_read_only_and_leaves_out_what_the_paper_tunes():
    assert not {"n_neighbors", "metric", "beta", "gamma"} & set(PAPER)
    with pytest.raises(TypeError):
        PAPER["tol"] = 1
    model = DistanceGraphFusion(n_clusters=7, n_neighbors=6, beta=0.01, gamma=1e-4, **PAPER)
    assert set(PAPER) <= set(model.get_params())


@both
def test_constructor_parameters_are_keyword_only(method):
    with pytest.raises(TypeError):
        method(3)


@both
def test_the_readable_engine_gives_the_same(method, hard):
    first, second = (
        method(n_clusters=4, engine=engine, random_state=0).fit(hard.views) for engine in ("numba", "numpy")
    )
    np.testing.assert_array_equal(first.labels_, second.labels_)
    np.testing.assert_allclose(first.history_, second.history_, rtol=1e-12)
    np.testing.assert_allclose(first.inconsistent_, second.inconsistent_, atol=1e-15)


@both
def test_a_view_times_seven_changes_nothing(method, hard):
    model = method(n_clusters=4, row_order="given", random_state=0)  # the order by content is another
    plain = clone(model).fit(hard.views)
    scaled = clone(model).fit({**hard.views, "view_1": 7 * hard.views["view_1"]})
    np.testing.assert_array_equal(plain.labels_, scaled.labels_)
    np.testing.assert_allclose(plain.view_scales_, scaled.view_scales_, rtol=1e-10)


@both
def test_view_weights_move_the_contributions(method, hard):
    shares = []
    for weight in (0.5, 1.0, 2.0, 4.0):
        weights = {"view_0": weight, "view_1": 1.0, "view_2": 1.0}
        model = method(n_clusters=4, view_weights=weights, random_state=0).fit(hard.views)
        np.testing.assert_array_equal(model.view_weights_, [weight, 1, 1])
        shares.append(model.view_contributions_[0])
    assert np.all(np.diff(shares) > 0)


@both
@pytest.mark.parametrize(
    "container", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.coo_array]
)
def test_sparse_equals_dense(method, container):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 40)
    topics = rng.random((3, 30)) ** 4
    views = [rng.poisson(3 * topics[y]).astype(float) for _ in range(2)]
    model = method(n_clusters=3, metric="cosine", n_neighbors=10, random_state=0)
    dense = clone(model).fit(views)
    thin = clone(model).fit([container(view) for view in views])
    np.testing.assert_array_equal(dense.labels_, thin.labels_)
    np.testing.assert_allclose(dense.history_, thin.history_, rtol=1e-9)


@both
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
@pytest.mark.parametrize("scale", ["none", "auto", "standard"])
def test_sparse_views_are_never_made_dense(method, metric, scale, monkeypatch):
    view = sparse.random(150, 7919, 0.01, format="csr", random_state=0) + sparse.csr_matrix((150, 7919))
    for kind in {
        kind for base in (sparse.csr_array, sparse.csr_matrix, sparse.csc_array) for kind in base.__mro__
    }:
        for name in ("toarray", "todense"):
            if name in vars(kind):
                monkeypatch.setattr(kind, name, refuse_to_densify(getattr(kind, name)))
    with pytest.raises(AssertionError, match="made dense"):
        view.toarray()
    once = KMeansLabels(n_init=1)
    method(
        n_clusters=3, metric=metric, scale=scale, view_weights="uniform", assign_labels=once, random_state=0
    ).fit([view, view])


def refuse_to_densify(original):
    def convert(self, *args, **kwargs):
        assert 7919 not in self.shape or self.shape[0] < 20, "a sparse view was made dense"
        return original(self, *args, **kwargs)

    return convert


@both
def test_distances_precomputed_or_not(method, easy):
    arrays = list(easy.views.values())
    # Distances have no other descriptions, and another order by content.
    model = method(n_clusters=3, descriptions="default", row_order="given", random_state=0)
    plain = clone(model).fit(arrays)
    distances = [pairwise_distances(x) for x in arrays]
    for d in distances:
        np.fill_diagonal(d, 0)
    given = clone(model).set_params(metric="precomputed_distance").fit(distances)
    squared = clone(model).set_params(metric="precomputed_squared_distance").fit([d**2 for d in distances])
    mixed = clone(model).set_params(metric=["euclidean", "precomputed_distance", "l2"])
    mixed.fit([arrays[0], distances[1], arrays[2]])
    for other in (given, squared, mixed):
        np.testing.assert_array_equal(plain.labels_, other.labels_)
        np.testing.assert_allclose(plain.view_scales_, other.view_scales_, rtol=1e-8)


def test_similarities_enter_sgf_as_they_are(easy):
    arrays = list(easy.views.values())
    similarities = [np.exp(-(pairwise_distances(x) ** 2) / 20) for x in arrays]
    model = SimilarityGraphFusion(
        n_clusters=3, metric="precomputed_similarity", n_neighbors=8, random_state=0
    )
    model.fit(similarities)
    assert_same_partition(model.labels_, easy.y)
    rows, columns = model.edges_.rows, model.edges_.indices
    values = similarities[1][rows, columns]
    np.testing.assert_allclose(model.fusion_.weights_by_view[1], values / values.sum())
    thin = clone(model).fit([sparse.csr_array(s) for s in similarities])
    np.testing.assert_array_equal(model.labels_, thin.labels_)


def test_similarities_enter_dgf_as_distances(easy):
    similarities = [np.exp(-(pairwise_distances(x) ** 2) / 20) for x in easy.views.values()]
    model = DistanceGraphFusion(n_clusters=3, metric="precomputed_similarity", n_neighbors=8, random_state=0)
    model.fit(similarities)
    assert_same_partition(model.labels_, easy.y)
    values = similarities[1][model.edges_.rows, model.edges_.indices]
    distances = 1 / (1 + values / values[values > 0].mean())
    expected = get_engine("numpy").moments(distances, None, 0).standardize(distances)
    np.testing.assert_allclose(model.fusion_.weights_by_view[1], expected / expected.sum(), atol=1e-15)


@both
def test_frames_in_another_order_are_matched_by_id(method, easy):
    ids = [f"patient {i}" for i in range(len(easy.y))]
    frames = {name: pd.DataFrame(x, index=ids) for name, x in easy.views.items()}
    plain = method(n_clusters=3, random_state=0).fit(frames)
    frames["view_1"] = frames["view_1"].sample(frac=1, random_state=0)
    np.testing.assert_array_equal(method(n_clusters=3, random_state=0).fit(frames).labels_, plain.labels_)


@both
def test_grid_search_splits_samples(method, easy):
    search = GridSearchCV(
        method(n_clusters=3, random_state=0),
        {"n_neighbors": [5, 8], "metric": ["euclidean", "manhattan"]},
        scoring=lambda model, views, y: nmi(y, model.fit_predict(views)),
        cv=KFold(2),
        refit=False,
    ).fit(Views(easy.views), easy.y)
    assert search.cv_results_["mean_test_score"].min() > 0.95


@both
def test_a_constant_view_is_left_out_with_a_warning_that_names_it(method, easy):
    views = {"constant": np.full((150, 4), 2.5), **easy.views}
    with pytest.warns(UserWarning, match="'constant' is constant"):
        model = method(n_clusters=3, random_state=0).fit(views)
    plain = method(n_clusters=3, random_state=0).fit(easy.views)
    np.testing.assert_array_equal(model.labels_, plain.labels_)
    assert model.edges_.n_edges == plain.edges_.n_edges
    assert model.view_weights_[0] == model.view_scales_[0] == model.view_contributions_[0] == 0
    assert np.isnan(model.inconsistent_[:, 0]).all() and np.isfinite(model.inconsistent_[:, 1:]).all()
    with pytest.raises(ValueError, match="Every view is constant"):
        method(n_clusters=3).fit([np.ones((10, 2)), np.zeros((10, 2))])


@both
def test_samples_missing_from_a_view_by_mask(method):
    sample = make_multiview(200, n_views=3, n_clusters=3, separation=6.0, missing=0.3, random_state=0)
    model = method(n_clusters=3, random_state=0).fit(Views(sample.views, mask=sample.mask))
    assert ari(sample.y, model.labels_) > 0.9
    judged = sample.mask[model.edges_.rows] & sample.mask[model.edges_.indices]
    assert np.all(model.consistent_[~judged] == 0) and np.all(model.inconsistent_[~judged] == 0)
    np.testing.assert_allclose((model.consistent_ + model.inconsistent_).sum(axis=0), judged.mean(axis=0))


@both
@pytest.mark.filterwarnings("ignore:View 'view_1' agrees with no other")
@pytest.mark.parametrize("n_clusters", [1, 2, 5])
def test_small_cases_work(method, n_clusters):
    rng = np.random.default_rng(0)
    views = [rng.normal(size=(12, 1)), rng.normal(size=(12, 3))]
    labels = method(n_clusters=n_clusters, random_state=0).fit(views).labels_
    assert len(np.unique(labels)) == n_clusters


@both
def test_two_samples_work(method):
    labels = method(n_clusters=1).fit([np.array([[0.0], [1.0]])]).labels_
    assert labels.tolist() == [0, 0]


@both
def test_duplicate_rows_work(method, easy):
    views = {name: np.repeat(x[:60], 3, axis=0) for name, x in easy.views.items()}
    labels = method(n_clusters=3, n_neighbors=8, random_state=0).fit(views).labels_
    assert_same_partition(labels, np.repeat(easy.y[:60], 3))


@both
@pytest.mark.filterwarnings("ignore:The two views agree .* no more than by chance")
def test_clusters_of_one_sample_work(method):
    x = np.random.default_rng(0).normal(size=(12, 2))
    assert method(n_clusters=12, random_state=0).fit([x, x**3]).labels_.tolist() == list(range(12))
    labels = method(n_clusters=11, random_state=0).fit([x, x**3]).labels_
    assert sorted(np.bincount(labels)) == [1] * 10 + [2]


@both
def test_disconnected_views_warn_with_the_count_and_give_the_components(method):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(4), 25)
    views = [rng.normal(size=(100, 2)) + 1000 * y[:, None] for _ in range(2)]
    with pytest.warns(UserWarning, match="has 4 connected components"):
        labels = method(n_clusters=4, n_neighbors=6, random_state=0).fit(views).labels_
    assert_same_partition(labels, y)


BAD_PARAMETERS = [
    ({"n_clusters": 0}, "n_clusters must be a positive integer, got 0"),
    ({"n_clusters": 2.5}, "n_clusters must be a positive integer, got 2.5"),
    ({"n_clusters": 151}, "fewer samples .*150.* than clusters .*151"),
    ({"n_neighbors": 150}, "n_neighbors=150 asks for more .*150"),
    ({"n_neighbors": 0}, "n_neighbors must be"),
    ({"n_neighbors": "many"}, "Unknown n_neighbors 'many'; known: 'auto' or an integer"),
    (
        {"metric": "euclidian"},
        "Unknown metric 'euclidian' for view 'view_0'.*Known metrics: auto, euclidean, cosine",
    ),
    ({"metric": "precomputed"}, "Say which: 'precomputed_distance'"),
    ({"metric": ["cosine"]}, "one for each of the 3 views, got 1"),
    ({"metric": {"view_0": "cosine"}}, "give one metric for each"),
    ({"scale": "robust"}, "Unknown scale 'robust'; known: 'none', 'auto', 'standard'"),
    ({"solver": "newton"}, "Unknown solver 'newton'; known solvers: 'dca', 'exact'"),
    ({"engine": "jax"}, "Unknown engine 'jax'; known: 'numba', 'numpy', 'torch', or an instance of Engine"),
    ({"assign_labels": "magic"}, "Unknown assign_labels 'magic'; known: 'kmeans'"),
    (
        {"neighbor_search": "quantum"},
        "Unknown neighbor_search 'quantum'; known: 'auto', 'exact', 'approximate'",
    ),
    ({"beta": -1}, "beta must be a finite number that is not negative, got -1"),
    ({"gamma": float("nan")}, "gamma must be"),
    ({"tol": -0.1}, "tol must be"),
    ({"max_iter": 0}, "max_iter must be an integer of at least 1"),
    ({"assign_labels": KMeansLabels(n_init=0)}, "n_init must be"),
    (
        {"view_weights": "fair"},
        "Unknown view_weights 'fair'; known: 'agreement', 'uniform' or one number per view",
    ),
    ({"row_weights": "fair"}, "Unknown row_weights 'fair'; known: 'auto', 'learned', 'agreement', 'uniform'"),
    ({"row_weights": None}, "Unknown row_weights None"),
    ({"descriptions": "all"}, "Unknown descriptions 'all'; known: 'auto', 'confirmed', 'default'"),
    (
        {"descriptions": "confirmed", "n_neighbors": 8, "metric": "cosine"},
        "descriptions='confirmed' has nothing to choose from.*Leave n_neighbors, .*descriptions='default'",
    ),
    ({"effort": "most"}, "Unknown effort 'most'; known: 'low', 'medium', 'high'"),
    ({"view_weights": [1, 2]}, "one number for each of the 3 views .*view_0, view_1, view_2"),
    ({"view_weights": [1, 0, 1]}, "weight of view 'view_1' is 0; weights must be positive"),
    ({"view_weights": [1, 1, -3]}, "weight of view 'view_2' is -3"),
    ({"view_weights": [1e300, 1, 1]}, "weight of view 'view_0' is 1e.300; weights beyond"),
    ({"view_weights": [1, 1, [2, 3]]}, "view_weights must be numbers"),
    ({"view_weights": {"view_0": 1, "other": 1}}, "give one weight for each"),
    ({"n_jobs": 0}, "n_jobs must be None or a non-zero integer"),
    ({"callback": 3}, "callback must be callable"),
]


@both
@pytest.mark.parametrize(("parameters", "message"), BAD_PARAMETERS)
def test_bad_parameters_get_one_clear_line(method, easy, parameters, message):
    model = method(**{"n_clusters": 3, **parameters})
    with pytest.raises(ValueError, match=message) as caught:
        model.fit(easy.views)
    assert "\n" not in str(caught.value)


def with_entry(x, value):
    x = x.copy()
    x[17, 2] = value
    return x


BAD_DATA = [
    (lambda views: [], "no views"),
    (lambda views: {}, "no views"),
    (lambda views: {**views, "view_1": views["view_1"][:-3]}, "'view_1' has 147"),
    (
        lambda views: {**views, "view_1": with_entry(views["view_1"], np.nan)},
        "view 'view_1', row 17, column 2 .*NaN",
    ),
    (
        lambda views: {**views, "view_2": with_entry(views["view_2"], np.inf)},
        "view 'view_2', row 17.*infinity",
    ),
    (lambda views: {**views, "view_0": np.zeros((150, 2, 2))}, "view 'view_0' has shape"),
    (lambda views: np.zeros((3, 150, 2)), "has shape .*3, 150, 2"),
    (
        lambda views: {**views, "view_0": with_entry(views["view_0"].astype(object), "high")},
        "view 'view_0', row 17, column 2 holds 'high'",
    ),
]


@both
@pytest.mark.parametrize(("spoil", "message"), BAD_DATA)
def test_bad_data_gets_one_clear_line(method, easy, spoil, message):
    with pytest.raises(ValueError, match=message) as caught:
        method(n_clusters=3).fit(spoil(easy.views))
    assert "\n" not in str(caught.value)


BAD_MATRICES = [
    ("precomputed_similarity", lambda d: -d, "negative similarity"),
    ("precomputed_similarity", lambda d: d, "0 on the diagonal .* as distances are"),
    (
        "precomputed_distance",
        lambda d: np.exp(-d),
        r"distance 1 from sample \d+ to itself.*precomputed_similarity",
    ),
    ("precomputed_distance", lambda d: -d, "negative distance"),
    ("precomputed_distance", lambda d: d[:, :-1], "square matrix"),
    ("precomputed_squared_distance", sparse.csr_array, "absent entry would mean distance 0"),
]


@pytest.mark.parametrize(("metric", "spoil", "message"), BAD_MATRICES)
def test_bad_matrices_get_one_clear_line_that_names_the_view(easy, metric, spoil, message):
    distances = pairwise_distances(easy.views["view_0"])
    np.fill_diagonal(distances, 0)
    with pytest.raises(ValueError, match=message) as caught:
        SimilarityGraphFusion(n_clusters=3, metric=metric).fit({"mine": spoil(distances)})
    assert "'mine'" in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("sample", [0, 7, 59])
def test_a_message_numbers_samples_as_they_came(easy, sample):
    """Not as they are in the order of the fit."""
    distances = pairwise_distances(easy.views["view_0"])
    np.fill_diagonal(distances, 0)
    distances[sample, sample] = 1
    with pytest.raises(ValueError, match=rf"distance 1 from sample {sample} to itself"):
        SimilarityGraphFusion(n_clusters=3, metric="precomputed_distance").fit(distances)


@both
def test_a_cap_holds_for_the_rounds_of_either_kind(method, hard):
    seen = []
    with pytest.warns(ConvergenceWarning, match=r"max_iter=6 exact rounds"):
        model = method(
            n_clusters=4,
            max_iter=6,
            tol=1e-9,
            solver="exact",
            callback=lambda i, _: seen.append(i),
            random_state=0,
        ).fit(hard.views)
    assert model.n_iter_ == 12 and seen == list(range(1, 13))


@pytest.mark.parametrize("kind", ["similarity", "distance"])
def test_precomputed_frames_are_matched_on_both_axes(easy, kind):
    ids = [f"s{i}" for i in range(150)]
    d = pairwise_distances(easy.views["view_0"])
    np.fill_diagonal(d, 0)
    square = pd.DataFrame(np.exp(-d) if kind == "similarity" else d, index=ids, columns=ids)
    features = pd.DataFrame(easy.views["view_1"], index=ids)
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(150), rng.permutation(150)
    metric = ["euclidean", f"precomputed_{kind}"]
    model = SimilarityGraphFusion(n_clusters=3, metric=metric, n_neighbors=6, random_state=0)
    plain = clone(model).fit([features, square])
    for other in (square.iloc[rows, rows], square.iloc[rows], square.iloc[:, columns]):
        shuffled = clone(model).fit([features, other])
        assert abs(plain.graph_ - shuffled.graph_).max() < 1e-12
        np.testing.assert_array_equal(plain.labels_, shuffled.labels_)
    with pytest.raises(ValueError, match=r"pairwise=\['b'\]"):
        clone(model).fit(Views({"a": features, "b": square.iloc[:, columns]}))
    square.iloc[3, 5] = -1.0
    with pytest.raises(ValueError, match=r"between samples 's3' and 's5'"):
        clone(model).fit([features, square])


def test_a_second_fit_leaves_no_names_of_the_first(easy):
    frame = pd.DataFrame(easy.views["view_0"], columns=list("abcdefghij"))
    model = SimilarityGraphFusion(n_clusters=3, random_state=0).fit(frame)
    assert model.feature_names_in_.tolist() == list("abcdefghij")
    assert not hasattr(model.fit(easy.views), "feature_names_in_")


@both
def test_a_fit_that_fails_leaves_the_model_as_it_was(method, easy, hard):
    model = method(n_clusters=3, n_neighbors=7, random_state=0).fit(easy.views)
    before = dict(vars(model))
    model.set_params(n_neighbors=9, metric="manhattan", callback=lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        model.fit(hard.views)
    assert (model.n_neighbors_, model.metrics_) == (7, ("euclidean",) * 3)
    assert model.labels_ is before["labels_"] and model.graph_ is before["graph_"]


@both
def test_rounds_that_do_not_settle_warn_with_a_remedy(method, hard):
    with pytest.warns(ConvergenceWarning, match=r"max_iter=6 .*of the whole gain.*Raise max_iter or tol"):
        model = method(n_clusters=4, max_iter=6, tol=1e-6, random_state=0).fit(hard.views)
    assert model.n_iter_ == 6 and model.converged_ is False


@both
def test_a_callback_sees_every_round_and_can_stop(method, hard):
    rounds = []
    method(n_clusters=4, callback=lambda i, info: rounds.append((i, info.objective)), random_state=0).fit(
        hard.views
    )
    assert [i for i, _ in rounds] == list(range(1, len(rounds) + 1)) and len(rounds) >= 5
    model = method(n_clusters=4, callback=lambda i, info: i == 3, random_state=0).fit(hard.views)
    assert model.n_iter_ == 3 and model.fusion_.status == "stopped by callback"


@both
def test_nothing_is_printed_unless_asked_for(method, easy, capfd):
    method(n_clusters=3, random_state=0).fit(easy.views)
    assert capfd.readouterr() == ("", "")
    method(n_clusters=3, verbose=True, random_state=0).fit(easy.views)
    out, err = capfd.readouterr()
    assert out == "" and "search 'view_1'" in err and "done in" in err


@both
def test_attributes_before_fit_say_that_it_is_not_fitted(method):
    with pytest.raises(NotFittedError):
        _ = method().view_contributions_


@both
def test_a_fitted_model_survives_pickling(method, easy):
    model = method(n_clusters=3, random_state=0).fit(easy.views)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(model.labels_, again.labels_)
    np.testing.assert_array_equal(model.inconsistent_, again.inconsistent_)


@both
def test_standard_scaling_undoes_units(method, easy):
    factors = np.logspace(-3, 3, 10)
    shifted = {name: x * factors + 5 for name, x in easy.views.items()}
    model = method(n_clusters=3, scale="standard", random_state=0)
    np.testing.assert_array_equal(clone(model).fit(easy.views).labels_, clone(model).fit(shifted).labels_)


MEMORY_PROGRAM = """
import resource
import numpy as np
from consilience import DistanceGraphFusion, KMeansLabels
rng = np.random.default_rng(0)
y = np.arange(20000) % 8
views = [rng.normal(size=(8, 50))[y] * 2 + rng.normal(size=(20000, 50)) for _ in range(2)]
model = DistanceGraphFusion(n_clusters=8, assign_labels=KMeansLabels(n_init=1), random_state=0)
model.fit([view[:500] for view in views])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
model.fit(views)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


@pytest.mark.long
def test_twenty_thousand_samples_take_less_than_400_megabytes():
    run = subprocess.run(
        [sys.executable, "-c", MEMORY_PROGRAM],
        capture_output=True,
        text=True,
        check=True,
        env=dict(os.environ),
    )
    assert float(run.stdout) < 400
