"""Many samples in few places: orders, blocks, means."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.float64]
Places = NDArray[np.intp]


def places_of(n: int, most: int) -> tuple[Places, int]:
    """Return the block of each of n samples in a row, and the number of blocks: at most `most`.

    Examples
    --------
    >>> places_of(5, 2)
    (array([0, 0, 0, 1, 1]), 2)
    """
    count = min(n, most)
    return np.arange(n) * count // max(n, 1), count


def mean_of_blocks(values: Floats, most: int) -> Floats:
    """Return the means of successive rows, at most so many; NaN counts as nothing, only NaN as NaN.

    Examples
    --------
    >>> mean_of_blocks(np.array([[1.0], [3.0], [np.nan], [np.nan]]), 2)
    array([[ 2.],
           [nan]])
    """
    places, count = places_of(len(values), most)
    known = np.isfinite(values)
    sums = np.zeros((count, values.shape[1]))
    counts = np.zeros_like(sums)
    np.add.at(sums, places, np.where(known, values, 0.0))
    np.add.at(counts, places, known)
    return np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)


def mean_of_graph(graph: Any, order: Places, most: int) -> Floats:
    """Return a graph as a small picture, samples in this order, each cell the mean weight of its pairs.

    Examples
    --------
    >>> mean_of_graph(sparse.csr_array([[0.0, 1.0], [1.0, 0.0]]), np.arange(2), 1)
    array([[0.5]])
    """
    edges = sparse.coo_array(graph)
    places, count = places_of(len(order), most)
    place = np.empty(len(order), dtype=np.intp)
    place[order] = places
    cells = place[edges.row] * count + place[edges.col]
    sums = np.bincount(cells, edges.data, minlength=count * count).reshape(count, count)
    sizes = np.bincount(places, minlength=count)
    return np.asarray(sums / np.outer(sizes, sizes))


def middles_and_ends(numbers: Places, order: Places, count: int) -> tuple[Floats, Floats]:
    """Return where, on an axis of `count` cells, each cluster has its middle, and each but the last its end.

    Examples
    --------
    >>> middles_and_ends(np.array([0, 0, 1, 1]), np.arange(4), 4)
    (array([0.5, 2.5]), array([1.5]))
    """
    ends = np.cumsum(np.bincount(numbers[order])) * count / len(numbers) - 0.5
    starts = np.concatenate([[-0.5], ends[:-1]])
    return (starts + ends) / 2, ends[:-1]


def apart(places: Floats, least: float) -> list[int]:
    """Return which of ascending places to label so that labels are at least so far from each other.

    Examples
    --------
    >>> apart(np.array([0.0, 0.4, 1.0, 1.2]), 0.5)
    [0, 2]
    """
    chosen: list[int] = []
    for i, place in enumerate(places):
        if not chosen or place - places[chosen[-1]] >= least:
            chosen.append(i)
    return chosen
