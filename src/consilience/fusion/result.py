"""What a fusion returns."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..engines import Engine
from ..graphs import EdgeSet
from ..io.stored import require, stored
from ..run.handles import HANDLE


def _check(result: FusionResult) -> None:
    """Raise a ValueError unless all arrays are of the same views and edges."""
    shape = result.weights_by_view.shape
    require(len(shape) == 2 and result.fused.shape == shape[1:], "its edges do not fit")
    for name, kind in (
        ("weights_by_view", "f"),
        ("inconsistent_by_view", "f"),
        ("trust_by_view", "f"),
        ("seen_by_view", "b"),
    ):
        part = getattr(result, name)
        fits = part is None or (
            isinstance(part, np.ndarray) and part.dtype.kind == kind and part.shape == shape
        )
        require(fits, f"`{name}` does not fit")
    require(result.edges is None or result.edges.n_edges == shape[1], "its edges do not fit")
    # New samples need the same number of rounds.
    known = type(result.n_iter) is int and 0 <= result.n_iter <= len(result.history) - 1
    require(known, "its rounds do not fit")
    per_view = (result.view_names, result.view_weights, result.view_scales)
    require(all(len(one) == shape[0] for one in per_view), "its views do not fit")


@stored(check=_check)
@dataclass(frozen=True, eq=False)
class FusionResult:
    """The unified graph, and each view split into a part that the others share and a part that only it has.

    Edge values are in the units of the model, where each view's weights sum to 1 (with samples missing: have
    the mean 1 / n_edges over the edges that the view judges, and are 0 on the others).

    Attributes
    ----------
    fused : ndarray of shape (n_edges,)
        The unified graph on the edges: similarities or distances, like the input.
    view_names : tuple of str
        Names of the views.
    view_weights : ndarray of shape (v,)
        The paper's lambda: how much each view counts.
    view_scales : ndarray of shape (v,)
        The paper's alpha: the scale at which each view enters; on the simplex.
    history : ndarray of shape (n_iter + 1,)
        The objective at the start and after each round's update of the scales.
    n_iter : int
        Number of rounds.
    converged : bool
        Whether the stopping rule was met.
    status : str
        Why it ended, in words: ``"converged"``, ``"max_iter reached"`` or ``"stopped by callback"``.
    solver : {"dca", "exact"}
        Which edge step was used.
    weights_by_view, inconsistent_by_view : ndarray of shape (v, n_edges)
        The input, scaled, and its inconsistent part, as they are stored.
    seen_by_view : ndarray of bool of shape (v, n_edges), or None
        Which view judges which edge; None: every view judges every edge.
    edges : EdgeSet or None
        Where the values are in the graph, if that is known.
    trust_by_view : ndarray of shape (v, n_edges), or None
        How much each view counts on each edge, as a part of its weight; 0 where it does not judge.
        None: 1 where it judges.
    kind : {"similarity", "distance"} or None
        What the weights are; None if that was not given.
    mean_trust : ndarray of shape (v,), or None
        Mean of each view's trust over all edges; None: 1.
    """

    fused: NDArray[np.floating[Any]] = field(repr=False, metadata=HANDLE)
    view_names: tuple[str, ...]
    view_weights: NDArray[np.float64]
    view_scales: NDArray[np.float64]
    history: NDArray[np.float64] = field(repr=False)
    n_iter: int
    converged: bool
    status: str
    solver: str
    weights_by_view: NDArray[np.floating[Any]] = field(repr=False, metadata=HANDLE)
    inconsistent_by_view: NDArray[np.floating[Any]] = field(repr=False, metadata=HANDLE)
    seen_by_view: NDArray[np.bool_] | None = field(default=None, repr=False, metadata=HANDLE)
    edges: EdgeSet | None = field(default=None, repr=False, metadata=HANDLE)
    trust_by_view: NDArray[np.floating[Any]] | None = field(default=None, repr=False, metadata=HANDLE)
    kind: Literal["similarity", "distance"] | None = None
    mean_trust: NDArray[np.float64] | None = field(default=None, repr=False)

    def fetched(self, engine: Engine) -> FusionResult:
        """Return the same with arrays in place of handles of an engine."""
        held = ("fused", "weights_by_view", "inconsistent_by_view", "seen_by_view", "edges", "trust_by_view")
        given = {name: getattr(self, name) for name in held}
        return replace(self, **{name: engine.fetch(one) for name, one in given.items() if one is not None})

    @property
    def consistent(self) -> NDArray[np.floating[Any]]:
        """The consistent parts A, of shape (n_edges, v), computed on access."""
        return (self.weights_by_view - self.inconsistent_by_view).T

    @property
    def inconsistent(self) -> NDArray[np.floating[Any]]:
        """The inconsistent parts E = W - A, of shape (n_edges, v)."""
        return self.inconsistent_by_view.T

    @property
    def view_contributions(self) -> NDArray[np.float64]:
        """Each view's share of the unified graph: weight times scale, summing to 1.

        If trust is given: weight times scale times the mean of its trust over all edges.
        """
        share: NDArray[np.float64] = self.view_weights * self.view_scales
        if self.mean_trust is not None:
            share = share * self.mean_trust
        return share / share.sum()

    @property
    def inconsistent_shares(self) -> NDArray[np.float64]:
        """How much of each view's total weight was found inconsistent, between 0 and 1."""
        total = self.weights_by_view.sum(axis=1, dtype=np.float64)
        return self.inconsistent_by_view.sum(axis=1, dtype=np.float64) / total

    @property
    def graph(self) -> sparse.csr_array:
        """The unified graph as a SciPy CSR array, every edge stored, zeros included."""
        if self.edges is None:
            raise ValueError("This result has edge values but no edge set; put them in a graph yourself.")
        return self.edges.to_csr(self.fused)
