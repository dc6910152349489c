"""Graphs as views: reading them from everything that holds one, and fitting them beside tables."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from tests.engines.names import HOST_ENGINES

from consilience import (
    DistanceGraphFusion,
    GraphView,
    KMeansLabels,
    SimilarityGraphFusion,
    Views,
    fuse_graphs,
    graph_view,
    make_multiview,
    multiplex,
)
from consilience.engines import get_engine
from consilience.graphs import EdgeKernel
from consilience.metrics import nmi
from consilience.spaces import Space
from consilience.views.graphs import ask_for_kind, looks_like_graph

TEN = KMeansLabels(n_init=10)
EDGES = [("ann", "bob", 2.0), ("bob", "eve", 0.5), ("dan", "ann", 1.0)]


def nearest(matrix, metric):
    """Return the nearest other sample of each, which all engines must agree on."""
    lists = []
    for engine in map(get_engine, HOST_ENGINES):
        found = engine.nearest(engine.place(Space("net", matrix, metric)), 1)
        lists.append(engine.fetch(found.lists).ravel().tolist())
    assert all(one == lists[0] for one in lists)
    return lists[0]


def as_dict(graph):
    """Return the stored entries by the labels of their ends."""
    entries = graph.matrix.tocoo()
    labels = range(graph.n_nodes) if graph.nodes is None else graph.nodes.tolist()
    return {
        (labels[i], labels[j]): w
        for i, j, w in zip(entries.row, entries.col, entries.data.tolist(), strict=True)
    }


BOTH_WAYS = {(u, v): w for a, b, w in EDGES for u, v in ((a, b), (b, a))}


# Sources


def _networkx():
    networkx = pytest.importorskip("networkx", reason="networkx is not installed")
    graph = networkx.Graph()
    graph.add_weighted_edges_from(EDGES)
    return graph


def _igraph():
    igraph = pytest.importorskip("igraph", reason="igraph is not installed")
    return igraph.Graph.TupleList(EDGES, edge_attrs=["weight"])


def _polars():
    polars = pytest.importorskip("polars", reason="polars is not installed")
    return polars.DataFrame(EDGES, schema=["source", "target", "weight"], orient="row")


def _frame():
    return pd.DataFrame(EDGES, columns=["source", "target", "weight"], index=[7, 1, 3])


def _adjacency_frame():
    names = ["ann", "bob", "eve", "dan"]
    frame = pd.DataFrame(0.0, index=names, columns=names[::-1])
    for (u, v), w in BOTH_WAYS.items():
        frame.loc[u, v] = w
    return frame


@pytest.mark.parametrize(
    "source", [lambda: EDGES, lambda: iter(EDGES), _frame, _adjacency_frame, _polars, _networkx, _igraph]
)
@pytest.mark.parametrize("kind", ["similarity", "distance"])
def test_every_source_gives_the_same_graph(source, kind):
    graph = graph_view(source(), kind=kind)
    assert as_dict(graph) == BOTH_WAYS
    assert graph.nodes.tolist() == ["ann", "bob", "eve", "dan"]
    assert (graph.kind, graph.directed, graph.n_edges, graph.n_nodes) == (kind, False, 3, 4)
    assert graph.matrix.has_canonical_format and graph.matrix.dtype == np.float64


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "bsr"])
@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csr_matrix])
def test_sparse_matrices_of_any_format(form, make):
    dense = np.array([[9, 2, 0], [2, 0, 5], [0, 5, 0]])
    given = make(dense).asformat(form)
    graph = graph_view(given, kind="similarity", nodes=["a", "b", "c"])
    assert as_dict(graph) == {("a", "b"): 2, ("b", "a"): 2, ("b", "c"): 5, ("c", "b"): 5}
    assert given.toarray().tolist() == dense.tolist()  # not touched
    assert as_dict(graph_view(dense, kind="similarity", nodes=["a", "b", "c"])) == as_dict(graph)
    assert graph_view(given, kind="similarity").nodes is None


def test_a_stored_zero_is_an_edge_of_length_0_but_no_similarity():
    matrix = sparse.coo_array(([0.0, 0.0, 3.0, 3.0], ([0, 1, 1, 2], [1, 0, 2, 1])), shape=(3, 3))
    assert as_dict(graph_view(matrix, kind="distance")) == {(0, 1): 0, (1, 0): 0, (1, 2): 3, (2, 1): 3}
    assert as_dict(graph_view(matrix, kind="similarity")) == {(1, 2): 3, (2, 1): 3}
    edges = [("a", "b", 0.0), ("b", "c", 3.0)]
    assert as_dict(graph_view(edges, kind="distance"))["b", "a"] == 0
    similar = graph_view(edges, kind="similarity")
    assert similar.nodes.tolist() == ["a", "b", "c"]  # seen, if isolated
    assert as_dict(similar) == {("b", "c"): 3, ("c", "b"): 3}


def test_a_stored_zero_survives_views_and_taking_samples():
    graph = graph_view([(0, 1, 0.0), (1, 2, 3.0), (2, 3, 1.0)], kind="distance")
    views = Views({"net": graph.matrix}, pairwise=["net"])
    assert views.arrays[0].nnz == 6
    assert views[[1, 0, 2]].arrays[0].nnz == 4
    assert nearest(views[[1, 0, 2]].arrays[0], "graph_distance") == [1, 0, 0]


def test_directed_graphs_keep_their_direction():
    graph = graph_view(EDGES, kind="similarity", directed=True)
    assert as_dict(graph) == {(u, v): w for u, v, w in EDGES}
    assert graph.directed and graph.n_edges == 3
    matrix = sparse.csr_array(np.array([[0, 1.0, 0], [0, 0, 2.0], [3.0, 0, 0]]))
    assert graph_view(matrix, kind="similarity").directed
    assert nearest(matrix, "precomputed_similarity") == [1, 2, 0]  # the ends of out-edges


def test_networkx_digraph_and_igraph_digraph():
    networkx = pytest.importorskip("networkx", reason="networkx is not installed")
    igraph = pytest.importorskip("igraph", reason="igraph is not installed")
    one = networkx.DiGraph()
    one.add_weighted_edges_from(EDGES)
    other = igraph.Graph.TupleList(EDGES, edge_attrs=["weight"], directed=True)
    expected = {(u, v): w for u, v, w in EDGES}
    assert as_dict(graph_view(one, kind="similarity")) == expected
    assert as_dict(graph_view(other, kind="similarity")) == expected
    # Both directions of a digraph are two edges; without direction they are parallel.
    one.add_edge("bob", "ann", weight=5.0)
    assert as_dict(graph_view(one, kind="similarity"))["bob", "ann"] == 5
    assert as_dict(graph_view(one, kind="similarity", directed=False))["bob", "ann"] == 7
    assert as_dict(graph_view(one, kind="distance", directed=False))["ann", "bob"] == 2


def test_parallel_edges_add_similarities_and_take_the_smallest_distance():
    networkx = pytest.importorskip("networkx", reason="networkx is not installed")
    igraph = pytest.importorskip("igraph", reason="igraph is not installed")
    edges = [("a", "b", 2.0), ("b", "a", 3.0), ("b", "c", 1.0)]
    one = networkx.MultiGraph()
    one.add_weighted_edges_from(edges)
    other = igraph.Graph.TupleList(edges, edge_attrs=["weight"])
    for graph in (one, other):
        assert as_dict(graph_view(graph, kind="similarity"))["a", "b"] == 5
        assert as_dict(graph_view(graph, kind="distance"))["b", "a"] == 2
    listed = [("a", "b", 2.0), ("a", "b", 3.0)]
    assert as_dict(graph_view(listed, kind="similarity"))["b", "a"] == 5
    assert as_dict(graph_view(listed, kind="distance"))["b", "a"] == 2


def test_an_edge_listed_both_ways_is_one_edge():
    both = [("a", "b", 2.0), ("b", "a", 2.0)]
    assert as_dict(graph_view(both, kind="similarity")) == {("a", "b"): 2, ("b", "a"): 2}
    with pytest.raises(ValueError, match=r"the weight is 2 from 'a' to 'b' but 3 from 'b' to 'a'"):
        graph_view([("a", "b", 2.0), ("b", "a", 3.0)], kind="similarity")


def test_unweighted_graphs_count_1():
    assert set(as_dict(graph_view([("a", "b"), ("b", "c")], kind="similarity")).values()) == {1.0}
    assert set(as_dict(graph_view(EDGES, kind="similarity", weight=None)).values()) == {1.0}
    networkx = pytest.importorskip("networkx", reason="networkx is not installed")
    graph = graph_view(networkx.karate_club_graph(), kind="similarity", weight=None)
    assert graph.n_edges == 78 and set(graph.matrix.data) == {1.0}
    plain = graph_view(networkx.path_graph(4), kind="similarity")  # no edge has a weight
    assert set(plain.matrix.data) == {1.0} and plain.n_edges == 3


def test_other_names_of_columns_and_attributes():
    frame = _frame().rename(columns={"source": "from", "target": "to", "weight": "trust"})
    graph = graph_view(frame, kind="similarity", ends=("from", "to"), weight="trust")
    assert as_dict(graph) == BOTH_WAYS
    with pytest.raises(ValueError, match=r"no column 'source', only 'from', 'to', 'trust'"):
        graph_view(frame, kind="similarity")


def test_nodes_give_isolated_ones_and_the_order():
    graph = graph_view(EDGES, kind="similarity", nodes=["zoe", "eve", "dan", "bob", "ann"])
    assert graph.nodes.tolist() == ["zoe", "eve", "dan", "bob", "ann"]
    assert as_dict(graph) == BOTH_WAYS and graph.matrix.indptr[1] == 0
    networkx = pytest.importorskip("networkx", reason="networkx is not installed")
    alone = _networkx()
    alone.add_node("zoe")
    assert graph_view(alone, kind="similarity").n_nodes == 5
    assert networkx.number_of_isolates(alone) == 1


def test_numbers_from_0_only_count():
    graph = graph_view([(2, 1), (1, 0)], kind="similarity")
    assert graph.nodes.tolist() == [0, 1, 2] and graph.counted
    assert as_dict(graph)[2, 1] == 1
    more = graph_view([(2, 1)], kind="similarity", nodes=5)
    assert more.nodes.tolist() == [0, 1, 2, 3, 4]
    assert graph_view([(7, 5)], kind="similarity").nodes.tolist() == [7, 5]
    assert not graph_view([(7, 5)], kind="similarity").counted
    assert not graph_view(EDGES, kind="similarity").counted


def test_igraph_without_names_takes_nodes_as_names():
    igraph = pytest.importorskip("igraph", reason="igraph is not installed")
    graph = igraph.Graph([(0, 1), (1, 2)])
    assert graph_view(graph, kind="similarity").counted
    named = graph_view(graph, kind="similarity", nodes=["a", "b", "c"])
    assert as_dict(named)["a", "b"] == 1
    with pytest.raises(ValueError, match="nodes holds 2 ids, the graph has 3 nodes"):
        graph_view(graph, kind="similarity", nodes=["a", "b"])


# Errors


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        (EDGES, {"kind": "near"}, "kind must be 'similarity' .* got 'near'"),
        (
            [("a", "b", -0.5)],
            {},
            "from 'a' to 'b' has the negative similarity -0.5 .1 such in all.*not be neg",
        ),
        ([("a", "b", float("nan"))], {}, "from 'a' to 'b' has the weight NaN"),
        ([("a", "b", float("inf"))], {}, "from 'a' to 'b' has the weight inf"),
        ([("a", "b", "x")], {}, "from 'a' to 'b' has the weight 'x', which is no number"),
        ([("a", "b", 1.0), ("b", "c", None)], {}, "from 'b' to 'c' has no weight, others have"),
        ([("a", "b", 1.0), ("b", "c")], {}, "edge 1 of the list has 2 parts, the first has 3"),
        (["ab"], {}, "edge 0 of the list is 'ab'; an edge is"),
        ([("a", None)], {}, "edge 0 has no end"),
        (EDGES, {"nodes": ["ann", "bob"]}, r"edge 1 .*names the node 'eve', which is not in nodes"),
        (EDGES, {"nodes": ["ann", "bob", "eve", "dan", "ann"]}, "nodes holds the node 'ann' more than once"),
        (np.zeros((2, 3)), {}, r"is square, nodes x nodes, but this has shape \(2, 3\)"),
        (np.ones((5, 2)), {}, r"pass array.tolist\(\)"),
        (np.array([[0, -1.0], [-1.0, 0]]), {}, "from node 0 to node 1 has the negative similarity -1"),
        (np.array([[0, np.nan], [1.0, 0]]), {}, "from node 0 to node 1 has the weight NaN"),
        (np.ones((2, 2)) * 1j, {}, "weights are real numbers"),
        (np.ones((3, 3)), {"nodes": ["a", "b"]}, "nodes holds 2 ids, the graph has 3 nodes"),
        (np.ones((2, 2)), {"nodes": ["a", "a"]}, "holds the node 'a' more than once"),
        (np.triu(np.ones((3, 3))), {}, "one triangle only: pass directed=False"),
        (np.array([[0, 1.0], [2.0, 0]]), {"directed": False}, "is 1 from node 0 to node 1 but 2 from"),
        ([], {}, "empty: it has no node"),
        (np.zeros((0, 0)), {}, "empty: it has no node"),
        ([("a", "a", 1.0)], {}, "no edge between different nodes"),
        (np.eye(3), {}, "no edge between different nodes"),
        ([("a", "b", 0.0)], {}, "no edge between different nodes"),
        ("edges.csv", {}, "a str is no graph"),
        (5, {}, "a int is no graph"),
    ],
)
def test_errors_name_the_place(source, options, message):
    with pytest.raises(ValueError, match=message):
        graph_view(source, **{"kind": "similarity", **options})


def test_kind_must_be_said():
    with pytest.raises(TypeError, match="kind"):
        graph_view(EDGES)
    graph = graph_view(EDGES, kind="distance")
    assert graph_view(graph, kind="distance") is graph
    with pytest.raises(ValueError, match="the graph holds distances, but kind='similarity'"):
        graph_view(graph, kind="similarity")


def test_a_weight_that_some_edges_lack():
    networkx = pytest.importorskip("networkx", reason="networkx is not installed")
    graph = networkx.Graph()
    graph.add_edge("a", "b", weight=1.0)
    graph.add_edge("b", "c")
    with pytest.raises(ValueError, match="the edge from 'b' to 'c' has no weight, others have"):
        graph_view(graph, kind="similarity")
    with pytest.raises(ValueError, match="no edge has the attribute 'trust'"):
        graph_view(graph, kind="similarity", weight="trust")


def test_igraph_names_must_be_unique():
    igraph = pytest.importorskip("igraph", reason="igraph is not installed")
    graph = igraph.Graph([(0, 1)])
    graph.vs["name"] = ["a", "a"]
    with pytest.raises(ValueError, match="'name' of the vertices holds the node 'a' more than once"):
        graph_view(graph, kind="similarity")


def test_the_constructor_checks_too():
    with pytest.raises(ValueError, match="must be symmetric"):
        GraphView(sparse.csr_array(np.triu(np.ones((3, 3)))), "similarity")
    assert GraphView(sparse.csr_array(np.triu(np.ones((3, 3)))), "similarity", directed=True).n_edges == 3


def test_graphs_that_do_not_say_what_they_are():
    assert not looks_like_graph(np.eye(3)) and not looks_like_graph(_frame()) and not looks_like_graph(EDGES)
    for graph, package in ((_networkx(), "networkx"), (_igraph(), "igraph")):
        assert looks_like_graph(graph)
        assert f"view 'net' is a {package} Graph: say what its weights are" in ask_for_kind("net", graph)


# Multiplex networks


LAYERED = [("a", "b", "work", 2.0), ("b", "c", "work", 1.0), ("a", "d", "home", 3.0)]


def _layered_networkx():
    networkx = pytest.importorskip("networkx", reason="networkx is not installed")
    graph = networkx.MultiGraph()
    for u, v, layer, weight in LAYERED:
        graph.add_edge(u, v, key=layer, weight=weight)
    return graph


@pytest.mark.parametrize(
    "source",
    [
        lambda: LAYERED,
        lambda: pd.DataFrame(LAYERED, columns=["source", "target", "layer", "weight"]),
        _layered_networkx,
        lambda: {"work": [("a", "b", 2.0), ("b", "c", 1.0)], "home": [("a", "d", 3.0)]},
    ],
)
def test_layers(source):
    layers = multiplex(source(), kind="similarity")
    assert list(layers) == ["work", "home"]
    assert layers["work"].nodes.tolist() == ["a", "b", "c"]  # d is not in this layer
    assert as_dict(layers["home"]) == {("a", "d"): 3, ("d", "a"): 3}


def test_layers_with_nodes_and_kinds_of_their_own():
    everyone = ["a", "b", "c", "d"]
    layers = multiplex(LAYERED, kind={"work": "similarity", "home": "distance"}, nodes=everyone)
    assert [layer.kind for layer in layers.values()] == ["similarity", "distance"]
    assert all(layer.nodes.tolist() == everyone for layer in layers.values())
    some = multiplex(LAYERED, kind="similarity", nodes={"work": everyone, "home": ["d", "a"]})
    assert some["home"].nodes.tolist() == ["d", "a"] and some["work"].n_nodes == 4


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        ([("a", "b", "x", -1.0)], {}, "layer 'x': the edge from 'a' to 'b' has the negative similarity -1"),
        ({}, {}, "no layers"),
        ([], {}, "no layers"),
        (
            LAYERED,
            {"nodes": {"work": ["a"]}},
            "nodes names the layers 'work', the network has 'work', 'home'",
        ),
        (LAYERED, {"kind": {"work": "similarity"}}, "kind names the layers 'work'"),
        ([("a", "b", 1), ("a", "c", "1")], {}, "layers with the same name"),
        ([("a", "b", "x"), ("a", "c", None)], {}, "edge 1 has no layer"),
        ([("a", "b", float("nan")), ("a", "c", "x")], {}, "edge 0 has no layer"),
        (np.eye(3), {}, "a ndarray does not hold layers"),
        (pd.DataFrame({"source": [], "target": []}), {}, "no column 'layer'"),
    ],
)
def test_errors_of_layers(source, options, message):
    with pytest.raises(ValueError, match=message):
        multiplex(source, **{"kind": "similarity", **options})


# Fusing graphs as they are


def test_fuse_graphs_takes_graph_views_in_any_order():
    one = graph_view(EDGES, kind="similarity")
    other = graph_view(EDGES[::-1], kind="similarity")
    assert one.nodes.tolist() != other.nodes.tolist()
    fused = fuse_graphs({"one": one, "other": other}, kind="similarity")
    twice = fuse_graphs([one.matrix, one.matrix], kind="similarity")
    assert np.array_equal(fused.graph.toarray(), twice.graph.toarray())
    with pytest.raises(ValueError, match="'one': the graph holds similarities, but kind='distance'"):
        fuse_graphs({"one": one, "other": other}, kind="distance", fill="max")
    fewer = graph_view(EDGES[:2], kind="similarity")
    with pytest.raises(ValueError, match="Only one of the graphs 'one' and 'fewer' has the node 'dan'"):
        fuse_graphs({"one": one, "fewer": fewer}, kind="similarity")
    with pytest.raises(ValueError, match=r"for one graph pass \[graph\]"):
        fuse_graphs(one, kind="similarity")


def test_fuse_graphs_takes_networkx_and_igraph():
    networkx_graph, igraph_graph = _networkx(), _igraph()
    fused = fuse_graphs([networkx_graph, igraph_graph], kind="similarity")
    matrix = graph_view(EDGES, kind="similarity").matrix
    assert np.array_equal(
        fused.graph.toarray(), fuse_graphs([matrix, matrix], kind="similarity").graph.toarray()
    )
    with pytest.raises(ValueError, match=r"for one graph pass \[graph\]"):
        fuse_graphs(networkx_graph, kind="similarity")


# Fits: planted blocks next to planted features


def blocks(y, rng, degree, ratio, weighted=False, directed=False):
    """Return a stochastic block model over the clusters y, edges inside `ratio` times as likely."""
    n, c = len(y), y.max() + 1
    outside = degree / (n / c * ratio + n * (c - 1) / c)
    there = rng.random((n, n)) < np.where(y[:, None] == y, ratio * outside, outside)
    weights = there * (rng.gamma(np.where(y[:, None] == y, 2.0, 1.0)) if weighted else 1.0)
    if not directed:
        weights = np.triu(weights, 1)
        weights = weights + weights.T
    np.fill_diagonal(weights, 0.0)
    return sparse.csr_array(weights)


def planted(seed, degree=12, ratio=5.0, **options):
    sample = make_multiview(400, n_views=1, n_clusters=4, separation=2.9, random_state=seed)
    return (
        sample.y,
        sample.views["view_0"],
        blocks(sample.y, np.random.default_rng(seed), degree, ratio, **options),
    )


def fitted(model, graph, features=None, metric="precomputed_similarity", **options):
    data = {"net": graph} if features is None else {"net": graph, "features": features}
    metrics = [metric, "euclidean"][: len(data)]
    views = Views(data, pairwise=["net"])
    return model(n_clusters=4, metric=metrics, random_state=0, assign_labels=TEN, **options).fit(views)


@pytest.mark.parametrize("model", [SimilarityGraphFusion, DistanceGraphFusion])
@pytest.mark.parametrize("metric", ["precomputed_similarity", "graph_distance"])
def test_the_unit_of_a_graph_does_not_matter(model, metric):
    _, features, graph = planted(0, weighted=True)
    one = fitted(model, graph, features, metric)
    other = fitted(model, 1024.0 * graph, features, metric)
    assert np.allclose(one.graph_.toarray(), other.graph_.toarray(), rtol=1e-9, atol=0)
    assert np.array_equal(one.labels_, other.labels_)


def test_similarities_enter_sgf_with_the_mean_weight_of_every_view():
    _, features, graph = planted(0, weighted=True)
    model = fitted(SimilarityGraphFusion, graph, features)
    parts = model.consistent_ + model.inconsistent_
    assert parts.sum(axis=0) == pytest.approx([1, 1], rel=1e-6)
    stored = model.edges_.take(graph)
    assert np.allclose(parts[:, 0], stored / stored.sum(), rtol=1e-9, atol=1e-15)


def test_dgf_takes_similarities_as_distances():
    _, features, graph = planted(0, weighted=True)
    model = fitted(DistanceGraphFusion, graph, features)
    stored = model.edges_.take(graph)
    squared = 1 / (1 + stored / stored[stored > 0].mean())
    engine = get_engine("numpy")
    expected = EdgeKernel(moments=engine.moments(engine.adopt(squared), None, 0))(squared)
    parts = model.consistent_ + model.inconsistent_
    assert np.allclose(parts[:, 0], expected / expected.sum(), rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("model", [SimilarityGraphFusion, DistanceGraphFusion])
@pytest.mark.parametrize("options", [{}, {"weighted": True, "ratio": 3.5}, {"degree": 40, "ratio": 2.3}])
def test_a_graph_and_features_do_not_drown_each_other(model, options):
    # The means over 4 seeds; features alone 0.52, graphs alone 0.44 to 0.74. sparse graphs count less in DGF.
    scores = []
    for seed in range(4):
        y, features, graph = planted(seed, **options)
        alone = SimilarityGraphFusion(n_clusters=4, random_state=0, assign_labels=TEN).fit(features).labels_
        found = (fitted(model, graph).labels_, alone, fitted(model, graph, features).labels_)
        scores.append([nmi(y, labels) for labels in found])
    graph_alone, features_alone, both = np.mean(scores, axis=0)
    assert both > features_alone + 0.1  # the graph counts
    assert both > graph_alone - 0.05  # and does not lose by the features


def test_a_directed_graph():
    y, features, graph = planted(0, ratio=8.0, directed=True)
    model = fitted(SimilarityGraphFusion, graph, features)
    assert nmi(y, model.labels_) > 0.8
    assert (model.graph_ != model.graph_.T).nnz == 0


def test_nodes_with_fewer_neighbours_than_asked_for():
    # Degree 6, lists of 20: the rest is the node itself, and must neither agree nor disagree with anybody.
    y, features, graph = planted(0, degree=6, ratio=20.0)
    rng = np.random.default_rng(1)
    order = rng.permutation(len(y))
    noise = graph[order][:, order]
    data = {
        "net": graph,
        "features": features,
        "more": blocks(y, rng, 6, 20.0),
        "noise": sparse.csr_array(noise),
    }
    views = Views(data, pairwise=["net", "more", "noise"])
    metric = ["precomputed_similarity", "euclidean", "precomputed_similarity", "precomputed_similarity"]
    with pytest.warns(UserWarning, match="View 'noise' agrees with no other view"):
        model = SimilarityGraphFusion(n_clusters=4, metric=metric, random_state=0, assign_labels=TEN).fit(
            views
        )
    assert (model.neighbors_[0] == np.arange(len(y))[:, None]).any(axis=1).mean() > 0.9
    assert model.view_weights_[3] == 0 and (model.view_weights_[:3] > 0).all()
    assert nmi(y, model.labels_) > 0.9


def test_isolated_nodes_and_nodes_that_are_missing():
    y, features, graph = planted(0, degree=20, ratio=10.0)
    seen = np.ones((len(y), 2), dtype=bool)
    seen[:50, 0] = False
    views = Views({"net": graph, "features": features}, pairwise=["net"], mask=seen)
    metric = ["precomputed_similarity", "euclidean"]
    model = SimilarityGraphFusion(n_clusters=4, metric=metric, random_state=0, assign_labels=TEN).fit(views)
    first = model.edges_.rows < 50
    assert not model.edges_.seen[0][first].any()  # missing: the graph has no opinion on their edges
    emptied = sparse.csr_array(graph.multiply(seen[:, :1] & seen[:, :1].T))
    model = fitted(SimilarityGraphFusion, emptied, features)
    assert model.edges_.seen is None  # isolated: the graph says that they are near nobody


# Through the door


def test_graphs_among_views_are_matched_by_id():
    y, features, matrix = planted(0, ratio=8.0)
    ids = [f"s{i}" for i in range(len(y))]
    order = np.random.default_rng(2).permutation(len(y))
    graph = graph_view(matrix[order][:, order], kind="similarity", nodes=[ids[i] for i in order])
    views = Views({"features": pd.DataFrame(features, index=ids), "net": graph})
    assert views.pairwise == (False, True) and views.graphs == (None, "similarity")
    assert np.array_equal(views["net"].toarray(), matrix.toarray())
    made = {"descriptions": "default"}  # of which there is no other where the metric is given, as below
    model = SimilarityGraphFusion(n_clusters=4, random_state=0, assign_labels=TEN, **made).fit(views)
    assert model.metrics_ == ("euclidean", "precomputed_similarity")
    twin = fitted(SimilarityGraphFusion, matrix, features, **made)
    assert np.array_equal(model.labels_, twin.labels_)


def test_nodes_that_a_layer_lacks_are_missing_from_it():
    layers = multiplex(
        [("a", "b", "one", 1.0), ("b", "c", "one", 2.0), ("c", "d", "two", 0.0), ("d", "a", "two", 1.0)],
        kind={"one": "similarity", "two": "distance"},
    )
    views = Views(layers)
    assert views.sample_ids.tolist() == ["a", "b", "c", "d"]
    assert views.mask.T.tolist() == [[True, True, True, False], [True, False, True, True]]
    assert views["two"].nnz == 4  # the distance of 0 is still an edge
    assert views[[3, 2]]["two"].nnz == 2


def test_graphs_without_a_kind_are_refused_at_the_door():
    for graph in (_networkx(), _igraph()):
        with pytest.raises(ValueError, match=r"say what its weights are, graph_view\(graph, kind="):
            Views({"net": graph})
