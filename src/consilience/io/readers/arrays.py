"""NumPy's .npy and .npz files, and SciPy's sparse .npz: sizes are checked before memory is taken."""

from __future__ import annotations

import math
import os
import zipfile
import zlib
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...words import memory_size, value_text
from .contents import Content, Matrix, checked_matrix
from .errors import FileError, check_size, reason
from .formats import Source
from .layouts import find_content
from .variables import Variables

MAPPED = 2**28  # bytes from which a .npy file is mapped into memory instead of read
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError, RuntimeError)


def read_npy(source: Source) -> Content:
    """Read a .npy file as one view."""
    values = checked_matrix(load_npy(source), source.file, source.max_bytes)
    return Content(source.file, (Matrix(source.stem, values),))


def load_npy(source: Source) -> NDArray[Any]:
    """Return the array of a .npy file, mapped into memory if it is large.

    An array that need not be converted takes no memory then, so any size is allowed that the file really has.
    """
    with open(source.path, "rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        n_bytes = _check_header(stream, source.file, source.max_bytes, mapped=size)
        available = size - stream.tell()
        if available < n_bytes:
            raise _cut_short(source.file, n_bytes, available)
    values: NDArray[Any] = np.load(
        source.path, mmap_mode="r" if n_bytes >= MAPPED else None, allow_pickle=False
    )
    return values


def read_npz(source: Source, id_column: str | None) -> Content:
    """Read a .npz file: named arrays, or one sparse matrix as SciPy saves it."""
    arrays = load_npz(source)
    if {"format", "shape", "data"} <= set(arrays):
        try:
            matrix = sparse.load_npz(source.path)
        except Exception as error:  # any error that SciPy raises for parts that do not fit together
            raise FileError(
                f"{source.file}: it is a damaged sparse matrix ({reason(error)}); save it again"
            ) from None
        values = checked_matrix(matrix, source.file, source.max_bytes)
        return Content(source.file, (Matrix(source.stem, values),))
    return find_content(arrays, source, id_column)


def load_npz(source: Source) -> Variables:
    """Return the arrays of a .npz file by name."""
    try:
        with zipfile.ZipFile(source.path) as archive:
            members = [info for info in archive.infolist() if not info.is_dir()]
            strange = [info.filename for info in members if not info.filename.endswith(".npy")]
            if strange:
                raise FileError(
                    f"{source.file}: it holds {value_text(strange[0])}, which is no NumPy array; "
                    "save the arrays with numpy.savez"
                )
            total = sum(info.file_size for info in members)
            check_size(total, source.max_bytes, source.file, "unpacks to")
            if not members:
                raise FileError(f"{source.file}: the archive holds no array; save the views again")
            return {info.filename.removesuffix(".npy"): _member(archive, info, source) for info in members}
    except FileError:
        raise
    except _DAMAGE as error:
        raise FileError(
            f"{source.file}: it is damaged or cut short ({reason(error)}); get it again"
        ) from None


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, source: Source) -> NDArray[Any]:
    place = f"{source.file}, array {value_text(info.filename.removesuffix('.npy'))}"
    with archive.open(info) as stream:
        n_bytes = _check_header(stream, place, source.max_bytes)
        available = info.file_size - stream.tell()
        if available < n_bytes:
            raise _cut_short(place, n_bytes, available)
    with archive.open(info) as stream:
        try:
            return np.lib.format.read_array(stream, allow_pickle=False)
        except _DAMAGE as error:
            raise FileError(f"{place}: it is damaged ({reason(error)}); save it again") from None


def _check_header(stream: IO[bytes], place: str, max_bytes: int, mapped: int = 0) -> int:
    """Read the header of an array, refuse what is not plain numbers or text, and return its size in bytes.

    An array that can be mapped as it is may be as large as `mapped`.
    """
    try:
        version = np.lib.format.read_magic(stream)
        if version == (1, 0):
            shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
        elif version == (2, 0):
            shape, fortran, dtype = np.lib.format.read_array_header_2_0(stream)
        else:
            raise ValueError(f"version {version[0]}.{version[1]} of the format is for structured arrays")
    except Exception as error:  # the header is text from an unknown source, parsed as a literal
        raise FileError(f"{place}: its header cannot be read ({reason(error)}); save it again") from None
    if dtype.hasobject:
        raise FileError(
            f"{place}: it holds Python objects, that is a pickle, which is never opened because it can run "
            "programs; save one numeric array per view"
        )
    if dtype.names is not None:
        raise FileError(f"{place}: it is a structured array; save one numeric 2-D array per view")
    n_bytes = math.prod(shape) * dtype.itemsize
    as_it_is = dtype in (np.float32, np.float64) and not fortran
    check_size(n_bytes, max(max_bytes, mapped) if as_it_is else max_bytes, place)
    return n_bytes


def _cut_short(place: str, needed: int, available: int) -> FileError:
    return FileError(
        f"{place}: it is cut short: {memory_size(needed)} of numbers announced, {memory_size(available)} "
        "there; get the file again"
    )
