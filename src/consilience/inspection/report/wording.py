"""Numbers and names as they are written on the page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

LONGEST_NAME = 80  # characters of a name that are shown
_SMALL = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
# What is not seen itself but changes how its surroundings are seen: marks of direction, control characters,
# and halves of characters.
_UNSEEN = dict.fromkeys(
    [
        *range(0x20),
        *range(0x7F, 0xA0),
        0x061C,
        *range(0x200E, 0x2010),
        *range(0x202A, 0x202F),
        *range(0x2066, 0x206A),
        *range(0xD800, 0xE000),
    ],
    "\ufffd",
)
_UNSEEN_IN_TEXT = {code: mark for code, mark in _UNSEEN.items() if chr(code) not in "\n\t"}


def visible(text: str) -> str:
    """Return a text with a mark in the place of what cannot be seen, but for ends of lines and tabs."""
    return text.translate(_UNSEEN_IN_TEXT)


def clipped(name: Any, longest: int = LONGEST_NAME) -> str:
    """Return a name of a length that can be shown: its beginning and its end, for names often begin alike."""
    text = str(name).translate(_UNSEEN)
    if len(text) <= longest:
        return text
    head = (longest - 1) // 2
    return f"{text[:head]}…{text[len(text) - (longest - 1 - head) :]}"


def distinct(names: Sequence[Any], longest: int = LONGEST_NAME) -> list[str]:
    """Return clipped names; those that this would make equal are cut out around what sets them apart.

    If that does not help either, they are numbered.
    """
    short = [clipped(name, longest) for name in names]
    alike = [str(name) for name, one in zip(names, short, strict=True) if short.count(one) > 1]
    if not alike:
        return short
    # What the first and the last in the alphabet begin with, all begin with.
    ends_of_list = zip(min(alike), max(alike), strict=False)
    in_common = sum(1 for _ in takewhile(lambda letters: letters[0] == letters[1], ends_of_list))
    start = max(in_common - longest // 3, 0)
    windows = [f"…{clipped(str(name)[start:], longest - 1)}" for name in names]
    ends = [f"…{str(name)[start:].translate(_UNSEEN)[: longest - 2]}…" for name in names]
    for shown in (windows, ends):
        told = [new if short.count(old) > 1 else old for old, new in zip(short, shown, strict=True)]
        if len(set(told)) == len(told):
            return told
    return [
        clipped(f"{i}: {name}", longest) if short.count(old) > 1 else old
        for i, (name, old) in enumerate(zip(names, short, strict=True))
    ]


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


def listed(words: Sequence[str], most: int = 6, noun: str = "") -> str:
    """Return words as a list; of a long one its beginning, and how many more (of what) there are."""
    shown, more = list(words[:most]), len(words) - most
    if more > 0:
        named = f" {noun}{'' if more == 1 else 's'}" if noun else ""
        shown.append(f"{in_words(more) if noun else count(more)} more{named}")
    if len(shown) < 2:
        return "".join(shown)
    return f"{', '.join(shown[:-1])} and {shown[-1]}"
