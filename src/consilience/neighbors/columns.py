"""What the columns of a dense view are like, range, mean, spread and zeros: one pass, no copies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from .. import threads

Vector = NDArray[np.float64]

SMALL = 1 << 22  # entries up to which NumPy's own functions do, which take whole copies
_BLOCK = 1 << 16  # entries of a block, which stay in the cache for a second look
_LEAST_ROWS = 256  # of a block: what is kept of it is a row of each kind


@dataclass(frozen=True, eq=False)
class Columns:
    """What the columns of a view are like, over the rows that were looked at.

    Attributes
    ----------
    n_rows : int
        How many rows those are.
    lowest, highest, mean, variance : ndarray of shape (d,)
        Of each column; NaN if it holds NaN.
    n_nonzero : ndarray of int of shape (d,)
        How many entries of each column are not 0.
    """

    n_rows: int
    lowest: Vector
    highest: Vector
    mean: Vector
    variance: Vector
    n_nonzero: NDArray[np.int64]


def describe_columns(x: NDArray[Any], seen: NDArray[np.bool_] | None = None) -> Columns:
    """Look at the columns of a view.

    Parameters
    ----------
    x : ndarray of shape (n, d)
        Features, in memory or mapped.
    seen : ndarray of bool of shape (n,), default=None
        Which rows to look at, one at least; None: all.

    Returns
    -------
    Columns

    Examples
    --------
    >>> import numpy as np
    >>> columns = describe_columns(np.array([[0.0, 1.0], [2.0, 1.0]]))
    >>> columns.mean.tolist(), columns.variance.tolist(), columns.n_nonzero.tolist()
    ([1.0, 1.0], [1.0, 0.0], [1, 2])
    """
    with np.errstate(over="ignore", invalid="ignore"):
        return _at_once(x if seen is None else x[seen]) if x.size <= SMALL else _in_blocks(x, seen)


def _at_once(x: NDArray[Any]) -> Columns:
    return Columns(
        len(x),
        x.min(axis=0).astype(np.float64),
        x.max(axis=0).astype(np.float64),
        x.mean(axis=0, dtype=np.float64),
        x.var(axis=0, dtype=np.float64),
        np.count_nonzero(x, axis=0),
    )


def _in_blocks(x: NDArray[Any], seen: NDArray[np.bool_] | None) -> Columns:
    n, d = x.shape
    n_rows = max(_LEAST_ROWS, _BLOCK // d)
    n_blocks = -(-n // n_rows)
    counts = np.zeros(n_blocks, dtype=np.int64)
    nonzero = np.zeros((n_blocks, d), dtype=np.int64)
    low, high, mean, squares = (np.zeros((n_blocks, d)) for _ in range(4))
    rows = np.empty(0, dtype=bool) if seen is None else np.ascontiguousarray(seen)
    threads.for_ranges(
        lambda a, b: _describe_blocks(x, rows, n_rows, a, b, counts, low, high, mean, squares, nonzero),
        n_blocks,
    )
    kept = counts > 0
    low, high, mean, squares = low[kept], high[kept], mean[kept], squares[kept]
    weights, total = counts[kept, None].astype(np.float64), int(counts.sum())
    # Differences from one of the blocks: those of a constant column are exactly 0.
    center = mean[0] + (weights * (mean - mean[0])).sum(axis=0) / total
    variance = (squares.sum(axis=0) + (weights * (mean - center) ** 2).sum(axis=0)) / total
    holes = np.isnan(center)
    lowest, highest = (np.where(holes, np.nan, ends) for ends in (low.min(axis=0), high.max(axis=0)))
    return Columns(total, lowest, highest, center, variance, nonzero.sum(axis=0))


@njit(cache=True, nogil=True)
def _describe_blocks(
    x: Any,
    seen: Any,
    n_rows: int,
    start: int,
    stop: int,
    counts: Any,
    low: Any,
    high: Any,
    mean: Any,
    squares: Any,
    nonzero: Any,
) -> None:
    """Describe blocks of rows, each for itself; an empty `seen` means all."""
    d = x.shape[1]
    everybody = len(seen) == 0
    first = np.empty(d)
    for block in range(start, stop):
        begin, end = block * n_rows, min(len(x), (block + 1) * n_rows)
        count = 0
        for i in range(begin, end):
            if not (everybody or seen[i]):
                continue
            if count == 0:
                for j in range(d):
                    first[j] = low[block, j] = high[block, j] = x[i, j]
            count += 1
            for j in range(d):
                value = np.float64(x[i, j])
                mean[block, j] += value - first[j]
                nonzero[block, j] += value != 0
                low[block, j] = value if value < low[block, j] else low[block, j]
                high[block, j] = value if value > high[block, j] else high[block, j]
        if count == 0:
            continue
        counts[block] = count
        for j in range(d):
            mean[block, j] = first[j] + mean[block, j] / count
        for i in range(begin, end):
            if everybody or seen[i]:
                for j in range(d):
                    off = x[i, j] - mean[block, j]
                    squares[block, j] += off * off
