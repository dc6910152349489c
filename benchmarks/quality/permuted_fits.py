"""Fits of the same samples in several orders: graphs next to each other, and ties settled alike.

A sample is *tied* in a view if its k-th and its next nearest neighbour are equally near: the order of the
samples decides which of them is named. An edge that one order has and another has not may be

- *at a tied sample*: one of its ends is tied in a view;
- *elsewhere*: other neighbours of tied samples change a little how far these are trusted, and what all
  samples share (the weights of the views, the spread of trust, the unit of a kernel). That decides where two
  edges of a sample are almost equally strong.

That ties and nothing else are behind both shows where ties are settled alike in all orders (`SettledEngine`):
then there must be no such edge. Ties of the unified similarities are settled there, too; everything else is
computed anew in each order.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from consilience import Views
from consilience.engines import get_engine
from consilience.engines.numba import NumbaEngine
from consilience.engines.results import Neighbors
from consilience.graphs import EdgeSet
from consilience.models.given import GivenViews

EQUAL = 1e-11  # relative difference of distances that count as equal, as everywhere in the library
Order = NDArray[np.intp]


class RecordingEngine(NumbaEngine):
    """The default engine; it keeps the neighbours of each view, as found and as compared."""

    def __init__(self) -> None:
        self.found: list[Neighbors] = []
        self.compared: list[NDArray[Any]] = []

    def nearest(self, points: Any, k: int, search: Any = "exact") -> Neighbors:
        """Find neighbours, and keep them."""
        self.found.append(super().nearest(points, k, search))
        return self.found[-1]

    def break_ties(self, points: Any, lists: Any, seed: Sequence[int], search: Any = "exact") -> Any:
        """Break ties by the order of the samples, and keep the result."""
        self.compared.append(super().break_ties(points, lists, seed, search))
        return self.compared[-1]


class SettledEngine(NumbaEngine):
    """The default engine for samples in another order; ties are settled as in the first one.

    Parameters
    ----------
    first : RecordingEngine
        With the neighbours of the samples in their first order.
    order : ndarray of shape (n,)
        The place in the first order of each sample of the other.
    """

    def __init__(self, first: RecordingEngine, order: Order) -> None:
        self.order, self.back = order, np.argsort(order)
        self._found, self._compared = iter(first.found), iter(first.compared)

    def _moved(self, lists: NDArray[Any]) -> NDArray[Any]:
        return self.back[lists[self.order]].astype(lists.dtype)

    def nearest(self, points: Any, k: int, search: Any = "exact") -> Neighbors:
        """Return the neighbours of the first order."""
        first = next(self._found)
        return Neighbors(self._moved(first.lists), first.report)

    def break_ties(self, points: Any, lists: Any, seed: Sequence[int], search: Any = "exact") -> Any:
        """Return the lists of the first order."""
        return self._moved(next(self._compared))

    def sparsify(self, edges: EdgeSet, values: Any, k: int) -> sparse.csr_array:
        """Keep the strongest edges; of equal ones those that come first in the first order."""
        graph = reordered(edges.to_csr(values), self.back)
        kept = super().sparsify(EdgeSet(graph.indptr, graph.indices), graph.data, k)
        return reordered(kept, self.order)


def reordered(graph: Any, order: Order) -> sparse.csr_array:
    """Return the graph of the same samples in another order, every entry stored, also zeros."""
    result = sparse.csr_array(graph)[order][:, order]
    result.sort_indices()
    return result


@dataclass(frozen=True, eq=False)
class Fit:
    """A fit of samples in an order, with what it found brought back to the first order.

    Attributes
    ----------
    model : estimator
        The fitted model.
    labels : ndarray of shape (n,)
        Labels, in the first order.
    graph : csr_array of shape (n, n)
        The unified graph, in the first order.
    lists : list of ndarray of shape (n, k)
        The neighbours in each view, in the first order; none if they were given.
    """

    model: Any
    labels: NDArray[np.intp]
    graph: sparse.csr_array
    lists: list[NDArray[Any]] = field(default_factory=list)


def fit_in_order(model: Any, arrays: Sequence[Any], order: Order) -> Fit:
    """Fit a model to samples in an order."""
    engine, back = model.engine, np.argsort(order)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit([array[order] for array in arrays])
    found = engine.found if isinstance(engine, RecordingEngine) else []
    return Fit(
        model,
        model.labels_[back],
        reordered(model.graph_, back),
        [order[one.lists[back]] for one in found],
    )


@dataclass(frozen=True, eq=False)
class Difference:
    """How far two graphs of the same samples differ.

    Attributes
    ----------
    edges : int
        Edges that one of them has, in either direction.
    at_ties : int
        Those of them that have a tied end.
    weight : float
        The share of the weight of both that differs: 0 for equal graphs, 1 without a common edge.
    """

    edges: int
    at_ties: int
    weight: float


def difference(one: Any, other: Any, tied: NDArray[np.bool_]) -> Difference:
    """Compare two graphs, given which samples are tied.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 1.0, 0], [1.0, 0, 1.0], [0, 1.0, 0]])
    >>> pair = csr_array([[0, 1.0, 0], [1.0, 0, 0], [0, 0, 0]])
    >>> difference(path, pair, np.array([False, False, True]))
    Difference(edges=1, at_ties=1, weight=0.333...)
    """
    apart = sparse.triu(sparse.csr_array(one != 0) != sparse.csr_array(other != 0), k=1).tocoo()
    weight = float(abs(one - other).sum() / (one.sum() + other.sum()))
    return Difference(apart.nnz, int((tied[apart.row] | tied[apart.col]).sum()), weight)


@dataclass(frozen=True, eq=False)
class Ties:
    """The neighbours of samples in their first order, to see which others would have been as good.

    Attributes
    ----------
    points : tuple
        The views, as the default engine placed them.
    lists : list of ndarray of shape (n, k)
        The neighbours in each view.
    farthest : list of ndarray of shape (n, 1)
        How far the last of them is.
    tied : ndarray of bool of shape (n,)
        Which samples are tied in any view.
    """

    points: tuple[Any, ...]
    lists: list[NDArray[Any]]
    farthest: list[NDArray[Any]]
    tied: NDArray[np.bool_]

    @classmethod
    def of(cls, first: Fit, arrays: Sequence[Any]) -> Ties:
        """Measure the neighbours of a first fit, and one more of each sample."""
        engine, model = get_engine("numba"), first.model
        given = GivenViews.of(Views(list(arrays)), model.metric)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            points = given.prepare(model.metrics_, model.scale, engine=engine).points
        farthest, tied = [], np.zeros(len(model.labels_), dtype=bool)
        for one, lists in zip(points, first.lists, strict=True):
            last = _distances(one, lists).max(axis=1, keepdims=True)
            farthest.append(last)
            n, k = lists.shape
            if k < n - 1:
                more = engine.fetch(engine.nearest(one, k + 1, "exact").lists)
                near = _distances(one, more) <= last * (1 + EQUAL)
                tied |= near.sum(axis=1) > k
        return cls(points, first.lists, farthest, tied)

    def untied(self, other: Fit) -> int:
        """Count neighbours that one order names and the other does not, though they are not equally near."""
        count = 0
        for one, own, theirs, last in zip(self.points, self.lists, other.lists, self.farthest, strict=True):
            for lists, among in ((own, theirs), (theirs, own)):
                differ = ~(lists[:, :, None] == among[:, None, :]).any(axis=2)
                apart = np.abs(_distances(one, lists) - last) > EQUAL * last
                count += int((differ & apart).sum())
        return count


def _distances(points: Any, lists: NDArray[Any]) -> NDArray[np.float64]:
    """Return how far the neighbours of each sample are, in the order of the lists."""
    n, k = lists.shape
    ascending = np.argsort(lists, axis=1)
    ends = np.take_along_axis(lists, ascending, axis=1)
    engine = get_engine("numba")
    edges = engine.adopt(EdgeSet(np.arange(0, n * k + 1, k, dtype=np.int64), ends.ravel().astype(np.int32)))
    values = np.asarray(engine.fetch(engine.measure(points, edges)), dtype=np.float64).reshape(n, k)
    result = np.empty_like(values)
    np.put_along_axis(result, ascending, values, axis=1)
    return result
