"""Who is compared, under one spectral step: each view alone, all of them side by side, averaged, fused."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...cluster import (
    AverageGraph,
    ConcatenatedSpectral,
    DistanceGraphFusion,
    SharedViews,
    SimilarityGraphFusion,
    SingleViewSpectral,
)
from ...cluster.base import MultiviewClusterer
from ...cluster.prepared import PreparedViews
from ...views import Views
from .ready import Ready
from .subsets import Rows

VIEW, CONCATENATION, AVERAGE, FUSION = "view", "concatenation", "average", "fusion"
N_INIT = 10  # restarts of k-means, for everybody
NOBODY = -1  # the label of a sample that a contender has not seen
Labels = NDArray[np.intp]


@dataclass(frozen=True)
class Contender:
    """One way to cluster the views: its name, of what kind, the clusterer, and the view if it takes one."""

    name: str
    kind: str
    system: type[Any]
    view: int | None = None


def contenders(
    ready: Ready, subsets: Sequence[Rows], n_clusters: int
) -> tuple[list[Contender], dict[str, str]]:
    """Return who can be compared on these views and subsets of their samples, and why others cannot."""
    found, skipped = [], {}
    for i, name in enumerate(ready.names):
        reason = _silent(i, ready, subsets, n_clusters)
        if reason:
            skipped[name] = reason
        else:
            found.append(Contender(name, VIEW, SingleViewSpectral, i))
    free = _Names(ready.names)
    if ready.together is not None:
        found.append(Contender(free("concatenation"), CONCATENATION, ConcatenatedSpectral))
    else:
        skipped[free("concatenation")] = ready.no_concatenation
    found.append(Contender(free("average"), AVERAGE, AverageGraph))
    found.append(Contender(free("SGF"), FUSION, SimilarityGraphFusion))
    if "precomputed_similarity" in ready.metrics:
        skipped[free("DGF")] = "DGF needs distances, and a view holds similarities."
    else:
        found.append(Contender(free("DGF"), FUSION, DistanceGraphFusion))
    return found, skipped


class _Names:
    """Names of contenders that no view has."""

    def __init__(self, taken: Sequence[str]) -> None:
        self.taken = set(taken)

    def __call__(self, name: str) -> str:
        while name in self.taken:
            name += " (all views)"
        return name


def _silent(view: int, ready: Ready, subsets: Sequence[Rows], n_clusters: int) -> str:
    """Return why a view cannot be clustered alone; empty if it can."""
    if not ready.prepared.taking_part[view]:
        return "It says nothing: all samples that it has seen look the same."
    if ready.mask is None:
        return ""
    fewest = min(int(ready.mask[rows, view].sum()) for rows in subsets)
    return "" if fewest > n_clusters else f"It has seen {fewest} samples of a resample: too few to cluster."


def fit(contender: Contender, ready: Ready, n_clusters: int, seed: int, n_jobs: Any) -> tuple[Any, Labels]:
    """Return the fitted model, and a label for each sample: `NOBODY` for those that were not seen."""
    labels = np.full(ready.n_samples, NOBODY, dtype=np.intp)
    prepared: PreparedViews | None = ready.prepared
    metric, rows = list(ready.metrics), np.arange(ready.n_samples)
    if contender.view is not None:
        prepared, rows = ready.alone(contender.view)
        metric = [ready.metrics[contender.view]]
    elif contender.kind == CONCATENATION:
        prepared, metric = ready.together, [ready.metric_together] * len(ready.names)
    if prepared is None:  # views without structure may have become such that this cannot be done
        return None, labels
    model = contender.system(
        n_clusters=n_clusters,
        n_neighbors=min(ready.n_neighbors, len(rows) - 1),
        metric=metric,
        scale="none",  # it was applied when the views were made ready
        n_init=N_INIT,
        random_state=seed,
        n_jobs=n_jobs,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the verdict says once what they say over and over
        labels[rows] = model.fit(_ReadyViews(prepared)).labels_
    return model, labels


class _ReadyViews(SharedViews):
    """Views that are spaces already; in place of the features, which nobody needs any more, are zeros."""

    def __init__(self, prepared: PreparedViews) -> None:
        every = len(prepared.taking_part)
        mask = None
        if prepared.mask is not None:
            mask = np.ones((prepared.n_samples, every), dtype=bool)  # of views left out, nobody asks
            mask[:, prepared.taking_part] = prepared.mask
        super().__init__(Views([np.zeros((prepared.n_samples, 1))] * every, mask=mask))
        self._ready = prepared

    def prepared_for(self, model: MultiviewClusterer) -> PreparedViews:
        """Return the spaces, whatever the model."""
        return self._ready
