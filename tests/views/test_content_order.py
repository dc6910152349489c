"""Keys that follow from what the views hold of a sample."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from consilience.views import Views, graph_view
from consilience.views.content_order import _BLOCK, content_keys, content_order, n_numbers


def numbers(seed, shape, levels=4):
    return np.random.default_rng(seed).integers(-1, levels, size=shape).astype(float)


def symmetric(seed, n, levels=4):
    matrix = np.triu(np.abs(numbers(seed, (n, n), levels)), 1)
    return matrix + matrix.T


seeds = st.integers(0, 10_000)


@settings(max_examples=40)
@given(data=seeds, shuffle=seeds, n=st.integers(2, 30))
def test_keys_move_with_the_samples(data, shuffle, n):
    mask = np.random.default_rng(data).random((n, 4)) < 0.8
    mask[:, 0] = True
    matrix = numbers(data, (n, n))
    arrays = [
        numbers(data, (n, 2)),
        sparse.csr_array(numbers(data + 1, (n, 5))),
        matrix,
        sparse.csr_array(matrix),
    ]
    views = Views(arrays, mask=mask, pairwise=[False, False, True, True])
    order = np.random.default_rng(shuffle).permutation(n)
    np.testing.assert_array_equal(content_keys(views[order]), content_keys(views)[order])


@settings(max_examples=40)
@given(data=seeds, n=st.integers(1, 30), d=st.integers(1, 8))
def test_the_same_numbers_have_the_same_keys_in_any_form(data, n, d):
    rows = numbers(data, (n, d))
    keys = content_keys(Views(rows))
    stored = sparse.csr_array(
        (rows.ravel(), np.tile(np.arange(d), n), np.arange(0, n * d + 1, d)), shape=(n, d)
    )
    backwards = sparse.csr_array(
        (rows[:, ::-1].ravel(), np.tile(np.arange(d)[::-1], n), np.arange(0, n * d + 1, d)), shape=(n, d)
    )
    for form in (
        rows.astype(np.float32),
        np.asfortranarray(rows),
        np.where(rows == 0, -0.0, rows),
        sparse.csr_array(rows),
        sparse.csc_array(rows),
        sparse.csr_array(rows.astype(np.float32)),
        stored,  # zeros, too
        backwards,
    ):
        np.testing.assert_array_equal(content_keys(Views(form)), keys)


def test_a_row_in_another_column_or_view_has_another_key():
    one, two = np.array([[1.0, 2.0], [2.0, 1.0]]), np.array([[3.0], [3.0]])
    keys = {*content_keys(Views([one, two])).tolist(), *content_keys(Views([two, one])).tolist()}
    assert len(keys) == 4


def test_no_two_of_many_rows_have_the_same_key():
    grid = np.stack(np.meshgrid(*[np.arange(18.0)] * 4), axis=-1).reshape(-1, 4)
    assert len(np.unique(content_keys(Views(grid)))) == len(grid) == 18**4


def test_the_order_is_no_sort_by_values():
    """Samples next to each other in the order are no more alike than any."""
    values = np.arange(5000.0)[:, None]
    order = content_order(Views(values))
    assert np.abs(np.diff(order)).mean() == pytest.approx(5000 / 3, rel=0.05)
    assert abs(np.corrcoef(order, np.arange(5000))[0, 1]) < 0.05


def test_keys_are_spread_evenly():
    keys = content_keys(Views(np.arange(20_000.0)[:, None]))
    bits = np.unpackbits(keys[:, None].view(np.uint8), axis=1)
    np.testing.assert_allclose(bits.mean(axis=0), 0.5, atol=0.02)


def test_empty_cells_are_alike_and_differ_from_zero():
    other = np.frombuffer(np.uint64(0x7FF8000000000123).tobytes(), dtype=np.float64)[0]  # also NaN
    keys = content_keys(Views([[np.nan, 1.0], [other, 1.0], [0.0, 1.0]]))
    assert keys[0] == keys[1] != keys[2]


def test_a_sample_that_a_view_has_not_seen_is_no_row_of_zeros():
    rows = np.array([[0.0, 0.0], [0.0, 0.0], [5.0, 1.0], [7.0, 1.0]])
    mask = np.array([[True, True], [False, True], [False, True], [True, True]])
    keys = content_keys(Views([rows, np.ones((4, 1))], mask=mask))
    assert keys[1] == keys[2] and len(set(keys.tolist())) == 3


# Matrices between samples


@settings(max_examples=30)
@given(data=seeds, n=st.integers(2, 30))
def test_a_sparse_matrix_has_the_keys_of_the_dense_one_whatever_its_diagonal(data, n):
    matrix = symmetric(data, n)
    keys = content_keys(Views({"m": matrix}, pairwise=True))
    np.testing.assert_array_equal(content_keys(Views({"m": sparse.csr_array(matrix)}, pairwise=True)), keys)
    own = matrix + np.diag(1 + np.arange(n))
    np.testing.assert_array_equal(content_keys(Views({"m": own}, pairwise=True)), keys)


def test_samples_are_told_apart_by_who_their_neighbours_are():
    """On a path the ends are known at first, and each round tells who is one step farther from them."""
    path = sparse.csr_array(np.eye(9, k=1) + np.eye(9, k=-1))
    keys = content_keys(Views([graph_view(path, kind="similarity")]))
    np.testing.assert_array_equal(keys, keys[::-1])  # it may be turned round
    assert len(np.unique(keys)) == 5
    first = np.zeros((9, 1))
    first[0] = 1
    keys = content_keys(Views([graph_view(path, kind="similarity"), first]))
    assert len(np.unique(keys)) == 9


def test_edges_have_a_direction_and_an_edge_of_length_0_is_one():
    to = sparse.csr_array(([1.0, 1.0], ([0, 1], [1, 2])), shape=(3, 3))  # 0 -> 1 -> 2
    assert len(np.unique(content_keys(Views([graph_view(to, kind="similarity", directed=True)])))) == 3
    near = sparse.csr_array(([0.0, 0.0], ([0, 1], [1, 0])), shape=(4, 4))
    keys = content_keys(Views([graph_view(near, kind="distance")]))
    assert keys[0] == keys[1] != keys[2] == keys[3]


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("shape", [(40_000, 3), (5, 2 * _BLOCK), (3, 3)])
def test_blocks_do_not_show(form, shape):
    rows = numbers(1, shape)
    keys = content_keys(Views(form(rows)))
    some = np.arange(0, len(rows), 7)
    np.testing.assert_array_equal(content_keys(Views(form(rows[some]))), keys[some])


def test_numbers_are_those_that_are_stored():
    assert n_numbers(Views([np.ones((4, 3)), sparse.csr_array(np.eye(4))])) == 16
