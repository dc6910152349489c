"""Compiled parts of choosing among the edges of a graph: the first of each row, and common neighbours.

Rows are compressed: `indptr` is where each begins, `indices` are the other ends, ascending in each row.
"""

# Compiled functions are not annotated: Numba derives their types from the call.
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import numba as nb
import numpy as np

_njit = nb.njit(nogil=True, cache=True)
_MANY = 8  # times as many edges of the other end as of the row: then a search one by one is cheaper


@_njit
def pick_first(indptr, indices, far, shared, rows, k, first, last, index, tied):
    """Write the first k ends of some rows: the least far, then those that share most, then the lower index.

    Parameters
    ----------
    far, shared : ndarray of shape (n_edges,)
        How far the other end of each edge is, infinite for one to be left out; how much it shares.
    rows : ndarray of int
        The rows; those at the places [first, last) are done.
    index : ndarray of shape (n, k)
        Output; places without an end are left as they are.
    tied : ndarray of bool of shape (n,)
        Output: whether any of these ends, or the next one, is as far as the one before it.
    """
    place_of = np.empty(k + 1, np.int64)  # one more than asked for, to see whether it is tied with the last
    for r in range(first, last):
        i = rows[r]
        count = 0
        for p in range(indptr[i], indptr[i + 1]):
            if far[p] == np.inf:
                continue
            place = count
            while place > 0:
                other = place_of[place - 1]
                # Of edges that are equal in both, the earlier has the lower index, and stays in its place.
                if far[other] < far[p] or (far[other] == far[p] and shared[other] >= shared[p]):
                    break
                if place <= k:
                    place_of[place] = other
                place -= 1
            if place <= k:
                place_of[place] = p
                count = min(count + 1, k + 1)
        tied[i] = False
        for c in range(1, count):
            tied[i] |= far[place_of[c]] == far[place_of[c - 1]]
        for c in range(min(count, k)):
            index[i, c] = indices[place_of[c]]


@_njit
def score_shared(edges, own, graph, strengths, rows, first, last, shared):
    """Write what share of each other end's edges leads to neighbours of the row, by weight.

    Parameters
    ----------
    edges : tuple
        (indptr, indices, far) of the edges to score; those that are infinitely far are not scored.
    own : tuple
        (indptr, indices, weights): the neighbours of the rows.
    graph : tuple
        The same of the other ends, without a diagonal.
    strengths : ndarray
        The sum of the weights of each other end.
    rows : ndarray of int
        The rows; those at the places [first, last) are done.
    shared : ndarray of shape (n_edges,)
        Output.
    """
    indptr, indices, far = edges
    own_indptr, own_indices, own_weights = own
    graph_indptr, graph_indices, graph_weights = graph
    weight_of = np.zeros(len(strengths))  # of each sample as a neighbour of the present row
    for r in range(first, last):
        i = rows[r]
        begin, end = own_indptr[i], own_indptr[i + 1]
        for q in range(begin, end):
            weight_of[own_indices[q]] = own_weights[q]
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            if far[p] == np.inf or strengths[j] == 0:
                continue
            total = 0.0
            start, stop = graph_indptr[j], graph_indptr[j + 1]
            if stop - start <= _MANY * (end - begin):
                for q in range(start, stop):
                    total += weight_of[graph_indices[q]] * graph_weights[q]
            else:  # a hub; the same terms in the same order
                for q in range(begin, end):
                    start += np.searchsorted(graph_indices[start:stop], own_indices[q])
                    if start < stop and graph_indices[start] == own_indices[q]:
                        total += own_weights[q] * graph_weights[start]
            shared[p] = total / strengths[j]
        for q in range(begin, end):
            weight_of[own_indices[q]] = 0.0
