"""Where new samples belong: edges to the samples of a fit, fused by what was learned there, and a vote.

Given the scales that a fit has found, what becomes of an edge depends on its own values alone. So new samples
need no new fit: their nearest samples in each view are found, the views' values on these edges become weights
by the same kernel and units as those of the fit, the same rounds of the fusion run on them with the scales
held, and the k strongest of the unified edges vote, by their weight, for the clusters they lead to.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from .. import threads
from ..graph import EdgeKernel, EdgeSet, expected_values
from ..neighbors import Space
from ..neighbors.approximate import forget, plain
from ..neighbors.kernels import mark_largest
from ..neighbors.scaling import Scaling
from ..neighbors.spaces import CompressedRows
from ..views import Views
from ..warned import warn
from .base import estimator
from .checks import check_choice
from .id_order import graph_put_back, id_order, inverse
from .incoming import NewSamples, ViewForm, forms_of, read_new_samples
from .prepared import PreparedViews, SharedViews
from .progress import Progress
from .sizes import MANY_VALUES, FitSize, view_sizes
from .spectral import canonical_labels
from .unified import Floats, UnifiedGraphClusterer

_BLOCK = 1 << 15  # new samples at a time: their edges take some ten to hundred megabytes


@dataclass(frozen=True, eq=False)
class FittedView:
    """What a fit keeps of a view that takes part, to place new samples.

    Attributes
    ----------
    number : int
        Its place among all views.
    space : Space
        The samples of the fit.
    scaling : Scaling
        What was done to its features.
    kernel : EdgeKernel
        How its values on edges become weights.
    unit : float
        What its weights were divided by.
    """

    number: int
    space: Space
    scaling: Scaling
    kernel: EdgeKernel
    unit: float


@dataclass(frozen=True, eq=False)
class Placement:
    """What a fit keeps to place new samples.

    Attributes
    ----------
    forms : tuple of ViewForm
        What all views look like.
    views : tuple of FittedView
        Those that take part.
    mask : ndarray of bool of shape (n, number of views that take part), or None
        Which of these has seen which sample.
    trust : ndarray of shape (n, number of views that take part), or None
        How much each row counts; None: 1.
    """

    forms: tuple[ViewForm, ...]
    views: tuple[FittedView, ...]
    mask: NDArray[np.bool_] | None
    trust: Floats | None


@dataclass(frozen=True, eq=False)
class NewEdges:
    """Edges from new samples to those of a fit, and what each view says of them, of shape (v, n_edges)."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: Floats
    seen: NDArray[np.bool_]

    @property
    def rows(self) -> NDArray[np.intp]:
        """The new sample that each edge starts from."""
        return np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))


@estimator
class PlacingClusterer(UnifiedGraphClusterer):
    """A clusterer with one graph on the edges of all views that can also say where new samples belong."""

    missing: Literal["complete", "plain"] = "complete"

    def _check_parameters(self, views: Views) -> None:
        super()._check_parameters(views)
        check_choice("missing", self.missing, ("complete", "plain"))

    def _completes(self) -> bool:
        return self.missing == "complete"

    def _size(self, views: Views) -> FitSize:
        return FitSize(
            n_samples=views.n_samples,
            views=view_sizes(views, self.metrics_),
            n_neighbors=self.n_neighbors_,
            n_vectors=int(self.max_clusters) if self.n_clusters == "auto" else self.n_clusters_,
            method="average",
            search=self.neighbor_search,
            n_threads=threads.count(),
            missing=views.mask is not None and not views.mask.all(),
        )

    @abstractmethod
    def _unify_edges(self, weights: Floats, seen: NDArray[np.bool_] | None, trust: Floats | None) -> Floats:
        """Return the unified similarities on edges, of the fit or new ones, from the views' (v, n_edges).

        The weights are divided by `_units`; `seen` and `trust`, of the same shape, say who judges which edge
        (None: all do) and how much that counts (None: all alike).
        """

    def _edge_kernel(self, kind: Literal["distance", "similarity"], values: Floats, seen: Any) -> EdgeKernel:
        """Return how a view's values on the edges become weights: here, similarities as in SGF."""
        return EdgeKernel() if kind == "similarity" else EdgeKernel.for_similarities(values, seen)

    def _units(self, weights: Floats, seen: Any) -> Floats:
        """Return what the weights (v, n_edges) of each view are divided by, so that views can be compared.

        Here the mean over the edges that it judges: the sum would let a view count by what it has seen.
        """
        counts = weights.shape[1] if seen is None else seen.sum(axis=1)
        return np.asarray(weights.sum(axis=1, dtype=np.float64) / counts)

    def _unify(self, weights: Floats, edges: EdgeSet, prepared: PreparedViews) -> Floats:
        return self._unify_edges(weights / self._units(weights, edges.seen)[:, None], edges.seen, None)

    def _as_if_seen(self, similarity: Floats, weights: Floats, edges: EdgeSet) -> Floats:
        assert edges.seen is not None
        comparable = weights / self._units(weights, edges.seen)[:, None]
        return self._unify_edges(expected_values(comparable, edges.seen), None, None)

    def _row_trust(self) -> Floats | None:
        """Return how much each row of the views that take part counts; None if all count alike."""
        return None

    def _weigh_edges(
        self, neighbors: list[NDArray[np.int32]], prepared: PreparedViews
    ) -> tuple[EdgeSet, Floats]:
        edges = EdgeSet.union(neighbors, prepared.mask)
        v = len(prepared.spaces)
        judged = [None] * v if edges.seen is None else list(edges.seen)
        precision = np.float32 if v * edges.n_edges > MANY_VALUES else np.float64
        stacked = np.empty((v, edges.n_edges), dtype=precision)
        kernels = []
        for space, seen, weights in zip(prepared.spaces, judged, stacked, strict=True):
            values = space.on_edges(edges)
            kernels.append(self._edge_kernel(space.kind, values, seen))
            kernels[-1](values, seen, out=weights)
            forget(space)
        self._fitted_kernels, self._fitted_units = tuple(kernels), self._units(stacked, edges.seen)
        self._fitted_trust = self._row_trust()
        return edges, stacked

    def _keep_views(self, prepared: PreparedViews) -> None:
        self._fitted_views = _fitted_views(prepared, self._fitted_kernels, self._fitted_units)
        self._fitted_mask = prepared.mask
        del self._fitted_kernels, self._fitted_units

    def _fit_checked(self, views: Views, shared: SharedViews | None) -> Progress:
        order = id_order(views)
        if order is not None:
            views = views[order]
            shared = None if shared is None else shared.in_id_order
        progress = super()._fit_checked(views, shared)
        self._placement = Placement(
            forms=forms_of(views, self.metrics_),
            views=self._fitted_views,
            mask=self._fitted_mask,
            trust=self._fitted_trust,
        )
        del self._fitted_views, self._fitted_mask, self._fitted_trust
        if order is not None:
            self._put_back(order)
        return progress

    def _put_back(self, order: NDArray[np.intp]) -> None:
        """Bring what was found in the order of the ids into the order in which the samples came."""
        places = inverse(order)
        self.labels_ = canonical_labels(self.labels_[places])
        self.embedding_ = self.embedding_[places]
        self.graph_ = graph_put_back(self.graph_, order)
        kept = self._placement
        self._placement = replace(
            kept,
            views=tuple(replace(view, space=view.space.permuted(places)) for view in kept.views),
            mask=None if kept.mask is None else kept.mask[places],
            trust=None if kept.trust is None else kept.trust[places],
        )

    def predict(self, X: Any) -> NDArray[np.intp]:
        """Return the cluster of each of some new samples.

        Parameters
        ----------
        X : dict, Views, list, DataFrame, array, AnnData or MuData
            New samples with any of the views of the fit: by name, or a list of all of them in order, with
            None for those that are not there. A sample may lack views that others have, in the same ways as
            at fit. A view that is a matrix between samples has a row per new sample, of its distances or
            similarities to the samples of the fit.

        Returns
        -------
        ndarray of shape (n_new,)
            Clusters, as in `labels_`.

        See Also
        --------
        predict_proba : How sure that is.

        Examples
        --------
        >>> from consilience import DistanceGraphFusion, load_digits_views
        >>> views, _ = load_digits_views(return_X_y=True)
        >>> old = {name: array[:1500] for name, array in views.items()}
        >>> new = {name: views[name][1500:] for name in list(views)[:2]}
        >>> model = DistanceGraphFusion(n_clusters=10, random_state=0).fit(old)
        >>> model.predict(new).shape
        (297,)
        """
        labels: NDArray[np.intp] = self.predict_proba(X).argmax(axis=1)
        return labels

    def predict_proba(self, X: Any) -> Floats:
        """Return how much of the weight of a new sample's edges leads to each cluster.

        A sample that is the same as some of the fit in every view that it has takes what these have.

        Parameters
        ----------
        X : as for `predict`
            New samples.

        Returns
        -------
        ndarray of shape (n_new, number of clusters)
            Rows sum to 1.
        """
        check_is_fitted(self)
        new = read_new_samples(self, X, self._placement.forms)
        numbers = [view.number for view in self._placement.views]
        lost = np.flatnonzero(~new.mask[:, numbers].any(axis=1))
        if lost.size:
            names = ", ".join(repr(self._placement.forms[v].name) for v in numbers)
            raise ValueError(
                f"New {new.label(int(lost[0]))} has none of the views that the fit listens to ({names}); "
                f"{lost.size} such in all."
            )
        with threads.limit(self.n_jobs):
            votes = [
                self._vote(new, a, min(a + _BLOCK, len(new.mask))) for a in range(0, len(new.mask), _BLOCK)
            ]
        probabilities = np.concatenate(votes)
        total = probabilities.sum(axis=1, keepdims=True)
        alone = total.ravel() == 0
        if alone.any():
            warn(
                f"{int(alone.sum())} new samples have no edge to any sample of the fit: they get each "
                "cluster's share of the samples as its probability."
            )
            probabilities[alone] = np.bincount(self.labels_, minlength=probabilities.shape[1])
            total = probabilities.sum(axis=1, keepdims=True)
        return np.asarray(probabilities / total)

    def _vote(self, new: NewSamples, start: int, stop: int) -> Floats:
        """Return how much weight leads from some of the new samples to each cluster."""
        edges = _edges_to_fit(self._placement, new, start, stop, self.n_neighbors_)
        weights = np.stack(
            [
                view.kernel(values, seen) / view.unit
                for view, values, seen in zip(self._placement.views, edges.values, edges.seen, strict=True)
            ]
        )
        trust = None if self._placement.trust is None else self._placement.trust[edges.indices].T * edges.seen
        unified = self._unify_edges(weights, edges.seen, trust)
        kept = np.zeros(len(unified), dtype=bool)
        mark_largest(edges.indptr, unified, self.n_neighbors_, 0, stop - start, kept)
        rows, clusters = edges.rows, self.labels_[edges.indices]
        same = _coinciding(self._placement, edges)
        found = np.zeros(stop - start, dtype=bool)
        found[rows[same]] = True
        votes = np.where(found[rows], same, np.where(kept, unified, 0.0))
        c = int(self.labels_.max()) + 1
        counted = np.bincount(rows * c + clusters, weights=votes, minlength=(stop - start) * c)
        return np.asarray(counted, dtype=np.float64).reshape(stop - start, c)


def _fitted_views(
    prepared: PreparedViews, kernels: tuple[EdgeKernel, ...], units: Floats
) -> tuple[FittedView, ...]:
    """Return what is kept of each view that takes part."""
    spaces = [plain(space) for space in prepared.spaces]
    numbers = np.flatnonzero(prepared.taking_part).tolist()
    scalings = prepared.scalings or (Scaling(),) * len(spaces)
    parts = zip(numbers, spaces, scalings, kernels, units.tolist(), strict=True)
    return tuple(FittedView(*part) for part in parts)


def _edges_to_fit(placement: Placement, new: NewSamples, start: int, stop: int, k: int) -> NewEdges:
    """Unite each view's neighbours of new samples, and ask each view about all of these edges."""
    m = stop - start
    has = new.mask[start:stop]
    beside: list[Any] = []
    lists = []
    for view in placement.views:
        rows = np.flatnonzero(has[:, view.number])
        near = np.full((m, k), -1, dtype=np.int32)
        beside.append(None)
        if len(rows):
            beside[-1] = view.space.beside(view.scaling(new.arrays[view.number][start + rows]))
            near[rows] = beside[-1].nearest(k)
        lists.append(near)
    merged = np.sort(np.concatenate(lists, axis=1), axis=1)
    keep = merged >= 0
    keep[:, 1:] &= merged[:, 1:] != merged[:, :-1]
    indptr = np.concatenate([[0], np.cumsum(keep.sum(axis=1))])
    indices = merged[keep]
    ends = np.repeat(np.arange(m), np.diff(indptr))
    values = np.zeros((len(placement.views), len(indices)))
    seen = np.zeros(values.shape, dtype=bool)
    for v, (view, space) in enumerate(zip(placement.views, beside, strict=True)):
        if space is None:
            continue
        inside = has[ends, view.number]
        if not inside.any():
            continue
        counts = np.bincount(ends[inside], minlength=m)[has[:, view.number]]
        own = CompressedRows(np.concatenate([[0], np.cumsum(counts)]), indices[inside])
        values[v, inside] = space.on_edges(own)
        seen[v] = inside if placement.mask is None else inside & placement.mask[indices, v]
    return NewEdges(indptr, indices, values, seen)


def _coinciding(placement: Placement, edges: NewEdges) -> NDArray[np.bool_]:
    """Say which edges lead to a sample that is the same in every view that has seen both ends."""
    measures = np.array([view.space.kind == "distance" for view in placement.views])
    seen = edges.seen[measures]
    same = np.where(seen, edges.values[measures] == 0, True).all(axis=0)
    return np.asarray(same & seen.any(axis=0) & ~edges.seen[~measures].any(axis=0))
