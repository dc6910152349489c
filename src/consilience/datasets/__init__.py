"""The bundled data set, a synthetic one, and spoiling views; files are read in `io.readers`."""

from .amputation import ampute
from .corruption import Corrupted, corrupt, corruptions
from .digits import load_digits_views
from .synthetic import MultiviewSample, make_multiview

__all__ = [
    "Corrupted",
    "MultiviewSample",
    "ampute",
    "corrupt",
    "corruptions",
    "load_digits_views",
    "make_multiview",
]
