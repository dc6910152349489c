"""Some of the samples of a view: the same as a view of these samples alone, without a new search."""

import numpy as np
import pytest
from scipy import sparse
from tests.engines.placed import on_pairs, place
from tests.engines.points.forms import symmetric

from consilience.engines.points.subset import SubsetPoints

N = 60


def arrays():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(N, 4)).round(1)  # with ties
    similarity = symmetric(N, 3, 4) + np.eye(N)
    return {
        "euclidean": (x, "euclidean"),
        "cosine": (x, "cosine"),
        "sparse": (sparse.csr_array(np.maximum(x, 0)), "cosine"),
        "manhattan": (x, "manhattan"),
        "distances": (symmetric(N, 5), "precomputed_distance"),
        "similarities": (similarity, "precomputed_similarity"),
        "few neighbours": (similarity * (symmetric(N, 4) > 8), "precomputed_similarity"),
    }


every_view = pytest.mark.parametrize("name", arrays())


def whole_and_part(engine, name, rows, seen=None):
    """Return a view, the part of it for some rows by a subset, and a view of these rows alone."""
    array, metric = arrays()[name]
    part = array[rows]
    part = part[:, rows] if metric.startswith("precomputed") else part
    whole = place(engine, array, metric, seen=seen)
    alone = place(engine, part, metric, seen=None if seen is None else seen[rows])
    return whole, whole.subset(rows, N), alone


@every_view
@pytest.mark.parametrize("size", [2, 7, 55, 60])
def test_neighbours_are_those_of_a_search_among_these_samples(engine, name, size):
    rows = np.sort(np.random.default_rng(size).choice(N, size, replace=False))
    whole, subset, alone = whole_and_part(engine, name, rows)
    for k in {1, min(4, size - 1), size - 1}:
        found = subset.search(k)
        assert found.lists.dtype == np.int32 and found.report.search == "exact"
        np.testing.assert_array_equal(found.lists, alone.nearest(k))
    np.testing.assert_array_equal(on_pairs(subset, size), on_pairs(alone, size))
    assert subset.kind == alone.kind
    assert subset.mean_over_pairs() == whole.mean_over_pairs()
    assert subset.is_constant() == whole.is_constant()


@every_view
def test_more_neighbours_than_others_are_filled_up_with_the_sample_itself(engine, name):
    rows = np.array([3, 17, 40])
    _, subset, alone = whole_and_part(engine, name, rows)
    found = subset.nearest(5)
    np.testing.assert_array_equal(found[:, :2], alone.nearest(2))
    np.testing.assert_array_equal(found[:, 2:], np.repeat(np.arange(3)[:, None], 3, axis=1))


@every_view
def test_samples_that_the_view_has_not_seen(engine, name):
    seen = np.arange(N) % 3 > 0
    rows = np.sort(np.random.default_rng(1).choice(N, 40, replace=False))
    _, subset, alone = whole_and_part(engine, name, rows, seen)
    for k in (1, 6, 30):
        np.testing.assert_array_equal(subset.nearest(k), alone.nearest(k))
    np.testing.assert_array_equal(on_pairs(subset, 40), on_pairs(alone, 40))


@pytest.mark.parametrize("name", ["euclidean", "sparse", "distances", "similarities"])
def test_another_order_of_the_samples(engine, name):
    rng = np.random.default_rng(2)
    rows, order = np.sort(rng.choice(N, 30, replace=False)), rng.permutation(30)
    _, subset, alone = whole_and_part(engine, name, rows)
    shuffled, expected = subset.reordered(order), alone.reordered(order)
    np.testing.assert_array_equal(shuffled.nearest(6), expected.nearest(6))
    np.testing.assert_array_equal(on_pairs(shuffled, 30), on_pairs(alone, 30)[np.ix_(order, order)])


def test_a_list_of_the_whole_view_that_is_too_short_is_searched_again(host_engine):
    # All samples that are near the first one are outside of the subset: the first list has none of its own.
    x = np.concatenate([np.zeros(31), 10.0 ** np.arange(29)])[:, None]
    rows = np.concatenate([[0], np.arange(31, N)])
    widths, plain = [], place(host_engine, x, "euclidean")

    class Noting:
        kind, ranks_ties = plain.points.kind, plain.points.ranks_ties

        def nearest(self, k, search):
            widths.append(k)
            return plain.points.nearest(k, search)

    found = SubsetPoints(Noting(), rows, N).nearest(2).lists
    np.testing.assert_array_equal(found, place(host_engine, x[rows], "euclidean").nearest(2))
    assert len(widths) > 1 and widths == sorted(widths) and widths[-1] < N
