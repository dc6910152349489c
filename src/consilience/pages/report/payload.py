"""What the charts of the page draw, as JSON: sampled, binned and rounded, so that it stays small."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...inspection.subject import Floats
from ...words import distinct
from .content import ReportContent

MOST_CLUSTERS = 40  # rows of the chart of confidence
MOST_ROUNDS = 500  # points of the chart of convergence
CLASSES = (0.0, 0.25, 0.5, 0.75, 1.0)  # of confidence
SHORT, SHORTER = 20, 11  # characters of a view's name next to the heat map, on a wide and a narrow screen
_NAMES_PER_BIN = 3
# What must not stand in a script element, nor end a line of a script where JSON sees none.
_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def payload_json(content: ReportContent) -> str:
    """Return the data of the charts as JSON that may stand in a script element."""
    text = json.dumps(payload(content), allow_nan=False, separators=(",", ":"))
    for character, escaped in _ESCAPES.items():
        text = text.replace(character, escaped)
    return text


def payload(content: ReportContent) -> dict[str, Any]:
    """Gather what the charts need."""
    return {
        "samples": content.n_samples,
        "views": content.view_names,
        "short": distinct(content.found.views.names, SHORT),
        "shorter": distinct(content.found.views.names, SHORTER),
        "map": _map(content),
        "confidence": _confidence(content),
        "eigenvalues": {
            "values": _significant(content.found.health.eigenvalues),
            "asked": content.found.health.n_clusters,
            "was": content.number_was,
        },
        "selection": _selection(content),
        "convergence": _convergence(content),
        "conflicts": _conflicts(content),
    }


def _map(content: ReportContent) -> dict[str, Any]:
    samples, places = content.map.samples, content.map.places
    conflicts, spread = content.found.samples, np.abs(places).max(initial=0.0) or 1.0
    return {
        "x": _rounded(100 * places[:, 0] / spread),
        "y": _rounded(100 * places[:, 1] / spread),
        "names": [content.name(s) for s in samples],
        "clusters": content.labels[samples].tolist(),
        "seconds": content.confidence.second[samples].tolist(),
        "confidence": _rounded(content.lowest[samples]),
        "scores": [_rounded(row) for row in conflicts.scores[samples]],
        "flags": [np.flatnonzero(row).tolist() for row in conflicts.flagged[samples]],
    }


def _confidence(content: ReportContent) -> dict[str, Any]:
    """Share of each cluster in each class of confidence; of many clusters, the least sure ones."""
    sizes = content.clusters.sizes
    place = np.clip(np.searchsorted(CLASSES, content.lowest, "right") - 1, 0, len(CLASSES) - 2)
    counts = np.zeros((len(sizes), len(CLASSES) - 1), dtype=np.intp)
    np.add.at(counts, (content.labels, place), 1)
    shown = np.arange(len(sizes))
    if len(sizes) > MOST_CLUSTERS:
        shown = np.sort(np.argsort(content.by_cluster(content.lowest), kind="stable")[:MOST_CLUSTERS])
    return {"clusters": shown.tolist(), "counts": counts[shown].tolist(), "bounds": list(CLASSES)}


def _selection(content: ReportContent) -> dict[str, Any] | None:
    found = content.selection
    if found is None:
        return None
    return {
        "clusters": found.n_clusters.tolist(),
        "gaps": _significant(found.relative_gaps),
        "stability": _significant(found.stability),
        "errors": _significant(found.stability_se),
        "null": _significant(found.null),
        "scores": _significant(found.scores),
        "chosen": found.chosen,
    }


def _convergence(content: ReportContent) -> dict[str, Any]:
    objective = content.found.convergence.objective
    rounds = np.arange(len(objective))
    if len(rounds) > MOST_ROUNDS:
        rounds = np.unique(np.linspace(0, len(objective) - 1, MOST_ROUNDS).astype(np.intp))
    start = objective[0] if len(objective) and objective[0] > 0 else 1.0
    return {"rounds": rounds.tolist(), "objective": _significant(objective[rounds] / start)}


def _conflicts(content: ReportContent) -> dict[str, Any]:
    """Mean scores of bins of samples."""
    conflicts, bins = content.found.samples, content.bins
    return {
        "clusters": [int(content.labels[part[0]]) for part in bins],
        "sizes": [len(part) for part in bins],
        "names": [[content.name(s) for s in part[:_NAMES_PER_BIN]] for part in bins],
        "means": [_rounded(_means(conflicts.scores[part])) for part in bins],
        "judged": [np.isfinite(conflicts.scores[part]).sum(axis=0).tolist() for part in bins],
        "flagged": [conflicts.flagged[part].sum(axis=0).tolist() for part in bins],
    }


def _means(scores: Floats) -> Floats:
    """Return the means of columns, as far as they are finite; NaN if nothing is."""
    there = np.isfinite(scores)
    counts = there.sum(axis=0)
    total = np.where(there, scores, 0.0).sum(axis=0)
    return np.asarray(np.divide(total, counts, out=np.full(len(counts), np.nan), where=counts > 0))


def _rounded(values: NDArray[Any], digits: int = 2) -> list[float | None]:
    """Return numbers with few digits; None for what is not finite."""
    return [
        round(float(value), digits) + 0.0 if ok else None
        for value, ok in zip(values, np.isfinite(values), strict=True)
    ]


def _significant(values: NDArray[Any]) -> list[float | None]:
    return [float(f"{value:.4g}") if math.isfinite(value) else None for value in values]
