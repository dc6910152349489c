"""Compiled counts of what neighbour lists have in common.

Lists are of shape (n, k), ascending in each row; a sample's own index stands for "no neighbour".
"""

# Compiled functions are not annotated: Numba derives their types from the call.
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import numba as nb

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
def count_mutual(neighbors, member, first, last, mutual):
    """Count, for each sample in [first, last), its neighbours that name it too; among members only."""
    for s in range(first, last):
        mutual[s] = 0
        if not member[s]:
            continue
        for t in neighbors[s]:
            if t != s and member[t]:
                for back in neighbors[t]:
                    if back == s:
                        mutual[s] += 1
                        break
