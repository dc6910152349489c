r"""Distances over the columns that two samples both have: mixed types, and empty cells.

Gower's distance [1]_ of two samples is the mean, over the columns in which neither has an empty cell, of
their distances by each column, which are between 0 and 1:

.. math::

    d_{ij} = \frac{\sum_f \delta_{ijf} \, d_{ijf}}{\sum_f \delta_{ijf}}, \qquad
    d_{ijf} = \begin{cases} |x_{if} - x_{jf}| / r_f & \text{numbers and ranks} \\
    [x_{if} \ne x_{jf}] & \text{categories} \end{cases}

with :math:`\delta_{ijf}` whether both have column f and :math:`r_f` the range of its values. A column whose
values are all the same gives 0.

References
----------
.. [1] J. C. Gower, "A General Coefficient of Similarity and Some of Its Properties", Biometrics 27, 1971.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ....spaces.space import gower_ranges, pair_label, undefined_distance
from ... import threads
from ...points.given import as_queries
from ...points.protocol import Edges, Floats, Index, cross_edges, row_blocks
from ...results import Neighbors, SearchReport
from ..search import exact_kernels
from . import cell_kernels


class GowerPoints:
    """Gower's distance: numbers, ranks and categories, with empty cells.

    Two samples that have no column in common are at distance 1, by definition: the largest possible.

    Parameters
    ----------
    x : ndarray of shape (n, d)
        Numbers; the codes of categories; the ranks 0, 1, 2, ... of ordinal columns. NaN is an empty cell.
    kinds : sequence of {"numeric", "categorical", "ordinal"}, or None
        What each column is; None: all are numbers.
    name : str
        The view's name, for messages.
    sample_ids : sequence, default=None
        Names of the samples, for messages; None: their numbers.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[0.0, 1.0], [4.0, 1.0], [np.nan, 2.0], [3.0, 2.0]])
    >>> points = GowerPoints(x, ("numeric", "categorical"), "patients")
    >>> points.nearest(1).lists.ravel()
    array([1, 0, 3, 2], dtype=int32)
    """

    kind: Literal["distance"] = "distance"
    ranks_ties = False
    _euclidean = False

    def __init__(
        self,
        x: Any,
        kinds: Sequence[str] | None,
        name: str,
        sample_ids: Sequence[Any] | NDArray[Any] | None = None,
    ) -> None:
        self.x: NDArray[np.float64] = np.ascontiguousarray(x, dtype=np.float64)
        self.name, self.sample_ids = name, sample_ids
        known = np.isfinite(self.x)
        self.lowest = np.where(known, self.x, np.inf).min(axis=0, initial=np.inf)
        self.highest = np.where(known, self.x, -np.inf).max(axis=0, initial=-np.inf)
        self.ranges = self._ranges(kinds)

    def _ranges(self, kinds: Sequence[str] | None) -> NDArray[np.float64]:
        return gower_ranges(self.lowest, self.highest, kinds, self.name)

    def nearest(self, k: int, search: str = "exact") -> Neighbors:
        """Return each sample's k nearest others; always by comparing all pairs."""
        return Neighbors(self._nearest(self.x, k, own=True), SearchReport(pairs=len(self.x) - 1.0))

    def _nearest(self, x: Floats, k: int, own: bool) -> Index:
        columns, n = np.ascontiguousarray(self.x.T), len(self.x)
        index = np.empty((len(x), k), dtype=np.int32)

        def search(first: int, last: int) -> None:
            for start, stop in row_blocks(n, 8, first, last):
                block = self._block(x, columns, start, stop, own)
                exact_kernels.select_given(block, own, start, k, np.inf, 0, stop - start, index)

        threads.for_ranges(search, len(x), grain=32)
        return index

    def _block(self, x: Floats, columns: Floats, start: int, stop: int, own: bool) -> Floats:
        """Return the distances of some rows to all samples."""
        block = np.empty((stop - start, len(self.x)))
        cell_kernels.fill_rows(x, columns, self.ranges, self._euclidean, start, stop, block)
        if own:
            block[np.arange(stop - start), np.arange(start, stop)] = 0.0
        if self._euclidean and np.isnan(block).any():
            i, j = divmod(int(np.argmax(np.isnan(block))), len(self.x))
            self._refuse(start + i, j, own)
        return block

    def measure(self, edges: Edges, known: Any = None) -> Floats:
        """Return squared distances on the edges."""
        return self._measure(self.x, edges, own=True)

    def _measure(self, x: Floats, edges: Edges, own: bool) -> Floats:
        out = np.empty(len(edges.indices))
        threads.for_ranges(
            lambda a, b: cell_kernels.fill_edges(
                x, self.x, self.ranges, self._euclidean, edges.indptr, edges.indices, a, b, out
            ),
            len(x),
            grain=256,
        )
        if not self._euclidean:
            return out * out
        if np.isnan(out).any():
            place = int(np.argmax(np.isnan(out)))
            i = int(np.searchsorted(edges.indptr, place, side="right")) - 1
            self._refuse(i, int(edges.indices[place]), own)
        return out

    def _refuse(self, i: int, j: int, own: bool) -> None:
        pair = pair_label(self.sample_ids, i, j, new=not own)
        raise undefined_distance("nan_euclidean", self.name, pair)

    def mean_over_pairs(self) -> float:
        """Return the mean over all pairs of the squared distances."""
        columns, n = np.ascontiguousarray(self.x.T), len(self.x)
        sums = np.empty(n)

        def add(first: int, last: int) -> None:
            for start, stop in row_blocks(n, 8, first, last):
                block = self._block(self.x, columns, start, stop, own=True)
                sums[start:stop] = (block if self._euclidean else block * block).sum(axis=1)

        threads.for_ranges(add, n, grain=32)
        return float(sums.sum()) / n**2

    def is_constant(self) -> bool:
        """Say whether no column distinguishes samples; which cells are empty does not count."""
        return not bool(np.any(self.highest > self.lowest))

    def reordered(self, order: NDArray[np.intp]) -> GowerPoints:
        """Return the points of the same samples in another order."""
        other = copy.copy(self)
        other.x = self.x[order]
        ids = range(len(order)) if self.sample_ids is None else self.sample_ids
        other.sample_ids = [ids[i] for i in order.tolist()]
        return other

    def query(self, rows: Any) -> CellQueries:
        """Put new samples next to these; outside the range of its values a column gives more than 1."""
        return CellQueries(self, as_queries(rows, self.x, np.float64, missing=True))


class NanEuclideanPoints(GowerPoints):
    r"""Euclidean distance over the columns that two samples both have, scaled up to all columns.

    The squared distance is :math:`d / |C|` times the sum of squares over the common columns C, as in
    scikit-learn's `nan_euclidean_distances`. Two samples without a common column are an error.

    Parameters
    ----------
    x : ndarray of shape (n, d)
        Features; NaN is an empty cell.
    name : str
        The view's name, for messages.
    sample_ids : sequence, default=None
        Names of the samples, for messages; None: their numbers.

    Examples
    --------
    >>> import numpy as np
    >>> points = NanEuclideanPoints(np.array([[0.0, 1.0], [4.0, np.nan], [3.0, 2.0]]), "sizes")
    >>> points.nearest(1).lists.ravel()
    array([2, 2, 1], dtype=int32)
    """

    _euclidean = True

    def __init__(self, x: Any, name: str, sample_ids: Sequence[Any] | NDArray[Any] | None = None) -> None:
        super().__init__(x, None, name, sample_ids)

    def _ranges(self, kinds: Sequence[str] | None) -> NDArray[np.float64]:
        return np.ones(self.x.shape[1])


class CellQueries:
    """New samples next to `GowerPoints`."""

    kind: Literal["distance"] = "distance"

    def __init__(self, points: GowerPoints, rows: Floats) -> None:
        self.points, self.x = points, rows

    def nearest(self, k: int) -> Index:
        """Return the k nearest placed samples for each new one."""
        return self.points._nearest(self.x, k, own=False)

    def measure(self, edges: Edges) -> Floats:
        """Return squared distances on edges to placed samples."""
        return self.points._measure(self.x, cross_edges(edges, len(self.x), len(self.points.x)), own=False)
