"""Trust: which rows of which views belong to their sample, learned together with the clusters.

`agree` compares views by shared neighbours, edge by edge. Here they are compared one level up: where in the
unified graph do the neighbours of a sample in one view lie, and where those in another? Rows that lie
elsewhere count less (see `engines.matching` for the model). The graph that is looked at is the average of the
views, with the trust of `agree`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..engines import Engine
from ..engines.matching import LEAST_TRUST
from ..engines.results import Neighbors
from ..fusion.edge_fusion import AverageFusion
from .agree import ViewSelection
from .connect import SharedEdges
from .embed import embed
from .fuse import fuse
from .prepare import PreparedViews
from .sparsify import sparsify
from .weigh import weigh

FEWEST_VIEWS = 3  # of two views that contradict each other, nobody can know which is wrong
_SEED = 0  # pairs samples at random; whatever the seed of the fit, rows are trusted alike


def trust(
    found: Sequence[Neighbors],
    selection: ViewSelection,
    edges: SharedEdges,
    views: PreparedViews,
    n_clusters: int,
    n_neighbors: int,
    impute: bool,
    *,
    engine: Engine,
) -> ViewSelection:
    """Return the selection with the trust in rows that follows from where they lie.

    Parameters
    ----------
    found : sequence of Neighbors
        The neighbours in all active views.
    selection : ViewSelection
        Which views are kept, and the trust in rows so far. With fewer than three kept views it is returned as
        it is.
    edges : SharedEdges
        The shared edges.
    views : PreparedViews
        The kept views.
    n_clusters : int
        Number of eigenvectors that say where a sample lies.
    n_neighbors : int
        Edges of each sample to keep.
    impute : bool
        Whether to complete the graph where views lack samples.
    engine : Engine
        The engine that computes.
    """
    copy_of = _copies(selection)
    if len(np.unique(copy_of)) - int(selection.only_for.sum()) < FEWEST_VIEWS:
        return selection
    average = AverageFusion()
    weights = weigh(found, selection, edges, views, average, engine=engine)
    fused = fuse(weights, edges, selection, views, average, impute, engine=engine)
    graph = sparsify(fused, edges, views, n_neighbors, impute, engine=engine)
    width = min(n_clusters, views.n_samples - 1)
    embedding = embed(
        graph.handle, width, np.random.RandomState(_SEED), engine=engine, warn_disconnected=False
    )
    rows, matched = engine.matched_rows(
        [one.lists for one, kept in zip(found, selection.kept, strict=True) if kept],
        engine.unit_rows(embedding.vectors),
        selection.trust,
        views.mask,
        _SEED,
        copy_of.tolist(),
    )
    if selection.only_for.any():
        own = selection.only_for[selection.kept]
        rows = engine.lower_trust(rows, len(views), own, ~selection.orphans, LEAST_TRUST)
    return replace(selection, trust=engine.bounded(rows, LEAST_TRUST), matched=matched)


def _copies(selection: ViewSelection) -> NDArray[np.intp]:
    """Return for each kept view which of them it is a copy of; its own place if it is none."""
    own = np.arange(int(selection.kept.sum()))
    if selection.reliability is None:
        return own
    places = np.cumsum(selection.kept) - 1
    original = selection.reliability.copy_of[selection.kept]
    return np.where(selection.kept[original], places[original], own)
