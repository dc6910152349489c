r"""Features on a common scale: all of them, or only those that dominate a view.

Euclidean distance adds up the features' squares, so a feature counts by its variance. If a few features have
nearly all of the variance, the others have no effect; the number of features that really count is

.. math:: e = \Big(\sum_f \sigma_f^2\Big)^2 \Big/ \sum_f \sigma_f^4,

d for d features of equal variance, 1 if one has all of it. Variances that differ somewhat are not changed:
that some features vary more is mostly information. Two cases are changed:

A few features, at most half of them, *stand apart* if their standard deviations are ten times that of the
next one, or more: another unit, a stray id, a broken sensor. They are rescaled to the mean variance of the
others.

A view is *dominated*, with or without features that stand apart, if fewer than 10 features count, and fewer
than about an eighth, e < 1 + (d - 1) / 8: the variances are spread over orders of magnitude. All features are
brought to unit variance.

Where the variances fall from column to column nothing is rescaled: these are principal components or similar
features, whose variances do not depend on arbitrary units.

Under the cosine metric a feature counts by its mean square instead. There only features that stand apart
are rescaled: a few words are always much more frequent than the rest. But a word that is used ten times does
not say ten times as much. Of views of *counts*, mostly zeros and otherwise whole numbers (in some unit), the
square roots are taken, which makes the cosine the Hellinger affinity of two texts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..io.stored import stored
from ..views import DeviceArray, in_memory

if TYPE_CHECKING:
    from ..engines import Engine

FEW_FEATURES = 10  # a view in which fewer features than this have nearly all of the variance is dominated,
SHARE_OF_FEATURES = 1 / 8  # if they are fewer than this share, too
SPARSE_SHARE = 0.8  # a non-negative view with more zeros than this is taken for counts
STANDS_APART = 10.0  # ratio of standard deviations
FEW_ENTRIES = 0.1  # share of entries that are not 0, in views that are better stored without zeros
_AFFECTED = ("euclidean", "manhattan")  # other metrics need no common scale, or have their own
_BLOCK = 1 << 18  # entries that are counted or computed together, so that no large temporary is made

Vector = NDArray[np.float64]
Seen = NDArray[np.bool_] | None


@dataclass(frozen=True, eq=False)
class Columns:
    """Statistics of the columns of a view, over the rows that were read.

    Attributes
    ----------
    n_rows : int
        The number of those rows.
    lowest, highest, mean, variance : ndarray of shape (d,)
        Of each column; NaN if it holds NaN.
    n_nonzero : ndarray of int of shape (d,)
        How many entries of each column are not 0.
    """

    n_rows: int
    lowest: NDArray[np.float64]
    highest: NDArray[np.float64]
    mean: NDArray[np.float64]
    variance: NDArray[np.float64]
    n_nonzero: NDArray[np.int64]

    @classmethod
    def of(cls, x: NDArray[Any]) -> Columns:
        """Compute them for all columns at once; this needs memory for a few copies of the view.

        Examples
        --------
        >>> columns = Columns.of(np.array([[0.0, 1.0], [2.0, 1.0]]))
        >>> columns.mean.tolist(), columns.variance.tolist(), columns.n_nonzero.tolist()
        ([1.0, 1.0], [1.0, 0.0], [1, 2])
        """
        with np.errstate(over="ignore", invalid="ignore"):
            return cls(
                len(x),
                x.min(axis=0).astype(np.float64),
                x.max(axis=0).astype(np.float64),
                x.mean(axis=0, dtype=np.float64),
                x.var(axis=0, dtype=np.float64),
                np.count_nonzero(x, axis=0),
            )


@stored()
@dataclass(frozen=True, eq=False)
class Rescaling:
    """How a view will be rescaled.

    Attributes
    ----------
    features : ndarray of int
        The features that are rescaled, the largest first.
    factors : ndarray of shape (d,)
        The factors by which the features are multiplied.
    all_features : bool
        Whether all features are brought to unit variance; otherwise `features` stand apart.
    n_effective : float
        The number of features that really count.
    roots : bool
        Whether square roots of the view are taken, except of features that stand apart.
    """

    features: NDArray[np.intp]
    factors: Vector
    all_features: bool
    n_effective: float
    roots: bool = False


@stored()
@dataclass(frozen=True, eq=False)
class Scaling:
    """How the features of a view, and those of other samples, are rescaled.

    Attributes
    ----------
    plan : Rescaling or None
        The plan for a view that some features dominate.
    center, factors : ndarray of shape (d,), or None
        What is subtracted from the features, and the factors by which they are multiplied, to standardise
        them.
    """

    plan: Rescaling | None = None
    center: Vector | None = None
    factors: Vector | None = None

    @classmethod
    def standard(cls, array: Any, seen: Seen, engine: Engine) -> Scaling:
        """Return the scaling to unit variance, and for dense rows zero mean; constant features become 0."""
        if sparse.issparse(array):
            return cls(factors=_inverse(np.sqrt(_variances(array, seen, engine))))
        columns = engine.describe(array, seen)
        if np.isnan(columns.mean).any():  # empty cells do not count for mean and variance
            known = np.ma.masked_invalid(array if seen is None else array[seen])
            center, spread = known.mean(axis=0, dtype=np.float64), known.std(axis=0, dtype=np.float64)
            return cls(center=np.ma.filled(center, 0.0), factors=_inverse(np.ma.filled(spread, 0.0)))
        return cls(center=columns.mean, factors=_inverse(np.sqrt(_beyond_rounding(columns))))

    @property
    def changes_nothing(self) -> bool:
        """Whether features stay as they are."""
        return self.plan is None and self.factors is None

    def __call__(self, rows: Any) -> Any:
        """Return rows of the view, or of other samples, on the new scale; each row by itself."""
        if self.changes_nothing:
            return rows
        if isinstance(rows, DeviceArray):
            if self.factors is not None:
                return rows.rescaled(self.center, self.factors)
            assert self.plan is not None
            return rows.rescaled(None, self.plan.factors, self.plan.features if self.plan.roots else None)
        if self.factors is not None:
            if sparse.issparse(rows):
                return sparse.csr_array(rows.multiply(self.factors[None, :]))
            scaled = (rows - (0.0 if self.center is None else self.center)) * self.factors
            return scaled.astype(rows.dtype, copy=False)
        assert self.plan is not None
        rooted = _rooted(rows, self.plan.features) if self.plan.roots else rows
        if sparse.issparse(rows):
            return sparse.csr_array(rooted.multiply(self.plan.factors[None, :]))
        return (rooted * self.plan.factors[None, :]).astype(rows.dtype, copy=False)


def thinned(array: Any) -> Any:
    """Return a view of mostly zeros as a sparse matrix: all later steps take a fraction of the time."""
    return sparse.csr_array(in_memory(array)) if _is_thin(array, array.shape[0]) else array


def _is_thin(array: Any, n_rows: int) -> bool:
    """Say whether a dense view with this many rows that it has seen is better stored without zeros."""
    if sparse.issparse(array):
        return False
    found, enough, step = 0, FEW_ENTRIES * n_rows * array.shape[1], max(1, _BLOCK // array.shape[1])
    for start in range(0, len(array), step):  # most often the first tenth is enough
        part = array[start : start + step]
        found += part.n_nonzero() if isinstance(part, DeviceArray) else int(np.count_nonzero(part))
        if found >= enough:
            return False
    return True


def plan_rescaling(array: Any, metric: Any, seen: Seen, engine: Engine) -> Rescaling | None:
    """Find the features that dominate a view.

    Parameters
    ----------
    array : ndarray or CSR of shape (n, d)
        The view.
    metric : str
        Its metric; views with other metrics than Euclidean, Manhattan and cosine are not changed.
    seen : ndarray of bool of shape (n,), or None
        The rows that it has seen; None: all.
    engine : Engine
        The engine that computes.

    Returns
    -------
    Rescaling or None

    Examples
    --------
    >>> import numpy as np
    >>> from consilience.engines import get_engine
    >>> engine = get_engine("numpy")
    >>> x = np.random.default_rng(0).normal(size=(100, 30))
    >>> plan_rescaling(x, "euclidean", None, engine) is None
    True
    >>> x[:, 7] *= 1e6
    >>> plan = plan_rescaling(x, "euclidean", None, engine)
    >>> plan.features, plan.all_features
    (array([7]), False)
    """
    if metric == "cosine":
        return _plan_for_cosine(array if seen is None else array[seen], engine)
    if metric not in _AFFECTED:
        return None
    variances = _variances(array, seen, engine)
    # Not finite: too large for numbers, and the code that measures distances will report it.
    if not np.isfinite(variances).all() or _falls(variances):
        return None
    found = _standing_apart(variances)
    if found is not None or not _dominated(variances):
        return found
    varying = np.argsort(-variances, kind="stable")[: int((variances > 0).sum())]
    return Rescaling(varying, _inverse(np.sqrt(variances)), True, _n_effective(variances))


def _plan_for_cosine(array: Any, engine: Engine) -> Rescaling | None:
    if isinstance(array, DeviceArray):
        columns = engine.describe(array, None)
        if (columns.lowest < 0).any() or columns.n_nonzero.sum() > (1 - SPARSE_SHARE) * array.size:
            return _standing_apart(columns.variance + columns.mean**2)  # no counts
        array = in_memory(array)
    sizes = _mean_squares(array)
    if not np.isfinite(sizes).all():
        return None
    found = _standing_apart(sizes)
    apart = np.empty(0, dtype=np.intp) if found is None else found.features
    others = np.setdiff1d(np.arange(array.shape[1]), apart)
    if not _are_counts(array[:, others] if len(apart) else array):
        return found
    rooted = _mean_squares(_rooted(array, apart))
    factors = np.ones(array.shape[1])
    factors[apart] = np.sqrt(rooted[others].mean() / rooted[apart])
    return Rescaling(apart, factors, False, _n_effective(sizes), roots=True)


def seems_counted(array: Any, seen: Seen, engine: Engine, *, rescaled: bool = False) -> bool:
    """Say whether a view looks like counts in the rows that it has seen.

    Parameters
    ----------
    array : ndarray or CSR of shape (n, d)
        The view; zeros in rows that it has not seen.
    seen : ndarray of bool of shape (n,), or None
        The rows that it has seen; None: all.
    engine : Engine
        The engine that computes.
    rescaled : bool, default=False
        Whether columns that stand apart will be rescaled, so that they are ignored here.

    Examples
    --------
    >>> import numpy as np
    >>> from consilience.engines import get_engine
    >>> x = np.eye(10)
    >>> x[:, -1] -= 1e6 * np.arange(10)
    >>> [seems_counted(x, None, get_engine("numpy"), rescaled=flag) for flag in (False, True)]
    [False, True]
    """
    if _is_thin(array, array.shape[0] if seen is None else int(seen.sum())):
        array = sparse.csr_array(in_memory(array))
    if sparse.issparse(array):
        rows = array if seen is None else array[seen]
        return looks_like_counts(_without_standing_apart(rows, engine) if rescaled else rows)
    columns = engine.describe(array, seen)
    kept = _not_apart(_beyond_rounding(columns)) if rescaled else np.arange(array.shape[1])
    filled = int(columns.n_nonzero[kept].sum()) / (columns.n_rows * len(kept))
    return bool((columns.lowest[kept] >= 0).all() and 1 - filled > SPARSE_SHARE)


def looks_like_counts(array: Any) -> bool:
    """Say whether a view is non-negative with more than 80 % zeros, as word counts are."""
    values = array.data if sparse.issparse(array) else array
    size = float(array.shape[0]) * float(array.shape[1])
    return bool(
        (values.size == 0 or values.min() >= 0) and 1 - np.count_nonzero(values) / size > SPARSE_SHARE
    )


def _are_counts(array: Any) -> bool:
    """Say whether a view is mostly zeros, and otherwise whole numbers in some unit, not all the same."""
    if not looks_like_counts(array):
        return False
    values = array.data if sparse.issparse(array) else array
    values = values[values > 0].astype(np.float64)
    # Whole numbers of more digits than this are not counts, but numbers of any kind.
    if not len(values) or values.max() == values.min() or values.max() > 1e6 * values.min():
        return False
    numbers = values / values.min()
    return bool(np.all(np.abs(numbers - np.round(numbers)) <= 1e-6))


def _rooted(array: Any, but: NDArray[np.intp]) -> Any:
    """Return the square roots of a view's entries, except in these columns."""
    left_alone = np.zeros(array.shape[1], dtype=bool)
    left_alone[but] = True
    if sparse.issparse(array):
        alone = left_alone[array.indices]
        data = np.where(alone, array.data, np.sqrt(np.where(alone, 0, array.data)))
        return sparse.csr_array((data, array.indices, array.indptr), shape=array.shape)
    return np.where(left_alone, array, np.sqrt(np.where(left_alone, 0, array)))


def _without_standing_apart(array: Any, engine: Engine) -> Any:
    """Return the view without the columns that stand apart, to find out what the others are."""
    kept = _not_apart(_variances(array, None, engine))
    return array if len(kept) == array.shape[1] else array[:, kept]


def _not_apart(variances: Vector) -> NDArray[np.intp]:
    """Return the features that do not stand apart."""
    finite = bool(np.isfinite(variances).all())
    found = _standing_apart(variances) if finite and not _falls(variances) else None
    all_features = np.arange(len(variances))
    return all_features if found is None else np.setdiff1d(all_features, found.features)


def _standing_apart(sizes: Vector) -> Rescaling | None:
    """Find the features whose variances or mean squares are far above those of at least as many others."""
    order = np.argsort(-sizes, kind="stable")
    ranked = sizes[order]
    n_varying = max(int((ranked > 0).sum()), 1)
    gaps = np.flatnonzero(ranked[: n_varying - 1] >= STANDS_APART**2 * ranked[1:n_varying])
    for gap in gaps[gaps < n_varying // 2][::-1].tolist():
        rest = ranked[gap + 1 : n_varying]
        if not _dominated(rest):
            features = order[: gap + 1]
            factors = np.ones(len(sizes))
            factors[features] = np.sqrt(rest.mean() / sizes[features])
            return Rescaling(features, factors, False, _n_effective(sizes))
    return None


def _dominated(sizes: Vector) -> bool:
    """Say whether a few features have nearly all of the variance."""
    n_varying = int((sizes > 0).sum())
    if n_varying < 2:
        return False
    return _n_effective(sizes) < min(FEW_FEATURES, 1 + SHARE_OF_FEATURES * (n_varying - 1))


def _falls(variances: Vector) -> bool:
    """Say whether three or more variances fall from column to column, as those of principal components."""
    return len(variances) > 2 and bool(np.all(np.diff(variances) <= 0))


def _n_effective(sizes: Vector) -> float:
    largest = sizes.max()
    if largest == 0:
        return 0.0
    shares = sizes / largest
    return float(shares.sum() ** 2 / (shares**2).sum())


def _variances(array: Any, seen: Seen, engine: Engine) -> Vector:
    """Return the features' variances over the rows seen; 0 for those that vary only by rounding errors."""
    if not sparse.issparse(array):
        return _beyond_rounding(engine.describe(array, seen))
    rows = array if seen is None else array[seen]
    with np.errstate(over="ignore", invalid="ignore"):
        mean = np.asarray(rows.mean(axis=0), dtype=np.float64).ravel()
        squares = _mean_squares(rows)
        variances = np.maximum(squares - mean**2, 0.0)
        return np.where(variances <= 1e-14 * squares, 0.0, variances)


def _beyond_rounding(columns: Columns) -> Vector:
    """Return the variances of columns; 0 for those that vary only by rounding errors."""
    largest = np.maximum(columns.highest, -columns.lowest)
    with np.errstate(over="ignore"):
        return np.where(columns.variance <= (1e-14 * largest) ** 2, 0.0, columns.variance)


def _mean_squares(rows: Any) -> Vector:
    with np.errstate(over="ignore"):
        if sparse.issparse(rows):
            return np.asarray(rows.multiply(rows).mean(axis=0), dtype=np.float64).ravel()
        return np.asarray(np.einsum("ij,ij->j", rows, rows, dtype=np.float64) / len(rows))


def _inverse(deviations: Vector) -> Vector:
    return np.divide(1, deviations, out=np.zeros_like(deviations), where=deviations > 0)
