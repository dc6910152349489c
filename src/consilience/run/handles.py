"""Handles inside the results of stages: marked where a dataclass is defined, so that they can be found.

A checkpoint keeps what a stage returned, which may hold handles. They are fetched when it is written. When it
is read, the engine that goes on adopts them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

Value = TypeVar("Value")


HANDLE: Mapping[str, bool] = MappingProxyType({"handle": True})
"""Metadata of a dataclass field that holds a handle of an engine, or a tuple of such."""


def map_handles(value: Value, function: Callable[[Any], Any]) -> Value:
    """Return a result of a stage with each of its handles replaced, those in results within it, too.

    Examples
    --------
    >>> @dataclasses.dataclass(frozen=True)
    ... class Found:
    ...     count: int
    ...     rows: list = dataclasses.field(metadata=HANDLE)
    >>> map_handles(Found(1, [3]), sum).rows
    3
    """
    if isinstance(value, tuple):
        return type(value)(map_handles(one, function) for one in value)
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return value
    changed = {}
    for field in dataclasses.fields(value):
        held = getattr(value, field.name)
        if not field.metadata.get("handle"):
            changed[field.name] = map_handles(held, function)
        elif held is not None:
            many = isinstance(held, tuple)
            changed[field.name] = tuple(map(function, held)) if many else function(held)
    kept = {name: one for name, one in changed.items() if one is not getattr(value, name)}
    return dataclasses.replace(value, **kept) if kept else value
