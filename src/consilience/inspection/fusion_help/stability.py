"""Fitting every contender to all samples and to resamples, and comparing what it finds."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .agreement import common_ari
from .compared_views import ComparedViews
from .contenders import Clustered, Contender, cluster
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

    def fused(self, views: ComparedViews) -> NDArray[np.intp]:
        """Return the labels of the last contender, a fusion, alone."""
        return cluster(self.contenders[-1], views, self.n_clusters, self.seed).labels

    def stability(
        self, views: ComparedViews, labels: NDArray[np.intp], subsets: Sequence[Rows]
    ) -> NDArray[np.float64]:
        """Return how far the labels of every contender agree with those that it finds in subsets.

        Of shape (m, number of subsets): the adjusted Rand index on the samples of the subset.
        """
        result = np.empty((len(self.contenders), len(subsets)))
        for j, rows in enumerate(subsets):
            logger.info("resample %d of %d", j + 1, len(subsets))
            again = self.labels(views.take(rows))
            result[:, j] = [common_ari(one[rows], other) for one, other in zip(labels, again, strict=True)]
        return result
