"""How features were compared: the descriptions that were tried, and what each has of the graph."""

from __future__ import annotations

import numpy as np

from ....spaces.descriptions import DEFAULT
from ....stages.describe import DescriptionTable
from ....stages.sizes import MANY_SAMPLES
from ....words import count, decimal, in_words, percent
from ...markup import Cell, Column, Markup, joined, paragraphs, table
from ..content import ReportContent
from ..section import Section

_FORMS = {
    DEFAULT: "as by default",
    "direction": "directions",
    "log": "logarithms",
    "rank": "ranks",
}


def _body(content: ReportContent) -> Markup:
    """Return the section about descriptions, for a model that tried some."""
    found = _table_of(content)
    return joined(paragraphs([_conclusion(content)], "conclusion"), _tried(found))


def _table_of(content: ReportContent) -> DescriptionTable:
    assert content.descriptions is not None
    return content.descriptions


def _conclusion(content: ReportContent) -> str:
    """Say of how many descriptions the graph is made, and which is confirmed best."""
    found = _table_of(content)
    if not np.isfinite(found.confirmation).any():
        return f"Features were compared as by default only: {_why_nothing(content, found)}."
    best = _named(found, int(np.nanargmax(found.confirmation)))
    n = 1 + len(found.others)
    if n == 1:
        return (
            f"Of {in_words(len(found))} descriptions of the features {best} is confirmed best; the graph is "
            "made by it alone."
        )
    tried = "" if n == len(found) else f", of {in_words(len(found))} that were tried"
    are = "is" if best.startswith("the default") else "are"
    mean = f"The graph is a mean of {in_words(n)} descriptions of the features{tried}"
    return f"{mean}; {best} {are} confirmed best."


def _why_nothing(content: ReportContent, found: DescriptionTable) -> str:
    if content.n_samples > MANY_SAMPLES:
        return f"with more than {count(MANY_SAMPLES)} samples nothing else is tried"
    if len(found) == 1:
        return "nothing else was left to choose"
    if len(content.kept) < 2:
        return "it takes two views to confirm anything else"
    return "nothing could be compared"


def _named(found: DescriptionTable, i: int) -> str:
    """Return a description as a sentence names it; its neighbours where there are several numbers."""
    form = found.name[i]
    name = "the default" if form == DEFAULT else f"{_FORMS[form]} of the features"
    if found.n_neighbors[i] == found.n_neighbors[0]:
        return name
    return f"{name}, with {found.n_neighbors[i]} neighbours,"


def _tried(found: DescriptionTable) -> Markup:
    columns = [
        Column("features"),
        Column("neighbours", "number", "Neighbours of each sample in each view"),
        Column("confirmed", "number", "How far the single views then agree about the clusters"),
        Column("share of the graph", "number"),
    ]
    rows: list[list[str | Cell]] = [
        [
            _FORMS[name],
            str(k),
            Cell(decimal(float(confirmed)), bar=float(confirmed)) if np.isfinite(confirmed) else "–",
            Cell(percent(float(share)), bar=float(share)),
        ]
        for name, k, confirmed, share in zip(
            found.name, found.n_neighbors, found.confirmation, found.share, strict=True
        )
    ]
    return joined(
        table(
            columns,
            rows,
            caption="The descriptions, the default first.",
            name="descriptions-tried",
            sortable=True,
        ),
        paragraphs(
            [
                "Confirmed: each view is clustered alone, with its features compared so; the number says how "
                "far these clusterings are the same, from 0, as by chance, to 1. That is evidence and no "
                "proof, so the default keeps half of the graph in any case; the better half of all "
                "descriptions share the rest. Views that have no other form are compared as by default."
            ],
            "note",
        ),
    )


SECTION = Section(
    "descriptions",
    "How were features compared?",
    _body,
    _conclusion,
    lambda content: content.descriptions is not None,
)
