"""Leiden: communities of a graph by modularity, for users who choose a resolution and not a number."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from ..run.messages import check_number

IntArray = NDArray[np.intp]


def leiden_communities(graph: Any, resolution: float = 1.0, *, random_state: Any = None) -> IntArray:
    """Return the communities of a weighted graph that the Leiden algorithm finds, by modularity.

    Parameters
    ----------
    graph : sparse array, matrix or ndarray of shape (n, n)
        Symmetric, non-negative weights. The diagonal is not used.
    resolution : float, default=1.0
        Above 0. The larger, the more communities.
    random_state : int, RandomState or None
        Draws the order in which samples are visited.

    Returns
    -------
    ndarray of shape (n,), int
        A sample without edges is a community of its own.

    Raises
    ------
    ValueError
        If the package igraph is not installed, or `resolution` is not a number above 0.

    Notes
    -----
    It runs until nothing improves, in one thread. While it does, igraph draws from a generator of its own;
    afterwards from Python's, as it does by default.

    References
    ----------
    V. A. Traag, L. Waltman, N. J. van Eck, "From Louvain to Leiden: guaranteeing well-connected communities",
    Scientific Reports, 2019.

    Examples
    --------
    >>> two_pairs = np.array([[0, 1, 0, 0.1], [1, 0, 0.1, 0], [0, 0.1, 0, 1], [0.1, 0, 1, 0]])
    >>> leiden_communities(two_pairs, random_state=0)  # doctest: +SKIP
    array([0, 0, 1, 1])
    """
    check_number("resolution", resolution, strictly=True)
    igraph = require_igraph()
    upper = sparse.triu(sparse.coo_array(graph), k=1, format="coo")
    edges = np.column_stack([upper.row, upper.col])
    network = igraph.Graph(n=upper.shape[0], edges=edges.tolist())
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    with _seeded(igraph, int(seed)):
        found = network.community_leiden(
            objective_function="modularity",
            weights=upper.data.tolist(),
            resolution=float(resolution),
            n_iterations=-1,
        )
    return np.asarray(found.membership, dtype=np.intp)


def require_igraph() -> Any:
    """Return the package igraph, or say how to get it."""
    try:
        return import_module("igraph")
    except ImportError:
        raise ValueError(
            "assign_labels='leiden' needs the package igraph; install it with the extra: "
            "pip install 'consilience[leiden]'."
        ) from None


@contextmanager
def _seeded(igraph: Any, seed: int) -> Iterator[None]:
    """Let igraph draw from a seeded generator inside the block, and from Python's afterwards."""
    igraph.set_random_number_generator(random.Random(seed))
    try:
        yield
    finally:
        igraph.set_random_number_generator(random)
