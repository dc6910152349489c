"""Fitting every contender to all samples and to resamples, and comparing what it finds."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .agreeing import common_ari
from .contenders import Contender, fit
from .ready import Ready
from .subsets import Rows

logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Measure:
    """All contenders, with what they are told."""

    found: Sequence[Contender]
    n_clusters: int
    seed: int
    n_jobs: int | None

    def labels(self, ready: Ready) -> tuple[NDArray[np.intp], Any]:
        """Return the labels of every contender, of shape (m, n_samples), and the last one's model."""
        fitted = [fit(one, ready, self.n_clusters, self.seed, self.n_jobs) for one in self.found]
        return np.stack([labels for _, labels in fitted]), fitted[-1][0]

    def fused(self, ready: Ready) -> NDArray[np.intp]:
        """Return the labels of the last contender alone."""
        return fit(self.found[-1], ready, self.n_clusters, self.seed, self.n_jobs)[1]

    def stability(
        self, ready: Ready, labels: NDArray[np.intp], subsets: Sequence[Rows]
    ) -> NDArray[np.float64]:
        """Return how far the labels of every contender agree with those that it finds in subsets.

        Of shape (m, number of subsets): the adjusted Rand index on the samples of the subset.
        """
        result = np.empty((len(self.found), len(subsets)))
        for j, rows in enumerate(subsets):
            logger.info("resample %d of %d", j + 1, len(subsets))
            again, _ = self.labels(ready.take(rows))
            result[:, j] = [common_ari(one[rows], other) for one, other in zip(labels, again, strict=True)]
        return result
