"""Eigenvectors of the unified graph."""
