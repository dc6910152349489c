"""Eigenvectors of graphs."""
