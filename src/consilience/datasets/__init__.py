"""The bundled data set and the synthetic one; readers of files are in `consilience.datasets.reading`."""

from .digits import load_digits_views
from .synthetic import MultiviewSample, make_multiview

__all__ = ["MultiviewSample", "load_digits_views", "make_multiview"]
