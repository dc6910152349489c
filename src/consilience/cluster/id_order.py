"""Samples in the order of their ids: a fit that does not depend on the order in which rows come.

Of equally near samples the first are taken, and k-means begins with rows drawn by their place. So the order
of the samples has a say, if a small one. Where samples have ids it need not have: the fit is made in the
order of the ids, and what it finds is then put back into the order in which the samples came.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..fusion import FusionResult
from ..graph import EdgeSet
from ..views import Views

Order = NDArray[np.intp]


def id_order(views: Views) -> Order | None:
    """Return the numbers of the samples in the order of their ids; None if they are in it, or have no ids.

    Examples
    --------
    >>> id_order(Views([[1.0], [2.0], [3.0]], sample_ids=["c", "a", "b"]))
    array([1, 2, 0])
    >>> id_order(Views([[1.0], [2.0], [3.0]])) is None
    True
    """
    if views.sample_ids is None:
        return None
    ids = views.sample_ids.tolist()
    try:
        order = np.array(sorted(range(len(ids)), key=ids.__getitem__), dtype=np.intp)
    except TypeError:  # ids of several types
        order = np.array(sorted(range(len(ids)), key=lambda i: (type(ids[i]).__name__, repr(ids[i]))))
    return None if np.array_equal(order, np.arange(len(ids))) else order


def inverse(order: Order) -> Order:
    """Return at which place of the order each sample is."""
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    return places


def graph_put_back(graph: sparse.csr_array, order: Order) -> sparse.csr_array:
    """Return a graph on the samples in order as one on the samples as they came."""
    places = inverse(order)
    result = sparse.csr_array(graph[places][:, places])
    result.sort_indices()
    return result


def lists_put_back(lists: NDArray[Any] | None, order: Order) -> NDArray[Any] | None:
    """Return neighbour lists of the samples in order as those of the samples as they came."""
    return None if lists is None else order.astype(lists.dtype)[lists][inverse(order)]


def fusion_put_back(result: FusionResult, order: Order) -> FusionResult:
    """Return a fusion on the edges of the samples in order as one on those of the samples as they came."""
    assert result.edges is not None
    edges, n = result.edges, len(order)
    starts, ends = order[edges.rows], order[edges.indices]
    place = np.lexsort((ends, starts))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(starts, minlength=n))]).astype(edges.indptr.dtype)

    def moved(values: Any) -> Any:
        return None if values is None else np.ascontiguousarray(values[..., place])

    return replace(
        result,
        fused=moved(result.fused),
        weights_by_view=moved(result.weights_by_view),
        inconsistent_by_view=moved(result.inconsistent_by_view),
        seen_by_view=moved(result.seen_by_view),
        trust_by_view=moved(result.trust_by_view),
        edges=EdgeSet(indptr, ends[place].astype(edges.indices.dtype), moved(edges.seen)),
    )
