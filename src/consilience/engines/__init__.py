"""Engines: they do all heavy work on rows and edges. See `protocol` for the functions of an engine."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .protocol import SEARCHES, Engine
from .results import SearchReport, Sums

__all__ = ["SEARCHES", "Engine", "SearchReport", "Sums", "engine_names", "get_engine"]

_ENGINES = {"numba": ".numba:NumbaEngine", "numpy": ".numpy:NumpyEngine"}


def engine_names() -> tuple[str, ...]:
    """Return the names that `get_engine` knows.

    Examples
    --------
    >>> engine_names()
    ('numba', 'numpy')
    """
    return tuple(_ENGINES)


def get_engine(engine: Any) -> Engine:
    """Return an engine, given its name; an engine is returned as it is.

    Examples
    --------
    >>> get_engine("numpy").name
    'numpy'
    >>> get_engine("abacus")
    Traceback (most recent call last):
    ...
    ValueError: Unknown engine 'abacus'; known: 'numba', 'numpy', or an instance of Engine.
    """
    if isinstance(engine, Engine):
        return engine
    if not isinstance(engine, str) or engine not in _ENGINES:
        known = ", ".join(map(repr, _ENGINES))
        raise ValueError(f"Unknown engine {engine!r}; known: {known}, or an instance of Engine.")
    module, _, name = _ENGINES[engine].partition(":")
    cls: type[Engine] = getattr(import_module(module, __package__), name)
    return cls()
