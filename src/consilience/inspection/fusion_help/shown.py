r"""How far clusters show in the graphs of the views.

A cluster shows in a graph as far as the edge weight of its samples stays inside, beyond what clusters of
these sizes have by chance:

.. math:: q = \frac{w_{in} - e}{1 - e}, \qquad e = \sum_k s_k^2,

with w the share of the weight inside clusters and s the clusters' shares of all weight: the modularity as a
share of the largest there can be. Clusters of a single view show in its own graph, and in the others as far
as these say the same. Clusters of a fusion that helps show in all of them: on average over the views more
than those of any single view, although that is judged by its own graph, too.

Which clusters a graph shows also depends on how features are compared, and with how many neighbours: so each
view judges by a graph of every description that a fit would try (`stages.describe`), and they count alike.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...models.systems.view_graphs import view_graph
from .compared_views import ComparedViews
from .contenders import NOT_SEEN, Labels

Vector = NDArray[np.float64]
Graphs = Sequence[sparse.csr_array]  # one for each view


def graphs_of(views: ComparedViews) -> list[sparse.csr_array]:
    """Return the graph of each active view, on all samples; one that it has not seen has no edges."""
    graphs, n = [], views.n_samples
    for view in np.flatnonzero(views.prepared.active).tolist():
        alone, rows = views.alone(view)
        k = min(views.n_neighbors, len(rows) - 1)
        graph = view_graph(0, alone, k, "exact", engine=views.engine).tocoo()
        places = rows[graph.row], rows[graph.col]
        graphs.append(sparse.csr_array(sparse.coo_array((graph.data, places), shape=(n, n))))
    return graphs


def mean_shown(described: Sequence[Graphs], labels: Labels) -> float:
    """Return how far clusters show on average over descriptions, and in each over the views.

    Graphs without edges between labelled samples do not count.
    """
    return _mean([_mean([shown_in(graph, labels) for graph in graphs]) for graphs in described])


def _mean(values: Sequence[float]) -> float:
    known = [one for one in values if not np.isnan(one)]
    return float(np.mean(known)) if known else np.nan


def gain_over(described: Sequence[Graphs], fused: Labels, alone: Labels) -> float:
    """Return by how much clusters show better than others, on the samples that both label."""
    both = (fused != NOT_SEEN) & (alone != NOT_SEEN)
    first, second = (np.where(both, labels, NOT_SEEN) for labels in (fused, alone))
    return mean_shown(described, first) - mean_shown(described, second)


def shown_in(graph: sparse.csr_array, labels: Labels) -> float:
    """Return how far clusters show in a graph: q above, over samples with a label; NaN without edges.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> pairs = sparse.csr_array(np.kron(np.eye(2), [[0.0, 1.0], [1.0, 0.0]]))
    >>> shown_in(pairs, np.array([0, 0, 1, 1]))
    1.0
    >>> shown_in(pairs, np.array([0, 1, 0, 1]))
    -1.0
    """
    first = np.repeat(labels, np.diff(graph.indptr))
    second = labels[graph.indices]
    known = (first != NOT_SEEN) & (second != NOT_SEEN)
    first, second, weight = first[known], second[known], graph.data[known]
    total = weight.sum()
    if total <= 0:
        return np.nan
    shares = np.bincount(first, weights=weight) / total
    by_chance = float((shares**2).sum())
    if by_chance > 1 - 1e-9:  # one cluster shows nothing
        return 0.0
    return float((weight[first == second].sum() / total - by_chance) / (1 - by_chance))
