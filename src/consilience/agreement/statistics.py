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
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import gamma

from ..engines import get_engine
from ..engines.results import Overlaps
from ..io.stored import stored

LEVEL = 0.01  # chance that any two unrelated views, of all pairs, are said to agree
# By what the level is divided for views without structure of their own. Nearly all noise has none; of the
# real views of the tuning sets, one in 36. So the evidence that one is real must be that much stronger.
DOUBT = 30.0
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
    bars : ndarray of shape (v, v)
        The p-value below which two views agree: all pairs considered, it keeps to the level (Bonferroni).
    """

    shares: Matrix
    z_scores: Matrix
    p_values: Matrix
    least_p_values: Matrix
    shared: Matrix
    n_seen: NDArray[np.intp]
    level: float
    bars: Matrix

    def judged_by(self, structured: NDArray[np.bool_]) -> Agreement:
        """Return the same, with less doubt about views that have structure of their own.

        Views without it are held to a stricter level, all pairs considered. So the others can be judged as if
        these were not there: views of noise that are added do not make it harder for real ones to agree.
        """
        bars = _even_bars(self.level / DOUBT, len(structured))
        inside = np.ix_(structured, structured)
        bars[inside] = _even_bars(self.level, int(structured.sum()))
        return replace(self, bars=bars)

    def only(self, kept: NDArray[np.bool_]) -> Agreement:
        """Return the agreement of some of the views; agreement that was significant among all stays so."""
        chosen = np.ix_(kept, kept)
        return Agreement(
            self.shares[chosen],
            self.z_scores[chosen],
            self.p_values[chosen],
            self.least_p_values[chosen],
            self.shared[chosen],
            self.n_seen[chosen],
            self.level,
            self.bars[chosen],
        )

    @property
    def significant(self) -> NDArray[np.bool_]:
        """Which views agree; False on the diagonal."""
        return self.p_values < self.bars  # NaN is not

    @property
    def comparable(self) -> NDArray[np.bool_]:
        """Which views would be found to agree if they did; False on the diagonal."""
        return self.least_p_values < self.bars


def _even_bars(level: float, v: int) -> Matrix:
    return np.full((v, v), level / max(v * (v - 1) / 2, 1))


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
    bars = _even_bars(level, v)
    return Agreement(shares, z_scores, p_values, least_p_values, shared, overlaps.n_seen, level, bars)


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
