"""The data sets of a folder: every .mat and .npz file with views and labels."""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from consilience.io.readers import read_views

SUFFIXES = (".mat", ".npz")

# The metric of the paper's fixed setting, for sets of the paper and for those that are like them: cosine for
# words and links, Euclidean for the rest. Any other set: "auto".
METRICS = {
    **dict.fromkeys(("3Sources", "BBC4view", "BBCSport", "Cora", "Movies", "NGs", "WebKB"), "cosine"),
    **dict.fromkeys(
        ("100Leaves", "ALOI10", "CUB", "MSRC_v1", "ORL32", "Scene15", "UCI_Digits", "Wikipedia"), "euclidean"
    ),
    "breastTCGA_3omics_train": "euclidean",
}


@dataclass(frozen=True, eq=False)
class DataSet:
    """Views of the same samples, as a tuple of arrays or sparse matrices, and the class of each sample."""

    name: str
    views: tuple[Any, ...]
    truth: NDArray[Any]

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return len(self.truth)

    @property
    def n_clusters(self) -> int:
        """Number of classes, which every system is given."""
        return len(np.unique(self.truth))


def find_sets(folder: Path, names: str = "") -> dict[str, Path]:
    """Return the data sets of a folder by name, all of them or those named, with commas between."""
    found = {path.stem: path for path in sorted(folder.iterdir()) if path.suffix in SUFFIXES}
    if not found:
        raise SystemExit(f"There is no .mat or .npz file in {folder}.")
    return pick(found, names, "data set")


def pick(known: dict[str, Any], names: str, what: str) -> dict[str, Any]:
    """Return those of the known things that are named, with commas between; all of them if none is."""
    wanted = [name.strip() for name in names.split(",")] if names else list(known)
    for name in wanted:
        if name not in known:
            raise SystemExit(f"There is no {what} {name!r}; known: {', '.join(known)}.")
    return {name: known[name] for name in wanted}


def load(path: Path) -> DataSet:
    """Read a data set; a ValueError if it has no labels."""
    found = read_views(path)
    if found.labels is None:
        raise ValueError(f"{path.name} holds no labels, so there is nothing to score against.")
    return DataSet(path.stem, found.views.arrays, found.labels)


def add_common_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of both studies: what on, where to, and how much at a time."""
    add = parser.add_argument
    add("--data", type=Path, help="folder of .mat and .npz files with labels; otherwise CONSILIENCE_DATA")
    add("--sets", default="", help="some of the data sets, with commas between")
    add("--out", type=Path, help="keep the results in this JSON file, and go on from what it holds")
    add("--tables", type=Path, metavar="FILE", help="only print the tables of such a file")
    add("--jobs", type=int, default=2, help="processes, of one thread each (default: 2)")
    add("--max-seconds", type=float, help="begin nothing more after so many seconds")


def folder_given(argument: Path | None) -> Path:
    """Return the folder of the option --data, or of CONSILIENCE_DATA."""
    named = argument or os.environ.get("CONSILIENCE_DATA")
    if not named:
        raise SystemExit("Name the folder of the data sets: --data FOLDER, or CONSILIENCE_DATA.")
    return Path(named)
