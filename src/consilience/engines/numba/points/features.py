"""Euclidean and cosine distance on features, dense or sparse; correlation, the cosine of centred rows."""

from __future__ import annotations

import copy
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ... import threads
from ...points.given import as_queries
from ...points.protocol import Edges, Floats, Index, cross_edges
from ...results import Neighbors, SearchReport
from ..search import exact_kernels, region_kernels
from ..search.approximate import FEWEST_SAMPLES, find_neighbors
from ..search.exact import (
    DenseRows,
    Lists,
    filled_up,
    middle_and_reach,
    nearest_dense,
    nearest_sparse,
    shifted_rows32,
)
from ..search.region_rows import DenseRows32, SparseRows32
from ..search.regions import SPARE, exact_sample
from .rows import centered_rows, row_squares, sparse_unit_rows, unit_rows


class DensePoints:
    """Euclidean or cosine distance on dense features, or correlation distance.

    Parameters
    ----------
    x : ndarray of shape (n, d)
        Features.
    cosine : bool
        Whether to measure 1 - cos. The distance to and from a row of zeros is 1.
    centered : bool, default=False
        Whether to subtract from each row its mean, which makes the cosine the correlation of two rows. The
        distance to and from a constant row is 1.
    name : str, default="view"
        The view's name, for messages.

    Examples
    --------
    >>> import numpy as np
    >>> points = DensePoints(np.array([[0.0], [1.0], [3.0]]), cosine=False)
    >>> points.nearest(1).lists.ravel()
    array([1, 0, 1], dtype=int32)
    >>> points.query(np.array([[2.5]])).nearest(2)
    array([[2, 1]], dtype=int32)
    """

    kind: Literal["distance"] = "distance"
    ranks_ties = False

    def __init__(self, x: Floats, cosine: bool, centered: bool = False, name: str = "view") -> None:
        self.cosine, self.centered, self.dtype, self.name = cosine, centered, x.dtype, name
        self.x, self.blank = self._measured(np.ascontiguousarray(x))

    def _measured(self, x: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the rows whose differences are measured, and which of them have no direction."""
        if not self.cosine:
            return x, np.zeros(len(x), dtype=bool)
        return unit_rows(centered_rows(x) if self.centered else x)

    def nearest(self, k: int, search: str = "exact") -> Neighbors:
        """Return each sample's k nearest others, or most of them if the search is approximate."""
        if search == "exact" or (search == "auto" and self.x.shape[0] < FEWEST_SAMPLES):
            return self.nearest_of_all(k)
        return find_neighbors(self, k, search)

    def nearest_of_all(self, k: int) -> Neighbors:
        """Return each sample's k nearest others, by comparing all pairs."""
        rows = self._searched(self.x, self.blank, self._shift())
        lists = nearest_dense(rows, rows, k, own=True)
        return Neighbors(lists, SearchReport(pairs=len(self.x) - 1.0))

    def _shift(self) -> tuple[Any, float]:
        """Return what to subtract from rows, and then the divisor, so that few digits are enough."""
        return (0.0, 1.0) if self.cosine else middle_and_reach(self.x)

    def _searched(self, x: Floats, blank: NDArray[np.bool_], shift: tuple[Any, float]) -> DenseRows:
        """Return rows with copies for the fast comparison: distances change at most by a common factor."""
        if self.cosine:
            return DenseRows.of(x, blank, x.astype(np.float32))
        return DenseRows.of(x, blank, shifted_rows32(x, *shift))

    def searchable(self, rows: Index) -> DenseRows32:
        """Return some rows, all with a direction, as the approximate search takes them."""
        x = self._some(rows)
        return DenseRows32(shifted_rows32(x, *middle_and_reach(x)))

    def _some(self, rows: Index) -> Floats:
        return self.x if len(rows) == len(self.x) else self.x[rows]

    def reach(self, rows: Index, features: DenseRows32, places: Index, k: int) -> Floats:
        """Return how far the k-th nearest of some of the rows is, squared; found by comparing all rows.

        `features` are the rows as they are searchable, `places` are of these.
        """
        x = self._some(rows)
        near = exact_sample(features, places, min(k + SPARE, len(rows) - 1))
        reach: Floats = np.sort(_squares_apart(x, places, near), axis=1)[:, k - 1]
        doubtful = ~features.are_sure(places, k, _squares_apart(features.x, places, near))
        if doubtful.any():
            asked = places[doubtful]
            every, some = np.zeros(len(x), dtype=bool), np.zeros(len(asked), dtype=bool)
            among = DenseRows.of(x, every, features.x)
            # With itself, which is at 0, there is one more.
            last = nearest_dense(DenseRows.of(x[asked], some, features.x[asked]), among, k + 1, own=False)
            reach[doubtful] = _squares_apart(x, asked, last[:, -1:])[:, 0]
        return reach

    def measure_lists(self, rows: Index, order: Index, lists: Index, k: int) -> Lists:
        """Return each sample's k nearest of those listed by the approximate search, measured exactly."""
        samples = rows[order]
        found = Lists.unfilled(len(self.x), k, self.blank)
        threads.for_ranges(
            lambda a, b: region_kernels.measure_lists(
                self.x, samples, lists, k, a, b, found.nearest, found.squares
            ),
            len(samples),
            grain=256,
        )
        return found

    def settle(self, found: Lists) -> None:
        """Leave the lists of the approximate search as they are."""

    def measure(self, edges: Edges, known: Lists | None = None) -> Floats:
        """Return squared distances on the edges; those in lists that are known are not measured again."""
        return self._measure(self.x, self.blank, edges, known)

    def _measure(
        self, x: Floats, blank: NDArray[np.bool_], edges: Edges, known: Lists | None = None
    ) -> Floats:
        """Return squared distances on edges from these rows to placed ones."""
        out = np.empty(len(edges.indices))
        known = Lists.empty(len(x)) if known is None else known
        parts = (
            (x, blank),
            (self.x, self.blank),
            (edges.indptr, edges.indices),
            (known.nearest, known.squares),
        )
        threads.for_ranges(
            lambda a, b: exact_kernels.edge_squares_dense(*parts, a, b, out), len(x), grain=256
        )
        return _half_squared(out) if self.cosine else out

    def mean_over_pairs(self) -> float:
        """Return the mean over all pairs of the squared distances, or of the cosine distances."""
        return _mean_over_pairs(self.x, self.blank, self.cosine)

    def is_constant(self) -> bool:
        """Say whether all rows are the same, or under cosine point the same way."""
        return rows_are_equal(self.x, self.cosine)

    def reordered(self, order: NDArray[np.intp]) -> DensePoints:
        """Return the points of the same samples in another order."""
        other = copy.copy(self)
        other.x, other.blank = self.x[order], self.blank[order]
        return other

    def query(self, rows: Any) -> DenseQueries:
        """Put new samples, with the same features, next to these."""
        return DenseQueries(self, as_queries(rows, self.x, self.dtype))


class DenseQueries:
    """New samples next to `DensePoints`."""

    kind: Literal["distance"] = "distance"

    def __init__(self, points: DensePoints, rows: Floats) -> None:
        self.points = points
        self.x, self.blank = points._measured(rows)

    def nearest(self, k: int) -> Index:
        """Return the k nearest placed samples for each new one."""
        points = self.points
        shift = points._shift()
        rows, among = (points._searched(one.x, one.blank, shift) for one in (self, points))
        return filled_up(nearest_dense(rows, among, min(k, len(points.x)), own=False), k)

    def measure(self, edges: Edges) -> Floats:
        """Return squared distances on edges to placed samples."""
        edges = cross_edges(edges, len(self.x), len(self.points.x))
        return self.points._measure(self.x, self.blank, edges)


class SparsePoints:
    """Euclidean or cosine distance on features in CSR form, which are never made dense.

    Parameters
    ----------
    x : CSR of shape (n, d)
        Features.
    cosine : bool
        Whether to measure 1 - cos. The distance to and from a row of zeros is 1.
    name : str, default="view"
        The view's name, for messages.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> points = SparsePoints(sparse.csr_array(np.array([[0.0], [1.0], [3.0]])), cosine=False)
    >>> points.nearest(1).lists.ravel()
    array([1, 0, 1], dtype=int32)
    """

    kind: Literal["distance"] = "distance"
    ranks_ties = False

    def __init__(self, x: sparse.csr_array, cosine: bool, name: str = "view") -> None:
        self.cosine, self.dtype, self.name = cosine, x.dtype, name
        self.x, self.blank = self._measured(x)

    def _measured(self, x: sparse.csr_array) -> tuple[sparse.csr_array, NDArray[np.bool_]]:
        return sparse_unit_rows(x) if self.cosine else (x, np.zeros(x.shape[0], dtype=bool))

    def nearest(self, k: int, search: str = "exact") -> Neighbors:
        """Return each sample's k nearest others, or most of them if the search is approximate."""
        if search == "exact" or (search == "auto" and self.x.shape[0] < FEWEST_SAMPLES):
            return self.nearest_of_all(k)
        return find_neighbors(self, k, search)

    def nearest_of_all(self, k: int) -> Neighbors:
        """Return each sample's k nearest others, by comparing all pairs."""
        rows = (self.x, self.blank)
        lists = nearest_sparse(rows, rows, k, own=True)
        return Neighbors(lists, SearchReport(pairs=self.x.shape[0] - 1.0))

    def searchable(self, rows: Index) -> SparseRows32:
        """Return some rows, all with a direction, as the approximate search takes them."""
        return SparseRows32.of(self._some(rows))

    def _some(self, rows: Index) -> sparse.csr_array:
        return self.x if len(rows) == self.x.shape[0] else sparse.csr_array(self.x[rows])

    def reach(self, rows: Index, features: SparseRows32, places: Index, k: int) -> Floats:
        """Return how far the k-th nearest of some of the rows is, squared; found by comparing all rows.

        `features` are the rows as they are searchable, `places` are of these.
        """
        x = self._some(rows)
        near = exact_sample(features, places, min(k + SPARE, len(rows) - 1))
        apart = x[np.repeat(places, near.shape[1])] - x[near.ravel()]
        return np.sort(row_squares(sparse.csr_array(apart)).reshape(near.shape), axis=1)[:, k - 1]

    def measure_lists(self, rows: Index, order: Index, lists: Index, k: int) -> Lists:
        """Return each sample's k nearest of those listed by the approximate search, measured exactly."""
        samples = rows[order]
        found = Lists.unfilled(self.x.shape[0], k, self.blank)
        x = self.x.data, self.x.indices, self.x.indptr
        threads.for_ranges(
            lambda a, b: region_kernels.measure_lists_sparse(
                *x, samples, lists, k, a, b, found.nearest, found.squares
            ),
            len(samples),
            grain=256,
        )
        return found

    def settle(self, found: Lists) -> None:
        """Replace samples with nothing in common in the lists by the first such ones: all are equally far."""
        if self.cosine:
            x = self.x.data, self.x.indices, self.x.indptr, self.blank
            threads.for_ranges(
                lambda a, b: region_kernels.list_first_of_far(*x, a, b, found.nearest, found.squares),
                self.x.shape[0],
                grain=256,
            )

    def measure(self, edges: Edges, known: Lists | None = None) -> Floats:
        """Return squared distances on the edges; those in lists that are known are not measured again."""
        return self._measure(self.x, self.blank, edges, known)

    def _measure(
        self, x: sparse.csr_array, blank: NDArray[np.bool_], edges: Edges, known: Lists | None = None
    ) -> Floats:
        """Return squared distances on edges from these rows to placed ones."""
        out = np.empty(len(edges.indices))
        known = Lists.empty(x.shape[0]) if known is None else known
        parts = (
            (x.data, x.indices, x.indptr, blank),
            (self.x.data, self.x.indices, self.x.indptr, self.blank),
            (edges.indptr, edges.indices),
            (known.nearest, known.squares),
        )
        threads.for_ranges(
            lambda a, b: exact_kernels.edge_squares_sparse(*parts, a, b, out), x.shape[0], grain=256
        )
        return _half_squared(out) if self.cosine else out

    def mean_over_pairs(self) -> float:
        """Return the mean over all pairs of the squared distances, or of the cosine distances."""
        return _mean_over_pairs(self.x, self.blank, self.cosine)

    def is_constant(self) -> bool:
        """Say whether all rows are the same, or under cosine point the same way."""
        return sparse_rows_are_equal(self.x, self.cosine)

    def reordered(self, order: NDArray[np.intp]) -> SparsePoints:
        """Return the points of the same samples in another order."""
        other = copy.copy(self)
        other.x, other.blank = sparse.csr_array(self.x[order]), self.blank[order]
        return other

    def query(self, rows: Any) -> SparseQueries:
        """Put new samples, with the same features, next to these."""
        return SparseQueries(self, as_queries(rows, self.x, self.dtype))


class SparseQueries:
    """New samples next to `SparsePoints`."""

    kind: Literal["distance"] = "distance"

    def __init__(self, points: SparsePoints, rows: sparse.csr_array) -> None:
        self.points = points
        self.x, self.blank = points._measured(rows)

    def nearest(self, k: int) -> Index:
        """Return the k nearest placed samples for each new one."""
        rows, among = (self.x, self.blank), (self.points.x, self.points.blank)
        return filled_up(nearest_sparse(rows, among, min(k, self.points.x.shape[0]), own=False), k)

    def measure(self, edges: Edges) -> Floats:
        """Return squared distances on edges to placed samples."""
        edges = cross_edges(edges, self.x.shape[0], self.points.x.shape[0])
        return self.points._measure(self.x, self.blank, edges)


def _squares_apart(x: Floats, places: Index, others: Index) -> Floats:
    """Return the squared distances of some rows to the others in their lists."""
    rows = x[places].astype(np.float64)
    return np.stack([((rows - x[column]) ** 2).sum(axis=1) for column in others.T], axis=1)


def _mean_over_pairs(x: Any, blank: NDArray[np.bool_], cosine: bool) -> float:
    """Return the mean over all pairs: squared differences, or 1 - cos of rows already of unit length.

    The squared differences of all pairs of m rows sum to 2 m^2 times their total variance, and 1 - cos is
    half of the squared difference. Rows of zeros are at 1 from every other, at 0 from themselves.
    """
    if not cosine:
        return 2.0 * _total_variance(x)
    n, n_blank = len(blank), int(blank.sum())
    share = 1.0 - n_blank / n  # of the rows that have a direction
    among_others = share**2 * _total_variance(x[~blank] if n_blank else x) if share else 0.0
    return among_others + (n_blank / n) * (1.0 + share) - n_blank / n**2


def _total_variance(x: Any) -> float:
    """Return the mean squared distance of the rows from their mean; two passes, to avoid cancellation."""
    if not sparse.issparse(x):
        return float(x.var(axis=0, dtype=np.float64).sum())
    n = x.shape[0]
    means = np.asarray(x.sum(axis=0, dtype=np.float64)).ravel() / n
    absent = n - np.bincount(x.indices, minlength=x.shape[1])
    stored = x.data - means[x.indices]
    # No products by BLAS: they would depend on its number of threads, in the last bit.
    return float((np.square(stored).sum() + (absent * means**2).sum()) / n)


def _half_squared(squares: Floats) -> Floats:
    """Turn squared differences of unit vectors, 2 (1 - cos), into squared cosine distances."""
    return (0.5 * squares) ** 2


def rows_are_equal(x: Any, to_rounding: bool = False) -> bool:
    """Say whether all rows of an array are the same; most often the first two decide."""
    if to_rounding:
        return bool(
            np.allclose(x[1:2], x[0], rtol=0, atol=1e-12) and np.allclose(x, x[0], rtol=0, atol=1e-12)
        )
    return bool(np.all(x[1:2] == x[0]) and np.all(x == x[0]))


def sparse_rows_are_equal(x: sparse.csr_array, to_rounding: bool = False) -> bool:
    """Say whether all rows of a CSR matrix are the same; stored zeros count as absent."""
    x = sparse.csr_array(x, copy=True)
    x.eliminate_zeros()
    n, count = x.shape[0], int(x.indptr[1])
    if x.nnz != n * count or not np.all(np.diff(x.indptr) == count):
        return False
    same_places = bool(np.all(x.indices.reshape(n, count) == x.indices[:count]))
    return count == 0 or (same_places and rows_are_equal(x.data.reshape(n, count), to_rounding))
