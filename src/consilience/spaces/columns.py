"""Statistics of the columns of a dense view: range, mean, variance and zeros."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


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
    lowest: Vector
    highest: Vector
    mean: Vector
    variance: Vector
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
