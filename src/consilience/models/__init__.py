"""Clusterers: SGF and DGF, the average of graphs, and the systems they are compared with."""

from .base import MultiviewClusterer
from .estimator import estimator
from .fitted import ViewTable
from .fusion import PAPER, AverageGraph, DistanceGraphFusion, GraphFusion, SimilarityGraphFusion
from .given import SharedViews
from .registry import systems
from .systems import (
    AASC,
    AWP,
    MCGC,
    MVGL,
    RMSC,
    SNF,
    WMSC,
    ConcatenatedSpectral,
    CoReg,
    DistanceGraphFusion2019,
    SimilarityGraphFusion2019,
    SingleViewSpectral,
)
from .systems.view_graphs import knn_graphs

__all__ = [
    "AASC",
    "AWP",
    "MCGC",
    "MVGL",
    "PAPER",
    "RMSC",
    "SNF",
    "WMSC",
    "AverageGraph",
    "CoReg",
    "ConcatenatedSpectral",
    "DistanceGraphFusion",
    "DistanceGraphFusion2019",
    "GraphFusion",
    "MultiviewClusterer",
    "SharedViews",
    "SimilarityGraphFusion",
    "SimilarityGraphFusion2019",
    "SingleViewSpectral",
    "ViewTable",
    "estimator",
    "knn_graphs",
    "systems",
]
