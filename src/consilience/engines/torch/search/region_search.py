"""The search in regions: which pairs are measured, and how the nearest of them are kept.

All pairs of a region with some of the rows that search it are measured at once, by one product of matrices in
single precision, relative to the centre of the region, so that few digits are enough. The pairs nearer than
the last member of a list wait, and are put into the lists when there are many of them. At the end the lists
are measured exactly.
"""

from __future__ import annotations

import itertools
from typing import Any, TypeAlias

import torch

from ..device import Device
from .exact import first_precision
from .region_table import Effort, Regions, squares_between

Tensor: TypeAlias = torch.Tensor

SPARE = 2  # members of a list beyond those asked for: single precision may err about the last ones
_PAIRS = {"cpu": 1 << 22, "cuda": 1 << 27}  # of rows and regions that are searched together
_WAITING = {"cpu": 1 << 20, "cuda": 1 << 26}  # pairs of rows that wait until lists are improved
_WAITING_BYTES, _PAIR_BYTES = 96, 48  # that each of these takes, temporary values included
_QUERIES = 2048  # rows that are compared with all others at once
_DROPPED_BITS = 12  # of a double: values that agree to about twelve digits count as equal


def search_regions(
    rows: Tensor, k: int, regions: Regions, effort: Effort, device: Device
) -> tuple[Tensor, Tensor]:
    """Return the lists (n, k) that a search with some effort finds, and the squared distances."""
    n = len(rows)
    search = _Search(rows, min(k + SPARE, n - 1), regions, device)
    search.begin()
    pairs = device.at_most(_PAIRS[device.where.type], _PAIR_BYTES, 1 / 16)
    step = max(1, int(pairs / (1 + effort.regions)))
    for start in range(0, n, step):
        search.extend(start, min(n, start + step), effort)
    lists = search.lists
    # Rows that are near hardly any others.
    short = torch.nonzero(lists[:, k - 1] < 0).squeeze(1)
    if len(short):
        lists[short] = exact_lists(rows, short, lists.shape[1], regions, device)
    del search
    return _cut(*measured(rows, device.arange(n), lists, device), k)


def exact_lists(rows: Tensor, queries: Tensor, width: int, regions: Regions, device: Device) -> Tensor:
    """Return the nearest others of some rows, (b, width) of int32, by comparing them with all rows."""
    width = min(width, len(rows) - 1)
    found = torch.empty((len(queries), width), dtype=torch.int32, device=rows.device)
    for begin in range(0, len(queries), _QUERIES):
        some = queries[begin : begin + _QUERIES]
        placed, at = regions.placed(rows[some]), device.arange(len(some))
        best = placed.new_empty((len(some), 0))
        members = some.new_empty((len(some), 0))
        for a, b in device.blocks(len(rows), 8 * (3 * len(some) + 3 * rows.shape[1])):
            apart = squares_between(placed, regions.placed(rows[a:b]))
            own = (some - a).clamp(0, b - a - 1)
            apart[at, own] = torch.where(some - a == own, torch.inf, apart[at, own])
            nearest = torch.topk(apart, min(width + 1, b - a), largest=False)
            best = torch.cat([best, nearest.values], dim=1)
            members = torch.cat([members, nearest.indices + a], dim=1)
            kept = torch.topk(best, min(width, best.shape[1]), largest=False)
            best, members = kept.values, members.gather(1, kept.indices)
        found[begin : begin + _QUERIES] = members
    return found


def measured(rows: Tensor, numbers: Tensor, lists: Tensor, device: Device) -> tuple[Tensor, Tensor]:
    """Return the lists of some rows in the order of exact distances, and the squared distances.

    Members of -1 go to the end.
    """
    found, squares = (
        torch.empty_like(lists),
        torch.empty(lists.shape, dtype=torch.float64, device=rows.device),
    )
    width, d = lists.shape[1], rows.shape[1]
    for a, b in device.blocks(len(lists), width * (24 * d + 64)):
        members = torch.sort(lists[a:b], dim=1).values
        apart = rows[members.clamp(min=0).long()].double()
        apart -= rows[numbers[a:b], None].double()
        far = apart.square_().sum(dim=2).masked_fill_(members < 0, torch.inf)
        rounded = (far.view(torch.int64) + (1 << (_DROPPED_BITS - 1))) >> _DROPPED_BITS
        order = torch.sort(rounded, dim=1, stable=True).indices
        found[a:b], squares[a:b] = members.gather(1, order), far.gather(1, order)
    return found, squares


def _cut(lists: Tensor, squares: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Return the first k columns, without the memory of the others."""
    return lists[:, :k].contiguous(), squares[:, :k].contiguous()


class _Search:
    """The search in progress: rows by region, and the lists so far.

    Parameters
    ----------
    rows : tensor of shape (n, d)
        The rows.
    width : int
        Length of the lists.
    regions : Regions
        The regions.
    device : Device
        The device.
    """

    def __init__(self, rows: Tensor, width: int, regions: Regions, device: Device) -> None:
        n = len(rows)
        self.rows, self.regions, self.device = rows, regions, device
        self.lists = torch.full((n, width), -1, dtype=torch.int32, device=rows.device)
        self._far = torch.full((n, width), torch.inf, dtype=torch.float32, device=rows.device)
        self._homes = regions.homes(rows, device)
        self._members = torch.sort(self._homes, stable=True).indices.int()
        self._sizes: list[int] = torch.bincount(self._homes, minlength=len(regions)).tolist()
        # In the type of the rows: both ends of a pair are relative to the same, so rounding does no harm.
        self._origins = (regions.centers / regions.unit + regions.middle).to(rows.dtype)
        self._precision = first_precision()
        self._firsts = [0, *itertools.accumulate(self._sizes)]  # where each begins among the members
        self._placed, self._squares = self._arranged()
        self._most_waiting = device.at_most(_WAITING[device.where.type], _WAITING_BYTES, 1 / 16)
        self._waiting: list[tuple[Tensor, Tensor, Tensor]] = []
        self._n_waiting = 0

    def _arranged(self) -> tuple[Tensor, Tensor]:
        """Return all rows, region by region, relative to the centre of theirs, and their squared lengths."""
        n, d = self.rows.shape
        placed = torch.empty((n, d), dtype=self._precision, device=self.rows.device)
        for a, b in self.device.blocks(n, 24 * d):
            members = self._members[a:b].long()
            placed[a:b] = self._relative(members, self._homes[members])
        squares = torch.empty(n, dtype=self._precision, device=self.rows.device)
        for a, b in self.device.blocks(n, 8 * d):
            squares[a:b] = placed[a:b].square().sum(dim=1)
        return placed, squares

    def begin(self) -> None:
        """Begin the lists with the nearest rows of the same region: many regions at once, the largest first.

        A GPU has nothing to do while it is told what to do next, so few large steps are faster than many.
        """
        order = sorted(
            (one for one, size in enumerate(self._sizes) if size > 1), key=lambda i: -self._sizes[i]
        )
        first = 0
        while first < len(order):
            size = self._sizes[order[first]]
            at_once = self.device.block_bytes // (size * (24 * size + 16 * self.rows.shape[1]))
            batch = order[first : first + max(1, at_once)]
            if at_once:
                self._begin(batch)
            else:
                self._begin_large(batch[0])
            first += len(batch)

    def _begin(self, batch: list[int]) -> None:
        """Begin the lists of some regions; smaller ones are filled up with rows that are no neighbours."""
        largest, device = self._sizes[batch[0]], self.rows.device
        sizes = torch.tensor([self._sizes[region] for region in batch], device=device)
        firsts = torch.tensor([self._firsts[region] for region in batch], device=device)
        within = torch.arange(largest, device=device)
        inside = within < sizes[:, None]
        places = torch.where(inside, firsts[:, None] + within, 0)
        others = self._placed[places]
        squares = self._squares[places].masked_fill_(~inside, torch.inf)
        apart = torch.baddbmm(squares[:, None], others, others.transpose(1, 2), alpha=-2)
        apart.add_(squares[:, :, None]).clamp_(min=0)
        width = min(self.lists.shape[1], largest - 1)
        apart.diagonal(dim1=1, dim2=2).fill_(torch.inf)
        nearest = torch.topk(apart, width, largest=False, sorted=True)
        del apart
        # Where a region is smaller, or squares are no numbers, there is nobody; and nobody is near itself.
        found = (nearest.indices < sizes[:, None, None]) & (nearest.indices != within[:, None])
        members = self._members[places.gather(1, nearest.indices.view(len(batch), -1))].view(found.shape)
        samples = self._members[places][inside].long()
        self.lists[samples, :width] = torch.where(found, members, -1)[inside]
        far = torch.where(found, nearest.values.float(), torch.inf)[inside]
        self._far[samples, :width] = torch.nan_to_num(far, nan=torch.inf, posinf=torch.inf)

    def _begin_large(self, region: int) -> None:
        """Begin the lists of one region, which takes more memory than a block."""
        members, others, _ = self._of(region)
        width = min(self.lists.shape[1], len(members) - 1)
        for a, b in self.device.blocks(len(members), 24 * len(members)):
            apart = squares_between(others[a:b], others)
            apart.diagonal(a).fill_(torch.inf)
            nearest = torch.topk(apart, width, largest=False, sorted=True)
            samples = members[a:b].long()
            self.lists[samples, :width] = members[nearest.indices]
            # Very far rows overflow in single precision.
            far = nearest.values.float()
            self._far[samples, :width] = torch.nan_to_num(far, nan=torch.inf, posinf=torch.inf)

    def _of(self, region: int) -> tuple[Tensor, Tensor, Tensor]:
        """Return the numbers of the members of a region, their places relative to it, and squared lengths."""
        here = slice(self._firsts[region], self._firsts[region] + self._sizes[region])
        return self._members[here], self._placed[here], self._squares[here]

    def extend(self, start: int, stop: int, effort: Effort) -> None:
        """Search the regions that the rows from start to stop have chosen."""
        parts = []
        for a, b in self.device.blocks(stop - start, 8 * (5 * len(self.regions) + 3 * self.rows.shape[1])):
            a, b = a + start, b + start
            chosen = self.regions.chosen(self.rows[a:b], self._homes[a:b], effort)
            at, numbers = torch.nonzero(chosen, as_tuple=True)
            parts.append(((at + a).int(), numbers.int()))
        samples, numbers = (torch.cat(part) for part in zip(*parts, strict=True))
        parts.clear()
        self._compare(samples, numbers)
        self._improve()

    def _compare(self, samples: Tensor, numbers: Tensor) -> None:
        """Measure all pairs of some samples with the rows of a region each."""
        samples = samples[torch.sort(numbers, stable=True).indices]
        counts: list[int] = torch.bincount(numbers, minlength=len(self.regions)).tolist()
        begin = 0
        for region, count in enumerate(counts):
            if count and self._sizes[region]:
                self._measure(region, samples[begin : begin + count])
            begin += count

    def _measure(self, region: int, queries: Tensor) -> None:
        """Measure all pairs of some rows with the members of a region; those that are near wait."""
        members, others, squares = self._of(region)
        size, d = len(members), self.rows.shape[1]
        for a, b in self.device.blocks(len(queries), 8 * size + 16 * d):
            some = queries[a:b].long()
            rows = self._relative(some, region)
            own = rows.square().sum(dim=1)
            # Without the square of the row: what remains is compared with the limit less that.
            apart = torch.addmm(squares, rows, others.T, alpha=-2)
            limit = self._far[some, -1] - own
            found = torch.nonzero((apart < limit[:, None]).view(-1)).squeeze(1)
            at = found // size
            values = (apart.view(-1)[found] + own[at]).clamp_(min=0).abs_().float()  # never -0.0
            self._waiting.append((queries[a:b][at], members[found - at * size], values))
            self._n_waiting += len(found)
            if self._n_waiting > self._most_waiting:
                self._improve()

    def _relative(self, numbers: Tensor, region: Any) -> Tensor:
        """Return some rows relative to the centre of a region, or each of one of its own."""
        placed = (self.rows[numbers.long()] - self._origins[region]) * self.regions.unit
        return placed.to(self._precision)

    def _improve(self) -> None:
        """Put the pairs that wait into the lists. No pair was there before: each region is searched once."""
        if not self._n_waiting:
            self._waiting.clear()
            return
        samples, members, values = (torch.cat(part) for part in zip(*self._waiting, strict=True))
        self._waiting.clear()
        self._n_waiting = 0
        # One key for sample and distance: numbers that are not negative have the order of their bits.
        key, order = torch.sort((samples.long() << 32) | values.view(torch.int32).long(), stable=True)
        members, values = members[order], values[order]
        del order
        changed, counts = torch.unique_consecutive(key >> 32, return_counts=True)
        del key, samples
        starts = torch.cumsum(counts, 0) - counts
        place = torch.repeat_interleave(self.device.arange(len(changed)), counts, output_size=len(members))
        rank = self.device.arange(len(members)) - starts[place]
        width = self.lists.shape[1]
        kept = torch.nonzero(rank < width).squeeze(1)
        place, rank = place[kept], rank[kept]
        far = values.new_full((len(changed), width), torch.inf)
        far[place, rank] = values[kept]
        lists = members.new_full((len(changed), width), -1)
        lists[place, rank] = members[kept]
        far = torch.cat([self._far[changed], far], dim=1)
        lists = torch.cat([self.lists[changed], lists], dim=1)
        far, order = torch.sort(far, dim=1, stable=True)
        self._far[changed], self.lists[changed] = far[:, :width], lists.gather(1, order[:, :width])
