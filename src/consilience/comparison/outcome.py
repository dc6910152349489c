"""The result of one system in a comparison, also if it failed."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..run.messages import collected_warnings
from ..views import Views

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


@dataclass(eq=False)
class Outcome:
    """The result of one system.

    Attributes
    ----------
    name : str
        Short name of the system.
    system : class
        The estimator.
    status : {"ok", "failed", "interrupted", "not run"}
        How it ended.
    reason : str
        Why it failed.
    parameters : dict
        Of the fit with the first seed.
    labels : ndarray of shape (n_samples,) or None
        Of that fit.
    scores : list of dict
        For each seed, name of a score -> value; empty without known classes.
    seconds : list of float
        Wall-clock time of the fit with each seed.
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
    system: type[Any]
    status: str = NOT_RUN
    reason: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    labels: NDArray[np.intp] | None = None
    scores: list[dict[str, float]] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    stability: list[float] = field(default_factory=list)
    stability_reasons: list[str] = field(default_factory=list)
    resample_scores: list[dict[str, float]] = field(default_factory=list)
    warnings: dict[str, WarningKind] = field(default_factory=dict)

    def fit(self, views: Views, parameters: Mapping[str, Any]) -> tuple[NDArray[np.intp], float]:
        """Fit the system; return labels and seconds, and note the warnings, however it ends."""
        texts: list[str] = []
        try:
            with collected_warnings() as texts:
                model = self.system(**parameters)
                self.parameters = self.parameters or model.get_params()
                began = time.perf_counter()
                labels = np.asarray(model.fit(views).labels_)
                seconds = time.perf_counter() - began
        finally:
            self._note(texts)
        if labels.shape != (views.n_samples,):
            raise ValueError(f"It gave labels of shape {labels.shape} for {views.n_samples} samples.")
        return labels, seconds

    def fail(self, reason: str) -> None:
        """End as failed: figures of some of its fits would look like those of all."""
        self.status, self.reason, self.labels = FAILED, reason, None
        self.scores, self.seconds = [], []

    def _note(self, texts: Sequence[str]) -> None:
        kinds: dict[str, str] = {}
        for text in texts:
            kinds.setdefault(kind_of_warning(text), text)
        for kind, text in kinds.items():
            self.warnings.setdefault(kind, WarningKind(text)).n_fits += 1


def describe(error: Exception) -> str:
    """Return what an exception says; with its name, unless it is of those that are meant for users.

    Examples
    --------
    >>> describe(ValueError("Too few samples.")), describe(RecursionError("too deep"))
    ('Too few samples.', 'RecursionError: too deep')
    """
    text, name = str(error).strip(), type(error).__name__
    if not text:
        return name
    return text if isinstance(error, ValueError | MemoryError) else f"{name}: {text}"
