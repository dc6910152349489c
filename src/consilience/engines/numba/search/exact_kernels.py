"""Compiled parts of the exact neighbour search.

A search compares all pairs by fast approximate values, and the few that could be neighbours exactly. For row
i and every j an approximate squared distance and a rigorous bound of its error are known; T, the k-th
smallest upper bound, is an upper bound of the k-th smallest distance; every j with a lower bound above T is
excluded. The rest is measured directly, and the k smallest by (distance, index) are kept. Distances are
compared by about their first twelve digits, so that the order of summation does not decide where distances
are tied.
Columns are treated in groups, by their minima: T is taken as the k-th smallest minimum of a
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
CHUNK = 64  # columns whose minimum is compared first, to skip them all at once


@_njit
def select_dense(products, rows, among, slack, floor, far, own, offset, k, first, last, index):
    """Find the k nearest rows of `among` for each row offset + r of `rows`, r in [first, last).

    Parameters
    ----------
    products : ndarray of shape (n_rows, n)
        Approximate inner products of these rows with all of `among`, in a scaled and shifted copy.
    rows : tuple
        The rows themselves, of shape (m, d); which of them are blank; their norms in the scaled copy. A blank
        row has no direction (cosine): it is as far from every other as orthogonal unit vectors.
    among : tuple
        The same, of n rows; and, as the last, their squared norms.
    slack, floor : float
        An approximate squared distance errs by at most ``slack * (length_i + length_j) ** 2 + floor``:
        rounding, and numbers too small to be distinguished from 0.
    far : float
        Rows of this length or more have no such bounds: they are compared with all others exactly.
    own : bool
        Whether both are the same rows, and no row is a neighbour of itself.
    index : ndarray of shape (m, k)
        Output.
    """
    x, x_blank, x_lengths = rows
    y, y_blank, y_lengths, y_squares = among
    n, n_groups = len(y_squares), _number_of_groups(len(y_squares), k)
    bound = np.empty(n, products.dtype)
    lower, upper = np.empty(n_groups, products.dtype), np.empty(n_groups, products.dtype)
    smallest, distance = np.empty(k, products.dtype), np.empty(k, np.float64)
    for r in range(first, last):
        i = offset + r
        if own:
            products[r, i] = -np.inf
        _bound_row(products[r], y_squares, y_lengths, slack, floor, x_lengths[i], bound, lower, upper)
        limit = _kth_smallest(upper, smallest) if x_lengths[i] < far else np.inf
        count = 0
        for group in range(n_groups):
            if lower[group] > limit:
                continue
            for j in range(group, n, n_groups):
                if bound[j] <= limit:
                    d = 2.0
                    if not (x_blank[i] or y_blank[j]):
                        d = squared_difference(x, i, y, j)
                    count = insert(distance, index[i], count, k, d, j)


@_njit
def select_sparse(rows, among, slack, floor, far, own, k, first, last, index):
    """Find the k nearest rows; as above, but without given products, and rows are in CSR form.

    `rows` begins with (data, indices, indptr), `among` with these of a matrix and of its transpose.
    """
    data, indices, indptr, x_blank, x_lengths = rows
    y_data, y_indices, y_indptr, t_data, t_indices, t_indptr, y_blank, y_lengths, y_squares = among
    n, n_groups = len(y_squares), _number_of_groups(len(y_squares), k)
    products, bound, lower, upper = np.empty(n), np.empty(n), np.empty(n_groups), np.empty(n_groups)
    smallest, distance = np.empty(k), np.empty(k)
    for i in range(first, last):
        products[:] = 0
        near = x_lengths[i] < far  # for other rows products may not be finite
        for p in range(indptr[i], indptr[i + 1] if near else indptr[i]):
            column = indices[p]
            for q in range(t_indptr[column], t_indptr[column + 1]):
                products[t_indices[q]] += np.float64(data[p]) * np.float64(t_data[q])
        if own:
            products[i] = -np.inf
        _bound_row(products, y_squares, y_lengths, slack, floor, x_lengths[i], bound, lower, upper)
        limit = _kth_smallest(upper, smallest) if near else np.inf
        count = 0
        for j in range(n):
            if bound[j] <= limit:
                d = 2.0
                if not (x_blank[i] or y_blank[j]):
                    d = sparse_squared_difference(data, indices, indptr, i, y_data, y_indices, y_indptr, j)
                count = insert(distance, index[i], count, k, d, j)


@_njit
def select_given(values, own, offset, k, largest_allowed, first, last, index):
    """Find the k smallest entries of each row, without those above `largest_allowed`, and if `own` itself.

    Rows with fewer than k such entries are filled with their own number, or with -1 if not `own`.
    """
    distance = np.empty(k, np.float64)
    for r in range(first, last):
        i = offset + r
        itself = i if own else -1
        count = 0
        for begin in range(0, values.shape[1], CHUNK):
            end = min(begin + CHUNK, values.shape[1])
            if count == k and _minimum(values[r], begin, end) > distance[k - 1]:
                continue
            for j in range(begin, end):
                if j != itself and values[r, j] <= largest_allowed:
                    count = insert(distance, index[i], count, k, values[r, j], j)
        index[i, count:] = itself


@_njit
def mark_largest(indptr, values, k, first, last, kept):
    """Mark the k largest values of each compressed row in [first, last)."""
    value, position = np.empty(k, np.float64), np.empty(k, np.int64)
    for i in range(first, last):
        count = 0
        for p in range(indptr[i], indptr[i + 1]):
            count = insert(value, position, count, k, -np.float64(values[p]), p)
        for c in range(count):
            kept[position[c]] = True


@_njit
def edge_squares_dense(rows, among, edges, known, first, last, out):
    """Squared differences on the edges of the rows [first, last) to rows of `among`.

    Parameters
    ----------
    rows, among : tuple
        The rows, and which of them have no direction.
    edges : tuple
        (indptr, indices).
    known : tuple
        Lists of the other ends of some edges of each row, and their known values; the lists may be empty.
    """
    (x, x_blank), (y, y_blank), (indptr, indices), (listed, squares) = rows, among, edges, known
    for i in range(first, last):
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            slot = place_of(j, listed[i])
            if slot >= 0:
                out[p] = squares[i, slot]
            elif x_blank[i] or y_blank[j]:
                out[p] = 2.0
            else:
                out[p] = squared_difference(x, i, y, j)


@_njit
def edge_squares_sparse(rows, among, edges, known, first, last, out):
    """Squared differences on edges, as above, of features in CSR form: (data, indices, indptr, blank)."""
    (data, columns, starts, blank), (y_data, y_columns, y_starts, y_blank) = rows, among
    (indptr, indices), (listed, squares) = edges, known
    for i in range(first, last):
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            slot = place_of(j, listed[i])
            if slot >= 0:
                out[p] = squares[i, slot]
            elif blank[i] or y_blank[j]:
                out[p] = 2.0
            else:
                out[p] = sparse_squared_difference(data, columns, starts, i, y_data, y_columns, y_starts, j)


@_njit
def place_of(j, members):
    """Return where in a list j is, -1 if it is not in it."""
    for slot in range(len(members)):
        if members[slot] == j:
            return slot
    return -1


@_njit
def squared_difference(x, i, y, j):
    """Squared Euclidean distance of two rows, the same to the last bit if they are swapped."""
    total = 0.0
    for f in range(x.shape[1]):
        difference = np.float64(x[i, f]) - np.float64(y[j, f])
        total += difference * difference
    return total


# Every rounding is meant. Unless that is said here, the flags of the function that calls it first would hold.
@nb.njit(nogil=True, cache=True, fastmath=False)
def sparse_squared_difference(data, indices, indptr, i, y_data, y_indices, y_indptr, j):
    """Squared Euclidean distance of two rows in CSR form with sorted indices.

    What is lost to rounding is added up, too (Neumaier, 1974): so rows with the same differences at other
    places are equally far, nearly always to the last bit. Such ties are frequent among counts.
    """
    p, p_end, q, q_end = indptr[i], indptr[i + 1], y_indptr[j], y_indptr[j + 1]
    total = lost = 0.0
    while p < p_end or q < q_end:
        if q == q_end or (p < p_end and indices[p] < y_indices[q]):
            difference = np.float64(data[p])
            p += 1
        elif p == p_end or y_indices[q] < indices[p]:
            difference = np.float64(y_data[q])
            q += 1
        else:
            difference = np.float64(data[p]) - np.float64(y_data[q])
            p += 1
            q += 1
        square = difference * difference
        before, total = total, total + square
        lost += (before - total) + square if before >= square else (square - total) + before
    return total + lost if total < np.inf else total


@_njit
def _number_of_groups(n, k):
    """Return several groups for each neighbour asked for, of not too many columns."""
    return max(128, 4 * k, n // 64)


@_njit
def _bound_row(products, squares, lengths, slack, floor, own, bound, lower, upper):
    """Fill `bound` with lower bounds, `lower` and `upper` with each group's least lower and upper bound.

    The squared norm of the row, common to all its distances, is left out of all of them; `own` is its norm.
    """
    n_groups = len(lower)
    lower[:] = np.inf
    upper[:] = np.inf
    for start in range(0, len(bound), n_groups):
        # Slices, because an index that is a sum would be checked each time for being negative.
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
    """Round to 41 significant bits, so that distances equal up to rounding errors become equal."""
    if not abs(d) < np.inf:
        return d
    mantissa, exponent = math.frexp(d)
    return math.ldexp(math.floor(mantissa * 2.0**41 + 0.5) * 2.0**-41, exponent)


@_njit
def insert(distance, index, count, k, d, j):
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
