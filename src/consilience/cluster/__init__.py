"""Clusterers."""

from .aasc import AASC
from .average import AverageGraph
from .awp import AWP
from .concatenated import ConcatenatedSpectral
from .coreg import CoReg
from .fusion import PAPER, DistanceGraphFusion, SimilarityGraphFusion
from .fusion2019 import DistanceGraphFusion2019, SimilarityGraphFusion2019
from .mcgc import MCGC
from .mvgl import MVGL
from .prepared import SharedViews
from .registry import systems
from .rmsc import RMSC
from .selection import ClusterSelection, select_n_clusters
from .single import SingleViewSpectral
from .snf import SNF
from .spectral import spectral_clustering, spectral_embedding
from .wmsc import WMSC

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
    "ClusterSelection",
    "CoReg",
    "ConcatenatedSpectral",
    "DistanceGraphFusion",
    "DistanceGraphFusion2019",
    "SharedViews",
    "SimilarityGraphFusion",
    "SimilarityGraphFusion2019",
    "SingleViewSpectral",
    "select_n_clusters",
    "spectral_clustering",
    "spectral_embedding",
    "systems",
]
