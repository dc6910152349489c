"""Edges from new samples to those of a fit, and their votes, for engines that work in this memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..graphs import EdgeSet

Mask = NDArray[np.bool_]
Floats = NDArray[np.floating[Any]]


def unite_new(lists: Sequence[Any], asked: Mask, masks: Sequence[Mask | None]) -> EdgeSet:
    """Unite the lists of new samples; see `Engine.unite_new`."""
    m = len(asked)
    parts = []
    for v, near in enumerate(lists):
        if near is not None:
            whole = np.full((m, near.shape[1]), -1, dtype=np.int32)
            whole[asked[:, v]] = near
            parts.append(whole)
    merged = np.sort(np.concatenate(parts, axis=1), axis=1)
    kept = merged >= 0
    kept[:, 1:] &= merged[:, 1:] != merged[:, :-1]
    indptr = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
    edges = EdgeSet(indptr, merged[kept])
    judged = asked[edges.rows].T
    for row, mask in zip(judged, masks, strict=True):
        if mask is not None:
            row &= mask[edges.indices]
    return edges if judged.all() else EdgeSet(indptr, edges.indices, np.ascontiguousarray(judged))


def edges_of_asked(edges: EdgeSet, asked: Mask) -> tuple[EdgeSet, Mask]:
    """Return the edges of the new samples that were asked (m,), and which edges those are."""
    inside = asked[edges.rows]
    counts = np.diff(edges.indptr)[asked]
    return EdgeSet(np.concatenate([[0], np.cumsum(counts)]), edges.indices[inside]), inside


def trust_of_ends(edges: EdgeSet, trust: Floats) -> Floats:
    """Return the trust in the samples that edges lead to; 0 where a view does not judge."""
    found = trust[edges.indices].T
    return np.ascontiguousarray(found if edges.seen is None else found * edges.seen)


def coinciding(edges: EdgeSet, parts: Sequence[tuple[int, Floats]], n_views: int) -> Mask:
    """Mark edges that at least one view judges, and whose distance is 0 in every view that judges them."""
    judged = np.ones((n_views, edges.n_edges), dtype=bool) if edges.seen is None else edges.seen
    measuring = np.zeros(n_views, dtype=bool)
    same = np.ones(edges.n_edges, dtype=bool)
    for view, values in parts:
        measuring[view] = True
        same &= (values == 0) | ~judged[view]
    return np.asarray(same & judged[measuring].any(axis=0) & ~judged[~measuring].any(axis=0))


def count_votes(
    edges: EdgeSet, values: Floats, kept: Mask, same: Mask, labels: NDArray[np.intp], n_clusters: int
) -> NDArray[np.float64]:
    """Add up the values of the kept edges, by the cluster they lead to.

    For a new sample that is a copy, only the edges to its copies count, as 1 each.
    """
    rows, m = edges.rows, edges.n_samples
    has_copy = np.zeros(m, dtype=bool)
    has_copy[rows[same]] = True
    votes = np.where(has_copy[rows], same, np.where(kept, values, 0.0))
    places = rows.astype(np.intp) * n_clusters + labels[edges.indices]
    counted = np.bincount(places, weights=votes, minlength=m * n_clusters)
    return np.asarray(counted, dtype=np.float64).reshape(m, n_clusters)
