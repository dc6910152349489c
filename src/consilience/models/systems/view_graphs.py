"""One neighbour graph per view: where most comparison systems begin."""

from __future__ import annotations

from typing import Any

from scipy import sparse

from ...engines import Engine, get_engine
from ...engines.protocol import Search
from ...graphs import EdgeKernel, EdgeSet
from ...run.messages import check_choice
from ...spaces import Space
from ...stages.prepare import SCALES, PreparedViews, metrics_of_views, prepare
from ...stages.search import resolve_n_neighbors
from ...views import Views


def view_graph(
    view: int, views: PreparedViews, n_neighbors: int, how: Search, *, engine: Engine
) -> sparse.csr_array:
    """Return a view's own graph: Gaussian similarities to the k nearest of each sample, made symmetric.

    Parameters
    ----------
    view : int
        Which of the views.
    views : PreparedViews
        The views.
    n_neighbors : int
        Neighbours per sample.
    how : {"auto", "exact", "approximate"}
        How they are found.
    engine : Engine
        The engine that computes.

    Returns
    -------
    csr_array of shape (n_samples, n_samples)
        Symmetric, without a diagonal.

    Examples
    --------
    >>> from consilience import Views
    >>> from consilience.engines import get_engine
    >>> from consilience.stages import prepare
    >>> engine = get_engine("numba")
    >>> views = prepare(Views([[0.0], [1.0], [3.0]]), ("euclidean",), "none", engine=engine)
    >>> view_graph(0, views, 1, "exact", engine=engine).toarray().round(3)
    array([[0.   , 0.755, 0.   ],
           [0.755, 0.   , 0.162],
           [0.   , 0.162, 0.   ]])
    """
    found = engine.nearest(views.points[view], n_neighbors, how)
    return gaussian_graph(view, views, engine.unite([found.lists], None), engine, found.known)


def knn_graphs(
    views: Any,
    n_neighbors: int,
    *,
    metric: Any = "auto",
    scale: str = "none",
    search: Search = "exact",
    engine: Any = "numba",
) -> list[sparse.csr_array]:
    """Return the graph of each view: Gaussian similarities to the nearest of each sample, made symmetric.

    Parameters
    ----------
    views : list, tuple, dict, Views, DataFrame, array or sparse matrix
        The views, as `fit` takes them.
    n_neighbors : int
        Neighbours per sample and view.
    metric, scale
        As in `DistanceGraphFusion`.
    search : {"exact", "auto", "approximate"}, default="exact"
        How the neighbours are found.
    engine : str or Engine, default="numba"
        The engine that computes.

    Returns
    -------
    list of csr_array of shape (n_samples, n_samples)
        One for each view that is not left out as constant: symmetric, without a diagonal.

    See Also
    --------
    consilience.fuse_graphs : Fuses them.
    consilience.stages.spectral_clustering : Clusters one of them.

    Examples
    --------
    >>> knn_graphs([[[0.0], [1.0], [3.0]]], 1)[0].toarray().round(3)
    array([[0.   , 0.755, 0.   ],
           [0.755, 0.   , 0.162],
           [0.   , 0.162, 0.   ]])
    """
    engine, given = get_engine(engine), Views(views)
    check_choice("scale", scale, SCALES)
    k = resolve_n_neighbors(n_neighbors, given.n_samples, "auto")
    placed = prepare(given, metrics_of_views(metric, given, scale, engine), scale, engine=engine)
    return [view_graph(i, placed, k, search, engine=engine) for i in range(len(placed))]


def gaussian_graph(
    view: int, views: PreparedViews, edges: Any, engine: Engine, known: Any = None
) -> sparse.csr_array:
    r"""Return a view's Gaussian similarities on edges, made symmetric.

    :math:`\exp(-d^2 / 2\sigma^2)` with :math:`\sigma` the mean of d over the edges. Similarities that the
    user brought are taken as they are.
    """
    values = engine.measure(views.points[view], edges, known)
    if views.spaces[view].kind == "distance":
        sigma = engine.mean_root(values, None, view)
        values = engine.transform(values, EdgeKernel(width=2 * sigma**2))
    graph = engine.fetch(engine.symmetrize(edges, values))
    return sparse.csr_array(graph)


def apart_on(edges: EdgeSet, rows: Any, engine: Engine) -> Any:
    """Return squared Euclidean distances between rows of an array on edges."""
    points = engine.place(Space("embedding", rows, "euclidean"))
    return engine.fetch(engine.measure(points, engine.adopt(edges)))
