"""The classes of ours that a file may hold, by name. To add one, add a line to `CLASSES`.

A dataclass is stored as its fields and built from them. Of another class the names of its attributes are
given. A class that wants neither brings a pair of functions.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.random import MT19937, RandomState

from ...fusion import FusionResult
from ...graph import EdgeKernel, EdgeSet
from ...graph.affinity import Standardization
from ...neighbors import Agreement, RememberingSpace, SearchReport
from ...neighbors.features import DenseSpace, SparseSpace
from ...neighbors.gower import GowerSpace, NanEuclideanSpace
from ...neighbors.graphs import GraphDistanceSpace
from ...neighbors.matrices import MetricSpace, PrecomputedSpace
from ...neighbors.scaling import Rescaling, Scaling
from ...neighbors.spaces import SeenSpace
from ...views import Encoding, Views
from ..incoming import ViewForm
from ..placing import FittedView, Placement
from ..selection import ClusterSelection
from ..spectral import SpectralEmbedding
from ..weighing import Hearing
from . import consistency

State = dict[str, Any]


@dataclass(frozen=True)
class Stored:
    """How objects of a class are stored.

    Parameters
    ----------
    cls : type
        The class itself; no subclass of it.
    attributes : tuple of str, default=()
        What to store of an object, unless the class is a dataclass: all that is in its ``__dict__``.
    to_state, from_state : callable, default=None
        Functions from an object to a dict of values and back, for classes that need more than that.
    check : callable, default=None
        Raises a ValueError about an object that could not have been stored: what is in a file may be
        anything, and compiled code does not look whether an index is within bounds.
    """

    cls: type
    attributes: tuple[str, ...] = ()
    to_state: Callable[[Any], State] | None = None
    from_state: Callable[[State], Any] | None = None
    check: Callable[[Any], None] | None = None

    def state_of(self, value: Any) -> State:
        """Return what is to be stored of an object."""
        if self.to_state is not None:
            return self.to_state(value)
        names = self._names()
        if not dataclasses.is_dataclass(self.cls):
            odd = {name for name in vars(value) if not self._can_be_made_again(name)} ^ set(names)
            if odd:
                told = ", ".join(sorted(odd))
                raise ValueError(f"a {self.cls.__name__} has other attributes than are stored ({told})")
        return {name: getattr(value, name) for name in names}

    def _can_be_made_again(self, name: str) -> bool:
        return isinstance(getattr(self.cls, name, None), cached_property)

    def build(self, state: State) -> Any:
        """Return the object of a state, or raise a ValueError."""
        try:
            value = self._built(state)
            if self.check is not None:
                self.check(value)
        except (TypeError, KeyError, AttributeError, IndexError) as error:
            raise ValueError(f"it does not hold what a {self.cls.__name__} is made of") from error
        return value

    def _built(self, state: State) -> Any:
        if self.from_state is not None:
            return self.from_state(state)
        if dataclasses.is_dataclass(self.cls):
            return self.cls(**state)
        if set(state) != set(self.attributes):
            raise KeyError(*sorted(set(state) ^ set(self.attributes)))
        value: Any = object.__new__(self.cls)
        value.__dict__.update(state)
        return value

    def _names(self) -> tuple[str, ...]:
        if dataclasses.is_dataclass(self.cls):
            return tuple(field.name for field in dataclasses.fields(self.cls) if field.init)
        return self.attributes


def _random_state_to_state(value: RandomState) -> State:
    state = value.get_state(legacy=False)
    if not isinstance(state, dict) or state["bit_generator"] != "MT19937":
        raise ValueError("of random generators only np.random.RandomState(seed) can be stored")
    return {
        "key": np.asarray(state["state"]["key"]),
        "pos": int(state["state"]["pos"]),
        "has_gauss": int(state["has_gauss"]),
        "gauss": float(state["gauss"]),
    }


def _random_state_from_state(state: State) -> RandomState:
    key, pos = state["key"], state["pos"]
    if key.shape != (624,) or key.dtype != np.uint32 or not 0 <= pos <= 624:
        raise ValueError("it is no state of a random generator")
    value = RandomState(MT19937())
    value.set_state(("MT19937", key, pos, state["has_gauss"], state["gauss"]))
    return value


_CELLS = ("x", "name", "sample_ids", "lowest", "highest", "ranges")

CLASSES: Mapping[str, Stored] = {
    "EdgeSet": Stored(EdgeSet, check=consistency.check_edges),
    "FusionResult": Stored(FusionResult, check=consistency.check_fusion),
    "Agreement": Stored(Agreement),
    # What stages of a fit return.
    "Hearing": Stored(Hearing),
    "SearchReport": Stored(SearchReport),
    "SpectralEmbedding": Stored(SpectralEmbedding),
    "ClusterSelection": Stored(ClusterSelection),
    # What places new samples.
    "Placement": Stored(Placement),
    "FittedView": Stored(FittedView),
    "ViewForm": Stored(ViewForm),
    "Encoding": Stored(Encoding),
    "Scaling": Stored(Scaling),
    "Rescaling": Stored(Rescaling),
    "EdgeKernel": Stored(EdgeKernel),
    "Standardization": Stored(Standardization),
    # Views and spaces.
    "Views": Stored(
        Views,
        ("names", "arrays", "sample_ids", "mask", "pairwise", "columns", "encodings", "graphs"),
    ),
    "DenseSpace": Stored(
        DenseSpace, ("x", "cosine", "centered", "dtype", "blank"), check=consistency.check_features
    ),
    "SparseSpace": Stored(
        SparseSpace, ("x", "cosine", "dtype", "blank"), check=consistency.check_sparse_features
    ),
    "MetricSpace": Stored(MetricSpace, ("x", "metric", "name", "sample_ids", "dtype", "parameters")),
    "GowerSpace": Stored(GowerSpace, _CELLS, check=consistency.check_cells),
    "NanEuclideanSpace": Stored(NanEuclideanSpace, _CELLS, check=consistency.check_cells),
    "PrecomputedSpace": Stored(
        PrecomputedSpace, ("matrix", "kind", "squared"), check=consistency.check_square
    ),
    "GraphDistanceSpace": Stored(GraphDistanceSpace, ("matrix", "farthest"), check=consistency.check_square),
    "SeenSpace": Stored(SeenSpace, ("space", "seen", "pairwise", "kind"), check=consistency.check_seen),
    "RememberingSpace": Stored(
        RememberingSpace,
        to_state=lambda value: {"space": value.space},  # what it remembers can be asked again
        from_state=lambda state: RememberingSpace(state["space"]),
    ),
    "RandomState": Stored(RandomState, to_state=_random_state_to_state, from_state=_random_state_from_state),
}
"""Every class of ours whose objects may be in a file, by the name that it has there."""

NAMES: Mapping[type, str] = {stored.cls: name for name, stored in CLASSES.items()}
