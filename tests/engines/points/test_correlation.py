"""The correlation distance: the cosine of rows without their means."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import pairwise_distances
from tests.engines.placed import on_pairs, place
from tests.engines.points.forms import seeds, smallest

from consilience.engines.numba.points.features import DensePoints
from consilience.engines.numba.points.rows import centered_rows


@given(st.integers(2, 100), st.integers(3, 40), st.sampled_from([0.0, 5.0, -1e3]), seeds)
@settings(max_examples=40, deadline=None)
def test_values_are_those_of_scikit_learn(engine, n, d, offset, seed):
    x = offset + np.random.default_rng(seed).normal(size=(n, d))
    view, expected = place(engine, x, "correlation"), pairwise_distances(x, metric="correlation")
    assert isinstance(view.points, DensePoints) or engine != "numba"
    np.fill_diagonal(expected, 0)
    np.testing.assert_allclose(np.sqrt(on_pairs(view, n)), expected, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(view.mean_over_pairs(), expected.mean(), rtol=1e-7)
    k = min(n - 1, 6)
    got = np.take_along_axis(expected, view.nearest(k), axis=1)
    np.testing.assert_allclose(got, np.take_along_axis(expected, smallest(expected, k), axis=1), atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("d", [2, 3, 10, 1000])
@pytest.mark.parametrize("value", [0.0, 0.1, 1 / 3, -7.3e-300, 1e300])
def test_a_constant_row_has_no_direction_whatever_rounding_says(engine, dtype, d, value):
    x = np.random.default_rng(d).normal(size=(12, d)).astype(dtype)
    with np.errstate(over="ignore"):
        constant = np.full(d, value, dtype=dtype)
    if not np.isfinite(constant).all():
        constant[:] = 1e30
    x[3] = constant
    x[8] = constant
    x[8, 0] = np.nextafter(x[8, 0], dtype(np.inf))  # constant except for its last digit
    if value == 0 or abs(x[8, 0]) < np.finfo(dtype).tiny:
        x[8, 0] = constant[0]
    values = on_pairs(place(engine, x, "correlation"), 12)
    for row in (3, 8):
        np.testing.assert_array_equal(np.delete(values[row], row), 1)
    assert not centered_rows(x)[[3, 8]].any()


@pytest.mark.parametrize("unit", [1e-200, 1e150, 1e307])
def test_tiny_and_huge_numbers(engine, unit):
    x = np.random.default_rng(0).uniform(-1, 1, size=(30, 6))
    one, other = (on_pairs(place(engine, x * factor, "correlation"), 30) for factor in (unit, 1.0))
    np.testing.assert_allclose(one, other, atol=1e-12)


def test_a_huge_common_offset_costs_only_the_digits_it_takes(engine):
    x = np.random.default_rng(1).integers(-9, 10, size=(40, 8)) / 4
    one, other = (on_pairs(place(engine, x + offset, "correlation"), 40) for offset in (1e9, 0.0))
    np.testing.assert_allclose(one, other, atol=1e-12)


def test_scale_and_offset_of_a_row_do_not_matter(engine):
    x = np.outer(np.arange(1.0, 21.0), [1.0, 2.0, 4.0]) + np.arange(20.0)[:, None]
    view = place(engine, x, "correlation")
    assert view.is_constant()
    np.testing.assert_allclose(on_pairs(view, 20), 0, atol=1e-24)
