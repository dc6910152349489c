"""Clusterers."""

from .fusion import PAPER, DistanceGraphFusion, SimilarityGraphFusion
from .spectral import spectral_clustering

__all__ = ["PAPER", "DistanceGraphFusion", "SimilarityGraphFusion", "spectral_clustering"]
