"""The result of one system on one data set in one condition, also if it failed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .fitting import Task

OK, FAILED, INTERRUPTED, NOT_RUN = "ok", "failed", "interrupted", "not run"


@dataclass
class WarningKind:
    """A kind of warning: its first text, and in how many fits it came up."""

    text: str
    n_fits: int = 0


def kind_of_warning(text: str) -> str:
    """Return a text without its numbers, which change from fit to fit; numbers in names stay.

    Examples
    --------
    >>> kind_of_warning("View 'X1' has 17 parts, 0.5 of them empty.")
    "View 'X1' has # parts, # of them empty."
    """
    return re.sub(r"(?<![\w'])\d+(?:\.\d+)?(?!\w)", "#", text)


@dataclass(frozen=True, eq=False)
class Outcome:
    """The result of one system on one data set in one condition.

    Attributes
    ----------
    name : str
        Name of the system.
    class_name : str
        Its class.
    status : {"ok", "failed", "interrupted", "not run"}
        How it ended.
    reason : str
        Why it failed.
    parameters : dict
        Of the fit with the first seed, ready for JSON.
    labels : ndarray of shape (n_samples,) or None
        Of that fit, in the order in which the samples came; of clean data only.
    seeds : tuple of int
        The seeds of the fits that are done.
    scores : list of dict
        For each seed, name of a score -> value from 0 to 1; empty without known classes.
    seconds, megabytes : float or None
        Wall-clock time of the fit with the first seed, and the memory that it added.
    clusters_found : int or None
        Clusters of that fit that have samples.
    largest_share : float or None
        Share of the samples in the largest of them.
    stability : list of float
        For each resample that could be fitted, the adjusted Rand index of its labels and `labels`.
    stability_reasons : list of str
        Why the others could not.
    resample_scores : list of dict
        As `scores`, for each resample that could be fitted.
    warnings : dict of str to WarningKind
        What was warned of in any fit, by kind.
    """

    name: str
    class_name: str = ""
    status: str = NOT_RUN
    reason: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    labels: NDArray[np.intp] | None = None
    seeds: tuple[int, ...] = ()
    scores: list[dict[str, float]] = field(default_factory=list)
    seconds: float | None = None
    megabytes: float | None = None
    clusters_found: int | None = None
    largest_share: float | None = None
    stability: list[float] = field(default_factory=list)
    stability_reasons: list[str] = field(default_factory=list)
    resample_scores: list[dict[str, float]] = field(default_factory=list)
    warnings: dict[str, WarningKind] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        name: str,
        class_name: str,
        wanted: Sequence[Task],
        records: Mapping[Task, Mapping[str, Any] | None],
    ) -> Outcome:
        """Put together what came of the fits that were wanted; those that are not there were not made."""
        found = {task: record for task in wanted if (record := records.get(task)) is not None}
        failed = [one for task, one in found.items() if task.kind == "seed" and one["status"] != OK]
        if failed:  # figures of some of its fits would look like those of all
            return cls(name, class_name, FAILED, failed[0]["reason"], warnings=_kinds(found.values()))
        if not found:
            return cls(name, class_name)
        by_seed = {task.number: one for task, one in found.items() if task.kind == "seed"}
        resampled = [one for task, one in found.items() if task.kind == "resample"]
        drawn = [one for one in resampled if one["status"] == OK]
        first = by_seed.get(wanted[0].number, {})
        return cls(
            name,
            class_name,
            OK if len(found) == len(wanted) else INTERRUPTED,
            parameters=first.get("parameters") or {},
            labels=first.get("labels"),
            seeds=tuple(by_seed),
            scores=[one["scores"] for one in by_seed.values() if one["scores"] is not None],
            seconds=first.get("seconds"),
            megabytes=first.get("megabytes"),
            clusters_found=first.get("clusters_found"),
            largest_share=first.get("largest_share"),
            stability=[one["stability"] for one in drawn],
            stability_reasons=[one["reason"] for one in resampled if one["status"] != OK],
            resample_scores=[one["scores"] for one in drawn if one["scores"] is not None],
            warnings=_kinds(found.values()),
        )


def _kinds(records: Any) -> dict[str, WarningKind]:
    found: dict[str, WarningKind] = {}
    for record in records:
        texts: dict[str, str] = {}
        for text in record.get("warnings", ()):
            texts.setdefault(kind_of_warning(text), text)
        for kind, text in texts.items():
            found.setdefault(kind, WarningKind(text)).n_fits += 1
    return found
