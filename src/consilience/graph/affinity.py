"""From squared distances on the shared edges to edge weights that can be compared across views."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import threads

Floats = NDArray[np.floating[Any]]
Seen = NDArray[np.bool_]
_BLOCK = 1 << 15  # values at a time: they stay in the cache
_MANY = 1 << 22  # values from which on sums are taken block by block, to other last digits


def standardize(squared: Floats, seen: Seen | None = None) -> Floats:
    r"""Standardise one view's squared distances over the edges (the paper's Eq. norm).

    :math:`x = \max((x - \mu) / \sigma + 1, 0)` with the mean and the standard deviation (n - 1 in the
    denominator) over the edges. Edges more than one deviation shorter than the mean become 0, the
    strongest there is. If all edges are equally long, every x is 1.

    Parameters
    ----------
    squared : ndarray of shape (n_edges,)
        Squared distances.
    seen : ndarray of bool of shape (n_edges,), default=None
        The edges that the view judges; the others come out as 0.

    Examples
    --------
    >>> import numpy as np
    >>> standardize(np.array([1.0, 4.0, 7.0]))
    array([0., 1., 2.])
    """
    return Standardization.of(squared, seen).applied(squared, seen)


@dataclass(frozen=True)
class Standardization:
    """How `standardize` changed the values of a fit, to do the same to others.

    Attributes
    ----------
    exponent : int
        A power of two that is taken out first: distances of 1e200 are as good as any, their squares are not.
    mean, deviation : float
        Of the values without it; the deviation is 0 if they are all the same, to rounding.
    """

    exponent: int
    mean: float
    deviation: float

    @classmethod
    def of(cls, squared: Floats, seen: Seen | None = None) -> Standardization:
        """Measure the values on the edges that are seen."""
        judged = squared if seen is None else squared[seen]
        if not len(judged):
            return cls(0, 1.0, 0.0)
        exponent = -int(np.frexp(judged.max())[1])
        # Of powers of two nothing is rounded.
        mean = _mean(lambda part: np.ldexp(part, exponent), judged)
        squares = _sum(lambda part: np.square(np.ldexp(part, exponent) - mean), judged)
        deviation = float(np.sqrt(squares / (len(judged) - 1))) if len(judged) > 1 else 0.0
        # Equal distances may differ in the last digits; that is no deviation to divide by.
        return cls(exponent, mean, 0.0 if deviation <= 1e-12 * mean else deviation)

    def applied(self, squared: Floats, seen: Seen | None = None) -> Floats:
        """Return other values changed in the same way; 0 where they are not seen."""
        judged = squared if seen is None else squared[seen]
        values = np.ldexp(judged, self.exponent)
        if self.deviation == 0:
            # All that was seen is equally far; what is farther or nearer is so by its own measure.
            result = np.ones_like(values) if self.mean == 0 else values / self.mean
            result[np.abs(result - 1) <= 1e-6] = 1.0
        else:
            result = np.maximum((values - self.mean) / self.deviation + 1.0, 0.0)
        return _put_back(result, seen)


@dataclass(frozen=True)
class EdgeKernel:
    """How a view's values on edges become weights: measured on the edges of a fit, good for others too.

    Attributes
    ----------
    typical : float or None
        If set, the values are similarities that are first turned into squared distances,
        1 / (1 + s / typical): 1 without an edge, 1/2 on a typical one.
    standard : Standardization or None
        Applied next, if set.
    sigma : float or None
        If set, the result is exp(-x / (2 sigma^2)).
    """

    typical: float | None = None
    standard: Standardization | None = None
    sigma: float | None = None

    @classmethod
    def for_distances(cls, values: Floats, seen: Seen | None, *, typical: float | None = None) -> EdgeKernel:
        """Return the kernel that standardises squared distances, or those made of similarities (DGF)."""
        bare = cls(typical=typical)
        return cls(typical=typical, standard=Standardization.of(bare(values, seen), seen))

    @classmethod
    def for_similarities(cls, values: Floats, seen: Seen | None) -> EdgeKernel:
        """Return the kernel that makes Gaussian similarities of squared distances (SGF)."""
        standard = Standardization.of(values, seen)
        return cls(standard=standard, sigma=mean_root(standard.applied(values, seen), seen))

    def __call__(self, values: Floats, seen: Seen | None = None, out: Floats | None = None) -> Floats:
        """Return the weights, 0 where a value is not seen; in `out`, if that is given."""
        result = np.empty_like(values) if out is None else out

        def weigh(start: int, stop: int) -> None:
            here = slice(start, stop)
            result[here] = self._weights(values[here], None if seen is None else seen[here])

        threads.for_ranges(weigh, len(values), _BLOCK)
        return result

    def _weights(self, values: Floats, seen: Seen | None) -> Floats:
        if self.typical is not None:
            apart = 1.0 / (1.0 + values / self.typical)
            values = apart if seen is None else np.where(seen, apart, 0.0)
        if self.standard is not None:
            values = self.standard.applied(values, seen)
        if self.sigma is None:
            return values
        judged = values if seen is None else values[seen]
        return _put_back(np.exp(judged / (-2 * self.sigma**2)), seen)


def gaussian_similarity(standardized: Floats, seen: Seen | None = None) -> Floats:
    r"""Turn one view's standardised squared distances into similarities.

    :math:`w = \exp(-x / 2\sigma^2)` with :math:`\sigma` the mean of :math:`\sqrt x` over the edges
    (SGF, before the fusion).
    """
    return EdgeKernel(sigma=mean_root(standardized, seen))(standardized, seen)


def mean_root(standardized: Floats, seen: Seen | None = None) -> float:
    """Return the mean square root of the values on the edges that are seen; 1 if it is 0."""
    judged = standardized if seen is None else standardized[seen]
    return (_mean(np.sqrt, judged) if len(judged) else 0.0) or 1.0


def fused_similarity(fused: Floats, sigma: float | None = None) -> Floats:
    r"""Turn fused squared distances into similarities.

    :math:`s = \exp(-s / 2\sigma)` with :math:`\sigma` the mean of s (DGF, after the fusion), or as given.
    """
    if sigma is None:
        sigma = mean_distance(fused)
    result = np.empty_like(fused)

    def weigh(start: int, stop: int) -> None:
        result[start:stop] = np.exp(fused[start:stop] / (-2 * sigma))

    threads.for_ranges(weigh, len(fused), _BLOCK)
    return result


def mean_distance(fused: Floats) -> float:
    """Return the mean of fused squared distances; 1 if it is 0."""
    return float(fused.mean(dtype=np.float64)) or 1.0


def _mean(function: Callable[[Floats], Floats], values: Floats) -> float:
    return _sum(function, values) / len(values)


def _sum(function: Callable[[Floats], Floats], values: Floats) -> float:
    """Return the sum of a function of the values; of very many, block by block, without a copy of all."""
    if len(values) <= _MANY:
        return float(function(values).sum())
    sums = np.empty(-(-len(values) // _BLOCK))

    def add(first: int, last: int) -> None:
        for block in range(first, last):
            sums[block] = function(values[_BLOCK * block : _BLOCK * (block + 1)]).sum(dtype=np.float64)

    threads.for_ranges(add, len(sums))
    return float(sums.sum())


def _put_back(values: Floats, seen: Seen | None) -> Floats:
    if seen is None:
        return values
    result = np.zeros(seen.shape, dtype=values.dtype)
    result[seen] = values
    return result
