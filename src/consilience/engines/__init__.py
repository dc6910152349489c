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
    "torch": ".torch:TorchEngine",
}
_MADE: dict[str, Engine] = {}


def engine_names() -> tuple[str, ...]:
    """Return the names that `get_engine` knows.

    Examples
    --------
    >>> engine_names()
    ('numba', 'numpy', 'torch')
    """
    return tuple(_ENGINES)


def get_engine(engine: Any) -> Engine:
    """Return an engine, given its name; an engine is returned as it is.

    There is one engine of each name in a process: handles that it has made stay its own.

    Examples
    --------
    >>> get_engine("numpy").name
    'numpy'
    >>> get_engine("abacus")
    Traceback (most recent call last):
    ...
    ValueError: Unknown engine 'abacus'; known: 'numba', 'numpy', 'torch', or an instance of Engine...
    """
    if isinstance(engine, Engine):
        _check_name(engine, getattr(engine, "name", None))
        return engine
    if not isinstance(engine, str) or engine not in _ENGINES:
        known = ", ".join(map(repr, _ENGINES))
        raise ValueError(
            f"Unknown engine {engine!r}; known: {known}, or an instance of Engine. One of your own has a "
            "name after consilience.engines.register_engine."
        )
    if engine not in _MADE:
        _MADE[engine] = _made(engine)
    return _MADE[engine]


def _made(name: str) -> Engine:
    make = _ENGINES[name]
    if isinstance(make, str):
        module, _, attribute = make.partition(":")
        make = getattr(import_module(module, __package__), attribute)
    assert callable(make)
    made = make()
    _check_name(made, name)
    return made


def _check_name(engine: Any, name: Any) -> None:
    """Raise a ValueError if this is no engine, or has another name: models and checkpoints know it by it."""
    if not isinstance(engine, Engine):
        raise ValueError(f"The engine {name!r} must be an instance of Engine, got {engine!r}.")
    if not isinstance(name, str) or getattr(engine, "name", None) != name:
        raise ValueError(
            f"{type(engine).__name__} needs a class attribute `name`, by which it is registered."
        )


def register_engine(name: str, make: Callable[[], Engine]) -> None:
    """Let models know an engine of your own by name: ``engine="name"``, also in models that were saved.

    Parameters
    ----------
    name : str
        The `name` of the engine, which no engine of this package has.
    make : callable
        Takes nothing, returns the engine: its class, for example. It is called once, when the engine is first
        used. An engine that was registered by this name before is replaced.

    Examples
    --------
    >>> from consilience.engines.numpy import NumpyEngine
    >>> class Abacus(NumpyEngine):
    ...     name = "abacus"
    >>> register_engine("abacus", Abacus)
    >>> get_engine("abacus").name
    'abacus'
    >>> del _ENGINES["abacus"], _MADE["abacus"]
    """
    if isinstance(_ENGINES.get(name), str):
        raise ValueError(f"There is an engine {name!r} in this package; choose another name.")
    if not name.isidentifier() or not callable(make):
        raise ValueError(
            f"An engine has a name, such as 'mine', and something to make it, got {name!r}, {make!r}."
        )
    _ENGINES[name] = make
    _MADE.pop(name, None)
