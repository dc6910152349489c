"""Compiled passes over blocks of edges, for `rounds`.

All functions that call each other are in this one file: Numba notices a change, and compiles again, only by
the file of the called function.

Inner loops run over the edges of a block. The compiler can vectorise them if it may reorder sums: so
`fastmath` has only those flags.

In the terms of `numpy.rounds.exact_edge_step`, an edge's program has the excesses r_i, the curvatures d_i and
the answers z_i. Two cases can be solved for all edges of a block at once: no view has positive curvature
(gamma is large: an edge blames at most one view), and all have (gamma is small: a convex program). Cases
between these are solved edge by edge.

``coefficients`` has a column per view. Its rows are, for DCA: pull = lambda alpha, and the factors keep,
press and rise of a step; for the exact step: pull, scale = alpha, curvature, and the order of the views with
those of positive curvature first.
"""

# Compiled functions are not annotated: Numba derives their types from the call.
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import numba as nb
import numpy as np

BLOCK = 128  # edges: W, E and the buffers of a block of 12 views in double precision fit 32 KB
njit = nb.njit(nogil=True, cache=True, fastmath={"reassoc", "nsz", "contract"})
# Parts of a block's work, inlined into their callers: there the compiler knows that buffers do not overlap.
njit_inline = nb.njit(inline="always")


@njit
def dca_blocks(weights, inconsistent, fused, total, coefficients, gamma, steps, partial, first, last):
    """One round on the blocks [first, last): fused values, DCA steps, partial sums."""
    v = weights.shape[1]
    s, blame, push, mass = _buffers(weights.dtype, total)
    zero = weights.dtype.type(0)
    for b in range(first, last):
        w, e = weights[b], inconsistent[b]
        _fuse_block(w, e, s, blame, total, b, mass, coefficients)
        for x in range(BLOCK):
            fused[b, x] = s[x]
        for _ in range(steps):
            for x in range(BLOCK):
                push[x] = s[x] + gamma * blame[x]
                blame[x] = zero
            for i in range(v):
                pull, keep = coefficients[0, i], coefficients[1, i]
                press, rise = coefficients[2, i], coefficients[3, i]
                for x in range(BLOCK):
                    new = keep * e[i, x] - press * push[x] + rise * w[i, x]
                    new = min(max(new, zero), w[i, x])
                    e[i, x] = new
                    blame[x] += pull * new
        _add_up(w, e, s, mass, partial[b])


@njit
def exact_blocks(weights, inconsistent, fused, total, coefficients, gamma, n_convex, partial, first, last):
    """One round on the blocks [first, last): fused values, exact edge steps, partial sums."""
    v = weights.shape[1]
    order = coefficients[3].astype(np.intp)
    s, blame, push, mass = _buffers(weights.dtype, total)
    zero = weights.dtype.type(0)
    for b in range(first, last):
        w, e = weights[b], inconsistent[b]
        _fuse_block(w, e, s, blame, total, b, mass, coefficients)
        for x in range(BLOCK):
            fused[b, x] = s[x]
        if n_convex == 0:
            _blame_one_view(w, e, s, blame, push, coefficients, gamma)
        elif n_convex == v:
            _share_blame(w, e, s, blame, push, coefficients, gamma)
        else:
            _blame_in_general(w, e, s, coefficients, gamma, order, n_convex)
        _add_up(w, e, s, mass, partial[b])
        place = v * (v + 1) // 2 + 2 * v + 1
        for x in range(BLOCK):
            push[x] = 1 / mass[x]
        for i in range(v):
            for j in range(i + 1):
                product = zero
                for x in range(BLOCK):
                    product += (w[i, x] - e[i, x]) * (w[j, x] - e[j, x]) * push[x]
                partial[b, place] = product
                place += 1


@njit_inline
def _buffers(dtype, total):
    """Allocate a block's fused values, blame, push and total weight; the last is often constant."""
    mass = np.empty(BLOCK, dtype)
    mass[:] = total[0, 0]
    return np.empty(BLOCK, dtype), np.empty(BLOCK, dtype), np.empty(BLOCK, dtype), mass


@njit_inline
def _fuse_block(w, e, s, blame, total, b, mass, coefficients):
    """Set a block's fused values s = sum of pull_i A_i over the total weight, and its blame = pull'E."""
    zero = w.dtype.type(0)
    for x in range(BLOCK):
        s[x] = zero
        blame[x] = zero
    for i in range(w.shape[0]):
        pull = coefficients[0, i]
        for x in range(BLOCK):
            s[x] += pull * (w[i, x] - e[i, x])
            blame[x] += pull * e[i, x]
    if total.size == 1:
        inverse = w.dtype.type(1) / total[0, 0]
        for x in range(BLOCK):
            s[x] *= inverse
    else:
        for x in range(BLOCK):
            mass[x] = total[b, x]
            s[x] /= mass[x]


@njit_inline
def _add_up(w, e, s, mass, out):
    """Write a block's partial sums: E E' (lower triangle by rows), A squared, A s and total s squared."""
    v = w.shape[0]
    zero = w.dtype.type(0)
    place = 0
    for i in range(v):
        # Two products at a time: one pass over row i is used for both.
        for j in range(0, i, 2):
            one, two = zero, zero
            for x in range(BLOCK):
                one += e[i, x] * e[j, x]
                two += e[i, x] * e[j + 1, x]
            out[place + j] = one
            out[place + j + 1] = two
        if i % 2 == 0:
            one = zero
            for x in range(BLOCK):
                one += e[i, x] * e[i, x]
            out[place + i] = one
        place += i + 1
    for i in range(v):
        one, two = zero, zero
        for x in range(BLOCK):
            a = w[i, x] - e[i, x]
            one += a * a
            two += a * s[x]
        out[place + i] = one
        out[place + v + i] = two
    one = zero
    for x in range(BLOCK):
        one += s[x] * s[x] * mass[x]
    out[place + 2 * v] = one


@njit
def _blame_one_view(w, e, s, best, blamed, coefficients, gamma):
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
        pull, scale, number = coefficients[0, i], coefficients[1, i], w.dtype.type(i)
        # A view with scale 0 does not count: its A stays W.
        factor = one / ((coefficients[2, i] + gamma) * pull) if pull > zero else zero
        for x in range(BLOCK):
            value = min((scale * w[i, x] - s[x]) * factor, w[i, x])
            e[i, x] = value if blamed[x] == number else zero


@njit
def _share_blame(w, e, s, total, change, coefficients, gamma):
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
        factor = one / (coefficients[2, i] * coefficients[0, i]) if coefficients[0, i] > zero else zero
        for x in range(BLOCK):
            rest = scale * w[i, x] - s[x] - gamma * total[x]
            e[i, x] = min(max(rest, zero) * factor, w[i, x])


@njit
def _blame_in_general(w, e, s, coefficients, gamma, order, n_convex):
    """Solve a block with curvatures of both signs, edge by edge."""
    v = w.shape[0]
    excess, z = np.empty(v, w.dtype), np.empty(v, w.dtype)
    for x in range(BLOCK):
        for i in range(v):
            excess[i] = coefficients[1, i] * w[i, x] - s[x]
        _exact_edge(excess, coefficients[2], gamma, order, n_convex, z)
        for i in range(v):
            pull = coefficients[0, i]
            e[i, x] = min(z[i] / pull, w[i, x]) if pull > 0 else w.dtype.type(0)


@njit
def _exact_edge(excess, curvature, gamma, order, n_convex, z):
    """Minimise one edge's program exactly; see `numpy.rounds.exact_edge_step`.

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
