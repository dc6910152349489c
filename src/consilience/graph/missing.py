r"""Graphs of samples that not every view has seen.

The fusion itself leaves out what a view has not seen, and needs nothing else. Three things around it do.

**Neighbours.** Where a view has seen only a share of the samples, the same ball holds only that share of the
k neighbours. So it names the same share of k: otherwise its neighbours would lie further out the less it has
seen, and in the end in other clusters.

**What a view would have said.** The unified value of an edge is a mean over the views that judge it. An
edge that is judged only by the view that names it is short by choice, and would win against one that is
judged by all. So a view that has not seen an edge is put in by what it can be expected to say, given the
views that have: the conditional mean of jointly normal values with the means and covariances of the edges
that two views both judge. The fusion does not see these values; they only enter the mean that becomes the
graph.

**The unified graph.** An edge that few views judge is known less well than one that all judge; two samples
that no view has seen both of cannot be joined by an edge at all. Who they know tells of both. With S the
unified graph as it is and D its degrees, a walk of two steps from i leads to r with the weight

.. math:: T_{ir} = (S D^{-1} S)_{ir},

which is large if they have neighbours in common. In units of the similarities s on the edges, by least
squares, that is c T. With p the share of the views, by their weights, that judge an edge, it becomes

.. math:: p\, s_{ir} + (1 - p)\, c\, T_{ir},

and two samples that no view has seen both of are joined by :math:`c\,T_{ir}`. With nothing missing p is 1
and there are no such samples: nothing changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..neighbors.kernels import mark_largest
from .edges import EdgeSet
from .sparsify import keep_largest, symmetrize

FEWEST = 6  # neighbours that a view names, however few samples it has seen, unless fewer are asked for
_FEW = 3  # edges that two views both judge: of fewer nothing is concluded
_BLOCK = 2048  # rows of the walks of two steps that are held at a time

Floats = NDArray[np.floating[Any]]
Mask = NDArray[np.bool_]


def n_neighbors_of_seen(k: int, seen: Mask) -> int:
    """Return how many neighbours a view names that has seen some of the samples, for k if it had seen all.

    Examples
    --------
    >>> import numpy as np
    >>> n_neighbors_of_seen(20, np.arange(100) < 70), n_neighbors_of_seen(20, np.arange(100) < 5)
    (14, 4)
    """
    n_seen = int(seen.sum())
    return max(1, min(n_seen - 1, max(min(k, FEWEST), round(k * n_seen / len(seen)))))


def expected_values(values: Floats, seen: Mask) -> Floats:
    """Return what views say of edges, with what can be expected of them where they have not seen an edge.

    Parameters
    ----------
    values : ndarray of shape (v, n_edges)
        What each view says, not negative.
    seen : ndarray of bool of shape (v, n_edges)
        Which view judges which edge; each edge is judged by one at least.

    Examples
    --------
    The second view says the double of the first (and more on average), and has not seen the last edge:

    >>> import numpy as np
    >>> values = np.array([[1.0, 2.0, 4.0, 3.0], [2.0, 4.0, 8.0, 0.0]])
    >>> expected_values(values, np.array([[True] * 4, [True, True, True, False]])).round(1)
    array([[1. , 2. , 4. , 3. ],
           [2. , 4. , 8. , 5.7]])
    """
    counts = np.maximum(seen.sum(axis=1), 1)
    means = np.where(seen, values, 0.0).sum(axis=1, dtype=np.float64) / counts
    covariance = _covariance(values, seen, means)
    result = np.array(values, dtype=np.float64)
    # Edges that the same views have seen are treated alike.
    _, first, pattern = np.unique(np.packbits(seen, axis=0).T, axis=0, return_index=True, return_inverse=True)
    pattern = pattern.ravel()  # NumPy 2.0 gave it a second axis
    order = np.argsort(pattern, kind="stable")
    bounds = np.searchsorted(pattern[order], np.arange(len(first) + 1))
    for number, edge in enumerate(first.tolist()):
        there, not_there = np.flatnonzero(seen[:, edge]), np.flatnonzero(~seen[:, edge])
        if not len(not_there):
            continue
        own = order[bounds[number] : bounds[number + 1]]
        slopes = covariance[np.ix_(not_there, there)] @ np.linalg.pinv(
            covariance[np.ix_(there, there)], hermitian=True
        )
        apart = result[np.ix_(there, own)] - means[there][:, None]
        result[np.ix_(not_there, own)] = np.maximum(means[not_there][:, None] + slopes @ apart, 0.0)
    return result


def _covariance(values: Floats, seen: Mask, means: Floats) -> Floats:
    """Return the covariances of the views' values, each over the edges that two of them both judge."""
    apart = np.where(seen, values - means[:, None], 0.0)
    judged = seen.astype(np.float64)
    counts = judged @ judged.T
    covariance = np.where(counts >= _FEW, (apart @ apart.T) / np.maximum(counts, 1), 0.0)
    # Of different edges each, they need not fit together: what would be a negative variance is none.
    variances, axes = np.linalg.eigh(covariance)
    return np.asarray((axes * np.maximum(variances, 0.0)) @ axes.T)


def complete_graph(
    edges: EdgeSet, values: Floats, mask: Mask, view_weights: NDArray[np.float64], k: int
) -> tuple[EdgeSet, Floats]:
    """Put what common neighbours say in place of what the views have not seen; see the module.

    Parameters
    ----------
    edges : EdgeSet
        The shared edges, with what each view has `seen` of them.
    values : ndarray of shape (n_edges,)
        The unified similarities.
    mask : ndarray of bool of shape (n_samples, v)
        Which view has seen which sample.
    view_weights : ndarray of shape (v,)
        How much each view counts.
    k : int
        How many neighbours of each sample the unified graph keeps.

    Returns
    -------
    EdgeSet, ndarray
        The edges, more of them where samples have no view in common, and the completed similarities.

    Examples
    --------
    Samples 0 and 3 have no view in common. Both are near 1 and 2:

    >>> import numpy as np
    >>> mask = np.array([[True, False], [True, True], [True, True], [False, True]])
    >>> edges = EdgeSet.union([np.array([[1, 2], [0, 2], [0, 1], [1, 2]])], mask)
    >>> found, values = complete_graph(edges, np.ones(8), mask, np.ones(2), 2)
    >>> found.to_csr(values).toarray().round(2)[0]
    array([0.  , 0.84, 0.84, 0.67])
    """
    assert edges.seen is not None
    share = view_weights @ edges.seen / view_weights.sum()
    walked, strangers = _walks(edges, symmetrize(keep_largest(edges, values, k)), mask, k)
    squares = float(share @ walked**2)
    if squares == 0:  # nobody has a neighbour in common with anybody
        return edges, values
    scale = float(share @ (walked * values)) / squares
    known = edges.to_csr(share * values + (1 - share) * scale * walked)
    joined = sparse.csr_array(known + scale * strangers)
    joined.sort_indices()
    return EdgeSet(joined.indptr, joined.indices), joined.data


def _walks(edges: EdgeSet, graph: sparse.csr_array, mask: Mask, k: int) -> tuple[Floats, sparse.csr_array]:
    """Return the weights of walks of two steps on the edges, and the k largest to those of no common view."""
    bits, starts = np.packbits(mask, axis=1), edges.rows
    on_edges, parts = np.zeros(edges.n_edges), []
    for first, walks in _blocks_of_walks(graph):
        rows = first + np.repeat(np.arange(walks.shape[0]), np.diff(walks.indptr))
        own = slice(edges.indptr[first], edges.indptr[first + walks.shape[0]])
        on_edges[own] = _take(walks, rows, starts[own], edges.indices[own])
        apart = ~(bits[rows] & bits[walks.indices]).any(axis=1)
        parts.append(_largest(walks, apart, k))
    return on_edges, sparse.csr_array(sparse.vstack(parts))


def _blocks_of_walks(graph: sparse.csr_array) -> Iterator[tuple[int, sparse.csr_array]]:
    """Yield S D^-1 S by blocks of rows, each with its first row."""
    degrees = np.asarray(graph.sum(axis=1)).ravel()
    step = graph.copy()
    step.data /= np.repeat(np.where(degrees > 0, degrees, 1.0), np.diff(graph.indptr))
    for first in range(0, graph.shape[0], _BLOCK):
        walks = sparse.csr_array(graph[first : first + _BLOCK] @ step)
        walks.sort_indices()
        yield first, walks


def _take(walks: sparse.csr_array, rows: Any, starts: Any, ends: Any) -> Floats:
    """Return the entries at (starts, ends); `rows` are those of the entries. Both are in ascending order."""
    n = np.int64(walks.shape[1])
    theirs, own = rows * n + walks.indices, starts.astype(np.int64) * n + ends
    if not len(theirs):
        return np.zeros(len(own))
    place = np.minimum(np.searchsorted(theirs, own), len(theirs) - 1)
    return np.where(theirs[place] == own, walks.data[place], 0.0)


def _largest(walks: sparse.csr_array, wanted: Mask, k: int) -> sparse.csr_array:
    """Return the k largest of the entries wanted in each row."""
    indptr = np.concatenate([[0], np.cumsum(wanted)])[walks.indptr]
    indices, values = walks.indices[wanted], walks.data[wanted]
    kept = np.zeros(len(values), dtype=bool)
    mark_largest(indptr, values, k, 0, walks.shape[0], kept)
    indptr = np.concatenate([[0], np.cumsum(kept)])[indptr]
    return sparse.csr_array((values[kept], indices[kept], indptr), shape=walks.shape)
