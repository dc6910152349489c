"""New samples next to those of a placed view."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from tests.engines.placed import on_pairs, place
from tests.engines.points.forms import (
    BOTH,
    FORMS,
    NUMBA,
    OTHER,
    data_for,
    dense,
    every_form,
    gower,
    mixed,
    seeds,
    unit_rows,
)

from consilience.engines import threads
from consilience.engines.numpy import points as plain_points
from consilience.engines.points import protocol
from consilience.engines.points.protocol import CompressedRows
from consilience.graphs import EdgeSet

N = 40
ALIASES = {"l1", "l2", "sqeuclidean", "cityblock"}  # resolved before
FEATURES = ["euclidean", "cosine", *(name for name in OTHER if name not in ALIASES)]


def all_edges(m, n):
    """Edges from each of m new samples to all n old ones."""
    return EdgeSet(np.arange(m + 1) * n, np.tile(np.arange(n, dtype=np.int32), m))


def values(queries, m, n):
    return queries.measure(all_edges(m, n)).reshape(m, n)


def ranked(pairs, k):
    """The k smallest of each row by (value, index), -1 where there are no more."""
    order = np.argsort(pairs, axis=1, kind="stable")[:, :k]
    return np.pad(order, ((0, 0), (0, k - order.shape[1])), constant_values=-1)


def features_for(metric, n=N):
    """Features for a metric, without rows that it is undefined for; rows 3 and 7 are the same."""
    x = np.asarray(data_for(metric, n), dtype=float)
    x[7] = x[3]
    return x


def assert_like_old_samples(view, metric, n, queries):
    """Samples of the view that come again are at 0 from themselves, and as far as before from others."""
    queried = view.query(queries)
    again = values(queried, n, n)
    np.testing.assert_array_equal(again - np.diag(again.diagonal()), on_pairs(view, n))
    if metric != "russellrao":  # by that, a sample has little in common with itself, too
        assert not again.diagonal().any()
    # The order is that of the view, except that no sample is left out.
    for i, (new, old) in enumerate(zip(queried.nearest(10).tolist(), view.nearest(9).tolist(), strict=True)):
        assert [j for j in new if j != i][:9] == old


# Agreement with the view itself, and with all pairs by definition


@pytest.mark.parametrize("metric", FEATURES)
def test_old_samples_that_come_again(engine, metric):
    x = features_for(metric)
    assert_like_old_samples(place(engine, x, metric), metric, N, x.copy())


@every_form
@BOTH
def test_old_samples_that_come_again_in_every_form(engine, form, metric):
    x = np.random.default_rng(0).normal(size=(150, 7))
    x[x < -0.4] = 0
    x[9] = x[4]
    given_as = FORMS[form](x)
    view = place(engine, given_as, metric)
    # What the new samples are held in does not matter: sparse for dense, double for single precision.
    doubles = dense(given_as)
    for queries in (given_as, doubles, sparse.csr_array(doubles), sparse.coo_array(doubles)):
        assert_like_old_samples(view, metric, 150, queries)


@every_form
@BOTH
@given(st.integers(1, 90), st.integers(1, 60), st.integers(1, 12), st.integers(1, 100), seeds)
@settings(max_examples=12, deadline=None)
def test_nearest_is_the_sorted_list_of_all(engine, form, metric, n, m, d, k, seed):
    rng = np.random.default_rng(seed)
    x, queries = FORMS[form](rng.normal(size=(n, d + 2))), FORMS[form](rng.normal(size=(m, d + 2)))
    found = place(engine, x, metric).query(queries).nearest(k)
    assert found.dtype == np.int32
    assert found.shape == (m, k)
    a, b = dense(queries), dense(x)
    if metric == "cosine":
        a, b = unit_rows(a), unit_rows(b)
    np.testing.assert_array_equal(found, ranked(((a[:, None] - b[None]) ** 2).sum(axis=2), k))


@pytest.mark.parametrize("metric", FEATURES)
def test_nearest_goes_by_the_values_on_edges(engine, metric):
    x = features_for(metric, 60)
    view = place(engine, x[:45], metric)
    queried = view.query(x[45:])
    pairs = values(queried, 15, 45)
    for k in (1, 6, 45, 50):
        found = queried.nearest(k)
        got = np.take_along_axis(pairs, found[:, : min(k, 45)], axis=1)
        np.testing.assert_allclose(got, np.sort(pairs, axis=1)[:, :k], rtol=1e-11)
        assert (found[:, 45:] == -1).all()


@pytest.mark.parametrize("form", ["dense", "dense float32", "csr_array"])
@given(st.integers(2, 200), st.integers(1, 4), seeds)
@settings(max_examples=20, deadline=None)
def test_ties_go_to_the_lower_index(engine, form, n, d, seed):
    rng = np.random.default_rng(seed)
    x, queries = rng.integers(-1, 2, size=(2, n, d)).astype(float)
    found = place(engine, FORMS[form](x), "euclidean").query(FORMS[form](queries)).nearest(7)
    np.testing.assert_array_equal(found, ranked(((queries[:, None] - x[None]) ** 2).sum(axis=2), 7))


def test_distances_equal_up_to_rounding_are_ties(engine):
    rng = np.random.default_rng(0)
    x = np.array([rng.permutation(np.arange(1, 12) / 10) for _ in range(60)])
    assert len(np.unique((x**2).sum(axis=1))) > 1
    for form in ("dense", "csr_array"):
        found = place(engine, FORMS[form](x), "euclidean").query(np.zeros((1, 11))).nearest(20)
        np.testing.assert_array_equal(found[0], np.arange(20))
    # For the metrics that look at whole rows of distances, too.
    found = place(engine, x, "minkowski").query(np.zeros((1, 11))).nearest(20)
    np.testing.assert_array_equal(found[0], np.arange(20))


# The result for one does not depend on the others


@pytest.mark.parametrize(
    ("metric", "form"),
    [
        *((metric, "csr_array") for metric in ("euclidean", "cosine", "manhattan")),
        *(
            (metric, form)
            for metric in FEATURES
            for form in ("dense", "dense float32")
            if metric != "haversine"
        ),
    ],
)
def test_one_alone_and_many_together_get_the_same(engine, metric, form):
    x = features_for(metric, 90)
    x[x < 0.4] = 0
    x[:, 0] += 0.1
    view = place(engine, FORMS[form](x[:50]), metric)
    queries = FORMS[form](x[50:])
    together = view.query(queries)
    nearest, pairs = together.nearest(8), values(together, 40, 50)
    for rows in ([0], [39], [3, 5], list(range(7, 31))):
        part = view.query(queries[rows])
        np.testing.assert_array_equal(part.nearest(8), nearest[rows])
        np.testing.assert_array_equal(values(part, len(rows), 50), pairs[rows])


@pytest.mark.parametrize("metric", ["cosine", "correlation"])
@pytest.mark.parametrize("d", [3, 129, 8193, 20000])
def test_directions_of_long_rows_do_not_depend_on_the_number_of_rows(engine, metric, d):
    x = np.random.default_rng(d).normal(size=(9, d))
    view = place(engine, x, metric)
    for rows in ([4], [8, 0], [1, 2, 3, 4, 5]):
        found = values(view.query(x[rows]), len(rows), 9)
        np.testing.assert_array_equal(found, on_pairs(view, 9)[rows])


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "gower", "nan_euclidean", "chebyshev"])
def test_blocks_and_threads_do_not_matter(engine, metric, monkeypatch):
    rng = np.random.default_rng(1)
    view, queries = place(engine, rng.normal(size=(203, 5)), metric), rng.normal(size=(170, 5))
    whole = view.query(queries).nearest(7), values(view.query(queries), 170, 203)
    for n_threads, size, rows in ((1, 1, 1), (3, 4 * 203 * 50, 50)):
        monkeypatch.setattr(protocol, "_BLOCK_BYTES", size)
        monkeypatch.setattr(plain_points, "_ROWS", rows)
        with threads.limit(n_threads):
            np.testing.assert_array_equal(view.query(queries).nearest(7), whole[0])
            np.testing.assert_array_equal(values(view.query(queries), 170, 203), whole[1])


# Anywhere, even far away


@pytest.mark.parametrize("form", ["dense", "csr_array"])
@pytest.mark.parametrize("distance", [0, 1e3, 1e9, 1e15, 1e20, 1e40, 1e130])
def test_new_samples_far_away(engine, form, distance):
    rng = np.random.default_rng(2)
    x = rng.integers(-4, 5, size=(150, 3)).astype(float)
    queries = rng.normal(size=(20, 3))
    queries[::2] += distance
    found = place(engine, FORMS[form](x), "euclidean").query(queries).nearest(150)
    pairs = ((queries[:, None] - x[None]) ** 2).sum(axis=2)
    got = np.take_along_axis(pairs, found, axis=1)
    np.testing.assert_allclose(got, np.sort(pairs, axis=1), rtol=1e-11)
    assert all(set(row) == set(range(150)) for row in found.tolist())
    # Ties, exact or to twelve digits, are in the order of the samples.
    if distance >= 1e20:
        np.testing.assert_array_equal(found[0], np.arange(150))


@pytest.mark.parametrize("form", ["dense", "csr_array"])
def test_squared_distances_beyond_all_numbers_leave_the_order_of_the_samples(engine, form):
    x = FORMS[form](np.random.default_rng(3).normal(size=(30, 3)))
    found = place(engine, x, "euclidean").query(np.full((2, 3), 1e200)).nearest(5)
    np.testing.assert_array_equal(found, np.tile(np.arange(5), (2, 1)))


@every_form
def test_rows_without_direction_are_at_one_from_all(engine, form):
    x = np.random.default_rng(4).normal(size=(30, 4))
    x[5] = 0
    view = place(engine, FORMS[form](x), "cosine")
    queried = view.query(FORMS[form](np.vstack([np.zeros(4), x[5], x[6]])))
    found = values(queried, 3, 30)
    assert (found[:2] == 1).all()
    assert found[2, 5] == 1
    np.testing.assert_array_equal(queried.nearest(6)[:2], np.tile(np.arange(6), (2, 1)))


def test_a_shift_that_single_precision_cannot_hold(engine):
    near = np.random.default_rng(5).integers(-20, 21, size=(100, 4)) / 16
    view = place(engine, 1e9 + near[:60], "euclidean")
    expected = ((near[60:, None] - near[None, :60]) ** 2).sum(axis=2)
    np.testing.assert_array_equal(values(view.query(1e9 + near[60:]), 40, 60), expected)
    np.testing.assert_array_equal(view.query(1e9 + near[60:]).nearest(60), ranked(expected, 60))


def test_single_precision_views_take_new_samples_as_single_precision(engine):
    x = np.random.default_rng(6).normal(size=(20, 3)).astype(np.float32)
    view = place(engine, x, "euclidean")
    queries = x.astype(np.float64) * (1 + 1e-12)
    np.testing.assert_array_equal(values(view.query(queries), 20, 20), on_pairs(view, 20))
    with pytest.raises(ValueError, match=r"New sample 1 holds .* too large for float32"):
        view.query(np.array([[0.0, 0, 0], [1e300, 0, 0]]))


# The metrics one by one


def test_parameters_come_from_the_samples_of_the_view(engine):
    rng = np.random.default_rng(7)
    x, queries = rng.normal(size=(30, 3)), rng.normal(size=(5, 3)) * 50
    differences = queries[:, None] - x[None]
    inverses = {"seuclidean": np.diag(1 / x.var(axis=0, ddof=1)), "mahalanobis": np.linalg.inv(np.cov(x.T))}
    for metric, inverse in inverses.items():
        expected = np.einsum("ijf,fg,ijg->ij", differences, inverse, differences)
        np.testing.assert_allclose(
            values(place(engine, x, metric).query(queries), 5, 30), expected, rtol=1e-10
        )


def test_yes_and_no_is_what_is_zero_and_what_is_not(engine):
    x = (np.random.default_rng(8).random((20, 6)) < 0.5).astype(float)
    view = place(engine, x, "jaccard")
    np.testing.assert_array_equal(
        values(view.query(7 * x), 20, 20), values(view.query(sparse.csr_array(x)), 20, 20)
    )


@given(st.integers(2, 60), st.integers(1, 40), st.integers(1, 8), seeds)
@settings(max_examples=25, deadline=None)
def test_gower(engine, n, m, d, seed):
    rng = np.random.default_rng(seed)
    x, kinds = mixed(rng, n + m, d)
    view = place(engine, x[:n], "gower", kinds=kinds)
    queried = view.query(x[n:])
    expected = gower(x[n:], kinds, x[:n])  # values beyond the range among them
    np.testing.assert_allclose(values(queried, m, n), expected**2, rtol=1e-12)
    np.testing.assert_array_equal(queried.nearest(5), ranked(expected.round(9), 5))
    known = ~np.isnan(x[:n]).all(axis=1)
    again = values(view.query(x[:n]), n, n)
    np.testing.assert_array_equal(again[~np.eye(n, dtype=bool)], on_pairs(view, n)[~np.eye(n, dtype=bool)])
    assert not again.diagonal()[known].any()


def test_gower_takes_categories_that_no_sample_has_and_numbers_beyond_the_range(engine):
    view = place(engine, np.array([[0.0, 0.0], [4.0, 1.0]]), "gower", kinds=("numeric", "categorical"))
    found = values(view.query(np.array([[8.0, -1.0], [np.nan, np.nan]])), 2, 2)
    np.testing.assert_array_equal(found, [[1.5**2, 1.0], [1.0, 1.0]])


def test_euclidean_with_empty_cells_names_the_new_sample(engine):
    view = place(engine, np.array([[1.0, np.nan], [2.0, 3.0]]), "nan_euclidean", name="sizes")
    queried = view.query(np.array([[1.0, 1.0], [np.nan, 2.0]]))
    for ask in (lambda: queried.nearest(1), lambda: values(queried, 2, 2)):
        with pytest.raises(ValueError, match="New sample 1 and sample 0 of view 'sizes' have no column"):
            ask()


def test_an_undefined_distance_names_the_new_sample(engine):
    view = place(engine, np.array([[0.0, 0.0], [1.0, 2.0], [2.0, 3.0]]), "braycurtis", name="sizes")
    with pytest.raises(ValueError, match="undefined between new sample 1 and sample 0 of view 'sizes'"):
        view.query(np.array([[1.0, 1.0], [0.0, 0.0]])).nearest(1)


def test_a_function_gets_the_new_sample_first(engine):
    x, queries = np.array([[0.0], [3.0], [5.0]]), np.array([[1.0], [4.0]])
    view = place(engine, x, lambda a, b: max(0.0, a[0] - b[0]))
    queried = view.query(queries)
    np.testing.assert_array_equal(values(queried, 2, 3), [[1, 0, 0], [16, 1, 0]])
    np.testing.assert_array_equal(queried.nearest(4), [[1, 2, 0, -1], [2, 1, 0, -1]])


# Matrices between samples


def matrices(seed=0, n=20, m=8):
    rng = np.random.default_rng(seed)
    whole = rng.integers(0, 5, size=(n + m, n + m)).astype(float)
    whole = np.triu(whole, 1) + np.triu(whole, 1).T
    return whole[:n, :n], whole[n:, :n]


def test_distances_to_old_samples(engine):
    old, new = matrices()
    for metric, expected in (("precomputed_distance", new**2), ("precomputed_squared_distance", new)):
        queried = place(engine, old, metric).query(new)
        assert queried.kind == "distance"
        np.testing.assert_array_equal(queried.nearest(6), ranked(new, 6))
        np.testing.assert_array_equal(queried.nearest(22), ranked(new, 22))
        np.testing.assert_array_equal(values(queried, 8, 20), expected)


@pytest.mark.parametrize("old_form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("new_form", [np.asarray, sparse.csr_array, sparse.coo_array])
def test_similarities_to_old_samples(engine, old_form, new_form):
    old, new = matrices()
    queried = place(engine, old_form(old + np.eye(20)), "precomputed_similarity").query(new_form(new))
    assert queried.kind == "similarity"
    order = ranked(-new, 20)
    expected = np.where(np.take_along_axis(new, order, axis=1) > 0, order, -1)
    found = queried.nearest(20)
    if old_form is sparse.csr_array:  # which of equal ones: test_ties.py
        np.testing.assert_array_equal(np.sort(found, axis=1), np.sort(expected, axis=1))
        found, expected = (
            np.where(one < 0, 0, np.take_along_axis(new, one, axis=1)) for one in (found, expected)
        )
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(queried.nearest(3), queried.nearest(20)[:, :3])
    np.testing.assert_array_equal(values(queried, 8, 20), new)


@pytest.mark.parametrize(
    ("metric", "queries", "message"),
    [
        ("precomputed_distance", np.ones((2, 19)), "19 numbers each, one for each of the 20"),
        ("precomputed_similarity", sparse.csr_array(np.ones((2, 21))), "21 numbers each"),
        ("precomputed_distance", np.ones(20), "New samples"),
        ("precomputed_distance", sparse.csr_array(np.ones((2, 20))), "sparse"),
    ],
)
def test_bad_shapes_of_given_pairs(engine, metric, queries, message):
    with pytest.raises(ValueError, match=message):
        place(engine, matrices()[0] + np.eye(20) * (metric == "precomputed_similarity"), metric).query(
            queries
        )


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_bad_numbers_of_given_pairs_are_named(engine, form, value):
    old, new = matrices()
    new[2, 5] = value
    view = place(engine, old + np.eye(20), "precomputed_similarity")
    with pytest.raises(ValueError, match=f"New sample 2 has the similarity {value:g} to sample 5"):
        view.query(form(new))


def test_rounding_errors_below_zero_are_zero(engine):
    old, new = matrices()
    new[1, 4] = -1e-15
    assert values(place(engine, old, "precomputed_distance").query(new), 8, 20)[1, 4] == 0


# Views that have seen some of the samples, cached views, and subsets


@pytest.mark.parametrize(
    ("metric", "form"),
    [
        ("euclidean", "dense"),
        ("euclidean", "csr_array"),
        ("cosine", "csr_array"),
        ("gower", "dense"),
        ("chebyshev", "dense"),
        ("precomputed_distance", "dense"),
    ],
)
@pytest.mark.parametrize("n_seen", [1, 4, 30])
def test_new_samples_are_compared_only_with_those_that_the_view_has_seen(engine, metric, form, n_seen):
    rng = np.random.default_rng(n_seen)
    seen = np.zeros(40, dtype=bool)
    members = np.sort(rng.choice(40, n_seen, replace=False))
    seen[members] = True
    if metric == "precomputed_distance":
        array, queries = matrices(0, 40, 9)
        alone = place(engine, array[np.ix_(seen, seen)], metric).query(queries[:, seen])
    else:
        array, queries = rng.normal(size=(40, 4)), rng.normal(size=(9, 4))
        array = FORMS[form](array)
        alone = place(engine, array[members], metric).query(queries)
    queried = place(engine, array, metric, seen=seen).query(queries)
    assert queried.kind == alone.kind
    expected = alone.nearest(6)
    found = queried.nearest(6)
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, np.where(expected < 0, -1, members[expected]))
    everything = values(queried, 9, 40)
    np.testing.assert_array_equal(everything[:, seen], values(alone, 9, n_seen))
    assert not everything[:, ~seen].any()
    # The same in another order of the samples.
    order = rng.permutation(40)
    queries = queries[:, order] if metric == "precomputed_distance" else queries
    shuffled = place(engine, array, metric, seen=seen).reordered(order).query(queries)
    np.testing.assert_array_equal(values(shuffled, 9, 40), everything[:, order])


@pytest.mark.parametrize("metric", ["euclidean", "precomputed_distance"])
def test_a_view_that_has_seen_no_sample_names_no_neighbours(engine, metric):
    array = matrices()[0]
    queried = place(engine, array, metric, seen=np.zeros(20, dtype=bool)).query(np.ones((3, 20)))
    np.testing.assert_array_equal(queried.nearest(4), np.full((3, 4), -1))
    assert not values(queried, 3, 20).any()


def test_matrices_with_gaps_take_what_new_samples_are_to_all(engine):
    view = place(engine, matrices()[0], "precomputed_distance", seen=np.arange(20) > 4)
    with pytest.raises(ValueError, match="15 numbers each, one for each of the 20"):
        view.query(np.ones((2, 15)))


def test_a_cached_view_passes_new_samples_on(engine):
    x = np.random.default_rng(9).normal(size=(30, 3))
    plain, queries = place(engine, x, "euclidean"), x[:4] + 0.1
    queried = plain.cached().query(queries)
    np.testing.assert_array_equal(queried.nearest(3), plain.query(queries).nearest(3))


@pytest.mark.parametrize("metric", ["euclidean", "gower", "precomputed_similarity"])
@pytest.mark.parametrize("size", [1, 7, 55])
def test_new_samples_next_to_some_of_the_samples(engine, metric, size):
    rng = np.random.default_rng(size)
    rows = np.sort(rng.choice(60, size, replace=False))
    if metric == "precomputed_similarity":
        array, queries = matrices(0, 60, 9)
        array = array + np.eye(60)
        queries[:, 5:] = 0  # few neighbours
        alone = place(engine, array[np.ix_(rows, rows)], metric).query(queries[:, rows])
    else:
        array, queries = rng.normal(size=(60, 4)), rng.normal(size=(9, 4))
        array[[0, 1]] = array.min(axis=0), array.max(axis=0)
        rows = np.union1d(rows, [0, 1])  # so that ranges are the same
        alone = place(engine, array[rows], metric).query(queries)
    queried = place(engine, array, metric).subset(rows, 60).query(queries)
    for k in (1, 4, 30):
        np.testing.assert_array_equal(queried.nearest(k), alone.nearest(k))
    np.testing.assert_array_equal(values(queried, 9, len(rows)), values(alone, 9, len(rows)))


# Wrong input


@pytest.mark.parametrize(
    "metric", ["euclidean", "cosine", "correlation", "gower", "nan_euclidean", "chebyshev"]
)
def test_another_number_of_features_names_both(engine, metric):
    view = place(engine, np.random.default_rng(10).normal(size=(9, 4)), metric)
    for queries in (np.ones((2, 5)), sparse.csr_array(np.ones((2, 5)))):
        with pytest.raises(ValueError, match="have 5 features, those of the view 4"):
            view.query(queries)
    with pytest.raises(ValueError, match="2-D"):
        view.query(np.ones(4))


@pytest.mark.parametrize("form", ["dense", "csr_array"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_new_samples_must_be_numbers(engine, form, value):
    view = place(engine, FORMS[form](np.eye(5)[:, :3] + 1), "euclidean")
    queries = np.ones((4, 3))
    queries[2, 1] = value
    with pytest.raises(ValueError, match="New sample 2 holds NaN or infinity"):
        view.query(queries)


@pytest.mark.parametrize("metric", ["euclidean", "gower", "chebyshev"])
def test_edges_that_lead_nowhere_are_refused(host_engine, metric):
    queried = place(host_engine, np.random.default_rng(11).normal(size=(9, 2)), metric).query(np.ones((2, 2)))
    measure = queried.queries.measure
    with pytest.raises(ValueError, match="sample -1, and the view has samples 0 to 8"):
        measure(CompressedRows(np.array([0, 1, 2]), np.array([3, -1])))
    with pytest.raises(ValueError, match="sample 9,"):
        measure(CompressedRows(np.array([0, 1, 2]), np.array([9, 0])))
    with pytest.raises(ValueError, match="of 3 new samples, there are 2"):
        measure(CompressedRows(np.array([0, 1, 2, 2]), np.array([0, 0])))


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "gower", "chebyshev", "manhattan"])
def test_no_new_samples_and_no_edges(engine, metric):
    queried = place(engine, np.random.default_rng(12).normal(size=(9, 2)), metric).query(np.ones((0, 2)))
    assert queried.nearest(3).shape == (0, 3)
    assert values(queried, 0, 9).shape == (0, 9)


@NUMBA
def test_what_new_samples_are_to_all_is_never_held(engine):
    rng = np.random.default_rng(13)
    x, queries = rng.normal(size=(4000, 3)), rng.normal(size=(4000, 3))
    for metric in ("euclidean", "gower", "chebyshev"):
        queried = place(engine, x, metric).query(queries)
        queried.nearest(3)
        tracemalloc.start()
        try:
            queried.nearest(3)
            assert tracemalloc.get_traced_memory()[1] < 4000 * 4000
        finally:
            tracemalloc.stop()
