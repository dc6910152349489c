r"""One table as Markdown for a page, LaTeX for a paper, and CSV for a spreadsheet.

Names come from users, so each form escapes what it would take for markup: a name never becomes a column, a
command, a tag or a formula. CSV holds raw numbers, the others what is printed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from ..words import decimal, visible

Value = str | int | float | None

# Spreadsheets take a cell that begins so for a formula, also in the wide forms of East Asian keyboards.
_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠", "\t", "\r", "\n")
_MARKDOWN = re.compile(r"([\\`*_\[\]~|$])")
_LIGATURES = re.compile(r"([-',])(?=\1)")  # LaTeX sets two of these as one
_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
    '"': r"\char34{}",
    "[": "{[}",  # after the end of a row, a bracket would begin the height of a gap,
    "]": "{]}",
    "*": "{*}",  # and a star would forbid a page break
    "±": r"$\pm$",
    "−": "$-$",
    "–": r"\textendash{}",
    "…": r"\ldots{}",
    "\ufffd": "?",
} | {letter: "\\" + letter for letter in "&%$#_{}"}


@dataclass(frozen=True)
class Cell:
    """A value, the text to print for it, and whether it is the best of its row or column.

    Without a text, a number is printed with the digits of its table, None and NaN as a dash.
    """

    value: Value
    text: str | None = None
    best: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.value, np.generic):
            object.__setattr__(self, "value", self.value.item())


@dataclass(frozen=True)
class Table:
    r"""A table, to be written in several forms.

    Parameters
    ----------
    header : sequence of str
    rows : sequence of sequences of Cell, str, int, float or None
        As many in each row as in the header.
    caption : str, default=""
    align : str or sequence of {"l", "c", "r"}, optional
        One letter for each column. By default columns of numbers are on the right, others on the left.
    digits : int, default=1
        After the point, for numbers that have no text of their own.

    Examples
    --------
    >>> table = Table(["system", "ACC"], [["my_system", Cell(93.127, best=True)], ["k|means", 81.5]])
    >>> print(table.markdown())
    | system | ACC |
    | :--- | ---: |
    | my\_system | **93.1** |
    | k\|means | 81.5 |
    <BLANKLINE>
    >>> print(table.csv())
    system,ACC
    my_system,93.127
    k|means,81.5
    <BLANKLINE>
    """

    header: Sequence[str]
    rows: Sequence[Sequence[Cell | Value]]
    caption: str = ""
    align: Sequence[str] | None = None
    digits: int = 1

    def __post_init__(self) -> None:
        n = len(self.header)
        for i, row in enumerate(self.rows):
            if len(row) != n:
                raise ValueError(f"Row {i} has {len(row)} cells, the header {n}.")
        if self.align is not None and (len(self.align) != n or set(self.align) - set("lcr")):
            raise ValueError(
                f'align must be one of "l", "c" and "r" for each of {n} columns, not {self.align}.'
            )

    @cached_property
    def cells(self) -> tuple[tuple[Cell, ...], ...]:
        """The rows, each value as a `Cell`."""
        return tuple(tuple(one if isinstance(one, Cell) else Cell(one) for one in row) for row in self.rows)

    def markdown(self) -> str:
        """Return a table as GitHub and most other programs read it; the best values are bold."""
        rules = {"l": ":---", "c": ":---:", "r": "---:"}
        lines = [f"*{_markdown(self.caption)}*\n"] if self.caption.strip() else []
        lines.append(_markdown_row(_markdown(name) for name in self.header))
        lines.append(_markdown_row(rules[letter] for letter in self._alignment()))
        for row in self.cells:
            texts = [(_markdown(self._printed(cell)), cell.best) for cell in row]
            lines.append(_markdown_row(f"**{text}**" if best and text else text for text, best in texts))
        return "\n".join(lines) + "\n"

    def csv(self) -> str:
        """Return header and raw values; text that a spreadsheet would compute begins with an apostrophe."""
        rows = [self.header, *([cell.value for cell in row] for row in self.cells)]
        return "".join(",".join(_raw(value) for value in row) + "\n" for row in rows)

    def latex(self) -> str:
        r"""Return a `tabular` for the package booktabs; with a caption, in a `table`.

        Examples
        --------
        >>> print(Table(["system", "5%"], [["A_1", Cell(2.5, best=True)]]).latex())
        \begin{tabular}{lr}
        \toprule
        system & 5\% \\
        \midrule
        A\_1 & \textbf{2.5} \\
        \bottomrule
        \end{tabular}
        <BLANKLINE>
        """
        lines = [rf"\begin{{tabular}}{{{''.join(self._alignment())}}}", r"\toprule"]
        lines += [_latex_row(_latex(name) for name in self.header), r"\midrule"]
        for row in self.cells:
            texts = [(_latex(self._printed(cell), _is_number(cell.value)), cell.best) for cell in row]
            lines.append(_latex_row(rf"\textbf{{{text}}}" if best else text for text, best in texts))
        lines += [r"\bottomrule", r"\end{tabular}"]
        if self.caption.strip():
            before = [r"\begin{table}", r"\centering", rf"\caption{{{_latex(self.caption)}}}"]
            lines = [*before, *lines, r"\end{table}"]
        return "\n".join(lines) + "\n"

    def texts(self, row: Sequence[Cell]) -> list[str]:
        """Return the cells of a row as they are printed, without markup."""
        return [self._printed(cell) for cell in row]

    def _alignment(self) -> list[str]:
        if self.align is not None:
            return list(self.align)
        columns = [[row[i].value for row in self.cells] for i in range(len(self.header))]
        texts = [any(isinstance(value, str) for value in column) for column in columns]
        return ["l" if text else "r" for text in texts]

    def _printed(self, cell: Cell) -> str:
        if cell.text is not None:
            return cell.text
        if cell.value is None:
            return "–"
        return decimal(cell.value, self.digits) if isinstance(cell.value, float) else str(cell.value)


def mark_best(table: Table, within: Literal["row", "column"] = "row", lowest: bool = False) -> Table:
    """Return the table with the best number of each row or column marked; those that round alike share it.

    Parameters
    ----------
    table : Table
    within : {"row", "column"}, default="row"
    lowest : bool, default=False
        Whether the lowest number is the best, as for ranks and seconds.

    Returns
    -------
    Table

    Examples
    --------
    >>> table = mark_best(Table(["set", "A", "B", "C"], [["x", 90.04, 80.0, 90.01]]))
    >>> print(table.markdown().splitlines()[-1])
    | x | **90.0** | 80.0 | **90.0** |
    """
    lines = table.cells if within == "row" else tuple(zip(*table.cells, strict=True))
    marked = [_marked(table, line, lowest) for line in lines]
    return replace(table, rows=marked if within == "row" else list(zip(*marked, strict=True)))


def _marked(table: Table, line: Sequence[Cell], lowest: bool) -> list[Cell]:
    values = [value for cell in line if (value := _number(cell.value)) is not None]
    best = decimal((min if lowest else max)(values, default=math.nan), table.digits)
    shown = [
        decimal(value, table.digits) if (value := _number(cell.value)) is not None else "" for cell in line
    ]
    return [replace(cell, best=text == best) for cell, text in zip(line, shown, strict=True)]


def _number(value: Value) -> float | None:
    return value if isinstance(value, int | float) and not math.isnan(value) else None


def _is_number(value: Value) -> bool:
    return _number(value) is not None


def _raw(value: Value) -> str:
    """Return a value as CSV has it; text in quotation marks where it needs them."""
    if not isinstance(value, str):
        return repr(value) if _is_number(value) else ""
    text = f"'{value}" if value.lstrip(" ").startswith(_FORMULA) else value
    # The module csv leaves a lone carriage return bare, and then reads it as the end of a row.
    return '"' + text.replace('"', '""') + '"' if not text or set(text) & set(',"\r\n') else text


def _in_lines(text: str) -> list[str]:
    """Return the lines of a text without blanks around them and without invisible characters."""
    return [visible(line).replace("\t", " ").strip() for line in text.strip().splitlines()]


def _markdown(text: str) -> str:
    """Return text that Markdown shows as it is, in one line of its source."""
    lines = []
    for line in _in_lines(text):
        plain = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        lines.append(_MARKDOWN.sub(r"\\\1", plain))
    return "<br>".join(lines)


def _markdown_row(texts: Iterable[str]) -> str:
    return f"| {' | '.join(texts)} |"


def _latex(text: str, number: bool = False) -> str:
    """Return text that LaTeX sets as it is; the hyphens of a number are minus signs."""
    line = " ".join(_in_lines(text.replace("-", "−") if number else text))
    return _LIGATURES.sub(r"\1{}", "".join(_LATEX.get(letter, letter) for letter in line))


def _latex_row(texts: Iterable[str]) -> str:
    return " & ".join(texts) + r" \\"
