"""What a person should conclude of the clusters, in plain sentences that the numbers support."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...words import count, counted, decimal, in_words, listed, percent
from .content import UNSURE, ReportContent

_NOTABLE = 0.5  # median confidence below which a cluster is named as an unsure one


def answer(content: ReportContent) -> str:
    """Say what was clustered, and into what."""
    method = type(content.model).__name__
    what = f"{counted(content.n_samples, 'sample')} in {counted(content.n_views, 'view')}"
    if content.n_clusters == 1:
        return f"{what} are all in one cluster, by {method}."
    sizes = _between(content.clusters.sizes)
    return f"{what} were put into {counted(content.n_clusters, 'cluster')} {sizes} by {method}."


def _between(sizes: NDArray[np.intp]) -> str:
    """Say how large pieces are."""
    least, most = int(sizes.min()), int(sizes.max())
    if least == most:
        return f"of {counted(least, 'sample')} each"
    return f"of {count(least)} to {counted(most, 'sample')}"


def confidence(content: ReportContent, most: int = 6) -> list[str]:
    """Say how sure the clusters of samples are; so many unsure ones are named."""
    if content.n_clusters == 1:
        return ["With one cluster there is no other that a sample could belong to: confidence says nothing."]
    unsure, n = int((content.lowest < UNSURE).sum()), content.n_samples
    if unsure == 0:
        sentences = [f"No sample is unsure: the confidence of every one is at least {UNSURE}."]
    else:
        sentences = [
            f"{counted(unsure, 'sample')} of {count(n)} ({percent(unsure / n)}) "
            f"{'is' if unsure == 1 else 'are'} unsure, with a confidence below {UNSURE}; the median of all "
            f"is {decimal(float(np.median(content.lowest)))}."
        ]
    medians = content.by_cluster(content.lowest)
    weak = [c for c in np.argsort(medians, kind="stable").tolist() if medians[c] < _NOTABLE]
    if len(weak) == content.n_clusters:
        low, high = decimal(medians.min()), decimal(medians.max())
        sentences.append(
            f"No cluster is sure: their median confidence is {low if low == high else f'{low} to {high}'}."
        )
    elif weak:
        named = listed([f"{c} (median {decimal(medians[c])})" for c in weak], most)
        several = len(weak) > 1
        sentences.append(f"Cluster{'s' if several else ''} {named} {'are' if several else 'is'} least sure.")
    return sentences


def health(content: ReportContent) -> list[str]:
    """Say whether the unified graph is in one piece, and what number of clusters it shows."""
    graph = content.found.health
    if graph.n_components - graph.n_isolated != 1:
        return [*in_pieces(content), *eigengap(content)]
    apart = ", apart from samples without edges" if graph.n_isolated else ""
    return [f"The unified graph is in one piece{apart}.", *in_pieces(content), *eigengap(content)]


def in_pieces(content: ReportContent) -> list[str]:
    """Say what is wrong with the unified graph: that it is in pieces, or that samples have no edge."""
    graph, sentences = content.found.health, []
    pieces, alone = graph.n_components - graph.n_isolated, graph.n_isolated
    if pieces > 1:
        several = (
            f"more than the {counted(graph.n_clusters, 'cluster')} {content.number_was}, so that a cluster "
            "may hold samples that nothing connects"
            if pieces > graph.n_clusters
            else "nothing connects clusters that lie in different pieces"
        )
        sizes = _between(graph.component_sizes[:pieces])
        sentences.append(f"The unified graph is in {in_words(pieces)} pieces {sizes}: {several}.")
    if pieces == 0:
        return ["The unified graph has no edges: nothing supports any cluster."]
    if alone:
        one = alone == 1
        sentences.append(
            f"{counted(alone, 'sample')} {'has' if one else 'have'} no edge, so that nothing "
            f"supports {'its' if one else 'their'} cluster."
        )
    return sentences


def eigengap(content: ReportContent) -> list[str]:
    """Say whether the eigenvalues show the number of clusters that was asked for, chosen or found."""
    graph, was = content.found.health, content.number_was
    asked, shown, known = graph.n_clusters, graph.largest_gap, len(graph.eigenvalues)
    if asked < 2 or known <= asked or shown < 2:
        return []
    if asked == shown:
        return [f"The gap of the eigenvalues is largest behind {asked}, the number of clusters {was}."]
    return [
        f"The gap of the eigenvalues, from 2 to {known - 1} clusters, is largest behind {shown}, not behind "
        f"the {asked} {was}: the graph alone does not settle the number of clusters."
    ]


def convergence(content: ReportContent) -> str:
    """Say how the fusion ended."""
    went = content.found.convergence
    rounds = counted(went.n_iter, "round")
    if went.converged:
        return f"The fusion converged after {rounds}."
    if "callback" in went.status:
        return (
            f"The callback stopped the fusion after {rounds}, before it converged: clusters may still change."
        )
    return (
        f"The fusion did not converge ({went.status}, after {rounds}), so that the clusters may still "
        "change: raise max_iter."
    )
