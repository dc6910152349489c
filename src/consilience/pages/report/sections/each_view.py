"""The clusters of each view alone, where no two views agree and nobody can know which is right."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....metrics import ari
from ....words import decimal
from ...markup import Cell, Column, Markup, element, joined, paragraphs, table
from ..content import ReportContent
from .conflict_tables import view_columns


def each_view(content: ReportContent) -> Markup:
    """Return how the clusters of each view alone compare; nothing where views agree."""
    alone = list(content.labels_by_view.values())
    if not alone:
        return Markup("")
    found = [*alone, content.labels]
    names = [*(content.view_names[i] for i in content.kept), "all views together"]
    every = view_columns(content)
    columns = [
        Column("clusters of", "view"),
        Column("sizes", "text"),
        *(every[i] for i in content.kept),
        Column("all views together", "number"),
    ]
    rows: list[Sequence[str | Cell]] = []
    for i, (name, labels) in enumerate(zip(names, found, strict=True)):
        row: list[str | Cell] = [name, _sizes(labels)]
        for j, other in enumerate(found):
            both = (labels >= 0) & (other >= 0)
            share = float(ari(labels[both], other[both])) if both.any() else np.nan
            row.append("" if i == j else Cell(decimal(share), shade=max(share, 0.0)))
        rows.append(row)
    return joined(
        element("h3", "Each view alone"),
        paragraphs(
            ["As no two views agree, the clusters of one view may be worth more than those of all together."]
        ),
        table(columns, rows, caption="How far clusterings agree: the adjusted Rand index.", name="each-view"),
        paragraphs(
            [
                "0: no more than chance; 1: the same clusters. Each view was clustered by its own nearest "
                "neighbours. The model gives these clusters by labels_by_view(); the command “cluster” has "
                "them in labels.csv."
            ],
            "note",
        ),
    )


def _sizes(labels: np.ndarray) -> str:
    """Return the sizes of clusters, the largest first; of many, the largest."""
    sizes = np.sort(np.bincount(labels[labels >= 0]))[::-1]
    shown = ", ".join(map(str, sizes[:8].tolist()))
    return f"{shown}, …" if len(sizes) > 8 else shown
