"""Out-of-sample prediction: edges to the samples of a fit, fused by what was learned there, and a vote.

Once a fusion has learned its parameters, the unified weight of an edge depends only on the views' values on
that edge. So new samples need no new fit. Their nearest samples in each view are found. The views' values on
these edges become weights by the same kernels and units as those of the fit, and the fusion treats them as it
did the edges of the fit. The k strongest of the unified edges vote, by their weight, for the clusters that
they lead to.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engines import Engine
from ..fusion.edge_fusion import Learned
from ..graphs import EdgeKernel
from ..io.stored import require, stored
from ..run.messages import warn
from ..spaces import Space
from ..spaces.descriptions import Transform
from .given import ViewForm
from .queries import NewSamples

_BLOCK = 1 << 15  # new samples at a time: their edges take some ten to hundred megabytes

Floats = NDArray[np.floating[Any]]


def _check(predictor: Predictor) -> None:
    """Raise a ValueError unless new samples can be compared with those of the fit, view by view."""
    n, v = len(predictor.labels), len(predictor.spaces)
    require(predictor.labels.ndim == 1 and predictor.labels.dtype.kind == "i", "its labels do not fit")
    fits = n > 0 and predictor.labels.min() >= 0 and predictor.labels.max() < n
    require(fits, "its labels are no clusters")
    require(len(predictor.numbers) == v and _are_about(predictor.models, v), "its views do not fit")
    for number, space in zip(predictor.numbers, predictor.spaces, strict=True):
        known = type(number) is int and 0 <= number < len(predictor.forms)
        require(known and space.n_samples == n, f"it is not about {n} samples")
        form = predictor.forms[number]
        require(space.rows.shape[1] == form.n_features, f"it is not about the features of {form.name!r}")
        fits = space.seen is None or (space.seen.dtype == bool and space.seen.shape == (n,))
        require(fits, "`seen` does not fit")
    trust = predictor.trust
    require(trust is None or (trust.dtype.kind == "f" and trust.shape == (n, v)), "`trust` does not fit")
    require(predictor.order is None or sorted(predictor.order.tolist()) == list(range(n)), "no order")
    require(type(predictor.n_neighbors) is int and predictor.n_neighbors >= 1, "no number of neighbours")
    for one in predictor.others:
        fits = len(one.transforms) == v and _are_about(one.models, v)
        require(fits and type(one.n_neighbors) is int and one.n_neighbors >= 1, "its descriptions do not fit")
        for space, transform in zip(predictor.spaces, one.transforms, strict=True):
            fits = transform is None or transform.fits(space.rows)
            require(fits, "its descriptions are not about the features")
        require(one.share > 0, "its shares do not fit")
    require(sum(one.share for one in predictor.others) < 1, "its shares do not fit")


def _are_about(models: tuple[EdgeModel, ...], v: int) -> bool:
    """Say whether there are models, and all of them are about so many views."""
    return len(models) > 0 and all(len(one.kernels) == len(one.units) == v for one in models)


@stored()
@dataclass(frozen=True, eq=False)
class EdgeModel:
    """What makes one similarity of the views' values on an edge.

    Attributes
    ----------
    kernels : tuple of EdgeKernel
        How each view's values on edges become weights.
    units : ndarray of shape (v,)
        What these are divided by.
    learned : Learned
        What the fusion has learned.
    """

    kernels: tuple[EdgeKernel, ...]
    units: Floats
    learned: Learned


@stored()
@dataclass(frozen=True, eq=False)
class OtherDescription:
    """What a fit keeps to predict by another description of the features.

    Attributes
    ----------
    transforms : tuple of (Transform or None)
        What becomes of each kept view's features; None: they are described by default.
    models, n_neighbors
        As in `Predictor`.
    share : float
        How much of the unified graph comes from this description.
    """

    transforms: tuple[Transform | None, ...] = field(repr=False)
    models: tuple[EdgeModel, ...]
    n_neighbors: int
    share: float


@stored(check=_check)
@dataclass(frozen=True, eq=False)
class Predictor:
    """What a fit keeps to predict the clusters of new samples.

    Attributes
    ----------
    forms : tuple of ViewForm
        What all views of the fit look like.
    numbers : tuple of int
        Which of them are kept.
    spaces : tuple of Space
        These, with the samples of the fit.
    models : tuple of EdgeModel
        What the fusion has learned; several, if it fuses in several ways that count the same.
    trust : ndarray of shape (n, v), or None
        How much each row counts; None: 1.
    labels : ndarray of shape (n,)
        The cluster of each sample.
    n_neighbors : int
        Neighbours per sample and view.
    order : ndarray of shape (n,), or None
        The samples in the order in which all of the above has them, by their places in the data of the fit;
        None: the same.
    others : tuple of OtherDescription
        Other descriptions of the features that have a share in the unified graph, and in predictions.
    """

    forms: tuple[ViewForm, ...]
    numbers: tuple[int, ...]
    spaces: tuple[Space, ...] = field(repr=False)
    models: tuple[EdgeModel, ...]
    trust: Floats | None = field(repr=False)
    labels: NDArray[np.intp] = field(repr=False)
    n_neighbors: int
    order: NDArray[np.intp] | None = field(default=None, repr=False)
    others: tuple[OtherDescription, ...] = field(default=(), repr=False)

    @cached_property
    def _by_description(self) -> tuple[tuple[float, Predictor], ...]:
        """Predictors by one description each, and their shares."""
        parts = [(1.0 - sum(one.share for one in self.others), replace(self, others=()))]
        for one in self.others:
            spaces = tuple(
                space if transform is None else replace(space, metric="euclidean", scaling=transform)
                for space, transform in zip(self.spaces, one.transforms, strict=True)
            )
            parts.append(
                (
                    one.share,
                    replace(
                        self,
                        spaces=spaces,
                        models=one.models,
                        n_neighbors=one.n_neighbors,
                        others=(),
                    ),
                )
            )
        return tuple(parts)

    @cached_property
    def _placed(self) -> dict[Engine, tuple[Any, ...]]:
        return {}

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what engines hold: it cannot be copied or pickled, and is placed again."""
        left_out = ("_placed", "_by_description")
        return {name: value for name, value in vars(self).items() if name not in left_out}

    def _points(self, engine: Engine) -> tuple[Any, ...]:
        """Return the views of the fit, placed by an engine, once."""
        if engine not in self._placed:
            self._placed[engine] = tuple(engine.place(space) for space in self.spaces)
        return self._placed[engine]

    def probabilities(self, new: NewSamples, engine: Engine) -> Floats:
        """Return how much of the weight of each new sample's edges leads to each cluster; rows sum to 1."""
        asked = new.mask[:, list(self.numbers)]
        lost = np.flatnonzero(~asked.any(axis=1))
        if lost.size:
            names = ", ".join(repr(self.forms[v].name) for v in self.numbers)
            raise ValueError(
                f"New {new.label(int(lost[0]))} has none of the views that the fit keeps ({names}); "
                f"{lost.size} such in all."
            )
        votes = self._all_votes(new, asked, engine)
        total = votes.sum(axis=1, keepdims=True)
        alone = total.ravel() == 0
        if alone.any():
            warn(
                f"{int(alone.sum())} new samples have no edge to any sample of the fit: they get each "
                "cluster's share of the samples as its probability."
            )
            votes[alone] = np.bincount(self.labels, minlength=votes.shape[1])
            total = votes.sum(axis=1, keepdims=True)
        return np.asarray(votes / total)

    def _all_votes(self, new: NewSamples, asked: NDArray[np.bool_], engine: Engine) -> Floats:
        """Return how much weight leads to each cluster; of several descriptions, shares of it, averaged."""
        if not self.others:
            starts = range(0, len(asked), _BLOCK)
            return np.concatenate([self._votes(new, slice(a, a + _BLOCK), asked, engine) for a in starts])
        votes = [share * _shares(one._all_votes(new, asked, engine)) for share, one in self._by_description]
        return np.asarray(sum(votes))

    def _votes(self, new: NewSamples, here: slice, asked: NDArray[np.bool_], engine: Engine) -> Floats:
        """Return how much weight leads from some of the new samples to each cluster."""
        asked, k = asked[here], self.n_neighbors
        queries = [
            engine.query(points, self._rows(new, number, space, here, own)) if own.any() else None
            for points, number, space, own in zip(
                self._points(engine), self.numbers, self.spaces, asked.T, strict=True
            )
        ]
        lists = [None if one is None else engine.nearest_new(one, k) for one in queries]
        edges = engine.unite_new(lists, asked, [space.seen for space in self.spaces])
        judged, zeros = engine.judged(edges), np.zeros(engine.n_edges(edges))
        values = [
            engine.adopt(zeros) if one is None else engine.measure_new(one, edges, own)
            for one, own in zip(queries, asked.T, strict=True)
        ]
        trust = None if self.trust is None else engine.trust_of_ends(edges, engine.adopt(self.trust))
        distances = [(i, values[i]) for i, space in enumerate(self.spaces) if space.kind == "distance"]
        same = engine.coinciding(edges, distances, len(values))
        found = []
        for model in self.models:
            parts = zip(values, model.kernels, strict=True)
            weights = engine.weigh(edges, len(values), parts, double=True)
            comparable = engine.divide(weights, np.asarray(model.units))
            unified = model.learned.similarity(comparable, judged, trust, engine)
            found.append(engine.cluster_shares(edges, unified, same, self.labels, self._n_clusters, k))
        return found[0] if len(found) == 1 else np.asarray(sum(map(_shares, found)) / len(found))

    @property
    def _n_clusters(self) -> int:
        return int(self.labels.max()) + 1

    def _rows(self, new: NewSamples, number: int, space: Space, here: slice, own: NDArray[np.bool_]) -> Any:
        """Return the new samples that have a view, on the scale of the fit."""
        rows = new.arrays[number][here][own]
        if space.is_pairwise and self.order is not None:
            rows = rows[:, self.order]
        return space.scaling(rows)


def _shares(votes: Floats) -> Floats:
    """Return which part of the weight of each new sample leads to each cluster; 0 if it has none."""
    total = votes.sum(axis=1, keepdims=True)
    return np.divide(votes, total, out=np.zeros_like(votes), where=total > 0)
