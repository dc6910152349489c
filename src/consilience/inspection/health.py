"""The unified graph: is it in one piece, is any sample alone, how many clusters does it show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from ..stages.embed import spectral_embedding
from .subject import Floats, as_subject

_MORE = 5  # eigenvalues beyond the number of clusters
_PRECISION = 1e-4  # of eigenvalues that are only looked at


@dataclass(frozen=True, eq=False)
class GraphHealth:
    """What the unified graph looks like.

    Attributes
    ----------
    n_samples, n_edges : int
        Number of samples and of undirected edges.
    component_sizes : ndarray of int
        Sizes of the connected components, the largest first; an isolated sample is one of size 1.
    n_isolated : int
        Number of samples without an edge.
    degrees : ndarray of int of shape (n,)
        Number of neighbours of each sample.
    strengths : ndarray of shape (n,)
        Sum of the weights of its edges.
    n_clusters : int
        Number of clusters asked for.
    eigenvalues : ndarray
        The smallest eigenvalues of the normalised Laplacian, some more than there are clusters.
    """

    n_samples: int
    n_edges: int
    component_sizes: NDArray[np.intp]
    n_isolated: int
    degrees: NDArray[np.intp]
    strengths: Floats
    n_clusters: int
    eigenvalues: Floats

    @property
    def n_components(self) -> int:
        """Number of connected components."""
        return len(self.component_sizes)

    @property
    def eigengaps(self) -> Floats:
        """Differences of successive eigenvalues: entry c - 1 is the gap behind c clusters."""
        return np.diff(self.eigenvalues)

    @property
    def eigengap(self) -> float:
        """The gap behind the number of clusters asked for; NaN if it was not computed."""
        gaps = self.eigengaps
        return float(gaps[self.n_clusters - 1]) if self.n_clusters <= len(gaps) else np.nan

    @property
    def largest_gap(self) -> int:
        """The number of clusters behind which the gap is largest, from 2 up, among those computed."""
        gaps = self.eigengaps[1:]
        return 1 if not np.isfinite(gaps).any() else int(np.nanargmax(gaps)) + 2


def graph_health(fitted: Any, *, n_eigenvalues: int | None = None) -> GraphHealth:
    """Look at the unified graph: components, isolated samples, degrees, eigengap.

    Parameters
    ----------
    fitted : SimilarityGraphFusion, DistanceGraphFusion or FusionResult
        A fitted model, or what `fuse_graphs` returned.
    n_eigenvalues : int, default=None
        How many eigenvalues to compute; None: five more than there are clusters, and ten at least. 0 leaves
        them out: they are what takes time.

    Returns
    -------
    GraphHealth

    Examples
    --------
    >>> from consilience import DistanceGraphFusion, make_multiview
    >>> from consilience.inspection import graph_health
    >>> data = make_multiview(300, n_clusters=3, separation=4.0, random_state=0)
    >>> health = graph_health(DistanceGraphFusion(n_clusters=3, random_state=0).fit(data.views))
    >>> health.n_components, health.n_isolated, health.largest_gap
    (1, 0, 3)
    """
    subject = as_subject(fitted)
    graph, n = subject.graph, subject.n_samples
    c = subject.n_wanted
    wanted = max(c + _MORE, 10) if n_eigenvalues is None else n_eigenvalues
    eigenvalues = np.empty(0)
    if wanted > 0:
        found = spectral_embedding(
            graph,
            min(wanted, n),
            tol=_PRECISION,
            warn_disconnected=False,
            random_state=0,
            engine=subject.engine,
        )
        eigenvalues = found.eigenvalues
    _, component = connected_components(graph, directed=False)
    degrees = np.diff(graph.indptr).astype(np.intp)
    return GraphHealth(
        n_samples=n,
        n_edges=int(graph.nnz // 2),
        component_sizes=np.sort(np.bincount(component))[::-1].astype(np.intp),
        n_isolated=int((degrees == 0).sum()),
        degrees=degrees,
        strengths=np.asarray(graph.sum(axis=1), dtype=np.float64).ravel(),
        n_clusters=c,
        eigenvalues=eigenvalues,
    )
