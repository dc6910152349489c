"""The data sets of a comparison: in memory, in files, or all those of a folder."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..io.readers import read_views
from ..run.messages import check_count, text_of
from ..views import Views

ENDINGS = (".mat", ".npz", ".h5mu", ".h5ad")  # files that hold a whole set
ROW_ORDER_SEED = 0  # of the order into which rows are brought before anything is scored


@dataclass(frozen=True, eq=False)
class DataSet:
    """A data set of a comparison.

    Parameters
    ----------
    name : str
        Its name in the tables.
    views : list, tuple, dict, Views, DataFrame, array or sparse matrix
        The views, as `fit` takes them.
    labels : array-like of shape (n_samples,), default=None
        Known classes, to score against.
    n_clusters : int, default=None
        Number of clusters to look for; None: the number of classes.
    part : str, default=""
        A part of the bench, such as "tuning": tables show parts apart.
    family : str, default=""
        Sets of one family count once in a mean over families; "": it is alone.
    sources : tuple of str, default=()
        Where the views are from.

    Examples
    --------
    >>> from consilience import make_multiview
    >>> from consilience.comparison import DataSet
    >>> made = make_multiview(60, n_views=2, n_clusters=3, random_state=0)
    >>> DataSet("blobs", made.views, made.y).n_clusters
    3
    """

    name: str
    views: Any = field(repr=False)
    labels: ArrayLike | None = field(default=None, repr=False)
    n_clusters: int | None = None
    part: str = ""
    family: str = ""
    sources: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        views = self.views if isinstance(self.views, Views) else Views(self.views)
        labels = None if self.labels is None else np.asarray(self.labels)
        if labels is not None and labels.shape != (views.n_samples,):
            raise ValueError(
                f"Data set {self.name!r} has {views.n_samples} samples and labels of shape {labels.shape}; "
                "there must be one label for each sample."
            )
        n_clusters = self.n_clusters
        if n_clusters is None:
            if labels is None:
                raise ValueError(
                    f"Data set {self.name!r} has no labels, so the number of clusters must be given."
                )
            n_clusters = len(np.unique(labels))
        check_count("n_clusters", n_clusters)
        for name, value in (("views", views), ("labels", labels), ("n_clusters", int(n_clusters))):
            object.__setattr__(self, name, value)

    def load(self) -> DataSet:
        """Return itself: it is in memory."""
        return self

    def shuffled(self) -> tuple[DataSet, NDArray[np.intp]]:
        """Return the same with the rows in a random order, always the same one, and that order."""
        order = np.random.default_rng(ROW_ORDER_SEED).permutation(self.views.n_samples).astype(np.intp)
        labels = None if self.labels is None else np.asarray(self.labels)[order]
        # Without ids: by these, some models would bring the rows back into an order that may tell something.
        views = copy(self.views[order])
        views.sample_ids = None
        return replace(self, views=views, labels=labels), order

    def fingerprint(self) -> str:
        """Return a hash of the views and the labels."""
        labels = "" if self.labels is None else repr(np.asarray(self.labels).tolist())
        ids = "" if self.views.sample_ids is None else repr(self.views.sample_ids.tolist())
        parts = f"{self.views.fingerprint()} {labels} {ids} {self.n_clusters}"
        return hashlib.sha256(parts.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class SetFile:
    """A data set in a file, read when it is needed."""

    name: str
    path: Path
    n_clusters: int | None = None
    part: str = ""
    family: str = ""

    def load(self) -> DataSet:
        """Read the file."""
        read = read_views(self.path)
        return DataSet(
            self.name, read.views, read.labels, self.n_clusters, self.part, self.family, read.sources
        )


Source = DataSet | SetFile


@dataclass(frozen=True)
class SetFacts:
    """What is known of a data set before anything is fitted.

    Attributes
    ----------
    name, part, family : str
        As given.
    n_samples, n_clusters : int
        0 if it could not be loaded.
    n_features : tuple of int
        Of each view.
    view_names : tuple of str
        Their names.
    has_labels : bool
        Whether systems can be scored.
    fingerprint : str
        A hash of the data.
    sources : tuple of str
        Where the views are from.
    reason : str
        Why it could not be loaded; "": it could.
    """

    name: str
    part: str = ""
    family: str = ""
    n_samples: int = 0
    n_clusters: int = 0
    n_features: tuple[int, ...] = ()
    view_names: tuple[str, ...] = ()
    has_labels: bool = False
    fingerprint: str = ""
    sources: tuple[str, ...] = ()
    reason: str = ""

    @property
    def n_views(self) -> int:
        """Number of views."""
        return len(self.n_features)


def facts_of(source: Source) -> SetFacts:
    """Load a data set and return what is known of it, also if it does not load."""
    family = source.family or source.name
    try:
        data = source.load()
    except (ValueError, OSError, MemoryError, ImportError) as error:
        text = " ".join(str(text_of(error)).split()) or type(error).__name__
        return SetFacts(source.name, source.part, family, reason=f"It does not load: {text}")
    views, n_clusters = data.views, int(data.n_clusters or 0)
    return SetFacts(
        data.name,
        data.part,
        family,
        views.n_samples,
        n_clusters,
        views.n_features,
        views.names,
        data.labels is not None,
        data.fingerprint(),
        data.sources,
    )


def find_sets(
    data: Any,
    labels: ArrayLike | None = None,
    n_clusters: int | None = None,
    families: Mapping[str, str] | None = None,
) -> list[Source]:
    """Return the data sets that an argument stands for.

    Parameters
    ----------
    data : DataSet, path, views, or a sequence or mapping of data sets or paths
        A folder stands for all data files in it and in the folders below it.
    labels : array-like, default=None
        Of a single set in memory.
    n_clusters : int, default=None
        For all sets; None: as many as each has classes.
    families : mapping of str to str, default=None
        Name of a set -> name of its family.

    Examples
    --------
    >>> import numpy as np
    >>> from consilience.comparison.data_sets import find_sets
    >>> [one.name for one in find_sets({"a": np.eye(4), "b": np.eye(4)}, n_clusters=2)]
    ['data']
    """
    if isinstance(data, Iterator):
        data = list(data)
    if labels is not None and _are_sets(data):
        raise ValueError("labels go with views in memory; data sets and files have labels of their own.")
    if not _are_sets(data):
        found: list[Source] = [DataSet("data", data, labels, n_clusters)]
    else:
        found = list(_sets_in(data, n_clusters))
    if not found:
        raise ValueError(f"No data set was given; a set is a file that ends in {', '.join(ENDINGS)}.")
    families = {} if families is None else families
    for name in families:
        if name not in {one.name for one in found}:
            raise ValueError(f"families names {name!r}, which is no data set of this comparison.")
    found = [replace(one, family=families.get(one.name, one.family)) for one in found]
    names = [one.name for one in found]
    twice = {name for name in names if names.count(name) > 1}
    found = [
        replace(one, name=f"{one.part}/{one.name}") if one.name in twice and one.part else one
        for one in found
    ]
    names = [one.name for one in found]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"Two data sets are named {name!r}; rename one.")
    return found


def _are_sets(data: Any) -> bool:
    """Say whether an argument names data sets, and is not one set of views itself."""
    if isinstance(data, DataSet | SetFile | str | os.PathLike):
        return True
    values = data.values() if isinstance(data, Mapping) else data
    if isinstance(values, str | Views) or not isinstance(values, Iterable) or hasattr(values, "shape"):
        return False
    values = list(values)
    return bool(values) and all(isinstance(one, DataSet | SetFile | str | os.PathLike) for one in values)


def _sets_in(data: Any, n_clusters: int | None) -> Iterable[Source]:
    if isinstance(data, DataSet | SetFile):
        yield data if n_clusters is None else replace(data, n_clusters=n_clusters)
    elif isinstance(data, Mapping):
        for name, one in data.items():
            yield from (replace(each, name=str(name)) for each in _sets_in(one, n_clusters))
    elif isinstance(data, str | os.PathLike):
        path = Path(data)
        if path.is_dir() and path.suffix != ".zarr":
            yield from _files_in(path, n_clusters)
        else:
            yield SetFile(path.name.removesuffix("".join(path.suffixes[-1:])), path, n_clusters)
    else:
        for one in data:
            yield from _sets_in(one, n_clusters)


def _files_in(folder: Path, n_clusters: int | None) -> Sequence[SetFile]:
    """Return the data files below a folder, in the order of their names; the folder of each is its part."""
    paths = sorted(
        path
        for path in folder.rglob("*")
        if path.suffix in ENDINGS and not any(one.startswith(".") for one in path.relative_to(folder).parts)
    )
    if not paths:
        raise ValueError(f"The folder {folder} holds no data set: no file ends in {', '.join(ENDINGS)}.")
    parts = [path.relative_to(folder).parent.as_posix() for path in paths]
    return [
        SetFile(path.stem, path, n_clusters, "" if part == "." else part)
        for path, part in zip(paths, parts, strict=True)
    ]
