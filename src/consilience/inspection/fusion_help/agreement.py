"""How far labellings of the same samples agree, where some samples may have no label."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...metrics import ari
from .contenders import NOT_SEEN, Labels


def common_ari(first: Labels, second: Labels) -> float:
    """Return the adjusted Rand index on the samples that both label; NaN if there are none.

    Examples
    --------
    >>> import numpy as np
    >>> common_ari(np.array([0, 0, 1, 1, -1]), np.array([1, 1, 0, 0, 0]))
    1.0
    """
    both = (first != NOT_SEEN) & (second != NOT_SEEN)
    return ari(first[both], second[both]) if both.any() else np.nan


def pairwise_ari(labellings: Sequence[Labels] | Labels) -> NDArray[np.float64]:
    """Return the adjusted Rand index of each labelling with each.

    Examples
    --------
    >>> import numpy as np
    >>> pairwise_ari(np.array([[0, 0, 1, 1], [1, 1, 0, 0], [0, 1, 0, 1]]))
    array([[ 1. ,  1. , -0.5],
           [ 1. ,  1. , -0.5],
           [-0.5, -0.5,  1. ]])
    """
    matrix = np.eye(len(labellings))
    for i, first in enumerate(labellings):
        for j in range(i):
            matrix[i, j] = matrix[j, i] = common_ari(first, labellings[j])
    return matrix
