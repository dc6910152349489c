r"""Which rows of which views belong to their sample: matched rows, told from rows of other samples.

A row of a view is *matched* if it describes its sample, and *unmatched* if it might as well be the row of
another: exchanged, mislabelled, or measured on something else. Whether the rows of sample i in views m and l
match each other shows in where they lie. Let u be the embedding of the unified graph, and

.. math:: h_m(i) = \operatorname{mean}_{j \in N_m(i)} u_j

the place of i according to its neighbours in view m, centred, of unit length; neighbours count by the trust
in their own rows. If both rows are matched, :math:`s_{ml}(i) = h_m(i)^\top h_l(i)` is large more often than
for two rows of different samples. The density :math:`f_0` of these is known: it is that of the pairs of
:math:`h_m(i)` with :math:`h_l(j)` for random j. What is observed is a mixture,
:math:`f = (1 - \pi) f_0 + \pi f_1`. So

.. math:: \frac{f_1}{f_0} = \frac{f / f_0 - (1 - \pi)}{\pi},

with :math:`f / f_0`, which grows with s, by isotonic regression, and :math:`1 - \pi` the least ratio of the
two distribution functions over the lower half of the null. With :math:`g_m \in \{0, 1\}` for "matched", and
shares :math:`\rho_m` of matched rows,

.. math::

    P(g \mid s) \;\propto\; \prod_m \rho_m^{g_m} (1 - \rho_m)^{1 - g_m}
        \prod_{m < l} \Big( \frac{f_1}{f_0}(s_{ml}) \Big)^{g_m g_l} .

The shares are those of the fixed point :math:`\rho_m = \operatorname{mean}_i P(g_m = 1)`. The trust in a row
is

.. math:: \tau_m(i) = \Big( \frac{P(g_m = 1)}{\max P(g_m = 1)} \Big)^{1 + u}, \qquad u = \sum_m (1 - \rho_m).

It is in units of the view's largest: a view whose rows none of the others can confirm has no evidence against
any of them. The number u of rows of a sample that are expected to be unmatched says how much doubt costs: if
most samples have such a row, what is left of these rows draws all clusters together. With two views both rows
of a sample get the same: nobody can know which is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.isotonic import IsotonicRegression

Floats = NDArray[np.floating[Any]]
Vector = NDArray[np.float64]
Mask = NDArray[np.bool_]

LEAST_TRUST = 0.01  # so that every row counts a little
LEAST_MATCHED = 0.6  # the least share of samples whose two rows are taken to match, in two views that agree
STRONGEST = 100.0  # the most that two rows can speak for or against each other, as a ratio of densities
_START = 0.8  # share of matched rows to begin with
_ROUNDS, _SETTLED = 30, 1e-4  # of the fixed point of the shares
_NULL_PAIRS, _MOST_REPEATS = (
    20_000,
    100,
)  # of different samples; with few samples they are drawn again and again
_MOST_ENUMERATED = 8  # views: 256 ways to be matched
_BLOCK = 1 << 14  # samples at a time


def matched_rows(
    lists: Sequence[NDArray[Any]],
    vectors: Floats,
    trust: Floats | None,
    mask: Mask | None,
    seed: int,
    copy_of: Sequence[int] | None = None,
) -> tuple[Floats, Vector]:
    """Return how much each row of each view can be trusted, and the share of matched rows in each view.

    Parameters
    ----------
    lists : sequence of ndarray of shape (n, k)
        Neighbours in each view.
    vectors : ndarray of shape (n, c)
        An embedding of the samples, in rows of unit length.
    trust : ndarray of shape (n, v), or None
        The trust so far, by which neighbours count; None: 1.
    mask : ndarray of bool of shape (n, v), or None
        Which view has seen which sample; None: all.
    seed : int
        Pairs samples at random.
    copy_of : sequence of int, or None
        The view that each view is a copy of, or its own number: copies do not vouch for each other. None: no
        view is a copy.
    """
    if copy_of is not None and len(originals := np.unique(copy_of)) < len(lists):
        return _of_originals(lists, vectors, trust, mask, seed, originals, np.asarray(copy_of))
    n, v = len(vectors), len(lists)
    known = np.ones((n, v)) if trust is None else np.asarray(trust, dtype=np.float64)
    seen = np.ones((n, v), dtype=bool) if mask is None else mask
    places = [_places(one, vectors, known[:, m], seen[:, m]) for m, one in enumerate(lists)]
    rng = np.random.default_rng(seed)
    ratios = np.zeros((n, v * (v - 1) // 2))
    for column, (m, o) in enumerate(combinations(range(v), 2)):
        both = np.flatnonzero(seen[:, m] & seen[:, o])
        if len(both) > 1:
            ratios[both, column] = _log_ratios(places[m][both], places[o][both], rng)
    matched, shares = _probabilities(ratios, v)
    highest = np.maximum(matched.max(axis=0, initial=0.0), 1e-9)
    n_unmatched = float(((1.0 - shares) * seen).sum(axis=1).mean())
    found = (matched / highest) ** (1.0 + n_unmatched)
    return np.where(seen, np.maximum(found, LEAST_TRUST), 1.0), shares


def _of_originals(
    lists: Sequence[NDArray[Any]],
    vectors: Floats,
    trust: Floats | None,
    mask: Mask | None,
    seed: int,
    originals: NDArray[np.intp],
    copy_of: NDArray[np.intp],
) -> tuple[Floats, Vector]:
    """Return what is found without copies; the rows of a copy are trusted as those of its original."""
    found, shares = matched_rows(
        [lists[m] for m in originals],
        vectors,
        None if trust is None else np.asarray(trust)[:, originals],
        None if mask is None else mask[:, originals],
        seed,
    )
    place = np.searchsorted(originals, copy_of)
    return np.where(True if mask is None else mask, found[:, place], 1.0), shares[place]


def _places(lists: NDArray[Any], vectors: Floats, trust: Vector, seen: Mask) -> Floats:
    """Return where each sample is according to its neighbours: centred, of unit length; else 0."""
    n, k = lists.shape
    starts, ends = np.repeat(np.arange(n), k), lists.ravel()
    weights = np.where((ends != starts) & seen[starts], trust[ends] * seen[ends], 0.0)
    steps = sparse.csr_array((weights, ends, np.arange(0, n * k + 1, k)), shape=(n, n))
    total = np.asarray(steps.sum(axis=1)).ravel()[:, None]
    means = np.divide(steps @ vectors, total, out=np.zeros(vectors.shape), where=total > 0)
    placed = total.ravel() > 0
    means[placed] -= means[placed].mean(axis=0) if placed.any() else 0.0
    lengths = np.linalg.norm(means, axis=1, keepdims=True)
    return np.divide(means, lengths, out=np.zeros_like(means), where=lengths > 1e-12)


def _log_ratios(one: Floats, other: Floats, rng: np.random.Generator) -> Vector:
    """Return the logarithm of f1 / f0 for the rows of each sample in two views."""
    n = len(one)
    # Rounding must not decide: products that agree to twelve digits are equal.
    found = np.round(np.einsum("ij,ij->i", one, other), 12)
    repeats = int(np.clip(_NULL_PAIRS // n, 1, _MOST_REPEATS))
    drawn = [np.einsum("ij,ij->i", one, other[rng.permutation(n)]) for _ in range(repeats)]
    null = np.round(np.concatenate(drawn), 12)
    is_found = np.repeat([1.0, 0.0], [n, len(null)])
    weights = np.repeat([1.0, 1.0 / repeats], [n, len(null)])
    regression = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
    share = regression.fit(np.concatenate([found, null]), is_found, weights).predict(found)
    share = np.clip(share, 1e-3, 1 - 1e-3)
    levels = np.quantile(null, np.linspace(0.05, 0.5, 19))
    below = (np.searchsorted(np.sort(found), levels, side="right") + 0.5) / n
    by_chance = np.searchsorted(np.sort(null), levels, side="right") / len(null)
    matched = max(1.0 - min(1.0, float((below / by_chance).min())), LEAST_MATCHED)
    ratio = (share / (1 - share) - (1 - matched)) / matched
    return np.log(np.clip(ratio, 1 / STRONGEST, STRONGEST))


def _probabilities(ratios: Vector, v: int) -> tuple[Vector, Vector]:
    """Return the probability of each row to be matched, and the share of matched rows in each view."""
    n = len(ratios)
    shares = settled_shares(ratios if n <= _BLOCK else ratios[chosen_samples(n)], v)
    posterior = _posterior(v)
    return np.concatenate([posterior(ratios[here], shares) for here in _blocks(n)]), shares


def chosen_samples(n: int) -> NDArray[np.intp]:
    """Return the samples from which the shares of matched rows are found: all, or some if there are many."""
    return np.arange(n) if n <= _BLOCK else np.random.default_rng(0).choice(n, _BLOCK, replace=False)


def settled_shares(ratios: Vector, v: int) -> Vector:
    """Return the share of matched rows in each view, from the samples chosen for that."""
    posterior, shares = _posterior(v), np.full(v, _START)
    for _ in range(_ROUNDS):
        found = np.clip(posterior(ratios, shares).mean(axis=0), 0.05, 0.999)
        settled = np.abs(found - shares).max() < _SETTLED
        shares = found
        if settled:
            break
    return shares


def _posterior(v: int) -> Callable[[Vector, Vector], Vector]:
    return _enumerated if v <= _MOST_ENUMERATED else _mean_field


def _blocks(n: int) -> Iterator[slice]:
    return (slice(start, start + _BLOCK) for start in range(0, n, _BLOCK))


def _enumerated(ratios: Vector, shares: Vector) -> Vector:
    """Return P(g_m = 1) by adding up all ways in which the rows of a sample can be matched."""
    v = len(shares)
    ways = np.array(list(product((0.0, 1.0), repeat=v)))
    pairs = np.stack([ways[:, m] * ways[:, o] for m, o in combinations(range(v), 2)], axis=1)
    logs = ratios @ pairs.T + ways @ np.log(shares) + (1 - ways) @ np.log1p(-shares)
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(weights @ ways / weights.sum(axis=1, keepdims=True))


def _mean_field(ratios: Vector, shares: Vector) -> Vector:
    """Return about the same for many views: each row given the probabilities of the others."""
    v = len(shares)
    first, second = np.array(list(combinations(range(v), 2))).T
    matched = np.repeat(shares[None, :], len(ratios), axis=0)
    for _ in range(_ROUNDS):
        before = matched.copy()
        for m in range(v):
            mine = (first == m) | (second == m)
            others = np.where(first[mine] == m, second[mine], first[mine])
            logit = np.log(shares[m] / (1 - shares[m])) + (ratios[:, mine] * matched[:, others]).sum(axis=1)
            matched[:, m] = 1 / (1 + np.exp(-np.clip(logit, -30, 30)))
        if np.abs(matched - before).max() < _SETTLED:
            break
    return matched
