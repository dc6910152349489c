"""Neighbours that are equally near: drawn at random, so that the order of the samples says nothing.

The draws are those of `host`, for the same seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from ...protocol import Mask
from ..device import Device
from .host import HostPoints
from .wrappers import DevicePoints

Tensor: TypeAlias = torch.Tensor

_MANY_TIES = 0.2  # share of the samples whose last two neighbours are equally near
_WIDER = 3  # times as many neighbours are considered where there are ties
_EQUAL = 1e-11  # relative difference of distances that count as equal


def break_ties(
    points: DevicePoints | HostPoints, lists: Tensor, seed: Sequence[int], search: str = "exact"
) -> Tensor:
    """Return the lists as they are if there are few ties; see `Engine.break_ties`."""
    if isinstance(points, HostPoints):
        return points.break_ties(lists, seed, search)  # type: ignore[arg-type]
    if not _has_ties(points, lists):
        return lists
    return _drawn_lists(points, lists.shape[1], np.random.default_rng(seed), search)


def restrict(lists: Tensor, samples: Mask, device: Device) -> Tensor:
    """Return lists in which only these samples have neighbours; see `Engine.restrict`."""
    own = device.arange(len(lists), lists.dtype)[:, None]
    return torch.where(device.put(samples)[:, None], lists, own)


def nearest_in_order(points: DevicePoints, k: int, order: NDArray[np.intp], search: str) -> Tensor:
    """Return each sample's k nearest others; of equally near ones those that come first in the order."""
    found = points.reordered(order).nearest(k, search).lists
    numbers = points.device.put(order, torch.int32)
    result = torch.empty_like(found)
    result[numbers.long()] = numbers[found.long()]
    return result


def _has_ties(points: DevicePoints, lists: Tensor) -> bool:
    """Say whether the last two neighbours of many samples are equally near."""
    n, k = lists.shape
    if k < 2:
        return False
    values = _distances(points, lists[:, -2:], 0)
    first, second = values[:, 0], values[:, 1]
    equal = (first - second).abs() <= _EQUAL * torch.maximum(first, second)
    return int((equal & torch.isfinite(values).all(dim=1)).sum()) > _MANY_TIES * n


def _drawn_lists(points: DevicePoints, k: int, rng: np.random.Generator, search: str) -> Tensor:
    """Return lists of k neighbours, the last ones drawn from those that are as near as the last one.

    Of very many equally near ones some are considered, the first in a random order of this view.
    """
    n = points.n_samples
    wide = nearest_in_order(points, min(n - 1, _WIDER * k), rng.permutation(n), search)
    out = torch.empty((n, k), dtype=wide.dtype, device=wide.device)
    for a, b in points.device.blocks(n, 128 * wide.shape[1]):
        members, _ = torch.sort(wide[a:b], dim=1)
        values = _distances(points, members, a)
        last = torch.sort(values, dim=1).values[:, k - 1 : k]
        tolerance = _EQUAL * torch.where(torch.isfinite(last), last, 0.0)
        rank = torch.where(values < last - tolerance, 0.0, torch.where(values <= last + tolerance, 1.0, 2.0))
        rank = torch.where(torch.isinf(values), 3.0, rank.double())
        drawn = points.device.put(rng.random(tuple(members.shape)))
        chosen = torch.sort(rank + drawn, dim=1, stable=True).indices[:, :k]
        out[a:b] = members.gather(1, chosen)
    return out


def _distances(points: DevicePoints, lists: Tensor, start: int) -> Tensor:
    """Return how far the members of lists are, infinite for a sample itself ("no neighbour").

    `start` is the number of the first of these samples.
    """
    own = torch.arange(start, start + len(lists), device=lists.device)[:, None]
    each = own.expand_as(lists).reshape(-1)
    values = points.values(each, lists.reshape(-1).long()).view(lists.shape)
    return torch.where(lists == own, torch.inf, values)
