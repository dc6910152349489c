"""From values to JSON: numbers, text and lists as they are, anything else as an object with a type."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from ..stored import AS_ARRAY, REGISTRY
from .arrays import ArrayWriter, is_transposed, stored_dtype
from .texts import as_text

Node = Any  # what `json` writes
DEEPEST = 40  # levels of lists in lists and the like
SAFE_INTEGER = 2**53  # up to this size every language reads a JSON number as the integer that it is
MOST_BITS = 4096  # of an integer


class Encoder:
    """Turns values into what `json` writes; arrays go to an archive.

    Parameters
    ----------
    arrays : ArrayWriter
        The writer of arrays.
    """

    def __init__(self, arrays: ArrayWriter) -> None:
        self._arrays = arrays
        self._by_type: dict[type, Callable[[Any, str, int], Node]] = {
            type(None): lambda value, path, depth: value,
            bool: lambda value, path, depth: value,
            str: lambda value, path, depth: value,
            int: lambda value, path, depth: _integer(value, path),
            float: lambda value, path, depth: _float(value),
            list: self._items,
            tuple: lambda value, path, depth: {"type": "tuple", "items": self._items(value, path, depth)},
            dict: lambda value, path, depth: {"type": "dict", "items": self._mapping(value, path, depth)},
            np.ndarray: self._array,
            np.memmap: lambda value, path, depth: self._array(np.asarray(value), path, depth),
            sparse.csr_array: self._csr,
            sparse.csr_matrix: self._csr,
        }

    def encode(self, value: Any, path: str, depth: int = 0) -> Node:
        """Return a value as JSON; the path is its name in messages and in the archive."""
        if depth > DEEPEST:
            raise ValueError(f"{path} cannot be saved: it holds itself, or lists in lists without end.")
        if type(value) in AS_ARRAY:
            value = AS_ARRAY[type(value)](value)
        known = self._by_type.get(type(value))
        if known is not None:
            return known(value, path, depth + 1)
        if isinstance(value, np.dtype) and stored_dtype(value) is not None:
            return {"type": "dtype", "value": value.newbyteorder("<").str}
        if isinstance(value, np.generic):
            return _scalar(value, path)
        known_class = REGISTRY.get(type(value).__name__)
        if known_class is not None and known_class.cls is type(value):
            return self._object(value, path, depth + 1)
        text = as_text(value)
        if text is not None:
            return {"type": text[0], "value": text[1]}
        raise ValueError(_refusal(value, path))

    def _items(self, values: Any, path: str, depth: int) -> Node:
        return [self.encode(value, f"{path}.{i}", depth) for i, value in enumerate(values)]

    def _mapping(self, values: dict[Any, Any], path: str, depth: int) -> Node:
        for key in values:
            if type(key) is not str:
                raise ValueError(f"{path} cannot be saved: its key {key!r} is not text.")
        return {key: self.encode(value, f"{path}.{key}", depth) for key, value in values.items()}

    def _array(self, array: Any, path: str, depth: int) -> Node:
        if array.dtype == object:
            items = self._items(array.ravel(), path, depth)
            return {"type": "objects", "shape": list(array.shape), "items": items}
        if stored_dtype(array.dtype) is None:
            raise ValueError(f"{path} cannot be saved: it is an array of {array.dtype}.")
        node = {"type": "array", "member": self._arrays.add(array, path)}
        return {**node, "transposed": True} if is_transposed(array) else node

    def _csr(self, matrix: Any, path: str, depth: int) -> Node:
        parts = {part: getattr(matrix, part) for part in ("data", "indices", "indptr")}
        return {
            "type": type(matrix).__name__,
            "shape": list(matrix.shape),
            **{name: self._array(part, f"{path}.{name}", depth) for name, part in parts.items()},
        }

    def _object(self, value: Any, path: str, depth: int) -> Node:
        name = type(value).__name__
        try:
            state = REGISTRY[name].state_of(value)
        except ValueError as error:
            raise ValueError(f"{path} cannot be saved: {error}.") from None
        return {"type": "object", "class": name, "state": self._mapping(state, path, depth)}


def _integer(value: int, path: str) -> Node:
    if abs(value) <= SAFE_INTEGER:
        return value
    if value.bit_length() > MOST_BITS:
        raise ValueError(f"{path} cannot be saved: it is an integer of {value.bit_length()} bits.")
    return {"type": "int", "value": str(value)}


def _float(value: float) -> Node:
    return value if math.isfinite(value) else {"type": "float", "value": repr(value)}


def _scalar(value: Any, path: str) -> Node:
    """Return a NumPy scalar: points in time as the integers that they are, the others as numbers or text."""
    if stored_dtype(value.dtype) is None and value.dtype.kind != "U":  # the empty text has no stored type
        raise ValueError(f"{path} cannot be saved: it is a number of type {value.dtype}.")
    if value.dtype.kind in "mM":
        return {"type": "scalar", "dtype": value.dtype.name, "value": _integer(int(value.view("i8")), path)}
    if value.dtype.kind == "S":
        return {"type": "scalar", "dtype": "bytes", "value": bytes(value).hex()}
    plain = value.item()
    name = "str" if isinstance(plain, str) else value.dtype.name
    node = _float(plain) if isinstance(plain, float) else plain
    return {"type": "scalar", "dtype": name, "value": _integer(plain, path) if type(plain) is int else node}


def _refusal(value: Any, path: str) -> str:
    kind = type(value).__name__
    if callable(value) and not isinstance(value, type(np)):
        return (
            f"{path} cannot be saved: it is a function or similar ({kind}), and a model file holds nothing "
            "that could be run. Fit with a named one, or pickle the model."
        )
    if sparse.issparse(value):
        return f"{path} cannot be saved: it is a {kind}; of sparse matrices CSR is stored."
    return (
        f"{path} cannot be saved: it is a {type(value).__module__}.{kind}. Lists, tuples, dicts, arrays, "
        "numbers and text can, and classes decorated with consilience.io.stored.stored."
    )
