"""The earlier versions of SGF and DGF, as published in 2019 (the paper's SGF-0 and DGF-0)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from ...engines import Engine, get_engine, threads
from ...fusion.problem import check_penalty
from ...graphs import EdgeKernel, EdgeSet
from ...io.stored import stored
from ...run.execution import Run
from ...run.messages import check_choice, check_count, warn
from ...run.progress import PlannedStage
from ...stages.prepare import PreparedViews
from ...stages.search import search
from ...stages.sparsify import UnifiedGraph
from ...views import Views
from ..base import MultiviewClusterer, Settings, cluster_graph
from ..estimator import estimator
from ..given import GivenViews

Floats = NDArray[np.floating[Any]]
Index = NDArray[np.integer[Any]]

_EARLY, _LATE, _LATE_FROM = 1e-4, 1e-2, 20  # the authors' stopping rule: the looser one after so many rounds
_MOST_PENALTY = 1e100  # far from where the objective would not be finite
_LEAST_TYPICAL = 1e-20  # a similarity of the mean edge below this is warned of: poor graphs were seen there
_LEAST_SCALE = 1e-150  # a scale below this is 0: its inverse, squared, would not be finite

# The stages, each with those whose results it takes; the last one needs what the fitted model keeps.
_NEEDS = {
    "prepare": (),
    "search": ("prepare",),
    "weigh": ("prepare", "search"),
    "fuse": ("weigh",),
    "sparsify": ("weigh", "fuse"),
    "embed": ("sparsify",),
    "select": ("embed",),
    "label": ("weigh", "fuse", "sparsify", "embed", "select"),
}


@stored()
@dataclass(frozen=True, eq=False)
class EarlyFusion:
    """What `fuse_2019` found, for v views and T rounds.

    Attributes
    ----------
    fused : ndarray of shape (n_edges,)
        The unified weights s of the last round. They are older than `consistent`, which follows from them.
    consistent : ndarray of shape (v, n_edges)
        The consistent parts A of the weights.
    scales : ndarray of shape (v,)
        The last alpha.
    scales_by_round : ndarray of shape (T, v)
        Every alpha.
    objective : ndarray of shape (T,)
        The objective at the beginning of each round.
    converged : bool
        Whether the stopping rule was met.
    """

    fused: Floats
    consistent: Floats
    scales_by_round: Floats
    objective: Floats
    converged: bool

    @property
    def scales(self) -> Floats:
        """The last alpha."""
        return np.asarray(self.scales_by_round[-1])

    @property
    def n_iter(self) -> int:
        """Number of rounds."""
        return len(self.objective)


def fuse_2019(
    weights: Floats, *, beta: float, gamma: float, max_iter: int = 40, engine: Any = "numba"
) -> EarlyFusion:
    r"""Fuse the views' edge weights as the program of 2019 does, step by step.

    A round sets, in turn, alpha to the stationary point of the objective on the plane of sum 1, projected
    onto the simplex; s to :math:`\frac1v \sum \alpha_i A_i`; and A to the stationary point of each edge's
    share, clipped to [0, W]. For :math:`\gamma > 1 + \beta` that point is a saddle. The rounds end when the
    objective comes back to one that it had before, to 1e-4 of all that was gained (1e-2 after round 20).
    Each takes O(v^2 n_edges).

    Parameters
    ----------
    weights : ndarray of shape (v, n_edges)
        Not negative. They are not scaled: a view counts by the size of its numbers.
    beta : float
        Penalty on inconsistency.
    gamma : float
        Penalty on two views that are inconsistent on the same edge.
    max_iter : int, default=40
        Cap on the number of rounds.
    engine : str or Engine, default="numba"
        The engine that projects scales onto the simplex.

    Examples
    --------
    >>> import numpy as np
    >>> result = fuse_2019(np.array([[1.0, 0.0], [1.0, 4.0]]), beta=1.0, gamma=1.0)
    >>> result.consistent.round(3)
    array([[0.449, 0.   ],
           [1.   , 1.6  ]])
    """
    v = len(weights)
    # The model does not depend on the unit of the weights, but squares of huge ones would not be finite.
    exponent = int(np.frexp(weights.max(initial=0.0))[1])
    given, weights = weights, np.ldexp(weights, -exponent)
    penalty = np.full((v, v), float(gamma))
    np.fill_diagonal(penalty, beta)

    consistent, fused, scales = weights, weights[0], np.full(v, 1.0 / v)
    objective: list[float] = []
    history: list[Floats] = []
    converged = False
    with threads.libraries_on_one_thread():  # products of a few rows: not worth a second thread
        while not converged and len(objective) < max_iter:
            inconsistent = weights - consistent
            costs = penalty * (inconsistent @ inconsistent.T)
            objective.append(_disagreement(consistent, scales, fused) + float(scales @ costs @ scales))
            scales = _update_scales(consistent, costs, get_engine(engine))
            fused = scales @ consistent / v
            consistent = _update_consistent(weights, penalty, scales, fused)
            history.append(scales)
            converged = _has_come_back(objective)
    with np.errstate(over="ignore"):
        return EarlyFusion(
            fused=np.ldexp(fused, exponent),
            consistent=np.minimum(np.ldexp(consistent, exponent), given),
            scales_by_round=np.array(history),
            objective=np.ldexp(objective, 2 * exponent),
            converged=converged,
        )


def _disagreement(consistent: Floats, scales: Floats, fused: Floats) -> float:
    """Return the sum of ||alpha_i A_i - s||^2, view by view so that no second v x n_edges array is made."""
    differences = (scale * part - fused for scale, part in zip(scales, consistent, strict=True))
    return float(sum(difference @ difference for difference in differences))


def _update_scales(consistent: Floats, costs: Floats, engine: Engine) -> Floats:
    """Return alpha: where the gradient is the same for all views and the sum 1, projected to the simplex."""
    v = len(consistent)
    gram = consistent @ consistent.T
    hessian = np.diag(gram.diagonal()) - gram / v + costs
    border = float(np.abs(hessian).max()) or 1.0  # of the size of the rest, which changes no solution
    system = np.full((v + 1, v + 1), border)
    system[:v, :v] = hessian
    system[v, v] = 0.0
    right = np.append(np.zeros(v), border)
    try:
        scales = np.linalg.solve(system, right)[:v]
    except np.linalg.LinAlgError:  # some views say nothing at all: they share alike
        scales = np.linalg.lstsq(system, right, rcond=None)[0][:v]
    # Where it is in the simplex already, projecting would only round off the small scales.
    return scales if scales.min() >= 0 else engine.project_rows(scales[None])[0]


def _update_consistent(weights: Floats, penalty: Floats, scales: Floats, fused: Floats) -> Floats:
    """Return A: the solution of every edge's linear system, which differ in the right side only, clipped.

    The matrix is ((B + I) o alpha alpha'): with C = B + I invertible, a = C^-1 (s + B (alpha o w)) / alpha,
    however different the scales. Views of scale 0 drop out of it, with A = 0; and if C is singular,
    gamma being 1 + beta, the pseudo-inverse gives the least of the solutions.
    """
    v = len(weights)
    system = penalty + np.eye(v)
    active = np.flatnonzero(scales > _LEAST_SCALE)
    core = system[np.ix_(active, active)]
    solver = np.zeros((v, v))
    if np.linalg.matrix_rank(core, hermitian=True) == len(active):
        solver[np.ix_(active, active)] = np.linalg.inv(core) / scales[active, None]
    else:
        solver = np.linalg.pinv(system * np.outer(scales, scales), hermitian=True) * scales
    result = (solver @ (penalty * scales)) @ weights
    result += np.outer(solver.sum(axis=1), fused)
    return np.clip(result, 0.0, weights, out=result)


def _has_come_back(objective: Sequence[float]) -> bool:
    """Say whether the last objective is nearly one that there was before, measured by all that was gained."""
    *before, now = objective
    if not before:
        return False
    tolerance = _EARLY if len(objective) <= _LATE_FROM else _LATE
    return min(abs(now - past) for past in before) <= tolerance * abs(before[0] - now)


def unite_choices(neighbors: Sequence[Index]) -> tuple[EdgeSet, Floats]:
    """Return the union of the views' neighbour lists, both ways, and how often each edge was chosen.

    Parameters
    ----------
    neighbors : sequence of ndarray of shape (n_samples, k)
        Each sample's neighbours in one view. A sample's own index means "no neighbour".

    Returns
    -------
    edges : EdgeSet
        Symmetric.
    choices : ndarray of shape (n_edges,)
        Half a time for each view in which one end chose the other: at most the number of views.

    Examples
    --------
    >>> import numpy as np
    >>> edges, choices = unite_choices([np.array([[1], [0], [1]])])
    >>> edges.rows, edges.indices, choices
    (array([0, 1, 1, 2], dtype=int32), array([1, 0, 2, 1], dtype=int32), array([1. , 1. , 0.5, 0.5]))
    """
    merged = np.concatenate(neighbors, axis=1)
    n, width = merged.shape
    rows, columns = np.repeat(np.arange(n), width), merged.ravel()
    off = rows != columns
    halves = np.full(int(off.sum()), 0.5)
    chosen = sparse.csr_array((halves, (rows[off], columns[off])), shape=(n, n))  # duplicates add up
    both = sparse.csr_array(chosen + chosen.T)
    both.sort_indices()
    return EdgeSet(both.indptr.astype(np.int64), both.indices.astype(np.int32)), both.data


@estimator
class GraphFusion2019(MultiviewClusterer):
    """Common part of SGF-0 and DGF-0: they differ in what is fused, and in how that becomes a graph."""

    beta: float = 1.0
    gamma: float = 1.0
    max_iter: int = 40
    max_clusters: int | None = None
    assign_labels: Any = "kmeans"

    clusters_a_graph: ClassVar[bool] = True
    resumes: ClassVar[bool] = True
    _counts_choices: ClassVar[bool]  # whether an edge weighs as much as views and directions chose it

    @abstractmethod
    def _edge_weights(self, view: int, views: PreparedViews, edges: EdgeSet, engine: Engine) -> Floats:
        """Return what one view brings onto the edges."""

    @abstractmethod
    def _similarity(self, fused: Floats, n_samples: int) -> Floats:
        """Return the unified similarities from what the fusion gave."""

    def _n_listed(self, k: int) -> int:
        """Return how many neighbours of each sample a view names, if k are asked for."""
        return k

    def check_parameters(self, views: Views) -> None:
        """Check the penalties and the cap on the rounds."""
        for name, penalty in (("beta", self.beta), ("gamma", self.gamma)):
            if check_penalty(name, penalty) > _MOST_PENALTY:
                raise ValueError(f"{name} must not be above {_MOST_PENALTY:g}, got {penalty!r}.")
        check_count("max_iter", self.max_iter)

    def plan_stages(self, views: Views, settings: Settings, engine: Engine) -> Sequence[PlannedStage]:
        """Return the stages to come."""
        selects = self.n_clusters == "auto" and settings.assigner.needs == "embedding"
        parts = {"search": (0.0,) * views.n_views}
        return [
            PlannedStage(name, parts.get(name, (0.0,)), needs)
            for name, needs in _NEEDS.items()
            if selects or name != "select"
        ]

    def fit_stages(self, given: GivenViews, settings: Settings, run: Run) -> None:
        """Run the stages: weights on shared edges, the fusion as of 2019, one graph, labels."""
        k = settings.n_neighbors
        views = self.prepare_views(given, settings, run)
        names = [repr(name) for name in views.names]
        neighbors = run.each("search", search, names, views, self._n_listed(k), self.neighbor_search, False)
        edges, weights = run.stage("weigh", self._weigh, neighbors, views)
        fused = run.stage("fuse", self._fuse, weights)
        similarity = self._similarity(fused.fused, views.n_samples)
        graph = run.stage("sparsify", _sparsify, edges, similarity, k)
        clusters = cluster_graph(
            graph.handle, views.n_samples, self.n_clusters, self.max_clusters, settings.assigner, run
        )
        self.keep_clusters(clusters)
        self.graph_, self.edges_ = run.engine.fetch(graph.handle), edges
        self.view_weights_ = views.expand(fused.scales)
        self.consistent_ = views.expand(fused.consistent.T, np.nan)
        self.inconsistent_ = views.expand((weights - fused.consistent).T, np.nan)
        self.history_, self.n_iter_, self.converged_ = fused.objective, fused.n_iter, fused.converged

    def _weigh(
        self, neighbors: Sequence[Any], views: PreparedViews, *, engine: Engine
    ) -> tuple[EdgeSet, Floats]:
        """Return the edges that the views share, and what each view brings onto them (v, n_edges)."""
        edges, choices = unite_choices([engine.fetch(one.lists) for one in neighbors])
        weights = np.stack([self._edge_weights(i, views, edges, engine) for i in range(len(views))])
        return edges, weights * choices if self._counts_choices else weights

    def _fuse(self, weights: Floats, *, engine: Engine) -> EarlyFusion:
        result = fuse_2019(weights, beta=self.beta, gamma=self.gamma, max_iter=self.max_iter, engine=engine)
        if not result.converged:
            warn(
                f"The fusion stopped at its cap of {self.max_iter} rounds, with the objective at "
                f"{result.objective[-1]:.6g}. Raise max_iter, or take gamma farther from 1 + beta.",
                ConvergenceWarning,
            )
        return result


def _sparsify(edges: EdgeSet, similarity: Floats, n_neighbors: int, *, engine: Engine) -> UnifiedGraph:
    return UnifiedGraph(engine.sparsify(engine.adopt(edges), engine.adopt(similarity), n_neighbors))


def _distances(view: int, views: PreparedViews, edges: EdgeSet, engine: Engine) -> Floats:
    """Return the distances that 2019 uses: squared, but of text the cosine distances as they are.

    So are correlation distances, the cosine distances of centred rows.
    """
    squared = np.asarray(engine.fetch(engine.measure(views.points[view], engine.adopt(edges))))
    return np.sqrt(squared) if views.spaces[view].metric in ("cosine", "correlation") else squared


_PARAMETERS = """
    Parameters
    ----------
    beta : float, default=1.0
        Penalty on inconsistency.
    gamma : float, default=1.0
        Penalty on two views that are inconsistent on the same edge. Above 1 + `beta` the step of an edge is
        no longer to a minimum, and close to that value the result depends on rounding.
    max_iter : int, default=40
        Cap on the number of rounds, as the authors have it; most fits end after 3.
    n_clusters, n_neighbors, metric, scale, assign_labels, neighbor_search, engine, n_jobs, random_state
        As in `SimilarityGraphFusion`, and so are `max_clusters` and `verbose`; but ``scale`` is "none" by
        default. @METRIC@
    view_selection : {"all", "agreement"}, default="all"
        "agreement" leaves out the views that SGF and DGF leave out by default, with a warning: those whose
        neighbours are, beyond chance, those of no other view, and copies.

    Attributes
    ----------
    labels_, graph_, embedding_, eigenvalues_, n_neighbors_, metrics_, view_names_, timings_, n_features_in_
        As in `SimilarityGraphFusion`, and so are `n_clusters_` and `cluster_selection_`.
    view_weights_ : ndarray of shape (v,)
        The scale at which each view enters (alpha), of sum 1; 0 for a view left out. Views of larger numbers
        get smaller scales: not a measure of trust.
    edges_ : EdgeSet
        The edges that the views share, each in both directions.
    consistent_, inconsistent_ : ndarray of shape (n_edges, v)
        The two parts of each view's edge weights; NaN for a view left out.
    history_ : ndarray of shape (n_iter_,)
        The objective at the beginning of each round, that of the first with the first view in the place of s.
        It need not fall.
    n_iter_ : int
        Number of rounds.
    converged_ : bool
        Whether the objective came back to an earlier one before the cap.
"""

_BANDWIDTH = """\
    bandwidth : {"pairs", "edges"}, default="pairs"
        What the sum of the fused distances is divided by for sigma: "pairs", the number of pairs of samples,
        n^2, as published; or "edges", the number of edges, as in `DistanceGraphFusion`. On thirteen of
        fifteen public data sets the latter gave the higher NMI (with `beta` = `gamma` = 1, 6 neighbours).
"""

_REFERENCES = """
    References
    ----------
    Y. Liang, D. Huang, C.-D. Wang, "Consistency Meets Inconsistency: A Unified Graph Learning Framework for
    Multi-view Clustering", IEEE International Conference on Data Mining (ICDM), 2019.
"""


@estimator
class SimilarityGraphFusion2019(GraphFusion2019):  # noqa: D101 - it has one, put together
    __doc__ = (
        r"""Multi-view clustering by similarity graph fusion as of 2019 (SGF-0), the earlier version of SGF.

    View i's similarities are :math:`w = \exp(-d / 2\bar d)`, :math:`\bar d` being the mean of d over all
    pairs of samples. On the union of the views' k nearest neighbours, in both directions, they are multiplied
    by the number of views that chose the edge, an end's choice that is not returned counting one half. They
    are split into a consistent and an inconsistent part, :math:`W_i = A_i + E_i`, and fused, looking for a
    minimum of

    .. math::

        \sum_i \|\alpha_i A_i - s\|^2 + \sum_{i,j} B_{ij} \alpha_i \alpha_j E_i'E_j,
        \qquad 0 \le A_i \le W_i, \; \alpha \ge 0, \; \sum_i \alpha_i = 1,

    with B = `beta` on the diagonal and `gamma` off it; the k largest entries per row of s are kept, made
    symmetric, and clustered spectrally. It is here to compare with: `SimilarityGraphFusion`, which
    standardises the distances and whose steps descend, replaced it. The cost is that of the neighbour
    searches, O(v n^2 d) here, plus O(v^3 n k) per round; memory O(v^2 n k).

    What d is: squared Euclidean distances; of cosine the distances 1 - cos, **not squared**; of any other
    metric the squared distances, as everywhere in the library. Similarities that the user brings are taken as
    they are. Where we differ from the authors' program: the mean over all pairs is taken without making an
    n x n matrix; a row of zeros is at cosine distance 1 from all others; the system of an edge is solved with
    the views' scales taken out of it, so that views of very different size lose no digits; and reaching the
    cap is reported.
"""
        + _PARAMETERS.replace(" @METRIC@", "")
        + """
    See Also
    --------
    SimilarityGraphFusion : The later version.
    DistanceGraphFusion2019 : Fuses distances instead of similarities.
"""
        + _REFERENCES
        + """
    Examples
    --------
    >>> from consilience import make_multiview
    >>> from consilience.metrics import clustering_accuracy
    >>> from consilience.models import SimilarityGraphFusion2019
    >>> sample = make_multiview(150, n_views=3, n_clusters=3, separation=5.0, random_state=0)
    >>> model = SimilarityGraphFusion2019(n_clusters=3, random_state=0).fit(sample.views)
    >>> clustering_accuracy(sample.y, model.labels_)
    1.0
    """
    )

    _counts_choices: ClassVar[bool] = True

    def _edge_weights(self, view: int, views: PreparedViews, edges: EdgeSet, engine: Engine) -> Floats:
        values = _distances(view, views, edges, engine)
        if views.spaces[view].kind == "similarity":
            return values
        mean = engine.mean_over_pairs(views.points[view]) or 1.0
        return np.exp(values / (-2 * mean))

    def _similarity(self, fused: Floats, n_samples: int) -> Floats:
        return fused


@estimator
class DistanceGraphFusion2019(GraphFusion2019):  # noqa: D101 - it has one, put together
    __doc__ = (
        r"""Multi-view clustering by distance graph fusion as of 2019 (DGF-0), the earlier version of DGF.

    As `SimilarityGraphFusion2019`, with the same objective, but what is fused are the distances d themselves,
    on the union of the views' neighbours in both directions. The fused distances become similarities by
    :math:`\exp(-s / 2\sigma)`, :math:`\sigma` being the sum of s over all edges divided by n^2.

    It is here to compare with, and has two weak points that `DistanceGraphFusion` corrects. The views are not
    brought to one scale, so that views of large numbers hardly count. And :math:`\sigma`, a mean over pairs
    most of which are no edges, shrinks as n grows: the similarities span ever more powers of ten, the graph
    falls apart, and with many thousand samples its eigenvectors can hardly be found at all; a warning says
    when. ``bandwidth="edges"``, which is not in the publication, avoids that.

    As the authors count, a sample is the first of its own k neighbours: k - 1 others are looked for (one at
    least), while k per row are kept of the fused graph. What d is, where we differ, and the cost are as in
    `SimilarityGraphFusion2019`.
"""
        + _PARAMETERS.replace(" @METRIC@", " Views of similarities are refused.").replace(
            "    max_iter : int", _BANDWIDTH + "    max_iter : int"
        )
        + """
    See Also
    --------
    DistanceGraphFusion : The later version.
    SimilarityGraphFusion2019 : Fuses similarities instead of distances.
"""
        + _REFERENCES
        + """
    Examples
    --------
    >>> from consilience import make_multiview
    >>> from consilience.metrics import clustering_accuracy
    >>> from consilience.models import DistanceGraphFusion2019
    >>> sample = make_multiview(150, n_views=3, n_clusters=3, separation=4.0, random_state=0)
    >>> model = DistanceGraphFusion2019(n_clusters=3, random_state=0).fit(sample.views)
    >>> clustering_accuracy(sample.y, model.labels_)
    1.0
    """
    )

    bandwidth: Literal["pairs", "edges"] = "pairs"

    takes_similarities: ClassVar[bool] = False
    _counts_choices: ClassVar[bool] = False

    def check_parameters(self, views: Views) -> None:
        """Check the bandwidth, too."""
        super().check_parameters(views)
        check_choice("bandwidth", self.bandwidth, ("pairs", "edges"))

    def _n_listed(self, k: int) -> int:
        return max(k - 1, 1)

    def _edge_weights(self, view: int, views: PreparedViews, edges: EdgeSet, engine: Engine) -> Floats:
        return _distances(view, views, edges, engine)

    def _similarity(self, fused: Floats, n_samples: int) -> Floats:
        if self.bandwidth == "edges":
            return EdgeKernel(width=2 * (float(fused.mean()) or 1.0))(fused)
        typical = np.exp(-(n_samples**2) / (2 * len(fused)))
        if typical < _LEAST_TYPICAL:
            warn(
                f"The published kernel is too narrow for {n_samples} samples: an edge of mean length has the "
                f"similarity {typical:.0e}, and the graph may fall apart. Pass bandwidth='edges'.",
            )
        sigma = float(fused.sum()) / n_samples**2 or 1.0
        return np.exp(fused / (-2 * sigma))
