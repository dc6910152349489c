"""Every rule of the defaults that has a constant, and the constants that it might have had.

A rule is a name and its settings; a setting says what arguments the constructor gets, and what in the modules
of the library is replaced meanwhile: constants, mostly. They are replaced where the rule is applied, in the
stages that every system's preparation calls. What is shipped needs no setting: it is what a constructor does
without any.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import Any
from unittest import mock

import numpy as np

from consilience.agreement.statistics import agreement_from

CLEAN, IN_ONE, IN_ALL = "clean", "shuffle-one-30", "shuffle-all-30"  # names of corruptions
SCALING = "consilience.spaces.scaling"
AGREE = "consilience.stages.agree"
RELIABILITY = "consilience.agreement.reliability"
Arguments = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Setting:
    """One way to set a rule.

    Parameters
    ----------
    arguments : dict, or callable
        For the constructor; a function of the numbers of samples and of clusters may say which.
    constants : mapping of (str, str) to object
        Module and name -> value.
    """

    arguments: Arguments | Callable[[int, int], Arguments] = field(default_factory=dict)
    constants: Mapping[tuple[str, str], Any] = field(default_factory=dict)

    def resolve(self, n_samples: int, n_clusters: int) -> Arguments:
        """Return the arguments for a data set."""
        return self.arguments(n_samples, n_clusters) if callable(self.arguments) else self.arguments


@dataclass(frozen=True, eq=False)
class Rule:
    """The settings of a rule by label, and the conditions in which it shows what it is good for."""

    settings: dict[str, Setting]
    conditions: tuple[str, ...] = (CLEAN,)


@contextmanager
def with_constants(constants: Mapping[tuple[str, str], Any]) -> Iterator[None]:
    """Give names in modules other values inside the block; an AttributeError if there is no such name."""
    with ExitStack() as stack:
        for (module, name), value in constants.items():
            stack.enter_context(mock.patch.object(importlib.import_module(module), name, value))
        yield


def _share_of_cluster(share: float, fewest: int, most: int) -> Setting:
    """So many neighbours as this share of the samples that a cluster has on average, within bounds."""

    def arguments(n_samples: int, n_clusters: int) -> Arguments:
        wanted = int(np.clip(share * n_samples / n_clusters, fewest, most))
        return {"n_neighbors": min(n_samples - 1, wanted)}

    return Setting(arguments)


def _fixed_neighbors(k: int) -> Setting:
    return Setting(lambda n_samples, n_clusters: {"n_neighbors": min(n_samples - 1, k)})


N_NEIGHBORS = {
    **{f"{k}": _fixed_neighbors(k) for k in (4, 6, 8, 10, 15, 20, 30)},
    **{
        f"clip({a:g} n / c, {fewest}, {most})": _share_of_cluster(a, fewest, most)
        for a, fewest, most in product((0.3, 0.45, 0.6, 0.8, 1.0), (4, 6, 8), (10, 15, 20, 30))
    },
}

SCALE = {
    "none": Setting({"scale": "none"}),
    "standard": Setting({"scale": "standard"}),
    **{
        f"auto: fewer than {few} features and {share:g} of them": Setting(
            {"scale": "auto"}, {(SCALING, "FEW_FEATURES"): few, (SCALING, "SHARE_OF_FEATURES"): share}
        )
        for few, share in product((2, 3, 5, 7, 10, 15, 20, 30), (1 / 16, 1 / 8, 1 / 4))
    },
    **{
        f"auto: features apart by {apart:g} times": Setting(
            {"scale": "auto"}, {(SCALING, "STANDS_APART"): apart}
        )
        for apart in (3.0, 5.0, 10.0, 30.0)
    },
}

SPARSE_SHARES = {
    "always Euclidean": Setting({"metric": "euclidean"}),
    "always cosine": Setting({"metric": "cosine"}),
    **{
        f"cosine above {share:g} zeros": Setting({"metric": "auto"}, {(SCALING, "SPARSE_SHARE"): share})
        for share in (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
    },
}

VIEW_WEIGHTS = {
    "uniform": Setting({"view_weights": "uniform"}),
    "uniform, of the views that agree": Setting({"view_weights": "uniform", "view_selection": "agreement"}),
    **{
        # The level is a default argument: to change the constant that it was set from would change nothing.
        f"agreement, level {level:g}": Setting(
            {"view_weights": "agreement"}, {(AGREE, "agreement_from"): partial(agreement_from, level=level)}
        )
        for level in (0.1, 0.01, 0.001)
    },
    **{
        f"agreement, copies above {share:g}": Setting(
            {"view_weights": "agreement"}, {(RELIABILITY, "COPY"): share}
        )
        for share in (0.7, 0.8, 0.9, 0.95, 1.1)
    },
}

ROW_WEIGHTS = {name: Setting({"row_weights": name}) for name in ("uniform", "agreement")}

PENALTIES = {
    f"beta {beta:g}, gamma {gamma:g}, {solver}": Setting({"beta": beta, "gamma": gamma, "solver": solver})
    for beta, gamma, solver in (
        (1.0, 100.0, "dca"),
        (1.0, 1e4, "dca"),
        (1.0, 1.0, "dca"),
        (1.0, 10.0, "dca"),
        (10.0, 100.0, "dca"),
        (0.1, 1.0, "dca"),
        (1.0, 100.0, "exact"),
        (1.0, 1.0, "exact"),
    )
}

STOPPING = {f"tol {tol:g}": Setting({"tol": tol}) for tol in (0.2, 0.05, 0.01, 0.001)}

RULES = {
    "n_neighbors": Rule(N_NEIGHBORS),
    "scale": Rule(SCALE, (CLEAN, "huge-columns")),
    "metric": Rule(SPARSE_SHARES),
    "view_weights": Rule(VIEW_WEIGHTS, (CLEAN, "copies", "noise-1:1", IN_ONE)),
    "row_weights": Rule(ROW_WEIGHTS, (CLEAN, IN_ONE, IN_ALL)),
    "penalties": Rule(PENALTIES),
    "tol": Rule(STOPPING),
}
