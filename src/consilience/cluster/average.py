"""The plain average of the views' graphs: what a fusion has to beat."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..graph import EdgeKernel, EdgeSet
from .base import estimator
from .placing import PlacingClusterer, similarity_kernel
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
        As in `SimilarityGraphFusion`, and so is `verbose`.

    Attributes
    ----------
    labels_, graph_, embedding_, eigenvalues_, n_neighbors_, metrics_, view_names_, timings_, n_features_in_
        As in `SimilarityGraphFusion`.
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

    def _edge_kernel(self, kind: Literal["distance", "similarity"], values: Floats, seen: Any) -> EdgeKernel:
        return similarity_kernel(kind, values, seen)

    def _units(self, weights: Floats, seen: Any) -> Floats:
        # The mean over the edges that a view judges, not the sum, or it would count by what it has seen.
        counts = weights.shape[1] if seen is None else seen.sum(axis=1)
        return np.asarray(weights.sum(axis=1) / counts)

    def _unify(self, weights: Floats, edges: EdgeSet, prepared: PreparedViews) -> Floats:
        seen = np.ones(weights.shape, dtype=bool) if edges.seen is None else edges.seen
        self.view_weights_ = prepared.taking_part / prepared.taking_part.sum()
        return self._unify_new(weights / self._units(weights, seen)[:, None], seen, None)

    def _unify_new(self, weights: Floats, seen: NDArray[np.bool_], trust: Floats | None) -> Floats:
        return np.asarray(weights.sum(axis=0) / seen.sum(axis=0))
