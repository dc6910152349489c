"""Orders in which samples stand, noise with planted partitions, and data sets from files."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from consilience import Views
from consilience.engines import get_engine
from consilience.io.readers import read_views
from consilience.stages import prepare
from consilience.stages.prepare import metrics_of_views

Order = NDArray[np.intp]
Labels = NDArray[np.int64]
SUFFIXES = (".mat", ".npz")


@dataclass(frozen=True, eq=False)
class LabelledSet:
    """A data set: its views, their features as they are measured, and the class of each sample from 0."""

    name: str
    views: Views
    features: tuple[NDArray[np.float64], ...]
    truth: Labels

    @property
    def n_clusters(self) -> int:
        """Number of classes."""
        return int(self.truth.max()) + 1


@dataclass(frozen=True, eq=False)
class TwoPartitions:
    """Views of noise in which two partitions, independent of each other, have left a trace."""

    features: tuple[NDArray[np.float64], ...]
    first: Labels
    second: Labels


def shuffled(n_samples: int, seed: int) -> Order:
    """Return a random order.

    Examples
    --------
    >>> sorted(shuffled(4, 0).tolist())
    [0, 1, 2, 3]
    """
    return np.random.default_rng(seed).permutation(n_samples)


def sorted_by(labels: NDArray[Any], seed: int = 0) -> Order:
    """Return an order by label, random among samples of the same label: it says the label and no more.

    Examples
    --------
    >>> labels = np.array([1, 0, 1, 0])
    >>> labels[sorted_by(labels)]
    array([0, 0, 1, 1])
    """
    order = shuffled(len(labels), seed)
    return order[np.argsort(labels[order], kind="stable")]


def misplaced(labels: Labels, share: float, seed: int = 0) -> Labels:
    """Return labels of which a share changed places with each other; the number of each stays the same.

    Examples
    --------
    >>> labels = np.repeat([0, 1], 50)
    >>> wrong = misplaced(labels, 0.2)
    >>> np.bincount(wrong), 0 < (wrong != labels).sum() <= 20
    (array([50, 50]), np.True_)
    """
    rng = np.random.default_rng(seed)
    chosen = rng.choice(len(labels), round(share * len(labels)), replace=False)
    wrong = labels.copy()
    wrong[chosen] = rng.permutation(labels[chosen])
    return wrong


def two_partitions(
    strength: float,
    *,
    n_samples: int = 300,
    n_views: int = 3,
    n_clusters: int = 5,
    n_features: int = 50,
    seed: int = 0,
) -> TwoPartitions:
    """Draw views of noise, of variance 1, with a trace of two balanced partitions drawn at random.

    Each cluster of either partition shifts its samples by a random vector of `strength` times a standard
    normal one; 0: noise alone, in which neither partition is.

    Examples
    --------
    >>> data = two_partitions(0.1, n_samples=20, n_views=2)
    >>> len(data.features), np.bincount(data.first), np.bincount(data.second)
    (2, array([4, 4, 4, 4, 4]), array([4, 4, 4, 4, 4]))
    """
    rng = np.random.default_rng(seed)
    balanced = np.arange(n_samples) * n_clusters // n_samples
    first, second = rng.permutation(balanced), rng.permutation(balanced)
    features = []
    for _ in range(n_views):
        shifts = strength * rng.normal(size=(2, n_clusters, n_features))
        noise = rng.normal(size=(n_samples, n_features))
        features.append(noise + shifts[0, first] + shifts[1, second])
    return TwoPartitions(tuple(features), first, second)


def find(folder: Path, name: str) -> Path:
    """Return the file of a data set."""
    for suffix in SUFFIXES:
        if (folder / (name + suffix)).exists():
            return folder / (name + suffix)
    raise SystemExit(f"There is no {name}.mat or {name}.npz in {folder}.")


def read_set(path: Path) -> LabelledSet:
    """Read a data set, its rows as they stand in the file."""
    found = read_views(path)
    if found.labels is None:
        raise SystemExit(f"{path.name} holds no labels, so there is nothing to sort by.")
    truth = np.unique(found.labels, return_inverse=True)[1].astype(np.int64)
    return LabelledSet(path.stem, found.views, measured(found.views), truth)


def measured(views: Views) -> tuple[NDArray[np.float64], ...]:
    """Return features whose Euclidean distances are those of our systems at scale="auto", metric="auto".

    Rows of views with the cosine metric are brought to length one.
    """
    engine = get_engine("numpy")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that features are rescaled
        metrics = metrics_of_views("auto", views, "auto", engine)
        spaces = prepare(views, metrics, "auto", engine=engine).spaces
    found = []
    for space in spaces:
        rows = space.scaling(space.rows)
        rows = (rows.toarray() if sparse.issparse(rows) else np.asarray(rows)).astype(np.float64)
        if space.metric == "cosine":
            lengths = np.linalg.norm(rows, axis=1, keepdims=True)
            rows = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
        found.append(rows)
    return tuple(found)
