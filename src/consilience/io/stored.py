"""Which of our classes a model file or a checkpoint may hold. Each class says so where it is defined.

A dataclass is stored as its fields and built from them. Any other class names its attributes, or gives a pair
of functions. A file may hold anything, and compiled code does not check whether an index is within bounds: so
a class may give a check, which runs on every object that was read.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.random import MT19937, RandomState

State = dict[str, Any]
Class = TypeVar("Class", bound=type)


@dataclass(frozen=True)
class Stored:
    """How objects of a class are stored.

    Parameters
    ----------
    cls : type
        The class itself, not a subclass of it.
    attributes : tuple of str
        The attributes of an object to store.
    to_state, from_state : callable, default=None
        Functions from an object to a dict of values and back, for classes that need more than that.
    check : callable, default=None
        Raises a ValueError about an object that could not have been stored.
    """

    cls: type
    attributes: tuple[str, ...] = ()
    to_state: Callable[[Any], State] | None = None
    from_state: Callable[[State], Any] | None = None
    check: Callable[[Any], None] | None = None

    def state_of(self, value: Any) -> State:
        """Return what is to be stored of an object."""
        if self.to_state is not None:
            return self.to_state(value)
        if not dataclasses.is_dataclass(self.cls):
            kept = {name for name in vars(value) if not self._can_be_made_again(name)}
            if odd := kept ^ set(self.attributes):
                raise ValueError(
                    f"a {self.cls.__name__} has other attributes than are stored ({', '.join(sorted(odd))})"
                )
        return {name: getattr(value, name) for name in self.attributes}

    def _can_be_made_again(self, name: str) -> bool:
        return isinstance(getattr(self.cls, name, None), cached_property)

    def build(self, state: State) -> Any:
        """Return the object of a state, or raise a ValueError."""
        try:
            value = self._built(state)
            if self.check is not None:
                self.check(value)
        except (TypeError, KeyError, AttributeError, IndexError) as error:
            raise ValueError(f"it does not hold what a {self.cls.__name__} is made of") from error
        return value

    def _built(self, state: State) -> Any:
        if self.from_state is not None:
            return self.from_state(state)
        if set(state) != set(self.attributes):
            raise KeyError(*sorted(set(state) ^ set(self.attributes)))
        if dataclasses.is_dataclass(self.cls):
            return self.cls(**state)
        value: Any = object.__new__(self.cls)
        value.__dict__.update(state)
        return value


REGISTRY: dict[str, Stored] = {}
"""Every class whose objects may be in a file, by the name that it has there."""


def stored(
    *,
    attributes: tuple[str, ...] = (),
    omit: tuple[str, ...] = (),
    check: Callable[[Any], None] | None = None,
) -> Callable[[Class], Class]:
    """Let a class be stored in model files and checkpoints, under its own name.

    Parameters
    ----------
    attributes : tuple of str, default=()
        Of a class that is no dataclass: all that is in the ``__dict__`` of its objects.
    omit : tuple of str, default=()
        Fields of a dataclass that are not stored; they must have defaults.
    check : callable, default=None
        Raises a ValueError about an object whose parts do not fit together.

    Examples
    --------
    >>> @stored(omit=("note",))
    ... @dataclass(frozen=True)
    ... class Point:
    ...     x: float
    ...     note: str = ""
    >>> REGISTRY["Point"].build(REGISTRY["Point"].state_of(Point(2.0, "seen")))
    Point(x=2.0, note='')
    >>> del REGISTRY["Point"]
    """

    def register(cls: Class) -> Class:
        names = attributes
        if dataclasses.is_dataclass(cls):
            fields = (field.name for field in dataclasses.fields(cls) if field.init)
            names = tuple(name for name in fields if name not in omit)
        other = REGISTRY.get(cls.__name__)
        if other is not None and other.cls.__module__ != cls.__module__:  # a module may be loaded again
            raise ValueError(
                f"There is a stored class {cls.__name__!r} in {other.cls.__module__}; choose another name."
            )
        REGISTRY[cls.__name__] = Stored(cls, names, check=check)
        return cls

    return register


AS_ARRAY: dict[type, Callable[[Any], Any]] = {}
"""Classes whose objects are stored as an array of NumPy, and the functions that return it."""


def stored_as_array(cls: type, array_of: Callable[[Any], Any]) -> None:
    """Let objects of a class be stored as arrays: they are arrays in other places."""
    AS_ARRAY[cls] = array_of


def require(condition: Any, message: str) -> None:
    """Raise a ValueError with this message unless the condition holds."""
    if not condition:
        raise ValueError(message)


def check_compressed_rows(indptr: Any, indices: Any, n_rows: int, n_columns: int) -> None:
    """Raise a ValueError unless these are the compressed rows of a matrix of this shape.

    Compiled code uses any index without a check, so this runs once where such arrays are read.
    """
    for part in (indptr, indices):
        require(isinstance(part, np.ndarray) and part.ndim == 1 and part.dtype.kind == "i", "no rows")
    require(len(indptr) == n_rows + 1 and indptr[0] == 0, "its rows do not begin where they should")
    require(indptr[-1] == len(indices) and bool((np.diff(indptr) >= 0).all()), "its rows do not add up")
    within = not indices.size or bool(indices.min() >= 0 and indices.max() < n_columns)
    require(within, "it has an index out of range")


def _random_state_to_state(value: RandomState) -> State:
    state = value.get_state(legacy=False)
    if not isinstance(state, dict) or state["bit_generator"] != "MT19937":
        raise ValueError("of random generators only np.random.RandomState(seed) can be stored")
    return {
        "key": np.asarray(state["state"]["key"]),
        "pos": int(state["state"]["pos"]),
        "has_gauss": int(state["has_gauss"]),
        "gauss": float(state["gauss"]),
    }


def _random_state_from_state(state: State) -> RandomState:
    key, pos = state["key"], state["pos"]
    if key.shape != (624,) or key.dtype != np.uint32 or not 0 <= pos <= 624:
        raise ValueError("it is no state of a random generator")
    value = RandomState(MT19937())
    value.set_state(("MT19937", key, pos, state["has_gauss"], state["gauss"]))
    return value


REGISTRY["RandomState"] = Stored(
    RandomState, to_state=_random_state_to_state, from_state=_random_state_from_state
)
