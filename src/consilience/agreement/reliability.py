r"""From agreement to trust: how much each view counts, and each of its rows.

**Views.** With :math:`\kappa_{ij}` how far two views agree (see `agreement`; 0 where it may be chance), the
reliability of a view is the median of its agreement with the other kept views, weighted by their votes

.. math::

    r_i = \operatorname{median}_j (\kappa_{ij}; u_{ij}), \qquad
    u_{ij} = \frac{1 - \kappa_{ij}^2}{m_j}, \qquad m_j = 1 + \sum_{l \neq j} \kappa_{jl}^2,

but at least a tenth of the mean. So a view needs half of the votes to be reliable. The vote of a view is
smaller if it is a copy: of the view that it votes on (the numerator of u) or of others that vote too (m, the
number of times that the same view occurs: 1 on its own, 2 with a copy). A view enters the model with the
weight :math:`r_i / m_i`, so that views that are much alike count little more than one. Of views that agree
further than 0.9 only one is kept, and they are no evidence for each other. Views with too few samples in
common for a comparison have no vote on each other. Where no two views agree, those without structure of their
own (`stages.structure`) are left out, and the others count alike.

Two views of noise that have something in common agree, too, but with no other view. So if the views form
groups that agree only among themselves, the group with the most different views, :math:`\sum 1 / m`, is kept
if it is larger than the next one by half a view or more; otherwise none can be preferred.

**Rows.** A view may be right about most samples and wrong about some. Sample s has :math:`t` neighbours in
the view that other views confirm, counted by their votes u; an average sample has :math:`e`. If they are few,
:math:`t` is mostly chance, so it is shrunk as a Poisson number whose rate, relative to the average, comes
from a Gamma distribution of mean 1 and shape a, fitted to the samples:

.. math:: \rho_i(s) = \min\Big(\frac{a + t}{a + e},\; 1\Big).

Where views agree only a little, or no more unevenly than by chance, a is large and all rows count alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from ..engines import Engine, get_engine
from ..io.stored import stored
from .statistics import Agreement, Index

COPY = 0.9  # views that agree further than this are the same view twice, and no evidence for each other
AHEAD = 0.5  # how many views a group must have more than another to be preferred
LEAST_ROW_TRUST = 0.01  # so that every row counts a little

Vector = NDArray[np.float64]


@stored()
@dataclass(frozen=True, eq=False)
class ViewReliability:
    """How reliable the views are.

    Attributes
    ----------
    values : ndarray of shape (v,)
        Median agreement with the other views that are kept; 0 for a view that agrees with none of them, NaN
        for one with too few samples to compare.
    weights : ndarray of shape (v,)
        How much each view should count, with mean 1 over those that are kept: 0 for one that agrees with
        none of them and for a copy, 1 for one with too few samples to compare.
    copy_of : ndarray of int of shape (v,)
        The view that a view is a copy of, or nearly; its own number if it is none.
    any_agree : bool
        Whether any two views agree that are not copies; if not, all are kept except copies and views without
        structure of their own.
    groups : ndarray of int of shape (v,)
        Views in different groups do not agree, directly or through others; -1 for copies, for views that
        agree with no other, and for those with too few samples to compare.
    """

    values: Vector
    weights: Vector
    copy_of: NDArray[np.intp]
    any_agree: bool
    groups: NDArray[np.intp]


def view_reliability(agreement: Agreement, structured: NDArray[np.bool_] | None = None) -> ViewReliability:
    """Return how reliable each view is, from how far the views agree.

    Parameters
    ----------
    agreement : Agreement
        How far they agree.
    structured : ndarray of bool of shape (v,), default=None
        Which views have structure of their own: where no two views agree, only these are kept, if there are
        any. None: all.

    Examples
    --------
    Two views that agree, a copy of the first, and one that says something else:

    >>> import numpy as np
    >>> from consilience.agreement import view_agreement, view_reliability
    >>> from consilience.stages import nearest_neighbors
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(200, 2))
    >>> views = [x, x + 0.3 * rng.normal(size=x.shape), 2 * x, rng.normal(size=(200, 2))]
    >>> reliability = view_reliability(view_agreement(nearest_neighbors(views, 10)))
    >>> reliability.values.round(2)
    array([0.39, 0.39, 0.39, 0.  ])
    >>> reliability.weights, reliability.copy_of
    (array([1., 1., 0., 0.]), array([0, 1, 0, 3]))
    """
    kappa, comparable = _beyond_doubt(agreement), agreement.comparable
    copy_of = _find_copies(kappa, agreement.n_seen)
    original = copy_of == np.arange(len(kappa))
    evidence = (kappa > 0) & (kappa <= COPY) & np.outer(original, original)
    groups = _find_groups(evidence, comparable)
    any_agree = bool((groups >= 0).any())
    kept, preferred = original & comparable.any(axis=1), False
    if structured is not None and (kept & structured).any():
        kept = kept & structured
    if any_agree:
        kept, preferred = _largest_group(groups, kappa * evidence)
    # These have too few samples in common with every view that is kept.
    unknown = original & ~kept & ~(comparable & kept).any(axis=1)
    kappa = kappa * np.outer(kept, kept)
    values = _median_agreement(kappa, _votes(kappa) * (kept & comparable)) * kept
    weights = (values if preferred else 1.0) * kept / _multiplicities(kappa)
    if kept.any():
        weights = weights / weights[kept].mean()
    weights[unknown] = 1.0
    values[unknown] = np.nan
    return ViewReliability(values[copy_of], weights, copy_of, any_agree, groups)


def _largest_group(groups: NDArray[np.intp], kappa: Vector) -> tuple[NDArray[np.bool_], bool]:
    """Return which views are in the largest group, and True; or in any group, and False, if none is ahead."""
    agreeing = groups >= 0
    sizes = np.bincount(groups[agreeing], weights=1 / _multiplicities(kappa)[agreeing])
    ranked = np.sort(sizes)
    if len(sizes) > 1 and ranked[-1] < ranked[-2] + AHEAD:
        return agreeing, False
    return groups == np.argmax(sizes), True


def _median_agreement(kappa: Vector, votes: Vector) -> Vector:
    """Return each view's median agreement by the votes of the others, and at least a tenth of the mean."""
    total = votes.sum(axis=1)
    means = np.divide((votes * kappa).sum(axis=1), total, out=np.zeros(len(total)), where=total > 0)
    medians = [_weighted_median(one, by) for one, by in zip(kappa, votes, strict=True)]
    return np.maximum(medians, means / 10)


def _weighted_median(values: Vector, weights: Vector) -> float:
    """Return the value in the middle of the weights, interpolated; 0 if there is none."""
    order = np.argsort(values, kind="stable")
    values, weights = values[order][weights[order] > 0], weights[order][weights[order] > 0]
    if not len(values):
        return 0.0
    return float(np.interp(0.5, (np.cumsum(weights) - weights / 2) / weights.sum(), values))


def _find_copies(kappa: Vector, n_seen: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return for each view the one that it is a copy of, which has seen all its samples; or itself."""
    copy_of = np.arange(len(kappa))
    originals: list[int] = []
    for i in np.argsort(-np.diag(n_seen), kind="stable").tolist():
        for j in originals:
            if kappa[i, j] > COPY and n_seen[i, j] == n_seen[i, i]:
                copy_of[i] = j
                break
        else:
            originals.append(i)
    return copy_of


def _find_groups(evidence: NDArray[np.bool_], comparable: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the group of each view that agrees with another, -1 for the rest.

    Views that cannot be compared can be in the same group.
    """
    agreeing = np.asarray(evidence.any(axis=1))
    together = (evidence | ~comparable) & np.outer(agreeing, agreeing)
    _, labels = connected_components(sparse.csr_array(together))
    groups = np.full(len(agreeing), -1, dtype=np.intp)
    groups[agreeing] = np.unique(labels[agreeing], return_inverse=True)[1]
    return groups


def row_reliability(
    neighbors: Sequence[Index],
    agreement: Agreement,
    seen: NDArray[np.bool_] | None = None,
    *,
    engine: Any = "numba",
) -> Vector:
    """Return how reliable each row of each view is, from the neighbours that other views confirm.

    Parameters
    ----------
    neighbors : sequence of ndarray of shape (n, k)
        Each sample's neighbours in one view. A sample's own number means "no neighbour".
    agreement : Agreement
        Of the same views.
    seen : ndarray of bool of shape (n, v), default=None
        Which view has seen which sample; None: all have seen all.
    engine : str or Engine, default="numba"
        The engine that computes.

    Returns
    -------
    ndarray of shape (n, v)
        Between 0.01 and 1. All 1 for fewer than three views: of two that differ, neither can be preferred.

    Examples
    --------
    >>> import numpy as np
    >>> from consilience.agreement import row_reliability, view_agreement
    >>> from consilience.stages import nearest_neighbors
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(300, 2))
    >>> views = [x, x + 0.1 * rng.normal(size=x.shape), x + 0.1 * rng.normal(size=x.shape)]
    >>> views[0] = np.concatenate([x[30:60], x[:30], x[60:]])  # some rows swapped
    >>> lists = nearest_neighbors(views, 10)
    >>> rows = row_reliability(lists, view_agreement(lists))
    >>> [f"{value:.2f}" for value in (rows[:60, 0].mean(), rows[60:, 0].mean(), rows[:60, 1].mean())]
    ['0.50', '0.98', '0.90']
    """
    engine = get_engine(engine)
    trust = row_trust(neighbors, agreement, seen, engine)
    if trust is None:
        return np.ones((len(neighbors[0]), len(neighbors)))
    return np.asarray(engine.fetch(trust))


def row_trust(
    lists: Sequence[Any], agreement: Agreement, mask: NDArray[np.bool_] | None, engine: Engine
) -> Any | None:
    """Return how reliable each row is, as a handle of the engine; None: all rows count alike."""
    v = len(lists)
    kappa = _beyond_doubt(agreement)
    votes = np.where(kappa > 0, _votes(kappa), 0.0)
    if v < 3 or (votes.sum(axis=1) > 0).sum() < 3:
        return None
    alike = kappa**2 + np.eye(v)
    units = np.zeros(v)
    for i in range(v):
        # In these units, the sum of votes varies like one Poisson number: 1 if one other view confirms the
        # view, or copies of it that share a vote; the size of a vote if several independent ones do.
        mean, spread = votes[i] @ agreement.shared[i], votes[i] * np.sqrt(agreement.shared[i])
        units[i] = spread @ alike @ spread / mean if mean > 0 else 0.0
    rates = engine.row_trust(engine.stack(lists), mask, votes, agreement.shared, units)
    return engine.bounded(rates, LEAST_ROW_TRUST)


def _beyond_doubt(agreement: Agreement) -> Vector:
    """Return how far views agree, 0 where it may be chance, and on the diagonal."""
    return np.where(agreement.significant, np.maximum(agreement.shares, 0.0), 0.0)


def _multiplicities(kappa: Vector) -> Vector:
    """Return how many times each view occurs: 1 on its own, 2 with a copy."""
    return np.asarray(1 + (kappa**2).sum(axis=1))


def _votes(kappa: Vector) -> Vector:
    """Return the vote that each view (column) has on each (row): none on itself."""
    return (1 - kappa**2) / _multiplicities(kappa) * (1 - np.eye(len(kappa)))
