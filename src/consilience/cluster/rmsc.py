"""Robust multi-view spectral clustering: one low-rank random walk that most views agree on."""

# Compiled functions are not annotated: Numba derives their types from the call.
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numba as nb
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import eigh
from sklearn.exceptions import ConvergenceWarning

from .. import memory, threads
from ..graph import project_to_simplex
from ..views import Views
from ..warned import warn
from .base import estimator
from .checks import check_count, check_number
from .prepared import PreparedViews
from .progress import Progress
from .random_walk import closed_classes, stationary_distribution, walk_embedding
from .spectral import unit_rows
from .viewgraphs import ViewGraphsKMeansClusterer

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
        The closed class of each sample, -1 for one that the walk leaves for good.
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
    lambda_: float,
    *,
    growth: float = 1.9,
    max_iter: int = 100,
    tol: float = 1e-7,
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
    lambda_ : float
        What a deviation costs.
    growth : float, default=1.9
        Factor by which mu grows per round. The nearer to 1, the nearer the end to the minimum, and the later.
    max_iter : int, default=100
        Cap on the number of rounds.
    tol : float, default=1e-7
        End when no row of :math:`T_i - P - E_i` has a larger sum of absolute values than this.

    Warns
    -----
    ConvergenceWarning
        If the cap ends the rounds.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> graph = sparse.csr_array(np.array([[0.0, 3.0, 1.0], [3.0, 0.0, 1.0], [1.0, 1.0, 0.0]]))
    >>> low_rank_transitions([graph], lambda_=10.0).transitions.round(3)
    array([[0.  , 0.75, 0.25],
           [0.75, 0.  , 0.25],
           [0.5 , 0.5 , 0.  ]])
    """
    walks = [_row_scaled(graph) for graph in graphs]
    small = walks[0].shape[0] < _SMALL
    with threads.limit(1) if small else threads.libraries_on_one_thread():
        transitions, history = _alternate(walks, (float(lambda_), float(growth)), int(max_iter), float(tol))
        classes = closed_classes(transitions)
        stationary = stationary_distribution(transitions, classes)
    converged = bool(history["residual"][-1] < tol)
    if not converged:
        warn(
            f"The low-rank transitions were not found after max_iter={max_iter} rounds: the residual is "
            f"{history['residual'][-1]:.2g}, not below {tol:g}. Lower lambda_ or raise max_iter.",
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
    walks: list[sparse.csr_array], constants: tuple[float, float], max_iter: int, tol: float
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
        transitions = project_to_simplex(argument)
        lifted = np.multiply(transitions, step, out=argument)
        lifted += dual
        singular_values = clip_singular_values(lifted, rank)
        rank = len(singular_values)
        residual, gap, l1_norm = np.zeros((3, n))
        _over_rows(_update_copy, transitions, dual, lifted, (step, next_step), v, gap)
        argument, dual = dual, lifted
        for walk, multiplier in zip(walks, multipliers, strict=True):
            csr, steps = (walk.data, walk.indices, walk.indptr), (step, next_step)
            _over_rows(
                _update_view, transitions, multiplier, csr, steps, penalty, argument, residual, l1_norm
            )
        nuclear_norm = float((singular_values - 1.0).sum()) / step
        rounds.append((step, residual.max(), gap.max(), rank, nuclear_norm, l1_norm.sum()))
        step = next_step
    names = ("mu", "residual", "gap", "rank", "nuclear_norm", "l1_norm")
    return transitions, dict(zip(names, np.array(rounds).T.copy(), strict=True))


def _over_rows(kernel: Callable[..., None], matrix: Floats, *rest: Any) -> None:
    threads.for_ranges(lambda first, last: kernel(first, last, matrix, *rest), len(matrix), grain=64)


_njit = nb.njit(nogil=True, cache=True, fastmath={"reassoc", "nsz", "contract"})


@_njit
def _update_copy(first, last, transitions, before, now, steps, v, gap):
    """Begin the next argument of the projection, in place of the copy's multiplier as it was before."""
    per_step, per_next_step = 1.0 / steps[0], 1.0 / steps[1]
    for i in range(first, last):
        for j in range(transitions.shape[1]):
            difference = (before[i, j] - now[i, j]) * per_step  # Q - P
            gap[i] = max(gap[i], abs(difference))
            before[i, j] = (v + 1) * transitions[i, j] + difference - now[i, j] * per_next_step


@_njit
def _update_view(first, last, transitions, multiplier, csr, steps, penalty, argument, residual, l1_norm):
    """Update the multiplier of one view, and add its part to the next argument of the projection."""
    data, indices, indptr = csr
    step, per_step, per_next_step = steps[0], 1.0 / steps[0], 1.0 / steps[1]
    n = transitions.shape[1]
    excess = np.empty(n)  # a row of P - T
    for i in range(first, last):
        excess[:] = transitions[i]
        for p in range(indptr[i], indptr[i + 1]):
            excess[indices[p]] -= data[p]
        left_over, deviation = 0.0, 0.0
        for j in range(n):
            free = multiplier[i, j] + step * excess[j]
            clipped = min(max(free, -penalty), penalty)
            # T - P - E; where nothing is clipped, E is exactly 0.
            rest = -excess[j] if clipped == free else (multiplier[i, j] - clipped) * per_step
            left_over += abs(rest)
            deviation += abs(excess[j] + rest)
            argument[i, j] += rest - clipped * per_next_step
            multiplier[i, j] = clipped
        residual[i] = max(residual[i], left_over)
        l1_norm[i] += deviation


def clip_singular_values(matrix: Floats, expected: int = 0) -> Floats:
    """Lower the singular values above 1 to 1, in place; return those that were above, ascending.

    They come from the eigenvectors of the Gram matrix, several times faster than a singular value
    decomposition. Its small eigenvalues are drowned in the rounding of the large ones; so if some of interest
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
class RMSC(ViewGraphsKMeansClusterer):
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
    is refused. The result depends strongly on `lambda_`.

    The rounds are those of the authors' program but for the start: that draws the first deviations from a
    normal distribution, we begin with 0, which moves P by some 1e-7 at most on the data sets tried. Singular
    values are found through a Gram matrix, with the same result to rounding. A sample without edges in a view
    stays where it is in that view's walk. Should P fall apart into several closed classes, each has a
    stationary distribution of its own, and with more of them than clusters the largest are represented; a
    sample that the walk leaves for good is put where the walk goes from it. The plain formula would divide by
    0 there.

    The program's rounds satisfy the constraints but do not quite minimise: their steps grow too fast. On the
    3Sources data with ``lambda_=0.1`` they end 12 % above the minimum. A `growth` of 1.05 comes close to it,
    in ten times as many rounds; whether that clusters better is another matter.

    Parameters
    ----------
    lambda_ : float, default=0.005
        What a view's deviation costs: positive. Try several, say powers of ten from 1e-5 to 1e5; the default
        is a usual small value, tuned to nothing. With a large one no deviation pays until late, and the walk
        is that of most views on each edge.
    growth : float, default=1.9
        Factor, above 1, by which the multiplier method's steps grow per round.
    max_iter : int, default=100
        Cap on the number of rounds.
    tol : float, default=1e-7
        The rounds end when no row of :math:`T_i - P - E_i` has a larger sum of absolute values than this.
    n_init : int or "auto", default=10
        Restarts of k-means.
    n_clusters, n_neighbors, metric, scale, assign_labels, neighbor_search, n_jobs, random_state
        As in `SimilarityGraphFusion`, and so is `verbose`. A number of clusters must be given, and
        `assign_labels` be "kmeans". BLAS is kept to one thread, so that the result does not depend on their
        number.

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
        `consilience.cluster.rmsc.LowRankTransitions`.
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
    >>> from consilience.cluster.rmsc import RMSC
    >>> from consilience.metrics import accuracy
    >>> sample = make_multiview(90, n_views=3, n_clusters=3, random_state=0)
    >>> model = RMSC(n_clusters=3, random_state=0).fit(sample.views)
    >>> accuracy(sample.y, model.labels_) > 0.9
    True
    """

    lambda_: float = 0.005
    growth: float = 1.9
    max_iter: int = 100
    tol: float = 1e-7
    n_init: int | Literal["auto"] = 10

    def _check_parameters(self, views: Views) -> None:
        super()._check_parameters(views)
        check_number("lambda_", self.lambda_, strictly=True)
        check_number("growth", self.growth, least=1.0, strictly=True)
        check_count("max_iter", self.max_iter)
        check_number("tol", self.tol, strictly=True)

    def _fit_views(
        self, prepared: PreparedViews, random_state: np.random.RandomState, progress: Progress
    ) -> None:
        n, v = prepared.n_samples, len(prepared.spaces)
        memory.require(
            8.0 * n * n * (v + _STATE + _WORK),
            f"RMSC on {n:,} samples and {v} views",
            "Use CoReg or SimilarityGraphFusion, whose memory grows with the number of edges.",
        )
        super()._fit_views(prepared, random_state, progress)

    def _learn(
        self, graphs: Sequence[sparse.csr_array], prepared: PreparedViews, random_state: np.random.RandomState
    ) -> None:
        found = low_rank_transitions(
            graphs, self.lambda_, growth=self.growth, max_iter=self.max_iter, tol=self.tol
        )
        self.eigenvalues_, vectors, self.graph_ = walk_embedding(found, self.n_clusters_)
        self.embedding_ = unit_rows(vectors)
        self.transitions_, self.stationary_ = found.transitions, found.stationary
        self.history_, self.n_iter_, self.converged_ = found.history, found.n_iter, found.converged
