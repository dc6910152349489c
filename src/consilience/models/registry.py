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
    FastMICE,
    SimilarityGraphFusion2019,
    SingleViewSpectral,
)

_REGISTERED: dict[str, type[MultiviewClusterer]] = {}


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
        "FastMICE": FastMICE,
        "MCGC": MCGC,
        "MVGL": MVGL,
        "RMSC": RMSC,
        "SNF": SNF,
        "WMSC": WMSC,
        "SGF-0": SimilarityGraphFusion2019,
        "DGF-0": DistanceGraphFusion2019,
        "SGF": SimilarityGraphFusion,
        "DGF": DistanceGraphFusion,
        **_REGISTERED,
    }


def register_system(name: str, system: type[MultiviewClusterer]) -> None:
    """Add a system of your own to `systems`: ``compare_systems`` runs it, and its models can be saved.

    Parameters
    ----------
    name : str
        A short name that no other system has.
    system : class
        A subclass of `MultiviewClusterer`, whose own name no other system has.

    Examples
    --------
    >>> from consilience.models import AverageGraph, estimator
    >>> @estimator
    ... class Mine(AverageGraph):
    ...     "A system of my own."
    >>> register_system("Mine", Mine)
    >>> systems()["Mine"] is Mine
    True
    >>> del _REGISTERED["Mine"]
    """
    if not (isinstance(system, type) and issubclass(system, MultiviewClusterer)):
        raise ValueError(f"A system is a subclass of MultiviewClusterer, got {system!r}.")
    # The same class once more, as when a cell of a notebook is run again, takes the place of the first.
    others = {key: cls for key, cls in systems().items() if not _is_again(_REGISTERED.get(key), system)}
    for key, cls in others.items():
        if name.casefold() == key.casefold() or system.__name__ == cls.__name__:
            raise ValueError(f"There is a system {key!r} ({cls.__name__}) already; choose another name.")
    _REGISTERED[name] = system


def _is_again(one: type[MultiviewClusterer] | None, other: type[MultiviewClusterer]) -> bool:
    return one is not None and (one.__module__, one.__qualname__) == (other.__module__, other.__qualname__)
