"""The bundled data set, the synthetic one, and readers of files. Nothing is ever unpickled."""

from .digits import load_digits_views
from .reading import FileError, ReadViews, read_labels, read_views
from .synthetic import MultiviewSample, make_multiview

__all__ = [
    "FileError",
    "MultiviewSample",
    "ReadViews",
    "load_digits_views",
    "make_multiview",
    "read_labels",
    "read_views",
]
