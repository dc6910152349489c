"""Around a fit: progress, checkpoints, memory, configuration, and warnings that name the caller's line."""

from .execution import Run
from .progress import PlannedStage

__all__ = ["PlannedStage", "Run"]
