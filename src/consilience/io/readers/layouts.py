"""Layouts of files with several variables: which variables are the views, and whether samples are rows."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from ...words import listed
from .contents import Content, Matrix, checked_matrix, shape_text, tidy_ids
from .errors import FileError
from .formats import Source
from .variables import (
    LABEL_NAMES,
    Refused,
    Variables,
    bare,
    id_vector,
    is_matrix,
    is_table,
    label_vectors,
    pick_labels,
    without_labels,
)

# Names under which people save a cell array of views, best first.
CONTAINERS = ("fea", "x", "data", "views", "view", "features", "feature", "xs")
VIEW_NAMES = frozenset(("names", "viewnames", "viewname"))
_NUMBERED = re.compile(r"(x|fea|view|data|v|feature|features)_?(\d+)", re.IGNORECASE)


@dataclass(frozen=True)
class _Candidate:
    name: str
    variable: str  # where it is in the file
    values: Any


def find_content(variables: Variables, source: Source, id_column: str | None) -> Content:
    """Find views, labels and ids among the variables of a file.

    In a .npz file samples are rows and every 2-D array is a view. A .mat file may hold samples as columns,
    and other matrices next to the views.
    """
    loose = source.kind == "mat"
    variables = opened(variables)
    labels = label_vectors(variables, source.file)
    ids = id_vector(variables, id_column)
    others = without_labels(variables)
    _check_refused(others, source.file)
    if ids is not None:
        others.pop(ids[0], None)
    views = _in_container(others, source.file) if loose else []
    views = views or _side_by_side(others, source.file, loose)
    good = [
        checked_matrix(view.values, f"{source.file}, variable {view.variable}", source.max_bytes)
        for view in views
    ]
    turned = _orientation([values.shape for values in good], {len(v) for v in labels.values()}, loose)
    if turned is None:
        sizes = listed(f"{v.variable} is {shape_text(values)}" for v, values in zip(views, good, strict=True))
        raise FileError(
            f"{source.file}: the views have different numbers of samples (rows): {sizes}; save all views "
            "of the same samples, in the same order"
        )
    good = [values.T if turn else values for values, turn in zip(good, turned, strict=True)]
    n = good[0].shape[0]
    matrices = tuple(
        Matrix(view.name, values.tocsr() if hasattr(values, "tocsr") else values, view.variable)
        for view, values in zip(views, good, strict=True)
    )
    named = None
    if ids is not None and len(ids[1]) == n:
        named = tidy_ids(ids[1], f"{source.file}, variable {ids[0]}")
    return Content(source.file, matrices, pick_labels(labels, n, source.file), named)


def _check_refused(variables: Variables, file: str) -> None:
    """Refuse a variable without data where a view would be; elsewhere it does no harm."""
    for name, value in variables.items():
        is_view = bare(name) in CONTAINERS or _NUMBERED.fullmatch(name)
        cells = {f"{name}{{{i}}}": cell for i, cell in enumerate(value, 1)} if isinstance(value, list) else {}
        for place, part in {name: value, **cells}.items():
            if is_view and isinstance(part, Refused):
                raise FileError(
                    f"{file}, variable {place}: it is {part.what}, not a matrix; save it as numbers"
                )


def opened(variables: Variables) -> Variables:
    """Return the fields of a struct together with the other variables, if only it can hold the views."""
    holds = [name for name, value in variables.items() if bare(name) not in LABEL_NAMES and _has_table(value)]
    if len(holds) != 1 or not isinstance(variables[holds[0]], dict):
        return variables
    rest = {name: value for name, value in variables.items() if name != holds[0]}
    return opened({**rest, **variables[holds[0]]})


def _has_table(value: Any, depth: int = 0) -> bool:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return is_table(value) or (depth < 8 and any(_has_table(part, depth + 1) for part in parts))


def _in_container(variables: Variables, file: str) -> list[_Candidate]:
    """Return the views of the cell array or struct array that holds them, or nothing if there is none."""
    containers = {
        name: value
        for name, value in variables.items()
        if isinstance(value, list) and (bare(name) in CONTAINERS or all(map(_has_table, value)))
    }
    containers = {name: value for name, value in containers.items() if _has_table(value)}
    if not containers:
        return []
    known = sorted((CONTAINERS.index(bare(name)), name) for name in containers if bare(name) in CONTAINERS)
    if not known and len(containers) > 1:
        raise FileError(
            f"{file}: more than one cell array could hold the views: {listed(containers)}; "
            f"name the right one {CONTAINERS[0]!r}"
        )
    name = known[0][1] if known else next(iter(containers))
    cells = [_inside(cell, f"{name}{{{i}}}", file) for i, cell in enumerate(containers[name], start=1)]
    names = next(
        (v for k, v in variables.items() if bare(k) in VIEW_NAMES and _are_names(v, len(cells))), None
    )
    return [
        _Candidate(names[i] if names else own or f"{name}{i + 1}", variable, values)
        for i, (own, variable, values) in enumerate(cells)
    ]


def _are_names(value: Any, n: int) -> bool:
    return isinstance(value, list) and len(value) == n == len({v for v in value if isinstance(v, str) and v})


def _inside(cell: Any, variable: str, file: str) -> tuple[str, str, Any]:
    """Return name (if it has one), place and value of the matrix in one cell of a container."""
    while isinstance(cell, list) and len(cell) == 1:  # a cell within the cell
        cell, variable = cell[0], f"{variable}{{1}}"
    if isinstance(cell, dict):
        fields = [name for name, value in cell.items() if is_table(value)]
        best = [name for name in fields if bare(name) in CONTAINERS] or fields
        if len(best) != 1:
            raise FileError(
                f"{file}, variable {variable}: this struct has {len(fields)} matrices where one is expected"
                f"{': ' if fields else ''}{listed(fields)}; keep the one that is the view"
            )
        own = next((v for k, v in cell.items() if bare(k) == "name" and isinstance(v, str)), "")
        return own, f"{variable}.{best[0]}", cell[best[0]]
    if not is_matrix(cell):
        what = cell.what if isinstance(cell, Refused) else "text" if isinstance(cell, str) else "a cell array"
        raise FileError(f"{file}, variable {variable}: it is {what}, not a matrix; keep matrices only")
    return "", variable, cell


def _side_by_side(variables: Variables, file: str, loose: bool) -> list[_Candidate]:
    """Return the matrices that are variables of their own: X1, X2, ..., or all of them."""
    arrays = {name: value for name, value in variables.items() if is_matrix(value)}
    numbered = sorted((int(m[2]), name) for name in arrays if (m := _NUMBERED.fullmatch(name)))
    family = {name: arrays[name] for _, name in numbered}
    if len(family) > 1 and (loose or all(name in family or v.ndim < 2 for name, v in arrays.items())):
        arrays = family
    else:
        arrays = {name: value for name, value in arrays.items() if value.ndim > 1}
        if loose:  # in MATLAB every number and every list is a matrix
            arrays = {name: value for name, value in arrays.items() if value.ndim > 2 or min(value.shape) > 1}
    if not arrays:
        raise FileError(
            f"{file}: no view found: it holds {listed(map(_described, variables.items())) or 'labels only'}; "
            "save each view as a 2-D numeric array"
        )
    return [_Candidate(name, name, value) for name, value in arrays.items()]


def _described(item: tuple[str, Any]) -> str:
    name, value = item
    if is_matrix(value):
        return f"{name} ({shape_text(value)} {value.dtype})"
    kinds: dict[type, str] = {str: "text", list: "cell array", dict: "struct"}
    return f"{name} ({value.what if isinstance(value, Refused) else kinds.get(type(value), 'unknown')})"


def _orientation(
    shapes: Sequence[tuple[int, int]], lengths: Collection[int], loose: bool
) -> list[bool] | None:
    """Say which matrices to transpose so that samples are rows; None if they have no dimension in common.

    The number of labels decides, then the dimension that all matrices share; rows come before columns.
    """
    upright, turned = [False] * len(shapes), [True] * len(shapes)
    rows, columns = {r for r, _ in shapes}, {c for _, c in shapes}
    if not loose:
        return upright if len(rows) == 1 else None
    shared = set.intersection(*(set(shape) for shape in shapes))
    if len(rows) == 1 and (not lengths or rows & set(lengths)):
        return upright
    if len(columns) == 1 and columns & set(lengths):
        return turned
    for n in sorted(shared & set(lengths)):
        return [r != n for r, _ in shapes]
    if len(rows) == 1:
        return upright
    if lengths:
        return None
    if len(columns) == 1:
        return turned
    return [r != n for r, _ in shapes for n in shared] if len(shared) == 1 else None
