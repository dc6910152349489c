"""What neighbour lists have in common: counts on several threads.

Lists are of shape (n, k), ascending in each row; a sample's own index stands for "no neighbour".
"""

# Compiled functions are not annotated: Numba derives their types from the call.
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numba as nb
import numpy as np
from numpy.typing import NDArray

from .. import threads
from ..results import Matrix, Overlaps, Vector

Index = NDArray[np.integer[Any]]
Mask = NDArray[np.bool_]

_GRAIN = 2048  # samples


def stack_lists(lists: Sequence[Index]) -> Index:
    """Return the lists of all views as one array (v, n, k), each ascending; shorter ones filled with self."""
    n, k = len(lists[0]), max(one.shape[1] for one in lists)
    result = np.repeat(np.arange(n, dtype=np.int32)[None, :, None], len(lists), axis=0).repeat(k, axis=2)
    for place, one in zip(result, lists, strict=True):
        place[:, : one.shape[1]] = one
    result.sort(axis=2)
    return result


def count_overlaps(stacked: Index, mask: Mask | None) -> Overlaps:
    """Count what the lists have in common; see `Engine.overlaps`."""
    v, n, _ = stacked.shape
    shared = _count_shared(stacked)
    pairs = np.zeros((v, v, 6))
    if mask is None or mask.all():
        everyone = np.ones(n, dtype=bool)
        for i, one in enumerate(stacked):
            pairs[i] = _edge_pairs(one, everyone)
        return Overlaps(shared, pairs, np.full((v, v), n))
    for i in range(v):
        for j in range(v):
            if i != j:
                pairs[i, j] = _edge_pairs(stacked[i], mask[:, i] & mask[:, j])
    return Overlaps(shared, pairs, mask.T.astype(np.intp) @ mask.astype(np.intp))


def _count_shared(lists: Index) -> Matrix:
    """Return how many neighbours each two views have in common, over all samples; below the diagonal."""
    v, n, _ = lists.shape
    parts = -(-n // _GRAIN)
    counts = np.zeros((parts, v, v), dtype=np.int64)
    threads.for_ranges(
        lambda a, b: [
            count_shared(lists, p * _GRAIN, min(n, (p + 1) * _GRAIN), counts[p]) for p in range(a, b)
        ],
        parts,
    )
    return counts.sum(axis=0).astype(np.float64)


def _edge_pairs(neighbors: Index, member: Mask) -> Vector:
    """Count ordered pairs of edges between members, by the samples that they share; see `Overlaps.pairs`."""
    n, k = neighbors.shape
    out_degree, mutual = np.empty(n), np.empty(n, dtype=np.int64)
    threads.for_ranges(
        lambda a, b: count_mutual(neighbors, member, a, b, out_degree, mutual), n, grain=_GRAIN
    )
    if member.all():  # without an array that says which edges count: a sample's own number is no edge
        in_degree = np.bincount(neighbors.ravel(), minlength=n) - (k - out_degree)
    else:
        inside = (neighbors != np.arange(n)[:, None]) & member[:, None] & member[neighbors]
        in_degree = np.bincount(neighbors[inside], minlength=n).astype(np.float64)
    edges, back = out_degree.sum(), float(mutual.sum())
    same_start = (out_degree**2).sum() - edges
    same_end = (in_degree**2).sum() - edges
    chained = 2 * ((out_degree * in_degree).sum() - back)
    apart = edges**2 - edges - back - same_start - same_end - chained
    return np.array([edges, back, same_start, same_end, chained, apart])


def confirmed_rates(
    stacked: Index, mask: Mask | None, votes: Matrix, expected: Matrix, units: Vector
) -> Matrix:
    """Return how far each row of each view is confirmed by others; see `Engine.row_trust`."""
    v, n, _ = stacked.shape
    seen = np.ones((n, v), dtype=bool) if mask is None else mask
    found, foreseen = np.zeros((n, v)), np.zeros((n, v))
    threads.for_ranges(
        lambda a, b: sum_shared(stacked, seen, votes, expected, a, b, found, foreseen), n, grain=_GRAIN
    )
    rates = np.ones((n, v))
    for i in np.flatnonzero(units > 0).tolist():
        rates[:, i] = shrunk_rates(found[:, i] / units[i], foreseen[:, i] / units[i])
    return rates


def shrunk_rates(counts: Vector, expected: Vector) -> Vector:
    """Return the posterior mean of Poisson rates, in units of the expected counts.

    Rates come from a Gamma distribution of mean 1, its shape fitted to how far counts vary beyond a Poisson
    number's own variance.
    """
    excess = float(((counts - expected) ** 2 - expected).sum())
    squares = float((expected**2).sum())
    if excess <= 1e-9 * squares:
        return np.ones(len(counts))
    shape = squares / excess
    return np.asarray((shape + counts) / (shape + expected))


def count_confirmed(
    stacked: Index, view: int, others: Mask, rows: NDArray[np.intp], places: NDArray[np.intp]
) -> NDArray[np.int64]:
    """Count the neighbours that other views name at certain places; see `Engine.confirmed`."""
    counts = np.empty(len(rows), dtype=np.int64)
    threads.for_ranges(
        lambda a, b: count_shared_at(stacked, view, others, rows, places, a, b, counts),
        len(rows),
        grain=_GRAIN,
    )
    return counts


_njit = nb.njit(nogil=True, cache=True)


@_njit
def _shared(one, two, own):
    """Return how many neighbours two ascending lists of the same sample have in common."""
    count, a, b = 0, 0, 0
    while a < len(one) and b < len(two):
        if one[a] < two[b]:
            a += 1
        elif two[b] < one[a]:
            b += 1
        else:
            count += one[a] != own
            a += 1
            b += 1
    return count


@_njit
def count_shared_at(lists, i, others, rows, places, first, last, shared):
    """Count the neighbours that rows of one view share with other views at certain places.

    Parameters
    ----------
    lists : ndarray of shape (v, n, k)
    i : int
        The view whose rows they are.
    others : ndarray of bool of shape (n, v)
        Which views are compared at each place.
    rows, places : ndarray of int of shape (m,)
        Neighbours of sample rows[j] in view i are compared with those of sample places[j] in the others.
    shared : ndarray of shape (m,)
        Output, for [first, last).
    """
    for m in range(first, last):
        count = 0
        for j in range(len(lists)):
            if others[places[m], j]:
                # The row's own index means "no neighbour" in the one list, that of the place in the other.
                count += _shared(lists[i, rows[m]], lists[j, places[m]], places[m])
                if rows[m] != places[m]:
                    for t in lists[i, rows[m]]:
                        if t == rows[m]:
                            for u in lists[j, places[m]]:
                                count -= u == t
                            break
        shared[m] = count


@_njit
def count_shared(lists, first, last, counts):
    """Count the neighbours that two views share, for each pair of views, over the samples [first, last).

    Parameters
    ----------
    lists : ndarray of shape (v, n, k)
    counts : ndarray of shape (v, v)
        Output, below the diagonal; added to.
    """
    for s in range(first, last):
        for i in range(len(lists)):
            for j in range(i):
                counts[i, j] += _shared(lists[i, s], lists[j, s], s)


@_njit
def sum_shared(lists, seen, votes, expected, first, last, found, foreseen):
    """Add up, per sample and view, the neighbours shared with each other view, times that view's vote.

    Parameters
    ----------
    lists : ndarray of shape (v, n, k)
    seen : ndarray of bool of shape (n, v)
        Which view has seen which sample; pairs of views that have not both seen one are skipped.
    votes : ndarray of shape (v, v)
        The vote that each view (column) has on each (row).
    expected : ndarray of shape (v, v)
        How many neighbours two views share on average.
    found, foreseen : ndarray of shape (n, v)
        Output: the sums, and what they would be if every sample were an average one.
    """
    for s in range(first, last):
        for i in range(len(lists)):
            for j in range(i):
                if seen[s, i] and seen[s, j] and votes[i, j] > 0:
                    shared = _shared(lists[i, s], lists[j, s], s)
                    found[s, i] += votes[i, j] * shared
                    found[s, j] += votes[j, i] * shared
                    foreseen[s, i] += votes[i, j] * expected[i, j]
                    foreseen[s, j] += votes[j, i] * expected[i, j]


@_njit
def count_mutual(neighbors, member, first, last, out_degree, mutual):
    """Count, for each sample in [first, last), its neighbours, and those of them that name it too.

    Among members only.
    """
    for s in range(first, last):
        out_degree[s], mutual[s] = 0, 0
        if not member[s]:
            continue
        for t in neighbors[s]:
            if t != s and member[t]:
                out_degree[s] += 1
                for back in neighbors[t]:
                    if back == s:
                        mutual[s] += 1
                        break
