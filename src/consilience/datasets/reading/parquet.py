"""Parquet files: columns of numbers and of words, and sample ids in a column or in the index of pandas."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from consilience.views import Encoding

from ...views.encoding import number_codes, text_codes
from .contents import Content, Matrix, tidy_ids
from .errors import FileError, check_size, listed, optional, reason, shown
from .formats import Source
from .tables import ID_NAMES
from .text import repeated


def read_parquet(source: Source, id_column: str | None, empty_cells: bool = False) -> Content:
    """Read a Parquet file as one view; rows without any value and empty cells as in text files."""
    parquet = optional("pyarrow.parquet", source.file, "a Parquet file")
    types = optional("pyarrow.types", source.file, "a Parquet file")
    try:
        with parquet.ParquetFile(source.path) as file:
            _check_sizes(file.metadata, source)
            table = file.read()
    except FileError:
        raise
    except Exception as error:  # Arrow passes on what the C++ library says
        raise FileError(
            f"{source.file}: it is a damaged or cut short Parquet file ({reason(error)}); get it again"
        ) from None
    names = list(table.column_names)
    if twice := repeated(names):
        raise FileError(f"{source.file}: the column name {twice} occurs more than once; rename the columns")
    if not table.num_rows or not names:
        raise FileError(f"{source.file}: the table is empty ({table.num_rows} rows, {len(names)} columns)")
    id_name = _id_name(table, types, id_column, source.file)
    ids, counted = (None, False) if id_name is not None else _range_index(table)
    if id_name is not None:
        column = table.column(id_name)
        _check_nulls(column, id_name, source.file)
        ids = tidy_ids(column.to_pylist(), f"{source.file}, column {id_name!r}")
    names = [name for name in names if name != id_name]
    if not names:
        raise FileError(f"{source.file}: it holds sample ids but no column of numbers; add the features")
    values, encoding = _values(table, types, names, source.file)
    _check_values(values, names, source.file, empty_cells or encoding is not None)
    matrix = Matrix(source.stem, values, features=np.array(names, dtype=object), encoding=encoding)
    return Content(source.file, (matrix,), ids=ids, counted=counted)


def _check_sizes(metadata: Any, source: Source) -> None:
    packed = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
    needed = max(packed, 8 * metadata.num_rows * metadata.num_columns)
    check_size(needed, source.max_bytes, source.file, "unpacks to")


def _id_name(table: Any, types: Any, id_column: str | None, file: str) -> str | None:
    """Return the column with ids: the one asked for, the index of pandas, or a first column of text."""
    names = list(table.column_names)
    if id_column is not None:
        if id_column not in names:
            raise FileError(
                f"{file}: there is no column {id_column!r}, as id_column asks; "
                f"it has {listed(map(shown, names))}"
            )
        return id_column
    stored = [name for name in _pandas_index(table) if name in names]
    if len(stored) > 1:
        raise FileError(
            f"{file}: its index has {len(stored)} levels; name the one that holds ids with id_column"
        )
    if stored:
        return stored[0]
    kind = table.schema.field(0).type
    words = types.is_string(kind) or types.is_large_string(kind)
    return names[0] if words or names[0].lower() in ID_NAMES else None


def _pandas_index(table: Any) -> list[str]:
    """Return the names of the columns that were the index; a range is stored as a dict."""
    return [name for name in _pandas(table, "index_columns") if isinstance(name, str)]


def _range_index(table: Any) -> tuple[NDArray[np.int64] | None, bool]:
    """Return the ids in an index that is a range, or say that it only counts 0, 1, 2, ..."""
    for index in _pandas(table, "index_columns"):
        if isinstance(index, dict) and index.get("kind") == "range":
            bounds: list[Any] = [index.get(part) for part in ("start", "stop", "step")]
            if all(isinstance(bound, int) and abs(bound) < 1 << 62 for bound in bounds) and bounds[2]:
                ids = range(*bounds)
                if len(ids) == table.num_rows:
                    counts = ids == range(table.num_rows)
                    return (None, True) if counts else (np.array(ids, dtype=np.int64), False)
    return None, False


def _pandas_categories(table: Any) -> dict[str, bool]:
    """Return the columns that pandas had as categories, and whether these are in order."""
    found = {}
    for column in _pandas(table, "columns"):
        if isinstance(column, dict) and column.get("pandas_type") == "categorical":
            told = column.get("metadata")
            found[str(column.get("field_name"))] = isinstance(told, dict) and told.get("ordered") is True
    return found


def _pandas(table: Any, part: str) -> list[Any]:
    """Return what pandas wrote about the table; nothing if it was not pandas."""
    try:
        stored = json.loads((table.schema.metadata or {}).get(b"pandas", b"{}")).get(part, [])
    except (ValueError, AttributeError, TypeError):
        return []
    return stored if isinstance(stored, list) else []


def _check_nulls(column: Any, name: str, file: str) -> None:
    if column.null_count:
        row = next(i for i, valid in enumerate(column.is_valid().to_pylist(), 1) if not valid)
        raise FileError(
            f"{file}, row {row}, column {name!r}: the value is missing, {column.null_count} such here; "
            "fill it in or drop the row or column"
        )


def _values(table: Any, types: Any, names: list[str], file: str) -> tuple[Any, Encoding | None]:
    fields = {name: table.schema.field(name).type for name in names}
    single = all(types.is_float32(field) for field in fields.values())
    values = np.empty((table.num_rows, len(names)), dtype=np.float32 if single else np.float64)
    categories: list[tuple[Any, ...] | None] = [None] * len(names)
    ordered = _pandas_categories(table)
    ranked = set()
    for j, (name, field) in enumerate(fields.items()):
        column = table.column(name)
        numeric = types.is_integer(field) or types.is_floating(field) or types.is_boolean(field)
        if numeric or types.is_decimal(field):
            values[:, j] = column.cast("float64").to_numpy()  # nulls become NaN
            if name in ordered:  # numbers that are categories: Parquet stores them as numbers
                values[:, j], categories[j] = number_codes(values[:, j])
                ranked |= {j} if ordered[name] else set()
        elif _is_text(types, field):
            entries = column.to_pylist()
            in_order = _dictionary(column) if types.is_dictionary(field) and ordered.get(name) else None
            missing = np.array([entry is None for entry in entries])
            values[:, j], categories[j] = text_codes(entries, missing, in_order)
            ranked |= set() if in_order is None else {j}
        else:
            raise FileError(
                f"{file}, column {name!r}: it holds {field}, for example {shown(column[0].as_py())}, no "
                "number; drop it, or name it with id_column if it holds the sample ids"
            )
    if all(one is None for one in categories):
        return values, None
    kinds = tuple(
        "numeric" if one is None else "ordinal" if j in ranked else "categorical"
        for j, one in enumerate(categories)
    )
    return values, Encoding(kinds, tuple(categories))  # type: ignore[arg-type]


def _dictionary(column: Any) -> tuple[str, ...]:
    """Return the categories of a column in their order."""
    return tuple(column.combine_chunks().dictionary.to_pylist())


def _is_text(types: Any, kind: Any) -> bool:
    if types.is_dictionary(kind):
        return _is_text(types, kind.value_type)
    return bool(types.is_string(kind) or types.is_large_string(kind))


def _check_values(values: Any, names: list[str], file: str, empty_cells: bool) -> None:
    """Say where the first infinity is, or the first empty cell if these are not wanted."""
    wrong = np.isinf(values)
    if not empty_cells:
        empty = np.isnan(values)
        wrong |= empty & ~empty.all(axis=1, keepdims=True)
    if wrong.any():
        i, j = (int(place) for place in np.argwhere(wrong)[0])
        what = "missing" if np.isnan(values[i, j]) else "infinite"
        place = f"{file}, row {i + 1}, column {names[j]!r}"
        raise FileError(
            f"{place}: the value is {what}, {int(wrong[:, j].sum())} such here; fill it in or drop the "
            "row or column"
        )
