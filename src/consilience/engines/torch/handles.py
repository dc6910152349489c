"""What lies on the device: edges and graphs in compressed rows; all other handles are tensors.

==================  =====================================================================================
handle              tensor
==================  =====================================================================================
Lists               (n, k) int32
Trust               (n, v) float64
Edges               `DeviceEdges`
Judged              (v, n_edges) bool
Values, Marks       (n_edges,)
Weights             (v, n_edges)
Graph               `DeviceGraph`
Vectors             (n, m) float64
==================  =====================================================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import torch
from scipy import sparse

from ...graphs import EdgeSet
from .device import Device
from .segments import segment_sums

Tensor: TypeAlias = torch.Tensor


@dataclass(frozen=True, eq=False)
class DeviceEdges:
    """An `EdgeSet` on a device.

    Attributes
    ----------
    indptr : tensor of shape (n_samples + 1,), int64
        Where each row begins.
    indices : tensor of shape (n_edges,), int32
        The other end of each edge, ascending in each row.
    seen : tensor of bool of shape (v, n_edges), or None
        Which view judges which edge; None: all views judge all edges.
    """

    indptr: Tensor
    indices: Tensor
    seen: Tensor | None = None

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return len(self.indptr) - 1

    @property
    def n_edges(self) -> int:
        """Number of directed edges."""
        return len(self.indices)

    @cached_property
    def counts(self) -> Tensor:
        """How many edges each sample has, int64."""
        return torch.diff(self.indptr)

    @cached_property
    def rows(self) -> Tensor:
        """The end that each edge starts from, (n_edges,) int64."""
        return torch.repeat_interleave(self.counts, output_size=self.n_edges)

    @property
    def ends(self) -> Tensor:
        """The end that each edge leads to, (n_edges,) int64: as tensors are indexed."""
        return self.indices.long()

    def seen_by(self, view: int) -> Tensor | None:
        """Return which edges a view judges; None: all."""
        return None if self.seen is None else self.seen[view]

    @classmethod
    def put(cls, edges: EdgeSet, device: Device) -> DeviceEdges:
        """Return the edges on a device."""
        seen = None if edges.seen is None else device.put(edges.seen)
        return cls(device.put(edges.indptr, torch.int64), device.put(edges.indices, torch.int32), seen)

    def get(self) -> EdgeSet:
        """Return the edges in the memory of this process."""
        seen = None if self.seen is None else Device.get(self.seen)
        return EdgeSet(Device.get(self.indptr), Device.get(self.indices), seen)


@dataclass(frozen=True, eq=False)
class DeviceGraph:
    """A sparse matrix in compressed rows on a device, each row ascending and without doubles.

    Attributes
    ----------
    indptr : tensor of shape (n + 1,), int64
        Where each row begins.
    indices : tensor of int32
        The columns.
    data : tensor
        The entries.
    shape : tuple of int
        Its shape.
    """

    indptr: Tensor
    indices: Tensor
    data: Tensor
    shape: tuple[int, int]

    @cached_property
    def rows(self) -> Tensor:
        """The row of each entry, int64."""
        return torch.repeat_interleave(torch.diff(self.indptr), output_size=len(self.indices))

    @property
    def columns(self) -> Tensor:
        """The column of each entry, int64: as tensors are indexed."""
        return self.indices.long()

    @classmethod
    def put(cls, graph: Any, device: Device) -> DeviceGraph:
        """Return a SciPy matrix on a device."""
        graph = sparse.csr_array(graph)
        if not graph.has_canonical_format:
            graph = graph.copy()
            graph.sum_duplicates()
        n, m = graph.shape
        parts = device.put(graph.indptr, torch.int64), device.put(graph.indices, torch.int32)
        return cls(*parts, device.put(graph.data), (int(n), int(m)))

    def get(self) -> sparse.csr_array:
        """Return the matrix in the memory of this process."""
        parts = tuple(map(Device.get, (self.data, self.indices, self.indptr)))
        # Indices of one type, as SciPy makes them: int32 where that is enough.
        if len(self.indices) < np.iinfo(np.int32).max:
            parts = parts[0], parts[1], parts[2].astype(np.int32)
        return sparse.csr_array(parts, shape=self.shape)


def from_pairs(rows: Tensor, columns: Tensor, data: Tensor, shape: tuple[int, int]) -> DeviceGraph:
    """Return the matrix with these entries, in any order; entries at the same place are added up."""
    keys = rows.long() * shape[1] + columns.long()
    keys, order = torch.sort(keys, stable=True)
    kept, counts = torch.unique_consecutive(keys, return_counts=True)
    values = data[order]
    if len(kept) < len(keys):
        values = segment_sums(values, torch.cat([counts.new_zeros(1), torch.cumsum(counts, 0)]))
    return DeviceGraph(indptr_of(kept // shape[1], shape[0]), (kept % shape[1]).int(), values, shape)


def indptr_of(rows: Tensor, n: int) -> Tensor:
    """Return where each row begins, given the row of each entry, in any order."""
    counts = torch.bincount(rows, minlength=n)
    return torch.cat([counts.new_zeros(1), torch.cumsum(counts, 0)])
