"""Does fusion help: what `does_fusion_help` found."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....inspection.fusion_help.result import FusionHelp
from ....models.fusion import DistanceGraphFusion
from ....stages.label import KMeansLabels, resolve_assigner
from ....words import clipped, decimal, listed, quoted
from ...markup import Cell, Column, Markup, element, joined, paragraphs, table
from ..content import ReportContent
from ..recipe import parameters
from ..section import Section

KINDS = {
    "view": "a view alone",
    "concatenation": "all views side by side",
    "average": "average of the views' graphs",
    "fusion": "fusion",
}
# Parameters of a fit that the comparison takes over, or that change nothing of the fusion.
HANDED_ON = frozenset(
    {
        "n_clusters",
        "max_clusters",
        "n_neighbors",
        "metric",
        "scale",
        "random_state",
        "engine",
        "n_jobs",
        "verbose",
    }
)


def _body(content: ReportContent) -> Markup:
    """Return the section that says whether fusing helps."""
    if not isinstance(content.fusion_help, FusionHelp):
        return element("p", _sentence(content), class_="conclusion")
    return joined(
        paragraphs([_sentence(content), *_scope(content)], "conclusion"),
        _contenders(content.fusion_help),
        _skipped(content.fusion_help),
        paragraphs(
            [
                "Shown: how much of the edge weight of the views lies inside the clusters, beyond chance: 0 "
                "is chance, 1 the most there can be. The verdict compares this. Stability: how far the "
                "clusters hold if a fifth of the samples is left out (mean adjusted Rand index over "
                "resamples). Stability and scores against labels, if there are any, have no part in the "
                "verdict."
            ],
            "note",
        ),
    )


def _sentence(content: ReportContent) -> str:
    """Return the verdict, or how to get one."""
    if content.fusion_help is not None:
        return content.fusion_help if isinstance(content.fusion_help, str) else content.fusion_help.sentence
    how = "model.report(path, views=views), or the command consilience report"
    if content.n_views == 1:
        return "There is one view only, so that there is nothing to fuse it with."
    if content.n_clusters == 1:
        return "With one cluster there is nothing that fusing could make better or worse."
    return f"This was not asked: it takes the data themselves. To have it answered, use {how}."


def _scope(content: ReportContent) -> list[str]:
    """Say what the verdict is about, unless it is about this very fit."""
    if not isinstance(content.fusion_help, FusionHelp):
        return []
    others = [
        name
        for name, (value, is_default) in parameters(content.model).items()
        if not (is_default or name in HANDED_ON or (name == "assign_labels" and _is_kmeans(value)))
    ]
    kind = type(content.model)
    if kind is DistanceGraphFusion and not others:
        return []
    made = f"a {kind.__name__}" if kind is not DistanceGraphFusion else ""
    if others:
        made += f"{' ' if made else ''}with its own {listed(others)}"
    return [
        "This verdict is about SGF and DGF with default weights and penalties on these views, not about this "
        f"very fit ({made})."
    ]


def _is_kmeans(assign_labels: Any) -> bool:
    return isinstance(resolve_assigner(assign_labels), KMeansLabels)


def _contenders(found: FusionHelp) -> Markup:
    # The last of this name: a view may be called like a fusion, and fusions come last.
    fused = max(i for i, name in enumerate(found.names) if name == found.evidence.fused)
    scores = found.scores or {}
    columns = [
        Column("contender", "view"),
        Column("kind"),
        Column("shown", "number", "How far the clusters show in the views, beyond chance"),
        Column("stability", "number", "How far they hold without a fifth of the samples"),
        Column(f"agreement with {found.evidence.fused}", "number", "Adjusted Rand index of the clusters"),
        *(Column(name, "number") for name in scores),
    ]
    rows: list[list[str | Cell]] = []
    for i, name in enumerate(found.names):
        shown = float(found.shown[i])
        numbers = [found.stability[i], found.agreement[fused, i], *(s[i] for s in scores.values())]
        rows.append(
            [
                clipped(name),
                KINDS.get(found.kinds[i], found.kinds[i]),
                Cell(decimal(shown, 3), bar=max(shown, 0.0) if np.isfinite(shown) else 0.0),
                *(decimal(float(number), 3) for number in numbers),
            ]
        )
    caption = "Each contender, clustered by the same spectral step."
    return table(columns, rows, caption=caption, name="contenders", sortable=True)


def _skipped(found: FusionHelp) -> Markup:
    texts = [f"{quoted(name)} was not compared. {reason}" for name, reason in found.skipped.items()]
    return element("ul", [element("li", text) for text in texts]) if texts else Markup("")


def _conclusion(content: ReportContent) -> str:
    return " ".join([_sentence(content), *_scope(content)])


SECTION = Section("help", "Does fusion help?", _body, _conclusion)
