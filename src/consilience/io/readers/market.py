"""Matrix Market files: one matrix, usually sparse, as text.

SciPy's reader trusts the header: a changed byte in it can end the whole process. Here the numbers are read
by NumPy and put in place after they were checked.
"""

from __future__ import annotations

import io
import warnings
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...words import listed, value_text
from .contents import Content, Matrix, checked_matrix
from .errors import FileError, check_size, reason
from .formats import Source

_WORDS = (  # the words allowed in the first line, in order
    ("%%matrixmarket",),
    ("matrix",),
    ("coordinate", "array"),
    ("real", "double", "integer", "unsigned-integer", "pattern", "complex"),
    ("general", "symmetric", "skew-symmetric", "hermitian"),
)


@dataclass(frozen=True)
class _Header:
    n_rows: int
    n_columns: int
    n_entries: int  # as many as are stored
    is_array: bool
    pattern: bool
    symmetry: str

    @property
    def width(self) -> int:
        """How many numbers a line holds."""
        return 1 if self.is_array else 2 if self.pattern else 3


def read_mtx(source: Source) -> Content:
    """Read a Matrix Market file as one view, rows as samples."""
    try:
        with io.TextIOWrapper(source.open(), encoding="latin-1") as stream:
            header = _read_header(stream, source)
            body = np.empty((0, header.width))
            if header.n_entries:
                body = _numbers(stream, header.n_entries + 1)  # one more, to see whether there are more
    except FileError:
        raise
    except (ValueError, EOFError, OSError, zlib.error) as error:
        raise FileError(
            f"{source.file}: it is damaged or cut short ({reason(error)}); get it again"
        ) from None
    if body.shape != (header.n_entries, header.width):
        raise FileError(
            f"{source.file}: it is damaged or cut short: expected {header.n_entries} entries of "
            f"{header.width} numbers, but found {len(body)} of {body.shape[1]}; get it again"
        )
    matrix = _dense(body, header) if header.is_array else _placed(body, header, source.file)
    return Content(source.file, (Matrix(source.stem, checked_matrix(matrix, source.file, source.max_bytes)),))


def _read_header(stream: Any, source: Source) -> _Header:
    words = stream.readline().lower().split()
    wrong = [word for word, known in zip(words, _WORDS, strict=False) if word not in known]
    if wrong or len(words) != len(_WORDS):
        problem = (
            f"{value_text(wrong[0])} is unknown" if wrong else f"{len(words)} words instead of {len(_WORDS)}"
        )
        raise FileError(f"{source.file}, line 1: the header is damaged ({problem}); get the file again")
    if words[3] == "complex":
        raise FileError(
            f"{source.file}: it holds complex numbers; save real and imaginary parts as two views"
        )
    is_array = words[2] == "array"
    lines = ((i, line) for i, line in enumerate(stream, start=2) if line.strip() and not line.startswith("%"))
    number, line = next(lines, (0, ""))
    if not number:
        raise FileError(f"{source.file}: it is cut short after the header; get it again")
    sizes = line.split()
    if len(sizes) != (2 if is_array else 3) or not all(size.isdecimal() and len(size) < 19 for size in sizes):
        what = "rows and columns" if is_array else "rows, columns and entries"
        raise FileError(f"{source.file}, line {number}: expected the numbers of {what}, got {listed(sizes)}")
    n_rows, n_columns, n_entries = [*map(int, sizes), 0][:3]
    if words[4] != "general" and n_rows != n_columns:
        raise FileError(
            f"{source.file}, line {number}: a {words[4]} matrix is square, but it is {n_rows} x {n_columns}"
        )
    if is_array:
        skew = words[4] == "skew-symmetric"
        half = n_rows * (n_rows - 1) // 2 if skew else n_rows * (n_rows + 1) // 2
        n_entries = n_rows * n_columns if words[4] == "general" else half
    needed = 8 * n_rows * n_columns if is_array else 24 * n_entries + 8 * (max(n_rows, n_columns) + 1)
    check_size(needed, source.max_bytes, source.file)
    return _Header(n_rows, n_columns, n_entries, is_array, words[3] == "pattern", words[4])


def _numbers(stream: Any, most: int) -> NDArray[np.float64]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy warns about blank lines, and if there is no number at all
        return np.loadtxt(stream, comments="%", ndmin=2, max_rows=most)


def _dense(body: NDArray[np.float64], header: _Header) -> NDArray[np.float64]:
    shape = header.n_rows, header.n_columns
    if header.symmetry == "general":
        return body.reshape(shape, order="F")
    skew = header.symmetry == "skew-symmetric"
    matrix = np.zeros(shape)
    # The lower triangle by columns is the upper one by rows.
    columns, rows = np.triu_indices(header.n_rows, k=int(skew))
    matrix[columns, rows] = -body[:, 0] if skew else body[:, 0]
    matrix[rows, columns] = body[:, 0]
    return matrix


def _placed(body: NDArray[np.float64], header: _Header, file: str) -> Any:
    """Return the sparse matrix, after checking that every entry is in it."""
    shape = header.n_rows, header.n_columns
    places = body[:, :2]
    wrong = np.flatnonzero(~((places >= 1) & (places <= shape) & (places == np.floor(places))).all(axis=1))
    if wrong.size:
        i, j = places[wrong[0]].tolist()
        raise FileError(
            f"{file}, entry {wrong[0] + 1}: row {i:g}, column {j:g} is not in a matrix of {shape[0]} x "
            f"{shape[1]}; the file is damaged, get it again"
        )
    rows, columns = (places.T - 1).astype(np.int64)
    values = np.ones(len(body)) if header.pattern else body[:, 2]
    if header.symmetry != "general":
        off = rows != columns
        sign = -1.0 if header.symmetry == "skew-symmetric" else 1.0
        rows, columns = np.concatenate([rows, columns[off]]), np.concatenate([columns, rows[off]])
        values = np.concatenate([values, sign * values[off]])
    return sparse.coo_array((values, (rows, columns)), shape=shape)
