"""Which samples the charts of the page draw, and where."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.manifold import TSNE

from ...engines import threads
from ...models.fusion import GraphFusion
from ...stages.embed import spectral_embedding

MOST_DRAWN = 1500
MOST_BINS = 240  # columns of the conflict heat map
FEWEST_TSNE = 12  # samples; fewer have no neighbourhoods to keep
_ROUNDS, _PERPLEXITY = 400, 30.0

Index = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class SampleMap:
    """A map of the samples.

    Attributes
    ----------
    samples : ndarray of shape (m,)
        The samples that are drawn.
    places : ndarray of shape (m, 2)
        Where.
    how : str
        How their places were found.
    """

    samples: Index
    places: NDArray[Any]
    how: str


def draw_map(
    model: GraphFusion, sizes: Index, flagged: NDArray[np.bool_], worst: NDArray[np.float64]
) -> SampleMap:
    """Choose the samples to draw, and find a place for each.

    Parameters
    ----------
    model : GraphFusion
        The fitted model.
    sizes : ndarray of shape (n_clusters,)
        Samples of each cluster.
    flagged : ndarray of bool of shape (n,)
        Samples with a flag in some view.
    worst : ndarray of shape (n,)
        The largest score of each; NaN if there is none.
    """
    samples = drawn_samples(model.labels_, sizes, flagged, worst)
    return SampleMap(samples, *_places(model, len(sizes), samples))


def drawn_samples(
    labels: Index,
    sizes: Index,
    flagged: NDArray[np.bool_],
    worst: NDArray[np.float64],
    most: int = MOST_DRAWN,
) -> Index:
    """Return the samples to draw: as many of each cluster as evenly fit, up to half of them flagged ones.

    Of a cluster's flagged samples those with the largest scores come first; the others are drawn at random.
    """
    if len(labels) <= most:
        return np.arange(len(labels))
    rng = np.random.default_rng(0)
    urgency = np.where(flagged, np.nan_to_num(worst), -1.0)
    chosen = []
    for cluster, quota in enumerate(quotas(sizes, most)):
        members = rng.permutation(np.flatnonzero(labels == cluster))
        first = members[np.argsort(-urgency[members], kind="stable")]
        first = first[: min(int(flagged[members].sum()), quota // 2)]
        others = members[~np.isin(members, first)]
        chosen.append(np.concatenate([first, others[: quota - len(first)]]))
    return np.sort(np.concatenate(chosen))


def quotas(sizes: Index, most: int) -> list[int]:
    """Share `most` places out evenly; what a small group does not need goes to the larger ones."""
    shares, left = np.zeros(len(sizes), dtype=np.intp), most
    order = np.argsort(sizes, kind="stable")
    for place, group in enumerate(order):
        shares[group] = min(int(sizes[group]), left // (len(order) - place))
        left -= int(shares[group])
    return shares.tolist()


def bin_samples(
    labels: Index, sizes: Index, worst: NDArray[np.float64], most: int = MOST_BINS
) -> list[Index]:
    """Divide samples into bins within clusters, the most contradicted first; one each if they are few."""
    n = len(labels)
    order = np.lexsort((-np.nan_to_num(worst, nan=-1.0), labels))
    bins: list[Index] = []
    for a, b in pairwise(np.concatenate([[0], np.cumsum(sizes)]).tolist()):
        wanted = max(1, math.ceil((b - a) * most / n))
        bins += [part for part in np.array_split(order[a:b], wanted if n > most else b - a) if len(part)]
    return bins


def _places(model: GraphFusion, n_clusters: int, samples: Index) -> tuple[NDArray[Any], str]:
    """Return the places of samples on the map, of shape (m, 2), and how they were found."""
    if n_clusters == 1 or model.embedding_.shape[1] == 1:
        wanted = min(3, len(model.labels_))
        found = spectral_embedding(model.graph_, wanted, warn_disconnected=False, random_state=0)
        return _two(found.vectors[samples, 1:]), "the second and third eigenvector of the unified graph"
    rows = model.embedding_[samples]
    if len(rows) < FEWEST_TSNE or not np.ptp(rows, axis=0).any():
        return _two(rows), "the first two columns of the spectral embedding"
    # On one thread: it is as fast for so few samples, and gives the same map every time.
    with threads.libraries_on_one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a reader cannot use a warning about equal rows
        tsne = TSNE(
            init="pca",
            random_state=0,
            max_iter=_ROUNDS,
            perplexity=min(_PERPLEXITY, (len(rows) - 1) / 3),
            n_jobs=1,
        )
        return tsne.fit_transform(rows), "t-SNE of the spectral embedding"


def _two(rows: NDArray[Any]) -> NDArray[Any]:
    """Return two columns, the missing ones 0."""
    return np.pad(rows[:, :2], ((0, 0), (0, max(0, 2 - rows.shape[1]))))
