"""Keeping the strongest edges, and making a graph symmetric."""

# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .. import threads
from ..neighbors.kernels import without_last_digits
from .edges import EdgeSet


def keep_largest(edges: EdgeSet, values: NDArray[np.floating[Any]], k: int) -> sparse.csr_array:
    """Keep the k largest values of each row; of equal ones (to twelve digits) those with the lower column.

    Parameters
    ----------
    edges : EdgeSet
        The edges.
    values : ndarray of shape (n_edges,)
        A value for each.
    k : int
        How many to keep per row.

    Returns
    -------
    csr_array of shape (n_samples, n_samples)
        The graph of the edges kept; values of 0 are stored if they are among the k largest.
    """
    kept = np.zeros(edges.n_edges, dtype=bool)
    threads.for_ranges(
        lambda a, b: _mark_largest(edges.indptr, values, k, a, b, kept), edges.n_samples, grain=1024
    )
    indptr = np.concatenate([[0], np.cumsum(kept)])[edges.indptr]
    n = edges.n_samples
    return sparse.csr_array((values[kept], edges.indices[kept], indptr), shape=(n, n))


def symmetrize(graph: sparse.csr_array) -> sparse.csr_array:
    """Return (S + S') / 2 without stored zeros."""
    result = sparse.csr_array(graph + graph.T)
    result.data /= 2
    result.eliminate_zeros()
    return result


@nb.njit(nogil=True, cache=True)
def _mark_largest(indptr, values, k, first, last, kept):
    """Mark the k largest values of each row in [first, last)."""
    best, largest = np.empty(k, np.int64), np.empty(k, np.float64)
    for i in range(first, last):
        count = 0
        for p in range(indptr[i], indptr[i + 1]):
            value = without_last_digits(np.float64(values[p]))
            if count == k and value <= largest[k - 1]:
                continue
            place = min(count, k - 1)
            while place > 0 and largest[place - 1] < value:
                best[place] = best[place - 1]
                largest[place] = largest[place - 1]
                place -= 1
            best[place] = p
            largest[place] = value
            count = min(count + 1, k)
        for c in range(count):
            kept[best[c]] = True
