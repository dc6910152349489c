"""Engines: they do all heavy work on rows and edges. See `protocol` for the functions of an engine."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from .protocol import SEARCHES, Engine
from .results import SearchReport, Sums

__all__ = ["SEARCHES", "Engine", "SearchReport", "Sums", "engine_names", "get_engine", "register_engine"]

# Imported only when they are asked for: a fit with one engine does not wait for the others.
_ENGINES: dict[str, str | Callable[[], Engine]] = {
    "numba": ".numba:NumbaEngine",
    "numpy": ".numpy:NumpyEngine",
}


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
    known_as = _ENGINES[engine]
    if not isinstance(known_as, str):
        return known_as()
    module, _, name = known_as.partition(":")
    cls: type[Engine] = getattr(import_module(module, __package__), name)
    return cls()


def register_engine(name: str, make: Callable[[], Engine]) -> None:
    """Let models know an engine of your own by name: ``engine="name"``, also in models that were saved.

    Parameters
    ----------
    name : str
        The `name` of the engine, which no engine of this package has.
    make : callable
        Takes nothing, returns the engine: its class, for example.

    Examples
    --------
    >>> from consilience.engines.numpy import NumpyEngine
    >>> class Abacus(NumpyEngine):
    ...     name = "abacus"
    >>> register_engine("abacus", Abacus)
    >>> get_engine("abacus").name
    'abacus'
    >>> del _ENGINES["abacus"]
    """
    if isinstance(_ENGINES.get(name), str):
        raise ValueError(f"There is an engine {name!r} in this package; choose another name.")
    if not name.isidentifier() or not callable(make):
        raise ValueError(
            f"An engine has a name, such as 'mine', and something to make it, got {name!r}, {make!r}."
        )
    _ENGINES[name] = make
