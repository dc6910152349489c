"""Fits of the same samples in several orders next to each other, and what could make them differ.

A sample is *tied* in a view if its k-th and its next nearest neighbour are equally near: with
`row_order="given"`, the order of the rows decides which of them is named. A *copy* is the same as an earlier
sample in all views: with `row_order="content"`, only copies stay in the order of the rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from consilience import Views
from consilience.engines import get_engine
from consilience.graphs import EdgeSet
from consilience.models.given import GivenViews
from consilience.stages import canonical_labels
from consilience.views.content_order import content_keys

EQUAL = 1e-11  # relative difference of distances that count as equal, as everywhere in the library
Order = NDArray[np.intp]


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
    """

    model: Any
    labels: NDArray[np.intp]
    graph: sparse.csr_array


def fit_in_order(model: Any, arrays: Sequence[Any], order: Order) -> Fit:
    """Fit a model to samples in an order."""
    back = np.argsort(order)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit([array[order] for array in arrays])
    return Fit(model, canonical_labels(model.labels_[back]), model.graph_[back][:, back])


@dataclass(frozen=True, eq=False)
class Difference:
    """How far two fits of the same samples differ.

    Attributes
    ----------
    labels : int
        Samples with another label, clusters numbered by first appearance.
    edges : int
        Edges that one graph has and the other has not.
    weight : float
        The share of the weight of both graphs that differs: 0 for equal ones, 1 without a common edge.
    """

    labels: int
    edges: int
    weight: float


def difference(one: Fit, other: Fit) -> Difference:
    """Compare two fits.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 1.0, 0], [1.0, 0, 1.0], [0, 1.0, 0]])
    >>> pair = csr_array([[0, 1.0, 0], [1.0, 0, 0], [0, 0, 0]])
    >>> difference(Fit(None, np.array([0, 0, 0]), path), Fit(None, np.array([0, 0, 1]), pair))
    Difference(labels=1, edges=1, weight=0.333...)
    """
    graph, theirs = one.graph, other.graph
    apart = sparse.triu(sparse.csr_array(graph != 0) != sparse.csr_array(theirs != 0), k=1)
    weight = float(abs(graph - theirs).sum() / (graph.sum() + theirs.sum()))
    return Difference(int((one.labels != other.labels).sum()), int(apart.nnz), weight)


def tied_samples(fit: Fit, arrays: Sequence[Any]) -> NDArray[np.bool_]:
    """Say which samples are tied in any view, by the metrics and scales of a fit."""
    engine, model = get_engine("numba"), fit.model
    given = GivenViews.of(Views(list(arrays)), model.metric)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        points = given.prepare(model.metrics_, model.scale, engine=engine).points
    n, k = len(fit.labels), model.n_neighbors_
    tied = np.zeros(n, dtype=bool)
    for one in points if k < n - 1 else ():
        lists = np.sort(engine.fetch(engine.nearest(one, k + 1, "exact").lists), axis=1)
        starts = np.arange(0, n * (k + 1) + 1, k + 1, dtype=np.int64)
        edges = engine.adopt(EdgeSet(starts, lists.ravel().astype(np.int32)))
        values = np.asarray(engine.fetch(engine.measure(one, edges)), dtype=np.float64).reshape(n, k + 1)
        last, farthest = np.sort(values, axis=1)[:, -2:].T
        tied |= farthest <= last * (1 + EQUAL)
    return tied


def n_copies(arrays: Sequence[Any]) -> int:
    """Count the samples that are the same as an earlier one in all views.

    Examples
    --------
    >>> n_copies([np.array([[1.0], [2.0], [1.0], [1.0]])])
    2
    """
    keys = content_keys(Views(list(arrays)))
    return len(keys) - len(np.unique(keys))
