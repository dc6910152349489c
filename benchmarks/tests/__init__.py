"""Tests of the benchmarks: `python -m pytest benchmarks/tests`."""
