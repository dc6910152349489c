"""The two files of a finished stage: what it returned, and what else it did; and the digest of a fit.

What a stage returned is in a file of its own (the result), because it can go as soon as no later stage needs
it. All else is in the other (the record), which is written last: once that is there, the stage is finished.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..versions import versions
from .saving.arrays import ArrayWriter
from .saving.container import Kind, ModelFile, new_archive, write_manifest
from .saving.decoding import Decoder
from .saving.encoding import Encoder
from .saving.errors import ModelFileError

if TYPE_CHECKING:
    from .base import MultiviewClusterer

# The result is the same whatever these are.
_NO_MATTER = ("verbose", "callback", "n_jobs")


@dataclass(frozen=True, eq=False)
class Record:
    """What a stage did, beside returning something.

    Attributes
    ----------
    seconds : float
        The time it took.
    attributes : dict
        Attributes of the model that it set.
    deleted : tuple of str
        Those that it deleted.
    warnings : tuple of (str, str)
        What it warned of: kind and text.
    random_state : RandomState
        As it was after the stage.
    gone : tuple of str
        Stages whose results were no longer needed.
    """

    seconds: float
    attributes: dict[str, Any]
    deleted: tuple[str, ...]
    warnings: tuple[tuple[str, str], ...]
    random_state: np.random.RandomState
    gone: tuple[str, ...]


RECORD = Kind("consilience checkpoint", 1, frozenset({"key", "stage", *(f.name for f in fields(Record))}))
RESULT = Kind("consilience stage result", 1, frozenset({"key", "stage", "value"}))


def write_file(path: Path, kind: Kind, key: str, stage: str, values: Mapping[str, Any]) -> None:
    """Write one of the files of a stage; it is there when it is complete."""
    with new_archive(path) as archive:
        arrays = ArrayWriter(archive)
        encoder = Encoder(arrays)
        encoded = {name: encoder.encode(value, name) for name, value in values.items()}
        write_manifest(archive, {"key": key, "stage": stage, **encoded}, arrays, kind)


def read_file(path: Path, kind: Kind, key: str, stage: str) -> dict[str, Any]:
    """Read one of the files of a stage; raise a ModelFileError about any other, and about a damaged one."""
    with path.open("rb") as file:
        content = ModelFile(file, None, kind)
        told = content.manifest
        if told["key"] != key or told["stage"] != stage:
            raise ModelFileError("it is that of another fit, or of another stage")
        decoder = Decoder(content.array)
        values = {name: decoder.decode(told[name], name) for name in kind.parts - {"key", "stage"}}
        content.check_all_read()
    return values


def fit_key(model: MultiviewClusterer, fingerprint: str) -> str:
    """Return a digest of everything that the result of a fit depends on.

    Raises
    ------
    ValueError
        If that is not known, because a parameter is a function.
    """
    parameters = {name: one for name, one in model.get_params(deep=False).items() if name not in _NO_MATTER}
    if parameters["random_state"] is np.random:
        parameters["random_state"] = None
    with zipfile.ZipFile(io.BytesIO(), "w") as archive:
        arrays = ArrayWriter(archive)
        encoded = Encoder(arrays).encode({**parameters, "metrics_": model.metrics_}, "parameters")
    content = {
        "class": f"{type(model).__module__}.{type(model).__qualname__}",
        "parameters": encoded,
        "arrays": {name: entry.sha256 for name, entry in arrays.entries.items()},
        "data": fingerprint,
        "versions": versions(),
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
