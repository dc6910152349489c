"""Layers of a multiplex network, one view each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from scipy import sparse

from ..run.messages import Advice, text_of
from .adjacency import Kind
from .edges import Edges, from_frame, from_networkx, from_sequence, is_networkx
from .graphs import ENDS, GraphView, assemble, graph_view


def multiplex(
    layers: Any,
    *,
    kind: Kind | Mapping[str, Kind],
    layer: str = "layer",
    weight: str | None = "weight",
    nodes: Any = None,
    directed: bool | None = None,
    ends: tuple[str, str] = ENDS,
) -> dict[str, GraphView]:
    """Read the layers of a multiplex network as one view each.

    A node that a layer does not have is missing from that view: the layer says nothing about it. A node that
    it has, but without an edge, is seen and isolated.

    Parameters
    ----------
    layers : DataFrame, sequence of tuples, MultiGraph of networkx, or mapping from names to graphs
        One edge list with the layer of each edge, in a column or as ``(u, v, layer)`` or
        ``(u, v, layer, weight)``; a graph of networkx whose parallel edges have the layers as keys; or the
        layers themselves, each as `graph_view` takes it.
    kind : {"similarity", "distance"} or mapping
        What the weights are, in all layers or by name.
    layer : str, default="layer"
        Column of a DataFrame that holds the layer.
    nodes : sequence or mapping, default=None
        All nodes, if every layer has all of them; or those of each layer, by name. By default a layer of an
        edge list has the nodes that have an edge in it.
    weight, directed, ends
        As for `graph_view`.

    Returns
    -------
    dict of str to GraphView
        The layers, in the order in which they come.

    Examples
    --------
    >>> layers = multiplex(
    ...     [("ann", "bob", "work"), ("bob", "eve", "work"), ("ann", "eve", "home")], kind="similarity"
    ... )
    >>> layers["work"], layers["home"].nodes.tolist()
    (GraphView(3 nodes, 2 undirected edges, similarity), ['ann', 'eve'])
    """
    if isinstance(layers, Mapping) and not sparse.issparse(layers):
        sources: dict[str, Any] = {str(name): graph for name, graph in layers.items()}
    else:
        sources = _split_layers(layers, layer, weight, ends)
    if not sources:
        raise ValueError("there are no layers: the network has no edge")
    for given, what in ((kind, "kind"), (nodes, "nodes")):
        if isinstance(given, Mapping) and set(given) != set(sources):
            raise ValueError(
                f"{what} names the layers {', '.join(map(repr, given))}, the network has "
                f"{', '.join(map(repr, sources))}; give one for each"
            )
    found = {}
    for name, source in sources.items():
        own_kind = kind[name] if isinstance(kind, Mapping) else kind
        own_nodes = nodes[name] if isinstance(nodes, Mapping) else nodes
        try:
            if isinstance(source, Edges):
                found[name] = assemble(source, own_kind, own_nodes, directed)
            else:
                found[name] = graph_view(
                    source, kind=own_kind, weight=weight, nodes=own_nodes, directed=directed, ends=ends
                )
        except ValueError as error:
            raise ValueError(Advice(f"layer {name!r}: ", text_of(error))) from None
    return found


def _split_layers(layers: Any, layer: str, weight: str | None, ends: tuple[str, str]) -> dict[str, Edges]:
    """Return the edges of each layer by its name."""
    if is_networkx(layers):
        if not layers.is_multigraph():
            raise ValueError(
                "layers is a graph without parallel edges, that is one layer; pass a MultiGraph whose keys "
                "are the layers, or a dict of graphs"
            )
        edges = from_networkx(layers, weight)
    elif hasattr(layers, "columns"):
        edges = from_frame(layers, ends, weight, layer)
    elif isinstance(layers, str | bytes) or not isinstance(layers, Iterable) or hasattr(layers, "shape"):
        raise ValueError(
            f"a {type(layers).__name__} does not hold layers: pass an edge list with a layer for each edge, "
            "a networkx MultiGraph, or a dict of graphs"
        )
    else:
        edges = from_sequence(layers, weight, layered=True)
    assert edges.layers is not None
    blank = next((i for i, key in enumerate(edges.layers) if key is None or key != key), None)
    if blank is not None:
        raise ValueError(f"edge {blank} has no layer: name the layer of every edge, or drop it")
    keys = list(dict.fromkeys(edges.layers))
    if len(set(map(str, keys))) < len(keys):
        raise ValueError(
            f"layers with the same name: {', '.join(map(repr, keys[:8]))}; name each differently"
        )
    return {str(key): edges.only(key) for key in keys}
