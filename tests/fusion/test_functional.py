import dataclasses

import numpy as np
import pytest
from scipy import sparse
from tests.fusion.solving import pose, solve

from consilience.engines import get_engine
from consilience.fusion import FusionResult, consistent_graph, fuse_graphs


def random_weights(seed, n_edges, v):
    return np.random.default_rng(seed).gamma(1.0, size=(n_edges, v))


def graph_of(entries, n=4):
    """A CSR graph from {(row, column): value}; zeros stay stored."""
    rows, columns = zip(*entries, strict=True) if entries else ((), ())
    return sparse.csr_array((np.array(list(entries.values()), dtype=float), (rows, columns)), shape=(n, n))


def edge_list(result):
    return list(zip(result.edges.rows.tolist(), result.edges.indices.tolist(), strict=True))


A = graph_of({(0, 1): 2.0, (1, 0): 2.0, (1, 2): 1.0, (2, 1): 1.0})
B = graph_of({(0, 1): 3.0, (1, 0): 3.0, (0, 3): 5.0, (3, 0): 5.0})
UNION = [(0, 1), (0, 3), (1, 0), (1, 2), (2, 1), (3, 0)]


def test_consistent_graph_takes_and_returns_edges_by_views():
    weights = random_weights(0, 40, 3)
    result = consistent_graph(weights, beta=0.1, gamma=1)
    assert isinstance(result, FusionResult)
    assert result.consistent.shape == result.inconsistent.shape == (40, 3)
    assert result.fused.shape == (40,)
    assert (
        result.view_scales.shape
        == result.view_contributions.shape
        == result.inconsistent_shares.shape
        == (3,)
    )
    assert result.history.shape == (result.n_iter + 1,)
    assert result.view_names == ("view_0", "view_1", "view_2")
    assert result.edges is None
    np.testing.assert_allclose(
        result.consistent + result.inconsistent, weights / weights.sum(axis=0), rtol=1e-12
    )


def test_consistent_graph_is_the_model_with_the_paper_s_defaults():
    weights = random_weights(1, 40, 3)
    result = consistent_graph(weights)
    expected = solve(pose(weights.T, beta=1.0, gamma=100.0))
    np.testing.assert_array_equal(result.fused, expected.fused)
    np.testing.assert_array_equal(result.view_scales, expected.view_scales)


def test_every_option_reaches_the_model():
    weights, seen = random_weights(2, 40, 3), np.ones((40, 3), dtype=bool)
    seen[3, 1] = False
    rounds = []
    result = consistent_graph(
        weights,
        beta=0.2,
        gamma=0.5,
        view_weights=[1, 2, 3],
        seen=seen,
        n_jobs=1,
        solver="exact",
        dca_steps=2,
        tol=0.2,
        max_iter=50,
        engine="numpy",
        callback=lambda iteration, info: rounds.append(iteration),
    )
    problem = pose(weights.T, beta=0.2, gamma=0.5, view_weights=[1, 2, 3], seen=seen.T)
    expected = solve(problem, solver="exact", dca_steps=2, tol=0.2, max_iter=50, engine="numpy")
    np.testing.assert_array_equal(result.fused, expected.fused)
    assert result.solver == "exact"
    assert rounds == list(range(1, result.n_iter + 1))
    assert result.inconsistent[3, 1] == result.consistent[3, 1] == 0


def test_nested_lists_will_do():
    weights = random_weights(3, 5, 2)
    expected = consistent_graph(weights).fused
    np.testing.assert_array_equal(consistent_graph(weights.tolist()).fused, expected)
    np.testing.assert_array_equal(consistent_graph(weights, seen=np.ones((5, 2)).tolist()).fused, expected)


def test_single_precision_is_kept():
    result = consistent_graph(random_weights(4, 50, 2).astype(np.float32))
    assert result.fused.dtype == result.consistent.dtype == result.inconsistent.dtype == np.float32


def test_consistent_graph_does_not_modify_its_input():
    weights, seen, view_weights = random_weights(5, 50, 2), np.ones((50, 2), dtype=bool), np.array([1.0, 2.0])
    seen[4, 0] = False
    copies = weights.copy(), seen.copy(), view_weights.copy()
    result = consistent_graph(weights, beta=0.1, gamma=1, seen=seen, view_weights=view_weights)
    result.view_weights[:] = -1
    for array, copy in zip((weights, seen, view_weights), copies, strict=True):
        np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize("weights", [np.ones(3), np.ones((3, 2, 2)), 1.0])
def test_edge_weights_of_another_shape_are_refused(weights):
    with pytest.raises(ValueError, match=r"shape \(n_edges, v\)"):
        consistent_graph(weights)


def test_a_mask_of_another_shape_is_refused_in_the_caller_s_terms():
    with pytest.raises(ValueError, match=r"seen.*\(2, 5\).*\(5, 2\)"):
        consistent_graph(np.ones((5, 2)), seen=np.ones((2, 5), dtype=bool))


@pytest.mark.parametrize("engine", ["cuda", None, 3])
def test_an_unknown_engine_is_refused_and_the_known_ones_are_listed(engine):
    message = f"Unknown engine {engine!r}; known: 'numba', 'numpy'"
    with pytest.raises(ValueError, match=message):
        consistent_graph(np.ones((3, 2)), engine=engine)
    with pytest.raises(ValueError, match=message):
        fuse_graphs([A, B], kind="similarity", engine=engine)


def test_an_engine_may_be_given_itself():
    weights = random_weights(9, 40, 3)
    expected = consistent_graph(weights, engine="numpy").fused
    np.testing.assert_array_equal(consistent_graph(weights, engine=get_engine("numpy")).fused, expected)


def test_an_unknown_option_is_a_type_error():
    with pytest.raises(TypeError, match="max_iters"):
        consistent_graph(np.ones((3, 2)), max_iters=3)


@pytest.mark.parametrize("n_jobs", [0, 1.5, "all", True])
def test_n_jobs_is_checked(n_jobs):
    with pytest.raises(ValueError, match="n_jobs"):
        consistent_graph(np.ones((3, 2)), n_jobs=n_jobs)


@pytest.mark.parametrize("solver", ["dca", "exact"])
def test_shares_and_contributions(solver):
    weights = random_weights(6, 200, 4)
    result = consistent_graph(weights, beta=0.1, gamma=0.5, view_weights=[1, 2, 0.5, 1], solver=solver)
    share = result.view_weights * result.view_scales
    np.testing.assert_allclose(result.view_contributions, share / share.sum(), rtol=1e-14)
    assert result.view_contributions.sum() == pytest.approx(1, abs=1e-14)
    assert ((result.inconsistent_shares > 0) & (result.inconsistent_shares < 1)).all()
    np.testing.assert_allclose(result.inconsistent_shares, result.inconsistent.sum(axis=0), rtol=1e-12)


def test_inconsistent_shares_are_of_what_a_view_has_seen():
    weights, seen = random_weights(7, 200, 3), np.random.default_rng(7).random((200, 3)) < 0.6
    seen[~seen.any(axis=1), 0] = True
    result = consistent_graph(weights, beta=0.1, gamma=0.5, seen=seen, solver="exact")
    total = result.consistent.sum(axis=0) + result.inconsistent.sum(axis=0)
    np.testing.assert_allclose(
        result.inconsistent_shares, result.inconsistent.sum(axis=0) / total, rtol=1e-12
    )
    assert ((result.inconsistent_shares >= 0) & (result.inconsistent_shares <= 1)).all()
    assert not result.consistent[~seen].any()


def test_a_result_without_edges_has_no_graph():
    with pytest.raises(ValueError, match="no edge set"):
        consistent_graph(np.ones((3, 2))).graph  # noqa: B018


def test_a_result_is_frozen_and_its_repr_is_short():
    result = consistent_graph(random_weights(8, 5000, 2))
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.fused = None
    assert len(repr(result)) < 400


@pytest.mark.parametrize("kind", ["similarity", "distance"])
def test_graphs_are_fused_on_their_edges(kind):
    graphs = [A, 3 * A]
    result = fuse_graphs(graphs, kind=kind)
    assert isinstance(result.graph, sparse.csr_array)
    assert result.graph.shape == (4, 4)
    assert edge_list(result) == [(0, 1), (1, 0), (1, 2), (2, 1)]
    np.testing.assert_allclose(result.graph.toarray(), A.toarray() / A.sum() / 2, rtol=1e-12)
    assert result.edges.n_edges == len(result.fused) == 4


def test_fuse_graphs_is_consistent_graph_on_the_union_of_the_edges():
    result = fuse_graphs([A, B], kind="similarity", beta=0.1, gamma=0.5, view_weights=[1, 2], solver="exact")
    assert edge_list(result) == UNION
    weights = np.array([[graph[i, j] for graph in (A, B)] for i, j in UNION])
    expected = consistent_graph(weights, beta=0.1, gamma=0.5, view_weights=[1, 2], solver="exact")
    np.testing.assert_allclose(result.fused, expected.fused, rtol=1e-12)
    np.testing.assert_allclose(result.inconsistent, expected.inconsistent, atol=1e-15)
    for (i, j), value in zip(UNION, result.fused, strict=True):
        assert result.graph[i, j] == value


def test_kind_must_be_said():
    with pytest.raises(TypeError, match="kind"):
        fuse_graphs([A, B])


@pytest.mark.parametrize("kind", ["dissimilarity", None, 1, "Distance"])
def test_kind_is_checked(kind):
    with pytest.raises(ValueError, match="kind must be 'similarity' or 'distance'"):
        fuse_graphs([A, B], kind=kind)


@pytest.mark.parametrize("fill", ["mean", 0, True])
def test_fill_is_checked(fill):
    with pytest.raises(ValueError, match="fill must be None, 'max' or 'unseen'"):
        fuse_graphs([A, B], kind="distance", fill=fill)


def test_fill_has_no_meaning_for_similarities():
    with pytest.raises(ValueError, match="fill"):
        fuse_graphs([A, B], kind="similarity", fill="unseen")


@pytest.mark.parametrize(
    ("graphs", "names"),
    [
        ([A, B], ("view_0", "view_1")),
        ((A, B), ("view_0", "view_1")),
        ({"sun": A, "moon": B}, ("sun", "moon")),
        ({1: A, 2: B}, ("1", "2")),
        ((graph for graph in (A, B)), ("view_0", "view_1")),
    ],
)
def test_lists_tuples_and_mappings_of_graphs(graphs, names):
    result = fuse_graphs(graphs, kind="similarity")
    assert result.view_names == names
    np.testing.assert_array_equal(result.fused, fuse_graphs([A, B], kind="similarity").fused)


@pytest.mark.parametrize(
    "convert",
    [
        lambda graph: graph.toarray(),
        lambda graph: graph.tocsc(),
        lambda graph: graph.tocoo(),
        lambda graph: graph.tolil(),
        lambda graph: graph.todok(),
        sparse.csr_matrix,
        lambda graph: graph.astype(np.float32),
        lambda graph: graph.astype(np.int64),
    ],
)
def test_every_kind_of_matrix_is_a_graph(convert):
    result = fuse_graphs([convert(A), convert(B)], kind="similarity", beta=0.1, gamma=0.5)
    expected = fuse_graphs([A, B], kind="similarity", beta=0.1, gamma=0.5)
    assert edge_list(result) == UNION
    np.testing.assert_allclose(result.fused, expected.fused, rtol=1e-12)


def test_a_stack_of_dense_graphs_is_a_sequence_of_graphs():
    stack = np.stack([A.toarray(), B.toarray()])
    np.testing.assert_array_equal(
        fuse_graphs(stack, kind="similarity").fused, fuse_graphs([A, B], kind="similarity").fused
    )


@pytest.mark.parametrize("graph", [A, A.toarray(), A.todok()])
def test_a_single_graph_must_be_in_a_list(graph):
    with pytest.raises(ValueError, match=r"pass \[graph\]"):
        fuse_graphs(graph, kind="similarity")
    assert fuse_graphs([graph], kind="similarity").view_names == ("view_0",)


def test_an_absent_edge_is_similarity_0():
    result = fuse_graphs([A, B], kind="similarity", beta=1e3, gamma=1e3)
    present = result.consistent + result.inconsistent > 0
    np.testing.assert_array_equal(
        present[:, 0], [(i, j) in {(0, 1), (1, 0), (1, 2), (2, 1)} for i, j in UNION]
    )
    np.testing.assert_array_equal(
        present[:, 1], [(i, j) in {(0, 1), (1, 0), (0, 3), (3, 0)} for i, j in UNION]
    )


def test_distance_graphs_with_different_edges_are_refused_with_numbers_and_advice():
    with pytest.raises(ValueError, match=r"'sun' lacks 2, 'moon' lacks 2 of 6.*fill='max'.*fill='unseen'"):
        fuse_graphs({"sun": A, "moon": B}, kind="distance")


def test_fill_max_puts_an_absent_edge_as_far_as_the_farthest():
    result = fuse_graphs([A, B], kind="distance", fill="max")
    weights = np.array([[2, 3], [2, 5], [2, 3], [1, 5], [1, 5], [2, 5]], dtype=float)
    np.testing.assert_allclose(
        result.consistent + result.inconsistent, weights / weights.sum(axis=0), rtol=1e-12
    )


def test_fill_unseen_leaves_an_absent_edge_to_the_others():
    result = fuse_graphs([A, B], kind="distance", fill="unseen", solver="exact")
    weights = np.array([[2, 3], [0, 5], [2, 3], [1, 0], [1, 0], [0, 5]], dtype=float)
    expected = consistent_graph(weights, seen=weights > 0, solver="exact")
    np.testing.assert_allclose(result.fused, expected.fused, rtol=1e-12)
    scaled = weights / weights.sum(axis=0) * 4 / 6
    np.testing.assert_allclose(result.fused[3], result.view_scales[0] * scaled[3, 0], rtol=1e-9)


def test_the_edge_set_says_which_graph_judges_which_edge():
    result = fuse_graphs([A, B], kind="distance", fill="unseen")
    expected = np.array([[(i, j) in set(zip(*g.nonzero(), strict=True)) for i, j in UNION] for g in (A, B)])
    np.testing.assert_array_equal(result.edges.seen, expected)


@pytest.mark.parametrize("fill", [None, "max", "unseen"])
def test_equal_supports_need_no_filling(fill):
    result = fuse_graphs([A, 3 * A], kind="distance", fill=fill)
    np.testing.assert_allclose(result.graph.toarray(), A.toarray() / A.sum() / 2, rtol=1e-12)


def test_a_stored_distance_of_0_is_an_edge():
    near = graph_of({(0, 1): 0.0, (1, 0): 0.0, (1, 2): 1.0, (2, 1): 1.0})
    result = fuse_graphs([A, near], kind="distance")
    assert edge_list(result) == [(0, 1), (1, 0), (1, 2), (2, 1)]
    assert not (result.consistent + result.inconsistent)[:2, 1].any()


def test_an_edge_with_distance_0_in_every_graph_stays_an_edge_of_the_result():
    near = graph_of({(0, 1): 0.0, (1, 2): 1.0})
    result = fuse_graphs([near, 2 * near], kind="distance")
    assert result.graph.nnz == 2
    assert result.graph[0, 1] == 0


def test_the_diagonal_is_ignored():
    loops = A + sparse.csr_array(np.diag([1.0, 2.0, 0.0, 9.0]))
    np.testing.assert_array_equal(
        fuse_graphs([loops, B], kind="similarity").graph.toarray(),
        fuse_graphs([A, B], kind="similarity").graph.toarray(),
    )


def test_directed_graphs_stay_directed():
    one = graph_of({(0, 1): 1.0, (2, 3): 1.0})
    other = graph_of({(1, 0): 4.0, (2, 3): 1.0})
    result = fuse_graphs([one, other], kind="similarity")
    assert edge_list(result) == [(0, 1), (1, 0), (2, 3)]
    assert result.graph[0, 1] != result.graph[1, 0]


def test_repeated_entries_are_added():
    twice = sparse.coo_array(([1.0, 1.0, 1.0], ([0, 0, 1], [1, 1, 2])), shape=(4, 4))
    result = fuse_graphs([twice], kind="similarity")
    np.testing.assert_allclose(result.fused, [2 / 3, 1 / 3], rtol=1e-12)


def test_many_graphs_keep_their_edges():
    """More graphs than a small integer can count."""
    for count in (127, 128, 256, 257):
        result = fuse_graphs([A] * count, kind="similarity")
        assert result.edges.n_edges == 4
        assert len(result.view_names) == count


@pytest.mark.parametrize(
    ("graphs", "message"),
    [
        ({"sun": A, "moon": graph_of({(0, 1): 1.0}, n=5)}, r"'moon' has shape \(5, 5\).*\(4, 4\)"),
        ({"sun": np.ones((4, 3)), "moon": A}, r"'sun' has shape \(4, 3\)"),
        ({"sun": A, "moon": np.ones(4)}, r"'moon'"),
        ({"sun": A, "moon": np.ones((4, 4, 2))}, r"'moon'"),
        ({"sun": A, "moon": "graph"}, r"'moon'"),
        ({"sun": A, "moon": None}, r"'moon'"),
        ([], r"no graphs"),
        ({}, r"no graphs"),
        ([graph_of({}), graph_of({})], r"no edges"),
        ([sparse.eye(4)], r"no edges"),
        ({"sun": A, "moon": graph_of({})}, r"'moon' has no positive edge weight"),
        ({"sun": A, "moon": -1 * A}, r"'moon' has the negative weight"),
        ({"sun": A, "moon": np.nan * A}, r"'moon' has the weight nan"),
        ({"sun": np.inf * A, "moon": A}, r"'sun' has the weight inf"),
    ],
)
def test_graphs_that_make_no_sense_are_refused_by_name(graphs, message):
    with pytest.raises(ValueError, match=message):
        fuse_graphs(graphs, kind="similarity")


@pytest.mark.parametrize("fill", ["max", "unseen"])
def test_a_distance_graph_without_edges_is_refused_by_name(fill):
    with pytest.raises(ValueError, match="'moon' has no positive edge weight"):
        fuse_graphs({"sun": A, "moon": graph_of({})}, kind="distance", fill=fill)


@pytest.mark.parametrize(
    ("kind", "fill"), [("similarity", None), ("distance", "max"), ("distance", "unseen")]
)
def test_fuse_graphs_does_not_modify_its_input(kind, fill):
    untidy = sparse.csr_array(
        (np.array([1.0, 2.0, 3.0, 1.0]), np.array([3, 1, 1, 0]), np.array([0, 3, 4, 4, 4])), shape=(4, 4)
    )
    dense = B.toarray()
    graphs = [untidy, dense]
    copies = untidy.data.copy(), untidy.indices.copy(), untidy.indptr.copy(), dense.copy()
    fuse_graphs(graphs, kind=kind, fill=fill)
    for array, copy in zip((untidy.data, untidy.indices, untidy.indptr, dense), copies, strict=True):
        np.testing.assert_array_equal(array, copy)
    assert len(graphs) == 2


def test_changing_the_graph_does_not_change_the_edge_set():
    result = fuse_graphs([A, B], kind="similarity")
    graph = result.graph
    graph.indices[:] = 0
    graph.indptr[:] = 0
    assert edge_list(result) == UNION
