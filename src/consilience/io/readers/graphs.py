"""Graphs in files: edge lists as text, and adjacency matrices."""

from __future__ import annotations

import math
import os
from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from consilience.views import Views
from consilience.views.graphs import GraphView, graph_view

from ...run.messages import Advice, text_of, warn
from ...words import listed, value_text
from .arrays import read_npy, read_npz
from .contents import Content
from .errors import ID_COLUMN, FileError, check_size
from .formats import MAX_BYTES, Source, examine
from .market import read_mtx
from .text import Row, Rows, is_missing, is_number, repeated

SOURCE, TARGET, WEIGHT = "source", "target", "weight"


def read_graph(
    path: str | os.PathLike[str],
    *,
    kind: Any,
    directed: bool | None = None,
    max_bytes: int = MAX_BYTES,
) -> GraphView:
    r"""Read a graph from a file.

    Parameters
    ----------
    path : path
        An edge list (``.csv``, ``.tsv``, ``.txt``, also with ``.gz``) whose first line names the columns
        ``source``, ``target`` and, if the edges have weights, ``weight``; other columns are left out. Or an
        adjacency matrix (``.mtx``, ``.npz``, ``.npy``).
    kind : {"similarity", "distance"}
        What the weights are.
    directed : bool, default=None
        Whether the edges have a direction; by default no for edge lists, and for matrices that are not
        symmetric yes.
    max_bytes : int, default=8 GiB
        Refuse a file that is larger than this or would be when unpacked.

    Returns
    -------
    GraphView
        The ids of its nodes are text; a matrix has none.

    Raises
    ------
    FileError
        If the file cannot be read: one line that says where the problem is and how to solve it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "friends.csv")
    ...     _ = file.write_text("source,target,weight\nann,bob,2\nbob,eve,0.5\n")
    ...     read_graph(file, kind="similarity")
    GraphView(3 nodes, 2 undirected edges, similarity)
    """
    source = examine(path, max_bytes)
    if source.kind == "text":
        found = _Edges(source).read()
        given, nodes = found.triples(), found.nodes
    elif source.kind in ("mtx", "npz", "npy"):
        given, nodes = _matrix(source), None
    else:
        raise FileError(
            f"{source.file}: a graph is an edge list (.csv, .tsv, .txt) or an adjacency matrix (.mtx, .npz, "
            ".npy); save it as one of these"
        )
    try:
        return graph_view(given, kind=kind, nodes=nodes, directed=directed)
    except ValueError as error:
        raise FileError(Advice(f"{source.file}: ", text_of(error))) from None


def _matrix(source: Source) -> Any:
    readers: dict[str, Any] = {"mtx": read_mtx, "npy": read_npy}
    content: Content = readers[source.kind](source) if source.kind in readers else read_npz(source, None)
    if len(content.matrices) != 1:
        raise FileError(
            f"{source.file}: it holds {len(content.matrices)} matrices, but a graph is one; save it alone"
        )
    return content.matrices[0].values


class _Edges:
    """The edges of one file, line by line."""

    def __init__(self, source: Source) -> None:
        self.rows, self.file, self.max_bytes = Rows(source), source.file, source.max_bytes
        self.numbers: dict[str, int] = {}  # of the nodes, in the order in which they come
        self.starts, self.ends, self.weights = array("q"), array("q"), array("d")
        self.at: dict[str, int] = {}  # which columns hold what
        self.width = 0

    @property
    def nodes(self) -> list[str]:
        """The ids of the nodes."""
        return list(self.numbers)

    def triples(self) -> list[tuple[str, str, float]]:
        """Return the edges with their weights."""
        ids = self.nodes
        return [(ids[i], ids[j], w) for i, j, w in zip(self.starts, self.ends, self.weights, strict=True)]

    def read(self) -> _Edges:
        """Read all rows."""
        stream = iter(self.rows)
        self._read_header(next(stream, None))
        for line, row in stream:
            if len(row) != self.width:
                raise FileError(
                    f"{self.file}, line {line}: expected {self.width} columns but found {len(row)}; "
                    "every row needs the same number of cells"
                )
            self.starts.append(self._node(line, row, SOURCE))
            self.ends.append(self._node(line, row, TARGET))
            self.weights.append(self._weight(line, row) if WEIGHT in self.at else 1.0)
            check_size(300 * len(self.starts) + 200 * len(self.numbers), self.max_bytes, self.file)
        if not self.starts:
            raise FileError(f"{self.file}: there is a header but no edge below it; save the file again")
        return self

    def _read_header(self, first: Row | None) -> None:
        line, cells = (1, []) if first is None else first
        names = [cell.strip().lower() for cell in cells]
        absent = [name for name in (SOURCE, TARGET) if name not in names]
        if absent:
            raise FileError(
                f"{self.file}, line {line}: the first line must name the columns {SOURCE} and {TARGET} (and "
                f"{WEIGHT}), but it is {listed(map(value_text, cells))}"
            )
        if twice := repeated(names):
            raise FileError(f"{self.file}, line {line}: the column name {twice} occurs more than once")
        self.at = {name: names.index(name) for name in (SOURCE, TARGET, WEIGHT) if name in names}
        self.width = len(names)

    def _node(self, line: int, row: list[str], what: str) -> int:
        name = row[self.at[what]].strip()
        if not name:
            raise FileError(
                f"{self.file}, line {line}: the {what} of the edge is empty; name both of its nodes"
            )
        return self.numbers.setdefault(name, len(self.numbers))

    def _weight(self, line: int, row: list[str]) -> float:
        cell = row[self.at[WEIGHT]].strip()
        place = f"{self.file}, line {line}, column {self.at[WEIGHT] + 1} ({WEIGHT!r})"
        if is_missing(cell):
            raise FileError(f"{place}: the weight is missing; fill it in or drop the edge")
        if not is_number(cell):
            raise FileError(f"{place}: {value_text(cell)} is no number; correct it or drop the edge")
        if "," in cell and self.rows.delimiter != ";":
            raise FileError(
                f"{place}: {value_text(cell)} has a decimal comma, read between semicolons only; use points"
            )
        weight = float(cell.replace(",", "."))
        if not math.isfinite(weight):
            raise FileError(f"{place}: the weight is infinite or too large ({value_text(cell)}); replace it")
        if weight < 0:
            raise FileError(f"{place}: the weight {weight:.6g} is negative; weights must not be")
        return weight


@dataclass(frozen=True)
class NamedGraph:
    """A graph, the name of its view, and the file that it came from."""

    name: str
    file: str
    graph: GraphView


def named_graphs(
    paths: Iterable[tuple[str | os.PathLike[str], Any]],
    taken: Iterable[str] = (),
    *,
    directed: bool | None = None,
    max_bytes: int = MAX_BYTES,
) -> list[NamedGraph]:
    """Read several graphs, each with its kind; their views get the names of the files, each name once."""
    names, found = list(taken), []
    for path, kind in paths:
        graph = read_graph(path, kind=kind, directed=directed, max_bytes=max_bytes)
        stem = name = examine(path, max_bytes).stem
        number = 2
        while name in names:
            name, number = f"{stem}_{number}", number + 1
        names.append(name)
        found.append(NamedGraph(name, os.fspath(path), graph))
    return found


def with_graphs(views: Views | None, graphs: list[NamedGraph]) -> Views:
    """Add graphs to the views of tables.

    The samples are those of the tables: a node that is none of them is left out, with a warning, and a
    sample that is no node is one that the graph has not seen. Without tables the samples are the nodes of all
    graphs.
    """
    labels = _samples(views, graphs)
    n = len(labels) if labels is not None else graphs[0].graph.n_nodes
    if views is not None:
        n = views.n_samples
    placed = [_placed(one, labels, n, alone=views is None) for one in graphs]
    arrays = [*(() if views is None else views.arrays), *(matrix for matrix, _ in placed)]
    before = 0 if views is None else views.n_views
    mask = np.ones((n, len(arrays)), dtype=bool)
    if views is not None and views.mask is not None:
        mask[:, :before] = views.mask
    for i, (_, seen) in enumerate(placed):
        mask[:, before + i] = seen
    ids = views.sample_ids if views is not None else labels
    joined = Views(
        arrays,
        names=[*(() if views is None else views.names), *(one.name for one in graphs)],
        sample_ids=ids,
        mask=None if mask.all() else mask,
        pairwise=[*(() if views is None else views.pairwise), *(True for _ in graphs)],
    )
    if views is not None:
        joined.columns = views.columns + joined.columns[before:]
        joined.encodings = views.encodings + joined.encodings[before:]
    earlier = () if views is None else views.graphs
    joined.graphs = (*earlier, *(one.graph.kind for one in graphs))
    return joined


def _samples(views: Views | None, graphs: list[NamedGraph]) -> Any:
    """Return the ids of the samples as text, None if there are none."""
    if views is not None:
        return None if views.sample_ids is None else np.array([str(one) for one in views.sample_ids.tolist()])
    nodes = [one.graph.nodes.tolist() for one in graphs if one.graph.nodes is not None]
    return np.array(list(dict.fromkeys(node for own in nodes for node in own))) if nodes else None


def _placed(one: NamedGraph, labels: Any, n: int, alone: bool) -> tuple[Any, Any]:
    """Return a graph's matrix between the samples, and which of them it has."""
    graph = one.graph
    if graph.nodes is None:
        if graph.n_nodes != n:
            raise FileError(
                f"{one.file}: it is {graph.n_nodes} x {graph.n_nodes} and names no nodes, but there are {n} "
                "samples; save it as an edge list with their ids"
            )
        if labels is not None:
            warn(f"{one.file} has no ids of its nodes: they are taken to be in the order of the samples")
        return graph.matrix, np.ones(n, dtype=bool)
    if labels is None:
        raise FileError(
            Advice(
                f"{one.file}: its nodes have ids, the samples of the tables have none; name the column that "
                "holds them with ",
                ID_COLUMN,
            )
        )
    at = {label: i for i, label in enumerate(labels.tolist())}
    place = np.array([at.get(node, -1) for node in graph.nodes.tolist()])
    seen = np.zeros(n, dtype=bool)
    seen[place[place >= 0]] = True
    if not seen.any():
        raise FileError(
            f"{one.file}: none of its nodes is a sample of the tables: it has "
            f"{value_text(str(graph.nodes[0]))} and so on, they have {value_text(str(labels[0]))}"
        )
    if not alone and (place < 0).any():
        unknown = graph.nodes[place < 0]
        warn(
            f"{one.file}: {len(unknown)} of {graph.n_nodes} nodes are no samples of the tables, such as "
            f"{value_text(str(unknown[0]))}; they are left out"
        )
    entries = graph.matrix.tocoo()
    row, column = place[entries.row], place[entries.col]
    kept = (row >= 0) & (column >= 0)
    return sparse.csr_array((entries.data[kept], (row[kept], column[kept])), shape=(n, n)), seen
