"""What a view is measured by: its metric, the scale of its features, and the two together as a `Space`."""

from .metric import (
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
    "Scaling",
    "Space",
    "is_precomputed",
    "metric_label",
    "metric_names",
    "resolve_metrics",
    "takes_categories",
    "takes_missing_cells",
]
