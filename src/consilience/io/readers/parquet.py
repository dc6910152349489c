"""Parquet files: columns of numbers and of words, and sample ids in a column or in the index of pandas."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from consilience.views import Encoding

from ...run.messages import Advice
from ...views.encoding import number_codes, text_codes
from ...words import listed, value_text
from .contents import Content, Matrix, tidy_ids, wrong_entries
from .errors import ID_COLUMN, FileError, check_size, optional, reason
from .formats import Source
from .room import room_for
from .tables import ID_NAMES
from .text import repeated

COLUMNS, ROWS = 16, 1 << 13  # how many are read, and written, at a time


def read_parquet(source: Source, id_column: str | None, empty_cells: bool = False) -> Content:
    """Read a Parquet file as one view; rows without any value and empty cells as in text files."""
    parquet = optional("pyarrow.parquet", source.file, "a Parquet file")
    types = optional("pyarrow.types", source.file, "a Parquet file")
    try:
        with parquet.ParquetFile(source.path, pre_buffer=False) as file:
            _check_sizes(file.metadata, source)
            return _Columns(file, types, source).content(id_column, empty_cells)
    except (FileError, MemoryError):
        raise
    except Exception as error:  # Arrow passes on errors of the C++ library
        raise FileError(
            f"{source.file}: it is a damaged or cut short Parquet file ({reason(error)}); get it again"
        ) from None


class _Columns:
    """The columns of one file: numbers are read in blocks, words and ids at once."""

    def __init__(self, file: Any, types: Any, source: Source) -> None:
        self.parquet, self.types, self.file, self.stem = file, types, source.file, source.stem
        self.schema, self.n_rows = file.schema_arrow, file.metadata.num_rows

    def content(self, id_column: str | None, empty_cells: bool) -> Content:
        """Read all of them."""
        names = list(self.schema.names)
        if twice := repeated(names):
            raise FileError(f"{self.file}: the column name {twice} occurs more than once; rename the columns")
        if not self.n_rows or not names:
            raise FileError(f"{self.file}: the table is empty ({self.n_rows} rows, {len(names)} columns)")
        id_name = _id_name(self.schema, self.types, id_column, self.file)
        ids, counted = (None, False) if id_name is not None else _range_index(self.schema, self.n_rows)
        if id_name is not None:
            column = self._column(id_name)
            _check_nulls(column, id_name, self.file)
            ids = tidy_ids(column.to_pylist(), f"{self.file}, column {id_name!r}")
        names = [name for name in names if name != id_name]
        if not names:
            raise FileError(f"{self.file}: it holds sample ids but no column of numbers; add the features")
        values, encoding = self._values(names)
        _check_values(values, names, self.file, empty_cells or encoding is not None)
        matrix = Matrix(self.stem, values, features=np.array(names, dtype=object), encoding=encoding)
        return Content(self.file, (matrix,), ids=ids, counted=counted)

    def _column(self, name: str) -> Any:
        return self.parquet.read(columns=[name]).column(name)

    def _values(self, names: list[str]) -> tuple[NDArray[Any], Encoding | None]:
        types, fields = self.types, {name: self.schema.field(name).type for name in names}
        single = all(types.is_float32(field) for field in fields.values())
        at = {name: j for j, name in enumerate(names) if _is_number(types, fields[name])}
        for name, field in fields.items():
            if name not in at and not _is_text(types, field):
                raise FileError(
                    Advice(
                        f"{self.file}, column {name!r}: it holds {field}, for example "
                        f"{value_text(self._column(name)[0].as_py())}, no number; drop it, or name it with ",
                        ID_COLUMN,
                        " if it holds the sample ids",
                    )
                )
        values = room_for((self.n_rows, len(names)), np.float32 if single else np.float64, self.file)
        self._fill(values, at)
        categories: list[tuple[Any, ...] | None] = [None] * len(names)
        ordered, ranked = _pandas_categories(self.schema), set()
        for j, name in enumerate(names):
            if name not in at:
                column, is_ranked = self._column(name), bool(ordered.get(name))
                in_order = _dictionary(column) if types.is_dictionary(fields[name]) and is_ranked else None
                entries = column.to_pylist()
                missing = np.array([entry is None for entry in entries])
                values[:, j], categories[j] = text_codes(entries, missing, in_order)
                ranked |= set() if in_order is None else {j}
            elif name in ordered:  # numbers that are categories: Parquet stores them as numbers
                values[:, j], categories[j] = number_codes(values[:, j])
                ranked |= {j} if ordered[name] else set()
        if all(one is None for one in categories):
            return values, None
        kinds = tuple(
            "numeric" if one is None else "ordinal" if j in ranked else "categorical"
            for j, one in enumerate(categories)
        )
        return values, Encoding(kinds, tuple(categories))  # type: ignore[arg-type]

    def _fill(self, values: NDArray[Any], at: dict[str, int]) -> None:
        """Write the columns of numbers into their places, some columns of a row group at a time."""
        start, names = 0, list(at)
        for group in range(self.parquet.num_row_groups):
            stop = start + self.parquet.metadata.row_group(group).num_rows
            for first in range(0, len(names), COLUMNS):
                some = names[first : first + COLUMNS]
                table = self.parquet.read_row_group(group, columns=some)
                columns = [(at[name], self._numbers(table.column(name))) for name in some]
                for i in range(start, stop, ROWS):  # in blocks: with far fewer accesses to memory
                    for j, column in columns:
                        values[i : min(i + ROWS, stop), j] = column[i - start : i - start + ROWS]
            start = stop

    def _numbers(self, column: Any) -> NDArray[Any]:
        """Return a column as floats; nulls become NaN."""
        if not self.types.is_float32(column.type):
            column = column.cast("float64", safe=False)  # large integers are rounded, as by NumPy
        return np.asarray(column.to_numpy())


def _check_sizes(metadata: Any, source: Source) -> None:
    packed = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
    needed = max(packed, 8 * metadata.num_rows * metadata.num_columns)
    check_size(needed, source.max_bytes, source.file, "unpacks to")


def _id_name(schema: Any, types: Any, id_column: str | None, file: str) -> str | None:
    """Return the column with ids: the one asked for, the index of pandas, or a first column of text."""
    names = list(schema.names)
    if id_column is not None:
        if id_column not in names:
            raise FileError(
                Advice(
                    f"{file}: there is no column {id_column!r}, as ",
                    ID_COLUMN,
                    f" asks; it has {listed(map(value_text, names))}",
                )
            )
        return id_column
    stored = [name for name in _pandas_index(schema) if name in names]
    if len(stored) > 1:
        raise FileError(
            Advice(
                f"{file}: its index has {len(stored)} levels; name the one that holds ids with ", ID_COLUMN
            )
        )
    if stored:
        return stored[0]
    kind = schema.field(0).type
    words = types.is_string(kind) or types.is_large_string(kind)
    return names[0] if words or names[0].lower() in ID_NAMES else None


def _pandas_index(schema: Any) -> list[str]:
    """Return the names of the columns that were the index; a range is stored as a dict."""
    return [name for name in _pandas(schema, "index_columns") if isinstance(name, str)]


def _range_index(schema: Any, n_rows: int) -> tuple[NDArray[np.int64] | None, bool]:
    """Return the ids in an index that is a range, or say that it is only 0, 1, 2, ..."""
    for index in _pandas(schema, "index_columns"):
        if isinstance(index, dict) and index.get("kind") == "range":
            bounds: list[Any] = [index.get(part) for part in ("start", "stop", "step")]
            if all(isinstance(bound, int) and abs(bound) < 1 << 62 for bound in bounds) and bounds[2]:
                ids = range(*bounds)
                if len(ids) == n_rows:
                    counts = ids == range(n_rows)
                    return (None, True) if counts else (np.array(ids, dtype=np.int64), False)
    return None, False


def _pandas_categories(schema: Any) -> dict[str, bool]:
    """Return the columns that pandas had as categories, and whether these are in order."""
    found = {}
    for column in _pandas(schema, "columns"):
        if isinstance(column, dict) and column.get("pandas_type") == "categorical":
            about = column.get("metadata")
            found[str(column.get("field_name"))] = isinstance(about, dict) and about.get("ordered") is True
    return found


def _pandas(schema: Any, part: str) -> list[Any]:
    """Return what pandas wrote about the table; nothing if it was not pandas."""
    try:
        stored = json.loads((schema.metadata or {}).get(b"pandas", b"{}")).get(part, [])
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


def _is_number(types: Any, kind: Any) -> bool:
    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    return any(test(kind) for test in tests)


def _dictionary(column: Any) -> tuple[str, ...]:
    """Return the categories of a column in their order."""
    return tuple(column.combine_chunks().dictionary.to_pylist())


def _is_text(types: Any, kind: Any) -> bool:
    if types.is_dictionary(kind):
        return _is_text(types, kind.value_type)
    return bool(types.is_string(kind) or types.is_large_string(kind))


def _check_values(values: Any, names: list[str], file: str, empty_cells: bool) -> None:
    """Say where the first infinity is, or the first empty cell if these are not wanted."""
    found = wrong_entries(values, empty_cells=empty_cells)
    if found is not None:
        what, j = "infinite" if found.infinite else "missing", found.column
        raise FileError(
            f"{file}, row {found.row + 1}, column {names[j]!r}: the value is {what}, {found.by_column[j]} "
            "such here; fill it in or drop the row or column"
        )
