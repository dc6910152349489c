"""Sparse graphs of distances as views: absent entries are no edges, stored zeros are."""

import numpy as np
import pytest
from scipy import sparse
from tests.engines.placed import on_pairs, place

from consilience import graph_view
from consilience.graphs import EdgeSet


def random_graph(rng, n=40, share=0.1):
    lengths = np.round(rng.gamma(2, 1, (n, n)), 1)  # with ties, and some zeros
    there = np.triu(rng.random((n, n)) < share, 1)
    rows, columns = np.nonzero(there)
    triples = [(int(i), int(j), float(lengths[i, j])) for i, j in zip(rows, columns, strict=True)]
    return graph_view(triples, kind="distance", nodes=n)


def full_matrix(graph):
    """Return the distances of all pairs: those without an edge are as far apart as the farthest."""
    full = np.full(graph.matrix.shape, graph.matrix.data.max())
    entries = graph.matrix.tocoo()
    full[entries.row, entries.col] = entries.data
    np.fill_diagonal(full, 0.0)
    return full


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("k", [1, 3, 30])
def test_the_nearest_of_a_graph_are_its_shortest_edges(engine, seed, k):
    graph = random_graph(np.random.default_rng(seed))
    found = place(engine, graph.matrix, "graph_distance").nearest(k)
    for i, row in enumerate(found):
        own = graph.matrix[[i]].tocoo()
        length = dict(zip(own.col.tolist(), own.data.tolist(), strict=True))
        named = row[row != i].tolist()
        assert len(set(named)) == len(named) == min(k, len(length)) and (row[len(named) :] == i).all()
        assert [length[j] for j in named] == sorted(length.values())[:k]  # which of equal ones: test_ties.py


def test_distances_on_edges_and_over_pairs(engine):
    rng = np.random.default_rng(0)
    graph = random_graph(rng)
    placed, full = place(engine, graph.matrix, "graph_distance"), full_matrix(graph)
    chosen = rng.random(full.shape) < 0.3
    wanted = EdgeSet.from_support([sparse.csr_array(chosen)])
    assert np.array_equal(placed.measure(wanted), full[wanted.rows, wanted.indices] ** 2)
    assert placed.mean_over_pairs() == pytest.approx(np.mean(full**2), rel=1e-12)
    order = rng.permutation(len(full))
    moved = placed.reordered(order)
    there = EdgeSet.from_support([sparse.csr_array(chosen[order][:, order])])
    assert np.array_equal(moved.measure(there), full[order][:, order][there.rows, there.indices] ** 2)


def test_edges_of_one_length_still_say_which_samples_are_joined(engine):
    graph = graph_view([(0, 1), (1, 2), (2, 3)], kind="distance")
    placed = place(engine, graph.matrix, "graph_distance")
    assert not placed.is_constant()
    assert on_pairs(placed, 4)[0].tolist() == [0, 1, 4, 4]
    complete = graph_view(np.ones((4, 4)), kind="distance")
    assert place(engine, complete.matrix, "graph_distance").is_constant()


def test_new_samples_next_to_a_distance_graph(engine):
    graph = graph_view([(0, 1, 1.0), (1, 2, 3.0)], kind="distance")
    placed = place(engine, graph.matrix, "graph_distance")
    new = placed.query(sparse.coo_array(([0.0, 2.0], ([0, 0], [2, 1])), shape=(2, 3)))
    assert new.nearest(3).tolist() == [[2, 1, -1], [-1, -1, -1]]
    edges = EdgeSet(np.array([0, 3, 6]), np.array([0, 1, 2] * 2))
    assert new.measure(edges).tolist() == [9, 4, 0, 9, 9, 9]


def test_new_samples_without_zeros_next_to_a_distance_graph(engine):
    graph = graph_view([(0, 1, 1.0), (1, 2, 3.0)], kind="distance")
    placed = place(engine, graph.matrix, "graph_distance")
    new = placed.query(sparse.csr_array(np.array([[0, 2.0, 0.5], [0, 0, 0]])))
    assert new.nearest(3).tolist() == [[2, 1, -1], [-1, -1, -1]]
    edges = EdgeSet(np.array([0, 3, 6]), np.array([0, 1, 2] * 2))
    assert new.measure(edges).tolist() == [9, 4, 0.25, 9, 9, 9]


def test_new_samples_that_are_wrong_are_refused(engine):
    placed = place(engine, graph_view([(0, 1, 1.0), (1, 2, 3.0)], kind="distance").matrix, "graph_distance")
    with pytest.raises(ValueError, match="New sample 1 has an edge of length -1"):
        placed.query(sparse.csr_array(np.array([[0, 0, 0], [0, -1.0, 0]])))
    with pytest.raises(ValueError, match="rows of edges to its 3"):
        placed.query(np.zeros((1, 4)))


def test_graph_distance_takes_a_sparse_square_matrix_without_negative_numbers(engine):
    with pytest.raises(ValueError, match="View 'net' is no graph"):
        place(engine, np.eye(3), "graph_distance", name="net")
    with pytest.raises(ValueError, match="negative distance -2 between samples 0 and 1"):
        place(engine, sparse.csr_array(np.array([[0, -2.0], [1.0, 0]])), "graph_distance")
