"""The file: a ZIP archive of a manifest and of arrays, without compression."""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version as version_of
from pathlib import Path
from typing import IO, Any

from numpy.typing import NDArray

from ...run.memory import available_bytes
from ...words import memory_size
from ..files import put_in_place
from .arrays import ArrayEntry, ArrayWriter, check_entry, member, read_array
from .errors import ModelFileError

MANIFEST, DIGEST = "manifest.json", "manifest.sha256"
LARGEST_MANIFEST = 1 << 28  # bytes: sample ids that are no arrays are in it


@dataclass(frozen=True)
class Kind:
    """A kind of file: its name, the version that is written, and the parts of its manifest."""

    name: str
    version: int
    parts: frozenset[str]

    @property
    def keys(self) -> frozenset[str]:
        """All keys of the manifest."""
        return self.parts | {"format", "format_version", "consilience_version", "arrays"}


MODEL = Kind("consilience model", 1, frozenset({"class", "parameters", "attributes"}))


@contextmanager
def new_archive(target: Path) -> Iterator[zipfile.ZipFile]:
    """Give an archive to write into, under another name; rename it when the block ends without an error."""
    with put_in_place(target) as scratch, zipfile.ZipFile(scratch, "x", zipfile.ZIP_STORED) as archive:
        yield archive


def write_manifest(
    archive: zipfile.ZipFile, content: dict[str, Any], arrays: ArrayWriter, kind: Kind = MODEL
) -> None:
    """Write the manifest, which comes last because it has the digests of all arrays, and its own digest."""
    descriptions = {
        name: {
            "shape": list(entry.shape),
            "dtype": entry.dtype,
            "bytes": entry.size,
            "sha256": entry.sha256,
        }
        for name, entry in arrays.entries.items()
    }
    about = {"format": kind.name, "format_version": kind.version, "consilience_version": _own_version()}
    manifest = {**about, **content, "arrays": descriptions}
    data = json.dumps(manifest, allow_nan=False, separators=(",", ":")).encode("ascii")
    if len(data) > LARGEST_MANIFEST:
        raise ValueError(
            f"All that is not numbers takes {memory_size(len(data))}, more than a model file holds "
            f"({memory_size(LARGEST_MANIFEST)}). Are there very long sample ids?"
        )
    digest = f"{hashlib.sha256(data).hexdigest()}  {MANIFEST}\n".encode("ascii")  # as sha256sum writes it
    for name, text in ((MANIFEST, data), (DIGEST, digest)):
        with archive.open(member(name, len(text)), "w") as file:
            file.write(text)


class ModelFile:
    """A model file that is open for reading, its manifest read and checked.

    Parameters
    ----------
    file : binary file
        The file.
    max_bytes : int or None
        The largest total size of its content; None: the free memory.
    kind : Kind
        What kind of file it should be.

    Attributes
    ----------
    manifest : dict
        What `manifest.json` says.
    """

    def __init__(self, file: IO[bytes], max_bytes: int | None, kind: Kind = MODEL) -> None:
        self._archive = _opened(file)
        self._sizes = _sizes(self._archive, os.fstat(file.fileno()).st_size)
        self.manifest = _checked(self._text(MANIFEST), self._text(DIGEST), kind)
        descriptions = self.manifest["arrays"]
        if not isinstance(descriptions, dict):
            raise ModelFileError("the manifest lists no arrays")
        self._entries = {name: check_entry(name, entry) for name, entry in descriptions.items()}
        self._check_members()
        limit = available_bytes() if max_bytes is None else max_bytes
        total = sum(self._sizes.values())
        if limit is not None and total > limit:
            why = "are free" if max_bytes is None else "max_bytes allows"
            raise ModelFileError(
                f"it holds {memory_size(total)}, more than the {memory_size(limit)} that {why}"
            )
        self._arrays: dict[str, NDArray[Any]] = {}

    def _text(self, name: str) -> bytes:
        if name not in self._sizes:
            raise ModelFileError(f"it has no {name}: it is a ZIP archive of another kind, or damaged")
        if self._sizes[name] > LARGEST_MANIFEST:
            raise ModelFileError(f"its {name} is {memory_size(self._sizes[name])} large")
        try:
            return self._archive.read(name)
        except Exception as error:  # zipfile raises errors of many kinds about damaged archives
            raise ModelFileError(f"its {name} is damaged: {error}") from error

    def _check_members(self) -> None:
        """Compare the members with those that the manifest lists, before any of them is read."""
        expected: dict[str, ArrayEntry | None] = {MANIFEST: None, DIGEST: None, **self._entries}
        for name in expected:
            if name not in self._sizes:
                raise ModelFileError(f"the array {name} is missing")
        for name, size in self._sizes.items():
            if name not in expected:
                raise ModelFileError(f"it holds {name!r}, which its manifest does not know")
            entry = expected[name]
            if entry is not None and entry.size != size:
                raise ModelFileError(
                    f"the array {name} is {size} bytes long, and the manifest says {entry.size}"
                )

    def array(self, name: str) -> NDArray[Any]:
        """Return an array, read and checked when it is first asked for."""
        if name not in self._entries:
            raise ModelFileError(f"it refers to the array {name!r}, which it does not hold")
        if name not in self._arrays:
            try:
                self._arrays[name] = read_array(self._archive, name, self._entries[name])
            except ModelFileError:
                raise
            except Exception as error:  # as above
                raise ModelFileError(f"the array {name} is damaged: {error}") from error
        return self._arrays[name]

    def check_all_read(self) -> None:
        """Raise an error if the file holds an array that nothing in it refers to."""
        for name in self._entries:
            if name not in self._arrays:
                raise ModelFileError(f"it holds the array {name}, which belongs to nothing")


def _opened(file: IO[bytes]) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(file)
    except Exception as error:  # zipfile raises errors of many kinds about damaged archives
        raise ModelFileError(f"is not a model file, or it is cut off: {error}") from error


def _sizes(archive: zipfile.ZipFile, on_disk: int) -> dict[str, int]:
    """Return the size of each member, after checking that the file really is as large as they say."""
    sizes: dict[str, int] = {}
    for info in archive.infolist():
        if info.filename in sizes:
            raise ModelFileError(f"it holds {info.filename!r} twice")
        if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
            raise ModelFileError(f"{info.filename!r} in it is compressed, which nothing in a model file is")
        sizes[info.filename] = info.file_size
    if sum(sizes.values()) > on_disk:
        raise ModelFileError("it claims to hold more than the file is long")
    return sizes


def _checked(data: bytes, digest: bytes, kind: Kind) -> dict[str, Any]:
    """Return the manifest, if it is undamaged and of a version that is known."""
    if digest.split()[:1] != [hashlib.sha256(data).hexdigest().encode("ascii")]:
        raise ModelFileError(f"its {MANIFEST} is damaged: its digest is not that of {DIGEST}")
    try:
        manifest = json.loads(data, object_pairs_hook=_without_repeats, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"its {MANIFEST} is not JSON: {error}") from error
    if not isinstance(manifest, dict) or manifest.get("format") != kind.name:
        raise ModelFileError(f"its {MANIFEST} does not say that it is a {kind.name}")
    version = manifest.get("format_version")
    if type(version) is not int or version < 1:
        raise ModelFileError(f"its {MANIFEST} does not say which version of the format it is")
    if version > kind.version:
        raise ModelFileError(_too_new(version, manifest.get("consilience_version"), kind))
    if set(manifest) != kind.keys:
        odd = ", ".join(sorted(map(repr, set(manifest) ^ kind.keys)))
        raise ModelFileError(f"its {MANIFEST} lacks parts, or has others: {odd}")
    return manifest


def _too_new(version: int, writer: Any, kind: Kind) -> str:
    by = f" by consilience {writer}" if isinstance(writer, str) and len(writer) < 40 else ""
    return (
        f"was written{by} in format {version}; this is consilience {_own_version()}, which reads "
        f"up to format {kind.version}: upgrade it"
    )


def _own_version() -> str:
    return version_of("consilience")


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) != len(pairs):
        raise ValueError("a key occurs twice")
    return content


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")
