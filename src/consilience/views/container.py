"""Several views of the same samples."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..io.stored import stored
from ..words import listed
from .alignment import align_tables, check_mask, check_pairwise, joint_mask, positions_of
from .device_arrays import DeviceArray, in_memory
from .encoding import Encoding
from .reading import (
    Array,
    check_cells,
    is_annotated,
    is_finite,
    read_table,
    split_views,
    take_samples,
    to_floats,
)
from .tables import Ids, Table, read_ids

_CHUNK = 1 << 24  # bytes that are hashed together


@stored(
    attributes=(
        "names",
        "resident_arrays",
        "sample_ids",
        "mask",
        "pairwise",
        "columns",
        "encodings",
        "graphs",
    )
)
class Views:
    """Several views of the same samples.

    Its length is the number of samples and indexing takes samples, so that scikit-learn's splitters and
    searches split the samples, not the views.

    Parameters
    ----------
    data : list, tuple, mapping, array, sparse matrix, DataFrame or Views
        The views, each 2-D with one row per sample. A single 2-D array, sparse matrix, DataFrame or list of
        rows is one view. The index of a DataFrame holds sample ids, unless it is only 0, 1, 2, ...;
        rows are matched by id, in the order of the first view that has ids. A polars DataFrame has ids if
        `id_column` names them. Nothing is copied that is already in order, and the input is never changed.
        Entries must be numbers; an array of objects is taken if all of them are. Columns of a DataFrame may
        also be text or categories. Tensors of PyTorch and arrays of CuPy or JAX are taken where they are. A
        `GraphView` is a graph, an AnnData or MuData several views.
        A row of NaN is a sample that the view has not seen; single NaN are empty cells, which only some
        metrics accept.
    names : sequence of str, optional
        Names of the views; by default the keys of a mapping, otherwise ``view_0``, ``view_1``, ...
    sample_ids : sequence, optional
        Ids of the samples. DataFrames with ids are brought into this order, other views are in it already.
    mask : array of bool, shape (n_samples, n_views), optional
        True where the view has seen the sample. Its rows are in the order of `sample_ids`; a DataFrame is
        matched by ids and names. What a view holds for a sample that it has not seen is replaced by zeros.
    pairwise : bool, collection of str or sequence of bool, default=False
        Which views hold distances or similarities between the samples, so that taking samples takes rows
        and columns: all or none, their names, or one flag per view. Graphs always do.
    join : {"outer", "inner"}, default="outer"
        What to do with ids that not all views have. "outer": keep them, those of the first view first; a view
        has not seen the samples that it lacks. "inner": keep the samples that all views with ids have.
    id_column : str, optional
        Column of the DataFrames that holds the sample ids, instead of the index.
    kinds : mapping from names of views, optional
        What columns are where their type does not show it, such as numbers that are codes: for a view a
        mapping from columns to ``"numeric"``, ``"categorical"`` or ``"ordinal"``, one such for each column,
        or one for all.

    Attributes
    ----------
    names : tuple of str
        Names of the views.
    arrays : tuple of ndarray or CSR matrix
        The views, float64 or (where the input was) float32, in the memory of this process.
    resident_arrays : tuple of ndarray, CSR matrix or DeviceArray
        The same where they are: those that came as arrays on a GPU stay there, until `arrays` is asked for.
    sample_ids : ndarray or None
        Ids of the samples, if there are any.
    mask : ndarray of bool or None
        Which view has seen which sample; None if all have seen all.
    pairwise : tuple of bool
        Which views are matrices between samples.
    columns : tuple of (ndarray or None)
        Labels of the columns of each view that came as a DataFrame, names or not.
    feature_names : tuple of (ndarray of str or None)
        Those that are names, all of them.
    encodings : tuple of (Encoding or None)
        What the columns of a view are and what their codes stand for, if not all are numbers.
    graphs : tuple of ("similarity", "distance" or None)
        What the weights are of a view that came as a graph.

    Notes
    -----
    A `Views` as `data` gives an equal one. Other keywords than the defaults override what it holds, except
    that `sample_ids` reorders samples that have ids already; ``pairwise=()`` takes all flags away.

    Examples
    --------
    >>> import numpy as np
    >>> from consilience.views import Views
    >>> views = Views({"size": np.ones((4, 2)), "colour": np.eye(4)}, sample_ids=["a", "b", "c", "d"])
    >>> views
    Views(4 samples: 'size' 4 x 2 float64, 'colour' 4 x 4 float64)
    >>> views[[3, 0]].sample_ids.tolist()
    ['d', 'a']
    >>> views["colour"][0]
    array([1., 0., 0., 0.])

    Tables are joined by id; a sample that is not in a table has not been seen by that view:

    >>> import pandas as pd
    >>> size = pd.DataFrame({"height": [1.0, 2.0, 3.0]}, index=["ant", "bee", "cat"])
    >>> colour = pd.DataFrame({"red": [0.5, 0.1, 0.7]}, index=["cat", "ant", "dog"])
    >>> joined = Views({"size": size, "colour": colour})
    >>> joined
    Views(4 samples: 'size' 4 x 1 float64, 25% missing, 'colour' 4 x 1 float64, 25% missing)
    >>> joined.sample_ids.tolist(), joined.mask[:, 1].tolist()
    (['ant', 'bee', 'cat', 'dog'], [True, False, True, True])
    """

    names: tuple[str, ...]
    resident_arrays: tuple[Array, ...]
    sample_ids: Ids | None
    mask: NDArray[np.bool_] | None
    pairwise: tuple[bool, ...]
    columns: tuple[Ids | None, ...]
    encodings: tuple[Encoding | None, ...]
    graphs: tuple[str | None, ...]

    def __init__(
        self,
        data: Any,
        *,
        names: Iterable[str] | None = None,
        sample_ids: Iterable[Any] | None = None,
        mask: Any = None,
        pairwise: bool | Collection[str] | Collection[bool] = False,
        join: Literal["outer", "inner"] = "outer",
        id_column: str | None = None,
        kinds: Mapping[str, Any] | None = None,
    ) -> None:
        ids = None if sample_ids is None else read_ids(sample_ids)
        given = data if isinstance(data, Views) else None
        if given is not None:
            if ids is not None and given.sample_ids is not None:
                order = positions_of("sample_ids", ids, "the Views given", given.sample_ids)
                given = given if order is None else given[order]
            self.names = _check_names(names, given.names, keyed=True)
            tables = given._tables(self.names)
            ids = given.sample_ids if ids is None else ids
            mask = given.mask if mask is None else mask
            pairwise = given.pairwise if pairwise is False else pairwise
        else:
            if is_annotated(data):
                keys, raw, ids, mask, columns = _annotated(data, ids, mask)
            else:
                keys, raw = split_views(data)
                columns = [None] * len(keys)
            self.names = _check_names(names, keys, keyed=isinstance(data, Mapping))
            tables = [read_table(name, view, id_column) for name, view in zip(self.names, raw, strict=True)]
            for table, own in zip(tables, columns, strict=True):
                table.columns = table.columns if own is None else own
            if id_column is not None and all(table.ids is None or table.counted for table in tables):
                raise ValueError(f"no view has the column {id_column!r} that id_column names")
        for name, declared in ({} if kinds is None else dict(kinds)).items():
            if name not in self.names:
                raise ValueError(
                    f"kinds names the view {name!r}; the views are {listed(map(repr, self.names))}"
                )
            tables[self.names.index(name)].declare(declared)
        self._take_tables(tables, ids, mask, pairwise, join, None if given is None else given.mask)

    @classmethod
    def from_tables(cls, tables: list[Table], *, join: Literal["outer", "inner"] = "outer") -> Views:
        """Return the views in these tables, joined by their ids."""
        new = cls.__new__(cls)
        new.names = _check_names(None, [table.name for table in tables])
        new._take_tables(tables, None, None, False, join, None)
        return new

    def _take_tables(
        self, tables: list[Table], ids: Ids | None, mask: Any, pairwise: Any, join: str, hidden: Any
    ) -> None:
        """Bring the tables into one order and keep their values; what `hidden` hides must stay hidden."""
        self.pairwise = check_pairwise(pairwise, tables)
        self.sample_ids = align_tables(tables, ids, self.pairwise, join)
        n_samples = tables[0].values.shape[0]
        seen = [table.seen for table in tables]
        if mask is not None:
            shown = check_mask(mask, n_samples, self.names, self.sample_ids)
            if hidden is not None and (shown & ~hidden).any():
                # Hidden values are zeros by now, and must not come back as if they were data.
                raise ValueError(
                    "mask shows samples that the Views given hides: start from the original data"
                )
            seen = [
                column if one is None else column & one for column, one in zip(shown.T, seen, strict=True)
            ]
        converted = [
            to_floats(table, None if one is None or one.all() else one, square, self.sample_ids)
            for table, one, square in zip(tables, seen, self.pairwise, strict=True)
        ]
        self.resident_arrays = tuple(values for values, _ in converted)
        self.mask = joint_mask([one for _, one in converted], n_samples, self.sample_ids)
        self.columns = tuple(table.columns for table in tables)
        self.encodings = tuple(table.encoding for table in tables)
        self.graphs = tuple(table.graph for table in tables)

    def _tables(self, names: tuple[str, ...]) -> list[Table]:
        """Return the views as tables again, under these names."""
        parts = zip(names, self.resident_arrays, self.columns, self.encodings, self.graphs, strict=True)
        return [
            Table(name, array, columns, encoding=encoding, graph=graph, seen=self.seen(i))
            for i, (name, array, columns, encoding, graph) in enumerate(parts)
        ]

    @property
    def arrays(self) -> tuple[Array, ...]:
        """The views, in the memory of this process."""
        return tuple(map(in_memory, self.resident_arrays))

    @arrays.setter
    def arrays(self, arrays: tuple[Array, ...]) -> None:
        self.resident_arrays = arrays

    @property
    def feature_names(self) -> tuple[Ids | None, ...]:
        """Column names of each view that came as a DataFrame with names."""
        return tuple(map(_only_names, self.columns))

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return int(self.resident_arrays[0].shape[0])

    @property
    def n_views(self) -> int:
        """Number of views."""
        return len(self.names)

    @property
    def n_features(self) -> tuple[int, ...]:
        """Number of features of each view."""
        return tuple(int(array.shape[1]) for array in self.resident_arrays)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of samples and number of features of all views together."""
        return self.n_samples, sum(self.n_features)

    def seen(self, view: int | str) -> NDArray[np.bool_] | None:
        """Return which samples the view has seen, or None if it has seen them all."""
        i = self._number(view)
        return None if self.mask is None or self.mask[:, i].all() else self.mask[:, i]

    def items(self) -> Iterator[tuple[str, Array]]:
        """Iterate over the names and arrays of the views."""
        return zip(self.names, self.arrays, strict=True)

    def select(self, which: int | str | Iterable[int | str]) -> Views:
        """Return the views with these names or numbers, in this order.

        Examples
        --------
        >>> from consilience.views import Views
        >>> Views({"a": [[1.0], [2.0]], "b": [[3.0], [4.0]]}).select("b")
        Views(2 samples: 'b' 2 x 1 float64)
        """
        picked = [self._number(i) for i in ([which] if isinstance(which, (int, np.integer, str)) else which)]
        new = copy(self)
        new.names = _check_names(None, [self.names[i] for i in picked])
        new.resident_arrays = tuple(self.resident_arrays[i] for i in picked)
        new.pairwise = tuple(self.pairwise[i] for i in picked)
        new.columns = tuple(self.columns[i] for i in picked)
        new.encodings = tuple(self.encodings[i] for i in picked)
        new.graphs = tuple(self.graphs[i] for i in picked)
        if self.mask is not None:
            new.mask = joint_mask([self.mask[:, i] for i in picked], self.n_samples, self.sample_ids)
        return new

    def with_features(self, view: int | str, features: Any) -> Views:
        """Return the views with other features in one of them, for the samples that it has seen.

        Parameters
        ----------
        view : int or str
            Which view.
        features : array, sparse matrix or DataFrame
            A row for each sample that the view has seen, in order; names of a DataFrame's columns are kept.

        Examples
        --------
        >>> from consilience.views import Views
        >>> views = Views({"size": [[1.0], [2.0]], "colour": [[3.0], [4.0]]})
        >>> views.with_features("size", [[1.0, 1.0], [2.0, 4.0]])
        Views(2 samples: 'size' 2 x 2 float64, 'colour' 2 x 1 float64)
        """
        i, seen = self._number(view), self.seen(view)
        table = read_table(self.names[i], features, None)
        n = self.n_samples if seen is None else int(seen.sum())
        if table.values.shape[0] != n:
            raise ValueError(f"view {self.names[i]!r} has seen {n} samples, got {table.values.shape[0]} rows")
        if seen is not None:
            table.reorder(np.where(seen, np.cumsum(seen) - 1, -1), None)
        values, visible = to_floats(table, seen, False, self.sample_ids)
        new = copy(self)
        new.resident_arrays = _put(self.resident_arrays, i, values)
        new.columns = _put(self.columns, i, table.columns)
        new.encodings = _put(self.encodings, i, table.encoding)
        new.pairwise, new.graphs = _put(self.pairwise, i, False), _put(self.graphs, i, None)
        if visible is not None:
            columns = [visible if j == i else self.seen(j) for j in range(self.n_views)]
            new.mask = joint_mask(columns, self.n_samples, self.sample_ids)
        return new

    def check_cells(self, view: int | str) -> None:
        """Raise a ValueError that names the first empty cell of a view.

        Examples
        --------
        >>> from consilience.views import Views
        >>> views = Views({"size": [[1.0, 2.0], [float("nan"), 3.0]]})
        >>> views.check_cells("size")
        Traceback (most recent call last):
        ValueError: view 'size', row 1, column 0 holds NaN (in all 1 NaN in this view): ...
        """
        i = self._number(view)
        table = Table(self.names[i], self.resident_arrays[i], _only_names(self.columns[i]))
        if not is_finite(self.resident_arrays[i]):
            check_cells(self.arrays[i], lambda r, c: table.place(r, c, self.sample_ids), allow_nan=False)

    def fingerprint(self, view: int | str | None = None, *, n_threads: int = 1) -> str:
        """Return a hash of names, shapes, values and what is seen, to check whether data are the same.

        Parameters
        ----------
        view : int or str, default=None
            Of which view's shape and values only; None: of all.
        n_threads : int, default=1
            Threads that read large views at the same time; the hash is the same for any number.

        Examples
        --------
        >>> from consilience.views import Views
        >>> one, other = Views([[1.0], [2.0]]), Views([[1.0], [3.0]])
        >>> one.fingerprint() == Views([[1.0], [2.0]]).fingerprint(), one.fingerprint() == other.fingerprint()
        (True, False)
        """
        digest = hashlib.sha256()
        names = self.names if view is None else ("",)
        picked = self.resident_arrays if view is None else (self.resident_arrays[self._number(view)],)
        for name, array in zip(names, picked, strict=True):
            digest.update(f"{name}|{array.shape}|{array.dtype}|".encode())
            parts = (array.data, array.indices, array.indptr) if sparse.issparse(array) else (array,)
            for part in parts:
                _hash_in_chunks(part, digest, n_threads)
        if view is not None:
            return digest.hexdigest()
        if self.mask is not None:
            digest.update(np.ascontiguousarray(self.mask).data)
        if any(encoding is not None for encoding in self.encodings):
            digest.update(repr(self.encodings).encode())
        if any(graph is not None for graph in self.graphs):
            digest.update(repr(self.graphs).encode())
        return digest.hexdigest()

    def _number(self, view: int | str) -> int:
        if isinstance(view, str) and view in self.names:
            return self.names.index(view)
        if isinstance(view, (int, np.integer)) and -self.n_views <= view < self.n_views:
            return int(view) % self.n_views
        error = KeyError if isinstance(view, str) else IndexError
        raise error(f"no view {view!r}: the views are {listed(map(repr, self.names))}")

    def __len__(self) -> int:
        return self.n_samples

    @overload
    def __getitem__(self, rows: str) -> Array: ...
    @overload
    def __getitem__(self, rows: Any) -> Views: ...
    def __getitem__(self, rows: Any) -> Any:
        if isinstance(rows, str):
            return in_memory(self.resident_arrays[self._number(rows)])
        if isinstance(rows, tuple) and len(rows) == 2 and rows[1] is Ellipsis:
            rows = rows[0]  # scikit-learn writes X[rows, ...]
        try:
            positions = np.atleast_1d(np.arange(self.n_samples)[rows])
        except IndexError as error:
            raise IndexError(f"{error}; index with samples or one name, or use Views.select") from None
        if positions.ndim != 1 or positions.size == 0:
            raise IndexError(f"samples are picked by a non-empty 1-D index, got shape {positions.shape}")
        # A slice of a dense view costs no memory, so keep it.
        return self._take(rows if isinstance(rows, slice) else positions)

    def _take(self, rows: slice | NDArray[np.intp]) -> Views:
        new = copy(self)
        square = self.pairwise
        parts = zip(self.resident_arrays, square, strict=True)
        new.resident_arrays = tuple(take_samples(array, rows, p) for array, p in parts)
        new.columns = tuple(
            columns[rows] if p and columns is not None else columns
            for columns, p in zip(self.columns, square, strict=True)
        )
        new.sample_ids = None if self.sample_ids is None else self.sample_ids[rows]
        new.mask = None if self.mask is None or self.mask[rows].all() else self.mask[rows]
        return new

    def __iter__(self) -> Iterator[Any]:
        raise TypeError(
            "iterating over Views is ambiguous: use views.items() or views.arrays for the views, "
            "views[rows] for samples"
        )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        raise TypeError("Views are several arrays, not one: use views.arrays or views['name']")

    def __repr__(self) -> str:
        parts = []
        for i, (name, array) in enumerate(zip(self.names, self.resident_arrays, strict=True)):
            n, d = array.shape
            density = f" sparse ({array.nnz / (n * d):.2g} filled)" if sparse.issparse(array) else ""
            seen = self.seen(i)
            missing = "" if seen is None else f", {1 - seen.mean():.0%} missing"
            square = f" {self.graphs[i]} graph" if self.graphs[i] else " pairwise" if self.pairwise[i] else ""
            if (encoding := self.encodings[i]) is not None:
                square = f" ({sum(kind != 'numeric' for kind in encoding.kinds)} categorical)"
            parts.append(f"{name!r} {n} x {d} {array.dtype}{density}{square}{missing}")
        return f"Views({self.n_samples} samples: {', '.join(parts)})"


def _put(parts: tuple[Any, ...], i: int, part: Any) -> tuple[Any, ...]:
    """Return the parts with another one in place i."""
    return (*parts[:i], part, *parts[i + 1 :])


def _hash_in_chunks(array: Any, digest: Any, n_threads: int) -> None:
    """Add the bytes of an array to a hash; of a large one the hashes of its chunks, which threads can share.

    Of an array on a device one chunk at a time comes here: it has the hash of the same numbers here.
    """
    step = max(1, _CHUNK // max(1, array.dtype.itemsize * int(np.prod(array.shape[1:]))))

    def chunk(start: int) -> Any:
        part = array[start : start + step]
        return np.ascontiguousarray(part.fetched() if isinstance(part, DeviceArray) else part).data

    starts = range(0, len(array), step)
    if len(starts) <= 1:
        for start in starts:
            digest.update(chunk(start))
        return
    with ThreadPoolExecutor(max(1, min(n_threads, len(starts)))) as pool:
        for found in pool.map(lambda start: hashlib.sha256(chunk(start)).digest(), starts):
            digest.update(found)


def _annotated(data: Any, ids: Any, mask: Any) -> tuple[list[str], list[Any], Any, Any, list[Any]]:
    """Return names, views, ids, mask and feature names of an AnnData or MuData, which holds all of them."""
    if ids is not None or mask is not None:
        raise ValueError("an AnnData or MuData has sample ids and missing samples of its own: pass only it")
    from .annotated import gather

    found = gather(data)
    return list(found.names), list(found.arrays), found.sample_ids, found.mask, list(found.feature_names)


def as_views(X: Any) -> Views:
    """Return `X` itself if it is a `Views`, otherwise ``Views(X)``.

    Examples
    --------
    >>> from consilience.views import as_views
    >>> as_views([[0.0, 1.0], [2.0, 3.0]])
    Views(2 samples: 'view_0' 2 x 2 float64)
    """
    return X if isinstance(X, Views) else Views(X)


def _only_names(columns: Ids | None) -> Ids | None:
    """Return the labels of columns if all of them are names."""
    named = columns is not None and all(isinstance(column, str) for column in columns)
    return columns if named else None


def _check_names(names: Iterable[str] | None, keys: Collection[str], keyed: bool = False) -> tuple[str, ...]:
    """Return the names of the views after checking that there is one for each."""
    found = tuple(keys) if names is None else (names,) if isinstance(names, str) else tuple(names)
    if not keys:
        raise ValueError("no views: pass at least one 2-D array, sparse matrix or DataFrame")
    if len(found) != len(keys):
        raise ValueError(f"names must hold one name per view: got {len(found)} for {len(keys)} views")
    for name in found:
        if not isinstance(name, str) or not name:
            raise ValueError(f"names of views must be non-empty strings, got {name!r}")
        if found.count(name) > 1:
            raise ValueError(f"names of views must be unique, but {name!r} occurs {found.count(name)} times")
    if keyed and found != tuple(keys) and set(found) == set(keys):
        raise ValueError("names would swap the names of the views: to reorder views use Views.select")
    return tuple(map(str, found))
