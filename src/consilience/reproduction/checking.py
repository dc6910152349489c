"""What TOML and CSV files hold, as data classes and numbers; a ValueError names the file and the entry."""

from __future__ import annotations

import csv
import itertools
import math
import tomllib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints


def read_toml(path: Path) -> dict[str, Any]:
    """Return the content of a TOML file."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"{path}: it cannot be read ({error.strerror}).") from None
    except ValueError as error:  # no TOML, or no UTF-8
        raise ValueError(f"{path}: it is no TOML file ({error}).") from None


def read_cells(
    path: Path, keys: Mapping[str, Collection[str]], value: str
) -> dict[tuple[str, ...], tuple[float, float]]:
    """Read mean and standard deviation from a table with one row per combination of keys, no more, no less.

    Parameters
    ----------
    path : Path
        A CSV file.
    keys : mapping
        First columns -> the names that may stand in them.
    value : str
        Column of the mean; the last column is ``std``.
    """
    cells: dict[tuple[str, ...], tuple[float, float]] = {}
    try:
        with path.open(newline="", encoding="utf-8") as stream:
            reader = csv.DictReader(stream)
            if reader.fieldnames != [*keys, value, "std"]:
                raise ValueError(f"{path}: the columns must be {', '.join([*keys, value, 'std'])}.")
            for row in reader:
                place = f"{path}, line {reader.line_num}"
                if None in row or None in row.values():
                    raise ValueError(f"{place}: it must have {len(keys) + 2} entries.")
                for key, known in keys.items():
                    check_known([row[key]], known, f"{place}: unknown {key}")
                cell = tuple(row[key] for key in keys)
                if cell in cells:
                    raise ValueError(f"{place}: a second row for {', '.join(cell)}.")
                cells[cell] = _number(row[value], place), _number(row["std"], place, least=0.0)
    except OSError as error:
        raise ValueError(f"{path}: it cannot be read ({error.strerror}).") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{path}: it is no CSV file in UTF-8 ({error}).") from None
    missing = [cell for cell in itertools.product(*keys.values()) if cell not in cells]
    if missing:
        raise ValueError(f"{path}: no row for {', '.join(missing[0])}; {len(missing)} rows are missing.")
    return cells


def _number(text: str, place: str, least: float = -math.inf) -> float:
    try:
        number = float(text)
    except ValueError:
        raise ValueError(f"{place}: {text!r} is no number.") from None
    if not math.isfinite(number) or number < least:
        raise ValueError(f"{place}: {text!r} is out of range.")
    return number


def checked(value: Any, kind: Any, place: str) -> Any:
    """Return what a file holds as the type that is asked for.

    That may be a data class, built from a table with its fields; a tuple of one type, from a list; a mapping,
    whose values are not looked at; or one of several simple types.

    Examples
    --------
    >>> checked([1, 2], tuple[float, ...], "a.toml")
    (1.0, 2.0)
    >>> checked("1", int, "a.toml, n")
    Traceback (most recent call last):
    ValueError: a.toml, n: it must be of type int, got '1'.
    """
    if is_dataclass(kind):
        return _checked_fields(value, kind, place)
    if get_origin(kind) is tuple:
        if not isinstance(value, list):
            raise ValueError(f"{place}: it must be a list, got {value!r}.")
        item_kind = get_args(kind)[0]
        return tuple(checked(item, item_kind, f"{place}, entry {i}") for i, item in enumerate(value, 1))
    if get_origin(kind) is Mapping:
        return check_keys(value, (), None, place)
    if kind is float and type(value) is int:
        return float(value)
    kinds = [one for one in get_args(kind) if one is not NoneType] if isinstance(kind, UnionType) else [kind]
    if type(value) not in kinds:  # True is no int
        names = " or ".join(one.__name__ for one in kinds)
        raise ValueError(f"{place}: it must be of type {names}, got {value!r}.")
    return value


def _checked_fields(content: Any, kind: Any, place: str) -> Any:
    types = get_type_hints(kind)
    needed = [f.name for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING]
    check_keys(content, needed, types, place)
    values = {name: checked(value, types[name], f"{place}, {name}") for name, value in content.items()}
    try:
        return kind(**values)
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from None


def check_keys(
    content: Any, needed: Iterable[str], known: Collection[str] | None, place: str
) -> dict[str, Any]:
    """Return a table of a file if it is one and has the entries needed and, unless None, no unknown ones."""
    if not isinstance(content, dict):
        raise ValueError(f"{place}: it must be a table, got {content!r}.")
    if known is not None:
        check_known(content, known, f"{place}: unknown entry")
    for name in needed:
        if name not in content:
            raise ValueError(f"{place}: the entry {name!r} is missing.")
    return content


def check_known(names: Iterable[str], known: Collection[str], what: str) -> None:
    """Raise a ValueError for a name that is not known; `what` is the beginning of its message."""
    for name in names:
        if name not in known:
            raise ValueError(f"{what} {name!r}; known: {', '.join(filter(None, known))}.")


def check_positive(**numbers: Any) -> None:
    """Raise a ValueError for what is no positive integer."""
    for name, number in numbers.items():
        if type(number) is not int or number < 1:
            raise ValueError(f"{name} must be a positive integer, got {number!r}.")


def check_unique(what: str, items: Collection[Any]) -> None:
    """Raise a ValueError if there is nothing, or something twice."""
    if not items:
        raise ValueError(f"{what} is empty.")
    if len(set(items)) < len(items):
        raise ValueError(f"{what} holds something twice.")
