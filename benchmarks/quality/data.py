"""The data sets of a folder: every .mat and .npz file with views and labels, in two parts.

Rules and constants may be chosen on the *tuning* sets only: those of the folder itself and of its folder
``tuning``. Those of its folder ``validation`` are scored and reported, and decide nothing. Rows are brought
into a random order, always the same, before anything is scored: many files are sorted by class.
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from consilience.comparison import DataSet as NamedSet
from consilience.comparison.data_sets import SetFile

SUFFIXES = (".mat", ".npz")
TUNING, VALIDATION = "tuning", "validation"

# Sets made from the same source count once in a mean over families.
FAMILIES = {
    **dict.fromkeys(("WebKB", "WebKB_Cornell", "WebKB_Texas"), "WebKB"),
    **dict.fromkeys(("MM_InfantDiet", "MM_Gastrectomy"), "microbiome"),
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


def find_sets(folder: Path, names: str = "", part: str = "") -> dict[str, Path]:
    """Return the data sets of a folder by name, tuning sets first.

    Parameters
    ----------
    folder : Path
        Where they are.
    names : str, default=""
        Those wanted, with commas between; "": all.
    part : {"", "tuning", "validation"}, default=""
        Only those of this part; "": both.
    """
    found: dict[str, Path] = {}
    for each, places in ((TUNING, (folder, folder / TUNING)), (VALIDATION, (folder / VALIDATION,))):
        if part in ("", each):
            paths = [path for place in places if place.is_dir() for path in place.iterdir()]
            found.update({path.stem: path for path in sorted(paths) if path.suffix in SUFFIXES})
    if not found:
        raise SystemExit(f"There is no .mat or .npz file in {folder}.")
    return pick(found, names, "data set")


def part_of(path: Path) -> str:
    """Return the part that a data set belongs to."""
    return VALIDATION if path.parent.name == VALIDATION else TUNING


def family_of(name: str) -> str:
    """Return the family of a data set; its own name if it is alone."""
    return FAMILIES.get(name, name)


def named_sets(folder: Path, names: str = "", part: str = "") -> list[SetFile]:
    """Return the data sets as `consilience.compare` takes them: with their part and family."""
    return [
        SetFile(name, path, part=part_of(path), family=FAMILIES.get(name, ""))
        for name, path in find_sets(folder, names, part).items()
    ]


def pick(known: dict[str, Any], names: str, what: str) -> dict[str, Any]:
    """Return those of the known things that are named, with commas between; all of them if none is."""
    wanted = [name.strip() for name in names.split(",")] if names else list(known)
    for name in wanted:
        if name not in known:
            raise SystemExit(f"There is no {what} {name!r}; known: {', '.join(known)}.")
    return {name: known[name] for name in wanted}


def load(path: Path, *, shuffle: bool = True) -> DataSet:
    """Read a data set; a ValueError without labels.

    Parameters
    ----------
    path : Path
        Its file.
    shuffle : bool, default=True
        Whether to bring the rows into a random order, which is always the same.
    """
    found: NamedSet = SetFile(path.stem, path).load()
    found = found.shuffled()[0] if shuffle else found
    return DataSet(found.name, found.views.arrays, np.asarray(found.labels))


@dataclass(frozen=True)
class Facts:
    """What is to be known of a data set before anything is run."""

    name: str
    path: Path
    n_samples: int
    n_views: int

    @property
    def part(self) -> str:
        """The part that it belongs to."""
        return part_of(self.path)

    @property
    def header(self) -> dict[str, Any]:
        """What every result on it begins with."""
        return {"set": self.name, "part": self.part, "n": self.n_samples, "n_views": self.n_views}


def chosen_sets(arguments: argparse.Namespace, part: str | None = None) -> list[Facts]:
    """Return the data sets that the options name, the largest first; those that cannot be read are left out.

    Parameters
    ----------
    arguments : Namespace
        With the common options.
    part : str, default=None
        Only these, whatever the options say.
    """
    folder, facts = folder_given(arguments.data), []
    for name, path in find_sets(folder, arguments.sets, arguments.part if part is None else part).items():
        try:
            data = load(path)
        except ValueError as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
        else:
            facts.append(Facts(name, path, data.n_samples, len(data.views)))
    return sorted(facts, key=lambda one: -one.n_samples)


def add_common_options(parser: argparse.ArgumentParser, *, parts: bool = True) -> None:
    """Add the options of all studies: what on, where to, and how much at a time.

    A study that may look at one part only has no option to name a part.
    """
    add = parser.add_argument
    add("--data", type=Path, help="folder of .mat and .npz files with labels; otherwise CONSILIENCE_DATA")
    add("--sets", default="", help="some of the data sets, with commas between")
    if parts:
        add("--part", default="", choices=("", TUNING, VALIDATION), help="only this part (default: both)")
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
