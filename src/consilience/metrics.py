"""How well a clustering agrees with known classes.

Every function takes two labellings of the same samples. Only which samples share a label matters, never the
labels themselves, so they may be integers, strings or any other hashable objects.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

__all__ = ["ari", "clustering_accuracy", "nmi", "purity", "scores"]

_NORMALIZATIONS = ("max", "arithmetic", "geometric", "min")


def clustering_accuracy(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    r"""Share of samples that are right under the best one-to-one matching of clusters with classes.

    .. math:: \max_\pi \frac{1}{n} \sum_{i=1}^n [\,y_i = \pi(\hat y_i)\,]

    where :math:`\pi` gives every cluster at most one class and every class at most one cluster. If there are
    more clusters than classes, the samples of the clusters left over count as wrong.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Known classes.
    y_pred : array-like of shape (n_samples,)
        Clusters.

    Returns
    -------
    float
        Between 0 (excluded) and 1. It is the same if `y_true` and `y_pred` change places.

    See Also
    --------
    purity : Many clusters may stand for one class.

    Examples
    --------
    >>> from consilience.metrics import clustering_accuracy
    >>> clustering_accuracy(["cat", "cat", "cat", "dog"], [1, 1, 0, 0])
    0.75
    """
    true, pred = _encode_pair(y_true, y_pred)
    n_classes, n_clusters = int(true.max()) + 1, int(pred.max()) + 1
    table = np.bincount(true * n_clusters + pred, minlength=n_classes * n_clusters)
    table = table.reshape(n_classes, n_clusters)
    rows, columns = linear_sum_assignment(table, maximize=True)
    return float(table[rows, columns].sum() / true.size)


def nmi(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    average_method: Literal["max", "arithmetic", "geometric", "min"] = "max",
) -> float:
    r"""Mutual information of classes and clusters, divided by the **larger** of their entropies.

    .. math:: \frac{I(y, \hat y)}{M(H(y), H(\hat y))}, \qquad M = \max \text{ by default}

    The tables of the multi-view literature do the same; it gives the smallest of the four values.
    scikit-learn divides by the arithmetic mean, which gives more: never compare the two.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Known classes.
    y_pred : array-like of shape (n_samples,)
        Clusters.
    average_method : {"max", "arithmetic", "geometric", "min"}, default="max"
        The mean :math:`M` of the two entropies, by scikit-learn's names; its default is "arithmetic".

    Returns
    -------
    float
        Between 0 and 1. It is the same if `y_true` and `y_pred` change places. Two labellings with a single
        label each agree perfectly (1); a single label against several shares nothing with them (0).

    Examples
    --------
    >>> from consilience.metrics import nmi
    >>> round(nmi([0, 0, 1, 1], [0, 1, 2, 3]), 3)
    0.5
    >>> round(nmi([0, 0, 1, 1], [0, 1, 2, 3], average_method="min"), 3)
    1.0
    """
    if average_method not in _NORMALIZATIONS:
        raise ValueError(f"average_method must be one of {_NORMALIZATIONS}, got {average_method!r}.")
    true, pred = _encode_pair(y_true, y_pred)
    value = normalized_mutual_info_score(true, pred, average_method=average_method)
    # Rounding errors of about 1e-16 can pass the bounds.
    return min(max(float(value), 0.0), 1.0)


def ari(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    r"""Agreement over pairs of samples, corrected for chance: the adjusted Rand index.

    .. math:: \frac{R - \mathrm{E}[R]}{\max R - \mathrm{E}[R]}

    with :math:`R` the number of pairs of samples that are together in both labellings and the expectation
    over random labellings with clusters of the same sizes.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Known classes.
    y_pred : array-like of shape (n_samples,)
        Clusters.

    Returns
    -------
    float
        1 for equal partitions, 0 on average for unrelated ones, never below -0.5. It is the same if `y_true`
        and `y_pred` change places.

    Examples
    --------
    >>> from consilience.metrics import ari
    >>> ari([0, 0, 1, 1], ["b", "b", "a", "a"])
    1.0
    >>> ari([0, 0, 1, 1], [0, 1, 0, 1])
    -0.5
    """
    true, pred = _encode_pair(y_true, y_pred)
    return float(adjusted_rand_score(true, pred))


def purity(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    r"""Share of samples that belong to the most frequent class of their cluster.

    .. math:: \frac{1}{n} \sum_k \max_j |\{i : \hat y_i = k,\ y_i = j\}|

    It never falls when a cluster is split, and is 1 if every sample is a cluster of its own: compare only
    clusterings with the same number of clusters.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Known classes.
    y_pred : array-like of shape (n_samples,)
        Clusters.

    Returns
    -------
    float
        Between 0 (excluded) and 1, and never below the clustering_accuracy. Not symmetric.

    Examples
    --------
    >>> from consilience.metrics import purity
    >>> purity([0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 2, 2])
    0.8333333333333334
    """
    true, pred = _encode_pair(y_true, y_pred)
    n_classes = int(true.max()) + 1
    cells, counts = np.unique(pred * n_classes + true, return_counts=True)
    largest = np.zeros(int(pred.max()) + 1, dtype=np.int64)
    np.maximum.at(largest, cells // n_classes, counts)
    return float(largest.sum() / true.size)


def scores(y_true: ArrayLike, y_pred: ArrayLike) -> dict[str, float]:
    """Return the four scores under their usual names; NMI by the larger entropy.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        True classes and clusters.

    Returns
    -------
    dict of str to float
        ACC, NMI, ARI and purity.

    Examples
    --------
    >>> scores([0, 0, 1, 1], [1, 1, 0, 0])
    {'ACC': 1.0, 'NMI': 1.0, 'ARI': 1.0, 'purity': 1.0}
    """
    named = {"ACC": clustering_accuracy, "NMI": nmi, "ARI": ari, "purity": purity}
    return {name: float(score(y_true, y_pred)) for name, score in named.items()}


def _encode_pair(y_true: ArrayLike, y_pred: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Check two labellings of the same samples and number the labels of each from 0."""
    true, pred = _encode(y_true, "y_true"), _encode(y_pred, "y_pred")
    if true.size != pred.size:
        raise ValueError(f"y_true and y_pred must have the same length, got {true.size} and {pred.size}.")
    return true, pred


def _encode(labels: ArrayLike, name: str) -> NDArray[np.int64]:
    """Replace labels by numbers from 0, and refuse what is not one label per sample."""
    array = _as_array(labels, name)
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, got {array.ndim} dimensions.")
    if array.size == 0:
        raise ValueError(f"{name} must hold at least one label, got none.")
    if _has_missing(array) or np.ma.is_masked(labels):
        raise ValueError(f"{name} must not hold missing labels (NaN, NaT, None or masked).")
    if array.dtype != object:
        return np.unique(array, return_inverse=True)[1].astype(np.int64, copy=False)
    # Labels of mixed types cannot be sorted, so they are numbered as they come.
    numbers: dict[Any, int] = {}
    try:
        return np.array([numbers.setdefault(label, len(numbers)) for label in array], dtype=np.int64)
    except TypeError as error:
        raise ValueError(f"{name} must hold hashable labels: {error}.") from error


def _as_array(labels: ArrayLike, name: str) -> NDArray[Any]:
    """Convert to an array without turning numbers or NaN in a list with strings into strings."""
    try:
        array = np.asarray(labels)
    except ValueError as error:
        raise ValueError(f"{name} must be one-dimensional: {error}") from error
    if array.dtype.kind in "US" and not isinstance(labels, np.ndarray):
        array = np.asarray(labels, dtype=object)
    return array


def _has_missing(array: NDArray[Any]) -> bool:
    if array.dtype.kind in "fc":
        return bool(np.isnan(array).any())
    if array.dtype.kind in "mM":
        return bool(np.isnat(array).any())
    return array.dtype == object and any(map(_is_missing, array))


def _is_missing(label: Any) -> bool:
    if label is None:
        return True
    try:
        return not bool(label == label)
    except (TypeError, ValueError):  # pandas.NA has no truth value; an array has several
        return True
