"""What every multi-view clusterer shares: parameters, the way in, and the checks."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_random_state

from .. import threads
from ..neighbors import Space, as_space, resolve_metrics
from ..views import Views
from .progress import Progress

SCALES = ("none", "standard")
NEIGHBOR_SEARCHES = ("exact",)
ASSIGN_LABELS = ("kmeans",)


@dataclass(frozen=True, eq=False)
class PreparedViews:
    """The views that take part in a fit, as spaces.

    Attributes
    ----------
    spaces : tuple of Space
        One per view that takes part.
    names : tuple of str
        Their names.
    taking_part : ndarray of bool of shape (v,)
        Which of all views those are.
    mask : ndarray of bool of shape (n, number of spaces), or None
        Which sample each has seen.
    n_samples : int
        Number of samples.
    """

    spaces: tuple[Space, ...]
    names: tuple[str, ...]
    taking_part: NDArray[np.bool_]
    mask: NDArray[np.bool_] | None
    n_samples: int


class MultiviewClusterer(ClusterMixin, BaseEstimator):
    """Base of all multi-view clusterers.

    A subclass has the common parameters in its constructor, says how many stages its fit has, and
    implements `_fit_views`, which sets the fitted attributes, `labels_` among them.
    """

    n_clusters: int
    n_neighbors: int | str
    metric: Any
    scale: str
    neighbor_search: str
    assign_labels: str
    n_init: int | Literal["auto"]
    n_jobs: int | None
    random_state: Any
    verbose: bool

    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the samples.

        Parameters
        ----------
        X : list, tuple, dict, Views, DataFrame, array or sparse matrix
            The views: several 2-D arrays, sparse matrices or DataFrames over the same samples (rows). A
            single 2-D array is one view.
        y : None
            Ignored; present because scikit-learn expects it.

        Returns
        -------
        self
            The fitted clusterer.
        """
        before = dict(self.__dict__)
        try:
            self._fit(X)
        except BaseException:
            # What an earlier fit found is still true; half of a failed one would not be.
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        return self

    def _fit(self, X: Any) -> None:
        views = X if isinstance(X, Views) else Views(X, pairwise=_precomputed_views(self.metric, X))
        self._check_parameters(views)
        with threads.limit(self.n_jobs):
            progress = Progress(self._n_stages(views), bool(self.verbose))
            with progress.stage("prepare"):
                prepared = self._prepare(views)
            self._fit_views(prepared, check_random_state(self.random_state), progress)
        self.n_features_in_ = views.shape[1]
        self.view_names_ = np.array(views.names, dtype=object)
        self.timings_ = progress.seconds
        if views.n_views == 1 and views.feature_names[0] is not None:
            self.feature_names_in_ = np.asarray(views.feature_names[0], dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    @abstractmethod
    def _fit_views(
        self, prepared: PreparedViews, random_state: np.random.RandomState, progress: Progress
    ) -> None:
        """Fit on the views that take part; set the fitted attributes."""

    @abstractmethod
    def _n_stages(self, views: Views) -> int:
        """Return how many stages the fit reports."""

    def _check_parameters(self, views: Views) -> None:
        """Raise a ValueError for the first parameter that does not fit the data."""
        n = views.n_samples
        c = self.n_clusters
        if not _is_positive_integer(c):
            raise ValueError(f"n_clusters must be a positive integer, got {c!r}.")
        if n < 2:
            raise ValueError("There is 1 sample; clustering takes at least 2 (n_samples=1).")
        if c > n:
            raise ValueError(f"There are fewer samples (n_samples={n}) than clusters (n_clusters={c}).")
        _check_choice("scale", self.scale, SCALES)
        _check_choice("neighbor_search", self.neighbor_search, NEIGHBOR_SEARCHES)
        _check_choice("assign_labels", self.assign_labels, ASSIGN_LABELS)
        if self.n_init != "auto" and not _is_positive_integer(self.n_init):
            raise ValueError(f"n_init must be 'auto' or a positive integer, got {self.n_init!r}.")
        self.n_neighbors_ = self._resolve_n_neighbors(n)
        self.metrics_ = resolve_metrics(self.metric, _seen_parts(views), views.names)

    def _resolve_n_neighbors(self, n: int) -> int:
        k = self.n_neighbors
        if isinstance(k, str):
            _check_choice("n_neighbors", k, ("auto",), "an integer")
            return min(n - 1, int(np.clip(0.6 * n / self.n_clusters, 6, 20)))
        if not _is_positive_integer(k):
            raise ValueError(f"n_neighbors must be 'auto' or a positive integer, got {k!r}.")
        if k >= n:
            raise ValueError(
                f"n_neighbors={k} asks for more neighbours than there are other samples "
                f"(n_samples={n}); pass at most {n - 1}, or 'auto'."
            )
        return int(k)

    def _prepare(self, views: Views) -> PreparedViews:
        """Make a space of each view, leaving out those that say nothing."""
        spaces: list[Space | None] = []
        for i, (name, array) in enumerate(views.items()):
            seen = views.seen(i)
            if seen is not None and seen.sum() < 2:
                spaces.append(None)
                continue
            if self.scale == "standard" and not self.metrics_[i].startswith("precomputed"):
                array = _standard_scaled(array, seen)
            self._check_columns(views, i)
            space = as_space(array, self.metrics_[i], name=name, seen=seen, sample_ids=views.sample_ids)
            spaces.append(None if space.is_constant() else space)
        taking_part = np.array([space is not None for space in spaces])
        if not taking_part.any():
            raise ValueError("Every view is constant: all samples look the same, so there are no clusters.")
        for left_out in np.flatnonzero(~taking_part).tolist():
            seen = views.seen(left_out)
            if seen is not None and seen.sum() < 2:
                reason = "has seen fewer than two samples"
            else:
                reason = "is constant: all samples look the same in it"
            warnings.warn(
                f"View {views.names[left_out]!r} {reason}. It is left out.", UserWarning, stacklevel=3
            )
        return PreparedViews(
            spaces=tuple(space for space in spaces if space is not None),
            names=tuple(name for name, part in zip(views.names, taking_part, strict=True) if part),
            taking_part=taking_part,
            mask=None if views.mask is None else views.mask[:, taking_part],
            n_samples=views.n_samples,
        )

    def _check_columns(self, views: Views, i: int) -> None:
        """Raise a ValueError if a precomputed view's columns are samples in another order than its rows."""
        columns, ids = views.feature_names[i], views.sample_ids
        if (
            not self.metrics_[i].startswith("precomputed")
            or views.pairwise[i]
            or columns is None
            or ids is None
        ):
            return
        if list(columns) != [str(label) for label in ids]:
            raise ValueError(
                f"The columns of view {views.names[i]!r} are in another order than its rows; say that it is "
                f"a matrix between samples, Views(..., pairwise=[{views.names[i]!r}]), to match both by id."
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _precomputed_views(metric: Any, X: Any) -> Any:
    """Say which views are matrices between samples, as far as metric and data tell before they are read."""
    if isinstance(metric, str):
        return metric.startswith("precomputed_")
    if isinstance(metric, Mapping):
        given = [name for name, one in metric.items() if str(one).startswith("precomputed_")]
        return [name for name in given if isinstance(X, Mapping) and name in X]
    if isinstance(metric, Iterable) and isinstance(X, list | tuple | Mapping):
        flags = [str(one).startswith("precomputed_") for one in metric]
        return flags if len(flags) == len(X) else False
    return False


def _seen_parts(views: Views) -> list[Any]:
    """Return the views without the rows that stand for samples they have not seen."""
    seen = [views.seen(i) for i in range(views.n_views)]
    return [
        array if rows is None or not rows.any() else array[rows]
        for array, rows in zip(views.arrays, seen, strict=True)
    ]


def _is_positive_integer(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1


def _check_choice(name: str, value: Any, known: tuple[str, ...], other: str = "") -> None:
    if not isinstance(value, str) or value not in known:
        choices = ", ".join(map(repr, known)) + (f" or {other}" if other else "")
        raise ValueError(f"Unknown {name} {value!r}; known: {choices}.")


def _standard_scaled(array: Any, seen: NDArray[np.bool_] | None) -> Any:
    """Scale features to unit variance, and dense ones to zero mean; constant features become 0."""
    rows = array if seen is None else array[seen]
    if sparse.issparse(array):
        mean = np.asarray(rows.mean(axis=0)).ravel()
        variance = np.asarray(rows.multiply(rows).mean(axis=0)).ravel() - mean**2
        deviation = np.sqrt(np.maximum(variance, 0))
        factors = np.divide(1, deviation, out=np.zeros_like(deviation), where=deviation > 0)
        return sparse.csr_array(array.multiply(factors[None, :]))
    deviation = rows.std(axis=0, dtype=np.float64)
    factors = np.divide(1, deviation, out=np.zeros_like(deviation), where=deviation > 0)
    return ((array - rows.mean(axis=0, dtype=np.float64)) * factors).astype(array.dtype)
