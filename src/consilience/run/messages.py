"""Messages that people read: settings in them, warnings at the caller's line, checks of parameters.

A message with advice is text that knows which of its parts are settings. The library writes them as Python,
``view_weights='uniform'``, a command as its options, ``--view-weights uniform``. Code that shows a message
decides how settings are written; nothing searches a message for words.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Self, TypeAlias

import numpy as np

from ..io.stored import stored

_NO_VALUE = "\0no value"


@stored()
@dataclass(frozen=True)
class Setting:
    """A parameter, alone or with a value.

    Examples
    --------
    >>> str(Setting("scale", "none")), str(Setting("n_neighbors"))
    ("scale='none'", 'n_neighbors')
    """

    parameter: str
    value: Any = _NO_VALUE

    @property
    def has_value(self) -> bool:
        """Whether it comes with a value."""
        return not (isinstance(self.value, str) and self.value == _NO_VALUE)

    def __str__(self) -> str:
        return f"{self.parameter}={self.value!r}" if self.has_value else self.parameter


class Advice(str):
    """Text in which some parts are settings; otherwise a string like any other.

    Parameters
    ----------
    *parts : str or Setting
        The text, piece by piece.

    Examples
    --------
    >>> advice = Advice("It is left out; ", Setting("view_weights", "uniform"), " keeps it.")
    >>> print(advice)
    It is left out; view_weights='uniform' keeps it.
    >>> advice.written(lambda setting: f"--{setting.parameter} {setting.value}")
    'It is left out; --view_weights uniform keeps it.'
    """

    parts: tuple[str | Setting, ...]

    def __new__(cls, *parts: str | Setting) -> Self:
        """Return the text of all parts; parts that are advice are taken apart."""
        flat: list[str | Setting] = []
        for part in parts:
            flat += part.parts if isinstance(part, Advice) else [part]
        text = super().__new__(cls, "".join(map(str, flat)))
        text.parts = tuple(flat)
        return text

    @classmethod
    def joined(cls, separator: str, texts: Iterable[str]) -> Self:
        """Return several texts as one."""
        parts: list[str | Setting] = []
        for i, text in enumerate(texts):
            parts += [separator] * (i > 0) + [text]
        return cls(*parts)

    def written(self, how: Callable[[Setting], str]) -> str:
        """Return the text with its settings written in another way."""
        return "".join(how(part) if isinstance(part, Setting) else str(part) for part in self.parts)


def written(message: str, how: Callable[[Setting], str]) -> str:
    """Return a message with its settings, if it has any, written in another way."""
    return message.written(how) if isinstance(message, Advice) else message


def text_of(message: str | BaseException) -> str:
    """Return the text of a warning or an error; with its settings, if it is advice."""
    if isinstance(message, str):
        return message
    first = message.args[0] if len(message.args) == 1 else None
    return first if isinstance(first, str) and str(first) == str(message) else str(message)


_PACKAGE = str(Path(__file__).parents[1])


@dataclass(frozen=True)
class KeptWarning:
    """A warning of this library: its text, and what kind of warning it is."""

    text: str
    category: type[Warning]


HeldWarning: TypeAlias = tuple[str | Warning, type[Warning], bool]  # what `warn` was called with
_kept: ContextVar[list[KeptWarning] | None] = ContextVar("kept", default=None)
_held: ContextVar[list[HeldWarning] | None] = ContextVar("held", default=None)


def warn(message: str | Warning, category: type[Warning] = UserWarning, *, lasting: bool = True) -> None:
    """Warn, and name the first line outside of this package and of scikit-learn's wrappers around `fit`.

    `lasting`: whether it is about the result, so that it is kept with it, or only about this run.
    """
    kept, held = _kept.get(), _held.get()
    if kept is not None and lasting:
        kind = type(message) if isinstance(message, Warning) else category
        kept.append(KeptWarning(text_of(message), kind))
    if held is not None:
        held.append((message, category, lasting))
        return
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


@contextmanager
def held_warnings() -> Iterator[list[HeldWarning]]:
    """Give a list that gets every warning of this library inside the block, until `show_held`.

    For work of which it is decided afterwards whether it counts.
    """
    held: list[HeldWarning] = []
    token = _held.set(held)
    try:
        with keep_warnings():  # of their own: they are kept outside when they are shown
            yield held
    finally:
        _held.reset(token)


def show_held(held: Iterable[HeldWarning]) -> None:
    """Give the warnings that were held."""
    for message, category, lasting in held:
        warn(message, category, lasting=lasting)


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


_LARGEST = 1e100  # larger parameters have squares that are not finite, or almost


def check_number(name: str, value: Any, *, least: float = 0.0, strictly: bool = False) -> None:
    """Raise a ValueError unless a parameter is a number from the least allowed (or above) to 1e100."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    known = is_number and bool(np.abs(value) < np.inf)  # NaN is not
    if not known or value < least or (strictly and value == least):
        bound = f"above {least:g}" if strictly else f"of at least {least:g}"
        raise ValueError(Advice(Setting(name), f" must be a finite number {bound}, got {value!r}."))
    if (float(value) if isinstance(value, np.floating) else value) > _LARGEST:  # which has no float32
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
