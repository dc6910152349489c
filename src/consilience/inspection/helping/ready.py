"""Views made ready once for many fits: as spaces, each alone and all of them side by side."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ... import threads
from ...cluster import ConcatenatedSpectral
from ...cluster.base import MultiviewClusterer, estimator
from ...cluster.prepared import PreparedViews
from ...cluster.progress import Progress
from ...neighbors import RememberingSpace
from ...views import Views
from .subsets import Rows, SubsetSpace, n_to_search


class _EndsReady:
    """Part of a clusterer that ends where the views are ready."""

    def _fit_views(
        self, prepared: PreparedViews, random_state: np.random.RandomState, progress: Progress
    ) -> None:
        spaces = tuple(RememberingSpace(space) for space in prepared.spaces)
        self.prepared_ = replace(prepared, spaces=spaces)


@estimator
class _EachReady(_EndsReady, MultiviewClusterer):
    _takes_missing: ClassVar[bool] = True

    def _n_stages(self, views: Views) -> int:
        return 1


@estimator
class _TogetherReady(_EndsReady, ConcatenatedSpectral):
    pass


@dataclass(frozen=True, eq=False)
class Ready:
    """Views as spaces, for many fits on all or some of the samples.

    Attributes
    ----------
    names : tuple of str
        Names of all views.
    prepared : PreparedViews
        Each view as a space.
    together : PreparedViews or None
        All of them as one space; None if they cannot be put side by side.
    no_concatenation : str
        Why they cannot.
    metrics : tuple of str
        The metric of each view.
    metric_together : str
        That of the concatenation.
    n_neighbors : int
        Neighbours per sample, for everybody.
    mask : ndarray of bool of shape (n_samples, v), or None
        Which of all views has seen which sample.
    """

    names: tuple[str, ...]
    prepared: PreparedViews
    together: PreparedViews | None
    no_concatenation: str
    metrics: tuple[str, ...]
    metric_together: str
    n_neighbors: int
    mask: NDArray[np.bool_] | None

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return self.prepared.n_samples

    def take(self, rows: Rows) -> Ready:
        """Return some of the samples, in ascending order; nothing is searched anew."""
        return replace(
            self,
            prepared=_taken(self.prepared, rows),
            together=None if self.together is None else _taken(self.together, rows),
            mask=None if self.mask is None else self.mask[rows],
        )

    def only(self, views: Sequence[int]) -> Ready:
        """Return some of the views that take part, on all samples; they cannot be put side by side."""
        numbers = np.cumsum(self.prepared.taking_part) - 1
        prepared = PreparedViews(
            spaces=tuple(self.prepared.spaces[numbers[i]] for i in views),
            names=tuple(self.names[i] for i in views),
            taking_part=np.ones(len(views), dtype=bool),
            mask=None if self.mask is None else self.mask[:, list(views)],
            n_samples=self.n_samples,
        )
        return replace(
            self,
            names=prepared.names,
            prepared=prepared,
            together=None,
            metrics=tuple(self.metrics[i] for i in views),
            mask=prepared.mask,
        )

    def alone(self, view: int) -> tuple[PreparedViews | None, Rows]:
        """Return one view as if there were no other, on the samples that it has seen, and which they are.

        None if the view takes no part.
        """
        if not self.prepared.taking_part[view]:
            return None, np.arange(self.n_samples)
        number = int(np.count_nonzero(self.prepared.taking_part[:view]))
        only = PreparedViews(
            spaces=(self.prepared.spaces[number],),
            names=(self.names[view],),
            taking_part=np.ones(1, dtype=bool),
            mask=None,
            n_samples=self.n_samples,
        )
        rows = np.arange(self.n_samples)
        if self.mask is None or self.mask[:, view].all():
            return only, rows
        rows = rows[self.mask[:, view]]
        return _taken(only, rows), rows


def make_ready(views: Views, parameters: dict[str, Any], metric_together: str | None = None) -> Ready:
    """Check views and parameters as every clusterer does, and make spaces of the views.

    Parameters
    ----------
    views : Views
        The views.
    parameters : dict
        `n_clusters`, `n_neighbors`, `metric`, `scale` and `n_jobs`, as of any clusterer.
    metric_together : str, optional
        The metric of the concatenation, if it is known.
    """
    each = _EachReady(**parameters).fit(views)
    told = parameters if not metric_together else {**parameters, "metric": metric_together}
    together, metric, reason = _side_by_side(views, told)
    k = each.n_neighbors_
    spaces = [*each.prepared_.spaces, *(() if together is None else together.spaces)]
    with threads.limit(parameters["n_jobs"]):
        for space in spaces:  # once, and wide enough for resamples too
            space.nearest(min(views.n_samples - 1, n_to_search(k)))
    return Ready(views.names, each.prepared_, together, reason, each.metrics_, metric, k, views.mask)


def _side_by_side(views: Views, parameters: dict[str, Any]) -> tuple[PreparedViews | None, str, str]:
    """Return all views as one space, and its metric; or why there is none."""
    if views.mask is not None and not views.mask.all():
        at_fault = views.names[int(np.argmin(views.mask.all(axis=0)))]
        return None, "", f"Side by side, every view must have seen every sample; {at_fault!r} has not."
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # said already, of the views one by one
            model = _TogetherReady(**parameters).fit(views)
    except ValueError as error:
        return None, "", str(error)
    return model.prepared_, model.metrics_[0], ""


def _taken(prepared: PreparedViews, rows: Rows) -> PreparedViews:
    n = prepared.n_samples
    return replace(
        prepared,
        spaces=tuple(RememberingSpace(SubsetSpace(space, rows, n)) for space in prepared.spaces),
        mask=None if prepared.mask is None else prepared.mask[rows],
        n_samples=len(rows),
    )
