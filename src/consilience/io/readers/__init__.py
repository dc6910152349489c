"""Reading views and labels from files, without ever running anything that a file holds.

===================================  =======================================================================
file                                 what is read
===================================  =======================================================================
``.mat``                             MATLAB 5 to 7.3: a cell array of views, a struct, or several matrices;
                                     labels with them
``.npz``, ``.npy``                   NumPy arrays, SciPy's sparse matrices; labels with them in an ``.npz``
``.csv``, ``.tsv``, ``.txt``         a table of numbers, with or without a header and sample ids
``.parquet``                         a table of numbers, with or without sample ids
``.mtx``                             a Matrix Market file, sparse or dense
``.h5ad``, ``.h5mu``                 AnnData and MuData: representations of cells, of one or more modalities
``.zarr``                            a Zarr array, format 2 or 3, in a folder
===================================  =======================================================================

Text and Matrix Market files may be packed with gzip (``.csv.gz``). MATLAB 7.3 files need h5py, Parquet needs
pyarrow and Zarr needs zarr: ``pip install 'consilience[files]'``. AnnData and MuData files need
``'consilience[h5mu]'``.
"""

from .contents import Content, Matrix
from .errors import FileError
from .formats import Source
from .labels import read_labels
from .reader import ReadViews, read_views, register_reader

__all__ = [
    "Content",
    "FileError",
    "Matrix",
    "ReadViews",
    "Source",
    "read_labels",
    "read_views",
    "register_reader",
]
