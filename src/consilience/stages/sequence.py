"""Several stages in one go: from the search to the unified graph, and to the clusters of one view alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..engines import Engine
from ..engines.protocol import Search
from ..fusion.edge_fusion import AverageFusion, EdgeFusion, Fused
from .agree import ViewSelection
from .connect import connect
from .embed import embed
from .fuse import fuse
from .label import KMeansLabels
from .prepare import PreparedViews
from .search import search
from .sparsify import UnifiedGraph, sparsify
from .weigh import weigh

_SEED = 0  # whatever the seed of a fit, a view alone has the same clusters


def fuse_views(
    views: PreparedViews,
    n_neighbors: int,
    selection: ViewSelection,
    fusions: Sequence[EdgeFusion],
    how: Search,
    impute: bool,
    *,
    engine: Engine,
) -> list[tuple[UnifiedGraph, Fused]]:
    """Run the stages from the search to the unified graph, for each of some models.

    Parameters
    ----------
    views : PreparedViews
        The kept views.
    n_neighbors : int
        Neighbours of each sample.
    selection : ViewSelection
        How much views and rows count; it keeps all of `views`.
    fusions : sequence of EdgeFusion
        The models: they share the search and the edges.
    how : {"auto", "exact", "approximate"}
        How neighbours are found.
    impute : bool
        Whether to complete the graph where views lack samples.
    engine : Engine
        The engine that computes.
    """
    found = [search(i, views, n_neighbors, how, impute, engine=engine) for i in range(len(views))]
    edges, made = connect(found, selection, views, engine=engine), []
    for fusion in fusions:
        weights = weigh(found, selection, edges, views, fusion, engine=engine)
        fused = fuse(weights, edges, selection, views, fusion, impute, engine=engine)
        made.append((sparsify(fused, edges, views, n_neighbors, impute, engine=engine), fused))
    return made


def cluster_view(
    view: PreparedViews,
    n_neighbors: int,
    n_clusters: int,
    tol: float | None = None,
    n_init: int = 30,
    how: Search = "exact",
    *,
    engine: Engine,
) -> NDArray[np.intp]:
    """Return the clusters of one view alone: those of its own graph.

    Parameters
    ----------
    view : PreparedViews
        One view.
    n_neighbors : int
        Neighbours of each sample.
    n_clusters : int
        Number of clusters.
    tol : float, default=None
        Tolerance of the eigenvectors; None: that of a fit.
    n_init : int, default=30
        Restarts of k-means.
    how : {"auto", "exact", "approximate"}, default="exact"
        How neighbours are found.
    engine : Engine
        The engine that computes.
    """
    alike = ViewSelection(
        np.ones(1, dtype=bool),
        np.ones(1),
        None,
        np.zeros(1, dtype=bool),
        np.zeros(view.n_samples, dtype=bool),
        (),
    )
    ((graph, _),) = fuse_views(view, n_neighbors, alike, (AverageFusion(),), how, False, engine=engine)
    width = min(n_clusters, view.n_samples - 1)
    start = np.random.RandomState(_SEED)
    embedding = embed(graph.handle, width, start, engine=engine, tol=tol, warn_disconnected=False)
    return KMeansLabels(n_init=n_init).assign(embedding, width, start, engine)
