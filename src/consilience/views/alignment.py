"""Aligning: the same samples in the same order, and what each view has seen of them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..warned import warn
from .tables import (
    Ids,
    Table,
    check_unique,
    index_ids,
    is_frame,
    listed,
    sample_place,
)


def positions_of(owner: str, wanted: Ids, name: str, ids: Ids) -> NDArray[np.intp] | None:
    """Return where in `ids` each wanted id is; None if they are all in place."""
    have, want = ids.tolist(), wanted.tolist()
    if have == want:
        return None
    check_unique(ids, name)
    at = {label: i for i, label in enumerate(have)}
    missing, more = [label for label in want if label not in at], set(have).difference(want)
    if missing or more:
        parts = []
        if missing:
            parts.append(f"{len(missing)} ids of {owner} are missing from {name}, for example {missing[0]!r}")
        if more:
            first = next(label for label in have if label in more)
            parts.append(f"{len(more)} ids of {name} are missing from {owner}, for example {first!r}")
        raise ValueError(
            f"the ids do not match: {' and '.join(parts)}. Take the common ids first, "
            "or pass all tables with the same ids"
        )
    return np.array([at[label] for label in want], dtype=np.intp)


def _first_ids(tables: list[Table]) -> tuple[Ids | None, str]:
    """Return the ids of the first table that has any, and whose they are."""
    labelled = [table.ids for table in tables if table.ids is not None]
    if labelled and set(labelled[0].tolist()) == set(range(len(labelled[0]))):
        # Beside a shuffled index 0, 1, 2, ... the one in order is no mere count: they must be matched.
        for table in tables:
            table.ids = np.arange(table.values.shape[0]) if table.counted else table.ids
    first = next((table for table in tables if table.ids is not None), None)
    return (None, "") if first is None else (first.ids, f"view {first.name!r}")


def align_tables(tables: list[Table], ids: Ids | None, pairwise: tuple[bool, ...]) -> Ids | None:
    """Bring the tables into one order in place and return the ids of the samples."""
    given, owner = ids is not None, "sample_ids"
    if not given:
        ids, owner = _first_ids(tables)
    for table, square in zip(tables, pairwise, strict=True):
        if ids is not None and table.ids is not None:
            rows = positions_of(owner, ids, f"view {table.name!r}", table.ids)
            columns = rows if square else None
            if square and table.column_ids is not None:
                columns = positions_of(owner, ids, f"the columns of view {table.name!r}", table.column_ids)
            table.reorder(rows, columns)
    sizes = {f"view {table.name!r}": table.values.shape[0] for table in tables}
    if given and ids is not None:
        sizes["sample_ids"] = len(ids)
    if len(set(sizes.values())) > 1:
        counts = ", ".join(f"{name} has {n}" for name, n in sizes.items())
        raise ValueError(f"the views must have the same samples, but their numbers of rows differ: {counts}")
    loose = [table.name for table in tables if table.ids is None]
    if ids is not None and loose and not given:
        warn(
            f"{owner} has sample ids, but {listed(loose)} has none: "
            "its rows are taken to be in the same order",
        )
    return ids


def check_pairwise(pairwise: Any, tables: list[Table]) -> tuple[bool, ...]:
    """Return which views are matrices between samples, after checking that they are square."""
    names = [table.name for table in tables]
    if isinstance(pairwise, (bool, np.bool_)):
        flags = (bool(pairwise),) * len(names)
    else:
        single = isinstance(pairwise, str) or not isinstance(pairwise, Collection)
        given = [pairwise] if single else list(pairwise)
        if len(given) == len(names) and all(isinstance(flag, (bool, np.bool_)) for flag in given):
            flags = tuple(map(bool, given))
        else:
            for name in given:
                if name not in names:
                    raise ValueError(
                        f"pairwise must be a bool, one bool per view, or names out of {listed(names)}; "
                        f"got {name!r}"
                    )
            flags = tuple(name in given for name in names)
    for table, square in zip(tables, flags, strict=True):
        n, d = table.values.shape
        if square and n != d:
            raise ValueError(
                f"view {table.name!r} is pairwise, samples x samples, and must be a square matrix, but has "
                f"shape {(n, d)}"
            )
    return flags


def check_mask(mask: Any, n: int, names: tuple[str, ...], ids: Ids | None) -> NDArray[np.bool_] | None:
    """Return the mask in the order of samples and views, or None if it hides nothing."""
    seen: NDArray[Any] = np.array(mask)
    if seen.dtype != np.bool_ or seen.shape != (n, len(names)):
        raise ValueError(
            f"mask must be a bool array of shape (n_samples, n_views) = {(n, len(names))}, True where the "
            f"view has seen the sample; got {seen.dtype} of shape {seen.shape}"
        )
    if is_frame(mask):
        labels = index_ids(mask.index)
        rows = None if ids is None or labels is None else positions_of("the views", ids, "mask", labels)
        seen = seen if rows is None else seen[rows]
        labels = index_ids(mask.columns)
        columns = (
            None if labels is None else positions_of("names", np.array(names), "the columns of mask", labels)
        )
        seen = seen if columns is None else seen[:, columns]
    lost = np.flatnonzero(~seen.any(axis=1))
    if lost.size:
        raise ValueError(
            f"{sample_place(int(lost[0]), ids)} is seen by no view ({lost.size} such in all): leave it out"
        )
    return None if seen.all() else seen
