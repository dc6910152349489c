"""Plain, dense twins of what MCGC and MVGL do on edges, and golden matrices as dense ones."""

import numpy as np

from consilience import make_multiview
from consilience.graph.rank_constrained import rank_constrained_graph
from consilience.neighbors import as_space


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


def some_view_graphs(n, n_views, c, k=4, separation=1.5):
    sample = make_multiview(n, n_views=n_views, n_clusters=c, separation=separation, random_state=1)
    return [
        rank_constrained_graph(as_space(np.asarray(array), "euclidean"), n, c, k).graph
        for array in sample.views.values()
    ]
