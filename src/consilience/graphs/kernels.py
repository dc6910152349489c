r"""From squared distances on the shared edges to edge weights that can be compared across views.

Standardised over the edges (the paper's Eq. norm), :math:`x = \max((x - \mu) / \sigma + 1, 0)`: edges that
are shorter than the mean by more than one deviation become 0, the strongest value. SGF then takes
:math:`w = \exp(-x / 2\sigma^2)` with :math:`\sigma` the mean of :math:`\sqrt x`; DGF fuses x itself, and
takes :math:`\exp(-s / 2\sigma)` of the fused s with :math:`\sigma` their mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..io.stored import stored

Floats = NDArray[np.floating[Any]]
Seen = NDArray[np.bool_]


@stored()
@dataclass(frozen=True)
class Moments:
    """Mean and deviation of the values on the edges that a view judges.

    Attributes
    ----------
    exponent : int
        A power of two that is divided out first: distances of 1e200 are valid, but their squares are too
        large.
    mean, deviation : float
        Of the values without it (n - 1 in the denominator). The deviation is 0 if all values are the same,
        to rounding.
    """

    exponent: int
    mean: float
    deviation: float

    @classmethod
    def from_sums(cls, count: int, exponent: int, mean: float, squares: float) -> Moments:
        """Make them from the sum of squared differences from the mean."""
        deviation = float(np.sqrt(squares / (count - 1))) if count > 1 else 0.0
        # Equal distances may differ in the last digits; do not divide by such a deviation.
        return cls(exponent, mean, 0.0 if deviation <= 1e-12 * mean else deviation)

    def standardize(self, values: Floats) -> Floats:
        """Return values standardised by these moments."""
        scaled = np.ldexp(values, self.exponent)
        if self.deviation == 0:
            # All values of the fit were the same; others are larger or smaller relative to it.
            result = np.ones_like(scaled) if self.mean == 0 else scaled / self.mean
            result[np.abs(result - 1) <= 1e-6] = 1.0
            return result
        return np.maximum((scaled - self.mean) / self.deviation + 1.0, 0.0)


@stored()
@dataclass(frozen=True)
class EdgeKernel:
    """How a view's values on edges become weights: measured on the edges of a fit, used for others too.

    Attributes
    ----------
    typical : float or None
        If set, the values are similarities, which first become squared distances, 1 / (1 + s / typical): 1
        without an edge, 1/2 on a typical one.
    moments : Moments or None
        If set, values are then standardised by them.
    width : float or None
        If set, the weights are exp(-x / width).

    Examples
    --------
    >>> import numpy as np
    >>> EdgeKernel(moments=Moments(0, 4.0, 3.0))(np.array([1.0, 4.0, 7.0]))
    array([0., 1., 2.])
    """

    typical: float | None = None
    moments: Moments | None = None
    width: float | None = None

    @property
    def changes_nothing(self) -> bool:
        """Whether weights are the values themselves."""
        return self.typical is None and self.moments is None and self.width is None

    def __call__(self, values: Floats, seen: Seen | None = None) -> Floats:
        """Return the weights; 0 where a value is not seen."""
        judged = values if seen is None else values[seen]
        if self.typical is not None:
            judged = 1.0 / (1.0 + judged / self.typical)
        if self.moments is not None:
            judged = self.moments.standardize(judged)
        if self.width is not None:
            judged = np.exp(judged / -self.width)
        if seen is None:
            return judged
        result = np.zeros(seen.shape, dtype=judged.dtype)
        result[seen] = judged
        return result
