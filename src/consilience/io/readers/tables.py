"""Text files as tables: header, sample ids, columns of numbers and of words, the exact place of an error."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable
from itertools import chain, islice

import numpy as np
from numpy.typing import NDArray

from consilience.views import Encoding

from ...run.messages import Advice
from ...views.encoding import text_codes
from ...words import listed, value_text
from .contents import Content, Matrix, tidy_ids
from .errors import ID_COLUMN, FileError, check_size
from .formats import Source
from .text import Row, Rows, is_missing, is_number, repeated

INDEX_NAMES = frozenset(("", "unnamed: 0"))  # how pandas writes an index without a name
ID_NAMES = INDEX_NAMES | {"id", "ids", "sample_id", "sample_ids", "sampleid"}
LOOK_AHEAD = 100  # rows examined to distinguish ids from numbers


def read_text(source: Source, id_column: str | None, empty_cells: bool = False) -> Content:
    """Read a text file as one view.

    A row without any value is a sample that the view has not seen. Single empty cells are refused, unless
    they are asked for or there are columns of words.
    """
    rows = Rows(source)
    stream = iter(rows)
    head = list(islice(stream, LOOK_AHEAD))
    header = take_header(head, id_column, source.file)
    if not head:
        raise FileError(
            f"{source.file}: there is a header but no row of numbers below it; save the file again"
        )
    table = _Cells(rows, header, head, id_column, empty_cells)
    return table.read(chain(head, stream))


def take_header(head: list[Row], id_column: str | None, file: str) -> list[str] | None:
    """Remove the first row if it names the columns, and return the names."""
    if not head:
        raise FileError(f"{file}: there is no row of data in it; save the file again")
    line, first = head[0][0], [cell.strip() for cell in head[0][1]]
    if id_column is None and not _names_columns(first):
        return None
    if id_column is not None and id_column not in first:
        raise FileError(
            Advice(
                f"{file}, line {line}: there is no column {id_column!r}, as ",
                ID_COLUMN,
                f" asks; the first row is {listed(map(value_text, first))}",
            )
        )
    del head[0]
    if head and len(head[0][1]) == len(first) + 1:  # R writes nothing above the row names
        first = ["", *first]
    if twice := repeated(first):
        raise FileError(
            f"{file}, line {line}: the column name {twice} occurs more than once; rename the columns"
        )
    return first


def _names_columns(first: list[str]) -> bool:
    names = first[1:] or first
    if len(first) > 2 and [str(i) for i in range(len(first))] == first:
        return True  # pandas names the columns 0, 1, 2, ... if they have no names
    if first[0].lower() in ID_NAMES and len(first) > 1:
        # Before numbers, a blank is a missing value unless the numbers can be names.
        return first[0] != "" or all(not is_number(name) or name.isdecimal() for name in names)
    cells = [cell for cell in names if not is_missing(cell)]
    words = sum(not is_number(cell) for cell in cells)
    # One word among numbers is a mistake in a row of data, not the name of a column.
    return words > 0 and 2 * words >= len(cells)


class _Cells:
    """The rows of one file, turned into numbers and words one by one."""

    def __init__(
        self, rows: Rows, header: list[str] | None, head: list[Row], id_column: str | None, empty_cells: bool
    ) -> None:
        self.source, self.file, self.header = rows.source, rows.file, header
        self.decimal_comma = rows.delimiter == ";"
        self.mark = ""  # the decimal mark, once one was found
        self.width = len(header) if header is not None else len(head[0][1])
        self.id_at = self._find_ids(head, id_column)
        self.columns = [j for j in range(self.width) if j != self.id_at]  # where each column was
        self.words_at = self._find_words(head)
        self.numbers_at = [j for j in self.columns if j not in self.words_at]
        self.empty_cells = empty_cells or bool(self.words_at)

    def _find_ids(self, head: list[Row], id_column: str | None) -> int | None:
        if self.header is not None and id_column is not None:
            return self.header.index(id_column)
        if self.header is not None and self.header[0].lower() in ID_NAMES:
            return 0
        cells = [row[0] for _, row in head if row and not is_missing(row[0])]
        words = sum(not is_number(cell) for cell in cells)
        return 0 if self.width > 1 and 2 * words > len(cells) else None

    def _find_words(self, head: list[Row]) -> list[int]:
        """Return the columns of words: in the first rows they hold no number, but are not all empty."""
        if self.header is None:
            return []  # without names of columns, a word is taken for a mistake
        found = []
        for j in self.columns:
            cells = [row[j] for _, row in head if len(row) > j and not is_missing(row[j])]
            if cells and not any(map(is_number, cells)):
                found.append(j)
        return found

    def read(self, rows: Iterable[Row]) -> Content:
        """Read all rows."""
        numbers, lines, ids, words = array("d"), array("q"), list[str](), list[list[str]]()
        for line, row in rows:
            if len(row) != self.width:
                raise FileError(
                    f"{self.file}, line {line}: expected {self.width} columns but found {len(row)}; "
                    "every row needs the same number of cells"
                )
            lines.append(line)
            if self.id_at is not None:
                ids.append(row[self.id_at])
            if self.words_at:
                words.append([row[j].strip() for j in self.words_at])
            numbers.extend(self._as_numbers(line, row))
            check_size(8 * (len(numbers) + len(words) * len(self.words_at)), self.source.max_bytes, self.file)
        return self._content(numbers, lines, ids, words)

    def _as_numbers(self, line: int, row: list[str]) -> list[float]:
        """Return the numbers of a row, NaN for cells that are empty where that is allowed."""
        cells = [row[j] for j in self.numbers_at]
        if self.decimal_comma:
            cells = self._with_points(line, cells)
        try:
            values = list(map(float, cells))
        except ValueError:
            values = [
                math.nan if is_missing(cell) else self._number(line, cells, j) for j, cell in enumerate(cells)
            ]
        if "_" in "".join(cells):  # only Python takes 1_000 for a number
            raise self._wrong(line, cells)
        if not all(map(math.isfinite, values)):
            unseen = all(is_missing(row[j]) for j in self.columns)
            if any(map(math.isinf, values)) or not (unseen or self.empty_cells):
                raise self._wrong(line, cells)
        return values

    def _number(self, line: int, cells: list[str], j: int) -> float:
        try:
            return float(cells[j])
        except ValueError:
            raise self._wrong(line, cells) from None

    def _content(
        self, numbers: array[float], lines: array[int], ids: list[str], words: list[list[str]]
    ) -> Content:
        if not self.columns:
            raise FileError(f"{self.file}: it holds sample ids but no column of numbers; add the features")
        values = np.frombuffer(numbers).reshape(len(lines), len(self.numbers_at))
        encoding = None
        if self.words_at:
            values, encoding = self._encoded(values, words)
        names = None
        if self.header is not None:
            kept = [self.header[j] or f"column_{j + 1}" for j in self.columns]
            names = np.array(kept, dtype=object)
        matrix = Matrix(self.source.stem, values, features=names, encoding=encoding)
        if self._only_counts(ids):
            return Content(self.file, (matrix,), counted=True)
        found = None if self.id_at is None else tidy_ids(ids, self.file, lines)
        return Content(self.file, (matrix,), ids=found)

    def _encoded(
        self, numbers: NDArray[np.float64], words: list[list[str]]
    ) -> tuple[NDArray[np.float64], Encoding]:
        """Put numbers and the codes of words side by side, in the order of the columns."""
        values = np.empty((len(numbers), len(self.columns)))
        known: list[tuple[str, ...] | None] = []
        for place, j in enumerate(self.columns):
            if j in self.words_at:
                column = [row[self.words_at.index(j)] for row in words]
                values[:, place], categories = text_codes(column, np.array(list(map(is_missing, column))))
                known.append(categories)
            else:
                values[:, place] = numbers[:, self.numbers_at.index(j)]
                known.append(None)
        kinds = tuple("numeric" if one is None else "categorical" for one in known)
        return values, Encoding(kinds, tuple(known))  # type: ignore[arg-type]

    def _only_counts(self, ids: list[str]) -> bool:
        """Say whether the ids are an index without a name that is only 0, 1, 2, ..."""
        if self.id_at is None or self.header is None or self.header[self.id_at].lower() not in INDEX_NAMES:
            return False
        return ids == [str(i) for i in range(len(ids))]

    def _with_points(self, line: int, row: list[str]) -> list[str]:
        """Return the cells with decimal points, after checking that the file has one kind of mark."""
        together = "".join(row)
        marks = "".join(mark for mark in ",." if mark in together)
        if not marks:
            return row
        self.mark = self.mark or marks[0]
        for j, cell in enumerate(row):
            other = "." if self.mark == "," else ","
            if other in cell and is_number(cell):
                raise FileError(
                    f"{self.file}, line {line}, {self._column(j)}: {value_text(cell)} has another decimal "
                    f"mark than the numbers before it ({self.mark!r}); use only one of them"
                )
        return [cell.replace(",", ".") for cell in row] if self.mark == "," else row

    def _column(self, j: int) -> str:
        """Name the j-th column of numbers as a person counts them."""
        j = self.numbers_at[j]
        name = f" ({value_text(self.header[j])})" if self.header is not None and self.header[j] else ""
        return f"column {j + 1}{name}"

    def _wrong(self, line: int, row: list[str]) -> FileError:
        """Say what is wrong with the first cell of a row that is no finite number."""
        j = next(j for j, cell in enumerate(row) if not _is_finite(cell) and not self._may_be_empty(cell))
        place, cell = f"{self.file}, line {line}, {self._column(j)}", row[j]
        if is_missing(cell):
            text = f" ({value_text(cell)})" if cell.strip() else ""
            last = (
                ""
                if cell.strip() or j + 1 < len(row)
                else ", or a delimiter at the end of the line is too many"
            )
            return FileError(
                f"{place}: the value is missing{text}{last}; fill it in, drop the row or column, or use "
                "metric gower, which accepts empty cells"
            )
        if is_number(cell) and "," in cell:
            return FileError(
                f"{place}: {value_text(cell)} has a decimal comma, read between semicolons only; use points"
            )
        if is_number(cell):
            return FileError(f"{place}: the value is infinite or too large ({value_text(cell)}); replace it")
        fact = f"{place}: {value_text(cell)} is no number; correct it or drop the column"
        if self.id_at is None and j < 1:
            return FileError(Advice(fact, "; if it is the sample's id, name the column with ", ID_COLUMN))
        return FileError(fact)

    def _may_be_empty(self, cell: str) -> bool:
        return self.empty_cells and is_missing(cell)


def _is_finite(cell: str) -> bool:
    try:
        return math.isfinite(float(cell)) and "_" not in cell
    except ValueError:
        return False
