import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist, pdist
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from consilience.datasets import MultiviewSample, make_multiview
from consilience.metrics import nmi


def nearest_center(data, v):
    return cdist(list(data.views.values())[v], data.centers[v]).argmin(axis=1)


def kmeans_nmi(data, v, seed=0):
    model = KMeans(len(data.centers[v]), n_init=5, random_state=seed)
    with threadpool_limits(1):  # threads are far slower than none on so little data
        return nmi(data.y, model.fit_predict(list(data.views.values())[v]))


def test_shapes_and_names():
    data = make_multiview(60, n_views=2, n_clusters=3, n_features=[4, 5, 6], noise_views=1, random_state=0)
    assert isinstance(data, MultiviewSample)
    assert {name: X.shape for name, X in data.views.items()} == {
        "view_0": (60, 4),
        "view_1": (60, 5),
        "noise_0": (60, 6),
    }
    assert all(X.dtype == np.float64 and np.isfinite(X).all() for X in data.views.values())
    assert data.y.shape == (60,)
    assert data.scrambled.shape == (60, 3)
    assert not data.scrambled.any()
    assert data.mask is None
    assert [c.shape for c in data.centers] == [(3, 4), (3, 5), (3, 6)]
    assert data.noise.tolist() == [False, False, True]


def test_defaults():
    data = make_multiview(random_state=0)
    assert len(data.y) == 500
    assert len(data.views) == 4
    assert np.bincount(data.y).tolist() == [100] * 5


def test_result_is_frozen_and_its_repr_short():
    data = make_multiview(2000, scrambled=0.1, missing=0.25, random_state=0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        data.y = None
    assert "n_samples=2000" in repr(data)
    assert "scrambled=0.1, missing=0.25" in repr(data)
    assert len(repr(data)) < 200


def test_features_are_own_arrays():
    data = make_multiview(20, n_clusters=1, noise_views=2, random_state=0)
    arrays = [*data.views.values(), *data.centers]
    for i, a in enumerate(arrays):
        assert not any(np.shares_memory(a, b) for b in arrays[i + 1 :])


@pytest.mark.parametrize("separation", [0.0, 2.5, [1.0, 4.0, 0.0, 7.0]])
@pytest.mark.parametrize("n_features", [1, 10])
def test_mean_distance_between_centers_is_the_separation(separation, n_features):
    data = make_multiview(separation=separation, n_features=n_features, random_state=3)
    means = [pdist(c).mean() for c in data.centers]
    np.testing.assert_allclose(means, np.broadcast_to(separation, 4), atol=1e-12)
    for c in data.centers:
        np.testing.assert_allclose(c.mean(axis=0), 0, atol=1e-12)


def test_clusters_are_gaussian_with_unit_deviation():
    data = make_multiview(20_000, n_views=2, n_clusters=3, n_features=3, separation=6, random_state=0)
    for X, centers in zip(data.views.values(), data.centers, strict=True):
        for k in range(3):
            rows = X[data.y == k]
            np.testing.assert_allclose(rows.mean(axis=0), centers[k], atol=0.06)
            np.testing.assert_allclose(np.cov(rows.T), np.eye(3), atol=0.06)


def test_views_are_independent_given_the_clusters():
    data = make_multiview(20_000, n_views=2, n_clusters=1, n_features=2, random_state=0)
    correlation = np.corrcoef(np.hstack(list(data.views.values())).T)
    np.testing.assert_allclose(correlation, np.eye(4), atol=0.03)


def test_quality_rises_with_separation():
    values = []
    for separation in (0, 1.5, 3, 5, 8):
        samples = [make_multiview(400, n_views=1, separation=separation, random_state=s) for s in range(4)]
        values.append(np.mean([kmeans_nmi(data, 0) for data in samples]))
    assert values == sorted(values)
    assert values[0] < 0.06
    assert values[-1] > 0.95


@pytest.mark.parametrize("share", [0.0, 0.1, 0.333, 1.0])
def test_scrambled_counts_are_exact(share):
    data = make_multiview(101, n_views=3, scrambled=share, noise_views=1, random_state=0)
    assert data.scrambled.sum(axis=0).tolist() == [round(share * 101)] * 3 + [0]


def test_scrambled_per_view():
    data = make_multiview(100, n_views=3, scrambled=[0, 0.2, 0.05], random_state=0)
    assert data.scrambled.sum(axis=0).tolist() == [0, 20, 5]


def test_scrambled_rows_belong_to_another_cluster_and_the_others_to_their_own():
    # Two features would let some of the centres lie close together; thirty do not.
    data = make_multiview(600, separation=12, n_features=30, scrambled=0.25, random_state=0)
    for v in range(4):
        np.testing.assert_array_equal(nearest_center(data, v) != data.y, data.scrambled[:, v])


def test_scrambled_rows_show_every_other_cluster_equally_often():
    data = make_multiview(
        20_000, n_views=1, n_clusters=4, separation=12, n_features=30, scrambled=0.6, random_state=0
    )
    moved = data.scrambled[:, 0]
    table = np.zeros((4, 4))
    np.add.at(table, (data.y[moved], nearest_center(data, 0)[moved]), 1)
    assert (np.diag(table) == 0).all()
    np.testing.assert_allclose(table[~np.eye(4, dtype=bool)], 1000, rtol=0.15)


def test_scrambled_sets_differ_between_views():
    data = make_multiview(1000, scrambled=0.2, random_state=0)
    both = (data.scrambled[:, 0] & data.scrambled[:, 1]).sum()
    assert 20 < both < 60  # 40 expected of 200


def test_noise_views_carry_nothing():
    data = make_multiview(600, noise_views=2, separation=6, random_state=0)
    assert min(kmeans_nmi(data, v) for v in range(4)) > 0.8
    assert max(kmeans_nmi(data, v) for v in (4, 5)) < 0.05
    assert not data.centers[4].any()


def test_noise_views_have_the_variance_of_the_others():
    data = make_multiview(
        20_000, noise_views=1, separation=[2, 5, 8, 0], weights=[5, 1, 1, 1, 1], random_state=0
    )
    variances = [X.var(axis=0).mean() for X in data.views.values()]
    assert variances[4] == pytest.approx(np.mean(variances[:4]), rel=0.03)


@pytest.mark.parametrize("missing", [0.1, 1 / 3, 0.5, 0.75])
@pytest.mark.parametrize("noise_views", [0, 2])
def test_missing_pairs(missing, noise_views):
    data = make_multiview(101, missing=missing, noise_views=noise_views, random_state=0)
    n_all = 4 + noise_views
    assert data.mask.shape == (101, n_all)
    assert (~data.mask).sum() == round(missing * 101 * n_all)
    assert data.mask[:, :4].any(axis=1).all(), "a sample without a view that shows its cluster"
    for X, seen in zip(data.views.values(), data.mask.T, strict=True):
        np.testing.assert_array_equal(np.isnan(X), np.broadcast_to(~seen[:, None], X.shape))


def test_missing_pairs_are_spread_evenly():
    data = make_multiview(10_000, missing=0.5, random_state=0)
    np.testing.assert_allclose(data.mask.mean(axis=0), 0.5, atol=0.02)


def test_highest_missing_rate_leaves_one_view_per_sample():
    data = make_multiview(50, n_views=3, missing=2 / 3, random_state=0)
    assert (data.mask.sum(axis=1) == 1).all()


def test_a_rate_that_rounds_to_nothing_gives_no_mask():
    assert make_multiview(10, n_views=2, missing=0.01, random_state=0).mask is None


@pytest.mark.parametrize(
    ("n_samples", "weights", "sizes"),
    [
        (10, None, [4, 3, 3]),
        (10, [0.5, 0.3, 0.2], [5, 3, 2]),
        (10, (5, 3, 2), [5, 3, 2]),
        (11, np.array([1, 1, 2]), [3, 3, 5]),  # 2.75, 2.75, 5.5
        (12, [1, 4.5, 1], [2, 8, 2]),  # 1.85, 8.31, 1.85
    ],
)
def test_cluster_sizes(n_samples, weights, sizes):
    data = make_multiview(n_samples, n_clusters=3, weights=weights, random_state=0)
    assert np.bincount(data.y).tolist() == sizes


def test_order():
    ordered = make_multiview(50, shuffle=False, random_state=0)
    assert (np.diff(ordered.y) >= 0).all()
    shuffled = make_multiview(50, random_state=0)
    assert (np.diff(shuffled.y) < 0).any()
    assert np.bincount(ordered.y).tolist() == np.bincount(shuffled.y).tolist()


def assert_same(a, b):
    np.testing.assert_array_equal(a.y, b.y)
    np.testing.assert_array_equal(a.scrambled, b.scrambled)
    np.testing.assert_array_equal(a.mask, b.mask)
    assert list(a.views) == list(b.views)
    for name in a.views:
        np.testing.assert_array_equal(a.views[name], b.views[name])


def test_same_seed_same_data():
    options = {"n_samples": 80, "scrambled": 0.1, "noise_views": 1, "missing": 0.2}
    first = make_multiview(**options, random_state=7)
    assert_same(first, make_multiview(**options, random_state=7))
    assert_same(first, make_multiview(**options, random_state=np.random.RandomState(7)))
    other = make_multiview(**options, random_state=8)
    assert not np.array_equal(first.views["view_0"], other.views["view_0"], equal_nan=True)


def test_no_seed_gives_new_data():
    a, b = make_multiview(20), make_multiview(20)
    assert not np.array_equal(a.views["view_0"], b.views["view_0"])


def test_options_change_only_what_they_name():
    plain = make_multiview(100, noise_views=1, random_state=0)
    spoiled = make_multiview(100, noise_views=1, scrambled=0.2, missing=0.3, random_state=0)
    more = make_multiview(100, noise_views=1, scrambled=0.4, missing=0.5, random_state=0)
    np.testing.assert_array_equal(plain.y, spoiled.y)
    for v, name in enumerate(plain.views):
        kept = ~spoiled.scrambled[:, v] & spoiled.mask[:, v]
        np.testing.assert_array_equal(plain.views[name][kept], spoiled.views[name][kept])
    assert (more.scrambled >= spoiled.scrambled).all()
    assert (more.mask <= spoiled.mask).all()
    wide = make_multiview(100, noise_views=1, separation=6, random_state=0)
    for a, b in zip(plain.centers, wide.centers, strict=True):
        np.testing.assert_allclose(2 * a, b)
    np.testing.assert_allclose(
        plain.views["view_1"] - plain.centers[1][plain.y], wide.views["view_1"] - wide.centers[1][wide.y]
    )


def test_smallest():
    data = make_multiview(1, n_views=1, n_clusters=1, n_features=1, random_state=0)
    assert data.views["view_0"].shape == (1, 1)
    assert data.centers[0].tolist() == [[0.0]]


@settings(deadline=None)
@given(
    n_samples=st.integers(6, 40),
    n_views=st.integers(1, 4),
    noise_views=st.integers(0, 2),
    n_clusters=st.integers(2, 6),
    scrambled=st.floats(0, 1),
    missing=st.floats(0, 1),
    seed=st.integers(0, 2**32 - 1),
)
def test_truth_holds_for_any_options(n_samples, n_views, noise_views, n_clusters, scrambled, missing, seed):
    n_all = n_views + noise_views
    missing = missing * (n_all - 1) / n_all
    data = make_multiview(
        n_samples,
        n_views=n_views,
        noise_views=noise_views,
        n_clusters=n_clusters,
        scrambled=scrambled,
        missing=missing,
        random_state=seed,
    )
    expected = [round(scrambled * n_samples)] * n_views + [0] * noise_views
    assert data.scrambled.sum(axis=0).tolist() == expected
    assert set(data.y.tolist()) == set(range(n_clusters))
    n_missing = round(missing * n_samples * n_all)
    assert (data.mask is None) == (n_missing == 0)
    if data.mask is not None:
        assert (~data.mask).sum() == n_missing
        assert data.mask[:, :n_views].any(axis=1).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_samples": 4}, "n_samples must be an integer of at least n_clusters = 5, got 4"),
        ({"n_samples": 10.0}, "n_samples must be an integer"),
        ({"n_views": 0}, "n_views must be an integer of at least 1, got 0"),
        ({"n_views": True}, "n_views must be an integer"),
        ({"n_clusters": 0}, "n_clusters must be an integer of at least 1"),
        ({"noise_views": -1}, "noise_views must be an integer of at least 0, got -1"),
        ({"n_features": 0}, "n_features must be an integer of at least 1, got 0"),
        ({"n_features": [3, 4]}, r"n_features must be one value or one per view \(4\), got 2 values"),
        ({"n_features": [3] * 4, "noise_views": 1}, r"n_features must be .* \(5\), got 4"),
        ({"n_features": [3, 4, 5, 6.5]}, "n_features must be an integer of at least 1, got 6.5"),
        ({"separation": -1}, "separation must be a finite number at least 0, got -1"),
        ({"separation": np.inf}, "separation must be a finite number"),
        ({"separation": "far"}, "separation must be a finite number at least 0, got 'far'"),
        ({"separation": [1, 2, 3]}, r"separation must be one value or one per view \(4\), got 3"),
        ({"scrambled": 1.1}, "scrambled must be a finite number from 0 to 1, got 1.1"),
        ({"scrambled": [0, 0, 0, -0.1]}, "scrambled must be a finite number from 0 to 1, got -0.1"),
        ({"scrambled": np.nan}, "scrambled must be a finite number"),
        ({"scrambled": 0.1, "n_clusters": 1}, "scrambled must be 0 when n_clusters is 1, got 0.1"),
        ({"missing": -0.1}, "missing must be a finite number from 0 to 1, got -0.1"),
        ({"missing": 0.8}, "missing must be at most 0.75 with 4 views, .* got 0.8"),
        ({"missing": 0.5, "n_views": 1}, "missing must be at most 0 with 1 views"),
        ({"weights": [1, 2]}, "weights must be 5 positive numbers, one per cluster"),
        ({"weights": [1, 1, 1, 1, 0]}, "weights must be 5 positive numbers"),
        ({"weights": [1, 1, 1, 1, np.nan]}, "weights must be 5 positive numbers"),
        ({"weights": "many"}, "weights must be 5 positive numbers"),
        ({"weights": [1e6, 1, 1, 1, 1]}, "weights must leave every cluster .* cluster 1 would be empty"),
        ({"random_state": "seed"}, "seed"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        make_multiview(**options)
