"""Robust multi-view spectral clustering: one low-rank random walk that most views agree on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import eigh
from sklearn.exceptions import ConvergenceWarning

from ...engines import Engine, get_engine, threads
from ...engines.embedding import unit_rows
from ...graphs import check_graphs
from ...run import memory
from ...run.execution import Run
from ...run.messages import check_count, check_number, warn
from ...run.progress import PlannedStage
from ...views import Views
from ..base import MultiviewClusterer, Settings
from ..estimator import estimator
from ..given import GivenViews
from .labelling import label_rows
from .random_walk import closed_classes, stationary_distribution, walk_embedding
from .view_graphs import view_graph

Floats = NDArray[np.float64]

FIRST_STEP, LAST_STEP = 1e-3, 1e10  # the multiplier method's mu: where it starts, and its limit
_SPLIT = 1e-8  # squared singular values below this share of the largest are found again, among themselves
_SMALL = 1000  # samples below which starting threads costs more than they save
_STATE, _WORK = 3, 4  # n x n arrays: P, Z and P + Z / mu; a Gram matrix and what its eigen-solver needs


@dataclass(frozen=True, eq=False)
class LowRankTransitions:
    r"""What `low_rank_transitions` found.

    Attributes
    ----------
    transitions : ndarray of shape (n, n)
        P: probabilities of going from a sample (row) to another, rows of sum 1.
    stationary : ndarray of shape (n,)
        Its stationary distribution, of sum 1, as `closed_classes` and `stationary_distribution` define it.
    classes : ndarray of int of shape (n,)
        The closed class of each sample, -1 for one that the walk leaves and never returns to.
    history : dict of str to ndarray of shape (n_iter,)
        Per round: "mu"; "residual", the largest row sum of :math:`|T_i - P - E_i|`, which ends the rounds;
        "gap", the largest entry of :math:`|P - Q|`, Q being the low-rank copy of P; "rank" and "nuclear_norm"
        of Q; "l1_norm", :math:`\sum_i \|E_i\|_1`.
    n_iter : int
        Number of rounds.
    converged : bool
        Whether the residual fell below the tolerance.
    """

    transitions: Floats
    stationary: Floats
    classes: NDArray[np.intp]
    history: dict[str, Floats]
    n_iter: int
    converged: bool


def low_rank_transitions(
    graphs: Sequence[sparse.csr_array],
    error_penalty: float,
    *,
    growth: float = 1.9,
    max_iter: int = 100,
    tol: float = 1e-7,
    engine: Any = "numba",
) -> LowRankTransitions:
    r"""Split the random walks on several graphs into one of low rank and sparse deviations from it.

    Minimises :math:`\|P\|_* + \lambda \sum_i \|E_i\|_1` subject to :math:`T_i = P + E_i`,
    :math:`P \geq 0` and :math:`P 1 = 1` by the inexact augmented Lagrange multiplier method, with a copy Q of
    P for the nuclear norm. T_i are the rows of graph i scaled to sum 1; on a sample without edges the walk
    stays where it is.

    Parameters
    ----------
    graphs : sequence of csr_array of shape (n, n)
        Symmetric, non-negative weights.
    error_penalty : float
        What a deviation costs (lambda).
    growth : float, default=1.9
        Factor by which mu grows per round. The nearer to 1, the nearer the end to the minimum, and the later.
    max_iter : int, default=100
        Cap on the number of rounds.
    tol : float, default=1e-7
        End when no row of :math:`T_i - P - E_i` has a larger sum of absolute values than this.
    engine : str or Engine, default="numba"
        The engine that computes.

    Warns
    -----
    ConvergenceWarning
        If the cap ends the rounds.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> graph = sparse.csr_array(np.array([[0.0, 3.0, 1.0], [3.0, 0.0, 1.0], [1.0, 1.0, 0.0]]))
    >>> low_rank_transitions([graph], error_penalty=10.0).transitions.round(3)
    array([[0.  , 0.75, 0.25],
           [0.75, 0.  , 0.25],
           [0.5 , 0.5 , 0.  ]])
    """
    check_graphs(graphs)
    walks = [_row_scaled(graph) for graph in graphs]
    small = walks[0].shape[0] < _SMALL
    with threads.limit(1) if small else threads.libraries_on_one_thread():
        constants = float(error_penalty), float(growth)
        transitions, history = _alternate(walks, constants, int(max_iter), float(tol), get_engine(engine))
        classes = closed_classes(transitions)
        stationary = stationary_distribution(transitions, classes)
    converged = bool(history["residual"][-1] < tol)
    if not converged:
        warn(
            f"The low-rank transitions were not found after max_iter={max_iter} rounds: the residual is "
            f"{history['residual'][-1]:.2g}, not below {tol:g}. Lower error_penalty or raise max_iter.",
            ConvergenceWarning,
        )
    return LowRankTransitions(transitions, stationary, classes, history, len(history["residual"]), converged)


def _row_scaled(graph: sparse.csr_array) -> sparse.csr_array:
    """Return the random walk on a graph: rows of sum 1, a loop where a sample has no edges."""
    walk = sparse.csr_array(graph, dtype=np.float64, copy=True)
    largest = walk.max(axis=1).toarray().ravel()
    alone = largest == 0
    if alone.any():
        walk = sparse.csr_array(walk + sparse.diags(alone.astype(np.float64)))
    rows = np.repeat(np.arange(walk.shape[0]), np.diff(walk.indptr))
    walk.data /= np.where(alone, 1.0, largest)[rows]  # first: sums of huge weights would overflow
    walk.data /= np.bincount(rows, walk.data, minlength=walk.shape[0])[rows]
    return walk


def _alternate(
    walks: list[sparse.csr_array],
    constants: tuple[float, float],
    max_iter: int,
    tol: float,
    engine: Engine,
) -> tuple[Floats, dict[str, Floats]]:
    r"""Run the rounds.

    With the multipliers :math:`Y_i` of :math:`T_i = P + E_i`, a round's two updates of view i come to
    :math:`Y_i \leftarrow \mathrm{clip}(Y_i + \mu (P - T_i), \pm\lambda)`, and
    :math:`T_i - P - E_i = (Y_i^{old} - Y_i) / \mu`, so that the E_i need not be kept. Likewise for Z, the
    multiplier of P = Q: singular-value shrinkage comes to :math:`Z \leftarrow Z + \mu P` with singular values
    clipped to 1, and :math:`Q - P = (Z^{old} - Z) / \mu`.
    """
    n, v = walks[0].shape[0], len(walks)
    penalty, growth = constants
    multipliers, dual = np.zeros((v, n, n)), np.zeros((n, n))
    argument = np.asarray(sum(walks[1:], walks[0]).toarray())  # of the projection that gives P, times v + 1
    transitions = argument
    rounds: list[tuple[float, ...]] = []
    step, rank = FIRST_STEP, 0
    while len(rounds) < max_iter and not (rounds and rounds[-1][1] < tol):
        next_step = min(growth * step, LAST_STEP)
        argument /= v + 1
        del transitions  # before there is a new one
        transitions = engine.project_rows(argument)
        lifted = np.multiply(transitions, step, out=argument)
        lifted += dual
        singular_values = clip_singular_values(lifted, rank)
        rank = len(singular_values)
        steps, views = (step, next_step), list(zip(walks, multipliers, strict=True))
        found = engine.shrink_round(transitions, (dual, lifted), views, steps, penalty)
        argument, dual = dual, lifted
        nuclear_norm = float((singular_values - 1.0).sum()) / step
        residual, gap, l1_norm = found
        rounds.append((step, residual, gap, rank, nuclear_norm, l1_norm))
        step = next_step
    names = ("mu", "residual", "gap", "rank", "nuclear_norm", "l1_norm")
    return transitions, dict(zip(names, np.array(rounds).T.copy(), strict=True))


def clip_singular_values(matrix: Floats, expected: int = 0) -> Floats:
    """Lower the singular values above 1 to 1, in place; return those that were above, ascending.

    They come from the eigenvectors of the Gram matrix, several times faster than a singular value
    decomposition. Its small eigenvalues are lost in the rounding of the large ones; so if some of interest
    could be small, they are found again in the Gram matrix of what the matrix does to their vectors alone.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
        Overwritten.
    expected : int, default=0
        About how many there may be: if few, only their eigenvectors are computed.
    """
    none, n = np.empty(0), len(matrix)
    # Two bounds of the largest singular value, the second one tighter.
    if np.linalg.norm(matrix, 1) * np.linalg.norm(matrix, np.inf) <= 1:
        return none
    gram = matrix.T @ matrix
    bound = float(np.linalg.norm(gram, np.inf))
    if bound <= 1:
        return none
    exact = bound * _SPLIT > 1
    options: dict[str, Any] = {"overwrite_a": True, "check_finite": False}
    if expected <= n // 16 and not exact:
        squares, vectors = eigh(gram.T, driver="evr", subset_by_value=(1.0, np.inf), **options)
    else:
        squares, vectors = eigh(gram.T, driver="evd", **options)
    del gram  # it makes room for the products below
    n_small = int(np.searchsorted(squares, squares[-1] * _SPLIT)) if exact else 0
    if n_small:
        image = matrix @ vectors[:, :n_small]
        squares[:n_small], rotation = eigh(image.T @ image)
        vectors[:, :n_small] = vectors[:, :n_small] @ rotation
    above = slice(int(np.searchsorted(squares, 1.0)), None)
    values, vectors = np.sqrt(squares[above]), vectors[:, above]
    image = matrix @ vectors
    image *= 1.0 - 1.0 / values
    matrix -= image @ vectors.T
    return np.asarray(values)


@estimator
class RMSC(MultiviewClusterer):
    r"""Robust multi-view spectral clustering: a low-rank random walk shared by all views.

    Each view's neighbour graph gives a random walk T_i. One walk P of low rank, and a sparse deviation of
    each view from it, are found by minimising

    .. math::

        \|P\|_* + \lambda \sum_i \|E_i\|_1 \quad \text{subject to} \quad
        T_i = P + E_i, \; P \geq 0, \; P 1 = 1;

    the walk is made symmetric by its stationary distribution, :math:`\Pi^{1/2} P \Pi^{-1/2}`, and its
    eigenvectors of largest magnitude, rows scaled to unit length, are clustered by k-means.

    For a few thousand samples with views that are each wrong about some edges. P is dense by nature: a round
    takes O(n^3) time, and v + 7 arrays of n x n numbers are held. More than fits into half of the free memory
    is refused. The result depends strongly on `error_penalty`.

    The rounds are those of the authors' program, with another start: the program draws the first deviations
    from a normal distribution, we begin with 0. This moves P by some 1e-7 at most on the data sets tried.
    Singular values are found through a Gram matrix, with the same result to rounding. On a sample without
    edges in a view, that view's walk stays where it is. If P falls apart into several closed classes, each
    has a stationary distribution of its own, and with more of them than clusters the largest are represented;
    a sample that the walk leaves and never returns to is put where the walk goes from it. The plain formula
    would divide by 0 there.

    The program's rounds satisfy the constraints but do not quite minimise: their steps grow too fast. On the
    3Sources data with ``error_penalty=0.1`` they end 12 % above the minimum. A `growth` of 1.05 comes close
    to it, in ten times as many rounds; whether that clusters better is another question.

    Parameters
    ----------
    error_penalty : float, default=0.005
        What a view's deviation costs (lambda): positive. Try several, such as powers of ten from 1e-5 to 1e5;
        the default is a usual small value, not tuned to any data. With a large one the deviations stay 0
        until late, and the walk is that of most views on each edge.
    growth : float, default=1.9
        Factor, above 1, by which the multiplier method's steps grow per round.
    max_iter : int, default=100
        Cap on the number of rounds.
    tol : float, default=1e-7
        The rounds end when no row of :math:`T_i - P - E_i` has a larger sum of absolute values than this.
    n_clusters, n_neighbors, metric, scale, assign_labels, neighbor_search, engine, n_jobs, random_state
        As in `SimilarityGraphFusion`, and so is `verbose`; but ``scale`` is "none" by default. A number of
        clusters must be given, and `assign_labels` be k-means. BLAS is kept to one thread, so that the result
        does not depend on the number of threads.
    view_selection : {"all", "agreement"}, default="all"
        "agreement" leaves out the views that SGF and DGF leave out by default, with a warning: those whose
        neighbours are, beyond chance, those of no other view, and copies.

    Attributes
    ----------
    labels_, n_neighbors_, metrics_, view_names_, timings_, n_features_in_
        As in `SimilarityGraphFusion`.
    transitions_ : ndarray of shape (n_samples, n_samples)
        P; rows of sum 1.
    stationary_ : ndarray of shape (n_samples,)
        Its stationary distribution, of sum 1.
    graph_ : ndarray of shape (n_samples, n_samples)
        :math:`(\Pi P + P'\Pi) / 2`: what passes between two samples per step of the walk. Dense,
        symmetric, of sum 1.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Eigenvectors, rows of unit length.
    eigenvalues_ : ndarray of shape (n_clusters,)
        Their eigenvalues, by magnitude; the first is 1.
    history_ : dict of str to ndarray of shape (n_iter_,)
        Per round: "mu", "residual", "gap", "rank", "nuclear_norm", "l1_norm"; see
        `consilience.models.systems.rmsc.LowRankTransitions`.
    n_iter_ : int
        Number of rounds.
    converged_ : bool
        Whether `tol` was reached.

    References
    ----------
    R. Xia, Y. Pan, L. Du, J. Yin, "Robust Multi-View Spectral Clustering via Low-Rank and Sparse
    Decomposition", AAAI Conference on Artificial Intelligence, 2014.

    Examples
    --------
    >>> from consilience import make_multiview
    >>> from consilience.metrics import clustering_accuracy
    >>> from consilience.models import RMSC
    >>> sample = make_multiview(90, n_views=3, n_clusters=3, random_state=0)
    >>> model = RMSC(n_clusters=3, random_state=0).fit(sample.views)
    >>> clustering_accuracy(sample.y, model.labels_) > 0.9
    True
    """

    error_penalty: float = 0.005
    growth: float = 1.9
    max_iter: int = 100
    tol: float = 1e-7
    assign_labels: Any = "kmeans"

    def check_parameters(self, views: Views) -> None:
        """Check the penalty and the parameters of the rounds."""
        check_number("error_penalty", self.error_penalty, strictly=True)
        check_number("growth", self.growth, least=1.0, strictly=True)
        check_count("max_iter", self.max_iter)
        check_number("tol", self.tol, strictly=True)

    def plan_stages(self, views: Views, settings: Settings, engine: Engine) -> Sequence[PlannedStage]:
        """Return the stages to come; raise a MemoryError if the n x n arrays would need too much."""
        n, v = views.n_samples, views.n_views
        memory.require(
            8.0 * n * n * (v + _STATE + _WORK),
            f"RMSC on {n:,} samples and {v} views",
            "Use CoReg or SimilarityGraphFusion, whose memory grows with the number of edges.",
        )
        return super().plan_stages(views, settings, engine)

    def fit_stages(self, given: GivenViews, settings: Settings, run: Run) -> None:
        """Run the stages: a graph per view, the low-rank walk, its embedding, labels."""
        views = self.prepare_views(given, settings, run)
        names = [repr(name) for name in views.names]
        graphs = run.each("search", view_graph, names, views, settings.n_neighbors, self.neighbor_search)
        found = run.stage(
            "learn",
            low_rank_transitions,
            graphs,
            self.error_penalty,
            growth=self.growth,
            max_iter=self.max_iter,
            tol=self.tol,
        )
        self.eigenvalues_, vectors, self.graph_ = walk_embedding(found, settings.n_clusters)
        self.embedding_ = unit_rows(vectors)
        self.labels_ = run.stage(
            "label", label_rows, self.embedding_, settings.n_clusters, settings.assigner, run.random_state
        )
        self.transitions_, self.stationary_ = found.transitions, found.stationary
        self.history_, self.n_iter_, self.converged_ = found.history, found.n_iter, found.converged
