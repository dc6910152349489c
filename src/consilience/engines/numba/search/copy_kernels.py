"""Compiled parts of the search for copies: see `copies`."""

# Compiled functions are not annotated: Numba derives their types from the call.
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import numba as nb
import numpy as np

from .exact_kernels import insert

_njit = nb.njit(nogil=True, cache=True)
_FACTOR = np.uint64(0x9E3779B97F4A7C15)


@_njit
def mark_rows(data, columns, starts, samples, first, last, marks):
    """Set a number that is the same for rows with the same bits, and hardly ever for others."""
    for place in range(first, last):
        mark = np.uint64(0)
        for p in range(starts[samples[place]], starts[samples[place] + 1]):
            bits = np.uint64(data[p]) * _FACTOR
            bits ^= bits >> np.uint64(32)  # in round numbers only the first bits are set
            mark = (mark ^ bits ^ (np.uint64(columns[p]) * _FACTOR)) * _FACTOR
            mark ^= mark >> np.uint64(32)
        marks[place] = mark


@_njit
def find_begins(data, columns, starts, samples, marks, begins):
    """Mark the samples, in the order of their marks, that are not copies of the one before."""
    for place in range(1, len(samples)):
        if marks[place] == marks[place - 1]:
            begins[place] = not _equal(data, columns, starts, samples[place], samples[place - 1])


@_njit
def _equal(data, columns, starts, i, j):
    if starts[i + 1] - starts[i] != starts[j + 1] - starts[j]:
        return False
    for p in range(starts[i + 1] - starts[i]):
        a, b = starts[i] + p, starts[j] + p
        if data[a] != data[b] or columns[a] != columns[b]:
            return False
    return True


@_njit
def spread_lists(members, starts, group, listed, squares, k, first, last, nearest, out):
    """Fill in the k nearest of the members [first, last) and their squared differences.

    `listed` and `squares` have these, in the row of the first of each group, of the first of other groups.
    """
    distance, index = np.empty(k), np.empty(k, np.int32)
    for place in range(first, last):
        i = members[place]
        own = group[i]
        leader, count = members[starts[own]], 0
        # Of equally near ones the first are nearest: no more than k of a group can be in a list.
        for p in range(starts[own], min(starts[own] + k + 1, starts[own + 1])):
            if members[p] != i:
                count = insert(distance, index, count, k, 0.0, members[p])
        for slot in range(k):
            other = listed[leader, slot]
            if other == leader or (count == k and squares[leader, slot] > 2 * distance[k - 1]):
                break
            begin = starts[group[other]]
            for p in range(begin, min(begin + k, starts[group[other] + 1])):
                count = insert(distance, index, count, k, squares[leader, slot], members[p])
        for slot in range(count):
            nearest[i, slot] = index[slot]
            out[i, slot] = _squared(listed[leader], squares[leader], members, starts, group, own, index[slot])
        nearest[i, count:] = i
        out[i, count:] = 0.0


@_njit
def _squared(listed, squares, members, starts, group, own, j):
    """Return the squared difference to a sample, which the first of its group has in the list."""
    if group[j] == own:
        return 0.0
    leader, slot = members[starts[group[j]]], 0
    while listed[slot] != leader:
        slot += 1
    return squares[slot]
