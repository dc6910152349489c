"""Checks of parameters, with messages that say what is wrong."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

from .advice import Advice, Setting

_LARGEST = 1e100  # larger parameters have squares that are not finite, or almost


def check_number(name: str, value: Any, *, least: float = 0.0, strictly: bool = False) -> None:
    """Raise a ValueError unless a parameter is a number from the least allowed (or above) to 1e100."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    known = is_number and bool(np.abs(value) < np.inf)  # NaN is not
    if not known or value < least or (strictly and value == least):
        bound = f"above {least:g}" if strictly else f"of at least {least:g}"
        raise ValueError(Advice(Setting(name), f" must be a finite number {bound}, got {value!r}."))
    if value > _LARGEST:
        raise ValueError(Advice(Setting(name), f" must be at most {_LARGEST:g}, got {value!r}."))


def check_count(name: str, value: Any) -> None:
    """Raise a ValueError unless a parameter is a positive integer."""
    if not is_positive_integer(value):
        raise ValueError(Advice(Setting(name), f" must be a positive integer, got {value!r}."))


def check_choice(name: str, value: Any, known: tuple[str, ...], other: str = "") -> None:
    """Raise a ValueError unless a parameter is one of the words known; `other`: what else it may be."""
    if not isinstance(value, str) or value not in known:
        choices = ", ".join(map(repr, known)) + (f" or {other}" if other else "")
        raise ValueError(Advice("Unknown ", Setting(name), f" {value!r}; known: {choices}."))


def is_positive_integer(value: Any) -> bool:
    """Say whether a value is an integer of at least 1, and not a truth value."""
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1
