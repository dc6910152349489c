"""The result back into the file that the views came from, as people who work with cells expect it."""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

from ..inspection import SampleConflicts
from ..io.readers import ReadViews


def write_back(
    folder: Path, arguments: argparse.Namespace, read: ReadViews, model: Any, conflicts: SampleConflicts
) -> str | None:
    """Write an AnnData or MuData with the result in it, under the name of its file; return that name.

    The file itself is left as it is. None: there is no such file, or it is not wanted.
    """
    if read.container is None or arguments.no_write_back:
        return None
    from ..omics import write  # only now: few have such files

    name = Path(arguments.files[0]).name
    write(read.container, model, conflicts=conflicts)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what these packages are going to change
        read.container.write(folder / name, compression="gzip")
    return name
