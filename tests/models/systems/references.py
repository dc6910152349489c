"""Graphs of views for tests of the systems, golden matrices as dense ones, and two dense formulas."""

import numpy as np

from consilience import Views, make_multiview
from consilience.engines import get_engine
from consilience.models.systems.rank_constrained import rank_constrained_graph
from consilience.models.systems.view_graphs import view_graph
from consilience.stages import prepare

ENGINE = get_engine("numba")


def prepared(views, metric="euclidean", engine=ENGINE):
    """Return views that the engine holds, as they are."""
    views = Views(views)
    return prepare(views, (metric,) * views.n_views, "none", engine=engine)


def own_graph(x, k, metric="euclidean"):
    """Return the graph of one view by itself: Gaussian similarities to the k nearest of each sample."""
    return view_graph(0, prepared([x], metric), k, "exact", engine=ENGINE)


def some_view_graphs(n, n_views, c, k=4, separation=1.5):
    """Return graphs of c components, one per view of a planted problem."""
    sample = make_multiview(n, n_views=n_views, n_clusters=c, separation=separation, random_state=1)
    views = prepared(sample.views)
    return [rank_constrained_graph(i, views, c, k, engine=ENGINE).graph for i in range(n_views)]


def matrices(stored, what, key, n):
    """Return the matrices that a golden file stores by entries: (number, n, n)."""
    number = stored[f"{what}_{key}"] - stored[f"{what}_{key}"].min()
    result = np.zeros((number.max() + 1, n, n))
    result[number, stored[f"{what}_rows"], stored[f"{what}_cols"]] = stored[f"{what}_values"]
    return result


def dense_laplacian(graph):
    return np.diag(graph.sum(axis=1)) - graph


def onto_simplex(x):
    down = np.sort(x)[::-1]
    thresholds = (np.cumsum(down) - 1) / np.arange(1, len(x) + 1)
    return np.maximum(x - thresholds[np.flatnonzero(down > thresholds)[-1]], 0)
