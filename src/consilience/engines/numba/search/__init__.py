"""Neighbour search: exact, approximate, and among the edges of graphs."""
