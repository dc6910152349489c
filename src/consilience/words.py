"""Numbers, names and lists as people write them, in messages, on pages and on the terminal."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Any

LONGEST_NAME = 80  # characters of a name that are shown
_SMALL = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")
# Characters that are invisible but change the text around them: marks of direction, control characters, and
# halves of characters.
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
    """Return a text with a mark in place of each invisible character, except ends of lines and tabs."""
    return text.translate(_UNSEEN_IN_TEXT)


def clipped(name: Any, longest: int = LONGEST_NAME) -> str:
    """Return a name short enough to be shown: its beginning and its end, since names often begin alike.

    Examples
    --------
    >>> clipped("expression_of_genes_in_liver", 15)
    'express…n_liver'
    """
    text = str(name).translate(_UNSEEN)
    if len(text) <= longest:
        return text
    head = (longest - 1) // 2
    return f"{text[:head]}…{text[len(text) - (longest - 1 - head) :]}"


def distinct(names: Sequence[Any], longest: int = LONGEST_NAME) -> list[str]:
    """Return clipped names; of names that would become equal, the part in which they differ is shown.

    If that does not help either, they are numbered.
    """
    short = [clipped(name, longest) for name in names]
    alike = [str(name) for name, one in zip(names, short, strict=True) if short.count(one) > 1]
    if not alike:
        return short
    # A beginning that the first and the last in the alphabet share is shared by all.
    ends_of_list = zip(min(alike), max(alike), strict=False)
    in_common = sum(1 for _ in takewhile(lambda letters: letters[0] == letters[1], ends_of_list))
    start = max(in_common - longest // 3, 0)
    windows = [f"…{clipped(str(name)[start:], longest - 1)}" for name in names]
    ends = [f"…{str(name)[start:].translate(_UNSEEN)[: longest - 2]}…" for name in names]
    for shown in (windows, ends):
        chosen = [new if short.count(old) > 1 else old for old, new in zip(short, shown, strict=True)]
        if len(set(chosen)) == len(chosen):
            return chosen
    return [
        clipped(f"{i}: {name}", longest) if short.count(old) > 1 else old
        for i, (name, old) in enumerate(zip(names, short, strict=True))
    ]


def quoted(name: Any) -> str:
    """Return a name in quotation marks."""
    return f"'{clipped(name)}'"


def value_text(value: object) -> str:
    """Return any value as text for a message, shortened."""
    return reprlib.repr(value)


def listed(words: Iterable[Any], most: int = 8, noun: str = "") -> str:
    """Return words as a sentence lists them; of many the first ones, and how many more (of what) there are.

    Examples
    --------
    >>> listed("abc"), listed("abcd", 2), listed("abcd", 2, "view")
    ('a, b and c', 'a, b and 2 more', 'a, b and two more views')
    """
    words = [str(word) for word in words]
    shown, more = words[:most], len(words) - most
    if more > 0:
        named = f" {noun}{'' if more == 1 else 's'}" if noun else ""
        shown.append(f"{in_words(more) if noun else count(more)} more{named}")
    if len(shown) < 2:
        return "".join(shown)
    return f"{', '.join(shown[:-1])} and {shown[-1]}"


def count(number: int) -> str:
    """Return a whole number with commas between the thousands."""
    return f"{number:,}"


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> counted(1, "sample"), counted(1200, "sample")
    ('1 sample', '1,200 samples')
    """
    return f"{count(number)} {noun if number == 1 else plural or noun + 's'}"


def counted_of(number: int, total: int, noun: str) -> str:
    """Return how many of some things.

    Examples
    --------
    >>> counted_of(2, 3, "set"), counted_of(1, 1, "set")
    ('2 of 3 sets', '1 of 1 set')
    """
    return f"{number} of {total} {noun}{'' if total == 1 else 's'}"


def conjugated(verb: str, number: int) -> str:
    """Return a regular verb in the form for this number: one comes, two come."""
    return verb + "s" if number == 1 else verb


def in_words(number: int) -> str:
    """Return a number up to ten as a word."""
    return _SMALL[number] if 0 <= number < len(_SMALL) else count(number)


def decimal(value: float, digits: int = 2) -> str:
    """Return a number with this many digits after the point; a dash if there is no number."""
    if not math.isfinite(value):
        return "–"
    return f"{value if abs(value) >= 0.5 * 10**-digits else 0.0:.{digits}f}"


def signed(value: float) -> str:
    """Return a difference with its sign; 0.0 without a sign if it is rounded to that.

    Examples
    --------
    >>> signed(1.26), signed(-0.04)
    ('+1.3', '0.0')
    """
    return f"{value:+.1f}" if abs(value) >= 0.05 else "0.0"


def parameter_value(value: float) -> str:
    """Return the value of a parameter as people write it; small powers of ten as such.

    Examples
    --------
    >>> parameter_value(10000.0), parameter_value(0.01), parameter_value(0.00001)
    ('10,000', '0.01', '10⁻⁵')
    """
    digits, _, exponent = f"{value:e}".partition("e")
    if float(digits) == 1 and int(exponent) < -2:
        return "10⁻" + "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(digit)] for digit in str(-int(exponent)))
    return f"{value:,.10f}".rstrip("0").rstrip(".")


def percent(share: float, digits: int | None = 0) -> str:
    """Return a share in per cent; never 0 for a little, nor 100 for almost all.

    `digits`: how many after the point; None for two significant digits.

    Examples
    --------
    >>> percent(0.123), percent(0.004), percent(0.123, 1), percent(0.0123, None), percent(0.000034, None)
    ('12 %', '< 1 %', '12.3 %', '1.2 %', '0.0034 %')
    """
    if not math.isfinite(share):
        return "–"
    if digits is None:
        return _few_figures(100 * share)
    least = 10**-digits
    if 0 < 100 * share < least:
        return f"< {least:g} %"
    if 100 - least < 100 * share < 100:
        return f"> {100 - least:g} %"
    return f"{100 * share:.{digits}f} %"


def _few_figures(value: float) -> str:
    if value == 0:
        return "0 %"
    if value < 1e-4:
        return "under 0.0001 %"
    return f"{value:.0f} %" if value >= 9.95 else f"{float(f'{value:.2g}'):.10g} %"


def between(low: str, high: str) -> str:
    """Return a range between two values that are text already.

    Examples
    --------
    >>> between("3 %", "8 %"), between("3 %", "3 %")
    ('3 % to 8 %', '3 %')
    """
    return low if low == high else f"{low} to {high}"


def memory_size(n_bytes: float) -> str:
    """Return a number of bytes as people read it.

    Examples
    --------
    >>> memory_size(3.5 * 2**30), memory_size(100)
    ('3.5 GiB', '100 bytes')
    """
    power = 0
    while n_bytes >= 1000 and power < len(_UNITS) - 1:
        n_bytes, power = n_bytes / 1024, power + 1
    digits = 0 if n_bytes >= 100 or power == 0 else 1
    return f"{n_bytes:.{digits}f} {_UNITS[power]}"
