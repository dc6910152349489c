"""Dense rows on the device: their squared differences, and lower bounds of these by products."""

from __future__ import annotations

import logging
import math
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import torch

from ....views import DeviceArray
from ....words import memory_size
from ..device import Device
from .precise import times_power, tree_sum

Tensor: TypeAlias = torch.Tensor

logger = logging.getLogger(__name__)

_ON_DEVICE = 0.4  # share of all memory of a GPU that one view may take; larger ones come in blocks
_TO_CENTER = 512  # rows, about, whose median is taken for the middle of all
_ROUNDING = 4  # entries of a row that differ by no more than this number of last digits are the same
_EQUAL = 1e-12  # unit rows that differ by no more than this point the same way
_HOST = Device(torch.device("cpu"))
FAR = {torch.float32: 1e36, torch.float64: 1e300}  # squared lengths from which on products may be no numbers


class DenseRows:
    """Rows as they are compared.

    Parameters
    ----------
    x : tensor of shape (n, d)
        The rows, in single or double precision: on the device, or in the memory of this process.
    blank : tensor of bool of shape (n,)
        Which of them have no direction, and are as far from all others as orthogonal ones.
    is_unit : bool
        Whether all others are of unit length.
    device : Device
        Where they are compared.
    """

    def __init__(self, x: Tensor, blank: Tensor, is_unit: bool, device: Device) -> None:
        self.x, self.blank, self.is_unit, self.device = x, blank, is_unit, device

    @classmethod
    def of(cls, x: Any, cosine: bool, centered: bool, device: Device) -> DenseRows:
        """Put rows on the device, as they are compared; where they do not fit they stay in this memory.

        `x` is an array, or a `DeviceArray`: if that is on this device already, it is not copied.
        """
        n, d = x.shape
        blank = device.zeros(n, dtype=torch.bool)
        if isinstance(x, DeviceArray):
            x = x.tensor
            if not cosine:
                if x.device != device.where:
                    what, instead = "A view from another device", "Use the engine on that device."
                    device.require(x.numel() * x.element_size(), what, instead)
                return cls(x.to(device.where), blank, False, device)
        if not cosine and (not device.is_gpu or not _fits(x.nbytes, device)):
            return cls(_HOST.put(np.ascontiguousarray(x)), blank, False, device)
        size = 8 if cosine else x.dtype.itemsize
        dtype = torch.float64 if size == 8 else torch.float32
        place = device.where if _fits(n * d * size, device) else _HOST.where
        if place == device.where:
            what, instead = "A view", "End what else runs there, or use engine='numba'."
            device.require(n * d * size, what, instead)
        out = torch.empty((n, d), dtype=dtype, device=place)
        for a, b in device.blocks(n, 48 * d):
            part = device.put(x[a:b] if isinstance(x, torch.Tensor) else np.ascontiguousarray(x[a:b]))
            if cosine:
                part, blank[a:b] = unit_rows(part, centered)
            out[a:b] = part
        return cls(out, blank, cosine, device)

    def __len__(self) -> int:
        return len(self.x)

    @property
    def n_columns(self) -> int:
        """Number of features."""
        return int(self.x.shape[1])

    def block(self, start: int, stop: int) -> Tensor:
        """Return consecutive rows, on the device."""
        return self._sent(self.x[start:stop])

    def take(self, rows: Tensor) -> Tensor:
        """Return some rows, on the device."""
        return self._sent(self.x.index_select(0, rows.to(self.x.device)))

    def _sent(self, part: Tensor) -> Tensor:
        if part.device == self.device.where:
            return part
        return part.pin_memory().to(self.device.where, non_blocking=True)

    def apart(self, i: Tensor, other: DenseRows, j: Tensor) -> Tensor:
        """Return the squared differences of these rows i and the other's rows j, pair by pair."""
        out = self.device.zeros(len(i))
        for a, b in self.device.blocks(len(i), 40 * self.n_columns + 64):
            difference = self.take(i[a:b]).double().sub_(other.take(j[a:b]))
            out[a:b] = tree_sum(difference.square_())
        return torch.where(self.blank[i] | other.blank[j], 2.0, out) if self.is_unit else out

    def reordered(self, order: Tensor) -> DenseRows:
        """Return the rows in another order."""
        if self.x.device == self.device.where:
            what, instead = "Another order of a view", "Use engine='numba'."
            self.device.require(self.x.numel() * self.x.element_size(), what, instead)
        x = self.x.index_select(0, order.to(self.x.device))
        return DenseRows(x, self.blank[order], self.is_unit, self.device)

    def total_variance(self) -> float:
        """Return the mean squared distance of the rows with a direction from their mean: in two passes."""
        d, n = self.n_columns, len(self) - int(self.blank.sum())
        kept = torch.where(self.blank, 0.0, 1.0).double()
        total, squares = self.device.zeros(d), self.device.zeros(d)
        for a, b in self.device.blocks(len(self), 24 * d):
            total += self.block(a, b).double().sum(dim=0)  # blank rows are 0
        mean = total / n
        for a, b in self.device.blocks(len(self), 24 * d):
            squares += ((self.block(a, b).double() - mean).square_() * kept[a:b, None]).sum(dim=0)
        return float(squares.sum() / n)

    def are_equal(self) -> bool:
        """Say whether all rows are the same, or to rounding point the same way; most often two decide."""
        first = self.block(0, 1)
        tolerance = _EQUAL if self.is_unit else 0.0
        ranges = [(1, min(2, len(self))), *self.device.blocks(len(self), 24 * self.n_columns)]
        return all(bool(((self.block(a, b) - first).abs() <= tolerance).all()) for a, b in ranges)

    @property
    def is_searchable(self) -> bool:
        """Whether `searchable` gives the rows themselves, not copies that are less precise."""
        return self.x.device == self.device.where

    def searchable(self, rows: Tensor) -> Tensor:
        """Return some rows on the device, as the approximate search takes them.

        Those of a view that does not fit there are shifted and scaled, so that single precision is enough.
        """
        if self.is_searchable:
            return self.x if len(rows) == len(self) else self.take(rows)
        what, instead = "The approximate search", "Use engine='numba', or fewer features."
        self.device.require(4.0 * len(rows) * self.n_columns, what, instead)
        screen = DenseScreen(self, torch.float32)
        out = torch.empty((len(rows), self.n_columns), dtype=torch.float32, device=self.device.where)
        for a, b in self.device.blocks(len(rows), 32 * self.n_columns):
            out[a:b] = screen.scaled(self.take(rows[a:b]))
        return out

    @cached_property
    def shift(self) -> tuple[Tensor, float]:
        """What to subtract from rows, and by which power of two to multiply them then.

        The first is the middle of the rows, which a few far ones do not change.
        """
        if self.is_unit or not len(self):
            return self.device.zeros(self.n_columns), 1.0
        step = max(1, len(self) // _TO_CENTER)
        some = self.take(torch.arange(0, len(self), step, device=self.device.where)).double()
        middle, reach = torch.sort(some, dim=0).values[len(some) // 2], self.device.zeros()
        for a, b in self.device.blocks(len(self), 24 * self.n_columns):
            reach = torch.maximum(reach, (self.block(a, b).double() - middle).abs().amax())
        return middle, unit_of(float(reach))

    def screen(self, dtype: torch.dtype) -> DenseScreen:
        """Return what gives lower bounds of distances to these rows."""
        return DenseScreen(self, dtype)


class DenseScreen:
    """Lower bounds of squared distances to dense rows, by one product of matrices.

    With y_j the rows and x others, both shifted and scaled, the product's entries are

        b_j = |y_j|^2 (1 - slack) - 2 x . y_j,

    and the squared distance is at least ``|x|^2 (1 - slack) + b_j - floor`` in the scaled unit: no more than
    slack (|x|^2 + |y_j|^2) + floor is lost to rounding, whatever the order of the sums.

    Parameters
    ----------
    among : DenseRows
        The rows.
    dtype : torch.dtype
        The precision of the product.
    """

    def __init__(self, among: DenseRows, dtype: torch.dtype) -> None:
        self.among, self.dtype = among, dtype
        self.middle, self.factor = among.shift
        terms = among.n_columns + 16  # the last for roundings of copies and lengths
        self.slack, self.floor = terms * torch.finfo(dtype).eps, terms * torch.finfo(dtype).tiny
        self.lost = terms * torch.finfo(torch.float64).tiny  # of the squared differences themselves
        # Of temporary values for each row on one side of the product, and on the other.
        self.row_bytes = self.column_bytes = 32.0 * among.n_columns

    def scaled(self, x: Tensor) -> Tensor:
        """Return rows in the precision of the product."""
        if self.among.is_unit:
            return x.to(self.dtype)
        return ((x.double() - self.middle) * self.factor).to(self.dtype)

    def left(self, rows: DenseRows, numbers: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return some rows as one side of the product, their squared lengths, and which are too far."""
        x = self.scaled(rows.take(numbers))
        squares = self._squares(x)
        far = ~(squares < FAR[self.dtype])
        x = torch.where(far[:, None], 0.0, x)
        return torch.cat([-2 * x, torch.ones_like(x[:, :1])], dim=1), squares, far

    def bounds(self, left: Tensor, start: int, stop: int) -> Tensor:
        """Return the entries b for consecutive rows, (m, stop - start)."""
        y = self.scaled(self.among.block(start, stop))
        squares = (self._squares(y) * (1 - self.slack)).to(self.dtype)
        return left @ torch.cat([y, squares[:, None]], dim=1).T

    def _squares(self, x: Tensor) -> Tensor:
        if self.among.is_unit:  # so that rows that have nothing in common are equally far, to the last bit
            return self.among.device.zeros(len(x)) + 1.0
        return x.double().square().sum(dim=1)


def unit_of(reach: float) -> float:
    """Return the power of two that makes a length 1 or less, and more than a quarter."""
    return 2.0 ** -min(max(math.frexp(reach)[1], -1000), 1000) if 0 < reach < math.inf else 1.0


def unit_rows(x: Tensor, centered: bool) -> tuple[Tensor, Tensor]:
    """Scale rows to unit length, after subtracting their means if `centered`; return also which are 0.

    Rows that are constant up to rounding have no direction, if they are centred.

    Examples
    --------
    >>> unit_rows(torch.tensor([[3.0, 4.0], [0.0, 0.0]]).double(), centered=False)
    (tensor([[0.6000, 0.8000],
            [0.0000, 0.0000]], dtype=torch.float64), tensor([False,  True]))
    """
    x = _centered(x) if centered else x.double()
    # First divided by the largest entry: squares of very large or small numbers would not be finite.
    largest = x.abs().amax(dim=1)
    blank = largest == 0
    x = x / torch.where(blank, 1.0, largest)[:, None]
    length = tree_sum(x.square()).sqrt_()
    return x / torch.where(blank, 1.0, length)[:, None], blank


def _centered(x: Tensor) -> Tensor:
    """Return rows minus their means, in any unit; those that are constant up to rounding become 0."""
    tiny = _ROUNDING * torch.finfo(x.dtype).eps
    x = x.double()
    _, exponents = torch.frexp(x.abs().amax(dim=1))
    x = times_power(x, -exponents[:, None])  # entries of at most 1
    constant = x.amax(dim=1) - x.amin(dim=1) <= tiny * x.abs().amax(dim=1)
    for _ in range(2):  # the second time the rest of the mean, due to rounding
        x = x - (tree_sum(x.clone()) / x.shape[1])[:, None]
    return torch.where(constant[:, None], 0.0, x)


def _fits(n_bytes: float, device: Device) -> bool:
    """Say whether a view is kept on the device; what is free now must not decide about bits."""
    total = device.total_bytes
    fits = total is None or n_bytes <= _ON_DEVICE * total
    if not fits:
        logger.info("a view of %s is sent to %s in blocks", memory_size(n_bytes), device.where)
    return fits
