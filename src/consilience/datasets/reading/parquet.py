"""Parquet files: columns of numbers and of words, and sample ids in a column or in the index of pandas."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from consilience.views import Encoding

from ...views.encoding import text_codes
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
    ids = None
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
    return Content(source.file, (matrix,), ids=ids)


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
    """Return the names of the columns that were the index; a mere count is stored as a dict."""
    try:
        stored = json.loads((table.schema.metadata or {}).get(b"pandas", b"{}"))
        return [name for name in stored.get("index_columns", []) if isinstance(name, str)]
    except (ValueError, AttributeError, TypeError):
        return []


def _check_nulls(column: Any, name: str, file: str) -> None:
    if column.null_count:
        row = next(i for i, valid in enumerate(column.is_valid().to_pylist(), 1) if not valid)
        raise FileError(
            f"{file}, row {row}, column {name!r}: the value is missing, {column.null_count} such here; "
            "fill it in or drop the row or column"
        )


def _values(table: Any, types: Any, names: list[str], file: str) -> tuple[Any, Encoding | None]:
    kinds = {name: table.schema.field(name).type for name in names}
    single = all(types.is_float32(kind) for kind in kinds.values())
    values = np.empty((table.num_rows, len(names)), dtype=np.float32 if single else np.float64)
    known: list[tuple[str, ...] | None] = []
    for j, (name, kind) in enumerate(kinds.items()):
        column = table.column(name)
        numeric = types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)
        if numeric or types.is_decimal(kind):
            values[:, j] = column.cast("float64").to_numpy()  # nulls become NaN
            known.append(None)
        elif _is_text(types, kind):
            entries = column.to_pylist()
            values[:, j], categories = text_codes(entries, np.array([entry is None for entry in entries]))
            known.append(categories)
        else:
            raise FileError(
                f"{file}, column {name!r}: it holds {kind}, for example {shown(column[0].as_py())}, no "
                "number; drop it, or name it with id_column if it holds the sample ids"
            )
    if all(one is None for one in known):
        return values, None
    columns = tuple("numeric" if one is None else "categorical" for one in known)
    return values, Encoding(columns, tuple(known))  # type: ignore[arg-type]


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
