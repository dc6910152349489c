"""Edges from new samples to those of a fit, and their votes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from ..results import Matrix
from .device import Device
from .handles import DeviceEdges, indptr_of
from .segments import segment_sums

Tensor: TypeAlias = torch.Tensor
Mask = NDArray[np.bool_]


def unite_new(
    lists: Sequence[Tensor | None], asked: Mask, masks: Sequence[Mask | None], device: Device
) -> DeviceEdges:
    """Unite the lists of new samples; see `Engine.unite_new`."""
    m = len(asked)
    parts = []
    for view, near in enumerate(lists):
        if near is not None:
            whole = torch.full((m, near.shape[1]), -1, dtype=torch.int32, device=device.where)
            whole[device.put(np.flatnonzero(asked[:, view]))] = near.int()
            parts.append(whole)
    merged = torch.cat(parts, dim=1).sort(dim=1).values
    kept = merged >= 0
    kept[:, 1:] &= merged[:, 1:] != merged[:, :-1]
    edges = DeviceEdges(_indptr(kept.sum(dim=1)), merged[kept])
    judged = device.put(asked).T.index_select(1, edges.rows)
    for row, mask in zip(judged, masks, strict=True):
        if mask is not None:
            row &= device.put(mask)[edges.indices]
    return edges if bool(judged.all()) else DeviceEdges(edges.indptr, edges.indices, judged)


def edges_of_asked(edges: DeviceEdges, asked: Mask) -> tuple[DeviceEdges, Tensor]:
    """Return the edges of the new samples that were asked (m,), and which edges those are."""
    which = Device(edges.indptr.device).put(asked)
    inside = which[edges.rows]
    return DeviceEdges(_indptr(edges.counts[which]), edges.indices[inside]), inside


def trust_of_ends(edges: DeviceEdges, trust: Tensor) -> Tensor:
    """Return the trust in the samples that edges lead to; see `Engine.trust_of_ends`."""
    found = trust.T.index_select(1, edges.indices)
    return found if edges.seen is None else found.mul_(edges.seen)


def coinciding(edges: DeviceEdges, parts: Sequence[tuple[int, Tensor]], n_views: int) -> Tensor:
    """Mark edges on which all views that judge them are at distance 0; see `Engine.coinciding`."""
    same = torch.ones(edges.n_edges, dtype=torch.bool, device=edges.indptr.device)
    measuring = [view for view, _ in parts]
    others = sorted(set(range(n_views)) - set(measuring))
    for view, values in parts:
        judged = edges.seen_by(view)
        same &= values == 0 if judged is None else (values == 0) | ~judged
    if edges.seen is None:
        return same if measuring and not others else torch.zeros_like(same)
    return same & edges.seen[measuring].any(dim=0) & ~edges.seen[others].any(dim=0)


def cluster_shares(
    edges: DeviceEdges, values: Tensor, same: Tensor, labels: NDArray[np.intp], n_clusters: int, k: int
) -> Matrix:
    """Count the votes of the k strongest edges of each new sample; see `Engine.cluster_shares`."""
    from .graphs import mark_strongest

    return _count_votes(edges, values, mark_strongest(edges, values, k), same, labels, n_clusters)


def _count_votes(
    edges: DeviceEdges, values: Tensor, kept: Tensor, same: Tensor, labels: NDArray[np.intp], n_clusters: int
) -> Matrix:
    """Add up the values of the kept edges, by the cluster they lead to.

    For a new sample that is a copy, only the edges to its copies count, as 1 each.
    """
    device, m = Device(edges.indptr.device), edges.n_samples
    has_copy = torch.zeros(m, dtype=torch.bool, device=device.where)
    has_copy[edges.rows[same]] = True
    voting = torch.where(has_copy[edges.rows], same, kept).nonzero().ravel()
    rows = edges.rows[voting]
    votes = torch.where(has_copy[rows], 1.0, values[voting].double())
    # Sorted by the place that they count for: so they are added up in the same order in every run.
    clusters = device.put(labels, torch.int64)[edges.indices[voting]]
    places, order = torch.sort(rows * n_clusters + clusters, stable=True)
    counted = segment_sums(votes[order], indptr_of(places, m * n_clusters))
    return device.get(counted.view(m, n_clusters))


def _indptr(counts: Tensor) -> Tensor:
    """Return where each row begins, from how many entries each has."""
    return torch.cat([counts.new_zeros(1), counts.cumsum(0)])
