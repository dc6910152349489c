"""The scores of many systems on many data sets: one table, its complete part, and its means.

Not every system runs on every data set. A mean over whatever a system ran on compares systems on different
data, and a system that fails on hard sets looks good. So each mean comes twice: on the sets that the system
ran on, and on the sets that all systems of a *complete block* ran on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...words import counted_of, listed, percent, quoted

EQUAL_DECIMALS = (
    9  # scores that agree to this many decimals are equal: sums in another order differ in the last bits
)


@dataclass(frozen=True, eq=False)
class ScoreTable:
    """Scores of systems on data sets, one for each seed; higher is better.

    Parameters
    ----------
    systems, sets : tuple of str
        Names, each once.
    families : tuple of str
        The family of each set. Sets made from the same source are one family; a set alone is a family of its
        own.
    by_seed : ndarray of shape (n_sets, n_systems, n_seeds)
        Scores in per cent, NaN where there is no result.

    Examples
    --------
    >>> scores = [[[70.0, 72.0], [60.0, np.nan]], [[80.0, 80.0], [np.nan, np.nan]]]
    >>> table = ScoreTable(("A", "B"), ("one", "two"), ("one", "two"), np.array(scores))
    >>> table.means
    array([[71., 60.],
           [80., nan]])
    """

    systems: tuple[str, ...]
    sets: tuple[str, ...]
    families: tuple[str, ...]
    by_seed: NDArray[np.float64]

    def __post_init__(self) -> None:
        for field in ("systems", "sets", "families"):
            object.__setattr__(self, field, tuple(getattr(self, field)))
        object.__setattr__(self, "by_seed", np.array(self.by_seed, dtype=np.float64))
        self.by_seed.flags.writeable = False
        for kind, names in (("system", self.systems), ("set", self.sets)):
            repeated = sorted({name for name in names if names.count(name) > 1})
            if repeated:
                raise ValueError(
                    f"Two columns or rows have the same {kind} {quoted(repeated[0])}; rename one."
                )
        if len(self.families) != len(self.sets):
            raise ValueError(f"{len(self.sets)} sets need as many families, not {len(self.families)}.")
        if self.by_seed.ndim != 3 or self.by_seed.shape[:2] != (len(self.sets), len(self.systems)):
            expected = f"({len(self.sets)}, {len(self.systems)}, number of seeds)"
            raise ValueError(f"by_seed must have the shape {expected}, not {self.by_seed.shape}.")
        if np.isinf(self.by_seed).any():
            raise ValueError("A score is infinite; write NaN where there is no result.")

    @cached_property
    def means(self) -> NDArray[np.float64]:
        """Mean over the seeds, (n_sets, n_systems); NaN where a system has no result."""
        return means_of_numbers(self.by_seed, axis=2)

    @property
    def gaps(self) -> int:
        """How many pairs of set and system have no result."""
        return int(np.isnan(self.means).sum())

    def column(self, system: str) -> NDArray[np.float64]:
        """Return the means of one system, (n_sets,)."""
        return self.means[:, self.index(system)]

    def index(self, system: str) -> int:
        """Return the place of a system, or say which there are."""
        if system not in self.systems:
            raise ValueError(f"No system is named {quoted(system)}; there are {listed(self.systems)}.")
        return self.systems.index(system)

    def differences(self, first: str, second: str) -> NDArray[np.float64]:
        """Return the mean score of `first` minus that of `second`, NaN where one of them has none."""
        return np.round(self.column(first) - self.column(second), EQUAL_DECIMALS)

    def part(self, sets: Sequence[int], systems: Sequence[int]) -> ScoreTable:
        """Return the table of these sets and systems, in this order."""
        return ScoreTable(
            tuple(self.systems[i] for i in systems),
            tuple(self.sets[i] for i in sets),
            tuple(self.families[i] for i in sets),
            self.by_seed[np.ix_(sets, systems, range(self.by_seed.shape[2]))],
        )

    def by_family(self) -> ScoreTable:
        """Return a table with one row per family: the mean over its sets, and over the seeds.

        A system's mean is over the sets of the family that it ran on. Tests treat rows as independent; sets
        of one family are not, so a test on families is the safer one.

        Examples
        --------
        >>> table = ScoreTable(("A",), ("x1", "x2", "y"), ("x", "x", "y"), np.array([[[60]], [[70]], [[90]]]))
        >>> table.by_family().means.ravel()
        array([65., 90.])
        """
        names = tuple(dict.fromkeys(self.families))
        rows = [[i for i, family in enumerate(self.families) if family == name] for name in names]
        empty = np.empty((0, len(self.systems)))
        means = (
            np.array([means_of_numbers(self.means[members], axis=0) for members in rows]) if rows else empty
        )
        return ScoreTable(self.systems, names, names, means[:, :, np.newaxis])


@dataclass(frozen=True)
class LeftOut:
    """A system or a set that is not in the complete block, and why."""

    name: str
    reason: str


@dataclass(frozen=True, eq=False)
class CompleteBlock:
    """A table without gaps, and what had to go for it."""

    table: ScoreTable
    systems_left_out: tuple[LeftOut, ...]
    sets_left_out: tuple[LeftOut, ...]


@dataclass(frozen=True)
class Means:
    """Means of one system on some sets, None where there is nothing to average.

    `over_families` averages the sets of a family first, so that relatives count once.
    """

    over_sets: float | None
    over_families: float | None
    n_sets: int
    n_families: int


@dataclass(frozen=True)
class MeanScore:
    """Means of one system: on the sets it ran on, and on the sets that the complete block ran on.

    `common` is None for a system that is not in the complete block; `reason` says why.
    """

    system: str
    own: Means
    common: Means | None
    reason: str = ""


def complete_block(table: ScoreTable, least_share: float = 0.8) -> CompleteBlock:
    """Return a part of the table without gaps: systems that ran on most sets, and the sets common to them.

    First sets without any result go, then systems that ran on less than `least_share` of the rest, then sets
    on which one of the remaining systems did not run. The order of systems and sets stays.

    Parameters
    ----------
    table : ScoreTable
    least_share : float, default=0.8
        From 0 to 1. A system that is kept costs the sets that it did not run on.

    Returns
    -------
    CompleteBlock

    Examples
    --------
    >>> nan = np.nan
    >>> scores = np.array([[70, 60, nan], [80, 75, 90], [60, nan, nan]])
    >>> table = ScoreTable(("A", "B", "C"), ("x", "y", "z"), ("x", "y", "z"), scores[:, :, None])
    >>> block = complete_block(table, least_share=0.6)
    >>> block.table.systems, block.table.sets
    (('A', 'B'), ('x', 'y'))
    >>> block.systems_left_out
    (LeftOut(name='C', reason='ran on 1 of 3 sets, less than 60 %'),)
    >>> block.sets_left_out
    (LeftOut(name='z', reason='no result of B'),)
    """
    if not 0 <= least_share <= 1:
        raise ValueError(f"least_share must be from 0 to 1, not {least_share}.")
    ran = ~np.isnan(table.means)
    tried = np.asarray(ran.any(axis=1))
    n_runs = ran[tried].sum(axis=0)
    # A system that never ran would leave no set at all.
    kept = (n_runs >= least_share * tried.sum() - 1e-9) & (n_runs > 0)
    complete = tried & ran[:, kept].all(axis=1) & kept.any()
    systems_out = [
        LeftOut(name, _why_not(int(n), int(tried.sum()), least_share))
        for name, n, keep in zip(table.systems, n_runs, kept, strict=True)
        if not keep
    ]
    sets_out = []
    for i in np.flatnonzero(~complete):
        absent = [name for name, r, k in zip(table.systems, ran[i], kept, strict=True) if k and not r]
        reason = f"no result of {listed(absent)}" if absent else "no system that is kept"
        sets_out.append(LeftOut(table.sets[i], reason if tried[i] else "no result of any system"))
    block = table.part(np.flatnonzero(complete).tolist(), np.flatnonzero(kept).tolist())
    return CompleteBlock(block, tuple(systems_out), tuple(sets_out))


def mean_scores(table: ScoreTable, least_share: float = 0.8) -> tuple[MeanScore, ...]:
    """Return the means of every system, over sets and over families, on its own and on the common sets.

    Parameters
    ----------
    table : ScoreTable
    least_share : float, default=0.8
        As in `complete_block`, which finds the common sets.

    Returns
    -------
    tuple of MeanScore
        In the order of the systems.

    Examples
    --------
    >>> scores = np.array([[60.0, 50.0], [70.0, 60.0], [92.0, np.nan]])
    >>> table = ScoreTable(("A", "B"), ("x1", "x2", "y"), ("x", "x", "y"), scores[:, :, None])
    >>> a, b = mean_scores(table, least_share=0.6)
    >>> a.own.over_sets, a.own.over_families, a.common.over_sets, b.common.over_sets
    (74.0, 78.5, 65.0, 55.0)
    """
    block = complete_block(table, least_share)
    reasons = {one.name: one.reason for one in block.systems_left_out}
    everything, common = (table, table.by_family()), (block.table, block.table.by_family())
    return tuple(
        MeanScore(name, _means(*everything, name), _means(*common, name))
        if name not in reasons
        else MeanScore(name, _means(*everything, name), None, reasons[name])
        for name in table.systems
    )


def _means(sets: ScoreTable, families: ScoreTable, system: str) -> Means:
    scores, by_family = (
        scores[~np.isnan(scores)] for scores in (sets.column(system), families.column(system))
    )
    if not len(scores):
        return Means(None, None, 0, 0)
    return Means(float(scores.mean()), float(by_family.mean()), len(scores), len(by_family))


def means_of_numbers(values: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    """Return means along an axis that leave NaN out; NaN where there is no number, and no warning.

    Examples
    --------
    >>> means_of_numbers(np.array([[1.0, np.nan], [3.0, np.nan]]), axis=0)
    array([ 2., nan])
    """
    there = ~np.isnan(values)
    n = there.sum(axis=axis)
    total = np.where(there, values, 0.0).sum(axis=axis)
    return np.where(n > 0, total / np.maximum(n, 1), np.nan)


def _why_not(n_runs: int, n_sets: int, least_share: float) -> str:
    if not n_runs:
        return "has no result"
    return f"ran on {counted_of(n_runs, n_sets, 'set')}, less than {percent(least_share)}"
