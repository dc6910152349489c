"""Fusing what several views say about shared edges: the two models of the paper, the average, and your own.

An `EdgeFusion` says how a view's values on the edges become weights (`kernel`), and combines all views into
one similarity for each edge (`fuse`). It applies what it has learned from the edges of a fit to the edges of
new samples (`Learned`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..engines import Engine
from ..engines.expected import expected_values
from ..engines.results import Vector
from ..graphs import EdgeKernel
from ..io.stored import stored
from ..run.handles import HANDLE
from .alternation import Schedule, fuse_new_edges, learn_consistent_graph
from .problem import FusionProblem
from .result import FusionResult

Kind = Literal["similarity", "distance"]


class Learned(ABC):
    """What a fusion has learned: it can be applied to other edges, too."""

    @abstractmethod
    def similarity(self, weights: Any, judged: Any | None, trust: Any | None, engine: Engine) -> Any:
        """Return the unified similarities on edges, from what the views say about them.

        Parameters
        ----------
        weights : handle of weights, (v, n_edges)
            By the kernels of the fit, divided by its units.
        judged : handle of bool, (v, n_edges), or None
            Which view judges which edge; None: all judge all.
        trust : handle of weights, (v, n_edges), or None
            How much each view counts on each edge, as a part of its weight: 0 where it does not judge. None:
            1 where it judges.
        engine : Engine
            The engine that computes.

        Returns
        -------
        handle of values, (n_edges,)
            Not negative.
        """


@stored()
@dataclass(frozen=True, eq=False)
class Fused:
    """The result of a fusion on the edges of a fit.

    Attributes
    ----------
    similarity : handle of values, (n_edges,)
        The unified similarities.
    learned : Learned
        What it learned, for other edges.
    view_weights : ndarray of shape (v,)
        How much each view counts: as `EdgeFusion.fuse` was given them, unless the model changes them. The
        table of views shows them.
    expected : handle of values, (n_edges,), or None
        The unified similarities if every view judged every edge, with expected values where it does not; None
        if all views do, or if `similarity` is good enough there.
    result : FusionResult or None
        Of models that separate consistent from inconsistent parts: these parts. Such models can be inspected;
        None for others.
    kernels, units
        As in `EdgeWeights`: how each view's values became weights, and what these are divided by. The stage
        sets them.
    """

    similarity: Any = field(repr=False, metadata=HANDLE)
    learned: Learned
    view_weights: Vector
    expected: Any | None = field(default=None, repr=False, metadata=HANDLE)
    result: FusionResult | None = None
    kernels: tuple[EdgeKernel, ...] = ()
    units: Vector = field(default_factory=lambda: np.empty(0))

    def without_edges(self) -> Fused:
        """Return the same without the unified similarities, which only the next stage needs."""
        return replace(self, similarity=None, expected=None)


class EdgeFusion(ABC):  # noqa: B024 - one of two methods is implemented, so neither is abstract
    """A model that fuses what views say about shared edges into one similarity for each edge.

    To write one, implement `fuse`, and a `Learned` for prediction; or only `combine`, if all it needs is the
    weights of the views on each edge.
    """

    kind: Kind = "similarity"  # which values of the views on an edge the model needs

    def kernel(self, values: Any, kind: Kind, judged: Any | None, view: int, engine: Engine) -> EdgeKernel:
        """Return how a view's values on the edges become weights: here Gaussian similarities, as in SGF.

        `kind` says what the values are; similarities that the user gave are taken as they are.
        """
        if kind == "similarity":
            return EdgeKernel()
        standard = EdgeKernel(moments=engine.moments(values, judged, view))
        sigma = engine.mean_root(values, judged, view, standard)
        return EdgeKernel(moments=standard.moments, width=2 * sigma**2)

    def units(self, weights: Any, judged: Any | None, engine: Engine) -> Vector:
        """Return what each view's weights are divided by: here their mean over the edges that it judges."""
        counts: Any = engine.n_values(weights)
        if judged is not None:
            counts = np.rint(engine.judged_shares(judged) * counts)
        return np.asarray(engine.totals(weights) / counts)

    def fuse(
        self,
        weights: Any,
        edges: Any,
        view_weights: Vector,
        trust: Any | None,
        names: Sequence[str],
        impute: bool,
        engine: Engine,
    ) -> Fused:
        """Fuse the weights of all views on the edges of a fit.

        Parameters
        ----------
        weights : handle of weights, (v, n_edges)
            Each view's weights on the edges, by its kernel. They are not divided by the units yet; what
            `Learned.similarity` gets is. May be overwritten.
        edges : handle of edges
            The edges; ``engine.judged(edges)`` says which view judges which.
        view_weights : ndarray of shape (v,)
            How much each view counts.
        trust : handle of trust, (n, v), or None
            How much each row of each view counts; `Engine.trust_on_edges` makes it (v, n_edges). None: 1.
        names : sequence of str
            The views' names, for messages.
        impute : bool
            Whether `Fused.expected` is asked for.
        engine : Engine
            The engine that computes.

        Returns
        -------
        Fused
        """
        judged = engine.judged(edges)
        comparable = engine.divide(weights, self.units(weights, judged, engine))
        on_edges = None if trust is None else engine.trust_on_edges(edges, trust, comparable)
        learned, expected = LearnedCombination(self, view_weights), None
        if impute and judged is not None:
            expected = learned.expected(comparable, judged, on_edges, engine)
        return Fused(
            learned.similarity(comparable, judged, on_edges, engine), learned, view_weights, expected
        )

    def for_descriptions(self) -> tuple[EdgeFusion, ...]:
        """Return the models by which the views are fused in other descriptions; each has the same share.

        Here it is this model alone. Nothing may watch their rounds: nobody has asked to see these.
        """
        return (self,)

    def combine(
        self,
        weights: NDArray[np.floating[Any]],
        counts: NDArray[np.floating[Any]],
    ) -> NDArray[np.floating[Any]]:
        """Return one similarity for each edge (n_edges,), not negative, from the weights of the views.

        `weights` (v, n_edges) are divided by the units. `counts` of the same shape says how much each view
        counts on each edge: 0 where it does not judge. Of each edge, at least one is above 0.
        """
        raise NotImplementedError(f"{type(self).__name__} implements neither `fuse` nor `combine`.")


@stored()
@dataclass(frozen=True, eq=False)
class LearnedCombination(Learned):
    """A fusion that treats each edge by itself, on arrays."""

    fusion: EdgeFusion
    view_weights: Vector

    def similarity(self, weights: Any, judged: Any | None, trust: Any | None, engine: Engine) -> Any:
        """Return what the fusion's `combine` makes of the weights."""
        array = engine.fetch(weights)
        counts = np.broadcast_to(self.view_weights[:, None], array.shape)
        if trust is not None:
            counts = counts * engine.fetch(trust)
        elif judged is not None:
            counts = counts * engine.fetch(judged)
        return engine.adopt(self._combined(array, counts))

    def expected(self, weights: Any, judged: Any, trust: Any | None, engine: Engine) -> Any:
        """Return the same if every view judged every edge: with expected weights where it does not."""
        array, seen = engine.fetch(weights), engine.fetch(judged)
        counts = np.broadcast_to(self.view_weights[:, None], array.shape)
        if trust is not None:
            counts = np.where(seen, counts * engine.fetch(trust), counts)
        return engine.adopt(self._combined(expected_values(array, seen).astype(array.dtype), counts))

    def _combined(self, weights: NDArray[Any], counts: NDArray[Any]) -> NDArray[np.floating[Any]]:
        """Call `combine`, and check what it returns: compiled code would not."""
        found = np.asarray(self.fusion.combine(weights, counts))
        who, n_edges = f"{type(self.fusion).__name__}.combine", weights.shape[1]
        if found.shape != (n_edges,) or found.dtype.kind not in "fiu":
            raise ValueError(
                f"{who} must return one number for each of the {n_edges:,} edges, got an array of shape "
                f"{found.shape} and type {found.dtype}."
            )
        wrong = np.flatnonzero(~(found >= 0) | np.isinf(found))
        if wrong.size:
            raise ValueError(
                f"{who} must return finite numbers that are not negative; {wrong.size:,} of {n_edges:,} are "
                f"not, the first is {found[wrong[0]]}, of an edge with the weights "
                f"{weights[:, wrong[0]].tolist()} and the counts {counts[:, wrong[0]].tolist()}."
            )
        return found.astype(weights.dtype, copy=False)


@stored()
@dataclass(frozen=True, eq=False)
class LearnedAverage(Learned):
    """The average of the views: nothing is learned.

    Attributes
    ----------
    view_weights : ndarray of shape (v,), or None
        How much each view counts; None: all alike.
    """

    view_weights: Vector | None = None

    def similarity(self, weights: Any, judged: Any | None, trust: Any | None, engine: Engine) -> Any:
        """Return the mean over the views that judge each edge."""
        return engine.average(weights, judged, self.view_weights, trust)


class AverageFusion(EdgeFusion):
    """The mean of the views' similarities, each divided by its own mean; nothing is learned."""

    def fuse(
        self,
        weights: Any,
        edges: Any,
        view_weights: Vector,
        trust: Any | None,
        names: Sequence[str],
        impute: bool,
        engine: Engine,
    ) -> Fused:
        """Average the weights."""
        judged = engine.judged(edges)
        comparable = engine.divide(weights, self.units(weights, judged, engine))
        on_edges = None if trust is None else engine.trust_on_edges(edges, trust, comparable)
        expected = None
        if impute and judged is not None:
            expected = engine.expected_average(comparable, judged, view_weights, on_edges)
        learned = LearnedAverage(None if np.ptp(view_weights) == 0 else view_weights)
        return Fused(
            learned.similarity(comparable, judged, on_edges, engine), learned, view_weights, expected
        )


@stored()
@dataclass(frozen=True, eq=False)
class LearnedScales(Learned):
    """What a consistent fusion has learned: the scales of the views. The rounds are the same for other edges.

    Attributes
    ----------
    view_names : tuple of str
        The views.
    view_weights, view_scales : ndarray of shape (v,)
        The paper's lambda and alpha.
    beta, gamma : float
        The penalties.
    solver : {"dca", "exact"}
        Which edge step was used.
    n_iter : int
        Number of rounds.
    kernel : EdgeKernel
        What turns fused values into similarities.
    """

    view_names: tuple[str, ...]
    view_weights: Vector
    view_scales: Vector
    beta: float
    gamma: float
    solver: str
    n_iter: int
    kernel: EdgeKernel

    def similarity(self, weights: Any, judged: Any | None, trust: Any | None, engine: Engine) -> Any:
        """Run the rounds of the fit on other edges, with its scales."""
        problem = FusionProblem(
            weights, self.view_weights, self.beta, self.gamma, judged, self.view_names, trust
        )
        fused = fuse_new_edges(problem, self.view_scales, self.solver, self.n_iter, engine)
        return engine.transform(fused, self.kernel)


class ConsistentFusion(EdgeFusion):
    """The paper's model, which separates consistent from inconsistent parts.

    It fuses similarities (SGF) or distances (DGF).

    Parameters
    ----------
    kind : {"similarity", "distance"}
        What is fused.
    beta, gamma : float
        The penalties.
    schedule : Schedule
        How to run the alternation.
    """

    def __init__(self, kind: Kind, beta: float, gamma: float, schedule: Schedule) -> None:
        self.kind: Kind = kind
        self.beta, self.gamma, self.schedule = float(beta), float(gamma), schedule

    def for_descriptions(self) -> tuple[EdgeFusion, ...]:
        """Return this model and the one of the other kind: what only one of them sees counts half."""
        unwatched = replace(self.schedule, callback=None)
        kinds: tuple[Kind, Kind] = ("similarity", "distance")
        return tuple(ConsistentFusion(kind, self.beta, self.gamma, unwatched) for kind in kinds)

    def kernel(self, values: Any, kind: Kind, judged: Any | None, view: int, engine: Engine) -> EdgeKernel:
        """Return the kernel: to Gaussian similarities, or to standardised squared distances."""
        if self.kind == "similarity":
            return super().kernel(values, kind, judged, view, engine)
        # Not by the largest: with a long tail, most weights would then be close to no edge.
        bare = EdgeKernel(typical=engine.mean_positive(values) if kind == "similarity" else None)
        return EdgeKernel(bare.typical, engine.moments(values, judged, view, bare))

    def units(self, weights: Any, judged: Any | None, engine: Engine) -> Vector:
        """Return the sum of each view's weights, as if it judged all edges."""
        totals = engine.totals(weights)
        return totals if judged is None else totals / engine.judged_shares(judged)

    def fuse(
        self,
        weights: Any,
        edges: Any,
        view_weights: Vector,
        trust: Any | None,
        names: Sequence[str],
        impute: bool,
        engine: Engine,
    ) -> Fused:
        """Learn scales, consistent parts and the fused graph, one after the other (Algorithm 3)."""
        judged = engine.judged(edges)
        on_edges = None if trust is None else engine.trust_on_edges(edges, trust, weights)
        problem = FusionProblem(
            engine.normalize(weights, judged, names),
            view_weights,
            self.beta,
            self.gamma,
            judged,
            tuple(names),
            on_edges,
        )
        result = learn_consistent_graph(problem, self.schedule, engine, edges, self.kind)
        kernel = EdgeKernel()
        if self.kind == "distance":
            kernel = EdgeKernel(width=2 * engine.mean(result.fused))
        learned = LearnedScales(
            result.view_names,
            view_weights,
            result.view_scales,
            self.beta,
            self.gamma,
            result.solver,
            result.n_iter,
            kernel,
        )
        expected = None
        if impute and judged is not None:
            consistent = engine.consistent(
                result.weights_by_view, result.inconsistent_by_view, result.view_scales
            )
            mean = engine.expected_average(consistent, judged, view_weights, on_edges)
            expected = engine.transform(mean, kernel)
        similarity = engine.transform(result.fused, kernel)
        return Fused(similarity, learned, view_weights, expected, result)
