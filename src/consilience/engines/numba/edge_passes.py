"""Passes over the edges, row by row, on several threads: union of lists, trust, keeping the strongest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...graphs import EdgeSet
from .. import threads
from . import edge_kernels
from .search.exact_kernels import mark_largest

Index = NDArray[np.integer[Any]]
Floats = NDArray[np.floating[Any]]
_GRAIN = 1024  # rows: below this many, starting a thread costs more than it saves


def unite(lists: Sequence[Index], mask: NDArray[np.bool_] | None) -> EdgeSet:
    """Return the union of the neighbour lists of several views, like `EdgeSet.union`."""
    members = np.concatenate(lists, axis=1)
    n = len(members)
    indptr = np.zeros(n + 1, dtype=np.int64)
    threads.for_ranges(lambda a, b: edge_kernels.sort_members(members, indptr[1:], a, b), n, _GRAIN)
    np.cumsum(indptr, out=indptr)
    edges = EdgeSet(indptr, np.empty(indptr[-1], dtype=members.dtype))
    threads.for_ranges(
        lambda a, b: edge_kernels.compress_rows(members, indptr, edges.indices, a, b), n, _GRAIN
    )
    return edges.judged_by(mask)


def product_of_ends(edges: EdgeSet, rows: Floats, dtype: Any) -> Floats:
    """Return, for each column of `rows` (n, v), the product of its values at both ends: (v, n_edges).

    0 where a view does not judge an edge.
    """
    out = np.empty((rows.shape[1], edges.n_edges), dtype=dtype)
    threads.for_ranges(
        lambda a, b: edge_kernels.multiply_ends(rows, edges.indptr, edges.indices, out, a, b),
        edges.n_samples,
        _GRAIN,
    )
    if edges.seen is not None:
        out[~edges.seen] = 0
    return out


def mark_strongest(edges: EdgeSet, values: Floats, k: int) -> NDArray[np.bool_]:
    """Mark the k largest values of each row; of equal ones (to twelve digits) those with the lower column."""
    kept = np.zeros(edges.n_edges, dtype=bool)
    threads.for_ranges(
        lambda a, b: mark_largest(edges.indptr, values, k, a, b, kept), edges.n_samples, _GRAIN
    )
    return kept


def keep_largest(
    edges: EdgeSet, values: Floats, k: int, shape: tuple[int, int] | None = None
) -> sparse.csr_array:
    """Return the graph of the k largest values of each row; values of 0 are stored if they are among them."""
    kept = mark_strongest(edges, values, k)
    n = edges.n_samples
    indptr = np.zeros(n + 1, dtype=edges.indptr.dtype)
    threads.for_ranges(
        lambda a, b: edge_kernels.count_marked(edges.indptr, kept, indptr[1:], a, b), n, _GRAIN
    )
    np.cumsum(indptr, out=indptr)
    indices, chosen = np.empty(indptr[-1], edges.indices.dtype), np.empty(indptr[-1], values.dtype)
    rows = edges.indptr, edges.indices, values, kept, indptr, indices, chosen
    threads.for_ranges(lambda a, b: edge_kernels.keep_marked(*rows, a, b), n, _GRAIN)
    return sparse.csr_array((chosen, indices, indptr), shape=(n, n) if shape is None else shape)
