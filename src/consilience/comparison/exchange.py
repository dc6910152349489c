"""What a system is given, and what it must give back: one label for each sample."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..views import Views
from .contenders import Contender, accepted


def labels_of(one: Contender, model: Any, views: Views, given: Mapping[str, Any]) -> NDArray[np.intp]:
    """Fit a system to views and return the cluster of each sample, numbered from 0.

    Parameters
    ----------
    one : Contender
        The system.
    model : estimator or function
        What its `make` returned.
    views : Views or SharedViews
        The data, prepared.
    given : mapping
        What a function is given besides the data, as far as it takes it.

    Raises
    ------
    ValueError
        If what comes back is not one label for each sample.
    """
    n_samples = (views if isinstance(views, Views) else views.views).n_samples
    data: Any = views
    # A copy for each: a system may write into what it is given.
    if one.takes == "arrays":
        data = as_arrays(views)
    elif one.takes == "features":
        data = side_by_side(views)
    elif one.takes == "views":
        data = views[np.arange(n_samples)]
    if not hasattr(model, "fit") and not hasattr(model, "fit_predict"):
        found = model(data, **accepted(model, given))
    elif one.takes != "ours" and hasattr(model, "fit_predict"):
        found = model.fit_predict(data)
    else:
        fitted = model.fit(data)
        fitted = model if fitted is None else fitted
        if not hasattr(fitted, "labels_"):
            raise ValueError("After fit it has no labels_, and it has no fit_predict.")
        found = fitted.labels_
    return checked_labels(found, n_samples)


def checked_labels(found: Any, n_samples: int) -> NDArray[np.intp]:
    """Return labels as whole numbers by first appearance, or say what is wrong with them.

    Examples
    --------
    >>> checked_labels(["b", "a", "b"], 3)
    array([0, 1, 0])
    >>> checked_labels([0, 1], 3)
    Traceback (most recent call last):
    ...
    ValueError: It returned labels of shape (2,) for 3 samples.
    """
    labels = np.asarray(found.cpu() if hasattr(found, "cpu") else found)
    if labels.shape != (n_samples,):
        raise ValueError(f"It returned labels of shape {labels.shape} for {n_samples} samples.")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError(f"It returned {int((~np.isfinite(labels)).sum())} labels that are no numbers.")
    _, first, numbers = np.unique(
        labels.astype(str) if labels.dtype == object else labels, return_index=True, return_inverse=True
    )
    order = np.argsort(np.argsort(first))
    return np.asarray(order[numbers.reshape(-1)], dtype=np.intp)


def as_arrays(views: Views) -> list[Any]:
    """Return a list of copies of the views' arrays; rows of NaN for samples that a view has not seen."""
    arrays = []
    _check_numbers(views)
    for i, array in enumerate(views.arrays):
        seen = views.seen(i)
        if seen is not None:
            if sparse.issparse(array):
                raise ValueError(
                    f"View {views.names[i]!r} is sparse and misses samples: a list cannot say so."
                )
            array = np.where(seen[:, None], array, np.nan)
        arrays.append(array.copy())
    return arrays


def _check_numbers(views: Views) -> None:
    """Raise a ValueError if a view has columns of categories, whose codes are no numbers."""
    for name, encoding in zip(views.names, views.encodings, strict=True):
        if encoding is not None:
            raise ValueError(
                f"View {name!r} has columns of categories, which an array of numbers cannot show; a system "
                "with takes = 'views' sees them."
            )


def side_by_side(views: Views) -> Any:
    """Return all features in one matrix, each view divided by the root of its mean squared deviation.

    So views count alike, however many features they have.
    """
    _check_numbers(views)
    for i, name in enumerate(views.names):
        seen = views.seen(i)
        if seen is not None:
            raise ValueError(
                f"It takes the features of all samples, and view {name!r} lacks {int((~seen).sum())}."
            )
    scaled = []
    for array in views.arrays:
        if sparse.issparse(array):
            mean = np.asarray(array.mean(axis=0)).ravel()
            spread = float(array.multiply(array).sum()) / array.shape[0] - float((mean**2).sum())
        else:
            spread = float(np.var(array, axis=0, dtype=np.float64).sum())
        scaled.append(array / np.sqrt(spread) if spread > 0 else array.copy())
    if any(sparse.issparse(array) for array in scaled):
        return sparse.csr_matrix(sparse.hstack([sparse.csr_matrix(array) for array in scaled]))
    return np.hstack(scaled)
