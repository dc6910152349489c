"""Clusterers."""

from .average import AverageGraph
from .fusion import PAPER, DistanceGraphFusion, SimilarityGraphFusion
from .spectral import spectral_clustering

__all__ = ["PAPER", "AverageGraph", "DistanceGraphFusion", "SimilarityGraphFusion", "spectral_clustering"]
