"""Which of the paper's data sets are in a folder, and reading them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..io.readers import read_views
from ..views import Views
from .definitions import Paper, PaperSet, shape_text

ENDINGS = (".mat", ".npz")  # the formats that hold all views and the labels in one file


@dataclass(frozen=True, eq=False)
class LoadedSet:
    """A data set in memory; the metric of its views is `definition.metric`."""

    definition: PaperSet
    views: Views
    labels: NDArray[Any]


@dataclass(frozen=True)
class SetInFolder:
    """The result of looking for a data set.

    Attributes
    ----------
    definition : PaperSet
        The set.
    status : {"found", "missing", "unusable"}
        Found means that the file has been read and has the right shape.
    path : Path or None
        Its file, if there is one.
    reason : str
        Why it cannot be used, in one line; empty if it was found.
    """

    definition: PaperSet
    status: Literal["found", "missing", "unusable"]
    path: Path | None = None
    reason: str = ""

    def load(self) -> LoadedSet:
        """Read the set, again: nothing is kept from looking for it.

        Raises
        ------
        ValueError
            If it is missing or unusable.
        """
        if self.path is None or self.status != "found":
            raise ValueError(f"{self.definition.name} is {self.status}: {self.advice}")
        return load_set(self.definition, self.path)

    @property
    def advice(self) -> str:
        """Why it cannot be used, and for one that is missing, what it is and where to get it."""
        if self.status != "missing":
            return self.reason
        return f"{self.reason} ({shape_text(*self.definition.shape)}); source: {self.definition.where}"


@dataclass(frozen=True)
class Found:
    """The result of looking for all data sets, by name in the order of the definitions."""

    folder: Path
    sets: Mapping[str, SetInFolder]

    def having(self, status: str) -> list[str]:
        """Names of the sets with a status."""
        return [name for name, one in self.sets.items() if one.status == status]


def find_sets(folder: Path, paper: Paper) -> Found:
    """Look for the data sets in a folder; each file is read to check it, one at a time.

    Files are known by their names without ending. Case does not matter, nor whether there is "-", "_" or a
    blank.

    Parameters
    ----------
    folder : Path
        Where the files are; folders in it are not searched.
    paper : Paper
        The sets to look for.

    Returns
    -------
    Found

    Raises
    ------
    ValueError
        If the folder is none, or holds no file of a format that could be a set.
    """
    files = _files_by_stem(Path(folder))
    return Found(
        Path(folder), {name: _look(one, files.get(plain_name(name), [])) for name, one in paper.sets.items()}
    )


def load_set(definition: PaperSet, path: Path) -> LoadedSet:
    """Read a data set from a file.

    Raises
    ------
    ValueError
        If it cannot be read, has no labels, or has another shape than the set has in the paper.
    """
    read = read_views(path)
    views, labels = read.views, read.labels
    if labels is None:
        raise ValueError(f"{path}: it holds no labels; save one per sample with the views, as gt or y")
    found = views.n_samples, views.n_views, int(np.unique(labels).size)
    if found != definition.shape:
        raise ValueError(
            f"{path}: it holds {shape_text(*found)}, expected are {shape_text(*definition.shape)}; "
            "it must be another version of the set"
        )
    if definition.metric.startswith("precomputed"):
        other = [
            name for name, width in zip(views.names, views.n_features, strict=True) if width != len(views)
        ]
        if other:
            raise ValueError(
                f"{path}: view {other[0]!r} is no matrix between the {len(views)} samples; "
                "this set is expected as distance matrices"
            )
        views = Views(views, pairwise=True)
    return LoadedSet(definition, views, labels)


def _look(definition: PaperSet, files: list[Path]) -> SetInFolder:
    if not files:
        names = " or ".join(definition.name + ending for ending in ENDINGS)
        return SetInFolder(
            definition,
            "missing",
            None,
            f"no file {names}",
        )
    path = files[0]
    if len(files) > 1:
        names = ", ".join(file.name for file in files)
        return SetInFolder(definition, "unusable", path, f"{names}: any could be the set; keep one of them")
    try:
        load_set(definition, path)
    except ValueError as error:
        return SetInFolder(definition, "unusable", path, str(error))
    return SetInFolder(definition, "found", path)


def _files_by_stem(folder: Path) -> dict[str, list[Path]]:
    if not folder.is_dir():
        what = "is a file, not a folder" if folder.exists() else "does not exist"
        raise ValueError(f"{folder} {what}; name the folder that holds the data sets.")
    try:
        paths = sorted(path for path in folder.iterdir() if path.suffix.lower() in ENDINGS)
    except OSError as error:
        raise ValueError(f"{folder} cannot be searched ({error.strerror}).") from None
    if not paths:
        raise ValueError(
            f"{folder} holds no {' or '.join(ENDINGS)} file; name the folder with the data sets."
        )
    files: dict[str, list[Path]] = {}
    for path in paths:
        files.setdefault(plain_name(path.stem), []).append(path)
    return files


def plain_name(name: str) -> str:
    """Return a name without what people write differently.

    Examples
    --------
    >>> plain_name("UCI Digits") == plain_name("uci_digits")
    True
    """
    return name.casefold().replace("-", "_").replace(" ", "_")
