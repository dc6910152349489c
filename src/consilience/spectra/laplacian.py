"""The symmetric normalised Laplacian of a sparse graph, as an operator.

For a graph S with degrees ``d = S 1`` and ``D = diag(d)`` it is ``L_sym = I - D^-1/2 S D^-1/2``. Only the
edges are stored; nothing here is a dense n x n matrix unless `NormalizedLaplacian.toarray` is called.

The rule for isolated samples: a sample of degree 0 is **left out**. Its row and column of the operator are
zero, its row of every embedding is zero, it does not count as a connected component, and clustering assigns
it to the nearest centre after the centres were fitted to the others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator

from ..graphs import check_sparse

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class GraphKernels:
    """What an engine does faster than SciPy with the CSR matrix of a graph of many samples.

    Attributes
    ----------
    multiply : callable
        Multiplies it with a block of vectors.
    find_components : callable
        Returns the connected component of each sample of a symmetric graph without stored zeros, numbered by
        first appearance; -1 for samples without edges.
    is_symmetric : callable
        Says whether it is symmetric to the last bit, if it has no duplicates.
    """

    multiply: Callable[[sparse.csr_array, FloatArray], FloatArray]
    find_components: Callable[[sparse.csr_array], npt.NDArray[np.intp]]
    is_symmetric: Callable[[sparse.csr_array], bool]


# An asymmetry up to this part of the largest weight is taken for rounding and removed by averaging.
_SYMMETRY_TOLERANCE = 1e-8


def check_graph(graph: Any, kernels: GraphKernels | None = None) -> sparse.csr_array:
    """Return a checked float64 CSR copy of a graph; the input is never changed.

    Parameters
    ----------
    graph : sparse array or matrix, or array-like of shape (n, n)
        Edge weights: finite, non-negative, symmetric up to rounding. Stored zeros are not edges.
    kernels : GraphKernels, default=None
        The engine's own functions for many samples; None: SciPy's.

    Returns
    -------
    csr_array of shape (n, n)
        Exactly symmetric, sorted indices, no stored zeros.

    Raises
    ------
    ValueError
        If the graph is not square, not finite, has a negative weight or is not symmetric.

    Examples
    --------
    >>> check_graph([[0, 2], [2, 0]]).toarray()
    array([[0., 2.],
           [2., 0.]])
    """
    if not sparse.issparse(graph):
        graph = np.asarray(graph)
    if graph.ndim != 2 or graph.shape[0] != graph.shape[1] or graph.shape[0] == 0:
        raise ValueError(f"The graph must be square with at least one sample, got shape {graph.shape}.")
    if graph.dtype.kind not in "biuf":
        raise ValueError(f"The weights of the graph must be real numbers, got dtype {graph.dtype}.")
    if sparse.issparse(graph):
        check_sparse(graph, "The graph")
    result = sparse.csr_array(graph, dtype=np.float64, copy=True)
    result.sum_duplicates()
    if not np.isfinite(result.data).all():
        raise ValueError("The weights of the graph must be finite; it contains NaN or infinity.")
    if (result.data < 0).any():
        raise ValueError(
            f"The weights of the graph must not be negative, but the least is {result.data.min():g}."
        )
    result.eliminate_zeros()
    if kernels is not None and kernels.is_symmetric(result):
        return result
    return _symmetric(result)


def _symmetric(graph: sparse.csr_array) -> sparse.csr_array:
    """Return `graph` if it is exactly symmetric, its symmetric part if it is so up to rounding."""
    transposed = sparse.csr_array(graph.T)
    transposed.sort_indices()
    if np.array_equal(transposed.indptr, graph.indptr) and np.array_equal(transposed.indices, graph.indices):
        if np.array_equal(transposed.data, graph.data):
            return graph
        difference = float(np.abs(transposed.data - graph.data).max(initial=0.0))
    else:
        difference = float(np.abs((transposed - graph).data).max(initial=0.0))
    if difference > _SYMMETRY_TOLERANCE * graph.data.max():
        raise ValueError(
            f"The graph must be symmetric, but an edge and its reverse differ by {difference:g}; "
            "use (graph + graph.T) / 2."
        )
    average = sparse.csr_array(graph * 0.5 + transposed * 0.5)
    average.sort_indices()
    return average


class NormalizedLaplacian(LinearOperator):
    r"""The operator :math:`L_{sym} = I - D^{-1/2} S D^{-1/2}` of a graph.

    Parameters
    ----------
    graph : sparse array or matrix, or array-like of shape (n, n)
        Symmetric graph with non-negative weights (see `check_graph`).
    kernels : GraphKernels, default=None
        The engine's own functions for many samples; None: SciPy's.

    Attributes
    ----------
    degrees : ndarray of shape (n,)
        Row sums of the graph.
    isolated : ndarray of shape (n,), bool
        Samples of degree 0. They are left out: the operator is zero on them.
    adjacency : csr_array of shape (n, n)
        ``D^-1/2 S D^-1/2``, zero on isolated samples.
    components : ndarray of shape (n,), int
        Connected component of each sample, numbered by first appearance; -1 for isolated samples.
    n_connected, n_isolated : int
        Number of connected components, isolated samples not counted, and of isolated samples.

    Examples
    --------
    >>> laplacian = NormalizedLaplacian([[0, 3, 0], [3, 0, 0], [0, 0, 0]])
    >>> laplacian.toarray()
    array([[ 1., -1.,  0.],
           [-1.,  1.,  0.],
           [ 0.,  0.,  0.]])
    >>> laplacian.components
    array([ 0,  0, -1])
    """

    def __init__(self, graph: Any, kernels: GraphKernels | None = None) -> None:
        graph = check_graph(graph, kernels)
        # L_sym does not depend on the unit of the weights; a power of two keeps sums finite without rounding.
        exponent = int(np.frexp(graph.data.max(initial=0.0))[1])
        graph.data = np.ldexp(graph.data, -exponent)
        graph.eliminate_zeros()
        degrees = np.asarray(graph.sum(axis=1), dtype=np.float64).ravel()
        super().__init__(dtype=np.dtype(np.float64), shape=graph.shape)
        self._kernels = kernels
        self.isolated = degrees == 0
        with np.errstate(over="ignore"):
            self.degrees = np.ldexp(degrees, exponent)
        self._root = np.sqrt(degrees)
        inverse = np.divide(1.0, self._root, out=np.zeros_like(degrees), where=~self.isolated)
        find = self._find_components if kernels is None else kernels.find_components
        self.components = find(graph)
        # One factor, then the other: their product alone may overflow for tiny weights.
        values = graph.data
        values *= np.repeat(inverse, np.diff(graph.indptr))
        values *= inverse[graph.indices]
        self.adjacency = sparse.csr_array((values, graph.indices, graph.indptr), shape=graph.shape)
        self.n_isolated = int(self.isolated.sum())
        self.n_connected = int(self.components.max()) + 1

    def _find_components(self, graph: sparse.csr_array) -> npt.NDArray[np.intp]:
        # In a symmetric graph the strong components are the components, and are found without a transpose.
        _, found = connected_components(graph, directed=True, connection="strong")
        components = np.full(len(found), -1, dtype=np.intp)
        _, first, inverse = np.unique(found[~self.isolated], return_index=True, return_inverse=True)
        # The rank of each component's first sample is its number.
        components[~self.isolated] = np.argsort(np.argsort(first))[inverse]
        return components

    def _matmat(self, X: FloatArray) -> FloatArray:
        if self._kernels is not None:
            image = self._kernels.multiply(self.adjacency, np.ascontiguousarray(X, dtype=np.float64))
            np.subtract(X, image, out=image)
            image[self.isolated] = 0.0
            return image
        kept = np.where(self.isolated[:, None], 0.0, X)
        return np.asarray(kept - self.adjacency @ X)

    def _matvec(self, x: FloatArray) -> FloatArray:
        return self._matmat(x.reshape(-1, 1))[:, 0]

    def _adjoint(self) -> NormalizedLaplacian:
        return self

    def null_space(self, which: npt.ArrayLike | None = None) -> FloatArray:
        """Return the eigenvectors of eigenvalue 0, known exactly: ``D^1/2 1`` of each component, unit length.

        Parameters
        ----------
        which : array-like of int, optional
            The components to take, in this order; all of them by default.

        Returns
        -------
        ndarray of shape (n, number of components)
            Orthonormal, non-negative; column `j` is zero outside its component.

        Examples
        --------
        >>> import numpy as np
        >>> pairs = np.kron(np.eye(2), [[0, 1], [1, 0]])
        >>> NormalizedLaplacian(pairs).null_space().round(3).T
        array([[0.707, 0.707, 0.   , 0.   ],
               [0.   , 0.   , 0.707, 0.707]])
        """
        chosen = np.arange(self.n_connected) if which is None else np.asarray(which, dtype=np.intp)
        column = np.full(self.n_connected + 1, -1)  # the last entry is for component -1, the isolated samples
        column[chosen] = np.arange(len(chosen))
        place = column[self.components]
        rows = np.flatnonzero(place >= 0)
        vectors = np.zeros((self.shape[0], len(chosen)))
        vectors[rows, place[rows]] = self._root[rows]
        vectors /= np.linalg.norm(vectors, axis=0)
        return vectors

    def toarray(self) -> FloatArray:
        """Return the operator as a dense array: n x n numbers, for small graphs and tests.

        Examples
        --------
        >>> NormalizedLaplacian([[0, 1], [1, 0]]).toarray()
        array([[ 1., -1.],
               [-1.,  1.]])
        """
        return np.asarray(np.diag(np.where(self.isolated, 0.0, 1.0)) - self.adjacency.toarray())
