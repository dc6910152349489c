"""Result folders: nothing half-written, nothing overwritten without being asked to."""

from __future__ import annotations

import csv
import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from scipy import sparse


@contextmanager
def result_folder(target: Path, force: bool) -> Iterator[Path]:
    """Give a temporary folder to write into; put it in place when the block ends well.

    A new folder appears whole, by one renaming. Into an existing one (only with `force`) the files are
    moved one by one, each by a renaming; other files in it are left alone. If the block fails, nothing of
    it stays.
    """
    check_target(target, force)
    parent = target.resolve().parent
    scratch = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=parent))
    try:
        yield scratch
        scratch.chmod(0o755)
        if target.exists():
            for file in scratch.iterdir():
                os.replace(file, target / file.name)
        else:
            os.rename(scratch, target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def check_target(target: Path, force: bool) -> None:
    """Raise a ValueError if the results cannot go there: better before the work than after."""
    if target.exists() and not target.is_dir():
        raise ValueError(f"{target} is a file; name another folder with --out.")
    if target.exists() and any(target.iterdir()) and not force:
        raise ValueError(f"{target} exists already; pass --force to overwrite its results, or another --out.")
    parent = target.resolve().parent
    if not parent.is_dir():
        raise ValueError(f"The folder {parent} does not exist; make it first, or name another --out.")
    if not os.access(parent, os.W_OK):
        raise ValueError(f"The folder {parent} cannot be written to; name another --out.")


def write_table(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a CSV file."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)


def write_json(path: Path, content: Any) -> None:
    """Write a JSON file."""
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def write_graph(path: Path, graph: sparse.csr_array) -> None:
    """Write a graph so that `scipy.sparse.load_npz` reads it."""
    sparse.save_npz(path, graph)
