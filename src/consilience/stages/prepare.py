"""Prepare: from views to spaces that an engine holds, features on the scale asked for."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engines import Engine
from ..run.messages import Advice, Setting, warn
from ..spaces import Scaling, Space, is_precomputed, resolve_metrics, takes_missing_cells
from ..spaces.scaling import Rescaling, plan_rescaling, thinned
from ..spaces.space import check_range
from ..views import Views, in_memory

logger = logging.getLogger(__name__)

SCALES = ("none", "auto", "standard")


@dataclass(frozen=True, eq=False)
class PreparedViews:
    """The active views, each placed by an engine: not constant, and with at least two samples.

    Attributes
    ----------
    spaces : tuple of Space
        One for each active view.
    points : tuple of points
        The same, placed.
    active : ndarray of bool of shape (v,)
        Which of all views those are.
    mask : ndarray of bool of shape (n, number of spaces), or None
        Which sample each has seen; None: all have seen all.
    n_samples : int
        Number of samples.
    all_names : tuple of str
        Names of all views, also of those that are not active.
    """

    spaces: tuple[Space, ...]
    points: tuple[Any, ...] = field(repr=False)
    active: NDArray[np.bool_]
    mask: NDArray[np.bool_] | None = field(repr=False)
    n_samples: int
    all_names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.spaces)

    @property
    def names(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(space.name for space in self.spaces)

    @property
    def is_complete(self) -> bool:
        """Whether every view has seen every sample."""
        return self.mask is None or bool(self.mask.all())

    def expand(self, values: NDArray[Any], absent: float = 0.0) -> NDArray[Any]:
        """Put the views that were left out back into place, on the last axis, with this value."""
        return expand(values, self.active, absent)

    def for_all(self, items: Sequence[Any]) -> tuple[Any, ...]:
        """Return one item for each of all views, None for those that are not active or if none is given."""
        rest = iter(items)
        return tuple(next(rest, None) if active else None for active in self.active)

    def cached(self, engine: Engine) -> PreparedViews:
        """Return the same, with points that keep their answers."""
        return replace(self, points=tuple(engine.cached(one) for one in self.points))

    def only(self, kept: NDArray[np.bool_]) -> PreparedViews:
        """Leave out some of the views."""
        if kept.all():
            return self
        chosen = np.flatnonzero(kept).tolist()
        return replace(
            self,
            spaces=tuple(self.spaces[i] for i in chosen),
            points=tuple(self.points[i] for i in chosen),
            active=expand(kept, self.active, False),
            mask=None if self.mask is None else self.mask[:, chosen],
        )


def expand(values: NDArray[Any], active: NDArray[np.bool_], absent: float = 0.0) -> NDArray[Any]:
    """Put views that were left out back into place, on the last axis, with this value.

    Examples
    --------
    >>> expand(np.array([0.4, 0.6]), np.array([True, False, True]))
    array([0.4, 0. , 0.6])
    """
    result = np.full(values.shape[:-1] + active.shape, absent, dtype=values.dtype)
    result[..., active] = values
    return result


def prepare(views: Views, metrics: Sequence[Any], scale: str, *, engine: Engine) -> PreparedViews:
    """Place each view, leaving out those that are constant or have seen fewer than two samples.

    Parameters
    ----------
    views : Views
        The views.
    metrics : sequence
        The metric of each view, resolved.
    scale : {"none", "auto", "standard"}
        Which features to rescale.
    engine : Engine
        The engine that computes.

    Warns
    -----
    UserWarning
        If features are rescaled by "auto", or a view is left out.
    """
    spaces, points = [], []
    reasons: dict[str, str] = {}
    for i, name in enumerate(views.names):
        seen = views.seen(i)
        if seen is not None and seen.sum() < 2:
            reasons[name] = "has seen fewer than two samples"
            continue
        space = make_space(views, i, metrics[i], scale, engine)
        placed = engine.place(space)
        if engine.is_constant(placed):
            reasons[name] = "is constant: all samples look the same in it"
            continue
        spaces.append(space)
        points.append(placed)
    if not spaces:
        raise ValueError("Every view is constant: all samples look the same, so there are no clusters.")
    for name, reason in reasons.items():
        warn(f"View {name!r} {reason}. It is left out.")
    active = np.array([name not in reasons for name in views.names])
    mask = None if views.mask is None else views.mask[:, active]
    return PreparedViews(tuple(spaces), tuple(points), active, mask, views.n_samples, views.names)


def make_space(views: Views, i: int, metric: Any, scale: str, engine: Engine) -> Space:
    """Return a view with its metric and scale."""
    rows, encoding = views.resident_arrays[i], views.encodings[i]
    if not engine.takes_device_arrays:
        rows = in_memory(rows)
    if metric in ("euclidean", "cosine"):
        rows = thinned(rows)
    return Space(
        name=views.names[i],
        rows=rows,
        metric=metric,
        scaling=_choose_scaling(rows, views, i, metric, scale, engine),
        seen=views.seen(i),
        kinds=None if encoding is None else encoding.kinds,
        sample_ids=views.sample_ids,
    )


def _choose_scaling(rows: Any, views: Views, i: int, metric: Any, scale: str, engine: Engine) -> Scaling:
    """Return the scaling of a view's features that was asked for, for this metric."""
    seen, name = views.seen(i), views.names[i]
    # Codes have no scale, and Gower's distance has its own.
    if scale == "none" or is_precomputed(metric) or metric == "gower" or views.encodings[i] is not None:
        return Scaling()
    if scale == "standard":
        return Scaling.standard(rows, seen, engine)
    check_range(rows, metric, name)
    plan = plan_rescaling(rows, metric, seen, engine)
    if plan is not None and len(plan.features):
        what = _describe_rescaling(plan, views.feature_names[i])
        warn(Advice(f"View {name!r} {what} Pass ", Setting("scale", "none"), " to leave it as it is."))
    elif plan is not None:
        logger.info("view %r holds counts: scale 'auto' takes their square roots", name)
    return Scaling(plan)


def _describe_rescaling(plan: Rescaling, names: Any) -> str:
    """Say which features dominate a view and how they are rescaled."""
    d = len(plan.factors)
    if plan.all_features:
        return (
            f"is carried by about {plan.n_effective:.1f} of its {d} features, those with the largest "
            "numbers; all are brought to unit variance."
        )
    shown = [repr(names[f]) if names is not None else str(f) for f in plan.features[:3].tolist()]
    which = ", ".join(shown) + (", ..." if len(plan.features) > 3 else "")
    one = len(plan.features) == 1
    return (
        f"is dominated by {len(plan.features)} of its {d} features ({which}), whose spread is far above all "
        f"others'; {'it is' if one else 'they are'} rescaled to that of the others."
    )


def metrics_of_views(metric: Any, views: Views, scale: str, engine: Engine) -> tuple[Any, ...]:
    """Return what each view is measured by, or raise a ValueError for a view that cannot be measured so."""
    metrics = resolve_metrics(
        metric,
        views.resident_arrays if engine.takes_device_arrays else views.arrays,
        views.names,
        [None if encoding is None else encoding.kinds for encoding in views.encodings],
        views.graphs,
        engine=engine,
        seen=[rows if rows is None or rows.any() else None for rows in map(views.seen, views.names)],
        rescaled=[
            scale == "auto" and not square and encoding is None
            for square, encoding in zip(views.pairwise, views.encodings, strict=True)
        ],
    )
    for i, one in enumerate(metrics):
        if not takes_missing_cells(one):
            views.check_cells(i)
    return metrics
