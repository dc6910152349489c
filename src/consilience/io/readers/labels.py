"""Reading labels from a file of their own."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...run.messages import Advice
from ...words import listed, value_text
from .arrays import load_npy, load_npz
from .contents import Labels, shape_text, tidy_ids, tidy_labels
from .errors import ID_COLUMN, FileError
from .formats import MAX_BYTES, Source, examine
from .layouts import opened
from .matlab import load_mat
from .tables import ID_NAMES, INDEX_NAMES
from .text import DELIMITERS, Row, Rows, is_number
from .variables import LABEL_NAMES, as_vector, bare, id_vector, label_vectors, pick_labels

HEADINGS = LABEL_NAMES | {"cluster", "clusters", "group", "type", "subtype", "category"}


def read_labels(
    path: str | os.PathLike[str], *, id_column: str | None = None, sample_ids: Iterable[Any] | None = None
) -> NDArray[Any]:
    r"""Read one label per sample.

    Parameters
    ----------
    path : path
        A ``.csv``, ``.tsv`` or ``.txt`` file (or packed: ``.csv.gz``) with a column of labels, or a column
        of ids and one of labels; a ``.npy`` file; a ``.npz`` or ``.mat`` file with a variable named ``y``,
        ``labels``, ``gt`` or similar, or with a single vector.
    id_column : str, optional
        Column, or variable, that holds the sample ids.
    sample_ids : iterable, optional
        The samples to return labels for, in this order. If the file has ids it may hold more samples than
        these; otherwise its labels must be as many, in the same order.

    Returns
    -------
    ndarray of shape (n_samples,)
        int64 if all labels are whole numbers, otherwise text.

    Raises
    ------
    FileError
        If the file cannot be read, or does not have a label for each sample.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from consilience.io.readers import read_labels
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "kinds.csv")
    ...     _ = path.write_text("id,kind\nant,insect\nmole,mammal\nbee,insect\n")
    ...     labels = read_labels(path, sample_ids=["bee", "mole"])
    >>> labels.tolist()
    ['insect', 'mammal']
    """
    source = examine(path, MAX_BYTES)
    wanted = None if sample_ids is None else [str(label) for label in sample_ids]
    if source.kind == "text":
        labels, ids = _from_text(source, id_column, wanted)
    elif source.kind == "npy":
        labels, ids = _vector(load_npy(source), source.file), None
    elif source.kind in ("npz", "mat"):
        labels, ids = _from_variables(source, id_column)
    else:
        raise FileError(
            f"{source.file}: labels are read from .csv, .tsv, .txt, .npy, .npz and .mat files only"
        )
    if id_column is not None and ids is None:
        fact = f"{source.file}: there are no sample ids named {id_column!r}, as "
        raise FileError(Advice(fact, ID_COLUMN, " asks"))
    return labels if wanted is None else _matched(labels, ids, wanted, source.file)


def _matched(labels: Labels, ids: Labels | None, wanted: list[str], file: str) -> Labels:
    if ids is None:
        if len(labels) != len(wanted):
            raise FileError(
                f"{file}: it has {len(labels)} labels for {len(wanted)} samples; save one label per sample, "
                "or add a column of sample ids"
            )
        return labels
    place = {str(label): i for i, label in enumerate(ids.tolist())}
    missing = [label for label in wanted if label not in place]
    if missing:
        raise FileError(
            f"{file}: {len(missing)} of the {len(wanted)} samples have no label, for example "
            f"{value_text(missing[0])}; add them, or check that the ids are the same"
        )
    return labels[[place[label] for label in wanted]]


def _vector(value: Any, file: str) -> Labels:
    vector = as_vector(value)
    if vector is None:
        raise FileError(
            f"{file}: it is {shape_text(value)} of {value.dtype}, not one number or text per sample"
        )
    return tidy_labels(vector, file)


def _from_variables(source: Source, id_column: str | None) -> tuple[Labels, Labels | None]:
    variables = load_npz(source) if source.kind == "npz" else opened(load_mat(source))
    named = id_vector(variables, id_column)
    vectors = label_vectors(variables, source.file)
    if not vectors:
        plain = {
            name: as_vector(value) for name, value in variables.items() if named is None or name != named[0]
        }
        vectors = {name: vector for name, vector in plain.items() if vector is not None and len(vector) > 1}
    if not vectors:
        raise FileError(f"{source.file}: no labels found among {listed(variables)}; save them as 'y'")
    labels = pick_labels(vectors, None, source.file)
    if labels is None:
        raise FileError(f"{source.file}: no labels found among {listed(variables)}; save them as 'y'")
    if named is None or len(named[1]) != len(labels):
        return labels, None
    return labels, tidy_ids(named[1], f"{source.file}, variable {named[0]}")


def _from_text(
    source: Source, id_column: str | None, wanted: list[str] | None
) -> tuple[Labels, Labels | None]:
    # A space is a delimiter in .txt files only: elsewhere it can be part of names such as "New York".
    spaced = source.path.name.lower().removesuffix(".gz").endswith(".txt")
    rows = [
        (line, [cell.strip() for cell in row])
        for line, row in Rows(source, DELIMITERS if spaced else DELIMITERS[:-1])
    ]
    width = len(rows[0][1]) if rows else 0
    if width not in (1, 2):
        raise FileError(
            f"{source.file}: it has {width} columns; keep one of labels, or one of ids and one of labels"
        )
    for line, row in rows:
        if len(row) != width:
            raise FileError(f"{source.file}, line {line}: expected {width} columns but found {len(row)}")
    header = _header(rows, id_column, wanted, source.file)
    if not rows:
        raise FileError(f"{source.file}: there is a header but no label below it; save the file again")
    id_at = _id_column(rows, header, id_column, wanted) if width == 2 else None
    column = [(line, row[width - 1 if id_at is None else 1 - id_at]) for line, row in rows]
    labels = _text_labels(column, source.file)
    if id_at is None:
        return labels, None
    ids = [row[id_at] for _, row in rows]
    if (
        header is not None
        and header[id_at].lower() in INDEX_NAMES
        and ids == [str(i) for i in range(len(ids))]
    ):
        return labels, None  # an index that is only 0, 1, 2, ...
    return labels, tidy_ids(ids, source.file, [line for line, _ in rows])


def _text_labels(column: list[Row] | list[tuple[int, str]], file: str) -> Labels:
    for line, cell in column:
        if cell in ("", "NA", "N/A", "NaN", "nan"):
            raise FileError(f"{file}, line {line}: the label is missing; fill it in or drop the sample")
    cells = [str(cell) for _, cell in column]
    if all(is_number(cell) and "," not in cell for cell in cells):
        return tidy_labels(np.array(cells, dtype=np.float64), file)
    return np.array(cells)


def _header(rows: list[Row], id_column: str | None, wanted: list[str] | None, file: str) -> list[str] | None:
    """Remove the first row if it names the columns, and return it."""
    line, first = rows[0]
    below = [row for _, row in rows[1:]]
    if id_column is not None and id_column not in first:
        fact = f"{file}, line {line}: there is no column {id_column!r}, as "
        raise FileError(Advice(fact, ID_COLUMN, " asks"))
    is_header = id_column is not None
    if len(first) == 2 and first[0].lower() in ID_NAMES:
        is_header = True
    last = [row[-1] for row in below]
    if any(bare(cell) in HEADINGS for cell in first) and first[-1] not in last:
        is_header = True  # a class may be called "y" too, but then it occurs again
    if below and not is_number(first[-1]) and all(map(is_number, last)):
        is_header = True
    if wanted is not None and len(first) == 1 and len(below) == len(wanted):
        is_header = True
    if wanted is not None and len(first) == 2 and below:
        known = set(wanted)
        is_header = is_header or (not known & set(first) and any(known & set(row) for row in below))
    return rows.pop(0)[1] if is_header else None


def _id_column(
    rows: list[Row], header: list[str] | None, id_column: str | None, wanted: list[str] | None
) -> int:
    if header is not None and id_column is not None:
        return header.index(id_column)
    if header is not None and bare(header[0]) in HEADINGS and bare(header[1]) not in HEADINGS:
        return 1
    if header is None and wanted is not None:
        known = set(wanted)
        hits = [sum(row[j] in known for _, row in rows) for j in (0, 1)]
        return int(hits[1] > hits[0])
    return 0
