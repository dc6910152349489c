"""Reading: from whatever a user passes to one table per view, its values still as they came."""

from __future__ import annotations

import numbers
import reprlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Ids: TypeAlias = NDArray[Any]

# The middle of this sentence is the one that scikit-learn's checks look for.
NUMERIC = (
    "an argument must be numeric, not a string or anything else that is no number; encode or drop it first"
)


class ViewTypeError(TypeError, ValueError):
    """An entry of a view is no number: a wrong type to scikit-learn, a bad value to everybody else."""


@dataclass
class Table:
    """One view on its way in: its values as they came, and the labels that came with them."""

    name: str
    values: Any
    columns: Ids | None = None
    ids: Ids | None = None
    column_ids: Ids | None = None  # which sample each column belongs to, should the view be pairwise
    counted: bool = False  # a DataFrame whose index is 0, 1, 2, ...

    def place(self, i: int, j: int, ids: Ids | None) -> str:
        """Say where an entry stands, for messages."""
        column = j if self.columns is None else repr(_plain(self.columns[j]))
        return f"view {self.name!r}, {sample_place(i, ids)}, column {column}"

    def reorder(self, rows: Ids | None, columns: Ids | None) -> None:
        """Bring rows and columns into the order given by positions."""
        values = self.values.tocsr() if is_sparse(self.values) else self.values
        values = values if rows is None else values[rows]
        self.values = values if columns is None else values[:, columns]
        if columns is not None and self.columns is not None:
            self.columns = self.columns[columns]

    def feature_names(self) -> Ids | None:
        """Return the column names if they are names."""
        named = self.columns is not None and all(isinstance(column, str) for column in self.columns)
        return self.columns if named else None


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label


def sample_place(i: int, ids: Ids | None) -> str:
    """Say which sample this is: its id if it has one."""
    return f"row {i}" if ids is None else f"sample {_plain(ids[i])!r}"


def listed(labels: Iterable[object]) -> str:
    """Return labels as they stand in messages."""
    return ", ".join(map(repr, labels))


def is_sparse(data: Any) -> bool:
    """Say whether this is a SciPy sparse matrix or array."""
    return bool(sparse.issparse(data))


def is_frame(data: Any) -> bool:
    """Say whether this behaves like a pandas DataFrame."""
    return all(hasattr(data, part) for part in ("iloc", "columns", "index"))


def _is_row(data: Any) -> bool:
    if isinstance(data, (list, tuple)):
        return len(data) == 0 or not (isinstance(data[0], (list, tuple)) or getattr(data[0], "shape", None))
    return isinstance(data, np.ndarray) and data.ndim == 1


def split_views(data: Any) -> tuple[list[str], list[Any]]:
    """Return default names and the views, unread."""
    if isinstance(data, Mapping) and not is_sparse(data):  # SciPy's dok_array is both
        names, views = [str(key) for key in data], list(data.values())
    elif isinstance(data, (list, tuple)) and not (
        len(data) and (all(map(_is_row, data)) or all(isinstance(entry, numbers.Number) for entry in data))
    ):
        names, views = [f"view_{i}" for i in range(len(data))], list(data)
    else:
        names, views = ["view_0"], [data]
    return names, views


def check_names(names: Iterable[str] | None, keys: Collection[str], keyed: bool = False) -> tuple[str, ...]:
    """Return the names of the views after checking that there is one for each."""
    found = tuple(keys) if names is None else (names,) if isinstance(names, str) else tuple(names)
    if not keys:
        raise ValueError("no views: pass at least one 2-D array, sparse matrix or DataFrame")
    if len(found) != len(keys):
        raise ValueError(f"names must hold one name per view: got {len(found)} for {len(keys)} views")
    for name in found:
        if not isinstance(name, str) or not name:
            raise ValueError(f"names of views must be non-empty strings, got {name!r}")
        if found.count(name) > 1:
            raise ValueError(f"names of views must be unique, but {name!r} occurs {found.count(name)} times")
    if keyed and found != tuple(keys) and set(found) == set(keys):
        raise ValueError("names would swap the names of the views: to reorder views use Views.select")
    return tuple(map(str, found))


def read_table(name: str, raw: Any) -> Table:
    """Read one view and check that it is a table with something in it."""
    if is_sparse(raw):
        table = Table(name, raw)
    elif is_frame(raw):
        table = _read_frame(name, raw)
    else:
        table = Table(name, _read_array(name, raw))
    shape = table.values.shape
    if len(shape) < 2:
        raise ValueError(
            f"view {name!r} must be 2-D (samples x features), but has shape {shape}. Reshape your data: "
            "array.reshape(-1, 1) if it is a single feature, array.reshape(1, -1) if it is a single sample"
        )
    if len(shape) > 2:
        raise ValueError(f"view {name!r} has shape {shape}: pass a list of 2-D arrays, one for each view")
    for n, what in zip(shape, ("sample", "feature"), strict=True):
        if n == 0:
            raise ValueError(f"view {name!r}: 0 {what}(s) (shape={shape}) while a minimum of 1 is required.")
    return table


def _read_array(name: str, raw: Any) -> NDArray[Any]:
    nested = isinstance(raw, (list, tuple))
    # A Views inside a list has an __array__ too, which only tells that it is no array.
    if hasattr(raw, "sample_ids") or not (nested or hasattr(raw, "__array__")):
        raise ValueError(
            f"view {name!r} is a {type(raw).__name__}, which is no view: pass 2-D arrays, sparse matrices or "
            "DataFrames, one alone or several in a list or dict"
        )
    if np.ma.is_masked(raw):  # what the array hides is missing, not the number that lies underneath
        return np.ma.filled(raw.astype(np.float64), np.nan)
    try:
        values = np.asarray(raw)
    except ValueError:
        raise ValueError(f"view {name!r} is no table: its rows differ in length") from None
    # NumPy turns the numbers beside a string into strings, which would blame the wrong entry.
    return np.asarray(raw, dtype=object) if nested and values.dtype.kind in "US" else values


def _read_frame(name: str, frame: Any) -> Table:
    dtypes = list(frame.dtypes)
    for column, dtype in zip(frame.columns, dtypes, strict=True):
        if hasattr(dtype, "categories"):  # its codes may look like numbers, but are names
            raise ViewTypeError(f"view {name!r}, column {column!r} is categorical: {NUMERIC}")
    kinds = {getattr(dtype, "kind", "O") for dtype in dtypes}
    if kinds and all(getattr(dtype, "fill_value", None) == 0 for dtype in dtypes):
        values = frame.sparse.to_coo()
    elif kinds <= set("biuf"):
        single = all(dtype.kind == "f" and getattr(dtype, "itemsize", 8) == 4 for dtype in dtypes)
        plain = all(isinstance(dtype, np.dtype) for dtype in dtypes)
        missing = {} if plain else {"na_value": np.nan}
        values = frame.to_numpy(dtype=np.float32 if single else np.float64, **missing)
    else:
        values = frame.to_numpy(dtype=None if kinds <= set("biufc") else object)
    ids, column_ids = index_ids(frame.index), index_ids(frame.columns)
    if ids is not None:
        check_unique(ids, f"the index of view {name!r}")
    columns = np.fromiter(frame.columns, dtype=object, count=values.shape[1])
    return Table(name, values, columns, ids, column_ids, counted=ids is None)


def index_ids(index: Any) -> Ids | None:
    """Return the ids in a pandas index, or None if it only counts."""
    if getattr(index, "start", None) == 0 and getattr(index, "step", None) == 1:
        return None  # a RangeIndex that only counts
    ids: Ids = index.to_numpy()
    # As Timestamps, times are equal whatever their unit.
    return np.fromiter(index, dtype=object, count=len(ids)) if ids.dtype.kind in "mM" else ids


def read_ids(sample_ids: Any) -> Ids:
    """Return explicit sample ids as a 1-D array of unique labels."""
    if isinstance(sample_ids, (str, bytes)) or not isinstance(sample_ids, Iterable):
        raise ValueError(f"sample_ids must be a 1-D sequence, got {reprlib.repr(sample_ids)}")
    if hasattr(sample_ids, "__array__"):
        ids = np.asarray(sample_ids)
    else:  # through objects: NumPy would turn 1 beside "a" into "1", and tuples into rows
        ids = np.fromiter(sample_ids, dtype=object)
        if {type(label) for label in ids} in ({int}, {str}):
            ids = np.asarray(ids.tolist())
    if ids.ndim != 1:
        raise ValueError(f"sample_ids must be 1-D, got shape {ids.shape}")
    check_unique(ids, "sample_ids")
    return ids


def check_unique(ids: Ids, where: str) -> None:
    """Raise a ValueError that names the first id that occurs twice."""
    met = set()
    for label in ids.tolist():
        if label in met:
            raise ValueError(
                f"{where} holds the sample id {label!r} more than once: drop the repeated rows or number them"
            )
        met.add(label)
