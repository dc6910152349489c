"""The strongest edges of each sample, by every engine."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engines.names import HOST_ENGINES

from consilience.engines import get_engine, threads
from consilience.graphs import EdgeSet, symmetrize


@pytest.fixture(params=HOST_ENGINES, scope="module")
def engine(request):
    return get_engine(request.param)


seeds = st.integers(0, 2**32 - 1)


def random_edges(n, k, seed):
    """Rows of different lengths, some of them empty."""
    rng = np.random.default_rng(seed)
    neighbors = rng.integers(n, size=(n, k))
    empty = rng.random(n) < 0.2
    neighbors[empty] = np.flatnonzero(empty)[:, None]
    return EdgeSet.union([neighbors])


def keep_largest(engine, edges, values, k):
    return engine.fetch(engine.keep_largest(engine.adopt(edges), engine.adopt(values), k))


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


@given(
    n=st.integers(1, 40),
    width=st.integers(1, 12),
    k=st.integers(1, 15),
    largest=st.integers(0, 5),
    seed=seeds,
)
@settings(max_examples=60, deadline=None)
def test_keep_largest_with_ties(engine, n, width, k, largest, seed):
    edges = random_edges(n, width, seed)
    values = np.random.default_rng(seed).integers(0, largest + 1, size=edges.n_edges).astype(float)
    before = values.copy()
    graph = keep_largest(engine, edges, values, k)
    assert graph.shape == (n, n)
    assert graph.has_canonical_format
    assert stored(graph) == kept_by_oracle(edges, values, k)
    np.testing.assert_array_equal(values, before)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_keep_largest_of_different_values(engine, dtype):
    edges = random_edges(80, 20, 1)
    values = np.random.default_rng(2).permutation(edges.n_edges).astype(dtype)
    graph = keep_largest(engine, edges, values, 6)
    assert graph.dtype == dtype
    assert stored(graph) == kept_by_oracle(edges, values, 6)


def test_more_than_there_are_keeps_all(engine):
    edges = random_edges(30, 5, 3)
    values = np.random.default_rng(4).random(edges.n_edges)
    values[::4] = 0
    graph = keep_largest(engine, edges, values, 10**6)
    np.testing.assert_array_equal(graph.data, values)
    np.testing.assert_array_equal(graph.indices, edges.indices)
    np.testing.assert_array_equal(graph.indptr, edges.indptr)


def test_zeros_are_kept_where_they_are_among_the_largest(engine):
    edges = EdgeSet.union([np.array([[1, 2, 3], [1, 1, 1], [2, 2, 2], [3, 3, 3]])])
    assert stored(keep_largest(engine, edges, np.array([0.0, 5.0, 0.0]), 2)) == [(0, 1, 0.0), (0, 2, 5.0)]


def test_values_equal_to_rounding_are_ties_and_others_are_not(engine):
    edges = EdgeSet.union([np.array([[1, 2, 3, 4]] + [[i] * 4 for i in range(1, 5)])])
    for size in (1e-200, 0.1, 1e200):
        kept = keep_largest(engine, edges, size * np.array([1, 1 + 1e-15, 1 + 2e-15, 0.5]), 1)
        np.testing.assert_array_equal(kept.indices, [1])
        kept = keep_largest(engine, edges, size * np.array([1, 1 + 1e-9, 1 + 2e-9, 0.5]), 1)
        np.testing.assert_array_equal(kept.indices, [3])


@pytest.mark.parametrize("n_threads", [2, 3, 8])
def test_threads_keep_the_same_edges(n_threads):
    engine = get_engine("numba")
    edges = random_edges(9000, 10, 5)
    values = np.random.default_rng(6).integers(0, 4, size=edges.n_edges).astype(float)
    with threads.limit(1):
        expected = keep_largest(engine, edges, values, 3)
    with threads.limit(n_threads):
        found = keep_largest(engine, edges, values, 3)
    for attribute in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(found, attribute), getattr(expected, attribute))
    sample = slice(edges.indptr[8990], None)
    part = EdgeSet(
        np.r_[np.zeros(8990, int), edges.indptr[8990:] - edges.indptr[8990]], edges.indices[sample]
    )
    assert stored(expected[8990:]) == [
        (i - 8990, j, value) for i, j, value in kept_by_oracle(part, values[sample], 3)
    ]


def test_graph_without_edges(engine):
    edges = EdgeSet.union([np.arange(5)[:, None]])
    graph = keep_largest(engine, edges, np.empty(0), 3)
    assert (graph.shape, graph.nnz) == ((5, 5), 0)
    assert symmetrize(graph).nnz == 0


def test_sparsify_is_the_symmetric_graph_of_the_largest(engine):
    edges = random_edges(60, 9, 9)
    values = np.random.default_rng(9).integers(0, 4, size=edges.n_edges).astype(float)
    found = engine.fetch(engine.sparsify(engine.adopt(edges), engine.adopt(values), 4))
    expected = symmetrize(keep_largest(engine, edges, values, 4))
    assert (found != expected).nnz == 0
    assert found.nnz == expected.nnz and (found.data != 0).all()


def test_symmetrize_takes_all_edges(engine):
    edges = random_edges(60, 9, 10)
    values = np.random.default_rng(10).integers(0, 4, size=edges.n_edges).astype(float)
    found = engine.fetch(engine.symmetrize(engine.adopt(edges), engine.adopt(values)))
    assert (found != symmetrize(edges.to_csr(values))).nnz == 0
    assert (found.data != 0).all()


def test_the_largest_may_be_a_matrix_of_another_shape(engine):
    edges = EdgeSet(np.array([0, 3, 5]), np.array([1, 4, 6, 0, 5]))  # two of several samples
    values = np.array([2.0, 1.0, 3.0, 5.0, 4.0])
    found = engine.fetch(engine.keep_largest(engine.adopt(edges), engine.adopt(values), 2, (2, 7)))
    assert found.shape == (2, 7)
    assert stored(found) == [(0, 1, 2.0), (0, 6, 3.0), (1, 0, 5.0), (1, 5, 4.0)]
