"""The bundled data set, a synthetic one, and removing samples; files are read in `io.readers`."""

from .amputation import ampute
from .digits import load_digits_views
from .synthetic import MultiviewSample, make_multiview

__all__ = ["MultiviewSample", "ampute", "load_digits_views", "make_multiview"]
