r"""Features on a common scale: all of them, or only what dominates a view.

Euclidean distance adds up the features' squares, so a feature counts by its variance. If a few features
carry nearly all of it, the others might as well not be there; the number of features that really count is

.. math:: e = \Big(\sum_f \sigma_f^2\Big)^2 \Big/ \sum_f \sigma_f^4,

d for d features of equal variance, 1 if one has it all. Variances that differ somewhat are left alone: that
some features vary more is mostly what the view has to say. Two things are not:

A few features, at most half of them, *stand apart* if their standard deviations are ten times that of the
next one, or more: another unit, a stray id, a broken sensor. They are rescaled to the mean variance of the
others.

A view is *dominated*, with or without features that stand apart, if fewer than 10 features count, and fewer
than about an eighth, e < 1 + (d - 1) / 8: the variances are spread over orders of magnitude. All features are
brought to unit variance.

Under the cosine metric a feature counts by its mean square instead. There only features that stand apart
are rescaled: that few words are much more frequent than the rest is in the nature of words.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

FEW_FEATURES = 10  # a view that fewer features than this carry is dominated by them,
SHARE_OF_FEATURES = 1 / 8  # if they are fewer than this share, too
STANDS_APART = 10.0  # ratio of standard deviations
_AFFECTED = ("euclidean", "manhattan")  # what else is measured by has no use for a common scale, or its own

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Domination:
    """What dominates a view, and what to do about it.

    Attributes
    ----------
    features : ndarray of int
        The features that stand apart, the largest first; all features, if all are to be rescaled.
    factors : ndarray of shape (d,)
        What to multiply the features with.
    all_features : bool
        Whether all features are rescaled.
    n_effective : float
        The number of features that really count.
    """

    features: NDArray[np.intp]
    factors: Vector
    all_features: bool
    n_effective: float


def standard_scaled(array: Any, seen: NDArray[np.bool_] | None) -> Any:
    """Scale features to unit variance, and dense ones to zero mean; constant features become 0."""
    rows = array if seen is None else array[seen]
    factors = _inverse(np.sqrt(_variances(rows)))
    if sparse.issparse(array):
        return sparse.csr_array(array.multiply(factors[None, :]))
    return ((array - rows.mean(axis=0, dtype=np.float64)) * factors).astype(array.dtype)


def rescaled(array: Any, domination: Domination | None) -> Any:
    """Return the view with what dominates it rescaled; nothing is centred."""
    if domination is None:
        return array
    factors = domination.factors[None, :]
    if sparse.issparse(array):
        return sparse.csr_array(array.multiply(factors))
    return (array * factors).astype(array.dtype)


def domination(array: Any, metric: str) -> Domination | None:
    """Look for features that dominate a view.

    Parameters
    ----------
    array : ndarray or CSR of shape (n, d)
        The rows that the view has seen.
    metric : str
        What it is measured by; other metrics than Euclidean, Manhattan and cosine are left alone.

    Returns
    -------
    Domination or None

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=(100, 30))
    >>> domination(x, "euclidean") is None
    True
    >>> x[:, 7] *= 1e6
    >>> found = domination(x, "euclidean")
    >>> found.features, found.all_features
    (array([7]), False)
    """
    if metric == "cosine":
        sizes = _mean_squares(array)
        return _standing_apart(sizes) if np.isfinite(sizes).all() else None
    if metric not in _AFFECTED:
        return None
    variances = _variances(array)
    if not np.isfinite(variances).all():  # too large for numbers; whoever measures distances will say so
        return None
    found = _standing_apart(variances)
    if found is not None or not _dominated(variances):
        return found
    varying = np.argsort(-variances, kind="stable")[: int((variances > 0).sum())]
    return Domination(varying, _inverse(np.sqrt(variances)), True, _n_effective(variances))


def without_standing_apart(array: Any) -> Any:
    """Return the view without the columns that stand apart, to look at what it is otherwise."""
    variances = _variances(array)
    found = _standing_apart(variances) if np.isfinite(variances).all() else None
    if found is None:
        return array
    return array[:, np.setdiff1d(np.arange(array.shape[1]), found.features)]


def _standing_apart(sizes: Vector) -> Domination | None:
    """Find the features whose sizes, variances or mean squares, are far above those of at least as many."""
    order = np.argsort(-sizes, kind="stable")
    ranked = sizes[order]
    n_varying = max(int((ranked > 0).sum()), 1)
    gaps = np.flatnonzero(ranked[: n_varying - 1] >= STANDS_APART**2 * ranked[1:n_varying])
    for gap in gaps[gaps < n_varying // 2][::-1].tolist():
        rest = ranked[gap + 1 : n_varying]
        if not _dominated(rest):
            features = order[: gap + 1]
            factors = np.ones(len(sizes))
            factors[features] = np.sqrt(rest.mean() / sizes[features])
            return Domination(features, factors, False, _n_effective(sizes))
    return None


def _dominated(sizes: Vector) -> bool:
    """Say whether a few features carry nearly all."""
    n_varying = int((sizes > 0).sum())
    if n_varying < 2:
        return False
    return _n_effective(sizes) < min(FEW_FEATURES, 1 + SHARE_OF_FEATURES * (n_varying - 1))


def _n_effective(sizes: Vector) -> float:
    shares = sizes / sizes.max()
    return float(shares.sum() ** 2 / (shares**2).sum())


def _variances(rows: Any) -> Vector:
    """Return the features' variances; 0 for those that vary by no more than rounding."""
    with np.errstate(over="ignore", invalid="ignore"):
        return _checked_variances(rows)


def _checked_variances(rows: Any) -> Vector:
    if sparse.issparse(rows):
        mean = np.asarray(rows.mean(axis=0), dtype=np.float64).ravel()
        squares = _mean_squares(rows)
        variances = np.maximum(squares - mean**2, 0.0)
        return np.where(variances <= 1e-14 * squares, 0.0, variances)
    variances = rows.var(axis=0, dtype=np.float64)
    largest = np.maximum(rows.max(axis=0), -rows.min(axis=0)).astype(np.float64)
    return np.where(variances <= (1e-14 * largest) ** 2, 0.0, variances)


def _mean_squares(rows: Any) -> Vector:
    with np.errstate(over="ignore"):
        if sparse.issparse(rows):
            return np.asarray(rows.multiply(rows).mean(axis=0), dtype=np.float64).ravel()
        return np.asarray(np.einsum("ij,ij->j", rows, rows, dtype=np.float64) / len(rows))


def _inverse(deviations: Vector) -> Vector:
    return np.divide(1, deviations, out=np.zeros_like(deviations), where=deviations > 0)
