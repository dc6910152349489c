"""One rule on one data set in one condition: the scores of SGF and DGF with every setting."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from consilience import DistanceGraphFusion, SimilarityGraphFusion, Views
from consilience.datasets import corrupt
from consilience.metrics import nmi
from consilience.models import SharedViews

from .data import Facts, load
from .results import Cells, key
from .rule_settings import RULES, Setting, with_constants

FUSIONS: dict[str, Any] = {"DGF": DistanceGraphFusion, "SGF": SimilarityGraphFusion}
SHIPPED = "as shipped"


@dataclass(frozen=True)
class Piece:
    """One rule on one data set in one condition."""

    rule: str
    data: Facts
    condition: str
    n_seeds: int

    def __str__(self) -> str:
        return f"{self.rule}, {self.data.name}, {self.condition}"

    @property
    def key(self) -> str:
        """The name of the result."""
        return key(self.rule, self.data.name, self.condition, f"{self.n_seeds} seeds")


def do(piece: Piece) -> Cells:
    """Do a piece of work."""
    cell = {"rule": piece.rule, **piece.data.header, "condition": piece.condition}
    data = load(piece.data.path)
    try:
        spoiled = corrupt(Views(list(data.views)), piece.condition, random_state=0)
    except ValueError as error:  # the corruption makes no sense for these views
        return {piece.key: {**cell, "reason": " ".join(str(error).split())}}
    settings = {SHIPPED: Setting(), **RULES[piece.rule].settings}
    found = scores_of_settings(settings, spoiled.views, data.truth, spoiled.scored, range(piece.n_seeds))
    return {piece.key: {**cell, "settings": found}}


def scores_of_settings(
    settings: dict[str, Setting],
    views: Views,
    truth: NDArray[Any],
    scored: NDArray[np.bool_],
    seeds: Sequence[int],
) -> dict[str, dict[str, Any]]:
    """Return, for every setting and fusion, the NMI in percent of each seed, or a text: why there is none.

    Only the samples that are `scored` count. Settings that come to the same on these data are measured once.
    """
    n_clusters = len(np.unique(truth))
    measured: dict[str, dict[str, Any]] = {}
    found, shared, constants_of_shared = {}, SharedViews(views), "{}"
    for label, setting in settings.items():
        arguments = setting.resolve(views.n_samples, n_clusters)
        constants = repr(dict(setting.constants))
        same = f"{sorted(arguments.items())} {constants}"
        if same not in measured:
            if constants != constants_of_shared:
                # What was prepared under other constants would be found again: it is named by arguments only.
                shared, constants_of_shared = SharedViews(views), constants
            measured[same] = {}
            for name, fusion in FUSIONS.items():
                model = fusion(n_clusters=n_clusters, n_jobs=1, effort="low")  # what all the rules are about
                labels = _labels(model, arguments, setting, shared, seeds)
                measured[same][name] = (
                    labels
                    if isinstance(labels, str)
                    else [100 * float(nmi(truth[scored], one[scored])) for one in labels]
                )
        found[label] = measured[same]
    return found


def _labels(
    model: Any, arguments: dict[str, Any], setting: Setting, shared: SharedViews, seeds: Sequence[int]
) -> list[NDArray[np.intp]] | str:
    """Return the labels of each seed, or why there are none."""
    try:
        model.set_params(**arguments)
        with with_constants(setting.constants), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return [model.set_params(random_state=seed).fit(shared).labels_ for seed in seeds]
    except Exception as error:  # this setting has no score; the others may have
        return f"{type(error).__name__}: {' '.join(str(error).split())}"
