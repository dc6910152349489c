"""Warnings that point at the line of whoever called the library."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

_HERE = str(Path(__file__).parent)


def warn(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Warn, and name the first line outside of this package and of scikit-learn's wrappers around `fit`."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and _is_ours(frame.f_code.co_filename):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def _is_ours(file: str) -> bool:
    return file.startswith(_HERE) or file.endswith(("/sklearn/base.py", "\\sklearn\\base.py"))
