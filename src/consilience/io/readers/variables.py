"""Which of a file's variables are labels, and which are sample ids."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...words import listed
from .contents import Labels, tidy_labels
from .errors import FileError

# Name -> array, sparse matrix, str, Refused, list (a cell array) or dict (a struct).
Variables: TypeAlias = dict[str, Any]

LABEL_NAMES = frozenset(
    "y gt truth label labels target targets gnd groundtruth truelabel truelabels truthlabel ytrue "
    "class classid classlabel classlabels cls".split()
)
ID_NAMES = frozenset("id ids sampleid sampleids samplename samplenames".split())


@dataclass(frozen=True)
class Refused:
    """A variable that holds no data: a function, an object of a class, something in another file."""

    what: str


def bare(name: str) -> str:
    """Return a name in lower case, without the signs that people write differently.

    Examples
    --------
    >>> bare("True_Labels")
    'truelabels'
    """
    return name.lower().replace("_", "")


def is_matrix(value: Any) -> bool:
    """Say whether this is an array or sparse matrix, of any shape and type."""
    return isinstance(value, np.ndarray) or bool(sparse.issparse(value))


def is_table(value: Any) -> bool:
    """Say whether this is a matrix with more than one row and column."""
    return is_matrix(value) and value.ndim == 2 and min(value.shape) > 1


def label_vectors(variables: Variables, file: str) -> dict[str, NDArray[Any]]:
    """Return the variables that are named like labels and could be labels."""
    found = {}
    for name, value in variables.items():
        if bare(name) not in LABEL_NAMES:
            continue
        if isinstance(value, Refused):
            raise FileError(f"{file}, variable {name}: it is {value.what}, not labels; save numbers or text")
        vector = as_vector(value)
        if vector is not None and len(vector) > 1:
            found[name] = vector
    return found


def without_labels(variables: Variables) -> Variables:
    """Return the variables that are not named like labels; a table Y next to a table X is a second view."""
    rest = {name: value for name, value in variables.items() if bare(name) not in LABEL_NAMES}
    tables = [name for name, value in rest.items() if is_table(value)]
    for name, value in variables.items():
        if (
            list(map(bare, tables)) == ["x"]
            and bare(name) == "y"
            and is_table(value)
            and not _is_binary(value)
        ):
            rest[name] = value
    return rest


def _is_binary(matrix: Any) -> bool:
    values = matrix.data if sparse.issparse(matrix) else matrix
    return bool(((values == 0) | (values == 1)).all())


def as_vector(value: Any) -> NDArray[Any] | None:
    """Return a vector, a cell array of text or numbers, or an indicator matrix as a 1-D array, else None."""
    if isinstance(value, list):
        return _cell_vector(value)
    if not is_matrix(value) or value.dtype.kind not in "biufUS":
        return None
    if value.size and (value.ndim == 1 or (value.ndim == 2 and min(value.shape) == 1)):
        dense: NDArray[Any] = value.toarray() if sparse.issparse(value) else value
        return dense.ravel()
    return _indicated(value) if is_table(value) and value.dtype.kind not in "US" else None


def _cell_vector(cells: list[Any]) -> NDArray[Any] | None:
    if cells and all(isinstance(cell, str) for cell in cells):
        return np.array(cells)
    vectors = [as_vector(cell) for cell in cells]
    if not vectors or any(vector is None for vector in vectors):
        return None
    whole = [vector for vector in vectors if vector is not None]
    if all(vector.size == 1 for vector in whole):
        return np.concatenate(whole)
    # Some files repeat the labels for every view.
    return whole[0] if all(np.array_equal(whole[0], vector) for vector in whole) else None


def _indicated(matrix: Any) -> NDArray[np.int64] | None:
    """Return the class of each sample from a matrix with a single 1 in each row (or in each column)."""
    if not _is_binary(matrix):
        return None
    dense = matrix.toarray() if sparse.issparse(matrix) else matrix
    for axis in (1, 0):
        if (dense.sum(axis=axis) == 1).all():
            return dense.argmax(axis=axis).astype(np.int64)
    return None


def pick_labels(vectors: dict[str, NDArray[Any]], n: int | None, file: str) -> Labels | None:
    """Return the labels for n samples (any number if None), or None if there are none."""
    fitting = {name: vector for name, vector in vectors.items() if n in (None, len(vector))}
    if not fitting:
        # Names of the classes are text and fewer than the samples; numbers must fit.
        wrong = {name: vector for name, vector in vectors.items() if vector.dtype.kind not in "US"}
        if wrong:
            counts = listed(f"{name} has {len(vector)} entries" for name, vector in wrong.items())
            raise FileError(
                f"{file}: the labels do not fit the {n} samples: {counts}; save one label per sample"
            )
        return None
    tidy = {name: tidy_labels(vector, f"{file}, variable {name}") for name, vector in fitting.items()}
    if len({_partition(labels) for labels in tidy.values()}) > 1:
        raise FileError(
            f"{file}: more than one variable could be the labels: {listed(tidy)}; keep one of them"
        )
    return next(iter(tidy.values()))


def _partition(labels: Labels) -> bytes:
    """Return the same bytes for labels that group the samples in the same way."""
    _, first, group = np.unique(labels, return_index=True, return_inverse=True)
    return first[group.ravel()].astype(np.int64).tobytes()


def id_vector(variables: Variables, id_column: str | None) -> tuple[str, NDArray[Any]] | None:
    """Return the variable that holds sample ids: the one that is named, or one with a name for ids."""
    for name, value in variables.items():
        wanted = name == id_column if id_column is not None else bare(name) in ID_NAMES
        vector = as_vector(value) if wanted else None
        if vector is not None:
            return name, vector
    return None
