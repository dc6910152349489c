"""Co-regularised multi-view spectral clustering, with a centroid (Kumar, Rai and Daumé, 2011)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from ...engines import threads
from ...engines.embedding import unit_rows
from ...run.execution import Run
from ...run.messages import check_count, check_number
from ...spectra import NormalizedLaplacian, largest_of_matrix
from ...stages.embed import spectral_embedding
from ...views import Views
from ..base import MultiviewClusterer, Settings
from ..estimator import estimator
from ..given import GivenViews
from .labelling import label_rows, without_rounding
from .view_graphs import view_graph

FloatArray = NDArray[np.float64]
_FEWEST_ROUNDS = 3


@dataclass(frozen=True, eq=False)
class CoregularizedEmbeddings:
    """The views' embeddings and their centroid.

    Attributes
    ----------
    centroid : ndarray of shape (n, c)
        Orthonormal columns: what the views' embeddings of the round before the last have in common.
    centroid_eigenvalues : ndarray of shape (rounds, c)
        Largest eigenvalues of the weighted sum of the views' projections; `coregularization` times the
        number of views where all agree.
    view_embeddings : ndarray of shape (v, n, c)
        Orthonormal columns, drawn towards the centroid.
    view_objectives : ndarray of shape (rounds, v)
        What each view adds to the objective.
    converged : bool
        Whether the stopping rule was met.
    """

    centroid: FloatArray
    centroid_eigenvalues: FloatArray
    view_embeddings: FloatArray
    view_objectives: FloatArray
    converged: bool


def coregularize(
    graphs: Sequence[Any],
    n_clusters: int,
    *,
    coregularization: float = 0.01,
    max_iter: int = 30,
    tol: float = 1e-6,
    random_state: Any = None,
    engine: Any = "numba",
) -> CoregularizedEmbeddings:
    """Embed several graphs spectrally, each drawn towards what all have in common.

    Parameters
    ----------
    graphs : sequence of sparse arrays of shape (n, n)
        Symmetric, not negative.
    n_clusters : int
        Number of eigenvectors.
    coregularization : float, default=0.01
        How strongly the embeddings are drawn together (lambda of the authors).
    max_iter : int, default=30
        Cap on the number of rounds.
    tol : float, default=1e-6
        The rounds end, from the third on, when the objective rises by less.
    random_state : int, RandomState or None
        Draws the eigen-solver's start vectors. It matters only where eigenvectors are not unique.
    engine : str or Engine, default="numba"
        The engine that solves.

    Returns
    -------
    CoregularizedEmbeddings

    Examples
    --------
    >>> import numpy as np
    >>> pairs = np.kron(np.eye(2), [[0, 1], [1, 0]]) + 0.01
    >>> coregularize([pairs, pairs], 2).converged
    True
    """
    seeds = check_random_state(random_state)
    rng = np.random.default_rng(seeds.randint(np.iinfo(np.int32).max))
    with threads.libraries_on_one_thread():
        embeddings = [
            spectral_embedding(
                graph, n_clusters, warn_disconnected=False, random_state=seeds, engine=engine
            ).vectors
            for graph in graphs
        ]
        affinities = [NormalizedLaplacian(graph).adjacency for graph in graphs]
        objectives: list[list[float]] = []
        spectra: list[FloatArray] = []
        converged = False
        while len(objectives) < max_iter and not converged:
            centroid, agreement = _centroid(embeddings, n_clusters)
            pull = np.sqrt(coregularization) * centroid
            found = [largest_of_matrix(matrix, n_clusters, factor=pull, rng=rng) for matrix in affinities]
            embeddings = [pairs.vectors for pairs in found]
            objectives.append([float(pairs.values.sum()) for pairs in found])
            spectra.append(coregularization * agreement)
            converged = len(objectives) >= _FEWEST_ROUNDS and (
                abs(sum(objectives[-1]) - sum(objectives[-2])) < tol
            )
    return CoregularizedEmbeddings(
        centroid, np.array(spectra), np.stack(embeddings), np.array(objectives), converged
    )


def _centroid(embeddings: Sequence[FloatArray], n_clusters: int) -> tuple[FloatArray, FloatArray]:
    """Return the leading eigenvectors and eigenvalues of the sum of U U', through the small U'U."""
    side_by_side = np.hstack(embeddings)
    values, rotation = np.linalg.eigh(side_by_side.T @ side_by_side)
    values, rotation = values[::-1][:n_clusters], rotation[:, ::-1][:, :n_clusters]
    # They are at least 1, unless fewer samples than clusters have an edge.
    lengths = np.sqrt(np.where(values > 0.5, values, np.inf))
    return np.asarray(side_by_side @ rotation / lengths), values


@estimator
class CoReg(MultiviewClusterer):
    r"""Co-regularised multi-view spectral clustering, centroid form.

    Every view keeps a spectral embedding of its own, and all are drawn towards a common one, by maximising

    .. math::

        \sum_i \operatorname{tr}(U_i' M_i U_i) + \lambda \sum_i \operatorname{tr}(U_i U_i' U_* U_*')
        \quad\text{s.t.}\quad U_i'U_i = U_*'U_* = I, \qquad M_i = D_i^{-1/2} K_i D_i^{-1/2},

    over the :math:`U_i` and the centroid :math:`U_*` in turn; k-means on the unit rows of the centroid gives
    the labels. A dependable system where all views are of some use. All have the same weight, so it does
    not distinguish a view that misleads from the others.

    Time is that of the neighbour searches plus, per round and view, one sparse eigen-solve, O(n k c) per
    product with the graph; memory O(v n (k + c)): no n x n matrix is formed.

    Where we differ from the authors' program: both eigenproblems of a round are solved without forming the
    sums of a graph and a projection, that of the centroid through a matrix of size v c; and all copies of a
    multiple eigenvalue are found. As there, the centroid is the one before the last update of the embeddings.

    Parameters
    ----------
    n_clusters, n_neighbors, metric, scale, assign_labels, neighbor_search, engine, n_jobs, random_state
        As in `SimilarityGraphFusion`, and so is `verbose`; but ``scale`` is "none" by default. A number of
        clusters must be given, and `assign_labels` be k-means.
    coregularization : float, default=0.01
        How strongly the views' embeddings are drawn together (lambda); 0 leaves each as it is.
    max_iter : int, default=30
        Cap on the number of rounds. Reaching it is common and harmless: the last rounds change little.
    tol : float, default=1e-6
        The rounds end, from the third on, when the objective rises by less.
    view_selection : {"all", "agreement"}, default="all"
        "agreement" leaves out the views that SGF and DGF leave out by default, with a warning: those whose
        neighbours are, beyond chance, those of no other view, and copies.

    Attributes
    ----------
    labels_, n_neighbors_, metrics_, view_names_, timings_, n_features_in_
        As in `SimilarityGraphFusion`.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        The centroid, rows of unit length.
    view_embeddings_ : ndarray of shape (number of views kept, n_samples, n_clusters)
        The views' own embeddings.
    history_ : ndarray of shape (n_iter_,)
        The objective after each round; it never falls, except by rounding.
    n_iter_ : int
        Number of rounds.
    converged_ : bool
        Whether the stopping rule was met.

    References
    ----------
    A. Kumar, P. Rai, H. Daumé III, "Co-regularized Multi-view Spectral Clustering", Advances in Neural
    Information Processing Systems 24, 2011.

    Examples
    --------
    >>> from consilience import make_multiview
    >>> from consilience.models import CoReg
    >>> from consilience.metrics import ari
    >>> sample = make_multiview(200, n_clusters=3, separation=3.0, random_state=0)
    >>> float(ari(sample.y, CoReg(n_clusters=3, random_state=0).fit(sample.views).labels_)) > 0.9
    True
    """

    coregularization: float = 0.01
    max_iter: int = 30
    tol: float = 1e-6
    assign_labels: Any = "kmeans"

    def check_parameters(self, views: Views) -> None:
        """Check the strength of co-regularisation and the stopping rule."""
        check_number("coregularization", self.coregularization)
        check_number("tol", self.tol)
        check_count("max_iter", self.max_iter)

    def fit_stages(self, given: GivenViews, settings: Settings, run: Run) -> None:
        """Run the stages: a graph per view, their embeddings and the centroid, labels."""
        views = self.prepare_views(given, settings, run)
        names = [repr(name) for name in views.names]
        graphs = run.each("search", view_graph, names, views, settings.n_neighbors, self.neighbor_search)
        found = run.stage(
            "learn",
            coregularize,
            graphs,
            settings.n_clusters,
            coregularization=self.coregularization,
            max_iter=self.max_iter,
            tol=self.tol,
            random_state=run.random_state,
        )
        together = sparse.csr_array(sum(graphs[1:], start=graphs[0]))
        self.embedding_ = unit_rows(without_rounding(found.centroid, together))
        self.labels_ = run.stage(
            "label", label_rows, self.embedding_, settings.n_clusters, settings.assigner, run.random_state
        )
        self.view_embeddings_ = found.view_embeddings
        self.history_ = found.view_objectives.sum(axis=1)
        self.n_iter_ = len(self.history_)
        self.converged_ = found.converged
