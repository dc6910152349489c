"""The clusters of each view alone, for fits whose views do not agree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..engines import Engine
from ..engines.protocol import Search
from ..stages.label import canonical_labels
from ..stages.prepare import PreparedViews
from ..stages.sequence import cluster_view
from .prediction import Predictor

NOT_SEEN = -1


def labels_by_view(
    predictor: Predictor, n_clusters: int, how: Search, engine: Engine
) -> dict[str, NDArray[np.intp]]:
    """Return the clusters of each kept view alone, in the order of the samples of the fit.

    Parameters
    ----------
    predictor : Predictor
        Holds the views of the fit, as they are compared by default.
    n_clusters : int
        Number of clusters; fewer where a view has seen fewer samples.
    how : {"auto", "exact", "approximate"}
        How neighbours are found.
    engine : Engine
        The engine that computes.
    """
    n = len(predictor.labels)
    places = np.arange(n) if predictor.order is None else predictor.order
    found = {}
    for space in predictor.spaces:
        seen = np.arange(n) if space.seen is None else np.flatnonzero(space.seen)
        part = space.of_samples(seen)
        view = PreparedViews(
            (part,), (engine.place(part),), np.ones(1, dtype=bool), None, len(seen), (space.name,)
        )
        k = min(predictor.n_neighbors, len(seen) - 1)
        labels = np.full(n, NOT_SEEN, dtype=np.intp)
        labels[places[seen]] = cluster_view(view, k, min(n_clusters, len(seen)), how=how, engine=engine)
        judged = labels != NOT_SEEN
        labels[judged] = canonical_labels(labels[judged])
        found[space.name] = labels
    return found
