"""Compiled parts of the exact neighbour search.

A search looks at all pairs through fast approximate values, and at the few that could be neighbours
exactly. For row i and every j an approximate squared distance and a rigorous bound of its error are
known; T, the k-th smallest upper bound, is an upper bound of the k-th smallest distance; whatever has a
lower bound above T is out. The rest is measured directly, and the k smallest by (distance, index) are
kept. Distances are compared by their first twelve digits or so, lest the order of summation decide who is a
neighbour where distances are tied.
Columns are looked at in groups, through their minima: T is taken as the k-th smallest minimum of a
group's upper bounds, which is hardly larger than the k-th smallest of all, and few groups pass it. Group g
of G has the columns g, g + G, g + 2 G, ...: minima of many groups are then found by vector instructions.
"""

# Compiled functions are not annotated: Numba derives their types from the call.
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import math

import numba as nb
import numpy as np

_njit = nb.njit(nogil=True, cache=True, fastmath={"reassoc", "nsz", "contract", "nnan"})
_njit_inline = nb.njit(inline="always")
CHUNK = 64  # columns whose minimum is looked at first, to pass them all at once


@_njit
def select_dense(products, x, blank, squares, lengths, slack, floor, offset, k, first, last, index):
    """Find the k nearest rows of x for each row offset + r, r in [first, last).

    Parameters
    ----------
    products : ndarray of shape (n_rows, n)
        Approximate inner products of these rows with all rows, in some scaled and shifted copy of x.
    x : ndarray of shape (n, d)
        The rows themselves.
    blank : ndarray of bool of shape (n,)
        Rows without direction (cosine): as far from every other row as orthogonal unit vectors.
    squares, lengths : ndarray of shape (n,)
        Squared norm and norm of the rows in the scaled copy.
    slack, floor : float
        An approximate squared distance errs by at most ``slack * (lengths[i] + lengths[j]) ** 2 + floor``:
        rounding, and numbers too small to be told from 0.
    index : ndarray of shape (n, k)
        Output.
    """
    n, n_groups = len(squares), _number_of_groups(len(squares), k)
    bound = np.empty(n, products.dtype)
    lower, upper = np.empty(n_groups, products.dtype), np.empty(n_groups, products.dtype)
    smallest, distance = np.empty(k, products.dtype), np.empty(k, np.float64)
    for r in range(first, last):
        i = offset + r
        products[r, i] = -np.inf
        _bound_row(products[r], squares, lengths, slack, floor, i, bound, lower, upper)
        limit = _kth_smallest(upper, smallest)
        count = 0
        for group in range(n_groups):
            if lower[group] > limit:
                continue
            for j in range(group, n, n_groups):
                if bound[j] <= limit:
                    d = 2.0
                    if not (blank[i] or blank[j]):
                        d = squared_difference(x, i, j)
                    count = _insert(distance, index[i], count, k, d, j)


@_njit
def select_sparse(csr, transposed, blank, squares, lengths, slack, floor, k, first, last, index):
    """Find the k nearest rows; a matrix and its transpose each as CSR (data, indices, indptr)."""
    data, indices, indptr = csr
    t_data, t_indices, t_indptr = transposed
    n, n_groups = len(squares), _number_of_groups(len(squares), k)
    products, bound, lower, upper = np.empty(n), np.empty(n), np.empty(n_groups), np.empty(n_groups)
    smallest, distance = np.empty(k), np.empty(k)
    for i in range(first, last):
        products[:] = 0
        for p in range(indptr[i], indptr[i + 1]):
            column = indices[p]
            for q in range(t_indptr[column], t_indptr[column + 1]):
                products[t_indices[q]] += np.float64(data[p]) * np.float64(t_data[q])
        products[i] = -np.inf
        _bound_row(products, squares, lengths, slack, floor, i, bound, lower, upper)
        limit = _kth_smallest(upper, smallest)
        count = 0
        for j in range(n):
            if bound[j] <= limit:
                d = 2.0
                if not (blank[i] or blank[j]):
                    d = sparse_squared_difference(data, indices, indptr, i, j)
                count = _insert(distance, index[i], count, k, d, j)


@_njit
def select_given(values, offset, k, largest_allowed, first, last, index):
    """Find the k smallest entries of each row, itself and entries above `largest_allowed` left out.

    Rows with fewer than k such entries are filled up with their own number.
    """
    distance = np.empty(k, np.float64)
    for r in range(first, last):
        i = offset + r
        count = 0
        for begin in range(0, values.shape[1], CHUNK):
            end = min(begin + CHUNK, values.shape[1])
            if count == k and _minimum(values[r], begin, end) > distance[k - 1]:
                continue
            for j in range(begin, end):
                if j != i and values[r, j] <= largest_allowed:
                    count = _insert(distance, index[i], count, k, values[r, j], j)
        index[i, count:] = i


@_njit
def select_largest(csr, k, first, last, index):
    """Find the k largest positive entries of each row of a CSR matrix, itself left out; fill up as above."""
    data, indices, indptr = csr
    value = np.empty(k, np.float64)
    for i in range(first, last):
        count = 0
        for p in range(indptr[i], indptr[i + 1]):
            if indices[p] != i and data[p] > 0:
                count = _insert(value, index[i], count, k, -np.float64(data[p]), indices[p])
        index[i, count:] = i


@_njit
def mark_largest(indptr, values, k, first, last, kept):
    """Mark the k largest values of each compressed row in [first, last)."""
    value, position = np.empty(k, np.float64), np.empty(k, np.int64)
    for i in range(first, last):
        count = 0
        for p in range(indptr[i], indptr[i + 1]):
            count = _insert(value, position, count, k, -np.float64(values[p]), p)
        for c in range(count):
            kept[position[c]] = True


@_njit
def edge_squares_dense(x, blank, indptr, indices, first, last, out):
    """Squared differences on the edges of the rows [first, last)."""
    for i in range(first, last):
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            out[p] = 2.0 if blank[i] or blank[j] else squared_difference(x, i, j)


@_njit
def edge_squares_sparse(data, columns, rows, blank, indptr, indices, first, last, out):
    """Squared differences on the edges of the rows [first, last), for CSR features (data, columns, rows)."""
    for i in range(first, last):
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            out[p] = 2.0 if blank[i] or blank[j] else sparse_squared_difference(data, columns, rows, i, j)


@_njit
def squared_difference(x, i, j):
    """Squared Euclidean distance of two rows, the same to the last bit for (i, j) and (j, i)."""
    total = 0.0
    for f in range(x.shape[1]):
        difference = np.float64(x[i, f]) - np.float64(x[j, f])
        total += difference * difference
    return total


@_njit
def sparse_squared_difference(data, indices, indptr, i, j):
    """Squared Euclidean distance of two rows in CSR form with sorted indices."""
    p, p_end, q, q_end = indptr[i], indptr[i + 1], indptr[j], indptr[j + 1]
    total = 0.0
    while p < p_end or q < q_end:
        if q == q_end or (p < p_end and indices[p] < indices[q]):
            difference = np.float64(data[p])
            p += 1
        elif p == p_end or indices[q] < indices[p]:
            difference = np.float64(data[q])
            q += 1
        else:
            difference = np.float64(data[p]) - np.float64(data[q])
            p += 1
            q += 1
        total += difference * difference
    return total


@_njit
def _number_of_groups(n, k):
    """Return several groups for each neighbour asked for, of not too many columns."""
    return max(128, 4 * k, n // 64)


@_njit
def _bound_row(products, squares, lengths, slack, floor, i, bound, lower, upper):
    """Fill `bound` with lower bounds, `lower` and `upper` with each group's least lower and upper bound.

    The squared norm of row i, common to all its distances, is left out of all of them.
    """
    n_groups, own = len(lower), lengths[i]
    lower[:] = np.inf
    upper[:] = np.inf
    for start in range(0, len(bound), n_groups):
        # Slices, because a sum of two numbers as index would be checked for being negative each time.
        here = slice(start, start + n_groups)
        length, square, product, below = lengths[here], squares[here], products[here], bound[here]
        for g in range(len(below)):
            reach = own + length[g]
            error = slack * reach * reach + floor
            middle = square[g] - product[g] - product[g]
            below[g] = middle - error
            lower[g] = min(lower[g], middle - error)
            upper[g] = min(upper[g], middle + error)


@_njit
def _kth_smallest(values, smallest):
    """Return the k-th smallest value, infinity if there are fewer; `smallest` has room for k."""
    k = len(smallest)
    smallest[:] = np.inf
    for value in values:
        if value < smallest[k - 1]:
            place = k - 1
            while place > 0 and smallest[place - 1] > value:
                smallest[place] = smallest[place - 1]
                place -= 1
            smallest[place] = value
    return smallest[k - 1]


@_njit_inline
def _minimum(values, begin, end):
    least = values[begin]
    for j in range(begin + 1, end):
        least = min(least, values[j])
    return least


@_njit
def _without_last_digits(d):
    """Round to 41 significant bits, so that distances equal but for rounding errors become equal."""
    if not abs(d) < np.inf:
        return d
    mantissa, exponent = math.frexp(d)
    return math.ldexp(math.floor(mantissa * 2.0**41 + 0.5) * 2.0**-41, exponent)


@_njit
def _insert(distance, index, count, k, d, j):
    """Put (d, j) into a list of at most k, ascending by distance, then by index."""
    d = _without_last_digits(d)
    place = count
    while place > 0 and (distance[place - 1] > d or (distance[place - 1] == d and index[place - 1] > j)):
        if place < k:
            distance[place] = distance[place - 1]
            index[place] = index[place - 1]
        place -= 1
    if place == k:
        return count
    distance[place] = d
    index[place] = j
    return min(count + 1, k)
