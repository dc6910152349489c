"""A view with everything needed to measure distances: rows, scale, metric, and which samples it has seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics.pairwise import PAIRWISE_BOOLEAN_FUNCTIONS

from ..io.stored import stored
from ..views import DeviceArray, in_memory
from .metric import is_precomputed, metric_label
from .scaling import Scaling

_SPARSE_METRICS = ("euclidean", "cosine", "manhattan", "haversine")
_KINDS = ("numeric", "categorical", "ordinal")
_BY_FEATURE = ("euclidean", "cosine", "manhattan", "gower")  # take any of the features, whatever the rows


@stored()
@dataclass(frozen=True, eq=False)
class Space:
    """A view, ready to be placed by an engine. Only data: nothing is copied or computed here.

    Attributes
    ----------
    name : str
        The view's name, for messages.
    rows : ndarray or CSR of shape (n, d)
        Features as they were given, or an n x n matrix for the precomputed metrics. Rows of samples that the
        view has not seen are not used.
    metric : str or callable
        A resolved name: not ``"auto"``; or a function of two rows, called for each pair and direction.
    scaling : Scaling or Transform
        How the features are rescaled before distances are measured.
    seen : ndarray of bool of shape (n,), or None
        Which samples the view has seen; None: all.
    kinds : tuple of {"numeric", "categorical", "ordinal"}, or None
        What each column is, for ``"gower"``; None: all are numbers.
    sample_ids : ndarray of shape (n,), or None
        Names of the samples, for messages; None: their numbers.
    """

    name: str
    rows: Any = field(repr=False)
    metric: Any
    scaling: Any = field(default_factory=Scaling, repr=False)
    seen: NDArray[np.bool_] | None = field(default=None, repr=False)
    kinds: tuple[str, ...] | None = field(default=None, repr=False)
    sample_ids: NDArray[Any] | None = field(default=None, repr=False)

    @property
    def n_samples(self) -> int:
        """Number of samples, also those that the view has not seen."""
        return int(self.rows.shape[0])

    @property
    def kind(self) -> Literal["distance", "similarity"]:
        """What is measured between two samples."""
        return "similarity" if self.metric == "precomputed_similarity" else "distance"

    @property
    def is_pairwise(self) -> bool:
        """Whether the view is a matrix between samples."""
        return is_precomputed(self.metric)

    @property
    def is_complete(self) -> bool:
        """Whether the view has seen all samples."""
        return self.seen is None or bool(self.seen.all())

    def of_seen(self) -> Space:
        """Return the space of the samples that the view has seen, in order.

        A view that has seen no sample becomes a space of its first sample, which has no neighbours either.
        """
        if self.is_complete:
            return self
        assert self.seen is not None
        members = np.flatnonzero(self.seen) if self.seen.any() else np.zeros(1, dtype=int)
        return replace(self.of_samples(members), seen=None)

    def of_samples(self, members: NDArray[np.intp]) -> Space:
        """Return the space of some samples, in this order; the scale stays that of all."""
        return replace(
            self,
            rows=self.rows[members][:, members] if self.is_pairwise else self.rows[members],
            seen=None if self.seen is None else self.seen[members],
            sample_ids=members if self.sample_ids is None else self.sample_ids[members],
        )

    def in_memory(self) -> Space:
        """Return the space with its rows in the memory of this process."""
        return replace(self, rows=in_memory(self.rows)) if isinstance(self.rows, DeviceArray) else self

    @property
    def is_divisible(self) -> bool:
        """Whether some of the features are a view, too: there are two at least, and the metric takes any."""
        return self.metric in _BY_FEATURE and self.rows.shape[1] > 1

    def of_features(self, features: NDArray[np.intp]) -> Space:
        """Return the space of some features, in this order, on the scale that they have among all.

        Examples
        --------
        >>> Space("x", np.eye(3), "euclidean").of_features(np.array([2, 0])).rows[0]
        array([0., 1.])
        """
        return replace(
            self,
            rows=self.scaling(self.rows)[:, features],
            scaling=Scaling(),
            kinds=None if self.kinds is None else tuple(self.kinds[i] for i in features.tolist()),
        )


def label_of(ids: Sequence[Any] | NDArray[Any] | None, i: int) -> str:
    """Return how a message names sample i: by its id, or by its number.

    Examples
    --------
    >>> label_of(None, 3), label_of(["ann", "bob"], 1)
    ('3', "'bob'")
    """
    if ids is None:
        return str(i)
    label = ids[i]
    return repr(label.item() if isinstance(label, np.generic) else label)


def pair_label(ids: Sequence[Any] | NDArray[Any] | None, i: int, j: int, *, new: bool = False) -> str:
    """Return how a message names samples i and j; `new`: the first is a new sample.

    Examples
    --------
    >>> pair_label(["ann", "bob"], 0, 1), pair_label(None, 0, 1, new=True)
    ("samples 'ann' and 'bob'", 'new sample 0 and sample 1')
    """
    first = f"new sample {i} and sample" if new else f"samples {label_of(ids, i)} and"
    return f"{first} {label_of(ids, j)}"


def undefined_distance(metric: Any, name: str, pair: str) -> ValueError:
    """Return the error that a metric gives two samples no distance; `pair` names them."""
    if metric == "nan_euclidean":
        return ValueError(
            f"{pair[0].upper()}{pair[1:]} of view {name!r} have no column in common, so that they have no "
            "distance by 'nan_euclidean'; fill in cells, drop one of them, or use 'gower'."
        )
    return ValueError(
        f"The metric {metric_label(metric)!r} is undefined between {pair} of view {name!r} (rows that are "
        "constant or all zero?). Drop them, or use another metric."
    )


def as_distance(returned: Any) -> float:
    """Return what a function of two rows returned as a number; NaN if it is no distance.

    Examples
    --------
    >>> as_distance(2), as_distance(-1.0), as_distance("far")
    (2.0, nan, nan)
    """
    try:
        value = float(returned)
    except (TypeError, ValueError):
        return np.nan
    return value if 0 <= value < np.inf else np.nan


def no_distance(metric: Any, returned: Any, name: str, pair: str) -> ValueError:
    """Return the error that a function returned what is no distance; `pair` names the two samples."""
    return ValueError(
        f"The metric {metric_label(metric)!r} returned {returned!r} for {pair} of view {name!r}; it must "
        "return one number, finite and not negative."
    )


def check_features(space: Space) -> None:
    """Raise a ValueError if the metric cannot measure such features."""
    metric, d = space.metric, space.rows.shape[1]
    if sparse.issparse(space.rows) and metric not in _SPARSE_METRICS:
        raise ValueError(
            f"The metric {metric_label(metric)!r} does not take the sparse view {space.name!r}; "
            "use 'euclidean', 'cosine' or 'manhattan', or make the view dense."
        )
    if metric == "haversine" and d != 2:
        raise ValueError(f"The metric 'haversine' takes 2 features, view {space.name!r} has {d}.")


def check_range(rows: Any, metric: Any, name: str) -> None:
    """Raise a ValueError if squared Euclidean distances between rows may exceed the largest number."""
    if metric != "euclidean" or rows.dtype.itemsize < 8:  # squares of smaller numbers always fit
        return
    if isinstance(rows, DeviceArray):
        least, largest = rows.range()
    else:
        values = rows.data if sparse.issparse(rows) else rows
        least, largest = float(values.min(initial=0.0)), float(values.max(initial=0.0))
    with np.errstate(over="ignore"):
        square = np.float64(largest - least) ** 2 * rows.shape[1]
    if not np.isfinite(square):
        raise ValueError(
            f"View {name!r} has entries from {least:.3g} to {largest:.3g}, whose squared distances are too "
            "large for numbers; scale it down."
        )


def metric_parameters(x: Any, metric: str, name: str) -> dict[str, Any]:
    """Return the parameters of scikit-learn's metric for these rows, or raise a ValueError."""
    if metric in PAIRWISE_BOOLEAN_FUNCTIONS:
        if (x != 0).all() and not bool(np.all(x == x[0])):
            raise ValueError(
                f"The metric {metric!r} asks which features a sample has, and in view {name!r} all have "
                "all: no entry is 0. Turn features into 0 and 1, or use another metric."
            )
    if metric == "seuclidean":
        variance = np.var(x, axis=0, ddof=1, dtype=np.float64)
        return {"V": np.where(variance > 0, variance, 1.0)}  # constant features add nothing
    if metric == "mahalanobis":
        covariance = np.atleast_2d(np.cov(x.T))
        if np.linalg.matrix_rank(covariance, hermitian=True) < len(covariance):
            raise ValueError(
                f"The metric 'mahalanobis' is undefined for view {name!r}: its features are linearly "
                "dependent (or more than its samples). Drop some, or use another metric."
            )
        return {"VI": np.linalg.inv(covariance)}
    return {}


def gower_ranges(
    lowest: NDArray[np.float64], highest: NDArray[np.float64], kinds: Sequence[str] | None, name: str
) -> NDArray[np.float64]:
    """Return the divisors of differences for Gower's distance, or raise a ValueError.

    They are the ranges of the columns; 0 for categories, and infinity for constant columns. `lowest` and
    `highest` are those of each column's values: NaN, or inf and -inf, in a column without any.
    """
    d = len(lowest)
    kinds = ("numeric",) * d if kinds is None else tuple(kinds)
    if len(kinds) != d or not set(kinds) <= set(_KINDS):
        raise ValueError(
            f"View {name!r} has {d} columns, each of which must be one of {', '.join(map(repr, _KINDS))}, "
            f"got {kinds}."
        )
    with np.errstate(over="ignore"):
        span = highest - lowest
    too_wide = np.isposinf(span)
    if too_wide.any():
        raise ValueError(
            f"Column {int(np.argmax(too_wide))} of view {name!r} has a range that is too large for numbers; "
            "scale it down."
        )
    return np.where(np.array(kinds) == "categorical", 0.0, np.where(span > 0, span, np.inf))


def check_pairs(space: Space) -> Any:
    """Return a matrix of distances or similarities between samples, checked, rounding errors removed."""
    matrix, metric, name, kind = space.rows, space.metric, space.name, space.kind
    n, m = matrix.shape
    if n != m:
        raise ValueError(
            f"View {name!r} is {n} x {m}; {metric!r} takes a square matrix, samples x samples. To pick "
            f"samples of it, say that it is one: Views(..., pairwise=[{name!r}])."
        )
    is_sparse = sparse.issparse(matrix)
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
            i, j = int(np.searchsorted(matrix.indptr, place, side="right")) - 1, int(matrix.indices[place])
        else:
            i, j = divmod(place, n)
        ends = f"{label_of(space.sample_ids, i)} and {label_of(space.sample_ids, j)}"
        raise ValueError(
            f"View {name!r} has the negative {kind} {values.min():.6g} between samples {ends}; "
            f"{'similarities' if kind == 'similarity' else 'distances'} must not be negative."
        )
    diagonal = matrix.diagonal()
    if kind == "distance" and np.any(diagonal != 0):
        sample = int(np.argmax(diagonal != 0))
        raise ValueError(
            f"View {name!r} has the distance {diagonal[sample]:.6g} from sample "
            f"{label_of(space.sample_ids, sample)} to itself, which must be 0. If these are similarities, "
            "pass metric='precomputed_similarity'."
        )
    # Distances are not stored in sparse matrices; and two samples are too few to decide.
    looks_distant = not is_sparse and n > 2 and not np.any(diagonal)
    if kind == "similarity" and looks_distant and np.count_nonzero(matrix) == n * (n - 1):
        raise ValueError(
            f"View {name!r} is 0 on the diagonal and positive everywhere else, as distances are. If they "
            "are, pass metric='precomputed_distance'; if not, give samples a similarity to themselves."
        )
    return matrix


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


def check_graph_distances(space: Space) -> sparse.csr_array:
    """Return a sparse matrix of distances in canonical form, without a diagonal, after checking it."""
    matrix, name = space.rows, space.name
    if not sparse.issparse(matrix) or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"View {name!r} is no graph: 'graph_distance' takes a square sparse matrix. Pass dense distances "
            "with metric='precomputed_distance'."
        )
    entries = matrix.tocoo()
    off = entries.row != entries.col
    row, column, length = entries.row[off], entries.col[off], entries.data[off].astype(np.float64)
    if len(length) and length.min() < 0:
        e = int(np.argmin(length))
        raise ValueError(
            f"View {name!r} has the negative distance {length[e]:.6g} between samples {row[e]} and "
            f"{column[e]}; distances must not be negative."
        )
    graph = sparse.csr_array((length, (row, column)), shape=matrix.shape)  # keeps stored zeros
    graph.sum_duplicates()
    return graph
