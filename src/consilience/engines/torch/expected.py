"""The mean over all views, with expected values where a view has not seen an edge; see `engines.expected`."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from .. import expected
from ..results import Matrix, Vector
from .device import Device
from .sums import products, symmetric
from .weights import average

Tensor: TypeAlias = torch.Tensor

_FEW = 3  # edges that two views both judge: fewer are not enough
_MOST_VIEWS = 62  # whose pattern fits into a number


def expected_average(
    weights: Tensor, judged: Tensor, view_weights: Vector, trust: Tensor | None = None
) -> Tensor:
    """Return the weighted mean over all views, in double precision; see `Engine.expected_average`."""
    v, n_edges = weights.shape
    if v > _MOST_VIEWS:
        return _by_host(weights, judged, view_weights, trust)
    device = Device(weights.device)
    means, covariance = _moments(weights, judged, device)
    patterns = _patterns(judged, device)
    slopes = device.put(_slopes(Device.get(patterns), covariance))
    result = torch.empty(n_edges, dtype=torch.float64, device=weights.device)
    for first, last in device.blocks(n_edges, 8 * v + 96):
        here = slice(first, last)
        place = torch.searchsorted(patterns, _codes(judged[:, here]))
        apart = weights[:, here].double() - device.put(means)[:, None]
        total, mass = torch.zeros_like(apart[0]), torch.zeros_like(apart[0])
        for i, weight in enumerate(view_weights.tolist()):
            seen = judged[i, here]
            # Slopes are 0 for views that do not judge.
            guess = torch.full_like(total, means[i])
            for j in range(v):
                if j != i:
                    guess.addcmul_(slopes[i, j].index_select(0, place), apart[j])
            value = torch.where(seen, weights[i, here].double(), guess.clamp_(min=0.0))
            count = torch.full_like(total, weight)
            if trust is not None:
                count.mul_(torch.where(seen, trust[i, here].double(), 1.0))
            total.addcmul_(count, value)
            mass.add_(count)
        torch.div(total, mass, out=result[here])
    return result


def _by_host(weights: Tensor, judged: Tensor, view_weights: Vector, trust: Tensor | None) -> Tensor:
    """Return the same by way of the memory of this process."""
    values = expected.expected_values(Device.get(weights), Device.get(judged))
    trust = None if trust is None else torch.where(judged, trust, 1.0)
    return average(Device(weights.device).put(values), None, view_weights, trust)


def _moments(weights: Tensor, judged: Tensor, device: Device) -> tuple[Vector, Matrix]:
    """Return the means of the views and their covariances, each over the edges that two both judge."""
    v, n_edges = weights.shape
    counts = judged.sum(dim=1).clamp_(min=1)
    sums = device.zeros(v)
    for first, last in device.blocks(n_edges, 16 * v):
        sums += torch.where(judged[:, first:last], weights[:, first:last].double(), 0.0).sum(dim=1)
    means = sums / counts
    total = device.zeros(v * (v + 1))
    for first, last in device.blocks(n_edges, 32 * v):
        seen = judged[:, first:last]
        apart = torch.where(seen, weights[:, first:last].double() - means[:, None], 0.0)
        ones = seen.double()
        total += torch.stack(products(apart, apart) + products(ones, ones))
    half = v * (v + 1) // 2
    numbers = Device.get(total)
    return Device.get(means), _covariance(symmetric(numbers[:half], v), symmetric(numbers[half:], v))


def _covariance(squares: Matrix, counts: Matrix) -> Matrix:
    """Return covariances from sums of products, and of how many edges each is."""
    covariance = np.where(counts >= _FEW, squares / np.maximum(counts, 1), 0.0)
    # Each is of different edges, so they need not fit together: negative eigenvalues are set to 0.
    variances, axes = np.linalg.eigh(covariance)
    return np.asarray((axes * np.maximum(variances, 0.0)) @ axes.T)


def _codes(judged: Tensor) -> Tensor:
    """Return, for each edge, the views that judge it as the bits of a number."""
    codes = torch.zeros(judged.shape[1], dtype=torch.int64, device=judged.device)
    for i, seen in enumerate(judged):
        codes |= seen.long() << i
    return codes


def _patterns(judged: Tensor, device: Device) -> Tensor:
    """Return the numbers of all sets of views that judge an edge, ascending."""
    blocks = device.blocks(judged.shape[1], 96)
    found = [torch.unique(_codes(judged[:, first:last])) for first, last in blocks]
    return torch.unique(torch.cat(found))


def _slopes(patterns: NDArray[np.int64], covariance: Matrix) -> NDArray[np.float64]:
    """Return how much the value of a view moves with that of another, (v, v, n_patterns).

    Of views that judge an edge, on those that do not; 0 elsewhere.
    """
    v = len(covariance)
    slopes = np.zeros((v, v, len(patterns)))
    for number, pattern in enumerate(patterns.tolist()):
        seen = np.array([pattern >> i & 1 for i in range(v)], dtype=bool)
        there, not_there = np.flatnonzero(seen), np.flatnonzero(~seen)
        if len(there) and len(not_there):
            inverse = np.linalg.pinv(covariance[np.ix_(there, there)], hermitian=True)
            slopes[:, :, number][np.ix_(not_there, there)] = covariance[np.ix_(not_there, there)] @ inverse
    return slopes
