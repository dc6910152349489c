"""Compiled distances over the columns that two rows both have: Gower's, and Euclidean with empty cells.

Terms are added column by column, in the same order for whole rows and for single pairs, and nothing is
rearranged: both give the same bits.
"""

# Compiled functions are not annotated: Numba derives their types from the call.
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import numba as nb
import numpy as np

_njit = nb.njit(nogil=True, cache=True)  # no fast mathematics: it assumes that there is no NaN
TILE = 1024  # others that are compared together: their sums stay in the cache


@_njit
def fill_rows(x, columns, ranges, euclidean, first, last, out):
    """Fill `out` with the distances of the rows [first, last) of x to all others.

    Parameters
    ----------
    x : ndarray of shape (m, d)
        Rows; NaN is an empty cell.
    columns : ndarray of shape (d, n)
        The others, column by column.
    ranges : ndarray of shape (d,)
        The divisor for the differences of a column; 0: its values are only equal or not.
    euclidean : bool
        Whether to take squared Euclidean distances instead, scaled up to all columns; NaN if two rows have no
        column in common. `ranges` must be 1 then.
    out : ndarray of shape (last - first, n)
        Output.
    """
    d, n = columns.shape
    room = np.empty(TILE)
    for i in range(first, last):
        for begin in range(0, n, TILE):
            total = out[i - first, begin : begin + TILE]
            common = room[: len(total)]
            total[:] = 0
            common[:] = 0
            for f in range(d):
                if not np.isnan(x[i, f]):
                    _add(x[i, f], columns[f, begin : begin + TILE], ranges[f], euclidean, total, common)
            for j in range(len(total)):
                total[j] = _mean(total[j], common[j], d, euclidean)


@_njit
def _add(a, column, span, euclidean, total, common):
    """Add the terms of one column; one loop per kind of column, without branches, for vector instructions."""
    if span == 0:
        for j in range(len(total)):
            known = column[j] == column[j]
            total[j] += 1.0 if known and column[j] != a else 0.0
            common[j] += 1.0 if known else 0.0
    elif euclidean:
        for j in range(len(total)):
            difference = a - column[j]
            known = difference == difference
            total[j] += difference * difference if known else 0.0
            common[j] += 1.0 if known else 0.0
    else:
        for j in range(len(total)):
            difference = abs(a - column[j]) / span
            known = difference == difference
            total[j] += difference if known else 0.0
            common[j] += 1.0 if known else 0.0


@_njit
def fill_edges(x, y, ranges, euclidean, indptr, indices, first, last, out):
    """Fill `out` with the same on the edges of the rows [first, last) of x to rows of y."""
    d = x.shape[1]
    for i in range(first, last):
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            total, common = 0.0, 0.0
            for f in range(d):
                a, b = x[i, f], y[j, f]
                if np.isnan(a) or np.isnan(b):
                    continue
                common += 1.0
                if ranges[f] == 0:
                    total += 0.0 if a == b else 1.0
                elif euclidean:
                    total += (a - b) * (a - b)
                else:
                    total += abs(a - b) / ranges[f]
            out[p] = _mean(total, common, d, euclidean)


@_njit
def _mean(total, common, d, euclidean):
    if euclidean:
        return total * d / common if common > 0 else np.nan
    return total / common if common > 0 else 1.0
