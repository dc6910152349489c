"""The clusterers that read their labels off an embedding."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..views import Views
from .base import MultiviewClusterer, estimator
from .checks import check_choice, is_positive_integer
from .progress import Progress
from .spectral import assign_kmeans, spectral_embedding, unit_rows

ASSIGN_LABELS = ("kmeans",)


@estimator
class KMeansClusterer(MultiviewClusterer):
    """Base of the clusterers that read their labels off an embedding by k-means."""

    assign_labels: str = "kmeans"
    n_init: int | Literal["auto"] = 30

    def _check_parameters(self, views: Views) -> None:
        super()._check_parameters(views)
        check_choice("assign_labels", self.assign_labels, ASSIGN_LABELS)
        if self.n_init != "auto" and not is_positive_integer(self.n_init):
            raise ValueError(f"n_init must be 'auto' or a positive integer, got {self.n_init!r}.")

    def _cluster_graph(self, random_state: Any, progress: Progress) -> None:
        """Cluster `graph_` spectrally: the last two stages of a system that ends with one graph."""
        with progress.stage("spectral"):
            embedding = spectral_embedding(self.graph_, self.n_clusters, random_state=random_state)
        with progress.stage("labels"):
            self.labels_ = self._read_labels(embedding, random_state)
        self.eigenvalues_ = embedding.eigenvalues
        self.embedding_ = unit_rows(embedding.vectors)

    def _read_labels(self, embedding: Any, random_state: Any, *, scale_rows: bool = True) -> NDArray[np.intp]:
        """Return the labels that k-means finds in an embedding."""
        return assign_kmeans(
            embedding,
            self.n_clusters,
            n_init=self.n_init,
            scale_rows=scale_rows,
            random_state=random_state,
        )
