"""Weigh: what each view says about the shared edges, in units that can be compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..engines import Engine
from ..engines.results import Neighbors, Vector
from ..fusion.edge_fusion import EdgeFusion
from ..graphs import EdgeKernel
from ..io.stored import stored
from ..run.handles import HANDLE
from .agree import ViewSelection
from .connect import SharedEdges
from .prepare import PreparedViews


@stored()
@dataclass(frozen=True, eq=False)
class EdgeWeights:
    """What the views say about the edges.

    Attributes
    ----------
    weights : weights
        One row for each view. The fusion may overwrite them.
    kernels : tuple of EdgeKernel
        How each view's values became weights: the same is done to the edges of new samples.
    units : ndarray of shape (v,)
        What each view's weights are divided by, so that views can be compared.
    """

    weights: Any = field(repr=False, metadata=HANDLE)
    kernels: tuple[EdgeKernel, ...]
    units: Vector


def weigh(
    found: Sequence[Neighbors],
    selection: ViewSelection,
    edges: SharedEdges,
    views: PreparedViews,
    fusion: EdgeFusion,
    *,
    engine: Engine,
) -> EdgeWeights:
    """Measure the edges in each view, and turn the values into weights.

    Parameters
    ----------
    found : sequence of Neighbors
        The neighbours in all active views: distances that the searches have measured are not measured again.
    selection : ViewSelection
        Which views are kept.
    edges : SharedEdges
        The shared edges.
    views : PreparedViews
        The kept views.
    fusion : EdgeFusion
        Says what the values become.
    engine : Engine
        The engine that measures.
    """
    judged = engine.judged(edges.handle)
    known = [one.known for one, keep in zip(found, selection.kept, strict=True) if keep]
    kernels: list[EdgeKernel] = []

    def parts() -> Iterator[tuple[Any, EdgeKernel]]:
        for i, (space, points) in enumerate(zip(views.spaces, views.points, strict=True)):
            values = engine.measure(points, edges.handle, known[i])
            kernels.append(fusion.kernel(values, space.kind, judged, i, engine))
            yield values, kernels[-1]

    weights = engine.weigh(edges.handle, len(views), parts())
    return EdgeWeights(weights, tuple(kernels), fusion.units(weights, judged, engine))
