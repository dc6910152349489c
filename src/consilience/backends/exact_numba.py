"""Compiled exact edge steps: on a block of edges, the E that minimise the objective given the rest.

In the terms of `edges_numpy.exact_edge_step`, an edge's program has the excesses r_i, the curvatures d_i
and the answers z_i. Two cases can be worked on for all edges of a block at once: no view has positive
curvature (gamma is large: an edge blames at most one view), and all have (gamma is small: a convex
program). What is in between is solved edge by edge.
"""

# Compiled functions are not annotated: Numba derives their types from the call.
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import numba as nb
import numpy as np

BLOCK = 128  # edges: W, E and the buffers of a block of 12 views in double precision fit 32 KB
njit = nb.njit(nogil=True, cache=True, fastmath={"reassoc", "nsz", "contract"})
# Parts of a block's work, put into their callers: there the compiler knows the buffers not to overlap.
njit_inline = nb.njit(inline="always")


@njit
def blame_one_view(w, e, s, best, blamed, coefficients, gamma):
    """Solve a block on which no view has positive curvature.

    Blaming view i alone gains r_i^2 / (d_i + gamma) if r_i > 0, at z_i = r_i / (d_i + gamma).
    """
    zero, one = w.dtype.type(0), w.dtype.type(1)
    for x in range(BLOCK):
        best[x] = zero
        blamed[x] = -one
    for i in range(w.shape[0]):
        scale, softness, number = coefficients[1, i], one / (coefficients[2, i] + gamma), w.dtype.type(i)
        for x in range(BLOCK):
            excess = max(scale * w[i, x] - s[x], zero)
            gain = excess * excess * softness
            blamed[x] = number if gain > best[x] else blamed[x]
            best[x] = max(gain, best[x])
    for i in range(w.shape[0]):
        scale, number = coefficients[1, i], w.dtype.type(i)
        # A view with scale 0 has no excess; its A stays W.
        factor = one / ((coefficients[2, i] + gamma) * coefficients[0, i]) if scale > zero else zero
        for x in range(BLOCK):
            value = min((scale * w[i, x] - s[x]) * factor, w[i, x])
            e[i, x] = value if blamed[x] == number else zero


@njit
def share_blame(w, e, s, total, change, coefficients, gamma):
    """Solve a block on which all views have positive curvature.

    The sum m of the z solves m = sum_i max(r_i - gamma m, 0) / d_i. The right side minus the left is
    convex and falls in m, so Newton's method from m = 0 rises to the root and reaches it in at most v
    steps.
    """
    v = w.shape[0]
    zero, one = w.dtype.type(0), w.dtype.type(1)
    slope = np.empty(BLOCK, w.dtype)
    for x in range(BLOCK):
        total[x] = zero
    for _ in range(v):
        for x in range(BLOCK):
            change[x] = zero
            slope[x] = one
        for i in range(v):
            scale, softness = coefficients[1, i], one / coefficients[2, i]
            for x in range(BLOCK):
                rest = scale * w[i, x] - s[x] - gamma * total[x]
                change[x] += max(rest, zero) * softness
                slope[x] += gamma * softness if rest > zero else zero
        moved = False
        for x in range(BLOCK):
            step = (change[x] - total[x]) / slope[x]
            moved |= step > zero
            total[x] += max(step, zero)
        if not moved:
            break
    for i in range(v):
        scale = coefficients[1, i]
        factor = one / (coefficients[2, i] * coefficients[0, i]) if scale > zero else zero
        for x in range(BLOCK):
            rest = scale * w[i, x] - s[x] - gamma * total[x]
            e[i, x] = min(max(rest, zero) * factor, w[i, x])


@njit
def blame_in_general(w, e, s, coefficients, gamma, order, n_convex):
    """Solve a block with curvatures of both signs, edge by edge."""
    v = w.shape[0]
    excess, z = np.empty(v, w.dtype), np.empty(v, w.dtype)
    for x in range(BLOCK):
        for i in range(v):
            excess[i] = coefficients[1, i] * w[i, x] - s[x]
        exact_edge(excess, coefficients[2], gamma, order, n_convex, z)
        for i in range(v):
            pull = coefficients[0, i]
            e[i, x] = min(z[i] / pull, w[i, x]) if pull > 0 else w.dtype.type(0)


@njit
def exact_edge(excess, curvature, gamma, order, n_convex, z):
    """Minimise one edge's program exactly; see `edges_numpy.exact_edge_step`.

    `order` lists the views of positive curvature first (`n_convex` of them); that part is sorted here,
    by excess, largest first. At most O(v^2).
    """
    for i in range(len(z)):
        z[i] = 0
    for k in range(1, n_convex):
        view = order[k]
        place = k
        while place > 0 and excess[order[place - 1]] < excess[view]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = view

    best_value, best_sum = excess.dtype.type(0), excess.dtype.type(0)
    best_count, best_one, best_z_one = 0, -1, excess.dtype.type(0)
    inverse_sum, sum_r, sum_rr = excess.dtype.type(0), excess.dtype.type(0), excess.dtype.type(0)
    for count in range(n_convex + 1):
        last_r = excess.dtype.type(np.inf)
        if count > 0:
            view = order[count - 1]
            last_r = excess[view]
            if last_r <= 0:
                break
            inverse_sum += 1 / curvature[view]
            sum_r += last_r / curvature[view]
            sum_rr += last_r * last_r / curvature[view]
        stiffness = 1 + gamma * inverse_sum
        total = sum_r / stiffness
        value = -(sum_rr - gamma * total * sum_r)
        if last_r >= gamma * total and value < best_value:
            best_value, best_sum, best_count, best_one = value, total, count, -1
        for k in range(n_convex, len(z)):
            view = order[k]
            determinant = curvature[view] * stiffness + gamma
            if excess[view] <= 0 or determinant <= 0:
                continue
            z_one = (excess[view] * stiffness - gamma * sum_r) / determinant
            total = (curvature[view] * sum_r + excess[view]) / determinant
            value = -(sum_rr - gamma * total * sum_r) - excess[view] * z_one
            if z_one >= 0 and last_r >= gamma * total and value < best_value:
                best_value, best_sum, best_count, best_one, best_z_one = value, total, count, view, z_one

    for k in range(best_count):
        z[order[k]] = max((excess[order[k]] - gamma * best_sum) / curvature[order[k]], 0)
    if best_one >= 0:
        z[best_one] = best_z_one
