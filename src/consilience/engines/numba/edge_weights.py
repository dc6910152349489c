"""Values on edges and the weights from them, block by block on several threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...graphs import EdgeKernel, EdgeSet, Moments
from .. import threads

Floats = NDArray[np.floating[Any]]
Seen = NDArray[np.bool_]
MANY_VALUES = 10_000_000  # on edges, of all views: above, single precision is enough
_BLOCK = 1 << 15  # values at a time: they stay in the cache
_MANY = 1 << 22  # values from which on sums are taken block by block, with other last digits


def moments(values: Floats) -> Moments:
    """Return mean and deviation of values."""
    if not len(values):
        return Moments(0, 1.0, 0.0)
    exponent = -int(np.frexp(values.max())[1])
    # With powers of two nothing is rounded.
    mean = _sum(lambda part: np.ldexp(part, exponent), values) / len(values)
    squares = _sum(lambda part: np.square(np.ldexp(part, exponent) - mean), values)
    return Moments.from_sums(len(values), exponent, mean, squares)


def mean_root(values: Floats) -> float:
    """Return the mean square root of values; 1 if it is 0."""
    return (_sum(np.sqrt, values) / len(values) if len(values) else 0.0) or 1.0


def apply(kernel: EdgeKernel, values: Floats, seen: Seen | None = None, out: Floats | None = None) -> Floats:
    """Return the values transformed by a kernel, in `out` if that is given."""
    result = np.empty_like(values) if out is None else out

    def work(start: int, stop: int) -> None:
        here = slice(start, stop)
        result[here] = kernel(values[here], None if seen is None else seen[here])

    threads.for_ranges(work, len(values), _BLOCK)
    return result


def weigh(edges: EdgeSet, n_views: int, parts: Iterable[tuple[Floats, EdgeKernel]], double: bool) -> Floats:
    """Return the weights of all views, in single precision if they are many and `double` is not asked for."""
    many = n_views * edges.n_edges > MANY_VALUES
    precision = np.float32 if many and not double else np.float64
    weights = np.empty((n_views, edges.n_edges), dtype=precision)
    for view, (values, kernel) in enumerate(parts):
        apply(kernel, values, edges.seen_by(view), out=weights[view])
    return weights


def _sum(function: Callable[[Floats], Floats], values: Floats) -> float:
    """Return the sum of a function of the values; of very many, block by block, without a copy of all."""
    if len(values) <= _MANY:
        return float(function(values).sum())
    sums = np.empty(-(-len(values) // _BLOCK))

    def add(first: int, last: int) -> None:
        for block in range(first, last):
            sums[block] = function(values[_BLOCK * block : _BLOCK * (block + 1)]).sum(dtype=np.float64)

    threads.for_ranges(add, len(sums))
    return float(sums.sum())
