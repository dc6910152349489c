"""The regions of the approximate search: their centres, and how many of them a search needs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch

from ..device import Device
from ..segments import segment_sums

Tensor: TypeAlias = torch.Tensor

FEWEST = 4  # regions that every row searches, its own first
WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0)  # how much the distance of the nearest centre may count in the reach
_ITERATIONS = 6  # of k-means, on a sample, for the centres
_PER_REGION = 40  # rows per region in that sample


@dataclass(frozen=True)
class Effort:
    """Which regions to search, and the result of that on a sample.

    Attributes
    ----------
    weight, reach : float
        A row searches the regions whose centre has a squared distance of at most
        ``reach + weight * (that of the nearest)``, and the `FEWEST` nearest.
    recall : float
        The share of the neighbours of the sample that would be found.
    regions, pairs : float
        How many regions each row would search, and how many others it would be compared with, on average.
    """

    weight: float
    reach: float
    recall: float
    regions: float
    pairs: float


@dataclass(frozen=True, eq=False)
class Regions:
    """Centres, and what is known about them before any row is in its region.

    Attributes
    ----------
    centers : tensor of float64 of shape (m, d)
        The centres of rows that are `placed`.
    middle : tensor of float64 of shape (d,)
        What is subtracted from rows.
    unit : float
        What rows are then multiplied by, a power of 2: neither squares nor products overflow.
    sizes : tensor of float64 of shape (m,)
        How many rows each is expected to have.
    """

    centers: Tensor
    middle: Tensor
    unit: float
    sizes: Tensor

    @classmethod
    def among(cls, rows: Tensor, n_regions: int, rng: np.random.Generator, device: Device) -> Regions:
        """Find centres by a few rounds of k-means on a sample of the rows."""
        n = len(rows)
        drawn = np.sort(rng.choice(n, min(n, _PER_REGION * n_regions), replace=False))
        sample = rows[device.put(drawn)].double()
        # A median, which a few far rows do not change.
        middle = torch.sort(sample, dim=0).values[len(sample) // 2]
        sample -= middle
        unit = _unit(sample)
        sample *= unit

        def some() -> Tensor:
            return sample[device.put(rng.choice(len(sample), n_regions, replace=False))]

        centers = some()
        for _ in range(_ITERATIONS):
            labels = nearest_centers(sample, centers, device)
            sizes = torch.bincount(labels, minlength=n_regions)
            starts = torch.cat([sizes.new_zeros(1), torch.cumsum(sizes, 0)])
            sums = segment_sums(sample[torch.sort(labels, stable=True).indices], starts)
            # A centre that is not the nearest of any row starts again elsewhere.
            centers = torch.where((sizes > 0)[:, None], sums / sizes.clamp(min=1)[:, None], some())
        labels = nearest_centers(sample, centers, device)
        expected = torch.bincount(labels, minlength=n_regions).double() * (n / len(sample))
        return cls(centers, middle, unit, expected)

    def __len__(self) -> int:
        return len(self.centers)

    def placed(self, rows: Tensor) -> Tensor:
        """Return some rows in double precision, relative to the middle."""
        return (rows.double() - self.middle) * self.unit

    def distances(self, rows: Tensor) -> Tensor:
        """Return the squared distances (b, m) of some rows to all centres."""
        return squares_between(self.placed(rows), self.centers)

    def homes(self, rows: Tensor, device: Device) -> Tensor:
        """Return the region of each row, that of the nearest centre."""
        homes = torch.empty(len(rows), dtype=torch.int64, device=rows.device)
        for a, b in device.blocks(len(rows), 8 * (2 * len(self) + 3 * rows.shape[1])):
            homes[a:b] = self.distances(rows[a:b]).argmin(dim=1)
        return homes

    def least_effort(
        self, rows: Tensor, queries: Tensor, nearest: Tensor, recall: float, device: Device
    ) -> Effort:
        """Return the least effort by which the true neighbours (b, k) of some rows would be found."""
        ends, place = torch.unique(nearest.long(), return_inverse=True)
        apart = self.distances(rows[queries])
        target = self.homes(rows[ends], device)[place]
        least = apart.min(dim=1, keepdim=True).values
        always = torch.zeros_like(apart, dtype=torch.bool)
        always.scatter_(1, torch.topk(apart, min(FEWEST, len(self)), largest=False).indices, True)
        efforts = []
        for weight in WEIGHTS:
            ahead = (apart - weight * least).masked_fill_(always, -torch.inf)
            needed = torch.sort(ahead.gather(1, target).flatten()).values
            # Of the sample, at least this share: the quantile is rounded up.
            last = min(len(needed) - 1, math.ceil(recall * (len(needed) - 1)))
            reach = float(needed[last])
            chosen = ahead <= reach
            efforts.append(
                Effort(
                    weight,
                    reach,
                    float((needed <= reach).double().mean()),
                    float(chosen.sum(dim=1).double().mean()),
                    float((chosen.double() @ self.sizes).mean()),
                )
            )
        return min(efforts, key=lambda effort: effort.pairs)

    def chosen(self, rows: Tensor, homes: Tensor, effort: Effort) -> Tensor:
        """Return which regions some rows search, (b, m) of bool, apart from their own."""
        apart = self.distances(rows)
        ahead = apart - effort.weight * apart.min(dim=1, keepdim=True).values
        near = torch.topk(apart, min(FEWEST, len(self)), largest=False, sorted=False).indices
        return (ahead <= effort.reach).scatter_(1, near, True).scatter_(1, homes[:, None], False)


def nearest_centers(rows: Tensor, centers: Tensor, device: Device) -> Tensor:
    """Return the number of the nearest centre of each row; of equally near ones the first."""
    halves = centers.square().sum(dim=1) / 2
    labels = torch.empty(len(rows), dtype=torch.int64, device=rows.device)
    for a, b in device.blocks(len(rows), 2 * centers.element_size() * len(centers)):
        labels[a:b] = torch.addmm(halves, rows[a:b], centers.T, alpha=-1).argmin(dim=1)
    return labels


def squares_between(rows: Tensor, others: Tensor) -> Tensor:
    """Return the squared distances of all rows to all others, by their products."""
    apart = torch.addmm(others.square().sum(dim=1), rows, others.T, alpha=-2)
    return apart.add_(rows.square().sum(dim=1, keepdim=True)).clamp_(min=0)


def _unit(deviations: Tensor) -> float:
    """Return a power of 2 that brings the size of most rows near 1."""
    largest = deviations.abs().amax(dim=1)
    largest = torch.sort(largest[largest > 0]).values
    return 2.0 ** -math.frexp(float(largest[len(largest) // 2]))[1] if len(largest) else 1.0
