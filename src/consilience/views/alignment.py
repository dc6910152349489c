"""Aligning: the same samples in the same order, and what each view has seen of them."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Collection
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..run.messages import warn
from ..words import listed
from .tables import (
    Ids,
    Table,
    check_unique,
    index_ids,
    is_frame,
    plain,
    sample_place,
)

logger = logging.getLogger(__name__)

_WHOLE = re.compile(r"0*(\d+)(?:\.0*)?")


def positions_of(owner: str, wanted: Ids, name: str, ids: Ids) -> NDArray[np.intp] | None:
    """Return where in `ids` each wanted id is; None if they are all in place; an error if they differ."""
    positions = places(wanted, ids)
    if positions is None:
        return None
    check_unique(ids, name)
    missing = [label for label, place in zip(wanted.tolist(), positions, strict=True) if place < 0]
    more = set(ids.tolist()).difference(wanted.tolist())
    if missing or more:
        parts = []
        if missing:
            parts.append(f"{len(missing)} ids of {owner} are missing from {name}, for example {missing[0]!r}")
        if more:
            first = next(label for label in ids.tolist() if label in more)
            parts.append(f"{len(more)} ids of {name} are missing from {owner}, for example {first!r}")
        raise ValueError(f"the ids do not match: {' and '.join(parts)}. Pass the same ids")
    return positions


def places(wanted: Ids, ids: Ids) -> NDArray[np.intp] | None:
    """Return where in `ids` each wanted id is, -1 for those that are not; None if all are in place."""
    have, want = ids.tolist(), wanted.tolist()
    if have == want:
        return None
    at = {label: i for i, label in enumerate(have)}
    return np.array([at.get(label, -1) for label in want], dtype=np.intp)


def align_tables(tables: list[Table], ids: Ids | None, pairwise: tuple[bool, ...], join: str) -> Ids | None:
    """Bring the tables into one order in place and return the ids of the samples.

    That order is the one of `ids`, or of the first table that has ids; ids that only later tables have follow
    (join "outer"), or only those that all have are kept ("inner").
    """
    if join not in ("outer", "inner"):
        raise ValueError(f"join must be 'outer' or 'inner', got {join!r}")
    given, owner = ids is not None, "sample_ids"
    if not given:
        ids, owner = _joined_ids(tables, join)
    for table, square in zip(tables, pairwise, strict=True):
        if ids is not None and table.ids is not None:
            _place_samples(table, square, owner, ids, strict=given)
    sizes = {f"view {table.name!r}": table.values.shape[0] for table in tables}
    if ids is not None:
        sizes = {"sample_ids" if given else "the samples with ids": len(ids)} | sizes
    loose = [table.name for table in tables if table.ids is None]
    if len(set(sizes.values())) > 1:
        if ids is not None and not given:
            wrong = next(name for name in loose if sizes[f"view {name!r}"] != len(ids))
            n = sizes[f"view {wrong!r}"]
            raise ValueError(
                f"{owner} has sample ids, but view {wrong!r} has none, and its {n} rows cannot be the "
                f"{len(ids)} samples of the others: give it ids"
            )
        counts = ", ".join(f"{name} has {n}" for name, n in sizes.items())
        raise ValueError(f"the views must have the same samples, but their numbers of rows differ: {counts}")
    if ids is not None and loose and not given:
        _check_order(tables, owner, loose)
        warn(
            f"{owner} has sample ids, but {listed(map(repr, loose))} has none: "
            "its rows are taken to be in the same order",
        )
    return ids


def _check_order(tables: list[Table], owner: str, loose: list[str]) -> None:
    """Refuse rows without ids if only graphs have ids: nodes come in the order in which edges name them."""
    if all(table.graph is not None for table in tables if table.ids is not None):
        raise ValueError(
            f"{owner} is a graph whose nodes have ids, but {listed(map(repr, loose))} has none, and nodes "
            "have no order that rows could be in: give it ids (sample_ids for all), or number the nodes "
            "0, 1, 2, ... as its rows"
        )


def _joined_ids(tables: list[Table], join: str) -> tuple[Ids | None, str]:
    """Return the joined ids of all tables that have ids, and the table that has the first ones."""
    _count_in(tables)
    labelled = [(table.name, table.ids) for table in tables if table.ids is not None]
    if not labelled:
        return None, ""
    name, first = labelled[0]
    order = dict.fromkeys(first.tolist())
    own = [set(ids.tolist()) for _, ids in labelled]
    if all(one == own[0] for one in own):
        return first, f"view {name!r}"
    _check_common(labelled, own)
    _check_writing(labelled, own)
    if join == "inner":
        common = set.intersection(*own)
        kept = [label for label in order if label in common]
        if not kept:
            raise ValueError("the views have no sample id in common: nothing is left of an inner join")
    else:
        for _, ids in labelled[1:]:
            order |= dict.fromkeys(ids.tolist())
        kept = list(order)
        lacking = ", ".join(
            f"{name!r} lacks {len(kept) - len(one)}" for (name, _), one in zip(labelled, own, strict=True)
        )
        logger.info("joined %d sample ids; of these %s", len(kept), lacking)
    same_type = all(ids.dtype.kind == first.dtype.kind and ids.dtype.kind in "iuU" for _, ids in labelled)
    joined = np.array(kept) if same_type else np.fromiter(kept, dtype=object, count=len(kept))
    return joined, f"view {name!r}"


def _count_in(tables: list[Table]) -> None:
    """Take the index 0, 1, 2, ... of a frame for ids if other frames have parts of it as theirs."""
    longest = max((table.values.shape[0] for table in tables if table.counted), default=0)
    labelled = [table.ids for table in tables if table.ids is not None]
    if longest and labelled and all(ids.dtype.kind in "iu" for ids in labelled):
        if all(len(ids) and ids.min() >= 0 and ids.max() < longest for ids in labelled):
            for table in tables:
                table.ids = np.arange(table.values.shape[0]) if table.counted else table.ids


def _check_common(labelled: list[tuple[str, Ids]], own: list[set[Any]]) -> None:
    """Refuse a table that shares no id with any other: its ids are of another kind, not of other samples."""
    tables_with = Counter(chain.from_iterable(own))
    for i, (name, ids) in enumerate(labelled):
        if any(tables_with[label] > 1 for label in own[i]):
            continue
        other = next(ids[0] for j, (_, ids) in enumerate(labelled) if j != i)
        others = set[Any]().union(*own[:i], *own[i + 1 :])
        hint = ""
        if {str(label) for label in own[i]} & {str(label) for label in others}:
            hint = "; they differ in type: make all of them text, or all numbers"
        elif {_written(label) for label in own[i]} & {_written(label) for label in others}:
            hint = "; they are written in two ways: write them alike"
        raise ValueError(
            f"view {name!r} shares no sample id with the other views: it has {plain(ids[0])!r} and so on, "
            f"the others have {plain(other)!r}{hint}"
        )


def _check_writing(labelled: list[tuple[str, Ids]], own: list[set[Any]]) -> None:
    """Refuse ids that differ only in how they are written, such as 7 and "007", in two tables."""
    common = set.intersection(*own)
    met: dict[str, Any] = {}
    for label in dict.fromkeys(chain.from_iterable(ids.tolist() for _, ids in labelled)):
        if label in common:
            continue
        other = met.setdefault(_written(label), label)
        if other != label and not any(other in one and label in one for one in own):
            first, second = (
                next(name for (name, _), one in zip(labelled, own, strict=True) if which in one)
                for which in (other, label)
            )
            raise ValueError(
                f"the sample ids {other!r} of view {first!r} and {label!r} of view {second!r} seem to be the "
                "same, written in two ways: write them alike"
            )


def _written(label: Any) -> str:
    """Return an id as text without what spreadsheets remove or add: blanks, leading zeros, ".0"."""
    text = str(label).strip()
    number = _WHOLE.fullmatch(text)
    return number[1] if number else text


def _place_samples(table: Table, square: bool, owner: str, ids: Ids, strict: bool) -> None:
    """Bring the rows of a table, and its columns if it is pairwise, into the order of the ids."""
    assert table.ids is not None
    if strict and (more := set(table.ids.tolist()).difference(ids.tolist())):
        first = next(label for label in table.ids.tolist() if label in more)
        raise ValueError(
            f"{len(more)} ids of view {table.name!r} are missing from {owner}, for example {first!r}; add "
            "them, or leave these rows out"
        )
    if square and table.column_ids is not None:
        columns = positions_of(
            f"view {table.name!r}", table.ids, f"the columns of view {table.name!r}", table.column_ids
        )
        table.reorder(None, columns)
    rows = places(ids, table.ids)
    table.reorder(rows, rows if square else None)


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
                        "pairwise must be a bool, one bool per view, or names out of "
                        f"{listed(map(repr, names))}; got {name!r}"
                    )
            flags = tuple(name in given for name in names)
    flags = tuple(flag or table.graph is not None for flag, table in zip(flags, tables, strict=True))
    for table, square in zip(tables, flags, strict=True):
        n, d = table.values.shape
        if square and n != d:
            raise ValueError(
                f"view {table.name!r} is pairwise, samples x samples, and must be a square matrix, but has "
                f"shape {(n, d)}"
            )
    return flags


def check_mask(mask: Any, n: int, names: tuple[str, ...], ids: Ids | None) -> NDArray[np.bool_]:
    """Return the mask in the order of samples and views."""
    seen: NDArray[Any] = np.array(mask)
    if seen.dtype != np.bool_ or seen.shape != (n, len(names)):
        raise ValueError(
            f"mask must be a bool array of shape (n_samples, n_views) = {(n, len(names))}, True where the "
            f"view has seen the sample; got {seen.dtype} of shape {seen.shape}"
        )
    if is_frame(mask):
        labels = index_ids(mask.index)
        if labels is not None and ids is None:
            if set(labels.tolist()) == set(range(n)):
                ids = np.arange(n)
            else:
                warn(
                    "mask has sample ids, but the views have none: its rows are taken to be in the same order"
                )
        rows = None if ids is None or labels is None else positions_of("the views", ids, "mask", labels)
        seen = seen if rows is None else seen[rows]
        labels = index_ids(mask.columns)
        columns = (
            None if labels is None else positions_of("names", np.array(names), "the columns of mask", labels)
        )
        seen = seen if columns is None else seen[:, columns]
    return seen


def joint_mask(seen: list[NDArray[np.bool_] | None], n: int, ids: Ids | None) -> NDArray[np.bool_] | None:
    """Return which view has seen which sample, None if all have seen all; some view must have seen each."""
    if all(one is None for one in seen):
        return None
    mask = np.stack([np.ones(n, dtype=bool) if one is None else one for one in seen], axis=1)
    lost = np.flatnonzero(~mask.any(axis=1))
    if lost.size:
        raise ValueError(
            f"{sample_place(int(lost[0]), ids)} is seen by no view ({lost.size} such in all): "
            "every view hides it or holds nothing but NaN for it; leave it out"
        )
    return None if mask.all() else mask
