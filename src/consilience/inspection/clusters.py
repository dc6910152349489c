"""Cluster by cluster: which view does not see which cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .samples import SampleConflicts, sample_conflicts
from .subject import Floats, Subject, as_subject


@dataclass(frozen=True, eq=False)
class ClusterConflicts:
    """How each view sees each cluster.

    Attributes
    ----------
    names : tuple of str
        The views.
    sizes : ndarray of shape (c,)
        Number of samples of each cluster.
    scores : ndarray of shape (c, v)
        Mean probability that the view's rows of the cluster's samples are misplaced; NaN if it has seen none.
    n_flagged : ndarray of shape (c, v)
        Number of rows flagged.
    cohesion : ndarray of shape (c, v)
        Share of the neighbours of the cluster's samples, in this view, that are in the cluster too. Compare
        with the share of all samples that are, which is what a view that knows nothing of it has.
    mixed_up_with : ndarray of shape (c, v)
        The other cluster that has most of these neighbours; -1 if none has any.
    """

    names: tuple[str, ...]
    sizes: NDArray[np.intp]
    scores: Floats
    n_flagged: NDArray[np.intp]
    cohesion: Floats
    mixed_up_with: NDArray[np.intp]


def cluster_conflicts(fitted: Any, *, fdr: float = 0.05, labels: ArrayLike | None = None) -> ClusterConflicts:
    """Say how far each view sees each cluster, and with which other cluster it mixes it up.

    Parameters
    ----------
    fitted : SimilarityGraphFusion, DistanceGraphFusion or FusionResult
        A fitted model, or what `fuse_graphs` returned.
    fdr : float, default=0.05
        As in `sample_conflicts`.
    labels : array-like of shape (n,), default=None
        Clusters, for a `FusionResult`.

    Returns
    -------
    ClusterConflicts

    Examples
    --------
    >>> from consilience import DistanceGraphFusion, make_multiview
    >>> from consilience.inspection import cluster_conflicts
    >>> data = make_multiview(300, n_views=3, n_clusters=3, separation=[4, 4, 2], random_state=0)
    >>> model = DistanceGraphFusion(n_clusters=3, random_state=0).fit(data.views)
    >>> cluster_conflicts(model).cohesion.round(1)  # the third view hardly sees the clusters
    array([[0.9, 0.8, 0.6],
           [0.8, 0.9, 0.5],
           [0.9, 0.9, 0.5]])
    """
    subject = as_subject(fitted, labels)
    subject.need_labels()
    return by_cluster(subject, sample_conflicts(subject, fdr=fdr))


def by_cluster(subject: Subject, conflicts: SampleConflicts) -> ClusterConflicts:
    """Sum up the conflicts of samples by cluster."""
    labels = subject.need_labels()
    n, v, c = len(labels), len(subject.names), subject.n_clusters
    cohesion, mixed_up = np.full((c, v), np.nan), np.full((c, v), -1, dtype=np.intp)
    scores, flagged = np.full((c, v), np.nan), np.zeros((c, v), dtype=np.intp)
    for i, neighbors in enumerate(subject.lists):
        judged = np.isfinite(conflicts.scores[:, i])
        counts = np.bincount(labels[judged], minlength=c)
        total = np.bincount(labels[judged], conflicts.scores[judged, i], minlength=c)
        np.divide(total, counts, out=scores[:, i], where=counts > 0)
        flagged[:, i] = np.bincount(labels[conflicts.flagged[:, i]], minlength=c)
        if neighbors is None:
            continue
        real = neighbors != np.arange(n)[:, None]
        pairs = labels[:, None] * c + labels[neighbors]
        between = np.bincount(pairs[real], minlength=c * c).reshape(c, c).astype(np.float64)
        sums = between.sum(axis=1)
        np.divide(np.diag(between), sums, out=cohesion[:, i], where=sums > 0)
        np.fill_diagonal(between, 0.0)
        mixed_up[:, i] = np.where(between.sum(axis=1) > 0, between.argmax(axis=1), -1)
    sizes = np.bincount(labels, minlength=c)
    return ClusterConflicts(subject.names, sizes, scores, flagged, cohesion, mixed_up)
