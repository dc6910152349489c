"""How the share of one kind of values among two kinds grows with the value: isotonic regression on a device.

Values are sorted once; a block of them is a range of places in that order, and what it holds is a difference
of two running counts. Neighbouring blocks whose shares do not grow are pooled, all of them in each round:
that is the rule of adjacent violators in another order, with the same result. Shares are compared by products
of whole numbers, so that nothing is rounded. What is left after some rounds is few, and scikit-learn pools
it in the memory of this process.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import torch
from sklearn.isotonic import isotonic_regression

from .device import Device

Tensor: TypeAlias = torch.Tensor

_FEW = 1 << 14  # blocks: as many are pooled on the host
_ROUNDS = 40  # of pooling, at most; most blocks go in the first ones


def growing_shares(found: Tensor, null: Tensor, weight: float) -> Tensor:
    """Return for each value found the share of such values near it, which grows with the value.

    Equal values are one; scikit-learn also takes those for equal that differ by less than 1e-15.

    Parameters
    ----------
    found : tensor of shape (n,)
        Values of the one kind; each counts 1.
    null : tensor of shape (m,)
        Values of the other kind.
    weight : float
        How much each of these counts.

    Examples
    --------
    >>> found, null = torch.tensor([0.5, 0.2, 0.9]).double(), torch.tensor([0.1, 0.4, 0.3]).double()
    >>> growing_shares(found, null, 1.0).numpy().round(3)
    array([1.   , 0.333, 1.   ])
    """
    device, n = Device(found.device), len(found)
    values, order = torch.sort(torch.cat([found, null]), stable=True)
    counted = torch.cat([order.new_zeros(1), (order < n).cumsum(0)])  # how many were found before each place
    apart = torch.ones(len(values) + 1, dtype=torch.bool, device=device.where)
    apart[1:-1] = values.diff() > 0
    bounds = _pooled(apart.nonzero().ravel(), counted)
    hits, sizes = counted[bounds].diff(), bounds.diff()
    ones, others = device.get(hits).astype(np.float64), weight * device.get(sizes - hits)
    shares = isotonic_regression(ones / (ones + others), sample_weight=ones + others, y_min=0.0, y_max=1.0)
    result = torch.empty_like(values)
    result[order] = torch.repeat_interleave(device.put(shares), sizes, output_size=len(values))
    return result[:n]


def _pooled(bounds: Tensor, counted: Tensor) -> Tensor:
    """Return the bounds of blocks without those between blocks whose shares do not grow.

    Blocks may remain that are still to be pooled.
    """
    for _ in range(_ROUNDS):
        if len(bounds) <= _FEW:
            break
        hits = counted[bounds].diff()
        misses = bounds.diff() - hits
        grows = torch.ones_like(bounds, dtype=torch.bool)
        grows[1:-1] = hits[:-1] * misses[1:] < hits[1:] * misses[:-1]
        bounds, before = bounds[grows], len(bounds)
        if len(bounds) == before:
            break
    return bounds
