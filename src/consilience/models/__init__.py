"""Clusterers: SGF and DGF, the average of graphs, and the systems they are compared with."""

from .base import MultiviewClusterer, Settings, cluster_graph
from .estimator import estimator
from .fitted import ViewTable
from .fusion import PAPER, AverageGraph, DistanceGraphFusion, GraphFusion, SimilarityGraphFusion
from .given import GivenViews, SharedViews
from .registry import register_system, systems
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
    FastMICE,
    SimilarityGraphFusion2019,
    SingleViewSpectral,
)
from .systems.labelling import label_rows
from .systems.view_graphs import knn_graphs, view_graph

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
    "FastMICE",
    "GivenViews",
    "GraphFusion",
    "MultiviewClusterer",
    "Settings",
    "SharedViews",
    "SimilarityGraphFusion",
    "SimilarityGraphFusion2019",
    "SingleViewSpectral",
    "ViewTable",
    "cluster_graph",
    "estimator",
    "knn_graphs",
    "label_rows",
    "register_system",
    "systems",
    "view_graph",
]
