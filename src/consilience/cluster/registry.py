"""The systems by name, for whoever wants to run them all."""

from __future__ import annotations

from .aasc import AASC
from .average import AverageGraph
from .awp import AWP
from .base import MultiviewClusterer
from .concatenated import ConcatenatedSpectral
from .coreg import CoReg
from .fusion import DistanceGraphFusion, SimilarityGraphFusion
from .fusion2019 import DistanceGraphFusion2019, SimilarityGraphFusion2019
from .mcgc import MCGC
from .mvgl import MVGL
from .rmsc import RMSC
from .single import SingleViewSpectral
from .snf import SNF
from .wmsc import WMSC


def systems() -> dict[str, type[MultiviewClusterer]]:
    """Return every system under the short name that papers use, in the order in which tables show them.

    Single views and baselines first, then what others proposed, then the versions of 2019 of SGF and DGF, and
    SGF and DGF themselves.

    Examples
    --------
    >>> from consilience.cluster import systems
    >>> systems()["DGF"]
    <class 'consilience.cluster.fusion.DistanceGraphFusion'>
    """
    return {
        "SC": SingleViewSpectral,
        "Concatenated": ConcatenatedSpectral,
        "Average": AverageGraph,
        "AASC": AASC,
        "AWP": AWP,
        "CoReg": CoReg,
        "MCGC": MCGC,
        "MVGL": MVGL,
        "RMSC": RMSC,
        "SNF": SNF,
        "WMSC": WMSC,
        "SGF-0": SimilarityGraphFusion2019,
        "DGF-0": DistanceGraphFusion2019,
        "SGF": SimilarityGraphFusion,
        "DGF": DistanceGraphFusion,
    }
