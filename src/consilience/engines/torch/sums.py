"""Sums over very many edges, block by block, in double precision and with the same bits in every run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from ..results import Matrix
from .device import Device

Tensor: TypeAlias = torch.Tensor

_PART = 8192  # rows whose products are summed together


def sum_of(function: Callable[[Tensor], Tensor], values: Tensor, bytes_per_value: int = 32) -> float:
    """Return the sum of a function of the values, (n_edges,), without a copy of all of them.

    Examples
    --------
    >>> sum_of(torch.sqrt, torch.tensor([1.0, 4.0, 9.0]))
    6.0
    """
    blocks = Device(values.device).blocks(len(values), bytes_per_value)
    sums = [function(values[first:last]).sum(dtype=torch.float64) for first, last in blocks]
    return float(torch.stack(sums).sum()) if sums else 0.0


def products(left: Tensor, right: Tensor) -> list[Tensor]:
    """Return the inner products of rows i and j <= i of two arrays (v, n_edges), row by row.

    One vector operation each: for a product of matrices with so few rows a GPU would fill large tiles.
    """
    return [torch.dot(left[i], right[j]) for i in range(len(left)) for j in range(i + 1)]


def long_product(x: Tensor, y: Tensor) -> Tensor:
    """Return ``x' y`` as a sum over parts: one product of so long matrices would use little of a GPU.

    Examples
    --------
    >>> long_product(torch.tensor([[1.0], [2.0]]), torch.tensor([[3.0, 0.0], [4.0, 1.0]]))
    tensor([[11.,  2.]])
    """
    n_parts = len(x) // _PART
    whole = n_parts * _PART
    rest = x[whole:].T @ y[whole:]
    if not n_parts:
        return rest
    first, second = (block[:whole].view(n_parts, _PART, block.shape[1]) for block in (x, y))
    return torch.bmm(first.transpose(1, 2), second).sum(dim=0) + rest


def symmetric(lower: NDArray[np.float64], v: int) -> Matrix:
    """Return the symmetric matrix (v, v) with this lower triangle, given row by row.

    Examples
    --------
    >>> symmetric(np.array([1.0, 2.0, 3.0]), 2)
    array([[1., 2.],
           [2., 3.]])
    """
    matrix = np.zeros((v, v))
    matrix[np.tril_indices(v)] = lower
    return matrix + np.tril(matrix, -1).T
