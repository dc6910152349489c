"""Warnings that point at the line of code that called the library."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from .advice import text_of

_PACKAGE = str(Path(__file__).parents[1])


@dataclass(frozen=True)
class KeptWarning:
    """A warning of this library: its text, and what kind of warning it is."""

    text: str
    category: type[Warning]


_kept: ContextVar[list[KeptWarning] | None] = ContextVar("kept", default=None)


def warn(message: str | Warning, category: type[Warning] = UserWarning, *, lasting: bool = True) -> None:
    """Warn, and name the first line outside of this package and of scikit-learn's wrappers around `fit`.

    `lasting`: whether it is about the result, so that it is kept with it, or only about this run.
    """
    kept = _kept.get()
    if kept is not None and lasting:
        kind = type(message) if isinstance(message, Warning) else category
        kept.append(KeptWarning(text_of(message), kind))
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and _is_ours(frame.f_code.co_filename):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


@contextmanager
def keep_warnings() -> Iterator[list[KeptWarning]]:
    """Give a list that gets every warning of this library inside the block; the warnings are also shown."""
    kept: list[KeptWarning] = []
    token = _kept.set(kept)
    try:
        yield kept
    finally:
        _kept.reset(token)


def kept_so_far() -> tuple[KeptWarning, ...]:
    """Return the warnings that the innermost `keep_warnings` has kept until now."""
    return tuple(_kept.get() or ())


def _is_ours(file: str) -> bool:
    return file.startswith(_PACKAGE) or file.endswith(("/sklearn/base.py", "\\sklearn\\base.py"))


@contextmanager
def collected_warnings() -> Iterator[list[str]]:
    """Give a list that holds, after the block, the texts of all warnings in it; none of them is shown."""
    texts: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield texts
        finally:
            texts.extend(dict.fromkeys(text_of(warning.message) for warning in caught))
