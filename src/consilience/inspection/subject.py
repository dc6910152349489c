"""What is inspected: a fitted fusion or a `FusionResult`, seen alike."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.exceptions import NotFittedError

from ..cluster.fusion import GraphFusion
from ..cluster.spectral import canonical_labels
from ..fusion import FusionResult
from ..graph import keep_largest, symmetrize

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Index = NDArray[np.integer[Any]]
MOST_LISTED = 20  # neighbours per sample that are read off a graph


@dataclass(frozen=True, eq=False)
class Subject:
    """A fusion and all that the diagnostics want to know of it.

    Attributes
    ----------
    fusion : FusionResult
        Of the views that took part.
    names : tuple of str
        All views, also those left out.
    heard : ndarray of bool of shape (v,)
        Which of them took part.
    lists : tuple of ndarray of shape (n, k), or None
        Each view's neighbours; None for a view that says nothing. A sample's own index: no neighbour.
    seen : ndarray of bool of shape (n, v)
        Which view has seen which sample.
    graph : csr_array of shape (n, n)
        The unified graph, symmetric.
    labels : ndarray of shape (n,), or None
        The cluster of each sample, if there are clusters.
    model : GraphFusion or None
        The fitted model, if it is one.
    """

    fusion: FusionResult
    names: tuple[str, ...]
    heard: Bools
    lists: tuple[Index | None, ...]
    seen: Bools
    graph: sparse.csr_array
    labels: NDArray[np.intp] | None
    model: GraphFusion | None

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return len(self.seen)

    @property
    def n_clusters(self) -> int:
        """Number of clusters; 1 if there are none."""
        return 1 if self.labels is None else int(self.labels.max()) + 1

    @cached_property
    def sample_names(self) -> NDArray[Any]:
        """The ids of the samples, or their numbers."""
        ids = None if self.model is None else self.model.sample_ids_
        return np.arange(self.n_samples) if ids is None else ids

    def expand(self, values: NDArray[Any], absent: float) -> NDArray[Any]:
        """Give the views that were left out their place back, on the last axis, with this value."""
        result = np.full((*values.shape[:-1], len(self.heard)), absent, dtype=values.dtype)
        result[..., self.heard] = values
        return result

    def need_labels(self) -> NDArray[np.intp]:
        """Return the clusters, or say that there are none."""
        if self.labels is None:
            raise ValueError("This needs clusters: pass labels=, one for each sample of the fused graphs.")
        return self.labels


def as_subject(fitted: Any, labels: ArrayLike | None = None) -> Subject:
    """Return what is to be inspected; a `Subject` as it is.

    Parameters
    ----------
    fitted : SimilarityGraphFusion, DistanceGraphFusion, FusionResult or Subject
        A fitted model, or what `fuse_graphs` returned.
    labels : array-like of shape (n,), default=None
        Clusters, for a `FusionResult`, which has none; or others than those of the model.
    """
    if isinstance(fitted, Subject):
        return fitted
    if isinstance(fitted, FusionResult):
        return _of_result(fitted, labels)
    if isinstance(fitted, GraphFusion):
        return _of_model(fitted, labels)
    raise TypeError(
        "Only a fitted SimilarityGraphFusion or DistanceGraphFusion, or what fuse_graphs returned, can be "
        f"inspected, not a {type(fitted).__name__}: other systems do not keep what each view says."
    )


def _of_model(model: GraphFusion, labels: ArrayLike | None) -> Subject:
    if not hasattr(model, "labels_"):
        raise NotFittedError(
            f"This {type(model).__name__} is not fitted yet: call fit with the views before you inspect it."
        )
    n, v = model.row_reliability_.shape
    seen = np.ones((n, v), dtype=bool)
    if model.fusion_.seen_by_view is not None:
        seen = np.stack([_named(one, n) for one in model.neighbors_], axis=1)
    return Subject(
        fusion=model.fusion_,
        names=tuple(map(str, model.view_names_)),
        heard=model.view_weights_ > 0,
        lists=model.neighbors_,
        seen=seen,
        graph=model.graph_,
        labels=model.labels_ if labels is None else check_labels(labels, n),
        model=model,
    )


def _of_result(result: FusionResult, labels: ArrayLike | None) -> Subject:
    if result.edges is None or result.kind is None:
        raise ValueError(
            "This result has edge values, but not where the edges are and whether they are similarities or "
            "distances: inspect a fitted model, or what fuse_graphs returned."
        )
    v = len(result.view_names)
    lists = tuple(_listed(result, i) for i in range(v))
    fused = result.fused if result.kind == "similarity" else _nearness(result.fused)
    n = result.edges.n_samples
    return Subject(
        fusion=result,
        names=result.view_names,
        heard=np.ones(v, dtype=bool),
        lists=lists,
        seen=np.stack([_named(one, n) for one in lists], axis=1),
        graph=symmetrize(result.edges.to_csr(fused)),
        labels=None if labels is None else check_labels(labels, n),
        model=None,
    )


def check_labels(labels: ArrayLike, n: int) -> NDArray[np.intp]:
    """Return labels numbered by first appearance, or say what is wrong with them."""
    given = np.asarray(labels)
    if given.shape != (n,):
        raise ValueError(f"labels has shape {given.shape}; there must be one label for each of {n} samples.")
    return canonical_labels(given)


def _named(neighbors: Index | None, n: int) -> Bools:
    """Return which samples have any neighbour in a view: the others it has not seen."""
    if neighbors is None:
        return np.zeros(n, dtype=bool)
    return np.asarray((neighbors != np.arange(n)[:, None]).any(axis=1))


def _nearness(distances: NDArray[Any]) -> NDArray[Any]:
    """Return similarities in the order of distances, positive and at most 1."""
    mean = float(distances.mean()) or 1.0
    return np.exp(-distances / mean)


def _listed(result: FusionResult, i: int) -> Index:
    """Return the nearest of each sample in one view of a fusion, as a list of fixed length."""
    edges = result.edges
    assert edges is not None
    weights = result.weights_by_view[i]
    values = np.asarray(weights if result.kind == "similarity" else _nearness(weights), dtype=np.float64)
    if result.seen_by_view is not None:
        values = np.where(result.seen_by_view[i], values, 0.0)
    kept = keep_largest(edges, values, MOST_LISTED)
    kept.eliminate_zeros()
    n, counts = edges.n_samples, np.diff(kept.indptr)
    lists = np.repeat(np.arange(n, dtype=np.int32)[:, None], max(int(counts.max(initial=1)), 1), axis=1)
    rows = np.repeat(np.arange(n), counts)
    lists[rows, np.arange(kept.nnz) - kept.indptr[rows]] = kept.indices
    return lists
