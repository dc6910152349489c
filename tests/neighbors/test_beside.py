"""New samples beside those of a space."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from consilience import threads
from consilience.inspection.helping.subsets import SubsetSpace
from consilience.neighbors import RememberingSpace, as_space, spaces
from consilience.neighbors.spaces import CompressedRows

from .test_gower import gower, mixed
from .test_spaces import BOTH, FORMS, OTHER, data_for, dense, every_form, on_pairs, seeds, unit_rows

N = 40
ALIASES = {"l1", "l2", "sqeuclidean", "cityblock"}  # resolved before
FEATURES = ["euclidean", "cosine", *(name for name in OTHER if name not in ALIASES)]


def all_edges(m, n):
    """Edges from each of m new samples to all n old ones."""
    return CompressedRows(np.arange(m + 1) * n, np.tile(np.arange(n, dtype=np.int32), m))


def values(cross, m, n):
    return cross.on_edges(all_edges(m, n)).reshape(m, n)


def ranked(pairs, k):
    """The k smallest of each row by (value, index), -1 where there are no more."""
    order = np.argsort(pairs, axis=1, kind="stable")[:, :k]
    return np.pad(order, ((0, 0), (0, k - order.shape[1])), constant_values=-1)


def view(metric, n=N):
    """Features for a metric, without rows that it is undefined for; rows 3 and 7 are the same."""
    x = np.asarray(data_for(metric, n), dtype=float)
    x[7] = x[3]
    return x


def assert_like_old_samples(space, n, queries):
    """Samples of the space that come again are at 0 from themselves, and as far as before from others."""
    cross = space.beside(queries)
    again = values(cross, n, n)
    np.testing.assert_array_equal(again - np.diag(again.diagonal()), on_pairs(space, n))
    if getattr(space, "metric", "") != "russellrao":  # nobody has much in common by that, with itself either
        assert not again.diagonal().any()
    # The order is that of the space, only that nobody is left out.
    for i, (new, old) in enumerate(zip(cross.nearest(10).tolist(), space.nearest(9).tolist(), strict=True)):
        assert [j for j in new if j != i][:9] == old


# Agreement with the space itself, and with all pairs by definition


@pytest.mark.parametrize("metric", FEATURES)
def test_old_samples_that_come_again(metric):
    x = view(metric)
    assert_like_old_samples(as_space(x, metric), N, x.copy())


@every_form
@BOTH
def test_old_samples_that_come_again_in_every_form(form, metric):
    x = np.random.default_rng(0).normal(size=(150, 7))
    x[x < -0.4] = 0
    x[9] = x[4]
    given_as = FORMS[form](x)
    space = as_space(given_as, metric)
    # What the new samples are held in does not matter: sparse for dense, double for single precision.
    doubles = dense(given_as)
    for queries in (given_as, doubles, sparse.csr_array(doubles), sparse.coo_array(doubles)):
        assert_like_old_samples(space, 150, queries)


@every_form
@BOTH
@given(st.integers(1, 90), st.integers(1, 60), st.integers(1, 12), st.integers(1, 100), seeds)
@settings(max_examples=12, deadline=None)
def test_nearest_is_the_sorted_list_of_all(form, metric, n, m, d, k, seed):
    rng = np.random.default_rng(seed)
    x, queries = FORMS[form](rng.normal(size=(n, d + 2))), FORMS[form](rng.normal(size=(m, d + 2)))
    found = as_space(x, metric).beside(queries).nearest(k)
    assert found.dtype == np.int32
    assert found.shape == (m, k)
    a, b = dense(queries), dense(x)
    if metric == "cosine":
        a, b = unit_rows(a), unit_rows(b)
    np.testing.assert_array_equal(found, ranked(((a[:, None] - b[None]) ** 2).sum(axis=2), k))


@pytest.mark.parametrize("metric", FEATURES)
def test_nearest_goes_by_the_values_on_edges(metric):
    x = view(metric, 60)
    space = as_space(x[:45], metric)
    cross = space.beside(x[45:])
    pairs = values(cross, 15, 45)
    for k in (1, 6, 45, 50):
        found = cross.nearest(k)
        got = np.take_along_axis(pairs, found[:, : min(k, 45)], axis=1)
        np.testing.assert_allclose(got, np.sort(pairs, axis=1)[:, :k], rtol=1e-11)
        assert (found[:, 45:] == -1).all()


@pytest.mark.parametrize("form", ["dense", "dense float32", "csr_array"])
@given(st.integers(2, 200), st.integers(1, 4), seeds)
@settings(max_examples=20, deadline=None)
def test_ties_go_to_the_lower_index(form, n, d, seed):
    rng = np.random.default_rng(seed)
    x, queries = rng.integers(-1, 2, size=(2, n, d)).astype(float)
    found = as_space(FORMS[form](x), "euclidean").beside(FORMS[form](queries)).nearest(7)
    np.testing.assert_array_equal(found, ranked(((queries[:, None] - x[None]) ** 2).sum(axis=2), 7))


def test_distances_equal_but_for_rounding_are_ties():
    rng = np.random.default_rng(0)
    x = np.array([rng.permutation(np.arange(1, 12) / 10) for _ in range(60)])
    assert len(np.unique((x**2).sum(axis=1))) > 1
    for form in ("dense", "csr_array"):
        found = as_space(FORMS[form](x), "euclidean").beside(np.zeros((1, 11))).nearest(20)
        np.testing.assert_array_equal(found[0], np.arange(20))
    # For the metrics that look at whole rows of distances, too.
    found = as_space(x, "minkowski").beside(np.zeros((1, 11))).nearest(20)
    np.testing.assert_array_equal(found[0], np.arange(20))


# What is said of one does not depend on the others


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
def test_one_alone_and_many_together_are_told_the_same(metric, form):
    x = view(metric, 90)
    x[x < 0.4] = 0
    x[:, 0] += 0.1
    space = as_space(FORMS[form](x[:50]), metric)
    queries = FORMS[form](x[50:])
    together = space.beside(queries)
    nearest, pairs = together.nearest(8), values(together, 40, 50)
    for rows in ([0], [39], [3, 5], list(range(7, 31))):
        part = space.beside(queries[rows])
        np.testing.assert_array_equal(part.nearest(8), nearest[rows])
        np.testing.assert_array_equal(values(part, len(rows), 50), pairs[rows])


@pytest.mark.parametrize("metric", ["cosine", "correlation"])
@pytest.mark.parametrize("d", [3, 129, 8193, 20000])
def test_directions_of_long_rows_do_not_depend_on_the_number_of_rows(metric, d):
    x = np.random.default_rng(d).normal(size=(9, d))
    space = as_space(x, metric)
    for rows in ([4], [8, 0], [1, 2, 3, 4, 5]):
        found = values(space.beside(x[rows]), len(rows), 9)
        np.testing.assert_array_equal(found, on_pairs(space, 9)[rows])


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "gower", "nan_euclidean", "chebyshev"])
def test_blocks_and_threads_do_not_matter(metric, monkeypatch):
    rng = np.random.default_rng(1)
    space, queries = as_space(rng.normal(size=(203, 5)), metric), rng.normal(size=(170, 5))
    whole = space.beside(queries).nearest(7), values(space.beside(queries), 170, 203)
    for n_threads, size in ((1, 1), (3, 4 * 203 * 50)):
        monkeypatch.setattr(spaces, "_BLOCK_BYTES", size)
        with threads.limit(n_threads):
            np.testing.assert_array_equal(space.beside(queries).nearest(7), whole[0])
            np.testing.assert_array_equal(values(space.beside(queries), 170, 203), whole[1])


# Anywhere, even far away


@pytest.mark.parametrize("form", ["dense", "csr_array"])
@pytest.mark.parametrize("distance", [0, 1e3, 1e9, 1e15, 1e20, 1e40, 1e130])
def test_new_samples_far_away(form, distance):
    rng = np.random.default_rng(2)
    x = rng.integers(-4, 5, size=(150, 3)).astype(float)
    queries = rng.normal(size=(20, 3))
    queries[::2] += distance
    found = as_space(FORMS[form](x), "euclidean").beside(queries).nearest(150)
    pairs = ((queries[:, None] - x[None]) ** 2).sum(axis=2)
    got = np.take_along_axis(pairs, found, axis=1)
    np.testing.assert_allclose(got, np.sort(pairs, axis=1), rtol=1e-11)
    assert all(set(row) == set(range(150)) for row in found.tolist())
    # Ties, exact or to twelve digits, are in the order of the samples.
    if distance >= 1e20:
        np.testing.assert_array_equal(found[0], np.arange(150))


@pytest.mark.parametrize("form", ["dense", "csr_array"])
def test_squared_distances_beyond_all_numbers_leave_the_order_of_the_samples(form):
    x = FORMS[form](np.random.default_rng(3).normal(size=(30, 3)))
    found = as_space(x, "euclidean").beside(np.full((2, 3), 1e200)).nearest(5)
    np.testing.assert_array_equal(found, np.tile(np.arange(5), (2, 1)))


@every_form
def test_rows_without_direction_are_at_one_from_all(form):
    x = np.random.default_rng(4).normal(size=(30, 4))
    x[5] = 0
    space = as_space(FORMS[form](x), "cosine")
    cross = space.beside(FORMS[form](np.vstack([np.zeros(4), x[5], x[6]])))
    found = values(cross, 3, 30)
    assert (found[:2] == 1).all()
    assert found[2, 5] == 1
    np.testing.assert_array_equal(cross.nearest(6)[:2], np.tile(np.arange(6), (2, 1)))


def test_a_shift_that_single_precision_cannot_hold():
    near = np.random.default_rng(5).integers(-20, 21, size=(100, 4)) / 16
    space = as_space(1e9 + near[:60], "euclidean")
    expected = ((near[60:, None] - near[None, :60]) ** 2).sum(axis=2)
    np.testing.assert_array_equal(values(space.beside(1e9 + near[60:]), 40, 60), expected)
    np.testing.assert_array_equal(space.beside(1e9 + near[60:]).nearest(60), ranked(expected, 60))


def test_single_precision_spaces_take_new_samples_as_single_precision():
    x = np.random.default_rng(6).normal(size=(20, 3)).astype(np.float32)
    space = as_space(x, "euclidean")
    queries = x.astype(np.float64) * (1 + 1e-12)
    np.testing.assert_array_equal(values(space.beside(queries), 20, 20), on_pairs(space, 20))
    with pytest.raises(ValueError, match=r"New sample 1 holds .* too large for float32"):
        space.beside(np.array([[0.0, 0, 0], [1e300, 0, 0]]))


# The spaces one by one


def test_parameters_come_from_the_samples_of_the_space():
    rng = np.random.default_rng(7)
    x, queries = rng.normal(size=(30, 3)), rng.normal(size=(5, 3)) * 50
    differences = queries[:, None] - x[None]
    inverses = {"seuclidean": np.diag(1 / x.var(axis=0, ddof=1)), "mahalanobis": np.linalg.inv(np.cov(x.T))}
    for metric, inverse in inverses.items():
        expected = np.einsum("ijf,fg,ijg->ij", differences, inverse, differences)
        np.testing.assert_allclose(values(as_space(x, metric).beside(queries), 5, 30), expected, rtol=1e-10)


def test_yes_and_no_is_what_is_zero_and_what_is_not():
    x = (np.random.default_rng(8).random((20, 6)) < 0.5).astype(float)
    space = as_space(x, "jaccard")
    np.testing.assert_array_equal(
        values(space.beside(7 * x), 20, 20), values(space.beside(sparse.csr_array(x)), 20, 20)
    )


@given(st.integers(2, 60), st.integers(1, 40), st.integers(1, 8), seeds)
@settings(max_examples=25, deadline=None)
def test_gower(n, m, d, seed):
    rng = np.random.default_rng(seed)
    x, kinds = mixed(rng, n + m, d)
    space = as_space(x[:n], "gower", kinds=kinds)
    cross = space.beside(x[n:])
    expected = gower(x[n:], kinds, x[:n])  # values beyond the range among them
    np.testing.assert_allclose(values(cross, m, n), expected**2, rtol=1e-12)
    np.testing.assert_array_equal(cross.nearest(5), ranked(expected.round(9), 5))
    known = ~np.isnan(x[:n]).all(axis=1)
    again = values(space.beside(x[:n]), n, n)
    np.testing.assert_array_equal(again[~np.eye(n, dtype=bool)], on_pairs(space, n)[~np.eye(n, dtype=bool)])
    assert not again.diagonal()[known].any()


def test_gower_takes_categories_that_nobody_has_and_numbers_beyond_the_range():
    space = as_space(np.array([[0.0, 0.0], [4.0, 1.0]]), "gower", kinds=("numeric", "categorical"))
    found = values(space.beside(np.array([[8.0, -1.0], [np.nan, np.nan]])), 2, 2)
    np.testing.assert_array_equal(found, [[1.5**2, 1.0], [1.0, 1.0]])


def test_euclidean_with_empty_cells_names_the_new_sample():
    space = as_space(np.array([[1.0, np.nan], [2.0, 3.0]]), "nan_euclidean", name="sizes")
    cross = space.beside(np.array([[1.0, 1.0], [np.nan, 2.0]]))
    for ask in (lambda: cross.nearest(1), lambda: values(cross, 2, 2)):
        with pytest.raises(ValueError, match="New sample 1 and sample 0 of view 'sizes' have no column"):
            ask()


def test_an_undefined_distance_names_the_new_sample():
    space = as_space(np.array([[0.0, 0.0], [1.0, 2.0], [2.0, 3.0]]), "braycurtis", name="sizes")
    with pytest.raises(ValueError, match="undefined between new sample 1 and sample 0 of view 'sizes'"):
        space.beside(np.array([[1.0, 1.0], [0.0, 0.0]])).nearest(1)


def test_a_function_gets_the_new_sample_first():
    x, queries = np.array([[0.0], [3.0], [5.0]]), np.array([[1.0], [4.0]])
    space = as_space(x, lambda a, b: max(0.0, a[0] - b[0]))
    cross = space.beside(queries)
    np.testing.assert_array_equal(values(cross, 2, 3), [[1, 0, 0], [16, 1, 0]])
    np.testing.assert_array_equal(cross.nearest(4), [[1, 2, 0, -1], [2, 1, 0, -1]])


# Matrices between samples


def matrices(seed=0, n=20, m=8):
    rng = np.random.default_rng(seed)
    whole = rng.integers(0, 5, size=(n + m, n + m)).astype(float)
    whole = np.triu(whole, 1) + np.triu(whole, 1).T
    return whole[:n, :n], whole[n:, :n]


def test_distances_to_old_samples():
    old, new = matrices()
    for metric, expected in (("precomputed_distance", new**2), ("precomputed_squared_distance", new)):
        cross = as_space(old, metric).beside(new)
        assert cross.kind == "distance"
        np.testing.assert_array_equal(cross.nearest(6), ranked(new, 6))
        np.testing.assert_array_equal(cross.nearest(22), ranked(new, 22))
        np.testing.assert_array_equal(values(cross, 8, 20), expected)


@pytest.mark.parametrize("old_form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("new_form", [np.asarray, sparse.csr_array, sparse.coo_array])
def test_similarities_to_old_samples(old_form, new_form):
    old, new = matrices()
    cross = as_space(old_form(old + np.eye(20)), "precomputed_similarity").beside(new_form(new))
    assert cross.kind == "similarity"
    order = ranked(-new, 20)
    expected = np.where(np.take_along_axis(new, order, axis=1) > 0, order, -1)
    found = cross.nearest(20)
    if old_form is sparse.csr_array:  # which of equal ones: test_ties.py
        np.testing.assert_array_equal(np.sort(found, axis=1), np.sort(expected, axis=1))
        found, expected = (
            np.where(one < 0, 0, np.take_along_axis(new, one, axis=1)) for one in (found, expected)
        )
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(cross.nearest(3), cross.nearest(20)[:, :3])
    np.testing.assert_array_equal(values(cross, 8, 20), new)


@pytest.mark.parametrize(
    ("metric", "queries", "message"),
    [
        ("precomputed_distance", np.ones((2, 19)), "19 numbers each, one for each of the 20"),
        ("precomputed_similarity", sparse.csr_array(np.ones((2, 21))), "21 numbers each"),
        ("precomputed_distance", np.ones(20), "New samples"),
        ("precomputed_distance", sparse.csr_array(np.ones((2, 20))), "sparse"),
    ],
)
def test_bad_shapes_of_given_pairs(metric, queries, message):
    with pytest.raises(ValueError, match=message):
        as_space(matrices()[0] + np.eye(20) * (metric == "precomputed_similarity"), metric).beside(queries)


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_bad_numbers_of_given_pairs_are_named(form, value):
    old, new = matrices()
    new[2, 5] = value
    space = as_space(old + np.eye(20), "precomputed_similarity")
    with pytest.raises(ValueError, match=f"New sample 2 has the similarity {value:g} to sample 5"):
        space.beside(form(new))


def test_rounding_errors_below_zero_are_zero():
    old, new = matrices()
    new[1, 4] = -1e-15
    assert values(as_space(old, "precomputed_distance").beside(new), 8, 20)[1, 4] == 0


# Spaces of spaces


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
def test_new_samples_meet_only_those_that_the_view_has_seen(metric, form, n_seen):
    rng = np.random.default_rng(n_seen)
    seen = np.zeros(40, dtype=bool)
    members = np.sort(rng.choice(40, n_seen, replace=False))
    seen[members] = True
    if metric == "precomputed_distance":
        array, queries = matrices(0, 40, 9)
        alone = as_space(array[np.ix_(seen, seen)], metric).beside(queries[:, seen])
    else:
        array, queries = rng.normal(size=(40, 4)), rng.normal(size=(9, 4))
        array = FORMS[form](array)
        alone = as_space(array[members], metric).beside(queries)
    cross = as_space(array, metric, seen=seen).beside(queries)
    assert cross.kind == alone.kind
    expected = alone.nearest(6)
    found = cross.nearest(6)
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, np.where(expected < 0, -1, members[expected]))
    everything = values(cross, 9, 40)
    np.testing.assert_array_equal(everything[:, seen], values(alone, 9, n_seen))
    assert not everything[:, ~seen].any()
    # The same in another order of the samples.
    order = rng.permutation(40)
    queries = queries[:, order] if metric == "precomputed_distance" else queries
    shuffled = as_space(array, metric, seen=seen).permuted(order).beside(queries)
    np.testing.assert_array_equal(values(shuffled, 9, 40), everything[:, order])


@pytest.mark.parametrize("metric", ["euclidean", "precomputed_distance"])
def test_a_view_that_has_seen_nobody_has_no_neighbours(metric):
    array = matrices()[0]
    cross = as_space(array, metric, seen=np.zeros(20, dtype=bool)).beside(np.ones((3, 20)))
    np.testing.assert_array_equal(cross.nearest(4), np.full((3, 4), -1))
    assert not values(cross, 3, 20).any()


def test_matrices_with_gaps_take_what_new_samples_are_to_all():
    space = as_space(matrices()[0], "precomputed_distance", seen=np.arange(20) > 4)
    with pytest.raises(ValueError, match="15 numbers each, one for each of the 20"):
        space.beside(np.ones((2, 15)))


def test_a_remembering_space_passes_the_question_on():
    x = np.random.default_rng(9).normal(size=(30, 3))
    plain, queries = as_space(x, "euclidean"), x[:4] + 0.1
    cross = RememberingSpace(plain).beside(queries)
    np.testing.assert_array_equal(cross.nearest(3), plain.beside(queries).nearest(3))


@pytest.mark.parametrize("metric", ["euclidean", "gower", "precomputed_similarity"])
@pytest.mark.parametrize("size", [1, 7, 55])
def test_new_samples_beside_some_of_the_samples(metric, size):
    rng = np.random.default_rng(size)
    rows = np.sort(rng.choice(60, size, replace=False))
    if metric == "precomputed_similarity":
        array, queries = matrices(0, 60, 9)
        array = array + np.eye(60)
        queries[:, 5:] = 0  # few neighbours
        alone = as_space(array[np.ix_(rows, rows)], metric).beside(queries[:, rows])
    else:
        array, queries = rng.normal(size=(60, 4)), rng.normal(size=(9, 4))
        array[[0, 1]] = array.min(axis=0), array.max(axis=0)
        rows = np.union1d(rows, [0, 1])  # so that ranges are the same
        alone = as_space(array[rows], metric).beside(queries)
    cross = SubsetSpace(as_space(array, metric), rows, 60).beside(queries)
    for k in (1, 4, 30):
        np.testing.assert_array_equal(cross.nearest(k), alone.nearest(k))
    np.testing.assert_array_equal(values(cross, 9, len(rows)), values(alone, 9, len(rows)))


# What is asked for wrongly


@pytest.mark.parametrize(
    "metric", ["euclidean", "cosine", "correlation", "gower", "nan_euclidean", "chebyshev"]
)
def test_another_number_of_features_names_both(metric):
    space = as_space(np.random.default_rng(10).normal(size=(9, 4)), metric)
    for queries in (np.ones((2, 5)), sparse.csr_array(np.ones((2, 5)))):
        with pytest.raises(ValueError, match="have 5 features, those of the view 4"):
            space.beside(queries)
    with pytest.raises(ValueError, match="2-D"):
        space.beside(np.ones(4))


@pytest.mark.parametrize("form", ["dense", "csr_array"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_new_samples_must_be_numbers(form, value):
    space = as_space(FORMS[form](np.eye(5)[:, :3] + 1), "euclidean")
    queries = np.ones((4, 3))
    queries[2, 1] = value
    with pytest.raises(ValueError, match="New sample 2 holds NaN or infinity"):
        space.beside(queries)


@pytest.mark.parametrize("metric", ["euclidean", "gower", "chebyshev"])
def test_edges_that_lead_nowhere_are_refused(metric):
    cross = as_space(np.random.default_rng(11).normal(size=(9, 2)), metric).beside(np.ones((2, 2)))
    with pytest.raises(ValueError, match="sample -1, and the view has samples 0 to 8"):
        cross.on_edges(CompressedRows(np.array([0, 1, 2]), np.array([3, -1])))
    with pytest.raises(ValueError, match="sample 9,"):
        cross.on_edges(CompressedRows(np.array([0, 1, 2]), np.array([9, 0])))
    with pytest.raises(ValueError, match="of 3 new samples, there are 2"):
        cross.on_edges(CompressedRows(np.array([0, 1, 2, 2]), np.array([0, 0])))


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "gower", "chebyshev", "manhattan"])
def test_no_new_samples_and_no_edges(metric):
    cross = as_space(np.random.default_rng(12).normal(size=(9, 2)), metric).beside(np.ones((0, 2)))
    assert cross.nearest(3).shape == (0, 3)
    assert values(cross, 0, 9).shape == (0, 9)


def test_what_new_samples_are_to_all_is_never_held():
    rng = np.random.default_rng(13)
    x, queries = rng.normal(size=(4000, 3)), rng.normal(size=(4000, 3))
    for metric in ("euclidean", "gower", "chebyshev"):
        cross = as_space(x, metric).beside(queries)
        cross.nearest(3)
        tracemalloc.start()
        try:
            cross.nearest(3)
            assert tracemalloc.get_traced_memory()[1] < 4000 * 4000
        finally:
            tracemalloc.stop()
