"""The summary of a fit: the same on the terminal, as JSON, and on the page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..inspection import Inspection, SampleConflicts
from ..metrics import scores
from ..run.versions import versions
from ..spaces import metric_label
from ..stages.label import LabelAssigner
from ..stages.select import ClusterSelection
from ..views import Views


def view_rows(model: Any, views: Views) -> list[dict[str, Any]]:
    """Return one row per view: what it is and what it contributed."""
    table = model.views_
    return [
        {
            "view": name,
            "features": int(array.shape[1]),
            "missing_samples": 0 if (seen := views.seen(i)) is None else int((~seen).sum()),
            "metric": metric_label(model.metrics_[i]),
            "status": table.status[i],
            "reliability": _number(table.reliability[i]),
            "weight": float(table.weight[i]),
            "scale": float(table.scale[i]),
            "contribution": float(table.contribution[i]),
            "inconsistent_share": _number(table.inconsistent_share[i]),
        }
        for i, (name, array) in enumerate(views.items())
    ]


def _number(value: float) -> float | None:
    """Return a number as JSON has it, which has no NaN."""
    return None if np.isnan(value) else float(value)


def view_cells(row: dict[str, Any], number: str) -> tuple[str, str, str]:
    """Return a view's reliability, contribution and inconsistent share as they are shown."""
    reliability = "" if row["reliability"] is None else number.format(row["reliability"])
    if row["weight"] == 0:
        return reliability, "left out", ""
    return reliability, number.format(row["contribution"]), f"{row['inconsistent_share']:.4f}"


def conflict_rows(conflicts: SampleConflicts) -> list[dict[str, Any]]:
    """Return, per view, how many rows contradict the others and how many are thought to."""
    return [
        {"flagged_rows": int(flagged), "misplaced_share": None if np.isnan(share) else round(float(share), 6)}
        for flagged, share in zip(conflicts.n_flagged, conflicts.misplaced_shares, strict=True)
    ]


def conflict_sentences(conflicts: SampleConflicts) -> list[str]:
    """Say which views have rows that contradict the others."""
    n, sentences = len(conflicts.flagged), []
    for name, flagged in zip(conflicts.names, conflicts.n_flagged, strict=True):
        if flagged:
            sentences.append(
                f"View {name!r}: {flagged} of {n} rows contradict the other views "
                f"(expected share of false flags: {conflicts.fdr:.0%})."
            )
    if not sentences and np.isfinite(conflicts.scores).any():
        sentences.append("No row of any view contradicts the other views.")
    return sentences


def selection_facts(found: ClusterSelection | None) -> dict[str, Any] | None:
    """Return what the number of clusters was chosen by, ready for JSON; None if it was not chosen."""
    if found is None:
        return None
    curves = ("n_clusters", "eigengaps", "relative_gaps", "stability", "stability_se", "null", "scores")
    return {
        "chosen": found.chosen,
        "reason": found.reason,
        **{name: getattr(found, name).tolist() for name in curves},
    }


def summarize(
    model: Any,
    views: Views,
    truth: NDArray[Any] | None,
    sources: Sequence[str],
    warnings: Sequence[str],
    found: Inspection,
) -> dict[str, Any]:
    """Return all that belongs to a fit, ready for JSON."""
    about = zip(view_rows(model, views), conflict_rows(found.samples), strict=True)
    parameters = {
        name: repr(value) if isinstance(value, LabelAssigner) else value
        for name, value in model.get_params().items()
        if name != "callback"
    }
    return {
        "method": type(model).__name__,
        "parameters": parameters,
        "resolved": {"n_neighbors": model.n_neighbors_, "metrics": list(map(metric_label, model.metrics_))},
        "view_agreement": [[_number(x) for x in row] for row in found.agreement.shares],
        "n_samples": views.n_samples,
        "n_clusters": int(model.n_clusters_),
        "cluster_selection": selection_facts(model.cluster_selection_),
        "cluster_sizes": np.bincount(model.labels_).tolist(),
        "scores": None if truth is None else scores(truth, model.labels_),
        "views": [{**row, **conflicts} for row, conflicts in about],
        "history": model.history_.tolist(),
        "rounds": model.n_iter_,
        "converged": model.converged_,
        "eigenvalues": model.eigenvalues_.tolist(),
        "connected_components": found.health.n_components,
        "false_discovery_rate": found.samples.fdr,
        "seconds": {stage: round(value, 4) for stage, value in model.timings_.items()},
        "warnings": list(warnings),
        "sources": list(sources),
        "data_fingerprint": model.data_fingerprint_,
        "versions": versions(),
    }
