"""Fitting every contender to all samples and to resamples."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...models import SharedViews
from ...views import Views
from .compared_views import ComparedViews
from .contenders import FUSION, NOT_SEEN, Clustered, Contender, cluster, fit
from .resamples import Rows

logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Comparison:
    """All contenders, with what they are given."""

    contenders: Sequence[Contender]
    n_clusters: int
    seed: int

    def clustered(self, views: ComparedViews) -> list[Clustered]:
        """Return what every contender finds in the views."""
        return [cluster(one, views, self.n_clusters, self.seed) for one in self.contenders]

    def labels(self, views: ComparedViews) -> NDArray[np.intp]:
        """Return the labels of every contender, of shape (m, n_samples)."""
        return np.stack([one.labels for one in self.clustered(views)])

    def with_effort(
        self, labels: NDArray[np.intp], views: Views, n_neighbors: Any, settings: Mapping[str, Any]
    ) -> NDArray[np.intp]:
        """Return the labels with those of the fusions as their models find them, with these parameters."""
        shared, found = SharedViews(views), labels.copy()
        for i, one in enumerate(self.contenders):
            if one.kind == FUSION:
                logger.info("fit of %s", one.name)
                given = {"n_clusters": self.n_clusters, "n_neighbors": n_neighbors, "random_state": self.seed}
                found[i] = fit(one, shared, **given, **settings)
        return found

    def resampled(self, views: ComparedViews, subsets: Sequence[Rows]) -> Iterator[NDArray[np.intp]]:
        """Yield the labels of every contender in each subset; `NOT_SEEN` for samples that are left out."""
        for j, rows in enumerate(subsets):
            logger.info("resample %d of %d", j + 1, len(subsets))
            labels = np.full((len(self.contenders), views.n_samples), NOT_SEEN, dtype=np.intp)
            labels[:, rows] = self.labels(views.take(rows))
            yield labels
