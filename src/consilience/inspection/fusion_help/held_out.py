r"""Evidence from views held out: whether what the others find together shows in a view that had no part.

With three views or more that agree, each of them, j, can be a witness: the others are fused without it, and
the clusters of this fusion are compared with the graph of j. A cluster shows in a graph as far as the edge
weight of its samples stays inside, beyond what clusters of these sizes have by chance:

.. math:: q = \frac{w_{in} - e}{1 - e}, \qquad e = \sum_k s_k^2,

with w the share of the weight inside clusters and s the clusters' shares of all weight: the modularity as a
share of the largest there can be. If fusing helps, a fusion without j shows better in j than the clusters of
any single view i do, on average over the witnesses that neither has seen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...models.systems.view_graphs import view_graph
from .compared_views import ComparedViews
from .contenders import VIEW, Labels
from .stability import Comparison

FEWEST_VIEWS = 3
Vector = NDArray[np.float64]


@dataclass(frozen=True)
class HeldOut:
    """What views held out say.

    Attributes
    ----------
    view : str
        The single view that does best next to the fusion.
    gain : float
        By how much clusters of the fusion show better than those of this view, in views that neither has
        seen; a share of the edge weight.
    error : float
        Standard error of the gain, over the samples.
    """

    view: str
    gain: float
    error: float


def held_out(
    comparison: Comparison, views: ComparedViews, labels: NDArray[np.intp], kept: NDArray[np.bool_]
) -> HeldOut | None:
    """Hold out each view that is kept; None if there are fewer than three, or samples not seen by all.

    Parameters
    ----------
    comparison : Comparison
        The contenders; the last one fuses.
    views : ComparedViews
        The views.
    labels : ndarray of shape (m, n_samples)
        What every contender says.
    kept : ndarray of bool of shape (v,)
        Which views the fusion of all has kept.
    """
    numbers = np.flatnonzero(kept).tolist()
    if len(numbers) < FEWEST_VIEWS or views.mask is not None:
        return None
    pairs = zip(comparison.contenders, labels, strict=True)
    alone = {one.view: row for one, row in pairs if one.kind == VIEW}
    shown = np.zeros((len(numbers), len(numbers), views.n_samples))  # witness, view or (diagonal) fusion
    for a, j in enumerate(numbers):
        place = views.place_of(j)
        graph = view_graph(place, views.prepared, views.n_neighbors, "exact", engine=views.engine)
        without_j = comparison.fused(views.only([i for i in numbers if i != j]))
        for b, i in enumerate(numbers):
            shown[a, b] = shown_in(graph, without_j if i == j else alone[i])
    fused = np.stack([shown[a, a] for a in range(len(numbers))])
    best: HeldOut | None = None
    for b, i in enumerate(numbers):
        gains = np.delete(fused - shown[:, b], b, axis=0).mean(axis=0)  # per sample, over the other witnesses
        found = HeldOut(views.names[i], float(gains.mean()), float(gains.std(ddof=1) / np.sqrt(len(gains))))
        best = found if best is None or found.gain < best.gain else best
    return best


def shown_in(graph: sparse.csr_array, labels: Labels) -> Vector:
    """Return how far clusters show in a graph, as one number per sample, whose mean is q above.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> pairs = sparse.csr_array(np.kron(np.eye(2), [[0.0, 1.0], [1.0, 0.0]]))
    >>> shown_in(pairs, np.array([0, 0, 1, 1]))
    array([1., 1., 1., 1.])
    >>> float(shown_in(pairs, np.array([0, 1, 0, 1])).mean())
    -1.0
    """
    n = graph.shape[0]
    rows = np.repeat(np.arange(n), np.diff(graph.indptr))
    weight = np.bincount(rows, weights=graph.data, minlength=n)
    inside = np.bincount(rows, weights=graph.data * (labels[rows] == labels[graph.indices]), minlength=n)
    shares = np.bincount(labels, weights=weight) / weight.sum()
    if shares.max() > 1 - 1e-9:  # one cluster shows nothing
        return np.zeros(n)
    by_chance = float((shares**2).sum())
    mean = weight.mean()
    return np.asarray((inside / mean - by_chance * weight / mean) / (1 - by_chance))
