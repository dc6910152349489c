"""What the clusterers share that make one graph on the edges of all views and cluster it spectrally."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..graph import EdgeSet, gaussian_similarity, keep_largest, standardize, symmetrize
from ..neighbors import Space
from ..views import Views
from .base import estimator
from .labelling import KMeansClusterer
from .prepared import PreparedViews
from .progress import Progress

Floats = NDArray[np.floating[Any]]


@estimator
class UnifiedGraphClusterer(KMeansClusterer):
    """Neighbours of each view, their union as shared edges, one graph on these, spectral clustering.

    A subclass says what a view brings onto the edges, and how that becomes one graph.
    """

    _takes_missing: ClassVar[bool] = True

    @abstractmethod
    def _edge_weights(self, space: Space, name: str, edges: EdgeSet, seen: Any) -> Floats:
        """Return what one view brings onto the edges."""

    @abstractmethod
    def _unify(self, weights: Floats, edges: EdgeSet, prepared: PreparedViews) -> Floats:
        """Return the unified similarities on the edges, from the views' weights (v, n_edges)."""

    def _choose_views(
        self, neighbors: list[NDArray[np.int32]], prepared: PreparedViews, progress: Progress
    ) -> tuple[list[NDArray[np.int32]], PreparedViews]:
        """Return the views that are to have a say, with their neighbours: here all of them."""
        return neighbors, prepared

    def _n_listed(self) -> int:
        """Return how many neighbours of each sample a view names."""
        return self.n_neighbors_

    def _weigh_edges(
        self, neighbors: list[NDArray[np.int32]], prepared: PreparedViews
    ) -> tuple[EdgeSet, Floats]:
        """Return the edges that the views share, and what each view brings onto them (v, n_edges)."""
        edges = EdgeSet.union(neighbors, prepared.mask)
        judged = [None] * len(prepared.spaces) if edges.seen is None else list(edges.seen)
        weights = [
            self._edge_weights(space, name, edges, seen)
            for space, name, seen in zip(prepared.spaces, prepared.names, judged, strict=True)
        ]
        return edges, np.stack(weights)

    def _fit_views(
        self, prepared: PreparedViews, random_state: np.random.RandomState, progress: Progress
    ) -> None:
        neighbors = []
        for space, name in zip(prepared.spaces, prepared.names, strict=True):
            with progress.stage("neighbors", repr(name)):
                neighbors.append(space.nearest(self._n_listed()))
        neighbors, prepared = self._choose_views(neighbors, prepared, progress)
        with progress.stage("graph"):
            edges, weights = self._weigh_edges(neighbors, prepared)
        with progress.stage("fusion"):
            similarity = self._unify(weights, edges, prepared)
        with progress.stage("sparsify"):
            self.graph_ = symmetrize(keep_largest(edges, similarity, self.n_neighbors_))
        self._cluster_graph(random_state, progress)

    def _n_stages(self, views: Views) -> int:
        return views.n_views + 6


def edge_similarities(space: Space, edges: EdgeSet, seen: Any) -> Floats:
    """Return a view's similarities on the edges: Gaussian in its standardised squared distances.

    Similarities that the user brought are taken as they are.
    """
    values = space.on_edges(edges)
    return values if space.kind == "similarity" else gaussian_similarity(standardize(values, seen), seen)
