"""Results found with the samples in the order of their ids, put back into the order in which they came."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..fusion import FusionResult
from ..graphs import EdgeSet
from ..stages.label import canonical_labels
from .graph_clusters import GraphClusters

Order = NDArray[np.intp]


class OriginalOrder:
    """Puts results back into the order in which the samples came.

    Parameters
    ----------
    order : ndarray of shape (n,), or None
        The samples as they came, in the order of the results; None: nothing changes.

    Examples
    --------
    >>> OriginalOrder(np.array([2, 0, 1])).rows(np.array([10, 20, 30]))
    array([20, 30, 10])
    """

    def __init__(self, order: Order | None) -> None:
        self.order = order
        if order is not None:
            self._places = np.empty_like(order)
            self._places[order] = np.arange(len(order))

    def rows(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return values of the samples."""
        return values if self.order is None else values[self._places]

    def clusters(self, clusters: GraphClusters) -> GraphClusters:
        """Return the clusters of the samples, numbered by first appearance."""
        if self.order is None:
            return clusters
        rows = self.rows(clusters.embedding.vectors)
        return replace(
            clusters,
            labels=canonical_labels(self.rows(clusters.labels)),
            embedding=replace(clusters.embedding, vectors=rows),
        )

    def graph(self, graph: sparse.csr_array) -> sparse.csr_array:
        """Return a graph on the samples."""
        if self.order is None:
            return graph
        result = sparse.csr_array(graph[self._places][:, self._places])
        result.sort_indices()
        return result

    def lists(self, lists: NDArray[Any]) -> NDArray[Any]:
        """Return neighbour lists of the samples."""
        if self.order is None:
            return lists
        return np.asarray(self.order.astype(lists.dtype)[lists][self._places])

    def fusion(self, result: FusionResult) -> FusionResult:
        """Return a fusion on edges between the samples."""
        if self.order is None:
            return result
        assert result.edges is not None
        edges, n = result.edges, len(self.order)
        starts, ends = self.order[edges.rows], self.order[edges.indices]
        place = np.lexsort((ends, starts))
        indptr = np.concatenate([[0], np.cumsum(np.bincount(starts, minlength=n))])

        def moved(values: Any) -> Any:
            return None if values is None else np.ascontiguousarray(values[..., place])

        return replace(
            result,
            fused=moved(result.fused),
            weights_by_view=moved(result.weights_by_view),
            inconsistent_by_view=moved(result.inconsistent_by_view),
            seen_by_view=moved(result.seen_by_view),
            trust_by_view=moved(result.trust_by_view),
            edges=EdgeSet(
                indptr.astype(edges.indptr.dtype), ends[place].astype(edges.indices.dtype), moved(edges.seen)
            ),
        )
