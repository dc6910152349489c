"""The columns of a large dense view in one pass on several threads, without copies."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ...spaces.scaling import Columns
from .. import threads

_BLOCK = 1 << 16  # entries of a block, which stay in the cache for a second pass
_LEAST_ROWS = 256  # of a block, since a row of each statistic is kept for it


def describe_columns(x: NDArray[Any], seen: NDArray[np.bool_] | None) -> Columns:
    """Describe the columns of a view, in memory or mapped, over the rows seen."""
    with np.errstate(over="ignore", invalid="ignore"):
        return _in_blocks(x, seen)


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
    """Describe blocks of rows, each by itself; an empty `seen` means all."""
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
