"""Placed views that stay in the memory of this process: matrices between samples, graphs, other metrics.

The engine numba compares them; what it answers goes to the device.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from ....graphs import EdgeSet
from ....spaces import Space
from ... import get_engine
from ...protocol import Engine, Mask, Search
from ...results import Neighbors
from ..device import Device
from ..handles import DeviceEdges

Tensor: TypeAlias = torch.Tensor


def host_engine() -> Engine:
    """Return the engine that compares what stays in the memory of this process."""
    return get_engine("numba")


class HostPoints:
    """Points of the engine numba, whose answers are on a device.

    Parameters
    ----------
    inner : points
        The points, made by that engine.
    device : Device
        Where answers go.
    """

    def __init__(self, inner: Any, device: Device) -> None:
        self.inner, self.device = inner, device

    @classmethod
    def place(cls, space: Space, device: Device) -> HostPoints:
        """Place a view; see `Engine.place`."""
        return cls(host_engine().place(space.in_memory()), device)

    @property
    def kind(self) -> str:
        """What is measured."""
        return str(self.inner.kind)

    @property
    def ranks_ties(self) -> bool:
        """Whether equal values are ranked by what their ends have in common."""
        return bool(self.inner.ranks_ties)

    def nearest(self, k: int, search: Search = "exact") -> Neighbors:
        """Return each sample's k nearest others."""
        found = host_engine().nearest(self.inner, k, search)
        return replace(found, lists=self.device.put(found.lists, torch.int32))

    def measure(self, edges: DeviceEdges, known: Any = None) -> Tensor:
        """Return what is measured on the edges."""
        return self.device.put(host_engine().measure(self.inner, _fetched(edges), known), torch.float64)

    def mean_over_pairs(self) -> float:
        """Return the mean over all pairs."""
        return host_engine().mean_over_pairs(self.inner)

    def is_constant(self) -> bool:
        """Say whether all samples look the same."""
        return host_engine().is_constant(self.inner)

    def subset(self, rows: NDArray[np.intp], n_samples: int) -> HostPoints:
        """Return points of some of the samples."""
        return HostPoints(host_engine().subset(self.inner, rows, n_samples), self.device)

    def cached(self) -> HostPoints:
        """Return points that keep their answers."""
        return HostPoints(host_engine().cached(self.inner), self.device)

    def reordered(self, order: NDArray[np.intp]) -> HostPoints:
        """Return the points of the same samples in another order."""
        return HostPoints(self.inner.reordered(order), self.device)

    def break_ties(self, lists: Tensor, seed: Sequence[int], search: Search) -> Tensor:
        """Return lists that do not depend on the order of the samples."""
        found = host_engine().break_ties(self.inner, Device.get(lists), seed, search)
        return self.device.put(found, torch.int32)

    def query(self, rows: Any) -> HostQueries:
        """Put new samples next to these."""
        return HostQueries(host_engine().query(self.inner, rows), self.device)


class HostQueries:
    """New samples next to `HostPoints`."""

    def __init__(self, inner: Any, device: Device) -> None:
        self.inner, self.device = inner, device

    @property
    def kind(self) -> str:
        """What is measured."""
        return str(self.inner.kind)

    def nearest(self, k: int) -> Tensor:
        """Return the k nearest placed samples for each new one; -1 where there are fewer."""
        return self.device.put(host_engine().nearest_new(self.inner, k), torch.int32)

    def measure_new(self, edges: DeviceEdges, asked: Mask) -> Tensor:
        """Return what is measured on edges from the new samples that are asked."""
        values = host_engine().measure_new(self.inner, _fetched(edges), asked)
        return self.device.put(values, torch.float64)


def _fetched(edges: DeviceEdges) -> EdgeSet:
    """Return edges in arrays that own their memory: SciPy wants to make them writeable."""
    found = edges.get()
    return EdgeSet(found.indptr.copy(), found.indices.copy(), found.seen)
