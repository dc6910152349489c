"""Scaling each view's weights to a common sum, for engines that work in this memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

EdgeArray = NDArray[np.floating[Any]]


def normalized(weights: EdgeArray, seen: NDArray[np.bool_] | None, names: Sequence[str]) -> EdgeArray:
    """Return weights scaled to sum 1 per view, in their own memory; see `Engine.normalize`."""
    _check(weights, names)
    # First divided by the largest weight: sums of very large or small numbers may not be finite.
    np.divide(weights, weights.max(axis=1, keepdims=True), out=weights)
    shares = np.ones(len(weights)) if seen is None else seen.mean(axis=1)
    shares /= weights.sum(axis=1, dtype=np.float64)
    weights *= shares.astype(weights.dtype)[:, None]
    return weights


def _check(weights: EdgeArray, names: Sequence[str]) -> None:
    for name, row in zip(names, weights, strict=True):
        if not np.isfinite(row).all():
            edge = int(np.argmin(np.isfinite(row)))
            raise ValueError(
                f"View {name!r} has the weight {row[edge]} at edge {edge}; weights must be finite."
            )
        if row.min() < 0:
            edge = int(np.argmin(row))
            raise ValueError(
                f"View {name!r} has the negative weight {row[edge]:.6g} at edge {edge}; "
                "similarities and distances must not be negative."
            )
        if row.max() == 0:
            raise ValueError(f"View {name!r} has no positive edge weight, so it says nothing; leave it out.")
