"""Search: each sample's neighbours in each view."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engines import Engine, get_engine
from ..engines.protocol import Search
from ..engines.results import Neighbors
from ..run.messages import Advice, Setting, check_choice, is_positive_integer
from ..spaces import resolve_metrics
from ..views import Views
from .prepare import PreparedViews, prepare

# n_neighbors="auto": this share of the mean cluster size, within these bounds.
SHARE_OF_CLUSTER, FEWEST_NEIGHBORS, MOST_NEIGHBORS = 0.6, 6, 20
USUAL_CLUSTERS = 8  # the default; n_neighbors="auto" uses it while the number is not known
FEWEST = 6  # neighbours that a view names, even if it has seen very few samples, unless fewer are asked for


def search(
    view: int, views: PreparedViews, n_neighbors: int, how: Search, in_proportion: bool, *, engine: Engine
) -> Neighbors:
    """Find each sample's neighbours in one view.

    Parameters
    ----------
    view : int
        Which of the views.
    views : PreparedViews
        The views.
    n_neighbors : int
        Neighbours of each sample.
    how : {"auto", "exact", "approximate"}
        How they are found.
    in_proportion : bool
        Whether a view that has seen a share of the samples names that share of the neighbours.
    engine : Engine
        The engine that searches.
    """
    k = n_neighbors
    if in_proportion and views.mask is not None:
        k = n_neighbors_of_seen(k, views.mask[:, view])
    return engine.nearest(views.points[view], k, how)


def n_neighbors_of_seen(k: int, seen: NDArray[np.bool_]) -> int:
    """Return how many neighbours a view names that has seen some of the samples, if it is k for all samples.

    Where a view has seen only a share of the samples, the same ball holds only that share of the k
    neighbours. With k neighbours from fewer samples, these would be farther away, at last in other clusters.

    Examples
    --------
    >>> n_neighbors_of_seen(20, np.arange(100) < 70), n_neighbors_of_seen(20, np.arange(100) < 5)
    (14, 4)
    """
    n_seen = int(seen.sum())
    return max(1, min(n_seen - 1, max(min(k, FEWEST), round(k * n_seen / len(seen)))))


def nearest_neighbors(
    views: Any,
    n_neighbors: int,
    *,
    metric: Any = "auto",
    scale: str = "none",
    search: Search = "exact",
    engine: Any = "numba",
) -> list[NDArray[np.int32]]:
    """Return the nearest neighbours of each sample in each view.

    Parameters
    ----------
    views : list, tuple, dict, Views, DataFrame, array or sparse matrix
        The views, as `fit` takes them.
    n_neighbors : int
        Neighbours of each sample.
    metric, scale
        As in `DistanceGraphFusion`.
    search : {"exact", "auto", "approximate"}, default="exact"
        How they are found.
    engine : str or Engine, default="numba"
        The engine that computes.

    Returns
    -------
    list of ndarray of shape (n_samples, n_neighbors)
        One for each view that is not left out as constant. A sample's own number means "no neighbour".

    Examples
    --------
    >>> nearest_neighbors([[[0.0], [1.0], [3.0], [3.5]]], 1)[0].ravel()
    array([1, 0, 3, 2], dtype=int32)
    """
    engine, given = get_engine(engine), Views(views)
    with engine.limit(None):
        metrics = resolve_metrics(metric, given.arrays, given.names, engine=engine)
        prepared = prepare(given, metrics, scale, engine=engine)
        found = (engine.nearest(points, n_neighbors, search) for points in prepared.points)
        return [np.asarray(engine.fetch(one.lists)) for one in found]


def resolve_n_neighbors(n_neighbors: Any, n_samples: int, n_clusters: Any) -> int:
    """Return the number of neighbours per sample and view, or raise a ValueError if there cannot be so many.

    Examples
    --------
    >>> resolve_n_neighbors("auto", 2000, 10), resolve_n_neighbors(7, 2000, 10)
    (20, 7)
    """
    if isinstance(n_neighbors, str):
        check_choice("n_neighbors", n_neighbors, ("auto",), "an integer")
        return auto_neighbors(n_samples, USUAL_CLUSTERS if n_clusters == "auto" else n_clusters)
    if not is_positive_integer(n_neighbors):
        raise ValueError(
            Advice(Setting("n_neighbors"), f" must be 'auto' or a positive integer, got {n_neighbors!r}.")
        )
    if n_neighbors >= n_samples:
        raise ValueError(
            Advice(
                Setting("n_neighbors", n_neighbors),
                f" asks for more neighbours than there are other samples (n_samples={n_samples}); pass at "
                f"most {n_samples - 1}, or 'auto'.",
            )
        )
    return int(n_neighbors)


def auto_neighbors(n_samples: int, n_clusters: int) -> int:
    """Return the number of neighbours that "auto" stands for."""
    wanted = SHARE_OF_CLUSTER * n_samples / n_clusters
    return min(n_samples - 1, int(np.clip(wanted, FEWEST_NEIGHBORS, MOST_NEIGHBORS)))
