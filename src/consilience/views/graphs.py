"""Graphs as views: networks over the samples, together with tables or alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ..run.messages import Advice, Setting
from .adjacency import (
    Ids,
    Kind,
    check_kind,
    check_length,
    check_unique,
    check_weights,
    checked_matrix,
    id_array,
    is_symmetric,
    merged,
    mirrored,
    names_of,
    plural,
    read_matrix,
)
from .edges import (
    Edges,
    edge_weights,
    from_frame,
    from_igraph,
    from_networkx,
    from_sequence,
    is_igraph,
    is_networkx,
    node_positions,
)

ENDS = ("source", "target")


@dataclass(frozen=True, eq=False, repr=False)
class GraphView:
    """A graph over the samples, as one view of them.

    Make it with `graph_view` or `multiplex`, which read all kinds of graphs; this constructor takes a matrix
    only, and checks it.

    Parameters
    ----------
    matrix : sparse matrix of shape (n, n)
        The weights, not negative; row u, column v is the edge from u to v. The diagonal is left out. A stored
        distance of 0 is an edge, a stored similarity of 0 is none.
    kind : {"similarity", "distance"}
        What the weights are: the larger the nearer, or the larger the farther.
    nodes : sequence, default=None
        Ids of the nodes, which are matched with those of other views; None: the nodes are in the order of the
        samples.
    directed : bool, default=False
        Whether the edges have a direction. If not, the matrix must be symmetric.

    Attributes
    ----------
    matrix : csr_array of shape (n, n)
        Canonical: sorted, each edge once, float64. An undirected edge is there in both directions.

    Examples
    --------
    >>> from scipy import sparse
    >>> matrix = sparse.csr_array([[0, 0.5, 0], [0.5, 0, 0], [0, 0, 0]])
    >>> GraphView(matrix, "similarity", ["ann", "bob", "eve"])
    GraphView(3 nodes, 1 undirected edge, similarity)
    """

    matrix: Any
    kind: Kind
    nodes: Ids | None = None
    directed: bool = False

    def __post_init__(self) -> None:
        check_kind(self.kind)
        matrix = read_matrix(self.matrix)
        n = matrix.shape[0]
        nodes = None if self.nodes is None else id_array(_listed(self.nodes))
        if nodes is not None:
            check_length(nodes.tolist(), n)
            check_unique(nodes.tolist(), "nodes")
        matrix = checked_matrix(matrix, self.kind, nodes)
        if not self.directed:
            both = mirrored(matrix, names_of(nodes))
            if both.nnz != matrix.nnz:
                raise ValueError(
                    "the matrix of a graph that is not directed must be symmetric, but some edges are there "
                    "in one direction only; graph_view(..., directed=False) adds the other"
                )
            matrix = both
        object.__setattr__(self, "matrix", matrix)
        object.__setattr__(self, "nodes", nodes)

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return int(self.matrix.shape[0])

    @property
    def n_edges(self) -> int:
        """Number of edges; one without a direction counts once."""
        return int(self.matrix.nnz) // (1 if self.directed else 2)

    @property
    def metric(self) -> str:
        """The metric that this view is measured by."""
        return "precomputed_similarity" if self.kind == "similarity" else "graph_distance"

    @property
    def counted(self) -> bool:
        """Whether the ids are only the numbers 0, 1, 2, ..., as in graphs without names."""
        return self.nodes is not None and np.array_equal(self.nodes, np.arange(self.n_nodes))

    def __repr__(self) -> str:
        way = "directed" if self.directed else "undirected"
        s = "" if self.n_edges == 1 else "s"
        return f"GraphView({self.n_nodes} nodes, {self.n_edges} {way} edge{s}, {self.kind})"


def graph_view(
    graph: Any,
    *,
    kind: Kind,
    weight: str | None = "weight",
    nodes: Any = None,
    directed: bool | None = None,
    ends: tuple[str, str] = ENDS,
) -> GraphView:
    """Read a graph as one view of its nodes.

    Parameters
    ----------
    graph : graph of networkx or igraph, sparse matrix, array, DataFrame or sequence of tuples
        - A graph of networkx (any of its four classes) or igraph (ids are the vertices' ``name``).
        - An adjacency matrix: any sparse matrix; a square NumPy array, in which 0 is no edge; a square
          DataFrame with the same ids as index and columns.
        - An edge list: tuples ``(u, v)`` or ``(u, v, weight)``, or a DataFrame (pandas or polars) with one
          row per edge.
    kind : {"similarity", "distance"}
        What the weights are. It must be given: an absent edge is similarity 0, but certainly not distance 0.
    weight : str or None, default="weight"
        Edge attribute or column that holds the weights; None, or if no edge has a "weight": all count 1.
    nodes : sequence or int, default=None
        For an adjacency matrix the ids of its rows. For an edge list all nodes, in the order wanted: those
        without an edge are isolated then. An int n: the nodes are 0, 1, ..., n - 1. By default the nodes of
        an edge list are those that have an edge, in the order in which they come (if they are the numbers
        from 0 without a gap, in that order).
    directed : bool, default=None
        Whether edges have a direction: the neighbours of a node are then the nodes that its edges lead to. By
        default what networkx or igraph say, no for edge lists, and for matrices that are not symmetric yes.
    ends : tuple of two str, default=("source", "target")
        Columns of a DataFrame that hold the two nodes of an edge.

    Returns
    -------
    GraphView

    Notes
    -----
    Of parallel edges, similarities are added and of distances the smallest is taken. In an undirected edge
    list, (u, v) and (v, u) are the same edge given twice and must have the same weight. Edges from a node to
    itself are left out. A sparse matrix means what it means to SciPy: duplicate entries are added.

    Examples
    --------
    >>> graph_view([("ann", "bob", 2.0), ("bob", "eve", 0.5)], kind="similarity")
    GraphView(3 nodes, 2 undirected edges, similarity)
    >>> graph_view([("ann", "bob", 2.0)], kind="similarity", nodes=["ann", "bob", "eve"]).nodes.tolist()
    ['ann', 'bob', 'eve']
    """
    check_kind(kind)
    if isinstance(graph, GraphView):
        if graph.kind != kind:
            raise ValueError(f"the graph holds {plural(graph.kind)}, but kind={kind!r} was passed")
        return graph
    if is_networkx(graph):
        return assemble(from_networkx(graph, weight), kind, nodes, directed)
    if is_igraph(graph):
        return assemble(from_igraph(graph, weight, _listed(nodes)), kind, nodes, directed)
    if sparse.issparse(graph) or isinstance(graph, np.ndarray):
        return _from_matrix(graph, kind, nodes, directed)
    if hasattr(graph, "columns"):
        if not set(ends) <= set(graph.columns) and _is_adjacency(graph):
            ids = list(graph.index)
            own = np.asarray(graph[ids], dtype=np.float64)
            return _from_matrix(own, kind, ids if nodes is None else nodes, directed)
        return assemble(from_frame(graph, ends, weight, None), kind, nodes, directed)
    if isinstance(graph, str | bytes | Mapping) or not isinstance(graph, Iterable):
        raise ValueError(
            f"a {type(graph).__name__} is no graph: pass a graph of networkx or igraph, a square matrix, or "
            "an edge list"
        )
    return assemble(from_sequence(graph, weight, layered=False), kind, nodes, directed)


def looks_like_graph(data: Any) -> bool:
    """Say whether this is a graph of networkx or igraph, which does not say what its weights are."""
    return is_networkx(data) or is_igraph(data)


def ask_for_kind(name: str, data: Any) -> str:
    """Return the message for a user who passes a graph as a view without saying what its weights are."""
    return (
        f"view {name!r} is a {type(data).__module__.partition('.')[0]} {type(data).__name__}: say what its "
        "weights are, graph_view(graph, kind='similarity') or graph_view(graph, kind='distance')"
    )


def _listed(nodes: Any) -> Any:
    """Return ids as a list of plain labels, a number of nodes as all numbers below it."""
    if nodes is None:
        return None
    if isinstance(nodes, int | np.integer):
        return list(range(int(nodes)))
    return nodes.tolist() if hasattr(nodes, "tolist") else list(nodes)


def _is_adjacency(frame: Any) -> bool:
    index, columns = getattr(frame, "index", None), list(frame.columns)
    return index is not None and len(index) == len(columns) and set(index) == set(columns)


def assemble(edges: Edges, kind: Kind, nodes: Any, directed: bool | None) -> GraphView:
    """Return the graph of the edges that were read."""
    check_kind(kind)
    ids, starts, ends = node_positions(edges, nodes)
    weights = edge_weights(edges)
    n = len(ids)
    if n == 0:
        raise ValueError("the graph is empty: it has no node")
    label = names_of(ids)
    check_weights(weights, kind, lambda e: (label(starts[e]), label(ends[e])))
    apart = starts != ends
    starts, ends, weights = starts[apart], ends[apart], weights[apart]
    one_way = bool(edges.directed) if directed is None else bool(directed)
    if not one_way and edges.parallel:
        starts, ends = np.minimum(starts, ends), np.maximum(starts, ends)
    matrix = merged(starts, ends, weights, n, kind)
    return GraphView(matrix if one_way else mirrored(matrix, label), kind, ids, one_way)


def _from_matrix(given: Any, kind: Kind, nodes: Any, directed: bool | None) -> GraphView:
    """Return the graph of an adjacency matrix."""
    matrix = read_matrix(given)
    ids = _listed(nodes)
    if ids is not None:
        check_length(ids, matrix.shape[0])
    matrix = checked_matrix(matrix, kind, None if ids is None else id_array(ids))
    if directed is None:
        entries = matrix.tocoo()
        if np.all(entries.row < entries.col) or np.all(entries.row > entries.col):
            raise ValueError(
                Advice(
                    "the matrix holds one triangle only: pass ",
                    Setting("directed", False),
                    " if these edges go both ways, or ",
                    Setting("directed", True),
                    " if they do not",
                )
            )
        directed = not is_symmetric(matrix)
    if not directed:
        matrix = mirrored(matrix, names_of(None if ids is None else id_array(ids)))
    # Numbers that come from a number of nodes are no names.
    counted = nodes is None or isinstance(nodes, int | np.integer)
    return GraphView(matrix, kind, None if counted else ids, bool(directed))
