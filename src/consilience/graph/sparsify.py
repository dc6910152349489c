"""Keeping the strongest edges, and making a graph symmetric."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .. import threads
from ..neighbors.kernels import mark_largest
from . import edge_kernels
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
        lambda a, b: mark_largest(edges.indptr, values, k, a, b, kept), edges.n_samples, grain=1024
    )
    n = edges.n_samples
    indptr = np.zeros(n + 1, dtype=edges.indptr.dtype)
    threads.for_ranges(
        lambda a, b: edge_kernels.count_marked(edges.indptr, kept, indptr[1:], a, b), n, grain=1024
    )
    np.cumsum(indptr, out=indptr)
    indices, chosen = np.empty(indptr[-1], edges.indices.dtype), np.empty(indptr[-1], values.dtype)
    rows = edges.indptr, edges.indices, values, kept, indptr, indices, chosen
    threads.for_ranges(lambda a, b: edge_kernels.keep_marked(*rows, a, b), n, grain=1024)
    return sparse.csr_array((chosen, indices, indptr), shape=(n, n))


def symmetrize(graph: sparse.csr_array) -> sparse.csr_array:
    """Return (S + S') / 2 without stored zeros."""
    result = sparse.csr_array(graph + graph.T)
    result.data /= 2
    result.eliminate_zeros()
    return result
