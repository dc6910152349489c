import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from consilience import KMeansLabels, make_multiview
from consilience.engines import get_engine, threads
from consilience.models.systems.random_walk import closed_classes, stationary_distribution, walk_embedding
from consilience.models.systems.rmsc import (
    RMSC,
    LowRankTransitions,
    clip_singular_values,
    low_rank_transitions,
)
from consilience.run import memory
from consilience.testing import assert_same_partition


@pytest.mark.parametrize("name", ["MSRC_v1", "3Sources"])
@pytest.mark.parametrize("error_penalty", ["0.01", "0.1"])
def test_the_authors_numbers(golden, golden_graphs, name, error_penalty):
    stored = golden(f"systems/{name}_RMSC_{error_penalty}")
    graphs = golden_graphs(name)
    found = low_rank_transitions(graphs, float(stored["lambda"]))
    assert found.converged and found.n_iter == len(stored["mu"])
    np.testing.assert_allclose(found.history["mu"], stored["mu"], rtol=1e-12)
    np.testing.assert_allclose(found.history["residual"], stored["residual"], atol=1e-12)
    np.testing.assert_allclose(found.history["gap"], stored["P_minus_Q"], atol=1e-12)
    np.testing.assert_array_equal(found.history["rank"], stored["rank_Q"])
    np.testing.assert_allclose(found.history["l1_norm"], stored["l1_norm"], rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(found.transitions, stored["P"], atol=1e-12)
    np.testing.assert_allclose(found.stationary, stored["pi"], rtol=1e-10)
    values, _, graph = walk_embedding(found, len(stored["eigenvalues"]))
    np.testing.assert_allclose(values, stored["eigenvalues"], atol=1e-12)
    np.testing.assert_allclose(graph.sum(axis=1), stored["pi"], rtol=1e-10)
    # Theirs is the nuclear norm of P, ours that of Q: compared round by round from P.
    for cap in (1, 9, 12, found.n_iter):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            here = low_rank_transitions(graphs, float(error_penalty), max_iter=cap)
        norm = np.linalg.svd(here.transitions, compute_uv=False).sum()
        np.testing.assert_allclose(norm, stored["nuclear_norm"][cap - 1], rtol=1e-12)


def random_graph(rng, n, density=0.2, loops=True):
    weights = rng.random((n, n)) * (rng.random((n, n)) < density)
    ring = np.roll(np.eye(n), 1, axis=0) if loops else 0.0
    return sparse.csr_array(weights + weights.T + ring + (ring.T if loops else 0.0))


def reference(graphs, penalty, max_iter=100):
    """Run the rounds as they are written down, with a singular value decomposition and all E_i kept."""
    walks = [graph.toarray() / graph.toarray().sum(axis=1, keepdims=True) for graph in graphs]
    v, shape, mu, history = len(walks), walks[0].shape, 1e-3, []
    Q, Z = np.zeros(shape), np.zeros(shape)
    E, Y = np.zeros((v, *shape)), np.zeros((v, *shape))
    while len(history) < max_iter and not (history and history[-1][0] < 1e-7):
        P = get_engine("numpy").project_rows((Q - Z / mu + sum(walks - E - Y / mu)) / (v + 1))
        left, values, right = np.linalg.svd(P + Z / mu)
        Q = (left * np.maximum(values - 1 / mu, 0)) @ right
        target = walks - P - Y / mu
        E = np.sign(target) * np.maximum(np.abs(target) - penalty / mu, 0)
        Y += mu * (P + E - walks)
        Z += mu * (P - Q)
        residual = np.abs(walks - E - P).sum(axis=2).max()
        norms = np.maximum(values - 1 / mu, 0).sum(), np.abs(E).sum()
        history.append((residual, np.abs(P - Q).max(), (values > 1 / mu).sum(), *norms))
        mu = min(1.9 * mu, 1e10)
    return P, np.array(history).T


@pytest.mark.parametrize("n_views", [1, 2, 4])
@pytest.mark.parametrize("error_penalty", [1e-3, 0.03, 0.3, 10.0, 1e4])
def test_the_rounds_are_those_of_the_plain_method(n_views, error_penalty):
    rng = np.random.default_rng(n_views)
    graphs = [random_graph(rng, 30) for _ in range(n_views)]
    found = low_rank_transitions(graphs, error_penalty)
    P, history = reference(graphs, error_penalty)
    np.testing.assert_allclose(found.transitions, P, atol=1e-11)
    for name, theirs in zip(("residual", "gap", "rank", "nuclear_norm", "l1_norm"), history, strict=True):
        np.testing.assert_allclose(found.history[name], theirs, rtol=1e-9, atol=1e-10, err_msg=name)


def test_with_small_steps_the_walk_found_is_feasible_and_no_other_costs_less():
    rng = np.random.default_rng(0)
    graphs = [random_graph(rng, 25) for _ in range(3)]
    walks = [graph.toarray() / graph.toarray().sum(axis=1, keepdims=True) for graph in graphs]
    for error_penalty in (0.1, 0.5):

        def cost(P, error_penalty=error_penalty):
            deviations = sum(np.abs(walk - P).sum() for walk in walks)
            return np.linalg.svd(P, compute_uv=False).sum() + error_penalty * deviations

        P = low_rank_transitions(graphs, error_penalty, growth=1.02, max_iter=2000).transitions
        assert P.min() >= 0
        np.testing.assert_allclose(P.sum(axis=1), 1, atol=1e-12)
        others = [*walks, np.mean(walks, axis=0), np.full((25, 25), 1 / 25)]
        others += [rng.dirichlet(np.ones(25), size=25) for _ in range(20)]
        for other in others:
            for share in (1.0, 0.1):  # the way there goes up: the cost is convex
                assert cost((1 - share) * P + share * other) > cost(P)
        # The authors' steps end higher, if not by much.
        quick = low_rank_transitions(graphs, error_penalty).transitions
        assert 1.001 < cost(quick) / cost(P) < 1.1


def two_triangles():
    return sparse.csr_array(np.kron(np.eye(2), np.ones((3, 3)) - np.eye(3)))


def test_two_triangles_by_hand():
    expected = np.kron(np.eye(2), (np.ones((3, 3)) - np.eye(3)) / 2)
    # Where all views say the same, a price above 1 never pays: a nuclear norm changes by no more than the sum
    # of the absolute changes of the entries.
    found = low_rank_transitions([two_triangles(), two_triangles()], error_penalty=2.0)
    np.testing.assert_allclose(found.transitions, expected, atol=1e-8)
    np.testing.assert_array_equal(found.classes, [0, 0, 0, 1, 1, 1])
    np.testing.assert_allclose(found.stationary, np.full(6, 1 / 6))
    # (J - I) / 2 of a triangle has the eigenvalues 1, -1/2, -1/2.
    assert found.history["nuclear_norm"][-1] == pytest.approx(4.0, abs=1e-6)
    assert found.history["l1_norm"][-1] == pytest.approx(0.0, abs=1e-6)
    values, vectors, graph = walk_embedding(found, 3)
    np.testing.assert_allclose(values, [1, 1, -0.5], atol=1e-8)
    np.testing.assert_allclose(graph, expected / 6, atol=1e-8)
    same_triangle = np.kron(np.eye(2), np.ones((3, 3))) / 3
    np.testing.assert_allclose(vectors[:, :2] @ vectors[:, :2].T, same_triangle, atol=1e-8)
    # Nor does it pay to leave what two of three views say. The other has the triangles 1, 2, 3 and 4, 5, 0:
    # 2 of its rows share no neighbour with theirs and differ by 2, 4 rows share one of two and differ by 1.
    other = sparse.csr_array(np.roll(two_triangles().toarray(), (1, 1), axis=(0, 1)))
    views = [two_triangles(), other, two_triangles()]
    found = low_rank_transitions(views, error_penalty=2.0, growth=1.02, max_iter=2000)
    np.testing.assert_allclose(found.transitions, expected, atol=1e-6)
    assert found.history["l1_norm"][-1] == pytest.approx(8.0, abs=1e-4)


@pytest.mark.parametrize("largest", [0.1, 0.99, 30.0, 3e3, 1e6, 1e10])
@pytest.mark.parametrize("n", [3, 40])
def test_clipping_singular_values(largest, n):
    rng = np.random.default_rng(n)
    left, right = (np.linalg.qr(rng.normal(size=(n, n)))[0] for _ in range(2))
    values = largest * np.geomspace(1e-12, 1, n)
    matrix = (left * values) @ right
    expected = (left * np.minimum(values, 1)) @ right
    for guess in (0, n):
        clipped = matrix.copy()
        above = clip_singular_values(clipped, guess)
        np.testing.assert_allclose(above, values[values > 1], rtol=1e-5)
        # In the method this is divided by mu, which is about the largest singular value.
        assert np.abs(clipped - expected).max() < 1e-12 * max(largest, 1)


def chain(n, rng):
    return rng.dirichlet(np.full(n, 0.3), size=n)


@pytest.mark.parametrize("n", [1, 2, 31, 32, 33, 70])
def test_the_stationary_distribution_is_the_left_eigenvector(n):
    P = chain(n, np.random.default_rng(n))
    pi = stationary_distribution(P)
    np.testing.assert_allclose(pi @ P, pi, rtol=1e-11)
    assert pi.sum() == pytest.approx(1) and (pi > 0).all()


def test_the_stationary_distribution_of_hard_chains():
    np.testing.assert_allclose(stationary_distribution(np.array([[0.0, 1.0], [1.0, 0.0]])), [0.5, 0.5])
    # Two pairs that hardly know each other: 1e-9 there, 1e-11 back, so 100 : 1.
    weak = np.array([[0, 1, 0, 0], [1 - 1e-9, 0, 1e-9, 0], [0, 1e-11, 0, 1 - 1e-11], [0, 0, 1, 0]])
    np.testing.assert_allclose(stationary_distribution(weak), np.array([1, 1, 100, 100]) / 202, rtol=1e-8)
    # A drift so strong that the far end's share is below the least positive number: 0, not NaN.
    n = 40
    drift = np.diag(np.full(n - 1, 1e-11), 1) + np.diag(np.ones(n - 1), -1)
    drift[0, 0] = 1.0
    for order in (np.arange(n), np.arange(n)[::-1], np.random.default_rng(0).permutation(n)):
        pi = stationary_distribution(drift[np.ix_(order, order)])
        assert np.isfinite(pi).all() and pi.sum() == pytest.approx(1)
        assert pi[np.argmin(order)] == pytest.approx(1)


def walk_of(P):
    classes = closed_classes(P)
    return LowRankTransitions(P, stationary_distribution(P, classes), classes, {}, 1, True)


def test_several_closed_classes_and_samples_left_for_good():
    # Samples 0-2 and 3-4 are closed; 5 leads to the first, 6 through 5 there three times out of four.
    P = np.zeros((7, 7))
    P[:3, :3] = 1 / 3
    P[3:5, 3:5] = 0.5
    P[5, :3] = 1 / 3
    P[6, [5, 3]] = 0.75, 0.25
    P[3, 6] = 1e-14  # rounding
    walk = walk_of(P)
    np.testing.assert_array_equal(walk.classes, [0, 0, 0, 1, 1, -1, -1])
    np.testing.assert_allclose(walk.stationary, [0.2, 0.2, 0.2, 0.2, 0.2, 0, 0], rtol=1e-12)
    values, vectors, graph = walk_embedding(walk, 2)
    np.testing.assert_allclose(values, 1)
    assert np.isfinite(vectors).all() and np.isfinite(graph).all()
    rows = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    np.testing.assert_allclose(rows[5], rows[0], atol=1e-12)
    np.testing.assert_allclose(vectors[6], 0.75 * rows[0] + 0.25 * rows[3], atol=1e-12)
    with pytest.warns(UserWarning, match="2 closed classes, of which the 1 largest are .* 2 samples"):
        values, vectors, _ = walk_embedding(walk, 1)
    assert not vectors[3:5].any() and vectors[[0, 1, 2, 5, 6]].any(axis=1).all()


def test_negative_eigenvalues_count_by_magnitude():
    star = np.zeros((4, 4))
    star[0, 1:], star[1:, 0] = 1 / 3, 1.0
    values, _, _ = walk_embedding(walk_of(star), 2)
    np.testing.assert_allclose(values, [1, -1], atol=1e-12)
    # Of equal magnitudes the positive one comes first.
    path = np.array([[0, 1, 0, 0], [0.5, 0, 0.5, 0], [0, 0.5, 0, 0.5], [0, 0, 1, 0]])
    np.testing.assert_allclose(walk_embedding(walk_of(path), 3)[0], [1, -1, 0.5], atol=1e-12)


def test_a_sample_without_edges_stays_where_it_is():
    lonely = two_triangles().tolil()
    lonely[0, :], lonely[:, 0] = 0, 0
    found = low_rank_transitions([sparse.csr_array(lonely)], error_penalty=10.0)
    np.testing.assert_allclose(found.transitions[0], np.eye(6)[0], atol=1e-8)
    # If the other views have edges for it, it goes along with them.
    found = low_rank_transitions(
        [sparse.csr_array(lonely), two_triangles(), two_triangles()], error_penalty=10.0
    )
    np.testing.assert_allclose(found.transitions[0], [0, 0.5, 0.5, 0, 0, 0], atol=1e-8)
    huge = low_rank_transitions([two_triangles() * 1e308], error_penalty=10.0)
    np.testing.assert_allclose(huge.transitions[0], [0, 0.5, 0.5, 0, 0, 0], atol=1e-8)


def test_an_easy_problem_is_solved_exactly():
    sample = make_multiview(150, n_views=3, n_clusters=4, separation=8.0, random_state=1)
    for error_penalty in (0.005, 0.1, 10.0):
        model = RMSC(n_clusters=4, error_penalty=error_penalty, random_state=0).fit(sample.views)
        assert_same_partition(model.labels_, sample.y)
        assert model.converged_ and model.n_iter_ == len(model.history_["residual"])
        np.testing.assert_allclose(model.graph_.sum(axis=1), model.stationary_, rtol=1e-9)
        np.testing.assert_allclose(np.linalg.norm(model.embedding_, axis=1), 1)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_number_of_threads_changes_nothing_where_threads_are_used():
    rng = np.random.default_rng(0)
    graphs = [random_graph(rng, 1000, density=0.01) for _ in range(2)]
    found = []
    for n_jobs in (1, 2):
        with threads.limit(n_jobs):
            found.append(low_rank_transitions(graphs, 0.1, growth=10.0, max_iter=5))
    assert found[0].history["rank"][-1] > 0
    np.testing.assert_array_equal(found[0].transitions, found[1].transitions)


@pytest.mark.filterwarnings("ignore:The random walk has", "ignore:Only .* clusters have samples")
def test_tiny_and_degenerate_data():
    rng = np.random.default_rng(0)
    for n in range(2, 8):
        views = [rng.normal(size=(n, 2)), rng.normal(size=(n, 3))]
        for n_clusters in range(1, n + 1):
            model = RMSC(n_clusters=n_clusters, random_state=0).fit(views)
            assert model.labels_.shape == (n,) and np.isfinite(model.embedding_).all()
    twins = np.repeat(rng.normal(size=(4, 2)), 3, axis=0)  # three of each
    model = RMSC(n_clusters=2, n_neighbors=2, random_state=0).fit(twins)  # four closed classes
    assert np.isfinite(model.embedding_).all()
    assert_same_partition(
        RMSC(n_clusters=4, n_neighbors=2, random_state=0).fit(twins).labels_, np.arange(12) // 3
    )


def test_a_constant_view_is_left_out():
    sample = make_multiview(60, n_views=2, n_clusters=3, separation=6.0, random_state=0)
    alone = RMSC(n_clusters=3, random_state=0).fit(sample.views)
    with pytest.warns(UserWarning, match="'flat' is constant"):
        model = RMSC(n_clusters=3, random_state=0).fit({**sample.views, "flat": np.ones((60, 2))})
    np.testing.assert_array_equal(model.transitions_, alone.transitions_)


def test_a_cap_that_is_reached_is_reported():
    graph = two_triangles()
    with pytest.warns(
        ConvergenceWarning, match="max_iter=3 rounds: the residual is 0.44.*Lower error_penalty"
    ):
        found = low_rank_transitions(
            [graph, sparse.csr_array(graph.toarray()[::-1, ::-1] + 0.0)], 1.0, max_iter=3
        )
    assert not found.converged and found.n_iter == 3


def test_more_than_the_memory_is_refused(monkeypatch):
    sample = make_multiview(1000, n_views=2, n_clusters=3, random_state=0)
    monkeypatch.setattr(memory, "available_bytes", lambda: 100_000_000)
    with pytest.raises(MemoryError, match=r"RMSC on 1,000 samples and 2 views needs about 68.7 MiB .* CoReg"):
        RMSC(n_clusters=3).fit(sample.views)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"error_penalty": 0.0}, "error_penalty must be a finite number above 0, got 0.0"),
        ({"error_penalty": "auto"}, "error_penalty must be a finite number above 0, got 'auto'"),
        ({"growth": 1}, "growth must be a finite number above 1, got 1"),
        ({"max_iter": 0}, "max_iter must be a positive integer, got 0"),
        ({"tol": -1}, "tol must be a finite number above 0, got -1"),
        ({"assign_labels": KMeansLabels(n_init=0)}, "n_init must be 'auto' or a positive integer, got 0"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        RMSC(n_clusters=2, **parameters).fit(np.random.default_rng(0).normal(size=(10, 3)))
