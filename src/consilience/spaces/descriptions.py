r"""Other descriptions of the same features: what is compared, not how it is fused.

The distance between two samples depends on what is done to the features first, and no rule that looks at one
view alone knows what is right for it. Next to the default (metric and scale by rule) a view has three more
descriptions, each of which takes one decision differently. All end in Euclidean distances.

========== =================================================== =============================================
name       dense features                                      mostly zeros (words, counts, links)
========== =================================================== =============================================
direction  differences from the mean; the direction of a row   square roots; the direction of a row
log        logarithms, each feature to unit variance           logarithms by rarity; the direction of a row
rank       ranks within a feature; the direction of a row      presence by rarity; the direction of a row
========== =================================================== =============================================

"By rarity" weighs a feature by the logarithm of one over the share of samples that have it. For the direction
of a row its length is divided out: the squared distance is 2 (1 - cos).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..io.stored import require, stored
from ..views import Views, in_memory
from .scaling import Seen
from .space import Space

DEFAULT = "default"
OTHERS = ("direction", "log", "rank")
_FEWEST_FEATURES = 3  # directions of shorter rows say next to nothing
_KNOTS = 1000  # quantiles of a feature that its ranks are read off

Vector = NDArray[np.float64]


def _check(transform: Transform) -> None:
    require(transform.name in OTHERS, "it is no description")
    for one in (transform.center, transform.factors):
        require(one is None or (one.ndim == 1 and bool(np.isfinite(one).all())), "its features do not fit")
    quantiles = transform.quantiles
    require(quantiles is None or quantiles.ndim == 2, "its quantiles do not fit")


@stored(check=_check)
@dataclass(frozen=True, eq=False)
class Transform:
    """How features become another description; learned from the samples of a fit, applied to any.

    Attributes
    ----------
    name : {"direction", "log", "rank"}
        The description.
    unit : float
        The size of a typical entry, for logarithms.
    center, factors : ndarray of shape (d,), or None
        What is subtracted from each feature, and what it is multiplied by then.
    quantiles : ndarray of shape (q, d), or None
        Quantiles of each feature, ascending, for ranks.
    """

    name: str
    unit: float = 1.0
    center: Vector | None = None
    factors: Vector | None = None
    quantiles: NDArray[np.float64] | None = None

    changes_nothing = False

    @property
    def is_of_sparse(self) -> bool:
        """Whether it was learned from sparse features."""
        return self.center is None and self.quantiles is None

    def fits(self, rows: Any) -> bool:
        """Say whether it has been learned from rows such as these: as many features, sparse or dense."""
        d, sizes = rows.shape[1], [len(one) for one in (self.center, self.factors) if one is not None]
        if self.quantiles is not None:
            sizes.append(self.quantiles.shape[1])
        needed = {"direction": self.center, "log": self.factors, "rank": self.quantiles}[self.name]
        return (
            set(sizes) <= {d}
            and self.is_of_sparse == sparse.issparse(rows)
            and (self.is_of_sparse or needed is not None)
        )

    def __call__(self, rows: Any) -> Any:
        """Return rows of the view, or of other samples, in this description; each row by itself.

        What becomes of them follows from the features of the fit: rows may be sparse or dense.
        """
        rows = in_memory(rows)
        if self.is_of_sparse:
            return _unit_rows(self._of_sparse(sparse.csr_array(rows, dtype=np.float64)))
        dense = rows.toarray() if sparse.issparse(rows) else rows
        return self._of_dense(np.asarray(dense, dtype=np.float64))

    def _of_sparse(self, rows: sparse.csr_array) -> sparse.csr_array:
        values = _SPARSE[self.name](rows.data)
        changed = sparse.csr_array((values, rows.indices, rows.indptr), shape=rows.shape)
        return changed if self.factors is None else sparse.csr_array(changed.multiply(self.factors[None, :]))

    def _of_dense(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.name == "rank":
            assert self.quantiles is not None
            return _unit_rows(_ranks(rows, self.quantiles) - 0.5)
        assert self.center is not None
        if self.name == "direction":
            return _unit_rows(rows - self.center)
        assert self.factors is not None
        return np.asarray((_logarithm(rows / self.unit) - self.center) * self.factors)


def can_be_described(views: Views, i: int, metric: Any, rows: Any) -> bool:
    """Say whether a view has other descriptions: numbers, measured by a rule's choice, and enough of them.

    Parameters
    ----------
    views : Views
        The views.
    i : int
        Which of them.
    metric : str or callable
        The metric that the rule chose for it.
    rows : ndarray or CSR of shape (n, d)
        Its features.
    """
    if metric not in ("euclidean", "cosine") or views.encodings[i] is not None or views.pairwise[i]:
        return False
    return bool(rows.shape[1] >= _FEWEST_FEATURES)


def described(space: Space, name: str) -> Space:
    """Return the space of a view in another description.

    Parameters
    ----------
    space : Space
        The view as it is described by default; its features are as they were given.
    name : {"direction", "log", "rank"}
        The description.

    Examples
    --------
    >>> x = np.array([[1.0, 10.0, 0.1], [2.0, 20.0, 0.2], [3.0, 1000.0, 0.4]])
    >>> space = described(Space("x", x, "euclidean"), "log")
    >>> space.scaling(space.rows).std(axis=0).round(6)
    array([1., 1., 1.])
    """
    space = space.in_memory()
    transform = _learn(space.rows, space.seen, name)
    return Space(
        space.name,
        space.rows if sparse.issparse(space.rows) else np.asarray(space.rows, dtype=np.float64),
        "euclidean",
        transform,
        space.seen,
        None,
        space.sample_ids,
    )


def _learn(rows: Any, seen: Seen, name: str) -> Transform:
    """Return the transform to a description, from the rows that the view has seen."""
    known = rows if seen is None else rows[seen]
    if sparse.issparse(known):
        if name == "direction":
            return Transform(name)
        n, d = known.shape
        present = np.bincount(known.indices[known.data != 0], minlength=d)
        return Transform(name, factors=np.log((1 + n) / np.maximum(present, 1)))
    known = np.asarray(known, dtype=np.float64)
    if name == "direction":
        return Transform(name, center=known.mean(axis=0))
    if name == "rank":
        places = np.linspace(0, len(known) - 1, min(len(known), _KNOTS)).round().astype(np.intp)
        return Transform(name, quantiles=np.sort(known, axis=0)[places])
    filled = np.abs(known[known != 0])
    unit = float(np.median(filled)) if filled.size else 1.0
    logs = _logarithm(known / unit)
    deviation = logs.std(axis=0)
    # Differences in the last digits are no differences.
    varies = deviation > 1e-12 * np.maximum(np.abs(logs).max(axis=0), 1e-300)
    factors = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=varies)
    return Transform(name, unit, logs.mean(axis=0), factors)


def _logarithm(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.sign(values) * np.log1p(np.abs(values)))


def _root(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.sign(values) * np.sqrt(np.abs(values)))


def _ranks(rows: NDArray[np.float64], quantiles: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of the samples below each value, those equal to it counted half."""
    ranks = np.empty(rows.shape)
    for j in range(rows.shape[1]):
        knots, values = quantiles[:, j], rows[:, j]
        below, upto = np.searchsorted(knots, values), np.searchsorted(knots, values, side="right")
        ranks[:, j] = (below + upto) / (2 * len(knots))
    return ranks


_SPARSE: dict[str, Callable[[Any], Any]] = {"direction": _root, "log": _logarithm, "rank": np.sign}


def _unit_rows(rows: Any) -> Any:
    """Return rows of unit length; rows of zeros stay as they are."""
    if sparse.issparse(rows):
        lengths = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
        factors = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
        values = rows.data * np.repeat(factors, np.diff(rows.indptr))
        return sparse.csr_array((values, rows.indices, rows.indptr), shape=rows.shape)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
