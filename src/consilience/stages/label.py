"""Label: clusters from an embedding or a graph. A label assigner is an object with its own settings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from scipy import linalg

from ..engines import Engine, get_engine, threads
from ..engines.embedding import unit_rows
from ..io.stored import stored
from ..run.messages import Advice, Setting, check_count, check_number, is_positive_integer, warn
from .embed import SpectralEmbedding, check_count_of, spectral_embedding
from .leiden import leiden_communities, require_igraph

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]

# (number of samples, number of restarts below it): the schedule of the paper.
_RESTARTS = ((5000, 30), (10_000, 20), (30_000, 5), (float("inf"), 3))


class LabelAssigner(ABC):
    """Finds clusters in the embedding of a graph, or in the graph itself.

    To write one, subclass it as a frozen dataclass of its settings and implement `assign`.
    """

    needs: ClassVar[Literal["embedding", "graph"]] = "embedding"

    def check(self) -> None:  # noqa: B027 - without settings there is nothing to check
        """Raise a ValueError for a setting that is not valid: before the work, not after it."""

    @abstractmethod
    def assign(
        self, given: Any, n_clusters: int, random_state: np.random.RandomState, engine: Engine
    ) -> npt.ArrayLike:
        """Return a label for each sample.

        Parameters
        ----------
        given : SpectralEmbedding, or csr_array of shape (n, n)
            An embedding or a graph, as `needs` says. The vectors of an embedding are a handle of the engine.
        n_clusters : int
            How many clusters are wanted; those that read a graph may find another number.
        random_state : RandomState
            The only source of random numbers.
        engine : Engine
            The engine that computes.
        """


@stored()
@dataclass(frozen=True)
class KMeansLabels(LabelAssigner):
    """k-means on the rows of the embedding, scaled to unit length.

    Parameters
    ----------
    n_init : int or "auto", default=30
        Restarts. "auto" is the schedule of the paper: 30 for n < 5000, 20 for n < 10,000, 5 for
        n < 30,000 and 3 for more. With more than 50,000 samples, restarts run on about 20,000 of them, and
        the best centres are then improved with all samples.
    max_iter : int, default=1000
        Largest number of iterations of a restart.

    Examples
    --------
    >>> from consilience import DistanceGraphFusion, KMeansLabels
    >>> DistanceGraphFusion(n_clusters=3, assign_labels=KMeansLabels(n_init=10))
    DistanceGraphFusion(assign_labels=KMeansLabels(n_init=10, max_iter=1000), n_clusters=3)
    """

    n_init: int | Literal["auto"] = 30
    max_iter: int = 1000

    def check(self) -> None:
        """Raise a ValueError for a setting that is not valid."""
        if self.n_init != "auto" and not is_positive_integer(self.n_init):
            raise ValueError(f"n_init must be 'auto' or a positive integer, got {self.n_init!r}.")
        check_count("max_iter", self.max_iter)

    def assign(
        self,
        given: SpectralEmbedding,
        n_clusters: int,
        random_state: np.random.RandomState,
        engine: Engine,
        unit: bool = True,
    ) -> IntArray:
        """Return the labels that k-means finds; `unit`: whether to scale rows to unit length."""
        n = engine.n_rows(given.vectors)
        n_init = next(r for limit, r in _RESTARTS if n < limit) if self.n_init == "auto" else self.n_init
        found = engine.kmeans(
            given.vectors,
            n_clusters,
            n_init=int(n_init),
            max_iter=int(self.max_iter),
            unit=unit,
            random_state=random_state,
        )
        return found.labels


@stored()
@dataclass(frozen=True)
class ClusterQRLabels(LabelAssigner):
    """A QR decomposition of the eigenvectors with column pivoting: no iteration, nothing random.

    It finds the rows of the samples that are farthest apart and makes them orthogonal. Each sample then goes
    to the one of them that is most parallel to its own row.

    References
    ----------
    A. Damle, V. Minden, L. Ying, "Simple, direct and efficient multi-way spectral clustering", Information
    and Inference, 2019.
    """

    def assign(
        self, given: SpectralEmbedding, n_clusters: int, random_state: Any, engine: Engine
    ) -> IntArray:
        """Return the labels that the decomposition gives."""
        return _cluster_qr(np.asarray(engine.fetch(given.vectors), dtype=np.float64), n_clusters)


@stored()
@dataclass(frozen=True)
class LeidenLabels(LabelAssigner):
    """Communities of the graph itself by modularity (Leiden); needs igraph, the extra ``leiden``.

    The number of clusters follows from `resolution`.

    Parameters
    ----------
    resolution : float, default=1.0
        Above 0: the larger, the more clusters.
    """

    resolution: float = 1.0
    needs: ClassVar[Literal["embedding", "graph"]] = "graph"

    def check(self) -> None:
        """Raise a ValueError if igraph is not installed, or the resolution is not valid."""
        check_number("resolution", self.resolution, strictly=True)
        require_igraph()

    def assign(self, given: Any, n_clusters: int, random_state: Any, engine: Engine) -> IntArray:
        """Return the communities that Leiden finds."""
        return leiden_communities(given, self.resolution, random_state=random_state)


ASSIGNERS: dict[str, type[LabelAssigner]] = {
    "kmeans": KMeansLabels,
    "cluster_qr": ClusterQRLabels,
    "leiden": LeidenLabels,
}


def resolve_assigner(assign_labels: Any) -> LabelAssigner:
    """Return the label assigner of a name, or the one that was given; its settings are not checked.

    Examples
    --------
    >>> resolve_assigner("kmeans")
    KMeansLabels(n_init=30, max_iter=1000)
    """
    if isinstance(assign_labels, str) and assign_labels in ASSIGNERS:
        return ASSIGNERS[assign_labels]()
    if isinstance(assign_labels, LabelAssigner):
        return assign_labels
    names = ", ".join(map(repr, ASSIGNERS))
    raise ValueError(
        f"Unknown assign_labels {assign_labels!r}; known: {names}, or an object such as "
        "KMeansLabels(n_init=10)."
    )


@stored()
@dataclass(frozen=True, eq=False)
class Partition:
    """The cluster of each sample (n,), numbered by first appearance."""

    labels: IntArray

    @property
    def n_clusters(self) -> int:
        """Number of clusters that have samples."""
        return int(self.labels.max()) + 1


def label(
    given: Any,
    n_clusters: int,
    assigner: LabelAssigner,
    random_state: np.random.RandomState,
    *,
    engine: Engine,
) -> Partition:
    """Find clusters in an embedding or a graph.

    Parameters
    ----------
    given : SpectralEmbedding or graph
        What the assigner needs.
    n_clusters : int
        How many clusters are wanted.
    assigner : LabelAssigner
        The label assigner that is used.
    random_state : RandomState
        The only source of random numbers.
    engine : Engine
        The engine that computes.

    Returns
    -------
    Partition
    """
    given = engine.fetch(given) if assigner.needs == "graph" else given
    labels = canonical_labels(assigner.assign(given, n_clusters, random_state, engine))
    if assigner.needs == "embedding":
        warn_if_empty(labels, n_clusters)
    return Partition(labels)


def canonical_labels(labels: npt.ArrayLike) -> IntArray:
    """Return the same partition with labels numbered by first appearance.

    Examples
    --------
    >>> canonical_labels([7, 7, 2, 9, 2])
    array([0, 0, 1, 2, 1])
    """
    _, first, inverse = np.unique(np.asarray(labels), return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[inverse], dtype=np.intp)


def warn_if_empty(labels: IntArray, n_clusters: int) -> None:
    """Warn if there are fewer clusters than were asked for."""
    if labels.max() + 1 < n_clusters:
        fact = f"Only {labels.max() + 1} of {n_clusters} clusters have samples: "
        warn(Advice(fact, "the embedding has no more distinct rows. Lower ", Setting("n_clusters"), "."))


def assign_kmeans(
    embedding: SpectralEmbedding | npt.ArrayLike,
    n_clusters: int,
    *,
    n_init: int | Literal["auto"] = 30,
    max_iter: int = 1000,
    scale_rows: bool = True,
    random_state: Any = None,
    engine: Any = "numba",
) -> IntArray:
    """Cluster the unit rows of an embedding by k-means.

    Parameters
    ----------
    embedding : SpectralEmbedding or array-like of shape (n, c)
        Rows of zeros are not fitted; they go to the nearest centre afterwards.
    n_clusters : int
        Number of clusters, from 1 to n.
    n_init, max_iter
        As in `KMeansLabels`.
    scale_rows : bool, default=True
        Whether to scale the rows to unit length first.
    random_state : int, RandomState or None
        Draws the starting centres.
    engine : str or Engine, default="numba"
        The engine that computes.

    Returns
    -------
    ndarray of shape (n,), int
        Labels numbered by first appearance.

    Examples
    --------
    >>> assign_kmeans([[1.0, 0.0], [0.0, 2.0], [3.0, 0.1]], 2, random_state=0)
    array([0, 1, 0])
    """
    engine = get_engine(engine)
    given = np.asarray(embedding.vectors if isinstance(embedding, SpectralEmbedding) else embedding)
    check_count_of("n_clusters", n_clusters, len(given))
    assigner = KMeansLabels(n_init, max_iter)
    assigner.check()
    none = np.empty(0)
    shell = SpectralEmbedding(engine.adopt(given), none, none, 1, 0)
    labels = canonical_labels(assigner.assign(shell, n_clusters, random_state, engine, unit=scale_rows))
    warn_if_empty(labels, n_clusters)
    return labels


def assign_cluster_qr(embedding: SpectralEmbedding | npt.ArrayLike, n_clusters: int) -> IntArray:
    """Find clusters in the eigenvectors themselves; see `ClusterQRLabels`.

    Parameters
    ----------
    embedding : SpectralEmbedding or array-like of shape (n, c)
        Orthonormal columns. Rows of zeros are not used; they go to the nearest cluster, by the centres of the
        unit rows, afterwards.
    n_clusters : int
        Number of clusters, the number of columns.

    Returns
    -------
    ndarray of shape (n,), int
        Labels numbered by first appearance.

    Examples
    --------
    >>> assign_cluster_qr([[0.8, 0.0], [0.0, 1.0], [0.6, 0.0]], 2)
    array([0, 1, 0])
    """
    given = embedding.vectors if isinstance(embedding, SpectralEmbedding) else embedding
    labels = canonical_labels(_cluster_qr(np.asarray(given, dtype=np.float64), n_clusters))
    warn_if_empty(labels, n_clusters)
    return labels


def _cluster_qr(vectors: FloatArray, n_clusters: int) -> IntArray:
    check_count_of("n_clusters", n_clusters, len(vectors))
    if vectors.shape[1] != n_clusters:
        raise ValueError(f"There must be {n_clusters} columns, one for each cluster; got {vectors.shape[1]}.")
    represented = vectors.any(axis=1)
    labels = np.zeros(len(vectors), dtype=np.intp)
    if not represented.any():
        return labels
    rows = vectors[represented]
    with threads.libraries_on_one_thread():
        pivots = linalg.qr(rows.T, mode="r", pivoting=True)[1][:n_clusters]
        left, _, right = linalg.svd(rows[pivots].T, full_matrices=False)
        labels[represented] = np.abs(rows @ (left @ right)).argmax(axis=1)
    if not represented.all():
        unit, which = unit_rows(rows), np.unique(labels[represented])
        centers = [unit[labels[represented] == c].mean(axis=0) for c in which]
        # Rows of zeros are as near to a centre as the centre is to 0.
        labels[~represented] = which[np.linalg.norm(centers, axis=1).argmin()]
    return labels


@dataclass(frozen=True, eq=False)
class SpectralClustering:
    """Labels (n,) in canonical order, and the embedding they come from."""

    labels: IntArray
    embedding: SpectralEmbedding


def spectral_clustering(
    graph: Any,
    n_clusters: int,
    *,
    n_init: int | Literal["auto"] = 30,
    random_state: Any = None,
    engine: Any = "numba",
) -> SpectralClustering:
    """Cluster a graph: `spectral_embedding` with as many vectors as clusters, then `assign_kmeans`.

    Examples
    --------
    >>> import numpy as np
    >>> two_pairs = np.array([[0, 1, 0, 0.1], [1, 0, 0.1, 0], [0, 0.1, 0, 1], [0.1, 0, 1, 0]])
    >>> spectral_clustering(two_pairs, 2, random_state=0).labels
    array([0, 0, 1, 1])
    """
    embedding = spectral_embedding(graph, n_clusters, random_state=random_state, engine=engine)
    labels = assign_kmeans(embedding, n_clusters, n_init=n_init, random_state=random_state, engine=engine)
    return SpectralClustering(labels, embedding)
