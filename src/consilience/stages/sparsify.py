r"""Sparsify: the strongest edges of each sample, in both directions, as one graph.

Where views lack samples, the graph is completed first. The unified value of an edge is a mean over the views
that judge it. An edge that is judged only by the view that named it is short because it was chosen, and would
win against one that all views judge: so for a view that has not seen an edge its expected value is used
(`Fused.expected`). In addition, an edge that few views judge is known less well than one that all judge; and
two samples that no view has seen both of cannot be joined by an edge at all. Common neighbours help in both
cases. With S the unified graph and D its degrees, a walk of two steps from i leads to r with the weight

.. math:: T_{ir} = (S D^{-1} S)_{ir},

which is large if they have neighbours in common. In units of the similarities s on the edges, by least
squares, that is c T. With p the share of the views, by their weights, that judge an edge, it becomes

.. math:: p\, s_{ir} + (1 - p)\, c\, T_{ir},

and two samples that no view has seen both of are joined by :math:`c\,T_{ir}`. With nothing missing p is 1 and
there are no such samples: nothing changes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..engines import Engine
from ..fusion.edge_fusion import Fused
from ..io.stored import stored
from ..run.handles import HANDLE
from .connect import SharedEdges
from .prepare import PreparedViews


@stored()
@dataclass(frozen=True, eq=False)
class UnifiedGraph:
    """The unified graph: symmetric, sparse."""

    handle: Any = field(repr=False, metadata=HANDLE)


def sparsify(
    fused: Fused,
    edges: SharedEdges,
    views: PreparedViews,
    n_neighbors: int,
    impute: bool,
    *,
    engine: Engine,
) -> UnifiedGraph:
    """Keep the strongest edges of each sample, and make the graph symmetric.

    Parameters
    ----------
    fused : Fused
        The unified similarities.
    edges : SharedEdges
        The shared edges.
    views : PreparedViews
        The kept views.
    n_neighbors : int
        Edges of each sample to keep.
    impute : bool
        Whether to complete the graph where views lack samples.
    engine : Engine
        The engine that computes.
    """
    similarity, ends = fused.similarity, edges.handle
    if impute and not views.is_complete:
        assert views.mask is not None
        similarity = similarity if fused.expected is None else fused.expected
        ends, similarity = engine.impute(ends, similarity, views.mask, fused.view_weights, n_neighbors)
    return UnifiedGraph(engine.sparsify(ends, similarity, n_neighbors))
