"""What the clusterers share that begin with one neighbour graph per view."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..graph import knn_graph
from ..neighbors import Space
from ..views import Views
from .base import MultiviewClusterer, estimator
from .labelling import KMeansClusterer
from .prepared import PreparedViews
from .progress import Progress


@estimator
class ViewGraphsClusterer(MultiviewClusterer):
    """One graph per view, something learned from all of them, and labels read off that.

    A subclass implements `_learn`, which sets the fitted attributes, and `_labels`; it may make other graphs
    of the views than `knn_graph` does.
    """

    @abstractmethod
    def _learn(
        self, graphs: Sequence[sparse.csr_array], prepared: PreparedViews, random_state: np.random.RandomState
    ) -> None:
        """Learn from the views' graphs; set the fitted attributes but for `labels_`."""

    @abstractmethod
    def _labels(self, random_state: np.random.RandomState) -> NDArray[np.intp]:
        """Return the labels, from what was learned."""

    def _view_graph(self, space: Space) -> sparse.csr_array:
        """Return the graph of one view."""
        return knn_graph(space, self.n_neighbors_)

    def _view_graphs(self, prepared: PreparedViews, progress: Progress) -> list[sparse.csr_array]:
        """Return the graphs of all views."""
        graphs = []
        for space, name in zip(prepared.spaces, prepared.names, strict=True):
            with progress.stage("neighbors", repr(name)):
                graphs.append(self._view_graph(space))
        return graphs

    def _fit_views(
        self, prepared: PreparedViews, random_state: np.random.RandomState, progress: Progress
    ) -> None:
        graphs = self._view_graphs(prepared, progress)
        with progress.stage("fusion"):
            self._learn(graphs, prepared, random_state)
        with progress.stage("labels"):
            self.labels_ = self._labels(random_state)

    def _n_stages(self, views: Views) -> int:
        return views.n_views + 3


@estimator
class ViewGraphsKMeansClusterer(ViewGraphsClusterer, KMeansClusterer):
    """As `ViewGraphsClusterer`, the labels read off `embedding_` by k-means.

    `_learn` must set `embedding_` with rows already scaled as k-means shall see them.
    """

    def _labels(self, random_state: np.random.RandomState) -> NDArray[np.intp]:
        return self._read_labels(self.embedding_, random_state, scale_rows=False)
