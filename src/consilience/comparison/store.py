"""Results of fits that survive: each is kept as soon as it is there, and found again by what it depends on.

One file of lines, to which one process appends. A process that is killed leaves at most a last line that is
not whole; it is not read, and that fit is made again.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import zlib
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..run.versions import versions

FILE = "fits.jsonl"
# What a fit and its score go through. Pages and tables can change without making results worthless.
_CODE = (
    "agreement comparison/fitting.py comparison/contenders.py comparison/data_sets.py comparison/exchange.py "
    "inspection/fusion_help/resamples.py datasets/amputation.py datasets/corruption.py "
    "datasets/other_source.py datasets/spoiling.py engines fusion graphs.py metrics.py models spaces spectra "
    "stages views"
).split()


@lru_cache(maxsize=1)
def code_digest() -> str:
    """Return a hash of the code that results depend on, and of the versions of the libraries below it."""
    root = Path(__file__).parents[1]
    digest = hashlib.sha256(json.dumps(versions()).encode())
    for part in _CODE:
        path = root / part
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            digest.update(file.relative_to(root).as_posix().encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def key_of(*parts: Any) -> str:
    """Return the key of a result: a hash of all that it depends on.

    Examples
    --------
    >>> key_of("digits", 0) == key_of("digits", 0), key_of("digits", 0) == key_of("digits", 1)
    (True, False)
    """
    content = json.dumps([*parts, code_digest()], default=repr, sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:20]


class Store:
    """Records of fits by their key, kept in a folder if there is one.

    Parameters
    ----------
    folder : Path, default=None
        Where the file is; made when the first record is put. None: records are kept in memory only.
    resume : bool, default=True
        Whether to use the records that are there; otherwise they are removed.
    """

    def __init__(self, folder: Path | None = None, *, resume: bool = True) -> None:
        self.path = None if folder is None else folder / FILE
        self.records: dict[str, dict[str, Any]] = {}
        self._file: Any = None
        if self.path is not None and not resume:
            self.path.unlink(missing_ok=True)
        if self.path is not None and self.path.exists():
            for line in self.path.read_text(encoding="utf-8", errors="replace").splitlines():
                read = _record(line)
                if read is not None:
                    self.records[read[0]] = read[1]

    def get(self, key: str) -> dict[str, Any] | None:
        """Return a record, or None if there is none."""
        record = self.records.get(key)
        return None if record is None else {**record, "labels": unpacked(record.get("labels"))}

    def put(self, key: str, record: dict[str, Any]) -> None:
        """Keep a record; it is on disk when this returns."""
        record = {**record, "labels": packed(record.get("labels"))}
        self.records[key] = record
        if self.path is None:
            return
        if self._file is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self.path.open("ab")
            if self._file.tell():  # after a line that is not whole, a new one begins
                self._file.write(b"\n")
        self._file.write(json.dumps([key, record]).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None


def _record(line: str) -> tuple[str, dict[str, Any]] | None:
    """Return the key and the record of a line; None if it was cut off or damaged."""
    try:
        key, record = json.loads(line)
        unpacked(record.get("labels"))
        whole = record["status"] != "ok" or "scores" in record
        return (str(key), record) if isinstance(key, str) and whole else None
    except Exception:  # a line that anything may have happened to
        return None


def packed(labels: NDArray[np.intp] | None) -> str | None:
    """Return labels as text.

    Examples
    --------
    >>> unpacked(packed(np.array([0, 1, -1])))
    array([ 0,  1, -1])
    """
    if labels is None:
        return None
    return base64.b85encode(zlib.compress(np.asarray(labels, dtype="<i4").tobytes())).decode()


def unpacked(text: str | None) -> NDArray[np.intp] | None:
    """Return the labels that a text holds."""
    if text is None:
        return None
    return np.frombuffer(zlib.decompress(base64.b85decode(text)), dtype="<i4").astype(np.intp)
