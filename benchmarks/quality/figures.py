"""The figures behind the tables: mean scores, differences between systems, what a corruption costs, times."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import wilcoxon

from .contenders import contenders
from .corruptions import CLEAN, CONDITIONS
from .results import Cells, ordered

TIE = 0.5  # points


class Scores:
    """The cells of a study by data set, condition and system.

    Parameters
    ----------
    cells : dict
        As the study keeps them. If a cell was measured several times, the last counts.
    score : {"nmi", "acc", "ari"}, default="nmi"
        Which of the scores.
    """

    def __init__(self, cells: Cells, score: str = "nmi") -> None:
        self.score = score
        self._cells = {(one["set"], one["condition"], one["system"]): one for one in cells.values()}
        self.sets = sorted({one["set"] for one in cells.values()})
        self.conditions = ordered([one["condition"] for one in cells.values()], CONDITIONS)
        self.systems = ordered([one["system"] for one in cells.values()], contenders())
        self.n_views = {one["set"]: one["n_views"] for one in cells.values()}

    def cell(self, data: str, condition: str, system: str) -> dict[str, Any]:
        """Return all that is known of a cell; an empty one has a reason."""
        return self._cells.get((data, condition, system), {"reason": "not measured"})

    def seeds(self, data: str, condition: str, system: str) -> list[float]:
        """Return the scores of all seeds; none if the cell is empty."""
        return list(self.cell(data, condition, system).get(self.score, ()))

    def mean(self, data: str, condition: str, system: str) -> float | None:
        """Return the mean score of a cell, or None."""
        scores = self.seeds(data, condition, system)
        return float(np.mean(scores)) if scores else None

    def means(self, condition: str, system: str) -> dict[str, float]:
        """Return the mean scores of a system on the data sets that it was run on."""
        found = {data: self.mean(data, condition, system) for data in self.sets}
        return {data: value for data, value in found.items() if value is not None}

    def differences(self, system: str, reference: str, condition: str = CLEAN) -> dict[str, float]:
        """Return a system's score minus the reference's, on the data sets that both were run on."""
        ours, theirs = self.means(condition, reference), self.means(condition, system)
        return {data: theirs[data] - ours[data] for data in theirs if data in ours}

    def losses(self, system: str, condition: str, against: str = CLEAN) -> dict[str, float]:
        """Return what a system loses in a condition against another, over the seeds that both were run with.

        The same seeds: otherwise scores would differ where labels do not.
        """
        found = {}
        for data in self.sets:
            before, after = self.seeds(data, against, system), self.seeds(data, condition, system)
            n_common = min(len(before), len(after))
            if n_common:
                found[data] = float(np.mean(before[:n_common]) - np.mean(after[:n_common]))
        return found

    def times(self, system: str, key: str = "seconds") -> dict[str, float]:
        """Return the seconds of one fit to each clean data set."""
        cells = {data: self.cell(data, CLEAN, system) for data in self.sets}
        return {data: float(cell[key]) for data, cell in cells.items() if key in cell}


@dataclass(frozen=True)
class Loss:
    """What is lost over some data sets: on average, at worst and where, and the largest change either way."""

    mean: float
    worst: float
    where: str
    largest_change: float
    n_sets: int


def summed_up(losses: dict[str, float]) -> Loss | None:
    """Return mean and worst of losses per data set; None if there are none.

    Examples
    --------
    >>> summed_up({"a": 1.0, "b": -3.0})
    Loss(mean=-1.0, worst=1.0, where='a', largest_change=3.0, n_sets=2)
    """
    if not losses:
        return None
    where = max(losses, key=losses.__getitem__)
    largest = max(abs(loss) for loss in losses.values())
    return Loss(float(np.mean(list(losses.values()))), losses[where], where, largest, len(losses))


def wins_ties_losses(differences: Iterable[float]) -> tuple[int, int, int]:
    """Return how often the reference is better, about equal, and worse, from the other's score minus its own.

    Examples
    --------
    >>> wins_ties_losses([-3.0, -0.2, 0.5, 4.0, -1.0])
    (2, 2, 1)
    """
    values = np.asarray(list(differences))
    wins, losses = int((values < -TIE).sum()), int((values > TIE).sum())
    return wins, len(values) - wins - losses, losses


def signed_rank_p(differences: Iterable[float]) -> float:
    """Return the two-sided p-value of Wilcoxon's signed-rank test; 1 if nothing differs.

    Examples
    --------
    >>> signed_rank_p([1.0, 2.0, 3.0, 4.0, 5.0, 0.0])  # 2 of the 2**5 signs are as extreme
    0.0625
    """
    values = np.asarray([one for one in differences if one != 0])
    if not len(values):
        return 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few samples, where it goes over to an approximation
        return float(wilcoxon(values).pvalue)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values that allow for their number, by Holm's step-down method.

    Examples
    --------
    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(np.argsort(p_values, kind="stable").tolist()):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = largest
    return adjusted
