"""What a file holds once it is read: checked matrices, and their labels and ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...graphs import check_sparse
from ...views import Encoding
from ...words import value_text
from .errors import FileError, check_size

Labels: TypeAlias = NDArray[Any]

_BLOCK = 1 << 18  # entries checked together, so that no large temporary is made


@dataclass(frozen=True)
class Matrix:
    """One view: samples as rows, dense or CSR."""

    name: str
    values: Any
    variable: str = ""  # which part of the file it is, if the file has parts
    features: NDArray[Any] | None = None
    encoding: Encoding | None = None  # what its columns are, if not all are numbers


@dataclass(frozen=True)
class Content:
    """What was found in one file. Labels, ids and mask belong to the rows of every matrix."""

    file: str
    matrices: tuple[Matrix, ...]
    labels: Labels | None = None
    ids: Labels | None = None
    mask: NDArray[np.bool_] | None = None  # which matrix has seen which sample; None: all have
    container: Any = None  # the AnnData or MuData that the file holds, if it does
    counted: bool = False  # an index 0, 1, 2, ...; these are ids only if other files have a part of them

    @property
    def n_samples(self) -> int:
        """Number of rows of the matrices."""
        return int(self.matrices[0].values.shape[0])


def shape_text(values: Any) -> str:
    """Return a shape as people write it."""
    shape = values.shape
    return (
        " x ".join(map(str, shape))
        if len(shape) > 1
        else f"1-D of length {shape[0]}"
        if shape
        else "a scalar"
    )


def checked_matrix(values: Any, place: str, max_bytes: int) -> Any:
    """Return a 2-D array or CSR matrix of finite real numbers, or say what it is instead."""
    check_form(values, place)
    if sparse.issparse(values):
        values = _checked_sparse(values, place, max_bytes)
    check_entries(values, place, empty_cells=True)  # whether these are accepted is known later
    return values


def check_form(values: Any, place: str) -> None:
    """Refuse what is not a 2-D array of real numbers; its entries are not checked."""
    kind = values.dtype.kind
    if kind == "c":
        raise FileError(f"{place}: it holds complex numbers; save real and imaginary parts as two views")
    if kind in "USO":
        raise FileError(
            f"{place}: it holds text or objects ({values.dtype}) where numbers belong; encode them"
        )
    if kind not in "biuf":
        raise FileError(f"{place}: it holds {values.dtype}, which is no number; convert it to floats")
    if values.ndim != 2:
        advice = "save one 2-D array per view" if values.ndim > 2 else "reshape it to samples x features"
        raise FileError(
            f"{place}: it is {values.ndim}-D ({shape_text(values)}), but a view is 2-D, samples x features; "
            f"{advice}"
        )
    if 0 in values.shape:
        raise FileError(f"{place}: it is empty ({shape_text(values)}); leave it out or save it again")


def float_type(dtype: Any) -> np.dtype[Any]:
    """Return the type in which numbers are kept: float32 if they are of that type, otherwise float64."""
    return np.dtype(np.float32 if dtype.kind == "f" and dtype.itemsize == 4 else np.float64)


def _checked_sparse(values: Any, place: str, max_bytes: int) -> Any:
    check_size(8 * (max(values.shape) + 1) + 16 * values.nnz, max_bytes, place)
    try:
        check_sparse(values, "it")
    except ValueError as error:
        raise FileError(f"{place}: {error}") from None
    return sparse.csr_array(values)


def check_entries(values: Any, place: str, *, empty_cells: bool) -> None:
    """Say where the first infinity is, or the first empty cell if these are not wanted.

    A row without any value is not a row of empty cells but a sample that was not seen.
    """
    found = wrong_entries(values, empty_cells=empty_cells)
    if found is not None:
        what = "infinity" if found.infinite else "NaN (a missing value)"
        raise FileError(
            f"{place}, row {found.row + 1}, column {found.column + 1}: it holds {what}, "
            f"{int(found.by_column.sum())} such in all; fill in or drop these entries"
        )


@dataclass(frozen=True, eq=False)
class WrongEntries:
    """Where the first wrong entry is, whether it is infinite or NaN, and how many each column has."""

    row: int
    column: int
    infinite: bool
    by_column: NDArray[np.int64]


def wrong_entries(values: Any, *, empty_cells: bool) -> WrongEntries | None:
    """Look for infinities, and for empty cells if these are not wanted; None if there are none."""
    stored = values.data if sparse.issparse(values) else values
    with np.errstate(over="ignore", invalid="ignore"):
        if stored.dtype.kind != "f" or np.isfinite(stored.sum()):
            return None
    if sparse.issparse(values):
        return _wrong_stored(values.tocoo(), empty_cells)
    n, d = values.shape
    counts, first = np.zeros(d, dtype=np.int64), None
    step = max(1, _BLOCK // d)
    for start in range(0, n, step):
        block = values[start : start + step]
        wrong = np.isinf(block)
        if not empty_cells:
            empty = np.isnan(block)
            wrong |= empty & ~empty.all(axis=1, keepdims=True)
        counts += wrong.sum(axis=0)
        if first is None and wrong.any():
            i, j = (int(place) for place in np.argwhere(wrong)[0])
            first = start + i, j, bool(np.isinf(block[i, j]))
    return None if first is None else WrongEntries(*first, counts)


def _wrong_stored(entries: Any, empty_cells: bool) -> WrongEntries | None:
    n, d = entries.shape
    wrong, empty = np.isinf(entries.data), np.isnan(entries.data)
    if not empty_cells:
        wrong |= empty & (np.bincount(entries.row[empty], minlength=n)[entries.row] < d)
    if not wrong.any():
        return None
    at = int(np.argmax(wrong))
    counts = np.bincount(entries.col[wrong], minlength=d)
    return WrongEntries(int(entries.row[at]), int(entries.col[at]), bool(np.isinf(entries.data[at])), counts)


def tidy_labels(values: Any, place: str) -> Labels:
    """Return labels as a 1-D array of int64 or of text."""
    labels = np.asarray(values).ravel()
    kind = labels.dtype.kind
    if kind in "OS":
        labels, kind = labels.astype(str), "U"
    if kind == "U":
        empty = np.flatnonzero(np.isin(labels, ("", "NA", "N/A", "NaN", "nan")))
        if empty.size:
            raise FileError(
                f"{place}: label {empty[0] + 1} is missing ({value_text(str(labels[empty[0]]))}); fill it in"
            )
        return labels
    if kind not in "biuf":
        raise FileError(f"{place}: it holds {labels.dtype}, but labels are whole numbers or text")
    if kind == "f":
        with np.errstate(invalid="ignore"):
            wrong = np.flatnonzero(~np.isfinite(labels) | (labels != np.round(labels)))
        if wrong.size:
            value = float(labels[wrong[0]])
            raise FileError(f"{place}: label {wrong[0] + 1} is {value}, but labels are whole numbers or text")
    return labels.astype(np.int64)


def tidy_ids(values: Any, place: str, lines: Sequence[int] | None = None) -> Labels:
    """Return unique sample ids: integers if they all are plain ones, otherwise text."""
    texts = [str(value).strip() for value in values]
    what, numbers = ("row", range(1, len(texts) + 1)) if lines is None else ("line", lines)
    met: dict[str, int] = {}
    for i, text in enumerate(texts):
        if not text:
            raise FileError(f"{place}, {what} {numbers[i]}: the sample id is empty; give every sample an id")
        if met.setdefault(text, i) != i:
            raise FileError(
                f"{place}, {what} {numbers[i]}: the sample id {value_text(text)} is in {what} "
                f"{numbers[met[text]]} already; drop the repeated row, or the column if it holds no ids"
            )
    # Not "007" or "1.0": an id that would be written differently as a number stays text.
    whole = all(text.isdecimal() and str(int(text)) == text and len(text) < 19 for text in texts)
    return np.array([int(text) for text in texts]) if whole else np.array(texts)
