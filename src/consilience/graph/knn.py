"""One neighbour graph per view: where most comparison systems begin."""

from __future__ import annotations

from scipy import sparse

from ..neighbors import Space
from .affinity import gaussian_similarity
from .edges import EdgeSet
from .sparsify import symmetrize


def knn_graph(space: Space, k: int) -> sparse.csr_array:
    """Return a view's own graph: Gaussian similarities to the k nearest of each sample, made symmetric.

    Parameters
    ----------
    space : Space
        The view.
    k : int
        Neighbours per sample.

    Returns
    -------
    csr_array of shape (n_samples, n_samples)
        Symmetric, without a diagonal.

    Examples
    --------
    >>> import numpy as np
    >>> from consilience.neighbors import as_space
    >>> knn_graph(as_space(np.array([[0.0], [1.0], [3.0]]), "euclidean"), 1).toarray().round(3)
    array([[0.   , 0.755, 0.   ],
           [0.755, 0.   , 0.162],
           [0.   , 0.162, 0.   ]])
    """
    return gaussian_graph(space, EdgeSet.union([space.nearest(k)]))


def gaussian_graph(space: Space, edges: EdgeSet) -> sparse.csr_array:
    r"""Return a view's Gaussian similarities on the edges, made symmetric.

    :math:`\exp(-d^2 / 2\sigma^2)` with :math:`\sigma` the mean of d over the edges. Similarities that the
    user brought are taken as they are.
    """
    values = space.on_edges(edges)
    return symmetrize(edges.to_csr(values if space.kind == "similarity" else gaussian_similarity(values)))
