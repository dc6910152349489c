"""Blocks of vectors: a sparse matrix times a block, and products of blocks.

A block holds its vectors as columns and is stored row by row. Sums are taken in double precision and in an
order that depends on the shape only: the same bits in every run on the same device.

A product with a matrix is what PyTorch calls a bag of embeddings: the weighted sum of the rows of a table
that a list names. It adds up the neighbours of each sample one after the other; the products of cuSPARSE,
which PyTorch uses for sparse matrices, may differ in the last bits from run to run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import torch
from numpy.typing import NDArray
from torch.nn.functional import embedding_bag

from ..device import Device
from ..handles import DeviceGraph
from ..sums import long_product

Tensor: TypeAlias = torch.Tensor
Matrix = NDArray[Any]


class BlockProduct:
    """Products of a sparse matrix with blocks of vectors, in the precision of the block.

    Parameters
    ----------
    matrix : DeviceGraph of shape (n, n)
        In double precision.

    Examples
    --------
    >>> indptr, indices = torch.tensor([0, 1, 2]), torch.tensor([1, 0], dtype=torch.int32)
    >>> product = BlockProduct(DeviceGraph(indptr, indices, torch.tensor([2.0, 2.0]).double(), (2, 2)))
    >>> product(torch.tensor([[1.0, 3.0], [5.0, 7.0]]))
    tensor([[10., 14.],
            [ 2.,  6.]])
    """

    def __init__(self, matrix: DeviceGraph) -> None:
        self.n_rows = matrix.shape[0]
        # Both in the same type of integer.
        kind = torch.int32 if len(matrix.indices) <= torch.iinfo(torch.int32).max else torch.int64
        self._indptr, self._indices = matrix.indptr.to(kind), matrix.indices.to(kind)
        self._values = {matrix.data.dtype: matrix.data}

    def __call__(self, x: Tensor) -> Tensor:
        """Return ``M x``."""
        if x.dtype not in self._values:
            self._values[x.dtype] = self._values[torch.float64].to(x.dtype)
        return embedding_bag(
            self._indices,
            x.contiguous(),
            self._indptr,
            mode="sum",
            per_sample_weights=self._values[x.dtype],
            include_last_offset=True,
        )

    def combine(self, x: Tensor, out: Tensor, image: float, same: float, old: float) -> None:
        """Set ``out = image * M x + same * x + old * out``: a step of a three-term recurrence."""
        out.mul_(old).add_(x, alpha=same).add_(self(x), alpha=image)


def inner(x: Tensor, y: Tensor) -> Matrix:
    """Return ``x' y`` in the memory of this process.

    Examples
    --------
    >>> inner(torch.tensor([[1.0], [2.0]]), torch.tensor([[3.0, 0.0], [4.0, 1.0]]))
    array([[11.,  2.]])
    """
    return Device.get(_sum(long_product, x, y, x.new_zeros(x.shape[1], y.shape[1], dtype=torch.float64)))


def columns_inner(x: Tensor, y: Tensor) -> Tensor:
    """Return the inner product of each column of x with the same column of y.

    Examples
    --------
    >>> columns_inner(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[1.0, 1.0], [0.0, 1.0]]))
    tensor([1., 6.], dtype=torch.float64)
    """
    return _sum(lambda a, b: (a * b).sum(dim=0), x, y, x.new_zeros(x.shape[1], dtype=torch.float64))


def squared_residuals(x: Tensor, image: Tensor, theta: Tensor) -> Tensor:
    """Return the squared lengths of the columns of ``image - x diag(theta)``.

    Examples
    --------
    >>> theta = torch.tensor([2.0], dtype=torch.float64)
    >>> squared_residuals(torch.tensor([[1.0], [2.0]]), torch.tensor([[3.0], [4.0]]), theta)
    tensor([1.], dtype=torch.float64)
    """
    total = x.new_zeros(x.shape[1], dtype=torch.float64)
    return _sum(lambda a, b: (b - a * theta).square_().sum(dim=0), x, image, total)


def turned(x: Tensor, rotation: Matrix) -> Tensor:
    """Return ``x rotation``, in the memory of `x` if the shape stays.

    Examples
    --------
    >>> import numpy as np
    >>> turned(torch.tensor([[1.0, 2.0]]), np.array([[0.0], [1.0]]))
    tensor([[2.]])
    """
    device, (n, m) = Device(x.device), rotation.shape
    factor = device.put(rotation, torch.float64)
    out = x if n == m else x.new_empty(len(x), m)
    for start, stop in device.blocks(len(x), 8.0 * (n + m)):
        # Not in single precision, which PyTorch may round to ten bits in products.
        out[start:stop] = x[start:stop].double() @ factor
    return out


def remove(x: Tensor, basis: Tensor) -> None:
    """Remove the part of `x` in the span of an orthonormal basis, in place.

    Examples
    --------
    >>> x = torch.tensor([[3.0], [4.0]])
    >>> remove(x, torch.tensor([[1.0], [0.0]]))
    >>> x
    tensor([[0.],
            [4.]])
    """
    if not basis.shape[1]:
        return
    part = _sum(long_product, basis, x, x.new_zeros(basis.shape[1], x.shape[1], dtype=torch.float64))
    for start, stop in Device(x.device).blocks(len(x), 8.0 * (basis.shape[1] + 2 * x.shape[1])):
        x[start:stop] -= (basis[start:stop].double() @ part).to(x.dtype)


def _sum(term: Callable[[Tensor, Tensor], Tensor], x: Tensor, y: Tensor, total: Tensor) -> Tensor:
    """Add a function of the rows of two blocks, in double precision, to a total."""
    for start, stop in Device(x.device).blocks(len(x), 16.0 * (x.shape[1] + y.shape[1])):
        total += term(x[start:stop].double(), y[start:stop].double())
    return total
