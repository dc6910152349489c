"""What is inspected: a fitted fusion or a `FusionResult`, in one form."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.exceptions import NotFittedError

from ..agreement import Agreement, view_agreement
from ..agreement.reliability import COPY
from ..engines import Engine, get_engine
from ..fusion import FusionResult
from ..graphs import EdgeSet, symmetrize
from ..models.fusion import DistanceGraphFusion, GraphFusion, SimilarityGraphFusion
from ..models.given import views_for
from ..stages.label import canonical_labels
from ..stages.prepare import expand
from ..views import Views

NOT_THESE = (
    "These are not the views that the model was fitted to: their names, shapes or values differ. Pass the "
    "same, in the same order, or fit again."
)
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Index = NDArray[np.integer[Any]]
MOST_LISTED = 20  # neighbours per sample that are read off a graph
_SHARED = 0.95  # a view that weighs more than this share of all edges counts as weighing all


@dataclass(frozen=True, eq=False)
class Subject:
    """A fusion and all that the diagnostics want to know of it.

    Attributes
    ----------
    fusion : FusionResult
        Of the views that were kept.
    names : tuple of str
        All views, also those left out.
    kept : ndarray of bool of shape (v,)
        Which of them were kept.
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
    sample_names : ndarray of shape (n,)
        The ids of the samples, or their numbers.
    engine : Engine
        The engine that counts on rows and edges.
    """

    fusion: FusionResult
    names: tuple[str, ...]
    kept: Bools
    lists: tuple[Index | None, ...]
    seen: Bools
    graph: sparse.csr_array
    labels: NDArray[np.intp] | None
    model: GraphFusion | None
    sample_names: NDArray[Any]
    engine: Engine

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return len(self.seen)

    @property
    def n_clusters(self) -> int:
        """Number of clusters; 1 if there are none."""
        return 1 if self.labels is None else int(self.labels.max()) + 1

    @property
    def n_wanted(self) -> int:
        """Number of clusters asked for, chosen or found by the model, or of the labels given."""
        if self.model is not None and self.labels is self.model.labels_:
            return self.model.n_clusters_
        return self.n_clusters

    @cached_property
    def agreement(self) -> Agreement | None:
        """How far the views agree that say anything; None if none does."""
        if self.model is not None and self.model.agreement_ is not None:
            return self.model.agreement_
        speaking = [one is not None for one in self.lists]
        if not any(speaking):
            return None
        seen = self.seen[:, speaking]
        lists = [one for one in self.lists if one is not None]
        return view_agreement(lists, None if seen.all() else seen, engine=self.engine)

    @cached_property
    def copies(self) -> Bools:
        """Which views are copies of each other, or nearly (v, v); each is of itself."""
        v = len(self.names)
        copies = np.eye(v, dtype=bool)
        if self.agreement is not None:
            speaking = np.array([one is not None for one in self.lists])
            copies[np.ix_(speaking, speaking)] |= np.nan_to_num(self.agreement.shares) > COPY
        return copies

    def expand(self, values: NDArray[Any], absent: float) -> NDArray[Any]:
        """Give the views that were left out their place back, on the last axis, with this value."""
        return expand(values, self.kept, absent)

    def need_labels(self) -> NDArray[np.intp]:
        """Return the clusters, or say that there are none."""
        if self.labels is None:
            raise ValueError("This needs clusters: pass labels=, one for each sample of the fused graphs.")
        return self.labels


def as_subject(
    fitted: Any, labels: ArrayLike | None = None, sample_names: ArrayLike | None = None
) -> Subject:
    """Return what is to be inspected; a `Subject` as it is.

    Parameters
    ----------
    fitted : SimilarityGraphFusion, DistanceGraphFusion, FusionResult or Subject
        A fitted model, or what `fuse_graphs` returned.
    labels : array-like of shape (n,), default=None
        Clusters, for a `FusionResult`, which has none; or others than those of the model.
    sample_names : array-like of shape (n,), default=None
        Names of the samples; None: the ids of the data, or their numbers.
    """
    if isinstance(fitted, Subject):
        return fitted
    if isinstance(fitted, FusionResult):
        return _of_result(fitted, labels, sample_names)
    if isinstance(fitted, SimilarityGraphFusion | DistanceGraphFusion) or hasattr(fitted, "fusion_"):
        return _of_model(fitted, labels, sample_names)
    raise TypeError(
        "Only a fitted SimilarityGraphFusion or DistanceGraphFusion, or what fuse_graphs returned, can be "
        f"inspected, not {type(fitted).__name__}: it does not keep what is consistent and inconsistent in "
        "each view (`fusion_`)."
    )


def _of_model(model: GraphFusion, labels: ArrayLike | None, names: ArrayLike | None) -> Subject:
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
        kept=model.views_.kept,
        lists=model.neighbors_,
        seen=seen,
        graph=model.graph_,
        labels=model.labels_ if labels is None else check_labels(labels, n),
        model=model,
        sample_names=_check_names(model.sample_ids_ if names is None else names, n),
        engine=get_engine(model.params_["engine"]),
    )


def _of_result(result: FusionResult, labels: ArrayLike | None, names: ArrayLike | None) -> Subject:
    if result.edges is None or result.kind is None:
        raise ValueError(
            "This result has edge values, but not where the edges are and whether they are similarities or "
            "distances: inspect a fitted model, or what fuse_graphs returned."
        )
    v, engine = len(result.view_names), get_engine("numba")
    lists = _lists(result, engine)
    fused = result.fused if result.kind == "similarity" else np.exp(-result.fused / result.fused.mean())
    n = result.edges.n_samples
    return Subject(
        fusion=result,
        names=result.view_names,
        kept=np.ones(v, dtype=bool),
        lists=lists,
        seen=_seen(result),
        graph=symmetrize(result.edges.to_csr(fused)),
        labels=None if labels is None else check_labels(labels, n),
        model=None,
        sample_names=_check_names(names, n),
        engine=engine,
    )


def views_of(model: GraphFusion, views: Any) -> Views:
    """Return data as the views that a model takes them for."""
    return views_for(model.params_["metric"], views)


def check_labels(labels: ArrayLike, n: int, name: str = "labels") -> NDArray[np.intp]:
    """Return labels numbered by first appearance, or say what is wrong with them."""
    given = np.asarray(labels)
    if given.shape != (n,):
        raise ValueError(f"{name} has shape {given.shape}; there must be one label for each of {n} samples.")
    return canonical_labels(given)


def _check_names(names: ArrayLike | None, n: int) -> NDArray[Any]:
    """Return names of the samples, or their numbers."""
    if names is None:
        return np.arange(n)
    given = np.asarray(names)
    if given.shape != (n,):
        raise ValueError(f"sample_names has shape {given.shape}; there must be one for each of {n} samples.")
    return given


def _seen(result: FusionResult) -> Bools:
    """Return which view has seen which sample: it judges an edge of it."""
    assert result.edges is not None
    n, v = result.edges.n_samples, len(result.view_names)
    if result.seen_by_view is None:
        return np.ones((n, v), dtype=bool)
    seen = np.zeros((n, v), dtype=bool)
    for i, judged in enumerate(result.seen_by_view):
        seen[result.edges.rows[judged], i] = seen[result.edges.indices[judged], i] = True
    return seen


def _named(neighbors: Index | None, n: int) -> Bools:
    """Return which samples have any neighbour in a view: the others it has not seen."""
    if neighbors is None:
        return np.zeros(n, dtype=bool)
    return np.asarray((neighbors != np.arange(n)[:, None]).any(axis=1))


def _similarities(result: FusionResult) -> NDArray[np.float64]:
    """Return what each view says on the edges as similarities (v, n_edges), 0 where it says nothing.

    Of distances these are in the same order, from 0 to 1; a view's largest is what absent edges are filled
    with, and says nothing.
    """
    weights = np.asarray(result.weights_by_view, dtype=np.float64)
    if result.kind == "distance":
        farthest = weights.max(axis=1, keepdims=True)
        weights = np.where(weights < farthest, np.exp(-weights / (weights.mean(axis=1, keepdims=True))), 0.0)
    return weights if result.seen_by_view is None else np.where(result.seen_by_view, weights, 0.0)


def _lists(result: FusionResult, engine: Engine) -> tuple[Index | None, ...]:
    """Return the nearest of each sample in each view of a fusion, as lists of fixed length.

    None if all views weigh the same edges, and these are few: then the neighbours were chosen before, the
    same for all views, and that they agree says nothing.
    """
    assert result.edges is not None
    similarities, n = _similarities(result), result.edges.n_samples
    shared = bool(((similarities > 0).mean(axis=1) > _SHARED).all())
    if shared and len(similarities) > 1 and result.edges.n_edges < n * (n - 1) / 2:
        return (None,) * len(similarities)
    return tuple(_listed(result.edges, values, engine) for values in similarities)


def _listed(edges: EdgeSet, values: NDArray[np.float64], engine: Engine) -> Index:
    """Return the nearest of each sample by these similarities."""
    kept = engine.fetch(engine.keep_largest(engine.adopt(edges), engine.adopt(values), MOST_LISTED))
    kept.eliminate_zeros()
    n, counts = edges.n_samples, np.diff(kept.indptr)
    lists = np.repeat(np.arange(n, dtype=np.int32)[:, None], max(int(counts.max(initial=1)), 1), axis=1)
    rows = np.repeat(np.arange(n), counts)
    lists[rows, np.arange(kept.nnz) - kept.indptr[rows]] = kept.indices
    return lists
