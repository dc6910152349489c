"""Zarr arrays, format 2 or 3, in a folder: read chunk by chunk.

What Zarr calls codecs are programs that are chosen by name. One of them opens pickles, others may come with
any package; so only those that are known to unpack numbers are allowed. This is checked before Zarr opens
anything.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ...words import listed, value_text
from .contents import Content, Matrix, check_entries, check_form, float_type
from .errors import FileError, check_size, optional, reason
from .formats import ZARR_FILES, Source
from .room import room_for

BLOCK = 1 << 20  # entries read at a time, if chunks are smaller
_PACKERS = frozenset(
    "blosc zstd gzip zlib lz4 lzma bz2 shuffle delta fixedscaleoffset quantize bitround packbits astype "
    "crc32 crc32c adler32 fletcher32 jenkins_lookup3".split()
)
_CODECS = (
    _PACKERS | {"bytes", "endian", "transpose", "sharding_indexed"} | {f"numcodecs.{p}" for p in _PACKERS}
)


def read_zarr(source: Source) -> Content:
    """Read a Zarr array as one view."""
    version, about = _described(source)
    _check_codecs(about, source.file)
    zarr = optional("zarr", source.file, "a Zarr array")
    try:
        array = zarr.open_array(str(source.path), mode="r", zarr_format=version)
        values = _read(array, source)
    except (FileError, MemoryError):
        raise
    except Exception as error:  # from Zarr, its codecs, or the file system, in errors of many kinds
        raise FileError(
            f"{source.file}: it is a damaged Zarr array ({reason(error)}); save it again"
        ) from None
    check_entries(values, source.file, empty_cells=True)
    return Content(source.file, (Matrix(source.stem, values),))


def _read(array: Any, source: Source) -> Any:
    check_form(array, source.file)
    n, d = (int(size) for size in array.shape)
    dtype = float_type(array.dtype)
    chunk = tuple(int(size) for size in getattr(array, "shards", None) or array.chunks)
    for shape in ((n, d), chunk):
        check_size(shape[0] * shape[1] * dtype.itemsize, source.max_bytes, source.file, "unpacks to")
    values = room_for((n, d), dtype, source.file)
    step = chunk[0] * max(1, BLOCK // (chunk[0] * d))  # whole chunks: a part of one takes as long
    for start in range(0, n, step):
        values[start : start + step] = array[start : start + step]
    return values


def _described(source: Source) -> tuple[int, dict[str, Any]]:
    """Return the version of the format, and the array's description of itself."""
    name = next(name for name in ZARR_FILES if (source.path / name).is_file())
    try:
        about = json.loads((source.path / name).read_text(encoding="utf-8"))
        group = name == ".zgroup" or about.get("node_type") == "group"
    except (OSError, ValueError, AttributeError, RecursionError) as error:
        raise FileError(
            f"{source.file}: its {name} cannot be read ({reason(error)}); save it again"
        ) from None
    if group:
        inside = listed(repr(f"{source.file}/{one}") for one in _arrays_in(source.path)) or "none"
        raise FileError(f"{source.file}: it is a Zarr group, not an array; name an array in it: {inside}")
    return (2 if name == ".zarray" else 3), about


def _arrays_in(folder: Path) -> list[str]:
    return sorted(
        one.name for one in folder.iterdir() if any((one / name).is_file() for name in ZARR_FILES[:2])
    )


def _check_codecs(about: dict[str, Any], file: str) -> None:
    """Refuse an array that is packed by something unknown, also inside of shards."""
    given: list[Any] = [about.get("compressor"), about.get("filters"), about.get("codecs")]
    while given:
        one = given.pop()
        if isinstance(one, list):
            given += one
        elif one is not None:
            name = one.get("name", one.get("id")) if isinstance(one, dict) else one
            if name not in _CODECS:
                raise FileError(
                    f"{file}: it is packed by {value_text(name)}, which is not known to be harmless; save it "
                    "with a common codec, such as zstd"
                )
            inner = one.get("configuration") if isinstance(one, dict) else None
            if isinstance(inner, dict):
                given += [inner.get("codecs"), inner.get("index_codecs")]
