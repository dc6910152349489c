"""Views of the same kind without structure: they show how stable clusters are that mean nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...views import Views


def without_structure(views: Views, seed: Any) -> Views:
    """Return views in which nothing is related to anything else.

    The entries of each feature change places at random, independently of all other features, among the
    samples that the view has seen. So each feature keeps its values, but no two features, and no two views,
    depend on each other. Of a matrix between samples the pairs change places.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(6.0).reshape(3, 2)
    >>> shuffled = without_structure(Views({"a": x}), seed=0)["a"]
    >>> np.sort(shuffled, axis=0)
    array([[0., 1.],
           [2., 3.],
           [4., 5.]])
    """
    rng = np.random.default_rng(seed)
    arrays = {}
    for i, (name, array) in enumerate(views.items()):
        seen = views.seen(i)
        rows = np.arange(views.n_samples) if seen is None else np.flatnonzero(seen)
        arrays[name] = _shuffled_pairs(array, rows, rng) if views.pairwise[i] else _shuffled(array, rows, rng)
    return Views(arrays, mask=views.mask, pairwise=views.pairwise)


def _shuffled(array: Any, rows: NDArray[np.intp], rng: np.random.Generator) -> Any:
    if not sparse.issparse(array):
        result = np.array(array)
        result[rows] = rng.permuted(result[rows], axis=0)
        return result
    columns = sparse.csc_array(array)
    counts = np.diff(columns.indptr)
    places = [rng.choice(rows, count, replace=False, shuffle=False) for count in counts]
    indices = np.concatenate(places) if places else np.empty(0, dtype=np.intp)
    shape = columns.shape
    return sparse.csr_array(sparse.csc_array((columns.data, indices, columns.indptr), shape=shape))


def _shuffled_pairs(matrix: Any, rows: NDArray[np.intp], rng: np.random.Generator) -> Any:
    """Let the pairs of a symmetric matrix change places; what was asymmetric becomes symmetric."""
    m = len(rows)
    if sparse.issparse(matrix):
        upper = sparse.coo_array(sparse.triu(matrix, 1))
        first, second = _random_pairs(m, upper.nnz, rng)
        half = sparse.coo_array((upper.data, (rows[first], rows[second])), shape=matrix.shape)
        return sparse.csr_array(half + half.T + sparse.diags(matrix.diagonal()))
    result, (first, second) = np.array(matrix), np.triu_indices(m, 1)
    values = rng.permutation(result[rows[first], rows[second]])
    result[rows[first], rows[second]] = values
    result[rows[second], rows[first]] = values
    return result


def _random_pairs(m: int, count: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Return so many different pairs of m things, the lower one first."""
    n_pairs = m * (m - 1) // 2
    number = rng.choice(n_pairs, min(count, n_pairs), replace=False).astype(np.float64)
    second = np.floor((1 + np.sqrt(1 + 8 * number)) / 2).astype(np.intp)
    second -= second * (second - 1) // 2 > number
    first = number.astype(np.intp) - second * (second - 1) // 2
    return first, second
