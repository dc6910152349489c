"""Euclidean projection of rows onto the probability simplex."""

# Compiled functions are not annotated: Numba derives their types from the call.
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np
from numpy.typing import NDArray

from .. import threads


def project_to_simplex(values: NDArray[Any], indptr: NDArray[Any] | None = None) -> NDArray[np.float64]:
    r"""Return the nearest point of the probability simplex to each row.

    That is :math:`\max(x - \tau, 0)` with the one :math:`\tau` for which it sums to 1.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_columns), or (n_values,) with `indptr`
        The rows; with `indptr`, one after the other, each over its own support: the data of a CSR matrix.
    indptr : ndarray of shape (n_rows + 1,), default=None
        Where each row begins. A row without values stays so.

    Returns
    -------
    ndarray of the shape of `values`
        Not negative, each row of sum 1.

    Examples
    --------
    >>> import numpy as np
    >>> project_to_simplex(np.array([[0.5, 0.5], [2.0, 1.8]]))
    array([[0.5, 0.5],
           [0.6, 0.4]])
    >>> project_to_simplex(np.array([7.0, 0.0, 0.0]), indptr=np.array([0, 1, 3]))
    array([1. , 0.5, 0.5])
    """
    values = np.ascontiguousarray(values, dtype=np.float64)
    if indptr is None:
        indptr = np.arange(len(values) + 1) * values.shape[1]
    result = np.empty_like(values)
    starts = np.ascontiguousarray(indptr, dtype=np.int64)
    rows, out = values.reshape(-1), result.reshape(-1)
    threads.for_ranges(lambda a, b: _project_rows(rows, starts, a, b, out), len(starts) - 1, grain=64)
    return result


@nb.njit(nogil=True, cache=True)
def _project_rows(values, indptr, first, last, out):
    """Project the rows [first, last), each by removing what is not above the threshold until all is."""
    for row in range(first, last):
        start, stop = indptr[row], indptr[row + 1]
        if start == stop:
            continue
        largest = values[start]
        for e in range(start, stop):
            largest = max(largest, values[e])
        # The threshold is at least this: the largest entry alone never exceeds it by more than 1. Sums are of
        # what exceeds it, not of the entries, so that rows of huge entries lose no digits.
        threshold, count, before = -1.0, stop - start + 1, stop - start + 2
        while count < before:  # it can only fall, but for rounding among tied entries
            before, total, count = count, 0.0, 0
            for e in range(start, stop):
                excess = values[e] - largest
                if excess > threshold:
                    total += excess
                    count += 1
            if count == 0:  # a row with NaN has no projection
                threshold = np.nan
                break
            threshold = (total - 1.0) / count
        for e in range(start, stop):
            out[e] = max(values[e] - largest - threshold, 0.0)
