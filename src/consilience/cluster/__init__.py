"""Clusterers."""

from .aasc import AASC
from .average import AverageGraph
from .awp import AWP
from .base import SharedViews
from .coreg import CoReg
from .fusion import PAPER, DistanceGraphFusion, SimilarityGraphFusion
from .registry import systems
from .spectral import spectral_clustering, spectral_embedding
from .wmsc import WMSC

__all__ = [
    "AASC",
    "AWP",
    "PAPER",
    "WMSC",
    "AverageGraph",
    "CoReg",
    "DistanceGraphFusion",
    "SharedViews",
    "SimilarityGraphFusion",
    "spectral_clustering",
    "spectral_embedding",
    "systems",
]
