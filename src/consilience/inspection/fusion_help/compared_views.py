"""Views placed once for many clusterings: each alone, all side by side, on all or some of the samples."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...engines import Engine
from ...engines.protocol import enough_for_subset
from ...models.systems.concatenated import prepare_together, resolve_together
from ...stages.describe import DescribedViews, can_change, candidates
from ...stages.prepare import PreparedViews, prepare
from ...views import Views
from .resamples import SUBSET, Rows


@dataclass(frozen=True, eq=False)
class ComparedViews:
    """Views that are placed, for many clusterings of all or some of the samples.

    Attributes
    ----------
    names : tuple of str
        Names of all views.
    prepared : PreparedViews
        Each view that says anything.
    together : PreparedViews or None
        All of them as one; None if they cannot be put side by side.
    no_concatenation : str
        Why they cannot.
    metrics : tuple
        The metric of each view.
    metric_together : str or callable
        That of the concatenation.
    n_neighbors : int
        Neighbours per sample, the same for every clustering.
    mask : ndarray of bool of shape (n_samples, v), or None
        Which of all views has seen which sample.
    engine : Engine
        The engine that holds them.
    """

    names: tuple[str, ...]
    prepared: PreparedViews
    together: PreparedViews | None
    no_concatenation: str
    metrics: tuple[Any, ...]
    metric_together: Any
    n_neighbors: int
    mask: NDArray[np.bool_] | None
    engine: Engine

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return self.prepared.n_samples

    def place_of(self, view: int) -> int:
        """Return the place of a view among those that say anything."""
        return int(np.count_nonzero(self.prepared.active[:view]))

    def take(self, rows: Rows) -> ComparedViews:
        """Return some of the samples, in ascending order; nothing is searched again."""
        return replace(
            self,
            prepared=self._taken(self.prepared, rows),
            together=None if self.together is None else self._taken(self.together, rows),
            mask=None if self.mask is None else self.mask[rows],
        )

    def only(self, views: Sequence[int]) -> ComparedViews:
        """Return some of the views that say anything, on all samples; they cannot be put side by side."""
        wanted = np.isin(np.flatnonzero(self.prepared.active), views)
        kept = self.prepared.only(wanted)
        prepared = replace(kept, active=np.ones(len(views), dtype=bool), all_names=kept.names)
        return replace(
            self,
            names=prepared.names,
            prepared=prepared,
            together=None,
            metrics=tuple(self.metrics[i] for i in views),
            mask=prepared.mask,
        )

    def described(
        self, given: Views, kept: NDArray[np.bool_], metric: Any, scale: str, fixed: bool
    ) -> list[ComparedViews]:
        """Return some of the active views in each description that a fit would try; the default comes first.

        `metric` and `scale` are as the user gave them; `fixed` says whether the number of neighbours is, too.
        """
        views = self.prepared.only(kept)
        there = DescribedViews(views, can_change(given, views, metric, scale), self.engine)
        return [
            replace(self, prepared=there[one.name], n_neighbors=one.n_neighbors)
            for one in candidates(there, self.n_neighbors, fixed)
        ]

    def alone(self, view: int) -> tuple[PreparedViews, Rows]:
        """Return one view as if there were no other, on the samples that it has seen, and which they are."""
        only = replace(self.only([view]).prepared, mask=None)
        rows = np.arange(self.n_samples)
        if self.mask is None or self.mask[:, view].all():
            return only, rows
        rows = rows[self.mask[:, view]]
        return self._taken(only, rows), rows

    def _taken(self, views: PreparedViews, rows: Rows) -> PreparedViews:
        n = views.n_samples
        return replace(
            views,
            points=tuple(self.engine.subset(points, rows, n) for points in views.points),
            mask=None if views.mask is None else views.mask[rows],
            n_samples=len(rows),
        )


def place_views(
    views: Views, metrics: Sequence[Any], metric: Any, scale: str, n_neighbors: int, engine: Engine
) -> ComparedViews:
    """Place views, each alone and all side by side, and search wide enough for resamples.

    Parameters
    ----------
    views : Views
        The views.
    metrics : sequence
        What each is measured by, resolved.
    metric : str, callable, sequence or mapping
        As the user gave it: what the concatenation is measured by.
    scale : {"none", "auto", "standard"}
        Which features to rescale.
    n_neighbors : int
        Neighbours per sample.
    engine : Engine
        The engine that holds them.
    """
    prepared = _remembering(prepare(views, metrics, scale, engine=engine), engine)
    together, of_all, reason = _side_by_side(views, metrics, metric, scale, engine)
    wide = min(views.n_samples - 1, enough_for_subset(n_neighbors, SUBSET))
    for points in (*prepared.points, *(() if together is None else together.points)):
        engine.nearest(points, wide)
    return ComparedViews(
        views.names, prepared, together, reason, tuple(metrics), of_all, n_neighbors, views.mask, engine
    )


def _remembering(views: PreparedViews, engine: Engine) -> PreparedViews:
    return replace(views, points=tuple(engine.cached(points) for points in views.points))


def _side_by_side(
    views: Views, metrics: Sequence[Any], metric: Any, scale: str, engine: Engine
) -> tuple[PreparedViews | None, Any, str]:
    """Return all views as one, and their metric; or why they cannot be put side by side."""
    if views.mask is not None and not views.mask.all():
        at_fault = views.names[int(np.argmin(views.mask.all(axis=0)))]
        return None, "", f"Side by side, every view must have seen every sample; {at_fault!r} has not."
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they were given already, view by view
            of_all = resolve_together(views, metric, metrics, engine)
            together = prepare_together(views, of_all, scale, True, engine=engine)
    except ValueError as error:
        return None, "", str(error)
    return _remembering(together, engine), of_all, ""
