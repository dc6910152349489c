"""A placed view that keeps its answers, for fitting many models to the same views."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..results import Neighbors
from .protocol import Edges, Floats, Kind, Points, Queries

_EDGE_SETS = 4  # the answers for this number of edge sets are kept


class CachedPoints:
    """Points whose answers are computed once.

    Parameters
    ----------
    points : Points
        The points that compute them.

    Examples
    --------
    >>> import numpy as np
    >>> from consilience.engines.numba.points.features import DensePoints
    >>> points = CachedPoints(DensePoints(np.array([[0.0], [1.0], [3.0]]), cosine=False))
    >>> points.nearest(1).lists.ravel()
    array([1, 0, 1], dtype=int32)
    """

    def __init__(self, points: Points) -> None:
        self.points = points
        self.kind: Kind = points.kind
        self.ranks_ties = points.ranks_ties
        self._found: dict[str, Neighbors] = {}
        self._measured: OrderedDict[bytes, Floats] = OrderedDict()
        self._mean: float | None = None
        self._is_constant: bool | None = None
        self._reordered: dict[bytes, CachedPoints] = {}

    def nearest(self, k: int, search: str = "exact") -> Neighbors:
        """Return each sample's k nearest others; from an earlier list if that is long enough."""
        found = self._found.get(search)
        if found is None or found.lists.shape[1] < k:
            found = self._found[search] = self.points.nearest(k, search)
        return replace(found, lists=found.lists[:, :k].copy())

    def measure(self, edges: Edges, known: Any = None) -> Floats:
        """Return squared distances, or similarities, on the edges."""
        digest = hashlib.blake2b(np.ascontiguousarray(edges.indptr).data)
        digest.update(np.ascontiguousarray(edges.indices).data)
        key = digest.digest()
        if key not in self._measured:
            self._measured[key] = self.points.measure(edges, known)
            if len(self._measured) > _EDGE_SETS:
                self._measured.popitem(last=False)
        self._measured.move_to_end(key)
        return self._measured[key].copy()

    def mean_over_pairs(self) -> float:
        """Return the mean over all pairs of samples."""
        if self._mean is None:
            self._mean = self.points.mean_over_pairs()
        return self._mean

    def is_constant(self) -> bool:
        """Say whether all samples look the same."""
        if self._is_constant is None:
            self._is_constant = self.points.is_constant()
        return self._is_constant

    def reordered(self, order: NDArray[np.intp]) -> Points:
        """Return the points of the same samples in another order; they keep their answers, too."""
        key = order.tobytes()
        if key not in self._reordered:
            self._reordered = {key: CachedPoints(self.points.reordered(order))}
        return self._reordered[key]

    def query(self, rows: Any) -> Queries:
        """Put new samples next to these; answers for them are not kept."""
        return self.points.query(rows)
