"""Multi-view consensus graph clustering (Zhan et al., 2019)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial.distance import cdist

from ...engines import Engine, get_engine, threads
from ...engines.points.protocol import row_blocks
from ...graphs import check_graphs
from ...run import memory
from ...run.execution import Run
from ...run.messages import check_number
from ...run.progress import PlannedStage
from ...spectra import largest_of_matrix
from ...stages.table import planned
from ...views import Views
from ..base import MultiviewClusterer, Settings
from ..estimator import estimator
from ..given import GivenViews
from .component_graphs import embed_components
from .labelling import label_rows
from .rank_constrained import rank_constrained_graph, search_components

FloatArray = NDArray[np.float64]

_NO_EIGENVALUE = 1e-10  # sums of eigenvalues below it count as 0
_FEWEST_ROUNDS = 3
_SAMPLED = 256  # rows looked at to estimate how many edges a graph will have
_INSTEAD = "Use CoReg or SimilarityGraphFusion, whose memory grows with the edges, or take fewer samples."
_BYTES_PER_ENTRY = 70  # of a graph, its transpose, their sum, and copies that an eigen-solver makes


@dataclass(frozen=True, eq=False)
class ConsensusGraph:
    """A graph of as many components as clusters, near what the views' embeddings say.

    Attributes
    ----------
    graph : csr_array of shape (n, n)
        Symmetric; its entries sum to n.
    view_embeddings : ndarray of shape (v, n, c)
        Orthonormal columns, drawn towards the graph.
    history : ndarray of shape (n_rounds + 1,)
        The stopping quantity at the start and after each round.
    searches : ndarray of shape (., 4)
        Per step of a search for components: the round it belongs to, the pull (gamma of the authors), and the
        sums of the c and of the c + 1 smallest eigenvalues.
    converged : bool
        Whether the stopping rule was met.
    """

    graph: sparse.csr_array
    view_embeddings: FloatArray
    history: FloatArray
    searches: FloatArray
    converged: bool


@dataclass(frozen=True, eq=False)
class _Sum:
    """The symmetric matrix M + F F': the consensus before the first round is low-rank, afterwards sparse."""

    matrix: sparse.csr_array
    factor: FloatArray

    def times(self, x: FloatArray) -> FloatArray:
        return np.asarray(self.matrix @ x + self.factor @ (self.factor.T @ x))

    def degrees(self) -> FloatArray:
        return self.times(np.ones(self.matrix.shape[0]))

    def leading_vectors(self, n_vectors: int) -> FloatArray:
        """Return the eigenvectors of the largest eigenvalues."""
        # An upper bound of all absolute eigenvalues: how exact a solver is depends on the largest.
        bound = float(abs(self.matrix).sum(axis=1).max()) + float(np.linalg.norm(self.factor.T @ self.factor))
        bound = bound or 1.0
        scaled = sparse.csr_array(self.matrix / bound)
        return largest_of_matrix(scaled, n_vectors, factor=self.factor / np.sqrt(bound), tol=1e-11).vectors


def learn_consensus_graph(
    graphs: Sequence[sparse.csr_array],
    n_clusters: int,
    *,
    beta: float = 1.0,
    max_iter: int = 5,
    max_search: int = 50,
    tol: float = 1e-5,
    engine: Any = "numba",
) -> ConsensusGraph:
    """Learn a graph of as many components as clusters from the embeddings of the views' graphs.

    Parameters
    ----------
    graphs : sequence of csr_array of shape (n, n)
        One per view, symmetric, not negative.
    n_clusters : int
        Number of components.
    beta : float, default=1.0
        How strongly embeddings and graph are drawn together; positive.
    max_iter : int, default=5
        Cap on the number of rounds.
    max_search : int, default=50
        Cap on the number of steps of a search for components.
    tol : float, default=1e-5
        The rounds end, from the third on, when the stopping quantity changes by less.
    engine : str or Engine, default="numba"
        The engine that computes.

    Returns
    -------
    ConsensusGraph

    Examples
    --------
    >>> pairs = sparse.csr_array(np.kron(np.eye(2), [[0, 1], [1, 0]]))
    >>> learn_consensus_graph([pairs, pairs], 2).graph.toarray()
    array([[0.5, 0.5, 0. , 0. ],
           [0.5, 0.5, 0. , 0. ],
           [0. , 0. , 0.5, 0.5],
           [0. , 0. , 0.5, 0.5]])
    """
    check_graphs(graphs)
    n = graphs[0].shape[0]
    no_factor, no_matrix = np.zeros((n, 0)), sparse.csr_array((n, n))
    searches: list[FloatArray] = []
    converged = False
    with threads.libraries_on_one_thread():
        bases = [_Sum(graph, no_factor).leading_vectors(n_clusters) for graph in graphs]
        consensus = _Sum(no_matrix, np.sqrt(beta) * np.hstack(bases))
        history = [_disagreement(consensus, bases, beta)]
        laplacian = _Sum(sparse.csr_array(sparse.diags(-consensus.degrees())), consensus.factor)
        vectors, pull = laplacian.leading_vectors(n_clusters), 1.0
        while len(searches) < max_iter and not converged:
            bases = [_drawn_to(graph, consensus, beta).leading_vectors(n_clusters) for graph in graphs]
            found = search_components(
                _puller(np.sqrt(beta) * np.hstack(bases), get_engine(engine)),
                vectors,
                pull=pull,
                max_iter=max_search,
                tol=_NO_EIGENVALUE,
            )
            consensus, vectors, pull = _Sum(found.graph, no_factor), found.vectors, found.pull
            searches.append(np.insert(found.history, 0, len(searches) + 1, axis=1))
            history.append(_disagreement(consensus, bases, beta))
            change = abs(history[-1] - history[-2])
            converged = len(searches) >= _FEWEST_ROUNDS and change < tol
    return ConsensusGraph(
        found.graph, np.stack(bases), np.array(history), np.concatenate(searches), converged
    )


def _drawn_to(graph: sparse.csr_array, consensus: _Sum, beta: float) -> _Sum:
    """Return a view's graph plus beta times the consensus."""
    return _Sum(sparse.csr_array(graph + beta * consensus.matrix), np.sqrt(beta) * consensus.factor)


def _puller(factor: FloatArray, engine: Engine) -> Callable[[FloatArray, float], sparse.csr_array]:
    """Return what makes a graph near F F' of an embedding and a pull; dense are only a few rows at a time."""
    n = len(factor)

    def draw_together(vectors: FloatArray, pull: float) -> sparse.csr_array:
        def rows(which: slice) -> FloatArray:
            values = factor[which] @ factor.T
            values -= pull / 2 * cdist(vectors[which], vectors, "sqeuclidean")
            return engine.project_rows(values)

        _require_memory(n, rows(slice(None, None, max(1, n // _SAMPLED))))
        blocks = [sparse.csr_array(rows(slice(start, stop))) for start, stop in row_blocks(n, 8)]
        return sparse.csr_array(sparse.vstack(blocks))

    return draw_together


def _require_memory(n: int, some_rows: FloatArray) -> None:
    """Raise a MemoryError if a graph as dense as some of its rows would not fit."""
    share = np.count_nonzero(some_rows) / some_rows.size
    memory.require(
        _BYTES_PER_ENTRY * share * n**2,
        f"MCGC on {n} samples, with {share:.0%} of all pairs as edges,",
        _INSTEAD,
    )


def _disagreement(consensus: _Sum, bases: Sequence[FloatArray], beta: float) -> float:
    r"""Return :math:`\sum_i \operatorname{tr}(U_i'LU_i) + \|S - \beta U_iU_i'\|_F`, the stopping quantity."""
    degrees = consensus.degrees()
    square = float(consensus.matrix.power(2).sum() + np.sum((consensus.factor.T @ consensus.factor) ** 2))
    total = 0.0
    for basis in bases:
        inside = float(np.sum(basis * consensus.times(basis)))
        apart = square - 2 * beta * inside + beta**2 * basis.shape[1]
        total += float(degrees @ np.sum(basis**2, axis=1)) - inside + math.sqrt(max(apart, 0.0))
    return total


@estimator
class MCGC(MultiviewClusterer):
    r"""Multi-view consensus graph clustering: a graph of as many components as clusters.

    Every view first gets a graph :math:`W_v` of exactly c connected components on its nearest neighbours.
    Embeddings of the views and a graph S between all samples are then learned from each other,

    .. math::

        \max_{U, S} \sum_v \operatorname{tr}(U_v' W_v U_v) + \beta \sum_v \operatorname{tr}(U_v' S U_v)
        - \tfrac12 \|S\|_F^2
        \quad\text{s.t.}\quad U_v'U_v = I,\ S \ge 0,\ S\mathbf 1 = \mathbf 1,\
        \operatorname{rank}(L_S) = n - c.

    The components of S are the clusters; k-means only reads them off, and decides where there are too many or
    too few. All views count the same, and a sample may be joined to any other, not just to its neighbours.
    The smaller beta, the less S looks at the views beyond what its first embedding took from them.

    Time is O(n^2 c v) per step, some ten steps in all, besides the neighbour searches and the eigen-solves.
    Memory grows with the edges of S, which may join any two samples: some 12 n^2 bytes on real data at
    beta = 1, up to 70 n^2 at small beta. Where that is more than half of what is free, a `MemoryError` says
    so.

    Where we differ from the authors' program: eigenvalues that are 0 are counted by connected components,
    where its Krylov solver can miss some, which moves its result on data it was tried on; a sample is never
    its own neighbour in a view's graph, where there it is if another is identical to it; neighbours that are
    all equally near weigh the same, where there they weigh 0; and no n x n matrix is held dense.

    Parameters
    ----------
    n_clusters, n_neighbors, metric, scale, assign_labels, neighbor_search, engine, n_jobs, random_state
        As in `SimilarityGraphFusion`, and so is `verbose`; but ``scale`` is "none" by default. A number of
        clusters must be given, and `assign_labels` be k-means. Views that are similarities are not taken.
    beta : float, default=1.0
        How strongly graph and embeddings are drawn together; positive.
    view_selection : {"all", "agreement"}, default="all"
        "agreement" leaves out the views that SGF and DGF leave out by default, with a warning: those whose
        neighbours are, beyond chance, those of no other view, and copies.

    Attributes
    ----------
    labels_, embedding_, eigenvalues_, n_neighbors_, metrics_, view_names_, timings_, n_features_in_
        As in `SimilarityGraphFusion`.
    graph_ : csr_array of shape (n_samples, n_samples)
        The graph S, made symmetric; samples may have an edge to themselves.
    view_embeddings_ : ndarray of shape (number of views kept, n_samples, n_clusters)
        The views' embeddings.
    history_ : ndarray of shape (n_iter_ + 1,)
        The stopping quantity, :math:`\sum_v \operatorname{tr}(U_v'L_SU_v) + \|S - \beta U_vU_v'\|_F`, at the
        start and after each round. It is not what is optimised, and may rise.
    n_iter_ : int
        Number of rounds.
    converged_ : bool
        Whether that quantity changed by less than 1e-5 at the end. Ending at the cap of 5 rounds instead is
        usual.

    See Also
    --------
    MVGL : An earlier system by some of the same authors, on neighbours only.

    References
    ----------
    K. Zhan, F. Nie, J. Wang, Y. Yang, "Multiview Consensus Graph Clustering", IEEE Transactions on Image
    Processing 28(3), 2019.

    Examples
    --------
    >>> from consilience import make_multiview
    >>> from consilience.models import MCGC
    >>> from consilience.metrics import ari
    >>> sample = make_multiview(200, n_clusters=3, separation=4.0, random_state=0)
    >>> float(ari(sample.y, MCGC(n_clusters=3, random_state=0).fit(sample.views).labels_)) > 0.9
    True
    """

    beta: float = 1.0
    assign_labels: Any = "kmeans"

    takes_similarities: ClassVar[bool] = False

    def check_parameters(self, views: Views) -> None:
        """Check `beta`."""
        check_number("beta", self.beta, strictly=True)

    def plan_stages(self, views: Views, settings: Settings, engine: Engine) -> Sequence[PlannedStage]:
        """Return the stages to come; raise a MemoryError if the graph would need too much."""
        # Components of equal size, each with all its edges: what is known before there is a graph.
        n = views.n_samples
        memory.require(_BYTES_PER_ENTRY * n**2 / settings.n_clusters, f"MCGC on {n:,} samples", _INSTEAD)
        return planned("prepare", "search", "learn", "embed", "label", search=views.n_views)

    def fit_stages(self, given: GivenViews, settings: Settings, run: Run) -> None:
        """Run the stages: a graph of c components per view, the consensus graph, its embedding, labels."""
        c, k = settings.n_clusters, settings.n_neighbors
        views = self.prepare_views(given, settings, run)
        names = [repr(name) for name in views.names]
        constrained = run.each("search", rank_constrained_graph, names, views, c, k, 30, self.neighbor_search)
        graphs = [one.graph for one in constrained]
        found = run.stage("learn", learn_consensus_graph, graphs, c, beta=float(self.beta))
        embedding = run.stage("embed", embed_components, found.graph, c, run.random_state)
        self.labels_ = run.stage(
            "label", label_rows, embedding.vectors, settings.n_clusters, settings.assigner, run.random_state
        )
        self.graph_, self.embedding_ = found.graph, embedding.vectors
        self.eigenvalues_ = embedding.eigenvalues
        self.view_embeddings_ = found.view_embeddings
        self.history_ = found.history
        self.n_iter_ = len(found.history) - 1
        self.converged_ = found.converged
