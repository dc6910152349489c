"""Reading views: one file with all of them, or one file for each."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...run.messages import Advice, text_of, warn
from ...views import Views
from ...views.tables import Table
from ...words import listed, value_text
from .annotated import KINDS as ANNOTATED
from .annotated import read_annotated_file
from .arrays import read_npy, read_npz
from .contents import Content, Labels, check_entries, checked_matrix
from .errors import ID_COLUMN, FileError
from .formats import KINDS, MAX_BYTES, PACKED, Source, examine
from .market import read_mtx
from .matlab import read_mat
from .parquet import read_parquet
from .tables import read_text
from .zarr_array import read_zarr

PathLike: TypeAlias = str | os.PathLike[str]

# Files of which nothing is asked but what they hold; those of `register_reader` are under their ending.
_ARRAYS: dict[str, Callable[[Source], Content]] = {"npy": read_npy, "mtx": read_mtx, "zarr": read_zarr}


@dataclass(frozen=True)
class ReadViews:
    """What `read_views` found.

    Attributes
    ----------
    views : Views
        The views, with sample ids and names of features where the files have them.
    labels : ndarray of shape (n_samples,) or None
        Labels that a file holds with the views: whole numbers or text, as they are there.
    sources : tuple of str
        Which file, and which variable in it, each view came from.
    container : AnnData, MuData or None
        What a single ``.h5ad`` or ``.h5mu`` file holds.
    """

    views: Views
    labels: NDArray[Any] | None
    sources: tuple[str, ...]
    container: Any = None


def read_views(
    paths: PathLike | Iterable[PathLike] | Mapping[str, PathLike],
    *,
    id_column: str | None = None,
    max_bytes: int = MAX_BYTES,
    use_rep: Any = None,
    labels_key: str | None = None,
    join: Literal["outer", "inner"] = "outer",
    empty_cells: bool | Sequence[bool] = False,
) -> ReadViews:
    r"""Read the views of one set of samples from one file, or from one file per view.

    The formats are ``.mat`` (MATLAB 5 to 7.3), ``.npz``, ``.npy``, ``.csv``, ``.tsv``, ``.txt``,
    ``.parquet``, ``.mtx``, ``.h5ad``, ``.h5mu`` and ``.zarr``, text also with ``.gz``. Nothing that a file
    holds is ever executed, and no pickle is opened.

    Parameters
    ----------
    paths : path, iterable of paths, or mapping from names to paths
        The files. Views are named by the variables of a single file, otherwise by the files, or as the
        mapping says.
    id_column : str, optional
        Column (in ``.npz`` and ``.mat`` files: variable) that holds the sample ids. By default a first
        column of text, an index that pandas wrote, or what is named ``id`` or ``sample_id``. Files with ids
        are joined by them.
    max_bytes : int, default=8 GiB
        Refuse a file that is larger than this or would be when unpacked; a ``.npy`` file only if it would
        have to be converted.
    use_rep : str, dict or sequence of str, optional
        Which representations of ``.h5ad`` and ``.h5mu`` files to take, as in `consilience.omics.views_of`.
        The ids of their samples are the names of the cells.
    labels_key : str, optional
        Column of ``obs`` in such files that holds labels.
    join : {"outer", "inner"}, default="outer"
        What to do with ids that not all files have. "outer": keep them, those of the first file first; the
        views of a file have not seen the samples that it lacks. "inner": keep those that all files have.
    empty_cells : bool or sequence of bool, default=False
        Whether single cells may be empty, in all files or in each: for metrics that accept it. In tables with
        columns of words they may be in any case.

    Returns
    -------
    ReadViews
        `views`, `labels`, `sources` and `container`.

    Raises
    ------
    FileError
        If a file cannot be read, or the files do not fit together: one line that says where the problem is
        and how to solve it.

    Notes
    -----
    Samples are rows. A ``.mat`` file may hold them as columns: this is seen by the number of labels, or by
    the dimension that all views share; if both could be, rows are samples. A row without any value is a
    sample that the view has not seen. Columns of words, in a text file below a name, are categories. Infinite
    values are errors.

    A ``.npy`` file of 256 MiB or more is not read but mapped: if it holds float32 or float64 in C order, it
    is used as it is, and must stay as it is while the views or a model fitted to them are in use. Parquet and
    Zarr are read in blocks into one array; one that would take more than half of the memory that is free goes
    to a temporary file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from consilience.io.readers import read_views
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     size, colour = Path(folder, "size.csv"), Path(folder, "colour.tsv")
    ...     _ = size.write_text("id,height,width\nant,1,2\nbee,3,4\n")
    ...     _ = colour.write_text("id\tred\nbee\t0.5\nant\t0.25\n")
    ...     found = read_views([size, colour])
    >>> found.views
    Views(2 samples: 'size' 2 x 2 float64, 'colour' 2 x 1 float64)
    >>> found.views.sample_ids.tolist(), found.views["colour"].ravel().tolist()
    (['ant', 'bee'], [0.25, 0.5])
    """
    named = {str(name): path for name, path in paths.items()} if isinstance(paths, Mapping) else None
    if named is not None:
        given = list(named.values())
    else:
        given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if not given:
        raise FileError("no file given: name one file with all views, or one file per view")
    repeats = [path for path, count in Counter(map(os.path.abspath, given)).items() if count > 1]
    if repeats:
        raise FileError(f"{repeats[0]}: this file is given more than once; name each file once")
    files = [examine(path, max_bytes) for path in given]
    _check_options(files, use_rep, labels_key)
    allowed = _one_for_each(empty_cells, len(files))
    contents = [
        _read(file, id_column, use_rep, labels_key, allow) for file, allow in zip(files, allowed, strict=True)
    ]
    if id_column is not None and all(content.ids is None for content in contents):
        raise FileError(
            Advice(
                f"{contents[0].file}: no sample ids named {id_column!r}, as ", ID_COLUMN, " asks, were found"
            )
        )
    contents = _with_ids_of_one_type(contents)
    names = _view_names(contents, [file.stem for file in files], None if named is None else list(named))
    try:
        views = Views.from_tables(_tables(contents, names), join=join)
    except ValueError as error:
        files_read = listed(content.file for content in contents)
        raise FileError(Advice(f"{files_read}: ", text_of(error))) from None
    sources = tuple(
        f"{content.file}: {matrix.variable}" if matrix.variable else content.file
        for content in contents
        for matrix in content.matrices
    )
    container = contents[0].container if len(contents) == 1 else None
    return ReadViews(views, _common_labels(contents, views), sources, container)


def register_reader(ending: str, read: Callable[[Source], Content], *, packed: bool = False) -> None:
    """Let `read_views`, and the command, read files of one more format.

    Parameters
    ----------
    ending : str
        How names of such files end, such as ``".json"``.
    read : callable
        Takes a `Source`, returns a `Content`. Raises a `FileError` that says what is wrong, where, and what
        to do. It must not run anything that a file holds.
    packed : bool, default=False
        Whether files may be packed with gzip, too.

    Examples
    --------
    >>> import json, tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from consilience.io.readers import Content, Matrix, read_views, register_reader
    >>> def read_json(source):
    ...     with source.open() as file:
    ...         return Content(source.file, (Matrix(source.stem, np.array(json.load(file), dtype=float)),))
    >>> register_reader(".json", read_json)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "sizes.json")
    ...     _ = file.write_text("[[1, 2], [3, 4]]")
    ...     read_views(file).views
    Views(2 samples: 'sizes' 2 x 2 float64)
    >>> del KINDS[".json"], _ARRAYS[".json"]
    """
    if not ending.startswith(".") or ending != ending.lower() or len(ending) < 2:
        raise ValueError(f"ending must be in lower case, such as '.json', got {ending!r}.")
    if KINDS.get(ending, ending) != ending:
        raise ValueError(f"Files that end with {ending!r} have a reader already.")

    def checked(source: Source) -> Content:
        content = read(source)
        matrices = tuple(
            replace(one, values=checked_matrix(one.values, source.file, source.max_bytes))
            for one in content.matrices
        )
        return replace(content, matrices=matrices)

    KINDS[ending], _ARRAYS[ending] = ending, checked
    if packed:
        PACKED.add(ending)


def _check_options(files: list[Source], use_rep: Any, labels_key: str | None) -> None:
    """Raise a FileError if an option is for files that are not there."""
    given = {"use_rep": use_rep, "labels_key": labels_key}
    asked = [option for option, value in given.items() if value is not None]
    if asked and not any(file.kind in ANNOTATED for file in files):
        raise FileError(f"{files[0].file}: {asked[0]} is for .h5ad and .h5mu files; leave it out")


def _one_for_each(flags: bool | Sequence[bool], n_files: int) -> list[bool]:
    each = [flags] * n_files if isinstance(flags, bool) else [bool(flag) for flag in flags]
    if len(each) != n_files:
        raise ValueError(
            f"empty_cells must be one bool, or one for each of the {n_files} files; got {flags!r}"
        )
    return each


def _tables(contents: list[Content], names: list[str]) -> list[Table]:
    """Return a table for each view."""
    tables, unnamed = [], iter(names)
    for content in contents:
        for i, matrix in enumerate(content.matrices):
            seen = None if content.mask is None or content.mask[:, i].all() else content.mask[:, i]
            tables.append(
                Table(
                    next(unnamed),
                    matrix.values,
                    matrix.features,
                    content.ids,
                    counted=content.counted,
                    encoding=matrix.encoding,
                    seen=seen,
                )
            )
    return tables


def _with_ids_of_one_type(contents: list[Content]) -> list[Content]:
    """Return the files with ids that can be compared: text in all if they are in one."""
    kinds = {content.ids.dtype.kind for content in contents if content.ids is not None}
    if len(kinds) < 2:
        return contents
    return [
        content
        if content.ids is None
        else replace(content, ids=np.array(list(map(str, content.ids.tolist()))))
        for content in contents
    ]


def _read(
    source: Source, id_column: str | None, use_rep: Any, labels_key: str | None, empty_cells: bool
) -> Content:
    try:
        if source.kind in ANNOTATED:
            return read_annotated_file(source, use_rep, labels_key)
        if source.kind in ("text", "parquet"):
            read_table = read_text if source.kind == "text" else read_parquet
            return read_table(source, id_column, empty_cells)
        if source.kind in _ARRAYS:
            content = _ARRAYS[source.kind](source)
        else:
            content = (read_npz if source.kind == "npz" else read_mat)(source, id_column)
        if not empty_cells:
            for matrix in content.matrices:
                place = f"{content.file}, variable {matrix.variable}" if matrix.variable else content.file
                check_entries(matrix.values, place, empty_cells=False)
        return content
    except MemoryError:
        raise FileError(f"{source.file}: there is not enough memory to read it") from None


def _common_labels(contents: list[Content], views: Views) -> Labels | None:
    """Return the labels that the files hold, in the order of the samples; None if some have none."""
    labelled = [(content, content.labels) for content in contents if content.labels is not None]
    if not labelled:
        return None
    merged: dict[Any, Any] = {}
    wanted = range(views.n_samples) if views.sample_ids is None else views.sample_ids.tolist()
    for content, labels in labelled:
        keys = wanted if content.ids is None else content.ids.tolist()
        for key, label in zip(keys, labels.tolist(), strict=True):
            if merged.setdefault(key, label) != label:
                first = labelled[0][0].file
                raise FileError(
                    f"{content.file}: its labels differ from those in {first}; remove the wrong ones"
                )
    missing = [key for key in wanted if key not in merged]
    if missing:
        warn(
            f"{len(missing)} samples have no label ({value_text(str(missing[0]))}, ...): "
            "the labels are not used"
        )
        return None
    return np.array([merged[key] for key in wanted], dtype=labelled[0][1].dtype)


def _view_names(contents: list[Content], stems: list[str], given: list[str] | None) -> list[str]:
    """Name views as asked, or by their variables if there is one file, else by their files; each once."""
    names: list[str] = []
    for content, stem in zip(contents, stems if given is None else given, strict=True):
        own = [matrix.name for matrix in content.matrices]
        if len(contents) > 1 or given is not None:
            own = [stem] if len(own) == 1 else [f"{stem}.{name}" for name in own]
        names.extend(own)
    unique: list[str] = []
    for name in names:
        number, candidate = 2, name
        while candidate in unique or (candidate != name and candidate in names):
            candidate, number = f"{name}_{number}", number + 1
        unique.append(candidate)
    return unique
