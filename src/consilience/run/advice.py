"""Messages that name settings.

The library writes a setting as ``view_weights='uniform'``, a command writes it as ``--view-weights uniform``.
A message with advice is text that knows which of its parts are settings. The code that shows it decides how
settings are written; it need not search the message for words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Self

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
