"""A space that remembers what it was asked, for those who fit many models to the same views."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .spaces import CrossSpace, Edges, Floats, Index, Space

_EDGE_SETS = 4  # the answers for so many edge sets are kept


class RememberingSpace:
    """A space whose answers are computed once.

    Parameters
    ----------
    space : Space
        Who computes them.

    Examples
    --------
    >>> import numpy as np
    >>> from consilience.neighbors import as_space
    >>> space = RememberingSpace(as_space(np.array([[0.0], [1.0], [3.0]]), "euclidean"))
    >>> space.nearest(1).ravel()
    array([1, 0, 1], dtype=int32)
    """

    def __init__(self, space: Space) -> None:
        self.space, self.kind = space, space.kind
        self._nearest: Index | None = None
        self._on_edges: OrderedDict[bytes, Floats] = OrderedDict()
        self._mean: float | None = None
        self._is_constant: bool | None = None
        self._permuted: dict[bytes, RememberingSpace] = {}

    def nearest(self, k: int) -> Index:
        """Return each sample's k nearest others; fewer than were asked for before are the first of those."""
        if self._nearest is None or self._nearest.shape[1] < k:
            self._nearest = self.space.nearest(k)
        return self._nearest[:, :k].copy()

    def on_edges(self, edges: Edges) -> Floats:
        """Return squared distances, or similarities, on the edges."""
        digest = hashlib.blake2b(np.ascontiguousarray(edges.indptr).data)
        digest.update(np.ascontiguousarray(edges.indices).data)
        key = digest.digest()
        if key not in self._on_edges:
            self._on_edges[key] = self.space.on_edges(edges)
            if len(self._on_edges) > _EDGE_SETS:
                self._on_edges.popitem(last=False)
        self._on_edges.move_to_end(key)
        return self._on_edges[key].copy()

    def mean_over_pairs(self) -> float:
        """Return the mean over all pairs of samples."""
        if self._mean is None:
            self._mean = self.space.mean_over_pairs()
        return self._mean

    def is_constant(self) -> bool:
        """Say whether all samples look the same."""
        if self._is_constant is None:
            self._is_constant = self.space.is_constant()
        return self._is_constant

    def permuted(self, order: NDArray[np.intp]) -> Space:
        """Return the space of the same samples in another order; it remembers what it was asked, too."""
        key = order.tobytes()
        if key not in self._permuted:
            self._permuted = {key: RememberingSpace(self.space.permuted(order))}
        return self._permuted[key]

    def beside(self, queries: Any) -> CrossSpace:
        """Set new samples beside those of the space; nothing is remembered of them."""
        return self.space.beside(queries)
