"""Spectra of graphs: the normalised Laplacian, and its eigenvectors by the solvers of SciPy."""

from .eigenvectors import (
    EigensolverError,
    largest_of_matrix,
    smallest_eigenvectors,
    smallest_of_plain_laplacian,
)
from .laplacian import GraphKernels, NormalizedLaplacian, check_graph

__all__ = [
    "EigensolverError",
    "GraphKernels",
    "NormalizedLaplacian",
    "check_graph",
    "largest_of_matrix",
    "smallest_eigenvectors",
    "smallest_of_plain_laplacian",
]
