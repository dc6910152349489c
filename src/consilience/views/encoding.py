"""Columns without numbers, as numbers: categories as codes, ordered ones as ranks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..io.stored import stored

Kind: TypeAlias = Literal["numeric", "categorical", "ordinal"]
KINDS: tuple[Kind, ...] = ("numeric", "categorical", "ordinal")


@stored()
@dataclass(frozen=True)
class Encoding:
    """What the columns of a view are, and what their codes stand for.

    Attributes
    ----------
    kinds : tuple of {"numeric", "categorical", "ordinal"}
        One per column.
    categories : tuple of (tuple or None)
        What the codes 0, 1, 2, ... of a column stand for, in order if it is ordinal; None for numbers.

    Examples
    --------
    >>> from consilience.views import Views
    >>> import pandas as pd
    >>> Views(pd.DataFrame({"age": [30, 41], "sex": ["f", "m"]})).encodings[0]
    Encoding(kinds=('numeric', 'categorical'), categories=(None, ('f', 'm')))
    """

    kinds: tuple[Kind, ...]
    categories: tuple[tuple[Any, ...] | None, ...]

    def take(self, columns: NDArray[np.intp]) -> Encoding:
        """Return the encoding of some of the columns."""
        chosen = columns.tolist()
        return Encoding(tuple(self.kinds[j] for j in chosen), tuple(self.categories[j] for j in chosen))

    def decode(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the table of objects that the codes stand for; None where there is nothing."""
        table = np.asarray(values, dtype=object)
        for j, known in enumerate(self.categories):
            if known is not None:
                table[:, j] = [None if np.isnan(code) else known[int(code)] for code in values[:, j]]
        return table


def text_codes(
    entries: Iterable[Any], missing: NDArray[np.bool_], in_order: tuple[str, ...] | None = None
) -> tuple[NDArray[Any], tuple[Any, ...]]:
    """Return codes (NaN where missing) and the categories of a column of text, sorted or as given."""
    known = in_order
    if known is None:
        known = tuple(sorted({str(entry) for entry, gone in zip(entries, missing, strict=True) if not gone}))
    number = {category: float(code) for code, category in enumerate(known)}
    codes = [np.nan if gone else number[str(entry)] for entry, gone in zip(entries, missing, strict=True)]
    return np.array(codes, dtype=np.float64), known


def number_codes(values: NDArray[Any]) -> tuple[NDArray[np.float64], tuple[float, ...]]:
    """Return codes (NaN where missing) and the categories of a column of numbers: the numbers themselves."""
    empty = np.isnan(values)
    present = np.unique(values[~empty])
    return np.where(empty, np.nan, np.searchsorted(present, values)), tuple(present.tolist())


def declared_kinds(given: Any, columns: NDArray[Any] | None, d: int, name: str) -> dict[int, Kind]:
    """Return the kinds that a user gave a view's columns, by column number."""
    if isinstance(given, str):
        chosen: dict[int, Any] = dict.fromkeys(range(d), given)
    elif isinstance(given, Mapping):
        names = [] if columns is None else list(columns)
        chosen = {}
        for column, kind in given.items():
            if column in names:
                chosen[names.index(column)] = kind
            elif isinstance(column, (int, np.integer)) and -d <= column < d:
                chosen[int(column) % d] = kind
            else:
                raise ValueError(f"kinds: view {name!r} has no column {column!r}")
    else:
        listed = list(given)
        if len(listed) != d:
            raise ValueError(f"kinds: view {name!r} has {d} columns, got {len(listed)} kinds")
        chosen = dict(enumerate(listed))
    for kind in chosen.values():
        if kind not in KINDS:
            raise ValueError(f"kinds of columns are {', '.join(map(repr, KINDS))}; got {kind!r} ({name!r})")
    return chosen


def declare(
    values: NDArray[Any], encoding: Encoding | None, kinds: dict[int, Kind], name: str
) -> tuple[NDArray[Any], Encoding | None]:
    """Return a view's values and encoding once some of its columns are said to be of another kind."""
    d = values.shape[1]
    found = list(encoding.kinds) if encoding is not None else ["numeric"] * d
    categories: list[tuple[Any, ...] | None] = [None] * d
    if encoding is not None:
        categories = list(encoding.categories)
    values = values.astype(np.float64)
    for j, kind in kinds.items():
        known = categories[j]
        if kind == found[j]:
            continue
        if kind == "numeric" or (kind == "ordinal" and known is not None):
            what = "categories without an order" if found[j] == "categorical" else "categories"
            raise ValueError(
                f"kinds: column {j} of view {name!r} holds {what}, so it cannot be {kind}; pass a pandas "
                "Categorical with ordered=True, or numbers"
            )
        if known is None:  # numbers that are codes: the numbers themselves are the categories
            values[:, j], categories[j] = number_codes(values[:, j])
        found[j] = kind
    if all(kind == "numeric" for kind in found):
        return values, None
    return values, Encoding(tuple(found), tuple(categories))  # type: ignore[arg-type]


def recoded(
    values: Any,
    found: Encoding | None,
    known: Encoding | None,
    place: str,
    columns: Any,
    seen: NDArray[np.bool_] | None = None,
) -> Any:
    """Return values coded by one encoding in the codes of another; refuse categories that it lacks.

    Parameters
    ----------
    values : ndarray of shape (n, d)
        The values, coded by `found`.
    found, known : Encoding or None
        The encoding that they have, and the one that they shall have.
    place : str
        The name of the table, for messages.
    columns : ndarray of str or None
        Names of the columns, for messages.
    seen : ndarray of bool of shape (n,), default=None
        Which rows hold something; the values of the others are no codes. None: all.
    """
    if found == known:
        return values
    if not isinstance(values, np.ndarray):
        raise ValueError(f"{place} is sparse, and at fit it held categories; pass a DataFrame or an array")
    d = values.shape[1]
    numeric = Encoding(("numeric",) * d, (None,) * d)
    found, known = found or numeric, known or numeric
    values = values.copy()
    for j in range(d):
        name = repr(columns[j]) if columns is not None else str(j)
        have, want = found.categories[j], known.categories[j]
        if want is None and have is not None:
            raise ValueError(f"{place}, column {name} held numbers at fit and holds categories now")
        if want is None or have == want:
            continue
        number = {category: float(code) for code, category in enumerate(want)}
        empty = np.isnan(values[:, j]) if seen is None else np.isnan(values[:, j]) | ~seen
        entries = values[:, j].tolist()
        if have is not None:
            entries = [None if gone else have[int(code)] for code, gone in zip(entries, empty, strict=True)]
        for i, entry in enumerate(entries):
            if empty[i]:
                continue
            if entry not in number:
                shown = ", ".join(map(repr, want[:8])) + (", ..." if len(want) > 8 else "")
                raise ValueError(
                    f"{place}, column {name} holds {entry!r} (row {i}), a category that was not there at "
                    f"fit ({shown}); correct it, or leave the cell empty"
                )
            values[i, j] = number[entry]
    return values
