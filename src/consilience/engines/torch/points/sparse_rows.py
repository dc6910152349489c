"""Rows in CSR form on the device, never made dense but in blocks: the same methods as dense rows."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch.nn.functional import embedding_bag

from ..device import Device
from ..segments import segment_sums
from .dense_rows import FAR, unit_of
from .precise import whole_sums

Tensor: TypeAlias = torch.Tensor

_SKETCH = 512  # columns of rows as the approximate search takes them
_EQUAL = 1e-12  # unit rows that differ by no more than this point the same way
_PAIR_BYTES = 96  # of temporary values for each entry of a pair of rows


class SparseRows:
    """Sparse rows as they are compared.

    Parameters
    ----------
    indptr : ndarray of int64 of shape (n + 1,)
        Where each row begins; here, because it says how large blocks are.
    columns, values : tensor of shape (n_entries,)
        The entries, int32 and in single or double precision; ascending in each row, none is 0.
    blank : tensor of bool of shape (n,)
        Which rows have no direction.
    is_unit : bool
        Whether all others are of unit length.
    n_columns : int
        Number of features.
    device : Device
        Where they are.
    """

    def __init__(
        self,
        indptr: NDArray[np.int64],
        columns: Tensor,
        values: Tensor,
        blank: Tensor,
        is_unit: bool,
        n_columns: int,
        device: Device,
    ) -> None:
        self.indptr, self.columns, self.values = indptr, columns, values
        self.blank, self.is_unit, self.n_columns, self.device = blank, is_unit, n_columns, device
        self.starts = device.put(indptr, torch.int64)
        self.counts = torch.diff(self.starts)
        self.longest = int(np.diff(indptr).max(initial=0))

    @classmethod
    def of(cls, x: Any, cosine: bool, device: Device) -> SparseRows:
        """Put a CSR matrix on the device, as its rows are compared."""
        x = sparse.csr_array(x, copy=True)
        x.sum_duplicates()
        x.eliminate_zeros()
        device.require(
            x.nnz * (x.dtype.itemsize + 16), "A sparse view", "Take fewer features, or use engine='numba'."
        )
        data, blank = _unit_data(x) if cosine else (x.data, np.zeros(x.shape[0], dtype=bool))
        parts = device.put(x.indices, torch.int32), device.put(data), device.put(blank)
        return cls(x.indptr.astype(np.int64), *parts, cosine, int(x.shape[1]), device)

    def __len__(self) -> int:
        return len(self.indptr) - 1

    is_searchable = False  # `searchable` gives copies in single precision

    @property
    def is_sketched(self) -> bool:
        """Whether `searchable` gives sketches."""
        return self.n_columns > _SKETCH

    @cached_property
    def places(self) -> Tensor:
        """The place of each entry in the matrix, row by row: ascending."""
        return self._rows * self.n_columns + self.columns

    @property
    def _rows(self) -> Tensor:
        return torch.repeat_interleave(self.counts, output_size=len(self.columns))

    def apart(self, i: Tensor, other: SparseRows, j: Tensor) -> Tensor:
        """Return the squared differences of these rows i and the other's rows j, pair by pair."""
        out = self.device.zeros(len(i))
        for a, b in self._pair_blocks(self.counts[i] + other.counts[j]):
            out[a:b] = self._apart(i[a:b], other, j[a:b])
        return torch.where(self.blank[i] | other.blank[j], 2.0, out) if self.is_unit else out

    def _pair_blocks(self, sizes: Tensor) -> list[tuple[int, int]]:
        """Return ranges of pairs of rows, of about equally many entries."""
        ends = torch.cumsum(sizes, 0)
        total = int(ends[-1]) if len(ends) else 0
        cuts = [stop for _, stop in self.device.blocks(max(total, 1), _PAIR_BYTES)]
        found = torch.searchsorted(
            ends, torch.tensor(cuts[:-1], dtype=torch.int64, device=ends.device), right=True
        ).tolist()
        bounds = sorted({0, *found, len(sizes)})
        # A pair of very many entries is a block of its own.
        return list(pairwise(bounds))

    def _apart(self, i: Tensor, other: SparseRows, j: Tensor) -> Tensor:
        """Return the same for a few pairs: sums of whole numbers, the same in both directions."""
        owner, source = spread(self.starts[i], self.counts[i])
        their_owner, their_source = spread(other.starts[j], other.counts[j])
        theirs = other.values[their_source].double()
        wanted = j[owner] * other.n_columns + self.columns[source]
        if len(theirs):
            place = torch.searchsorted(other.places, wanted).clamp_(max=len(other.places) - 1)
            both = other.places[place] == wanted
            shared = torch.where(both, other.values[place].double(), 0.0)
            # What both have is counted once: it is left out on their side.
            first = torch.cumsum(other.counts[j], 0) - other.counts[j]
            slot = torch.where(both, first[owner] + place - other.starts[j][owner], len(theirs))
            theirs = torch.cat([theirs, theirs.new_zeros(1)]).index_fill_(0, slot, 0.0)[:-1]
        else:
            shared = theirs.new_zeros(len(source))
        terms = torch.cat([self.values[source].double() - shared, theirs]).square_()
        return whole_sums(terms, torch.cat([owner, their_owner]), self.counts[i] + other.counts[j])

    def reordered(self, order: Tensor) -> SparseRows:
        """Return the rows in another order, or some of them."""
        _, source = spread(self.starts[order], self.counts[order])
        sizes = np.diff(self.indptr)[Device.get(order)]
        indptr = np.concatenate([[0], np.cumsum(sizes)])
        parts = self.columns[source], self.values[source], self.blank[order]
        return SparseRows(indptr, *parts, self.is_unit, self.n_columns, self.device)

    def total_variance(self) -> float:
        """Return the mean squared distance of the rows with a direction from their mean: in two passes."""
        n = len(self) - int(self.blank.sum())
        counts = torch.bincount(self.columns, minlength=self.n_columns)
        by_column = torch.argsort(self.columns, stable=True)
        indptr = torch.cat([counts.new_zeros(1), torch.cumsum(counts, 0)])
        means = segment_sums(self.values[by_column].double(), indptr) / n
        stored = (self.values.double() - means[self.columns.long()]).square_().sum()
        return float((stored + ((n - counts) * means.square()).sum()) / n)

    def are_equal(self) -> bool:
        """Say whether all rows are the same, or to rounding point the same way."""
        sizes = np.diff(self.indptr)
        if not (sizes == sizes[0]).all():
            return False
        columns, values = self.columns.view(len(self), -1), self.values.view(len(self), -1)
        if not sizes[0]:
            return True
        tolerance = _EQUAL if self.is_unit else 0.0
        return bool((columns == columns[:1]).all() and ((values - values[:1]).abs() <= tolerance).all())

    def searchable(self, rows: Tensor) -> Tensor:
        """Return some rows, dense and in single precision: sketches of them, if they have many columns.

        Each column goes to one of a few, with a sign, both always drawn the same way.
        """
        d, width = self.n_columns, min(self.n_columns, _SKETCH)
        rng = np.random.default_rng(0)
        places = np.arange(d) if d == width else rng.integers(0, width, d)
        signs = np.ones(d) if d == width else rng.choice(np.array([-1.0, 1.0]), d)
        table = self.device.zeros(d, width, dtype=torch.float32)
        table[self.device.arange(d), self.device.put(places)] = self.device.put(signs, torch.float32)
        out, factor = self.device.zeros(len(rows), width, dtype=torch.float32), self.factor
        for a, b in self.device.blocks(len(rows), 8 * width + 32 * max(1, len(self.columns) // len(self))):
            owner, source = spread(self.starts[rows[a:b]], self.counts[rows[a:b]])
            offsets = torch.searchsorted(owner, self.device.arange(b - a + 1))
            values = (self.values[source] * factor).float()
            out[a:b] = _bags(self.columns[source], values, offsets, table)
        return out

    @cached_property
    def factor(self) -> float:
        """The power of two that makes the entries 1 or less; those of unit rows stay as they are."""
        if self.is_unit:
            return 1.0
        largest = float(self.values.abs().max()) if len(self.values) else 0.0
        return unit_of(largest)

    def screen(self, dtype: torch.dtype) -> SparseScreen:
        """Return what gives lower bounds of distances to these rows."""
        return SparseScreen(self, dtype)


class SparseScreen:
    """Lower bounds of squared distances to sparse rows: see `DenseScreen`; nothing is shifted.

    Parameters
    ----------
    among : SparseRows
        The rows.
    dtype : torch.dtype
        The precision of the products.
    """

    def __init__(self, among: SparseRows, dtype: torch.dtype) -> None:
        self.among, self.dtype, self.factor = among, dtype, among.factor
        # One of the two rows of a product is of `among`: there are no more terms than it has entries.
        terms = among.longest + 16
        self.slack, self.floor = terms * torch.finfo(dtype).eps, terms * torch.finfo(dtype).tiny
        # Differences of rows have the terms of both.
        self.lost = 2 * (among.n_columns + 16) * torch.finfo(torch.float64).tiny
        self.row_bytes = float(among.n_columns * 16)
        self.column_bytes = 32.0 * len(among.columns) / max(1, len(among))

    def left(self, rows: SparseRows, numbers: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return some rows as columns (d, m) of a dense block, their squared lengths, which are too far."""
        owner, source = spread(rows.starts[numbers], rows.counts[numbers])
        values = (rows.values[source].double() * self.factor).to(self.dtype)
        offsets = torch.searchsorted(owner, rows.device.arange(len(numbers) + 1))
        squares = segment_sums(values.double().square(), offsets)
        if self.among.is_unit:
            squares = torch.ones_like(squares)
        far = ~(squares < FAR[self.dtype])
        block = rows.device.zeros(rows.n_columns, len(numbers), dtype=self.dtype)
        block[rows.columns[source].long(), owner] = torch.where(far[owner], 0.0, values)
        return block, squares, far

    def bounds(self, left: Tensor, start: int, stop: int) -> Tensor:
        """Return the entries b for consecutive rows, (m, stop - start)."""
        rows, (first, last) = self.among, self.among.indptr[[start, stop]].tolist()
        values = (rows.values[first:last].double() * self.factor).to(self.dtype)
        offsets = rows.starts[start : stop + 1] - first
        if rows.is_unit:
            squares = torch.ones(stop - start, dtype=torch.float64, device=left.device)
        else:
            squares = segment_sums(values.double().square(), offsets)
        products = _bags(rows.columns[first:last], values, offsets, left)
        products.mul_(-2).add_((squares * (1 - self.slack)).to(self.dtype)[:, None])
        return products.T.contiguous()


def spread(starts: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
    """Return the owner and the place of each entry of rows that begin at `starts`.

    Examples
    --------
    >>> spread(torch.tensor([5, 0]), torch.tensor([2, 1]))
    (tensor([0, 0, 1]), tensor([5, 6, 0]))
    """
    owner = torch.repeat_interleave(counts)
    before = torch.cumsum(counts, 0) - counts
    return owner, torch.arange(len(owner), device=owner.device) + (starts - before)[owner]


def _bags(columns: Tensor, values: Tensor, offsets: Tensor, table: Tensor) -> Tensor:
    """Return the product of a sparse matrix with a dense one, each row summed up in order."""
    if not len(columns):
        return table.new_zeros(len(offsets) - 1, table.shape[1])
    return embedding_bag(
        columns, table, offsets.int(), mode="sum", per_sample_weights=values, include_last_offset=True
    )


def _unit_data(x: sparse.csr_array) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the entries of rows of unit length, and which rows have none."""
    counts, data = np.diff(x.indptr), x.data.astype(np.float64)
    filled = counts > 0
    # First divided by the largest entry: squares of very large or small numbers would not be finite.
    if len(data):
        data /= np.repeat(np.maximum.reduceat(np.abs(data), x.indptr[:-1][filled]), counts[filled])
    squares = sparse.csr_array((data**2, x.indices, x.indptr), shape=x.shape)
    length = np.sqrt(np.asarray(squares.sum(axis=1)).ravel())  # row by row: whatever the other rows are
    return data / np.repeat(length, counts), ~filled
