"""Rows without ids in another order: the same labels and the same graph, at other places.

Of equally near neighbours the first is named, and k-means draws rows by their place. So a fit is made in an
order that follows from what the views hold of the samples. For samples with ids see `test_id_order`.
"""

import logging
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.spatial.distance import cdist

from consilience import DistanceGraphFusion, SimilarityGraphFusion, Views, graph_view, load, make_multiview
from consilience.metrics import nmi
from consilience.models import AverageGraph, SharedViews
from consilience.models import given as given_views
from consilience.run.config import config_context
from consilience.stages import canonical_labels, nearest_neighbors

SYSTEMS = (SimilarityGraphFusion, DistanceGraphFusion, AverageGraph)
every = pytest.mark.parametrize("system", SYSTEMS)
N, C = 90, 3


def fit(system, views, **settings):
    model = system(**({"n_clusters": C, "random_state": 0, "n_jobs": 1} | settings))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(views)


def permutation(n, seed):
    return np.random.default_rng(seed).permutation(n)


def assert_moved(first, other, order):
    """Check that a fit is that of the samples in their first order, to the last bit."""
    np.testing.assert_array_equal(other.labels_, canonical_labels(first.labels_[order]))
    np.testing.assert_array_equal(other.graph_.toarray(), first.graph_.toarray()[np.ix_(order, order)])
    np.testing.assert_array_equal(other.embedding_, first.embedding_[order])
    np.testing.assert_array_equal(other.row_reliability_, first.row_reliability_[order])


def counts(seed=1, n=N):
    """Return views of small whole numbers, in which many samples are equally near and none are the same."""
    made = make_multiview(n, n_views=3, n_clusters=C, separation=3.0, n_features=4, random_state=seed)
    return [np.round(view) for view in made.views.values()]


def words(seed=2, n=N):
    """Return two sparse views of a few words of each sample."""
    rng = np.random.default_rng(seed)
    topic = np.arange(n) % C
    rate = np.full((C, 60), 0.02) + np.kron(np.eye(C), np.full(20, 0.15))
    return [sparse.csr_array(rng.poisson(rate[topic]).astype(float)) for _ in range(2)]


def distances():
    """Return matrices of distances that are whole numbers."""
    return {f"m{i}": cdist(view, view, "cityblock") for i, view in enumerate(counts())}


def graphs():
    """Return graphs without weights, and a table."""
    neighbors = nearest_neighbors(counts(), 6)
    rows = np.repeat(np.arange(N), 6)
    edges = [sparse.csr_array((np.ones(6 * N), (rows, one.ravel())), shape=(N, N)) for one in neighbors]
    return [graph_view(one.maximum(one.T), kind="similarity") for one in edges]


KINDS = {
    "counts": lambda: Views(counts()),
    "words": lambda: Views(words()),
    "single precision": lambda: Views([view.astype(np.float32) for view in counts()]),
    "distances": lambda: Views(distances(), pairwise=True),
    "graphs": lambda: Views(graphs()),
    "a graph and tables": lambda: Views([graphs()[0], *counts()[1:]]),
    "missing": lambda: Views(counts(), mask=np.random.default_rng(4).random((N, 3)) < [0.7, 0.8, 1.0]),
}


@pytest.mark.long
@every
@pytest.mark.parametrize("kind", KINDS)
def test_the_order_of_the_rows_changes_nothing(system, kind):
    views = KINDS[kind]()
    options = {"metric": "precomputed_distance"} if kind == "distances" else {}
    first = fit(system, views, **options)
    assert first.row_order_ == "content"
    for seed in (1, 2):
        order = permutation(N, seed)
        assert_moved(first, fit(system, views[order], **options), order)


@settings(max_examples=6)
@given(data=st.integers(0, 10_000), shuffle=st.integers(0, 10_000), levels=st.integers(2, 9))
def test_whatever_the_ties(data, shuffle, levels):
    rng = np.random.default_rng(data)
    rows = np.unique(rng.integers(0, levels, size=(60, 6)), axis=0).astype(float)
    views, order = [rows[:, :3], rows[:, 3:]], permutation(len(rows), shuffle)
    first, other = (fit(DistanceGraphFusion, one) for one in (views, [view[order] for view in views]))
    assert_moved(first, other, order)


@every
def test_in_the_order_given_ties_are_settled_by_it(system):
    views, order = counts(), permutation(N, 1)
    first = fit(system, views, row_order="given")
    other = fit(system, [view[order] for view in views], row_order="given")
    assert first.row_order_ == "given" and first.predictor_.order is None
    assert (first.graph_.toarray()[np.ix_(order, order)] != other.graph_.toarray()).any()


@every
def test_rows_sorted_by_class_tell_nothing(system):
    """All samples are equally near, so that all that neighbours can tell is the order of the rows."""
    truth = np.repeat(np.arange(C), N // C)
    rng = np.random.default_rng(0)
    views = [np.eye(N)[rng.permutation(N)] for _ in range(2)]
    by_row = fit(system, views, row_order="given", metric="euclidean", n_neighbors=8)
    by_content = fit(system, views, metric="euclidean", n_neighbors=8)
    order = permutation(N, 3)
    shuffled = fit(system, [view[order] for view in views], metric="euclidean", n_neighbors=8)
    assert_moved(by_content, shuffled, order)
    assert nmi(truth, by_content.labels_) < 0.02 < nmi(truth, by_row.labels_)


@every
def test_samples_that_are_the_same_are_interchangeable(system):
    """Which of the copies is named depends on the order; what is said of all of them together does not."""
    made = make_multiview(N, n_views=2, n_clusters=C, separation=2.5, random_state=3)
    copies = np.r_[[0] * 9, 1:N]
    views, n = [view[copies] for view in made.views.values()], len(copies)
    first = fit(system, views, n_neighbors=6)
    for seed in (1, 2):
        order = permutation(n, seed)
        other = fit(system, [view[order] for view in views], n_neighbors=6)
        # The copies in the one are those of the other, in the order in which they come.
        same = np.argsort(order)
        same[:9] = np.sort(same[:9])
        assert_moved(other, first, same)


@pytest.mark.parametrize("kind", ["counts", "words"])
def test_sparse_and_dense_views_give_the_same_labels(kind):
    dense = [view.toarray() if sparse.issparse(view) else view for view in KINDS[kind]().arrays]
    first = fit(DistanceGraphFusion, dense, metric="euclidean", scale="none")
    for form in (sparse.csr_array, sparse.csc_array, sparse.coo_array):
        other = fit(DistanceGraphFusion, [form(one) for one in dense], metric="euclidean", scale="none")
        np.testing.assert_array_equal(other.labels_, first.labels_)


# Everything else that knows the order


def test_shared_views_give_the_same_and_are_moved_once(monkeypatch):
    views, found = Views(counts()), []
    alone = fit(DistanceGraphFusion, views)
    monkeypatch.setattr(
        given_views, "content_order", lambda *a, find=given_views.content_order: found.append(1) or find(*a)
    )
    shared = SharedViews(views)
    for row_order in ("content", "given", "content"):
        model = fit(DistanceGraphFusion, shared, row_order=row_order)
        expected = alone if row_order == "content" else fit(DistanceGraphFusion, views, row_order="given")
        np.testing.assert_array_equal(model.labels_, expected.labels_)
    assert len(found) == 1


@pytest.mark.parametrize("kind", ["counts", "distances", "missing"])
def test_predictions_do_not_depend_on_it_and_are_saved(kind, tmp_path):
    views, order = KINDS[kind](), permutation(N, 5)
    options = {"metric": "precomputed_distance"} if kind == "distances" else {}
    first, other = (fit(DistanceGraphFusion, one, **options) for one in (views, views[order]))
    assert first.predictor_.order is not None
    number = first.labels_[order][np.unique(other.labels_, return_index=True)[1]]
    expected = first.predict_proba(views)
    np.testing.assert_array_equal(other.predict_proba(views[order]), expected[order][:, number])
    again = load(first.save(tmp_path / "fit.consilience"))
    np.testing.assert_array_equal(again.predict_proba(views), expected)
    assert again.row_order_ == "content" and again.get_params()["row_order"] == "content"


def test_a_fit_that_was_stopped_goes_on_in_the_same_order(tmp_path):
    views, expected = Views(counts()), fit(DistanceGraphFusion, counts())

    def stop(iteration, info):
        raise KeyboardInterrupt

    with config_context(checkpoint_dir=tmp_path):
        with pytest.raises(KeyboardInterrupt):
            fit(DistanceGraphFusion, views, callback=stop)
        np.testing.assert_array_equal(fit(DistanceGraphFusion, views).labels_, expected.labels_)


def test_too_many_numbers_are_fitted_as_they_come_and_the_model_says_so(monkeypatch, caplog):
    views = Views(counts())
    monkeypatch.setattr(given_views, "MOST_NUMBERS", 3 * 4 * N - 1)
    with caplog.at_level(logging.INFO, logger="consilience"):
        model = fit(DistanceGraphFusion, views)
    assert model.row_order_ == "given" and "in the order of the rows" in caplog.text
    np.testing.assert_array_equal(model.labels_, fit(DistanceGraphFusion, views, row_order="given").labels_)


def test_samples_with_ids_are_fitted_in_the_order_of_the_ids():
    views = Views(counts(), sample_ids=[f"s{i:02d}" for i in permutation(N, 0)])
    for row_order in ("content", "given"):
        assert fit(DistanceGraphFusion, views, row_order=row_order).row_order_ == "ids"


def test_another_word_is_refused():
    with pytest.raises(ValueError, match="row_order"):
        fit(DistanceGraphFusion, counts(), row_order="sorted")


@pytest.mark.long
@every
@pytest.mark.parametrize("name", ["NGs", "MSRC_v1", "3Sources"])
def test_real_data_too(system, name, dataset):
    views, truth = dataset(name)
    first = fit(system, views, n_clusters=len(np.unique(truth)))
    order = permutation(len(truth), 1)
    other = fit(system, [view[order] for view in views], n_clusters=len(np.unique(truth)))
    assert_moved(first, other, order)


def assert_same(first, other):
    """Check that two fits of views, of which the second has some more, found the same to the last bit."""
    np.testing.assert_array_equal(other.labels_, first.labels_)
    np.testing.assert_array_equal(other.graph_.toarray(), first.graph_.toarray())
    np.testing.assert_array_equal(other.embedding_, first.embedding_)


@every
@pytest.mark.parametrize("search", ["exact", "approximate"])
def test_views_that_are_left_out_do_not_even_decide_the_order(system, search):
    """The order follows from the views that are used: so what is left out changes no bit of the result."""
    noise, constant = np.random.default_rng(0).normal(size=(N, 3)), np.full((N, 2), 7.0)
    chosen = {"view_selection": "agreement", "neighbor_search": search}
    first, other = fit(system, counts(), **chosen), fit(system, [*counts(), noise, constant], **chosen)
    assert other.views_.kept.tolist() == [True, True, True, False, False]
    assert_same(first, other)
    one, two, three = counts()
    for mixed in ([noise, one, two, three], [one, constant, two, noise, three]):
        assert_same(first, fit(system, mixed, **chosen))
    shared = fit(system, SharedViews(Views([*counts(), noise, constant])), **chosen)
    assert_same(first, shared)
    order = permutation(N, 5)
    moved = [view[order] for view in (*counts(), noise, constant)]
    assert_moved(other, fit(system, moved, **chosen), order)


def test_matrices_that_are_left_out_do_not_either():
    noise = cdist(*[np.random.default_rng(0).normal(size=(N, 2))] * 2)
    first = fit(DistanceGraphFusion, Views(distances(), pairwise=True))
    other = fit(DistanceGraphFusion, Views({**distances(), "noise": noise}, pairwise=True))
    assert not other.views_.kept[3]
    assert_same(first, other)


def test_what_the_first_look_warned_of_is_not_said_twice():
    noise = np.random.default_rng(0).normal(size=(N, 3))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = SimilarityGraphFusion(n_clusters=C, random_state=0).fit([*counts(), noise])
    said = [str(one.message) for one in caught]
    assert len(said) == len(set(said))
    assert sum("agrees with no other view" in one for one in said) == 1
    assert model.timings_["search"] > 0
