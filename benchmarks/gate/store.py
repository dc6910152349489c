"""What was measured, as JSON that survives being killed: written as a whole after every piece of work."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm

from ..speed.measure import machine_facts

BASELINE = Path(__file__).parents[1] / "baseline.json"


class Store:
    """Measurements by part and name.

    Parameters
    ----------
    path : Path or None
        The file; None: nothing is written.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.content: dict[str, Any] = {}
        if path is not None and path.exists():
            self.content = json.loads(path.read_text())

    def get(self, part: str, *names: str) -> Any:
        """Return a measurement, or None."""
        found: Any = self.content.get(part, {})
        for name in names:
            found = None if found is None else found.get(name)
        return found

    def put(self, value: Any, part: str, *names: str) -> None:
        """Keep a measurement."""
        place = self.content.setdefault(part, {})
        for name in names[:-1]:
            place = place.setdefault(name, {})
        if names:
            place[names[-1]] = value
        else:
            self.content[part] = value
        if self.path is not None:
            scratch = self.path.with_suffix(".part")
            scratch.write_text(json.dumps(self.content, separators=(",", ":")) + "\n")
            os.replace(scratch, self.path)


def facts() -> dict[str, Any]:
    """Return what bits and seconds depend on beside the code."""
    features = llvm.get_host_cpu_features()
    told = [name for name in ("avx2", "avx512f", "avx512vnni") if features.get(name)]
    known = machine_facts()
    known.pop("consilience")
    return {**known, "processor": llvm.get_host_cpu_name(), "features": told, "system": platform.system()}


def commit() -> str:
    """Return the commit that is checked out, marked if the library differs from it."""
    here = Path(__file__).parents[2]

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=here, capture_output=True, text=True).stdout.strip()

    return git("rev-parse", "HEAD") + ("+" if git("status", "--porcelain", "--", "src") else "")
