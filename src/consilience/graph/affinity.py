"""From squared distances on the shared edges to edge weights that can be compared across views."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]
Seen = NDArray[np.bool_]


def standardize(squared: Floats, seen: Seen | None = None) -> Floats:
    r"""Standardise one view's squared distances over the edges (the paper's Eq. norm).

    :math:`x = \max((x - \mu) / \sigma + 1, 0)` with the mean and the standard deviation (n - 1 in the
    denominator) over the edges. Edges more than one deviation shorter than the mean become 0, the
    strongest there is. If all edges are equally long, every x is 1.

    Parameters
    ----------
    squared : ndarray of shape (n_edges,)
        Squared distances.
    seen : ndarray of bool of shape (n_edges,), default=None
        The edges that the view judges; the others come out as 0.

    Examples
    --------
    >>> import numpy as np
    >>> standardize(np.array([1.0, 4.0, 7.0]))
    array([0., 1., 2.])
    """
    judged = squared if seen is None else squared[seen]
    if not len(judged):
        return np.zeros(len(squared))
    # Taking the scale out first: distances of 1e200 are as good as any, their squares are not. A power of
    # two, so that nothing is rounded.
    values = np.ldexp(judged, -int(np.frexp(judged.max())[1]))
    mean = values.mean()
    deviation = values.std(ddof=1) if len(values) > 1 else 0.0
    # Equal distances may differ in the last digits; that is no deviation to divide by.
    if deviation <= 1e-12 * mean or deviation == 0:
        result = np.ones_like(values)
    else:
        result = np.maximum((values - mean) / deviation + 1.0, 0.0)
    return _put_back(result, seen)


def gaussian_similarity(standardized: Floats, seen: Seen | None = None) -> Floats:
    r"""Turn one view's standardised squared distances into similarities.

    :math:`w = \exp(-x / 2\sigma^2)` with :math:`\sigma` the mean of :math:`\sqrt x` over the edges
    (SGF, before the fusion).
    """
    judged = standardized if seen is None else standardized[seen]
    if not len(judged):
        return np.zeros(len(standardized))
    sigma = float(np.sqrt(judged).mean()) or 1.0
    return _put_back(np.exp(judged / (-2 * sigma**2)), seen)


def fused_similarity(fused: Floats) -> Floats:
    r"""Turn fused squared distances into similarities.

    :math:`s = \exp(-s / 2\sigma)` with :math:`\sigma` the mean of s (DGF, after the fusion).
    """
    sigma = float(fused.mean(dtype=np.float64)) or 1.0
    return np.exp(fused / (-2 * sigma))


def _put_back(values: Floats, seen: Seen | None) -> Floats:
    if seen is None:
        return values
    result = np.zeros(seen.shape, dtype=values.dtype)
    result[seen] = values
    return result
