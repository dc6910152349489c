"""Placed views: the neighbours of each sample, and how far apart the ends of given edges are.

One class for each kind of metric, all with the methods of `Points`. Views of kind ``"distance"`` give squared
distances, those of kind ``"similarity"`` similarities. Memory is O(n) per block of rows; nothing of size
n x n is ever held, unless the user gave it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from ..results import Neighbors

Floats = NDArray[np.floating[Any]]
Index = NDArray[np.int32]
Kind = Literal["distance", "similarity"]
_BLOCK_BYTES = 1 << 21  # bytes of approximate distances at a time and thread: they stay in the cache;
_ENOUGH_ROWS, _MOST_BYTES = 64, 1 << 25  # but products of fewer rows would wait for memory


class Edges(Protocol):
    """What points need to know about an edge set: compressed rows."""

    @property
    def indptr(self) -> NDArray[Any]:
        """Where each row begins."""

    @property
    def indices(self) -> NDArray[Any]:
        """The other end of each edge."""


class Points(Protocol):
    """A placed view."""

    @property
    def kind(self) -> Kind:
        """What `measure` gives."""

    @property
    def ranks_ties(self) -> bool:
        """Whether equal values are ranked by what their ends have in common, as in sparse graphs."""

    def nearest(self, k: int, search: str = "exact") -> Neighbors:
        """Return each sample's k nearest others, of shape (n, k); its own number where there are fewer."""

    def measure(self, edges: Edges, known: Any = None) -> Floats:
        """Return squared distances, or similarities, on the edges."""

    def mean_over_pairs(self) -> float:
        """Return the mean over all n^2 pairs; see `Engine.mean_over_pairs`."""

    def is_constant(self) -> bool:
        """Say whether all samples look the same."""

    def reordered(self, order: NDArray[np.intp]) -> Points:
        """Return the points of the same samples in another order."""

    def query(self, rows: Any) -> Queries:
        """Put new samples, on the scale of the points, next to these; see `Engine.query`."""


class Queries(Protocol):
    """New samples next to a placed view."""

    @property
    def kind(self) -> Kind:
        """What `measure` gives."""

    def nearest(self, k: int) -> Index:
        """Return the k nearest placed samples for each new one, of shape (m, k).

        The order is that of `Points.nearest`, with all samples. Where there are fewer than k, or fewer of
        positive similarity, the rest is -1.
        """

    def measure(self, edges: Edges) -> Floats:
        """Return squared distances, or similarities, on edges from new samples to placed ones.

        The rows of `indptr` are new samples, `indices` are placed ones.
        """


@dataclass(frozen=True, eq=False)
class CompressedRows:
    """Edges in compressed rows: from new samples, or from some of the samples only."""

    indptr: NDArray[Any]
    indices: NDArray[Any]


def cross_edges(edges: Edges, m: int, n: int) -> CompressedRows:
    """Return edges from m new samples to n placed ones, checked, in the index types of an EdgeSet.

    Examples
    --------
    >>> import numpy as np
    >>> edges = CompressedRows(np.array([0, 1]), np.array([7]))
    >>> cross_edges(edges, 1, 5)
    Traceback (most recent call last):
    ...
    ValueError: An edge leads to sample 7, and the view has samples 0 to 4.
    """
    # So that nothing is compiled again for other types.
    indptr, indices = edges.indptr.astype(np.int64), edges.indices.astype(np.int32)
    if len(indptr) != m + 1:
        raise ValueError(f"The edges are of {len(indptr) - 1} new samples, there are {m}.")
    outside = (indices < 0) | (indices >= n)
    if outside.any():
        at_fault = int(indices[int(np.argmax(outside))])
        raise ValueError(f"An edge leads to sample {at_fault}, and the view has samples 0 to {n - 1}.")
    return CompressedRows(indptr, indices)


def row_blocks(n: int, itemsize: int, first: int = 0, last: int | None = None) -> Iterator[tuple[int, int]]:
    """Split the rows [first, last), of n items each, into blocks of bounded size."""
    last = n if last is None else last
    most, enough = (max(8, size // (itemsize * n)) for size in (_BLOCK_BYTES, _MOST_BYTES))
    rows = max(most, min(_ENOUGH_ROWS, enough))
    for start in range(first, last, rows):
        yield start, min(last, start + rows)
