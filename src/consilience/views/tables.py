"""One view while it is read: its values as they came, its labels, and how messages name them."""

from __future__ import annotations

import reprlib
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .device_arrays import in_memory
from .encoding import Encoding, declare, declared_kinds

Ids: TypeAlias = NDArray[Any]

# scikit-learn's checks search messages for the middle of this sentence.
NUMERIC = (
    "an argument must be numeric, not a string or anything else that is no number; encode or drop it first"
)


class ViewTypeError(TypeError, ValueError):
    """An entry of a view is not a number: for scikit-learn a wrong type, in general a bad value."""


@dataclass
class Table:
    """One view while it is read: its values as they came, and the labels that came with them."""

    name: str
    values: Any
    columns: Ids | None = None
    ids: Ids | None = None
    column_ids: Ids | None = None  # which sample each column belongs to, should the view be pairwise
    counted: bool = False  # a DataFrame whose index is 0, 1, 2, ...
    encoding: Encoding | None = None  # what its columns are, if not all are numbers
    graph: str | None = None  # "similarity" or "distance", if it came as a graph
    seen: NDArray[np.bool_] | None = None  # which of all samples it has; None: all

    def place(self, i: int, j: int, ids: Ids | None) -> str:
        """Say where an entry is, for messages."""
        column = j if self.columns is None else repr(plain(self.columns[j]))
        return f"view {self.name!r}, {sample_place(i, ids)}, column {column}"

    def reorder(self, rows: Ids | None, columns: Ids | None) -> None:
        """Bring rows and columns into the order given by positions, -1 for a sample that is not there."""
        values = self.values.tocsr() if sparse.issparse(self.values) else self.values
        if rows is not None:
            there = rows >= 0
            rows = np.maximum(rows, 0)  # the rows of absent samples are never read
            if self.seen is not None or not there.all():
                self.seen = there if self.seen is None else there & self.seen[rows]
        values = values if rows is None else values[rows]
        columns = None if columns is None else np.maximum(columns, 0)
        self.values = values if columns is None else values[:, columns]
        if columns is not None and self.columns is not None:
            self.columns = self.columns[columns]

    def declare(self, kinds: Any) -> None:
        """Set the kinds of columns as the user gives them."""
        if sparse.issparse(self.values):
            raise ValueError(f"kinds: view {self.name!r} is sparse, and its columns can only be numbers")
        found = declared_kinds(kinds, self.columns, self.values.shape[1], self.name)
        values = in_memory(self.values)
        if self.seen is not None:  # the zeros of samples that were not seen are no codes
            values = np.where(self.seen[:, None], values, np.nan)
        self.values, self.encoding = declare(values, self.encoding, found, self.name)


def check_columns(columns: Ids | None, before: Ids | None, name: str) -> None:
    """Raise a ValueError if a view's columns are not those that it had before, in the same order.

    A view that comes as an array, or with columns that are only numbered, has no names to compare; but
    0, 1, 2, ... in another order are columns in another order.
    """
    if columns is None or before is None:
        return
    have, want = bare_labels(columns), bare_labels(before)
    if have == want:
        return
    if len(have) != len(want):
        raise ValueError(f"View {name!r} has {len(have)} columns, at fit there were {len(want)}.")
    counted = bare_labels(range(len(want)))
    if (have == counted or want == counted) and set(have) != set(want):
        return
    wrong = next(j for j, (a, b) in enumerate(zip(have, want, strict=True)) if a != b)
    raise ValueError(
        f"Column {wrong} of view {name!r} is {have[wrong]!r}, at fit it was {want[wrong]!r}; pass the "
        "columns of the fit in the same order."
    )


def bare_labels(columns: Iterable[Any]) -> list[str]:
    """Return the labels of columns as text, which they become in most files: to compare and to keep."""
    return [str(label) for label in columns]


def plain(label: Any) -> Any:
    """Return a label as a Python object, for messages."""
    return label.item() if isinstance(label, np.generic) else label


def sample_place(i: int, ids: Ids | None) -> str:
    """Say which sample this is: its id if it has one."""
    return f"row {i}" if ids is None else f"sample {plain(ids[i])!r}"


def is_frame(data: Any) -> bool:
    """Say whether this behaves like a pandas DataFrame."""
    return all(hasattr(data, part) for part in ("iloc", "columns", "index"))


def index_ids(index: Any) -> Ids | None:
    """Return the ids in a pandas index, or None if it only counts."""
    if getattr(index, "start", None) == 0 and getattr(index, "step", None) == 1:
        return None  # a RangeIndex that only counts
    return labels_of(index)


def labels_of(series: Any) -> Ids:
    """Return the labels in a pandas index or column."""
    ids: Ids = series.to_numpy()
    # As Timestamps, times of different units can be equal.
    return np.fromiter(series, dtype=object, count=len(ids)) if ids.dtype.kind in "mM" else ids


def read_ids(sample_ids: Any) -> Ids:
    """Return explicit sample ids as a 1-D array of unique labels."""
    if isinstance(sample_ids, (str, bytes)) or not isinstance(sample_ids, Iterable):
        raise ValueError(f"sample_ids must be a 1-D sequence, got {reprlib.repr(sample_ids)}")
    if hasattr(sample_ids, "__array__"):
        ids = labels_of(sample_ids) if hasattr(sample_ids, "to_numpy") else np.asarray(sample_ids)
        if ids.dtype.kind in "mM":  # as Python's times, which are equal to those of pandas
            exact = ids.astype(f"{ids.dtype.kind}8[us]")
            ids = exact.astype(object) if (exact == ids).all() else ids
    else:  # through objects: NumPy would turn 1 in a list with "a" into "1", and tuples into rows
        ids = np.fromiter(sample_ids, dtype=object)
        if {type(label) for label in ids} in ({int}, {str}):
            ids = np.asarray(ids.tolist())
    if ids.ndim != 1:
        raise ValueError(f"sample_ids must be 1-D, got shape {ids.shape}")
    check_unique(ids, "sample_ids")
    return ids


def check_unique(ids: Ids, where: str) -> None:
    """Raise a ValueError that names the first id that occurs twice, or is missing."""
    labels, met = ids.tolist(), set[Any]()
    if set(map(type, labels)) <= {str, int} and len(set(labels)) == len(labels):
        return
    try:
        for i, label in enumerate(labels):
            if label in met:
                raise ValueError(
                    f"{where} holds the sample id {label!r} more than once: drop the repeated rows or number "
                    "them"
                )
            if _is_missing(label):
                raise ValueError(
                    f"{where} has no sample id in row {i} ({label!r}): fill it in or drop the row"
                )
            met.add(label)
    except TypeError:
        raise ValueError(
            f"{where} holds {reprlib.repr(label)} ({type(label).__name__}), which cannot be a sample id: use "
            "text or numbers"
        ) from None


def _is_missing(label: Any) -> bool:
    if isinstance(label, (str, int)):
        return False
    if label is None or type(label).__name__ == "NAType":  # pandas.NA, which refuses to be compared
        return True
    return bool(isinstance(label, Hashable) and label != label)  # NaN and NaT
