"""Rows of text files: encoding, delimiter, quotes, blank lines and comments, but not what the cells mean."""

from __future__ import annotations

import csv
import io
import re
import zlib
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import closing
from itertools import islice
from typing import TypeAlias

from ...words import value_text
from .errors import FileError
from .formats import Source

Row: TypeAlias = tuple[int, list[str]]  # number of the line where it starts, and its cells

# In order of preference: "1,5;2,5" is equally regular when it is cut at commas.
DELIMITERS = ("\t", ";", "|", ",", " ")
SAMPLE = 30  # lines examined to find the delimiter
_NUMBER = re.compile(
    r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?|[+-]?(inf|infinity)", re.ASCII | re.IGNORECASE
)
_MISSING = frozenset(("", "na", "n/a", "nan", "null", "none", "?", "#n/a"))


def is_missing(cell: str) -> bool:
    """Say whether a cell stands for a missing value."""
    return cell.strip().lower() in _MISSING


def is_number(cell: str) -> bool:
    """Say whether a cell is a number, with a decimal point or comma."""
    return _NUMBER.fullmatch(cell.strip()) is not None


class Rows:
    """The rows of a text file, in order, with the numbers of their lines.

    Parameters
    ----------
    source : Source
        The file.
    delimiters : sequence of str
        Delimiters to choose from.
    """

    def __init__(self, source: Source, delimiters: tuple[str, ...] = DELIMITERS) -> None:
        self.source, self.file = source, source.file
        self.encoding = _encoding(source)
        with closing(self._lines()) as lines:
            sample = [line for line in islice(lines, SAMPLE) if line.strip()]
        if not sample:
            raise FileError(f"{self.file}: the file holds nothing but blank lines; save it again")
        self.delimiter = _best_delimiter(sample, delimiters)

    def __iter__(self) -> Iterator[Row]:
        blank, width, comment = 0, 0, None
        for line, row in self._parsed():
            if not any(row):  # an empty line, or one of blanks
                if len(row) < 2:
                    blank = blank or line
                    continue
            elif not width and row[0].startswith("#"):
                comment = (line, [row[0].lstrip("# "), *row[1:]] if row[0].strip("# ") else row[1:])
                continue
            if not width:
                width = len(row)
                if comment is not None and len(comment[1]) == width:
                    yield comment  # "# a, b, c" above three columns names them
            elif blank and width == 1:
                raise FileError(
                    f"{self.file}, line {blank}: the line is blank; fill in the value or drop the line"
                )
            blank = 0
            yield line, row

    def _parsed(self) -> Iterator[Row]:
        with closing(self._lines()) as lines:
            reader = csv.reader(
                (line.strip().replace("\t", " ") for line in lines) if self.delimiter == " " else lines,
                delimiter=self.delimiter,
                skipinitialspace=True,
                strict=True,
            )
            while True:
                start = reader.line_num + 1
                try:
                    row = next(reader)
                except StopIteration:
                    return
                except csv.Error as error:
                    raise FileError(
                        f"{self.file}, line {start}: a quote is opened here and not closed as it should be "
                        f"({error}); close it or remove it"
                    ) from None
                yield start, row

    def _lines(self) -> Generator[str, None, None]:
        try:
            with io.TextIOWrapper(self.source.open(), encoding=self.encoding, newline="") as stream:
                yield from stream
        except UnicodeError as error:
            raise self._undecodable(error) from None
        except (EOFError, OSError, zlib.error) as error:
            raise FileError(
                f"{self.file}: the file is damaged or cut short ({error}); get it again"
            ) from None

    def _undecodable(self, error: UnicodeError) -> FileError:
        if self.encoding == "utf-16":
            return FileError(f"{self.file}: it starts as UTF-16 but is cut short or damaged ({error})")
        with self.source.open() as stream:
            for number, line in enumerate(stream, start=1):
                try:
                    line.decode("utf-8")
                except UnicodeDecodeError as found:
                    byte = line[found.start]
                    return FileError(
                        f"{self.file}, line {number}: byte {byte:#04x} is not UTF-8 text; "
                        "save the file with encoding UTF-8"
                    )
        return FileError(f"{self.file}: it is not UTF-8 text ({error}); save it with encoding UTF-8")


def _encoding(source: Source) -> str:
    head = source.head
    if head[:4] in (b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff"):
        raise FileError(f"{source.file}: it is UTF-32 text; save it with encoding UTF-8")
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16"
    if b"\x00" in head:
        raise FileError(
            f"{source.file}: it holds zero bytes, so it is binary or UTF-16 without its mark; "
            "save it as text with encoding UTF-8"
        )
    return "utf-8-sig"


def _best_delimiter(sample: list[str], delimiters: tuple[str, ...]) -> str:
    """Return the delimiter that cuts most lines into the same number of cells, more than one."""
    best, most = delimiters[0], 0.0
    for delimiter in delimiters:
        lines = [line.strip() for line in sample] if delimiter == " " else sample
        try:
            widths = [
                len(row) for row in csv.reader(lines, delimiter=delimiter, skipinitialspace=True) if row
            ]
        except csv.Error:
            continue  # found again, with its line, when the rows are read
        regular = [(count, width) for width, count in Counter(widths).items() if width > 1]
        share = max(regular)[0] / len(widths) if regular else 0.0
        if share > most:
            best, most = delimiter, share
    return best


def repeated(names: list[str]) -> str:
    """Return the names that occur more than once, as text for messages."""
    return ", ".join(value_text(name) for name, count in Counter(names).items() if count > 1 and name)
