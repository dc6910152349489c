"""Preparing rows of features: unit length, and centring.

The result for a row does not depend on the other rows, to the last bit: a placed sample that comes again as a
new one is the same sample.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...points.protocol import Floats

_ROUNDING = 4  # entries of a row that differ by no more than this number of last digits are the same


def unit_rows(x: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Scale rows to unit length; return also which are zero and stay so."""
    # First divided by the largest entry: squares of very large or small numbers would not be finite.
    largest = np.maximum(x.max(axis=1), -x.min(axis=1)).astype(np.float64)
    blank = largest == 0
    scaled = x / np.where(blank, 1.0, largest)[:, None]
    scaled /= np.where(blank, 1.0, np.sqrt(_squares(scaled)))[:, None]
    return scaled, blank


def _squares(x: Floats) -> Floats:
    """Return the squared norm of each row."""
    # NumPy adds up a long row in another order if there is only one row.
    several = np.repeat(x, 2, axis=0) if len(x) == 1 else x
    return np.asarray(np.einsum("ij,ij->i", several, several))[: len(x)]


def centered_rows(x: Floats) -> Floats:
    """Subtract from each row its mean; rows that are constant up to rounding become zero.

    Each row is also scaled by a power of two, so that nothing overflows: for directions only.

    Examples
    --------
    >>> import numpy as np
    >>> centered_rows(np.array([[1.0, 3.0], [0.1, 0.1]])).tolist()
    [[-0.25, 0.25], [0.0, 0.0]]
    """
    high, low = x.max(axis=1).astype(np.float64), x.min(axis=1).astype(np.float64)
    largest = np.maximum(high, -low)
    _, exponents = np.frexp(largest)
    scaled = np.ldexp(x.astype(np.float64, order="C"), -exponents[:, None])
    spread = np.ldexp(high, -exponents) - np.ldexp(low, -exponents)
    tiny = _ROUNDING * np.finfo(x.dtype).eps * np.ldexp(largest, -exponents)
    scaled -= scaled.mean(axis=1)[:, None]
    scaled -= scaled.mean(axis=1)[:, None]  # the rest of the mean, due to rounding
    scaled[spread <= tiny] = 0.0
    return scaled


def sparse_unit_rows(x: sparse.csr_array) -> tuple[sparse.csr_array, NDArray[np.bool_]]:
    """Scale rows to unit length; return also which are zero and stay so."""
    counts = np.diff(x.indptr)
    largest = np.asarray(abs(x).max(axis=1).todense(), dtype=np.float64).ravel()
    blank = largest == 0
    data = x.data / np.repeat(np.where(blank, 1.0, largest), counts)
    scaled = sparse.csr_array((data, x.indices, x.indptr), shape=x.shape)
    data /= np.repeat(np.where(blank, 1.0, np.sqrt(row_squares(scaled))), counts)
    return scaled, blank


def row_squares(x: sparse.csr_array) -> NDArray[np.float64]:
    """Return the squared norm of each row."""
    with np.errstate(over="ignore"):
        squares = sparse.csr_array((x.data.astype(np.float64) ** 2, x.indices, x.indptr), shape=x.shape)
    return np.asarray(squares.sum(axis=1)).ravel()
