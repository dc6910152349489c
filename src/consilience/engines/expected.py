"""Expected values of views on edges that they have not seen, for engines that work in this memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_FEW = 3  # edges that two views both judge: fewer are not enough

Floats = NDArray[np.floating[Any]]
Mask = NDArray[np.bool_]


def expected_values(values: Floats, seen: Mask) -> Floats:
    """Return the values of views on edges, with expected values where they have not seen an edge.

    Parameters
    ----------
    values : ndarray of shape (v, n_edges)
        The values of each view, not negative.
    seen : ndarray of bool of shape (v, n_edges)
        Which view judges which edge; each edge is judged by one at least.

    Examples
    --------
    The values of the second view are twice those of the first, and it has not seen the last edge:

    >>> import numpy as np
    >>> values = np.array([[1.0, 2.0, 4.0, 3.0], [2.0, 4.0, 8.0, 0.0]])
    >>> expected_values(values, np.array([[True] * 4, [True, True, True, False]])).round(1)
    array([[1. , 2. , 4. , 3. ],
           [2. , 4. , 8. , 5.7]])
    """
    counts = np.maximum(seen.sum(axis=1), 1)
    means = np.where(seen, values, 0.0).sum(axis=1, dtype=np.float64) / counts
    covariance = _covariance(values, seen, means)
    result = np.array(values, dtype=np.float64)
    # Edges that the same views have seen are treated alike.
    _, first, pattern = np.unique(np.packbits(seen, axis=0).T, axis=0, return_index=True, return_inverse=True)
    pattern = pattern.ravel()  # NumPy 2.0 gave it a second axis
    order = np.argsort(pattern, kind="stable")
    bounds = np.searchsorted(pattern[order], np.arange(len(first) + 1))
    for number, edge in enumerate(first.tolist()):
        there, not_there = np.flatnonzero(seen[:, edge]), np.flatnonzero(~seen[:, edge])
        if not len(not_there):
            continue
        own = order[bounds[number] : bounds[number + 1]]
        slopes = covariance[np.ix_(not_there, there)] @ np.linalg.pinv(
            covariance[np.ix_(there, there)], hermitian=True
        )
        apart = result[np.ix_(there, own)] - means[there][:, None]
        result[np.ix_(not_there, own)] = np.maximum(means[not_there][:, None] + slopes @ apart, 0.0)
    return result


def _covariance(values: Floats, seen: Mask, means: Floats) -> Floats:
    """Return the covariances of the views' values, each over the edges that two of them both judge."""
    apart = np.where(seen, values - means[:, None], 0.0)
    judged = seen.astype(np.float64)
    counts = judged @ judged.T
    covariance = np.where(counts >= _FEW, (apart @ apart.T) / np.maximum(counts, 1), 0.0)
    # Each is of different edges, so they need not fit together: negative eigenvalues are set to 0.
    variances, axes = np.linalg.eigh(covariance)
    return np.asarray((axes * np.maximum(variances, 0.0)) @ axes.T)
