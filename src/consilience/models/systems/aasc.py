"""Affinity aggregation: a weighted sum of the views' graphs, the weights learned from its eigenvectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from ...engines import Engine
from ...engines.results import Neighbors
from ...graphs import check_graphs
from ...run.execution import Run
from ...run.messages import warn
from ...run.progress import PlannedStage
from ...stages.embed import SpectralEmbedding, spectral_embedding
from ...stages.prepare import PreparedViews
from ...stages.search import search
from ...stages.table import planned
from ...views import Views
from ..base import MultiviewClusterer, Settings
from ..estimator import estimator
from ..given import GivenViews
from .labelling import label_rows
from .view_graphs import gaussian_graph

Floats = NDArray[np.float64]

_SAME = 1e-12  # quotients between 0 and 2 that differ by less do not differ
_UNTOUCHED = 1e-14  # share of the constraint below which an eigenvector does not touch a view
_REACH = np.log(1e16)  # how far beyond their spread, on a logarithmic scale, a multiplier is looked for


@dataclass(frozen=True, eq=False)
class AggregatedAffinity:
    """A weighted sum of graphs, and how its weights came about.

    Attributes
    ----------
    graph : csr_array of shape (n, n)
        The sum of the graphs times the squares of the last weights.
    f : ndarray of shape (n, c)
        Its generalised eigenvectors, with ``f' D f = I``; rows of zeros as in `SpectralEmbedding`.
    weights, eigenvalues : ndarray of shape (n_iter, v) and (n_iter, c)
        The weights of each round and the smallest generalised eigenvalues of the graph made with them.
    objective : ndarray of shape (n_iter,)
        The eigenvalue that the weights are to lower, in each round.
    changes : ndarray of shape (n_iter - 1,)
        How far f moved from the second round on: what the stopping rule looks at.
    converged : bool
        Whether f or the weights stopped changing within the rounds allowed.
    """

    graph: sparse.csr_array
    f: Floats
    weights: Floats
    eigenvalues: Floats
    objective: Floats
    changes: Floats
    converged: bool

    @property
    def n_iter(self) -> int:
        """Number of rounds."""
        return len(self.weights)


def aggregate_affinities(
    graphs: Sequence[sparse.csr_array],
    n_clusters: int,
    *,
    max_iter: int = 20,
    tol: float = 1e-5,
    random_state: Any = None,
    engine: Any = "numba",
) -> AggregatedAffinity:
    r"""Learn weights u of graphs such that :math:`\sum_k u_k^2 W_k` has a cheap normalised cut.

    In turns: the generalised eigenvectors f of the weighted sum, and by `lower_quotient` the weights that
    are best for the first of these that is not constant on components.

    Parameters
    ----------
    graphs : sequence of csr_array of shape (n, n)
        Symmetric, not negative.
    n_clusters : int
        Number of eigenvectors.
    max_iter : int, default=20
        Largest number of rounds.
    tol : float, default=1e-5
        Stop when the squared change of ``|f|`` from one round to the next is below this.
    random_state : int, RandomState or None
        Draws the start vectors of the eigen-solver.
    engine : str or Engine, default="numba"
        The engine that solves.

    Warns
    -----
    ConvergenceWarning
        If f still changes after `max_iter` rounds.
    UserWarning
        If the graph is not connected; its components do not depend on the weights.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> path = sparse.csr_array(np.diag([1.0, 1.0], 1) + np.diag([1.0, 1.0], -1))
    >>> aggregate_affinities([path, path], 2).weights[-1]
    array([0.5, 0.5])
    """
    # One seed for all rounds: where eigenvectors are not unique, the choice should not move f.
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    check_graphs(graphs)
    weights = np.full(len(graphs), 1 / len(graphs))
    used: list[Floats] = []
    eigenvalues, objective, changes = [], [], [np.inf]
    f = np.zeros((graphs[0].shape[0], n_clusters))
    converged = False
    while not converged and len(used) < max_iter:
        graph = _weighted_sum(graphs, weights)
        embedding = spectral_embedding(
            graph, n_clusters, warn_disconnected=not used, random_state=seed, engine=engine
        )
        before, f = f, _generalized(graph, embedding)
        if used:
            changes.append(float(((np.abs(f) - np.abs(before)) ** 2).sum()))
        # With m components the first m eigenvectors say nothing of the weights; connected, that is one.
        which = min(embedding.n_connected, n_clusters - 1)
        used.append(weights)
        eigenvalues.append(embedding.eigenvalues)
        objective.append(np.nan_to_num(embedding.eigenvalues[which]))
        if changes[-1] >= tol and embedding.n_connected < n_clusters:
            weights = lower_quotient(*_quadratic_forms(graphs, f[:, which]), weights)
        converged = changes[-1] < tol or weights is used[-1]  # the same weights make the same f
    if not converged:
        warn(
            f"AASC did not converge in {max_iter} rounds: the last moved the eigenvectors by "
            f"{changes[-1]:.1e}, not by less than {tol:g}. Use another n_neighbors.",
            ConvergenceWarning,
        )
    return AggregatedAffinity(
        graph=graph,
        f=f,
        weights=np.array(used),
        eigenvalues=np.array(eigenvalues),
        objective=np.array(objective),
        changes=np.array(changes[1:]),
        converged=converged,
    )


def lower_quotient(a: Floats, b: Floats, weights: Floats) -> Floats:
    r"""Return the u of least :math:`\sum b_k u_k^2` with :math:`\sum a_k u_k^2 = 1` and :math:`\sum u_k = 1`.

    Where the least is not at weights that are all positive, `weights` itself is returned.

    Parameters
    ----------
    a, b : ndarray of shape (v,)
        :math:`f' D_k f` and :math:`f' L_k f`; not negative. Where a is 0 so is b, and the weight stays.
    weights : ndarray of shape (v,)
        The weights until now, which meet both conditions.

    Notes
    -----
    Stationary points have :math:`u_k \propto 1 / (b_k - \mu a_k)`. Where the multiplier :math:`\mu` is below
    every :math:`g_k = b_k / a_k`, the Lagrangian is convex: that is the global minimum, and all its weights
    are positive. (Above every g_k it is concave, and the point the global maximum.) As :math:`\mu` falls from
    the least g to minus infinity, :math:`\sum a_k u_k^2` falls, from a of the view of least g, so there is
    at most one such :math:`\mu`. There is none if the a of that view is below 1, and none worth having if
    all g are equal, when all weights that meet the conditions are equally good.

    Examples
    --------
    >>> import numpy as np
    >>> lower_quotient(np.array([2.5, 1.5]), np.array([0.5, 0.1]), np.array([0.5, 0.5])).round(6)
    array([0.25, 0.75])
    """
    touched = a * weights**2 > _UNTOUCHED
    total = weights[touched].sum()
    # In units of what the views that f touches share, the conditions are as above.
    scaled, g = a[touched] * total**2, b[touched] / a[touched]
    beyond = g - g.min(initial=np.inf)
    spread = beyond.max(initial=0.0)
    if spread <= _SAME:
        return weights

    def candidate(log_distance: float) -> Floats:
        shares = 1 / (scaled * (beyond + spread * np.exp(log_distance)))
        return np.asarray(shares / shares.sum())

    def excess(log_distance: float) -> float:
        return float(scaled @ candidate(log_distance) ** 2) - 1

    if excess(-_REACH) <= 0 or excess(_REACH) >= 0:
        return weights
    root = optimize.brentq(excess, -_REACH, _REACH, xtol=1e-14, rtol=4 * np.finfo(float).eps)
    result = weights.copy()
    result[touched] = total * candidate(root)
    return result


def _weighted_sum(graphs: Sequence[sparse.csr_array], weights: Floats) -> sparse.csr_array:
    total = graphs[0] * weights[0] ** 2
    for graph, weight in zip(graphs[1:], weights[1:], strict=True):
        total = total + graph * weight**2
    return sparse.csr_array(total)


def _generalized(graph: sparse.csr_array, embedding: SpectralEmbedding) -> Floats:
    """Return the eigenvectors of (L, D) from those of the normalised Laplacian."""
    root = np.sqrt(np.asarray(graph.sum(axis=1)).ravel())
    inverse = np.divide(1.0, root, out=np.zeros_like(root), where=root > 0)
    return np.asarray(embedding.vectors * inverse[:, None])


def _quadratic_forms(graphs: Sequence[sparse.csr_array], f: Floats) -> tuple[Floats, Floats]:
    """Return f' D_k f and f' L_k f for each graph."""
    a, b = np.zeros((2, len(graphs)))
    for k, graph in enumerate(graphs):
        rows = np.repeat(np.arange(len(f)), np.diff(graph.indptr))
        a[k] = graph.data @ f[rows] ** 2
        b[k] = graph.data @ (f[rows] - f[graph.indices]) ** 2 / 2  # a sum of squares: nothing cancels
    return a, b


@estimator
class AASC(MultiviewClusterer):
    r"""Affinity aggregation for spectral clustering: one weight per view, learned with the eigenvectors.

    Every view judges the edges of all views. The weights u and the generalised eigenvectors f of the graph
    :math:`W = \sum_k u_k^2 W_k`, of degrees D, are found in turns, the weights by

    .. math::

        \min_u \; \sum_k u_k^2 \, f_2' L_k f_2
        \quad\text{s.t.}\quad \sum_k u_k^2 \, f_2' D_k f_2 = 1, \; \sum_k u_k = 1

    with :math:`f_2` the second eigenvector: the relaxed normalised cut of W into two. K-means on the rows of
    all c eigenvectors, not scaled, gives the labels.

    Good as a baseline in which every view judges all edges. The two conditions on the weights leave them
    little room where the views' similarities are of much the same size, as Gaussian ones are: the weights
    then stay near uniform, also between views of unlike quality. Besides the neighbour searches, O(v n^2 d),
    one sparse eigenproblem per round, of which there are two to five: time about linear in the number of
    edges, memory of a few copies of the graph per view.

    Parameters
    ----------
    n_clusters, n_neighbors, metric, scale, assign_labels, neighbor_search, engine, n_jobs, random_state
        As in `SimilarityGraphFusion`, and so is `verbose`; but ``scale`` is "none" by default. A number of
        clusters must be given, and `assign_labels` be k-means.
    view_selection : {"all", "agreement"}, default="all"
        "agreement" leaves out the views that SGF and DGF leave out by default, with a warning: those whose
        neighbours are, beyond chance, those of no other view, and copies.

    Attributes
    ----------
    labels_, graph_, embedding_, n_neighbors_, metrics_, view_names_, timings_, n_features_in_
        As in `SimilarityGraphFusion`; `graph_` is W and `embedding_` is f, with ``f' D f = I``.
    eigenvalues_ : ndarray of shape (c,)
        The smallest generalised eigenvalues of W.
    view_weights_ : ndarray of shape (v,)
        The weights u, of sum 1; their squares multiply the graphs. 0 for a view left out.
    history_ : ndarray of shape (n_iter_,)
        The eigenvalue of :math:`f_2` in each round.
    n_iter_ : int
        Number of rounds.
    converged_ : bool
        Whether f stopped changing within 20 rounds.

    Notes
    -----
    Differences from the authors' program, which gives the same weights to its own accuracy on connected
    graphs:

    - The program looks for a stationary point with a general root finder that leaves errors of 1e-7 to 1e-6,
      and takes what it finds. Here the one that is the global minimum is found to rounding; where that is
      not at positive weights, the weights stay as they are, and the rounds end.
    - If W has m > 1 connected components, the second eigenvector only separates components, every weight
      is as good as any other, and the program's choice is rounding. Here the first eigenvector that does
      more, number m + 1, takes its place. With c components or more, or one cluster, there is none, and the
      weights stay uniform.
    - Samples without edges, or in components too small to be represented, have rows of zeros and go to the
      nearest cluster.

    References
    ----------
    H.-C. Huang, Y.-Y. Chuang, C.-S. Chen. Affinity aggregation for spectral clustering. CVPR 2012.

    Examples
    --------
    >>> from consilience import make_multiview
    >>> from consilience.models import AASC
    >>> sample = make_multiview(200, n_views=2, noise_views=1, n_clusters=3, random_state=0)
    >>> model = AASC(n_clusters=3, random_state=0).fit(sample.views)
    >>> model.view_weights_.round(3)
    array([0.338, 0.33 , 0.332])
    """

    assign_labels: Any = "kmeans"

    def fit_stages(self, given: GivenViews, settings: Settings, run: Run) -> None:
        """Run the stages: the views' graphs on all edges, their weights and eigenvectors, labels."""
        k, c = settings.n_neighbors, settings.n_clusters
        views = self.prepare_views(given, settings, run)
        names = [repr(name) for name in views.names]
        neighbors = run.each("search", search, names, views, k, self.neighbor_search, False)
        graphs = run.stage("weigh", graphs_on_all_edges, neighbors, views)
        found = run.stage("learn", aggregate_affinities, graphs, c, random_state=run.random_state)
        self.labels_ = run.stage(
            "label", label_rows, found.f, settings.n_clusters, settings.assigner, run.random_state
        )
        self.graph_ = found.graph
        self.embedding_ = found.f
        self.eigenvalues_ = found.eigenvalues[-1]
        self.view_weights_ = views.expand(found.weights[-1])
        self.history_ = found.objective
        self.n_iter_ = found.n_iter
        self.converged_ = found.converged

    def plan_stages(self, views: Views, settings: Settings, engine: Engine) -> Sequence[PlannedStage]:
        """Return the stages to come, with that of the graphs."""
        return planned("prepare", "search", "weigh", "learn", "label", search=views.n_views)


def graphs_on_all_edges(
    neighbors: Sequence[Neighbors], views: PreparedViews, *, engine: Engine
) -> list[sparse.csr_array]:
    """Return each view's Gaussian similarities on the edges of all views."""
    edges = engine.unite([one.lists for one in neighbors], None)
    return [gaussian_graph(i, views, edges, engine, one.known) for i, one in enumerate(neighbors)]
