"""Edges, weights on them, sparsifying, and the normalised Laplacian."""

from .affinity import fused_similarity, gaussian_similarity, standardize
from .edges import EdgeSet
from .knn import gaussian_graph, knn_graph
from .projection import project_to_simplex
from .sparsify import keep_largest, symmetrize

__all__ = [
    "EdgeSet",
    "fused_similarity",
    "gaussian_graph",
    "gaussian_similarity",
    "keep_largest",
    "knn_graph",
    "project_to_simplex",
    "standardize",
    "symmetrize",
]
