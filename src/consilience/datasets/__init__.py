"""Data to try things on: real digits in six views, and synthetic views with planted inconsistency."""

from consilience.datasets.digits import load_digits_views
from consilience.datasets.synthetic import MultiviewSample, make_multiview

__all__ = ["MultiviewSample", "load_digits_views", "make_multiview"]
