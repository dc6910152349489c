"""How sure the cluster of each sample is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .subject import Floats, Subject, as_subject


@dataclass(frozen=True, eq=False)
class SampleConfidence:
    """How sure the cluster of each sample is, seen in three ways; each is near 1 for a sure one.

    Attributes
    ----------
    silhouette : ndarray of shape (n,)
        From -1 to 1: how much nearer the own cluster is than the next one, in the spectral embedding, by
        mean squared distances to their members. Below 0 another cluster is nearer. 0 in a cluster of one,
        and for a sample in a part of the graph that the embedding does not represent.
    margin : ndarray of shape (n,)
        From 0 to 1: one minus the distance to the own cluster's centre over that to the next one; 0 if that
        is no farther.
    second : ndarray of int of shape (n,)
        The cluster whose centre is next; -1 if there is only one cluster.
    neighbor_agreement : ndarray of shape (n,)
        From 0 to 1: the share of a sample's weight in the unified graph that goes to its own cluster; NaN
        for a sample without edges.
    """

    silhouette: Floats
    margin: Floats
    second: NDArray[np.intp]
    neighbor_agreement: Floats

    @property
    def lowest(self) -> Floats:
        """The lowest of the three, not below 0."""
        three = [self.silhouette, self.margin, np.nan_to_num(self.neighbor_agreement)]
        return np.asarray(np.clip(np.min(three, axis=0), 0.0, 1.0))


def sample_confidence(fitted: Any) -> SampleConfidence:
    """Say how sure the cluster of each sample is.

    Parameters
    ----------
    fitted : SimilarityGraphFusion or DistanceGraphFusion
        A fitted model.

    Returns
    -------
    SampleConfidence

    Examples
    --------
    >>> from consilience import DistanceGraphFusion, make_multiview
    >>> from consilience.inspection import sample_confidence
    >>> data = make_multiview(300, n_clusters=3, separation=4.0, random_state=0)
    >>> model = DistanceGraphFusion(n_clusters=3, random_state=0).fit(data.views)
    >>> sure = sample_confidence(model).lowest > 0.5
    >>> bool(sure.mean() > 0.9)
    True
    """
    subject = as_subject(fitted)
    if subject.model is None:
        raise ValueError("Confidence is read off the embedding of a fitted model; a FusionResult has none.")
    labels, rows = subject.need_labels(), subject.model.embedding_
    c = subject.n_clusters
    if c == 1:
        n = len(labels)
        return SampleConfidence(np.zeros(n), np.zeros(n), np.full(n, -1), _neighbor_agreement(subject))
    sizes = np.bincount(labels, minlength=c).astype(np.float64)
    sums = np.stack([np.bincount(labels, column, minlength=c) for column in rows.T], axis=1)
    centres = sums / sizes[:, None]
    to_centre = np.maximum(_squared_distances(rows, centres), 0.0)
    # Mean squared distance to the members of a cluster: to its centre, plus theirs to it.
    everyone = np.arange(len(labels))
    spread = np.bincount(labels, to_centre[everyone, labels], minlength=c) / sizes
    mean = to_centre + spread
    # Samples in parts of the graph that no eigenvector represents were put into some cluster, no more.
    placed = rows.any(axis=1)
    return SampleConfidence(
        silhouette=np.where(placed, _silhouette(mean, labels, sizes), 0.0),
        margin=np.where(placed, _margin(to_centre, labels), 0.0),
        second=_next(to_centre, labels),
        neighbor_agreement=_neighbor_agreement(subject),
    )


def _squared_distances(rows: Floats, centres: Floats) -> Floats:
    return np.asarray(
        (rows**2).sum(axis=1)[:, None] - 2 * rows @ centres.T + (centres**2).sum(axis=1)[None, :]
    )


def _apart(distances: Floats, labels: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Return the own column of each row, and the matrix with it made infinite."""
    everyone = np.arange(len(labels))
    own, others = distances[everyone, labels], distances.copy()
    others[everyone, labels] = np.inf
    return own, others


def _next(to_centre: Floats, labels: NDArray[np.intp]) -> NDArray[np.intp]:
    return np.asarray(_apart(to_centre, labels)[1].argmin(axis=1))


def _margin(to_centre: Floats, labels: NDArray[np.intp]) -> Floats:
    own, others = _apart(to_centre, labels)
    nearest = others.min(axis=1)
    ratio = np.sqrt(np.divide(own, nearest, out=np.ones(len(own)), where=nearest > 0))
    return np.asarray(np.clip(1 - ratio, 0.0, 1.0))


def _silhouette(mean: Floats, labels: NDArray[np.intp], sizes: Floats) -> Floats:
    own, others = _apart(mean, labels)
    size = sizes[labels]
    own = own * size / np.maximum(size - 1, 1)  # to the others of the cluster, not to itself
    nearest = others.min(axis=1)
    largest = np.maximum(own, nearest)
    value = np.divide(nearest - own, largest, out=np.zeros(len(own)), where=largest > 0)
    return np.asarray(np.where(size > 1, value, 0.0))


def _neighbor_agreement(subject: Subject) -> Floats:
    labels, graph = subject.need_labels(), subject.graph
    n = subject.n_samples
    starts = np.repeat(np.arange(n), np.diff(graph.indptr))
    total = np.bincount(starts, graph.data, minlength=n)
    inside = np.bincount(starts, graph.data * (labels[starts] == labels[graph.indices]), minlength=n)
    return np.asarray(np.divide(inside, total, out=np.full(n, np.nan), where=total > 0))
