"""Does fusion help: what `does_fusion_help` found."""

from __future__ import annotations

import numpy as np

from ....cluster.fusion import DistanceGraphFusion
from ...fusion_help.result import FusionHelp
from ..content import ReportContent
from ..markup import Cell, Column, Markup, element, joined, paragraphs, table
from ..recipe import parameters
from ..wording import clipped, decimal, listed, quoted

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
        "n_init",
        "n_jobs",
        "verbose",
    }
)


def helping_section(content: ReportContent) -> Markup:
    """Return the section that says whether fusing helps."""
    if not isinstance(content.help, FusionHelp):
        return element("p", sentence(content), class_="conclusion")
    return joined(
        paragraphs([sentence(content), *scope(content)], "conclusion"),
        _contenders(content.help),
        _skipped(content.help),
        paragraphs(
            [
                "Stability: how far the clusters hold if a fifth of the samples is left out (mean adjusted "
                "Rand index over resamples). Null: the same on views of the same make without structure. "
                "Scores against labels, if there are any, have no part in the verdict."
            ],
            "note",
        ),
    )


def sentence(content: ReportContent) -> str:
    """Return the verdict, or how to get one."""
    if content.help is not None:
        return content.help if isinstance(content.help, str) else content.help.sentence
    how = "model.report(path, views=views), or the command consilience report"
    if content.n_views == 1:
        return "There is one view only, so that there is nothing to fuse it with."
    if content.n_clusters == 1:
        return "With one cluster there is nothing that fusing could make better or worse."
    return f"This was not asked: it takes the data themselves. To have it answered, use {how}."


def scope(content: ReportContent) -> list[str]:
    """Say what the verdict is about, unless it is about this very fit."""
    if not isinstance(content.help, FusionHelp):
        return []
    told = parameters(content.model).items()
    others = [name for name, (_, is_default) in told if not is_default and name not in HANDED_ON]
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


def _contenders(help_: FusionHelp) -> Markup:
    # The last of this name: a view may be called like a fusion, and fusions come last.
    fused = max(i for i, name in enumerate(help_.names) if name == help_.evidence.fused)
    scores = help_.scores or {}
    columns = [
        Column("contender", "view"),
        Column("kind"),
        Column("stability", "number"),
        Column("null", "number", "Stability on views without structure"),
        Column(f"agreement with {help_.evidence.fused}", "number", "Adjusted Rand index of the clusters"),
        *(Column(name, "number") for name in scores),
    ]
    rows: list[list[str | Cell]] = []
    for i, name in enumerate(help_.names):
        stability = float(help_.stability[i])
        numbers = [help_.null_stability[i], help_.agreement[fused, i], *(s[i] for s in scores.values())]
        rows.append(
            [
                clipped(name),
                KINDS.get(help_.kinds[i], help_.kinds[i]),
                Cell(decimal(stability, 3), bar=stability if np.isfinite(stability) else 0.0),
                *(decimal(float(number), 3) for number in numbers),
            ]
        )
    caption = "Each contender, clustered by the same spectral step."
    return table(columns, rows, caption=caption, name="contenders", sortable=True)


def _skipped(help_: FusionHelp) -> Markup:
    told = [f"{quoted(name)} was not compared. {reason}" for name, reason in help_.skipped.items()]
    return element("ul", [element("li", text) for text in told]) if told else Markup("")
