"""Labellings ordered by how well they agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform


def similar_side_by_side(agreement: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return an order of the labellings in which those that agree are neighbours.

    Examples
    --------
    >>> import numpy as np
    >>> int(similar_side_by_side(np.array([[1.0, 0.1, 0.9], [0.1, 1.0, 0.2], [0.9, 0.2, 1.0]]))[1])
    2
    """
    m = len(agreement)
    if m < 3:
        return np.arange(m)
    apart = squareform(1 - agreement, checks=False)
    order: NDArray[Any] = leaves_list(linkage(apart, "average", optimal_ordering=True))
    return order.astype(np.intp)


def pairs_by_agreement(
    names: Sequence[str], agreement: NDArray[np.float64]
) -> list[tuple[float, tuple[str, str]]]:
    """Return all pairs of labellings with their agreement, the best first."""
    pairs = [
        (float(agreement[i, j]), (names[i], names[j]))
        for i in range(len(names))
        for j in range(i + 1, len(names))
    ]
    return sorted(pairs, key=lambda pair: -pair[0])
