"""Weights on edges, (v, n_edges): sums, means over the views, and what a fusion begins with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import torch

from ..results import Vector
from .device import Device

Tensor: TypeAlias = torch.Tensor


def n_values(weights: Tensor) -> int:
    """Return how many edges weights are on."""
    return int(weights.shape[1])


def precision(weights: Tensor) -> np.dtype[Any]:
    """Return the type of number that weights are kept as."""
    return np.dtype(np.float64 if weights.dtype == torch.float64 else np.float32)


def totals(weights: Tensor) -> Vector:
    """Return the sum of each view's weights, in double precision."""
    return np.asarray(Device.get(weights.sum(dim=1, dtype=torch.float64)))


def divide(weights: Tensor, units: Vector) -> Tensor:
    """Return weights with each view's row divided by a unit, in the precision that they have."""
    return weights / Device(weights.device).put(units, weights.dtype)[:, None]


def consistent(weights: Tensor, inconsistent: Tensor, scales: Vector) -> Tensor:
    """Return each view's value on each edge, on the common scale; see `Engine.consistent`."""
    return (weights - inconsistent).mul_(Device(weights.device).put(scales, weights.dtype)[:, None])


def average(
    weights: Tensor,
    judged: Tensor | None,
    view_weights: Vector | None = None,
    trust: Tensor | None = None,
) -> Tensor:
    """Return the mean over the views that judge each edge, in double precision; see `Engine.average`."""
    v, n_edges = weights.shape
    counts = np.ones(v) if view_weights is None else view_weights
    result = torch.empty(n_edges, dtype=torch.float64, device=weights.device)
    for first, last in Device(weights.device).blocks(n_edges, 48):
        total = result[first:last].zero_()
        count = torch.zeros_like(total)
        for i, one in enumerate(counts.tolist()):
            share = torch.full_like(total, one)
            for factor in (judged, trust):
                if factor is not None:
                    share.mul_(factor[i, first:last])
            total.addcmul_(share, weights[i, first:last].double())
            count.add_(share)
        total.div_(count)
    return result


def normalize(weights: Tensor, judged: Tensor | None, names: Sequence[str]) -> Tensor:
    """Return weights that sum to 1 for each view, in their own memory; see `Engine.normalize`."""
    largest = _checked_largest(weights, names)
    # First divided by the largest weight: sums of very large or small numbers may not be finite.
    weights.div_(largest[:, None])
    shares = 1.0 if judged is None else judged.sum(dim=1).double() / judged.shape[1]
    shares = shares / weights.sum(dim=1, dtype=torch.float64)
    return weights.mul_(shares.to(weights.dtype)[:, None])


def _checked_largest(weights: Tensor, names: Sequence[str]) -> Tensor:
    """Return the largest weight of each view; raise a ValueError for the first view with bad ones."""
    largest, smallest = weights.amax(dim=1), weights.amin(dim=1)  # NaN if any weight is
    bounds = torch.stack([largest, smallest], dim=1).tolist()
    for name, row, (high, low) in zip(names, weights, bounds, strict=True):
        if not (math.isfinite(high) and math.isfinite(low)):
            edge = int(torch.argmin(torch.isfinite(row).byte()))
            raise ValueError(
                f"View {name!r} has the weight {float(row[edge])} at edge {edge}; weights must be finite."
            )
        if low < 0:
            raise ValueError(
                f"View {name!r} has the negative weight {low:.6g} at edge {int(torch.argmin(row))}; "
                "similarities and distances must not be negative."
            )
        if high == 0:
            raise ValueError(f"View {name!r} has no positive edge weight, so it says nothing; leave it out.")
    return largest
