"""Blocks of vectors: a sparse matrix times a block, and products of blocks, on several threads.

A block holds its vectors as columns and is stored row by row: one access to a neighbour reads the entries of
all vectors at once, while a product with one vector waits for the memory at every edge. Work is divided into
parts that depend on the shape only, each part writes its own rows or its own sum, and sums are added in
order: results are the same to the last bit for any number of threads. The caller of these functions keeps
BLAS to one thread.
"""

# Compiled functions are not annotated: Numba derives their types from the call.
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numba as nb
import numpy as np
import numpy.typing as npt
from scipy import sparse

from ... import threads

FloatArray = npt.NDArray[np.float64]
Block = npt.NDArray[Any]  # of floating-point numbers, in single or double precision

_ROWS = 4096  # rows that are worked on together: their blocks stay in the cache
_LINE = 64  # bytes of a line of the cache
_PARTS = 64  # separate sums at most


class BlockProduct:
    """Products of a sparse matrix with blocks of vectors, in the precision of the block.

    Parameters
    ----------
    matrix : csr_array of shape (n, n)
        Its arrays are used as they are, not copied, if its indices have 32 bits.

    Examples
    --------
    >>> product = BlockProduct(sparse.csr_array([[0.0, 2.0], [2.0, 0.0]]))
    >>> product(np.array([[1.0, 3.0], [5.0, 7.0]], dtype=np.float32))
    array([[10., 14.],
           [ 2.,  6.]], dtype=float32)
    """

    def __init__(self, matrix: sparse.csr_array) -> None:
        self.n_rows = int(matrix.shape[0])
        self._indptr = matrix.indptr.astype(np.int64, copy=False)
        self._indices = matrix.indices.astype(np.int32, copy=False)
        self._values = matrix.data

    def __call__(self, x: Block) -> Block:
        """Return ``M x``."""
        out = np.empty_like(x)
        self.combine(x, out, 1.0, 0.0, 0.0)
        return out

    def combine(self, x: Block, out: Block, image: float, same: float, old: float) -> None:
        """Set ``out = image * M x + same * x + old * out``: a step of a three-term recurrence.

        Parameters
        ----------
        x, out : ndarray of shape (n, m)
            Two blocks of one precision, row by row. `out` need not be filled if `old` is 0.
        image, same, old : float
            Factors.
        """
        factors = float(image), float(same), float(old)
        threads.for_ranges(
            lambda first, last: combine_rows(
                self._indptr, self._indices, self._values, x, out, *factors, first, last
            ),
            self.n_rows,
            _ROWS,
        )


@nb.njit(nogil=True, cache=True, fastmath={"reassoc", "nsz", "contract"})
def combine_rows(indptr, indices, values, x, out, image, same, old, first, last):
    """Do `BlockProduct.combine` for the rows [first, last)."""
    m = x.shape[1]
    real = x.dtype.type
    same, old = real(same), real(old)
    for i in range(first, last):
        if old == 0:  # `out` may hold anything
            for t in range(m):
                out[i, t] = same * x[i, t]
        else:
            for t in range(m):
                out[i, t] = old * out[i, t] + same * x[i, t]
        e, end = indptr[i], indptr[i + 1]
        while e + 4 <= end:  # four at once: the sums are loaded and stored less often
            a, b, c, d = indices[e], indices[e + 1], indices[e + 2], indices[e + 3]
            wa, wb = real(image * values[e]), real(image * values[e + 1])
            wc, wd = real(image * values[e + 2]), real(image * values[e + 3])
            for t in range(m):
                out[i, t] += (wa * x[a, t] + wb * x[b, t]) + (wc * x[c, t] + wd * x[d, t])
            e += 4
        while e < end:
            a, wa = indices[e], real(image * values[e])
            for t in range(m):
                out[i, t] += wa * x[a, t]
            e += 1


def empty_block(n: int, m: int, real: type[np.floating[Any]]) -> Block:
    """Return a block that begins with a line of the cache: a sixth faster, since a row is in fewer lines.

    Examples
    --------
    >>> block = empty_block(3, 16, np.float32)
    >>> block.shape, block.ctypes.data % 64
    ((3, 16), 0)
    """
    size = n * m * np.dtype(real).itemsize
    room = np.empty(size + _LINE, dtype=np.uint8)
    begin = -room.ctypes.data % _LINE
    return room[begin : begin + size].view(real).reshape(n, m)


def inner(x: Block, y: Block) -> FloatArray:
    """Return ``x' y``, summed in double precision.

    Examples
    --------
    >>> inner(np.array([[1.0], [2.0]]), np.array([[3.0, 0.0], [4.0, 1.0]]))
    array([[11.,  2.]])
    """
    return _sum(len(x), (x.shape[1], y.shape[1]), lambda rows: x[rows].T @ y[rows])


def columns_inner(x: Block, y: Block) -> FloatArray:
    """Return the inner product of each column of x with the same column of y, in double precision.

    Examples
    --------
    >>> columns_inner(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, 1.0], [0.0, 1.0]]))
    array([1., 6.])
    """
    return _sum(len(x), (x.shape[1],), lambda rows: (x[rows] * y[rows]).sum(axis=0, dtype=np.float64))


def squared_residuals(x: Block, image: Block, theta: FloatArray) -> FloatArray:
    """Return the squared lengths of the columns of ``image - x diag(theta)``.

    Examples
    --------
    >>> squared_residuals(np.array([[1.0], [2.0]]), np.array([[3.0], [4.0]]), np.array([2.0]))
    array([1.])
    """
    factors = theta.astype(x.dtype)
    return _sum(
        len(x),
        (x.shape[1],),
        lambda rows: np.square(image[rows] - x[rows] * factors).sum(axis=0, dtype=np.float64),
    )


def turned(x: Block, rotation: FloatArray) -> Block:
    """Return ``x rotation``, in the memory of `x` if the shape stays.

    Examples
    --------
    >>> turned(np.array([[1.0, 2.0]]), np.array([[0.0], [1.0]]))
    array([[2.]])
    """
    factor = rotation.astype(x.dtype)
    out = x if factor.shape[0] == factor.shape[1] else np.empty((len(x), factor.shape[1]), x.dtype)

    def fill(rows: slice) -> None:
        out[rows] = x[rows] @ factor

    _for_rows(len(x), fill)
    return out


def mix(out: Block, x: Block, old: float, new: float) -> None:
    """Set ``out = old * out + new * x``.

    Examples
    --------
    >>> out = np.array([[1.0, 2.0]])
    >>> mix(out, np.array([[10.0, 20.0]]), 3.0, 0.5)
    >>> out
    array([[ 8., 16.]])
    """
    before, factor = out.dtype.type(old), out.dtype.type(new)

    def fill(rows: slice) -> None:
        out[rows] *= before
        out[rows] += factor * x[rows]

    _for_rows(len(x), fill)


def remove(x: Block, basis: Block) -> None:
    """Remove the part of `x` in the span of an orthonormal basis, in place.

    Examples
    --------
    >>> x = np.array([[3.0], [4.0]])
    >>> remove(x, np.array([[1.0], [0.0]]))
    >>> x
    array([[0.],
           [4.]])
    """
    if basis.shape[1] == 0:
        return
    part = inner(basis, x).astype(x.dtype)

    def fill(rows: slice) -> None:
        x[rows] -= basis[rows] @ part

    _for_rows(len(x), fill)


def _for_rows(n: int, work: Callable[[slice], None]) -> None:
    """Call `work` on consecutive slices that cover all rows."""

    def ranges(first: int, last: int) -> None:
        for rows in _slices(first, last):
            work(rows)

    threads.for_ranges(ranges, n, _ROWS)


def _sum(n: int, shape: tuple[int, ...], term: Callable[[slice], Block]) -> FloatArray:
    """Return the sum of `term` over slices that cover all rows, in an order that never changes."""
    n_parts = max(1, min(_PARTS, n // _ROWS))
    bounds = [n * p // n_parts for p in range(n_parts + 1)]
    sums = np.zeros((n_parts, *shape))

    def parts(first: int, last: int) -> None:
        for p in range(first, last):
            for rows in _slices(bounds[p], bounds[p + 1]):
                sums[p] += term(rows)

    threads.for_ranges(parts, n_parts)
    return np.asarray(sums.sum(axis=0))


def _slices(first: int, last: int) -> Iterator[slice]:
    for begin in range(first, last, _ROWS):
        yield slice(begin, min(begin + _ROWS, last))
