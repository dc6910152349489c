"""What neighbour lists have in common, with sets: every list as the set of its members."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..results import Matrix, Overlaps, Vector

Sets = list[list[set[int]]]  # for each view and sample, its neighbours
Mask = NDArray[np.bool_]


def as_sets(lists: Sequence[NDArray[np.integer[Any]]]) -> Sets:
    """Return the neighbours of each sample in each view; its own number is not a neighbour."""
    return [[set(row) - {i} for i, row in enumerate(one.tolist())] for one in lists]


def count_overlaps(views: Sets, mask: Mask | None) -> Overlaps:
    """Count what the lists have in common; see `Engine.overlaps`."""
    v, n = len(views), len(views[0])
    seen = np.ones((n, v), dtype=bool) if mask is None else mask
    shared, pairs = np.zeros((v, v)), np.zeros((v, v, 6))
    for i in range(v):
        for j in range(v):
            if j < i:
                shared[i, j] = sum(len(a & b) for a, b in zip(views[i], views[j], strict=True))
            pairs[i, j] = _edge_pairs(views[i], set(np.flatnonzero(seen[:, i] & seen[:, j]).tolist()))
    return Overlaps(shared, pairs, seen.T.astype(np.intp) @ seen.astype(np.intp))


def _edge_pairs(neighbors: list[set[int]], member: set[int]) -> Vector:
    """Count ordered pairs of edges between members, by the samples that they share; see `Overlaps.pairs`."""
    edges = {(i, j) for i in member for j in neighbors[i] & member}
    starts, ends = Counter(i for i, _ in edges), Counter(j for _, j in edges)
    n = len(edges)
    back = sum((j, i) in edges for i, j in edges)
    same_start = sum(count * (count - 1) for count in starts.values())
    same_end = sum(count * (count - 1) for count in ends.values())
    chained = 2 * (sum(starts[i] * ends[i] for i in member) - back)
    apart = n**2 - n - back - same_start - same_end - chained
    return np.array([n, back, same_start, same_end, chained, apart], dtype=np.float64)


def confirmed_rates(views: Sets, mask: Mask | None, votes: Matrix, expected: Matrix, units: Vector) -> Matrix:
    """Return how far each row of each view is confirmed by others; see `Engine.row_trust`."""
    v, n = len(views), len(views[0])
    seen = np.ones((n, v), dtype=bool) if mask is None else mask
    rates = np.ones((n, v))
    for i in range(v):
        if units[i] <= 0:
            continue
        found, foreseen = np.zeros(n), np.zeros(n)
        for j in range(v):
            if i != j and (votes[i, j] > 0 if j < i else votes[j, i] > 0):
                both = seen[:, i] & seen[:, j]
                counts = [len(a & b) for a, b in zip(views[i], views[j], strict=True)]
                found += votes[i, j] * np.where(both, counts, 0)
                foreseen += votes[i, j] * np.where(both, expected[i, j], 0.0)
        rates[:, i] = _shrunk(found / units[i], foreseen / units[i])
    return rates


def _shrunk(counts: Vector, expected: Vector) -> Vector:
    """Return (a + t) / (a + e), with a from how far counts vary beyond a Poisson number's own variance."""
    excess, squares = ((counts - expected) ** 2 - expected).sum(), (expected**2).sum()
    if excess <= 1e-9 * squares:
        return np.ones(len(counts))
    shape = squares / excess
    return np.asarray((shape + counts) / (shape + expected))
