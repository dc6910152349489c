"""The last stages of every model that comes to one graph: embed it, choose the number of clusters, label."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..run.execution import Run
from ..stages.embed import SpectralEmbedding, embed
from ..stages.label import LabelAssigner, label
from ..stages.select import ClusterSelection, select, width_to_select

MAX_CLUSTERS = 20  # that "auto" considers, unless `max_clusters` says otherwise


@dataclass(frozen=True, eq=False)
class GraphClusters:
    """The clusters of a graph.

    Attributes
    ----------
    labels : ndarray of shape (n,)
        The cluster of each sample.
    n_clusters : int
        Number of clusters: as given, as chosen, or as the label assigner found it.
    embedding : SpectralEmbedding
        Its vectors are rows of unit length, as an array.
    selection : ClusterSelection or None
        Why this number, if it was chosen.
    """

    labels: NDArray[np.intp]
    n_clusters: int
    embedding: SpectralEmbedding
    selection: ClusterSelection | None = None


def cluster_graph(
    graph: Any,
    n_samples: int,
    n_clusters: int | Literal["auto"],
    max_clusters: int | None,
    assigner: LabelAssigner,
    run: Run,
) -> GraphClusters:
    """Cluster a graph that an engine holds.

    Parameters
    ----------
    graph : graph
        Symmetric, not negative.
    n_samples : int
        Number of samples.
    n_clusters : int or "auto"
        Number of clusters.
    max_clusters : int or None
        The largest number that "auto" considers; None: 20.
    assigner : LabelAssigner
        Who reads labels off the embedding, or off the graph.
    run : Run
        Who runs the stages.
    """
    engine, random_state = run.engine, run.random_state
    most = MAX_CLUSTERS if max_clusters is None else int(max_clusters)
    selection = None
    if assigner.needs == "graph":
        labels = run.stage("label", label, graph, 1, assigner, random_state)
        found = int(labels.max()) + 1
        width = min(found, most) if n_clusters == "auto" else int(n_clusters)
        embedding = run.stage("embed", embed, graph, width, random_state, warn_disconnected=False)
        c = found
    elif n_clusters == "auto":
        wide = run.stage("embed", embed, graph, width_to_select(most, n_samples), random_state)
        selection = run.stage("select", select, wide, most, random_state)
        c = selection.chosen
        embedding = wide.first(c, engine)
        labels = run.stage("label", label, embedding, c, assigner, random_state)
    else:
        c = int(n_clusters)
        embedding = run.stage("embed", embed, graph, c, random_state)
        labels = run.stage("label", label, embedding, c, assigner, random_state)
    rows = engine.fetch(engine.unit_rows(embedding.vectors))
    return GraphClusters(labels, c, replace(embedding, vectors=rows), selection)
