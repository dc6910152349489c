"""MATLAB 7.3 files: HDF5 with conventions of its own, read by h5py.

Matrices are stored transposed, cell arrays as references to other places in the file, sparse matrices
as groups of `data`, `ir` and `jc`, structs as groups of fields.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .errors import FileError, check_size, optional, reason
from .formats import Source
from .variables import Refused, Variables

_DEEPEST = 12  # cells within cells: references may form a circle


def load_hdf5(source: Source) -> Variables:
    """Return the variables of a MATLAB 7.3 file."""
    h5py = optional("h5py", source.file, "a MATLAB 7.3 file")
    try:
        with h5py.File(source.path, "r") as file:
            return _Reader(h5py, file, source).fields(file, 0)
    except FileError:
        raise
    except Exception as error:  # h5py passes on errors of the C library, which are of many kinds
        raise FileError(f"{source.file}: it is a damaged or cut short HDF5 file ({reason(error)})") from None


class _Reader:
    """Turns the objects of one file into plain values, and counts the memory that they take."""

    def __init__(self, h5py: Any, file: Any, source: Source) -> None:
        self.h5py, self.file, self.source = h5py, file, source
        self.taken = 0

    def fields(self, group: Any, depth: int) -> Variables:
        """Return the variables in a group, without those for MATLAB itself (#refs#, #subsystem#)."""
        return {name: self._member(group, name, depth) for name in group if not name.startswith("#")}

    def _member(self, group: Any, name: str, depth: int) -> Any:
        # Following links out of the file would let it read other files.
        if not isinstance(group.get(name, getlink=True), self.h5py.HardLink):
            return Refused("a link to something else")
        return self.value(group[name], name, depth)

    def value(self, item: Any, name: str, depth: int) -> Any:
        """Return the value of a dataset or group."""
        if depth > _DEEPEST:
            raise FileError(f"{self.source.file}, variable {name}: cells are nested too deeply; flatten them")
        matlab_class = _text(item.attrs.get("MATLAB_class", b""))
        if "MATLAB_object_decode" in item.attrs or matlab_class == "function_handle":
            return Refused(
                "a function handle" if matlab_class == "function_handle" else "an object of a class"
            )
        if isinstance(item, self.h5py.Group):
            if "MATLAB_sparse" in item.attrs:
                return self._sparse(item, name)
            return self._structs(self.fields(item, depth + 1), item)
        if not isinstance(item, self.h5py.Dataset) or item.is_virtual or item.external:
            return Refused("data kept in another file")
        if item.attrs.get("MATLAB_empty", 0):
            return "" if matlab_class == "char" else [] if matlab_class == "cell" else np.empty((0, 0))
        if self._refers(item):
            cells = [
                self._cell(ref, f"{name}{{{i}}}", depth)
                for i, ref in enumerate(self._read(item, name).ravel(), 1)
            ]
            return cells
        if matlab_class == "char":
            codes = self._read(item, name)
            texts = ["".join(map(chr, row)).rstrip() for row in np.atleast_2d(codes.T)]
            return texts[0] if len(texts) == 1 else texts
        if item.dtype.kind not in "biufc":
            return Refused(f"data of type {item.dtype}")
        return self._read(item, name).T

    def _structs(self, fields: Variables, group: Any) -> Any:
        """Return one struct, or a list of them where every field is a list of references."""
        arrays = [
            name
            for name in fields
            if isinstance(group[name], self.h5py.Dataset)
            and self._refers(group[name])
            and "MATLAB_class" not in group[name].attrs
        ]
        if not arrays or len(arrays) < len(fields) or "MATLAB_class" not in group.attrs:
            return fields
        return [dict(zip(fields, values, strict=True)) for values in zip(*fields.values(), strict=True)]

    def _refers(self, dataset: Any) -> bool:
        return self.h5py.check_ref_dtype(dataset.dtype) is self.h5py.Reference

    def _cell(self, reference: Any, name: str, depth: int) -> Any:
        return self.value(self.file[reference], name, depth + 1) if reference else np.empty((0, 0))

    def _read(self, item: Any, name: str) -> Any:
        """Read a dataset after checking its size; one that is referred to twice counts twice."""
        self.taken += int(np.prod(item.shape, dtype=object)) * item.dtype.itemsize
        check_size(self.taken, self.source.max_bytes, f"{self.source.file}, variable {name}", "unpacks to")
        return item[()]

    def _sparse(self, group: Any, name: str) -> Any:
        place = f"{self.source.file}, variable {name}"
        n_rows = int(group.attrs["MATLAB_sparse"])
        check_size(8 * n_rows, self.source.max_bytes, place)
        if "data" not in group:  # all entries are zero
            return sparse.csc_array((n_rows, group["jc"].shape[0] - 1))
        parts = [self._member(group, part, 0) for part in ("data", "ir", "jc")]
        if any(not isinstance(part, np.ndarray) for part in parts):
            raise FileError(f"{place}: it is a damaged sparse matrix; save it again")
        data, ir, jc = (part.ravel() for part in parts)
        try:
            ir, jc = ir.astype(np.int64), jc.astype(np.int64)
            matrix = sparse.csc_array((data, ir, jc), shape=(n_rows, jc.size - 1))
            matrix.check_format(full_check=True)
        except (ValueError, TypeError) as error:
            raise FileError(
                f"{place}: it is a damaged sparse matrix ({reason(error)}); save it again"
            ) from None
        return matrix


def _text(value: Any) -> str:
    return value.decode("ascii", "replace") if isinstance(value, bytes) else str(value)
