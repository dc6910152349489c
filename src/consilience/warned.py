"""Warnings that point at the line of whoever called the library."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

_HERE = str(Path(__file__).parent)
_kept: ContextVar[list[str] | None] = ContextVar("kept", default=None)


def warn(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Warn, and name the first line outside of this package and of scikit-learn's wrappers around `fit`."""
    kept = _kept.get()
    if kept is not None:
        kept.append(str(message))
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and _is_ours(frame.f_code.co_filename):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


@contextmanager
def keep_warnings() -> Iterator[list[str]]:
    """Give a list that gets the text of every warning of ours inside the block, beside its being shown."""
    told: list[str] = []
    token = _kept.set(told)
    try:
        yield told
    finally:
        _kept.reset(token)


def _is_ours(file: str) -> bool:
    return file.startswith(_HERE) or file.endswith(("/sklearn/base.py", "\\sklearn\\base.py"))
