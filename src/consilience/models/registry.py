"""The systems by name, for code that runs all of them."""

from __future__ import annotations

from .base import MultiviewClusterer
from .fusion import AverageGraph, DistanceGraphFusion, SimilarityGraphFusion
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


def systems() -> dict[str, type[MultiviewClusterer]]:
    """Return every system under the short name that papers use, in the order in which tables show them.

    Single views and baselines first, then what others proposed, then the versions of 2019 of SGF and DGF, and
    SGF and DGF themselves.

    Examples
    --------
    >>> from consilience.models import systems
    >>> systems()["DGF"]
    <class 'consilience.models.fusion.DistanceGraphFusion'>
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
