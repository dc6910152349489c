"""What engines return to their callers: a few numbers, for any number of samples."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..io.stored import stored
from ..run.handles import HANDLE

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@stored()
@dataclass(frozen=True)
class SearchReport:
    """How the neighbours of a view were found.

    Attributes
    ----------
    search : {"exact", "approximate"}
        How.
    recall : float
        The share of the true neighbours that were found, measured on a sample; 1 for the exact search.
    n_regions : int
        Number of regions that the samples were divided into; 0 for the exact search.
    pairs : float
        How many others each sample was compared with, about; NaN if that is not known.
    """

    search: Literal["exact", "approximate"] = "exact"
    recall: float = 1.0
    n_regions: int = 0
    pairs: float = np.nan


@stored(omit=("known",))
@dataclass(frozen=True, eq=False)
class Neighbors:
    """What a search found in one view.

    Attributes
    ----------
    lists : handle
        The nearest k samples of each sample.
    report : SearchReport
        How they were found.
    known : handle or None
        Distances that the search has measured, for `Engine.measure`. Not stored: they can be measured again,
        to the same bits.
    """

    lists: Any = field(repr=False, metadata=HANDLE)
    report: SearchReport = SearchReport()
    known: Any = field(default=None, repr=False)


@dataclass(frozen=True, eq=False)
class Overlaps:
    """What neighbour lists of several views have in common, and what is expected by chance.

    Attributes
    ----------
    shared : ndarray of shape (v, v)
        How many neighbours two views both name, over all samples that both have seen; below the diagonal.
    pairs : ndarray of shape (v, v, 6)
        Of the edges of view i between samples that view j has seen too: how many ordered pairs of them are
        the same edge; an edge and its reverse; have the same start; the same end; the end of one as the start
        of the other; nothing in common.
    n_seen : ndarray of int of shape (v, v)
        Number of samples that two views have both seen.
    """

    shared: Matrix
    pairs: NDArray[np.float64]
    n_seen: NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Sums:
    r"""Sums over the edges, for consistent parts A, inconsistent parts E = W - A and the fused s.

    The next scales and the objective need nothing else: v x v numbers, for any number of edges.

    Below, :math:`\tau_{ie}` is the trust in view i on edge e: 1 if none is given, 0 where unseen. And
    :math:`\Lambda_e = \sum_i \lambda_i \tau_{ie}` is the total weight of the views on the edge.

    Parameters
    ----------
    consistent_squares : ndarray of shape (v,)
        :math:`\sum_e \tau_{ie} A_{ie}^2`.
    inconsistent_gram : ndarray of shape (v, v)
        :math:`\sum_e \tau_{ie} E_{ie} \tau_{je} E_{je}`.
    consistent_fused : ndarray of shape (v,)
        :math:`\sum_e \tau_{ie} A_{ie} s_e`.
    fused_square : float
        :math:`\sum_e \Lambda_e s_e^2`.
    consistent_gram : ndarray of shape (v, v) or None
        :math:`\sum_e \tau_{ie} A_{ie} \tau_{je} A_{je} / \Lambda_e`; only the exact solver needs it.
    """

    consistent_squares: Vector
    inconsistent_gram: Matrix
    consistent_fused: Vector
    fused_square: float
    consistent_gram: Matrix | None = None


@dataclass(frozen=True, eq=False)
class Spectrum:
    """The smallest eigenvalues of a graph's normalised Laplacian, and their vectors.

    Attributes
    ----------
    vectors : handle
        Orthonormal columns (n, m). Rows of samples that are isolated, or in a component too small to be
        represented, are 0. If fewer samples than columns have an edge, the last columns are 0. Signs are
        fixed: the first of a vector's largest entries (to 1e-6) is positive.
    eigenvalues, residuals : ndarray of shape (m,)
        Ascending eigenvalues, and ``||L v - lambda v||`` of each; NaN for a column of zeros.
    n_connected, n_isolated : int
        Number of connected components (isolated samples not counted) and of isolated samples.
    n_dropped : int
        Number of samples in components that no vector represents.
    """

    vectors: Any
    eigenvalues: Vector
    residuals: Vector
    n_connected: int
    n_isolated: int
    n_dropped: int


@dataclass(frozen=True, eq=False)
class Clusters:
    """The cluster of each row (n,), and the centres (c, m)."""

    labels: NDArray[np.intp]
    centers: Matrix
