"""Placed views on the device that have seen some samples only, and parts of views.

The same as `engines/points`, on tensors and pairs of samples.
"""

from __future__ import annotations

from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from ...protocol import enough_for_subset
from ...results import Neighbors, SearchReport
from ..device import Device

Tensor: TypeAlias = torch.Tensor
Order = NDArray[np.intp]


class DevicePoints(Protocol):
    """A placed view on the device: `points.protocol.Points` on tensors, and on pairs instead of edges."""

    kind: Literal["distance"]
    ranks_ties: bool
    device: Device

    @property
    def n_samples(self) -> int: ...

    def nearest(self, k: int, search: str = "exact") -> Neighbors: ...

    def values(self, i: Tensor, j: Tensor) -> Tensor: ...

    def mean_over_pairs(self) -> float: ...

    def is_constant(self) -> bool: ...

    def reordered(self, order: Order) -> DevicePoints: ...

    def query(self, rows: Any) -> DeviceQueries: ...


class DeviceQueries(Protocol):
    """New samples next to a placed view, on tensors and pairs."""

    kind: Literal["distance"]
    device: Device

    @property
    def n_queries(self) -> int: ...

    @property
    def n_samples(self) -> int: ...

    def nearest(self, k: int) -> Tensor: ...

    def values(self, i: Tensor, j: Tensor) -> Tensor: ...


class MaskedPoints:
    """Points of the samples that a view has seen, among all samples; the others have no neighbours.

    Parameters
    ----------
    points : DevicePoints
        The samples seen, in order.
    seen : ndarray of bool of shape (n,)
        Which of all samples those are.
    """

    kind: Literal["distance"] = "distance"
    ranks_ties = False

    def __init__(self, points: DevicePoints, seen: NDArray[np.bool_]) -> None:
        self.points, self.seen, self.device = points, seen, points.device
        self.members = self.device.put(np.flatnonzero(seen), torch.int64)
        self.is_seen = self.device.put(seen)
        self.numbers = torch.cumsum(self.is_seen, 0) - 1  # of each sample among those seen

    @property
    def n_samples(self) -> int:
        """Number of all samples."""
        return len(self.seen)

    def nearest(self, k: int, search: str = "exact") -> Neighbors:
        """Return each sample's k nearest others; its own number where there are fewer."""
        own = self.device.arange(self.n_samples, torch.int32)
        lists = own[:, None].repeat(1, k)
        k_here = min(k, len(self.members) - 1)
        if k_here <= 0:
            return Neighbors(lists, SearchReport())
        found = self.points.nearest(k_here, search)
        lists[self.members, :k_here] = self.members.int()[found.lists.long()]
        return Neighbors(lists, found.report)

    def values(self, i: Tensor, j: Tensor) -> Tensor:
        """Return what is measured between samples, 0 where one was not seen."""
        return _where(self.is_seen[i] & self.is_seen[j], self.points, self.numbers[i], self.numbers[j])

    def mean_over_pairs(self) -> float:
        """Return the mean over all pairs of samples seen."""
        return self.points.mean_over_pairs()

    def is_constant(self) -> bool:
        """Say whether all samples seen look the same."""
        return self.points.is_constant()

    def reordered(self, order: Order) -> MaskedPoints:
        """Return the points of the same samples in another order."""
        numbers = np.cumsum(self.seen) - 1
        inner = self.points.reordered(numbers[order[self.seen[order]]])
        return MaskedPoints(inner, self.seen[order])

    def query(self, rows: Any) -> MaskedQueries:
        """Put new samples, all of which the view has seen, next to these."""
        return MaskedQueries(self.points.query(rows), self)


class MaskedQueries:
    """New samples next to those that a view has seen."""

    kind: Literal["distance"] = "distance"

    def __init__(self, queries: DeviceQueries, among: MaskedPoints) -> None:
        self.queries, self.among, self.device = queries, among, among.device

    @property
    def n_queries(self) -> int:
        """Number of new samples."""
        return self.queries.n_queries

    @property
    def n_samples(self) -> int:
        """Number of all placed samples."""
        return self.among.n_samples

    def nearest(self, k: int) -> Tensor:
        """Return the k nearest samples that were seen; -1 where there are fewer."""
        members = self.among.members.int()
        if not len(members):
            return torch.full((self.n_queries, k), -1, dtype=torch.int32, device=self.device.where)
        found = self.queries.nearest(k)
        return torch.where(found < 0, -1, members[found.long()])

    def values(self, i: Tensor, j: Tensor) -> Tensor:
        """Return what is measured between samples, 0 where the placed one was not seen."""
        return _where(self.among.is_seen[j], self.queries, i, self.among.numbers[j])


def _where(judged: Tensor, points: DevicePoints | DeviceQueries, i: Tensor, j: Tensor) -> Tensor:
    """Return what is measured between the pairs that are judged, 0 between others."""
    places = judged.nonzero()[:, 0]
    out = points.device.zeros(len(judged))
    out[places] = points.values(i[places], j[places])
    return out


class SubsetPoints:
    """Points of some of the samples, which use the points of all.

    Neighbours are the same as a search among these samples would find: the nearest of all samples, without
    those that are not among them.

    Parameters
    ----------
    points : DevicePoints
        The view on all samples; it should keep its answers.
    rows : ndarray of int
        The samples, ascending.
    n_samples : int
        Number of all samples.
    """

    kind: Literal["distance"] = "distance"

    def __init__(self, points: DevicePoints, rows: Order, n_samples: int) -> None:
        self.points, self.rows, self.n_all, self.device = points, rows, n_samples, points.device
        self.ranks_ties = points.ranks_ties
        self.members = self.device.put(rows, torch.int64)

    @property
    def n_samples(self) -> int:
        """Number of these samples."""
        return len(self.rows)

    def places(self) -> Tensor:
        """Return the place of each sample among these, (n + 1,); -1 for the others, and at the end."""
        places = torch.full((self.n_all + 1,), -1, dtype=torch.int32, device=self.device.where)
        places[self.members] = self.device.arange(len(self.rows), torch.int32)
        return places

    def nearest(self, k: int, search: str = "exact") -> Neighbors:
        """Return each sample's k nearest others; its own number where there are fewer."""
        places, own = self.places(), self.device.arange(len(self.rows), torch.int32)[:, None]
        most = self.n_all - 1
        width = min(most, enough_for_subset(k, len(self.rows) / self.n_all))
        while True:
            asked = self.points.nearest(width, search)
            lists = asked.lists[self.members].long()
            ended = lists[:, -1] == self.members  # the view has no more neighbours to name
            found = places[lists]
            usable = (found >= 0) & (found != own)
            lacking = (usable.sum(dim=1) < k) & ~ended
            if width >= most or not bool(lacking.any()):
                break
            width = min(most, 2 * width)
        return Neighbors(_first(torch.where(usable, found, own), usable, k, own), asked.report)

    def values(self, i: Tensor, j: Tensor) -> Tensor:
        """Return what is measured between these samples, pair by pair."""
        return self.points.values(self.members[i], self.members[j])

    def mean_over_pairs(self) -> float:
        """Return the mean over all pairs of all samples."""
        return self.points.mean_over_pairs()

    def is_constant(self) -> bool:
        """Say whether all samples look the same, those that are not among these included."""
        return self.points.is_constant()

    def reordered(self, order: Order) -> SubsetPoints:
        """Return the points of the same samples in another order."""
        others = np.setdiff1d(np.arange(self.n_all), self.rows, assume_unique=True)
        points = self.points.reordered(np.concatenate([self.rows[order], others]))
        return SubsetPoints(points, np.arange(len(order)), self.n_all)

    def query(self, rows: Any) -> SubsetQueries:
        """Put new samples, as the points of all take them, next to these."""
        return SubsetQueries(self.points.query(rows), self)


class SubsetQueries:
    """New samples next to some of the samples of a placed view."""

    kind: Literal["distance"] = "distance"

    def __init__(self, queries: DeviceQueries, among: SubsetPoints) -> None:
        self.queries, self.among, self.device = queries, among, among.device

    @property
    def n_queries(self) -> int:
        """Number of new samples."""
        return self.queries.n_queries

    @property
    def n_samples(self) -> int:
        """Number of these placed samples."""
        return self.among.n_samples

    def nearest(self, k: int) -> Tensor:
        """Return the k nearest of these samples for each new one; -1 where there are fewer."""
        places, n = self.among.places(), self.among.n_all
        width = min(n, enough_for_subset(k, self.n_samples / n))
        while True:
            asked = self.queries.nearest(width).long()
            found = places[asked]  # the last place is that of nobody
            lacking = ((found >= 0).sum(dim=1) < k) & (asked[:, -1] >= 0)
            if width >= n or not bool(lacking.any()):
                break
            width = min(n, 2 * width)
        nobody = torch.full((len(found), 1), -1, dtype=torch.int32, device=self.device.where)
        return _first(found, found >= 0, k, nobody)

    def values(self, i: Tensor, j: Tensor) -> Tensor:
        """Return what is measured between new samples and these, pair by pair."""
        return self.queries.values(i, self.among.members[j])


def _first(lists: Tensor, usable: Tensor, k: int, fill: Tensor) -> Tensor:
    """Return the first k usable members of lists, in order, filled up."""
    # As numbers: older versions of PyTorch do not sort marks on a GPU.
    order = torch.sort((~usable).byte(), dim=1, stable=True).indices[:, :k]
    found = lists.gather(1, order)
    return torch.cat([found, fill.repeat(1, k - found.shape[1])], dim=1)
