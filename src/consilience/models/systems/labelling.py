"""Labels off an embedding of a system's own, by k-means."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from ...engines import Engine
from ...run.caller_warnings import warn
from ...stages.embed import SpectralEmbedding
from ...stages.label import KMeansLabels, canonical_labels, warn_if_empty
from ..settings import Settings

_NOTHING = 1e-6  # of a component's part in an embedding, 0 or 1 but for rounding: what counts as 0


def label_rows(
    rows: NDArray[np.float64],
    settings: Settings,
    random_state: np.random.RandomState,
    unit: bool = False,
    *,
    engine: Engine,
) -> NDArray[np.intp]:
    """Return the labels that k-means finds in the rows of an embedding.

    Parameters
    ----------
    rows : ndarray of shape (n, c)
        The embedding. Rows of zeros go to the nearest centre.
    settings : Settings
        The number of clusters, and the k-means of the system.
    random_state : RandomState
        Draws the starting centres.
    unit : bool, default=False
        Whether to scale rows to unit length first.
    engine : Engine
        Who clusters.
    """
    assert isinstance(settings.assigner, KMeansLabels)
    none = np.empty(0)
    embedding = SpectralEmbedding(engine.adopt(rows), none, none, 1, 0)
    found = settings.assigner.assign(embedding, settings.n_clusters, random_state, engine, unit)
    labels = canonical_labels(found)
    warn_if_empty(labels, settings.n_clusters)
    return labels


def without_rounding(vectors: Any, graph: sparse.csr_array) -> NDArray[np.float64]:
    """Return an embedding with zeros where only rounding is, lest it be scaled to unit length.

    That is in connected components of the graph that no vector represents, among these all samples without
    edges.

    Warns
    -----
    UserWarning
        If there are such samples.

    Examples
    --------
    >>> import warnings
    >>> pair_and_single = sparse.csr_array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     without_rounding([[0.7], [0.7], [1e-17]], pair_and_single)
    array([[0.7],
           [0.7],
           [0. ]])
    """
    rows = np.asarray(vectors, dtype=np.float64)
    n_components, component = connected_components(graph, directed=False)
    part = np.bincount(component, weights=(rows**2).sum(axis=1))
    lost = (part < _NOTHING)[component] | (np.diff(graph.indptr) == 0)
    if lost.any():
        warn(
            f"The graph has {n_components} connected components, and {lost.sum()} samples in those that no "
            "eigenvector represents only go to the nearest cluster. Raise n_neighbors to connect it.",
        )
    return np.where(lost[:, None], 0.0, rows)
