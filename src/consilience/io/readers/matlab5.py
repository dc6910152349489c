"""MATLAB files of versions 5 to 7, checked at every step.

SciPy's reader is faster to call, but it trusts the file: one changed byte in the type of an element, or in
the size of a cell array, can end the whole process. Here such a byte is an error like any other. A test
checks that the two readers give the same for good files.

A file is a header of 128 bytes and a row of elements, each with a tag (type, number of bytes) and padded to
8 bytes. An element of type `_MATRIX` is a row of elements again: flags, dimensions, name, then the content.
"""

from __future__ import annotations

import math
import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .errors import FileError, check_size, reason
from .formats import Source
from .variables import Refused, Variables

_MATRIX, _COMPRESSED = 14, 15
_NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_ENCODINGS = {1: "latin-1", 2: "latin-1", 4: "utf-16", 16: "utf-8", 17: "utf-16", 18: "utf-32"}
_CELL, _STRUCT, _OBJECT, _CHAR, _SPARSE, _FUNCTION, _OPAQUE = 1, 2, 3, 4, 5, 16, 17
_NUMERIC = range(6, 16)
_COMPLEX = 0x08
_DEEPEST = 32  # cells within cells
_OBJECTS = "an object of a MATLAB class (a table, a string array or similar)"


class _Damage(Exception):
    """What is wrong inside an element."""


def load_mat5(source: Source) -> Variables:
    """Return the variables of a MATLAB file of version 5, 6 or 7."""
    order = "<" if source.head[126:128] == b"IM" else ">"
    end, place, taken = source.path.stat().st_size, 128, 0
    variables: Variables = {}
    with open(source.path, "rb") as stream:
        while place < end:
            stream.seek(place)
            tag = stream.read(8)
            kind, size = struct.unpack(f"{order}II", tag) if len(tag) == 8 else (0, 8)
            place += 8 + size
            if place > end:
                raise FileError(
                    f"{source.file}: it is cut short: {place} bytes announced, {end} there; get it again"
                )
            try:
                content = stream.read(size)
                if kind == _COMPRESSED:
                    kind, content = _unpacked(content, order, source, taken)
                    taken += len(content)
                if kind != _MATRIX:
                    raise _Damage(f"an element of type {kind} stands where a variable is expected")
                name, value = _matrix(_Elements(memoryview(content), order), 0)
            except (_Damage, zlib.error) as error:
                raise FileError(
                    f"{source.file}: it is a damaged MATLAB file ({reason(error)}); get it again"
                ) from None
            if name:  # elements without a name are for MATLAB itself
                variables[name] = value
    return variables


def _unpacked(packed: bytes, order: str, source: Source, taken: int) -> tuple[int, bytes]:
    """Unpack an element to the size that it announces, if that is allowed, and not a byte more."""
    stream = zlib.decompressobj()
    tag = stream.decompress(packed, 8)
    if len(tag) < 8:
        raise _Damage("a packed variable is cut short")
    kind, size = struct.unpack(f"{order}II", tag)
    check_size(taken + size, source.max_bytes, source.file, "unpacks to")
    content = stream.decompress(stream.unconsumed_tail, size) if size else b""
    more = stream.decompress(stream.unconsumed_tail, 1)  # reaches the checksum
    if len(content) < size or more or not stream.eof:
        raise _Damage("a packed variable does not have the size that it announces")
    return kind, content


class _Elements:
    """The elements in a piece of a file, one after the other."""

    def __init__(self, data: memoryview, order: str) -> None:
        self.data, self.order, self.place = data, order, 0

    def more(self) -> bool:
        return self.place < len(self.data)

    def next(self) -> tuple[int, memoryview]:
        """Return type and content of the next element."""
        start = self.place + 8
        if start > len(self.data):
            raise _Damage("a variable is cut short")
        kind, size = struct.unpack(f"{self.order}II", self.data[self.place : start])
        if kind >> 16:  # a small element: its size, type and content share the 8 bytes
            kind, size, start = kind & 0xFFFF, kind >> 16, start - 4
            end = start + 4
        else:
            end = start + size + -size % 8
        if size > (4 if end == start + 4 else len(self.data) - start):
            raise _Damage("a part of a variable is larger than the variable")
        self.place = min(end, len(self.data))
        return kind, self.data[start : start + size]

    def numbers(self) -> NDArray[Any]:
        """Return the next element as numbers of the type it is stored in."""
        kind, content = self.next()
        if kind not in _NUMBERS:
            raise _Damage(f"an element of type {kind} stands where numbers are expected")
        dtype = np.dtype(self.order + _NUMBERS[kind])
        if len(content) % dtype.itemsize:
            raise _Damage("an element ends within a number")
        values = np.frombuffer(content, dtype=dtype)
        return values.astype(dtype.newbyteorder("="), copy=False)

    def text(self) -> str:
        """Return the next element as text."""
        kind, content = self.next()
        if kind not in _ENCODINGS:
            raise _Damage(f"an element of type {kind} stands where text is expected")
        encoding = _ENCODINGS[kind]
        if encoding in ("utf-16", "utf-32"):
            encoding += "-le" if self.order == "<" else "-be"
        return bytes(content).decode(encoding, "replace")

    def inner(self) -> _Elements:
        """Return the elements of the matrix that comes next."""
        kind, content = self.next()
        if kind != _MATRIX:
            raise _Damage(f"an element of type {kind} stands where a matrix is expected")
        return _Elements(content, self.order)


def _matrix(elements: _Elements, depth: int) -> tuple[str, Any]:
    """Return name and value of a matrix, in MATLAB's sense of the word."""
    if depth > _DEEPEST:
        raise _Damage("cells are nested too deeply")
    if not elements.more():
        return "", np.empty((0, 0))
    flags = elements.numbers()
    if flags.size != 2:
        raise _Damage("a variable has no flags")
    kind, flag = int(flags[0]) & 0xFF, int(flags[0]) >> 8 & 0xFF
    if kind == _OPAQUE:
        return elements.text(), Refused(_OBJECTS)
    shape = tuple(map(int, elements.numbers()))
    if len(shape) < 2 or min(shape) < 0:
        raise _Damage(f"a variable has the dimensions {shape}")
    name = elements.text()
    if kind in _NUMERIC:
        return name, _array(elements, shape, bool(flag & _COMPLEX))
    if kind == _SPARSE:
        return name, _sparse(elements, shape, bool(flag & _COMPLEX))
    if kind == _CHAR:
        return name, _texts(elements, shape)
    if kind == _CELL:
        return name, _cells(elements, math.prod(shape), depth)
    if kind == _STRUCT:
        return name, _structs(elements, math.prod(shape), depth)
    if kind in (_OBJECT, _FUNCTION):
        return name, Refused("a function handle" if kind == _FUNCTION else _OBJECTS)
    raise _Damage(f"variable {name} is of the unknown class {kind}")


def _array(elements: _Elements, shape: tuple[int, ...], is_complex: bool) -> NDArray[Any]:
    values: NDArray[Any] = elements.numbers()
    if is_complex:
        imaginary = elements.numbers()
        if imaginary.size != values.size:
            raise _Damage("real and imaginary parts differ in size")
        values = values + 1j * imaginary
    if values.size != math.prod(shape):
        raise _Damage(f"{values.size} numbers cannot fill an array of shape {shape}")
    return values.reshape(shape, order="F")


def _sparse(elements: _Elements, shape: tuple[int, ...], is_complex: bool) -> Any:
    rows, starts, values = elements.numbers(), elements.numbers(), elements.numbers()
    if is_complex:
        values = values + 1j * elements.numbers()
    n_entries = int(starts[-1]) if starts.size else 0
    if not 0 <= n_entries <= min(rows.size, values.size):  # there may be room for more entries than there are
        raise _Damage("a sparse matrix has fewer entries than it announces")
    try:
        matrix = sparse.csc_array((values[:n_entries], rows[:n_entries], starts), shape=shape)
        matrix.check_format(full_check=True)
    except (ValueError, TypeError, IndexError) as error:
        raise _Damage(f"a sparse matrix does not fit together: {reason(error)}") from None
    return matrix


def _texts(elements: _Elements, shape: tuple[int, ...]) -> Any:
    """Return one line of text as str, several as a list."""
    text = elements.text() if elements.more() else ""
    if shape[0] <= 1:
        return text.rstrip()
    if len(text) != math.prod(shape):
        raise _Damage(f"{len(text)} characters cannot fill an array of shape {shape}")
    return [text[i :: shape[0]].rstrip() for i in range(shape[0])]


def _cells(elements: _Elements, n_cells: int, depth: int) -> list[Any]:
    if 8 * n_cells > len(elements.data):
        raise _Damage(f"there is no room for {n_cells} cells")
    return [_matrix(elements.inner(), depth + 1)[1] for _ in range(n_cells)]


def _structs(elements: _Elements, n_structs: int, depth: int) -> Any:
    """Return one struct as a dict, several as a list."""
    length, joined = elements.numbers(), elements.text()
    width = int(length[0]) if length.size else 0
    if width <= 0:
        raise _Damage("a struct has no names of fields")
    names = [joined[i : i + width].partition("\0")[0] for i in range(0, len(joined), width)]
    if not names or 8 * n_structs * len(names) > len(elements.data):
        if names:
            raise _Damage(f"there is no room for {n_structs} structs")
        return {}
    structs = [{name: _matrix(elements.inner(), depth + 1)[1] for name in names} for _ in range(n_structs)]
    return structs[0] if n_structs == 1 else structs
