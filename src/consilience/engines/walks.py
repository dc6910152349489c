"""Walks of two steps on graphs, for engines that work in this memory: SciPy's sparse products do the work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..graphs import EdgeSet

Floats = NDArray[np.floating[Any]]
Mask = NDArray[np.bool_]
Keep = Callable[[EdgeSet, Floats, int, tuple[int, int]], sparse.csr_array]

_BLOCK = 2048  # rows of the walks of two steps that are held at a time


@dataclass(frozen=True, eq=False)
class NeighborGraph:
    """The graph of a view's neighbours, made symmetric, as steps of a random walk.

    Attributes
    ----------
    step : csr_array of shape (n, n)
        Probabilities of going from a sample to its neighbours.
    returns : ndarray of shape (n,)
        Probability that a walk of two steps returns to its start.
    n_named : ndarray of shape (n, 1)
        How many neighbours vote on each sample.
    """

    step: sparse.csr_array
    returns: Floats
    n_named: Floats

    @classmethod
    def of(cls, lists: NDArray[Any]) -> NeighborGraph:
        """Read the lists of a view."""
        n, k = lists.shape
        own = lists == np.arange(n)[:, None]
        indptr = np.concatenate([[0], np.cumsum((~own).sum(axis=1))])
        named = sparse.csr_array((np.ones(indptr[-1]), lists[~own], indptr), shape=(n, n))
        both = sparse.csr_array(named + named.T)
        degree = np.asarray(both.sum(axis=1)).ravel()
        inverse = np.divide(1.0, degree, out=np.zeros(n), where=degree > 0)
        starts = np.repeat(np.arange(n), np.diff(both.indptr))
        returns = inverse * np.bincount(starts, both.data**2 * inverse[both.indices], minlength=n)
        both.data *= inverse[starts]
        return cls(both, returns, np.minimum(degree, 2.0 * k)[:, None])

    def votes(self, members: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what neighbours of neighbours say about each sample's cluster; see `Engine.votes`."""
        # Walks that return to their start are not counted: a sample has no vote on itself.
        ends = self.step @ (self.step @ members) - self.returns[:, None] * members
        total = ends.sum(axis=1, keepdims=True)
        np.maximum(ends, 0.0, out=ends)
        # As if one more neighbour were drawn from all samples, in addition to the sample's own, mostly 2 k.
        weight = np.where(total > 1e-9, self.n_named, 0.0)
        ends /= np.maximum(total, 1e-9)
        shares = members.mean(axis=0) + 1e-12
        return np.asarray((ends * weight + shares) / (weight + 1))


def complete_graph(
    edges: EdgeSet,
    values: Floats,
    graph: sparse.csr_array,
    mask: Mask,
    view_weights: NDArray[np.float64],
    k: int,
    keep: Keep,
) -> tuple[EdgeSet, Floats]:
    """Complete the edges that views have not seen by common neighbours; see `Engine.impute`.

    Parameters
    ----------
    edges, values, mask, view_weights, k
        As in `Engine.impute`.
    graph : csr_array of shape (n, n)
        The unified graph as it is, symmetric.
    keep : callable
        Keeps the k largest values of each row of edges, as a matrix of a shape.
    """
    assert edges.seen is not None
    share = view_weights @ edges.seen / view_weights.sum()
    walked, unseen = _walks(edges, graph, mask, k, keep)
    squares = float(share @ walked**2)
    if squares == 0:  # no two samples have a neighbour in common
        return edges, values
    scale = float(share @ (walked * values)) / squares
    known = edges.to_csr(share * values + (1 - share) * scale * walked)
    joined = sparse.csr_array(known + scale * unseen)
    joined.sort_indices()
    return EdgeSet(joined.indptr, joined.indices), joined.data


def _walks(
    edges: EdgeSet, graph: sparse.csr_array, mask: Mask, k: int, keep: Keep
) -> tuple[Floats, sparse.csr_array]:
    """Return the weights of walks of two steps: on the edges, and the k largest without a common view."""
    bits, starts = np.packbits(mask, axis=1), edges.rows
    on_edges, parts = np.zeros(edges.n_edges), []
    for first, walks in _blocks_of_walks(graph):
        rows = first + np.repeat(np.arange(walks.shape[0]), np.diff(walks.indptr))
        own = slice(edges.indptr[first], edges.indptr[first + walks.shape[0]])
        on_edges[own] = _take(walks, rows, starts[own], edges.indices[own])
        apart = ~(bits[rows] & bits[walks.indices]).any(axis=1)
        indptr = np.concatenate([[0], np.cumsum(apart)])[walks.indptr]
        parts.append(keep(EdgeSet(indptr, walks.indices[apart]), walks.data[apart], k, walks.shape))
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
