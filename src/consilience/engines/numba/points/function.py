"""A metric that the user gives as a function of two rows."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ....spaces.space import as_distance, no_distance, pair_label
from ...points.given import as_queries
from ...points.protocol import CompressedRows, Edges, Floats, Index, cross_edges
from ...results import Neighbors, SearchReport
from ..search.exact import nearest_given

Metric = Callable[[NDArray[Any], NDArray[Any]], float]


class FunctionPoints:
    """Distances by a function of two rows.

    It is called for every pair and direction, n^2 times for a search, by one thread: nothing is assumed, not
    even that it is symmetric. The value on the edge from sample i to sample j is ``metric(x[i], x[j])``; it
    is never called for a sample and itself.

    Parameters
    ----------
    x : ndarray of shape (n, d)
        Features: NaN for empty cells, the codes of categories, if there are any. The function gets rows of it
        that cannot be written to.
    metric : callable
        Takes two rows, returns their distance: a finite number, not negative.
    name : str
        The view's name, for messages.
    sample_ids : sequence, default=None
        Names of the samples, for messages; None: their numbers.

    Examples
    --------
    >>> import numpy as np
    >>> points = FunctionPoints(np.array([[0.0], [1.0], [3.0]]), lambda a, b: abs(a[0] - b[0]), "view")
    >>> points.nearest(1).lists.ravel()
    array([1, 0, 1], dtype=int32)
    """

    kind: Literal["distance"] = "distance"
    ranks_ties = False

    def __init__(
        self, x: Any, metric: Metric, name: str, sample_ids: Sequence[Any] | NDArray[Any] | None = None
    ) -> None:
        self.x = _unwritable(x)
        self.metric, self.name, self.sample_ids = metric, name, sample_ids

    def _measure(self, a: NDArray[Any], i: int, j: int, *, new: bool) -> float:
        """Return the distance from a row to sample j; the row is that of sample i, or of new sample i."""
        returned = self.metric(a, self.x[j])
        value = as_distance(returned)
        if np.isnan(value):
            raise no_distance(self.metric, returned, self.name, pair_label(self.sample_ids, i, j, new=new))
        return value

    def _row(self, i: int) -> Floats:
        others = range(len(self.x))
        return np.array([0.0 if i == j else self._measure(self.x[i], i, j, new=False) for j in others])

    def nearest(self, k: int, search: str = "exact") -> Neighbors:
        """Return each sample's k nearest others; always by comparing all pairs."""
        n = len(self.x)
        lists = nearest_given(lambda a, b: np.stack([self._row(i) for i in range(a, b)]), n, n, k, own=True)
        return Neighbors(lists, SearchReport(pairs=n - 1.0))

    def measure(self, edges: Edges, known: Any = None) -> Floats:
        """Return squared distances on the edges."""
        return self._lengths(self.x, edges, new=False) ** 2

    def _lengths(self, x: Floats, edges: Edges, start: int = 0, *, new: bool) -> Floats:
        """Return the distances on edges from these rows, the first of which is `start`, to placed ones."""
        rows = np.repeat(np.arange(len(x)), np.diff(edges.indptr)).tolist()
        pairs = zip(rows, edges.indices.tolist(), strict=True)
        return np.array([self._measure(x[i], start + i, j, new=new) for i, j in pairs], dtype=np.float64)

    def mean_over_pairs(self) -> float:
        """Return the mean over all pairs of the squared distances."""
        n = len(self.x)
        return sum(float((self._row(i) ** 2).sum()) for i in range(n)) / n**2

    def is_constant(self) -> bool:
        """Say whether all rows are the same."""
        first = self.x[0]
        return bool(np.all((self.x == first) | (np.isnan(self.x) & np.isnan(first))))

    def reordered(self, order: NDArray[np.intp]) -> FunctionPoints:
        """Return the points of the same samples in another order."""
        other = copy.copy(self)
        other.x = _unwritable(self.x[order])
        ids = range(len(order)) if self.sample_ids is None else self.sample_ids
        other.sample_ids = [ids[i] for i in order.tolist()]
        return other

    def query(self, rows: Any) -> FunctionQueries:
        """Put new samples next to these: the function is called with the new sample first."""
        return FunctionQueries(self, _unwritable(as_queries(rows, self.x, self.x.dtype, missing=True)))


class FunctionQueries:
    """New samples next to `FunctionPoints`."""

    kind: Literal["distance"] = "distance"

    def __init__(self, points: FunctionPoints, rows: Floats) -> None:
        self.points, self.x = points, rows

    def nearest(self, k: int) -> Index:
        """Return the k nearest placed samples for each new one."""
        m, n = len(self.x), len(self.points.x)

        def block(start: int, stop: int) -> Floats:
            all_samples = np.tile(np.arange(n), stop - start)
            edges = CompressedRows(np.arange(stop - start + 1) * n, all_samples)
            lengths = self.points._lengths(self.x[start:stop], edges, start, new=True)
            return lengths.reshape(stop - start, n)

        return nearest_given(block, m, n, k, own=False)

    def measure(self, edges: Edges) -> Floats:
        """Return squared distances on edges to placed samples."""
        edges = cross_edges(edges, len(self.x), len(self.points.x))
        return self.points._lengths(self.x, edges, new=True) ** 2


def _unwritable(x: Any) -> Any:
    view = x.view()
    view.flags.writeable = False
    return view
