"""The summary of a comparison on one data set: as JSON, CSV and picture, on the page and on the terminal."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from ..inspection.fusion_help.resamples import subset_size
from ..run.versions import versions
from .agreement import similar_side_by_side
from .data_sets import SetFacts
from .figures.picture import Panel, Row, bars, heat_map
from .outcome import Outcome
from .result import SCORES, Comparison
from .sentences import mean_and_std, sentences

PREPARED = {
    "equal": "All systems had the same preparation: metric, scaling and the views left out by one rule.",
    "own": "Each system prepared the views as it does by default, so differences may be due to that.",
    "none": "Features were taken as they are, and all views, by all systems.",
}


def summarize(comparison: Comparison, facts: SetFacts) -> dict[str, Any]:
    """Return all that belongs to a comparison on a data set, ready for JSON."""
    names, matrix = comparison.agreements[facts.name]
    features = zip(facts.view_names, facts.n_features, strict=True)
    return {
        "n_samples": facts.n_samples,
        "n_clusters": facts.n_clusters,
        "views": [{"view": name, "features": n} for name, n in features],
        "preparation": comparison.rules.preparation,
        "rows_shuffled": comparison.rules.shuffle,
        "seeds": list(comparison.seeds),
        "resamples": comparison.rules.n_resamples,
        "subset_size": subset_size(facts.n_samples),
        "interrupted": comparison.interrupted,
        "systems": [_system(comparison, facts, outcome) for outcome in comparison.on(facts.name)],
        "agreement": {"systems": names, "ARI": matrix.tolist()},
        "findings": sentences(comparison, facts),
        "sources": list(facts.sources),
        "data_fingerprint": facts.fingerprint,
        "versions": versions(),
    }


def _system(comparison: Comparison, facts: SetFacts, outcome: Outcome) -> dict[str, Any]:
    by_name = {name: [scores[name] for scores in outcome.scores] for name in SCORES}
    return {
        "system": outcome.name,
        "class": outcome.class_name,
        "status": outcome.status,
        "reason": outcome.reason,
        "parameters": outcome.parameters,
        "scores": {name: _spread(values) for name, values in by_name.items()} if outcome.scores else None,
        "scores_by_seed": outcome.scores,
        "scores_by_resample": outcome.resample_scores,
        "agreement": comparison.mean_agreement(outcome.name, facts.name),
        "stability": {
            **_spread(outcome.stability),
            "draws": len(outcome.stability),
            "failed": len(outcome.stability_reasons),
            "reason": outcome.stability_reasons[0] if outcome.stability_reasons else "",
        },
        "clusters_found": outcome.clusters_found,
        "largest_share": outcome.largest_share,
        "seconds": outcome.seconds,
        "megabytes": outcome.megabytes,
        "seeds": list(outcome.seeds),
        "warnings": [{"text": one.text, "fits": one.n_fits} for one in outcome.warnings.values()],
    }


def _spread(values: list[float]) -> dict[str, float | None]:
    mean, std = mean_and_std(values)
    return {"mean": mean, "std": std}


def csv_rows(summary: dict[str, Any]) -> tuple[list[str], list[list[Any]]]:
    """Return header and rows of the table of systems, the same columns for every comparison."""
    rows = []
    for system in summary["systems"]:
        row = {name: system[name] for name in ("system", "class", "status", "reason")}
        row["parameters"] = json.dumps(system["parameters"], ensure_ascii=False)
        for name in SCORES:
            score = (system["scores"] or {}).get(name, {})
            row[f"{name}_mean"], row[f"{name}_std"] = score.get("mean"), score.get("std")
        row["seeds"] = len(system["seeds"])
        row["agreement"] = system["agreement"]
        row.update({f"stability_{name}": value for name, value in system["stability"].items()})
        row.update(
            {name: system[name] for name in ("clusters_found", "largest_share", "seconds", "megabytes")}
        )
        row["warnings"] = " | ".join(f"{one['text']} (in {one['fits']} fits)" for one in system["warnings"])
        rows.append(row)
    return list(rows[0]), [list(row.values()) for row in rows]


def cells(summary: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Return header and rows of the table for people; scores only if classes were known."""
    scored = any(system["scores"] for system in summary["systems"])
    header = ["system", *(SCORES if scored else ()), "agreement", "stability", "largest", "seconds"]
    if not summary["resamples"]:
        header.remove("stability")
    rows = []
    for system in summary["systems"]:
        shown = {"system": system["system"], "agreement": _number(system["agreement"])}
        shown.update({name: _with_spread(score) for name, score in (system["scores"] or {}).items()})
        shown["stability"] = _stability(system)
        shown["largest"] = _number(system["largest_share"], 2)
        shown["seconds"] = _number(system["seconds"], 2)
        if system["clusters_found"] is None:  # say so in the first column of figures
            shown = {"system": system["system"], header[1]: system["status"]}
        rows.append([shown.get(name, "") for name in header])
    return header, rows


def _stability(system: dict[str, Any]) -> str:
    if not system["stability"]["draws"]:
        return "failed" if system["stability"]["failed"] else ""
    return _with_spread(system["stability"])


def _number(value: float | None, digits: int = 3) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def _with_spread(score: dict[str, Any]) -> str:
    spread = "" if score["std"] is None else f"±{score['std']:.3f}"
    return _number(score["mean"]) + spread


def notes(summary: dict[str, Any]) -> list[str]:
    """Return notes on one system, or on several with the same note: why they failed or were stopped."""
    systems_by_note: dict[str, list[str]] = {}
    for system in summary["systems"]:
        stability, n_fits = system["stability"], len(system["seeds"])
        tried = stability["draws"] + stability["failed"]
        if system["status"] == "failed":
            text = f" failed: {system['reason']}"
            systems_by_note.setdefault(text, []).append(system["system"])
        elif system["status"] == "interrupted":
            text = (
                f" was interrupted after {n_fits} of {len(summary['seeds'])} fits on all samples and {tried} "
                f"of {summary['resamples']} on resamples."
            )
            systems_by_note.setdefault(text, []).append(system["system"])
        if stability["failed"]:
            text = f": {stability['failed']} of {tried} resamples failed: {stability['reason']}"
            systems_by_note.setdefault(text, []).append(system["system"])
    lines = [", ".join(names) + text for text, names in systems_by_note.items()]
    waiting = [system["system"] for system in summary["systems"] if system["status"] == "not run"]
    return lines + ([f"Not run: {', '.join(waiting)}."] if waiting else [])


def legend(summary: dict[str, Any]) -> list[str]:
    """Return what the columns mean, a sentence or two for each."""
    n_seeds, n_draws = len(summary["seeds"]), summary["resamples"]
    over = f", mean ± standard deviation over {n_seeds} seeds" if n_seeds > 1 else ""
    meanings = [PREPARED[summary["preparation"]]]
    if summary["rows_shuffled"]:
        meanings[0] += " Rows were brought into a random order first."
    if any(system["scores"] for system in summary["systems"]):
        meanings.append(f"{', '.join(SCORES)}: against the labels{over}.")
    meanings.append("agreement: mean ARI of a system's labels with those of the others.")
    if n_draws:
        meanings.append(
            f"stability: ARI of the labels on {summary['subset_size']} of the {summary['n_samples']} samples "
            f"with those on all; {n_draws} draws, the same for all systems."
        )
    meanings.append(
        "largest: share of the samples in the largest cluster. Near 1, stability and agreement say little."
    )
    meanings.append("seconds: one fit, without loading and compiling.")
    return meanings


def panels(summary: dict[str, Any]) -> list[Panel]:
    """Return the parts of the picture: a bar and a dot per system, and how far each two agree."""
    scored = any(system["scores"] for system in summary["systems"])
    rows = []
    for system in summary["systems"]:
        value = (system["scores"] or {}).get("NMI", {}) if scored else system["stability"]
        note = system["status"] if system["clusters_found"] is None else "" if scored else _stability(system)
        rows.append(Row(system["system"], value.get("mean"), value.get("std"), system["seconds"], note))
    if scored:
        n = len(summary["seeds"])
        drawn = bars(rows, "NMI", "against the labels" + (f", ± std of {n} seeds" if n > 1 else ""))
    else:
        drawn = bars(rows, "Stability", f"ARI, ± std of {summary['resamples']} resamples")
    names, matrix = summary["agreement"]["systems"], np.array(summary["agreement"]["ARI"])
    if len(names) < 2:
        return [drawn]
    return [drawn, heat_map(names, matrix, similar_side_by_side(matrix).tolist())]
