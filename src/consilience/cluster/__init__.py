"""Clusterers."""

from .average import AverageGraph
from .fusion import PAPER, DistanceGraphFusion, SimilarityGraphFusion
from .registry import systems
from .spectral import spectral_clustering, spectral_embedding

__all__ = [
    "PAPER",
    "AverageGraph",
    "DistanceGraphFusion",
    "SimilarityGraphFusion",
    "spectral_clustering",
    "spectral_embedding",
    "systems",
]
