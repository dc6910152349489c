"""The shared edges and the values of views on them: union of lists, kernels, means, weights, trust."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np
import torch

from ...graphs import EdgeKernel, Moments
from ..protocol import Mask
from ..results import Vector
from .device import Device
from .handles import DeviceEdges
from .sums import sum_of

Tensor: TypeAlias = torch.Tensor

MANY_VALUES = 10_000_000  # on edges, of all views: above, single precision is enough
_LARGEST_POWER = 1022  # of two, whose inverse is a normal number too
_MEMBER_BYTES = 64  # of temporary values for each member of the lists that are united
_MOST_MEMBERS = 1 << 30  # of lists: later there are two entries for each, and 2^31 cannot be sorted
_VALUE_BYTES = 48  # of temporary values for each value that a kernel transforms


def unite(lists: Sequence[Tensor], mask: Mask | None, device: Device) -> DeviceEdges:
    """Return the edges that any of the lists names; see `Engine.unite`."""
    n, width = len(lists[0]), sum(one.shape[1] for one in lists)
    if n * width >= _MOST_MEMBERS:
        raise ValueError(
            f"{n:,} samples with {width} neighbours in all views together are more than PyTorch can sort at "
            "once; pass fewer neighbours, or use engine='numba'."
        )
    counts, parts = [], []
    for first, last in device.blocks(n, _MEMBER_BYTES * max(width, 1)):
        members = torch.sort(torch.cat([one[first:last] for one in lists], dim=1), dim=1).values
        kept = members != torch.arange(first, last, device=device.where)[:, None]
        kept[:, 1:] &= members[:, 1:] != members[:, :-1]
        counts.append(kept.sum(dim=1))
        parts.append(members[kept].int())
    indptr = torch.cumsum(torch.cat([device.zeros(1, dtype=torch.int64), *counts]), 0)
    indices = torch.cat([device.zeros(0, dtype=torch.int32), *parts])
    return _judged_by(DeviceEdges(indptr, indices), mask, device)


def _judged_by(edges: DeviceEdges, mask: Mask | None, device: Device) -> DeviceEdges:
    """Return the same edges, each judged by the views that have seen both ends, by a mask (n, v)."""
    if mask is None or mask.all():
        return edges
    seen_by, v = device.put(mask), mask.shape[1]
    seen = device.zeros(v, edges.n_edges, dtype=torch.bool)
    for first, last in device.blocks(edges.n_edges, 32 + 4 * v):
        seen[:, first:last] = torch.logical_and(*_at_both_ends(seen_by, edges, first, last)).T
    return DeviceEdges(edges.indptr, edges.indices, seen)


def _at_both_ends(rows: Tensor, edges: DeviceEdges, first: int, last: int) -> tuple[Tensor, Tensor]:
    """Return the rows (n, v) of the starts and of the ends of the edges [first, last).

    The starts are searched for: those of all edges would take more memory than the edges.
    """
    numbers = torch.arange(first, last, device=rows.device)
    starts = torch.searchsorted(edges.indptr, numbers, right=True) - 1
    return rows.index_select(0, starts), rows.index_select(0, edges.indices[first:last])


def judged(edges: DeviceEdges) -> Tensor | None:
    """Return which view judges which edge; see `Engine.judged`."""
    return None if edges.seen is None or bool(edges.seen.all()) else edges.seen


def judged_shares(judged: Tensor) -> Vector:
    """Return which share of the edges each view judges."""
    return np.asarray(Device.get(judged.sum(dim=1).double() / judged.shape[1]))


def trust_on_edges(edges: DeviceEdges, trust: Tensor, like: Tensor) -> Tensor:
    """Return the product of the trust at both ends, for each view; see `Engine.trust_on_edges`."""
    v = trust.shape[1]
    out = torch.empty((v, edges.n_edges), dtype=like.dtype, device=trust.device)
    for first, last in Device(trust.device).blocks(edges.n_edges, 32 + 32 * v):
        both = torch.mul(*_at_both_ends(trust, edges, first, last)).T
        out[:, first:last] = both if edges.seen is None else both * edges.seen[:, first:last]
    return out


def moments(values: Tensor, judged: Tensor | None, view: int, kernel: EdgeKernel | None = None) -> Moments:
    """Return mean and deviation of values over the edges that a view judges; see `Engine.moments`."""
    known = _known(values, judged, view, kernel)
    count = len(known)
    if not count:
        return Moments(0, 1.0, 0.0)
    exponent = -math.frexp(float(known.max()))[1]
    # With powers of two nothing is rounded.
    mean = sum_of(lambda part: _ldexp(part.double(), exponent), known) / count
    squares = sum_of(lambda part: (_ldexp(part.double(), exponent) - mean).square_(), known)
    return Moments.from_sums(count, exponent, mean, squares)


def mean_root(values: Tensor, judged: Tensor | None, view: int, kernel: EdgeKernel | None = None) -> float:
    """Return the mean square root over the edges that a view judges; see `Engine.mean_root`."""
    known = _known(values, judged, view, kernel)
    return (sum_of(torch.sqrt, known) / len(known) if len(known) else 0.0) or 1.0


def mean_positive(values: Tensor) -> float:
    """Return the mean of the values above 0; 1 if there are none."""
    count = int((values > 0).sum())
    return sum_of(lambda part: part.clamp(min=0), values) / count if count else 1.0


def mean(values: Tensor) -> float:
    """Return the mean of all values, in double precision; 1 if it is 0."""
    return float(values.mean(dtype=torch.float64)) or 1.0


def weigh(
    edges: DeviceEdges,
    n_views: int,
    parts: Iterable[tuple[Tensor, EdgeKernel]],
    precision: torch.dtype | None = None,
) -> Tensor:
    """Return weights from the values of each view and its kernel; see `Engine.weigh`.

    None as precision: single for very many values, otherwise double.
    """
    if precision is None:
        precision = torch.float32 if n_views * edges.n_edges > MANY_VALUES else torch.float64
    weights = torch.empty((n_views, edges.n_edges), dtype=precision, device=edges.indices.device)
    for view, (values, kernel) in enumerate(parts):
        apply(kernel, values, edges.seen_by(view), out=weights[view])
    return weights


def transform(values: Tensor, kernel: EdgeKernel) -> Tensor:
    """Return the values transformed by a kernel."""
    return values if kernel.changes_nothing else apply(kernel, values)


def apply(
    kernel: EdgeKernel, values: Tensor, seen: Tensor | None = None, out: Tensor | None = None
) -> Tensor:
    """Return the values transformed by a kernel, 0 where they are not seen; in `out` if that is given.

    The same numbers as `EdgeKernel` gives for arrays.

    Examples
    --------
    >>> apply(EdgeKernel(moments=Moments(0, 4.0, 3.0)), torch.tensor([1.0, 4.0, 7.0]))
    tensor([0., 1., 2.])
    """
    result = torch.empty_like(values) if out is None else out
    for first, last in Device(values.device).blocks(len(values), _VALUE_BYTES):
        weights = _transformed(kernel, values[first:last])
        result[first:last] = weights if seen is None else torch.where(seen[first:last], weights, 0.0)
    return result


def _known(values: Tensor, judged: Tensor | None, view: int, kernel: EdgeKernel | None) -> Tensor:
    """Return the values on the edges that a view judges, transformed by a kernel if there is one."""
    known = values if judged is None else values[judged[view]]
    return known if kernel is None else transform(known, kernel)


def _transformed(kernel: EdgeKernel, values: Tensor) -> Tensor:
    # Divisors are tensors: to divide by a number, a GPU would multiply by its inverse, which is rounded.
    if kernel.typical is not None:
        values = 1.0 / (1.0 + values / values.new_tensor(kernel.typical))
    if kernel.moments is not None:
        values = _standardized(kernel.moments, values)
    if kernel.width is not None:
        values = torch.exp(values / values.new_tensor(-kernel.width))
    return values


def _standardized(moments: Moments, values: Tensor) -> Tensor:
    """Return what `Moments.standardize` returns."""
    scaled = _ldexp(values, moments.exponent)
    if moments.deviation == 0:
        relative = torch.ones_like(scaled) if moments.mean == 0 else scaled / scaled.new_tensor(moments.mean)
        return torch.where((relative - 1).abs_() <= 1e-6, 1.0, relative)
    return ((scaled - moments.mean) / scaled.new_tensor(moments.deviation) + 1.0).clamp_(min=0.0)


def _ldexp(values: Tensor, exponent: int) -> Tensor:
    """Return the values times a power of two, rounded only where the result is too small.

    PyTorch's own function has the power as a number, which may be infinite where the product is not.
    """
    power = max(-_LARGEST_POWER, min(exponent, _LARGEST_POWER))
    wide = values.double()
    if exponent != power:
        wide = wide * 2.0 ** (exponent - power)
    return (wide * 2.0**power).to(values.dtype)
