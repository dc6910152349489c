"""Compiled parts of the approximate search: see `regions`."""

# Compiled functions are not annotated: Numba derives their types from the call.
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False
# mypy: disable-error-code="call-arg, assignment"

from __future__ import annotations

import numba as nb
import numpy as np

from .byte_products import GROUP, PANEL, multiply_panels
from .exact_kernels import insert, place_of, sparse_squared_difference, squared_difference
from .lanes import LANES, bits_near, bits_within, lowest_bit
from .locks import lock_of, locked, unlock

_njit = nb.njit(nogil=True, cache=True, fastmath={"reassoc", "nsz", "contract", "nnan"})
_FAR = 2.0 - 1e-12  # squared difference of unit vectors with nothing in common, or more, up to rounding
ASIDE = 4096  # pairs that wait for a list at most, of one thread
_TRIES = 8  # times k: samples that are tried in the place of those with nothing in common


@nb.njit(inline="always")
def _within(products, squares, begin, limit):
    """Return which of 16 values squares - 2 products from `begin` on are within a limit, as bits."""
    if begin + LANES <= len(squares):
        place = nb.uintp(4 * begin)
        return bits_within(
            nb.uintp(products.ctypes.data) + place, nb.uintp(squares.ctypes.data) + place, limit
        )
    bits = nb.uint32(0)
    for c in range(begin, len(squares)):
        if squares[c] - (products[c] + products[c]) <= limit:
            bits |= nb.uint32(1) << nb.uint32(c - begin)
    return bits


@_njit
def nearest_centers(products, squares, labels):
    """Set the nearest centre of each row, from its products with all centres and their squared norms."""
    for r in range(len(products)):
        product, best, least = products[r], 0, np.float32(np.inf)
        for begin in range(0, len(squares), LANES):
            bits = _within(product, squares, begin, least)
            while bits:
                c = begin + lowest_bit(bits)
                bits &= bits - nb.uint32(1)
                distance = squares[c] - (product[c] + product[c])
                if distance < least:
                    best, least = c, distance
        labels[r] = best


@_njit
def choose_regions(products, squares, own_squares, weight, reach, fewest, counts, chosen):
    """List the regions to search for each row, the nearest first; return how many entries were written.

    Those whose centre has a squared distance of at most ``reach + weight * (that of the nearest)``, but at
    least `fewest`.
    """
    n_regions, place = len(squares), 0
    near, which = np.empty(fewest, np.float32), np.empty(fewest, np.int32)
    for r in range(len(products)):
        product, first = products[r], place
        near[:] = np.inf
        which[:] = 0
        for begin in range(0, n_regions, LANES):
            bits = _within(product, squares, begin, near[fewest - 1])
            while bits:
                c = begin + lowest_bit(bits)
                bits &= bits - nb.uint32(1)
                distance = squares[c] - (product[c] + product[c])
                if distance < near[fewest - 1]:
                    slot = fewest - 1
                    while slot > 0 and near[slot - 1] > distance:
                        near[slot], which[slot] = near[slot - 1], which[slot - 1]
                        slot -= 1
                    near[slot], which[slot] = distance, c
        for slot in range(fewest):
            chosen[place] = which[slot]
            place += 1
        own = own_squares[r]
        limit = reach + weight * (near[0] + own) - own
        if limit >= near[fewest - 1]:
            for begin in range(0, n_regions, LANES):
                bits = _within(product, squares, begin, limit)
                while bits:
                    c = begin + lowest_bit(bits)
                    bits &= bits - nb.uint32(1)
                    if not _listed(which, c):
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
        product, square, nearest, members = products[r], squares[samples[r]], distance[r], index[r]
        for begin in range(0, n_columns, LANES):
            bits = _within(product, own, begin, nearest[last] - square)
            while bits:
                c = begin + lowest_bit(bits)
                bits &= bits - nb.uint32(1)
                if first + c != samples[r]:
                    _improve(nearest, members, square + own[c] - (product[c] + product[c]), first + c)


@_njit
def offer_pairs(products, queries, first, squares, locks, distance, index, found, values, aside):
    """Put the pairs of a tile that are near enough for it into the lists of both ends.

    Row r of `products` belongs to the sample ``queries[r]``, column c to the sample ``first + c``; `distance`
    and `index` have the present lists, ascending. Other threads may improve them at the same time: so pairs
    are found by limits that may be too wide by now, and compared again when their list is locked.

    `found` and `values` have room for all pairs of a tile and `ASIDE` more. They begin with pairs of earlier
    tiles that were put `aside`, because a list of theirs was locked. Return how many are put aside now.
    """
    count = _near_pairs(products, queries, first, squares, distance, found, values, aside)
    count = insert_pairs(found, values, count, locks, distance, index)
    while count > ASIDE:
        count = insert_pairs(found, values, count, locks, distance, index)
    return count


@_njit
def insert_pairs(found, values, count, locks, distance, index):
    """Put pairs into the lists of both ends; return how many are left, because a list of theirs is locked."""
    last, left = distance.shape[1] - 1, 0
    for p in range(count):
        i, j, d = found[p, 0], found[p, 1], values[p]
        # A limit only ever falls: what exceeds it now will never be in the list.
        done = i == j or (
            (d > distance[i, last] or _inserted(locks, distance, index, i, j, d))
            and (d > distance[j, last] or _inserted(locks, distance, index, j, i, d))
        )
        if not done:
            found[left, 0], found[left, 1], values[left] = i, j, d
            left += 1
    return left


@nb.njit(inline="always")
def _inserted(locks, distance, index, i, j, d):
    """Put (d, j) into list i, unless that is locked."""
    lock = lock_of(locks, i)
    free = locked(lock)
    if free:
        _improve(distance[i], index[i], d, j)
        unlock(lock)
    return free


@nb.njit(inline="always")
def _near_pairs(products, queries, first, squares, distance, found, values, count):
    """List, after `count` others, the pairs of a tile that are near enough for the list of one of the two.

    Return the new number. Equally far ones are not left out: otherwise the order would decide.
    """
    n_columns, last = products.shape[1], distance.shape[1] - 1
    limits, own = np.empty(n_columns, np.float32), squares[first : first + n_columns]
    for c in range(n_columns):
        limits[c] = distance[first + c, last]
    for r in range(len(queries)):
        q, product = queries[r], products[r]
        square, limit = squares[q], distance[q, last]
        for begin in range(0, n_columns, LANES):
            bits = _near(product, own, limits, begin, square, limit)
            while bits:
                c = begin + lowest_bit(bits)
                bits &= bits - nb.uint32(1)
                found[count, 0], found[count, 1] = q, first + c
                values[count] = square + own[c] - (product[c] + product[c])
                count += 1
    return count


@_njit
def search_byte_tiles(tiles, first, last, queries, bounds, rows, starts, panels, squares, locks, lists):
    """Measure the tiles [first, last) of rows rounded to bytes, and improve the lists of both ends.

    Return pairs that are left, because a list of theirs was locked, and their values.

    Parameters
    ----------
    tiles : ndarray of shape (number of tiles, 3)
        A region, and which of `queries` search it: first, and the one after the last.
    queries : ndarray of int32
        Samples.
    bounds : ndarray of shape (number of regions, 2)
        The samples of each region, with those next to them that fill up its panels.
    rows, starts, panels, squares : ndarray
        See `quantize_rows`.
    locks : ndarray of int32
        See `locks`.
    lists : tuple of ndarray of shape (n, k)
        Distances and members of the lists.
    """
    distance, index = lists
    most_rows, most_pairs = 0, 0
    for t in range(first, last):
        room = -(-(tiles[t, 2] - tiles[t, 1]) // GROUP) * GROUP
        most_rows = max(most_rows, room)
        most_pairs = max(most_pairs, room * (bounds[tiles[t, 0], 1] - bounds[tiles[t, 0], 0]))
    room = most_pairs + ASIDE
    found, values, aside = np.empty((room, 2), np.int32), np.empty(room, np.float32), 0
    scratch = np.empty(most_pairs, np.float32)
    some, some_starts = np.zeros((most_rows, rows.shape[1]), np.int8), np.zeros(most_rows, np.int32)
    for t in range(first, last):
        here = queries[tiles[t, 1] : tiles[t, 2]]
        begin, end = bounds[tiles[t, 0], 0], bounds[tiles[t, 0], 1]
        room = -(-len(here) // GROUP) * GROUP
        for r in range(len(here)):
            some[r] = rows[here[r]]
            some_starts[r] = starts[here[r]]
        products = scratch[: room * (end - begin)].reshape(room, end - begin)
        multiply_panels(some[:room], some_starts[:room], panels, begin // PANEL, end // PANEL, products)
        aside = offer_pairs(products, here, begin, squares, locks, distance, index, found, values, aside)
    return found[:aside].copy(), values[:aside].copy()


@nb.njit(inline="always")
def _near(products, squares, limits, begin, square, limit):
    """Return which of 16 pairs from `begin` on are within a limit of one of the two ends, as bits."""
    if begin + LANES <= len(squares):
        place = nb.uintp(4 * begin)
        return bits_near(
            nb.uintp(products.ctypes.data) + place,
            nb.uintp(squares.ctypes.data) + place,
            nb.uintp(limits.ctypes.data) + place,
            square,
            limit,
        )
    bits = nb.uint32(0)
    for c in range(begin, len(squares)):
        d = square + squares[c] - (products[c] + products[c])
        if d <= limit or d <= limits[c]:
            bits |= nb.uint32(1) << nb.uint32(c - begin)
    return bits


@_njit
def _improve(distance, index, d, j):
    """Put (d, j) into a full list, ascending by distance, then index, in which no index may be twice."""
    place = len(distance) - 1
    if d > distance[place] or (d == distance[place] and j >= index[place]):
        return
    for other in range(place):
        if index[other] == j:
            if distance[other] <= d:
                return
            place = other  # it was in the list with a larger value, by rounding
            break
    while place > 0 and (distance[place - 1] > d or (distance[place - 1] == d and index[place - 1] > j)):
        distance[place], index[place] = distance[place - 1], index[place - 1]
        place -= 1
    distance[place], index[place] = d, j


@nb.njit(inline="always")
def _byte(value, step):
    """Return a value in steps, rounded to the range of a byte."""
    return np.int32(np.rint(min(max(value / step, np.float32(-127)), np.float32(127))))


@_njit
def round_rows(x, step, rows, starts):
    """Round rows to bytes, and set the initial values of their products with panels."""
    for i in range(len(x)):
        total = 0
        for f in range(x.shape[1]):
            value = _byte(x[i, f], step)
            rows[i, f] = value
            total += value
        starts[i] = -128 * total


@_njit
def choose_byte_regions(
    x, step, first, last, at_once, centers, squares, own_squares, weight, reach, fewest, counts
):
    """List the regions to search for the rows [first, last), as `choose_regions` does, by products of bytes.

    `centers` are the centres as panels, which count in multiples of `step`; `at_once` rows are multiplied.
    """
    n_centers, factor, place = len(squares), step * step, 0
    room = -(-at_once // GROUP) * GROUP
    rows, starts = np.zeros((room, 4 * centers.shape[1]), np.int8), np.zeros(room, np.int32)
    found = np.empty((room, PANEL * len(centers)), np.float32)
    products = np.empty((at_once, n_centers), np.float32)
    chosen = np.empty(2 * at_once * n_centers, np.int32)
    for begin in range(first, last, at_once):
        end = min(begin + at_once, last)
        round_rows(x[begin:end], step, rows, starts)
        multiply_panels(rows, starts, centers, 0, len(centers), found)
        for r in range(end - begin):
            for c in range(n_centers):
                products[r, c] = found[r, c] * factor
        if len(chosen) < place + at_once * n_centers:
            more = np.empty(2 * len(chosen), np.int32)
            more[:place] = chosen[:place]
            chosen = more
        place += choose_regions(
            products[: end - begin],
            squares,
            own_squares[begin:end],
            weight,
            reach,
            fewest,
            counts[begin:end],
            chosen[place:],
        )
    return chosen[:place].copy()


@_njit
def quantize_rows(x, order, step, first, last, rows, starts, panels, squares):
    """Round the rows at places [first, last) of an order to bytes, in the forms that products take.

    See `byte_products.multiply_panels`. Padding is left as it is.
    """
    for place in range(first, last):
        panel, lane = place // 16, place % 16
        total, square = 0, 0
        for f in range(x.shape[1]):
            value = _byte(x[order[place], f], step)
            rows[place, f], panels[panel, f // 4, lane, f % 4] = value, value + 128
            total, square = total + value, square + value * value
        starts[place] = -128 * total
        squares[place] = square


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
def list_first_of_far(data, indices, indptr, blank, first, last, nearest, squares):
    """Put the first samples with nothing in common into the lists of the samples [first, last).

    Only if the lists have such: all of these are equally far, but a search by regions compares hardly any.
    """
    x, k = (data, indices, indptr), nearest.shape[1]
    distance, members = np.empty(k), np.empty(k, np.int32)
    for i in range(first, last):
        if blank[i] or squares[i, k - 1] < _FAR:
            continue
        count = 0
        for slot in range(k):
            if nearest[i, slot] != i:
                count = insert(distance, members, count, k, squares[i, slot], nearest[i, slot])
        for j in range(min(len(blank), _TRIES * k)):
            if j != i and place_of(j, members[:count]) < 0:
                d = 2.0 if blank[j] else sparse_squared_difference(*x, i, *x, j)
                count = insert(distance, members, count, k, d, j)
        for slot in range(count):
            j = members[slot]
            nearest[i, slot] = j
            squares[i, slot] = 2.0 if blank[j] else sparse_squared_difference(*x, i, *x, j)


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
