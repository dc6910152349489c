import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics.pairwise import nan_euclidean_distances

from consilience import threads
from consilience.graph import EdgeSet
from consilience.neighbors import as_space, spaces

from .test_spaces import all_pairs, on_pairs, seeds, smallest

KINDS = ("numeric", "categorical", "ordinal")


def gower(x, kinds, y=None):
    """Gower's distances of all pairs, by definition."""
    y = x if y is None else y
    total, common = np.zeros((2, len(x), len(y)))
    for f, kind in enumerate(kinds):
        a, b = x[:, f, None], y[None, :, f]
        known = ~np.isnan(a) & ~np.isnan(b)
        if kind == "categorical":
            apart = (a != b).astype(float)
        else:
            values = y[~np.isnan(y[:, f]), f]
            span = np.ptp(values) if len(values) else 0
            apart = np.abs(a - b) / span if span > 0 else np.zeros(known.shape)
        total += np.where(known, apart, 0)
        common += known
    return np.divide(total, common, out=np.ones_like(total), where=common > 0)


def mixed(rng, n, d, empty=0.2):
    """Random columns of all kinds, with empty cells."""
    kinds = tuple(rng.choice(KINDS, size=d).tolist())
    x = np.empty((n, d))
    for f, kind in enumerate(kinds):
        x[:, f] = rng.normal(size=n) if kind == "numeric" else rng.integers(0, 4, size=n)
    x[rng.random((n, d)) < empty] = np.nan
    return x, kinds


@given(st.integers(2, 120), st.integers(1, 12), st.sampled_from([0, 0.2, 0.7]), seeds)
@settings(max_examples=40, deadline=None)
def test_it_is_the_definition(n, d, empty, seed):
    x, kinds = mixed(np.random.default_rng(seed), n, d, empty)
    space, distances = as_space(x, "gower", kinds=kinds), gower(x, kinds)
    assert space.kind == "distance"
    off = distances * (1 - np.eye(n))
    np.testing.assert_allclose(on_pairs(space, n), off**2, rtol=1e-12)
    np.testing.assert_allclose(space.mean_over_pairs(), (off**2).mean(), rtol=1e-12)
    k = min(5, n - 1)
    # Multiples of 1e-9 compare alike however they were rounded.
    np.testing.assert_array_equal(space.nearest(k), smallest(distances.round(9), k))


def test_whole_rows_and_single_pairs_are_the_same_bits():
    x, kinds = mixed(np.random.default_rng(0), 150, 9)
    space = as_space(x, "gower", kinds=kinds)
    columns = np.ascontiguousarray(space.x.T)
    block = space._block(space.x, columns, 0, 150, own=True)
    np.testing.assert_array_equal(on_pairs(space, 150), block**2)
    x = np.where(np.isnan(x[:, :1]), x, x)
    x[:, 0] = np.random.default_rng(1).normal(size=150)
    space = as_space(x, "nan_euclidean")
    block = space._block(space.x, np.ascontiguousarray(space.x.T), 0, 150, own=True)
    np.testing.assert_array_equal(on_pairs(space, 150), block)


def test_hand_made():
    x = np.array([[0, 1, 0], [10, 2, 2], [np.nan, 1, 1]], dtype=float)
    space = as_space(x, "gower", kinds=("numeric", "categorical", "ordinal"))
    expected = np.array([[0, 1, (0 + 0.5) / 2], [1, 0, (1 + 0.5) / 2], [0.25, 0.75, 0]])
    np.testing.assert_allclose(on_pairs(space, 3), expected**2, rtol=1e-15)


def test_samples_without_a_common_column_are_at_one():
    x = np.array([[1.0, np.nan], [np.nan, 2.0], [3.0, 2.0]])
    np.testing.assert_array_equal(on_pairs(as_space(x, "gower"), 3)[0], [0, 1, 1])
    assert on_pairs(as_space(x, "gower"), 3)[1, 2] == 0


@pytest.mark.parametrize("column", [np.full(4, 7.0), np.full(4, np.nan), [7, np.nan, 7, 7]])
def test_columns_of_one_value_say_nothing_or_zero(column):
    x = np.column_stack([[0.0, 1, 2, 4], column])
    space = as_space(x, "gower")
    np.testing.assert_allclose(on_pairs(space, 4), (gower(x, ("numeric",) * 2) * (1 - np.eye(4))) ** 2)
    assert not space.is_constant()
    assert as_space(x[:, 1:], "gower").is_constant()


def test_a_range_too_small_to_divide_by_a_reciprocal():
    x = np.array([[0.0], [5e-324], [0.0]])
    np.testing.assert_array_equal(on_pairs(as_space(x, "gower"), 3)[0], [0, 1, 0])


def test_a_range_too_large_is_refused():
    with pytest.raises(ValueError, match="Column 1 of view 'big'"):
        as_space(np.array([[0, -1.7e308], [1, 1.7e308]]), "gower", name="big")


@pytest.mark.parametrize("kinds", [("numeric",), ("numeric", "nominal")])
def test_wrong_kinds_are_refused(kinds):
    with pytest.raises(ValueError, match=r"'v' has 2 columns.*'ordinal'"):
        as_space(np.ones((3, 2)), "gower", name="v", kinds=kinds)


@pytest.mark.parametrize("metric", ["gower", "nan_euclidean"])
def test_blocks_threads_and_order_do_not_matter(metric, monkeypatch):
    x, kinds = mixed(np.random.default_rng(2), 300, 6)
    x[:, 0] = np.random.default_rng(3).normal(size=300)

    def answers(space):
        nearest = space.nearest(6)
        return nearest, space.on_edges(EdgeSet.union([nearest])), space.mean_over_pairs()

    expected = answers(as_space(x, metric, kinds=kinds))
    for n_threads, size in ((1, 1), (3, 10**5), (2, 1 << 21)):
        monkeypatch.setattr(spaces, "_BLOCK_BYTES", size)
        with threads.limit(n_threads):
            for one, other in zip(answers(as_space(x, metric, kinds=kinds)), expected, strict=True):
                np.testing.assert_array_equal(one, other)
    order = np.random.default_rng(4).permutation(300)
    space = as_space(x, metric, kinds=kinds)
    np.testing.assert_array_equal(
        on_pairs(space.permuted(order), 300), on_pairs(space, 300)[np.ix_(order, order)]
    )


def test_only_the_rows_seen_say_what_a_range_is():
    x, kinds = mixed(np.random.default_rng(5), 40, 5)
    seen = np.arange(40) % 4 > 0
    other = x.copy()
    other[~seen] = 1e6
    found = [on_pairs(as_space(one, "gower", seen=seen, kinds=kinds), 40) for one in (x, other)]
    np.testing.assert_array_equal(*found)
    np.testing.assert_allclose(
        found[0][np.ix_(seen, seen)], (gower(x[seen], kinds) * (1 - np.eye(30))) ** 2, rtol=1e-12
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_euclidean_with_empty_cells_is_that_of_scikit_learn(dtype):
    rng = np.random.default_rng(6)
    x = rng.normal(size=(80, 5)).astype(dtype)
    x[rng.random(x.shape) < 0.3] = np.nan
    x[:, 2] = rng.normal(size=80)
    space = as_space(x, "nan_euclidean")
    expected = nan_euclidean_distances(x.astype(float))
    np.testing.assert_allclose(on_pairs(space, 80), expected**2, rtol=1e-9)
    np.testing.assert_array_equal(space.nearest(7), smallest(expected, 7))
    np.testing.assert_allclose(space.mean_over_pairs(), (expected**2).mean(), rtol=1e-9)
    complete = np.nan_to_num(x)
    np.testing.assert_array_equal(
        as_space(complete, "nan_euclidean").nearest(7), as_space(complete, "euclidean").nearest(7)
    )


def test_euclidean_without_a_common_column_names_view_and_samples():
    x = np.array([[1.0, np.nan], [2.0, 3.0], [np.nan, 2.0]])
    for ids, named in ((None, "Samples 0 and 2"), (np.array(["a", "b", "c"]), "Samples 'a' and 'c'")):
        space = as_space(x, "nan_euclidean", name="sizes", sample_ids=ids)
        for ask in (
            lambda space=space: space.nearest(1),
            lambda space=space: space.on_edges(all_pairs(3)),
            space.mean_over_pairs,
        ):
            with pytest.raises(ValueError, match=f"{named} of view 'sizes' have no column in common"):
                ask()


def test_samples_are_called_by_their_numbers_among_all():
    x = np.array([[9.0, 9.0], [1.0, np.nan], [2.0, 3.0], [np.nan, 2.0]])
    space = as_space(x, "nan_euclidean", seen=np.array([False, True, True, True]))
    with pytest.raises(ValueError, match="Samples 1 and 3 of"):
        space.nearest(1)
