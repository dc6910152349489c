"""The systems by name, for whoever wants to run them all."""

from __future__ import annotations

from .aasc import AASC
from .average import AverageGraph
from .awp import AWP
from .base import MultiviewClusterer
from .coreg import CoReg
from .fusion import DistanceGraphFusion, SimilarityGraphFusion
from .wmsc import WMSC


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
        "AASC": AASC,
        "AWP": AWP,
        "CoReg": CoReg,
        "WMSC": WMSC,
        "SGF": SimilarityGraphFusion,
        "DGF": DistanceGraphFusion,
    }
