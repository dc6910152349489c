"""What a constant is worth on data that it was not chosen on: families of data sets are left out in turn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .data import family_of

_EQUAL = 1e-9  # points
Table = dict[str, dict[str, float]]  # setting -> family -> score


@dataclass(frozen=True)
class HeldOut:
    """What the settings of a rule are worth, on all data sets and chosen on others.

    Attributes
    ----------
    means : dict of str to float
        The mean over all sets of every setting.
    best : tuple of str
        The settings with the best of these means.
    chosen : dict of str to tuple of str
        For each set, the settings that are best on the others.
    honest : float
        The mean over the sets of the scores of what was chosen on the others.
    """

    means: dict[str, float]
    best: tuple[str, ...]
    chosen: dict[str, tuple[str, ...]]
    honest: float


def leave_one_out(scores: Mapping[str, Mapping[str, float]]) -> HeldOut:
    """Choose a setting for each data set by all the others.

    Parameters
    ----------
    scores : mapping of str to mapping of str to float
        Setting -> data set -> score; all settings on the same sets, two at least.

    Notes
    -----
    Where several settings are equally good on the others, the mean of their scores on the set left out
    counts: no order of the settings then helps or harms.

    Examples
    --------
    >>> found = leave_one_out({"low": {"a": 5.0, "b": 0.0, "c": 0.0}, "high": {"a": 0.0, "b": 2.0, "c": 2.0}})
    >>> found.best, found.chosen["a"], found.chosen["b"], found.honest
    (('low',), ('high',), ('low',), 0.0)
    """
    labels, sets = list(scores), list(next(iter(scores.values())))
    values = np.array([[scores[label][data] for data in sets] for label in labels])
    means = values.mean(axis=1)
    elsewhere = (values.sum(axis=1, keepdims=True) - values) / (len(sets) - 1)
    is_best = elsewhere >= elsewhere.max(axis=0) - _EQUAL
    on_left_out = (values * is_best).sum(axis=0) / is_best.sum(axis=0)
    return HeldOut(
        dict(zip(labels, means.tolist(), strict=True)),
        tuple(labels[i] for i in np.flatnonzero(means >= means.max() - _EQUAL)),
        {data: tuple(labels[i] for i in np.flatnonzero(is_best[:, j])) for j, data in enumerate(sets)},
        float(on_left_out.mean()),
    )


def by_setting(cells: Iterable[Mapping[str, Any]], fusion: str) -> tuple[Table, dict[str, str]]:
    """Return the scores by setting and family, means over seeds, the cells' conditions and sets of a family.

    Sets of one family are too much alike to judge what was chosen on the others. A setting that fails on any
    set is left out; the second value says why.
    """
    found: dict[str, dict[str, list[float]]] = {}
    failed: dict[str, str] = {}
    for cell in cells:
        for label, by_fusion in cell["settings"].items():
            scores = by_fusion[fusion]
            if isinstance(scores, str):
                failed.setdefault(label, f"on {cell['set']}, {fusion}: {scores}")
            else:
                found.setdefault(label, {}).setdefault(family_of(cell["set"]), []).append(
                    float(np.mean(scores))
                )
    whole = {
        label: {family: float(np.mean(scores)) for family, scores in by_family.items()}
        for label, by_family in found.items()
        if label not in failed
    }
    return whole, failed
