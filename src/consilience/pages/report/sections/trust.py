"""Can I trust it: confidence, the unified graph, convergence."""

from __future__ import annotations

import numpy as np

from ....words import count, counted, decimal
from ...markup import Column, Markup, element, figure, joined, paragraphs, table
from .. import sentences
from ..content import ReportContent
from ..payload import MOST_CLUSTERS
from ..section import Section

N_LEAST_SURE = 20
MOST_NAMED = 2  # clusters in the conclusion; the others are counted


def _body(content: ReportContent) -> Markup:
    """Return the section that says how far to trust the clusters."""
    return joined(
        paragraphs(sentences.confidence(content), "conclusion"),
        paragraphs([*sentences.health(content), sentences.convergence(content)], "conclusion"),
        _confidence(content),
        _graph(content),
        _convergence(content),
    )


def _conclusion(content: ReportContent) -> str:
    unfinished = [] if content.found.convergence.converged else [sentences.convergence(content)]
    return " ".join([*unfinished, *sentences.in_pieces(content), *sentences.confidence(content, MOST_NAMED)])


def _confidence(content: ReportContent) -> Markup:
    if content.n_clusters == 1:
        return Markup("")
    shown = min(content.n_clusters, MOST_CLUSTERS)
    caption = "Share of each cluster's samples by confidence."
    if shown < content.n_clusters:
        caption += f" The {shown} least sure of {count(content.n_clusters)} clusters are drawn."
    description = (
        "Bars, one for each cluster, cut by confidence. Median confidence by cluster: "
        + ", ".join(decimal(x) for x in content.by_cluster(content.lowest)[:MOST_CLUSTERS])
        + "."
    )
    return joined(
        element("h3", "How sure each cluster is"),
        figure("chart-confidence", 80 + 26 * shown, description, caption),
        element("h3", "The least sure samples"),
        _least_sure(content),
        paragraphs(
            [
                "Silhouette, from −1 to 1: how much nearer the own cluster is than the next, in the spectral "
                "embedding. Margin: the same by the centres of clusters, from 0. Neighbours: share of a "
                "sample's weight in the unified graph that goes to its own cluster. Confidence is the lowest "
                "of the three, not below 0."
            ],
            "note",
        ),
    )


def _least_sure(content: ReportContent) -> Markup:
    sure = content.confidence
    order = np.argsort(content.lowest, kind="stable")[:N_LEAST_SURE]
    columns = [
        Column("sample", "sample"),
        Column("cluster", "number"),
        Column("second", "number", "The cluster whose centre is next"),
        Column("confidence", "number"),
        Column("silhouette", "number"),
        Column("margin", "number"),
        Column("neighbours", "number", "Share of the sample's weight that goes to its own cluster"),
    ]
    rows = [
        [
            content.name(s),
            str(content.labels[s]),
            str(sure.second[s]),
            *(
                decimal(float(values[s]))
                for values in (content.lowest, sure.silhouette, sure.margin, sure.neighbor_agreement)
            ),
        ]
        for s in order
    ]
    caption = f"The {counted(len(rows), 'sample')} of {count(content.n_samples)} with the lowest confidence."
    return table(columns, rows, caption=caption, name="least-sure", sortable=True)


def _graph(content: ReportContent) -> Markup:
    graph = content.found.health
    low, middle, high = np.quantile(graph.degrees, [0, 0.5, 1]).astype(int)
    facts = [
        ["samples", count(graph.n_samples)],
        ["edges", count(graph.n_edges)],
        ["connected pieces", count(graph.n_components - graph.n_isolated)],
        ["samples without an edge", count(graph.n_isolated)],
        ["neighbours of a sample: fewest, median, most", f"{low}, {middle}, {high}"],
        [f"eigengap behind {graph.n_clusters}", decimal(graph.eigengap, 4)],
    ]
    columns = [Column("the unified graph"), Column("value", "number")]
    parts = [
        element("h3", "The unified graph"),
        table(columns, facts, caption="What the unified graph looks like."),
    ]
    if len(graph.eigenvalues):
        values = ", ".join(decimal(float(value), 3) for value in graph.eigenvalues)
        asked = f"{graph.n_clusters} {'was' if graph.n_clusters == 1 else 'were'}"
        parts.append(
            figure(
                "chart-eigenvalues",
                280,
                f"The smallest eigenvalues of the graph's Laplacian, ascending: {values}.",
                "Smallest eigenvalues of the normalised Laplacian. A large step behind the c-th suggests c "
                f"clusters; {asked} {content.number_was} (broken line).",
            )
        )
    return joined(parts)


def _convergence(content: ReportContent) -> Markup:
    went = content.found.convergence
    if went.n_iter < 1:
        return Markup("")
    heading = element("h3", "Convergence")
    start, end = went.objective[0], went.objective[-1]
    if not start > 0:
        nothing = "The objective was 0 from the start: there is no edge that two views could differ on."
        return joined(heading, element("p", nothing))
    fell = f"fell from {start:.4g} to {end:.4g}"
    return joined(
        heading,
        figure(
            "chart-convergence",
            250,
            f"The objective {fell} in {counted(went.n_iter, 'round')}.",
            f"The objective of the fusion, as a share of its value at the start; it {fell}.",
        ),
    )


SECTION = Section("trust", "Can I trust it?", _body, _conclusion)
