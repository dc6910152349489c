"""Sums over sparse rows: what is equal but for the order of its terms must stay equal."""

import math

import numpy as np
from scipy import sparse

from consilience.engines.numba.search.exact_kernels import sparse_squared_difference


def squared(x, i, j):
    parts = x.data, x.indices, x.indptr
    return sparse_squared_difference(*parts, i, *parts, j)


def test_rows_with_the_same_differences_in_another_order_are_equally_far():
    rng = np.random.default_rng(0)
    for _ in range(200):
        row = rng.random(60)
        x = sparse.csr_array(np.vstack([np.zeros(60), row, rng.permutation(row)]))
        assert squared(x, 0, 1) == squared(x, 0, 2) == squared(x, 1, 0) == math.fsum(row * row)


def test_squares_that_are_too_large_are_infinite():
    x = sparse.csr_array(np.array([[1e200, 1.0], [0.0, 2.0]]))
    assert squared(x, 0, 1) == np.inf
