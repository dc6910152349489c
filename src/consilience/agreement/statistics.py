r"""How far views agree about which samples are near each other, beyond chance: from neighbour lists alone.

Two views agree as far as they name the same neighbours. Chance alone makes them name some: if the samples of
one view were put in a random order, the number T of neighbours named by both would have the mean and the
variance of a quadratic assignment statistic [1]_, which have a closed form in the two lists (their numbers
of edges, in-degrees and mutual neighbours): no order is ever drawn, and nothing of size n x n is held. So

.. math::

    \kappa = \frac{T - \mathrm{E}\,T}{T_{\max} - \mathrm{E}\,T}, \qquad
    z = \frac{T - \mathrm{E}\,T}{\sqrt{\mathrm{Var}\,T}}:

the first says how far two views agree, 0 for unrelated ones and 1 for copies, for any n and k; the second
whether that can be chance. Lists in which a few samples (hubs) occur very often are no evidence of agreement:
they make the variance larger. Counts are skewed, and more so with hubs: p-values are those of the Gamma
distribution of that mean and variance, which has a heavier tail than the normal one.

References
----------
.. [1] L. Hubert, J. Schultz, "Quadratic Assignment as a General Data Analysis Strategy", British Journal of
   Mathematical and Statistical Psychology 29, 1976.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import gamma

from ..engines import get_engine
from ..engines.results import Overlaps
from ..io.stored import stored

LEVEL = 0.01  # chance that any two unrelated views, of all pairs, are said to agree
_FEWEST = 4  # samples that two views must have in common for their agreement to have a variance

Index = NDArray[np.integer[Any]]
Matrix = NDArray[np.float64]


@stored()
@dataclass(frozen=True, eq=False)
class Agreement:
    """How far each two views agree, and whether it can be chance.

    Attributes
    ----------
    shares : ndarray of shape (v, v)
        The share of neighbours in common, beyond chance: 0 for unrelated views (or a little below), 1 for
        copies, and on the diagonal; NaN for views that have too few samples in common.
    z_scores : ndarray of shape (v, v)
        By how many standard deviations the number in common exceeds the number expected by chance; NaN on
        the diagonal.
    p_values : ndarray of shape (v, v)
        The chance of such a number in common or a larger one, between two unrelated views; NaN on the
        diagonal.
    least_p_values : ndarray of shape (v, v)
        What the p-value of copies would be: with very few samples, not even that is small.
    shared : ndarray of shape (v, v)
        Mean number of neighbours in common, per sample that both have seen; the diagonal is 0.
    n_seen : ndarray of shape (v, v)
        Number of samples that two views have both seen; on the diagonal, that each has seen.
    level : float
        The chance, with unrelated views, that any pair is called significant.
    """

    shares: Matrix
    z_scores: Matrix
    p_values: Matrix
    least_p_values: Matrix
    shared: Matrix
    n_seen: NDArray[np.intp]
    level: float

    def only(self, kept: NDArray[np.bool_]) -> Agreement:
        """Return the agreement of some of the views; agreement that was significant among all stays so."""
        v, m = len(self.shares), int(kept.sum())
        chosen = np.ix_(kept, kept)
        # The level at which each of the fewer pairs has the same bound as before.
        level = self.level * max(m * (m - 1), 2) / max(v * (v - 1), 2)
        return Agreement(
            self.shares[chosen],
            self.z_scores[chosen],
            self.p_values[chosen],
            self.least_p_values[chosen],
            self.shared[chosen],
            self.n_seen[chosen],
            level,
        )

    @property
    def significant(self) -> NDArray[np.bool_]:
        """Which views agree, at the level, all pairs considered (Bonferroni); False on the diagonal."""
        return self.p_values < self._level_of_a_pair  # NaN is not

    @property
    def comparable(self) -> NDArray[np.bool_]:
        """Which views would be found to agree if they did; False on the diagonal."""
        return self.least_p_values < self._level_of_a_pair

    @property
    def _level_of_a_pair(self) -> float:
        v = len(self.shares)
        return self.level / max(v * (v - 1) / 2, 1)


def view_agreement(
    neighbors: Sequence[Index],
    seen: NDArray[np.bool_] | None = None,
    *,
    level: float = LEVEL,
    engine: Any = "numba",
) -> Agreement:
    """Compare the neighbour lists of several views.

    Parameters
    ----------
    neighbors : sequence of ndarray of shape (n, k)
        Each sample's neighbours in one view. A sample's own number means "no neighbour".
    seen : ndarray of bool of shape (n, v), default=None
        Which view has seen which sample; None: all have seen all. Two views are compared on the samples that
        both have seen.
    level : float, default=0.01
        The chance of calling any two unrelated views in agreement.
    engine : str or Engine, default="numba"
        The engine that computes.

    Returns
    -------
    Agreement

    Examples
    --------
    >>> import numpy as np
    >>> from consilience.agreement import view_agreement
    >>> from consilience.stages import nearest_neighbors
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(200, 2))
    >>> views = [x, x + 0.1 * rng.normal(size=x.shape), rng.normal(size=(200, 2))]
    >>> agreement = view_agreement(nearest_neighbors(views, 10))
    >>> agreement.shares.round(1) + 0.0
    array([[1. , 0.7, 0. ],
           [0.7, 1. , 0. ],
           [0. , 0. , 1. ]])
    >>> agreement.significant[0]
    array([False,  True, False])
    """
    engine = get_engine(engine)
    return agreement_from(engine.overlaps(engine.stack(neighbors), seen), level)


def agreement_from(overlaps: Overlaps, level: float = LEVEL) -> Agreement:
    """Return how far views agree, from what their lists have in common."""
    v = len(overlaps.shared)
    shares, shared = np.eye(v), np.zeros((v, v))
    z_scores, p_values, least_p_values = np.full((3, v, v), np.nan)
    for i in range(v):
        for j in range(i):
            common, total = int(overlaps.n_seen[i, j]), overlaps.shared[i, j]
            found = _beyond_chance(total, overlaps.pairs[i, j], overlaps.pairs[j, i], common)
            shares[i, j], z_scores[i, j], p_values[i, j], least_p_values[i, j] = found
            shared[i, j] = total / max(common, 1)
    for matrix in (shares, z_scores, p_values, least_p_values, shared):
        above = np.triu_indices(v, 1)
        matrix[above] = matrix.T[above]
    return Agreement(shares, z_scores, p_values, least_p_values, shared, overlaps.n_seen, level)


def _beyond_chance(
    shared: float, one: NDArray[np.float64], two: NDArray[np.float64], n: int
) -> tuple[float, float, float, float]:
    """Return the share in common beyond chance, its z-score and p-value, and the p-value of copies.

    `one` and `two` count the pairs of edges of the two views by kind, see `Overlaps.pairs`: the null
    distribution depends on nothing else. NaN if there is nothing to compare.
    """
    largest = min(one[0], two[0])
    if n < _FEWEST or largest == 0:
        return np.nan, np.nan, np.nan, np.nan
    mean = one[0] * two[0] / (n * (n - 1))
    places = n * (n - 1) * np.array([1, 1, n - 2, n - 2, 2 * (n - 2), (n - 2) * (n - 3)], dtype=np.float64)
    variance = float((one * two / places).sum() - mean**2)
    share = (shared - mean) / (largest - mean) if largest > mean else np.nan
    if (
        variance <= 1e-9 * mean**2
    ):  # rounding: every order gives the same number if all samples are neighbours
        return share, np.nan, np.nan, np.nan
    by_chance = gamma(mean**2 / variance, scale=variance / mean)
    p_value, least = by_chance.sf([shared, largest]).tolist()
    return share, (shared - mean) / np.sqrt(variance), p_value, least
