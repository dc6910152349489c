"""The columns of a dense view that is on a device: range, mean, variance and zeros, in two passes."""

from __future__ import annotations

from typing import TypeAlias

import torch

from ....spaces.scaling import Columns
from ....views import DeviceArray
from ..device import Device

Tensor: TypeAlias = torch.Tensor


def describe_columns(array: DeviceArray) -> Columns:
    """Describe the columns of all rows.

    Examples
    --------
    >>> columns = describe_columns(DeviceArray(torch.tensor([[0.0, 1.0], [2.0, 1.0]])))
    >>> columns.mean.tolist(), columns.variance.tolist(), columns.n_nonzero.tolist()
    ([1.0, 1.0], [1.0, 0.0], [1, 2])
    """
    n, x = len(array), array.tensor
    # Differences from one of the rows: those of a constant column are exactly 0.
    first = x[0].double()
    lowest = highest = first
    total, nonzero = torch.zeros_like(first), torch.zeros_like(first, dtype=torch.int64)
    for part in array.blocks():
        least, largest = torch.aminmax(part.double(), dim=0)
        lowest, highest = torch.minimum(lowest, least), torch.maximum(highest, largest)
        total += (part.double() - first).sum(dim=0)
        nonzero += part.count_nonzero(dim=0)
    mean, squares = first + total / n, torch.zeros_like(first)
    for part in array.blocks():
        squares += (part.double() - mean).square_().sum(dim=0)
    low, high, middle, variance = (Device.get(one) for one in (lowest, highest, mean, squares / n))
    return Columns(n, low, high, middle, variance, Device.get(nonzero))
