"""Weighted multi-view spectral clustering: weights that keep a view's eigenvectors those of the sum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from sklearn.utils import check_random_state

from ...engines import threads
from ...engines.embedding import unit_rows
from ...fusion.simplex import minimize_on_simplex
from ...run.execution import Run
from ...run.messages import check_number
from ...spectra import NormalizedLaplacian, largest_of_matrix
from ...stages.embed import SpectralEmbedding, spectral_embedding
from ...views import Views
from ..base import MultiviewClusterer, Settings
from ..estimator import estimator
from ..given import GivenViews
from .labelling import label_rows, without_rounding
from .view_graphs import view_graph

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PerturbationProblem:
    r"""The quadratic program of the weights: :math:`\tfrac12 x'(H + \beta I + \eta Q)x - y'x` on the simplex.

    Attributes
    ----------
    gram : ndarray of shape (v, v)
        H: inner products of what the views' matrices make of the views' eigenvectors; positive semidefinite.
    linear : ndarray of shape (v,)
        y: the same with what a view makes of its own eigenvectors.
    nearness : ndarray of shape (v, v)
        R: pi less the largest angle between the subspaces of two views; from pi/2 to pi.
    beta, eta : float
        The two parameters, resolved.
    """

    gram: Floats
    linear: Floats
    nearness: Floats
    beta: float
    eta: float

    @property
    def disagreement(self) -> Floats:
        """Q: the Laplacian of `nearness`, which punishes different weights of near views."""
        return _laplacian(self.nearness)

    @property
    def hessian(self) -> Floats:
        """The matrix of the program, positive definite unless beta and eta are both 0."""
        return self.gram + self.beta * np.eye(len(self.gram)) + self.eta * self.disagreement


@dataclass(frozen=True, eq=False)
class WeightedViews:
    """The weighted sum of the views' normalised graphs.

    Attributes
    ----------
    problem : PerturbationProblem
        What the weights solve.
    weights : ndarray of shape (v,)
        On the simplex.
    graph : csr_array of shape (n, n)
        The weighted sum.
    eigenvalues, vectors : ndarray of shape (c,) and (n, c)
        Its largest eigenvalues, descending, and their eigenvectors; rows of zeros for samples in connected
        components that none of these represents.
    """

    problem: PerturbationProblem
    weights: Floats
    graph: sparse.csr_array
    eigenvalues: Floats
    vectors: Floats


def weigh_by_perturbation(
    graphs: Sequence[sparse.csr_array],
    n_clusters: int,
    *,
    ridge: float = 0.1,
    smoothness: float = 0.1,
    random_state: Any = None,
    engine: Any = "numba",
) -> WeightedViews:
    r"""Weigh graphs so that each view's top eigenvectors are nearly those of the weighted sum.

    Parameters
    ----------
    graphs : sequence of csr_array of shape (n, n)
        Symmetric, not negative.
    n_clusters : int
        Number of eigenvectors, of each view and of the sum.
    ridge, smoothness : float, default=0.1
        As in `WMSC`.
    random_state : int, RandomState or None
        Draws the start vectors of the eigen-solver.
    engine : str or Engine, default="numba"
        The engine that solves.

    Warns
    -----
    UserWarning
        If no eigenvector represents some of the samples.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> path = sparse.csr_array(np.diag([1.0, 1.0], 1) + np.diag([1.0, 1.0], -1))
    >>> weigh_by_perturbation([path, path], 2).weights
    array([0.5, 0.5])
    """
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    matrices = [NormalizedLaplacian(graph).adjacency for graph in graphs]
    embeddings = [
        spectral_embedding(graph, n_clusters, warn_disconnected=False, random_state=seed, engine=engine)
        for graph in graphs
    ]
    with threads.libraries_on_one_thread():
        problem = pose_perturbation(matrices, embeddings, ridge=ridge, smoothness=smoothness)
        uniform = np.full(len(graphs), 1 / len(graphs))
        weights = minimize_on_simplex(problem.hessian, problem.linear, uniform)
        graph = matrices[0] * weights[0]
        for matrix, weight in zip(matrices[1:], weights[1:], strict=True):
            graph = graph + matrix * weight
        graph = sparse.csr_array(graph)
        graph.eliminate_zeros()
        found = largest_of_matrix(graph, n_clusters, rng=np.random.default_rng(seed))
    return WeightedViews(problem, weights, graph, found.values, without_rounding(found.vectors, graph))


def pose_perturbation(
    matrices: Sequence[sparse.csr_array],
    embeddings: Sequence[SpectralEmbedding],
    *,
    ridge: float,
    smoothness: float,
) -> PerturbationProblem:
    """Return the program of the weights, from the views' normalised graphs and their embeddings."""
    v = len(matrices)
    gram, linear, nearness = np.zeros((v, v)), np.zeros(v), np.full((v, v), np.pi)
    for a, embedding in enumerate(embeddings):
        images = np.stack([(matrix @ embedding.vectors).ravel() for matrix in matrices])
        # A column of zeros has the eigenvalue NaN.
        own = embedding.vectors * np.nan_to_num(1 - embedding.eigenvalues)
        gram += images @ images.T
        linear += images @ own.ravel()
        for i in range(a):
            cosines = linalg.svdvals(embeddings[i].vectors.T @ embedding.vectors)
            nearness[i, a] = nearness[a, i] = np.pi - np.arccos(np.clip(cosines.min(), 0.0, 1.0))
    disagreement = _laplacian(nearness)
    size = linalg.norm(disagreement)
    return PerturbationProblem(
        gram=gram,
        linear=linear,
        nearness=nearness,
        beta=ridge * float(linalg.norm(gram + disagreement)) / np.sqrt(v),
        # Of one view there is nothing to disagree with.
        eta=smoothness * float(linalg.norm(gram + np.eye(v)) / size) if v > 1 else 0.0,
    )


def _laplacian(weights: Floats) -> Floats:
    return np.asarray(np.diag(weights.sum(axis=1)) - weights)


@estimator
class WMSC(MultiviewClusterer):
    r"""Weighted multi-view spectral clustering based on spectral perturbation.

    With :math:`M_a` the normalised graph of view a and :math:`V_a, \Sigma_a` its c largest eigenpairs, the
    weights x, on the probability simplex, are those with which the weighted sum of the graphs does to each
    view's eigenvectors most nearly what the view itself does, views of near subspaces weighing alike:

    .. math::

        \min_x \; \tfrac12 \sum_a \Bigl\| \sum_i x_i M_i V_a - V_a \Sigma_a \Bigr\|_F^2
        + \tfrac{\beta}{2} \|x\|^2 + \tfrac{\eta}{2} x'Qx

    with Q the Laplacian of :math:`R_{ij} = \pi - \theta_{ij}`, :math:`\theta_{ij}` the largest principal
    angle between the subspaces of views i and j. The c largest eigenvectors of :math:`\sum_i x_i M_i`, rows
    scaled to unit length, go to k-means.

    Good where some views are noise, which get less weight; a convex problem of v numbers, so there is
    nothing to iterate and nothing depends on a start. Besides the neighbour searches, O(v n^2 d), it costs
    v + 1 sparse eigenproblems and v^2 products of a sparse graph with n x c numbers: time about linear in the
    number of edges, memory v + 1 times n x c numbers and a few copies of the graphs.

    Parameters
    ----------
    ridge : float, default=0.1
        How much even weights are preferred, at least 0 (:math:`\hat b` of the authors);
        :math:`\beta = \hat b \|H + Q\|_F / \sqrt v` with H the matrix of the first term.
    smoothness : float, default=0.1
        How much near views are made to weigh alike, at least 0 (:math:`\hat n`);
        :math:`\eta = \hat n \|H + I\|_F / \|Q\|_F`. With both 0 the weights need not be unique, and those
        found from uniform ones are taken.
    n_clusters, n_neighbors, metric, scale, assign_labels, neighbor_search, engine, n_jobs, random_state
        As in `SimilarityGraphFusion`, and so is `verbose`; but ``scale`` is "none" by default. A number of
        clusters must be given, and `assign_labels` be k-means.
    view_selection : {"all", "agreement"}, default="all"
        "agreement" leaves out the views that SGF and DGF leave out by default, with a warning: those whose
        neighbours are, beyond chance, those of no other view, and copies.

    Attributes
    ----------
    labels_, embedding_, n_neighbors_, metrics_, view_names_, timings_, n_features_in_
        As in `SimilarityGraphFusion`.
    graph_ : csr_array of shape (n, n)
        The weighted sum of the views' normalised graphs.
    eigenvalues_ : ndarray of shape (c,)
        Its largest eigenvalues, descending.
    view_weights_ : ndarray of shape (v,)
        The weights x, of sum 1; 0 for a view left out.

    Notes
    -----
    Differences from the authors' program, which gives the same weights: the angle of a view with itself is 0
    by definition (the program's carries rounding, which cancels in Q); with one view, where Q is 0,
    :math:`\eta` is 0. If the graph of a view has more than c components, its c largest stand for its
    subspace, which is not unique otherwise. Samples in components of the sum that none of its c eigenvectors
    represents have rows of zeros and go to the nearest cluster.

    References
    ----------
    L. Zong, X. Zhang, X. Liu, H. Yu. Weighted multi-view spectral clustering based on spectral perturbation.
    AAAI 2018.

    Examples
    --------
    >>> from consilience import make_multiview
    >>> from consilience.models import WMSC
    >>> sample = make_multiview(200, n_views=2, noise_views=1, n_clusters=3, random_state=0)
    >>> model = WMSC(n_clusters=3, random_state=0).fit(sample.views)
    >>> model.view_weights_.round(2)
    array([0.36, 0.37, 0.27])
    """

    ridge: float = 0.1
    smoothness: float = 0.1
    assign_labels: Any = "kmeans"

    def check_parameters(self, views: Views) -> None:
        """Check `ridge` and `smoothness`."""
        check_number("ridge", self.ridge)
        check_number("smoothness", self.smoothness)

    def fit_stages(self, given: GivenViews, settings: Settings, run: Run) -> None:
        """Run the stages: a graph per view, their weights and the weighted sum, labels."""
        views = self.prepare_views(given, settings, run)
        names = [repr(name) for name in views.names]
        graphs = run.each("search", view_graph, names, views, settings.n_neighbors, self.neighbor_search)
        found = run.stage(
            "learn",
            weigh_by_perturbation,
            graphs,
            settings.n_clusters,
            ridge=self.ridge,
            smoothness=self.smoothness,
            random_state=run.random_state,
        )
        self.embedding_ = unit_rows(found.vectors)
        self.labels_ = run.stage(
            "label", label_rows, self.embedding_, settings.n_clusters, settings.assigner, run.random_state
        )
        self.graph_ = found.graph
        self.view_weights_ = views.expand(found.weights)
        self.eigenvalues_ = found.eigenvalues
