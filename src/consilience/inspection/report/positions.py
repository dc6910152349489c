"""Which samples the map shows, and where."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.manifold import TSNE

from ... import threads
from ...cluster.spectral import spectral_embedding
from .content import ReportContent

MOST_DRAWN = 1500
FEWEST_TSNE = 12  # samples; fewer have no neighbourhoods to keep
_ROUNDS, _PERPLEXITY = 400, 30.0


def drawn_samples(content: ReportContent, most: int = MOST_DRAWN) -> NDArray[np.intp]:
    """Return the samples to draw: as many of each cluster as evenly fit, up to half of them flagged ones.

    Of a cluster's flagged samples those with the largest scores come first; the others are drawn by lot.
    """
    n, labels = content.n_samples, content.labels
    if n <= most:
        return np.arange(n)
    rng = np.random.default_rng(0)
    flagged = np.asarray(content.found.samples.flagged.any(axis=1))
    urgency = np.where(flagged, np.nan_to_num(content.worst_scores), -1.0)
    chosen = []
    for cluster, quota in enumerate(quotas(content.clusters.sizes, most)):
        members = rng.permutation(np.flatnonzero(labels == cluster))
        first = members[np.argsort(-urgency[members], kind="stable")]
        first = first[: min(int(flagged[members].sum()), quota // 2)]
        others = members[~np.isin(members, first)]
        chosen.append(np.concatenate([first, others[: quota - len(first)]]))
    return np.sort(np.concatenate(chosen))


def quotas(sizes: NDArray[np.intp], most: int) -> list[int]:
    """Share `most` places out evenly; what a small group does not need goes to the larger ones."""
    shares, left = np.zeros(len(sizes), dtype=np.intp), most
    order = np.argsort(sizes, kind="stable")
    for place, group in enumerate(order):
        shares[group] = min(int(sizes[group]), left // (len(order) - place))
        left -= int(shares[group])
    return shares.tolist()


def positions(content: ReportContent, samples: NDArray[np.intp]) -> tuple[NDArray[Any], str]:
    """Return the places of samples on the map, of shape (m, 2), and how they were found."""
    model = content.model
    if content.n_clusters == 1 or model.embedding_.shape[1] == 1:
        wanted = min(3, content.n_samples)
        found = spectral_embedding(model.graph_, wanted, warn=False, random_state=0)
        return _two(found.vectors[samples, 1:]), "the second and third eigenvector of the unified graph"
    rows = model.embedding_[samples]
    if len(rows) < FEWEST_TSNE or not np.ptp(rows, axis=0).any():
        return _two(rows), "the first two columns of the spectral embedding"
    # On one thread: it is as fast for so few samples, and gives the same map every time.
    with threads.libraries_on_one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # many equal rows are no concern of the reader
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
