import numpy as np
import pytest
from scipy import sparse

from consilience.neighbors import as_space

from .test_spaces import all_pairs, on_pairs, smallest

X = np.random.default_rng(0).normal(size=(25, 3))


def manhattan(a, b):
    return np.abs(a - b).sum()


def uphill(a, b):
    """Not symmetric."""
    return max(0.0, float(b[0] - a[0])) + 0.1


def test_a_function_gives_what_the_metric_of_that_name_gives():
    ours, named = as_space(X, manhattan), as_space(X, "manhattan")
    assert ours.kind == "distance"
    np.testing.assert_array_equal(ours.nearest(6), named.nearest(6))
    np.testing.assert_allclose(on_pairs(ours, 25), on_pairs(named, 25), rtol=1e-14)
    np.testing.assert_allclose(ours.mean_over_pairs(), named.mean_over_pairs(), rtol=1e-12)


def test_both_directions_are_asked_for():
    pairs = np.array([[uphill(a, b) for b in X] for a in X])
    space = as_space(X, uphill)
    np.testing.assert_array_equal(space.nearest(5), smallest(pairs, 5))
    np.testing.assert_array_equal(on_pairs(space, 25), (pairs * (1 - np.eye(25))) ** 2)
    order = np.random.default_rng(1).permutation(25)
    np.testing.assert_array_equal(
        on_pairs(space.permuted(order), 25), on_pairs(space, 25)[np.ix_(order, order)]
    )


def test_only_edges_are_measured():
    asked = []

    def counting(a, b):
        asked.append((a[0], b[0]))
        return 1.0

    space = as_space(np.arange(5.0)[:, None], counting)
    space.on_edges(all_pairs(5))
    assert sorted(asked) == [(float(i), float(j)) for i in range(5) for j in range(5) if i != j]


def test_rows_are_as_given_with_empty_cells_and_cannot_be_written_to():
    x = np.array([[1.0, np.nan], [2.0, 5.0], [4.0, np.nan]])

    def over_known(a, b):
        with pytest.raises(ValueError, match="read-only"):
            a[0] = 3
        return np.nansum(np.abs(a - b))

    np.testing.assert_array_equal(as_space(x, over_known).nearest(2), [[1, 2], [0, 2], [1, 0]])
    assert x.flags.writeable
    assert as_space(x[[0, 0]], over_known).is_constant()
    assert not as_space(x, over_known).is_constant()


@pytest.mark.parametrize("value", [-0.5, np.nan, np.inf, None, "far", [1.0, 2.0], 1j])
def test_what_is_no_distance_is_refused_by_name_of_view_and_samples(value):
    def bad(a, b):
        return value if (a[0], b[0]) == (2.0, 3.0) else 1.0

    x = np.arange(5.0)[:, None]
    for ids, named in ((None, "samples 2 and 3"), (np.array(list("abcde")), "samples 'c' and 'd'")):
        space = as_space(x, bad, name="sizes", sample_ids=ids)
        for ask in (lambda s=space: s.nearest(2), lambda s=space: s.on_edges(all_pairs(5))):
            with pytest.raises(ValueError, match=f"The metric 'bad' returned .* for {named} of view 'sizes'"):
                ask()
    with pytest.raises(ValueError, match="for new sample 1 and sample 3 of view 'sizes'"):
        as_space(x, bad, name="sizes").beside(np.array([[9.0], [2.0]])).nearest(1)


def test_what_a_function_raises_comes_out_as_it_is():
    def fails(a, b):
        raise RuntimeError("out of order")

    with pytest.raises(RuntimeError, match="out of order"):
        as_space(X, fails).nearest(1)


def test_sparse_views_take_no_function():
    with pytest.raises(ValueError, match="'manhattan' does not take the sparse view 'words'"):
        as_space(sparse.csr_array(X), manhattan, name="words")
