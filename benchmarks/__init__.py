"""Benchmarks; not part of the package."""
