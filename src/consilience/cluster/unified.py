"""What the clusterers share that make one graph on the edges of all views and cluster it spectrally."""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..graph import EdgeSet, complete_graph, keep_largest, n_neighbors_of_seen, symmetrize
from ..neighbors import SearchReport, search_report
from ..views import Views
from .base import estimator
from .labelling import GraphClusterer
from .prepared import PreparedViews
from .progress import Progress
from .weighing import Hearing

Floats = NDArray[np.floating[Any]]


@estimator
class UnifiedGraphClusterer(GraphClusterer):
    """Neighbours of each view, their union as shared edges, one graph on these, spectral clustering.

    A subclass says what a view brings onto the edges, and how that becomes one graph.
    """

    _takes_missing: ClassVar[bool] = True
    _resumes: ClassVar[bool] = True

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
    ) -> Hearing:
        """Say which views are to have a say: here all of them."""
        return Hearing.of_all(len(neighbors), prepared.n_samples)

    def _keep_views(self, prepared: PreparedViews) -> None:
        """Keep what is needed of the views that were heard, when all is done: here nothing."""

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
        heard, self.graph_ = self._make_graph(prepared, progress)
        self._cluster_graph(random_state, progress)
        self._keep_views(heard)

    # Each stage takes what earlier ones returned, or set on the model. Of a fit that is resumed, stages that
    # are behind are not run: what only they needed is None. And what goes out of scope here is freed.

    def _make_graph(
        self, prepared: PreparedViews, progress: Progress
    ) -> tuple[PreparedViews, sparse.csr_array]:
        """Return the views that are heard, and the unified graph."""
        heard, drawn = self._draw_edges(prepared, progress)
        similarity = progress.run("fusion", lambda: self._unify(drawn[1], drawn[0], heard))
        graph = progress.run(
            "sparsify", lambda: self._thin(similarity, *drawn, heard), done_with=["graph", "fusion"]
        )
        return heard, graph

    def _draw_edges(
        self, prepared: PreparedViews, progress: Progress
    ) -> tuple[PreparedViews, tuple[EdgeSet, Floats]]:
        """Return the views that are heard, the edges, and what each view brings onto these."""
        self._searches: tuple[SearchReport, ...] = ()
        neighbors = [
            progress.run("neighbors", partial(self._search, prepared, i), repr(name))
            for i, name in enumerate(prepared.names)
        ]
        own = iter(self._searches)
        self.neighbor_searches_ = tuple(next(own) if part else None for part in prepared.taking_part)
        del self._searches
        hearing = self._choose_views(neighbors, prepared, progress)
        heard = hearing.views(prepared)
        drawn = progress.run(
            "graph", lambda: self._weigh_edges(hearing.lists(neighbors), heard), done_with=["neighbors"]
        )
        return heard, drawn

    def _search(self, prepared: PreparedViews, view: int) -> NDArray[np.int32]:
        """Return each sample's neighbours in a view."""
        k = self._n_listed()
        if prepared.mask is not None and self._completes():
            k = n_neighbors_of_seen(k, prepared.mask[:, view])
        space = prepared.spaces[view]
        found = space.nearest(k)
        self._searches = (*self._searches, search_report(space))
        return found

    def _thin(
        self, similarity: Floats, edges: EdgeSet, weights: Floats, prepared: PreparedViews
    ) -> sparse.csr_array:
        """Return the graph that is clustered: the strongest edges of each sample, in both directions."""
        if edges.seen is not None and prepared.mask is not None and self._completes():
            heard = self._heard(len(prepared.spaces))
            similarity = self._as_if_seen(similarity, weights, edges)
            edges, similarity = complete_graph(edges, similarity, prepared.mask, heard, self.n_neighbors_)
        return symmetrize(keep_largest(edges, similarity, self.n_neighbors_))

    def _n_stages(self, views: Views) -> int:
        return views.n_views + 6
