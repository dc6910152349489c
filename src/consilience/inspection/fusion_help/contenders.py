"""What is compared, under one spectral step: each view alone, all of them side by side, averaged, fused.

The fusions are asked with all the effort of a fit, for it is that which must help. The resamples, which only
tell how strong the evidence is, have them with low effort.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...engines import Engine
from ...fusion import AverageFusion, ConsistentFusion, EdgeFusion, Schedule
from ...models import DistanceGraphFusion, SharedViews, SimilarityGraphFusion
from ...models.systems.view_graphs import view_graph
from ...stages.agree import ViewSelection, Weighting, agree
from ...stages.connect import connect
from ...stages.embed import embed
from ...stages.fuse import fuse
from ...stages.label import KMeansLabels, label
from ...stages.prepare import PreparedViews
from ...stages.search import search
from ...stages.sparsify import sparsify
from ...stages.weigh import weigh
from .compared_views import ComparedViews
from .resamples import Rows

VIEW, CONCATENATION, AVERAGE, FUSION = "view", "concatenation", "average", "fusion"
N_INIT = 10  # restarts of k-means, for every contender
NOT_SEEN = -1  # the label of a sample that a contender has not seen
Labels = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Contender:
    """One way to cluster the views.

    Attributes
    ----------
    name, kind : str
        Its name, and of what kind it is.
    view : int or None
        The view, if it takes one.
    fusion : EdgeFusion or None
        How it fuses, if it does.
    """

    name: str
    kind: str
    view: int | None = None
    fusion: EdgeFusion | None = None


@dataclass(frozen=True, eq=False)
class Clustered:
    """What a contender finds in the views.

    Attributes
    ----------
    labels : ndarray of shape (n,)
        A label for each sample; `NOT_SEEN` for those that were not seen.
    selection : ViewSelection or None
        Which views a fusion kept.
    """

    labels: Labels
    selection: ViewSelection | None = None


def contenders(
    views: ComparedViews, subsets: Sequence[Rows], n_clusters: int
) -> tuple[list[Contender], dict[str, str]]:
    """Return what can be compared on these views and subsets of their samples, and why others cannot."""
    found, skipped = [], {}
    for i, name in enumerate(views.names):
        reason = _says_nothing(i, views, subsets, n_clusters)
        if reason:
            skipped[name] = reason
        else:
            found.append(Contender(name, VIEW, view=i))
    free = _Names(views.names)
    if views.together is not None:
        found.append(Contender(free("concatenation"), CONCATENATION))
    else:
        skipped[free("concatenation")] = views.no_concatenation
    found.append(Contender(free("average"), AVERAGE, fusion=AverageFusion()))
    for name, kind in (("SGF", "similarity"), ("DGF", "distance")):
        fusion = ConsistentFusion(kind, 1.0, 100.0, Schedule())  # type: ignore[arg-type]
        found.append(Contender(free(name), FUSION, fusion=fusion))
    return found, skipped


class _Names:
    """Names of contenders that no view has."""

    def __init__(self, taken: Sequence[str]) -> None:
        self.taken = set(taken)

    def __call__(self, name: str) -> str:
        while name in self.taken:
            name += " (all views)"
        return name


def _says_nothing(view: int, views: ComparedViews, subsets: Sequence[Rows], n_clusters: int) -> str:
    """Return why a view cannot be clustered alone; empty if it can."""
    if not views.prepared.active[view]:
        return "It says nothing: all samples that it has seen look the same."
    if views.mask is None:
        return ""
    fewest = min(int(views.mask[rows, view].sum()) for rows in subsets)
    return "" if fewest > n_clusters else f"It has seen {fewest} samples of a resample: too few to cluster."


def cluster(contender: Contender, views: ComparedViews, n_clusters: int, seed: int) -> Clustered:
    """Cluster the views as a contender does: the stages of a fit, with the defaults of its model."""
    labels = np.full(views.n_samples, NOT_SEEN, dtype=np.intp)
    engine, k = views.engine, views.n_neighbors
    rows, selection = np.arange(views.n_samples), None
    for_vectors = for_labels = np.random.RandomState(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the verdict says once what they repeat
        if contender.fusion is not None:
            graph, selection = _fused_graph(views.prepared, contender.fusion, k, engine)
        elif contender.view is not None:
            if not views.prepared.active[contender.view]:  # views without structure may have become such
                return Clustered(labels)
            prepared, rows = views.alone(contender.view)
            graph = engine.adopt(view_graph(0, prepared, min(k, len(rows) - 1), "exact", engine=engine))
            own = for_labels.randint(np.iinfo(np.int32).max)  # as `SingleViewSpectral` has it
            for_vectors, for_labels = np.random.RandomState(own), np.random.RandomState(own)
        elif views.together is not None:
            graph = engine.adopt(view_graph(0, views.together, k, "exact", engine=engine))
        else:
            return Clustered(labels)
        embedding = embed(graph, n_clusters, for_vectors, engine=engine)
        found = label(embedding, n_clusters, KMeansLabels(N_INIT), for_labels, engine=engine)
        labels[rows] = found.labels
    return Clustered(labels, selection)


def fit(contender: Contender, views: SharedViews, **settings: Any) -> Labels:
    """Return the clusters of a fusion as its model finds them, with the parameters given."""
    assert isinstance(contender.fusion, ConsistentFusion)
    model = SimilarityGraphFusion if contender.fusion.kind == "similarity" else DistanceGraphFusion
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as above
        return model(assign_labels=KMeansLabels(N_INIT), **settings).fit(views).labels_


def _fused_graph(
    spaces: PreparedViews, fusion: EdgeFusion, k: int, engine: Engine
) -> tuple[Any, ViewSelection]:
    """Return the unified graph, and which views were kept; the average keeps all."""
    is_average = isinstance(fusion, AverageFusion)
    weighting = Weighting(np.ones(len(spaces)) if is_average else None, not is_average)
    neighbors = [search(i, spaces, k, "exact", True, engine=engine) for i in range(len(spaces))]
    selection = agree(neighbors, spaces, weighting, engine=engine)
    views = spaces.only(selection.kept)
    edges = connect(neighbors, selection, views, engine=engine)
    weights = weigh(neighbors, selection, edges, views, fusion, engine=engine)
    fused = fuse(weights, edges, selection, views, fusion, True, engine=engine)
    return sparsify(fused, edges, views, k, True, engine=engine).handle, selection
