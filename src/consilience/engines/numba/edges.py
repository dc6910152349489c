"""Passes over the edges on several threads: union of lists, weights, trust, keeping the strongest."""

# Compiled functions are not annotated: Numba derives their types from the call.
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numba as nb
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...graphs import EdgeKernel, EdgeSet, Moments
from .. import threads
from .search.exact_kernels import mark_largest

Index = NDArray[np.integer[Any]]
Floats = NDArray[np.floating[Any]]
_GRAIN = 1024  # rows: below this many, starting a thread costs more than it saves


def unite(lists: Sequence[Index], mask: NDArray[np.bool_] | None) -> EdgeSet:
    """Return the union of the neighbour lists of several views, like `EdgeSet.union`."""
    members = np.concatenate(lists, axis=1)
    n = len(members)
    indptr = np.zeros(n + 1, dtype=np.int64)
    threads.for_ranges(lambda a, b: sort_members(members, indptr[1:], a, b), n, _GRAIN)
    np.cumsum(indptr, out=indptr)
    edges = EdgeSet(indptr, np.empty(indptr[-1], dtype=members.dtype))
    threads.for_ranges(lambda a, b: compress_rows(members, indptr, edges.indices, a, b), n, _GRAIN)
    return edges.judged_by(mask)


def product_of_ends(edges: EdgeSet, rows: Floats, dtype: Any) -> Floats:
    """Return, for each column of `rows` (n, v), the product of its values at both ends: (v, n_edges).

    0 where a view does not judge an edge.
    """
    out = np.empty((rows.shape[1], edges.n_edges), dtype=dtype)
    threads.for_ranges(
        lambda a, b: multiply_ends(rows, edges.indptr, edges.indices, out, a, b),
        edges.n_samples,
        _GRAIN,
    )
    if edges.seen is not None:
        out[~edges.seen] = 0
    return out


def mark_strongest(edges: EdgeSet, values: Floats, k: int) -> NDArray[np.bool_]:
    """Mark the k largest values of each row; of equal ones (to twelve digits) those with the lower column."""
    kept = np.zeros(edges.n_edges, dtype=bool)
    threads.for_ranges(
        lambda a, b: mark_largest(edges.indptr, values, k, a, b, kept), edges.n_samples, _GRAIN
    )
    return kept


def keep_largest(
    edges: EdgeSet, values: Floats, k: int, shape: tuple[int, int] | None = None
) -> sparse.csr_array:
    """Return the graph of the k largest values of each row; values of 0 are stored if they are among them."""
    if values.shape != edges.indices.shape:
        raise ValueError(f"There are {values.size:,} values for {edges.n_edges:,} edges.")
    kept = mark_strongest(edges, values, k)
    n = edges.n_samples
    indptr = np.zeros(n + 1, dtype=edges.indptr.dtype)
    threads.for_ranges(lambda a, b: count_marked(edges.indptr, kept, indptr[1:], a, b), n, _GRAIN)
    np.cumsum(indptr, out=indptr)
    indices, chosen = np.empty(indptr[-1], edges.indices.dtype), np.empty(indptr[-1], values.dtype)
    rows = edges.indptr, edges.indices, values, kept, indptr, indices, chosen
    threads.for_ranges(lambda a, b: keep_marked(*rows, a, b), n, _GRAIN)
    return sparse.csr_array((chosen, indices, indptr), shape=(n, n) if shape is None else shape)


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


_njit = nb.njit(nogil=True, cache=True)


@_njit
def sort_members(lists, counts, first, last):
    """Sort the rows [first, last), each without itself and without repetition, and count the rest."""
    for i in range(first, last):
        row, count = lists[i], 0
        for slot in range(len(row)):
            j = row[slot]
            place = count
            while place > 0 and row[place - 1] > j:
                place -= 1
            if j == i or (place > 0 and row[place - 1] == j):
                continue
            for other in range(count, place, -1):
                row[other] = row[other - 1]
            row[place] = j
            count += 1
        counts[i] = count


@_njit
def compress_rows(lists, indptr, indices, first, last):
    """Copy as many members of the rows [first, last) as are counted."""
    for i in range(first, last):
        begin = indptr[i]
        for p in range(begin, indptr[i + 1]):
            indices[p] = lists[i, p - begin]


@_njit
def multiply_ends(rows, indptr, indices, out, first, last):
    """Set, for the edges of the rows [first, last) and each view, the product of a value of both ends."""
    for i in range(first, last):
        for p in range(indptr[i], indptr[i + 1]):
            for v in range(len(out)):
                out[v, p] = rows[i, v] * rows[indices[p], v]


@_njit
def keep_marked(indptr, indices, values, kept, starts, new_indices, new_values, first, last):
    """Copy the marked entries of the rows [first, last) to the places given by `starts`."""
    for i in range(first, last):
        place = starts[i]
        for p in range(indptr[i], indptr[i + 1]):
            if kept[p]:
                new_indices[place], new_values[place] = indices[p], values[p]
                place += 1


@_njit
def count_marked(indptr, kept, counts, first, last):
    """Count the marked entries of the rows [first, last)."""
    for i in range(first, last):
        count = 0
        for p in range(indptr[i], indptr[i + 1]):
            count += kept[p]
        counts[i] = count
