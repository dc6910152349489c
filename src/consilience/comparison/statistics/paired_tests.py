"""Tests between two systems on many data sets: Wilcoxon's signed ranks, with Holm's correction.

A data set is one observation. Sets of one family are not independent: pass `table.by_family()` where that
matters. Scores are means over seeds; seeds are never counted as observations.

References
----------
J. W. Pratt (1959). Remarks on zeros and ties in the Wilcoxon signed rank procedures. Journal of the American
Statistical Association 54.

S. Holm (1979). A simple sequentially rejective multiple test procedure. Scandinavian Journal of Statistics 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from .score_table import EQUAL_DECIMALS, ScoreTable

MOST_EXACT = 100  # sets; beyond, the normal approximation is as good and the exact distribution gets long


@dataclass(frozen=True)
class SignedRank:
    """Wilcoxon's signed-rank test of paired differences, two-sided.

    `positive` and `negative` are the sums of ranks; of each zero, half its rank is in both.
    """

    n: int
    n_zero: int
    positive: float
    negative: float
    p_value: float | None
    exact: bool
    reason: str = ""


@dataclass(frozen=True)
class PairedTest:
    """Wilcoxon's test between two systems on the sets that both ran on.

    `adjusted_p` is Holm's, over all tests that were made together.
    """

    first: str
    second: str
    mean_difference: float | None
    test: SignedRank
    adjusted_p: float | None


def signed_rank_test(differences: ArrayLike) -> SignedRank:
    """Test whether paired differences are symmetric about 0, by Wilcoxon's signed ranks.

    Zeros are ranked with the others and then carry no sign (Pratt 1959): p is that of `scipy.stats.wilcoxon`
    with "pratt", the sums of ranks are those with "zsplit". Up to 100 differences, p is exact, also with ties
    and zeros: the share of all ways to give signs to the ranks that put the sums as far apart. Beyond, it is
    the normal approximation. With five differences or fewer, p is never below 0.05.

    Parameters
    ----------
    differences : array-like of shape (n,)
        One for each set. Differences that agree to nine decimals are ties. NaN is left out.

    Returns
    -------
    SignedRank

    Examples
    --------
    >>> found = signed_rank_test([3.0, 1.0, 2.0, 5.0, 4.0, -0.5, 6.0])
    >>> found.positive, found.negative, found.p_value
    (27.0, 1.0, 0.03125)
    """
    values = np.round(np.asarray(differences, dtype=np.float64), EQUAL_DECIMALS)
    values = values[~np.isnan(values)]
    ranks = stats.rankdata(np.abs(values))
    signed = values != 0
    half = float(ranks[~signed].sum()) / 2
    sums = float(ranks[values > 0].sum()) + half, float(ranks[values < 0].sum()) + half
    n, n_zero, exact = len(values), int((~signed).sum()), len(values) <= MOST_EXACT
    if n < 2:
        reason = f"needs two sets or more, not {n}"
        return SignedRank(n, n_zero, *sums, None, exact, reason)
    apart = abs(sums[0] - sums[1])
    p = _exact_p(ranks[signed], apart) if exact else _normal_p(ranks[signed], apart)
    return SignedRank(n, n_zero, *sums, p, exact)


def _exact_p(ranks: NDArray[np.float64], apart: float) -> float:
    """Return the share of all choices of signs that put the two sums of ranks this far apart or farther."""
    doubled = np.rint(2 * ranks).astype(int)  # ranks of ties are halves
    shares = np.zeros(doubled.sum() + 1)  # of twice the positive sum, over the choices for the ranks so far
    shares[0] = 1.0
    for rank in doubled:
        moved = np.zeros_like(shares)
        moved[rank:] = shares[: len(shares) - rank]
        shares = (shares + moved) / 2
    distances = np.abs(2 * np.arange(len(shares)) - doubled.sum()) / 2
    return float(min(shares[distances >= apart - 1e-9].sum(), 1.0))


def _normal_p(ranks: NDArray[np.float64], apart: float) -> float:
    """Return p as if the difference of the two sums of ranks were normal."""
    return float(2 * stats.norm.sf(apart / np.sqrt((ranks**2).sum()))) if len(ranks) else 1.0


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Return p-values adjusted for the number of tests, by Holm's step-down method.

    The smallest is multiplied by the number of tests, the next by one less, and so on; none becomes smaller
    than one before it, nor larger than 1. The chance that any true hypothesis is rejected at level alpha is
    at most alpha, however the tests depend on each other.

    Parameters
    ----------
    p_values : array-like of shape (n_tests,)

    Returns
    -------
    ndarray of shape (n_tests,)
        In the order given.

    Examples
    --------
    >>> holm([0.04, 0.01, 0.03])
    array([0.06, 0.03, 0.06])
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    steps = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(steps, 1.0)
    return adjusted


def pairwise_tests(table: ScoreTable) -> tuple[PairedTest, ...]:
    """Test every pair of systems by Wilcoxon's signed ranks, with Holm's correction over all pairs.

    Parameters
    ----------
    table : ScoreTable
        With gaps, each pair is tested on the sets that both ran on.

    Returns
    -------
    tuple of PairedTest

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.normal([70.0, 65.0, 64.8], 1.0, size=(12, 3))
    >>> names = tuple(f"set {i}" for i in range(12))
    >>> table = ScoreTable(("A", "B", "C"), names, names, scores[:, :, None])
    >>> for one in pairwise_tests(table):
    ...     print(one.first, one.second, f"{one.mean_difference:+.1f}, p = {one.adjusted_p:.4f}")
    A B +5.0, p = 0.0015
    A C +5.2, p = 0.0015
    B C +0.2, p = 0.5693
    """
    return _adjusted([_paired_test(table, *pair) for pair in combinations(table.systems, 2)])


def reference_tests(table: ScoreTable, reference: str) -> tuple[PairedTest, ...]:
    """Test every other system against the reference, with Holm's correction over these tests only.

    Fewer tests than all pairs, so more power: for those who chose the reference before they saw the scores.

    Parameters
    ----------
    table : ScoreTable
    reference : str
        It is `second` in every test: a positive difference says that the other system is better.

    Returns
    -------
    tuple of PairedTest

    Examples
    --------
    >>> scores = np.array([[9, 7], [8, 6], [9, 8], [7, 6], [9, 5], [8, 4]], dtype=float)
    >>> table = ScoreTable(("A", "B"), tuple("uvwxyz"), tuple("uvwxyz"), scores[:, :, None])
    >>> reference_tests(table, "B")[0].adjusted_p
    0.03125
    """
    table.index(reference)
    return _adjusted([_paired_test(table, name, reference) for name in table.systems if name != reference])


def _paired_test(table: ScoreTable, first: str, second: str) -> PairedTest:
    apart = table.differences(first, second)
    apart = apart[~np.isnan(apart)]
    mean = float(apart.mean()) if len(apart) else None
    return PairedTest(first, second, mean, signed_rank_test(apart), None)


def _adjusted(tests: Sequence[PairedTest]) -> tuple[PairedTest, ...]:
    """Return the tests with Holm's p over those that could be made."""
    made = [one.test.p_value for one in tests if one.test.p_value is not None]
    adjusted = iter(holm(made).tolist())
    return tuple(
        one if one.test.p_value is None else replace(one, adjusted_p=next(adjusted)) for one in tests
    )
