r"""The nearest samples in a sparse graph, where many edges are equal.

In a graph without weights all neighbours of a sample are equally near. If there are more than are asked for,
the order of the samples must not choose: that would lose information about clusters. Of edges that are
equally long (to twelve digits), those come first whose other end shares more of its neighbours:

.. math::

    \sum_l u_{il} u_{jl} \Big/ \sum_l u_{jl}, \qquad u = w + w',

the share of the weight of j's edges, in both directions, that leads to neighbours of i, weighted by how near
these are. Only then the lower index is nearer. For graphs of distances, :math:`w = 1 / (1 + d / \bar d)` with
the mean length of an edge. The order does not depend on how many are asked for: the first ten of twenty are
the ten nearest.

It is computed only for samples with equal edges. For each of their edges it costs no more than the number of
edges of the other end; for hubs about as much as the number of edges of the sample itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ... import threads
from ...points.protocol import Floats, Index
from .tie_kernels import pick_first, score_shared

_BITS = 41  # bits that are compared: values that agree to twelve digits count as equal
_GRAIN = 1024  # rows
_LARGEST = 1e100  # times the unit; sums of these are still finite


@dataclass(frozen=True, eq=False)
class Neighbourhoods:
    """The edges of a graph, without their direction, and how close their ends are.

    Attributes
    ----------
    graph : csr_array of shape (n, n)
        How close the ends of each edge are; symmetric, without a diagonal.
    strengths : ndarray of shape (n,)
        The sum of each row.
    kind : {"distance", "similarity"}
        What the original weights of the edges are.
    unit : float
        The largest similarity, or the mean distance.
    """

    graph: sparse.csr_array
    strengths: Floats
    kind: Literal["distance", "similarity"]
    unit: float

    @classmethod
    def of(cls, matrix: Any, kind: Literal["distance", "similarity"]) -> Neighbourhoods:
        """Read a graph: a CSR matrix of similarities, or of distances, in which a stored 0 is an edge.

        Examples
        --------
        >>> import numpy as np
        >>> from scipy import sparse
        >>> path = sparse.csr_array(np.array([[0, 1.0, 0], [1.0, 0, 1.0], [0, 1.0, 0]]))
        >>> Neighbourhoods.of(path, "similarity").strengths
        array([2., 4., 2.])
        """
        entries = matrix.tocoo()
        off = entries.row != entries.col
        row, column, values = entries.row[off], entries.col[off], entries.data[off].astype(np.float64)
        if kind == "similarity":
            unit = float(values.max(initial=0.0))
        else:
            unit = float(values.mean()) if len(values) else 0.0
        close = _closeness(values, kind, unit)
        ends = (np.concatenate([row, column]), np.concatenate([column, row]))
        graph = sparse.csr_array((np.concatenate([close, close]), ends), shape=matrix.shape)
        graph.sum_duplicates()
        return cls(graph, np.asarray(graph.sum(axis=1)), kind, unit)

    def close(self, values: Floats) -> Floats:
        """Return how close the ends of other edges are, from their values, in the same unit."""
        return _closeness(values, self.kind, self.unit)


def nearest_ends(
    matrix: Any,
    k: int,
    kind: Literal["distance", "similarity"],
    around: Callable[[], Neighbourhoods] | None,
    *,
    own: bool,
) -> Index:
    """Return the nearest k other ends of the edges of each row.

    Parameters
    ----------
    matrix : CSR of shape (m, n)
        Similarities, of which only positive ones are edges, or distances, of which every stored one is.
    k : int
        How many.
    kind : {"distance", "similarity"}
        Which.
    around : callable
        Gives the neighbourhoods of the n samples, and is called if edges are equal. None: nothing is known
        about them, and of equal edges the one to the lower index comes first.
    own : bool
        Whether the rows are the samples themselves, none of which is its own neighbour.

    Returns
    -------
    ndarray of shape (m, k)
        Filled up with the row's own index, or with -1 if rows are new samples.

    Examples
    --------
    Samples 2, 3 and 4 are joined to each other, and sample 4 also to 0 and 1:

    >>> import numpy as np
    >>> from scipy import sparse
    >>> graph = sparse.coo_array((np.ones(5), ([0, 1, 2, 2, 3], [4, 4, 3, 4, 4])), shape=(5, 5))
    >>> graph = sparse.csr_array(graph + graph.T)
    >>> nearest_ends(graph, 2, "similarity", lambda: Neighbourhoods.of(graph, "similarity"), own=True)[4]
    array([2, 3], dtype=int32)
    """
    indptr, indices, values = _compressed(matrix)
    m = len(indptr) - 1
    far = _without_last_digits(np.where(values > 0, -values, np.inf) if kind == "similarity" else values)
    if own:
        far[np.repeat(np.arange(m), np.diff(indptr)) == indices] = np.inf
    fill = np.arange(m, dtype=np.int32) if own else np.full(m, -1, dtype=np.int32)
    index = np.repeat(fill[:, None], k, axis=1)
    shared, tied = np.zeros(len(far)), np.zeros(m, dtype=bool)

    def pick(rows: NDArray[np.intp]) -> None:
        parts = (indptr, indices, far, shared, rows, k)
        threads.for_ranges(lambda a, b: pick_first(*parts, a, b, index, tied), len(rows), grain=_GRAIN)

    pick(np.arange(m))
    if around is None or not tied.any():
        return index
    known, rows = around(), np.flatnonzero(tied)
    theirs = _compressed(known.graph)
    ours = theirs if own else (indptr, indices, known.close(values))
    given = ((indptr, indices, far), ours, theirs, known.strengths, rows)
    threads.for_ranges(lambda a, b: score_shared(*given, a, b, shared), len(rows), grain=_GRAIN)
    # Rounded, so that the order of summation does not decide.
    shared[:] = _without_last_digits(shared)
    pick(rows)
    return index


def _compressed(matrix: Any) -> tuple[NDArray[np.int64], NDArray[np.int32], Floats]:
    """Return indptr, indices and data of a CSR matrix, ascending and each once, in types for the kernels."""
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return (
        matrix.indptr.astype(np.int64, copy=False),
        matrix.indices.astype(np.int32, copy=False),
        matrix.data.astype(np.float64, copy=False),
    )


def _closeness(values: Floats, kind: Literal["distance", "similarity"], unit: float) -> Floats:
    """Return numbers from 0 to 1 for the edges of a graph in any unit; new ones may be above 1."""
    with np.errstate(over="ignore"):
        ratio = np.minimum(values / (unit or 1.0), _LARGEST)
    return ratio if kind == "similarity" else 1.0 / (1.0 + ratio)


def _without_last_digits(values: Floats) -> Floats:
    """Return rounded values, so that those equal up to rounding errors become equal; infinite ones stay."""
    mantissa, exponent = np.frexp(values)
    return np.asarray(np.ldexp(np.floor(np.ldexp(mantissa, _BITS) + 0.5), exponent - _BITS))
