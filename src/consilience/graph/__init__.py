"""Edges, weights on them, sparsifying, and the normalised Laplacian."""

from .affinity import fused_similarity, gaussian_similarity, standardize
from .edges import EdgeSet
from .sparsify import keep_largest, symmetrize

__all__ = [
    "EdgeSet",
    "fused_similarity",
    "gaussian_similarity",
    "keep_largest",
    "standardize",
    "symmetrize",
]
