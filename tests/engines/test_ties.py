"""Ties: in graphs, edges whose ends share more neighbours come first; elsewhere, the lower number."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from tests.engines.names import HOST_ENGINES
from tests.engines.placed import place

from consilience import SimilarityGraphFusion
from consilience.agreement import view_agreement
from consilience.engines import threads
from consilience.engines.host import _nearest_in_order
from consilience.metrics import nmi

every_engine = pytest.mark.parametrize("engine", HOST_ENGINES)
METRICS = {"similarity": "precomputed_similarity", "distance": "graph_distance"}


def by_definition(values, kind, queries=None):
    """Return the keys (how far, how little is shared) of all pairs, by definition.

    In `values`, and for new samples in `queries`, NaN is no edge.
    """
    values = values.copy()
    np.fill_diagonal(values, np.nan)
    unit = np.nanmax(values) if kind == "similarity" else np.nanmean(values) or 1.0

    def closeness(of):
        return np.nan_to_num(of / unit if kind == "similarity" else 1 / (1 + of / unit))

    u = closeness(values) + closeness(values).T
    rows, edges = (u, values) if queries is None else (closeness(queries), queries)
    shared = rows @ u / np.maximum(u.sum(axis=0), 1e-300)
    far = np.where(np.isnan(edges), np.inf, -edges if kind == "similarity" else edges)
    return far, -shared


def ranked(far, little_shared, k, fill):
    """Return the first k of each row by both keys, then by index."""
    index = np.broadcast_to(np.arange(far.shape[1]), far.shape)
    order = np.lexsort((index, np.round(little_shared, 11), far), axis=1)[:, :k]
    return np.where(np.isinf(np.take_along_axis(far, order, axis=1)), fill[:, None], order)


def random_graph(rng, n, share, n_weights, directed, m=None):
    """Return weights 1 .. n_weights on random edges, NaN where there is none."""
    values = rng.integers(1, n_weights + 1, size=(m or n, n)).astype(float)
    values[rng.random(values.shape) > share] = np.nan
    if not directed:
        values = np.where(np.tri(n, dtype=bool), values.T, values)
    if m is None:
        np.fill_diagonal(values, np.nan)
    return values


def as_sparse(values):
    rows, columns = np.nonzero(~np.isnan(values))
    return sparse.csr_array((values[rows, columns], (rows, columns)), shape=values.shape)


def blocks(y, rng, degree, ratio, directed=False):
    """Return a stochastic block model without weights, edges inside `ratio` times as likely."""
    likely = np.where(y[:, None] == y, ratio, 1.0)
    there = rng.random(likely.shape) < likely * degree / likely.sum(axis=1).mean()
    if not directed:
        there = np.triu(there, 1)
        there = there | there.T
    np.fill_diagonal(there, False)
    return sparse.csr_array(there.astype(float))


graphs = st.tuples(
    st.integers(0, 2**32 - 1),
    st.integers(3, 50),
    st.sampled_from([0.1, 0.4, 0.9]),
    st.integers(1, 3),
    st.booleans(),
)


@every_engine
@pytest.mark.parametrize("kind", METRICS)
@given(graphs, st.data())
@settings(max_examples=40, deadline=None)
def test_the_order_is_that_of_the_definition(engine, kind, graph, data):
    seed, n, share, n_weights, directed = graph
    rng, k = np.random.default_rng(seed), data.draw(st.integers(1, n - 1))
    values = random_graph(rng, n, share, n_weights, directed)
    values[0, 1] = values[1, 0] = 1.0  # one edge at least
    view = place(engine, as_sparse(values), METRICS[kind])
    expected = ranked(*by_definition(values, kind), n - 1, np.arange(n))
    np.testing.assert_array_equal(view.nearest(k), expected[:, :k])
    # So a cached view that has found more may give the first of these.
    cached = view.cached()
    cached.nearest(n - 1)
    np.testing.assert_array_equal(cached.nearest(k), expected[:, :k])

    new = random_graph(rng, n, share, n_weights, True, m=5)
    expected = ranked(*by_definition(values, kind, new), k, np.full(5, -1))
    np.testing.assert_array_equal(view.query(as_sparse(new)).nearest(k), expected)
    np.testing.assert_array_equal(view.query(np.nan_to_num(new)).nearest(k), expected)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(view.points)).nearest(k).lists, view.nearest(k))


@every_engine
@pytest.mark.parametrize("kind", METRICS)
def test_hubs(engine, kind):
    # Their edges are not gone through for every neighbour that has few.
    rng = np.random.default_rng(0)
    values = random_graph(rng, 400, 0.02, 2, False)
    values[:3, 3:] = rng.integers(1, 3, size=(3, 397))
    values[3:, :3] = values[:3, 3:].T
    degrees = (~np.isnan(values)).sum(axis=1)
    assert (degrees[:3, None] > 8 * degrees[3:]).any()
    found = place(engine, as_sparse(values), METRICS[kind]).nearest(6)
    np.testing.assert_array_equal(found, ranked(*by_definition(values, kind), 6, np.arange(400)))


@every_engine
def test_a_sample_that_comes_again_has_the_same_neighbours(engine):
    graph = as_sparse(random_graph(np.random.default_rng(1), 60, 0.5, 2, False))
    for metric in METRICS.values():
        view = place(engine, graph, metric)
        np.testing.assert_array_equal(view.query(graph).nearest(8), view.nearest(8))


@every_engine
def test_the_diagonal_and_stored_zeros_do_not_count(engine):
    values = random_graph(np.random.default_rng(2), 50, 0.5, 1, False)
    graph = as_sparse(values)
    spoiled = graph.tolil()
    spoiled.setdiag(np.arange(50) + 7.0)
    spoiled = sparse.csr_array(spoiled).tocoo()
    absent = np.argwhere(np.isnan(values) & ~np.eye(50, dtype=bool))[:40]
    parts = (
        np.concatenate([spoiled.data, np.zeros(40)]),
        *np.concatenate([np.stack([spoiled.row, spoiled.col], axis=1), absent]).T,
    )
    spoiled = sparse.csr_array((parts[0], parts[1:]), shape=(50, 50))
    one, other = (place(engine, g, "precomputed_similarity") for g in (graph, spoiled))
    np.testing.assert_array_equal(one.nearest(9), other.nearest(9))
    np.testing.assert_array_equal(one.query(graph).nearest(9), other.query(graph).nearest(9))


@every_engine
def test_equal_dense_similarities_are_ordered_by_index(engine):
    values = np.nan_to_num(random_graph(np.random.default_rng(3), 40, 0.6, 1, False))
    np.fill_diagonal(values, 1.0)
    found = place(engine, values, "precomputed_similarity").nearest(5)
    np.fill_diagonal(values, 0.0)
    np.testing.assert_array_equal(found, np.argsort(-values, axis=1, kind="stable")[:, :5])


@every_engine
@pytest.mark.parametrize("kind", METRICS)
@pytest.mark.parametrize("n_weights", [1, 3])
@pytest.mark.parametrize("directed", [False, True])
def test_another_order_of_the_samples_changes_only_what_is_equal_in_both(engine, kind, n_weights, directed):
    rng = np.random.default_rng(4)
    values = random_graph(rng, 120, 0.4, n_weights, directed) * 0.1  # sums with rounding
    view = place(engine, as_sparse(values), METRICS[kind])
    one, other = view.nearest(10), _nearest_in_order(view.points, 10, rng.permutation(120), "exact")
    for key in by_definition(values, kind):
        np.testing.assert_allclose(
            np.take_along_axis(key, one, axis=1), np.take_along_axis(key, other, axis=1), rtol=1e-11
        )


@pytest.mark.parametrize("kind", METRICS)
def test_the_number_of_threads_changes_nothing(kind):  # of the readable engine there is only one
    n, engine = 5000, "numba"
    rng = np.random.default_rng(5)
    row, column = rng.integers(n, size=(2, 30 * n))
    graph = sparse.coo_array((rng.integers(1, 4, size=30 * n) * 0.1, (row, column)), shape=(n, n)).tocsr()
    lists = []
    for n_jobs in (1, 2):
        with threads.limit(n_jobs):
            lists.append(place(engine, graph, METRICS[kind]).nearest(10))
    np.testing.assert_array_equal(*lists)


@every_engine
@pytest.mark.parametrize("unit", [1e-90, 1e-5, 1e300])
def test_the_unit_does_not_matter(engine, unit):
    values = random_graph(np.random.default_rng(6), 60, 0.5, 2, True)
    plain, other = (place(engine, as_sparse(values * u), "precomputed_similarity") for u in (1.0, unit))
    np.testing.assert_array_equal(other.nearest(7), plain.nearest(7))
    expected = plain.query(as_sparse(values)).nearest(7)
    for new_unit in (unit, 1.0):
        np.testing.assert_array_equal(other.query(as_sparse(values * new_unit)).nearest(7), expected)


@every_engine
@pytest.mark.parametrize("kind", METRICS)
@pytest.mark.parametrize("directed", [False, True])
def test_planted_groups_are_kept_by_the_choice_of_neighbours(engine, kind, directed):
    rng = np.random.default_rng(7)
    y = rng.integers(4, size=400)
    graph = blocks(y, rng, degree=80, ratio=2.2, directed=directed)
    view = place(engine, graph, METRICS[kind])
    lists = view.nearest(20)
    entries = graph.tocoo()
    inside = np.mean(y[lists] == y[:, None]) - np.mean(y[entries.row] == y[entries.col])
    lower = np.stack([graph.indices[start : start + 20] for start in graph.indptr[:-1]])
    assert inside > 0.15
    assert abs(np.mean(y[lower] == y[:, None]) - np.mean(y[entries.row] == y[entries.col])) < 0.03


def test_a_graph_of_many_equal_edges_is_clustered():
    scores = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        y = rng.integers(4, size=400)
        graph = blocks(y, rng, degree=80, ratio=2.2)
        model = SimilarityGraphFusion(
            n_clusters=4, n_neighbors=20, metric="precomputed_similarity", random_state=0
        )
        scores.append(nmi(y, model.fit([graph]).labels_))
    assert np.mean(scores) > 0.85  # by the lower index 0.5


@every_engine
@pytest.mark.parametrize("degree", [30, 80])
def test_equal_edges_are_no_agreement(engine, degree):
    # Unrelated graphs, each with its own groups: which share most does not depend on the order of samples.
    rng = np.random.default_rng(8)
    graphs = [blocks(rng.integers(4, size=300), rng, degree, 3.0) for _ in range(10)]
    views = [place(engine, graph, "precomputed_similarity") for graph in graphs]
    agreement = view_agreement([view.broken_ties(view.nearest(10), i) for i, view in enumerate(views)])
    z = agreement.z_scores[np.triu_indices(10, 1)]
    assert abs(z.mean()) < 0.5 and z.std() < 1.3 and not agreement.significant.any()


@every_engine
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan", "precomputed_distance"])
@pytest.mark.parametrize("masked", [False, True])
def test_another_order_changes_ties_only(engine, metric, masked):
    rng = np.random.default_rng(2)
    x = rng.normal(size=(80, 3))
    if metric == "precomputed_distance":
        x = np.abs(x[:, :1] - x[:, :1].T)
    seen = rng.random(80) < 0.7 if masked else None
    view = place(engine, x, metric, seen=seen)
    order = rng.permutation(80)
    np.testing.assert_array_equal(_nearest_in_order(view.points, 6, order, "exact"), view.nearest(6))
    np.testing.assert_array_equal(_nearest_in_order(view.cached().points, 6, order, "exact"), view.nearest(6))
