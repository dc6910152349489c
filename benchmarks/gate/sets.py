"""The data sets of the baseline: every set of the folder CONSILIENCE_DATA, rows shuffled by a fixed seed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import io, sparse

SEED = 0  # of the order of the rows
FOLDERS = {"first": "", "tuning": "tuning", "validation": "validation"}
# The metric of the paper's fixed setting, for the sets that were there first: cosine for words and links.
_COSINE = ("3Sources", "BBC4view", "BBCSport", "Cora", "Movies", "NGs", "WebKB")


@dataclass(frozen=True, eq=False)
class DataSet:
    """Views of the same samples in shuffled order, and the class of each sample."""

    name: str
    part: str
    views: tuple[Any, ...]
    truth: NDArray[Any]

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return len(self.truth)

    @property
    def n_clusters(self) -> int:
        """Number of classes."""
        return len(np.unique(self.truth))

    @property
    def paper_metric(self) -> str:
        """The metric of the paper's fixed setting."""
        if self.part != "first":
            return "auto"
        return "cosine" if self.name in _COSINE else "euclidean"


def folder() -> Path:
    """Return the folder of the data sets."""
    named = os.environ.get("CONSILIENCE_DATA")
    if not named:
        raise SystemExit("Set CONSILIENCE_DATA to the folder of the data sets.")
    return Path(named)


def names() -> dict[str, str]:
    """Return the part (first, tuning, validation) of each data set, by name."""
    return {path.stem: part for part, path in _paths()}


def _paths() -> Iterator[tuple[str, Path]]:
    for part, below in FOLDERS.items():
        for path in sorted((folder() / below).iterdir()):
            if path.suffix in (".mat", ".npz"):
                yield part, path


@lru_cache(maxsize=2)
def load(name: str) -> DataSet:
    """Read a data set and shuffle its rows. The reader is SciPy's, not ours: ours may change."""
    part, path = next((part, path) for part, path in _paths() if path.stem == name)
    if path.suffix == ".npz":
        arrays = np.load(path, allow_pickle=False)
        views = [arrays[f"X{i}"] for i in range(len(arrays.files) - 1)]
        truth = arrays["y"]
    else:
        content = io.loadmat(path)
        views, truth = list(content["fea"].ravel()), content["gt"].ravel()
    order = np.random.default_rng(SEED).permutation(len(truth))
    shuffled = tuple(
        sparse.csr_array(view, dtype=np.float64)[order]
        if sparse.issparse(view)
        else np.asarray(view, dtype=np.float64)[order]
        for view in views
    )
    return DataSet(name, part, shuffled, truth[order])
