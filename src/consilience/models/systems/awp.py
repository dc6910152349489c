"""Adaptively weighted Procrustes: rotating the views' spectral embeddings onto one partition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from ...engines import Engine, threads
from ...engines.embedding import unit_rows
from ...run.execution import Run
from ...run.messages import warn
from ...stages.embed import spectral_embedding
from ...views import Views
from ..base import MultiviewClusterer, Settings
from ..estimator import estimator
from ..given import GivenViews
from .view_graphs import view_graph

Floats = NDArray[np.float64]
Labels = NDArray[np.intp]

_TIE = 1e-9  # part of a sum's terms below which its sign is rounding
_PERFECT = 1e-12  # what stands for a distance of 0, whose inverse is a weight


@dataclass(frozen=True, eq=False)
class RotatedEmbeddings:
    """Embeddings rotated onto one partition.

    Attributes
    ----------
    labels : ndarray of shape (n,)
        The partition, from 0 to c - 1. Numbers may be missing: clusters without samples.
    scores : ndarray of shape (n, c)
        The weighted sum of the rotated embeddings that the labels are the largest entries of.
    rotations : ndarray of shape (v, c, c)
        Orthogonal.
    residuals : ndarray of shape (v,)
        Frobenius distance of each rotated embedding from the partition's indicator matrix.
    history : ndarray of shape (n_iter,)
        Sum of the residuals after each round.
    converged : bool
        Whether the stopping rule was met.
    """

    labels: Labels
    scores: Floats
    rotations: Floats
    residuals: Floats
    history: Floats
    converged: bool

    @property
    def objective(self) -> float:
        """The sum of the residuals."""
        return float(self.history[-1])

    @property
    def n_iter(self) -> int:
        """Number of rounds."""
        return len(self.history)


def embed_views(
    graphs: Sequence[sparse.csr_array], n_clusters: int, *, random_state: Any = None, engine: Any = "numba"
) -> Floats:
    """Return the spectral embedding of each graph, of shape (v, n, c), rows not scaled.

    The sum of the cubes of each column is positive. Where it is 0, as for a column that is symmetric in sign,
    the first of its largest entries is.
    """
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    found = [
        spectral_embedding(
            graph, n_clusters, warn_disconnected=False, random_state=seed, engine=engine
        ).vectors
        for graph in graphs
    ]
    embeddings = np.stack(found)
    cubes = embeddings**3
    negative = cubes.sum(axis=1) < -_TIE * np.abs(cubes).sum(axis=1)
    return np.where(negative[:, None, :], -embeddings, embeddings)


def rotate_to_indicator(
    embeddings: Floats, rotations: Floats | None = None, *, max_iter: int = 300, tol: float = 1e-6
) -> RotatedEmbeddings:
    r"""Minimise :math:`\sum_i \|Y - F_i R_i\|_F` over indicator matrices Y and orthogonal :math:`R_i`.

    From one start, to a local minimum; from the end of the first round on, the objective never rises.

    Parameters
    ----------
    embeddings : ndarray of shape (v, n, c)
        The matrices :math:`F_i`.
    rotations : ndarray of shape (v, c, c), default=None
        The :math:`R_i` to begin with; None: identities.
    max_iter : int, default=300
        Largest number of rounds.
    tol : float, default=1e-6
        Stop when, twice in a row, the norm of the residuals is that of some earlier round, to `tol` times
        what it has fallen by since the first.

    Examples
    --------
    >>> import numpy as np
    >>> two_pairs = np.sqrt(0.5) * np.array([[[0.6, 0.8], [0.6, 0.8], [0.8, -0.6], [0.8, -0.6]]])
    >>> result = rotate_to_indicator(two_pairs)
    >>> result.labels, round(result.objective, 6)
    (array([1, 1, 0, 0]), 0.585786)
    """
    fitted = np.stack([np.eye(embeddings.shape[2])] * len(embeddings)) if rotations is None else rotations
    rotated = embeddings @ fitted
    residuals = np.ones(len(embeddings))
    history: list[float] = []
    norms: list[float] = []
    n_met = 0
    while n_met < 2 and len(history) < max_iter:
        scores = (rotated / np.maximum(residuals, _PERFECT)[:, None, None]).sum(axis=0)
        labels = np.argmax(scores, axis=1)
        fitted = fit_rotations(embeddings, labels)
        rotated = embeddings @ fitted
        indicator = np.zeros_like(scores)
        indicator[np.arange(len(labels)), labels] = 1.0
        residuals = np.linalg.norm(indicator - rotated, axis=(1, 2))
        history.append(float(residuals.sum()))
        norms.append(float(np.linalg.norm(residuals)))
        # At most, not below: a run that does not fall at all has converged too.
        nearest = np.abs(norms[-1] - np.array(norms[:-1])).min(initial=np.inf)
        n_met = n_met + 1 if nearest <= tol * abs(norms[0] - norms[-1]) else 0
    return RotatedEmbeddings(labels, scores, fitted, residuals, np.array(history), n_met == 2)


def fit_rotations(embeddings: Floats, labels: Labels) -> Floats:
    """Return the orthogonal matrices that bring each embedding nearest to a partition's indicator matrix.

    With a cluster that has no samples they are not unique, and the ones of the SVD routine are taken.
    """
    n, c = embeddings.shape[1:]
    indicator = sparse.csr_array((np.ones(n), (labels, np.arange(n))), shape=(c, n))
    return np.stack([nearest_orthogonal((indicator @ embedding).T) for embedding in embeddings])


def nearest_orthogonal(matrix: Floats) -> Floats:
    """Return the orthogonal factor of a square matrix's polar decomposition."""
    left, _, right = linalg.svd(matrix.T)
    return np.asarray(right.T @ left.T)


def rotations_at_anchors(embeddings: Floats, first: int) -> Floats:
    """Return rotations that bring the embeddings near the unit vectors at c samples unlike each other.

    The samples are the same for all views, which so agree from the start on what column stands for what.
    Each is the one least like those before, the first is given (Yu & Shi 2003, there for one view).

    Parameters
    ----------
    embeddings : ndarray of shape (v, n, c)
        The embeddings.
    first : int
        The first sample.

    Returns
    -------
    ndarray of shape (v, c, c)
        Orthogonal.
    """
    units = np.stack([unit_rows(embedding) for embedding in embeddings])
    anchors = [first]
    likeness = np.zeros(units.shape[1])
    while len(anchors) < units.shape[2]:
        likeness += np.abs(np.einsum("vnc,vc->n", units, units[:, anchors[-1]]))
        likeness[anchors[-1]] = np.inf
        anchors.append(int(np.argmin(likeness)))
    return np.stack([nearest_orthogonal(rows[anchors].T) for rows in units])


def rotate_from_many_starts(
    embeddings: Floats, *, n_restarts: int = 10, random_state: Any = None
) -> RotatedEmbeddings:
    """Return the best of runs of `rotate_to_indicator`: from identities, then from random anchors.

    Parameters
    ----------
    embeddings : ndarray of shape (v, n, c)
        The embeddings.
    n_restarts : int, default=10
        Runs after the first.
    random_state : int, RandomState or None
        Draws the first anchors.

    Returns
    -------
    RotatedEmbeddings
        The run of least objective; of equal ones (to twelve digits) the earliest. Its clusters, and with them
        the columns, are numbered by first appearance, those without samples last. Samples with rows of zeros
        in all views, which fit every cluster alike, are put into the largest.
    """
    rng = check_random_state(random_state)
    with threads.libraries_on_one_thread():
        best = rotate_to_indicator(embeddings)
        for first in rng.randint(embeddings.shape[1], size=n_restarts):
            run = rotate_to_indicator(embeddings, rotations_at_anchors(embeddings, first))
            if run.objective < (1 - 1e-12) * best.objective:
                best = run
    return _in_order(best, placed=np.asarray(embeddings.any(axis=(0, 2))))


def _in_order(run: RotatedEmbeddings, placed: NDArray[np.bool_]) -> RotatedEmbeddings:
    """Return the run with its clusters numbered by first appearance, and samples without a place in one."""
    n, c = run.scores.shape
    labels = np.where(placed, run.labels, np.bincount(run.labels[placed], minlength=c).argmax())
    first = np.full(c, n)
    np.minimum.at(first, labels, np.arange(n))
    order = np.argsort(first, kind="stable")
    number = np.argsort(order)
    return RotatedEmbeddings(
        labels=number[labels],
        scores=run.scores[:, order],
        rotations=run.rotations[:, :, order],
        residuals=run.residuals,
        history=run.history,
        converged=run.converged,
    )


@estimator
class AWP(MultiviewClusterer):
    r"""Multi-view clustering via adaptively weighted Procrustes: no k-means, no parameter to tune.

    The spectral embeddings :math:`F_i` of the views (orthonormal eigenvectors of their own neighbour graphs)
    are rotated so that they all come near the indicator matrix Y of one partition:

    .. math::

        \min_{Y, R_i} \; \sum_i \| Y - F_i R_i \|_F
        \quad\text{s.t.}\quad R_i'R_i = I, \; Y \text{ an indicator matrix}

    The norms are not squared, so that a view counts by the inverse of its distance from Y. Y and the
    :math:`R_i` are found in turns, each step in closed form.

    Good where it must be quick: besides the neighbour searches, O(v n^2 d), and one sparse eigenproblem per
    view there are some ten rounds per start, linear in n. Memory is some 4 v times n x c numbers and the
    views' graphs. The result is a local minimum that depends much on the start, and a lower objective need
    not be a better partition. Indicator matrices of clusters of unlike sizes are far from any orthonormal
    columns, so even sizes are preferred.

    Parameters
    ----------
    n_restarts : int, default=10
        Further starts, of which the run of least objective is kept. 0: only the first, as in the authors'
        program but with signs fixed.
    n_clusters, n_neighbors, metric, scale, neighbor_search, engine, n_jobs, random_state, verbose
        As in `SimilarityGraphFusion`; but ``scale`` is "none" by default.
    view_selection : {"all", "agreement"}, default="all"
        "agreement" leaves out the views that SGF and DGF leave out by default, with a warning: those whose
        neighbours are, beyond chance, those of no other view, and copies.

    Attributes
    ----------
    labels_, n_neighbors_, metrics_, view_names_, timings_, n_features_in_
        As in `SimilarityGraphFusion`.
    embedding_ : ndarray of shape (n, c)
        :math:`\sum_i F_i R_i / \|Y - F_i R_i\|_F`, of the round that gave the labels: the largest entry of a
        row is in the column of its label.
    view_weights_ : ndarray of shape (v,)
        The inverse distances of the views from Y, scaled to sum 1; 0 for a view left out.
    objective_ : float
        The objective reached, the last of `history_`.
    history_ : ndarray of shape (n_iter_,)
        The objective after each round of the run that was kept.
    n_iter_ : int
        Number of its rounds.
    converged_ : bool
        Whether it met the stopping rule within 300 rounds.

    Notes
    -----
    Differences from the authors' program:

    - The program starts from :math:`R_i = I`, so the signs that its eigen-solver happens to give decide what
      it finds. Here the first start is the same with the sum of the cubes of every eigenvector positive. The
      further ones take rotations that bring c samples unlike each other near the unit vectors, the first of
      them drawn at random and all of them shared by the views. Such starts were chosen over random signs,
      orders and rotations because on most data sets tried they end at a lower objective on average, in fewer
      rounds, and less often with a cluster that has no samples.
    - Runs with clusters without samples are not ranked below others: the objective alone decides. If the best
      has such clusters, there is a warning.
    - A run whose objective does not fall after its first round has converged; the program's stopping rule
      is 0 / 0 there, and it goes on to its cap.

    If the graph of a view has more than c components, the c largest are represented, and the view says
    nothing of the other samples. Samples of which no view says anything go to the largest cluster.

    References
    ----------
    F. Nie, L. Tian, X. Li. Multiview clustering via adaptively weighted Procrustes. KDD 2018.

    S. X. Yu, J. Shi. Multiclass spectral clustering. ICCV 2003 (the further starts).

    Examples
    --------
    >>> from consilience import make_multiview
    >>> from consilience.models import AWP
    >>> sample = make_multiview(200, n_views=2, noise_views=1, n_clusters=3, random_state=0)
    >>> model = AWP(n_clusters=3, random_state=0).fit(sample.views)
    >>> model.view_weights_.round(2)
    array([0.34, 0.34, 0.32])
    """

    n_restarts: int = 10

    def check_parameters(self, views: Views) -> None:
        """Check the number of restarts."""
        n_restarts: Any = self.n_restarts
        if not isinstance(n_restarts, Integral) or isinstance(n_restarts, bool) or n_restarts < 0:
            raise ValueError(f"n_restarts must be an integer of at least 0, got {n_restarts!r}.")

    def fit_stages(self, given: GivenViews, settings: Settings, run: Run) -> None:
        """Run the stages: a graph per view, their embeddings, the rotations that give the labels."""
        k, c = settings.n_neighbors, settings.n_clusters
        views = self.prepare_views(given, settings, run)
        names = [repr(name) for name in views.names]
        graphs = run.each("search", view_graph, names, views, k, self.neighbor_search)
        embeddings = run.stage("learn", embed_views, graphs, c, random_state=run.random_state)
        best = run.stage("label", self._rotate, embeddings, c, run.random_state)
        weights = 1 / np.maximum(best.residuals, _PERFECT)
        self.labels_ = best.labels
        self.embedding_ = best.scores
        self.view_weights_ = views.expand(weights / weights.sum())
        self.objective_ = best.objective
        self.history_ = best.history
        self.n_iter_ = best.n_iter
        self.converged_ = best.converged

    def _rotate(
        self, embeddings: Floats, c: int, random_state: np.random.RandomState, *, engine: Engine
    ) -> RotatedEmbeddings:
        best = rotate_from_many_starts(embeddings, n_restarts=self.n_restarts, random_state=random_state)
        n_filled = len(np.unique(best.labels))
        if n_filled < c:
            warn(
                f"Only {n_filled} of {c} clusters have samples in the best run. "
                "Raise n_restarts or lower n_clusters.",
            )
        if not best.converged:
            warn(
                f"AWP did not converge in {best.n_iter} rounds, at an objective of {best.objective:.6g}. "
                "Raise n_restarts.",
                ConvergenceWarning,
            )
        return best
