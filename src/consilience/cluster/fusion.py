"""Similarity and distance graph fusion (the paper's Algorithm 4, SGF and DGF)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ..fusion import FusionResult, Schedule, learn_consistent_graph, pose
from ..fusion.alternation import Callback
from ..fusion.problem import check_penalty, check_view_weights
from ..graph import EdgeSet, fused_similarity, standardize
from ..neighbors import Space
from ..views import Views
from .base import PreparedViews, estimator, expand
from .unified import UnifiedGraphClusterer, edge_similarities

PAPER: Mapping[str, Any] = MappingProxyType(
    {
        "scale": "none",
        "view_weights": "uniform",
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


@estimator
class GraphFusion(UnifiedGraphClusterer):
    """Common part of SGF and DGF: they differ in what is fused, and in what is made of it."""

    beta: float = 1.0
    gamma: float = 100.0
    view_weights: ArrayLike | Mapping[str, float] | Literal["uniform"] = "uniform"
    solver: Literal["dca", "exact"] = "dca"
    tol: float = 0.05
    max_iter: int = 100
    backend: str = "numba"
    callback: Callback | None = None

    def _unify(self, weights: Floats, edges: EdgeSet, prepared: PreparedViews) -> Floats:
        problem = pose(
            weights,
            beta=self.beta,
            gamma=self.gamma,
            view_weights=self._resolved_view_weights[prepared.taking_part],
            seen=edges.seen,
            names=prepared.names,
        )
        self._taking_part = prepared.taking_part
        self.fusion_ = learn_consistent_graph(problem, self._schedule(), edges)
        self.n_iter_ = self.fusion_.n_iter
        return self._similarity(self.fusion_.fused)

    @abstractmethod
    def _similarity(self, fused: Floats) -> Floats:
        """Return the unified similarities from what the fusion gave."""

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
        given: Any = self.view_weights
        if isinstance(given, str):
            if given != "uniform":
                raise ValueError(f"view_weights must be 'uniform' or one number per view, got {given!r}.")
            given = None
        elif isinstance(given, Mapping):
            if set(given) != set(views.names):
                raise ValueError(
                    f"view_weights names the views {', '.join(map(repr, given))}, the data has "
                    f"{', '.join(map(repr, views.names))}; give one weight for each."
                )
            given = [given[name] for name in views.names]
        self._resolved_view_weights = check_view_weights(given, views.names)

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


_PARAMETERS = """
    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    n_neighbors : int or "auto", default="auto"
        Neighbours per sample and view. "auto" is 0.6 n / n_clusters, but at least 6, at most 20 and
        below n. The paper's tables use 6.
    metric : str, sequence of str or dict of str, default="auto"
        One metric for all views, or one for each: "auto" (cosine for non-negative views with more than
        80 % zeros, else Euclidean), "euclidean", "cosine", another metric name of scikit-learn, or
        "precomputed_distance", "precomputed_squared_distance", "precomputed_similarity". Distances are
        squared before use, unless they say that they are. A dense matrix of similarities that is 0 on the
        diagonal and nowhere else is taken for distances, and refused; the diagonal is not used otherwise.
    scale : {"none", "standard"}, default="none"
        "standard" scales each feature to unit variance first.
    beta : float, default=1.0
        What inconsistency costs.
    gamma : float, default=100.0
        What it costs that two views are inconsistent on the same edge.
    view_weights : "uniform", None, array-like of shape (v,) or dict, default="uniform"
        How much each view counts (the paper's lambda), from 1e-9 to 1e9. None is "uniform".
    solver : {"dca", "exact"}, default="dca"
        "dca" is the paper's scheme. "exact" goes on from where that ends, with the exact minimiser on every
        edge: the objective ends lower, mostly far lower with a large gamma, and much more of what a view
        alone says reaches its inconsistent part.
    tol : float, default=0.05
        The rounds end once one of them makes less than this share of the whole gain, after five at least.
    max_iter : int, default=100
        Cap on the number of rounds; with ``solver="exact"``, of the paper's and of the exact rounds each.
    assign_labels : {"kmeans"}, default="kmeans"
        How labels are read off the spectral embedding.
    n_init : int or "auto", default=30
        Restarts of k-means. "auto" is 30 below 5,000 samples, 20 below 10,000, 5 below 30,000, then 3.
    neighbor_search : {"exact"}, default="exact"
        How neighbours are found.
    backend : {"numba", "numpy"}, default="numba"
        Who does the passes over the edges; "numpy" is the slow, readable one.
    n_jobs : int, default=None
        Number of threads, for our own code and for BLAS and OpenMP. None: all cores.
    random_state : int, RandomState instance or None, default=None
        Seed of the eigen-solver's start and of k-means.
    verbose : bool, default=False
        Whether to draw a progress bar on standard error.
    callback : callable, default=None
        ``callback(iteration, info)`` after each round of the fusion; returning True stops it.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each sample, numbered by first appearance.
    graph_ : csr_array of shape (n_samples, n_samples)
        The unified graph, symmetric.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Spectral embedding, rows of unit length.
    eigenvalues_ : ndarray of shape (n_clusters,)
        Smallest eigenvalues of the unified graph's normalised Laplacian.
    view_weights_ : ndarray of shape (v,)
        The resolved weights; 0 for a view left out.
    view_scales_ : ndarray of shape (v,)
        The paper's alpha: a scale, not a measure of trust.
    view_contributions_ : ndarray of shape (v,)
        Weight times scale, as shares: how much of the unified graph comes from each view.
    view_names_ : ndarray of str of shape (v,)
        Names of the views.
    inconsistent_shares_ : ndarray of shape (v,)
        How much of each view's weight was found inconsistent; a view far above the others disagrees with
        them.
    history_ : ndarray of shape (rounds + 1,)
        Objective at the start and after each round.
    n_iter_ : int
        Number of rounds.
    converged_ : bool
        Whether the stopping rule was met.
    edges_ : EdgeSet
        The edges that the views share.
    consistent_, inconsistent_ : ndarray of shape (n_edges, v)
        The two parts of each view's edge weights, each view's weights scaled to sum 1.
    fusion_ : FusionResult
        All that the fusion returned, for the views that took part.
    n_neighbors_ : int
        The number of neighbours used.
    metrics_ : tuple of str
        The metric used for each view.
    timings_ : dict of str to float
        Seconds per stage.
    n_features_in_ : int
        Number of features, all views together.
"""


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
    the neighbour searches, O(v n^2 d) here, plus O(v n k) per round.
"""
        + _PARAMETERS
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

    def _edge_weights(self, space: Space, name: str, edges: EdgeSet, seen: Any) -> Floats:
        return edge_similarities(space, edges, seen)

    def _similarity(self, fused: Floats) -> Floats:
        return fused


@estimator
class DistanceGraphFusion(GraphFusion):  # noqa: D101 - it has one, put together
    __doc__ = (
        r"""Multi-view clustering by distance graph fusion (DGF).

    As `SimilarityGraphFusion`, but what is fused are the standardised squared distances themselves; the
    Gaussian kernel is applied to the fused distances.
"""
        + _PARAMETERS
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

    _takes_similarities: ClassVar[bool] = False

    def _edge_weights(self, space: Space, name: str, edges: EdgeSet, seen: Any) -> Floats:
        return standardize(space.on_edges(edges), seen)

    def _similarity(self, fused: Floats) -> Floats:
        return fused_similarity(fused)
