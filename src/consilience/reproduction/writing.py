"""Files that are there as a whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path


def write_in_place(path: Path, write: Callable[[Path], object]) -> None:
    """Let a function write a file under another name, then put it in its place by one renaming."""
    handle, name = tempfile.mkstemp(prefix=".", suffix=path.suffix, dir=path.parent)
    os.close(handle)
    scratch = Path(name)
    try:
        write(scratch)
        scratch.chmod(0o644)
        os.replace(scratch, path)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise
