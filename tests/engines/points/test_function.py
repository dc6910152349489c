"""A metric that the user gives as a function of two rows."""

import numpy as np
import pytest
from scipy import sparse
from tests.engines.placed import all_pairs, on_pairs, place
from tests.engines.points.forms import NUMBA, smallest

X = np.random.default_rng(0).normal(size=(25, 3))


def manhattan(a, b):
    return np.abs(a - b).sum()


def uphill(a, b):
    """Not symmetric."""
    return max(0.0, float(b[0] - a[0])) + 0.1


def test_a_function_gives_what_the_metric_of_that_name_gives(engine):
    ours, named = place(engine, X, manhattan), place(engine, X, "manhattan")
    assert ours.kind == "distance"
    np.testing.assert_array_equal(ours.nearest(6), named.nearest(6))
    np.testing.assert_allclose(on_pairs(ours, 25), on_pairs(named, 25), rtol=1e-14)
    np.testing.assert_allclose(ours.mean_over_pairs(), named.mean_over_pairs(), rtol=1e-12)


def test_both_directions_are_measured(engine):
    pairs = np.array([[uphill(a, b) for b in X] for a in X])
    view = place(engine, X, uphill)
    np.testing.assert_array_equal(view.nearest(5), smallest(pairs, 5))
    np.testing.assert_array_equal(on_pairs(view, 25), (pairs * (1 - np.eye(25))) ** 2)
    order = np.random.default_rng(1).permutation(25)
    np.testing.assert_array_equal(
        on_pairs(view.reordered(order), 25), on_pairs(view, 25)[np.ix_(order, order)]
    )


@NUMBA
def test_only_edges_are_measured(engine):
    asked = []

    def counting(a, b):
        asked.append((a[0], b[0]))
        return 1.0

    view = place(engine, np.arange(5.0)[:, None], counting)
    view.measure(all_pairs(5))
    assert sorted(asked) == [(float(i), float(j)) for i in range(5) for j in range(5) if i != j]


def test_rows_are_as_given_with_empty_cells_and_cannot_be_written_to(engine):
    x = np.array([[1.0, np.nan], [2.0, 5.0], [4.0, np.nan]])

    def over_known(a, b):
        with pytest.raises(ValueError, match="read-only"):
            a[0] = 3
        return np.nansum(np.abs(a - b))

    np.testing.assert_array_equal(place(engine, x, over_known).nearest(2), [[1, 2], [0, 2], [1, 0]])
    assert x.flags.writeable
    assert place(engine, x[[0, 0]], over_known).is_constant()
    assert not place(engine, x, over_known).is_constant()


@pytest.mark.parametrize("value", [-0.5, np.nan, np.inf, None, "far", [1.0, 2.0], 1j])
def test_what_is_no_distance_is_refused_by_name_of_view_and_samples(engine, value):
    def bad(a, b):
        return value if (a[0], b[0]) == (2.0, 3.0) else 1.0

    x = np.arange(5.0)[:, None]
    for ids, named in ((None, "samples 2 and 3"), (np.array(list("abcde")), "samples 'c' and 'd'")):
        view = place(engine, x, bad, name="sizes", sample_ids=ids)
        for ask in (lambda s=view: s.nearest(2), lambda s=view: s.measure(all_pairs(5))):
            with pytest.raises(ValueError, match=f"The metric 'bad' returned .* for {named} of view 'sizes'"):
                ask()
    with pytest.raises(ValueError, match="for new sample 1 and sample 3 of view 'sizes'"):
        place(engine, x, bad, name="sizes").query(np.array([[9.0], [2.0]])).nearest(1)


def test_what_a_function_raises_comes_out_as_it_is(engine):
    def fails(a, b):
        raise RuntimeError("out of order")

    with pytest.raises(RuntimeError, match="out of order"):
        place(engine, X, fails).nearest(1)


def test_sparse_views_take_no_function(engine):
    with pytest.raises(ValueError, match="'manhattan' does not take the sparse view 'words'"):
        place(engine, sparse.csr_array(X), manhattan, name="words")
