"""Views that have seen only some of the samples."""

import numpy as np
import pytest
from scipy import sparse
from tests.engines.placed import on_pairs, place
from tests.engines.points.forms import BOTH, keys, symmetric

from consilience.engines.points.masked import MaskedPoints


def views_with_gaps():
    rng = np.random.default_rng(19)
    x = rng.normal(size=(50, 4))
    x[x < -0.7] = 0
    similarity = symmetric(50, 3, 4) + np.eye(50)
    return [
        ("euclidean", x),
        ("euclidean", sparse.csr_array(x)),
        ("cosine", x),
        ("cosine", sparse.csr_matrix(x)),
        ("manhattan", x),
        ("chebyshev", x),
        ("precomputed_distance", keys(x, "euclidean")),
        ("precomputed_similarity", similarity),
        ("precomputed_similarity", sparse.csr_array(similarity)),
    ]


@pytest.mark.parametrize("n_seen", [2, 3, 9, 30, 49])
@pytest.mark.parametrize(
    ("metric", "array"), views_with_gaps(), ids=[f"{m}-{type(a).__name__}" for m, a in views_with_gaps()]
)
def test_only_samples_seen_are_neighbours_as_if_there_were_no_others(engine, metric, array, n_seen):
    rng = np.random.default_rng(n_seen)
    seen = np.zeros(50, dtype=bool)
    members = np.sort(rng.choice(50, n_seen, replace=False))
    seen[members] = True
    part = array[members]
    part = part[:, members] if metric.startswith("precomputed") else part
    alone, view = place(engine, part, metric), place(engine, array, metric, seen=seen)
    assert view.kind == alone.kind

    k = 5
    expected = np.repeat(np.arange(50)[:, None], k, axis=1)
    k_alone = min(k, n_seen - 1)
    expected[members, :k_alone] = members[alone.nearest(k_alone)]
    found = view.nearest(k)
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, expected)

    values = on_pairs(view, 50)
    np.testing.assert_array_equal(values[np.ix_(members, members)], on_pairs(alone, n_seen))
    assert not values[~seen].any()
    assert not values[:, ~seen].any()


@pytest.mark.parametrize("n_seen", [0, 1])
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
def test_views_that_have_seen_no_sample_or_one_have_no_neighbours(engine, metric, n_seen):
    x = np.random.default_rng(20).random((8, 3))
    seen = np.arange(8) < n_seen
    for form in (x, sparse.csr_array(x)):
        view = place(engine, form, metric, seen=seen)
        np.testing.assert_array_equal(view.nearest(2), np.repeat(np.arange(8)[:, None], 2, axis=1))
        assert not on_pairs(view, 8).any()
        assert view.is_constant()


def test_values_of_unseen_samples_do_not_matter(engine):
    x = np.random.default_rng(21).normal(size=(30, 3))
    seen = np.arange(30) % 3 > 0
    other = x.copy()
    other[~seen] = 1e9
    for metric in ("euclidean", "cosine", "seuclidean"):
        one, two = (place(engine, values, metric, seen=seen) for values in (x, other))
        np.testing.assert_array_equal(one.nearest(4), two.nearest(4))
        np.testing.assert_array_equal(on_pairs(one, 30), on_pairs(two, 30))


def test_a_view_that_has_seen_all_is_placed_like_any_other(host_engine):
    x = np.random.default_rng(22).normal(size=(10, 3))
    plain, masked = (
        place(host_engine, x, "euclidean", seen=seen) for seen in (None, np.ones(10, dtype=bool))
    )
    assert type(masked.points) is type(plain.points)
    some = place(host_engine, x, "euclidean", seen=np.arange(10) > 0)
    assert isinstance(some.points, MaskedPoints) and type(some.points.points) is type(plain.points)


def test_constant_among_the_samples_seen(engine):
    x = np.array([[1.0], [5.0], [1.0], [1.0]])
    assert place(engine, x, "euclidean", seen=np.array([True, False, True, True])).is_constant()
    assert not place(engine, x, "euclidean", seen=np.array([True, True, True, False])).is_constant()


@BOTH
def test_mean_over_pairs_is_of_samples_seen(engine, metric):
    x = np.random.default_rng(23).normal(size=(30, 4))
    seen = np.arange(30) % 3 > 0
    expected = place(engine, x[seen], metric).mean_over_pairs()
    assert place(engine, x, metric, seen=seen).mean_over_pairs() == expected
