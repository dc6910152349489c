"""Random subsets of the samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

SUBSET = 0.8  # share of the samples in a resample
Rows = NDArray[np.intp]


def draw_subsets(n_samples: int, n_subsets: int, seed: Any) -> list[Rows]:
    """Return random subsets of the samples, without replacement, each in ascending order.

    Examples
    --------
    >>> [rows.size for rows in draw_subsets(10, 2, seed=0)]
    [8, 8]
    """
    rng, size = np.random.default_rng(seed), subset_size(n_samples)
    return [np.sort(rng.choice(n_samples, size, replace=False)) for _ in range(n_subsets)]


def subset_size(n_samples: int) -> int:
    """Return how many samples a resample has."""
    return max(1, round(SUBSET * n_samples))
