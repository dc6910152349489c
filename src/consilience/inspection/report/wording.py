"""Numbers and names as they are written on the page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

LONGEST_NAME = 80  # characters of a name that are shown
_SMALL = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def clipped(name: Any) -> str:
    """Return a name of a length that can be shown."""
    text = str(name)
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"


def quoted(name: Any) -> str:
    """Return a name in quotation marks."""
    return f"'{clipped(name)}'"


def count(number: int) -> str:
    """Return a whole number with its thousands apart."""
    return f"{number:,}"


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun."""
    return f"{count(number)} {noun if number == 1 else plural or noun + 's'}"


def in_words(number: int) -> str:
    """Return a number up to ten as a word."""
    return _SMALL[number] if 0 <= number < len(_SMALL) else count(number)


def decimal(value: float, digits: int = 2) -> str:
    """Return a number with so many digits behind the point; a dash if there is none."""
    if not math.isfinite(value):
        return "–"
    return f"{value if abs(value) >= 0.5 * 10**-digits else 0.0:.{digits}f}"


def percent(share: float, digits: int = 0) -> str:
    """Return a share in per cent; never 0 for a little, nor 100 for almost all."""
    if not math.isfinite(share):
        return "–"
    least = 10**-digits
    if 0 < 100 * share < least:
        return f"< {least:g} %"
    if 100 - least < 100 * share < 100:
        return f"> {100 - least:g} %"
    return f"{100 * share:.{digits}f} %"


def listed(words: Sequence[str], most: int = 6) -> str:
    """Return words as a list; of a long one its beginning, and how many more there are."""
    shown = list(words[:most])
    if len(words) > most:
        shown.append(f"{count(len(words) - most)} more")
    if len(shown) < 2:
        return "".join(shown)
    return f"{', '.join(shown[:-1])} and {shown[-1]}"
