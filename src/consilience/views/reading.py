"""Reading: from what a user passes to one table per view, its values still as they came."""

from __future__ import annotations

import numbers
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .frames import is_polars, read_frame, read_polars
from .graphs import GraphView, ask_for_kind, looks_like_graph
from .tables import Table, is_frame


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
        table = Table(name, raw)
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
