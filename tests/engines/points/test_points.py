"""Euclidean and cosine distance on features: the exact search, values on edges, means over pairs."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics import pairwise_distances
from tests.engines.placed import on_pairs, place
from tests.engines.points.forms import (
    BOTH,
    DOUBLE,
    FORMS,
    assert_as_near,
    assert_mean_over_pairs,
    dense,
    double_forms,
    every_form,
    keys,
    seeds,
    sizes,
    smallest,
    unit_rows,
)

from consilience.engines import threads
from consilience.engines.numpy import points as plain_points
from consilience.engines.points import protocol
from consilience.graphs import EdgeSet

# Euclidean and cosine: the exact search


@every_form
@BOTH
@given(sizes(120), seeds)
@settings(max_examples=15, deadline=None)
def test_nearest_on_random_data(engine, form, metric, size, seed):
    n, d, k = size
    # In one dimension there are only two directions, and all ties.
    x = FORMS[form](np.random.default_rng(seed).normal(size=(n, max(d, 3))))
    found = place(engine, x, metric).nearest(k)
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, smallest(keys(x, metric), k))


@double_forms
@given(sizes(), seeds, st.integers(1, 3))
@settings(max_examples=30, deadline=None)
def test_ties_go_to_the_lower_index(engine, form, size, seed, largest):
    n, d, k = size
    x = np.random.default_rng(seed).integers(-largest, largest + 1, size=(n, d)).astype(float)
    np.testing.assert_array_equal(
        place(engine, FORMS[form](x), "euclidean").nearest(k), smallest(keys(x, "euclidean"), k)
    )


@every_form
def test_distances_equal_up_to_rounding_are_ties_and_others_are_not(engine, form):
    rng = np.random.default_rng(0)
    # All at the same distance from row 0, as sums of the same squares in other orders.
    others = np.array([rng.permutation(np.arange(1, 12) / 10) for _ in range(60)])
    x = FORMS[form](np.vstack([np.zeros(11), others]))
    assert len(np.unique((dense(x)[1:] ** 2).sum(axis=1))) > 1
    np.testing.assert_array_equal(place(engine, x, "euclidean").nearest(20)[0], np.arange(1, 21))
    rest = dense(x)
    rest[1:] *= np.linspace(1 + 1e-6, 1, 60)[:, None]
    if "32" not in form:
        np.testing.assert_array_equal(
            place(engine, FORMS[form](rest), "euclidean").nearest(20)[0], np.arange(60, 40, -1)
        )


@double_forms
def test_ties_are_found_where_the_bounds_of_the_fast_search_are_tighter(engine, form):
    # Squared distances from row 0 fall from 1 + 1.2e-13 to 1; rounding of so few terms is far below that.
    x = np.r_[0, 1 + np.arange(60, 0, -1) * 1e-15][:, None]
    np.testing.assert_array_equal(place(engine, FORMS[form](x), "euclidean").nearest(20)[0], np.arange(1, 21))


@double_forms
@given(sizes(100), seeds)
@settings(max_examples=20, deadline=None)
def test_cosine_of_integers_is_right_up_to_rounding(engine, form, size, seed):
    n, d, k = size
    x = np.random.default_rng(seed).integers(-1, 2, size=(n, d)).astype(float)
    found, pairs = place(engine, FORMS[form](x), "cosine").nearest(k), keys(x, "cosine")
    # Adding 1 turns an absolute tolerance, needed at distance 0, into a relative one.
    assert_as_near(found, pairs + 1, k)


@every_form
@BOTH
def test_every_row_many_times_keeps_k_neighbours_and_never_itself(engine, form, metric):
    rng = np.random.default_rng(1)
    kinds = rng.normal(size=(4, 3))
    x = FORMS[form](kinds[rng.integers(4, size=90)])
    for k in (1, 5, 40, 89):
        found = place(engine, x, metric).nearest(k)
        np.testing.assert_array_equal(found, smallest(keys(x, metric), k))
        assert not (found == np.arange(90)[:, None]).any()


@every_form
@BOTH
@pytest.mark.parametrize("value", [0.0, 0.5, 0.3])  # the mean of many 0.3 is another number
def test_all_rows_the_same(engine, form, metric, value):
    x = FORMS[form](np.full((70, 3), value))
    np.testing.assert_array_equal(place(engine, x, metric).nearest(4), smallest(np.zeros((70, 70)), 4))


@every_form
def test_rows_of_zeros_are_at_cosine_distance_one_from_all(engine, form):
    rng = np.random.default_rng(2)
    dense_rows = rng.normal(size=(40, 6))  # some nearer than 1, some farther
    blank = np.array([0, 7, 8, 20, 39])
    dense_rows[blank] = 0
    x = FORMS[form](dense_rows)
    view = place(engine, x, "cosine")
    for k in (1, 6, 39):
        np.testing.assert_array_equal(view.nearest(k), smallest(keys(x, "cosine"), k))
    pairs = on_pairs(view, 40)
    off = ~np.eye(40, dtype=bool)
    assert (pairs[blank][off[blank]] == 1).all()
    assert (pairs[:, blank][off[:, blank]] == 1).all()


@every_form
def test_orthogonal_rows_tie_with_each_other_and_with_rows_of_zeros(engine, form):
    # Samples without a common feature are common in text; 1 - cos is exactly 1 for each such pair.
    rng = np.random.default_rng(3)
    counts = np.zeros((40, 60))
    for row in counts[:35]:
        row[rng.choice(60, 3, replace=False)] = rng.integers(1, 4, 3)
    common = (counts > 0).astype(int) @ (counts > 0).T
    found = place(engine, FORMS[form](counts), "cosine").nearest(39)
    for i, row in enumerate(found):
        apart = row[common[i, row] == 0]
        np.testing.assert_array_equal(apart, np.sort(apart))
        np.testing.assert_array_equal(row[len(row) - len(apart) :], apart)  # no cosine is negative here


@every_form
def test_rows_of_equal_direction_tie_whatever_their_length(engine, form):
    rng = np.random.default_rng(4)
    x = FORMS[form](np.outer(rng.permutation(np.arange(1.0, 51.0)), [1.0, 2.0, 3.0, 7.0]))
    view = place(engine, x, "cosine")
    np.testing.assert_array_equal(view.nearest(8), smallest(np.zeros((50, 50)), 8))
    assert not on_pairs(view, 50).any()


@pytest.mark.parametrize("form", ["dense float32", "csr float32"])
def test_single_precision_data_is_measured_in_double_precision(engine, form):
    x = FORMS[form](1 + 1e-4 * np.random.default_rng(5).normal(size=(150, 8)))
    for metric in ("euclidean", "cosine"):
        view, pairs = place(engine, x, metric), keys(x, metric)
        np.testing.assert_array_equal(view.nearest(6), smallest(pairs, 6))
        expected = pairs if metric == "euclidean" else (pairs / 2) ** 2
        np.testing.assert_allclose(on_pairs(view, 150), expected, rtol=1e-6)


@double_forms
@given(sizes(120), seeds)
@settings(max_examples=15, deadline=None)
def test_a_huge_common_offset_does_not_matter(engine, form, size, seed):
    n, d, k = size
    # Sixteenths near 1e9 and their differences have no rounding, so that ties are ties.
    near = np.random.default_rng(seed).integers(-20, 21, size=(n, d)) / 16
    view = place(engine, FORMS[form](1e9 + near), "euclidean")
    np.testing.assert_array_equal(view.nearest(k), smallest(keys(near, "euclidean"), k))
    np.testing.assert_array_equal(on_pairs(view, n), keys(near, "euclidean"))


def one_outlier(rng):
    x = rng.normal(size=(150, 5))
    x[77] = 1e13
    return x


def outliers_on_both_sides(rng):
    x = rng.normal(size=(150, 5))
    x[10], x[90] = 1e22, -1e22
    return x


def one_column_rules(rng):
    x = rng.normal(size=(150, 5))
    x[:, 2] = rng.uniform(-3e13, 3e13, size=150)
    return x


def one_column_rules_with_ties(rng):
    x = rng.normal(size=(150, 5))
    x[:, 2] = rng.integers(0, 4, size=150) * 1e13
    return x


def every_row_has_its_own_scale(rng):
    return rng.normal(size=(150, 5)) * 10.0 ** rng.integers(-12, 13, size=(150, 1))


@double_forms
@pytest.mark.parametrize(
    "make",
    [
        one_outlier,
        outliers_on_both_sides,
        one_column_rules,
        one_column_rules_with_ties,
        every_row_has_its_own_scale,
    ],
)
def test_scales_far_apart(engine, form, make):
    x = make(np.random.default_rng(6))
    for metric in ("euclidean", "cosine"):
        pairs = keys(x, metric)
        view = place(engine, FORMS[form](x), metric)
        shift = 1 if metric == "cosine" else 0  # rows on one line: absolute, not relative accuracy
        for k in (1, 7, 149):
            assert_as_near(view.nearest(k), pairs + shift, k)


@BOTH
@pytest.mark.parametrize(
    ("form", "unit"),
    [(form, unit) for form in DOUBLE for unit in (1e-200, 1e-30, 1e30, 1e150)]
    + [(form, unit) for form in ("dense float32", "csr float32") for unit in (1e-30, 1e-20, 1e30)],
)
def test_tiny_and_huge_values(engine, form, unit, metric):
    x = np.random.default_rng(7).normal(size=(130, 4))
    x[::3, 0] = 0
    x = FORMS[form](x * unit)
    view, pairs = place(engine, x, metric), keys(x, metric)
    expected = pairs if metric == "euclidean" else (pairs / 2) ** 2
    np.testing.assert_allclose(on_pairs(view, 130), expected, rtol=1e-9, atol=1e-300)
    if pairs.any():
        np.testing.assert_array_equal(view.nearest(9), smallest(pairs, 9))
    else:  # the squares of 1e-200 are 0 in float64
        assert_as_near(view.nearest(9), pairs, 9)


@every_form
@pytest.mark.parametrize("n", [2, 3, 65, 300])
def test_one_feature(engine, form, n):
    x = FORMS[form](np.random.default_rng(n).integers(-9, 10, size=(n, 1)) / 4)
    for k in {1, min(3, n - 1), n - 1}:
        found = place(engine, x, "euclidean").nearest(k)
        np.testing.assert_array_equal(found, smallest(keys(x, "euclidean"), k))
        # 1 - cos is 0, 1 or 2 here: same sign, a zero, other sign.
        found = place(engine, x, "cosine").nearest(k)
        np.testing.assert_array_equal(found, smallest(keys(x, "cosine"), k))


@every_form
@BOTH
def test_number_of_features_beyond_number_of_samples(engine, form, metric):
    x = FORMS[form](np.random.default_rng(8).normal(size=(12, 700)))
    np.testing.assert_array_equal(place(engine, x, metric).nearest(11), smallest(keys(x, metric), 11))


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan", "precomputed_squared_distance"])
def test_blocks_of_rows_do_not_matter(engine, metric, monkeypatch):
    x = np.random.default_rng(9).normal(size=(203, 5))
    x = keys(x, "euclidean") if metric == "precomputed_squared_distance" else x
    edges = EdgeSet.union([place(engine, x, metric).nearest(7)])
    whole = place(engine, x, metric).nearest(7), place(engine, x, metric).measure(edges)
    for size, rows in ((1, 1), (4 * 203 * 50, 50)):
        monkeypatch.setattr(protocol, "_BLOCK_BYTES", size)
        monkeypatch.setattr(plain_points, "_ROWS", rows)
        np.testing.assert_array_equal(place(engine, x, metric).nearest(7), whole[0])
        np.testing.assert_array_equal(place(engine, x, metric).measure(edges), whole[1])


@pytest.mark.parametrize("size", [1, 1000, 10**5, 10**9])
def test_blocks_cover_the_rows_once(size, monkeypatch):
    monkeypatch.setattr(protocol, "_BLOCK_BYTES", size)
    for first, last in ((0, None), (5, 90), (8, 8)):
        rows = [i for start, stop in protocol.row_blocks(100, 8, first, last) for i in range(start, stop)]
        assert rows == list(range(first, 100 if last is None else last))


@every_form
@BOTH
def test_one_thread_and_several_give_the_same_bits(engine, form, metric):
    x = FORMS[form](np.random.default_rng(10).normal(size=(800, 6)))
    found = []
    for n_threads in (1, 2, 5):
        with threads.limit(n_threads):
            view = place(engine, x, metric)
            nearest = view.nearest(5)
            found.append((nearest, view.measure(EdgeSet.union([nearest]))))
    for nearest, values in found[1:]:
        np.testing.assert_array_equal(nearest, found[0][0])
        np.testing.assert_array_equal(values, found[0][1])


def test_several_python_threads_may_search_one_view_at_once(engine):
    view = place(engine, np.random.default_rng(11).normal(size=(400, 6)), "euclidean")
    expected = view.nearest(5)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: view.nearest(5), range(8)):
            np.testing.assert_array_equal(found, expected)


@every_form
@BOTH
def test_values_on_edges_are_squared_distances_the_same_both_ways(engine, form, metric):
    x = np.random.default_rng(12).normal(size=(60, 5))
    x[x < -0.5] = 0
    x = FORMS[form](x)
    found = on_pairs(place(engine, x, metric), 60)
    expected = pairwise_distances(dense(x), metric=metric) ** 2
    np.testing.assert_allclose(found, expected, rtol=1e-6 if "32" in form else 1e-9, atol=1e-14)
    np.testing.assert_array_equal(found, found.T)
    assert found.dtype == np.float64


def parts(x):
    return (x.data, x.indices, x.indptr) if sparse.issparse(x) else (x,)


@every_form
@BOTH
def test_input_is_left_alone(engine, form, metric):
    x = FORMS[form](np.random.default_rng(13).normal(size=(50, 4)))
    before = [part.copy() for part in parts(x)]
    view = place(engine, x, metric)
    view.nearest(3)
    on_pairs(view, 50)
    view.is_constant()
    for part, old in zip(parts(x), before, strict=True):
        np.testing.assert_array_equal(part, old)


@double_forms
def test_input_may_be_read_only(engine, form):
    x = FORMS[form](np.random.default_rng(13).normal(size=(50, 4)))
    for part in parts(x):
        part.setflags(write=False)
    view = place(engine, x, "euclidean")
    np.testing.assert_array_equal(view.nearest(3), smallest(keys(x, "euclidean"), 3))
    np.testing.assert_allclose(on_pairs(view, 50), keys(x, "euclidean"), rtol=1e-12)


@BOTH
def test_stored_zeros_change_nothing(engine, metric):
    x = np.random.default_rng(14).integers(-2, 3, size=(40, 5)).astype(float)
    full = sparse.csr_array(np.ones((40, 5)))
    full.data = x.ravel().copy()
    assert full.nnz == x.size
    np.testing.assert_array_equal(
        place(engine, full, metric).nearest(9), place(engine, sparse.csr_array(x), metric).nearest(9)
    )


# Constant views


@every_form
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
def test_equal_rows_are_constant_and_one_other_row_is_not(engine, form, metric):
    x = np.tile([0.1, 0.0, 0.7], (20, 1))
    assert place(engine, FORMS[form](x), metric).is_constant()
    assert place(engine, FORMS[form](np.zeros((20, 3))), metric).is_constant()
    for at in (0, 11, 19):
        other = x.copy()
        other[at, 1] = 1e-3  # one entry more in sparse form
        assert not place(engine, FORMS[form](other), metric).is_constant()
        other[at] = [0.7, 0.0, 0.1]  # as many entries
        assert not place(engine, FORMS[form](other), metric).is_constant()
        other[at] = 0
        assert not place(engine, FORMS[form](other), metric).is_constant()


@every_form
def test_rows_of_one_direction_are_constant_under_cosine_only(engine, form):
    x = FORMS[form](np.outer(np.arange(1.0, 51.0), [1.0, 2.0, 3.0]))
    assert place(engine, x, "cosine").is_constant()
    assert not place(engine, x, "euclidean").is_constant()


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
def test_stored_zeros_do_not_make_rows_differ(engine, metric):
    x = sparse.csr_array((np.array([1.0, 1, 0, 1]), ([0, 1, 1, 2], [0, 0, 1, 0])), shape=(3, 2))
    assert place(engine, x, metric).is_constant()


# The mean over all pairs


@every_form
@BOTH
@pytest.mark.parametrize("n_zero", [0, 1, 7, 30])
def test_mean_of_squared_euclidean_and_of_plain_cosine_distances(engine, form, metric, n_zero):
    x = np.random.default_rng(20).normal(size=(30, 6))
    x[x < -0.5] = 0
    x[:n_zero] = 0
    x = FORMS[form](x)
    pairs = keys(x, metric) if metric == "euclidean" else keys(x, metric) / 2
    assert_mean_over_pairs(place(engine, x, metric), pairs, rtol=1e-6 if "32" in form else 1e-12)


@double_forms
@BOTH
def test_mean_over_pairs_of_data_far_from_the_origin(engine, form, metric):
    # Sums of squares, or of unit rows, would cancel here to nothing.
    x = 1e8 + np.random.default_rng(21).integers(0, 5, size=(40, 3)).astype(float)
    exact = (x[:, None] - x[None]) ** 2
    pairs = exact.sum(axis=2)
    if metric == "cosine":
        unit = unit_rows(x)
        pairs = ((unit[:, None] - unit[None]) ** 2).sum(axis=2) / 2
    assert_mean_over_pairs(place(engine, FORMS[form](x), metric), pairs, rtol=1e-6)
