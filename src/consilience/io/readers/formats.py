"""Which format a file has: by its name, checked against its first bytes."""

from __future__ import annotations

import difflib
import gzip
import io
import os
import stat
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from ...run.messages import Advice
from ...words import listed, memory_size
from .errors import BYTES_ALLOWED, FileError, check_size

MAX_BYTES = 8 * 2**30  # the largest size of a file by default
KINDS = {
    ".csv": "text",
    ".tsv": "text",
    ".txt": "text",
    ".mat": "mat",
    ".npz": "npz",
    ".npy": "npy",
    ".parquet": "parquet",
    ".mtx": "mtx",
    ".h5ad": "h5ad",
    ".h5mu": "h5mu",
    ".zarr": "zarr",
}
ZARR_FILES = ("zarr.json", ".zarray", ".zgroup")  # a folder with one of these is a Zarr array or group
PACKED = {"text", "mtx"}  # kinds that may be packed with gzip
HDF5 = b"\x89HDF\r\n\x1a\n"

_SIGNATURES = (
    (b"\x93NUMPY", "a NumPy .npy array"),
    (b"PK\x03\x04", "a zip archive"),
    (b"PK\x05\x06", "an empty zip archive"),
    (b"\x1f\x8b", "packed with gzip"),
    (HDF5, "an HDF5 file"),
    (b"MATLAB", "a MATLAB file"),
    (b"PAR1", "a Parquet file"),
    (b"%%MatrixMarket", "a Matrix Market file"),
    (b"version https://git-lfs", "a Git LFS pointer, not the data itself (git lfs pull fetches that)"),
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"%PDF", "a PDF document"),
    (b"\xd0\xcf\x11\xe0", "an old Excel or Word document"),
    (b"BZh", "packed with bzip2"),
    (b"\xfd7zXZ", "packed with xz"),
    (b"(\xb5/\xfd", "packed with Zstandard"),
    (b"7z\xbc\xaf", "a 7-Zip archive"),
    (b"SQLite format 3", "an SQLite database"),
    (b"\x7fELF", "a program"),
)
_PICKLE = "a pickle, which is never opened because it can run programs"
_WANTED = {
    "mat": ("a MATLAB file", "an HDF5 file"),
    "npz": ("a zip archive", "an empty zip archive"),
    "npy": ("a NumPy .npy array",),
    "parquet": ("a Parquet file",),
    "mtx": ("a Matrix Market file",),
    "h5ad": ("an HDF5 file",),
    "h5mu": ("an HDF5 file",),
}


@dataclass(frozen=True)
class Source:
    """A file that exists, may be read, is not too large and has the content that its name promises.

    Of a Zarr array, which is a folder, only the form of the folder is checked.
    """

    path: Path
    file: str  # as it was given, for messages
    kind: str
    packed: bool
    head: bytes  # the first bytes, unpacked
    max_bytes: int

    @property
    def stem(self) -> str:
        """The name without its ending."""
        name = self.path.name[:-3] if self.packed else self.path.name
        return Path(name).stem

    @property
    def hdf5(self) -> bool:
        """Whether it is HDF5, as MATLAB 7.3 writes it (after 512 bytes of its own)."""
        return HDF5 in (self.head[:8], self.head[512:520])

    def open(self) -> IO[bytes]:
        """Open the file, unpacked; a packed one yields no more than `max_bytes`."""
        if not self.packed:
            return open(self.path, "rb")
        return io.BufferedReader(_Limited(gzip.open(self.path), self.max_bytes, self.file))


class _Limited(io.RawIOBase):
    """A stream that refuses to grow beyond a limit: a small packed file may hold endless zeros."""

    def __init__(self, stream: Any, limit: int, file: str) -> None:
        self._stream, self._left, self._limit, self._file = stream, limit, limit, file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self._stream.read(len(buffer))
        self._left -= len(piece)
        if self._left < 0:
            raise FileError(
                Advice(
                    f"{self._file}: unpacked it is more than the {memory_size(self._limit)} that ",
                    BYTES_ALLOWED,
                    " allows; raise it if you trust the file and have the memory",
                )
            )
        buffer[: len(piece)] = piece
        return len(piece)

    def close(self) -> None:
        self._stream.close()
        super().close()


def examine(path: str | os.PathLike[str], max_bytes: int) -> Source:
    """Find out what a file is, or say why it cannot be read."""
    where, file = Path(path), os.fspath(path)
    kind, packed = _kind_of(where, file)
    if kind == "zarr":
        return _examined_zarr(where, file, max_bytes)
    try:
        status = where.stat()
        if stat.S_ISDIR(status.st_mode):
            raise FileError(f"{file}: this is a folder; name the files in it")
        if not stat.S_ISREG(status.st_mode):
            raise FileError(f"{file}: this is no regular file; copy its content to one")
        if status.st_size == 0:
            raise FileError(f"{file}: the file is empty (0 bytes); save or download it again")
        if kind != "npy":  # which may be mapped
            check_size(status.st_size, max_bytes, file, "is")
        with open(where, "rb") as stream:
            head = stream.read(4096)
    except FileNotFoundError:
        raise FileError(f"{file}: there is no such file{_similar(where)}") from None
    except PermissionError:
        raise FileError(f"{file}: no permission to read it; ask its owner or change its mode") from None
    except (OSError, ValueError) as error:
        if isinstance(error, FileError):
            raise
        raise FileError(
            f"{file}: it cannot be opened ({getattr(error, 'strerror', None) or error})"
        ) from None
    if packed:
        head = _unpacked_head(where, file, head)
    source = Source(where, file, kind, packed, head, max_bytes)
    _check_content(source)
    return source


def _kind_of(path: Path, file: str) -> tuple[str, bool]:
    if path.is_dir():
        if path.suffix.lower() == ".zarr" or _is_zarr(path):
            return "zarr", False
        raise FileError(f"{file}: this is a folder; name the files in it")
    name = path.name.lower()
    packed = name.endswith(".gz")
    ending = Path(name[:-3] if packed else name).suffix
    kind = KINDS.get(ending)
    if kind is None and not path.exists() and any(map(_is_zarr, path.parents)):
        raise FileError(f"{file}: there is no such array{_similar(path)}")
    if kind is None or (packed and kind not in PACKED):
        known = listed(list(KINDS) + [f"{end}.gz" for end, kind in KINDS.items() if kind in PACKED], most=99)
        raise FileError(f"{file}: unknown ending {path.suffix!r}; known are {known}")
    return kind, packed


def _is_zarr(path: Path) -> bool:
    return any((path / name).is_file() for name in ZARR_FILES)


def _examined_zarr(path: Path, file: str, max_bytes: int) -> Source:
    if not path.exists():
        raise FileError(f"{file}: there is no such file{_similar(path)}")
    if not path.is_dir():
        raise FileError(
            f"{file}: a Zarr array is a folder, but this is a file; unpack it if it is an archive"
        )
    if not _is_zarr(path):
        raise FileError(f"{file}: it is named .zarr but holds no Zarr array; save it again")
    return Source(path, file, "zarr", False, b"", max_bytes)


def _similar(path: Path) -> str:
    folder = path.parent
    if not folder.is_dir():
        return f", nor the folder {str(folder)!r}; check the path"
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        names = []
    lower = {name.lower(): name for name in names}
    close = difflib.get_close_matches(path.name.lower(), lower, n=3, cutoff=0.6)
    found = [lower[name] for name in close]
    return f"; did you mean {listed(map(repr, found))}?" if found else "; check the path"


def _unpacked_head(path: Path, file: str, head: bytes) -> bytes:
    if not head.startswith(b"\x1f\x8b"):
        raise FileError(f"{file}: it is named .gz but is not packed with gzip; rename it or pack it")
    try:
        with gzip.open(path) as stream:
            head = stream.read(4096)
    except (EOFError, OSError, zlib.error) as error:
        raise FileError(f"{file}: the packed file is damaged or cut short ({error}); get it again") from None
    if not head:
        raise FileError(f"{file}: the packed file is empty; save or download it again")
    return head


def content_of(head: bytes) -> str | None:
    """Say what a file is by its first bytes, or None for text and unknown content."""
    if head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return _PICKLE
    if head[512:520] == HDF5:
        return "an HDF5 file"
    start = head[:200].removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    if start.startswith((b"<!doctype", b"<html", b"<head", b"<?xml")):
        return "a web page or XML (an error page instead of the data?)"
    return next((what for magic, what in _SIGNATURES if head.startswith(magic)), None)


def _check_content(source: Source) -> None:
    found, wanted = content_of(source.head), _WANTED.get(source.kind, (None,))
    if found in wanted or (source.kind == "mat" and source.head[126:128] in (b"IM", b"MI")):
        return
    ending = source.path.suffix if not source.packed else "".join(source.path.suffixes[-2:])
    if found is not None:
        raise FileError(
            f"{source.file}: it is named {ending} but is {found}; rename it or get the right file"
        )
    also = " (or was saved by MATLAB 4: save it again with -v7)" if source.kind == "mat" else ""
    raise FileError(
        f"{source.file}: it is named {ending} but its content is something else{also}; get the right file"
    )
