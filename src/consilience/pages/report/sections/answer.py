"""The answer: the clusters, and a map of the samples."""

from __future__ import annotations

from ....words import count, counted, decimal, percent
from ...markup import Cell, Column, Markup, element, figure, joined, paragraphs, table
from .. import sentences
from ..content import UNSURE, ReportContent
from ..section import Section

MOST_CLUSTERS = 300
N_COLOURS, N_SHAPES = 8, 6  # of the map, as in charts.js


def _body(content: ReportContent) -> Markup:
    """Return the section with the result."""
    return joined(
        element("p", sentences.answer(content), class_="conclusion"),
        _scores(content),
        _clusters(content),
        _map(content),
    )


def _scores(content: ReportContent) -> Markup:
    if content.scores is None:
        return Markup("")
    values = ", ".join(f"{name} {decimal(value, 3)}" for name, value in content.scores.items())
    return joined(
        element("p", f"Against the labels given: {values}; 1 is best."),
        paragraphs(
            [
                "NMI: mutual information over the larger entropy. ACC: share of samples that are right under "
                "the best matching of clusters with classes. ARI: pairs that are treated alike, beyond "
                "chance. Purity: share of samples in their cluster's commonest class."
            ],
            "note",
        ),
    )


def _clusters(content: ReportContent) -> Markup:
    clusters, n = content.clusters, content.n_samples
    medians = content.by_cluster(content.lowest)
    columns = [
        Column("cluster", "number"),
        Column("samples", "number"),
        Column("share", "number"),
        Column("median confidence", "number"),
        Column("flagged rows", "number", "Rows of all views that contradict the others"),
    ]
    sure = content.n_clusters > 1
    rows: list[list[str | Cell]] = [
        [
            str(c),
            Cell(count(int(size)), bar=size / clusters.sizes.max()),
            percent(size / n, 1),
            decimal(medians[c]) if sure else "–",
            count(int(clusters.n_flagged[c].sum())),
        ]
        for c, size in enumerate(clusters.sizes[:MOST_CLUSTERS])
    ]
    note = ""
    if content.n_clusters > MOST_CLUSTERS:
        note = f"The first {count(MOST_CLUSTERS)} of {counted(content.n_clusters, 'cluster')} are listed. "
    return joined(
        element("h3", "Clusters"),
        table(columns, rows, caption="Clusters, numbered as in labels_.", name="clusters", sortable=True),
        paragraphs(
            [
                note + "Confidence, from 0 to 1, is the lowest of three measures of how sure a sample's "
                f"cluster is; below {UNSURE} a sample is called unsure."
            ],
            "note",
        ),
    )


def _map(content: ReportContent) -> Markup:
    n_drawn = len(content.map.samples)
    options = [("cluster", "cluster"), ("confidence", "confidence"), ("conflict", "conflict, worst view")]
    options += [(str(i), f"conflict in {name}") for i, name in enumerate(content.view_names)]
    controls = element(
        "div",
        element("label", "Colour by ", _select("map-colour", options)),
        element(
            "label",
            "Find a sample ",
            element("input", type="search", id="map-find", autocomplete="off", spellcheck="false"),
        ),
        class_="controls scripted",
    )
    drawn = (
        f"All {count(content.n_samples)} samples are drawn."
        if n_drawn == content.n_samples
        else f"{count(n_drawn)} of {count(content.n_samples)} samples are drawn: evenly from the "
        "clusters, at random, but flagged ones first, up to half."
    )
    caption = (
        f"{drawn} Near means near in the unified graph ({content.map.how}); distances between clusters "
        f"mean little.{_repeats(content)} Point at a sample, or type its name, to see what each view "
        "says of it."
    )
    description = (
        f"Scatter plot of {counted(n_drawn, 'sample')}, coloured by cluster. The tables of this page "
        "give the same facts."
    )
    return joined(
        element("h3", "Map of the samples"),
        controls,
        figure("chart-map", 480, description, caption),
        element("output", id="map-found", class_="scripted", aria_live="polite"),
    )


def _repeats(content: ReportContent) -> str:
    """Say when colours are not enough to distinguish the clusters."""
    if content.n_clusters <= N_COLOURS:
        return ""
    if content.n_clusters <= N_COLOURS * N_SHAPES:
        return " Colours repeat with another shape."
    return " Colours and shapes repeat: go by the numbers, which are those of the clusters."


def _select(name: str, options: list[tuple[str, str]]) -> Markup:
    return element("select", [element("option", text, value=value) for value, text in options], id=name)


SECTION = Section("answer", "The answer", _body, sentences.answer)
