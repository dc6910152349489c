"""Features as the approximate search takes them, and the lists that it returns."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ... import threads
from ...points.protocol import Floats, Index
from . import byte_products, region_kernels

Float32s = NDArray[np.float32]
Bytes = NDArray[np.int8]
_FINE = 0.01  # error of a squared distance, as a part of it, that rounding to bytes may make
_RANGE = 0.9999  # share of the entries that bytes must cover; larger ones are cut off
_MOST_COLUMNS = 1 << 16  # columns whose products, of bytes, add up to a number of 32 bits
_SKETCH = 512  # columns that centres of sparse rows have at most


class Arranged(Protocol):
    """Rows in the order in which they are searched.

    Squared norms and products are in the same unit; there may be more norms than rows: the additional ones
    are infinite. Products are taken only with columns between multiples of `panel`.
    """

    squares: Float32s
    panel: int

    def products(self, queries: Index, start: int, stop: int, out: Float32s) -> Float32s:
        """Return the products of the rows `queries` with those from start to stop, in `out`.

        `out` must have as many rows as `room_for` gives.
        """


class Rows(Arranged, Protocol):
    """Rows, dense or sparse: the methods that the search needs."""

    def __len__(self) -> int: ...

    def take(self, rows: NDArray[Any]) -> Rows:
        """Return some of the rows, in this order."""

    def arranged(self, order: Index) -> Arranged:
        """Return all rows in another order, ready for very many products."""

    def dense(self, rows: NDArray[Any]) -> Float32s:
        """Return some of the rows as an array, to compute centres."""

    def choose_precision(self, queries: Index, last: Index) -> None:
        """Choose how very many products are computed: fast, but so that neighbours do not change."""

    def center_products(self, start: int, stop: int, centers: Centers, out: Float32s) -> Float32s:
        """Return the products of the rows from start to stop with centres."""


class Centers:
    """Centres, with which rows are multiplied.

    Parameters
    ----------
    columns : ndarray of float32 of shape (d, m)
        The centres, as columns.
    """

    def __init__(self, columns: Float32s) -> None:
        self.columns = columns
        self._bytes: ByteCenters | None = None

    def as_bytes(self, step: float) -> ByteCenters:
        """Return the centres in multiples of a step, rounded to bytes; made once."""
        if self._bytes is None:
            self._bytes = ByteCenters(self.columns, step)
        return self._bytes


class ByteCenters:
    """Centres rounded to bytes."""

    def __init__(self, columns: Float32s, step: float) -> None:
        every = np.arange(columns.shape[1], dtype=np.int32)
        self._rows = ByteRows(np.ascontiguousarray(columns.T), every, step)
        self._step = np.float32(step)

    @property
    def panels(self) -> NDArray[np.uint8]:
        """The centres as `byte_products.multiply_panels` takes them."""
        return self._rows.panels

    def products(self, x: Float32s, out: Float32s) -> Float32s:
        """Return the products of rows with the centres."""
        rows = np.zeros((room_for(len(x)), self._rows.n_bytes), dtype=np.int8)
        starts = np.zeros(len(rows), dtype=np.int32)
        region_kernels.round_rows(x, self._step, rows, starts)
        found = np.empty((len(rows), len(self._rows.squares)), dtype=np.float32)
        self._rows.multiply(rows, starts, 0, len(self._rows.squares), found)
        return np.multiply(found[: len(x), : out.shape[1]], self._step**2, out=out)


class DenseRows32:
    """Dense rows in single precision.

    Parameters
    ----------
    x : ndarray of float32 of shape (n, d)
        The rows.
    step : float, default=None
        If set, very many products are computed from the rows in multiples of this, rounded to bytes.
    """

    panel = 1

    def __init__(self, x: Float32s, step: float | None = None) -> None:
        self.x, self.step, self.close = x, step, False
        self.squares: Float32s = np.einsum("ij,ij->i", x, x)

    def __len__(self) -> int:
        return len(self.x)

    def take(self, rows: NDArray[Any]) -> DenseRows32:
        """Return some of the rows, in this order."""
        return DenseRows32(self.x[rows])

    def are_sure(self, places: Index, k: int, apart: Floats) -> NDArray[np.bool_]:
        """Say for which rows no sample outside a list can be nearer than the k-th in it.

        The list is of those nearest in single precision, in this order, at the squared distances `apart`.
        """
        if apart.shape[1] == len(self) - 1:
            return np.ones(len(places), dtype=bool)
        kth, last = np.sort(apart, axis=1)[:, k - 1], apart[:, -1]
        length = 2 * np.sqrt(self.squares[places]) + np.sqrt(last)
        error = (self.x.shape[1] + 16) * np.finfo(np.float32).eps * length**2  # as in the exact search
        return np.asarray(last - 2 * error >= kth)

    def choose_precision(self, queries: Index, last: Index) -> None:
        """Choose to compute very many products from bytes, or relative to the middle of each region.

        Given some samples and the last of the nearest of each: the error of a squared distance must be small
        relative to its distance. Bytes may be precise enough; single precision may not be, where neighbours
        are much nearer than the middle of all.
        """
        some = self.x[queries]
        apart = some - self.x[last]
        squares = np.einsum("ij,ij->i", apart, apart)
        rounding = 8 * np.finfo(np.float32).eps * self.squares[queries]
        self.close = bool(np.mean((squares > 0) & (rounding > _FINE * squares)) > 0.05)
        if self.close or not byte_products.supported() or self.x.shape[1] > _MOST_COLUMNS:
            return
        reach = float(np.quantile(np.abs(some), _RANGE))
        step = reach / 127
        error = 2 * np.sqrt(2 / 12) * step
        if 0 < error <= _FINE * np.quantile(np.sqrt(squares), 0.05):
            self.step = step

    def arranged(self, order: Index) -> Arranged:
        """Return all rows in another order, in the form chosen."""
        if self.step is not None:
            return ByteRows(self.x, order, self.step)
        return CloseRows(self.x[order]) if self.close else self.take(order)

    def dense(self, rows: NDArray[Any]) -> Float32s:
        """Return some of the rows as an array."""
        return self.x[rows]

    def center_products(self, start: int, stop: int, centers: Centers, out: Float32s) -> Float32s:
        """Return the products of the rows from start to stop with centres."""
        x = self.x[start:stop]
        if self.step is None:
            return np.matmul(x, centers.columns, out=out)
        return centers.as_bytes(self.step).products(x, out)

    def products(self, queries: Index, start: int, stop: int, out: Float32s) -> Float32s:
        """Return the products of the rows `queries` with those from start to stop."""
        return np.matmul(self.x[queries], self.x[start:stop].T, out=out[: len(queries)])


class CloseRows:
    """Dense rows whose neighbours are much nearer than the middle of all.

    Squared norms relative to the middle of all would be too large for the few digits of single precision. So
    they count as 0 here, and a product is minus half of the squared distance, relative to the region's
    middle.
    """

    panel = 1

    def __init__(self, x: Float32s) -> None:
        self._x = x
        self.squares: Float32s = np.zeros(len(x), dtype=np.float32)

    def products(self, queries: Index, start: int, stop: int, out: Float32s) -> Float32s:
        """Return the values in place of products of the rows `queries` with those from start to stop."""
        middle = self._x[start:stop].mean(axis=0)
        rows, region = self._x[queries] - middle, self._x[start:stop] - middle
        out = np.matmul(rows, region.T, out=out[: len(queries)])
        out -= 0.5 * np.einsum("ij,ij->i", rows, rows)[:, None]
        out -= 0.5 * np.einsum("ij,ij->i", region, region)
        return out


class ByteRows:
    """Dense rows rounded to bytes, for a processor that multiplies these (see `byte_products`)."""

    panel = byte_products.PANEL

    def __init__(self, x: Float32s, order: Index, step: float) -> None:
        n, depth = len(order), -(-x.shape[1] // 4)
        n_panels = -(-n // self.panel)
        self.rows = np.zeros((n, 4 * depth), dtype=np.int8)
        self.starts = np.empty(n, dtype=np.int32)
        self.panels = byte_products.aligned_zeros((n_panels, depth, self.panel, 4))
        self.squares: Float32s = np.full(n_panels * self.panel, np.inf, dtype=np.float32)
        parts = self.rows, self.starts, self.panels, self.squares
        threads.for_ranges(
            lambda a, b: region_kernels.quantize_rows(x, order, np.float32(step), a, b, *parts), n, grain=1024
        )

    def products(self, queries: Index, start: int, stop: int, out: Float32s) -> Float32s:
        """Return the products of the rows `queries` with those from start to stop."""
        m, room = len(queries), room_for(len(queries))
        rows = np.empty((room, self.rows.shape[1]), dtype=np.int8)
        starts = np.empty(room, dtype=np.int32)
        np.take(self.rows, queries, axis=0, out=rows[:m], mode="clip")
        np.take(self.starts, queries, out=starts[:m], mode="clip")
        self.multiply(rows, starts, start, stop, out)
        return out[:m]

    @property
    def n_bytes(self) -> int:
        """Bytes of a row."""
        return int(self.rows.shape[1])

    def multiply(self, rows: Bytes, starts: Index, start: int, stop: int, out: Float32s) -> None:
        """Multiply other rows of bytes with those from start to stop."""
        byte_products.multiply_panels(rows, starts, self.panels, start // self.panel, stop // self.panel, out)


def room_for(n_rows: int) -> int:
    """Return how many rows the output of products must have for this number of rows."""
    return -(-n_rows // byte_products.GROUP) * byte_products.GROUP


class SparseRows32:
    """Sparse rows; centres are computed from a sketch of them, in which columns are added up at random.

    Parameters
    ----------
    x : csr_array of float32 of shape (n, d)
        The rows.
    sketch : csr_array of float32 of shape (n, m)
        The sketch; the rows themselves, if they have few columns.
    """

    panel = 1

    def __init__(self, x: sparse.csr_array, sketch: sparse.csr_array) -> None:
        self.x, self.sketch = x, sketch
        self.squares: Float32s = np.asarray((x * x).sum(axis=1), dtype=np.float32).ravel()

    @classmethod
    def of(cls, x: Any) -> SparseRows32:
        """Make the sketch: each column goes to one of a few, with a sign, both always drawn the same way."""
        # To a size at which squares are finite in single precision, too.
        largest = float(abs(x.data).max(initial=0)) or 1.0
        x = sparse.csr_array(((x.data / largest).astype(np.float32), x.indices, x.indptr), shape=x.shape)
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

    def take(self, rows: NDArray[Any]) -> SparseRows32:
        """Return some of the rows, in this order."""
        x = sparse.csr_array(self.x[rows])
        return SparseRows32(x, x if self.sketch is self.x else sparse.csr_array(self.sketch[rows]))

    def choose_precision(self, queries: Index, last: Index) -> None:
        """Leave the rows as they are."""

    def arranged(self, order: Index) -> SparseRows32:
        """Return all rows in another order."""
        return self.take(order)

    def dense(self, rows: NDArray[Any]) -> Float32s:
        """Return the sketch of some of the rows as an array."""
        return np.asarray(self.sketch[rows].toarray())

    def center_products(self, start: int, stop: int, centers: Centers, out: Float32s) -> Float32s:
        """Return the products of the sketches of the rows from start to stop with centres."""
        s = self.sketch
        region_kernels.sparse_center_products(s.data, s.indices, s.indptr, start, stop, centers.columns, out)
        return out

    def products(self, queries: Index, start: int, stop: int, out: Float32s) -> Float32s:
        """Return the products of the rows `queries` with those from start to stop."""
        x = self.x
        region_kernels.sparse_products(x.data, x.indices, x.indptr, x.shape[1], queries, start, stop, out)
        return out[: len(queries)]
