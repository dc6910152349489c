"""The clusterers that read their labels off an embedding or a graph."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from ..views import Views
from .base import MultiviewClusterer, estimator
from .checks import check_choice, check_count, check_number, is_positive_integer
from .leiden import leiden_communities, require_igraph
from .progress import Progress
from .selection import ClusterSelection, embedding_for, select_in_embedding
from .spectral import (
    SpectralEmbedding,
    assign_cluster_qr,
    assign_kmeans,
    spectral_embedding,
    unit_rows,
)

ASSIGN_LABELS = ("kmeans", "cluster_qr", "leiden")


@estimator
class KMeansClusterer(MultiviewClusterer):
    """Base of the clusterers that read their labels off an embedding by k-means."""

    assign_labels: str = "kmeans"
    n_init: int | Literal["auto"] = 30

    def _check_parameters(self, views: Views) -> None:
        super()._check_parameters(views)
        check_choice("assign_labels", self.assign_labels, ASSIGN_LABELS)
        if self.assign_labels != "kmeans" and not self._ends_with_graph:
            raise ValueError(
                f"{type(self).__name__} reads its labels off an embedding of its own, by k-means; "
                f"assign_labels={self.assign_labels!r} needs a system that clusters one graph, such as "
                "SimilarityGraphFusion or DistanceGraphFusion."
            )
        if self.n_init != "auto" and not is_positive_integer(self.n_init):
            raise ValueError(f"n_init must be 'auto' or a positive integer, got {self.n_init!r}.")

    def _read_labels(self, embedding: Any, random_state: Any, *, scale_rows: bool = True) -> NDArray[np.intp]:
        """Return the labels that k-means finds in an embedding."""
        return assign_kmeans(
            embedding,
            self.n_clusters_,
            n_init=self.n_init,
            scale_rows=scale_rows,
            random_state=random_state,
        )


@estimator
class GraphClusterer(KMeansClusterer):
    """Base of the clusterers that end with one graph, `graph_`, and cluster it.

    These can look for the number of clusters, and read labels off the graph in other ways than by k-means.
    """

    max_clusters: int = 20
    resolution: float = 1.0

    _ends_with_graph: ClassVar[bool] = True

    def _check_parameters(self, views: Views) -> None:
        super()._check_parameters(views)
        check_count("max_clusters", self.max_clusters)
        check_number("resolution", self.resolution, strictly=True)
        if self.assign_labels == "leiden":
            require_igraph()  # now, and not after all the work

    def _cluster_graph(self, random_state: Any, progress: Progress) -> None:
        """Cluster `graph_`: the last stages of a system that ends with one graph."""
        self.cluster_selection_: ClusterSelection | None = None
        if self.assign_labels == "leiden":
            self._find_communities(random_state, progress)
            return
        embedding = progress.run("spectral", lambda: self._embed(random_state))
        if self.n_clusters == "auto":
            progress.n_stages += 1
            wide = embedding
            embedding = progress.run(
                "selection", lambda: self._select(wide, random_state), done_with=["spectral"]
            )
        self.labels_ = progress.run("labels", lambda: self._label(embedding, random_state))
        self._keep_embedding(embedding)

    def _embed(self, random_state: Any) -> SpectralEmbedding:
        """Return the embedding: as wide as there are clusters, or wide enough to choose their number."""
        if self.n_clusters == "auto":
            return embedding_for(self.graph_, self.max_clusters, random_state)
        return spectral_embedding(self.graph_, self.n_clusters_, random_state=random_state)

    def _label(self, embedding: SpectralEmbedding, random_state: Any) -> NDArray[np.intp]:
        """Read the labels off the embedding."""
        if self.assign_labels == "cluster_qr":
            return assign_cluster_qr(embedding, self.n_clusters_)
        return self._read_labels(embedding, random_state)

    def _select(self, embedding: SpectralEmbedding, random_state: Any) -> SpectralEmbedding:
        """Choose the number of clusters; return the embedding for it."""
        self.cluster_selection_ = select_in_embedding(embedding, self.max_clusters, random_state=random_state)
        c = self.n_clusters_ = self.cluster_selection_.chosen
        return replace(
            embedding,
            vectors=np.ascontiguousarray(embedding.vectors[:, :c]),
            eigenvalues=embedding.eigenvalues[:c],
            residuals=embedding.residuals[:c],
        )

    def _find_communities(self, random_state: Any, progress: Progress) -> None:
        """Cluster `graph_` by Leiden; the embedding is for looking at it only."""
        self.labels_ = progress.run(
            "labels", lambda: leiden_communities(self.graph_, self.resolution, random_state=random_state)
        )
        found = int(self.labels_.max()) + 1
        if self.n_clusters == "auto":
            width = min(found, int(self.max_clusters))
        else:
            width = int(self.n_clusters)
        self.n_clusters_ = found
        embedding = progress.run(
            "spectral",
            lambda: spectral_embedding(self.graph_, width, warn=False, random_state=random_state),
        )
        self._keep_embedding(embedding)

    def _keep_embedding(self, embedding: SpectralEmbedding) -> None:
        self.eigenvalues_ = embedding.eigenvalues
        self.embedding_ = unit_rows(embedding.vectors)
