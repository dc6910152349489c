"""Lists that do not depend on the order of the samples, for engines that work in this memory.

Where many samples are equally near, in views of few different rows, the order of the samples decides which of
them are named. That order is the same in all views, and would look like agreement.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..graphs import EdgeSet

_MANY_TIES = 0.2  # share of the samples whose last two neighbours are equally near
_WIDER = 3  # times as many neighbours are considered where there are ties
_EQUAL = 1e-11  # relative difference of distances that count as equal

Index = NDArray[np.integer[Any]]


def untied_lists(points: Any, lists: Index, seed: Sequence[int]) -> Index:
    """Return the lists as they are if there are few ties; otherwise the last ones drawn among equally near.

    Parameters
    ----------
    points : placed view
        With `kind`, `ranks_ties`, `nearest`, `measure` and `reordered`.
    lists : ndarray of shape (n, k)
        Neighbours; of equally near samples the first come first.
    seed : sequence of int
        Draws the order of the samples, and draws among equally near ones.
    """
    if not _has_ties(points, lists):
        return lists
    n, k = lists.shape
    rng = np.random.default_rng(seed)
    if points.ranks_ties:  # a graph ranks equal edges itself; a random order decides the rest
        return nearest_in_order(points, k, rng.permutation(n))
    return _drawn_lists(points, n, k, rng)


def nearest_in_order(points: Any, k: int, order: NDArray[np.intp]) -> Index:
    """Return each sample's k nearest others; of equally near ones those that come first in the order."""
    found = points.reordered(order).nearest(k).lists
    result = np.empty_like(found)
    result[order] = order[found]
    return result


def _has_ties(points: Any, lists: Index) -> bool:
    """Say whether the last two neighbours of many samples are equally near."""
    n, k = lists.shape
    if k < 2:
        return False
    last = np.sort(lists[:, -2:], axis=1)
    values = _distances(points, last)
    values = values[np.isfinite(values).all(axis=1)]
    equal = np.abs(values[:, 0] - values[:, 1]) <= _EQUAL * np.abs(values).max(axis=1)
    return bool(equal.sum() > _MANY_TIES * n)


def _drawn_lists(points: Any, n: int, k: int, rng: np.random.Generator) -> Index:
    """Return lists of k neighbours, the last ones drawn from those that are as near as the last one.

    Of very many equally near ones some are considered, the first in a random order of this view.
    """
    wide = np.sort(nearest_in_order(points, min(n - 1, _WIDER * k), rng.permutation(n)), axis=1)
    values = _distances(points, wide)
    last = np.partition(values, k - 1, axis=1)[:, k - 1 : k]
    tolerance = _EQUAL * np.where(np.isfinite(last), np.abs(last), 0.0)
    rank = np.where(values < last - tolerance, 0.0, np.where(values <= last + tolerance, 1.0, 2.0))
    rank[np.isinf(values)] = 3.0
    chosen = np.argsort(rank + rng.random(wide.shape), axis=1)[:, :k]
    return np.take_along_axis(wide, chosen, axis=1)


def _distances(points: Any, lists: Index) -> NDArray[Any]:
    """Return how far the samples of ascending lists are, infinite for a sample itself ("no neighbour")."""
    n, k = lists.shape
    values = points.measure(EdgeSet(np.arange(0, n * k + 1, k), lists.ravel())).reshape(n, k)
    values = values if points.kind == "distance" else -values
    return np.where(lists == np.arange(n)[:, None], np.inf, values)
