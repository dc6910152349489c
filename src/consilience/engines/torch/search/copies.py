"""Rows with many copies: the approximate search uses one of each, and lists get all.

A region of copies cannot be divided, and all rows in it would be compared with each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch

from ..device import Device

Tensor: TypeAlias = torch.Tensor

_MANY = 64  # copies of a row, in the mean over samples, from which on the search for them saves time


@dataclass(frozen=True, eq=False)
class Copies:
    """Samples in groups of copies.

    Attributes
    ----------
    members : tensor of int64 of shape (n,)
        The samples, group by group, in ascending order within each.
    starts : tensor of int64 of shape (number of groups + 1,)
        Where each group begins among them.
    """

    members: Tensor
    starts: Tensor

    @property
    def first(self) -> Tensor:
        """The first sample of each group."""
        return self.members[self.starts[:-1]]

    @classmethod
    def among(cls, rows: Tensor, device: Device) -> Copies | None:
        """Group samples by their rows; None if hardly any are the same.

        Examples
        --------
        >>> rows = torch.tensor([0.5, 1.5]).repeat_interleave(100)[:, None]
        >>> sorted(Copies.among(rows, Device.of("cpu")).first.tolist())
        [0, 100]
        >>> Copies.among(torch.arange(200.0)[:, None], Device.of("cpu")) is None
        True
        """
        marks, members = torch.sort(_marks(rows, device), stable=True)
        alike = torch.nonzero(marks[1:] == marks[:-1]).squeeze(1) + 1
        begins = torch.ones(len(rows), dtype=torch.bool, device=rows.device)
        # Rows may have the same mark by chance.
        for a, b in device.blocks(len(alike), 3 * rows.element_size() * rows.shape[1]):
            some = alike[a:b]
            begins[some] = (rows[members[some]] != rows[members[some - 1]]).any(dim=1)
        starts = torch.nonzero(begins).squeeze(1)
        starts = torch.cat([starts, starts.new_full((1,), len(rows))])
        if int(torch.diff(starts).square().sum()) < _MANY * len(rows):
            return None
        return cls(members, starts)

    def spread(self, lists: Tensor, squares: Tensor, k: int, device: Device) -> tuple[Tensor, Tensor]:
        """Return the lists of all samples and their squares, from those of the groups (g, at most k)."""
        sizes = torch.diff(self.starts)
        n, n_groups = len(self.members), len(sizes)
        sources = torch.cat([device.arange(n_groups)[:, None], lists.long()], dim=1)
        far = torch.cat([squares.new_zeros((n_groups, 1)), squares], dim=1)
        ends = torch.cumsum(sizes[sources], dim=1)
        # One more than asked for: the sample itself is left out.
        slots = device.arange(k + 1).expand(n_groups, -1).contiguous()
        at = torch.searchsorted(ends, slots, right=True)
        source = sources.gather(1, at)
        near = self.members[self.starts[source] + slots - ends.gather(1, at) + sizes[source]]
        far = far.gather(1, at)
        groups = torch.empty_like(self.members)
        groups[self.members] = torch.repeat_interleave(device.arange(n_groups), sizes, output_size=n)
        found = torch.empty((n, k), dtype=torch.int32, device=lists.device)
        apart = squares.new_empty((n, k))
        for a, b in device.blocks(n, 64 * (k + 1)):
            some = near[groups[a:b]]
            own = some == device.arange(b - a)[:, None] + a
            order = torch.sort(own.int(), dim=1, stable=True).indices[:, :k]
            found[a:b], apart[a:b] = some.gather(1, order), far[groups[a:b]].gather(1, order)
        return found, apart


def _marks(rows: Tensor, device: Device) -> Tensor:
    """Return a number for each row that is the same for copies, and hardly ever for others."""
    rng = np.random.default_rng(0)
    # Integers wrap around: sums do not depend on their order.
    factors = device.put(rng.integers(-(1 << 62), 1 << 62, rows.shape[1]) * 2 + 1)
    marks = torch.empty(len(rows), dtype=torch.int64, device=rows.device)
    for a, b in device.blocks(len(rows), 40 * rows.shape[1]):
        bits = (rows[a:b] + 0.0).double().view(torch.int64)  # 0.0 and -0.0 are the same
        # Many numbers end in zeros, which products would keep.
        bits = (bits ^ (bits >> 32)) * factors
        marks[a:b] = (bits ^ (bits >> 29)).mul_(factors).sum(dim=1)
    return marks
