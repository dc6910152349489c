"""Which metric a view is measured by."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sklearn.neighbors import VALID_METRICS

from .scaling import looks_like_counts

logger = logging.getLogger(__name__)

PRECOMPUTED = ("precomputed_distance", "precomputed_squared_distance", "precomputed_similarity")
# The model works on squared distances, so squared Euclidean needs no second squaring.
_ALIASES = {"l2": "euclidean", "sqeuclidean": "euclidean", "l1": "manhattan", "cityblock": "manhattan"}
_UNFIT = {"precomputed", "nan_euclidean"}


def metric_names() -> tuple[str, ...]:
    """Return every metric name that is understood, ``"auto"`` first."""
    others = sorted(set(VALID_METRICS["brute"]) - _UNFIT - {"euclidean", "cosine"})
    return ("auto", "euclidean", "cosine", *PRECOMPUTED, *others)


def resolve_metrics(
    metric: str | Sequence[str] | Mapping[str, str], arrays: Sequence[Any], names: Sequence[str]
) -> tuple[str, ...]:
    """Return one metric name per view, with ``"auto"`` decided and aliases replaced.

    Parameters
    ----------
    metric : str or sequence of str
        One name for all views, or one per view (a mapping from view names works too).
    arrays : sequence of array or sparse matrix
        The views.
    names : sequence of str
        Their names.
    """
    if isinstance(metric, str):
        chosen = [metric] * len(names)
    elif isinstance(metric, Mapping):
        unknown = [name for name in metric if name not in names]
        if unknown or len(metric) != len(names):
            raise ValueError(
                f"metric names the views {', '.join(map(repr, metric))}, the data has "
                f"{', '.join(map(repr, names))}; give one metric for each."
            )
        chosen = [metric[name] for name in names]
    else:
        if not isinstance(metric, Iterable):
            raise ValueError(f"metric must be one name, or one for each view, got {metric!r}.")
        chosen = list(metric)
        if len(chosen) != len(names):
            raise ValueError(
                f"metric must be one name or one for each of the {len(names)} views, got {len(chosen)} names."
            )
    return tuple(_resolve(m, a, n) for m, a, n in zip(chosen, arrays, names, strict=True))


def _resolve(metric: str, array: Any, name: str) -> str:
    if not isinstance(metric, str) or metric not in metric_names():
        advice = " Say which: 'precomputed_distance', ..." if metric == "precomputed" else ""
        known = ", ".join(metric_names())
        raise ValueError(f"Unknown metric {metric!r} for view {name!r}.{advice} Known metrics: {known}.")
    if metric == "auto":
        metric = "cosine" if looks_like_counts(array) else "euclidean"
        logger.info("view %r: metric 'auto' is %s", name, metric)
    return _ALIASES.get(metric, metric)
