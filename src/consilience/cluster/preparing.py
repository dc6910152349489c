"""From views to spaces: features on the scale asked for, and views that say nothing left out."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

from ..neighbors import Space, as_space, is_precomputed
from ..neighbors.scaling import Rescaling, Scaling, plan_rescaling, thinned
from ..views import Views
from ..warned import warn
from .checks import check_range
from .prepared import PreparedViews

logger = logging.getLogger(__name__)


def prepare_views(views: Views, metrics: tuple[Any, ...], scale: str, search: str = "exact") -> PreparedViews:
    """Make a space of each view, leaving out those that say nothing.

    Parameters
    ----------
    views : Views
        The views.
    metrics : tuple
        What each is measured by, resolved.
    scale : {"none", "auto", "standard"}
        Which features to rescale.
    search : {"exact", "approximate", "auto"}, default="exact"
        How neighbours are found.
    """
    spaces: list[Space | None] = []
    scalings: list[Scaling] = []
    for i, (name, array) in enumerate(views.items()):
        seen, encoding = views.seen(i), views.encodings[i]
        if seen is not None and seen.sum() < 2:
            spaces.append(None)
            continue
        if metrics[i] in ("euclidean", "cosine"):
            array = thinned(array)
        scaling = _scaling(array, views, i, metrics[i], scale)
        array = scaling(array)
        check_range(array, metrics[i], name)
        kinds = None if encoding is None else encoding.kinds
        space = as_space(
            array,
            metrics[i],
            name=name,
            seen=seen,
            sample_ids=views.sample_ids,
            kinds=kinds,
            search=search,
        )
        constant = space.is_constant()
        spaces.append(None if constant else space)
        scalings += [] if constant else [scaling]
    taking_part = np.array([space is not None for space in spaces])
    if not taking_part.any():
        raise ValueError("Every view is constant: all samples look the same, so there are no clusters.")
    for left_out in np.flatnonzero(~taking_part).tolist():
        seen = views.seen(left_out)
        if seen is not None and seen.sum() < 2:
            reason = "has seen fewer than two samples"
        else:
            reason = "is constant: all samples look the same in it"
        warn(f"View {views.names[left_out]!r} {reason}. It is left out.")
    return PreparedViews(
        spaces=tuple(space for space in spaces if space is not None),
        names=tuple(name for name, part in zip(views.names, taking_part, strict=True) if part),
        taking_part=taking_part,
        mask=None if views.mask is None else views.mask[:, taking_part],
        n_samples=views.n_samples,
        scalings=tuple(scalings),
    )


def _scaling(array: Any, views: Views, i: int, metric: Any, scale: str) -> Scaling:
    """Return what brings a view's features on the scale asked for, to be measured by this metric."""
    seen, name = views.seen(i), views.names[i]
    # Codes have no scale, and Gower's distance has its own.
    if is_precomputed(metric) or metric == "gower" or views.encodings[i] is not None:
        return Scaling()
    if scale == "standard":
        return Scaling.standard(array, seen)
    if scale == "auto":
        check_range(array, metric, name)
        plan = plan_rescaling(array, metric, seen)
        if plan is not None and len(plan.features):
            told = _told(plan, views.feature_names[i])
            warn(f"View {name!r} {told} Pass scale='none' to leave it as it is.")
        elif plan is not None:
            logger.info("view %r holds counts: scale 'auto' takes their square roots", name)
        return Scaling(plan)
    return Scaling()


def _told(found: Rescaling, names: Any) -> str:
    """Say what dominates a view and what is done about it."""
    d = len(found.factors)
    if found.all_features:
        return (
            f"is carried by about {found.n_effective:.1f} of its {d} features, those with the largest "
            "numbers; all are brought to unit variance."
        )
    shown = [repr(names[f]) if names is not None else str(f) for f in found.features[:3].tolist()]
    which = ", ".join(shown) + (", ..." if len(found.features) > 3 else "")
    one = len(found.features) == 1
    return (
        f"is dominated by {len(found.features)} of its {d} features ({which}), whose spread is far above all "
        f"others'; {'it is' if one else 'they are'} rescaled to that of the others."
    )
