"""Compiled passes over dense matrices and rows, for comparison systems that need dense matrices."""

# Compiled functions are not annotated: Numba derives their types from the call.
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import numba as nb
import numpy as np

TILE = 64  # rows and columns of the tiles in which a triangle is copied to the other side
_LANES = 8  # rows that diffuse together: as many as fit into a vector register

_njit_contract = nb.njit(nogil=True, cache=True, fastmath={"contract"})
_njit_fast = nb.njit(nogil=True, cache=True, fastmath={"reassoc", "nsz", "contract"})


@nb.njit(nogil=True, cache=True)
def project_rows(values, indptr, first, last, out):
    """Project the rows [first, last): remove entries that are not above the threshold until all are."""
    for row in range(first, last):
        start, stop = indptr[row], indptr[row + 1]
        if start == stop:
            continue
        largest = values[start]
        for e in range(start, stop):
            largest = max(largest, values[e])
        # The threshold is at least this: the largest entry never exceeds it by more than 1. Sums are of the
        # differences from it, not of the entries, so that rows of huge entries lose no digits.
        threshold, count, before = -1.0, stop - start + 1, stop - start + 2
        while count < before:  # it can only fall, except for rounding among tied entries
            before, total, count = count, 0.0, 0
            for e in range(start, stop):
                excess = values[e] - largest
                if excess > threshold:
                    total += excess
                    count += 1
            if count == 0:  # a row with NaN has no projection
                threshold = np.nan
                break
            threshold = (total - 1.0) / count
        for e in range(start, stop):
            out[e] = max(values[e] - largest - threshold, 0.0)


@_njit_contract
def diffuse_rows(first, last, matrix, columns, weights, network):
    """Set the rows [first, last) of a network, up to the diagonal, to S X S' + I for a symmetric matrix X.

    Row i of S X is a weighted sum of a few rows of X; an entry of row i of S X S' is one of a few entries of
    that row. Several rows go side by side, so that the second step, too, adds up whole vectors.
    """
    n, k = columns.shape
    left, both, row = np.zeros((n, _LANES)), np.empty((n, _LANES)), np.empty(n)
    for start in range(first, last, _LANES):
        lanes = min(_LANES, last - start)
        for lane in range(lanes):
            _weighted_sum(matrix, columns[start + lane], weights[start + lane], row)
            left[:, lane] = row
        for j in range(start + lanes):
            into = both[j]
            into[:] = 0.0
            for m in range(k):
                weight, source = weights[j, m], left[columns[j, m]]
                for lane in range(_LANES):
                    into[lane] += weight * source[lane]
        for lane in range(lanes):
            i = start + lane
            for j in range(i):
                network[i, j] = both[j, lane]
            network[i, i] = both[i, lane] + 1.0


@_njit_contract
def _weighted_sum(matrix, rows, weights, out):
    """Add up some rows of a matrix, four at a time: the sum is then read and written less often."""
    n, k = len(out), len(rows)
    out[:] = 0.0
    for m in range(0, k - 3, 4):
        a, b, c, d = matrix[rows[m]], matrix[rows[m + 1]], matrix[rows[m + 2]], matrix[rows[m + 3]]
        w, x, y, z = weights[m], weights[m + 1], weights[m + 2], weights[m + 3]
        for j in range(n):
            out[j] += (w * a[j] + x * b[j]) + (y * c[j] + z * d[j])
    for m in range(k - k % 4, k):
        a, w = matrix[rows[m]], weights[m]
        for j in range(n):
            out[j] += w * a[j]


@_njit_contract
def mirror_rows(first, last, network):
    """Copy the rows [first, last) of the lower triangle to the upper one."""
    for top in range(first, last, TILE):
        bottom = min(top + TILE, last)
        for left in range(0, bottom, TILE):
            for i in range(top, bottom):
                for j in range(left, min(left + TILE, i)):
                    network[j, i] = network[i, j]


@_njit_contract
def average_sides(first, last, matrix):
    """Put the mean of both directions into the rows [first, last) of the lower triangle and their mirror."""
    for top in range(first, last, TILE):
        bottom = min(top + TILE, last)
        for left in range(0, bottom, TILE):
            for i in range(top, bottom):
                for j in range(left, min(left + TILE, i)):
                    matrix[i, j] = matrix[j, i] = 0.5 * (matrix[i, j] + matrix[j, i])


@_njit_fast
def update_copy(first, last, transitions, before, now, steps, v, gap):
    """Begin the next argument of the projection, in place of the earlier multiplier of the copy."""
    per_step, per_next_step = 1.0 / steps[0], 1.0 / steps[1]
    for i in range(first, last):
        for j in range(transitions.shape[1]):
            difference = (before[i, j] - now[i, j]) * per_step  # Q - P
            gap[i] = max(gap[i], abs(difference))
            before[i, j] = (v + 1) * transitions[i, j] + difference - now[i, j] * per_next_step


@_njit_fast
def update_view(first, last, transitions, multiplier, csr, steps, penalty, argument, residual, l1_norm):
    """Update the multiplier of one view, and add its part to the next argument of the projection."""
    data, indices, indptr = csr
    step, per_step, per_next_step = steps[0], 1.0 / steps[0], 1.0 / steps[1]
    n = transitions.shape[1]
    excess = np.empty(n)  # a row of P - T
    for i in range(first, last):
        excess[:] = transitions[i]
        for p in range(indptr[i], indptr[i + 1]):
            excess[indices[p]] -= data[p]
        left_over, deviation = 0.0, 0.0
        for j in range(n):
            free = multiplier[i, j] + step * excess[j]
            clipped = min(max(free, -penalty), penalty)
            # T - P - E; where nothing is clipped, E is exactly 0.
            rest = -excess[j] if clipped == free else (multiplier[i, j] - clipped) * per_step
            left_over += abs(rest)
            deviation += abs(excess[j] + rest)
            argument[i, j] += rest - clipped * per_next_step
            multiplier[i, j] = clipped
        residual[i] = max(residual[i], left_over)
        l1_norm[i] += deviation
