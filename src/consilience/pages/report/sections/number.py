"""How many clusters: the curves that the number was chosen by."""

from __future__ import annotations

from ....stages.select import ClusterSelection
from ....words import decimal
from ...markup import Column, Markup, element, figure, joined, paragraphs, table
from ..content import ReportContent
from ..section import Section


def _body(content: ReportContent) -> Markup:
    """Return what the number of clusters was chosen by, for a model that chose it."""
    found = content.selection
    assert found is not None
    return joined(paragraphs([_conclusion(content)], "conclusion"), _curves(found))


def _conclusion(content: ReportContent) -> str:
    """Say which number was chosen and why."""
    found, more = content.selection, ""
    assert found is not None
    if len(found.n_clusters) and found.chosen == found.n_clusters[-1]:
        more = " It is the largest candidate: more clusters were not considered."
    return found.reason + more


def _curves(found: ClusterSelection) -> Markup:
    if not len(found.n_clusters):
        return Markup("")
    columns = [
        Column("clusters", "number"),
        Column("eigengap", "number", "Step to the next eigenvalue, as a share of the range it stands in"),
        Column("stability", "number", "Mean agreement (adjusted Rand index) between halves of the samples"),
        Column("± error", "number", "Standard error of the stability"),
        Column("without structure", "number", "The stability of a graph without clusters"),
        Column("score", "number", "Eigengap times the stability beyond that without structure"),
    ]
    rows = [
        [str(c), *(decimal(float(value)) for value in values)]
        for c, *values in zip(
            found.n_clusters,
            found.relative_gaps,
            found.stability,
            found.stability_se,
            found.null,
            found.scores,
            strict=True,
        )
    ]
    best = found.n_clusters[found.scores.argmax()]
    chosen = "nothing stands out" if found.chosen == 1 else f"{found.chosen} was chosen (broken line)"
    return joined(
        figure(
            "chart-selection",
            420,
            f"For {found.n_clusters[0]} to {found.n_clusters[-1]} clusters: the eigengap, as bars, and the "
            f"stability, as a line with its standard error, above that without structure. The score is best "
            f"for {best}. The table below has the numbers.",
            "Above: the step behind each eigenvalue, as a share of the range it stands in. Below: how far "
            "halves of the samples agree on so many clusters, and how far they would in a graph without "
            f"structure; {chosen}.",
        ),
        table(
            columns,
            rows,
            caption="The candidates. The score is the eigengap times (stability − without structure) / "
            "(1 − without structure), the latter not below 0.",
            name="candidates",
            sortable=True,
        ),
        element(
            "p",
            "Few clusters are found again in anything, which is why the stability is compared with that of "
            "a graph without structure.",
            class_="note",
        ),
    )


SECTION = Section(
    "number", "How many clusters?", _body, _conclusion, applies=lambda content: content.selection is not None
)
