import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from consilience import threads
from consilience.graph import EdgeSet, keep_largest, symmetrize

seeds = st.integers(0, 2**32 - 1)


def random_edges(n, k, seed):
    """Rows of different lengths, some of them empty."""
    rng = np.random.default_rng(seed)
    neighbors = rng.integers(n, size=(n, k))
    empty = rng.random(n) < 0.2
    neighbors[empty] = np.flatnonzero(empty)[:, None]
    return EdgeSet.union([neighbors])


def kept_by_oracle(edges, values, k):
    """(row, column, value) of the k first of each row by (value descending, column ascending)."""
    kept = []
    for i in range(edges.n_samples):
        row = slice(edges.indptr[i], edges.indptr[i + 1])
        entries = sorted(zip(-values[row], edges.indices[row].tolist(), strict=True))[:k]
        kept += sorted((i, j, -value) for value, j in entries)
    return kept


def stored(graph):
    entries = graph.tocoo()
    return list(zip(entries.row.tolist(), entries.col.tolist(), entries.data.tolist(), strict=True))


@given(st.integers(1, 40), st.integers(1, 12), st.integers(1, 15), st.integers(0, 5), seeds)
@settings(max_examples=60, deadline=None)
def test_keep_largest_with_ties(n, width, k, largest, seed):
    edges = random_edges(n, width, seed)
    values = np.random.default_rng(seed).integers(0, largest + 1, size=edges.n_edges).astype(float)
    before = values.copy()
    graph = keep_largest(edges, values, k)
    assert graph.shape == (n, n)
    assert graph.has_canonical_format
    assert stored(graph) == kept_by_oracle(edges, values, k)
    np.testing.assert_array_equal(values, before)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_keep_largest_of_different_values(dtype):
    edges = random_edges(80, 20, 1)
    values = np.random.default_rng(2).permutation(edges.n_edges).astype(dtype)
    graph = keep_largest(edges, values, 6)
    assert graph.dtype == dtype
    assert stored(graph) == kept_by_oracle(edges, values, 6)


def test_more_than_there_are_keeps_all():
    edges = random_edges(30, 5, 3)
    values = np.random.default_rng(4).random(edges.n_edges)
    values[::4] = 0
    graph = keep_largest(edges, values, 10**6)
    np.testing.assert_array_equal(graph.data, values)
    np.testing.assert_array_equal(graph.indices, edges.indices)
    np.testing.assert_array_equal(graph.indptr, edges.indptr)


def test_zeros_are_kept_where_they_are_among_the_largest():
    edges = EdgeSet.union([np.array([[1, 2, 3], [1, 1, 1], [2, 2, 2], [3, 3, 3]])])
    assert stored(keep_largest(edges, np.array([0.0, 5.0, 0.0]), 2)) == [(0, 1, 0.0), (0, 2, 5.0)]


def test_values_equal_but_for_rounding_are_ties_and_others_are_not():
    edges = EdgeSet.union([np.array([[1, 2, 3, 4]] + [[i] * 4 for i in range(1, 5)])])
    for size in (1e-200, 0.1, 1e200):
        kept = keep_largest(edges, size * np.array([1, 1 + 1e-15, 1 + 2e-15, 0.5]), 1)
        np.testing.assert_array_equal(kept.indices, [1])
        kept = keep_largest(edges, size * np.array([1, 1 + 1e-9, 1 + 2e-9, 0.5]), 1)
        np.testing.assert_array_equal(kept.indices, [3])


@pytest.mark.parametrize("n_threads", [2, 3, 8])
def test_threads_keep_the_same_edges(n_threads):
    edges = random_edges(9000, 10, 5)
    values = np.random.default_rng(6).integers(0, 4, size=edges.n_edges).astype(float)
    with threads.limit(1):
        expected = keep_largest(edges, values, 3)
    with threads.limit(n_threads):
        found = keep_largest(edges, values, 3)
    for attribute in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(found, attribute), getattr(expected, attribute))
    sample = slice(edges.indptr[8990], None)
    part = EdgeSet(
        np.r_[np.zeros(8990, int), edges.indptr[8990:] - edges.indptr[8990]], edges.indices[sample]
    )
    assert stored(expected[8990:]) == [
        (i - 8990, j, value) for i, j, value in kept_by_oracle(part, values[sample], 3)
    ]


def test_graph_without_edges():
    edges = EdgeSet.union([np.arange(5)[:, None]])
    graph = keep_largest(edges, np.empty(0), 3)
    assert (graph.shape, graph.nnz) == ((5, 5), 0)
    assert symmetrize(graph).nnz == 0


@given(st.integers(1, 30), st.integers(1, 8), seeds)
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
