"""The two files of a finished stage: its result, and a record of everything else.

What a stage returned is in a file of its own (the result), because it can be removed as soon as no later
stage needs it. Everything else is in the other file (the record), which is written last: once it is there,
the stage is finished.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from ..io.model_files.arrays import ArrayWriter
from ..io.model_files.container import Kind, ModelFile, new_archive, write_manifest
from ..io.model_files.decoding import Decoder
from ..io.model_files.encoding import Encoder
from ..io.model_files.errors import ModelFileError
from .versions import versions


@dataclass(frozen=True, eq=False)
class Record:
    """Everything about a finished stage except what it returned.

    Attributes
    ----------
    seconds : float
        The time it took.
    warnings : tuple of tuple
        Its warnings: the kind of each, and the text in parts.
    random_state : RandomState
        As it was after the stage.
    behind : tuple of str
        The stages that were finished before it, and still have files.
    alive : tuple of str
        The stages whose results later ones need, this one among them.
    """

    seconds: float
    warnings: tuple[tuple[Any, ...], ...]
    random_state: np.random.RandomState
    behind: tuple[str, ...]
    alive: tuple[str, ...]


RECORD = Kind("consilience checkpoint", 2, frozenset({"key", "stage", *(f.name for f in fields(Record))}))
RESULT = Kind("consilience stage result", 2, frozenset({"key", "stage", "value"}))


def write_file(path: Path, kind: Kind, key: str, stage: str, values: Mapping[str, Any]) -> None:
    """Write one of the files of a stage; the file appears only when it is complete."""
    with new_archive(path) as archive:
        arrays = ArrayWriter(archive)
        encoder = Encoder(arrays)
        encoded = {name: encoder.encode(value, name) for name, value in values.items()}
        write_manifest(archive, {"key": key, "stage": stage, **encoded}, arrays, kind)


def read_file(path: Path, kind: Kind, key: str, stage: str) -> dict[str, Any]:
    """Read one of the files of a stage; raise a ModelFileError about any other, and about a damaged one."""
    with path.open("rb") as file:
        content = ModelFile(file, None, kind)
        manifest = content.manifest
        if manifest["key"] != key or manifest["stage"] != stage:
            raise ModelFileError("it belongs to another fit, or to another stage")
        decoder = Decoder(content.array)
        values = {name: decoder.decode(manifest[name], name) for name in kind.parts - {"key", "stage"}}
        content.check_all_read()
    return values


def digest_of(what: str, parameters: Mapping[str, Any], fingerprint: str) -> str:
    """Return a digest of everything that the result of a fit depends on.

    Parameters
    ----------
    what : str
        The full name of the model that is fitted.
    parameters : mapping
        All its parameters.
    fingerprint : str
        The fingerprint of the data.

    Raises
    ------
    ValueError
        If that is not known, because a parameter is a function.
    """
    with zipfile.ZipFile(io.BytesIO(), "w") as archive:
        arrays = ArrayWriter(archive)
        encoded = Encoder(arrays).encode(dict(parameters), "parameters")
    content = {
        "class": what,
        "parameters": encoded,
        "arrays": {name: entry.sha256 for name, entry in arrays.entries.items()},
        "data": fingerprint,
        "versions": versions(),
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
