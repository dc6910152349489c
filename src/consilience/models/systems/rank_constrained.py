"""Graphs that fall into as many connected components as there are clusters.

A graph has c components exactly if its Laplacian L = D - S has c eigenvalues 0, a constraint on its rank. It
is met by drawing samples together that are near each other in the c smallest eigenvectors of L: the squared
distances of these embeddings are taken off the weights, times a pull that is doubled while there are fewer
than c components and halved when there are more. MVGL and MCGC make such a graph of every view, and another
of all views together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from ...engines import Engine, get_engine, threads
from ...engines.protocol import Search
from ...graphs import EdgeSet, symmetrize
from ...spectra.eigenvectors import Eigenpairs, smallest_of_plain_laplacian
from ...stages.prepare import PreparedViews
from .view_graphs import apart_on

FloatArray = NDArray[np.float64]

_ROUGH = (
    1e-6  # residual, relative to the largest degree, at which an eigenvalue far from 0 is known well enough
)
_TIED = 1e-12  # the part of a distance by which others must be shorter to count as nearer


@dataclass(frozen=True, eq=False)
class ComponentSearch:
    """The end of a search for a graph of as many components as clusters.

    Attributes
    ----------
    directed : csr_array of shape (n, n)
        The last graph, each row on the probability simplex, zeros stored.
    graph : csr_array of shape (n, n)
        Its symmetric part, whose components count.
    vectors : ndarray of shape (n, c)
        The embedding that a further search would begin with.
    pull : float
        The pull that it would begin with.
    history : ndarray of shape (n_rounds, 3)
        Per round the pull, and the sum of the c and of the c + 1 smallest eigenvalues that it led to.
    converged : bool
        Whether there are exactly as many components as clusters.
    """

    directed: sparse.csr_array
    graph: sparse.csr_array
    vectors: FloatArray
    pull: float
    history: FloatArray
    converged: bool


def search_components(
    draw_together: Callable[[FloatArray, float], sparse.csr_array],
    vectors: FloatArray,
    *,
    pull: float = 1.0,
    max_iter: int,
    tol: float,
    edges: EdgeSet | None = None,
) -> ComponentSearch:
    """Look for the pull at which a graph falls into as many components as the embedding has columns.

    Parameters
    ----------
    draw_together : callable
        Takes an embedding and a pull, returns the graph that they make: a row per sample, not symmetric.
    vectors : ndarray of shape (n, c)
        The embedding to begin with.
    pull : float, default=1.0
        The pull to begin with.
    max_iter : int
        Cap on the number of rounds, at least 1.
    tol : float
        Sums of eigenvalues below it count as 0.
    edges : EdgeSet, default=None
        All edges that the graph can have, none of them from a sample to itself; None: any pair, and samples
        to themselves. It saves rounds that cannot lead anywhere.

    Returns
    -------
    ComponentSearch
        Each round embeds the graph again, unless it has too many components: then the pull is halved and the
        embedding stays.
    """
    n, c = vectors.shape
    rounds: list[tuple[float, float, float]] = []
    converged = False
    if edges is not None and 2 * c > n:
        max_iter = 1  # components of at least two samples are never that many, however hard one pulls
    elif edges is not None and connected_components(edges.to_csr(np.ones(edges.n_edges)))[0] > c:
        # There will be too many in every round: straight to the pull of the last.
        pull, max_iter = pull * 0.5 ** (max_iter - 1), 1
    while len(rounds) < max_iter and not converged:
        directed = draw_together(vectors, pull)
        graph = symmetrize(directed)
        pairs = _smallest_pairs(graph, c)
        of_c = float(pairs.values[:c].sum())
        of_more = float(pairs.values.sum()) if c < n else np.inf
        rounds.append((pull, of_c, of_more))
        if of_c > tol:
            pull, vectors = 2 * pull, pairs.vectors[:, :c]
        elif of_more < tol:
            pull /= 2
        else:
            converged, vectors = True, pairs.vectors[:, :c]
    return ComponentSearch(directed, graph, vectors, pull, np.array(rounds), converged)


def _smallest_pairs(graph: sparse.csr_array, c: int) -> Eigenpairs:
    """Return the c + 1 smallest eigenpairs of a graph's Laplacian, or all n if c is n."""
    n = graph.shape[0]
    if connected_components(graph, directed=False)[0] >= c:
        # The embedding is known, and of the next eigenvalue only that it is not 0 matters. It often has many
        # near it, and then takes several times as long to find to the last digit.
        rough = smallest_of_plain_laplacian(graph, min(c + 1, n), tol=_ROUGH)
        if rough.values[-1] > _ROUGH * n:
            return rough
    return smallest_of_plain_laplacian(graph, min(c + 1, n))


@dataclass(frozen=True, eq=False)
class RankConstrainedGraph:
    """A view's graph of as many components as clusters.

    Attributes
    ----------
    graph : csr_array of shape (n, n)
        Symmetric, without a diagonal.
    start : csr_array of shape (n, n)
        What the search began with: neighbours weighted by how much nearer they are than the next.
    history : ndarray of shape (n_rounds, 3)
        As in `ComponentSearch`; the pull is 1 / mu of the authors.
    converged : bool
        Whether there are exactly as many components as clusters.
    """

    graph: sparse.csr_array
    start: sparse.csr_array
    history: FloatArray
    converged: bool


def rank_constrained_graph(
    view: int,
    views: PreparedViews,
    n_clusters: int,
    k: int,
    max_iter: int = 60,
    search: Search = "exact",
    *,
    engine: Engine,
) -> RankConstrainedGraph:
    """Return a view's graph on the k nearest of each sample, of as many components as clusters.

    Parameters
    ----------
    view : int
        Which of the views; it must be of distances.
    views : PreparedViews
        The views.
    n_clusters : int
        Number of components, from 1 to n.
    k : int
        Neighbours per sample, from 1 to n - 1.
    max_iter : int, default=60
        Cap on the number of rounds.
    search : {"exact", "auto", "approximate"}, default="exact"
        How neighbours are found.
    engine : Engine
        The engine that computes.

    Examples
    --------
    >>> from consilience import Views
    >>> from consilience.stages import prepare
    >>> engine = get_engine("numba")
    >>> line = Views([[0.0], [1.0], [2.0], [4.0], [5.0], [6.0]])
    >>> views = prepare(line, ("euclidean",), "none", engine=engine)
    >>> rank_constrained_graph(0, views, 2, 2, engine=engine).graph.toarray().round(2)[:, :3]
    array([[0. , 0.5, 0.5],
           [0.5, 0. , 0.5],
           [0.5, 0.5, 0. ],
           [0. , 0. , 0. ],
           [0. , 0. , 0. ],
           [0. , 0. , 0. ]])
    """
    n, points = views.n_samples, views.points[view]
    found = engine.nearest(points, min(k + 1, n - 1), search)
    neighbors = engine.fetch(found.lists)
    listed = EdgeSet(np.arange(n + 1) * neighbors.shape[1], neighbors.ravel())
    squared = engine.fetch(engine.measure(points, engine.adopt(listed), found.known)).reshape(neighbors.shape)
    return constrain_rank(neighbors, squared, n_clusters, k, max_iter=max_iter, engine=engine)


def constrain_rank(
    neighbors: NDArray[np.integer[Any]],
    squared: NDArray[np.floating[Any]],
    n_clusters: int,
    k: int,
    *,
    max_iter: int = 60,
    tol: float = 1e-11,
    engine: Any = "numba",
) -> RankConstrainedGraph:
    """Return what `rank_constrained_graph` does, from the neighbours.

    Parameters
    ----------
    neighbors : ndarray of shape (n, k + 1), or (n, k) for k = n - 1
        Each sample's nearest others, ascending.
    squared : ndarray of the same shape
        Their squared distances.
    n_clusters, k, max_iter
        As there.
    tol : float, default=1e-11
        Sums of eigenvalues below it count as 0.
    engine : str or Engine, default="numba"
        The engine that computes.
    """
    engine = get_engine(engine)
    order = np.argsort(neighbors[:, :k], axis=1)
    n = len(neighbors)
    edges = EdgeSet(np.arange(n + 1) * k, np.take_along_axis(neighbors, order, axis=1).ravel())
    weights = np.take_along_axis(_weigh_neighbors(squared, k), order, axis=1)
    start = symmetrize(edges.to_csr(weights.ravel()))

    def draw_together(vectors: FloatArray, pull: float) -> sparse.csr_array:
        apart = apart_on(edges, vectors, engine)
        return edges.to_csr(engine.project_rows(-pull / 2 * apart, edges.indptr))

    with threads.libraries_on_one_thread():
        vectors = smallest_of_plain_laplacian(start, n_clusters).vectors
        found = search_components(draw_together, vectors, max_iter=max_iter, tol=tol, edges=edges)
    return RankConstrainedGraph(found.graph, start, found.history, found.converged)


def _weigh_neighbors(squared: NDArray[np.floating[Any]], k: int) -> FloatArray:
    """Weigh each of the k nearest by how much nearer it is than the next sample, rows of sum 1.

    Where all are equally near there is nothing to choose between them, so they are weighed the same. Without
    a next sample, k = n - 1, the last neighbour takes its place.
    """
    beyond = squared[:, -1:]
    nearer = np.divide(squared[:, :k], beyond, out=np.ones((len(squared), k)), where=squared[:, :k] < beyond)
    gains = 1.0 - nearer
    total = gains.sum(axis=1, keepdims=True)
    return np.where(total > _TIED, gains / np.where(total > _TIED, total, 1.0), 1.0 / k)
