"""How distances in a view are measured: its metric, the scale of its features, and both as a `Space`."""

from .metric import (
    Metric,
    is_precomputed,
    metric_label,
    metric_names,
    resolve_metrics,
    takes_categories,
    takes_missing_cells,
)
from .scaling import Scaling
from .space import Space

__all__ = [
    "Metric",
    "Scaling",
    "Space",
    "is_precomputed",
    "metric_label",
    "metric_names",
    "resolve_metrics",
    "takes_categories",
    "takes_missing_cells",
]
