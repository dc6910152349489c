"""Placing a view: from a `Space`, which is data, to points that can be searched and measured."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ...spaces import Space
from ...spaces.scaling import thinned
from ...spaces.space import check_features, check_graph_distances, check_pairs, check_range
from .. import threads
from ..points.masked import MaskedPoints
from ..points.protocol import Points
from .points.features import DensePoints, SparsePoints
from .points.function import FunctionPoints
from .points.gower import GowerPoints, NanEuclideanPoints
from .points.graphs import GraphPoints
from .points.matrices import MetricPoints, PairPoints

_BLOCK = 1 << 18  # entries that are computed together, so that no large temporary is made


def place(space: Space) -> Points:
    """Return a view as points; see `Engine.place`."""
    if not space.is_complete:
        assert space.seen is not None
        return MaskedPoints(place(space.of_seen()), space.seen, space.is_pairwise)
    metric = space.metric
    if metric == "graph_distance":
        return GraphPoints(check_graph_distances(space))
    if space.is_pairwise:
        return PairPoints(check_pairs(space), space.kind, squared=metric == "precomputed_squared_distance")
    check_features(space)
    rows, ids = _scaled(space), space.sample_ids
    check_range(rows, metric, space.name)
    if metric in ("euclidean", "cosine"):
        rows = thinned(rows)
        if sparse.issparse(rows):
            return SparsePoints(rows, metric == "cosine", space.name)
        return DensePoints(rows, metric == "cosine", name=space.name)
    if metric == "correlation":
        return DensePoints(rows, cosine=True, centered=True, name=space.name)
    if callable(metric):
        return FunctionPoints(rows, metric, space.name, ids)
    if metric == "gower":
        return GowerPoints(rows, space.kinds, space.name, ids)
    if metric == "nan_euclidean":
        return NanEuclideanPoints(rows, space.name, ids)
    return MetricPoints(rows, metric, space.name, ids)


def _scaled(space: Space) -> Any:
    """Return the rows on the scale asked for; dense ones in blocks, on several threads."""
    rows, scaling = space.rows, space.scaling
    if scaling.changes_nothing or sparse.issparse(rows):
        return scaling(rows)
    out, grain = np.empty(rows.shape, dtype=rows.dtype), max(1, _BLOCK // rows.shape[1])

    def write(start: int, stop: int) -> None:
        for a in range(start, stop, grain):
            here = slice(a, min(a + grain, stop))
            out[here] = scaling(rows[here])

    threads.for_ranges(write, len(rows), grain)
    return out
