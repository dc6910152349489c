"""The systems by name, for whoever wants to run them all."""

from __future__ import annotations

from .average import AverageGraph
from .base import MultiviewClusterer
from .fusion import DistanceGraphFusion, SimilarityGraphFusion


def systems() -> dict[str, type[MultiviewClusterer]]:
    """Return every system under the short name that papers use, in the order in which tables show them.

    Examples
    --------
    >>> from consilience.cluster import systems
    >>> systems()["DGF"]
    <class 'consilience.cluster.fusion.DistanceGraphFusion'>
    """
    return {
        "Average": AverageGraph,
        "SGF": SimilarityGraphFusion,
        "DGF": DistanceGraphFusion,
    }
