"""Who is near whom: each view as a space, nearest neighbours, distances on edges, and agreement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .agreement import Agreement, fair_lists, view_agreement
from .approximate import SEARCHES, ApproximateSpace, SearchReport, search_report, searched
from .features import DenseSpace, SparseSpace
from .function import FunctionSpace
from .gower import GowerSpace, NanEuclideanSpace
from .graphs import graph_distances
from .matrices import MetricSpace, PrecomputedSpace
from .metric import (
    is_precomputed,
    metric_label,
    metric_names,
    resolve_metrics,
    takes_categories,
    takes_missing_cells,
)
from .reliability import ViewReliability, row_reliability, view_reliability
from .remembering import RememberingSpace
from .scaling import thinned
from .spaces import CrossSpace, SeenSpace, Space

__all__ = [
    "SEARCHES",
    "Agreement",
    "ApproximateSpace",
    "CrossSpace",
    "RememberingSpace",
    "SearchReport",
    "Space",
    "ViewReliability",
    "as_space",
    "fair_lists",
    "is_precomputed",
    "metric_label",
    "metric_names",
    "resolve_metrics",
    "row_reliability",
    "search_report",
    "takes_categories",
    "takes_missing_cells",
    "view_agreement",
    "view_reliability",
]

_SPARSE_METRICS = ("manhattan", "haversine")  # beside Euclidean and cosine


def as_space(
    array: Any,
    metric: Any,
    *,
    name: str = "view",
    seen: NDArray[np.bool_] | None = None,
    sample_ids: NDArray[Any] | None = None,
    kinds: Sequence[str] | None = None,
    search: str = "exact",
) -> Space:
    """Return a view as a space with one of the metrics of `metric_names`, or with a function.

    Parameters
    ----------
    array : ndarray or CSR of shape (n, d)
        Features, or an n x n matrix for the precomputed metrics.
    metric : str or callable
        A resolved name: not ``"auto"``; or a function of two rows, called for each pair and direction.
    name : str, default="view"
        For messages.
    seen : ndarray of bool of shape (n,), default=None
        Which samples the view has seen; None: all.
    sample_ids : ndarray of shape (n,), default=None
        Names of the samples, for messages; None: their numbers.
    kinds : sequence of {"numeric", "categorical", "ordinal"}, default=None
        What each column is, for ``"gower"``; None: all are numbers.
    search : {"exact", "approximate", "auto"}, default="exact"
        How neighbours are found under Euclidean, cosine and correlation distance; by other metrics always
        exactly. "auto": approximately, if that is estimated to cost less.

    Examples
    --------
    >>> import numpy as np
    >>> space = as_space(np.array([[0.0], [1.0], [3.0], [3.5]]), "euclidean")
    >>> space.nearest(1).ravel()
    array([1, 0, 3, 2], dtype=int32)
    """
    square = is_precomputed(metric)
    if seen is not None and not seen.all():
        # A view that has seen nobody is a space of its first sample, who has no neighbours either.
        members = np.flatnonzero(seen) if seen.any() else np.zeros(1, dtype=int)
        inside = array[members][:, members] if square else array[members]
        ids = members if sample_ids is None else sample_ids[members]
        space = as_space(inside, metric, name=name, sample_ids=ids, kinds=kinds, search=search)
        return SeenSpace(space, seen, square)
    if metric == "graph_distance":
        return graph_distances(array, name)
    if square:
        return _precomputed(array, metric, name, sample_ids)
    if metric in ("euclidean", "cosine"):
        cosine = metric == "cosine"
        array = thinned(array)
        features = SparseSpace(array, cosine) if sparse.issparse(array) else DenseSpace(array, cosine)
        return searched(features, search, name)
    if sparse.issparse(array) and metric not in _SPARSE_METRICS:
        raise ValueError(
            f"The metric {metric_label(metric)!r} does not take the sparse view {name!r}; "
            "use 'euclidean', 'cosine' or 'manhattan', or make the view dense."
        )
    if metric == "correlation":
        return searched(DenseSpace(array, cosine=True, centered=True), search, name)
    return _measured(array, metric, name, None if sample_ids is None else sample_ids.tolist(), kinds)


def _measured(
    array: Any, metric: Any, name: str, ids: Sequence[Any] | None, kinds: Sequence[str] | None
) -> Space:
    """Return features as a space with a metric that is neither Euclidean nor cosine nor correlation."""
    if callable(metric):
        return FunctionSpace(array, metric, name, ids)
    if metric == "gower":
        return GowerSpace(array, kinds, name, ids)
    if metric == "nan_euclidean":
        return NanEuclideanSpace(array, name, ids)
    if metric == "haversine" and array.shape[1] != 2:
        raise ValueError(f"The metric 'haversine' takes 2 features, view {name!r} has {array.shape[1]}.")
    return MetricSpace(array, metric, name, ids)


def _without_rounding_errors(distances: NDArray[Any]) -> NDArray[Any]:
    """Set the tiny numbers to 0 that computing distances leaves below 0 and on the diagonal."""
    tiny = 1e-12 * float(distances.max(initial=0.0))
    diagonal = distances.diagonal()
    below = (distances < 0) & (distances >= -tiny)
    if not below.any() and not np.any((diagonal != 0) & (np.abs(diagonal) <= tiny)):
        return distances
    cleaned = np.where(below, 0.0, distances)
    np.fill_diagonal(cleaned, np.where(np.abs(diagonal) <= tiny, 0.0, diagonal))
    return cleaned


def _precomputed(matrix: Any, metric: str, name: str, sample_ids: NDArray[Any] | None) -> PrecomputedSpace:
    kind = "similarity" if metric == "precomputed_similarity" else "distance"
    n, m = matrix.shape
    if n != m:
        raise ValueError(
            f"View {name!r} is {n} x {m}; {metric!r} takes a square matrix, samples x samples. To pick "
            f"samples of it, say that it is one: Views(..., pairwise=[{name!r}])."
        )
    is_sparse = sparse.issparse(matrix)

    def label(i: int) -> str:
        return str(i) if sample_ids is None else repr(sample_ids.tolist()[i])

    if is_sparse and kind == "distance":
        raise ValueError(
            f"View {name!r} holds distances in a sparse matrix, where an absent entry would mean distance 0; "
            "pass them dense, or as similarities, or use fuse_graphs."
        )
    if kind == "distance":
        matrix = _without_rounding_errors(matrix)
    values = matrix.data if is_sparse else matrix
    if values.size and values.min() < 0:
        place = int(np.argmin(values))
        if is_sparse:
            i, j = int(np.searchsorted(matrix.indptr, place, side="right")) - 1, matrix.indices[place]
        else:
            i, j = divmod(place, n)
        raise ValueError(
            f"View {name!r} has the negative {kind} {values.min():.6g} between samples {label(i)} and "
            f"{label(j)}; {'similarities' if kind == 'similarity' else 'distances'} must not be negative."
        )
    diagonal = matrix.diagonal()
    if kind == "distance" and np.any(diagonal != 0):
        sample = int(np.argmax(diagonal != 0))
        raise ValueError(
            f"View {name!r} has the distance {diagonal[sample]:.6g} from sample {label(sample)} to itself, "
            "which must be 0. If these are similarities, pass metric='precomputed_similarity'."
        )
    # Nobody stores distances sparsely; and of two samples nothing can be told.
    looks_distant = not is_sparse and n > 2 and not np.any(diagonal)
    if kind == "similarity" and looks_distant and np.count_nonzero(matrix) == n * (n - 1):
        raise ValueError(
            f"View {name!r} is 0 on the diagonal and positive everywhere else, as distances are. If they "
            "are, pass metric='precomputed_distance'; if not, give samples a similarity to themselves."
        )
    return PrecomputedSpace(matrix, kind, squared=metric == "precomputed_squared_distance")  # type: ignore[arg-type]
