"""AnnData and MuData files, .h5ad and .h5mu: HDF5, read by the packages that define them.

These read arrays, tables and text, and run nothing. Dangerous parts of HDF5 itself are checked before: links
into other files, data kept elsewhere, groups within themselves, and sizes.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import sparse

from ...run.messages import Advice, text_of
from ...views.annotated import gather, is_anndata, is_mudata
from ...views.tables import is_frame
from ...words import listed, value_text
from .contents import Content, Labels, Matrix, tidy_labels
from .errors import FileError, check_size, optional, reason
from .formats import Source

KINDS = {
    "h5ad": ("anndata", "read_h5ad", "an AnnData file"),
    "h5mu": ("mudata", "read_h5mu", "a MuData file"),
}


def read_annotated_file(source: Source, use_rep: Any = None, labels_key: str | None = None) -> Content:
    """Read an .h5ad or .h5mu file: one view for each modality or representation, cells as samples."""
    package, function, what = KINDS[source.kind]
    read = getattr(optional(package, source.file, what, "h5mu"), function)
    try:
        _examine(optional("h5py", source.file, what, "h5mu"), source)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about names and formats, for people who write such files
            data = read(source.path)
    except (FileError, MemoryError):
        raise
    except Exception as error:  # the libraries raise errors of many kinds
        raise FileError(
            f"{source.file}: it is a damaged or cut short .{source.kind} file ({reason(error)})"
        ) from None
    if not (is_mudata(data) if source.kind == "h5mu" else is_anndata(data)):
        raise FileError(f"{source.file}: it does not hold {what.removesuffix(' file')}; save it again")
    return _content(data, source, use_rep, labels_key)


def _content(data: Any, source: Source, use_rep: Any, labels_key: str | None) -> Content:
    labels = None if labels_key is None else _labels(data, labels_key, source.file)
    try:
        found = gather(data, use_rep)
    except ValueError as error:
        raise FileError(Advice(f"{source.file}: ", text_of(error))) from None
    matrices = []
    for name, values, features in zip(found.names, found.arrays, found.feature_names, strict=True):
        place = f"{source.file}: {name}"
        if sparse.issparse(values):
            check_size(8 * (max(values.shape) + 1) + 16 * values.nnz, source.max_bytes, place)
        if 0 in values.shape:
            raise FileError(f"{place} is empty ({values.shape[0]} x {values.shape[1]}); leave it out")
        if is_frame(values):
            features = np.asarray(values.columns, dtype=object)
            numeric = all(getattr(dtype, "kind", "O") in "biuf" for dtype in values.dtypes)
            values = values.to_numpy(dtype=np.float64) if numeric else values
        matrices.append(Matrix(name, values, name, features))
    return Content(source.file, tuple(matrices), labels, found.sample_ids, found.mask, data)


def _labels(data: Any, key: str, file: str) -> Labels:
    """Return a column of obs as labels."""
    if key not in data.obs.columns:
        have = listed(map(value_text, data.obs.columns)) or "none"
        raise FileError(f"{file}: there is no column {value_text(key)} in obs; its columns are {have}")
    return tidy_labels(np.asarray(data.obs[key]), f"{file}, obs column {value_text(key)}")


def _examine(h5py: Any, source: Source) -> None:
    """Refuse links out of the file, and data that would take more memory than allowed, before it is read."""
    with h5py.File(source.path, "r") as file:
        met: set[int] = set()
        taken, groups = 0, [file]
        while groups:
            group = groups.pop()
            address = h5py.h5o.get_info(group.id).addr
            if address in met:
                raise FileError(
                    f"{source.file}: its group {value_text(group.name)} is met twice; save it again"
                )
            met.add(address)
            for name in group:
                place = f"{source.file}, {group.name.rstrip('/')}/{name}"
                if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                    raise FileError(
                        f"{place} is a link to something else; save the file with what it links to"
                    )
                item = group[name]
                if isinstance(item, h5py.Group):
                    groups.append(item)
                elif isinstance(item, h5py.Dataset):
                    if item.is_virtual or item.external:
                        raise FileError(f"{place} is kept in another file; save the file with all its data")
                    taken += int(np.prod(item.shape or (), dtype=object)) * item.dtype.itemsize
                    check_size(taken, source.max_bytes, source.file, "unpacks to")
