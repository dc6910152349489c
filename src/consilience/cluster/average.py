"""The plain average of the views' graphs: what a fusion has to beat."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..graph import EdgeSet
from .base import estimator
from .placing import PlacingClusterer
from .prepared import PreparedViews
from .unified import Floats


@estimator
class AverageGraph(PlacingClusterer):
    r"""Multi-view clustering on the mean of the views' similarity graphs; nothing is learned.

    Each view's similarities :math:`W_i` on the shared edges are made as in `SimilarityGraphFusion` and scaled
    to sum 1. Their mean, the minimiser of

    .. math::

        \sum_i \|W_i - S\|^2,

    takes the place of the fused graph, and the rest is the same. An honest baseline: a fusion that does not
    beat it has learned nothing. No publication is followed.

    Besides the neighbour searches, O(v n^2 d), and one eigen-solve, time and memory are O(v^2 n k): the edges
    of all views together, at most v n k, times the views.

    Parameters
    ----------
    n_clusters, n_neighbors, metric, scale, assign_labels, n_init, neighbor_search, n_jobs, random_state
        As in `SimilarityGraphFusion`, and so are `max_clusters`, `resolution`, `missing` and `verbose`.

    Attributes
    ----------
    labels_, graph_, embedding_, eigenvalues_, n_neighbors_, metrics_, view_names_, timings_, n_features_in_
        As in `SimilarityGraphFusion`, and so are `n_clusters_` and `cluster_selection_`.
    view_weights_ : ndarray of shape (v,)
        Each view's share of the mean; 0 for a view left out.

    Examples
    --------
    >>> from consilience import load_digits_views
    >>> from consilience.cluster import AverageGraph
    >>> views, y = load_digits_views(return_X_y=True)
    >>> AverageGraph(n_clusters=10, random_state=0).fit(views).labels_.shape
    (1797,)
    """

    def _unify(self, weights: Floats, edges: EdgeSet, prepared: PreparedViews) -> Floats:
        self.view_weights_ = prepared.taking_part / prepared.taking_part.sum()
        return super()._unify(weights, edges, prepared)

    def _unify_edges(self, weights: Floats, seen: NDArray[np.bool_] | None, trust: Floats | None) -> Floats:
        return np.asarray(weights.sum(axis=0) / (len(weights) if seen is None else seen.sum(axis=0)))
