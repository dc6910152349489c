import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from consilience.graphs import EdgeKernel, EdgeSet, Moments, symmetrize


@st.composite
def neighbor_lists(draw):
    """Neighbour lists of one to four views over the same samples, own indices and repeats among them."""
    n = draw(st.integers(1, 12))
    dtype = draw(st.sampled_from([np.int32, np.int64]))
    widths = draw(st.lists(st.integers(0, 5), min_size=1, max_size=4))
    return [draw(hnp.arrays(dtype, (n, k), elements=st.integers(0, n - 1))) for k in widths]


@st.composite
def square_graphs(draw, count=1):
    """Sparse integer graphs of one size, with stored zeros, duplicates and diagonals."""
    n = draw(st.integers(1, 9))
    graphs = []
    for _ in range(count):
        m = draw(st.integers(0, 25))
        row, col = (draw(hnp.arrays(np.int32, m, elements=st.integers(0, n - 1))) for _ in range(2))
        data = draw(hnp.arrays(np.float64, m, elements=st.integers(-2, 2)))
        graphs.append(sparse.coo_array((data, (row, col)), shape=(n, n)))
    return graphs


def pairs(edges):
    return list(zip(edges.rows.tolist(), edges.indices.tolist(), strict=True))


def assert_well_formed(edges):
    """Rows ascending and without repeats or self-edges, one boundary more than rows."""
    assert len(edges.indptr) == edges.n_samples + 1
    assert edges.indptr[0] == 0
    assert edges.indptr[-1] == edges.n_edges == len(edges.indices) == len(edges.rows)
    found = pairs(edges)
    assert found == sorted(set(found))
    assert all(i != j for i, j in found)


def test_union_of_lists_of_different_lengths():
    edges = EdgeSet.union([np.array([[1, 2], [0, 2], [0, 1]]), np.array([[2], [2], [2]])])
    assert pairs(edges) == [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)]


def test_a_lone_sample_has_no_edges():
    edges = EdgeSet.union([np.zeros((1, 3), dtype=np.int32)])
    assert (edges.n_samples, edges.n_edges) == (1, 0)
    assert edges.to_csr(np.empty(0)).toarray().tolist() == [[0.0]]
    assert EdgeSet.from_support([sparse.csr_array([[4.0]])]).n_edges == 0
    assert edges.take(sparse.csr_array([[4.0]])).shape == (0,)


def test_rows_may_be_empty():
    edges = EdgeSet.union([np.array([[0], [3], [2], [3], [4]])])
    np.testing.assert_array_equal(edges.indptr, [0, 0, 1, 1, 1, 1])
    assert pairs(edges) == [(1, 3)]


@given(square_graphs(count=3))
@settings(max_examples=80, deadline=None)
def test_support_is_every_stored_entry_off_the_diagonal(graphs):
    edges = EdgeSet.from_support(graphs)
    assert_well_formed(edges)
    stored = set()
    for graph in graphs:
        stored |= {(int(i), int(j)) for i, j in zip(graph.row, graph.col, strict=True) if i != j}
    assert set(pairs(edges)) == stored


@pytest.mark.parametrize("kind", ["csr_array", "csr_matrix", "csc_array", "coo_matrix", "lil_array"])
def test_support_of_all_kinds_of_sparse_graphs_is_directed(kind):
    graph = np.array([[7.0, 1, 0], [0, 0, 2], [0, 0, 0]])
    assert pairs(EdgeSet.from_support([getattr(sparse, kind)(graph)])) == [(0, 1), (1, 2)]


@pytest.mark.parametrize("times", [2, 127, 128, 255, 256, 257, 512])
def test_support_does_not_depend_on_how_many_graphs_have_an_edge(times):
    graph = sparse.csr_array(([1.0], ([0], [1])), shape=(2, 2))
    assert pairs(EdgeSet.from_support([graph] * times)) == [(0, 1)]
    # nor on how often one graph stores it
    repeated = sparse.coo_array((np.ones(times), (np.zeros(times, int), np.ones(times, int))), shape=(2, 2))
    assert pairs(EdgeSet.from_support([repeated])) == [(0, 1)]


@given(neighbor_lists(), st.data())
@settings(max_examples=60, deadline=None)
def test_take_is_dense_indexing(neighbors, data):
    edges = EdgeSet.union(neighbors)
    n = edges.n_samples
    m = data.draw(st.integers(0, 30))
    coords = tuple(data.draw(hnp.arrays(np.int32, m, elements=st.integers(0, n - 1))) for _ in range(2))
    values = data.draw(hnp.arrays(np.float64, m, elements=st.integers(-3, 3)))
    graph = sparse.coo_array((values, coords), shape=(n, n))  # duplicates add up
    expected = graph.toarray()[edges.rows, edges.indices]
    for form in (graph, graph.tocsr(), sparse.csr_matrix(graph), graph.tocsc(), graph.astype(np.float32)):
        found = edges.take(form)
        assert found.dtype == form.dtype
        np.testing.assert_array_equal(found, expected)


def test_take_leaves_the_graph_alone():
    # Two entries in one place, and columns out of order.
    graph = sparse.csr_array(
        (np.array([1.0, 2, 3]), np.array([2, 1, 1]), np.array([0, 3, 3, 3])), shape=(3, 3)
    )
    edges = EdgeSet.union([np.array([[1, 2], [0, 0], [0, 0]])])
    np.testing.assert_array_equal(edges.take(graph), [5, 1, 0, 0])
    np.testing.assert_array_equal(graph.data, [1, 2, 3])
    np.testing.assert_array_equal(graph.indices, [2, 1, 1])
    np.testing.assert_array_equal(graph.indptr, [0, 3, 3, 3])


@given(neighbor_lists(), st.integers(0, 2**32 - 1))
@settings(max_examples=50, deadline=None)
def test_values_come_back_from_a_graph_zeros_included(neighbors, seed):
    edges = EdgeSet.union(neighbors)
    values = np.random.default_rng(seed).integers(0, 3, size=edges.n_edges).astype(float)
    graph = edges.to_csr(values)
    assert graph.shape == (edges.n_samples, edges.n_samples)
    assert graph.nnz == edges.n_edges
    assert graph.has_canonical_format
    np.testing.assert_array_equal(graph.data, values)
    np.testing.assert_array_equal(graph.toarray()[edges.rows, edges.indices], values)
    np.testing.assert_array_equal(edges.take(graph), values)
    again = EdgeSet.from_support([graph])
    np.testing.assert_array_equal(again.indptr, edges.indptr)
    np.testing.assert_array_equal(again.indices, edges.indices)


def test_changing_a_graph_changes_neither_edges_nor_values():
    edges = EdgeSet.union([np.array([[1, 2], [0, 2], [0, 1]])])
    values = np.arange(6.0)
    graph = edges.to_csr(values)
    graph.data[:] = -1
    graph.eliminate_zeros()
    graph.indices[:] = 0
    graph.indptr[:] = 0
    np.testing.assert_array_equal(edges.indices, [1, 2, 0, 2, 0, 1])
    np.testing.assert_array_equal(edges.indptr, [0, 2, 4, 6])
    np.testing.assert_array_equal(values, np.arange(6))


def test_edge_sets_are_frozen_and_can_be_shown_and_compared():
    edges = EdgeSet.union([np.array([[1], [0], [1]])])
    assert repr(edges) == "EdgeSet(n_samples=3, n_edges=3)"
    with pytest.raises(dataclasses.FrozenInstanceError):
        edges.indices = edges.indices[:1]
    # Comparing must give a truth value, not an array that has none.
    assert edges == edges
    assert edges != EdgeSet.union([np.array([[1], [0], [0]])])


def random_edges(n, k, seed):
    """Rows of different lengths, some of them empty."""
    rng = np.random.default_rng(seed)
    neighbors = rng.integers(n, size=(n, k))
    empty = rng.random(n) < 0.2
    neighbors[empty] = np.flatnonzero(empty)[:, None]
    return EdgeSet.union([neighbors])


@given(st.integers(1, 30), st.integers(1, 8), st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_symmetrize_is_the_mean_of_both_directions(n, width, seed):
    edges = random_edges(n, width, seed)
    values = np.random.default_rng(seed).integers(0, 4, size=edges.n_edges).astype(float)
    graph = edges.to_csr(values)
    before = graph.toarray()
    found = symmetrize(graph)
    np.testing.assert_array_equal(found.toarray(), (before + before.T) / 2)
    assert (found.data != 0).all()
    assert found.has_canonical_format
    assert isinstance(found, sparse.csr_array)
    assert graph.nnz == edges.n_edges
    np.testing.assert_array_equal(graph.toarray(), before)


def test_symmetrize_is_symmetric_to_the_last_bit():
    edges = random_edges(200, 10, 7)
    found = symmetrize(edges.to_csr(np.random.default_rng(8).random(edges.n_edges)))
    assert (found != found.T).nnz == 0


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_symmetrize_keeps_the_precision(dtype):
    found = symmetrize(sparse.csr_array(np.array([[0, 1, 0], [1, 0, 1], [0, 0, 0]], dtype=dtype)))
    assert found.dtype == dtype
    np.testing.assert_array_equal(found.toarray(), [[0, 1, 0], [1, 0, 0.5], [0, 0.5, 0]])


def test_symmetrize_a_graph_without_edges():
    assert symmetrize(sparse.csr_array((5, 5))).nnz == 0


def test_edges_that_a_view_judges():
    edges = EdgeSet.union([np.array([[1], [0], [1]])])
    assert edges.seen_by(0) is None
    judged = edges.judged_by(np.array([[True, True], [True, True], [True, False]]))
    np.testing.assert_array_equal(judged.seen_by(0), [True, True, True])
    np.testing.assert_array_equal(judged.seen_by(1), [True, True, False])
    assert judged != edges
    assert judged == edges.judged_by(np.array([[True, True], [True, True], [True, False]]))


def test_moments_change_other_values_as_those_of_the_fit():
    moments = Moments.from_sums(5, 0, 4.0, 4 * 9.0)
    assert (moments.mean, moments.deviation) == (4.0, 3.0)
    np.testing.assert_array_equal(moments.standardize(np.array([-9.0, 1.0, 4.0, 7.0])), [0, 0, 1, 2])
    # The power of two is divided out of the values before they are compared with the mean.
    np.testing.assert_array_equal(Moments(-3, 0.5, 0.25).standardize(np.array([4.0, 6.0])), [1, 2])


def test_where_all_values_of_the_fit_were_the_same_others_are_relative_to_it():
    moments = Moments.from_sums(5, 0, 0.5, 1e-30)
    assert moments.deviation == 0
    found = moments.standardize(np.array([0.5, 0.5 * (1 + 1e-9), 0.25, 2.0]))
    np.testing.assert_array_equal(found, [1, 1, 0.5, 4])
    np.testing.assert_array_equal(Moments(0, 0.0, 0.0).standardize(np.array([0.0, 3.0])), [1, 1])
    assert Moments.from_sums(1, 0, 0.5, 0.0).deviation == 0


def test_a_kernel_is_its_parts_one_after_the_other():
    values = np.array([0.0, 2.0, 6.0])
    assert EdgeKernel().changes_nothing
    np.testing.assert_array_equal(EdgeKernel()(values), values)
    apart = 1 / (1 + values / 2)
    np.testing.assert_array_equal(EdgeKernel(typical=2.0)(values), apart)
    moments = Moments(0, 0.5, 0.25)
    standard = moments.standardize(apart)
    np.testing.assert_array_equal(EdgeKernel(typical=2.0, moments=moments)(values), standard)
    whole = EdgeKernel(typical=2.0, moments=moments, width=3.0)
    assert not whole.changes_nothing
    np.testing.assert_array_equal(whole(values), np.exp(-standard / 3))
    seen = np.array([True, False, True])
    np.testing.assert_array_equal(whole(values, seen), np.where(seen, np.exp(-standard / 3), 0))
