r"""How far views agree about who is near whom, beyond chance: from their neighbour lists alone.

Two views agree as far as they name the same neighbours. Chance alone makes them name some: if the samples of
one view were put in a random order, the number T of neighbours named by both would have the mean and the
variance of a quadratic assignment statistic [1]_, which have a closed form in the two lists (their numbers
of edges, in-degrees and mutual neighbours): no order is ever drawn, and nothing of size n x n is held. So

.. math::

    \kappa = \frac{T - \mathrm{E}\,T}{T_{\max} - \mathrm{E}\,T}, \qquad
    z = \frac{T - \mathrm{E}\,T}{\sqrt{\mathrm{Var}\,T}}:

the first says how far two views agree, 0 for unrelated ones and 1 for copies, whatever n and k are; the
second whether that can be chance. Lists that crowd around a few samples (hubs) are no evidence of agreement:
they make the variance larger. Counts are skewed, hubs make them more so: p-values are those of the Gamma
distribution of that mean and variance, which has a heavier tail than the normal one.

Where many samples are equally near, in views of few different rows, which of them are named is decided by
the order of the samples. That order is the same in all views, and would pass for agreement: `fair_lists`
draws lots among them instead.

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
from scipy import sparse
from scipy.stats import gamma

from .. import threads
from .overlap_kernels import count_shared, mark_mutual
from .spaces import Space, nearest_in_order

LEVEL = 0.01  # chance that any two unrelated views, of all pairs, are said to agree
_FEWEST = 4  # samples that two views must have in common for their agreement to have a variance
_GRAIN = 2048  # samples
_MANY_TIES = 0.2  # share of the samples whose last two neighbours are equally near
_WIDER = 3  # times as many neighbours are looked at where there are ties
_EQUAL = 1e-11  # relative difference of distances that count as equal

Index = NDArray[np.integer[Any]]
Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Agreement:
    """How far each two views agree, and whether it can be chance.

    Attributes
    ----------
    shares : ndarray of shape (v, v)
        The share of neighbours in common, beyond chance: 0 for unrelated views (or a little below), 1 for
        copies, and on the diagonal; NaN for views that have too few samples in common.
    z_scores : ndarray of shape (v, v)
        By how many standard deviations the number in common exceeds what chance makes it; NaN on the
        diagonal.
    p_values : ndarray of shape (v, v)
        The chance of such a number in common or a larger one, between two unrelated views; NaN on the
        diagonal.
    least_p_values : ndarray of shape (v, v)
        What the p-value of copies would be: with a handful of samples, not even that is small.
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
        """Return the agreement of some of the views; what was significant among all stays so."""
        v, m = len(self.shares), int(kept.sum())
        chosen = np.ix_(kept, kept)
        # The level at which the fewer pairs are held to the same bound each.
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
    neighbors: Sequence[Index], seen: NDArray[np.bool_] | None = None, *, level: float | None = None
) -> Agreement:
    """Compare the neighbour lists of several views.

    Parameters
    ----------
    neighbors : sequence of ndarray of shape (n, k)
        Each sample's neighbours in one view. A sample's own index means "no neighbour".
    seen : ndarray of bool of shape (n, v), default=None
        Which view has seen which sample; None: all have seen all. Two views are compared on the samples that
        both have seen.
    level : float, default=None
        The chance of calling any two unrelated views in agreement; None: 0.01.

    Returns
    -------
    Agreement

    Examples
    --------
    >>> import numpy as np
    >>> from consilience.neighbors import as_space, view_agreement
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(200, 2))
    >>> views = [x, x + 0.1 * rng.normal(size=x.shape), rng.normal(size=(200, 2))]
    >>> agreement = view_agreement([as_space(view, "euclidean").nearest(10) for view in views])
    >>> agreement.shares.round(1) + 0.0
    array([[1. , 0.7, 0. ],
           [0.7, 1. , 0. ],
           [0. , 0. , 1. ]])
    >>> agreement.significant[0]
    array([False,  True, False])
    """
    v, n = len(neighbors), len(neighbors[0])
    lists = sorted_lists(neighbors)
    totals = _count(lists)
    complete = seen is None or bool(seen.all())
    everyone = np.ones(n, dtype=bool)
    alone = [_Moments.of(one, everyone) for one in lists] if complete else []
    shares, shared = np.eye(v), np.zeros((v, v))
    z_scores, p_values, least_p_values = np.full((3, v, v), np.nan)
    for i in range(v):
        for j in range(i):
            if complete:
                pair, common = (alone[i], alone[j]), n
            else:
                assert seen is not None
                both = seen[:, i] & seen[:, j]
                pair, common = (_Moments.of(lists[i], both), _Moments.of(lists[j], both)), int(both.sum())
            share, z_score, p_value, least = _beyond_chance(totals[i, j], pair, common)
            shares[i, j], z_scores[i, j], p_values[i, j], least_p_values[i, j] = (
                share,
                z_score,
                p_value,
                least,
            )
            shared[i, j] = totals[i, j] / max(common, 1)
    for matrix in (shares, z_scores, p_values, least_p_values, shared):
        above = np.triu_indices(v, 1)
        matrix[above] = matrix.T[above]
    n_seen = np.full((v, v), n) if seen is None else seen.T.astype(np.intp) @ seen.astype(np.intp)
    level = LEVEL if level is None else level
    return Agreement(shares, z_scores, p_values, least_p_values, shared, n_seen, level)


def fair_lists(spaces: Sequence[Space], neighbors: Sequence[Index]) -> list[Index]:
    """Return neighbour lists that say nothing of the order of the samples.

    Parameters
    ----------
    spaces : sequence of Space
        The views.
    neighbors : sequence of ndarray of shape (n, k)
        Their lists, in which of equally near samples the first come first.

    Returns
    -------
    list of ndarray of shape (n, k)
        The same lists for views without many ties; for others of a second, wider search, in which lots are
        drawn among the samples that are as near as the last one named. Graphs rank equal edges by what their
        ends share; what is left of ties there is decided in an order of the view's own.

    Examples
    --------
    Two views of mere noise, in which all samples of a kind are equally near:

    >>> import numpy as np
    >>> from consilience.neighbors import as_space, fair_lists, view_agreement
    >>> rng = np.random.default_rng(0)
    >>> spaces = [as_space(np.eye(4)[rng.integers(4, size=300)], "euclidean") for _ in range(2)]
    >>> lists = [space.nearest(10) for space in spaces]
    >>> bool(view_agreement(lists).significant.any())
    True
    >>> bool(view_agreement(fair_lists(spaces, lists)).significant.any())
    False
    """
    return [
        _fair_list(space, lists, np.random.default_rng([len(lists), i])) if _has_ties(space, lists) else lists
        for i, (space, lists) in enumerate(zip(spaces, neighbors, strict=True))
    ]


def _has_ties(space: Space, lists: Index) -> bool:
    """Say whether the last two neighbours of many samples are equally near."""
    n, k = lists.shape
    if k < 2:
        return False
    last = np.sort(lists[:, -2:], axis=1)
    values = _distances(space, last)
    values = values[np.isfinite(values).all(axis=1)]
    equal = np.abs(values[:, 0] - values[:, 1]) <= _EQUAL * np.abs(values).max(axis=1)
    return bool(equal.sum() > _MANY_TIES * n)


def _fair_list(space: Space, lists: Index, rng: np.random.Generator) -> Index:
    n, k = lists.shape
    if _is_graph(space):
        return nearest_in_order(space, k, rng.permutation(n))
    return _drawn_lists(space, n, k, rng)


def _is_graph(space: Any) -> bool:
    """Say whether this is a graph, or something around one: it ranks its equal edges itself."""
    while hasattr(space, "space"):
        space = space.space
    return sparse.issparse(getattr(space, "matrix", None))


def _drawn_lists(space: Space, n: int, k: int, rng: np.random.Generator) -> Index:
    """Return lists of k neighbours, drawn by lot from those that are as near as the last one.

    Of very many equally near ones some are looked at, the first in an order of this view's own.
    """
    wide = np.sort(nearest_in_order(space, min(n - 1, _WIDER * k), rng.permutation(n)), axis=1)
    values = _distances(space, wide)
    last = np.partition(values, k - 1, axis=1)[:, k - 1 : k]
    tolerance = _EQUAL * np.where(np.isfinite(last), np.abs(last), 0.0)
    rank = np.where(values < last - tolerance, 0.0, np.where(values <= last + tolerance, 1.0, 2.0))
    rank[np.isinf(values)] = 3.0
    chosen = np.argsort(rank + rng.random(wide.shape), axis=1)[:, :k]
    return np.take_along_axis(wide, chosen, axis=1)


def _distances(space: Space, lists: Index) -> NDArray[Any]:
    """Return how far the samples of ascending lists are, infinite for a sample itself ("no neighbour")."""
    n, k = lists.shape
    values = space.on_edges(_Pairs(np.arange(0, n * k + 1, k), lists.ravel())).reshape(n, k)
    values = values if space.kind == "distance" else -values
    return np.where(lists == np.arange(n)[:, None], np.inf, values)


class _Pairs:
    """Edges in compressed rows, as many from each sample."""

    def __init__(self, indptr: NDArray[Any], indices: NDArray[Any]) -> None:
        self.indptr, self.indices = indptr, indices


def sorted_lists(neighbors: Sequence[Index]) -> Index:
    """Return the lists of all views as one array (v, n, k), each ascending; shorter ones filled with self."""
    n, k = len(neighbors[0]), max(one.shape[1] for one in neighbors)
    lists = np.repeat(np.arange(n, dtype=np.int32)[None, :, None], len(neighbors), axis=0).repeat(k, axis=2)
    for place, one in zip(lists, neighbors, strict=True):
        place[:, : one.shape[1]] = one
    lists.sort(axis=2)
    return lists


def _count(lists: Index) -> Matrix:
    """Return how many neighbours each two views have in common, over all samples; below the diagonal."""
    v, n, _ = lists.shape
    parts = -(-n // _GRAIN)
    counts = np.zeros((parts, v, v), dtype=np.int64)
    threads.for_ranges(
        lambda a, b: [
            count_shared(lists, p * _GRAIN, min(n, (p + 1) * _GRAIN), counts[p]) for p in range(a, b)
        ],
        parts,
    )
    return counts.sum(axis=0).astype(np.float64)


@dataclass(frozen=True)
class _Moments:
    """What the null distribution needs to know of one directed graph: sums over pairs of its edges.

    `pairs` sorts the ordered pairs of edges by the samples that they share: the same edge; its reverse; same
    start; same end; the end of one is the start of the other; none.
    """

    n_edges: float
    pairs: NDArray[np.float64]

    @classmethod
    def of(cls, neighbors: Index, member: NDArray[np.bool_]) -> _Moments:
        """Look at the edges between members."""
        n = len(neighbors)
        inside = (neighbors != np.arange(n)[:, None]) & member[:, None] & member[neighbors]
        out_degree = inside.sum(axis=1).astype(np.float64)
        in_degree = np.bincount(neighbors[inside], minlength=n).astype(np.float64)
        mutual = np.empty(n, dtype=np.int64)
        threads.for_ranges(lambda a, b: mark_mutual(neighbors, member, a, b, mutual), n, grain=_GRAIN)
        edges, back = out_degree.sum(), float(mutual.sum())
        same_start = (out_degree**2).sum() - edges
        same_end = (in_degree**2).sum() - edges
        chained = 2 * ((out_degree * in_degree).sum() - back)
        apart = edges**2 - edges - back - same_start - same_end - chained
        return cls(edges, np.array([edges, back, same_start, same_end, chained, apart]))


def _beyond_chance(
    shared: float, pair: tuple[_Moments, _Moments], n: int
) -> tuple[float, float, float, float]:
    """Return the share in common beyond chance, its z-score and p-value, and the p-value of copies.

    NaN without anything to compare.
    """
    one, two = pair
    largest = min(one.n_edges, two.n_edges)
    if n < _FEWEST or largest == 0:
        return np.nan, np.nan, np.nan, np.nan
    mean = one.n_edges * two.n_edges / (n * (n - 1))
    places = n * (n - 1) * np.array([1, 1, n - 2, n - 2, 2 * (n - 2), (n - 2) * (n - 3)], dtype=np.float64)
    variance = float((one.pairs * two.pairs / places).sum() - mean**2)
    share = (shared - mean) / (largest - mean) if largest > mean else np.nan
    if variance <= 1e-9 * mean**2:  # rounding: every order gives the same number, when all are near all
        return share, np.nan, np.nan, np.nan
    by_chance = gamma(mean**2 / variance, scale=variance / mean)
    p_value, least = by_chance.sf([shared, largest]).tolist()
    return share, (shared - mean) / np.sqrt(variance), p_value, least
