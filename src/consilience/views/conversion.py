"""Converting: from raw values to finite floats, dense or CSR."""

from __future__ import annotations

import numbers
import reprlib
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .tables import (
    NUMERIC,
    Ids,
    Table,
    ViewTypeError,
    is_sparse,
)

Array: TypeAlias = Any  # a C-contiguous ndarray, or a canonical csr_array or csr_matrix, of floats

_BLOCK = 1 << 16  # entries looked at together when searching for NaN, so that no large temporary is made


def to_floats(table: Table, seen: NDArray[np.bool_] | None, square: bool, ids: Ids | None) -> Array:
    """Return a view's values as finite floats, those of unseen samples replaced by zeros."""
    values = table.values
    kind = values.dtype.kind
    if kind == "c":
        raise ValueError(f"view {table.name!r}: Complex data not supported, pass real and imaginary parts")
    dtype = np.float32 if kind == "f" and values.dtype.itemsize == 4 else np.float64
    if is_sparse(values):
        if kind not in "biuf":
            raise ViewTypeError(f"view {table.name!r} is sparse and holds {values.dtype}, which is no number")
        values = _canonical(values)
        values = values if seen is None else _without(values, seen, square)
    else:
        values = values.astype(object) if kind not in "biuf" else values if seen is None else values.copy()
        if seen is not None:
            values[~seen] = 0
            if square:
                values[:, ~seen] = 0
        if kind not in "biuf":
            values = _numbers(table, values, ids)
    with np.errstate(over="ignore"):  # a long double beyond float64 becomes infinity, which is then found
        if not is_sparse(values):
            values = np.require(values, dtype=dtype, requirements=["C", "A"])
        elif values.dtype != dtype:
            values = values.astype(dtype)
    _check_finite(values, lambda i, j: table.place(i, j, ids))
    return values


def _canonical(matrix: Any) -> Any:
    """Return CSR with sorted indices, no duplicates and no spare room, without touching what was given."""
    csr = matrix.tocsr()
    if not csr.has_canonical_format or csr.data.size > csr.indptr[-1]:
        csr = csr.copy() if csr is matrix else csr
        csr.sum_duplicates()
        csr.prune()
    return csr


def _without(csr: Any, seen: NDArray[np.bool_], square: bool) -> Any:
    """Return the matrix with the rows (and columns, if square) of unseen samples emptied."""
    rows = np.repeat(np.arange(csr.shape[0]), np.diff(csr.indptr))
    keep = seen[rows] & seen[csr.indices] if square else seen[rows]
    counts = np.bincount(rows[keep], minlength=csr.shape[0])
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(csr.indptr.dtype)
    return type(csr)((csr.data[keep], csr.indices[keep], indptr), shape=csr.shape)


def _numbers(table: Table, entries: NDArray[Any], ids: Ids | None) -> NDArray[np.float64]:
    wrong = {kind for kind in set(map(type, entries.flat)) if not issubclass(kind, (numbers.Real, np.bool_))}
    for (i, j), entry in np.ndenumerate(entries) if wrong else ():
        if type(entry) in wrong:
            raise ViewTypeError(
                f"{table.place(i, j, ids)} holds {reprlib.repr(entry)} ({type(entry).__name__}): {NUMERIC}"
            )
    try:
        return entries.astype(np.float64)
    except OverflowError:
        raise ValueError(f"view {table.name!r} holds an integer that is too large for a float") from None


def _check_finite(values: Any, place: Callable[[int, int], str]) -> None:
    flat = values.data if is_sparse(values) else values.reshape(-1)
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(flat.sum()):  # one pass without temporaries; a sum that overflows is looked at below
            return
    first, n_nan, n_inf = -1, 0, 0
    for start in range(0, flat.size, _BLOCK):
        block = flat[start : start + _BLOCK]
        bad = np.flatnonzero(~np.isfinite(block))
        nans = int(np.isnan(block[bad]).sum())
        n_nan, n_inf = n_nan + nans, n_inf + bad.size - nans
        first = start + int(bad[0]) if first < 0 and bad.size else first
    if first < 0:
        return
    if is_sparse(values):
        i, j = int(np.searchsorted(values.indptr, first, side="right")) - 1, int(values.indices[first])
    else:
        i, j = divmod(first, values.shape[1])
    value = "NaN" if np.isnan(flat[first]) else "infinity" if flat[first] > 0 else "-infinity"
    counts = " and ".join(f"{n} {what}" for n, what in ((n_nan, "NaN"), (n_inf, "infinity")) if n)
    raise ValueError(
        f"{place(i, j)} holds {value} (in all {counts} in this view): fill in or drop such entries, "
        "or hide the sample from this view with mask"
    )


def take_samples(array: Array, rows: slice | NDArray[np.intp], square: bool) -> Array:
    """Return some samples of a view: rows, and columns too if it is pairwise."""
    taken = array[rows]
    if square:
        taken = taken[:, rows]
    if not is_sparse(taken):
        return np.ascontiguousarray(taken)
    taken.sum_duplicates()
    return taken
