"""Graphs as data: the shared edges, and how values on edges become weights."""

from .edges import EdgeSet, symmetrize
from .kernels import EdgeKernel, Moments

__all__ = ["EdgeKernel", "EdgeSet", "Moments", "symmetrize"]
