"""Values that are neither numbers nor text, but can be written as text: sample ids can be dates."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

Writer = Callable[[Any], str]
Reader = Callable[[str], Any]


def _pandas_timestamp(text: str) -> Any:
    try:
        from pandas import Timestamp  # type: ignore[import-untyped,unused-ignore]
    except ImportError:
        raise ValueError(
            "it holds timestamps of pandas, which is not installed: pip install pandas"
        ) from None
    return Timestamp(text)


_TEXTS: Mapping[type, tuple[str, Writer, Reader]] = {
    datetime: ("datetime", datetime.isoformat, datetime.fromisoformat),
    date: ("date", date.isoformat, date.fromisoformat),
    Decimal: ("decimal", str, Decimal),
    UUID: ("uuid", str, UUID),
    bytes: ("bytes", bytes.hex, bytes.fromhex),
}
READERS: Mapping[str, Reader] = {
    **{name: reader for name, _, reader in _TEXTS.values()},
    "timestamp": _pandas_timestamp,
}
"""How to read a value back from its text, by the name of its type."""


def as_text(value: Any) -> tuple[str, str] | None:
    """Return the name of a value's type and the value as text; None if the table does not have the type."""
    if type(value) in _TEXTS:
        name, writer, _ = _TEXTS[type(value)]
        return name, writer(value)
    pandas = sys.modules.get("pandas")  # if the value is a timestamp of pandas, it is loaded
    if pandas is not None and type(value) is pandas.Timestamp:
        return "timestamp", value.isoformat()
    return None
