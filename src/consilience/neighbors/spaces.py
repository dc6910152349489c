"""A view as a space: who is near whom, and how far apart the ends of given edges are.

Every space has the same methods, first of all `nearest(k)` and `on_edges(edges)`, and a `kind`:
``"distance"`` spaces give squared distances, ``"similarity"`` spaces give similarities. Searches are
exact; distances that agree to twelve digits count as equal, and of equal ones the lower index is nearer (in
sparse graphs `ties` has a better rule).
Memory is O(n) per block of rows; nothing of size n x n is ever held, unless the user brought it.

New samples are set beside those of a space: `beside(queries)` answers the same two questions about them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.floating[Any]]
Index = NDArray[np.int32]
_BLOCK_BYTES = 1 << 21  # of approximate distances at a time and thread: they stay in the cache;
_ENOUGH_ROWS, _MOST_BYTES = 64, 1 << 25  # but products of fewer rows would wait for the others to be read


class Edges(Protocol):
    """What a space needs to know of an edge set: compressed rows."""

    @property
    def indptr(self) -> NDArray[Any]:
        """Where each row begins."""

    @property
    def indices(self) -> NDArray[Any]:
        """The other end of each edge."""


class Space(Protocol):
    """A view as a space."""

    @property
    def kind(self) -> Literal["distance", "similarity"]:
        """What `on_edges` gives."""

    def nearest(self, k: int) -> Index:
        """Return each sample's k nearest others, of shape (n, k); its own index where there are fewer."""

    def on_edges(self, edges: Edges) -> Floats:
        """Return squared distances, or similarities, on the edges."""

    def mean_over_pairs(self) -> float:
        """Return the mean over all n^2 pairs, those of a sample with itself counting as 0.

        The mean of what `on_edges` gives, squared distances or similarities; but for cosine, and for
        correlation, which is the cosine of centred rows, that of the distances 1 - cos themselves, not
        squared. So it has a closed form for these and for Euclidean, O(n d).
        """

    def is_constant(self) -> bool:
        """Say whether all samples look the same."""

    def permuted(self, order: NDArray[np.intp]) -> Space:
        """Return the space of the same samples in another order."""

    def beside(self, queries: Any) -> CrossSpace:
        """Set new samples beside those of the space.

        Parameters
        ----------
        queries : ndarray or sparse matrix of shape (m, d)
            New samples, by the same features on the same scale; for a view that is a matrix between samples,
            their distances or similarities to the n samples of the space, of shape (m, n).

        Returns
        -------
        CrossSpace
            What is said of one new sample does not depend on the others. A sample of the space that comes
            again as a new one is at exactly what `on_edges` says from all others, and at exactly 0 from
            itself: but under cosine and correlation a row without direction is at 1 from everybody, and by
            a few metrics, such as Russell-Rao, samples are not at 0 from themselves.
        """


class CrossSpace(Protocol):
    """New samples beside those of a space."""

    @property
    def kind(self) -> Literal["distance", "similarity"]:
        """What `on_edges` gives."""

    def nearest(self, k: int) -> Index:
        """Return the k nearest samples of the space for each new one, of shape (m, k).

        The order is that of `Space.nearest`; nobody is left out. Where there are fewer than k, or fewer of
        positive similarity, the rest is -1.
        """

    def on_edges(self, edges: Edges) -> Floats:
        """Return squared distances, or similarities, on edges from new samples to those of the space.

        Parameters
        ----------
        edges : Edges
            The rows of `indptr` are new samples, `indices` are samples of the space.
        """


def nearest_in_order(space: Space, k: int, order: NDArray[np.intp]) -> Index:
    """Return each sample's k nearest others; of equally near ones those that come first in the order."""
    found = space.permuted(order).nearest(k)
    result = np.empty_like(found)
    result[order] = order[found]
    return result


class SeenSpace:
    """A space that has seen only some of the samples; the others have no neighbours in it.

    Parameters
    ----------
    space : Space
        The samples seen, in order.
    seen : ndarray of bool of shape (n,)
        Which of all samples those are.
    pairwise : bool, default=False
        Whether the view is a matrix between samples: new ones are then given by what they are to all samples.
    """

    def __init__(self, space: Space, seen: NDArray[np.bool_], pairwise: bool = False) -> None:
        self.space, self.seen, self.pairwise, self.kind = space, seen, pairwise, space.kind

    def nearest(self, k: int) -> Index:
        """Return each sample's k nearest others; its own index where there are fewer."""
        members = np.flatnonzero(self.seen).astype(np.int32)
        index = np.repeat(np.arange(len(self.seen), dtype=np.int32)[:, None], k, axis=1)
        k_here = min(k, len(members) - 1)
        if k_here > 0:
            index[members, :k_here] = members[self.space.nearest(k_here)]
        return index

    def on_edges(self, edges: Edges) -> Floats:
        """Return values on the edges, 0 on those with an end that was not seen."""
        rows = np.repeat(np.arange(len(self.seen)), np.diff(edges.indptr))
        judged = self.seen[rows] & self.seen[edges.indices]
        number = np.cumsum(self.seen) - 1  # of each sample among those seen
        counts = np.bincount(number[rows[judged]], minlength=max(int(self.seen.sum()), 1))
        # The index types of an EdgeSet, so that nothing is compiled again for others.
        inner = CompressedRows(
            np.concatenate([[0], np.cumsum(counts)]), number[edges.indices[judged]].astype(np.int32)
        )
        out = np.zeros(len(edges.indices))
        out[judged] = self.space.on_edges(inner)
        return out

    def mean_over_pairs(self) -> float:
        """Return the mean over all pairs of samples seen."""
        return self.space.mean_over_pairs()

    def is_constant(self) -> bool:
        """Say whether all samples seen look the same."""
        return self.space.is_constant()

    def permuted(self, order: NDArray[np.intp]) -> SeenSpace:
        """Return the space of the same samples in another order."""
        number = np.cumsum(self.seen) - 1  # of each sample among those seen
        inner = self.space.permuted(number[order[self.seen[order]]])
        return SeenSpace(inner, self.seen[order], self.pairwise)

    def beside(self, queries: Any) -> CrossSpace:
        """Set new samples, all of which the view has seen, beside those of the space."""
        if self.pairwise:
            if queries.shape[1] != len(self.seen):
                raise ValueError(
                    f"New samples are given by {queries.shape[1]} numbers each, one for each of the "
                    f"{len(self.seen)} samples of the view is needed."
                )
            queries = sparse.csr_array(queries) if sparse.issparse(queries) else queries
            queries = queries[:, np.flatnonzero(self.seen) if self.seen.any() else [0]]
        return _SeenCross(self.space.beside(queries), queries.shape[0], self.seen)


class _SeenCross:
    """New samples beside those that a view has seen."""

    def __init__(self, cross: CrossSpace, m: int, seen: NDArray[np.bool_]) -> None:
        self.cross, self.m, self.seen, self.kind = cross, m, seen, cross.kind

    def nearest(self, k: int) -> Index:
        """Return the k nearest samples that were seen."""
        members = np.flatnonzero(self.seen).astype(np.int32)
        if not len(members):
            return np.full((self.m, k), -1, dtype=np.int32)
        found = self.cross.nearest(k)
        return np.where(found < 0, np.int32(-1), members[found])

    def on_edges(self, edges: Edges) -> Floats:
        """Return values on the edges, 0 on those to a sample that was not seen."""
        edges = cross_edges(edges, self.m, len(self.seen))
        judged = self.seen[edges.indices]
        starts = np.concatenate([[0], np.cumsum(judged)])
        number = np.cumsum(self.seen) - 1  # of each sample among those seen
        inner = CompressedRows(starts[edges.indptr], number[edges.indices[judged]].astype(np.int32))
        out = np.zeros(len(judged))
        out[judged] = self.cross.on_edges(inner)
        return out


class CompressedRows:
    """Edges from new samples to those of a space, or of some of its samples only."""

    def __init__(self, indptr: NDArray[Any], indices: NDArray[Any]) -> None:
        self.indptr, self.indices = indptr, indices


def cross_edges(edges: Edges, m: int, n: int) -> CompressedRows:
    """Return edges from m new samples to n old ones, in the index types of an EdgeSet, if they are that.

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


def rows_are_equal(x: Any, to_rounding: bool = False) -> bool:
    """Say whether all rows of an array are the same; most often the first two tell."""
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
