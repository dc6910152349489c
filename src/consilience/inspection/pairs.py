"""Pair by pair: the edges on which one view says something else than the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..run.messages import check_count
from .subject import Floats, as_subject

_STEPS = 1 << 16  # parts of the range of a view's weights


@dataclass(frozen=True, eq=False)
class PairConflicts:
    """The pairs of samples on which the views differ most, the worst first.

    Attributes
    ----------
    names : tuple of str
        The views.
    sample_names : ndarray of shape (n,)
        Ids of the samples, or their numbers.
    pairs : ndarray of int of shape (m, 2)
        The samples of each pair.
    opinions : ndarray of shape (m, v)
        How near the two are in each view, among all pairs that it judges: 1 for the nearest, 0 for the
        farthest; NaN for a view left out or one that has not seen both.
    odd_view : ndarray of int of shape (m,)
        The view that differs from the others.
    conflict : ndarray of shape (m,)
        How far its opinion is from the mean of the others'.
    inconsistent : ndarray of shape (m, v)
        The part of a view's weight on the edge that the model found inconsistent, from 0 to 1.
    fused : ndarray of shape (m,)
        How near they are in the unified graph, like the opinions.
    n_judged : int
        Number of pairs looked at.
    """

    names: tuple[str, ...]
    sample_names: NDArray[Any]
    pairs: NDArray[np.intp]
    opinions: Floats
    odd_view: NDArray[np.intp]
    conflict: Floats
    inconsistent: Floats
    fused: Floats
    n_judged: int


def conflicting_pairs(fitted: Any, *, n_pairs: int = 100) -> PairConflicts:
    """Find the pairs of samples on which one view contradicts the others most.

    Only pairs that are neighbours in some view are looked at: the edges of the fusion.

    Parameters
    ----------
    fitted : SimilarityGraphFusion, DistanceGraphFusion or FusionResult
        A fitted model, or what `fuse_graphs` returned.
    n_pairs : int, default=100
        How many pairs to return.

    Returns
    -------
    PairConflicts

    Examples
    --------
    >>> from consilience import SimilarityGraphFusion, make_multiview
    >>> from consilience.inspection import conflicting_pairs
    >>> data = make_multiview(300, n_views=3, n_clusters=3, separation=6.0, scrambled=[0.1, 0, 0],
    ...                       random_state=0)
    >>> model = SimilarityGraphFusion(n_clusters=3, random_state=0, effort="low").fit(data.views)
    >>> found = conflicting_pairs(model, n_pairs=20)
    >>> int((found.odd_view == 0).sum())  # mostly, the view with scrambled rows is the odd one out
    17
    """
    check_count("n_pairs", n_pairs)
    subject = as_subject(fitted)
    fusion, edges = subject.fusion, subject.fusion.edges
    assert edges is not None
    judged = np.ones((1, edges.n_edges), bool) if fusion.seen_by_view is None else fusion.seen_by_view
    judged = np.broadcast_to(judged, fusion.weights_by_view.shape)
    opinions = np.stack(
        [
            _nearness(weights, seen, fusion.kind)
            for weights, seen in zip(fusion.weights_by_view, judged, strict=True)
        ]
    )
    conflict, odd = _odd_one_out(opinions)
    first = _once(edges.rows, edges.indices, subject.n_samples)
    order = np.flatnonzero(first & np.isfinite(conflict))
    if len(order) > n_pairs:
        order = order[np.argpartition(-conflict[order], n_pairs)[:n_pairs]]
    order = order[np.argsort(-conflict[order], kind="stable")]
    weights = np.maximum(fusion.weights_by_view[:, order], 1e-300)
    return PairConflicts(
        names=subject.names,
        sample_names=subject.sample_names,
        pairs=np.column_stack([edges.rows[order], edges.indices[order]]).astype(np.intp),
        opinions=subject.expand(opinions[:, order].T, np.nan),
        odd_view=np.flatnonzero(subject.kept)[odd[order]],
        conflict=conflict[order],
        inconsistent=subject.expand(
            np.asarray((fusion.inconsistent_by_view[:, order] / weights).T, dtype=np.float64), np.nan
        ),
        fused=_nearness(fusion.fused, np.ones(edges.n_edges, bool), fusion.kind)[order],
        n_judged=int(first.sum()),
    )


def _nearness(weights: NDArray[Any], judged: NDArray[np.bool_], kind: str | None) -> Floats:
    """Return how near each pair is in a view, among those that it judges: 1 the nearest, 0 the farthest."""
    given = np.asarray(weights if judged.all() else weights[judged], dtype=np.float64)
    if kind == "similarity" and len(given):
        # If similarities fall exponentially, this is the distance: it differs also where all are near.
        given = -np.log(np.maximum(given / max(given.max(), 1e-300), 1e-300))
    ranks = 1 - _ranks(given)
    if len(given) == len(weights):
        return ranks
    result = np.full(len(weights), np.nan)
    result[judged] = ranks
    return result


def _ranks(distances: Floats) -> Floats:
    """Return the ranks of distances, from 0 to 1; equal ones have equal ranks.

    So do those that differ by less than a part of their range on a logarithmic scale: counting is faster
    than sorting, and on this scale a few that are far out do not matter.
    """
    if not len(distances):
        return distances
    logs = np.log(np.maximum(distances, 1e-12 * (distances.max() or 1.0)))
    low, high = logs.min(), logs.max()
    step = ((logs - low) * ((_STEPS - 1) / (high - low if high > low else 1.0))).astype(np.intp)
    counts = np.bincount(step, minlength=_STEPS)
    middle = np.cumsum(counts) - (counts + 1) / 2
    return np.asarray((middle / max(len(distances) - 1, 1))[step]) if len(distances) > 1 else np.full(1, 0.5)


def _odd_one_out(opinions: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """Return how far one opinion is from the mean of the others, the most of all views, and whose it is.

    That is the least or the largest of them: no other opinion is farther from the rest. NaN for fewer than
    two opinions.
    """
    known = ~np.isnan(opinions)
    counts = known.sum(axis=0)
    if not known.all():
        least, most = np.where(known, opinions, np.inf), np.where(known, opinions, -np.inf)
        total = np.where(known, opinions, 0.0).sum(axis=0)
    else:
        least = most = opinions
        total = opinions.sum(axis=0)
    lowest, highest = least.min(axis=0), most.max(axis=0)
    others = np.maximum(counts - 1, 1)
    below, above = (total - lowest) / others - lowest, highest - (total - highest) / others
    conflict = np.where(counts < 2, np.nan, np.maximum(below, above))
    return conflict, np.where(above >= below, most.argmax(axis=0), least.argmin(axis=0))


def _once(rows: NDArray[Any], columns: NDArray[Any], n: int) -> NDArray[np.bool_]:
    """Mark each pair once: the edge with the smaller end first, or the other one if that is all there is."""
    forth = rows < columns
    keys = np.where(forth, rows.astype(np.int64) * n + columns, columns.astype(np.int64) * n + rows)
    known = keys[forth]  # ascending, as edges are sorted by row and column
    back = ~forth
    if len(known):
        place = np.minimum(np.searchsorted(known, keys[back]), len(known) - 1)
        forth[back] = known[place] != keys[back]
    else:
        forth[back] = True
    return forth
