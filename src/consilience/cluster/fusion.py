"""Similarity and distance graph fusion (the paper's Algorithm 4, SGF and DGF)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ..fusion import FusionProblem, FusionResult, Schedule, fuse_new_edges, learn_consistent_graph, pose
from ..fusion.alternation import Callback
from ..fusion.problem import check_penalty, check_view_weights
from ..graph import EdgeKernel, EdgeSet, expected_values, fused_similarity, mean_distance
from ..neighbors import Agreement
from ..views import Views
from .base import estimator
from .checks import check_choice
from .fusion_parameters import PARAMETERS
from .id_order import fusion_put_back, inverse, lists_put_back
from .placing import PlacingClusterer
from .prepared import PreparedViews, expand
from .progress import Progress
from .sizes import FitSize
from .weighing import Hearing, judge_views, warn_about

PAPER: Mapping[str, Any] = MappingProxyType(
    {
        "scale": "none",
        "view_weights": "uniform",
        "row_weights": "uniform",
        "solver": "dca",
        "tol": 0.05,
        "max_iter": 100,
        "assign_labels": "kmeans",
        "n_init": 30,
        "neighbor_search": "exact",
        "backend": "numba",
    }
)
"""The settings of the paper's experiments, whatever our defaults become.

What the paper chooses per data set is not in it: `n_neighbors` (6 in its tables), `metric`, `beta` and
`gamma`. Use as ``DistanceGraphFusion(n_clusters=7, n_neighbors=6, beta=0.01, gamma=1e-4, **PAPER)``.
"""

Floats = NDArray[np.floating[Any]]
WEIGHTINGS = ("agreement", "uniform")


@estimator
class GraphFusion(PlacingClusterer):
    """Common part of SGF and DGF: they differ in what is fused, and in what is made of it."""

    beta: float = 1.0
    gamma: float = 100.0
    scale: str = "auto"
    view_weights: ArrayLike | Mapping[str, float] | Literal["agreement", "uniform"] = "agreement"
    row_weights: Literal["agreement", "uniform"] = "agreement"
    solver: Literal["dca", "exact"] = "dca"
    tol: float = 0.05
    max_iter: int = 100
    backend: str = "numba"
    callback: Callback | None = None

    _kind: ClassVar[Literal["similarity", "distance"]] = "similarity"  # what is fused

    def _choose_views(
        self, neighbors: list[NDArray[np.int32]], prepared: PreparedViews, progress: Progress
    ) -> Hearing:
        return progress.run("agreement", lambda: self._listen(neighbors, prepared))

    def _listen(self, neighbors: list[NDArray[np.int32]], prepared: PreparedViews) -> Hearing:
        """Leave out the views that agree with nobody; set what the others count, and their rows."""
        v = len(prepared.taking_part)
        self._weights = self._given_weights[prepared.taking_part]
        self._rows = np.ones((prepared.n_samples, len(neighbors)))
        self.view_agreement_, self.view_reliability_ = np.full((v, v), np.nan), np.full(v, np.nan)
        self.agreement_: Agreement | None = None
        self._keep_lists(neighbors, prepared)
        hearing = Hearing.of_all(len(neighbors), prepared.n_samples)
        if self._by_agreement or self.row_weights == "agreement":
            hearing = self._weigh(neighbors, prepared)
        prepared = hearing.views(prepared)
        rows = self._rows if prepared.mask is None else np.where(prepared.mask, self._rows, np.nan)
        self.row_reliability_ = prepared.expand(rows, np.nan)
        return hearing

    def _keep_lists(self, lists: list[NDArray[Any]], prepared: PreparedViews) -> None:
        """Keep each view's neighbours, of views left out too: who was near whom is what they disagree on."""
        own = iter(lists)
        self.neighbors_ = tuple(next(own) if part else None for part in prepared.taking_part)

    def _weigh(self, neighbors: list[NDArray[np.int32]], prepared: PreparedViews) -> Hearing:
        """Weigh views and rows by agreement, as far as that is asked for."""
        judged = judge_views(neighbors, prepared)
        self._keep_lists(judged.lists, prepared)
        self.agreement_ = judged.between
        self.view_agreement_ = prepared.expand(prepared.expand(judged.between.shares, np.nan).T, np.nan)
        self.view_reliability_ = prepared.expand(judged.each.values)
        hearing = Hearing.of_all(len(neighbors), prepared.n_samples)
        if self._by_agreement:
            warn_about(judged, prepared)
            hearing = judged.hearing
            self._weights = judged.weights[hearing.heard]
            self._rows = self._rows[:, hearing.heard]
        if self.row_weights == "agreement":
            self._rows = judged.rows(hearing.heard, hearing.views(prepared).mask)
        if self._by_agreement:
            self._rows = judged.doubted(self._rows, hearing.heard)
        return hearing

    def _unify(self, weights: Floats, edges: EdgeSet, prepared: PreparedViews) -> Floats:
        trust = None
        if np.any(self._rows != 1):
            trust = edges.product_of_ends(self._rows, weights.dtype)
        problem = pose(
            weights,
            beta=self.beta,
            gamma=self.gamma,
            view_weights=self._weights,
            seen=edges.seen,
            trust=trust,
            names=prepared.names,
            overwrite=True,
        )
        self._taking_part = prepared.taking_part
        self.fusion_ = learn_consistent_graph(problem, self._schedule(), edges, self._kind)
        self.n_iter_ = self.fusion_.n_iter
        del self._rows, self._weights
        return self._similarity(self.fusion_.fused)

    def _row_trust(self) -> Floats | None:
        return self._rows if np.any(self._rows != 1) else None

    def _units(self, weights: Floats, seen: Any) -> Floats:
        totals = weights.sum(axis=1, dtype=np.float64)
        return np.asarray(totals if seen is None else totals / seen.mean(axis=1))

    def _unify_edges(self, weights: Floats, seen: NDArray[np.bool_] | None, trust: Floats | None) -> Floats:
        result = self.fusion_
        problem = FusionProblem(
            weights=weights,
            view_weights=result.view_weights,
            beta=float(self.params_["beta"]),
            gamma=float(self.params_["gamma"]),
            seen=None if seen is None or seen.all() else seen,
            names=result.view_names,
            trust=trust,
        )
        schedule = Schedule(solver=result.solver, backend=self.params_["backend"])
        return self._similarity(fuse_new_edges(problem, result.view_scales, schedule, result.n_iter))

    def _put_back(self, order: NDArray[np.intp]) -> None:
        super()._put_back(order)
        self.row_reliability_ = self.row_reliability_[inverse(order)]
        self.neighbors_ = tuple(lists_put_back(lists, order) for lists in self.neighbors_)
        self.fusion_ = fusion_put_back(self.fusion_, order)

    def _as_if_seen(self, similarity: Floats, weights: Floats, edges: EdgeSet) -> Floats:
        result = self.fusion_
        if result.seen_by_view is None:
            return similarity
        said = result.view_scales[:, None] * (result.weights_by_view - result.inconsistent_by_view)
        counts = np.broadcast_to(result.view_weights[:, None], said.shape)
        if result.trust_by_view is not None:
            counts = np.where(result.seen_by_view, counts * result.trust_by_view, counts)
        fused = (counts * expected_values(said, result.seen_by_view)).sum(axis=0) / counts.sum(axis=0)
        return self._similarity(fused)

    def _heard(self, n_views: int) -> NDArray[np.float64]:
        return self.fusion_.view_weights

    @abstractmethod
    def _similarity(self, fused: Floats) -> Floats:
        """Return the unified similarities from what the fusion gave, for the edges of the fit or others."""

    def _size(self, views: Views) -> FitSize:
        return replace(super()._size(views), method="fusion", weighs_rows=self.row_weights == "agreement")

    def _schedule(self) -> Schedule:
        return Schedule(
            solver=self.solver,
            tol=self.tol,
            max_iter=self.max_iter,
            backend=self.backend,
            callback=self.callback,
        )

    def _check_parameters(self, views: Views) -> None:
        super()._check_parameters(views)
        check_penalty("beta", self.beta)
        check_penalty("gamma", self.gamma)
        self._schedule()
        check_choice("row_weights", self.row_weights, WEIGHTINGS)
        self._by_agreement = isinstance(self.view_weights, str) and self.view_weights == "agreement"
        self._given_weights = self._check_view_weights(views)

    def _check_view_weights(self, views: Views) -> NDArray[np.float64]:
        """Return the weights that the user gave, or 1 for each view."""
        given: Any = self.view_weights
        if isinstance(given, str):
            check_choice("view_weights", given, WEIGHTINGS, "one number per view")
            given = None
        elif isinstance(given, Mapping):
            if set(given) != set(views.names):
                raise ValueError(
                    f"view_weights names the views {', '.join(map(repr, given))}, the data has "
                    f"{', '.join(map(repr, views.names))}; give one weight for each."
                )
            given = [given[name] for name in views.names]
        return check_view_weights(given, views.names)

    def _n_stages(self, views: Views) -> int:
        return super()._n_stages(views) + 1

    def report(
        self,
        path: str | Path,
        views: Any = None,
        y: Any = None,
        *,
        fdr: float = 0.05,
        title: str | None = None,
        sample_names: ArrayLike | None = None,
        force: bool = False,
    ) -> Path:
        """Write a page about the fit: the clusters, how sure they are, which view disagrees where.

        One self-contained HTML file; whoever has a browser can read it.

        Parameters
        ----------
        path : str or Path
            Where to write it, such as ``"report.html"``.
        views : as for `fit`, default=None
            The data, to say whether fusing helps: each view is then clustered alone, too, which takes about
            as long as some fits. None leaves that out.
        y : array-like of shape (n_samples,), default=None
            True labels, to score the clusters against.
        fdr : float, default=0.05
            Share of false flags to allow among the rows that are said to contradict the other views.
        title : str, default=None
            Title of the page.
        sample_names : array-like of shape (n_samples,), default=None
            Names of the samples; None: the ids of the data, or their numbers.
        force : bool, default=False
            Whether to overwrite a file that exists.

        Returns
        -------
        Path
            The file.

        See Also
        --------
        consilience.inspection.inspect : The same as data.
        """
        from ..inspection.reporting import report_on  # only now: who never asks for a page need not load it

        return report_on(self, path, views, y, fdr=fdr, title=title, sample_names=sample_names, force=force)

    def _expand(self, values: Any, absent: float) -> Any:
        """Give views that were left out their place back, with this value."""
        return expand(values, self._taking_part, absent)

    def _result(self) -> FusionResult:
        check_is_fitted(self, "fusion_")
        return self.fusion_

    @property
    def view_weights_(self) -> NDArray[np.float64]:
        """The resolved weights (the paper's lambda), one per view; 0 for a view left out."""
        return self._expand(self._result().view_weights, 0.0)

    @property
    def view_scales_(self) -> NDArray[np.float64]:
        """The paper's alpha: the scale at which each view enters, not a measure of trust."""
        return self._expand(self._result().view_scales, 0.0)

    @property
    def view_contributions_(self) -> NDArray[np.float64]:
        """Each view's share of the unified graph, summing to 1; 0 for a view left out."""
        return self._expand(self._result().view_contributions, 0.0)

    @property
    def inconsistent_shares_(self) -> NDArray[np.float64]:
        """How much of each view's weight was found inconsistent; NaN for a view left out."""
        return self._expand(self._result().inconsistent_shares, np.nan)

    @property
    def history_(self) -> NDArray[np.float64]:
        """The objective at the start and after each round."""
        return self._result().history

    @property
    def converged_(self) -> bool:
        """Whether the stopping rule was met."""
        return self._result().converged

    @property
    def edges_(self) -> EdgeSet:
        """The edges that the views share."""
        edges = self._result().edges
        assert edges is not None
        return edges

    @property
    def consistent_(self) -> Floats:
        """The consistent parts, of shape (n_edges, v); NaN for a view left out."""
        return self._expand(self._result().consistent, np.nan)

    @property
    def inconsistent_(self) -> Floats:
        """The inconsistent parts, of shape (n_edges, v); NaN for a view left out."""
        return self._expand(self._result().inconsistent, np.nan)


@estimator
class SimilarityGraphFusion(GraphFusion):  # noqa: D101 - it has one, put together
    __doc__ = (
        r"""Multi-view clustering by similarity graph fusion (SGF).

    Each view's k nearest neighbours are found and united into shared edges; the squared distances on
    them are standardised per view and turned into Gaussian similarities; the similarities are split into
    a consistent and an inconsistent part and the consistent ones fused into one graph, by minimising

    .. math::

        \sum_i \lambda_i \|\alpha_i A_i - s\|^2
        + \sum_{i,j} B_{ij} \lambda_i \lambda_j \alpha_i \alpha_j (W_i - A_i)'(W_j - A_j);

    the k largest entries per row are kept, made symmetric, and clustered spectrally. The cost is that of
    the neighbour searches, O(v n^2 d) if they are exact, plus O(v n k) per round.
"""
        + PARAMETERS
        + """
    See Also
    --------
    DistanceGraphFusion : Fuses distances instead of similarities.
    consilience.fuse_graphs : For people who bring graphs.

    References
    ----------
    Y. Liang, D. Huang, C.-D. Wang, P. S. Yu, "Multi-view Graph Learning by Joint Modeling of Consistency
    and Inconsistency", IEEE Transactions on Neural Networks and Learning Systems, 2022.

    Examples
    --------
    >>> from consilience import SimilarityGraphFusion, load_digits_views
    >>> from consilience.metrics import accuracy
    >>> views, y = load_digits_views(return_X_y=True)
    >>> model = SimilarityGraphFusion(n_clusters=10, random_state=0).fit(views)
    >>> accuracy(y, model.labels_) > 0.8
    True
    """
    )

    def _similarity(self, fused: Floats) -> Floats:
        return fused


@estimator
class DistanceGraphFusion(GraphFusion):  # noqa: D101 - it has one, put together
    __doc__ = (
        r"""Multi-view clustering by distance graph fusion (DGF).

    As `SimilarityGraphFusion`, but what is fused are the standardised squared distances themselves; the
    Gaussian kernel is applied to the fused distances.
"""
        + PARAMETERS
        + """
    See Also
    --------
    SimilarityGraphFusion : Fuses similarities instead of distances.
    consilience.fuse_graphs : For people who bring graphs.

    References
    ----------
    Y. Liang, D. Huang, C.-D. Wang, P. S. Yu, "Multi-view Graph Learning by Joint Modeling of Consistency
    and Inconsistency", IEEE Transactions on Neural Networks and Learning Systems, 2022.

    Examples
    --------
    >>> from consilience import DistanceGraphFusion, load_digits_views
    >>> from consilience.metrics import accuracy
    >>> views, y = load_digits_views(return_X_y=True)
    >>> model = DistanceGraphFusion(n_clusters=10, random_state=0).fit(views)
    >>> accuracy(y, model.labels_) > 0.8
    True
    """
    )

    _kind: ClassVar[Literal["similarity", "distance"]] = "distance"

    def _edge_kernel(self, kind: Literal["distance", "similarity"], values: Floats, seen: Any) -> EdgeKernel:
        typical = None
        if kind == "similarity":
            # Not by the largest: weights with a long tail would leave nothing between edge and no edge.
            typical = float(values[values > 0].mean()) if np.any(values > 0) else 1.0
        return EdgeKernel.for_distances(values, seen, typical=typical)

    def _similarity(self, fused: Floats) -> Floats:
        return fused_similarity(fused, mean_distance(self.fusion_.fused))
