"""A placed view on the device that keeps its answers, for fitting many models to the same views."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, TypeAlias

import torch

from ...results import Neighbors
from ..handles import DeviceEdges
from .wrappers import DevicePoints, DeviceQueries, Order

Tensor: TypeAlias = torch.Tensor

_EDGE_SETS = 4  # the answers for this number of edge sets are kept


class CachedPoints:
    """Points whose answers are computed once.

    Parameters
    ----------
    points : DevicePoints
        The points that compute them.
    """

    kind: Literal["distance"] = "distance"

    def __init__(self, points: DevicePoints) -> None:
        self.points, self.device, self.ranks_ties = points, points.device, points.ranks_ties
        self._found: dict[str, Neighbors] = {}
        self._measured: list[tuple[DeviceEdges, Tensor]] = []  # the latest last
        self._mean: float | None = None
        self._is_constant: bool | None = None
        self._reordered: dict[bytes, CachedPoints] = {}

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return self.points.n_samples

    def nearest(self, k: int, search: str = "exact") -> Neighbors:
        """Return each sample's k nearest others; from an earlier list if that is long enough."""
        found = self._found.get(search)
        if found is None or found.lists.shape[1] < k:
            found = self._found[search] = self.points.nearest(k, search)
        return replace(found, lists=found.lists[:, :k].clone())

    def values(self, i: Tensor, j: Tensor) -> Tensor:
        """Return what is measured between samples, pair by pair; this is not kept."""
        return self.points.values(i, j)

    def kept(self, edges: DeviceEdges) -> Tensor | None:
        """Return what has been measured on the edges; None if nothing has."""
        for place, (known, values) in enumerate(self._measured):
            if _are_same(known, edges):
                self._measured.append(self._measured.pop(place))
                return values.clone()
        return None

    def keep(self, edges: DeviceEdges, values: Tensor) -> None:
        """Keep what was measured on the edges, for the latest few sets of edges."""
        own = DeviceEdges(edges.indptr, edges.indices)  # without what depends on them
        self._measured = [*self._measured, (own, values.clone())][-_EDGE_SETS:]

    def mean_over_pairs(self) -> float:
        """Return the mean over all pairs of samples."""
        if self._mean is None:
            self._mean = self.points.mean_over_pairs()
        return self._mean

    def is_constant(self) -> bool:
        """Say whether all samples look the same."""
        if self._is_constant is None:
            self._is_constant = self.points.is_constant()
        return self._is_constant

    def reordered(self, order: Order) -> DevicePoints:
        """Return the points of the same samples in another order; they keep their answers, too."""
        key = order.tobytes()
        if key not in self._reordered:
            self._reordered = {key: CachedPoints(self.points.reordered(order))}
        return self._reordered[key]

    def query(self, rows: Any) -> DeviceQueries:
        """Put new samples next to these; answers for them are not kept."""
        return self.points.query(rows)


def _are_same(one: DeviceEdges, other: DeviceEdges) -> bool:
    """Say whether two sets of edges are the same; a set is never changed."""
    return all(
        a is b or (a.shape == b.shape and torch.equal(a, b))
        for a, b in ((one.indptr, other.indptr), (one.indices, other.indices))
    )
