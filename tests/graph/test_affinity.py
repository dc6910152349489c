import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from consilience.graph import fused_similarity, gaussian_similarity, standardize

distances = hnp.arrays(np.float64, st.integers(2, 60), elements=st.floats(0, 1e6, width=32))
seeds = st.integers(0, 2**32 - 1)


def uneven(squared):
    """Whether the distances differ by more than rounding."""
    return np.std(squared) > 1e-6 * np.mean(squared)


def by_formula(squared):
    n = len(squared)
    mean = sum(squared) / n
    deviation = (sum((x - mean) ** 2 for x in squared) / (n - 1)) ** 0.5
    return np.array([max((x - mean) / deviation + 1, 0) for x in squared])


@given(distances.filter(uneven))
@settings(max_examples=50, deadline=None)
def test_standardize_is_the_formula(squared):
    before = squared.copy()
    found = standardize(squared)
    np.testing.assert_allclose(found, by_formula(squared), rtol=1e-6, atol=1e-8)
    assert (found >= 0).all()
    np.testing.assert_array_equal(squared, before)


def test_standardize_divides_by_n_minus_one_and_clips():
    # mean 4, deviation sqrt(38 / 3)
    np.testing.assert_allclose(
        standardize(np.array([1.0, 1.0, 6.0, 8.0])), np.array([-3, -3, 2, 4]) / np.sqrt(38 / 3) + 1
    )
    found = standardize(np.array([0.0, 10.0, 10.0, 10.0, 10.0]))
    assert found[0] == 0, "more than one deviation below the mean"
    np.testing.assert_allclose(found[1:], 2 / np.sqrt(20) + 1)


@given(distances.filter(uneven), st.integers(-900, 900))
@settings(max_examples=50, deadline=None)
def test_standardize_does_not_see_a_scale(squared, power):
    squared = squared / squared.max()
    squared[squared < 2.0**-100] = 0  # or the scale would push it out of range
    scaled = squared * 2.0**power
    np.testing.assert_array_equal(standardize(scaled), standardize(squared))


@given(distances.filter(uneven), st.floats(0, 100))
@settings(max_examples=50, deadline=None)
def test_standardize_does_not_see_a_shift(squared, shift):
    squared = squared / squared.mean()
    np.testing.assert_allclose(standardize(squared + shift), standardize(squared), atol=1e-6)


@pytest.mark.parametrize("length", [0.0, 1e-300, 0.1, 1.0, 1e300])
@pytest.mark.parametrize("n", [1, 2, 7])
def test_equal_distances_become_ones(length, n):
    np.testing.assert_array_equal(standardize(np.full(n, length)), np.ones(n))


def test_distances_that_differ_by_rounding_are_equal_and_others_are_not():
    rng = np.random.default_rng(0)
    np.testing.assert_array_equal(standardize(0.3 * (1 + 1e-15 * rng.normal(size=50))), np.ones(50))
    assert standardize(0.3 * (1 + 1e-9 * rng.normal(size=50))).std() > 0.5


@pytest.mark.parametrize("unit", [1e-300, 1e-200, 1e200, 1e300])
def test_tiny_and_huge_distances_standardize_like_any(unit):
    squared = np.random.default_rng(1).random(30)
    np.testing.assert_allclose(standardize(squared * unit), standardize(squared), rtol=1e-12)


@given(distances.filter(uneven), seeds)
@settings(max_examples=30, deadline=None)
def test_edges_not_judged_count_nowhere_and_come_out_as_zero(squared, seed):
    rng = np.random.default_rng(seed)
    seen = np.zeros(len(squared) + 10, dtype=bool)
    seen[rng.choice(len(seen), len(squared), replace=False)] = True
    spread = rng.random(len(seen)) * 1e9
    spread[seen] = squared
    for function in (standardize, gaussian_similarity):
        found = function(spread, seen)
        np.testing.assert_array_equal(found[seen], function(squared))
        assert not found[~seen].any()


def test_all_edges_judged_is_the_same_as_no_mask():
    squared = np.random.default_rng(2).random(20)
    everything = np.ones(20, dtype=bool)
    np.testing.assert_array_equal(standardize(squared, everything), standardize(squared))
    np.testing.assert_array_equal(gaussian_similarity(squared, everything), gaussian_similarity(squared))


@given(distances.filter(uneven))
@settings(max_examples=50, deadline=None)
def test_gaussian_similarity_is_the_formula(squared):
    sigma = sum(x**0.5 for x in squared) / len(squared)
    expected = [np.exp(-x / (2 * sigma**2)) for x in squared]
    found = gaussian_similarity(squared)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-300)
    assert (found[squared == 0] == 1).all()


@given(distances.filter(uneven))
@settings(max_examples=50, deadline=None)
def test_fused_similarity_is_the_formula(fused):
    sigma = sum(fused) / len(fused)
    expected = [np.exp(-x / (2 * sigma)) for x in fused]
    np.testing.assert_allclose(fused_similarity(fused), expected, rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("function", [gaussian_similarity, fused_similarity])
def test_nothing_but_zeros_is_nothing_but_ones(function):
    np.testing.assert_array_equal(function(np.zeros(5)), np.ones(5))


@pytest.mark.parametrize("function", [gaussian_similarity, fused_similarity])
@pytest.mark.parametrize("unit", [1e-300, 1e-100, 1e100, 1e300])
def test_similarities_do_not_depend_on_the_unit(function, unit):
    values = np.random.default_rng(3).random(40)
    values[0] = 0
    np.testing.assert_allclose(function(values * unit), function(values), rtol=1e-11)


@pytest.mark.parametrize("function", [gaussian_similarity, fused_similarity])
def test_nearer_is_more_similar(function):
    values = np.sort(np.random.default_rng(4).random(40))
    assert (np.diff(function(values)) < 0).all()
    assert (function(values) <= 1).all()


def test_input_is_left_alone():
    values = np.random.default_rng(5).random(20)
    before, seen = values.copy(), values > 0.3
    standardize(values, seen)
    gaussian_similarity(values, seen)
    fused_similarity(values)
    np.testing.assert_array_equal(values, before)


def test_fused_values_in_single_precision_give_similarities_in_single_precision():
    fused = np.random.default_rng(6).random(50, dtype=np.float32)
    found = fused_similarity(fused)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, fused_similarity(fused.astype(np.float64)), rtol=1e-6)
