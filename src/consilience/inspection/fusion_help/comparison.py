"""Fitting every contender to all samples and to resamples."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .compared_views import ComparedViews
from .contenders import NOT_SEEN, Clustered, Contender, cluster
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

    def resampled(self, views: ComparedViews, subsets: Sequence[Rows]) -> Iterator[NDArray[np.intp]]:
        """Yield the labels of every contender in each subset; `NOT_SEEN` for samples that are left out."""
        for j, rows in enumerate(subsets):
            logger.info("resample %d of %d", j + 1, len(subsets))
            labels = np.full((len(self.contenders), views.n_samples), NOT_SEEN, dtype=np.intp)
            labels[:, rows] = self.labels(views.take(rows))
            yield labels
