"""Reading views: one file with all of them, or one file for each."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from consilience.views import Views

from ...warned import warn
from .arrays import read_npy, read_npz
from .contents import Content, Labels
from .errors import FileError, listed, shown
from .formats import MAX_BYTES, Source, examine
from .market import read_mtx
from .matlab import read_mat
from .parquet import read_parquet
from .tables import read_text

PathLike: TypeAlias = str | os.PathLike[str]


@dataclass(frozen=True)
class ReadViews:
    """What `read_views` found.

    Attributes
    ----------
    views : Views
        The views, with sample ids and names of features where the files have them.
    labels : ndarray of shape (n_samples,) or None
        Labels that a file holds beside the views: whole numbers or text, as they are there.
    sources : tuple of str
        Which file, and which variable in it, each view came from.
    """

    views: Views
    labels: NDArray[Any] | None
    sources: tuple[str, ...]


def read_views(
    paths: PathLike | Iterable[PathLike], *, id_column: str | None = None, max_bytes: int = MAX_BYTES
) -> ReadViews:
    r"""Read the views of one set of samples from one file, or from one file per view.

    Known are ``.mat`` (MATLAB 5 to 7.3), ``.npz``, ``.npy``, ``.csv``, ``.tsv``, ``.txt``, ``.parquet`` and
    ``.mtx``, text also with ``.gz``. Nothing that a file holds is ever executed, and no pickle is opened.

    Parameters
    ----------
    paths : path or iterable of paths
        The files. Views are named by the variables of a single file, otherwise by the files.
    id_column : str, optional
        Column (in ``.npz`` and ``.mat`` files: variable) that holds the sample ids. By default a first
        column of text, an index that pandas wrote, or what is named ``id`` or ``sample_id``. Files with ids
        are brought into the order of the first that has them.
    max_bytes : int, default=8 GiB
        Refuse a file that is larger than this or would be when unpacked.

    Returns
    -------
    ReadViews
        `views`, `labels` and `sources`.

    Raises
    ------
    FileError
        If a file cannot be read, or the files do not fit together: one line with the place and a remedy.

    Notes
    -----
    Samples are rows. A ``.mat`` file may hold them as columns: this is seen by the number of labels, or by
    the dimension that all views share; if both could be, rows are samples. Missing and infinite values are
    errors.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from consilience.datasets.reading import read_views
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
    given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if not given:
        raise FileError("no file given: name one file with all views, or one file per view")
    repeats = [path for path, count in Counter(map(os.path.abspath, given)).items() if count > 1]
    if repeats:
        raise FileError(f"{repeats[0]}: this file is given more than once; name each file once")
    files = [examine(path, max_bytes) for path in given]
    contents = [_read(file, id_column) for file in files]
    if id_column is not None and all(content.ids is None for content in contents):
        raise FileError(
            f"{contents[0].file}: no sample ids named {id_column!r}, as id_column asks, were found"
        )
    contents, ids = _aligned(contents)
    matrices = [matrix for content in contents for matrix in content.matrices]
    names = _view_names(contents, [file.stem for file in files])
    try:
        views = Views([matrix.values for matrix in matrices], names=names, sample_ids=ids)
    except ValueError as error:
        raise FileError(f"{listed(content.file for content in contents)}: {error}") from None
    views.feature_names = tuple(matrix.features for matrix in matrices)
    sources = tuple(
        f"{content.file}: {matrix.variable}" if matrix.variable else content.file
        for content in contents
        for matrix in content.matrices
    )
    return ReadViews(views, _common_labels(contents), sources)


def _read(source: Source, id_column: str | None) -> Content:
    try:
        if source.kind == "npy":
            return read_npy(source)
        if source.kind == "mtx":
            return read_mtx(source)
        read = {"text": read_text, "npz": read_npz, "mat": read_mat, "parquet": read_parquet}[source.kind]
        return read(source, id_column)
    except MemoryError:
        raise FileError(f"{source.file}: there is not enough memory to read it") from None


def _aligned(contents: list[Content]) -> tuple[list[Content], Labels | None]:
    """Bring all files into the order of the first one that has ids."""
    first = next((content for content in contents if content.ids is not None), None)
    if first is not None and first.ids is not None:
        contents = [_reordered(content, first) for content in contents]
    counts = {content.file: content.n_samples for content in contents}
    if len(set(counts.values())) > 1:
        sizes = listed(f"{file} has {n}" for file, n in counts.items())
        raise FileError(
            f"the files have different numbers of samples: {sizes}; all files need the same samples"
        )
    loose = [content.file for content in contents if content.ids is None]
    if first is not None and loose:
        warn(
            f"{first.file} has sample ids, but {listed(loose)} has none: "
            "its rows are taken to be in the same order",
        )
    return contents, None if first is None else first.ids


def _reordered(content: Content, first: Content) -> Content:
    if content.ids is None or first.ids is None or content is first:
        return content
    have, want = list(map(str, content.ids.tolist())), list(map(str, first.ids.tolist()))
    if have == want:
        return content
    more, missing = sorted(set(have) - set(want)), sorted(set(want) - set(have))
    if more or missing:
        parts = [
            f"{len(ids)} ids are only in {file}, for example {shown(ids[0])}"
            for ids, file in ((more, content.file), (missing, first.file))
            if ids
        ]
        raise FileError(
            f"{content.file}: its sample ids differ from those of {first.file}: {' and '.join(parts)}; "
            "keep the samples that all files have"
        )
    place = {label: i for i, label in enumerate(have)}
    rows = np.array([place[label] for label in want])
    matrices = tuple(replace(matrix, values=matrix.values[rows]) for matrix in content.matrices)
    labels = None if content.labels is None else content.labels[rows]
    return replace(content, matrices=matrices, labels=labels, ids=first.ids)


def _common_labels(contents: list[Content]) -> Labels | None:
    labelled = [(content.file, content.labels) for content in contents if content.labels is not None]
    for file, labels in labelled[1:]:
        if not np.array_equal(labels, labelled[0][1]):
            raise FileError(
                f"{file}: its labels differ from those in {labelled[0][0]}; remove the wrong ones"
            )
    return labelled[0][1] if labelled else None


def _view_names(contents: list[Content], stems: list[str]) -> list[str]:
    """Name the views by their variables if there is one file, by their files otherwise; each name once."""
    names: list[str] = []
    for content, stem in zip(contents, stems, strict=True):
        own = [matrix.name for matrix in content.matrices]
        if len(contents) > 1:
            own = [stem] if len(own) == 1 else [f"{stem}.{name}" for name in own]
        names.extend(own)
    unique: list[str] = []
    for name in names:
        number, candidate = 2, name
        while candidate in unique or (candidate != name and candidate in names):
            candidate, number = f"{name}_{number}", number + 1
        unique.append(candidate)
    return unique
