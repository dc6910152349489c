"""The other metrics of scikit-learn: searched by whole rows of distances."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import pairwise_distances
from tests.engines.placed import on_pairs, place
from tests.engines.points.forms import (
    BOOLEAN,
    OTHER,
    assert_as_near,
    assert_mean_over_pairs,
    data_for,
    smallest,
)

from consilience.engines.points import protocol


@pytest.mark.parametrize("metric", OTHER)
def test_every_other_metric_is_that_of_scikit_learn(engine, metric, monkeypatch):
    monkeypatch.setattr(protocol, "_BLOCK_BYTES", 1)
    x = data_for(metric)
    name = {"sqeuclidean": "euclidean"}.get(metric, metric)  # resolve_metrics does the same
    distances = pairwise_distances(x, metric=name)
    view = place(engine, x, name)
    for k in (1, 6, 39):
        np.testing.assert_array_equal(view.nearest(k), smallest(distances, k))
    np.fill_diagonal(distances, 0)
    np.testing.assert_allclose(on_pairs(view, 40), distances**2, rtol=1e-12)
    assert view.kind == "distance"


@pytest.mark.parametrize("metric", sorted(BOOLEAN & set(OTHER)))
def test_metrics_of_booleans_take_zeros_and_ones_without_a_warning(engine, metric):
    # Views turns booleans into floats.
    x = data_for(metric)
    np.testing.assert_array_equal(
        place(engine, x.astype(float), metric).nearest(5), smallest(pairwise_distances(x, metric=metric), 5)
    )


@pytest.mark.parametrize("metric", sorted(BOOLEAN & set(OTHER)))
def test_metrics_of_booleans_refuse_numbers_that_say_nothing_to_them(engine, metric):
    x = np.random.default_rng(15).uniform(1, 2, size=(20, 3))
    with pytest.raises(ValueError, match=f"{metric}.*view 'sizes'.*0 and 1"):
        place(engine, x, metric, name="sizes")
    assert place(engine, np.ones((20, 3)), metric).is_constant()
    x[3, 1] = 0
    assert not place(engine, x, metric).is_constant()


@pytest.mark.parametrize("metric", ["seuclidean", "mahalanobis"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_metrics_defined_by_the_whole_data_do_not_depend_on_blocks(engine, metric, dtype, monkeypatch):
    rng = np.random.default_rng(16)
    x = (rng.normal(size=(60, 3)) @ rng.normal(size=(3, 3))).astype(dtype)
    x[:8] *= 100  # the first block alone would give another variance
    whole = on_pairs(place(engine, x, metric), 60)
    monkeypatch.setattr(protocol, "_BLOCK_BYTES", 1)
    np.testing.assert_array_equal(on_pairs(place(engine, x, metric), 60), whole)
    if metric == "seuclidean":
        inverse = np.diag(1 / np.var(x.astype(float), axis=0, ddof=1))
    else:
        inverse = np.linalg.inv(np.cov(x.astype(float).T))
    differences = (x[:, None] - x[None]).astype(float)
    expected = np.einsum("ijf,fg,ijg->ij", differences, inverse, differences)
    np.testing.assert_allclose(whole, expected, rtol=1e-10 if dtype == np.float64 else 1e-3, atol=1e-12)


def test_mahalanobis_of_one_feature_is_the_difference_in_deviations(engine):
    x = np.random.default_rng(17).normal(size=(20, 1))
    expected = (x - x.T) ** 2 / np.var(x, ddof=1)
    np.testing.assert_allclose(on_pairs(place(engine, x, "mahalanobis"), 20), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("metric", "spoil"),
    [
        ("seuclidean", lambda x: x[:, 1].fill(4.0)),  # a constant feature: 0 / 0
        ("mahalanobis", lambda x: x[:, 1].fill(4.0)),
        ("braycurtis", lambda x: x[3:5].fill(0.0)),  # two rows of zeros: 0 / 0
    ],
    ids=["seuclidean", "mahalanobis", "braycurtis"],
)
def test_undefined_distances_are_refused_or_defined_but_never_nan(engine, metric, spoil):
    x = data_for(metric)
    spoil(x)
    try:
        view = place(engine, x, metric, name="sizes")
        values = on_pairs(view, 40)
        nearest = view.nearest(5)
    except ValueError as error:
        assert "sizes" in str(error)
    else:
        assert np.isfinite(values).all()
        assert not (nearest == np.arange(40)[:, None]).any()


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("metric", ["manhattan", "haversine"])
def test_sparse_views_under_other_metrics(engine, kind, metric):
    x = np.random.default_rng(18).uniform(0, 1.5, size=(40, 2))
    x[x < 0.5] = 0
    distances = pairwise_distances(x, metric=metric)
    view = place(engine, kind(x), metric)
    np.testing.assert_allclose(on_pairs(view, 40), distances**2, rtol=1e-12, atol=1e-30)
    # Sums of few terms: the same to the last bit, ties at 0 included.
    assert_as_near(view.nearest(5), distances + 1, 5)


def test_sparse_view_under_a_metric_that_needs_dense_data(engine):
    with pytest.raises(ValueError, match="'chebyshev' does not take the sparse view 'words'"):
        place(engine, sparse.csr_array(np.eye(5)), "chebyshev", name="words")


def test_haversine_takes_two_features(engine):
    with pytest.raises(ValueError, match="2 features, view 'places' has 3"):
        place(engine, np.ones((5, 3)), "haversine", name="places")


@pytest.mark.parametrize("metric", OTHER)
def test_mean_over_pairs_of_other_metrics(engine, metric, monkeypatch):
    monkeypatch.setattr(protocol, "_BLOCK_BYTES", 1)
    x = data_for(metric)
    name = {"sqeuclidean": "euclidean"}.get(metric, metric)
    distances = pairwise_distances(x, metric=name)
    assert_mean_over_pairs(place(engine, x, name), distances if name == "correlation" else distances**2)
