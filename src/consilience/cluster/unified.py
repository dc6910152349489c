"""What the clusterers share that make one graph on the edges of all views and cluster it spectrally."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..graph import EdgeSet, complete_graph, keep_largest, n_neighbors_of_seen, symmetrize
from ..views import Views
from .base import estimator
from .labelling import GraphClusterer
from .prepared import PreparedViews
from .progress import Progress

Floats = NDArray[np.floating[Any]]


@estimator
class UnifiedGraphClusterer(GraphClusterer):
    """Neighbours of each view, their union as shared edges, one graph on these, spectral clustering.

    A subclass says what a view brings onto the edges, and how that becomes one graph.
    """

    _takes_missing: ClassVar[bool] = True

    @abstractmethod
    def _weigh_edges(
        self, neighbors: list[NDArray[np.int32]], prepared: PreparedViews
    ) -> tuple[EdgeSet, Floats]:
        """Return the edges that the views share, and what each view brings onto them (v, n_edges)."""

    @abstractmethod
    def _unify(self, weights: Floats, edges: EdgeSet, prepared: PreparedViews) -> Floats:
        """Return the unified similarities on the edges, from the views' weights (v, n_edges)."""

    def _choose_views(
        self, neighbors: list[NDArray[np.int32]], prepared: PreparedViews, progress: Progress
    ) -> tuple[list[NDArray[np.int32]], PreparedViews]:
        """Return the views that are to have a say, with their neighbours: here all of them."""
        return neighbors, prepared

    def _completes(self) -> bool:
        """Say whether the graph is to be completed where views have not seen samples."""
        return False

    def _as_if_seen(self, similarity: Floats, weights: Floats, edges: EdgeSet) -> Floats:
        """Return the similarities if views said what can be expected where they have not seen an edge."""
        return similarity

    def _heard(self, n_views: int) -> NDArray[np.float64]:
        """Return how much each of the views counts in the unified graph, once it is made: here all alike."""
        return np.ones(n_views)

    def _n_listed(self) -> int:
        """Return how many neighbours of each sample a view names."""
        return self.n_neighbors_

    def _fit_views(
        self, prepared: PreparedViews, random_state: np.random.RandomState, progress: Progress
    ) -> None:
        neighbors = []
        for i, (space, name) in enumerate(zip(prepared.spaces, prepared.names, strict=True)):
            k = self._n_listed()
            if prepared.mask is not None and self._completes():
                k = n_neighbors_of_seen(k, prepared.mask[:, i])
            with progress.stage("neighbors", repr(name)):
                neighbors.append(space.nearest(k))
        neighbors, prepared = self._choose_views(neighbors, prepared, progress)
        with progress.stage("graph"):
            edges, weights = self._weigh_edges(neighbors, prepared)
        with progress.stage("fusion"):
            similarity = self._unify(weights, edges, prepared)
        with progress.stage("sparsify"):
            if edges.seen is not None and prepared.mask is not None and self._completes():
                heard = self._heard(len(prepared.spaces))
                similarity = self._as_if_seen(similarity, weights, edges)
                edges, similarity = complete_graph(edges, similarity, prepared.mask, heard, self.n_neighbors_)
            self.graph_ = symmetrize(keep_largest(edges, similarity, self.n_neighbors_))
        self._cluster_graph(random_state, progress)

    def _n_stages(self, views: Views) -> int:
        return views.n_views + 6
