"""What the clusterers share that look for a graph of as many components as clusters."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from ..graph.rank_constrained import rank_constrained_graph
from .base import estimator
from .prepared import PreparedViews
from .progress import Progress
from .spectral import spectral_embedding, unit_rows
from .viewgraphs import ViewGraphsKMeansClusterer


@estimator
class ComponentGraphClusterer(ViewGraphsKMeansClusterer):
    """One graph of as many components as clusters per view, and one learned from them that is clustered.

    A subclass implements `_require_memory` and `_learn`, which sets `graph_` and calls `_embed_graph`.
    """

    _takes_similarities: ClassVar[bool] = False
    _max_search: ClassVar[int]  # steps of the search for a view's components, at most

    @abstractmethod
    def _require_memory(self, n_samples: int, n_views: int) -> None:
        """Raise a MemoryError if what is to come would not fit, as far as can be told before it begins."""

    def _view_graphs(self, prepared: PreparedViews, progress: Progress) -> list[sparse.csr_array]:
        n, k = prepared.n_samples, self.n_neighbors_
        self._require_memory(n, len(prepared.spaces))
        graphs = []
        for space, name in zip(prepared.spaces, prepared.names, strict=True):
            with progress.stage("neighbors", repr(name)):
                found = rank_constrained_graph(space, n, self.n_clusters_, k, max_iter=self._max_search)
                graphs.append(found.graph)
        return graphs

    def _embed_graph(self, random_state: np.random.RandomState) -> None:
        # As many components as clusters are what was looked for; only more of them are worth a warning.
        c = self.n_clusters_
        too_many = connected_components(self.graph_, directed=False)[0] > c
        embedding = spectral_embedding(self.graph_, c, warn=too_many, random_state=random_state)
        self.embedding_ = unit_rows(embedding.vectors)
        self.eigenvalues_ = embedding.eigenvalues
