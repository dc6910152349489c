"""One self-contained page with everything: verdicts, tables, figures, and how it was made."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...io.files import put_in_place
from ...reproduction.claims import Finding
from ...reproduction.definitions import Paper, load_paper
from ...reproduction.experiments import EXPERIMENTS
from ...reproduction.rows import Row
from ...reproduction.score_claims import COMPARABLE
from ...reproduction.verdicts import FAILS, HOLDS, IN_PART, UNKNOWN, Tables
from ...words import listed
from ..frame import whole_page
from ..markup import Column, Markup, element, joined, link, picture, section, table
from . import tables as show

TITLE = "The paper's experiments, run again"
PICTURES = ("pixels", "labels", "truth")  # columns that hold thousands of numbers: for JSON only
_SIGNS = {HOLDS: ("✓", "holds"), IN_PART: ("◐", "part"), FAILS: ("✗", "fails"), UNKNOWN: ("?", "unknown")}
_CAPTIONS = {
    "scores": (
        "NMI of every system on every set, mean and standard deviation over the runs. Look at how far the "
        "dots (ours) are from the diamonds (the paper's), and whether SGF (blue) and DGF (orange-red) are "
        "furthest to the right."
    ),
    "scores-differences": (
        "Ours minus the paper's, in points, for all four scores. White: the same. Violet: ours is higher. "
        "Brown: the paper's is higher."
    ),
    "no-tuning": (
        "Left: NMI with the same parameters on every set, at two numbers of neighbours; diamonds are what "
        "the paper reports after tuning. Middle: how much of each view's weight is taken for "
        "inconsistent. Right: the scale of each view; on the line, all views count alike."
    ),
    "2019": (
        "NMI of the versions of 2019 and of the revised ones, both at their best point of the grid. Look "
        "at the direction and the length of the bars."
    ),
    "sensitivity-surface": (
        "NMI over beta and gamma, drawn like the paper's surfaces; the vertical axis starts at 0. Look "
        "for cliffs: a flat surface means that the parameters do not matter."
    ),
    "sensitivity-heatmap": (
        "The same as maps; each set has its own scale of colours, and the range is above each map. Where "
        "there is room, a ring marks the best point and a cross the untuned one (beta = 1, gamma = "
        "10,000)."
    ),
    "convergence": (
        "The objective, relative to its start. Solid: the paper's steps. Dashed: exact steps that go on "
        "from there. A fall of the dashed line says how far from a minimum the paper's steps were."
    ),
    "affinity": (
        "Above: graphs of four views and the graph learned from them, samples in order of their classes, "
        "so that a clean graph is a row of squares. Below: which samples end up in one cluster, and the "
        "four scores."
    ),
    "times": (
        "Seconds from features to labels, on one thread; logarithmic. The machine is another one than the "
        "paper's: look at the order of the systems, not at the seconds."
    ),
    "times-stages": (
        "How SGF and DGF spend their time. Look at the share of graph learning, also on the right."
    ),
    "complexity": (
        "The time of graph learning against neighbours, samples and views, both axes logarithmic: the "
        "slope is the exponent."
    ),
    "eigengaps": (
        "Left: the gap behind the last eigenvalue used; the larger it is, the easier the eigenvectors are "
        "to find. Right: the time to find them. Look at whether the learned graphs are right of the views "
        "on the left, and left of them on the right."
    ),
}


def csv_rows(rows: Sequence[Row]) -> list[Row]:
    """Return rows for a CSV file: the same columns in each, and nothing in them but numbers and text.

    Lists and tables are written as JSON. Pictures are left out: the JSON file has them.

    Examples
    --------
    >>> csv_rows([{"set": "a", "parameters": {"beta": 1.0}}, {"set": "b", "NMI": 75.0}])
    [{'set': 'a', 'parameters': '{"beta": 1.0}', 'NMI': None}, {'set': 'b', 'parameters': None, 'NMI': 75.0}]
    """
    columns = list(dict.fromkeys(name for row in rows for name in row if name not in PICTURES))
    return [{name: _flat(row.get(name)) for name in columns} for row in rows]


def _flat(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, dict | list | tuple) else value


def write(
    path: Path,
    tables: Tables,
    figures_svg: Mapping[str, str],
    findings: Sequence[Finding],
    facts: Mapping[str, Any],
    missing: Sequence[tuple[str, str]],
    quick: bool,
    paper: Paper | None = None,
) -> None:
    """Write the page: there as a whole, or not at all.

    Parameters
    ----------
    path : Path
        Where it goes.
    tables : mapping of str to sequence of dict
        The rows of every experiment that was run.
    figures_svg : mapping of str to str
        Their figures as SVG, by the names that `figures.draw` gives them; may be empty.
    findings : sequence of Finding
        What `claims.judge` found.
    facts : mapping
        Versions, machine, threads, seeds, and all else that belongs to how it was made; may be nested.
    missing : sequence of (str, str)
        Sets that could not be used, and why.
    quick : bool
        Whether this is the short version.
    paper : Paper, optional
        The definitions; by default those of the package.
    """
    paper = load_paper() if paper is None else paper
    sections = {
        "verdicts": ("Which claims hold here", _verdicts(findings)),
        **_experiments(tables, figures_svg, paper),
        "missing": ("Data sets that are not here", show.missing_table(missing, paper)),
        "how": ("How it was made", _how(tables, facts)),
    }
    sections = {name: (title, content) for name, (title, content) in sections.items() if content}
    links = [joined(element("a", title, href=f"#{name}"), " ") for name, (title, _) in sections.items()]
    body = joined(
        element("h1", TITLE),
        _banner(paper) if quick else None,
        _introduction(tables, paper),
        element("nav", links, class_="contents"),
        [section(name, title, content) for name, (title, content) in sections.items()],
    )
    content = whole_page(TITLE, body)
    with put_in_place(path) as scratch:
        scratch.write_text(content, encoding="utf-8")


def _banner(paper: Paper) -> Markup:
    short = paper.experiments.quick
    side = len(short.exponents)
    text = f"Quick version: a {side} x {side} grid and {short.n_runs} seeds; not the paper's protocol"
    return element("p", text, class_="banner", role="note")


def _introduction(tables: Tables, paper: Paper) -> Markup:
    names = {row["set"] for rows in tables.values() for row in rows if row.get("set") in paper.sets}
    used = [one for name, one in paper.sets.items() if name in names]
    printed = sum(one.in_paper for one in paper.sets.values())
    theirs, ours = ([one.title for one in used if one.in_paper == flag] for flag in (True, False))
    listing = f" ({listed(theirs, 20)})" if theirs else ""
    more = f", and on {listed(ours, 20)}, not in the paper" if ours else ""
    return element(
        "p",
        "The tables and figures of Y. Liang, D. Huang, C.-D. Wang and P. S. Yu, ",
        element("cite", "Multi-view Graph Learning by Joint Modeling of Consistency and Inconsistency"),
        f", made again with consilience: on {len(theirs)} of its {printed} data sets{listing}{more}. What is "
        "printed in the paper stands next to our numbers, in grey.",
    )


def _verdicts(findings: Sequence[Finding]) -> Markup:
    theirs, ours = ([one for one in findings if bool(one.where) == flag] for flag in (True, False))
    if not findings:
        return Markup("")
    counts = [(sum(one.verdict == verdict for one in theirs), verdict) for verdict in _SIGNS]
    text = ", ".join(f"{count} {_in_plural(verdict, count)}" for count, verdict in counts if count)
    return joined(
        element("p", f"Of {len(theirs)} claims of the paper, {text}.") if theirs else None,
        _claims_table(theirs),
        [element("h3", "What else the numbers show"), _claims_table(ours)] if ours else None,
    )


def _in_plural(verdict: str, count: int) -> str:
    plural = {HOLDS: "hold", IN_PART: "hold in part", FAILS: "do not hold"}
    return verdict if count == 1 else plural.get(verdict, verdict)


def _claims_table(findings: Sequence[Finding]) -> Markup:
    rows = []
    for one in findings:
        sign, class_ = _SIGNS[one.verdict]
        where = [element("br"), element("small", one.where)] if one.where else []
        text = re.sub(r"(?<!\w)-(?=\d)", "−", one.text).replace(" %", "\u00a0%")
        rows.append(
            [
                element("span", f"{sign} {one.verdict}", class_=f"verdict {class_}"),
                joined(one.claim, *where),
                joined(text),
            ]
        )
    columns = [Column("verdict"), Column("claim"), Column("what the numbers say")]
    return table(columns, rows, class_="claims stacked")


def _experiments(tables: Tables, svg: Mapping[str, str], paper: Paper) -> dict[str, tuple[str, Markup]]:
    """Return title and content of every experiment: results, how the method behaves, what it costs."""

    def figure(*stems: str) -> Markup:
        return joined([picture(svg[stem], _CAPTIONS.get(stem, stem)) for stem in stems if stem in svg])

    def rows(name: str) -> Sequence[Row]:
        return tables.get(name, [])

    contents = {
        "scores": [_score_tables(rows("scores"), paper), figure("scores", "scores-differences")],
        "no-tuning": [figure("no-tuning"), show.untuned_table(rows("no-tuning"), paper)],
        "2019": [figure("2019"), show.table_2019(rows("2019"), paper)],
        "sensitivity": [
            figure("sensitivity-surface", "sensitivity-heatmap"),
            show.sensitivity_table(rows("sensitivity"), paper),
        ],
        "convergence": [figure("convergence")],
        "affinity": [figure("affinity")],
        "times": [
            show.times_table(rows("times"), paper),
            figure("times", "times-stages"),
            show.stages_table(rows("times"), paper),
        ],
        "complexity": [figure("complexity"), show.complexity_table(rows("complexity"), paper)],
        "eigengaps": [figure("eigengaps"), show.eigengap_table(rows("eigengaps"), paper)],
    }
    return {name: (EXPERIMENTS[name].title, joined(parts)) for name, parts in contents.items()}


def _score_tables(rows: Sequence[Row], paper: Paper) -> Markup:
    if not rows:
        return Markup("")
    legend = element(
        "p",
        "In percent: mean and standard deviation over the runs; the best of each row in bold. In grey what "
        f"the paper prints, and ours minus that; differences of more than {COMPARABLE:g} points are marked.",
        class_="note",
    )
    by_metric = [
        joined(element("h3", metric), show.score_table(rows, metric, paper))
        for metric in paper.experiments.metrics
    ]
    chosen = show.chosen_parameters(rows, paper)
    heading = "Where these scores were found: the best point of the grid, by the labels"
    return joined(
        legend,
        by_metric,
        show.failures(rows, paper),
        [element("h3", heading), chosen] if chosen else None,
    )


def _how(tables: Tables, facts: Mapping[str, Any]) -> Markup:
    absent = [one.title for name, one in EXPERIMENTS.items() if name not in tables]
    rows: list[list[str]] = [[name, _fact(value)] for name, value in _flattened(facts)]
    if absent:
        rows.append(["not run", listed(absent, 20)])
    return table([Column(""), Column("")], rows, class_="stacked")


def _flattened(facts: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in facts.items():
        if isinstance(value, Mapping):
            yield from _flattened(value, f"{before}{name}: ")
        else:
            yield f"{before}{name}", value


def _fact(value: Any) -> Markup:
    if isinstance(value, list | tuple):
        return joined(", ".join(str(one) for one in value))
    return link(str(value))
