"""Rows behind the seam: placing views, searching and measuring, on the device or in this memory.

Features measured by Euclidean, cosine or correlation distance go to the device: `features`. Everything else
stays in the memory of this process: `host_points`.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse

from ....spaces import Space
from ....spaces.scaling import Columns, thinned
from ....spaces.space import check_features, check_range
from ....views import DeviceArray
from ... import threads
from ...protocol import Mask, Search
from ...results import Neighbors
from ..device import Device
from ..handles import DeviceEdges
from .cached import CachedPoints
from .columns import describe_columns
from .features import FeaturePoints
from .host import HostPoints, HostQueries, host_engine
from .wrappers import DevicePoints, DeviceQueries, MaskedPoints, SubsetPoints

Tensor: TypeAlias = torch.Tensor
AnyPoints = DevicePoints | HostPoints
AnyQueries = DeviceQueries | HostQueries

_ON_DEVICE = ("euclidean", "cosine", "correlation")
_ENTRIES = 1 << 18  # that are rescaled together, so that no large temporary is made
_EDGE_BYTES = 64  # of temporary values for each edge, besides those of its rows


def describe(rows: Any, seen: Mask | None) -> Columns:
    """Describe the columns of a dense view, where it is; see `Engine.describe`."""
    if isinstance(rows, DeviceArray):
        return describe_columns(rows if seen is None else rows[seen])
    return host_engine().describe(rows, seen)


def place(space: Space, device: Device) -> AnyPoints:
    """Put a view on the device, or leave it here if it is not measured there; see `Engine.place`."""
    if not isinstance(space.metric, str) or space.metric not in _ON_DEVICE:
        return HostPoints.place(space, device)
    if space.is_complete:
        return _place_features(space, device)
    assert space.seen is not None
    return MaskedPoints(_place_features(space.of_seen(), device), space.seen)


def _place_features(space: Space, device: Device) -> FeaturePoints:
    """Put a view that has seen all samples on the device."""
    check_features(space)
    rows, metric = _scaled(space), space.metric
    if not isinstance(rows, DeviceArray) and rows.dtype not in (np.float32, np.float64):
        rows = rows.astype(np.float64)
    check_range(rows, metric, space.name)
    if metric != "correlation":
        rows = thinned(rows)
    return FeaturePoints.of(rows, metric, device, space.name)


def _scaled(space: Space) -> Any:
    """Return the rows on the scale asked for; dense ones in blocks, on several threads."""
    rows, scaling = space.rows, space.scaling
    if scaling.changes_nothing or sparse.issparse(rows) or isinstance(rows, DeviceArray):
        return scaling(rows)
    step = max(1, _ENTRIES // rows.shape[1])
    out = np.empty(rows.shape, dtype=rows.dtype)

    def rescale(first: int, last: int) -> None:
        for start in range(first, last, step):
            stop = min(start + step, last)
            out[start:stop] = scaling(rows[start:stop])

    threads.for_ranges(rescale, len(rows), step)
    return out


def subset(points: AnyPoints, rows: NDArray[np.intp], n_samples: int) -> AnyPoints:
    """Return points of some of the samples; see `Engine.subset`."""
    if isinstance(points, HostPoints):
        return points.subset(rows, n_samples)
    return CachedPoints(SubsetPoints(points, rows, n_samples))


def cached(points: AnyPoints) -> AnyPoints:
    """Return points that keep their answers; see `Engine.cached`."""
    return points.cached() if isinstance(points, HostPoints) else CachedPoints(points)


def is_constant(points: AnyPoints) -> bool:
    """Say whether all samples look the same."""
    return points.is_constant()


def mean_over_pairs(points: AnyPoints) -> float:
    """Return the mean over all pairs; see `Engine.mean_over_pairs`."""
    return points.mean_over_pairs()


def nearest(points: AnyPoints, k: int, search: Search = "exact") -> Neighbors:
    """Return the k nearest of each sample; see `Engine.nearest`."""
    return points.nearest(k, search)


def measure(points: AnyPoints, edges: DeviceEdges, known: Any = None) -> Tensor:
    """Return squared distances, or similarities, on the edges; see `Engine.measure`."""
    if isinstance(points, HostPoints):
        return points.measure(edges, known)
    if not isinstance(points, CachedPoints):
        return _on_edges(points, edges)
    values = points.kept(edges)
    if values is None:
        values = _on_edges(points, edges)
        points.keep(edges, values)
    return values


def _on_edges(points: DevicePoints | DeviceQueries, edges: DeviceEdges) -> Tensor:
    """Return what is measured on the edges, a block of them at a time."""
    out = points.device.zeros(edges.n_edges)
    for a, b in points.device.blocks(edges.n_edges, _EDGE_BYTES):
        out[a:b] = points.values(edges.rows[a:b], edges.indices[a:b].long())
    return out


def query(points: AnyPoints, rows: Any) -> AnyQueries:
    """Put new samples next to a placed view; see `Engine.query`."""
    return points.query(rows)


def nearest_new(queries: AnyQueries, k: int) -> Tensor:
    """Return the lists of new samples; see `Engine.nearest_new`."""
    return queries.nearest(k)


def measure_new(queries: AnyQueries, edges: DeviceEdges, asked: Mask) -> Tensor:
    """Return values on edges from the new samples that are asked; see `Engine.measure_new`."""
    if isinstance(queries, HostQueries):
        return queries.measure_new(edges, asked)
    _check(queries, edges, asked)
    if asked.all():
        return _on_edges(queries, edges)
    device = queries.device
    is_asked = device.put(asked)
    numbers = torch.cumsum(is_asked, 0) - 1  # of each new sample among those asked
    places = is_asked[edges.rows].nonzero()[:, 0]
    out = device.zeros(edges.n_edges)
    for a, b in device.blocks(len(places), _EDGE_BYTES):
        here = places[a:b]
        out[here] = queries.values(numbers[edges.rows[here]], edges.indices[here].long())
    return out


def _check(queries: DeviceQueries, edges: DeviceEdges, asked: Mask) -> None:
    """Raise a ValueError if edges are not from these new samples to those of the view."""
    n, m = queries.n_samples, queries.n_queries
    if len(asked) != edges.n_samples or int(asked.sum()) != m:
        raise ValueError(f"The edges are of {int(asked.sum())} new samples, there are {m}.")
    if edges.n_edges:
        least, largest = (int(one) for one in torch.aminmax(edges.indices))
        if least < 0 or largest >= n:
            at_fault = least if least < 0 else largest
            raise ValueError(f"An edge leads to sample {at_fault}, and the view has samples 0 to {n - 1}.")
