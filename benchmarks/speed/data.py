"""Data for studies of speed: blobs, digits and documents, of any number of rows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import io, sparse
from sklearn.neighbors import NearestNeighbors

from consilience import load_digits_views

DIMENSIONS, N_CLASSES, SPREAD = (64, 32, 128), 20, 0.55
_BLOCK = 1 << 16


@dataclass(frozen=True, eq=False)
class Blobs:
    """Views of blobs, and which blob each sample is of."""

    views: list[NDArray[np.float32]]
    y: NDArray[np.int64]


def blobs(n: int, dimensions: Sequence[int] = DIMENSIONS, n_classes: int = N_CLASSES, seed: int = 0) -> Blobs:
    """Draw views: the centre of each class from N(0, 0.55^2 I), plus N(0, I) for each sample.

    Far from each other, and without any structure inside: the k nearest of a sample are hardly nearer than
    the rest of its blob, and neighbours of neighbours are not neighbours. The hardest case for a search.
    """
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    views = []
    for d in dimensions:
        centers = (SPREAD * rng.standard_normal((n_classes, d))).astype(np.float32)
        x = rng.standard_normal((n, d), dtype=np.float32)
        for start in range(0, n, _BLOCK):  # in blocks: the data should not cost more than it is
            x[start : start + _BLOCK] += centers[y[start : start + _BLOCK]]
        views.append(x)
    return Blobs(views, y)


def digits(n: int, seed: int = 0) -> NDArray[np.float32]:
    """Draw digits between digits: the Zernike moments of the bundled ones, of 47 features."""
    return between(load_digits_views(return_X_y=True)[0]["zernike"], n, seed)


def uci_digits(n: int, seed: int = 0) -> NDArray[np.float32]:
    """Draw digits between those of UCI_Digits, its profile correlations, of 216 features."""
    folder = os.environ.get("CONSILIENCE_DATA")
    if not folder:
        raise LookupError("CONSILIENCE_DATA is not set")
    views = io.loadmat(Path(folder) / "UCI_Digits.mat")["fea"].ravel()
    view = next(np.asarray(one, dtype=float) for one in views if one.shape[1] == 216)
    return between((view - view.mean(axis=0)) / view.std(axis=0), n, seed)


def between(x: NDArray[Any], n: int, seed: int = 0, noise: float = 0.02) -> NDArray[np.float32]:
    """Draw n rows between rows: each a mixture of a row and three of its five nearest, with a little noise.

    So the data keep the low dimension that real data have, however many rows are drawn. Rows repeated with
    noise alone would be as many small blobs.
    """
    rng = np.random.default_rng(seed)
    near = NearestNeighbors(n_neighbors=6).fit(x).kneighbors(x, return_distance=False)
    first = rng.integers(0, len(x), n)
    picked = rng.permuted(np.tile(np.arange(1, 6), (n, 1)), axis=1)[:, :3]
    shares = rng.dirichlet(np.ones(4), n)
    rows = shares[:, :1] * x[first]
    for j in range(3):
        rows += shares[:, j + 1 : j + 2] * x[near[first, picked[:, j]]]
    rows += noise * x.std() * rng.standard_normal(rows.shape)
    return rows.astype(np.float32)


def documents(n: int, n_words: int = 20_000, length: int = 60, n_topics: int = 20, seed: int = 0) -> Any:
    """Draw documents as tf-idf rows of unit length, in CSR: about 60 words each, by Zipf's law.

    Half of the words of a document are of its topic, for which the same law holds with the words in another
    order; the other half are of the language.
    """
    rng = np.random.default_rng(seed)
    law = 1 / np.arange(1, n_words + 1)
    order = np.array([np.arange(n_words), *(rng.permutation(n_words) for _ in range(n_topics))])
    lengths = np.maximum(rng.poisson(length, n), 5)
    rows = np.repeat(np.arange(n), lengths)
    topics = rng.integers(1, n_topics + 1, n)[rows]
    topics[rng.random(len(rows)) < 0.5] = 0
    ranks = np.searchsorted(np.cumsum(law) / law.sum(), rng.random(len(rows)))
    counts = sparse.csr_array(
        (np.ones(len(rows)), (rows, order[topics, np.minimum(ranks, n_words - 1)])), shape=(n, n_words)
    )
    counts.sum_duplicates()
    idf = np.log((1 + n) / (1 + np.bincount(counts.indices, minlength=n_words))) + 1
    counts.data *= idf[counts.indices]
    norms = np.sqrt(np.bincount(np.repeat(np.arange(n), np.diff(counts.indptr)), counts.data**2))
    counts.data /= np.repeat(norms, np.diff(counts.indptr))
    return counts.astype(np.float32)
