"""Projection of rows onto the probability simplex."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.engines.names import HOST_ENGINES

from consilience.engines import get_engine, threads

numba = get_engine("numba")
numpy = get_engine("numpy")  # projects by sorting, as textbooks do


@given(arrays(float, st.tuples(st.integers(1, 5), st.integers(1, 9)), elements=st.floats(-5, 5)))
def test_equals_the_projection_by_sorting(rows):
    found, expected = numba.project_rows(rows), numpy.project_rows(rows)
    np.testing.assert_allclose(found, expected, atol=1e-14)
    for one in (found, expected):
        np.testing.assert_allclose(one.sum(axis=1), 1, rtol=1e-12)


@pytest.mark.parametrize("name", HOST_ENGINES)
@given(row=arrays(float, 6, elements=st.floats(-3, 3)), other=arrays(float, 6, elements=st.floats(0.01, 1)))
def test_no_point_of_the_simplex_is_nearer(name, row, other):
    other = other / other.sum()
    found = get_engine(name).project_rows(row[None])[0]
    assert np.linalg.norm(row - found) <= np.linalg.norm(row - other) + 1e-12
    # The condition that characterises a projection onto a convex set.
    assert (row - found) @ (other - found) <= 1e-12


def test_rows_of_different_supports_are_projected_each_on_its_own():
    rng = np.random.default_rng(0)
    lengths = rng.integers(0, 7, 500)
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    values = rng.normal(size=indptr[-1])
    found, expected = numba.project_rows(values, indptr), numpy.project_rows(values, indptr)
    assert found.shape == expected.shape == values.shape
    for a, b in itertools.pairwise(indptr):
        if b > a:
            alone = numpy.project_rows(values[None, a:b])[0]
            np.testing.assert_allclose(found[a:b], alone, atol=1e-14)
            np.testing.assert_allclose(expected[a:b], alone, atol=1e-14)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_number_of_threads_changes_nothing(n_jobs):
    rows = np.random.default_rng(0).normal(size=(300, 50))
    with threads.limit(n_jobs):
        found = numba.project_rows(rows)
    assert np.array_equal(found, numba.project_rows(rows))


def test_huge_and_tiny_entries():
    np.testing.assert_array_equal(numba.project_rows(np.array([[1e300, -1e300]])), [[1, 0]])
    np.testing.assert_allclose(numba.project_rows(np.array([[1e9 + 0.25, 1e9 - 0.25]])), [[0.75, 0.25]])
    np.testing.assert_allclose(numba.project_rows(np.full((1, 4), 1e-300)), [[0.25] * 4])


def test_ties_at_the_threshold_end():
    # The threshold falls on the last entries, which differ in the last bit only: a loop never ended.
    entries = [
        "-0x1.ec8b9982b103ap-1", "-0x1.6f791c00e992ap-1", "-0x1.c09187d69eb1ap-1", "-0x1.9c6345586366ep-1",
        "-0x1.47067d4d63517p-1", "-0x1.0000000000000p+0", "-0x1.0000000000002p+0", "-0x1.0000000000000p+0",
        "-0x1.0000000000000p+0",
    ]  # fmt: skip
    row = np.array([float.fromhex(entry) for entry in entries])
    np.testing.assert_allclose(numba.project_rows(row[None])[0], numpy.project_rows(row[None])[0], atol=1e-14)


def test_a_row_with_nan_has_no_projection_and_the_others_have():
    found = numba.project_rows(np.array([[np.nan, 1.0], [2.0, 0.0]]))
    assert np.isnan(found[0]).all()
    np.testing.assert_array_equal(found[1], [1, 0])


@pytest.mark.parametrize("name", HOST_ENGINES)
def test_the_input_is_left_alone(name):
    rows = np.array([[3, 1], [0, 0]])
    get_engine(name).project_rows(rows)
    np.testing.assert_array_equal(rows, [[3, 1], [0, 0]])
