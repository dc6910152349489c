"""What scores vary with: the seed of a run, the data set, and both for the difference of two systems."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...words import counted
from .score_table import ScoreTable, means_of_numbers


@dataclass(frozen=True)
class SystemSpread:
    """Standard deviations of one system's scores, over seeds and over sets (None: see `reason`)."""

    system: str
    over_seeds: float | None
    over_sets: float | None
    n_sets: int
    reason: str = ""


@dataclass(frozen=True)
class DifferenceSpread:
    """Standard deviation over sets of the difference between two systems, and what seeds contribute to it."""

    first: str
    second: str
    over_sets: float | None
    from_seeds: float | None
    seed_share: float | None
    n_sets: int
    reason: str = ""


def system_spreads(table: ScoreTable) -> tuple[SystemSpread, ...]:
    """Return, for every system, how far its scores vary over seeds and over sets.

    Three standard deviations are easily taken for one another:

    over seeds (`SystemSpread.over_seeds`)
        Within a set, pooled over sets. How far a score moves if the system runs again on the same data. Good
        for saying whether one run can be trusted; it says nothing about other data.
    over sets (`SystemSpread.over_sets`)
        Of the mean scores. Mostly how different in difficulty the sets are, for every system alike. Good for
        describing the sets; as an error bar it would hide any difference between systems.
    over sets, of the paired difference (`difference_spread`)
        Difficulty cancels. Divided by the root of the number of sets, this is the standard error of the mean
        difference: what tests and intervals work with. Its `seed_share` is the part of the variance that more
        seeds would remove: near 1, run more seeds; near 0, only more sets help.

    Parameters
    ----------
    table : ScoreTable

    Returns
    -------
    tuple of SystemSpread
        Standard deviations with n - 1 in the denominator.

    Examples
    --------
    >>> scores = np.array([[[59.0, 61.0]], [[80.0, 80.0]], [[69.0, 71.0]]])
    >>> table = ScoreTable(("A",), tuple("xyz"), tuple("xyz"), scores)
    >>> spread = system_spreads(table)[0]
    >>> print(f"{spread.over_seeds:.3f} {spread.over_sets:.1f}")
    1.155 10.0
    """
    results = []
    for i, name in enumerate(table.systems):
        scores, means = table.by_seed[:, i], table.means[:, i]
        n_sets = int((~np.isnan(means)).sum())
        variances, n_seeds = _variances(scores)
        freedom = np.maximum(n_seeds - 1, 0)
        pooled = (variances[freedom > 0] * freedom[freedom > 0]).sum() / max(freedom.sum(), 1)
        over_seeds = float(np.sqrt(pooled)) if freedom.any() else None
        over_sets = float(np.nanstd(means, ddof=1)) if n_sets > 1 else None
        results.append(
            SystemSpread(name, over_seeds, over_sets, n_sets, _why_none(n_sets, bool(freedom.any())))
        )
    return tuple(results)


def difference_spread(table: ScoreTable, first: str, second: str) -> DifferenceSpread:
    """Return how far the difference of two systems varies over sets, and how much of that is due to seeds.

    The mean over s seeds varies with the variance over seeds / s. That is measured on the difference of runs
    with the same seed, so it holds whether or not runs with one seed share something, such as a corruption of
    the data. `system_spreads` says what each spread is good for.

    Parameters
    ----------
    table : ScoreTable
    first, second : str
        Names of the systems.

    Returns
    -------
    DifferenceSpread
        `over_sets`, the standard deviation over sets; `from_seeds`, what it would be if the systems truly
        differed by the same on every set; `seed_share`, the ratio of the two variances, at most 1.

    Examples
    --------
    >>> a, b = [[70.0, 72.0], [80.0, 80.0], [60.0, 62.0]], [[66.0, 66.0], [77.0, 77.0], [60.0, 60.0]]
    >>> table = ScoreTable(("A", "B"), tuple("xyz"), tuple("xyz"), np.stack([a, b], axis=1))
    >>> spread = difference_spread(table, "A", "B")
    >>> print(f"{spread.over_sets:.2f} {spread.from_seeds:.2f} {spread.seed_share:.2f}")
    2.00 0.82 0.17
    """
    apart = table.differences(first, second)
    n_sets = int((~np.isnan(apart)).sum())
    variances, n_seeds = _variances(
        table.by_seed[:, table.index(first)] - table.by_seed[:, table.index(second)]
    )
    repeated = n_seeds > 1
    reason = _why_none(n_sets, bool(repeated.any()))
    over_sets = float(np.nanstd(apart, ddof=1)) if n_sets > 1 else None
    if not repeated.any():
        return DifferenceSpread(first, second, over_sets, None, None, n_sets, reason)
    by_seeds = float((variances[repeated] / n_seeds[repeated]).mean())
    share = min(by_seeds / over_sets**2, 1.0) if over_sets else None
    if over_sets == 0:
        reason = "the difference is the same on all sets"
    return DifferenceSpread(first, second, over_sets, by_seeds**0.5, share, n_sets, reason)


def _variances(scores: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int_]]:
    """Return the variance over seeds on every set (0 for one seed), and the number of seeds."""
    n_seeds = (~np.isnan(scores)).sum(axis=1)
    away = scores - means_of_numbers(scores, axis=1)[:, np.newaxis]
    return np.nansum(away**2, axis=1) / np.maximum(n_seeds - 1, 1), n_seeds


def _why_none(n_sets: int, has_seeds: bool) -> str:
    """Return why there is no spread over sets or over seeds; nothing if there are both."""
    missing = [] if n_sets > 1 else [f"a spread over sets needs two or more, not {counted(n_sets, 'set')}"]
    if not has_seeds:
        missing.append("no set has results for two seeds")
    return "; ".join(missing)
