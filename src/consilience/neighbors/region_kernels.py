"""Compiled parts of the approximate search: see `regions`."""

# Compiled functions are not annotated: Numba derives their types from the call.
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import numba as nb
import numpy as np

from .kernels import insert, sparse_squared_difference, squared_difference

_njit = nb.njit(nogil=True, cache=True, fastmath={"reassoc", "nsz", "contract", "nnan"})
CHUNK = 32  # pairs that are passed over at once if none of them is near; a constant, for vector instructions


@nb.njit(inline="always")
def _some_below(products, squares, limit, begin):
    """Say whether one of the CHUNK values squares - 2 products from `begin` on is below the limit."""
    product, square = products[begin : begin + CHUNK], squares[begin : begin + CHUNK]
    if len(product) < CHUNK:
        return True
    count = np.float32(0)
    for c in range(CHUNK):
        count += np.float32(1) if square[c] - product[c] - product[c] < limit else np.float32(0)
    return count > 0


@_njit
def nearest_centers(products, squares, labels):
    """Set the nearest centre of each row, from its products with all centres and their squared norms."""
    n_centers = len(squares)
    for r in range(len(products)):
        best, least = 0, np.float32(np.inf)
        for begin in range(0, n_centers, CHUNK):
            if _some_below(products[r], squares, least, begin):
                for c in range(begin, min(begin + CHUNK, n_centers)):
                    distance = squares[c] - products[r, c] - products[r, c]
                    if distance < least:
                        best, least = c, distance
        labels[r] = best


@_njit
def choose_regions(products, squares, own_squares, weight, reach, fewest, counts, chosen):
    """List the regions to look into for each row, the nearest first; return how many entries were written.

    Those whose centre has a squared distance of at most ``reach + weight * (that of the nearest)``, but at
    least `fewest`.
    """
    n_regions, place = len(squares), 0
    near, which = np.empty(fewest, np.float32), np.empty(fewest, np.int32)
    for r in range(len(products)):
        near[:] = np.inf
        which[:] = 0
        for begin in range(0, n_regions, CHUNK):
            if _some_below(products[r], squares, near[fewest - 1], begin):
                for c in range(begin, min(begin + CHUNK, n_regions)):
                    distance = squares[c] - products[r, c] - products[r, c]
                    if distance < near[fewest - 1]:
                        slot = fewest - 1
                        while slot > 0 and near[slot - 1] > distance:
                            near[slot], which[slot] = near[slot - 1], which[slot - 1]
                            slot -= 1
                        near[slot], which[slot] = distance, c
        first = place
        for slot in range(fewest):
            chosen[place] = which[slot]
            place += 1
        own, last = own_squares[r], near[fewest - 1]
        limit = reach + weight * (near[0] + own) - own
        if limit > last:
            for begin in range(0, n_regions, CHUNK):
                if _some_below(products[r], squares, limit, begin):
                    for c in range(begin, min(begin + CHUNK, n_regions)):
                        distance = squares[c] - products[r, c] - products[r, c]
                        if distance < limit and not _listed(which, c):
                            chosen[place] = c
                            place += 1
        counts[r] = place - first
    return place


@nb.njit(inline="always")
def _listed(which, c):
    found = False
    for other in which:
        found |= other == c
    return found


@_njit
def group_by_region(rows, starts, chosen, skip, ends, grouped):
    """Sort the pairs (row, region) of some rows by region; `ends` becomes where each region's rows end.

    `skip` leading regions of each row are left out. Return the number of pairs.
    """
    ends[:] = 0
    for row in rows:
        for p in range(starts[row] + skip, starts[row + 1]):
            ends[chosen[p]] += 1
    total = 0
    for c in range(len(ends)):
        total += ends[c]
        ends[c] = total - ends[c]
    for r in range(len(rows)):
        row = rows[r]
        for p in range(starts[row] + skip, starts[row + 1]):
            c = chosen[p]
            grouped[ends[c]] = r
            ends[c] += 1
    return total


@_njit
def improve_lists(products, samples, first, squares, distance, index):
    """Offer each sample, a row of `products`, the samples from `first` on, its columns; never itself.

    Row r of `distance` and `index` is the list of ``samples[r]``, ascending.
    """
    n_columns, last = products.shape[1], distance.shape[1] - 1
    own = squares[first : first + n_columns]
    for r in range(len(products)):
        square, nearest, members = squares[samples[r]], distance[r], index[r]
        for begin in range(0, n_columns, CHUNK):
            if _some_below(products[r], own, nearest[last] - square, begin):
                for c in range(begin, min(begin + CHUNK, n_columns)):
                    d = square + own[c] - products[r, c] - products[r, c]
                    if d < nearest[last] and first + c != samples[r]:
                        _improve(nearest, members, d, first + c)


@_njit
def near_pairs(products, queries, first, squares, distance, found, values):
    """List the pairs of a tile that are nearer than what one of the two has so far; return their number.

    Row r of `products` belongs to the sample ``queries[r]``, column c to the sample ``first + c``;
    `distance` has the lists so far, ascending. Another thread may shorten them meanwhile: then some pairs are
    listed in vain.
    """
    n_columns, last = products.shape[1], distance.shape[1] - 1
    limits, own = np.empty(n_columns, np.float32), squares[first : first + n_columns]
    for c in range(n_columns):
        limits[c] = distance[first + c, last]
    count = 0
    for r in range(len(products)):
        q = queries[r]
        square, limit, product = squares[q], distance[q, last], products[r]
        for begin in range(0, n_columns, CHUNK):
            here = slice(begin, begin + CHUNK)
            some, other, bound = product[here], own[here], limits[here]
            hits = np.float32(len(some) < CHUNK)
            if len(some) == CHUNK:
                for c in range(CHUNK):
                    d = square + other[c] - some[c] - some[c]
                    hits += np.float32(1) if d < max(limit, bound[c]) else np.float32(0)
            if hits == 0:
                continue
            for c in range(len(some)):
                d = square + other[c] - some[c] - some[c]
                if d < max(limit, bound[c]):
                    found[count, 0], found[count, 1] = q, first + begin + c
                    values[count] = d
                    count += 1
    return count


@_njit
def insert_pairs(found, values, count, distance, index):
    """Put each of some pairs into the lists of both its ends."""
    for p in range(count):
        i, j = found[p, 0], found[p, 1]
        if i != j:
            _improve(distance[i], index[i], values[p], j)
            _improve(distance[j], index[j], values[p], i)


@_njit
def _improve(distance, index, d, j):
    """Put (d, j) into a full list, ascending by distance, then index, in which nobody may be twice."""
    place = len(distance) - 1
    if d > distance[place] or (d == distance[place] and j >= index[place]):
        return
    for other in range(place):
        if index[other] == j:
            if distance[other] <= d:
                return
            place = other  # it was there with a larger value, by rounding
            break
    while place > 0 and (distance[place - 1] > d or (distance[place - 1] == d and index[place - 1] > j)):
        distance[place], index[place] = distance[place - 1], index[place - 1]
        place -= 1
    distance[place], index[place] = d, j


@_njit
def measure_lists(x, samples, lists, k, first, last, nearest, squares):
    """Measure the members of the lists exactly, for places [first, last), and keep the k nearest.

    `lists` has places in `samples`; `nearest` and `squares` are filled by sample.
    """
    distance, members = np.empty(k), np.empty(k, np.int32)
    for place in range(first, last):
        i, count = samples[place], 0
        for slot in range(lists.shape[1]):
            if lists[place, slot] >= 0:
                j = samples[lists[place, slot]]
                count = insert(distance, members, count, k, squared_difference(x, i, x, j), j)
        for slot in range(count):
            nearest[i, slot] = members[slot]
            squares[i, slot] = squared_difference(x, i, x, members[slot])
        nearest[i, count:] = i


@_njit
def measure_lists_sparse(data, indices, indptr, samples, lists, k, first, last, nearest, squares):
    """Measure the members of the lists, as above, of features in CSR form."""
    distance, members = np.empty(k), np.empty(k, np.int32)
    x = data, indices, indptr
    for place in range(first, last):
        i, count = samples[place], 0
        for slot in range(lists.shape[1]):
            if lists[place, slot] >= 0:
                j = samples[lists[place, slot]]
                d = sparse_squared_difference(*x, i, *x, j)
                count = insert(distance, members, count, k, d, j)
        for slot in range(count):
            nearest[i, slot] = members[slot]
            squares[i, slot] = sparse_squared_difference(*x, i, *x, members[slot])
        nearest[i, count:] = i


@_njit
def edge_squares_known(x, blank, indptr, indices, nearest, squares, first, last, out):
    """Squared differences on the edges of the rows [first, last), those in the lists taken from there."""
    for i in range(first, last):
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            slot = _place(nearest[i], j)
            if slot >= 0:
                out[p] = squares[i, slot]
            elif blank[i] or blank[j]:
                out[p] = 2.0
            else:
                out[p] = squared_difference(x, i, x, j)


@_njit
def edge_squares_known_sparse(
    data, columns, starts, blank, indptr, indices, nearest, squares, first, last, out
):
    """Squared differences on the edges, as above, of features in CSR form."""
    x = data, columns, starts
    for i in range(first, last):
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            slot = _place(nearest[i], j)
            if slot >= 0:
                out[p] = squares[i, slot]
            elif blank[i] or blank[j]:
                out[p] = 2.0
            else:
                out[p] = sparse_squared_difference(*x, i, *x, j)


@_njit
def _place(members, j):
    """Return where in a list j is, -1 if nowhere."""
    for slot in range(len(members)):
        if members[slot] == j:
            return slot
    return -1


@_njit
def sparse_center_products(data, indices, indptr, start, stop, centers, out):
    """Fill in the products of rows in CSR form with centres, which are columns."""
    for i in range(start, stop):
        row = out[i - start]
        row[:] = 0
        for p in range(indptr[i], indptr[i + 1]):
            value, center = data[p], centers[indices[p]]
            for c in range(len(row)):
                row[c] += value * center[c]


@_njit
def sparse_products(data, indices, indptr, n_columns, queries, start, stop, out):
    """Fill in the products of some rows in CSR form with those from start to stop, by their transpose."""
    first, last = indptr[start], indptr[stop]
    ends = np.zeros(n_columns + 1, np.int32)
    rows, values = np.empty(last - first, np.int32), np.empty(last - first, np.float32)
    for p in range(first, last):
        ends[indices[p] + 1] += 1
    for c in range(n_columns):
        ends[c + 1] += ends[c]
    for i in range(start, stop):
        for p in range(indptr[i], indptr[i + 1]):
            place = ends[indices[p]]
            rows[place], values[place] = i - start, data[p]
            ends[indices[p]] += 1
    # Now entry c of `ends` is where column c ends, and the one before it where that begins.
    for r in range(len(queries)):
        row = out[r]
        row[:] = 0
        for p in range(indptr[queries[r]], indptr[queries[r] + 1]):
            column, value = indices[p], data[p]
            for place in range(ends[column - 1] if column > 0 else 0, ends[column]):
                row[rows[place]] += value * values[place]
