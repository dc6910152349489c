"""MATLAB files: versions 5 to 7 have a format of their own, version 7.3 is HDF5."""

from __future__ import annotations

from .contents import Content
from .formats import Source
from .layouts import find_content
from .matlab5 import load_mat5
from .matlab_hdf5 import load_hdf5
from .variables import Variables


def read_mat(source: Source, id_column: str | None) -> Content:
    """Read the views of a MATLAB file, and their labels."""
    return find_content(load_mat(source), source, id_column)


def load_mat(source: Source) -> Variables:
    """Return the variables of a MATLAB file: cell arrays as lists, structs as dicts, text as str."""
    return load_hdf5(source) if source.hdf5 else load_mat5(source)
