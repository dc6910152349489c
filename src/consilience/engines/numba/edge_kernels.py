"""Compiled passes over the edges of many samples, row by row."""

# Compiled functions are not annotated: Numba derives their types from the call.
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import numba as nb

_njit = nb.njit(nogil=True, cache=True)


@_njit
def sort_members(lists, counts, first, last):
    """Sort the rows [first, last), each without itself and without repetition, and count the rest."""
    for i in range(first, last):
        row, count = lists[i], 0
        for slot in range(len(row)):
            j = row[slot]
            place = count
            while place > 0 and row[place - 1] > j:
                place -= 1
            if j == i or (place > 0 and row[place - 1] == j):
                continue
            for other in range(count, place, -1):
                row[other] = row[other - 1]
            row[place] = j
            count += 1
        counts[i] = count


@_njit
def compress_rows(lists, indptr, indices, first, last):
    """Copy as many members of the rows [first, last) as are counted."""
    for i in range(first, last):
        begin = indptr[i]
        for p in range(begin, indptr[i + 1]):
            indices[p] = lists[i, p - begin]


@_njit
def multiply_ends(rows, indptr, indices, out, first, last):
    """Set, for the edges of the rows [first, last) and each view, the product of a value of both ends."""
    for i in range(first, last):
        for p in range(indptr[i], indptr[i + 1]):
            for v in range(len(out)):
                out[v, p] = rows[i, v] * rows[indices[p], v]


@_njit
def keep_marked(indptr, indices, values, kept, starts, new_indices, new_values, first, last):
    """Copy the marked entries of the rows [first, last) to the places given by `starts`."""
    for i in range(first, last):
        place = starts[i]
        for p in range(indptr[i], indptr[i + 1]):
            if kept[p]:
                new_indices[place], new_values[place] = indices[p], values[p]
                place += 1


@_njit
def count_marked(indptr, kept, counts, first, last):
    """Count the marked entries of the rows [first, last)."""
    for i in range(first, last):
        count = 0
        for p in range(indptr[i], indptr[i + 1]):
            count += kept[p]
        counts[i] = count
