"""The exact search: each row's nearest of all, by products of matrices and a proof for each row.

First all pairs are compared in single precision: of each row the few others with the least lower bounds of
their distances are kept, and measured. If the k-th nearest of these is nearer than the least bound that was
left out, no other can be among the k nearest. Rows without this proof, because of ties or because neighbours
are so near that single precision cannot tell them apart, are compared with all others in double precision,
and everything that could be as near as their k-th so far is measured.

Distances are compared by about their first twelve digits; of equal ones the lower number is nearer.
"""

from __future__ import annotations

from typing import Protocol, TypeAlias, TypeVar

import torch

from ..device import Device
from ..handles import indptr_of
from ..points.precise import leading_digits

Tensor: TypeAlias = torch.Tensor
R = TypeVar("R", bound="Comparable")

SPARE = 16  # others that are measured in addition to those asked for
_COLUMNS = {"cpu": 1 << 13, "cuda": 1 << 16}  # rows that others are compared with at once
_FEWEST_COLUMNS = 1024  # of these, however many features they have
_GROUP = 32  # columns whose least entry is looked at first
_EQUAL = 1e-11  # distances that differ by no more than this part may be equal to twelve digits
_ORTHOGONAL = 2e-13  # products of unit rows that are 0 to twelve digits of the distance
_NONE = torch.iinfo(torch.int64).max


class Screen(Protocol):
    """Lower bounds of squared distances to some rows: see `points.dense_rows.DenseScreen`."""

    factor: float
    slack: float
    floor: float
    lost: float
    row_bytes: float
    column_bytes: float

    def left(self, rows: Comparable, numbers: Tensor) -> tuple[Tensor, Tensor, Tensor]: ...

    def bounds(self, left: Tensor, start: int, stop: int) -> Tensor: ...


class Comparable(Protocol):
    """Rows, dense or sparse, as the search takes them."""

    is_unit: bool
    device: Device

    def __len__(self) -> int: ...

    def apart(self: R, i: Tensor, other: R, j: Tensor) -> Tensor: ...

    def screen(self, dtype: torch.dtype) -> Screen: ...


def nearest(rows: R, among: R, k: int, own: bool) -> Tensor:
    """Return the k nearest of `among` for each row, (m, k) int32, nearest first.

    Parameters
    ----------
    rows, among : rows
        Both dense, or both sparse.
    k : int
        How many: at most the number of others.
    own : bool
        Whether both are the same rows, and no row is a neighbour of itself.

    Examples
    --------
    >>> from consilience.engines.torch.points.dense_rows import DenseRows
    >>> import numpy as np
    >>> rows = DenseRows.of(np.array([[0.0], [1.0], [3.0]]), False, False, Device.of("cpu"))
    >>> nearest(rows, rows, 1, own=True).ravel()
    tensor([1, 0, 1], dtype=torch.int32)
    """
    device, m, n = among.device, len(rows), len(among) - own
    lists = torch.empty((m, k), dtype=torch.int32, device=device.where)
    if not m or not k:
        return lists
    kept, doubtful, limits = min(n, k + SPARE), [], []
    screen = among.screen(first_precision())
    width = _width(screen, len(among), device)
    for a, b in device.blocks(m, 16 * width + screen.row_bytes + 64 * kept * _GROUP):
        numbers = torch.arange(a, b, device=device.where)
        left, squares, far = screen.left(rows, numbers)
        bounds, found = _least(screen, left, numbers if own else None, len(among), width, kept)
        lists[a:b], last = best_listed(rows, numbers, among, found, k)
        if kept == n:
            continue
        reach = _in_unit(screen, last)
        sure = ~far & (reach < squares * (1 - screen.slack) + bounds.double().amax(dim=1) - screen.floor)
        doubtful.append(numbers[~sure])
        limits.append(last[~sure])
    if doubtful and len(unsure := torch.cat(doubtful)):
        lists[unsure] = _among_all(rows, unsure, among, torch.cat(limits), k, own)
    return lists


def best_listed(rows: R, numbers: Tensor, among: R, lists: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Return the k nearest of the members of lists, and how far the last of them is, squared.

    Parameters
    ----------
    rows, among : rows
        Whose lists they are, and whom they name.
    numbers : tensor of int64 of shape (m,)
        The rows.
    lists : tensor of int64 of shape (m, w)
        Others, none of them twice; -1 is nobody.
    k : int
        How many, at most w.
    """
    lists, _ = torch.sort(lists, dim=1)
    each = numbers[:, None].expand_as(lists).reshape(-1)
    squares = rows.apart(each, among, lists.clamp(min=0).reshape(-1)).view(lists.shape)
    digits = torch.where(lists < 0, _NONE, leading_digits(squares))
    order = torch.sort(digits, dim=1, stable=True).indices[:, :k]  # of equal ones the lower number
    return lists.gather(1, order).int(), squares.gather(1, order[:, -1:])[:, 0]


def first_precision() -> torch.dtype:
    """Return single precision, unless PyTorch was told to compute products with fewer digits."""
    try:
        precise = torch.get_float32_matmul_precision() == "highest"
    except RuntimeError:  # told in its newer way, which this older question does not know
        precise = False
    return torch.float32 if precise else torch.float64


def _width(screen: Screen, n: int, device: Device) -> int:
    """Return how many of n rows others are compared with at once: copies of these take memory, too."""
    _, fitting = next(device.blocks(n, screen.column_bytes))
    return min(n, _COLUMNS[device.where.type], max(fitting, _FEWEST_COLUMNS))


def _in_unit(screen: Screen, squares: Tensor) -> Tensor:
    """Return squared distances in the unit of products: at least those of all that count as equal."""
    # The factor is squared step by step, because its square may be no number.
    return (squares * (1 + _EQUAL) + screen.lost) * screen.factor * screen.factor


def _least(
    screen: Screen, left: Tensor, own: Tensor | None, n: int, width: int, kept: int
) -> tuple[Tensor, Tensor]:
    """Return the least lower bounds of some rows, (m, kept), and whose they are."""
    bounds = found = torch.empty(0)
    for start in range(0, n, width):
        stop = min(n, start + width)
        entries = screen.bounds(left, start, stop)
        if own is not None:
            _fill_own(entries, own, start, torch.inf)
        values, places = _least_entries(entries, kept)
        places += start
        if start:
            values, places = torch.cat([bounds, values], dim=1), torch.cat([found, places], dim=1)
            values, best = _smallest(values, kept)
            places = places.gather(1, best)
        bounds, found = values, places
    return bounds, found


def _least_entries(entries: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Return the k least entries of each row, in any order, and their columns.

    The k least are in the k groups of columns with the least minima: all entries are read only once.
    """
    n_groups = entries.shape[1] // _GROUP
    if n_groups < 2 * k:
        return _smallest(entries, k)
    grouped = n_groups * _GROUP
    minima = entries[:, :grouped].view(len(entries), _GROUP, n_groups).amin(dim=1)
    _, groups = _smallest(minima, k)
    steps = torch.arange(0, grouped, n_groups, device=entries.device)
    rest = torch.arange(grouped, entries.shape[1], device=entries.device).expand(len(entries), -1)
    columns = torch.cat([(groups[:, :, None] + steps).flatten(1), rest], dim=1)
    values, best = _smallest(entries.gather(1, columns), k)
    return values, columns.gather(1, best)


def _smallest(values: Tensor, k: int) -> tuple[Tensor, Tensor]:
    values, places = torch.topk(values, min(k, values.shape[1]), dim=1, largest=False, sorted=False)
    return values, places


def _fill_own(entries: Tensor, own: Tensor, start: int, value: float | bool) -> None:
    """Set the entries of rows with themselves."""
    columns = own - start
    here = (columns >= 0) & (columns < entries.shape[1])
    columns = columns.clamp(0, entries.shape[1] - 1)[:, None]
    entries.scatter_(
        1, columns, torch.where(here[:, None], value, entries.gather(1, columns)).to(entries.dtype)
    )


def _among_all(rows: R, numbers: Tensor, among: R, last: Tensor, k: int, own: bool) -> Tensor:
    """Return the lists of some rows, given how far no more than their k-th can be, squared."""
    device, n = among.device, len(among)
    screen = among.screen(torch.float64)
    width = _width(screen, n, device)
    lists = torch.empty((len(numbers), k), dtype=torch.int32, device=device.where)
    for a, b in device.blocks(len(numbers), 64 * width + screen.row_bytes):
        here = numbers[a:b]
        left, squares, far = screen.left(rows, here)
        limit = _in_unit(screen, last[a:b]) - squares * (1 - screen.slack) + screen.floor
        limit = torch.where(far, torch.inf, limit)[:, None]
        best = Best.none(len(here), k, device)
        for start in range(0, n, width):
            entries = screen.bounds(left, start, min(n, start + width))
            near = ~(entries > limit)  # also where the product is no number
            if own:
                _fill_own(near, here, start, False)
            if among.is_unit:  # all that are orthogonal are equally far: the first ones are enough
                apart = near & ((entries - (1 - screen.slack)).abs() <= _ORTHOGONAL)
                near &= ~apart | (torch.cumsum(apart, dim=1, dtype=torch.int32) <= k)
            i, j = near.nonzero(as_tuple=True)
            j += start
            best = best.improved(i, j, rows.apart(here[i], among, j))
        lists[a:b] = best.lists
    return lists


class Best:
    """The best of what some rows have been compared with so far.

    Parameters
    ----------
    digits : tensor of int64 of shape (m, k)
        How far they are, by their leading digits, ascending.
    lists : tensor of int32 of shape (m, k)
        Who they are.
    """

    def __init__(self, digits: Tensor, lists: Tensor) -> None:
        self.digits, self.lists = digits, lists

    @classmethod
    def none(cls, m: int, k: int, device: Device) -> Best:
        """Return what is known at the beginning: nothing."""
        empty = torch.full((m, k), _NONE, device=device.where)
        return cls(empty, torch.full_like(empty, -1, dtype=torch.int32))

    def improved(self, i: Tensor, j: Tensor, squares: Tensor) -> Best:
        """Return the best of these and of others j of rows i, all of higher numbers, in order."""
        (m, k), digits = self.digits.shape, leading_digits(squares)
        nearer = digits < self.digits[i, -1]
        i, j, digits = i[nearer], j[nearer], digits[nearer]
        digits, order = torch.sort(digits, stable=True)
        i, again = torch.sort(i[order], stable=True)
        j, digits = j[order][again], digits[again]
        rank = torch.arange(len(i), device=i.device) - indptr_of(i, m)[i]
        first = rank < k
        more = Best(torch.full_like(self.digits, _NONE), torch.full_like(self.lists, -1))
        more.digits[i[first], rank[first]] = digits[first]
        more.lists[i[first], rank[first]] = j[first].int()
        both = torch.cat([self.digits, more.digits], dim=1)
        lists = torch.cat([self.lists, more.lists], dim=1)
        both, order = torch.sort(both, dim=1, stable=True)
        return Best(both[:, :k], lists.gather(1, order[:, :k]))
