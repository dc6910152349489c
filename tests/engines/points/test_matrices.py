"""Views that are matrices of distances or similarities between samples."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from tests.engines.placed import on_pairs, place
from tests.engines.points.forms import NUMBA, assert_mean_over_pairs, seeds, smallest, symmetric


@given(st.integers(2, 80), seeds, st.data())
@settings(max_examples=30, deadline=None)
def test_precomputed_distances(engine, n, seed, data):
    k = data.draw(st.integers(1, n - 1))
    matrix = symmetric(n, seed)
    plain = place(engine, matrix, "precomputed_distance")
    squared = place(engine, matrix, "precomputed_squared_distance")
    assert plain.kind == squared.kind == "distance"
    np.testing.assert_array_equal(plain.nearest(k), smallest(matrix, k))
    np.testing.assert_array_equal(squared.nearest(k), smallest(matrix, k))
    np.testing.assert_array_equal(on_pairs(plain, n), matrix**2)
    np.testing.assert_array_equal(on_pairs(squared, n), matrix)


@given(st.integers(2, 80), seeds, st.integers(1, 3), st.data())
@settings(max_examples=30, deadline=None)
def test_precomputed_similarities(engine, n, seed, largest, data):
    k = data.draw(st.integers(1, n - 1))
    matrix = symmetric(n, seed, largest)
    np.fill_diagonal(matrix, 5)
    ordered = smallest(-matrix, k)
    none = np.take_along_axis(matrix, ordered, axis=1) == 0
    expected = np.where(none, np.arange(n)[:, None], ordered)
    off = matrix - np.diag(matrix.diagonal())
    for form in (matrix, matrix.astype(np.float32), sparse.csr_array(matrix), sparse.csr_matrix(matrix)):
        view = place(engine, form, "precomputed_similarity")
        assert view.kind == "similarity"
        found = view.nearest(k)
        if sparse.issparse(form):  # which of equal ones: test_ties.py
            np.testing.assert_array_equal(
                np.take_along_axis(off, found, 1), np.take_along_axis(off, expected, 1)
            )
            named = [row[row != i].tolist() for i, row in enumerate(found)]
            assert all(len(set(row)) == len(row) for row in named)
        else:
            np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(on_pairs(view, n), off)


def test_matrices_need_not_be_symmetric(engine):
    matrix = np.array([[0.0, 2, 1, 9], [5, 0, 6, 7], [1, 8, 0, 2], [3, 3, 2, 0]])
    np.testing.assert_array_equal(
        place(engine, matrix, "precomputed_distance").nearest(2), [[2, 1], [0, 2], [0, 3], [2, 0]]
    )
    np.fill_diagonal(matrix, 1)
    np.testing.assert_array_equal(
        place(engine, matrix, "precomputed_similarity").nearest(2), [[3, 1], [3, 2], [1, 3], [0, 1]]
    )


def test_the_least_positive_similarity_is_a_neighbour_and_zero_is_not(engine):
    matrix = np.zeros((3, 3))
    matrix[0, 2] = matrix[2, 0] = 5e-324
    matrix[1, 1] = 1
    for form in (matrix, sparse.csr_array(matrix)):
        np.testing.assert_array_equal(
            place(engine, form, "precomputed_similarity").nearest(2), [[2, 0], [1, 1], [0, 2]]
        )


def test_stored_zero_similarity_is_no_neighbour(engine):
    stored = sparse.csr_array((np.array([1.0, 0, 1, 2]), ([0, 0, 1, 2], [1, 2, 0, 2])), shape=(3, 3))
    np.testing.assert_array_equal(
        place(engine, stored, "precomputed_similarity").nearest(2), [[1, 0], [0, 1], [2, 2]]
    )


GOOD = symmetric(5, 0) + 1 - np.eye(5)


def spoiled(*places):
    """Distances with some entries replaced: (i, j, value)."""
    matrix = GOOD.copy()
    for i, j, value in places:
        matrix[i, j] = value
    return matrix


@pytest.mark.parametrize(
    ("matrix", "metric", "message"),
    [
        (np.ones((3, 4)), "precomputed_distance", "'m' is 3 x 4.*square"),
        (sparse.csr_array(np.ones((4, 3))), "precomputed_similarity", "'m' is 4 x 3.*square"),
        (spoiled((1, 3, -2.5)), "precomputed_distance", "'m'.*distance -2.5 between samples 1 and 3"),
        (spoiled((1, 3, -2.5)), "precomputed_squared_distance", "-2.5 .* distances must not be negative"),
        (spoiled((4, 0, -1)), "precomputed_similarity", "similarity -1 between samples 4 and 0"),
        (spoiled((4, 0, -1)), "precomputed_similarity", "similarities must not be negative"),
        (sparse.csr_array(spoiled((4, 0, -1))), "precomputed_similarity", "-1 between samples 4 and 0"),
        (spoiled((2, 2, 7)), "precomputed_distance", "7 from sample 2 to itself.*'precomputed_similarity'"),
        (spoiled((2, 2, 7)), "precomputed_squared_distance", "7 from sample 2 to itself"),
        (GOOD, "precomputed_similarity", "'m' is 0 on the diagonal.*'precomputed_distance'"),
        (sparse.csr_array(GOOD), "precomputed_distance", "'m' holds distances in a sparse matrix"),
        (sparse.csr_matrix(GOOD), "precomputed_squared_distance", "'m' holds distances in a sparse matrix"),
    ],
)
def test_bad_matrices_are_refused_with_advice(engine, matrix, metric, message):
    with pytest.raises(ValueError, match=message):
        place(engine, matrix, metric, name="m")


def test_refusing_a_large_sparse_graph_takes_no_dense_copy(engine):
    graph = sparse.csr_array((np.array([1.0, -1.0]), ([3, 7], [8, 5])), shape=(10**6, 10**6))
    with pytest.raises(ValueError, match="-1 between samples 7 and 5"):
        place(engine, graph, "precomputed_similarity")


def test_a_complete_part_of_a_sparse_graph_is_not_taken_for_distances(engine):
    # Nobody stores distances sparsely, and two linked samples are a complete graph.
    chain = sparse.csr_array(np.diag(np.ones(5), 1) + np.diag(np.ones(5), -1))
    seen = np.array([True, True, False, False, False, False])
    found = place(engine, chain, "precomputed_similarity", seen=seen).nearest(1)
    np.testing.assert_array_equal(found[:, 0], [1, 0, 2, 3, 4, 5])


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csr_matrix])
def test_constant_similarities(engine, form):
    def constant(matrix):
        return place(engine, form(matrix), "precomputed_similarity").is_constant()

    assert constant(np.zeros((4, 4)))
    assert constant(np.eye(4)), "a sample's similarity to itself is no edge"
    assert constant(np.full((4, 4), 0.5))
    assert constant(np.full((4, 4), 0.5) + np.diag([1.0, 2, 3, 4]))
    for at in ((0, 1), (0, 3), (3, 0), (2, 1)):
        almost = np.full((4, 4), 0.5)
        almost[at] = 0.25
        assert not constant(almost)
        almost[at] = 0
        assert not constant(almost)
        lonely = np.eye(4)
        lonely[at] = 1
        assert not constant(lonely)


def test_stored_zero_similarities_are_constant(engine):
    stored = sparse.csr_array((np.zeros(3), ([0, 1, 2], [1, 2, 0])), shape=(4, 4))
    assert place(engine, stored, "precomputed_similarity").is_constant()


@pytest.mark.parametrize("metric", ["precomputed_distance", "precomputed_squared_distance"])
def test_constant_distances(engine, metric):
    assert place(engine, np.zeros((4, 4)), metric).is_constant()
    assert place(engine, 1 - np.eye(4), metric).is_constant()
    for at in ((0, 1), (0, 3), (3, 2)):
        almost = 1 - np.eye(4)
        almost[at] = 2
        assert not place(engine, almost, metric).is_constant()


def test_mean_over_pairs_of_given_matrices(engine):
    matrix = np.random.default_rng(22).uniform(1, 2, size=(20, 20))  # not symmetric
    np.fill_diagonal(matrix, 0)
    for dtype, rtol in ((np.float64, 1e-12), (np.float32, 1e-6)):
        given = matrix.astype(dtype)
        assert_mean_over_pairs(place(engine, given, "precomputed_distance"), matrix**2, rtol)
        assert_mean_over_pairs(place(engine, given, "precomputed_squared_distance"), matrix, rtol)
    np.fill_diagonal(matrix, 3)
    for form in (matrix, sparse.csr_array(matrix), sparse.csr_matrix(matrix)):
        assert_mean_over_pairs(place(engine, form, "precomputed_similarity"), matrix)


@NUMBA
def test_mean_over_pairs_of_a_given_matrix_takes_no_second_one(engine):
    matrix = np.ones((1000, 1000), dtype=np.float32)
    np.fill_diagonal(matrix, 0)
    view = place(engine, matrix, "precomputed_distance")
    tracemalloc.start()
    try:
        view.mean_over_pairs()
        assert tracemalloc.get_traced_memory()[1] < matrix.nbytes / 4
    finally:
        tracemalloc.stop()
