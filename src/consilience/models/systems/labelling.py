"""Labels from a system's own embedding, by k-means."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from ...engines import Engine, get_engine
from ...run.messages import warn
from ...stages.embed import SpectralEmbedding
from ...stages.label import KMeansLabels, LabelAssigner, canonical_labels, resolve_assigner, warn_if_empty
from ..base import MultiviewClusterer

_NOTHING = 1e-6  # of a component's part in an embedding, 0 or 1 except for rounding: what counts as 0


def label_rows(
    rows: NDArray[np.float64],
    n_clusters: int,
    assigner: LabelAssigner,
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
    n_clusters : int
        Number of clusters.
    assigner : KMeansLabels
        The k-means of the system.
    random_state : RandomState
        Draws the starting centres.
    unit : bool, default=False
        Whether to scale rows to unit length first.
    engine : Engine
        The engine that clusters.
    """
    assert isinstance(assigner, KMeansLabels)
    none = np.empty(0)
    embedding = SpectralEmbedding(engine.adopt(rows), none, none, 1, 0)
    found = assigner.assign(embedding, n_clusters, random_state, engine, unit)
    labels = canonical_labels(found)
    warn_if_empty(labels, n_clusters)
    return labels


def relabel(model: MultiviewClusterer, seed: int) -> NDArray[np.intp]:
    """Return the labels that another seed gives, off the embedding that a system has learned.

    For systems that read labels off rows of their own by k-means and learn these without randomness, such as
    RMSC, MVGL and MCGC: a fit with that seed would only learn the same again.
    """
    assigner = resolve_assigner(model.get_params(deep=False)["assign_labels"])
    engine = get_engine(model.engine)
    return label_rows(
        model.embedding_, model.n_clusters_, assigner, np.random.RandomState(seed), engine=engine
    )


def without_rounding(vectors: Any, graph: sparse.csr_array) -> NDArray[np.float64]:
    """Return an embedding with zeros where only rounding is, so that it is not scaled to unit length.

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
