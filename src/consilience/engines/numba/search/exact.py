"""The exact search: each row's nearest, by a fast comparison of all pairs (see `exact_kernels`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ... import threads
from ...points.protocol import Floats, Index, row_blocks
from ..points.rows import row_squares
from . import exact_kernels

_FAR_SINGLE = 1e18  # a length whose square is a number in single precision,
_FAR = 1e150  # and in double precision
_TO_CENTER = 512  # rows, about, whose median is taken for the middle of all


@dataclass(frozen=True, eq=False)
class DenseRows:
    """Rows as the dense search takes them.

    Attributes
    ----------
    x : ndarray of shape (n, d)
        The rows, for the exact distances at the end.
    blank : ndarray of bool of shape (n,)
        Which of them have no direction.
    single : ndarray of float32 of shape (n, d)
        A copy for the fast comparison of all pairs.
    lengths : ndarray of float32 of shape (n,)
        Norms of the copies.
    squares : ndarray of float32 of shape (n,)
        Squared norms of the copies.
    """

    x: Floats
    blank: NDArray[np.bool_]
    single: NDArray[np.float32]
    lengths: NDArray[np.float32]
    squares: NDArray[np.float32]

    @classmethod
    def of(cls, x: Floats, blank: NDArray[np.bool_], single: NDArray[np.float32]) -> DenseRows:
        """Measure the copies; those too large for single precision will be compared with all others."""
        squares = np.einsum("ij,ij->i", single, single, dtype=np.float64)
        far = ~(squares < _FAR_SINGLE**2)
        if far.any():
            single = np.where(far[:, None], np.float32(0), single)
        squares[far], squares[blank] = _FAR_SINGLE**2, 1.0
        return cls(x, blank, single, np.sqrt(squares).astype(np.float32), squares.astype(np.float32))


def nearest_dense(rows: DenseRows, among: DenseRows, k: int, own: bool) -> Index:
    """Return the k nearest of `among` for each row; if `own`, they are the same rows, without the row itself.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[0.0], [1.0], [3.0]])
    >>> rows = DenseRows.of(x, np.zeros(3, dtype=bool), x.astype(np.float32))
    >>> nearest_dense(rows, rows, 1, own=True).ravel()
    array([1, 0, 1], dtype=int32)
    """
    m, n = len(rows.x), len(among.x)
    # d terms in each inner product, and a few roundings in the copy, the norms and the sums.
    terms = among.x.shape[1] + 16
    slack = np.float32(terms * np.finfo(np.float32).eps)
    floor = np.float32(terms * np.finfo(np.float32).tiny)
    far = np.float32(np.inf if own else _FAR_SINGLE)
    index = np.empty((m, k), dtype=np.int32)
    these = (rows.x, rows.blank, rows.lengths)
    others = (among.x, among.blank, among.lengths, among.squares)
    scratch: list[NDArray[np.float32]] = []  # used again, because mapping new memory takes time

    def search(first: int, last: int) -> None:
        blocks = list(row_blocks(n, 4, first, last))
        longest = max((stop - start for start, stop in blocks), default=0)
        buffer = scratch.pop() if scratch else np.empty((0, n), dtype=np.float32)
        if len(buffer) < longest:
            buffer = np.empty((longest, n), dtype=np.float32)
        for start, stop in blocks:
            products = np.matmul(rows.single[start:stop], among.single.T, out=buffer[: stop - start])
            exact_kernels.select_dense(
                products, these, others, slack, floor, far, own, start, k, 0, stop - start, index
            )
        scratch.append(buffer)

    with threads.libraries_on_one_thread():
        threads.for_ranges(search, m, grain=64, reported=True)
    return index


def nearest_sparse(
    rows: tuple[Any, NDArray[np.bool_]], among: tuple[Any, NDArray[np.bool_]], k: int, own: bool
) -> Index:
    """Return the k nearest of `among` for each row, both as CSR matrix and which rows are blank.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> rows = sparse.csr_array(np.array([[0.0], [1.0], [3.0]])), np.zeros(3, dtype=bool)
    >>> nearest_sparse(rows, rows, 1, own=True).ravel()
    array([1, 0, 1], dtype=int32)
    """
    (x, x_blank), (y, y_blank) = rows, among
    transpose = sparse.csr_array(y.T)
    squares = _squares(y, y_blank)
    lengths = np.sqrt(squares)
    own_lengths = lengths if own else np.minimum(np.sqrt(_squares(x, x_blank)), _FAR)
    # One of the two rows of a product is of `among`: there are no more terms than it has entries.
    longest = int(np.diff(y.indptr).max(initial=0))
    # Never so small that distances that count as equal could be on both sides of the limit.
    slack = max((longest + 16) * float(np.finfo(np.float64).eps), 1e-11)
    floor = (longest + 16) * float(np.finfo(np.float64).tiny)
    index = np.empty((x.shape[0], k), dtype=np.int32)
    these = (x.data, x.indices, x.indptr, x_blank, own_lengths)
    transposed = (transpose.data, transpose.indices, transpose.indptr)
    others = (y.data, y.indices, y.indptr, *transposed, y_blank, lengths, squares)
    far = np.inf if own else _FAR
    threads.for_ranges(
        lambda a, b: exact_kernels.select_sparse(these, others, slack, floor, far, own, k, a, b, index),
        x.shape[0],
        grain=64,
        reported=True,
    )
    return index


def _squares(x: sparse.csr_array, blank: NDArray[np.bool_]) -> NDArray[np.float64]:
    squares = row_squares(x)
    squares[blank] = 1.0
    return squares


def filled_up(index: Index, k: int) -> Index:
    """Return k columns: missing ones are -1."""
    return np.pad(index, ((0, 0), (0, k - index.shape[1])), constant_values=-1)


def nearest_given(
    block: Callable[[int, int], Floats], m: int, n: int, k: int, own: bool, largest_allowed: float = np.inf
) -> Index:
    """Return the columns of the k smallest values of each of m rows of n, a block of rows at a time.

    Parameters
    ----------
    block : callable
        Takes the first row and the one after the last, returns the values of these rows.
    m, n, k : int
        Number of rows, of columns, and of columns wanted.
    own : bool
        Whether row i and column i are the same sample, which is left out; missing columns are then i,
        otherwise -1.
    largest_allowed : float, default=inf
        Larger values are left out.

    Examples
    --------
    >>> import numpy as np
    >>> values = np.array([[0.0, 2.0, 1.0]])
    >>> nearest_given(lambda start, stop: values[start:stop], 1, 3, 4, own=False)
    array([[ 0,  2,  1, -1]], dtype=int32)
    """
    index = np.empty((m, k), dtype=np.int32)
    for start, stop in row_blocks(n, 8, 0, m):
        _select(block(start, stop), own, start, k, largest_allowed, index)
    return index


def _select(values: Floats, own: bool, start: int, k: int, largest_allowed: float, index: Index) -> None:
    threads.for_ranges(
        lambda a, b: exact_kernels.select_given(values, own, start, k, largest_allowed, a, b, index),
        len(values),
        grain=32,
    )


@dataclass(frozen=True, eq=False)
class Lists:
    """The nearest of each sample, of shape (n, k), and their squared differences."""

    nearest: Index
    squares: Floats

    @classmethod
    def empty(cls, n: int) -> Lists:
        """Return empty lists."""
        return cls(np.empty((n, 0), dtype=np.int32), np.empty((n, 0)))

    @classmethod
    def unfilled(cls, n: int, k: int, blank: NDArray[np.bool_]) -> Lists:
        """Return lists to be filled, except for samples without a direction: all others are equally far."""
        nearest, squares = np.empty((n, k), dtype=np.int32), np.zeros((n, k))
        alone = np.flatnonzero(blank)
        nearest[alone] = np.arange(k) + (np.arange(k) >= alone[:, None])
        squares[alone] = 2.0
        return cls(nearest, squares)


def middle_and_reach(x: Floats) -> tuple[Floats, float]:
    """Return the middle of rows, which a few far rows do not change, and how far entries are from it."""
    middle = np.median(x[:: max(1, len(x) // _TO_CENTER)], axis=0).astype(np.float64)
    highest, lowest = x.max(axis=0) - middle, x.min(axis=0) - middle
    return middle, max(float(highest.max()), -float(lowest.min())) or 1.0


def shifted_rows32(x: Floats, center: Any, largest: float) -> NDArray[np.float32]:
    """Return rows in single precision, shifted and scaled so that few digits are enough, block by block."""
    copies32 = np.empty(x.shape, dtype=np.float32)

    def shift(start: int, stop: int) -> None:
        with np.errstate(over="ignore"):  # new samples may be very far away
            part = x[start:stop] - center
            part /= largest
            copies32[start:stop] = part

    threads.for_ranges(shift, len(x), grain=4096)
    return copies32
