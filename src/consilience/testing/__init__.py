"""Checks that every multi-view estimator, and every engine, must pass: ours and yours."""

from .engines import EngineCheck, EngineProblem, check_engine, engine_checks, random_problems
from .estimators import assert_same_partition, check_multiview_estimator

__all__ = [
    "EngineCheck",
    "EngineProblem",
    "assert_same_partition",
    "check_engine",
    "check_multiview_estimator",
    "engine_checks",
    "random_problems",
]
