"""What the stages of a fit returned, and what of it the fitted model keeps, in the order in which samples came."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..engines import Engine
from ..fusion import Fused, FusionResult
from ..graphs import EdgeSet
from ..stages.agree import ViewSelection
from ..stages.label import canonical_labels
from ..stages.prepare import PreparedViews
from ..stages.sparsify import UnifiedGraph
from .base import GraphClusters
from .given import GivenViews, Order


@dataclass(frozen=True, eq=False)
class StageResults:
    """What the stages of a fusion returned.

    Attributes
    ----------
    given : GivenViews
        The data, with the samples in the order of the fit.
    spaces : PreparedViews
        The views that say anything.
    selection : ViewSelection
        Which of them are kept.
    fused : Fused
        What the fusion made of them.
    graph : UnifiedGraph
        The unified graph.
    clusters : GraphClusters
        Its clusters.
    order : ndarray of shape (n,), or None
        Which sample, as they came, is at each place of the fit; None: the order is the same.
    """

    given: GivenViews
    spaces: PreparedViews
    selection: ViewSelection
    fused: Fused
    graph: UnifiedGraph
    clusters: GraphClusters
    order: Order | None

    def found(self, engine: Engine) -> FoundGraph:
        """Return what was found about the samples, fetched, in the order in which they came."""
        result = self.fused.result
        found = FoundGraph(
            self.clusters,
            engine.fetch(self.graph.handle),
            # Of views left out, too: it is what they disagree on.
            self.spaces.for_all([engine.fetch(one) for one in self.selection.lists]),
            self._row_reliability(engine),
            None if result is None else result.fetched(engine),
        )
        return found if self.order is None else in_original_order(found, self.order)

    def _row_reliability(self, engine: Engine) -> NDArray[Any]:
        """Return how much each row of each view counts; NaN where it is left out or has not seen a sample."""
        views, trust = self.spaces.only(self.selection.kept), self.selection.trust
        rows = np.ones((views.n_samples, len(views))) if trust is None else engine.fetch(trust)
        return views.expand(rows if views.mask is None else np.where(views.mask, rows, np.nan), np.nan)


@dataclass(frozen=True, eq=False)
class FoundGraph:
    """What a fit found about its samples.

    Attributes
    ----------
    clusters : GraphClusters
        The clusters of the unified graph.
    graph : csr_array of shape (n, n)
        The unified graph.
    neighbors : tuple of (ndarray of shape (n, k), or None)
        The neighbours in each view; None for a view that says nothing.
    row_reliability : ndarray of shape (n, v)
        How much each row of each view counts.
    fusion : FusionResult or None
        What a consistent fusion found.
    """

    clusters: GraphClusters
    graph: sparse.csr_array
    neighbors: tuple[NDArray[Any] | None, ...]
    row_reliability: NDArray[Any]
    fusion: FusionResult | None


def in_original_order(found: FoundGraph, order: Order) -> FoundGraph:
    """Return the same with the samples in the order in which they came.

    Parameters
    ----------
    found : FoundGraph
        With the samples in another order.
    order : ndarray of shape (n,)
        Which sample, as they came, is at each place of that order.
    """
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    graph = sparse.csr_array(found.graph[places][:, places])
    graph.sort_indices()
    embedding = found.clusters.embedding
    return FoundGraph(
        replace(
            found.clusters,
            labels=canonical_labels(found.clusters.labels[places]),
            embedding=replace(embedding, vectors=embedding.vectors[places]),
        ),
        graph,
        tuple(
            None if one is None else np.asarray(order.astype(one.dtype)[one][places])
            for one in found.neighbors
        ),
        found.row_reliability[places],
        None if found.fusion is None else _moved(found.fusion, order),
    )


def _moved(result: FusionResult, order: Order) -> FusionResult:
    """Return a fusion on edges between the samples as they came."""
    assert result.edges is not None
    edges, n = result.edges, len(order)
    starts, ends = order[edges.rows], order[edges.indices]
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
