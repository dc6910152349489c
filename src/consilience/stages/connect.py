"""Connect: the edges that the kept views share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..engines import Engine
from ..engines.results import Neighbors
from ..io.stored import stored
from ..run.handles import HANDLE
from .agree import ViewSelection
from .prepare import PreparedViews


@stored()
@dataclass(frozen=True, eq=False)
class SharedEdges:
    """The edges that the kept views share, their number, and which view judges which edge."""

    handle: Any = field(repr=False, metadata=HANDLE)
    n_edges: int = 0


def connect(
    found: Sequence[Neighbors], selection: ViewSelection, views: PreparedViews, *, engine: Engine
) -> SharedEdges:
    """Unite the neighbours in the kept views into shared edges.

    Parameters
    ----------
    found : sequence of Neighbors
        The neighbours in all active views.
    selection : ViewSelection
        Which views are kept. Those kept only for some samples name neighbours for these alone.
    views : PreparedViews
        The kept views.
    engine : Engine
        The engine that unites.
    """
    chosen = [
        engine.restrict(one.lists, selection.orphans) if only_for else one.lists
        for one, kept, only_for in zip(found, selection.kept, selection.only_for, strict=True)
        if kept
    ]
    edges = engine.unite(chosen, views.mask)
    return SharedEdges(edges, engine.n_edges(edges))
