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


_PARAMETERS = """
    Parameters
    ----------
    n_clusters : int or "auto", default=8
        Number of clusters. "auto": chosen by the eigengaps of the unified graph and the stability of its
        clusters under resampling, as `select_n_clusters` does; 1, with a warning, if nothing stands out. The
        curves are in `cluster_selection_`.
    max_clusters : int, default=20
        The largest number that "auto" considers, at most a quarter of the samples. A warning tells if it is
        the one chosen.
    n_neighbors : int or "auto", default="auto"
        Neighbours per sample and view. "auto" is 0.6 n / n_clusters, but at least 6, at most 20 and
        below n; where n_clusters is "auto" itself, as for 8 clusters. The paper's tables use 6.
    metric : str, callable, or a sequence or dict of these, default="auto"
        One metric for all views, or one for each: "auto" (Gower for views with columns of categories, cosine
        for non-negative views with more than 80 % zeros, else Euclidean), "euclidean", "cosine", "gower",
        "nan_euclidean", another metric name of scikit-learn, a function of two rows that returns their
        distance, or "precomputed_distance", "precomputed_squared_distance", "precomputed_similarity",
        "graph_distance" (a sparse matrix in which an absent entry is no edge). A `GraphView` says itself what
        it is. Distances are squared before use, unless they say that they are. A dense matrix of similarities
        that is 0 on the diagonal and nowhere else is taken for distances, and refused; the diagonal is not
        used otherwise.
    scale : {"auto", "none", "standard"}, default="auto"
        "auto" rescales only what dominates a view, with a warning: a few features whose spread stands far
        apart from that of all others, or all of them if fewer than 10 carry the view; and takes counts by
        their square roots where the metric is cosine. Only for Euclidean, Manhattan and cosine distances.
        "standard" scales each feature to unit variance, "none" leaves all as they are.
    beta : float, default=1.0
        What inconsistency costs.
    gamma : float, default=100.0
        What it costs that two views are inconsistent on the same edge.
    view_weights : "agreement", "uniform", None, array-like of shape (v,) or dict, default="agreement"
        How much each view counts (the paper's lambda). "agreement": by how far its neighbours are, beyond
        chance, those of the other views; a view that agrees with nobody is left out, with a warning, as are
        copies of a view and the smaller of two groups that do not agree. Of two views neither can be
        preferred: they count alike. "uniform", or None: all views count alike, and none is left out. Or
        numbers from 1e-9 to 1e9.
    row_weights : {"agreement", "uniform"}, default="agreement"
        How much each row of a view counts, within its view. "agreement", with three views or more: less,
        where hardly any of the sample's neighbours are confirmed by another view. "uniform": all alike.
    missing : {"complete", "plain"}, default="complete"
        What is done where views have not seen samples. "plain": they are left out there, and nothing else.
        "complete": also, a view that has seen fewer samples names fewer neighbours, and the unified graph is
        completed by what views can be expected to say and by common neighbours. The same if nothing is
        missing.
    solver : {"dca", "exact"}, default="dca"
        "dca" is the paper's scheme. "exact" goes on from where that ends, with the exact minimiser on every
        edge: the objective ends lower, mostly far lower with a large gamma, and much more of what a view
        alone says reaches its inconsistent part.
    tol : float, default=0.05
        The rounds end once one of them makes less than this share of the whole gain, after five at least.
    max_iter : int, default=100
        Cap on the number of rounds; with ``solver="exact"``, of the paper's and of the exact rounds each.
    assign_labels : {"kmeans", "cluster_qr", "leiden"}, default="kmeans"
        "kmeans" on the unit rows of the spectral embedding; "cluster_qr", a pivoted QR decomposition of it,
        which draws nothing at random; or "leiden", communities of the unified graph itself, by modularity
        (needs igraph: the extra ``leiden``). Leiden finds the number of clusters by `resolution`;
        `n_clusters` is then only the width of `embedding_` ("auto": the number found, up to `max_clusters`).
    resolution : float, default=1.0
        Of Leiden: the larger, the more clusters.
    n_init : int or "auto", default=30
        Restarts of k-means. "auto" is 30 below 5,000 samples, 20 below 10,000, 5 below 30,000, then 3.
    neighbor_search : {"auto", "exact", "approximate"}, default="auto"
        How neighbours are found. "exact" looks at all pairs. "approximate" looks for them in the regions
        around a sample, as far as it takes to find a share of them that is measured beforehand: 99 % up to
        10,000 samples, 98 % at 100,000, falling to 91 % at a million; by other metrics than Euclidean, cosine
        and correlation it is exact. "auto" is exact below 20,000 samples, and then approximate where that is
        estimated to cost less. What was done, and the recall on a sample, is in `neighbor_searches_`.
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
    n_clusters_ : int
        Number of clusters: as given, as chosen, or as Leiden found it.
    cluster_selection_ : ClusterSelection or None
        The candidates, their eigengaps and stability, and why one was chosen; None unless ``n_clusters`` is
        "auto" and ``assign_labels`` not "leiden".
    embedding_ : ndarray of shape (n_samples, n_clusters_)
        Spectral embedding, rows of unit length.
    eigenvalues_ : ndarray of shape (n_clusters_,)
        Smallest eigenvalues of the unified graph's normalised Laplacian.
    view_weights_ : ndarray of shape (v,)
        The resolved weights; 0 for a view left out.
    view_scales_ : ndarray of shape (v,)
        The paper's alpha: a scale, not a measure of trust.
    view_contributions_ : ndarray of shape (v,)
        Weight times scale, as shares: how much of the unified graph comes from each view.
    view_agreement_ : ndarray of shape (v, v)
        How far each two views agree about who is near whom, beyond chance: 0 for unrelated views, 1 for
        copies; NaN where there is nothing to compare, or nothing is to be weighed by agreement.
    agreement_ : Agreement or None
        All that was found in comparing the views that say anything; None if nothing was compared.
    view_reliability_ : ndarray of shape (v,)
        Median agreement of each view with the others that are heard, copies not counted; 0 for a view that
        agrees with nobody or says nothing, NaN if there is no other view, too few samples to tell, or
        nothing is to be weighed by agreement.
    row_reliability_ : ndarray of shape (n_samples, v)
        How much each row of a view counted, up to 1; NaN for a view left out or a sample not seen.
    neighbor_searches_ : tuple of SearchReport, or None
        How the neighbours of each view were found, and what share of them; None for a view that says nothing.
    neighbors_ : tuple of ndarray of shape (n_samples, n_neighbors), or None
        Each view's neighbours of each sample, as they were compared; None for a view that says nothing.
    view_names_ : ndarray of str of shape (v,)
        Names of the views.
    sample_ids_ : ndarray of shape (n_samples,), or None
        Ids of the samples, if the data has any.
    data_fingerprint_ : str
        A hash of the views, to tell whether other data are the same.
    params_ : dict
        The parameters that it was fitted with.
    warnings_ : tuple of str
        What the fit warned of.
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
    the neighbour searches, O(v n^2 d) if they are exact, plus O(v n k) per round.
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

    _kind: ClassVar[Literal["similarity", "distance"]] = "distance"

    def _edge_kernel(self, kind: Literal["distance", "similarity"], values: Floats, seen: Any) -> EdgeKernel:
        typical = None
        if kind == "similarity":
            # Not by the largest: weights with a long tail would leave nothing between edge and no edge.
            typical = float(values[values > 0].mean()) if np.any(values > 0) else 1.0
        return EdgeKernel.for_distances(values, seen, typical=typical)

    def _similarity(self, fused: Floats) -> Floats:
        return fused_similarity(fused, mean_distance(self.fusion_.fused))
