"""Walks of two steps on the graph of a view's neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from .device import Device
from .handles import DeviceGraph, indptr_of
from .segments import segment_sums

Tensor: TypeAlias = torch.Tensor


@dataclass(frozen=True, eq=False)
class NeighborGraph:
    """The graph of a view's neighbours, made symmetric, as steps of a random walk.

    Attributes
    ----------
    step : DeviceGraph of shape (n, n)
        Probabilities of going from a sample to its neighbours.
    returns : tensor of shape (n,)
        Probability that a walk of two steps returns to its start.
    n_named : tensor of shape (n,)
        How many neighbours vote on each sample.
    """

    step: DeviceGraph
    returns: Tensor
    n_named: Tensor


def neighbor_graph(lists: Tensor, device: Device) -> NeighborGraph:
    """Return the graph of the lists; see `Engine.neighbor_graph`."""
    n, k = lists.shape
    keys, counts = _symmetric_keys(lists, device)
    rows = keys // n
    indptr, columns = indptr_of(rows, n), (keys % n).int()
    values = counts.double()
    degree = segment_sums(values, indptr)  # whole numbers
    inverse = torch.where(degree > 0, 1 / degree, 0.0)
    returns = inverse * segment_sums(values.square().mul_(inverse[columns]), indptr)
    values *= inverse[rows]
    return NeighborGraph(DeviceGraph(indptr, columns, values, (n, n)), returns, degree.clamp(max=2.0 * k))


def votes(graph: NeighborGraph, members: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what neighbours of neighbours say about each sample's cluster; see `Engine.votes`."""
    device = Device(graph.returns.device)
    given = device.put(members, torch.float64)
    # Walks that return to their start are not counted: a sample has no vote on itself.
    ends = _product(graph.step, _product(graph.step, given, device), device)
    ends -= graph.returns[:, None] * given
    total = ends.sum(dim=1, keepdim=True)
    ends.clamp_(min=0.0)
    # As if one more neighbour were drawn from all samples, in addition to the sample's own, mostly 2 k.
    weight = torch.where(total > 1e-9, graph.n_named[:, None], 0.0)
    ends *= weight / total.clamp(min=1e-9)
    ends += given.mean(dim=0) + 1e-12
    ends /= weight + 1
    return device.get(ends)


def _symmetric_keys(lists: Tensor, device: Device) -> tuple[Tensor, Tensor]:
    """Return i * n + j of all edges in both directions, ascending, and how often each is named."""
    n = len(lists)
    own = device.arange(n)[:, None]
    named = lists != own
    starts, ends = own.expand(lists.shape)[named], lists[named].long()
    keys = torch.cat([starts * n + ends, ends * n + starts])
    del starts, ends, named  # the sort needs this memory
    found, counts = torch.unique_consecutive(keys.sort().values, return_counts=True)
    return found, counts


def _product(graph: DeviceGraph, dense: Tensor, device: Device) -> Tensor:
    """Return a sparse matrix times a dense one (n, c)."""
    result = torch.empty((graph.shape[0], dense.shape[1]), dtype=torch.float64, device=device.where)
    for rows, entries in _row_blocks(graph, 16 * dense.shape[1] + 16, device):
        steps = dense.index_select(0, graph.indices[entries])
        steps *= graph.data[entries, None]
        result[rows] = segment_sums(steps, graph.indptr[rows.start : rows.stop + 1] - entries.start)
    return result


def _row_blocks(graph: DeviceGraph, bytes_per_entry: int, device: Device) -> list[tuple[slice, slice]]:
    """Return blocks of rows, and their entries: about as many in each, because a few rows may have most."""
    n = graph.shape[0]
    cuts = [start for start, _ in device.blocks(len(graph.indices), bytes_per_entry)][1:]
    inner = torch.searchsorted(graph.indptr, device.put(np.array(cuts, dtype=np.int64)))
    firsts = torch.unique(torch.cat([inner.new_tensor([0, n]), inner]))
    rows, entries = device.get(torch.stack([firsts, graph.indptr[firsts]])).tolist()
    return [(slice(rows[i], rows[i + 1]), slice(entries[i], entries[i + 1])) for i in range(len(rows) - 1)]
