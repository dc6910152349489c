"""Features as the approximate search takes them, and the lists that it ends with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .. import threads
from . import region_kernels
from .spaces import Floats, Index

Singles = NDArray[np.float32]
_SKETCH = 512  # columns that centres of sparse rows have at most


class Rows(Protocol):
    """Rows in single precision, dense or sparse: all that the search asks of them."""

    squares: Singles

    def __len__(self) -> int: ...

    def take(self, rows: NDArray[Any]) -> Rows:
        """Return some of the rows, in this order."""

    def dense(self, rows: NDArray[Any]) -> Singles:
        """Return some of the rows as an array, for centres to be made of."""

    def center_products(self, start: int, stop: int, centers: Singles, out: Singles) -> Singles:
        """Return the products of the rows from start to stop with centres, which are columns."""

    def products(self, queries: Index, start: int, stop: int, out: Singles) -> Singles:
        """Return the products of the rows `queries` with those from start to stop."""


class DenseSingles:
    """Dense rows."""

    def __init__(self, x: Singles) -> None:
        self.x = x
        self.squares: Singles = np.einsum("ij,ij->i", x, x)

    def __len__(self) -> int:
        return len(self.x)

    def take(self, rows: NDArray[Any]) -> DenseSingles:
        """Return some of the rows, in this order."""
        return DenseSingles(self.x[rows])

    def dense(self, rows: NDArray[Any]) -> Singles:
        """Return some of the rows as an array."""
        return self.x[rows]

    def center_products(self, start: int, stop: int, centers: Singles, out: Singles) -> Singles:
        """Return the products of the rows from start to stop with centres, which are columns."""
        return np.matmul(self.x[start:stop], centers, out=out)

    def products(self, queries: Index, start: int, stop: int, out: Singles) -> Singles:
        """Return the products of the rows `queries` with those from start to stop."""
        return np.matmul(self.x[queries], self.x[start:stop].T, out=out)


class SparseSingles:
    """Sparse rows; centres are made of a sketch of them, in which columns are added up at random.

    Parameters
    ----------
    x : csr_array of float32 of shape (n, d)
        The rows.
    sketch : csr_array of float32 of shape (n, m)
        The sketch; the rows themselves, if they have few columns.
    """

    def __init__(self, x: sparse.csr_array, sketch: sparse.csr_array) -> None:
        self.x, self.sketch = x, sketch
        self.squares: Singles = np.asarray((x * x).sum(axis=1), dtype=np.float32).ravel()

    @classmethod
    def of(cls, x: Any) -> SparseSingles:
        """Make the sketch: each column goes to one of a few, with a sign, both drawn once and for all."""
        x = sparse.csr_array(x, dtype=np.float32)
        if x.shape[1] <= _SKETCH:
            return cls(x, x)
        rng = np.random.default_rng(0)
        place, sign = (
            rng.integers(0, _SKETCH, x.shape[1]),
            rng.choice(np.array([-1, 1], dtype=np.float32), x.shape[1]),
        )
        ones = sparse.csr_array((sign, place, np.arange(x.shape[1] + 1)), shape=(x.shape[1], _SKETCH))
        return cls(x, sparse.csr_array(x @ ones))

    def __len__(self) -> int:
        return int(self.x.shape[0])

    def take(self, rows: NDArray[Any]) -> SparseSingles:
        """Return some of the rows, in this order."""
        x = sparse.csr_array(self.x[rows])
        return SparseSingles(x, x if self.sketch is self.x else sparse.csr_array(self.sketch[rows]))

    def dense(self, rows: NDArray[Any]) -> Singles:
        """Return the sketch of some of the rows as an array."""
        return np.asarray(self.sketch[rows].toarray())

    def center_products(self, start: int, stop: int, centers: Singles, out: Singles) -> Singles:
        """Return the products of the sketches of the rows from start to stop with centres."""
        s = self.sketch
        region_kernels.sparse_center_products(s.data, s.indices, s.indptr, start, stop, centers, out)
        return out

    def products(self, queries: Index, start: int, stop: int, out: Singles) -> Singles:
        """Return the products of the rows `queries` with those from start to stop."""
        x = self.x
        region_kernels.sparse_products(x.data, x.indices, x.indptr, x.shape[1], queries, start, stop, out)
        return out


@dataclass(frozen=True, eq=False)
class Lists:
    """The nearest of each sample, of shape (n, k), and their squared differences."""

    nearest: Index
    squares: Floats

    @classmethod
    def unfilled(cls, n: int, k: int, blank: NDArray[np.bool_]) -> Lists:
        """Return lists to be filled in, but for samples without a direction: all others are equally far."""
        nearest, squares = np.empty((n, k), dtype=np.int32), np.zeros((n, k))
        alone = np.flatnonzero(blank)
        nearest[alone] = np.arange(k) + (np.arange(k) >= alone[:, None])
        squares[alone] = 2.0
        return cls(nearest, squares)


def shifted_singles(x: Floats, center: Any, largest: float) -> Singles:
    """Return rows in single precision, moved and scaled to make the most of few digits, block by block."""
    singles = np.empty(x.shape, dtype=np.float32)

    def shift(start: int, stop: int) -> None:
        with np.errstate(over="ignore"):  # new samples may be anywhere
            part = x[start:stop] - center
            part /= largest
            singles[start:stop] = part

    threads.for_ranges(shift, len(x), grain=4096)
    return singles
