"""What neighbour lists have in common, counted on a device; all counts are integers and exact.

Lists are tensors (n, k), ascending in each row; a sample's own number stands for "no neighbour".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from ..results import Matrix, Overlaps, Vector
from .device import Device

Tensor: TypeAlias = torch.Tensor
Mask = NDArray[np.bool_]


def stack(lists: Sequence[Tensor], device: Device) -> Tensor:
    """Return the lists of all views as one tensor (v, n, k), each ascending; shorter ones filled with self.

    Examples
    --------
    >>> stack([torch.tensor([[1], [0]]), torch.tensor([[0, 1], [1, 0]])], Device.of("cpu")).tolist()
    [[[0, 1], [0, 1]], [[0, 1], [0, 1]]]
    """
    n, k = len(lists[0]), max(one.shape[1] for one in lists)
    result = torch.empty((len(lists), n, k), dtype=torch.int32, device=device.where)
    result.copy_(device.arange(n, torch.int32)[None, :, None])
    for place, one in zip(result, lists, strict=True):
        place[:, : one.shape[1]] = one
        for a, b in device.blocks(n, 16 * k):  # a sort also makes the order, of twice the size
            place[a:b] = place[a:b].sort(dim=1).values
    return result


def count_overlaps(stacked: Tensor, mask: Mask | None) -> Overlaps:
    """Count what the lists have in common; see `Engine.overlaps`."""
    device, (v, n, _) = Device(stacked.device), stacked.shape
    shared = device.zeros(v, v, dtype=torch.int64)
    for i in range(v):
        for j in range(i):
            shared[i, j] = _count_shared(stacked[i], stacked[j], device).sum()
    if mask is None or mask.all():
        everyone = torch.ones((1, n), dtype=torch.bool, device=device.where)
        pairs = np.array([_edge_pairs(one, everyone, device) for one in stacked]).repeat(v, axis=1)
        n_seen = np.full((v, v), n)
    else:
        seen = device.put(mask).T.contiguous()
        pairs = np.array([_edge_pairs(one, seen[i] & seen, device) for i, one in enumerate(stacked)])
        n_seen = device.get(torch.stack([(one & seen).sum(dim=1) for one in seen]))
    return Overlaps(device.get(shared.double()), pairs, n_seen.astype(np.intp))


def confirmed_rates(
    stacked: Tensor, mask: Mask | None, votes: Matrix, expected: Matrix, units: Vector
) -> Tensor:
    """Return how far each row of each view is confirmed by others; see `Engine.row_trust`."""
    device, (v, n, _) = Device(stacked.device), stacked.shape
    seen = None if mask is None else device.put(mask).T.contiguous()
    found, foreseen = device.zeros(v, n), device.zeros(v, n)
    for i in range(v):
        for j in range(i):
            if votes[i, j] > 0:
                shared = _count_shared(stacked[i], stacked[j], device).double()
                both = torch.ones_like(shared) if seen is None else (seen[i] & seen[j]).double()
                for one, other in ((i, j), (j, i)):
                    found[one].add_(shared * both, alpha=float(votes[one, other]))
                    foreseen[one].add_(both, alpha=float(votes[one, other] * expected[i, j]))
    rates = torch.ones((n, v), dtype=torch.float64, device=device.where)
    for i in np.flatnonzero(units > 0).tolist():
        rates[:, i] = _shrunk_rates(found[i] / float(units[i]), foreseen[i] / float(units[i]))
    return rates


def count_confirmed(
    stacked: Tensor, view: int, others: Mask, rows: NDArray[np.intp], places: NDArray[np.intp]
) -> NDArray[np.int64]:
    """Count the neighbours that other views name at certain places; see `Engine.confirmed`."""
    device, (v, _, k) = Device(stacked.device), stacked.shape
    asked = device.put(np.ascontiguousarray(others[places].T))
    own, at = device.put(rows, torch.int64), device.put(places, torch.int64)
    counts = device.zeros(len(rows), dtype=torch.int64)
    for a, b in device.blocks(len(rows), 40 * k):
        mine = stacked[view].index_select(0, own[a:b])
        # The row's own number means "no neighbour" in the one list, that of the place in the other.
        counted = (mine != own[a:b, None]) & (mine != at[a:b, None])
        for j in range(v):
            named = _are_in(mine, stacked[j].index_select(0, at[a:b])) & counted
            counts[a:b] += named.sum(dim=1) * asked[j, a:b]
    return device.get(counts)


def _are_in(members: Tensor, rows: Tensor) -> Tensor:
    """Say which members (m, k) are in the rows (m, l), ascending, of the same number."""
    if not rows.numel():
        return torch.zeros_like(members, dtype=torch.bool)
    places = torch.searchsorted(rows, members).clamp_(max=rows.shape[1] - 1)
    return rows.gather(1, places) == members


def _count_shared(one: Tensor, other: Tensor, device: Device) -> Tensor:
    """Return how many neighbours two views share, for each sample (n,)."""
    n, k = one.shape
    counts, own = device.zeros(n, dtype=torch.int64), device.arange(n, torch.int32)[:, None]
    for a, b in device.blocks(n, 16 * k):
        named = _are_in(one[a:b], other[a:b]) & (one[a:b] != own[a:b])
        counts[a:b] = named.sum(dim=1)
    return counts


def _edge_pairs(neighbors: Tensor, members: Tensor, device: Device) -> NDArray[np.float64]:
    """Count ordered pairs of edges between members, by the samples that they share; see `Overlaps.pairs`.

    `members` (m, n) are several groups of samples; returns (m, 6). An edge has its reverse in all groups that
    it is in, so that this is found once for all groups.
    """
    (n, k), m = neighbors.shape, len(members)
    out_degree, in_degree = device.zeros(m, n, dtype=torch.int64), device.zeros(m, n, dtype=torch.int64)
    mutual, own = device.zeros(m, dtype=torch.int64), device.arange(n, torch.int32)[:, None]
    for a, b in device.blocks(n, k * (5 * k + 40)):
        ends = neighbors[a:b].long()
        is_edge = neighbors[a:b] != own[a:b]
        has_reverse = (neighbors[ends] == own[a:b, :, None]).any(dim=2)
        for group, member in enumerate(members):
            inside = is_edge & member[a:b, None] & member[ends]
            out_degree[group, a:b] = inside.sum(dim=1)
            in_degree[group].index_add_(0, ends.flatten(), inside.flatten().long())
            mutual[group] += (inside & has_reverse).sum()
    sums = [out_degree, out_degree**2, in_degree**2, out_degree * in_degree]
    counts = device.get(torch.stack([*(one.sum(dim=1) for one in sums), mutual], dim=1))
    return np.array([_pairs_of(*one) for one in counts.tolist()], dtype=np.float64)


def _pairs_of(edges: int, starts: int, ends: int, through: int, back: int) -> list[int]:
    """Return `Overlaps.pairs` from the sums of degrees, their squares and products; whole numbers.

    Python's, which hold the square of any number of edges.
    """
    same_start, same_end, chained = starts - edges, ends - edges, 2 * (through - back)
    return [
        edges,
        back,
        same_start,
        same_end,
        chained,
        edges**2 - edges - back - same_start - same_end - chained,
    ]


def _shrunk_rates(counts: Tensor, expected: Tensor) -> Tensor:
    """Return (a + t) / (a + e), with a from how far counts vary beyond a Poisson number's own variance."""
    excess, squares = ((counts - expected) ** 2 - expected).sum(), (expected**2).sum()
    shape = squares / excess
    shrunk = (shape + counts) / (shape + expected)
    # Chosen on the device, without waiting for it; what is not chosen may not be a number.
    return torch.where(excess <= 1e-9 * squares, torch.ones_like(shrunk), shrunk)
