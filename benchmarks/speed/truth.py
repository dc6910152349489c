"""The true neighbours of some rows, and the share of them that a search has found."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

K, N_QUERIES = 10, 1000
_AT_ONCE = 50  # queries that are compared with all rows


def drawn_queries(n: int) -> NDArray[np.intp]:
    """Return the rows whose neighbours are looked at: 1,000 of all, always the same."""
    return np.sort(np.random.default_rng(1).choice(n, min(N_QUERIES, n), replace=False))


def reach(x: Any, queries: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the squared distance of the k-th nearest other row, for each query."""
    squares = _squares(x)
    parts = np.array_split(queries, -(-len(queries) // _AT_ONCE))
    return np.concatenate([_reach(x, squares, part) for part in parts])


def recall(x: Any, found: NDArray[Any], queries: NDArray[np.intp], far: NDArray[np.float64]) -> float:
    """Return the share of true neighbours found: no farther than the k-th nearest, each counted once.

    Parameters
    ----------
    x : ndarray or CSR of shape (n, d)
        All rows.
    found : ndarray of shape (q, k)
        What was found for each query; -1 is nobody.
    queries : ndarray of shape (q,)
        Which rows they are.
    far : ndarray of shape (q,)
        How far their true neighbours are at most, of `reach`.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(40.0)[:, None] ** 2
    >>> near = np.arange(1, 11)[None]
    >>> first = np.array([0])
    >>> recall(x, near, first, reach(x, first)), recall(x, near + 5, first, reach(x, first))
    (1.0, 0.5)
    """
    found = found[:, :K].astype(np.int64)
    valid = (found >= 0) & (found != queries[:, None])
    first = np.ones_like(valid)
    for j in range(1, K):
        first[:, j] = (found[:, :j] != found[:, j : j + 1]).all(axis=1)
    near = _distances(x, queries, np.maximum(found, 0)) <= far[:, None] * (1 + 1e-6) + 1e-9
    return float((near & valid & first).mean())


def _reach(x: Any, squares: NDArray[Any], queries: NDArray[np.intp]) -> NDArray[np.float64]:
    products = x[queries] @ x.T
    distances = squares[None, :] - 2 * (products.toarray() if sparse.issparse(products) else products)
    distances[np.arange(len(queries)), queries] = np.inf
    # A few more, measured again: single precision might swap the last.
    near = np.argpartition(distances, 2 * K, axis=1)[:, : 2 * K]
    return np.sort(_distances(x, queries, near), axis=1)[:, K - 1]


def _squares(x: Any) -> NDArray[Any]:
    if sparse.issparse(x):
        return np.asarray(x.multiply(x).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", x, x)


def _distances(x: Any, queries: NDArray[np.intp], others: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return squared distances from each query to its row of others, in double precision."""
    result = np.empty(others.shape)
    for j in range(others.shape[1]):
        gap = x[queries].astype(np.float64) - x[others[:, j]].astype(np.float64)
        result[:, j] = _squares(gap)
    return result
