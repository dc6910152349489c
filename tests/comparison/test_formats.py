"""Tables as Markdown, CSV and LaTeX: what goes in comes out, whatever the names are."""

import csv
import html
import io
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from consilience.comparison.formats import Cell, Table, mark_best

NASTY = [
    "a|b",
    "_x_",
    "5%",
    "<img src=x onerror=alert(1)>",
    r"\input{/etc/passwd}",
    "two\nlines",
    "`code` [link](http://x) ~~gone~~ **bold**",
    r"back\slash | \| pipe \\",
    "AT&T &lt; $x^2$ #1 {}",
    '"quoted", comma',
    "[3] first",
    "*star",
    "Müller, 北京",
]
FORMULAS = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "  =1", "＝1+1"]


def markdown_cells(line):
    """Split at pipes that no backslash precedes, and take the escapes away: what GitHub's rules say."""
    inside = re.fullmatch(r"\| (.*) \|", line)[1]
    unescaped = [re.sub(r"\\([\\`*_\[\]~|$])", r"\1", cell) for cell in split_unescaped(inside)]
    return [html.unescape(cell.replace("<br>", "\n")) for cell in unescaped]


def split_unescaped(text):
    cells, start, i = [], 0, 0
    while i < len(text):
        if text[i] == "\\":
            i += 1
        elif text[i] == "|":
            cells.append(text[start:i])
            start = i + 1
        i += 1
    return [cell.strip() for cell in [*cells, text[start:]]]


@pytest.mark.parametrize("name", [*NASTY, *FORMULAS])
def test_markdown_gives_names_back_and_takes_none_for_markup(name):
    source = Table([name, "score"], [[name, 1.0], ["B", 2.0]]).markdown()
    lines = source.rstrip("\n").split("\n")
    assert len(lines) == 4
    for line in (lines[0], lines[2]):
        assert markdown_cells(line)[0] == name.strip() and len(markdown_cells(line)) == 2
    assert "<" not in source.replace("<br>", "")
    for mark in "`*_[]~$":  # each is escaped
        assert not re.search(rf"(?<!\\)(?:\\\\)*{re.escape(mark)}", source)


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cf", "Zl", "Zp", "Zs"]), min_size=1))
def test_markdown_gives_any_name_back(name):
    assert markdown_cells(Table([name], []).markdown().split("\n")[0]) == [name]


@given(st.lists(st.text(st.characters(codec="utf-8")), min_size=1, max_size=4), st.floats(allow_nan=False))
def test_csv_gives_text_and_numbers_back(names, number):
    table = Table([*names, "score"], [[*names, number]])
    header, row = csv.reader(io.StringIO(table.csv(), newline=""))
    assert float(row[-1]) == number  # to the last bit
    for name, read, again in zip(names, row, header, strict=False):
        assert read == again and read in (name, "'" + name)


@pytest.mark.parametrize("name", FORMULAS)
def test_names_do_not_become_formulas_in_a_spreadsheet(name):
    rows = list(csv.reader(io.StringIO(Table([name, "score"], [[name, -1.5]]).csv(), newline="")))
    assert rows == [["'" + name, "score"], ["'" + name, "-1.5"]]  # a negative number stays one


@pytest.mark.parametrize("name", NASTY)
def test_other_names_are_as_they_were_in_csv(name):
    assert list(csv.reader(io.StringIO(Table([name], [[name]]).csv(), newline=""))) == [[name], [name]]


def test_csv_has_raw_values_and_the_others_what_is_printed():
    table = Table(["A", "B", "C", "D"], [[Cell(93.127, "93.1 ± 0.2", best=True), 1 / 3, 7, None]], digits=2)
    assert table.csv() == f"A,B,C,D\n93.127,{1 / 3!r},7,\n"
    assert table.markdown().split("\n")[2] == "| **93.1 ± 0.2** | 0.33 | 7 | – |"
    assert r"\textbf{93.1 $\pm$ 0.2} & 0.33 & 7 & \textendash{} \\" in table.latex()


def test_what_is_no_number_is_empty_in_csv_and_a_dash_in_print():
    table = Table(["A", "B"], [[np.float64("nan"), np.int64(3)]])
    assert table.csv() == "A,B\n,3\n" and "| – | 3 |" in table.markdown()


def latex_text(source):
    """Return what LaTeX would print of escaped text; a second reading of the table of escapes."""
    commands = {
        "textbackslash": "\\",
        "textasciitilde": "~",
        "textasciicircum": "^",
        "textless": "<",
        "textgreater": ">",
        "textbar": "|",
        "textasciigrave": "`",
        "char34": '"',
        "textendash": "–",
        "ldots": "…",
    }
    source = re.sub(r"\\([a-z]+[0-9]*)\{\}", lambda match: f"\0{ord(commands[match[1]]):x};", source)
    source = re.sub(r"\\([&%$#_{}])", lambda match: f"\0{ord(match[1]):x};", source)
    source = re.sub(r"\{([][*]?)\}", r"\1", source)
    assert not re.search(r"[\\&%$#_{}~^]", source), "something is not escaped"
    return re.sub(r"\0([0-9a-f]+);", lambda match: chr(int(match[1], 16)), source)


@pytest.mark.parametrize("name", [*NASTY, *FORMULAS, "a--b ''c'' ,, d", "…–"])
def test_latex_prints_names_as_they_are(name):
    lines = Table([name], [[name]]).latex().rstrip("\n").split("\n")
    assert lines[:2] == [r"\begin{tabular}{l}", r"\toprule"] and lines[3] == r"\midrule" and len(lines) == 7
    for line in (lines[2], lines[4]):
        assert line.endswith(r" \\")
        assert latex_text(line.removesuffix(r" \\")) == " ".join(name.split("\n")).strip()


def test_latex_does_not_take_names_for_options_dashes_or_signs():
    table = Table(["name", "score"], [["[3pt]", -0.5], ["*x", 1.0], ["a--b", Cell(-2.0, "-2 to -1")]])
    rows = table.latex().split("\n")[4:7]
    assert rows == [
        r"{[}3pt{]} & $-$0.5 \\",
        r"{*}x & 1.0 \\",
        r"a-{}-b & $-$2 to $-$1 \\",
    ]


def test_captions_and_alignment():
    table = Table(["A", "B"], [["x", 1.0]], caption="50% of *all*", align="cr")
    assert table.markdown().startswith("*50% of \\*all\\**\n\n| A | B |\n| :---: | ---: |\n")
    latex = table.latex()
    assert latex.startswith(
        "\\begin{table}\n\\centering\n\\caption{50\\% of {*}all{*}}\n\\begin{tabular}{cr}\n"
    )
    assert latex.endswith("\\end{tabular}\n\\end{table}\n")
    assert "| :--- | ---: | ---: |" in Table(["A", "B", "C"], [["x", 1, None]]).markdown()


def test_the_best_of_rows_and_columns():
    nan = float("nan")
    table = Table(["set", "A", "B"], [["x", 90.04, 90.01], ["y", nan, 80.0], ["z", None, nan]])
    by_row, by_column = mark_best(table), mark_best(table, "column", lowest=True)
    marks = [[[cell.best for cell in row] for row in one.cells] for one in (by_row, by_column)]
    assert marks[0] == [[False, True, True], [False, False, True], [False, False, False]]
    assert marks[1] == [[False, True, False], [False, False, True], [False, False, False]]
    assert mark_best(Table(["A"], [])).cells == () == mark_best(Table(["A"], []), "column").cells


def test_tables_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="Row 1 has 1 cells, the header 2"):
        Table(["A", "B"], [[1, 2], [1]])
    for align in ("l", "lx"):
        with pytest.raises(ValueError, match="align"):
            Table(["A", "B"], [], align=align)
