"""Graph learning for multi-view clustering: a graph of c components near a weighted sum (Zhan, 2018)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...engines import Engine, get_engine, threads
from ...graphs import EdgeSet, check_graphs, symmetrize
from ...run import memory
from ...run.execution import Run
from ...run.progress import PlannedStage
from ...spectra.eigenvectors import Eigenpairs, largest_of_matrix, smallest_of_plain_laplacian
from ...stages.table import planned
from ...views import Views
from ..base import MultiviewClusterer, Settings
from ..estimator import estimator
from ..given import GivenViews
from .component_graphs import embed_components
from .labelling import label_rows
from .rank_constrained import rank_constrained_graph, search_components
from .view_graphs import apart_on

FloatArray = NDArray[np.float64]

_NO_EIGENVALUE = 1e-10  # sums of eigenvalues below it count as 0
_ROUNDING = 1e-13  # eigenvalues below this part of their sum are what rounding leaves of 0


@dataclass(frozen=True, eq=False)
class ColumnWeightedGraph:
    """A graph of as many components as clusters, near a column-wise weighted sum of the views' graphs.

    Attributes
    ----------
    graph : csr_array of shape (n, n)
        The symmetric part of `directed`.
    directed : csr_array of shape (n, n)
        The graph learned, rows of sum 1.
    sample_weights : ndarray of shape (n, v)
        Per sample, the views' weights in its column of the sum; each row has sum 1, and entries may be
        negative.
    history : ndarray of shape (n_rounds,)
        Squared Frobenius distance between graph and sum after each round.
    searches : ndarray of shape (., 4)
        Per step of a search for components: the round it belongs to, the pull (mu of the authors), and the
        sums of the c and of the c + 1 smallest eigenvalues.
    converged : bool
        Whether the stopping rule was met.
    """

    graph: sparse.csr_array
    directed: sparse.csr_array
    sample_weights: FloatArray
    history: FloatArray
    searches: FloatArray
    converged: bool


def learn_weighted_graph(
    graphs: Sequence[sparse.csr_array],
    n_clusters: int,
    *,
    max_iter: int = 30,
    max_search: int = 60,
    tol: float = 1e-3,
    engine: Any = "numba",
) -> ColumnWeightedGraph:
    """Learn a graph of as many components as clusters together with the views' weights for each sample.

    Parameters
    ----------
    graphs : sequence of csr_array of shape (n, n)
        One per view, symmetric, not negative.
    n_clusters : int
        Number of components.
    max_iter : int, default=30
        Cap on the number of rounds.
    max_search : int, default=60
        Cap on the number of steps of a search for components.
    tol : float, default=1e-3
        The rounds end when the distance between graph and weighted sum changes by no more than this part.
    engine : str or Engine, default="numba"
        The engine that computes.

    Returns
    -------
    ColumnWeightedGraph

    Examples
    --------
    >>> pairs = sparse.csr_array(np.kron(np.eye(2), [[0, 1], [1, 0]]))
    >>> found = learn_weighted_graph([pairs, pairs], 2)
    >>> found.sample_weights[0], found.history
    (array([0.5, 0.5]), array([0.]))
    """
    check_graphs(graphs)
    engine, support = get_engine(engine), _united_support(graphs)
    _require_memory(support.n_samples, support.n_edges, len(graphs), n_clusters)
    off_diagonal = support.rows != support.indices
    views = np.stack([support.take(graph) for graph in graphs])
    weighted = views.mean(axis=0)
    gaps: list[float] = []
    searches: list[FloatArray] = []
    converged = False
    with threads.libraries_on_one_thread():
        while len(gaps) < max_iter and not converged:
            learned, steps = _constrain(support, weighted * off_diagonal, n_clusters, max_search, engine)
            weights = _column_weights(learned - views, support)
            weighted = np.einsum("ve,ev->e", views, weights[support.indices])
            gaps.append(float(np.sum((learned - weighted) ** 2)))
            searches.append(np.insert(steps, 0, len(gaps), axis=1))
            converged = _has_settled(gaps, tol, float(learned @ learned))
    directed = support.to_csr(learned)
    directed.eliminate_zeros()
    return ColumnWeightedGraph(
        symmetrize(directed), directed, weights, np.array(gaps), np.concatenate(searches), converged
    )


def _has_settled(gaps: Sequence[float], tol: float, scale: float) -> bool:
    """Say whether the gap changes no more, or is nothing but rounding errors, which go on changing."""
    if gaps[-1] <= _ROUNDING**2 * scale:
        return True
    return len(gaps) > 1 and abs(gaps[-1] - gaps[-2]) <= tol * gaps[-2]


def _united_support(graphs: Sequence[sparse.csr_array]) -> EdgeSet:
    """Return where any of the graphs has an entry, the diagonal included."""
    total = sparse.csr_array(sum(graphs[1:], start=graphs[0]))
    total.sum_duplicates()
    total.eliminate_zeros()
    return EdgeSet(total.indptr, total.indices)


def _constrain(
    support: EdgeSet, weighted: FloatArray, n_clusters: int, max_search: int, engine: Engine
) -> tuple[FloatArray, FloatArray]:
    """Return the graph of c components near a weighted sum, on its support, and the steps to it."""
    pairs = _smallest_of_signed_laplacian(symmetrize(support.to_csr(weighted)), n_clusters)
    # Negative weights can make such a sum small as well, but not of a graph that could be clustered.
    if pairs.values.sum() < _NO_EIGENVALUE and weighted.min(initial=0.0) >= 0:
        return weighted, np.empty((0, 3))
    inside = np.flatnonzero(weighted > 0)
    edges = EdgeSet(np.searchsorted(inside, support.indptr), support.indices[inside])
    target = weighted[inside]

    def draw_together(vectors: FloatArray, pull: float) -> sparse.csr_array:
        apart = apart_on(edges, vectors, engine)
        return edges.to_csr(engine.project_rows(target - pull / 2 * apart, edges.indptr))

    found = search_components(
        draw_together, pairs.vectors, max_iter=max_search, tol=_NO_EIGENVALUE, edges=edges
    )
    learned = np.zeros(support.n_edges)
    learned[inside] = found.directed.data
    return learned, found.history


def _smallest_of_signed_laplacian(graph: sparse.csr_array, n_vectors: int) -> Eigenpairs:
    """Return the smallest eigenpairs of D - S, where S may have negative entries."""
    if graph.data.min(initial=0.0) >= 0:
        return smallest_of_plain_laplacian(graph, n_vectors)
    degrees = np.asarray(graph.sum(axis=1)).ravel()
    bound = float((np.abs(degrees) + np.asarray(abs(graph).sum(axis=1)).ravel()).max())
    negative = sparse.csr_array((graph - sparse.diags(degrees)) / bound)
    pairs = largest_of_matrix(negative, n_vectors, tol=1e-11)
    return Eigenpairs(-bound * pairs.values, pairs.vectors)


def _column_weights(differences: FloatArray, support: EdgeSet) -> FloatArray:
    r"""Return weights (n, v), rows of sum 1, that bring a weighted sum of the views nearest to a graph.

    Per column, with Z the differences between graph and views, they minimise :math:`w'Z'Zw`; of several
    minimisers the shortest is taken: a column in which all views agree with the graph weighs them the same.

    Parameters
    ----------
    differences : ndarray of shape (v, n_entries)
        Graph minus view, on the entries.
    support : EdgeSet
        The entries.
    """
    v, n = len(differences), support.n_samples
    products = np.empty((n, v, v))
    for a in range(v):
        for b in range(a + 1):
            sums = np.bincount(support.indices, differences[a] * differences[b], minlength=n)
            products[:, a, b] = products[:, b, a] = sums
    values, vectors = np.linalg.eigh(products)
    trace = np.trace(products, axis1=1, axis2=2)[:, None]
    values = np.where(values > _ROUNDING * trace, values, 0.0) + np.finfo(float).eps * trace
    shares = vectors.sum(axis=1) / np.where(trace > 0, values, 1.0)
    weights = np.einsum("jva,ja->jv", vectors, shares)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _require_memory(n: int, n_entries: int, n_views: int, n_clusters: int) -> None:
    """Raise a MemoryError if the entries, and the vectors of an eigen-solver, would not fit."""
    per_entry = 8 * 3 * n_views + 100  # views, differences and weights; the graphs of one round
    per_sample = 8 * 2 * (max(2 * n_clusters + 3, 40) + n_views**2)
    memory.require(
        per_entry * n_entries + per_sample * n,
        f"MVGL on {n} samples and {n_entries} edges",
        "Use SimilarityGraphFusion, which needs less, lower n_neighbors, or take fewer samples.",
    )


@estimator
class MVGL(MultiviewClusterer):
    r"""Graph learning for multi-view clustering: one graph of as many components as clusters.

    Every view first gets a graph :math:`S_v` of exactly c connected components on its nearest neighbours. A
    graph A, again of c components, is then learned together with weights of the views for every sample,

    .. math::

        \min_{A, w} \sum_j \Big\|A_j - \sum_v w_{jv} S_{v,j}\Big\|^2
        \quad\text{s.t.}\quad A \ge 0,\ A\mathbf 1 = \mathbf 1,\ \operatorname{rank}(L_A) = n - c,\
        \sum_v w_{jv} = 1,

    where index j picks a column. The components of A are the clusters; k-means only reads them off, and
    decides where there are too many or too few. There is nothing to tune but the number of neighbours, and
    views may be of use for some samples and not for others. But each view is cut into clusters before it has
    seen the others, on neighbours alone, and a cut in the wrong place is hard to correct.

    Time is that of the neighbour searches plus one sparse eigen-solve per step: some ten steps per view and
    150 to 250 for the graph. Memory is O(v^2 n k): everything lives on the edges of the views' graphs, and no
    n x n matrix is formed.

    Where we differ from the authors' program: eigenvalues that are 0 are counted by connected components,
    where its Krylov solver can miss some; a sample is never its own neighbour, where there it is if another
    is identical to it; neighbours that are all equally near weigh the same, where there they weigh 0; of
    several best weights the shortest are taken, where there rounding decides; a weighted sum that has c
    components already becomes the graph only if no entry of it is negative; and the rounds also end when
    graph and weighted sum are the same.

    Parameters
    ----------
    n_clusters, n_neighbors, metric, scale, assign_labels, neighbor_search, engine, n_jobs, random_state
        As in `SimilarityGraphFusion`, and so is `verbose`; but ``scale`` is "none" by default. A number of
        clusters must be given, and `assign_labels` be k-means. Views that are similarities are not taken.
    view_selection : {"all", "agreement"}, default="all"
        "agreement" leaves out the views that SGF and DGF leave out by default, with a warning: those whose
        neighbours are, beyond chance, those of no other view, and copies.

    Attributes
    ----------
    labels_, embedding_, eigenvalues_, n_neighbors_, metrics_, view_names_, timings_, n_features_in_
        As in `SimilarityGraphFusion`.
    graph_ : csr_array of shape (n_samples, n_samples)
        The graph A, made symmetric.
    sample_weights_ : ndarray of shape (n_samples, v)
        The views' weights for each sample, of sum 1; they may be negative. 0 for a view left out.
    view_weights_ : ndarray of shape (v,)
        Their mean over the samples.
    history_ : ndarray of shape (n_iter_,)
        Squared distance between graph and weighted sum after each round.
    n_iter_ : int
        Number of rounds.
    converged_ : bool
        Whether that distance changed by no more than a thousandth at the end. Reaching the cap of 30 rounds
        instead is common and harmless: the last rounds change little.

    See Also
    --------
    MCGC : A later system by some of the same authors.

    References
    ----------
    K. Zhan, C. Zhang, J. Guan, J. Wang, "Graph Learning for Multiview Clustering", IEEE Transactions on
    Cybernetics 48(10), 2018.

    Examples
    --------
    >>> from consilience import make_multiview
    >>> from consilience.models import MVGL
    >>> from consilience.metrics import ari
    >>> sample = make_multiview(200, n_clusters=3, separation=4.0, random_state=0)
    >>> float(ari(sample.y, MVGL(n_clusters=3, random_state=0).fit(sample.views).labels_)) > 0.9
    True
    """

    assign_labels: Any = "kmeans"

    takes_similarities: ClassVar[bool] = False

    def plan_stages(self, views: Views, settings: Settings, engine: Engine) -> Sequence[PlannedStage]:
        """Return the stages to come; raise a MemoryError if the edges would need too much."""
        # Neighbours of all views, and back; how many coincide is not known yet.
        n_entries = 2 * views.n_views * views.n_samples * settings.n_neighbors
        _require_memory(views.n_samples, n_entries, views.n_views, settings.n_clusters)
        return planned("prepare", "search", "learn", "embed", "label", search=views.n_views)

    def fit_stages(self, given: GivenViews, settings: Settings, run: Run) -> None:
        """Run the stages: a graph of c components per view, the weighted graph, its embedding, labels."""
        c, k = settings.n_clusters, settings.n_neighbors
        views = self.prepare_views(given, settings, run)
        names = [repr(name) for name in views.names]
        constrained = run.each("search", rank_constrained_graph, names, views, c, k, 60, self.neighbor_search)
        found = run.stage("learn", learn_weighted_graph, [one.graph for one in constrained], c)
        embedding = run.stage("embed", embed_components, found.graph, c, run.random_state)
        self.labels_ = run.stage(
            "label", label_rows, embedding.vectors, settings.n_clusters, settings.assigner, run.random_state
        )
        self.graph_, self.embedding_ = found.graph, embedding.vectors
        self.eigenvalues_ = embedding.eigenvalues
        self.sample_weights_ = views.expand(found.sample_weights)
        self.view_weights_ = self.sample_weights_.mean(axis=0)
        self.history_ = found.history
        self.n_iter_ = len(found.history)
        self.converged_ = found.converged
