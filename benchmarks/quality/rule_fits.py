"""One rule on one data set in one condition: the scores of SGF and DGF with every setting."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from consilience import Views
from consilience.metrics import nmi
from consilience.models import SharedViews

from .contenders import FUSIONS, estimator
from .corruptions import corrupted
from .data import load
from .results import Cells, key
from .rule_settings import RULES, Setting, with_constants

SHIPPED = "as shipped"


@dataclass(frozen=True)
class Piece:
    """One rule on one data set in one condition."""

    rule: str
    path: Path
    condition: str
    n_seeds: int

    def __str__(self) -> str:
        return f"{self.rule}, {self.path.stem}, {self.condition}"

    @property
    def key(self) -> str:
        """The name of the result."""
        return key(self.rule, self.path.stem, self.condition, f"{self.n_seeds} seeds")


def do(piece: Piece) -> Cells:
    """Do a piece of work."""
    data = load(piece.path)
    views = Views(list(corrupted(data.views, data.name, piece.condition)))
    settings = {SHIPPED: Setting(), **RULES[piece.rule].settings}
    found = scores_of_settings(settings, views, data.truth, range(piece.n_seeds))
    header = {"rule": piece.rule, "set": data.name, "condition": piece.condition}
    return {piece.key: {**header, "settings": found}}


def scores_of_settings(
    settings: dict[str, Setting], views: Views, truth: NDArray[Any], seeds: Sequence[int]
) -> dict[str, dict[str, Any]]:
    """Return, for every setting and fusion, the NMI in percent of each seed, or a text: why there is none.

    Settings that come to the same on these data are measured once.
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
            measured[same] = {
                fusion: _scores(fusion, arguments, setting, shared, truth, seeds) for fusion in FUSIONS
            }
        found[label] = measured[same]
    return found


def _scores(
    fusion: str,
    arguments: dict[str, Any],
    setting: Setting,
    shared: SharedViews,
    truth: NDArray[Any],
    seeds: Sequence[int],
) -> list[float] | str:
    try:
        model = estimator(fusion, len(np.unique(truth))).set_params(**arguments)
        with with_constants(setting.constants), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            labels = [model.set_params(random_state=seed).fit(shared).labels_ for seed in seeds]
    except Exception as error:  # this setting has no score; the others may have
        return f"{type(error).__name__}: {' '.join(str(error).split())}"
    return [100 * nmi(truth, one) for one in labels]
