"""The comparison systems, one file each: functions on graphs, and an estimator that lists its stages."""

from .aasc import AASC
from .awp import AWP
from .concatenated import ConcatenatedSpectral
from .coreg import CoReg
from .fastmice import FastMICE
from .fusion2019 import DistanceGraphFusion2019, SimilarityGraphFusion2019
from .mcgc import MCGC
from .mvgl import MVGL
from .rmsc import RMSC
from .single import SingleViewSpectral
from .snf import SNF
from .wmsc import WMSC

__all__ = [
    "AASC",
    "AWP",
    "MCGC",
    "MVGL",
    "RMSC",
    "SNF",
    "WMSC",
    "CoReg",
    "ConcatenatedSpectral",
    "DistanceGraphFusion2019",
    "FastMICE",
    "SimilarityGraphFusion2019",
    "SingleViewSpectral",
]
