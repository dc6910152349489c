"""Dense steps of comparison systems, on several threads (see `dense_kernels`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...graphs import EdgeSet
from .. import threads
from . import dense_kernels
from .edges import mark_strongest

Matrix = NDArray[np.float64]


def project_rows(values: NDArray[Any], indptr: NDArray[Any] | None = None) -> Matrix:
    """Return the nearest point of the probability simplex to each row; see `Engine.project_rows`."""
    values = np.ascontiguousarray(values, dtype=np.float64)
    if indptr is None:
        indptr = np.arange(len(values) + 1) * values.shape[1]
    result = np.empty_like(values)
    starts = np.ascontiguousarray(indptr, dtype=np.int64)
    rows, out = values.reshape(-1), result.reshape(-1)
    threads.for_ranges(
        lambda a, b: dense_kernels.project_rows(rows, starts, a, b, out), len(starts) - 1, grain=64
    )
    return result


def strongest(matrix: Matrix, k: int) -> tuple[NDArray[np.intp], Matrix]:
    """Return the columns of the k largest entries of each row, ascending, and these entries."""
    n = len(matrix)
    everything = EdgeSet(np.arange(n + 1, dtype=np.int64) * n, np.empty(n * n, dtype=np.int8))
    kept = mark_strongest(everything, matrix.reshape(-1), k)
    columns = np.nonzero(kept.reshape(n, n))[1].reshape(n, k)
    return columns, np.take_along_axis(matrix, columns, axis=1)


def diffuse(matrix: Matrix, columns: NDArray[np.intp], weights: Matrix, out: Matrix) -> None:
    """Set `out` to S X S' + I; see `Engine.diffuse`."""
    _over_rows(dense_kernels.diffuse_rows, len(out), matrix, columns, weights, out)
    _over_rows(dense_kernels.mirror_rows, len(out), out)


def symmetrize(matrix: Matrix) -> None:
    """Replace a matrix by the mean with its transpose, in place."""
    _over_rows(dense_kernels.average_sides, len(matrix), matrix)


def _over_rows(kernel: Callable[..., None], n: int, *arguments: Any) -> None:
    threads.for_ranges(lambda a, b: kernel(a, b, *arguments), n, grain=dense_kernels.TILE)


def shrink_round(
    transitions: Matrix,
    dual: tuple[Matrix, Matrix],
    views: Sequence[tuple[Any, Matrix]],
    steps: tuple[float, float],
    penalty: float,
) -> tuple[float, float, float]:
    """Update the multipliers of a low-rank and sparse split; see `Engine.shrink_round`."""
    n = len(transitions)
    argument, now = dual
    residual, gap, l1_norm = np.zeros((3, n))
    threads.for_ranges(
        lambda a, b: dense_kernels.update_copy(a, b, transitions, argument, now, steps, len(views), gap),
        n,
        grain=64,
    )
    for walk, multiplier in views:
        arrays = walk.data, walk.indices, walk.indptr
        threads.for_ranges(
            lambda a, b, arrays=arrays, multiplier=multiplier: dense_kernels.update_view(  # type: ignore[misc]
                a, b, transitions, multiplier, arrays, steps, penalty, argument, residual, l1_norm
            ),
            n,
            grain=64,
        )
    return float(residual.max()), float(gap.max()), float(l1_norm.sum())
