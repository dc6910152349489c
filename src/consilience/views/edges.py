"""Edges: from any form of a graph to its ends and weights, still as they came."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .adjacency import Floats, Ids, check_length, check_unique, id_array


@dataclass(frozen=True, eq=False)
class Edges:
    """The edges of a graph as they came.

    Attributes
    ----------
    starts, ends : list
        Labels of the nodes that each edge joins.
    weights : list or None
        The weight of each edge; None: there are none.
    listed : list
        Nodes that are known in addition to the ends, in order; they may be isolated.
    directed : bool or None
        Whether the graph says that it has a direction; None: it does not say.
    parallel : bool
        Whether (u, v) and (v, u) are two edges of an undirected graph; if not, they are one given twice.
    layers : list or None
        The layer of each edge.
    """

    starts: list[Any]
    ends: list[Any]
    weights: list[Any] | None
    listed: list[Any]
    directed: bool | None = None
    parallel: bool = False
    layers: list[Any] | None = None

    def only(self, layer: Any) -> Edges:
        """Return the edges of one layer. Nodes without an edge in it are not in it."""
        assert self.layers is not None
        kept = [i for i, one in enumerate(self.layers) if one == layer]
        weights = None if self.weights is None else [self.weights[i] for i in kept]
        return Edges(
            [self.starts[i] for i in kept],
            [self.ends[i] for i in kept],
            weights,
            [],
            self.directed,
            self.parallel,
        )


def is_networkx(graph: Any) -> bool:
    """Say whether this behaves like a graph of networkx."""
    return all(hasattr(graph, part) for part in ("nodes", "edges", "is_directed", "is_multigraph"))


def is_igraph(graph: Any) -> bool:
    """Say whether this behaves like a graph of igraph."""
    return all(hasattr(graph, part) for part in ("vs", "es", "vcount", "get_edgelist"))


def from_networkx(graph: Any, weight: str | None) -> Edges:
    """Read a graph of networkx; the keys of parallel edges are their layers."""
    keys = None
    if graph.is_multigraph():
        found = list(graph.edges(keys=True, data=True))
        keys = [edge[2] for edge in found]
    else:
        found = list(graph.edges(data=True))
    return Edges(
        [edge[0] for edge in found],
        [edge[1] for edge in found],
        _attribute([edge[-1].get(weight) for edge in found], weight),
        list(graph.nodes),
        bool(graph.is_directed()),
        parallel=True,
        layers=keys,
    )


def from_igraph(graph: Any, weight: str | None, nodes: Sequence[Any] | None) -> Edges:
    """Read a graph of igraph; vertices without a name are named by `nodes`, or by their numbers."""
    n = graph.vcount()
    labels = list(range(n))
    if "name" in graph.vs.attributes():
        labels = graph.vs["name"]
        check_unique(labels, "the attribute 'name' of the vertices")
    elif nodes is not None:
        check_length(nodes, n)
        labels = list(nodes)
    weights = graph.es[weight] if weight in graph.es.attributes() else [None] * graph.ecount()
    pairs = graph.get_edgelist()
    return Edges(
        [labels[i] for i, _ in pairs],
        [labels[j] for _, j in pairs],
        _attribute(weights, weight),
        labels,
        bool(graph.is_directed()),
        parallel=True,
    )


def from_frame(frame: Any, ends: tuple[str, str], weight: str | None, layer: str | None) -> Edges:
    """Read an edge list from the columns of a DataFrame, pandas or polars."""
    columns = list(frame.columns)
    wanted = [*ends, *([] if layer is None else [layer])]
    wanted += [weight] if weight not in (None, "weight") else []
    absent = [name for name in wanted if name not in columns]
    if absent:
        raise ValueError(
            f"the edge list has no column {absent[0]!r}, only {', '.join(map(repr, columns[:8]))}; "
            "say which columns hold the ends, such as ends=('from', 'to'), and which the weight"
        )
    weights = frame[weight].to_list() if weight is not None and weight in columns else None
    layers = None if layer is None else frame[layer].to_list()
    return Edges(frame[ends[0]].to_list(), frame[ends[1]].to_list(), weights, [], layers=layers)


def from_sequence(edges: Iterable[Any], weight: str | None, layered: bool) -> Edges:
    """Read tuples (u, v) or (u, v, weight); with layers (u, v, layer) or (u, v, layer, weight)."""
    found = list(edges)
    least = 3 if layered else 2
    form = "(u, v, layer) or (u, v, layer, weight)" if layered else "(u, v) or (u, v, weight)"
    for i, edge in enumerate(found):
        if isinstance(edge, str) or not hasattr(edge, "__len__") or len(edge) not in (least, least + 1):
            raise ValueError(f"edge {i} of the list is {reprlib.repr(edge)}; an edge is {form}")
        if len(edge) != len(found[0]):
            raise ValueError(
                f"edge {i} of the list has {len(edge)} parts, the first has {len(found[0])}: give all edges "
                "a weight, or none"
            )
    weighted = bool(found) and len(found[0]) > least and weight is not None
    return Edges(
        [_plain(edge[0]) for edge in found],
        [_plain(edge[1]) for edge in found],
        [edge[least] for edge in found] if weighted else None,
        [],
        layers=[_plain(edge[2]) for edge in found] if layered else None,
    )


def _attribute(weights: list[Any], weight: str | None) -> list[Any] | None:
    """Return the weights, None if there are none: a graph need not be weighted."""
    if weight is None:
        return None
    if all(one is None for one in weights):
        if weight != "weight" and weights:
            raise ValueError(f"no edge has the attribute {weight!r}; weight=None takes all edges alike")
        return None
    return weights


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label


def node_positions(edges: Edges, nodes: Any) -> tuple[Ids, NDArray[np.int64], NDArray[np.int64]]:
    """Return the ids of the nodes, and where among them the ends of each edge are."""
    for labels, what in ((edges.starts, "start"), (edges.ends, "end")):
        blank = next((i for i, label in enumerate(labels) if label is None or label != label), None)
        if blank is not None:
            raise ValueError(f"edge {blank} has no {what}: name both nodes of every edge, or drop it")
    pairs = zip(edges.starts, edges.ends, strict=True)
    known = dict.fromkeys([*edges.listed, *(label for pair in pairs for label in pair)])
    counting = all(type(label) is int for label in known)
    if nodes is None:
        labels = list(known)
        if counting and set(labels) == set(range(len(labels))):
            labels.sort()  # they are only numbers 0, 1, 2, ..., so they are in the order of the samples
    elif isinstance(nodes, int | np.integer):
        labels = list(range(int(nodes)))
    else:
        labels = [_plain(label) for label in nodes]
        check_unique(labels, "nodes")
    at = {label: i for i, label in enumerate(labels)}
    unknown = next((label for label in known if label not in at), None)
    if unknown is not None:
        places = ((i, pair) for i, pair in enumerate(zip(edges.starts, edges.ends, strict=True)))
        edge = next((f"edge {i} {pair!r}" for i, pair in places if unknown in pair), "the graph")
        raise ValueError(f"{edge} names the node {unknown!r}, which is not in nodes: add it or drop the edge")
    starts = np.array([at[label] for label in edges.starts], dtype=np.int64)
    return id_array(labels), starts, np.array([at[label] for label in edges.ends], dtype=np.int64)


def edge_weights(edges: Edges) -> Floats:
    """Return the weights as numbers, 1 for all if there are none."""
    if edges.weights is None:
        return np.ones(len(edges.starts))
    for i, weight in enumerate(edges.weights):
        if not isinstance(weight, Real | np.bool_):
            ends = f"from {edges.starts[i]!r} to {edges.ends[i]!r}"
            if weight is None:
                raise ValueError(f"the edge {ends} has no weight, others have; weight=None takes all alike")
            raise ValueError(f"the edge {ends} has the weight {reprlib.repr(weight)}, which is no number")
    return np.array(edges.weights, dtype=np.float64)
