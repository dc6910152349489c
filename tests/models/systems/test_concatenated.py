import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import pairwise_distances
from sklearn.utils.estimator_checks import check_estimator
from tests.models.systems.references import own_graph

from consilience import Views, make_multiview
from consilience.metrics import nmi
from consilience.models import SharedViews
from consilience.models.systems.concatenated import ConcatenatedSpectral, concatenate
from consilience.models.systems.single import SingleViewSpectral
from consilience.testing import assert_same_partition, check_multiview_estimator

pytestmark = pytest.mark.filterwarnings("ignore:The graph has .* connected components")


def graph_of(views, **parameters):
    return ConcatenatedSpectral(n_clusters=3, n_neighbors=6, random_state=0, **parameters).fit(views).graph_


def assert_graph(graph, x, metric="euclidean"):
    expected = own_graph(x, 6, metric)
    assert abs(graph - expected).max() < 1e-12


def counts(seed=0, n=60, widths=(30, 50), size=(1, 20)):
    """Word counts of two views, the second of longer texts; one sample has no words in the first."""
    rng = np.random.default_rng(seed)
    views = [s * rng.poisson(0.15, size=(n, d)).astype(float) for d, s in zip(widths, size, strict=True)]
    views[0][7] = 0
    return views


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:Only .* clusters have samples")
@pytest.mark.parametrize("balance", [True, False])
def test_scikit_learn_and_multiview_checks_pass(balance):
    model = ConcatenatedSpectral(balance=balance)
    results = check_estimator(model, on_fail=None, on_skip=None)
    assert not [r for r in results if r["status"] not in ("passed", "skipped")]
    check_multiview_estimator(model)


def test_each_view_contributes_the_same_mean_squared_distance():
    rng = np.random.default_rng(0)
    views = [1e3 + 50 * rng.normal(size=(60, 4)), rng.normal(size=(60, 300)), 1e-6 * rng.normal(size=(60, 1))]
    parts = [x / np.sqrt((pairwise_distances(x) ** 2).mean()) for x in views]
    for part in parts:
        assert (pairwise_distances(part) ** 2).mean() == pytest.approx(1)
    assert_graph(graph_of(views), np.hstack(parts))
    assert_graph(graph_of(views, balance=False), np.hstack(views))


def test_by_hand():
    # Mean squared distances over all 4 x 4 pairs: 2 * variance = 1/2 and 50. So the views become
    # sqrt(2) (0, 0, 1, 1) and (0, 10, 10, 0) / sqrt(50): all sides of the square are sqrt(2).
    views = [np.array([[0.0], [0], [1], [1]]), np.array([[0.0], [10], [10], [0]])]
    graph = ConcatenatedSpectral(n_clusters=2, n_neighbors=2, random_state=0).fit(views).graph_
    square = np.array([[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]])
    np.testing.assert_allclose(graph.toarray(), np.exp(-0.5) * square, rtol=1e-12)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csr_matrix])
def test_under_cosine_each_view_has_mean_squared_row_norm_one(form):
    views = counts()
    parts = [x / np.sqrt((x**2).sum(axis=1).mean()) for x in views]
    given = [form(x) for x in views]
    model = ConcatenatedSpectral(n_clusters=3, n_neighbors=6, random_state=0).fit(given)
    assert model.metrics_ == ("cosine", "cosine")  # they look like counts together
    assert_graph(model.graph_, np.hstack(parts), "cosine")
    assert_graph(graph_of(given, balance=False), np.hstack(views), "cosine")


def test_auto_looks_at_all_views_together():
    few, many = counts(widths=(50, 2))
    many = np.abs(many) + 0.1  # no zeros at all: Euclidean by itself
    assert graph_metric([few, many]) == "cosine"
    assert graph_metric([few, -many]) == "euclidean"
    assert graph_metric([many, many]) == "euclidean"


def graph_metric(views):
    return ConcatenatedSpectral(n_clusters=2, random_state=0).fit(views).metrics_[0]


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
@pytest.mark.parametrize("scale", ["none", "standard"])
def test_sparse_and_mixed_views_are_as_dense_ones(metric, scale):
    views = counts(1)
    views[0][7, 0] = 1
    if scale == "standard":  # sparse views are not centred by it, which cosine notices
        metric = "euclidean"
    expected = graph_of(views, metric=metric, scale=scale)
    for forms in ((sparse.csr_array, np.asarray), (np.asarray, sparse.csr_matrix), (sparse.csr_array,) * 2):
        found = graph_of([form(x) for form, x in zip(forms, views, strict=True)], metric=metric, scale=scale)
        assert abs(found - expected).max() < 1e-10


def test_a_sparse_view_makes_the_concatenation_sparse():
    wide = sparse.csr_array((np.ones(60), (np.arange(60), np.arange(60) % 3)), shape=(60, 10**7))
    assert sparse.issparse(concatenate([wide, np.ones((60, 2))]))
    model = ConcatenatedSpectral(n_clusters=3, n_neighbors=6, metric="cosine", random_state=0)
    noise = np.random.default_rng(0).uniform(size=(60, 2))
    assert_same_partition(model.fit([wide, 0.01 * noise]).labels_, np.arange(60) % 3)


def test_the_data_are_left_alone():
    views = [*counts(), sparse.csr_array(counts()[0])]
    kept = [x.copy() for x in views]
    graph_of(views)
    graph_of(views[:1])
    for x, old in zip(views, kept, strict=True):
        assert abs(x - old).max() == 0


def test_views_shared_among_fits():
    views = counts()
    shared = SharedViews(views)
    for parameters in ({}, {"balance": False}, {"metric": "euclidean"}, {"scale": "standard"}, {}):
        model = ConcatenatedSpectral(n_clusters=3, n_neighbors=6, random_state=0, **parameters)
        found = clone(model).fit(shared)
        expected = model.fit(views)
        assert found.metrics_ == expected.metrics_
        assert abs(found.graph_ - expected.graph_).max() == 0


def test_planted_clusters_that_no_view_shows_alone():
    # Each of two views separates two pairs of clusters from each other, both together all four.
    rng = np.random.default_rng(0)
    y = rng.permutation(np.repeat(np.arange(4), 40))
    views = [10.0 * (y // 2)[:, None] + rng.normal(size=(160, 1)), y % 2 + 0.1 * rng.normal(size=(160, 1)).T]
    views[1] = views[1].T
    model = ConcatenatedSpectral(n_clusters=4, n_neighbors=10, random_state=0).fit(views)
    assert_same_partition(model.labels_, y)
    assert nmi(y, SingleViewSpectral(n_clusters=4, random_state=0).fit(views).labels_) < 0.8


def test_one_view_is_spectral_clustering_of_it():
    x = make_multiview(90, n_views=1, n_clusters=3, random_state=0).views["view_0"]
    assert_graph(graph_of(x, balance=False), x)
    model = ConcatenatedSpectral(n_clusters=3, random_state=0).fit(x)
    alone = SingleViewSpectral(n_clusters=3, random_state=0).fit(x)
    np.testing.assert_allclose(model.eigenvalues_, alone.eigenvalues_, atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(model.embedding_, axis=1), 1)
    assert_same_partition(model.labels_, alone.labels_)


def test_a_view_of_equal_rows_is_left_out_and_one_of_equal_directions_is_not():
    first, second = counts()
    with pytest.warns(UserWarning, match="View 'view_1' is constant"):
        found = graph_of([first, np.ones((60, 40)), second], metric="cosine")
    assert abs(found - graph_of([first, second], metric="cosine")).max() == 0
    lengths = np.random.default_rng(2).uniform(1, 9, size=(60, 1))
    other = graph_of([first, lengths, second], metric="cosine")
    assert abs(found - other).max() > 0.01


def test_views_that_all_point_the_same_way():
    x = np.arange(1.0, 21)[:, None]
    with pytest.raises(ValueError, match="By the metric 'cosine' all samples look the same"):
        ConcatenatedSpectral(n_clusters=2, metric="cosine").fit([x, 2 * x])


@pytest.mark.parametrize("n", [2, 3, 5, 10])
@pytest.mark.parametrize("n_clusters", [1, 2])
def test_few_samples_and_tiny_numbers(n, n_clusters):
    x = np.random.default_rng(n).normal(size=(n, 2))
    for factor in (1.0, 1e-170, 1e100):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            model = ConcatenatedSpectral(n_clusters=n_clusters, random_state=0).fit([x, factor * x[:, :1]])
        assert len(np.unique(model.labels_)) <= n_clusters
        assert np.isfinite(model.graph_.data).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"metric": ["euclidean", "cosine"]}, "by one metric, got 'cosine', 'euclidean'; pass one name"),
        ({"metric": {"view_0": "l1", "view_1": "auto"}}, "by one metric, got 'auto', 'l1'"),
        ({"metric": "precomputed_distance"}, "have no features to put side by side"),
        ({"metric": ["precomputed_similarity"] * 2}, "have no features to put side by side"),
        ({"metric": "chebychef"}, "Unknown metric 'chebychef'"),
        ({"balance": "no"}, "balance must be True or False, got 'no'"),
        ({"metric": "haversine"}, "2 features, view 'all views together' has 8"),
    ],
)
def test_bad_parameters(parameters, message):
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(4, 4))
    x = x + x.T
    np.fill_diagonal(x, 0)
    with pytest.raises(ValueError, match=message):
        ConcatenatedSpectral(**{"n_clusters": 2, "n_neighbors": 2} | parameters).fit([x, x])


def test_one_metric_given_for_each_view():
    views = counts()
    expected = graph_of(views, metric="manhattan")
    for metric in (["manhattan", "manhattan"], {"view_0": "manhattan", "view_1": "manhattan"}):
        assert abs(graph_of(views, metric=metric) - expected).max() == 0


def test_missing_samples_are_refused():
    sample = make_multiview(60, n_views=2, n_clusters=3, missing=0.2, random_state=0)
    with pytest.raises(ValueError, match="ConcatenatedSpectral is not defined for samples that a view"):
        ConcatenatedSpectral(n_clusters=3).fit(Views(sample.views, mask=sample.mask))


def far(a, b):
    return float(np.abs(a - b).sum())


def test_a_function_measures_all_views_together():
    views = make_multiview(60, n_views=2, n_clusters=3, separation=4.0, random_state=0).views
    named = ConcatenatedSpectral(n_clusters=3, metric="manhattan", random_state=0).fit(views)
    for metric in (far, [far, far]):
        ours = ConcatenatedSpectral(n_clusters=3, metric=metric, random_state=0).fit(views)
        assert_same_partition(ours.labels_, named.labels_)
    with pytest.raises(ValueError, match="one metric, got 'cosine', 'far'"):
        ConcatenatedSpectral(n_clusters=3, metric=[far, "cosine"]).fit(views)


@pytest.mark.parametrize("metric", ["auto", "gower"])
def test_what_is_no_number_cannot_be_put_side_by_side(metric):
    numbers = np.random.default_rng(0).normal(size=(30, 3))
    words = pd.DataFrame({"colour": ["red", "green", "blue"] * 10})
    sizes = pd.DataFrame(numbers)
    with pytest.raises(ValueError, match="View 'colour' has columns that are no numbers"):
        ConcatenatedSpectral(n_clusters=2, metric=metric).fit({"size": sizes, "colour": words})
    numbers[4, 1] = np.nan
    with pytest.raises(ValueError, match="'size', row 4, column 1 holds NaN"):
        ConcatenatedSpectral(n_clusters=2, metric=metric).fit({"size": numbers})
