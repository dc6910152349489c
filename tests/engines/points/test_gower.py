"""Distances over the columns that two samples both have: Gower's, and Euclidean with empty cells."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics.pairwise import nan_euclidean_distances
from tests.engines.placed import all_pairs, on_pairs, place
from tests.engines.points.forms import NUMBA, gower, mixed, seeds, smallest

from consilience.engines import threads
from consilience.engines.points import protocol
from consilience.graphs import EdgeSet


@given(st.integers(2, 120), st.integers(1, 12), st.sampled_from([0, 0.2, 0.7]), seeds)
@settings(max_examples=40, deadline=None)
def test_values_are_those_of_the_definition(engine, n, d, empty, seed):
    x, kinds = mixed(np.random.default_rng(seed), n, d, empty)
    view, distances = place(engine, x, "gower", kinds=kinds), gower(x, kinds)
    assert view.kind == "distance"
    off = distances * (1 - np.eye(n))
    np.testing.assert_allclose(on_pairs(view, n), off**2, rtol=1e-12)
    np.testing.assert_allclose(view.mean_over_pairs(), (off**2).mean(), rtol=1e-12)
    k = min(5, n - 1)
    # Multiples of 1e-9 compare alike however they were rounded.
    np.testing.assert_array_equal(view.nearest(k), smallest(distances.round(9), k))


def whole_rows(points):
    return points._block(points.x, np.ascontiguousarray(points.x.T), 0, len(points.x), own=True)


@NUMBA
def test_whole_rows_and_single_pairs_are_the_same_bits(engine):
    x, kinds = mixed(np.random.default_rng(0), 150, 9)
    view = place(engine, x, "gower", kinds=kinds)
    block = whole_rows(view.points)
    np.testing.assert_array_equal(on_pairs(view, 150), block**2)
    x = np.where(np.isnan(x[:, :1]), x, x)
    x[:, 0] = np.random.default_rng(1).normal(size=150)
    view = place(engine, x, "nan_euclidean")
    block = whole_rows(view.points)
    np.testing.assert_array_equal(on_pairs(view, 150), block)


def test_a_small_example(engine):
    x = np.array([[0, 1, 0], [10, 2, 2], [np.nan, 1, 1]], dtype=float)
    view = place(engine, x, "gower", kinds=("numeric", "categorical", "ordinal"))
    expected = np.array([[0, 1, (0 + 0.5) / 2], [1, 0, (1 + 0.5) / 2], [0.25, 0.75, 0]])
    np.testing.assert_allclose(on_pairs(view, 3), expected**2, rtol=1e-15)


def test_samples_without_a_common_column_are_at_one(engine):
    x = np.array([[1.0, np.nan], [np.nan, 2.0], [3.0, 2.0]])
    np.testing.assert_array_equal(on_pairs(place(engine, x, "gower"), 3)[0], [0, 1, 1])
    assert on_pairs(place(engine, x, "gower"), 3)[1, 2] == 0


@pytest.mark.parametrize("column", [np.full(4, 7.0), np.full(4, np.nan), [7, np.nan, 7, 7]])
def test_columns_of_one_value_say_nothing_or_zero(engine, column):
    x = np.column_stack([[0.0, 1, 2, 4], column])
    view = place(engine, x, "gower")
    np.testing.assert_allclose(on_pairs(view, 4), (gower(x, ("numeric",) * 2) * (1 - np.eye(4))) ** 2)
    assert not view.is_constant()
    assert place(engine, x[:, 1:], "gower").is_constant()


def test_a_range_too_small_to_divide_by_a_reciprocal(engine):
    x = np.array([[0.0], [5e-324], [0.0]])
    np.testing.assert_array_equal(on_pairs(place(engine, x, "gower"), 3)[0], [0, 1, 0])


def test_a_range_too_large_is_refused(engine):
    with pytest.raises(ValueError, match="Column 1 of view 'big'"):
        place(engine, np.array([[0, -1.7e308], [1, 1.7e308]]), "gower", name="big")


@pytest.mark.parametrize("kinds", [("numeric",), ("numeric", "nominal")])
def test_wrong_kinds_are_refused(engine, kinds):
    with pytest.raises(ValueError, match=r"'v' has 2 columns.*'ordinal'"):
        place(engine, np.ones((3, 2)), "gower", name="v", kinds=kinds)


@pytest.mark.parametrize("metric", ["gower", "nan_euclidean"])
def test_blocks_threads_and_order_do_not_matter(engine, metric, monkeypatch):
    x, kinds = mixed(np.random.default_rng(2), 300, 6)
    x[:, 0] = np.random.default_rng(3).normal(size=300)

    def answers(view):
        nearest = view.nearest(6)
        return nearest, view.measure(EdgeSet.union([nearest])), view.mean_over_pairs()

    expected = answers(place(engine, x, metric, kinds=kinds))
    for n_threads, size in ((1, 1), (3, 10**5), (2, 1 << 21)):
        monkeypatch.setattr(protocol, "_BLOCK_BYTES", size)
        with threads.limit(n_threads):
            for one, other in zip(answers(place(engine, x, metric, kinds=kinds)), expected, strict=True):
                np.testing.assert_array_equal(one, other)
    order = np.random.default_rng(4).permutation(300)
    view = place(engine, x, metric, kinds=kinds)
    np.testing.assert_array_equal(
        on_pairs(view.reordered(order), 300), on_pairs(view, 300)[np.ix_(order, order)]
    )


def test_only_the_rows_seen_say_what_a_range_is(engine):
    x, kinds = mixed(np.random.default_rng(5), 40, 5)
    seen = np.arange(40) % 4 > 0
    other = x.copy()
    other[~seen] = 1e6
    found = [on_pairs(place(engine, one, "gower", seen=seen, kinds=kinds), 40) for one in (x, other)]
    np.testing.assert_array_equal(*found)
    np.testing.assert_allclose(
        found[0][np.ix_(seen, seen)], (gower(x[seen], kinds) * (1 - np.eye(30))) ** 2, rtol=1e-12
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_euclidean_with_empty_cells_is_that_of_scikit_learn(engine, dtype):
    rng = np.random.default_rng(6)
    x = rng.normal(size=(80, 5)).astype(dtype)
    x[rng.random(x.shape) < 0.3] = np.nan
    x[:, 2] = rng.normal(size=80)
    view = place(engine, x, "nan_euclidean")
    expected = nan_euclidean_distances(x.astype(float))
    np.testing.assert_allclose(on_pairs(view, 80), expected**2, rtol=1e-9)
    np.testing.assert_array_equal(view.nearest(7), smallest(expected, 7))
    np.testing.assert_allclose(view.mean_over_pairs(), (expected**2).mean(), rtol=1e-9)
    complete = np.nan_to_num(x)
    np.testing.assert_array_equal(
        place(engine, complete, "nan_euclidean").nearest(7), place(engine, complete, "euclidean").nearest(7)
    )


def test_euclidean_without_a_common_column_names_view_and_samples(engine):
    x = np.array([[1.0, np.nan], [2.0, 3.0], [np.nan, 2.0]])
    for ids, named in ((None, "Samples 0 and 2"), (np.array(["a", "b", "c"]), "Samples 'a' and 'c'")):
        view = place(engine, x, "nan_euclidean", name="sizes", sample_ids=ids)
        for ask in (
            lambda view=view: view.nearest(1),
            lambda view=view: view.measure(all_pairs(3)),
            view.mean_over_pairs,
        ):
            with pytest.raises(ValueError, match=f"{named} of view 'sizes' have no column in common"):
                ask()


def test_samples_are_called_by_their_numbers_among_all(engine):
    x = np.array([[9.0, 9.0], [1.0, np.nan], [2.0, 3.0], [np.nan, 2.0]])
    view = place(engine, x, "nan_euclidean", seen=np.array([False, True, True, True]))
    with pytest.raises(ValueError, match="Samples 1 and 3 of"):
        view.nearest(1)
