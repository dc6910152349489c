"""What findings are made of: verdicts, and numbers and names as sentences have them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .definitions import Paper
from .rows import Row, set_title, system_title

Tables = Mapping[str, Sequence[Row]]
Told = tuple[str, str]  # verdict, sentences

HOLDS, IN_PART, FAILS, UNKNOWN = "holds", "holds in part", "does not hold", "cannot be told"
VERDICTS = (HOLDS, IN_PART, FAILS, UNKNOWN)

# A claim about "most" or "some" sets needs a few of them: of one or two, "most" says nothing.
FEWEST_SETS = 3


def own_systems(paper: Paper) -> list[str]:
    """Return the paper's own systems, SGF and DGF: those that replace a version of 2019."""
    return [name for name, system in paper.systems.items() if system.revises]


def single_view(paper: Paper) -> list[str]:
    """Return the systems that cluster one view alone."""
    return [name for name, system in paper.systems.items() if system.rule == "best_view"]


def cells(rows: Iterable[Row], value: str) -> dict[str, dict[str, float]]:
    """Return a table as set -> system -> value, without the cells that have none."""
    found: dict[str, dict[str, float]] = {}
    for row in rows:
        if row.get(value) is not None:
            found.setdefault(row["set"], {})[row["system"]] = row[value]
    return found


def unless_few_sets(n_sets: int, told: Told) -> Told:
    """Return what was told, but without a verdict on "most sets" if there are hardly any."""
    if n_sets >= FEWEST_SETS:
        return told
    return UNKNOWN, f"{told[1]} So few sets allow no verdict."


def of(count: int, total: int, what: str) -> str:
    """Return a count of things.

    Examples
    --------
    >>> of(2, 3, "set"), of(1, 1, "set")
    ('2 of 3 sets', '1 of 1 set')
    """
    return f"{count} of {total} {what}{'' if total == 1 else 's'}"


def percent(share: float) -> str:
    """Return a share in percent, with as many digits as tell something.

    Examples
    --------
    >>> percent(0.123), percent(0.012), percent(0.000034), percent(0.0), percent(1e-9)
    ('12 %', '1.2 %', '0.0034 %', '0 %', 'under 0.0001 %')
    """
    value = 100 * share
    if value == 0:
        return "0 %"
    if value < 1e-4:
        return "under 0.0001 %"
    return f"{value:.0f} %" if value >= 9.95 else f"{float(f'{value:.2g}'):.10g} %"


def number(value: float) -> str:
    """Return a parameter as people write it; small powers of ten as such.

    Examples
    --------
    >>> number(10000.0), number(0.01), number(0.00001)
    ('10,000', '0.01', '10⁻⁵')
    """
    digits, _, exponent = f"{value:e}".partition("e")
    if float(digits) == 1 and int(exponent) < -2:
        return "10⁻" + "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(digit)] for digit in str(-int(exponent)))
    return f"{value:,.10f}".rstrip("0").rstrip(".")


def signed(value: float) -> str:
    """Return a difference with its sign; 0.0 for what would be printed as that, whatever its sign.

    Examples
    --------
    >>> signed(1.26), signed(-0.04)
    ('+1.3', '0.0')
    """
    return f"{value:+.1f}" if abs(value) >= 0.05 else "0.0"


def listed(words: Sequence[str], most: int = 5) -> str:
    """Return words as a sentence lists them; of many, the first ones.

    Examples
    --------
    >>> listed(["a", "b", "c"]), listed(["a"]), listed(["a", "b", "c"], most=2)
    ('a, b and c', 'a', 'a and 2 more')
    """
    if len(words) > most:
        words = [*words[: most - 1], f"{len(words) - most + 1} more"]
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else "".join(words)


def between(low: str, high: str) -> str:
    """Return a range of what is printed already.

    Examples
    --------
    >>> between("3 %", "8 %"), between("3 %", "3 %")
    ('3 % to 8 %', '3 %')
    """
    return low if low == high else f"{low} to {high}"


def on(paper: Paper, system: str, data: str) -> str:
    """Return which system on which set."""
    return f"{system_title(paper, system)} on {set_title(paper, data)}"


def untuned_rows(tables: Tables, paper: Paper) -> list[Row]:
    """Return the rows without tuning that have a result, with as many neighbours as in the paper."""
    k = paper.experiments.arguments["n_neighbors"]
    return [row for row in tables["no-tuning"] if row["n_neighbors"] == k and row.get("NMI") is not None]


def nothing(needed: str) -> Told:
    """Return that rows were found, but none with what is needed."""
    return UNKNOWN, f"There is no set with results of {needed}."
