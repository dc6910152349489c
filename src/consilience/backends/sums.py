"""What a pass over the edges hands back: all that the next weights and the objective need.

With v views this is a handful of v x v numbers, whatever the number of edges. It is the whole interface
between the alternation and a back end: edge arrays stay where they are, `Sums` travels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Sums:
    r"""Sums over the edges, for consistent parts A, inconsistent parts E = W - A and the fused s.

    Below, :math:`\tau_{ie}` is the trust in view i on edge e: 1 if none is given, 0 where unseen. And
    :math:`\Lambda_e = \sum_i \lambda_i \tau_{ie}` is the total weight of the views on the edge.

    Parameters
    ----------
    consistent_squares : ndarray of shape (v,)
        :math:`\sum_e \tau_{ie} A_{ie}^2`.
    inconsistent_gram : ndarray of shape (v, v)
        :math:`\sum_e \tau_{ie} E_{ie} \tau_{je} E_{je}`.
    consistent_fused : ndarray of shape (v,)
        :math:`\sum_e \tau_{ie} A_{ie} s_e`.
    fused_square : float
        :math:`\sum_e \Lambda_e s_e^2`.
    consistent_gram : ndarray of shape (v, v) or None
        :math:`\sum_e \tau_{ie} A_{ie} \tau_{je} A_{je} / \Lambda_e`; only the exact solver asks for it.
    """

    consistent_squares: Vector
    inconsistent_gram: Matrix
    consistent_fused: Vector
    fused_square: float
    consistent_gram: Matrix | None = None
