"""Nearest neighbours: of all pairs, and in regions."""
