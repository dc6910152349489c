"""Fuse: one similarity for each edge, from what all kept views say about it."""

from __future__ import annotations

from dataclasses import replace

from ..engines import Engine
from ..fusion.edge_fusion import EdgeFusion, Fused
from .agree import ViewSelection
from .connect import SharedEdges
from .prepare import PreparedViews
from .weigh import EdgeWeights


def fuse(
    weights: EdgeWeights,
    edges: SharedEdges,
    selection: ViewSelection,
    views: PreparedViews,
    fusion: EdgeFusion,
    impute: bool,
    *,
    engine: Engine,
) -> Fused:
    """Fuse the weights of the kept views.

    Parameters
    ----------
    weights : EdgeWeights
        What each view says; overwritten.
    edges : SharedEdges
        The shared edges.
    selection : ViewSelection
        How much views and rows count.
    views : PreparedViews
        The kept views.
    fusion : EdgeFusion
        The model.
    impute : bool
        Whether to replace what views say about samples that they lack by its expected value.
    engine : Engine
        The engine that computes.
    """
    fused = fusion.fuse(
        weights.weights,
        edges.handle,
        selection.weights,
        selection.trust,
        views.names,
        impute and not views.is_complete,
        engine,
    )
    return replace(fused, kernels=weights.kernels, units=weights.units)
