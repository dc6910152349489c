"""Reading: from what a user passes to one table per view, and its values as floats."""

from __future__ import annotations

import numbers
import os
import reprlib
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..graphs import check_sparse
from .device_arrays import DeviceArray, in_memory, is_foreign, read_foreign
from .frames import is_polars, read_frame, read_polars
from .graphs import GraphView, ask_for_kind, looks_like_graph
from .tables import (
    NUMERIC,
    Ids,
    Table,
    ViewTypeError,
    is_frame,
)


def is_annotated(data: Any) -> bool:
    """Say whether this behaves like an AnnData or a MuData."""
    return hasattr(data, "obs_names") and (hasattr(data, "mod") or hasattr(data, "obsm"))


def _is_row(data: Any) -> bool:
    if isinstance(data, (list, tuple)):
        return len(data) == 0 or not (isinstance(data[0], (list, tuple)) or getattr(data[0], "shape", None))
    return isinstance(data, np.ndarray) and data.ndim == 1


def split_views(data: Any) -> tuple[list[str], list[Any]]:
    """Return default names and the views, unread."""
    if isinstance(data, Mapping) and not sparse.issparse(data):  # SciPy's dok_array is both
        names, views = [str(key) for key in data], list(data.values())
    elif isinstance(data, (list, tuple)) and not (
        len(data) and (all(map(_is_row, data)) or all(isinstance(entry, numbers.Number) for entry in data))
    ):
        names, views = [f"view_{i}" for i in range(len(data))], list(data)
    else:
        names, views = ["view_0"], [data]
    return names, views


def read_table(name: str, raw: Any, id_column: str | None) -> Table:
    """Read one view and check that it is a table with something in it."""
    if isinstance(raw, np.ndarray):
        table = Table(name, _read_array(name, raw))
    elif sparse.issparse(raw):
        check_sparse(raw, f"view {name!r}")
        table = Table(name, raw)
    elif is_foreign(raw):
        table = Table(name, read_foreign(name, raw))
    elif isinstance(raw, GraphView):
        ids = None if raw.counted else raw.nodes
        table = Table(name, raw.matrix, ids=ids, column_ids=ids, counted=raw.counted, graph=raw.kind)
    elif looks_like_graph(raw):
        raise ValueError(ask_for_kind(name, raw))
    elif is_frame(raw):
        table = read_frame(name, raw, id_column)
    elif is_polars(raw):
        table = read_polars(name, raw, id_column)
    else:
        table = Table(name, _read_array(name, raw))
    shape = table.values.shape
    if len(shape) < 2:
        raise ValueError(
            f"view {name!r} must be 2-D (samples x features), but has shape {shape}. Reshape your data: "
            "array.reshape(-1, 1) if it is a single feature, array.reshape(1, -1) if it is a single sample"
        )
    if len(shape) > 2:
        raise ValueError(f"view {name!r} has shape {shape}: pass a list of 2-D arrays, one for each view")
    for n, what in zip(shape, ("sample", "feature"), strict=True):
        if n == 0:
            raise ValueError(f"view {name!r}: 0 {what}(s) (shape={shape}) while a minimum of 1 is required.")
    return table


def _is_path(raw: Any) -> bool:
    return isinstance(raw, (str, os.PathLike))


def _read_array(name: str, raw: Any) -> NDArray[Any]:
    nested = isinstance(raw, (list, tuple))
    # A Views inside a list has an __array__ too, which only raises an error.
    if hasattr(raw, "sample_ids") or not (nested or hasattr(raw, "__array__")):
        file = "; files are read by consilience.io.readers.read_views"
        raise ValueError(
            f"view {name!r} is a {type(raw).__name__}, which is no view: pass 2-D arrays, sparse matrices or "
            f"DataFrames, one alone or several in a list or dict{file if _is_path(raw) else ''}"
        )
    if np.ma.is_masked(raw):  # an entry that the array hides is missing, even if a number is stored for it
        return np.ma.filled(raw.astype(np.float64), np.nan)
    try:
        values = np.asarray(raw)
    except ValueError:
        raise ValueError(f"view {name!r} is no table: its rows differ in length") from None
    # NumPy turns numbers in a list with a string into strings, and the message would name the wrong entry.
    return np.asarray(raw, dtype=object) if nested and values.dtype.kind in "US" else values


Array: TypeAlias = Any  # a C-contiguous ndarray, or a canonical csr_array or csr_matrix, of floats

_BLOCK = 1 << 16  # entries checked together when searching for NaN, so that no large temporary is made


def to_floats(
    table: Table, seen: NDArray[np.bool_] | None, square: bool, ids: Ids | None
) -> tuple[Array, NDArray[np.bool_] | None]:
    """Return a view's values as floats, zeros where a sample was not seen, and which samples it has seen.

    A row that holds nothing but NaN is a sample that was not seen; single NaN stay.
    """
    values = in_memory(table.values) if square else table.values
    kind = values.dtype.kind
    if kind == "c":
        raise ValueError(f"view {table.name!r}: Complex data not supported, pass real and imaginary parts")
    dtype = np.float32 if kind == "f" and values.dtype.itemsize == 4 else np.float64
    if sparse.issparse(values):
        if kind not in "biuf":
            raise ViewTypeError(f"view {table.name!r} is sparse and holds {values.dtype}, which is no number")
        values = _canonical(values)
    elif kind not in "biuf":
        values = values.astype(object)
        gone = _empty_rows(values)
        if gone.any():
            seen = ~gone if seen is None else seen & ~gone
        if seen is not None:
            values[~seen] = 0
        values = _numbers(table, values, ids)
    if isinstance(values, DeviceArray):
        return _device_floats(values.as_type(dtype), table, seen, ids)
    with np.errstate(over="ignore"):  # a long double beyond float64 becomes infinity, which is then found
        if not sparse.issparse(values):
            values = np.require(values, dtype=dtype, requirements=["C", "A"])
        elif values.dtype != dtype:
            values = values.astype(dtype)
    finite = is_finite(values)
    if not finite:
        empty = _nan_rows(values, square)
        if empty.any():
            seen = ~empty if seen is None else seen & ~empty
    if seen is not None and not seen.all():
        values = _hidden(values, seen, square)
    if not finite and not is_finite(values):
        check_cells(values, lambda i, j: table.place(i, j, ids), allow_nan=True)
    return values, seen


def _device_floats(
    values: DeviceArray, table: Table, seen: NDArray[np.bool_] | None, ids: Ids | None
) -> tuple[DeviceArray, NDArray[np.bool_] | None]:
    """Do the same for an array on a device: only which samples were not seen comes here."""
    finite = values.is_finite()
    empty = None if finite else values.empty_rows()
    if empty is not None and empty.any():
        seen = ~empty if seen is None else seen & ~empty
    if seen is not None and not seen.all():
        values = values.hidden(seen)
    if not finite and values.has_infinite():  # single NaN may be accepted later
        check_cells(values, lambda i, j: table.place(i, j, ids), allow_nan=True)
    return values, seen


def is_finite(values: Array) -> bool:
    """Say whether the sum is finite: one pass without temporaries; a sum that overflows is checked later."""
    if isinstance(values, DeviceArray):
        return values.is_finite()
    flat = values.data if sparse.issparse(values) else values.reshape(-1)
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(flat.sum()))


def _empty_rows(entries: NDArray[Any]) -> NDArray[np.bool_]:
    """Say which rows of objects hold nothing but None and NaN."""

    def is_empty(entry: Any) -> bool:
        return entry is None or (isinstance(entry, (float, np.floating)) and bool(np.isnan(entry)))

    return np.array([all(map(is_empty, row)) for row in entries], dtype=bool)


def _nan_rows(values: Array, square: bool) -> NDArray[np.bool_]:
    """Say which samples have nothing but NaN: as rows, and as columns too if the view is pairwise."""
    n, d = values.shape
    if sparse.issparse(values):
        rows = np.repeat(np.arange(n), np.diff(values.indptr))
        counts = np.bincount(rows[np.isnan(values.data)], minlength=n)
        return np.asarray(counts == d)
    if square:  # the distance of a sample to itself may be known
        nans = np.isnan(values)
        np.fill_diagonal(nans, True)
        return np.asarray(nans.all(axis=1) & nans.all(axis=0)) if n > 1 else np.zeros(1, dtype=bool)
    empty, step = np.empty(n, dtype=bool), max(1, _BLOCK // d)
    for start in range(0, n, step):
        empty[start : start + step] = np.isnan(values[start : start + step]).all(axis=1)
    return empty


def _hidden(values: Array, seen: NDArray[np.bool_], square: bool) -> Array:
    """Return a copy with zeros for samples that were not seen, as rows and (if square) as columns."""
    if sparse.issparse(values):
        return _without(values, seen, square)
    values = values.copy()
    values[~seen] = 0
    if square:
        values[:, ~seen] = 0
    return values


def _canonical(matrix: Any) -> Any:
    """Return CSR with sorted indices, no duplicates and no unused memory, without changing the input."""
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


def check_cells(values: Any, place: Callable[[int, int], str], *, allow_nan: bool) -> None:
    """Raise a ValueError that says where the first infinity is, or the first NaN if that is not allowed."""
    values = in_memory(values)
    flat = values.data if sparse.issparse(values) else values.reshape(-1)
    first, n_nan, n_inf = -1, 0, 0
    for start in range(0, flat.size, _BLOCK):
        block = flat[start : start + _BLOCK]
        infinite, nans = np.isinf(block), np.isnan(block)
        n_nan, n_inf = n_nan + int(nans.sum()), n_inf + int(infinite.sum())
        bad = np.flatnonzero(infinite if allow_nan else infinite | nans)
        first = start + int(bad[0]) if first < 0 and bad.size else first
    if first < 0:
        return
    if sparse.issparse(values):
        i, j = int(np.searchsorted(values.indptr, first, side="right")) - 1, int(values.indices[first])
    else:
        i, j = divmod(first, values.shape[1])
    value = "NaN" if np.isnan(flat[first]) else "infinity" if flat[first] > 0 else "-infinity"
    counts = " and ".join(f"{n} {what}" for n, what in ((n_nan, "NaN"), (n_inf, "infinity")) if n)
    advice = ", or take a metric that accepts empty cells (metric='gower')" if n_nan and not n_inf else ""
    raise ValueError(
        f"{place(i, j)} holds {value} (in all {counts} in this view): fill in or drop such entries, "
        f"or hide the sample from this view with mask{advice}"
    )


def take_samples(array: Array, rows: slice | NDArray[np.intp], square: bool) -> Array:
    """Return some samples of a view: rows, and columns too if it is pairwise."""
    taken = array[rows]
    if square:
        taken = taken[:, rows]
    if isinstance(taken, DeviceArray):
        return taken
    if not sparse.issparse(taken):
        return np.ascontiguousarray(taken)
    taken.sum_duplicates()
    return taken
