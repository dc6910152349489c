"""Tests of many systems on many data sets by their ranks: Friedman, Nemenyi, and groups for a diagram.

A data set is one observation. Sets of one family are not independent: pass `table.by_family()` where that
matters. The tests between two systems are in `paired_tests`.

References
----------
J. Demšar (2006). Statistical comparisons of classifiers over multiple data sets. Journal of Machine Learning
Research 7. Friedman, Iman-Davenport, Nemenyi, and the diagram of critical differences.

A. Benavoli, G. Corani, F. Mangili (2016). Should we really use post-hoc tests based on mean-ranks? Journal of
Machine Learning Research 17. By mean ranks, whether two systems differ depends on which others take part;
Wilcoxon's test with Holm's correction does not.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from ...words import counted, counted_of
from .paired_tests import pairwise_tests
from .score_table import EQUAL_DECIMALS, ScoreTable


@dataclass(frozen=True)
class Friedman:
    """Whether any of the systems differ: Friedman's chi-square, and the F of Iman and Davenport.

    F is the better one: chi-square is conservative. All figures are None if there are too few systems or
    sets; `reason` says so.
    """

    n_systems: int
    n_sets: int
    chi_square: float | None
    chi_square_p: float | None
    f: float | None
    f_p: float | None
    reason: str = ""


@dataclass(frozen=True)
class RankGroups:
    """Systems by mean rank, and the groups within which no two were shown to differ.

    `systems` are in the order of `mean_ranks`, best first. Each clique is a run of this order; cliques may
    overlap. `unjoined` are pairs that were not shown to differ either, but no clique holds both, because two
    systems from one to the other differ (never with Nemenyi). There is a `critical_difference` only with
    Nemenyi. If no test can be made, `reason` says why.
    """

    systems: tuple[str, ...]
    mean_ranks: tuple[float, ...]
    cliques: tuple[tuple[str, ...], ...]
    unjoined: tuple[tuple[str, str], ...]
    critical_difference: float | None
    method: str
    alpha: float
    n_sets: int
    reason: str = ""


def mean_ranks(table: ScoreTable) -> NDArray[np.float64]:
    """Return the mean rank of every system over the sets; 1 is best, ties share the mean of their ranks.

    Parameters
    ----------
    table : ScoreTable
        Without gaps, as `complete_block` makes it: a rank among fewer systems is another thing.

    Returns
    -------
    ndarray of shape (n_systems,)

    Examples
    --------
    >>> scores = np.array([[70.0, 60.0, 50.0], [80.0, 80.0, 90.0]])
    >>> mean_ranks(ScoreTable(("A", "B", "C"), ("x", "y"), ("x", "y"), scores[:, :, None]))
    array([1.75, 2.25, 2.  ])
    """
    ranks = _ranks(table)
    return ranks.mean(axis=0) if len(ranks) else np.full(len(table.systems), np.nan)


def _ranks(table: ScoreTable) -> NDArray[np.float64]:
    if table.gaps:
        empty = counted_of(table.gaps, table.means.size, "score")
        raise ValueError(f"{empty} missing: ranks need them all; pass complete_block(table).table.")
    if not table.means.size:
        return np.empty(table.means.shape)
    return stats.rankdata(-np.round(table.means, EQUAL_DECIMALS), axis=1)


def friedman(table: ScoreTable, *, correct_ties: bool = True) -> Friedman:
    """Test whether the mean ranks of the systems differ by more than chance.

    Parameters
    ----------
    table : ScoreTable
        Without gaps.
    correct_ties : bool, default=True
        Divide by the variance of the ranks as they are, as `scipy.stats.friedmanchisquare` does. Off, as if
        there were no ties, as in Demšar (2006): a little conservative where there are some.

    Returns
    -------
    Friedman

    Examples
    --------
    >>> scores = np.array([[9, 7, 5], [8, 6, 7], [9, 8, 4], [7, 6, 5], [9, 5, 8]], dtype=float)
    >>> table = ScoreTable(("A", "B", "C"), tuple("vwxyz"), tuple("vwxyz"), scores[:, :, None])
    >>> found = friedman(table)
    >>> print(f"{found.chi_square:.1f} (p = {found.chi_square_p:.3f}), {found.f:.2f} (p = {found.f_p:.3f})")
    7.6 (p = 0.022), 12.67 (p = 0.003)
    """
    ranks = _ranks(table)
    n, k = ranks.shape
    if n < 2 or k < 2:
        return Friedman(k, n, None, None, None, None, _too_few(k, n))
    middle = (k + 1) / 2
    spread = ((ranks - middle) ** 2).sum() / (n * (k - 1)) if correct_ties else k * (k + 1) / 12
    if spread == 0:  # all systems are equal on all sets
        return Friedman(k, n, 0.0, 1.0, 0.0, 1.0)
    chi_square = float(n * ((ranks.mean(axis=0) - middle) ** 2).sum() / spread)
    rest = n * (k - 1) - chi_square
    # All sets rank the systems alike: F has no bound, and rounding may put `rest` on either side of 0.
    f = (n - 1) * chi_square / rest if rest > 1e-9 else float("inf")
    f_p = float(stats.f.sf(f, k - 1, (k - 1) * (n - 1)))
    return Friedman(k, n, chi_square, float(stats.chi2.sf(chi_square, k - 1)), f, f_p)


def critical_difference(n_systems: int, n_sets: int, alpha: float = 0.05) -> float:
    r"""Return Nemenyi's critical difference of mean ranks.

    Two systems differ if their mean ranks are at least :math:`q_\alpha \sqrt{k (k + 1) / (6 N)}` apart,
    for k systems and N sets; q is the quantile of the studentized range, divided by :math:`\sqrt 2`.

    Parameters
    ----------
    n_systems, n_sets : int
    alpha : float, default=0.05

    Returns
    -------
    float

    Examples
    --------
    >>> print(f"{critical_difference(4, 14):.2f}, at 0.1 {critical_difference(4, 14, alpha=0.1):.2f}")
    1.25, at 0.1 1.12
    """
    if n_systems < 2 or n_sets < 1:
        raise ValueError(f"Two systems and a set are needed, not {n_systems} and {n_sets}.")
    quantile = stats.studentized_range.ppf(1 - alpha, n_systems, np.inf) / np.sqrt(2)
    return float(quantile * np.sqrt(n_systems * (n_systems + 1) / (6 * n_sets)))


def rank_groups(
    table: ScoreTable, method: Literal["wilcoxon-holm", "nemenyi"] = "wilcoxon-holm", alpha: float = 0.05
) -> RankGroups:
    """Return mean ranks, and the groups of systems that the data do not tell apart: the bars of the diagram.

    Parameters
    ----------
    table : ScoreTable
        Without gaps.
    method : {"wilcoxon-holm", "nemenyi"}, default="wilcoxon-holm"
        Which test says that two systems differ. Nemenyi's compares mean ranks, so that whether two systems
        differ depends on the others in the table; Wilcoxon's with Holm's correction looks only at the two, as
        Benavoli, Corani and Mangili (2016) advise.
    alpha : float, default=0.05
        Chance of finding any difference where there is none.

    Returns
    -------
    RankGroups

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.normal([70.0, 65.0, 64.8], 1.0, size=(12, 3))
    >>> names = tuple(f"set {i}" for i in range(12))
    >>> found = rank_groups(ScoreTable(("A", "B", "C"), names, names, scores[:, :, None]))
    >>> found.systems, found.cliques
    (('A', 'B', 'C'), (('B', 'C'),))
    """
    if method not in ("wilcoxon-holm", "nemenyi"):
        raise ValueError(f'method must be "wilcoxon-holm" or "nemenyi", not {method!r}.')
    ranks = dict(zip(table.systems, mean_ranks(table).tolist(), strict=True))
    order = tuple(sorted(ranks, key=lambda name: (ranks[name], name)))
    in_order, n_sets = tuple(ranks[name] for name in order), len(table.sets)
    if len(order) < 2 or n_sets < 2:
        return RankGroups(order, in_order, (), (), None, method, alpha, n_sets, _too_few(len(order), n_sets))
    critical = critical_difference(len(order), n_sets, alpha) if method == "nemenyi" else None
    if critical is None:
        adjusted = {frozenset((one.first, one.second)): one.adjusted_p for one in pairwise_tests(table)}
        differ = {pair for pair, p in adjusted.items() if p is not None and p <= alpha}
    else:
        differ = {frozenset((a, b)) for a, b in combinations(order, 2) if ranks[b] - ranks[a] >= critical}
    groups = cliques(order, differ)
    joined = {frozenset(pair) for group in groups for pair in combinations(group, 2)}
    unjoined = tuple(pair for pair in combinations(order, 2) if frozenset(pair) not in differ | joined)
    return RankGroups(order, in_order, groups, unjoined, critical, method, alpha, n_sets)


def _too_few(n_systems: int, n_sets: int) -> str:
    n_each = f"{counted(n_systems, 'system')} and {counted(n_sets, 'set')}"
    return f"a test needs two systems and two sets, not {n_each}"


def cliques(order: Sequence[str], differ: Collection[frozenset[str]]) -> tuple[tuple[str, ...], ...]:
    """Return the longest runs of this order within which no pair differs, of two systems or more.

    Runs, because a bar of the diagram covers all systems between its ends: no bar may cover two that differ.

    Parameters
    ----------
    order : sequence of str
        Systems by mean rank.
    differ : collection of frozenset of str
        The pairs that differ.

    Returns
    -------
    tuple of tuple of str
        None of them is within another.

    Examples
    --------
    >>> cliques("ABCD", {frozenset("AC"), frozenset("AD")})
    (('A', 'B'), ('B', 'C', 'D'))
    """
    runs: list[tuple[str, ...]] = []
    reached = 0
    for start in range(len(order)):
        end = start + 1
        while end < len(order) and not any(frozenset((a, order[end])) in differ for a in order[start:end]):
            end += 1
        if end - start > 1 and end > reached:
            runs.append(tuple(order[start:end]))
            reached = end
    return tuple(runs)
