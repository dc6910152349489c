"""The quadratic program of one edge: what all edges of a fusion share, v x v numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .results import Matrix, Vector


def edge_hessian(view_weights: Vector, scales: Vector, beta: float, gamma: float) -> tuple[Matrix, Matrix]:
    """Return the Hessian D shared by all edges' programs, and its coupling part K (section 4.6)."""
    pull = view_weights * scales
    coupling = gamma * np.outer(pull, pull)
    np.fill_diagonal(coupling, beta * pull**2)
    return 2 * (np.diag(view_weights * scales**2) + coupling), coupling


def edge_curvatures(
    counts: NDArray[np.floating[Any]], beta: float, gamma: float, dtype: DTypeLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return d = 1 / lambda + beta - gamma, and the gamma that belongs to it.

    `counts` has a row per view: its lambda on all edges, or one on each, 0 where it does not judge.

    Once gamma exceeds all 1 / lambda + beta an edge blames at most one view, and a larger gamma changes
    nothing: so it is limited to this, because otherwise d would lose all its digits. A d that is hardly more
    than rounding is taken as 0, because a quotient by it would be noise.
    """
    own = np.divide(1, counts, out=np.zeros(counts.shape), where=counts > 0) + beta
    cut = np.minimum(gamma, own.max(axis=0))
    curvature = own - cut
    curvature[np.abs(curvature) <= np.finfo(dtype).eps ** (2 / 3) * cut] = 0.0
    return curvature, cut
