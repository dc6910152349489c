"""Arrays as members of a ZIP archive, in NumPy's format, written and read a piece at a time."""

from __future__ import annotations

import hashlib
import io
import math
import re
import warnings
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from .errors import ModelFileError

FOLDER = "arrays/"
CHUNK = 1 << 22  # bytes that are hashed and written, or read, at a time
_LONGEST_HEADER = 4096
# Numbers, truth values, text and points in time; nothing whose size depends on the machine, and no objects.
DTYPE = re.compile(
    r"\|b1|\|[iu]1|<[iu][248]|<f[248]|<U[1-9]\d{0,8}|\|S[1-9]\d{0,8}"
    r"|<[mM]8(\[([1-9]\d{0,8})?(Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as)\])?"
)


@dataclass(frozen=True)
class ArrayEntry:
    """What the manifest says about an array.

    Attributes
    ----------
    shape : tuple of int
        Its shape.
    dtype : str
        Its type as NumPy writes it, such as ``"<f8"``.
    size : int
        Size of the member in bytes, header included.
    sha256 : str
        Digest of the member's bytes.
    """

    shape: tuple[int, ...]
    dtype: str
    size: int
    sha256: str


def stored_dtype(dtype: np.dtype[Any]) -> np.dtype[Any] | None:
    """Return the type as which an array is stored, little-endian; None if there is none."""
    little = dtype.newbyteorder("<")
    return little if DTYPE.fullmatch(little.str) else None


def is_transposed(array: NDArray[Any]) -> bool:
    """Say whether an array is in Fortran order: then its transpose is stored, and sums keep their order."""
    return array.flags.f_contiguous and not array.flags.c_contiguous


class ArrayWriter:
    """Writes arrays into an archive, each only once, even if several values refer to it.

    Parameters
    ----------
    archive : ZipFile
        Open for writing.
    """

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        # The array with its name: as long as it is held, no other array can have its id.
        self._written: dict[int, tuple[NDArray[Any], str]] = {}
        self.entries: dict[str, ArrayEntry] = {}

    def add(self, array: NDArray[Any], label: str) -> str:
        """Write an array in C order, transposed if `is_transposed`, and return the name of its member."""
        if id(array) not in self._written:
            name = f"{FOLDER}{len(self.entries):04d}.{_in_file_names(label)}.npy"
            self.entries[name] = self._write(array.T if is_transposed(array) else array, name)
            self._written[id(array)] = array, name
        return self._written[id(array)][1]

    def _write(self, array: NDArray[Any], name: str) -> ArrayEntry:
        dtype = stored_dtype(array.dtype)
        assert dtype is not None
        header = io.BytesIO()
        described = {"descr": dtype.str, "fortran_order": False, "shape": array.shape}
        np.lib.format.write_array_header_1_0(header, described)
        size = len(header.getvalue()) + array.size * dtype.itemsize
        digest = hashlib.sha256()
        with self._archive.open(member(name, size), "w") as file:
            for piece in chain([header.getbuffer()], _pieces(array, dtype)):
                digest.update(piece)
                file.write(piece)
        return ArrayEntry(array.shape, dtype.str, size, digest.hexdigest())


def member(name: str, size: int) -> zipfile.ZipInfo:
    """Return the header of a member: not compressed, and the same on every machine and every day."""
    info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    info.compress_type, info.file_size = zipfile.ZIP_STORED, size
    info.create_system, info.external_attr = 3, 0o100644 << 16
    return info


def _in_file_names(label: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.]", "_", label)[:80]


def _pieces(array: NDArray[Any], dtype: np.dtype[Any]) -> Iterator[Any]:
    """Give the bytes of an array in C order; use each piece before asking for the next.

    An array that is in that order already is not copied; any other goes through one buffer.
    """
    if array.size == 0:
        return
    if array.flags.c_contiguous and array.dtype == dtype:
        flat = array.reshape(-1).view(np.uint8)
        for start in range(0, len(flat), CHUNK):
            yield flat[start : start + CHUNK].data
        return
    pieces = np.nditer(  # type: ignore[call-overload,unused-ignore]  # NumPy's stubs do not know "contig"
        array,
        flags=["external_loop", "buffered"],
        op_flags=[["readonly", "contig"]],
        op_dtypes=[dtype],
        casting="equiv",  # no other change than that of the bytes' order
        order="C",
        buffersize=max(CHUNK // dtype.itemsize, 1),
    )
    for piece in pieces:
        yield np.atleast_1d(piece).view(np.uint8).data


def read_array(archive: zipfile.ZipFile, name: str, entry: ArrayEntry) -> NDArray[Any]:
    """Read an array, checking everything that the manifest says about it.

    Memory is only taken for what the member really holds: its size was compared with that of the file before.
    """
    dtype = np.dtype(entry.dtype)
    expected = math.prod(entry.shape) * dtype.itemsize
    digest = hashlib.sha256()
    with archive.open(name) as file:
        header = _read_header(file, name)
        digest.update(header.read)
        if (header.shape, header.dtype) != (entry.shape, dtype):
            raise ModelFileError(
                f"the array {name} is {header.shape} {header.dtype.str}, and the manifest says "
                f"{entry.shape} {entry.dtype}"
            )
        if len(header.read) + expected != entry.size:
            raise ModelFileError(f"the array {name} has not the number of bytes that its shape asks for")
        array = np.empty(entry.shape, dtype=dtype)
        if array.size:
            _fill(array.reshape(-1).view(np.uint8), file, name, digest)
        if file.read(1) or digest.hexdigest() != entry.sha256:
            raise ModelFileError(f"the array {name} is damaged: its digest is not that of the manifest")
    return array if dtype.isnative else array.astype(dtype.newbyteorder("="))


def _fill(flat: NDArray[np.uint8], file: IO[bytes], name: str, digest: Any) -> None:
    start = 0
    while start < len(flat):
        piece = file.read(min(CHUNK, len(flat) - start))
        if not piece:
            raise ModelFileError(f"the array {name} ends too early")
        digest.update(piece)
        flat[start : start + len(piece)] = np.frombuffer(piece, dtype=np.uint8)
        start += len(piece)


@dataclass(frozen=True)
class _Header:
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    read: bytes


def _read_header(file: IO[bytes], name: str) -> _Header:
    """Read the header of an array, which may be anything: its digest is known only later."""
    start = file.read(10)
    if len(start) < 10 or not start.startswith(b"\x93NUMPY\x01\x00"):
        raise ModelFileError(f"the array {name} is not in the format .npy 1.0")
    length = int.from_bytes(start[8:10], "little")
    if length > _LONGEST_HEADER:
        raise ModelFileError(f"the array {name} has a header of {length} bytes, which no array needs")
    read = start + file.read(length)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy's, about headers of Python 2
            shape, fortran, dtype = np.lib.format.read_array_header_1_0(io.BytesIO(read[8:]))
    except Exception as error:  # any error that a parser raises for random bytes
        raise ModelFileError(f"the array {name} has a header that cannot be read") from error
    if fortran or not DTYPE.fullmatch(dtype.str):
        raise ModelFileError(f"the array {name} is of a kind that models do not hold ({dtype.str})")
    return _Header(shape, dtype, read)


def check_entry(name: Any, entry: Any) -> ArrayEntry:
    """Return the manifest's description of an array, or say what is wrong with it."""
    wrong = ModelFileError(f"the manifest's description of the array {name!r} is not one")
    if not isinstance(entry, dict) or set(entry) != {"shape", "dtype", "bytes", "sha256"}:
        raise wrong
    shape, dtype, size, sha256 = entry["shape"], entry["dtype"], entry["bytes"], entry["sha256"]
    if not isinstance(shape, list) or not all(type(n) is int and 0 <= n < 1 << 48 for n in shape):
        raise wrong
    if not isinstance(dtype, str) or not isinstance(sha256, str) or type(size) is not int or len(shape) > 16:
        raise wrong
    if not DTYPE.fullmatch(dtype):
        raise ModelFileError(f"the array {name} is of a kind that models do not hold ({dtype})")
    return ArrayEntry(tuple(shape), dtype, size, sha256)
