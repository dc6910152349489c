"""Edges, weights on them, sparsifying, and the normalised Laplacian."""

from .affinity import (
    EdgeKernel,
    Standardization,
    fused_similarity,
    gaussian_similarity,
    mean_distance,
    standardize,
)
from .edges import EdgeSet
from .knn import gaussian_graph, knn_graph
from .missing import complete_graph, expected_values, n_neighbors_of_seen
from .projection import project_to_simplex
from .sparsify import keep_largest, symmetrize

__all__ = [
    "EdgeKernel",
    "EdgeSet",
    "Standardization",
    "complete_graph",
    "expected_values",
    "fused_similarity",
    "gaussian_graph",
    "gaussian_similarity",
    "keep_largest",
    "knn_graph",
    "mean_distance",
    "n_neighbors_of_seen",
    "project_to_simplex",
    "standardize",
    "symmetrize",
]
