"""Compiled passes over blocks of edges where each view has a trust of its own on every edge.

The same as `round_kernels`, with lambda times the trust tau in the place of lambda. There are two modules
because without trust all edges share their coefficients, which is a third faster. Common functions are in
both, because Numba notices a change only by the file of the called function.

Rows of ``coefficients`` are, for DCA: pull = lambda alpha, and bend, press and rise of a step; for the exact
step: pull, scale = alpha, lambda, and the tau below which the curvature is positive.
"""

# Compiled functions are not annotated: Numba derives their types from the call.
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import numba as nb
import numpy as np

from .round_kernels import BLOCK

# There are divisions in the inner loops: without checks for 0, which none of them needs.
njit = nb.njit(nogil=True, cache=True, fastmath={"reassoc", "nsz", "contract"}, error_model="numpy")
# Parts of a block's work, inlined into their callers: there the compiler knows that buffers do not overlap.
njit_inline = nb.njit(inline="always")


@njit
def dca_blocks(weights, inconsistent, fused, total, trust, coefficients, gamma, steps, partial, first, last):
    """One round on the blocks [first, last): fused values, DCA steps, partial sums."""
    v = weights.shape[1]
    s, blame, push, mass = _buffers(weights.dtype)
    counted = np.empty((v, BLOCK), weights.dtype)
    zero = weights.dtype.type(0)
    for b in range(first, last):
        w, e, tau = weights[b], inconsistent[b], trust[b]
        _fuse_block(w, e, tau, s, blame, total, b, mass, coefficients)
        for x in range(BLOCK):
            fused[b, x] = s[x]
        for _ in range(steps):
            for x in range(BLOCK):
                push[x] = s[x] + gamma * blame[x]
                blame[x] = zero
            for i in range(v):
                pull, bend = coefficients[0, i], coefficients[1, i]
                press, rise = coefficients[2, i], coefficients[3, i]
                for x in range(BLOCK):
                    old, t = e[i, x], tau[i, x]
                    new = old + t * (rise * (w[i, x] - old) - press * push[x] - bend * (t * old))
                    new = min(max(new, zero), w[i, x])
                    e[i, x] = new
                    blame[x] += pull * (t * new)
        _add_up(w, e, tau, s, mass, counted, partial[b])


@njit
def exact_blocks(weights, inconsistent, fused, total, trust, coefficients, beta, gamma, partial, first, last):
    """One round on the blocks [first, last): fused values, exact edge steps, partial sums."""
    v = weights.shape[1]
    s, blame, push, mass = _buffers(weights.dtype)
    counted, convex = np.empty((v, BLOCK), weights.dtype), np.empty(BLOCK, weights.dtype)
    one = weights.dtype.type(1)
    for b in range(first, last):
        w, e, tau = weights[b], inconsistent[b], trust[b]
        _fuse_block(w, e, tau, s, blame, total, b, mass, coefficients)
        for x in range(BLOCK):
            fused[b, x] = s[x]
        n_judges, n_convex = _count_convex(tau, coefficients, convex)
        if 0 < n_convex == n_judges:
            _share_blame(w, e, tau, s, blame, push, counted, coefficients, beta, gamma)
        else:
            _blame_one_view(w, e, tau, s, blame, push, coefficients, beta)
            if n_convex > 0:
                _blame_in_general(w, e, tau, s, convex, coefficients, beta, gamma)
        _add_up(w, e, tau, s, mass, counted, partial[b])
        # With the root of 1 / Lambda in each factor, one routine computes both sums of products.
        for x in range(BLOCK):
            push[x] = one / np.sqrt(mass[x])
        for i in range(v):
            for x in range(BLOCK):
                counted[i, x] = tau[i, x] * (w[i, x] - e[i, x]) * push[x]
        _gram(counted, partial[b, v * (v + 1) // 2 + 2 * v + 1 :])


@njit_inline
def _buffers(dtype):
    """Allocate a block's fused values, blame, push and total weight."""
    return np.empty(BLOCK, dtype), np.empty(BLOCK, dtype), np.empty(BLOCK, dtype), np.empty(BLOCK, dtype)


@njit_inline
def _fuse_block(w, e, tau, s, blame, total, b, mass, coefficients):
    """Set a block's fused values s = sum of pull_i tau_i A_i over the total weight, and its blame."""
    zero = w.dtype.type(0)
    for x in range(BLOCK):
        s[x] = zero
        blame[x] = zero
    for i in range(w.shape[0]):
        pull = coefficients[0, i]
        for x in range(BLOCK):
            share = pull * tau[i, x]
            s[x] += share * (w[i, x] - e[i, x])
            blame[x] += share * e[i, x]
    for x in range(BLOCK):
        mass[x] = total[b, x]
        s[x] /= mass[x]


@njit_inline
def _add_up(w, e, tau, s, mass, counted, out):
    """Write a block's partial sums: of tau E times tau E', tau A squared, tau A s and total s squared."""
    v = w.shape[0]
    zero = w.dtype.type(0)
    place = v * (v + 1) // 2
    for i in range(v):
        one, two = zero, zero
        for x in range(BLOCK):
            counted[i, x] = tau[i, x] * e[i, x]
            a = w[i, x] - e[i, x]
            one += tau[i, x] * a * a
            two += tau[i, x] * a * s[x]
        out[place + i] = one
        out[place + v + i] = two
    one = zero
    for x in range(BLOCK):
        one += s[x] * s[x] * mass[x]
    out[place + 2 * v] = one
    _gram(counted, out)


@njit
def _gram(rows, out):
    """Write the inner products of the rows: the lower triangle, row by row."""
    zero = rows.dtype.type(0)
    place = 0
    for i in range(rows.shape[0]):
        # Two products at a time: one pass over row i is used for both.
        for j in range(0, i, 2):
            one, two = zero, zero
            for x in range(BLOCK):
                one += rows[i, x] * rows[j, x]
                two += rows[i, x] * rows[j + 1, x]
            out[place + j] = one
            out[place + j + 1] = two
        if i % 2 == 0:
            one = zero
            for x in range(BLOCK):
                one += rows[i, x] * rows[i, x]
            out[place + i] = one
        place += i + 1


@njit
def _count_convex(tau, coefficients, convex):
    """Count, for each edge of a block, the views of positive curvature among those that may be blamed.

    Returns the number of all pairs that may be blamed, and of those of positive curvature.
    """
    zero, one = tau.dtype.type(0), tau.dtype.type(1)
    n_judges, n_convex = zero, zero
    for x in range(BLOCK):
        convex[x] = zero
    for i in range(tau.shape[0]):
        bound = coefficients[3, i]
        if coefficients[0, i] > zero:
            for x in range(BLOCK):
                judges = one if tau[i, x] > zero else zero
                n_judges += judges
                convex[x] += judges if tau[i, x] < bound else zero
    for x in range(BLOCK):
        n_convex += convex[x]
    return n_judges, n_convex


# In the exact step lambda tau stands for lambda. Where they can, the functions below use not d but
# d + gamma = 1 / (lambda tau) + beta, whose digits d loses if gamma is large. So gamma need not be limited.


@njit
def _blame_one_view(w, e, tau, s, best, blamed, coefficients, beta):
    """Blame the view that gains most: right for the edges on which no view has positive curvature."""
    zero, one, price = w.dtype.type(0), w.dtype.type(1), w.dtype.type(beta)
    for x in range(BLOCK):
        best[x] = zero
        blamed[x] = -one
    for i in range(w.shape[0]):
        scale, weight, number = coefficients[1, i], coefficients[2, i], w.dtype.type(i)
        for x in range(BLOCK):
            count = weight * tau[i, x]
            excess = max(scale * w[i, x] - s[x], zero)
            gain = excess * excess * (count / (one + price * count))
            blamed[x] = number if gain > best[x] else blamed[x]
            best[x] = max(gain, best[x])
    for i in range(w.shape[0]):
        scale, weight, number = coefficients[1, i], coefficients[2, i], w.dtype.type(i)
        # A view with scale 0 does not count: its A stays W.
        inverse = one / scale if scale > zero else zero
        for x in range(BLOCK):
            value = (scale * w[i, x] - s[x]) * inverse / (one + price * weight * tau[i, x])
            e[i, x] = min(value, w[i, x]) if blamed[x] == number else zero


@njit
def _share_blame(w, e, tau, s, total, change, softness, coefficients, beta, gamma):
    """Solve a block on which all views have positive curvature, by Newton's method from below."""
    v = w.shape[0]
    zero, one = w.dtype.type(0), w.dtype.type(1)
    push, surplus = w.dtype.type(gamma), w.dtype.type(gamma - beta)
    slope = np.empty(BLOCK, w.dtype)
    for x in range(BLOCK):
        total[x] = zero
    for i in range(v):
        # A view with scale 0 does not count, with any curvature: its A stays W.
        weight = coefficients[2, i] if coefficients[1, i] > zero else zero
        for x in range(BLOCK):
            count = weight * tau[i, x]
            softness[i, x] = count / (one - surplus * count)
    for _ in range(v):
        for x in range(BLOCK):
            change[x] = zero
            slope[x] = one
        for i in range(v):
            scale = coefficients[1, i]
            for x in range(BLOCK):
                rest = scale * w[i, x] - s[x] - push * total[x]
                change[x] += max(rest, zero) * softness[i, x]
                slope[x] += push * softness[i, x] if rest > zero else zero
        moved = False
        for x in range(BLOCK):
            step = (change[x] - total[x]) / slope[x]
            moved |= step > zero
            total[x] += max(step, zero)
        if not moved:
            break
    for i in range(v):
        scale = coefficients[1, i]
        weight, inverse = (coefficients[2, i], one / scale) if scale > zero else (zero, zero)
        for x in range(BLOCK):
            rest = scale * w[i, x] - s[x] - push * total[x]
            value = max(rest, zero) * inverse / (one - surplus * weight * tau[i, x])
            e[i, x] = min(value, w[i, x])


@njit
def _blame_in_general(w, e, tau, s, convex, coefficients, beta, gamma):
    """Solve those edges of a block on which some view has positive curvature, in double precision.

    Over the views that exceed the fused value: no other can be blamed.
    """
    v = w.shape[0]
    excess, own, curvature, z = np.empty(v), np.empty(v), np.empty(v), np.empty(v)
    order = np.empty(v, np.intp)
    for x in range(BLOCK):
        if convex[x] == 0:
            continue
        n_convex, concave = 0, v  # the views order[:n_convex] and order[concave:]
        for i in range(v - 1, -1, -1):
            e[i, x] = 0
            count = np.float64(coefficients[2, i]) * tau[i, x]
            excess[i] = np.float64(coefficients[1, i]) * w[i, x] - s[x]
            if excess[i] <= 0 or count <= 0:
                continue
            own[i] = 1 / count + beta
            curvature[i] = own[i] - gamma
            if tau[i, x] < coefficients[3, i]:
                place = n_convex
                while place > 0 and excess[order[place - 1]] <= excess[i]:
                    order[place] = order[place - 1]
                    place -= 1
                order[place] = i
                n_convex += 1
            else:
                concave -= 1
                order[concave] = i
        _exact_edge(excess, own, curvature, gamma, order, n_convex, concave, z)
        for k in range(v):
            if k < n_convex or k >= concave:
                i = order[k]
                value = z[i] / (np.float64(coefficients[2, i]) * tau[i, x] * coefficients[1, i])
                e[i, x] = min(value, np.float64(w[i, x]))


@njit
def _exact_edge(excess, own, curvature, gamma, order, n_convex, concave, z):
    """Minimise one edge's program exactly; see `numpy.rounds.exact_edge_step`.

    `order` has the views of positive curvature up to `n_convex`, by excess, largest first, and the others
    from `concave` on; `own` is curvature + gamma without its rounding. Sets z for these views.

    Of supports that differ only in the number of views of positive curvature, the largest that is valid is
    the best. This is not left to the objective, in which a view of little trust may be less than rounding.
    """
    best_value, best_sum, best_count, best_one, best_z_one = 0.0, 0.0, 0, -1, 0.0
    inverse_sum, sum_r, sum_rr = 0.0, 0.0, 0.0
    for count in range(n_convex + 1):
        last_r = np.inf
        if count > 0:
            view = order[count - 1]
            last_r = excess[view]
            inverse_sum += 1 / curvature[view]
            sum_r += last_r / curvature[view]
            sum_rr += last_r * last_r / curvature[view]
        stiffness = 1 + gamma * inverse_sum
        total = sum_r / stiffness
        value = -(sum_rr - gamma * total * sum_r)
        if last_r >= gamma * total and (value < best_value or best_one == -1):
            best_value, best_sum, best_count, best_one = value, total, count, -1
        for k in range(concave, len(order)):
            view = order[k]
            determinant = own[view] + gamma * inverse_sum * curvature[view]
            if determinant <= 0:
                continue
            z_one = (excess[view] * stiffness - gamma * sum_r) / determinant
            total = (curvature[view] * sum_r + excess[view]) / determinant
            value = -(sum_rr - gamma * total * sum_r) - excess[view] * z_one
            if z_one >= 0 and last_r >= gamma * total and (value < best_value or best_one == view):
                best_value, best_sum, best_count, best_one, best_z_one = value, total, count, view, z_one

    for k in range(n_convex):
        z[order[k]] = (
            max((excess[order[k]] - gamma * best_sum) / curvature[order[k]], 0) if k < best_count else 0
        )
    for k in range(concave, len(order)):
        z[order[k]] = best_z_one if order[k] == best_one else 0
