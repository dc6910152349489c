import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from consilience.engines import threads
from consilience.engines.numba.spectrum import reordering
from consilience.engines.numba.spectrum.reordering import neighborly_order, reordered


def communities(n, n_classes, k, crossing, seed):
    """Each sample has k edges to its own class, except for a share of them that go anywhere."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    members = [np.flatnonzero(y == c) for c in range(n_classes)]
    other = np.array([rng.choice(members[c], k) for c in y])
    far = rng.random((n, k)) < crossing
    other[far] = rng.integers(0, n, far.sum())
    half = sparse.csr_array((rng.random(n * k) + 0.1, (np.repeat(np.arange(n), k), other.ravel())), (n, n))
    return sparse.csr_array(half + half.T), y


def reach(graph, order):
    """Return how far apart the ends of an edge are in an order, on average, as a part of all samples."""
    place = np.argsort(order)
    edges = graph.tocoo()
    return np.abs(place[edges.row] - place[edges.col]).mean() / len(order)


@given(st.integers(1, 300), st.floats(0, 0.1), st.integers(0, 10**6), st.sampled_from([1, 5, 1024]))
@settings(max_examples=60, deadline=None)
def test_every_sample_comes_once(n, density, seed, apart):
    graph = sparse.csr_array(sparse.random(n, n, density, random_state=np.random.default_rng(seed)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reordering, "_APART", apart)
        np.testing.assert_array_equal(np.sort(neighborly_order(graph)), np.arange(n))


def spread_plainly(graph, labels):
    """Do a round of `reordering.spread` sample by sample."""
    result = labels.copy()
    for i in range(graph.shape[0]):
        row = slice(graph.indptr[i], graph.indptr[i + 1])
        step = max(1, (row.stop - row.start) // reordering._LOOKED_AT)
        weights, most = {}, 0.0
        for j, weight in zip(graph.indices[row][::step], graph.data[row][::step], strict=True):
            if labels[j] >= 0:
                weights[labels[j]] = weights.get(labels[j], 0.0) + weight
                if weights[labels[j]] > most:
                    result[i], most = labels[j], weights[labels[j]]
    return result


def test_a_round_is_what_it_is_sample_by_sample():
    graph, _ = communities(3000, 4, 12, 0.3, seed=2)
    labels = np.random.default_rng(0).integers(-1, 50, 3000).astype(np.int32)
    found = np.empty_like(labels)
    reordering._for_rows(reordering.spread, graph, labels, found, 50)
    np.testing.assert_array_equal(found, spread_plainly(graph, labels))


def test_communities_come_together():
    graph, y = communities(20_000, 8, 6, 0.05, seed=0)
    order = neighborly_order(graph)
    # Inside a community of an eighth, ends of edges are 1/24 apart on average; anywhere, 1/3.
    assert reach(graph, np.arange(len(y))) > 0.3
    assert reach(graph, order) < 0.09
    assert np.mean(y[order][1:] == y[order][:-1]) > 0.95


def test_neighbours_on_a_sheet_come_together():
    """Where there are no communities, patches do."""
    side = 150
    path = sparse.diags([1.0, 1.0], [-1, 1], shape=(side, side))
    sheet = sparse.csr_array(sparse.kron(path, np.eye(side)) + sparse.kron(np.eye(side), path))
    shuffled = np.random.default_rng(0).permutation(side**2)
    graph = sparse.csr_array(sheet[shuffled][:, shuffled])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reordering, "_APART", 100)
        assert reach(graph, neighborly_order(graph)) < 0.5 * reach(graph, np.arange(side**2))


def test_an_order_depends_on_the_graph_alone():
    graph, _ = communities(20_000, 5, 6, 0.2, seed=1)
    orders = []
    for n_threads in (1, 2, 3):
        with threads.limit(n_threads):
            orders.append(neighborly_order(graph))
    np.testing.assert_array_equal(orders[0], orders[1])
    np.testing.assert_array_equal(orders[0], orders[2])


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(st.integers(1, 60), st.floats(0, 0.5), st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_rows_and_columns_take_their_places(index, dtype, n, density, seed):
    rng = np.random.default_rng(seed)
    matrix = sparse.csr_array(sparse.random(n, n, density, random_state=rng))
    matrix.indptr, matrix.indices = matrix.indptr.astype(index), matrix.indices.astype(index)
    order = rng.permutation(n)
    result = reordered(matrix, order, dtype)
    assert result.dtype == dtype
    np.testing.assert_array_equal(result.toarray(), matrix.toarray()[order][:, order].astype(dtype))
