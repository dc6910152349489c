"""Results that survive: one file per piece of work, there as a whole or not at all.

A piece of work is named by everything that its result depends on, the data and our version included. A
second run finds what is done and does the rest; after a change, results that no longer hold are not found.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..io.files import UNFINISHED, put_in_place
from ..run.versions import versions

_OURS = re.compile(r"-[0-9a-f]{16}\.json$")
_BEING_WRITTEN = 60.0  # seconds: a file that is half-written for longer than this will not be completed


@dataclass(frozen=True)
class Work:
    """One piece of work: what to do, on which data, with what.

    Parameters
    ----------
    kind : str
        What to do: a name in `work.KINDS`.
    data : str
        Name of the data set; empty if there is none.
    arguments : mapping
        The rest, ready for JSON.
    cost : float, default=1.0
        A guess at how long it takes, in any unit common to all; not part of its name.
    """

    kind: str
    data: str
    arguments: Mapping[str, Any]
    cost: float = field(default=1.0, compare=False)

    def key(self, fingerprint: str, environment: str = "") -> str:
        """Return the name of the result, given what identifies the data, and versions and machine."""
        ours = versions()["consilience"]
        parts = [self.kind, self.data, dict(self.arguments), fingerprint, environment, ours]
        content = json.dumps(parts, sort_keys=True)
        digest = hashlib.sha256(content.encode()).hexdigest()[:16]
        return f"{re.sub('[^A-Za-z0-9_.-]+', '-', f'{self.kind}-{self.data}')}-{digest}"


class Store:
    """A folder of results.

    Parameters
    ----------
    folder : Path
        Where they are; made if it is not there.
    fingerprints : mapping of str to str
        What identifies each data set.
    environment : str, default=""
        What identifies versions and machine: results of others are not found.
    """

    def __init__(self, folder: Path, fingerprints: Mapping[str, str], environment: str = "") -> None:
        self.folder, self.fingerprints, self.environment = folder, dict(fingerprints), environment
        folder.mkdir(parents=True, exist_ok=True)

    def path(self, work: Work) -> Path:
        """Return where the result of a piece of work is, or will be."""
        key = work.key(self.fingerprints.get(work.data, ""), self.environment)
        return self.folder / f"{key}.json"

    def __contains__(self, work: Work) -> bool:
        return self.path(work).exists()

    def get(self, work: Work) -> Any:
        """Return a result; a KeyError if it is not there."""
        try:
            return json.loads(self.path(work).read_text(encoding="utf-8"))["result"]
        except FileNotFoundError:
            raise KeyError(f"{work.kind} on {work.data or 'no data'} has not been done") from None

    def put(self, work: Work, result: Any) -> None:
        """Keep a result: written next to its place, then put there by one renaming."""
        content = {
            "work": [work.kind, work.data, dict(work.arguments)],
            "failed": bool(failures(result)),
            "result": result,
        }
        with put_in_place(self.path(work)) as scratch:
            scratch.write_text(json.dumps(content), encoding="utf-8")

    def tidy(self) -> None:
        """Remove what a killed process left half-written, and failures: they are worth another try."""
        for scratch in self.folder.glob(UNFINISHED):
            if time.time() - scratch.stat().st_mtime > _BEING_WRITTEN:
                scratch.unlink(missing_ok=True)
        for path in self.folder.glob("*.json"):
            if _OURS.search(path.name) and _is_to_be_done_again(path):
                path.unlink(missing_ok=True)


def _is_to_be_done_again(path: Path) -> bool:
    """Say whether a result is a failure, or no result at all."""
    try:
        return bool(json.loads(path.read_text(encoding="utf-8"))["failed"])
    except (ValueError, KeyError, TypeError):
        return True


def failures(result: Any) -> list[str]:
    """Return the reasons why parts of a result are missing.

    Examples
    --------
    >>> failures([{"NMI": 0.5}, {"reason": "too large"}])
    ['too large']
    """
    rows = result if isinstance(result, list) else [result]
    return [row["reason"] for row in rows if isinstance(row, Mapping) and row.get("reason")]
