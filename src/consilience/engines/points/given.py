"""New samples as they are given: brought to the form of the placed ones, and checked."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ...views import in_memory
from .protocol import Kind


def as_queries(queries: Any, x: Any, dtype: Any, *, missing: bool = False) -> Any:
    """Return new samples in the form of placed features.

    Parameters
    ----------
    queries : ndarray or sparse matrix of shape (m, d)
        New samples.
    x : ndarray or CSR of shape (n, d)
        The placed samples: whether they are sparse, and how many features they have.
    dtype : dtype
        The type in which they were given, so that the same sample is measured by the same arithmetic.
    missing : bool, default=False
        Whether cells may be NaN.

    Returns
    -------
    ndarray or CSR of shape (m, d)

    Examples
    --------
    >>> import numpy as np
    >>> as_queries([[1, 2]], np.zeros((5, 2)), np.float64)
    array([[1., 2.]])
    """
    queries = in_memory(queries)
    if not sparse.issparse(queries):
        queries = np.asarray(queries)
    if queries.ndim != 2:
        raise ValueError(f"New samples must be rows of a 2-D array, got {queries.ndim} dimensions.")
    if queries.shape[1] != x.shape[1]:
        raise ValueError(f"New samples have {queries.shape[1]} features, those of the view {x.shape[1]}.")
    with np.errstate(over="ignore"):  # checked below
        if sparse.issparse(x):
            result = sparse.csr_array(queries, dtype=dtype, copy=True)
            result.sum_duplicates()
            result.indices = result.indices.astype(x.indices.dtype, copy=False)
            result.indptr = result.indptr.astype(x.indptr.dtype, copy=False)
        else:
            dense = queries.toarray() if sparse.issparse(queries) else queries
            result = np.ascontiguousarray(dense, dtype=dtype)
    _check_finite(result, missing)
    return result


def _check_finite(rows: Any, missing: bool) -> None:
    values = rows.data if sparse.issparse(rows) else rows
    bad = np.isinf(values) if missing else ~np.isfinite(values)
    if not bad.any():
        return
    if sparse.issparse(rows):
        i = int(np.searchsorted(rows.indptr, int(np.argmax(bad)), side="right")) - 1
    else:
        i = int(np.argmax(bad.any(axis=1)))
    raise ValueError(
        f"New sample {i} holds {'infinity' if missing else 'NaN or infinity'} (or a number too large for "
        f"{values.dtype}, the type of the samples it is compared with)."
    )


def given_pairs(queries: Any, n: int, kind: Kind) -> Any:
    """Return the values of new samples to the n placed samples, checked: finite, and not negative.

    Examples
    --------
    >>> import numpy as np
    >>> given_pairs(np.array([[1.0, -2.0]]), 2, "distance")
    Traceback (most recent call last):
    ...
    ValueError: New sample 0 has the distance -2 to sample 1; distances must be finite and not negative.
    """
    queries = in_memory(queries)
    is_sparse = sparse.issparse(queries)
    if is_sparse and kind == "distance":
        raise ValueError(
            "The distances of new samples are in a sparse matrix, where an absent entry would mean distance "
            "0; pass them dense."
        )
    queries = sparse.csr_array(queries, dtype=np.float64) if is_sparse else np.asarray(queries, np.float64)
    if queries.ndim != 2 or queries.shape[1] != n:
        raise ValueError(
            f"New samples are given by {queries.shape[-1]} numbers each, one for each of the {n} samples of "
            "the view is needed."
        )
    if kind == "distance":  # rounding can give tiny numbers below 0
        tiny = 1e-12 * queries.max(axis=1, initial=0.0)[:, None]
        queries = np.where((queries < 0) & (queries >= -tiny), 0.0, queries)
    values = queries.data if is_sparse else queries.ravel()
    bad = ~((values >= 0) & (values < np.inf))
    if bad.any():
        place = int(np.argmax(bad))
        if is_sparse:
            i, j = int(np.searchsorted(queries.indptr, place, side="right")) - 1, int(queries.indices[place])
        else:
            i, j = divmod(place, n)
        many = "distances" if kind == "distance" else "similarities"
        raise ValueError(
            f"New sample {i} has the {kind} {values[place]:.6g} to sample {j}; {many} must be finite and not "
            "negative."
        )
    return queries


def given_edges(queries: Any, n: int) -> sparse.csr_array:
    """Return the edges of new samples to the n nodes of a graph of distances, checked, in canonical form.

    A stored 0 is an edge; in an array 0 is none.

    Examples
    --------
    >>> import numpy as np
    >>> given_edges(np.array([[0.0, -1.0]]), 2)
    Traceback (most recent call last):
    ...
    ValueError: New sample 0 has an edge of length -1; lengths are 0 or more.
    """
    if queries.ndim != 2 or queries.shape[1] != n:
        raise ValueError(f"New samples of a graph are rows of edges to its {n}, got {queries.shape}.")
    matrix = sparse.csr_array(in_memory(queries), dtype=np.float64, copy=True)
    matrix.sum_duplicates()
    wrong = np.flatnonzero(~(np.isfinite(matrix.data) & (matrix.data >= 0)))
    if len(wrong):
        i = int(np.searchsorted(matrix.indptr, wrong[0], side="right")) - 1
        value = matrix.data[wrong[0]]
        raise ValueError(f"New sample {i} has an edge of length {value:g}; lengths are 0 or more.")
    return matrix
