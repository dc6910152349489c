"""AnnData and MuData as views. They are recognised by their attributes: neither package is imported.

A representation of a modality is named as scanpy names it, or with its place:

=================  ====================================================
``"X"``            the matrix X
``"<key>"``        the entry of obsm with that key, such as ``"X_pca"``
``"obsm/<key>"``   the same, for any key
``"layers/<key>"``  a layer
=================  ====================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..graphs import check_sparse
from ..words import listed
from .tables import Ids, is_frame

PREFERRED = "X_pca"  # the representation of a modality by default, as in scanpy


@dataclass(frozen=True, eq=False)
class Annotated:
    """The views of an AnnData or MuData, over all of its cells.

    Attributes
    ----------
    names : tuple of str
        Names of the views.
    arrays : tuple of array, sparse matrix or DataFrame
        One row per cell, in the order of `sample_ids`; zeros or NaN where the view has not seen it.
    sample_ids : ndarray of shape (n,)
        The names of the cells.
    mask : ndarray of bool of shape (n, v), or None
        Which view has seen which cell; None if all have seen all.
    feature_names : tuple of (ndarray or None)
        Names of the columns, where these are variables.
    """

    names: tuple[str, ...]
    arrays: tuple[Any, ...]
    sample_ids: Ids
    mask: NDArray[np.bool_] | None
    feature_names: tuple[Ids | None, ...]


def is_mudata(data: Any) -> bool:
    """Say whether this behaves like a MuData."""
    return isinstance(getattr(data, "mod", None), Mapping) and hasattr(data, "obs_names")


def is_anndata(data: Any) -> bool:
    """Say whether this behaves like an AnnData."""
    return not is_mudata(data) and all(hasattr(data, part) for part in ("obs_names", "obsm", "layers", "X"))


def gather(data: Any, use_rep: Any = None) -> Annotated:
    """Find the views in an AnnData or MuData.

    Parameters
    ----------
    data : AnnData or MuData
        Of a MuData, each modality is a view; of an AnnData, each representation asked for.
    use_rep : str, dict or (for an AnnData) sequence of str, default=None
        Which representation to take. None: ``"X_pca"`` where there is one, else X. A str: this one, in every
        modality. A dict: one for each modality named, the others as with None; of an AnnData, its keys name
        the views. A sequence: several of an AnnData, each a view of that name.

    Returns
    -------
    Annotated
    """
    if is_mudata(data):
        return _of_modalities(data, _asked_of(data, use_rep))
    if is_anndata(data):
        return _of_one(data, use_rep)
    raise ValueError(f"a {type(data).__name__} is neither an AnnData nor a MuData")


def cell_names(data: Any, where: str = "") -> Ids:
    """Return the names of the cells after checking that none occurs twice."""
    names: Ids = np.asarray(data.obs_names, dtype=object)
    met: set[Any] = set()
    for name in names.tolist():
        if name in met:
            raise ValueError(
                f"{where}the cell name {name!r} occurs more than once in obs_names: call "
                "obs_names_make_unique(), or drop the repeated cells"
            )
        met.add(name)
    return names


def _asked_of(data: Any, use_rep: Any) -> dict[str, str | None]:
    """Return which representation each modality of a MuData is asked for."""
    names = [str(name) for name in data.mod]
    if use_rep is None or isinstance(use_rep, str):
        return dict.fromkeys(names, use_rep)
    if not isinstance(use_rep, Mapping):
        raise ValueError(
            "use_rep of a MuData is a str, or a dict with one representation for each modality, "
            f"got {use_rep!r}"
        )
    for name in use_rep:
        if name not in names:
            raise ValueError(
                f"use_rep names the modality {name!r}; the modalities are {listed(map(repr, names))}"
            )
    return {name: use_rep.get(name) for name in names}


def _of_modalities(data: Any, asked: dict[str, str | None]) -> Annotated:
    if getattr(data, "axis", 0) == 1:
        raise ValueError(
            "the modalities of this MuData share variables, not cells (axis=1): they are not views of the "
            "same cells"
        )
    if not asked:
        raise ValueError("this MuData has no modality")
    ids = cell_names(data)
    arrays, features, seen = [], [], np.ones((len(ids), len(asked)), dtype=bool)
    for i, (name, modality) in enumerate(data.mod.items()):
        where = f"modality {str(name)!r}"
        if is_mudata(modality):
            raise ValueError(f"{where} is a MuData of its own: pass its modalities next to the others")
        values, columns = _picked(modality, asked[str(name)], where)
        rows = _rows_of(ids, cell_names(modality, f"{where}: "), where)
        seen[:, i] = rows >= 0
        arrays.append(_spread(values, rows, ids))
        features.append(columns)
    return Annotated(tuple(asked), tuple(arrays), ids, None if seen.all() else seen, tuple(features))


def _of_one(data: Any, use_rep: Any) -> Annotated:
    ids = cell_names(data)
    if use_rep is None:
        use_rep = [_default(data, "this AnnData")]
    elif isinstance(use_rep, str):
        use_rep = [use_rep]
    if not isinstance(use_rep, Mapping):
        use_rep = _named(list(use_rep))
    if not use_rep:
        raise ValueError(f"use_rep names no representation: there are {_choices(data)}")
    picked = [_picked(data, rep, "this AnnData") for rep in use_rep.values()]
    arrays, features = (tuple(part) for part in zip(*picked, strict=True))
    return Annotated(tuple(map(str, use_rep)), arrays, ids, None, features)


def _named(reps: list[Any]) -> dict[str, Any]:
    """Return representations by the names of their views."""
    named: dict[str, Any] = {}
    for rep in reps:
        name = str(rep).removeprefix("obsm/").removeprefix("layers/")
        if name in named:
            raise ValueError(
                f"use_rep asks for {named[name]!r} and {rep!r}, which would both be called {name!r}: name "
                "them, such as {'first': ..., 'second': ...}"
            )
        named[name] = rep
    return named


def _default(data: Any, where: str) -> str:
    if PREFERRED in data.obsm:
        return PREFERRED
    if data.X is None:
        raise ValueError(
            f"{where} has neither {PREFERRED!r} nor X: say with use_rep which of {_choices(data)}"
        )
    return "X"


def _choices(data: Any) -> str:
    """Return all representations that can be asked for, as the user writes them."""
    found = [] if data.X is None else ["X"]
    found += [key if key != "X" and "/" not in key else f"obsm/{key}" for key in data.obsm]
    found += [f"layers/{key}" for key in data.layers if key is not None]
    return listed(map(repr, found)) if found else "none at all"


def _picked(data: Any, rep: Any, where: str) -> tuple[Any, Ids | None]:
    """Return a representation, in memory, and the names of its columns if these are variables."""
    rep = _default(data, where) if rep is None else rep
    place, _, key = rep.partition("/") if isinstance(rep, str) else ("", "", "")
    features: Ids | None = None
    if rep == "X" and data.X is not None:
        values, features = data.X, _variables(data)
    elif place == "layers" and key in data.layers:
        values, features = data.layers[key], _variables(data)
    elif isinstance(rep, str) and rep in data.obsm:
        values = data.obsm[rep]
    elif place == "obsm" and key in data.obsm:
        values = data.obsm[key]
    else:
        also = f"; did you mean 'layers/{rep}'?" if isinstance(rep, str) and rep in data.layers else ""
        raise ValueError(f"{where} has no representation {rep!r}: there are {_choices(data)}{also}")
    if is_frame(values):
        return values, None  # it has its own column names
    return _in_memory(values, f"{where}, {rep}"), features


def _variables(data: Any) -> Ids:
    return np.asarray(data.var_names, dtype=object)


def _in_memory(values: Any, place: str) -> Any:
    """Return an array or sparse matrix, read if it is still in a file or yet to be computed."""
    try:
        for read in ("to_memory", "compute"):  # of anndata's sparse data sets, and of dask
            if hasattr(values, read):
                values = getattr(values, read)()
        if not sparse.issparse(values):
            return np.asarray(values)
    except Exception as error:  # any error of the file's library, if the file was closed or moved meanwhile
        raise ValueError(f"{place} cannot be read ({error}): load the data with backed=None") from None
    check_sparse(values, place)
    return values


def _rows_of(ids: Ids, own: Ids, where: str) -> NDArray[np.intp]:
    """Return the row of each cell in a modality, -1 where it has none."""
    at = {name: i for i, name in enumerate(own.tolist())}
    strange = set(at).difference(ids.tolist())
    if strange:
        first = next(name for name in own.tolist() if name in strange)
        raise ValueError(f"{where} has the cell {first!r}, which the MuData does not know: call its update()")
    return np.array([at.get(name, -1) for name in ids.tolist()], dtype=np.intp)


def _spread(values: Any, rows: NDArray[np.intp], ids: Ids) -> Any:
    """Return a modality's values with one row for every cell; sparse stays sparse."""
    if is_frame(values):
        return values.reindex(ids)
    if np.array_equal(rows, np.arange(values.shape[0])):
        return values
    seen = rows >= 0
    if not sparse.issparse(values):
        spread = np.zeros((len(rows), *values.shape[1:]), dtype=values.dtype)
        spread[seen] = values[rows[seen]]
        return spread
    taken = sparse.csr_array(values)[rows[seen]]
    counts = np.zeros(len(rows) + 1, dtype=taken.indptr.dtype)
    counts[1:][seen] = np.diff(taken.indptr)
    return sparse.csr_array(
        (taken.data, taken.indices, np.cumsum(counts, dtype=counts.dtype)), shape=(len(rows), values.shape[1])
    )
