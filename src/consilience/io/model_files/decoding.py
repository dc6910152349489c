"""From JSON back to values. A file holds only data: no name in it is imported, nothing in it is called."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..stored import REGISTRY, check_compressed_rows, require
from .arrays import DTYPE
from .encoding import DEEPEST, Node
from .errors import ModelFileError
from .texts import READERS

_NUMBERS: Mapping[str, tuple[Callable[[Any], Any], type]] = {
    "bool": (np.bool_, bool),
    "str": (np.str_, str),
    "bytes": (lambda text: np.bytes_(bytes.fromhex(text)), str),
    **{kind.__name__: (kind, float) for kind in (np.float16, np.float32, np.float64)},
    **{kind.__name__: (kind, int) for kind in (np.int8, np.int16, np.int32, np.int64)},
    **{kind.__name__: (kind, int) for kind in (np.uint8, np.uint16, np.uint32, np.uint64)},
}
_TIMES = {"datetime64": np.datetime64, "timedelta64": np.timedelta64}
_TIME = re.compile(r"(datetime64|timedelta64)\[((?:[1-9]\d{0,8})?)(Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as)\]")
_CSR = {"csr_array": sparse.csr_array, "csr_matrix": sparse.csr_matrix}
_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_LONGEST = 1300  # digits of an integer: enough for those that are written


class Decoder:
    """Turns what `json` read back into values.

    Parameters
    ----------
    array : callable
        Returns the array that a member of the file holds.
    """

    def __init__(self, array: Callable[[str], NDArray[Any]]) -> None:
        self._read_array = array
        # Per type of an object: the keys that it has in addition to "type", and the function that reads it.
        self._by_type: dict[str, tuple[set[str], Callable[[dict[str, Any], str, int], Any]]] = {
            "int": ({"value"}, lambda node, path, depth: _integer(node["value"])),
            "float": ({"value"}, lambda node, path, depth: _FLOATS[node["value"]]),
            "tuple": ({"items"}, lambda node, path, depth: tuple(self._items(node["items"], path, depth))),
            "dict": ({"items"}, lambda node, path, depth: self.mapping(node["items"], path, depth)),
            "scalar": ({"dtype", "value"}, lambda node, path, depth: _scalar(node)),
            "dtype": ({"value"}, lambda node, path, depth: _dtype(node["value"])),
            "array": ({"member"}, self._array),
            "objects": ({"shape", "items"}, self._objects),
            "csr_array": ({"shape", "data", "indices", "indptr"}, self._csr),
            "csr_matrix": ({"shape", "data", "indices", "indptr"}, self._csr),
            "object": ({"class", "state"}, self._object),
            **{name: ({"value"}, _text) for name in READERS},
        }

    def decode(self, node: Node, path: str, depth: int = 0) -> Any:
        """Return the value that a piece of JSON stands for."""
        if depth > DEEPEST:
            raise ModelFileError(f"{path} is nested too deeply")
        if node is None or isinstance(node, (bool, int, float, str)):
            return node
        if isinstance(node, list):
            return self._items(node, path, depth + 1)
        kind = node.get("type")
        if not isinstance(kind, str) or kind not in self._by_type:
            raise ModelFileError(f"{path} is of a type that this version does not know ({kind!r})")
        keys, read = self._by_type[kind]
        if set(node) - {"type", "transposed"} != keys or ("transposed" in node and kind != "array"):
            raise ModelFileError(f"{path} is no {kind}: it has other parts")
        try:
            return read(node, path, depth + 1)
        except ModelFileError:
            raise
        except Exception as error:  # any error that a constructor raises for values that do not suit it
            reason = (str(error).splitlines() or [""])[0].rstrip(".")
            raise ModelFileError(f"{path} is no {node.get('class', kind)}: {reason}") from error

    def mapping(self, nodes: Any, path: str, depth: int = 0) -> dict[str, Any]:
        """Return a dict of values."""
        require(isinstance(nodes, dict), "not a JSON object")
        return {key: self.decode(node, f"{path}.{key}", depth) for key, node in nodes.items()}

    def _items(self, nodes: Any, path: str, depth: int) -> list[Any]:
        require(isinstance(nodes, list), "not a JSON array")
        return [self.decode(node, f"{path}.{i}", depth) for i, node in enumerate(nodes)]

    def _array(self, node: dict[str, Any], path: str, depth: int) -> NDArray[Any]:
        require(isinstance(node["member"], str), "its member has no name")
        array = self._read_array(node["member"])
        require(node.get("transposed", True) is True, "`transposed` can only be true")
        return array.T if "transposed" in node else array

    def _objects(self, node: dict[str, Any], path: str, depth: int) -> NDArray[Any]:
        items, shape = self._items(node["items"], path, depth), _shape(node["shape"])
        require(math.prod(shape) == len(items), "its shape and its items differ")
        array = np.empty(len(items), dtype=object)
        for i, item in enumerate(items):  # one by one: NumPy would turn tuples into rows
            array[i] = item
        return array.reshape(shape)

    def _csr(self, node: dict[str, Any], path: str, depth: int) -> Any:
        shape = _shape(node["shape"])
        parts = [self.decode(node[name], f"{path}.{name}", depth) for name in ("data", "indices", "indptr")]
        data, indices, indptr = parts
        require(len(shape) == 2, "its shape is not that of a matrix")
        check_compressed_rows(indptr, indices, *shape)
        require(data.shape == indices.shape, "it has not one value for each index")
        matrix = _CSR[node["type"]]((data, indices, indptr), shape=shape)
        matrix.indices, matrix.indptr = indices, indptr  # SciPy may have chosen another type of integer
        return matrix

    def _object(self, node: dict[str, Any], path: str, depth: int) -> Any:
        name = node["class"]
        if not isinstance(name, str) or name not in REGISTRY:
            raise ModelFileError(
                f"{path} is an object of the class {name!r}, which is not known here; import the module "
                "that defines it, or use a newer version of consilience"
            )
        return REGISTRY[name].build(self.mapping(node["state"], path, depth))


def _text(node: dict[str, Any], path: str, depth: int) -> Any:
    return READERS[node["type"]](node["value"])


def _integer(text: Any) -> int:
    require(isinstance(text, str) and re.fullmatch(r"-?\d+", text) and len(text) <= _LONGEST, "no integer")
    return int(text)


def _scalar(node: dict[str, Any]) -> Any:
    name, value = node["dtype"], node["value"]
    if isinstance(value, dict):
        value = _integer(value["value"]) if value.get("type") == "int" else _FLOATS[value["value"]]
    time = _TIME.fullmatch(name)
    if time is not None:
        kind, step, unit = time.groups()
        return _TIMES[kind](value, (unit, int(step or 1)))
    kind, expected = _NUMBERS[name]
    require(type(value) is expected, "its value is of another type")
    if expected is int:  # older versions of NumPy would wrap around
        require(np.iinfo(name).min <= value <= np.iinfo(name).max, "its value is out of range")
    return kind(value)


def _dtype(text: Any) -> np.dtype[Any]:
    require(isinstance(text, str) and DTYPE.fullmatch(text), "it is no type of an array")
    return np.dtype(text).newbyteorder("=")


def _shape(sizes: Any) -> tuple[int, ...]:
    require(isinstance(sizes, list) and all(type(n) is int and n >= 0 for n in sizes), "it has no shape")
    return tuple(sizes)
