"""Reading data frames, of pandas or polars: ids, columns of numbers, and columns of categories."""

from __future__ import annotations

import numbers
import reprlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .encoding import Encoding, Kind, text_codes
from .tables import NUMERIC, Ids, Table, ViewTypeError, check_unique, index_ids, labels_of, plain

Column = tuple[NDArray[Any], Kind, tuple[Any, ...] | None]


def is_polars(data: Any) -> bool:
    """Say whether this behaves like a polars DataFrame."""
    return all(hasattr(data, part) for part in ("get_column", "schema", "columns")) and not hasattr(
        data, "iloc"
    )


def read_frame(name: str, frame: Any, id_column: str | None) -> Table:
    """Read a pandas DataFrame: its index holds ids, unless a column does or it only counts."""
    ids = index_ids(frame.index)
    counted = ids is None
    where = f"the index of view {name!r}"
    if id_column is not None and id_column in frame.columns:
        if getattr(frame[id_column], "ndim", 1) != 1:
            raise ValueError(f"view {name!r} has several columns {id_column!r}: which one holds the ids?")
        ids, counted = labels_of(frame[id_column]), False
        where = f"column {id_column!r} of view {name!r}"
        frame = frame.drop(columns=[id_column])
    if ids is not None:
        check_unique(ids, where)
    columns = np.fromiter(frame.columns, dtype=object, count=frame.shape[1])
    values, encoding = _pandas_values(name, frame, ids)
    return Table(name, values, columns, ids, index_ids(frame.columns), counted=counted, encoding=encoding)


def read_polars(name: str, frame: Any, id_column: str | None) -> Table:
    """Read a polars DataFrame, which has ids only if a column holds them."""
    ids: Ids | None = None
    if id_column is not None and id_column in frame.columns:
        ids = np.array(frame.get_column(id_column).to_list(), dtype=object)
        check_unique(ids, f"column {id_column!r} of view {name!r}")
        frame = frame.drop(id_column)
    columns = [_polars_column(name, column, frame.get_column(column)) for column in frame.columns]
    values, encoding = _together(columns, frame.shape[0])
    if encoding is None and columns and all(column[0].dtype == np.float32 for column in columns):
        values = values.astype(np.float32)
    return Table(name, values, np.array(frame.columns, dtype=object), ids, encoding=encoding)


def _pandas_values(name: str, frame: Any, ids: Ids | None) -> tuple[Any, Encoding | None]:
    """Return the values of a DataFrame; sparse, or in one step, if all columns are of the same kind."""
    dtypes = list(frame.dtypes)
    kinds = {getattr(dtype, "kind", "O") for dtype in dtypes}
    if any(hasattr(dtype, "categories") for dtype in dtypes):
        kinds.add("O")
    if kinds and all(getattr(dtype, "fill_value", None) == 0 for dtype in dtypes):
        return frame.sparse.to_coo(), None
    if kinds <= set("biufc") and kinds - set("biuf"):
        return frame.to_numpy(), None  # complex numbers, which are refused later
    if kinds <= set("biuf"):
        single = all(dtype.kind == "f" and getattr(dtype, "itemsize", 8) == 4 for dtype in dtypes)
        plain_types = all(isinstance(dtype, np.dtype) for dtype in dtypes)
        missing = {} if plain_types else {"na_value": np.nan}
        return frame.to_numpy(dtype=np.float32 if single else np.float64, **missing), None
    columns = []
    for j, label in enumerate(frame.columns):
        columns.append(_pandas_column(name, label, frame.iloc[:, j], ids))
    return _together(columns, len(frame))


def _pandas_column(name: str, label: Any, column: Any, ids: Ids | None) -> Column:
    categories = getattr(column.dtype, "categories", None)
    if categories is not None and hasattr(column, "cat"):
        codes = column.cat.codes.to_numpy().astype(np.float64)
        codes[codes < 0] = np.nan
        known = tuple(plain(category) for category in categories)
        return codes, "ordinal" if column.cat.ordered else "categorical", known
    if getattr(column.dtype, "kind", "O") in "biuf":
        return column.to_numpy(dtype=np.float64, na_value=np.nan), "numeric", None
    missing = column.isna().to_numpy()
    return _objects(name, label, column.to_numpy(dtype=object), missing, ids)


def _polars_column(name: str, label: str, column: Any) -> Column:
    what = str(column.dtype)
    if what.startswith(("Int", "UInt", "Float", "Boolean", "Decimal")):
        single = what == "Float32"
        values = column.cast(type(column.dtype) if single else float).to_numpy()
        return np.asarray(values, dtype=np.float32 if single else np.float64), "numeric", None
    entries = np.array([*column.to_list(), None], dtype=object)[:-1]
    missing = np.array([entry is None for entry in entries], dtype=bool)
    if what.startswith("Enum"):
        known = tuple(column.dtype.categories.to_list())
        number = {category: float(code) for code, category in enumerate(known)}
        codes = [np.nan if gone else number[entry] for entry, gone in zip(entries, missing, strict=True)]
        return np.array(codes), "categorical", known
    return _objects(name, label, entries, missing, None)


def _objects(
    name: str, label: Any, entries: NDArray[Any], missing: NDArray[np.bool_], ids: Ids | None
) -> Column:
    """Return a column of objects: numbers, or text as categories; anything else is refused."""
    types = {type(entry) for entry, gone in zip(entries, missing, strict=True) if not gone}
    if types and all(issubclass(kind, str) for kind in types):
        return (*_categorical(entries, missing),)
    if all(issubclass(kind, numbers.Real | np.bool_) for kind in types):
        try:
            return np.where(missing, np.nan, entries).astype(np.float64), "numeric", None
        except OverflowError:
            raise ValueError(f"view {name!r} holds an integer that is too large for a float") from None
    number_like = sum(isinstance(entry, numbers.Real | np.bool_) for entry in entries)
    for i, (entry, gone) in enumerate(zip(entries, missing, strict=True)):
        # The type of most entries is right, and the others are mistakes.
        wanted: Any = numbers.Real | np.bool_ if number_like or str not in types else str
        if not gone and not isinstance(entry, wanted):
            place = Table(name, entries.reshape(-1, 1), np.array([label], dtype=object)).place(i, 0, ids)
            raise ViewTypeError(f"{place} holds {reprlib.repr(entry)} ({type(entry).__name__}): {NUMERIC}")
    raise AssertionError("a column that is neither")


def _categorical(entries: NDArray[Any], missing: NDArray[np.bool_]) -> Column:
    codes, known = text_codes(entries, missing)
    return codes, "categorical", known


def _together(columns: list[Column], n: int) -> tuple[NDArray[Any], Encoding | None]:
    values = np.empty((n, len(columns)))
    for j, (column, _, _) in enumerate(columns):
        values[:, j] = column
    if all(kind == "numeric" for _, kind, _ in columns):
        return values, None
    return values, Encoding(tuple(kind for _, kind, _ in columns), tuple(known for _, _, known in columns))
