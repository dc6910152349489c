"""The unified graph: the strongest edges of each sample, in both directions, and means of graphs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import torch

from ..results import Vector
from .device import Device
from .handles import DeviceEdges, DeviceGraph
from .segments import segment_sums

Tensor: TypeAlias = torch.Tensor

_BYTES_PER_EDGE = 64.0  # of temporary values while edges are ranked
_NORMAL = 1 << 52  # from here on the bits of a number are those of one with all its digits
_LOST_BITS = 12  # of 53: the others are about twelve digits


def mark_strongest(edges: DeviceEdges, values: Tensor, k: int) -> Tensor:
    """Mark the k largest values of each row; of equal ones (to twelve digits) those with the lower column.

    Examples
    --------
    >>> edges = DeviceEdges(torch.tensor([0, 3, 4]), torch.tensor([1, 2, 3, 0], dtype=torch.int32))
    >>> mark_strongest(edges, torch.tensor([0.5, 2.0, 0.5, 0.0]), 2)
    tensor([ True,  True, False,  True])
    """
    kept = torch.empty(edges.n_edges, dtype=torch.bool, device=values.device)
    for start, stop in _whole_rows(edges):
        rows = edges.rows[start:stop]
        # First by value, then by row, without changing the order within a row.
        order = torch.sort(_leading_digits(values[start:stop]), descending=True, stable=True).indices
        order = order[torch.sort(rows[order], stable=True).indices]
        rank = torch.arange(start, stop, device=values.device) - edges.indptr[rows]
        kept[start:stop][order] = rank < k
    return kept


def keep_largest(
    edges: DeviceEdges, values: Tensor, k: int, shape: tuple[int, int] | None = None
) -> DeviceGraph:
    """See `Engine.keep_largest`."""
    if values.shape != edges.indices.shape:
        raise ValueError(f"There are {values.numel():,} values for {edges.n_edges:,} edges.")
    shape = (edges.n_samples, edges.n_samples) if shape is None else shape
    return _selected(
        DeviceGraph(edges.indptr, edges.indices, values, shape), mark_strongest(edges, values, k)
    )


def symmetrize(edges: DeviceEdges, values: Tensor) -> DeviceGraph:
    """See `Engine.symmetrize`."""
    return _symmetric(DeviceGraph(edges.indptr, edges.indices, values, (edges.n_samples, edges.n_samples)))


def sparsify(edges: DeviceEdges, values: Tensor, k: int) -> DeviceGraph:
    """See `Engine.sparsify`."""
    return _symmetric(keep_largest(edges, values, k))


def mix(graphs: Sequence[DeviceGraph], shares: Vector) -> DeviceGraph:
    """See `Engine.mix`; symmetric to the last bit."""
    total: DeviceGraph | None = None
    for graph, share in zip(graphs, shares.tolist(), strict=True):
        roots = inverse_roots(segment_sums(graph.data.double(), graph.indptr))
        # The product of the roots first: it is the same number in both directions.
        values = share * graph.data.double() * (roots[graph.rows] * roots[graph.columns])
        scaled = DeviceGraph(graph.indptr, graph.indices, values, graph.shape)
        if total is None:
            total = scaled
        else:
            total = _sum((_places(total), _places(scaled)), (total.data, scaled.data), graph.shape)
    assert total is not None
    return total


def inverse_roots(degrees: Tensor) -> Tensor:
    """Return 1 / sqrt(d) of degrees; 0 where they are 0.

    Examples
    --------
    >>> inverse_roots(torch.tensor([4.0, 0.0]))
    tensor([0.5000, 0.0000])
    """
    return torch.where(degrees > 0, 1 / torch.sqrt(degrees), 0.0)


def without_zeros(graph: DeviceGraph) -> DeviceGraph:
    """Return a graph without stored zeros."""
    nonzero = graph.data != 0
    return graph if bool(nonzero.all()) else _selected(graph, nonzero)


def is_symmetric(graph: DeviceGraph) -> bool:
    """Say whether a square graph is symmetric to the last bit.

    Examples
    --------
    >>> indptr, indices = torch.tensor([0, 1, 2]), torch.tensor([1, 0], dtype=torch.int32)
    >>> is_symmetric(DeviceGraph(indptr, indices, torch.tensor([3.0, 3.0]), (2, 2)))
    True
    >>> is_symmetric(DeviceGraph(indptr, indices, torch.tensor([3.0, 2.0]), (2, 2)))
    False
    """
    # Sorted by column the entries are the transpose, row by row.
    columns, order = torch.sort(graph.indices, stable=True)
    rows = graph.rows
    return (
        torch.equal(columns.long(), rows)
        and torch.equal(rows[order], graph.columns)
        and torch.equal(graph.data[order], graph.data)
    )


def _whole_rows(edges: DeviceEdges) -> Iterator[tuple[int, int]]:
    """Yield ranges of edges, each of whole rows, whose temporary values fit into a part of the memory."""
    device = Device(edges.indptr.device)
    bounds = [stop for _, stop in device.blocks(edges.n_edges, _BYTES_PER_EDGE)]
    if len(bounds) > 1:
        wanted = torch.tensor(bounds, device=device.where)
        bounds = edges.indptr[torch.searchsorted(edges.indptr, wanted)].tolist()
    start = 0
    for stop in bounds:
        if stop > start:
            yield start, stop
        start = stop


def _leading_digits(values: Tensor) -> Tensor:
    """Return integers in the order of the values, the same for values that agree to twelve digits."""
    values = values.double()
    # The bits of a number that is not negative, read as an integer, are in the order of the numbers.
    bits = values.abs().view(torch.int64)
    rounded = ((bits + (1 << (_LOST_BITS - 1))) >> _LOST_BITS) + 2 * _NORMAL
    keys = torch.where(bits < _NORMAL, bits, rounded)
    return torch.where(values < 0, -keys, keys)


def _selected(graph: DeviceGraph, kept: Tensor) -> DeviceGraph:
    """Return the graph of the marked entries."""
    places = torch.nonzero(kept).ravel()
    indptr = torch.searchsorted(places, graph.indptr)
    return DeviceGraph(indptr, graph.indices[places], graph.data[places], graph.shape)


def _symmetric(graph: DeviceGraph) -> DeviceGraph:
    """Return (S + S') / 2 without stored zeros."""
    mirrored = graph.columns * graph.shape[1] + graph.rows
    return _sum((_places(graph), mirrored), (graph.data, graph.data), graph.shape, 0.5)


def _places(graph: DeviceGraph) -> Tensor:
    """Return a number for the place of each entry, ascending."""
    return graph.rows * graph.shape[1] + graph.columns


def _sum(
    places: tuple[Tensor, Tensor],
    data: tuple[Tensor, Tensor],
    shape: tuple[int, int],
    share: float = 1.0,
) -> DeviceGraph:
    """Return a share of the sum of two matrices without stored zeros, given their entries in any order.

    Each has one entry at a place at most: of two numbers the sum is the same in any order.
    """
    keys, order = torch.sort(torch.cat(places), stable=True)
    values = torch.cat(data)[order]
    again = keys[1:] == keys[:-1]
    sums = values.clone()
    sums[:-1] += torch.where(again, values[1:], 0)
    sums *= share
    kept = sums != 0
    kept[1:] &= ~again
    kept = torch.nonzero(kept).ravel()
    keys, sums = keys[kept], sums[kept]
    begins = torch.arange(shape[0] + 1, device=keys.device) * shape[1]
    return DeviceGraph(torch.searchsorted(keys, begins), (keys % shape[1]).int(), sums, shape)
