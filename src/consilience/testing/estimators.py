"""Checks that every multi-view estimator must pass, ours and yours."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from ..datasets import make_multiview
from ..views import Views


def assert_same_partition(first: ArrayLike, second: ArrayLike) -> None:
    """Raise an AssertionError unless two labellings group the samples alike; labels may have other names.

    Examples
    --------
    >>> assert_same_partition([0, 0, 1], ["b", "b", "a"])
    """
    a, b = np.asarray(first), np.asarray(second)
    if a.ndim != 1 or a.shape != b.shape:
        raise AssertionError(f"These are not labels of the same samples: shapes {a.shape} and {b.shape}.")
    a_number, b_number = np.unique(a, return_inverse=True)[1], np.unique(b, return_inverse=True)[1]
    pairs = np.unique(np.column_stack([a_number, b_number]), axis=0)
    n_clusters = len(np.unique(a_number)), len(np.unique(b_number))
    if len(pairs) != n_clusters[0] or len(pairs) != n_clusters[1]:
        raise AssertionError(
            f"The partitions differ: {n_clusters[0]} and {n_clusters[1]} clusters meet in {len(pairs)} pairs."
        )


def check_multiview_estimator(estimator: Any) -> None:
    """Check how a multi-view clusterer behaves; raise an AssertionError that says what is wrong.

    It must have the parameters `n_clusters` and `random_state`, and `fit` must set `labels_`. scikit-learn's
    own `check_estimator` tests the case of one view; this tests the others:

    - a list, a tuple, a dict and `Views` of the same arrays give the same labels;
    - permuting the samples permutes the partition, permuting the views leaves it;
    - data and parameters are left as they were, and the same seed gives the same labels;
    - labels are integers numbered by first appearance, and the planted clusters are found;
    - the number of threads changes nothing (if there is a parameter `n_jobs`);
    - samples can be picked from `Views`, as cross-validation does;
    - errors name the view at fault.

    Parameters
    ----------
    estimator : estimator
        An instance; it is cloned, not fitted.

    Examples
    --------
    >>> from consilience import SimilarityGraphFusion
    >>> check_multiview_estimator(SimilarityGraphFusion())
    """
    sample = make_multiview(120, n_views=3, n_clusters=3, separation=7.0, random_state=0)
    views = {f"telling_{i}": array for i, array in enumerate(sample.views.values())}
    model = clone(estimator).set_params(n_clusters=3, random_state=0)
    with warnings.catch_warnings():
        # Clusters as far apart as these give disconnected graphs, about which an estimator may warn.
        warnings.simplefilter("ignore", UserWarning)
        labels = clone(model).fit(views).labels_
        _check_labels(labels, len(sample.y))
        assert_same_partition(labels, sample.y)
        for check in (_check_containers, _check_permutations, _check_repeatable, _check_errors):
            check(model, views, labels)


def _check_labels(labels: Any, n: int) -> None:
    assert labels.shape == (n,), f"labels_ has shape {labels.shape}, not ({n},)."
    assert labels.dtype.kind == "i", f"labels_ has dtype {labels.dtype}, not an integer one."
    first_seen = [int(np.argmax(labels == label)) for label in np.unique(labels)]
    assert first_seen == sorted(first_seen), "labels_ are not numbered by first appearance."


def _check_containers(model: Any, views: dict[str, Any], labels: Any) -> None:
    arrays = list(views.values())
    for form in (arrays, tuple(arrays), Views(views), Views(arrays)):
        same = np.array_equal(clone(model).fit(form).labels_, labels)
        assert same, f"A {type(form).__name__} of the same views gives other labels than a dict."
    rows = np.arange(0, len(labels), 2)
    _check_labels(clone(model).fit(Views(views)[rows]).labels_, len(rows))


def _check_permutations(model: Any, views: dict[str, Any], labels: Any) -> None:
    order = np.random.default_rng(0).permutation(len(labels))
    permuted = clone(model).fit({name: array[order] for name, array in views.items()}).labels_
    assert_same_partition(permuted, labels[order])
    assert_same_partition(clone(model).fit(dict(reversed(views.items()))).labels_, labels)


def _check_repeatable(model: Any, views: dict[str, Any], labels: Any) -> None:
    kept = copy.deepcopy(views)
    parameters = copy.deepcopy(model.get_params())
    fitted = clone(model).fit(views)
    assert np.array_equal(fitted.labels_, labels), "The same seed gives other labels on a second run."
    assert np.array_equal(fitted.fit(views).labels_, labels), "Fitting again gives other labels."
    assert np.array_equal(clone(model).fit_predict(views), labels), "fit_predict differs from fit."
    assert repr(fitted.get_params()) == repr(parameters), "fit changed a parameter."
    for name, array in views.items():
        assert np.array_equal(array, kept[name]), f"fit changed the data of view {name!r}."
    if "n_jobs" in parameters:
        for n_jobs in (1, 2):
            other = clone(model).set_params(n_jobs=n_jobs).fit(views).labels_
            assert np.array_equal(other, labels), f"n_jobs={n_jobs} gives other labels."


def _check_errors(model: Any, views: dict[str, Any], labels: Any) -> None:
    name = "telling_1"
    broken = {key: array.copy() for key, array in views.items()}
    broken[name][7, 2] = np.nan
    _check_error(model, broken, "NaN in a view", name, "7")
    _check_error(model, {**views, name: views[name][:-1]}, "a view with fewer rows", name)
    _check_error(model, {**views, name: views[name][:, :, None]}, "a 3-D array as a view", name)
    few = {key: array[:2] for key, array in views.items()}
    _check_error(model, few, "fewer samples than clusters", "2", "3")


def _check_error(model: Any, views: Any, what: str, *words: str) -> None:
    try:
        clone(model).fit(views)
    except ValueError as error:
        for word in words:
            assert word in str(error), f"The error about {what} does not mention {word!r}: {error}"
    else:
        raise AssertionError(f"There is no ValueError about {what}.")
