from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from consilience.engines import threads
from consilience.engines.numba.spectrum import filtered_iteration as module
from consilience.engines.numba.spectrum import reordering
from consilience.engines.numba.spectrum.filtered_iteration import FilteredIteration
from consilience.engines.numba.spectrum.whole_graph import KERNELS
from consilience.spectra import EigensolverError, NormalizedLaplacian, eigenvectors, smallest_eigenvectors

pytestmark = pytest.mark.long

solve = partial(smallest_eigenvectors, start_block=FilteredIteration)  # as the engine does


@pytest.fixture(autouse=True)
def libraries_on_one_thread():
    """Do as the callers do."""
    with threads.libraries_on_one_thread():
        yield


def symmetric(upper):
    return sparse.csr_array(upper + upper.T)


def random_graph(n, degree, seed):
    rng = np.random.default_rng(seed)
    return symmetric(sparse.triu(sparse.random(n, n, degree / n, random_state=rng), 1))


def ring(n):
    rows = np.arange(n)
    return symmetric(sparse.csr_array((np.ones(n), (rows, (rows + 1) % n)), shape=(n, n)))


def planted(n, n_classes, k, crossing, seed=0, sizes=None):
    """Each sample has k edges to its own class, except for a share of them that go anywhere."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(
        np.arange(n) % n_classes if sizes is None else np.repeat(np.arange(len(sizes)), sizes)
    )
    n = len(y)
    order = np.argsort(y, kind="stable")
    start = np.searchsorted(y[order], np.arange(y.max() + 2))
    pick = start[y][:, None] + (rng.random((n, k)) * np.diff(start)[y][:, None]).astype(int)
    other = order[pick]
    far = rng.random((n, k)) < crossing
    other[far] = rng.integers(0, n, far.sum())
    weights = rng.random((n, k)) + 0.2
    half = sparse.csr_array((weights.ravel(), (np.repeat(np.arange(n), k), other.ravel())), shape=(n, n))
    graph = symmetric(half)
    graph = sparse.csr_array(graph - sparse.diags(graph.diagonal()))
    graph.eliminate_zeros()
    return graph


def chained(graph, number, link):
    size = graph.shape[0]
    rows = size * np.arange(number - 1)
    n = size * number
    chain = sparse.csr_array((np.full(number - 1, link), (rows, rows + size)), shape=(n, n))
    return sparse.csr_array(sparse.block_diag([graph] * number)) + symmetric(chain)


def assert_right(graph, n_wanted, tol=1e-5, seed=0):
    """Check the iteration against a dense solver: values, residuals, the subspace where there is a gap."""
    operator = NormalizedLaplacian(graph)
    assert operator.n_isolated == 0
    null = operator.null_space()
    iteration = FilteredIteration(operator.adjacency, null, n_wanted, tol, np.random.default_rng(seed))
    assert iteration.run(20_000)
    found = iteration.found()
    values, vectors = np.linalg.eigh(operator.adjacency.toarray())
    values, vectors = values[::-1], vectors[:, ::-1]
    q = null.shape[1]
    np.testing.assert_allclose(found.values, values[q : q + n_wanted], atol=tol)
    image = operator.adjacency @ found.vectors
    residuals = np.linalg.norm(image - found.vectors * found.values, axis=0)
    np.testing.assert_allclose(found.residuals, residuals, atol=1e-10)
    assert residuals.max() <= tol
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(n_wanted), atol=1e-12)
    np.testing.assert_allclose(null.T @ found.vectors, 0, atol=1e-12)
    gap = values[q + n_wanted - 1] - values[q + n_wanted]
    if gap > 100 * tol:
        outside = found.vectors - vectors[:, : q + n_wanted] @ (vectors[:, : q + n_wanted].T @ found.vectors)
        assert np.linalg.norm(outside, 2) <= 2 * np.sqrt(n_wanted) * tol / gap
    return iteration


@given(st.integers(60, 300), st.integers(3, 12), st.integers(1, 12), st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_random_graphs_agree_with_a_dense_solver(n, degree, n_wanted, seed):
    graph = random_graph(n, degree, seed)
    _, component = connected_components(graph)
    part = np.flatnonzero(component == np.bincount(component).argmax())
    if len(part) > 4 * n_wanted:
        assert_right(sparse.csr_array(graph[part][:, part]), n_wanted, seed=seed)


GRAPHS = {
    "classes": (lambda: planted(800, 8, 6, 0.05), 7),
    "classes and more": (lambda: planted(800, 8, 6, 0.05), 12),  # the last ones have no gap behind them
    "no classes": (lambda: planted(600, 1, 6, 0.0), 10),
    "very unequal": (lambda: planted(0, 0, 6, 0.03, sizes=[800, 300, 100, 40, 20, 20]), 5),
    "ring": (lambda: ring(400), 11),
    "identical components": (lambda: sparse.csr_array(sparse.block_diag([random_graph(60, 20, 9)] * 12)), 20),
    "identical rings": (lambda: sparse.csr_array(sparse.block_diag([ring(30)] * 15)), 40),
    "nearly disconnected": (lambda: chained(random_graph(60, 20, 9), 12, 1e-6), 13),
    "all but disconnected": (lambda: chained(random_graph(60, 20, 9), 12, 1e-12), 13),
    "tiny gaps": (lambda: chained(random_graph(60, 20, 9), 12, 1e-3), 13),
    "complete": (lambda: sparse.csr_array(np.ones((200, 200)) - np.eye(200)), 7),
    "complete bipartite": (lambda: sparse.csr_array(np.kron([[0, 1], [1, 0]], np.ones((90, 90)))), 5),
    "star": (lambda: symmetric(sparse.csr_array(np.outer(np.eye(200)[0], 1 - np.eye(200)[0]))), 4),
    "self-loops": (lambda: sparse.csr_array(random_graph(300, 20, 1) + sparse.eye(300)), 6),
}


@pytest.fixture(params=["in the given order", "in its own order"])
def order(request, monkeypatch):
    """Let the block be small enough for the cache, or not."""
    if request.param == "in its own order":
        monkeypatch.setattr(module, "_CACHE", 0)
        monkeypatch.setattr(reordering, "_APART", 20)


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.usefixtures("order")
def test_hard_graphs(name):
    make, n_wanted = GRAPHS[name]
    assert_right(make(), n_wanted)


@pytest.mark.parametrize("name", ["classes and more", "identical components", "ring"])
@pytest.mark.usefixtures("order")
def test_double_precision_below_the_tolerance_of_single(name):
    make, n_wanted = GRAPHS[name]
    assert_right(make(), n_wanted, tol=1e-10)


def test_all_copies_are_found_from_any_start():
    # 15 identical components have every eigenvalue 15 times.
    graph = chained(random_graph(25, 12, 3), 15, 0.0)
    for seed in range(10):
        assert_right(graph, 30, seed=seed)


def test_what_is_done_is_locked_while_the_rest_goes_on():
    iteration = assert_right(GRAPHS["classes and more"][0](), 12)
    assert iteration._known.shape[1] >= 1 + 7


def test_a_lower_bound_that_is_none_is_lowered(monkeypatch):
    monkeypatch.setattr(FilteredIteration, "_lower_bound", lambda self: -0.1)
    graph = sparse.csr_array(planted(300, 3, 6, 0.05))
    iteration = assert_right(graph, 12)
    assert iteration._low < -0.1


def test_directions_that_are_lost_are_drawn_anew(monkeypatch):
    monkeypatch.setattr(module, "_NO_DIRECTION", 0.2)
    widths = []
    before = FilteredIteration._rayleigh_ritz

    def watched(self):
        before(self)
        widths.append(self._block.shape[1])

    monkeypatch.setattr(FilteredIteration, "_rayleigh_ritz", watched)
    operator = NormalizedLaplacian(planted(800, 8, 6, 0.05))
    iteration = FilteredIteration(
        operator.adjacency, operator.null_space(), 7, 1e-5, np.random.default_rng(0)
    )
    assert iteration.run(2000)
    assert min(widths) < max(widths)
    values = np.linalg.eigvalsh(operator.adjacency.toarray())[::-1][1:8]
    np.testing.assert_allclose(iteration.found().values, values, atol=1e-5)


def test_it_can_be_stopped_and_taken_up_again():
    operator = NormalizedLaplacian(ring(600))
    one, two = (
        FilteredIteration(operator.adjacency, operator.null_space(), 5, 1e-5, np.random.default_rng(0))
        for _ in range(2)
    )
    assert not one.run(30)
    assert one.run(20_000)
    assert two.run(20_000)
    assert one.n_products == two.n_products
    np.testing.assert_array_equal(one.found().vectors, two.found().vectors)


@pytest.fixture(scope="module")
def large():
    return NormalizedLaplacian(planted(24_000, 12, 7, 0.05), KERNELS)


@pytest.fixture(scope="module")
def solved(large):
    with threads.limit(1):
        return solve(large, 12, rng=np.random.default_rng(5))


def test_large_graphs_agree_with_a_tight_solution_by_arpack(large, solved, monkeypatch):
    residuals = np.linalg.norm(
        large @ solved - solved * np.einsum("ij,ij->j", solved, large @ solved), axis=0
    )
    assert 1e-9 < residuals.max() <= 1e-5  # so it was not ARPACK
    monkeypatch.setattr(eigenvectors, "LARGE", 10**9)
    tight = solve(large, 12)
    sine = np.linalg.norm(solved - tight @ (tight.T @ solved), 2)
    assert sine <= 1e-3


def test_large_graphs_have_the_same_bits_on_two_threads(large, solved):
    with threads.limit(2):
        again = solve(large, 12, rng=np.random.default_rng(5))
    np.testing.assert_array_equal(again, solved)


def test_large_graph_of_50_components_with_isolated_samples(monkeypatch):
    monkeypatch.setattr(eigenvectors, "LARGE", 5000)
    parts = [planted(110, 1, 6, 0.0, seed=i) for i in range(50)]
    alone = sparse.csr_array((7, 7))
    graph = sparse.csr_array(sparse.block_diag([*parts[:30], alone, *parts[30:]]))
    laplacian = NormalizedLaplacian(graph)
    assert (laplacian.n_connected, laplacian.n_isolated) == (50, 7)
    vectors = solve(laplacian, 53)
    np.testing.assert_array_equal(vectors[:, :50], laplacian.null_space())
    values = np.einsum("ij,ij->j", vectors, laplacian @ vectors)
    each = [np.linalg.eigvalsh(NormalizedLaplacian(part).toarray())[1:4] for part in parts]
    np.testing.assert_allclose(values[50:], np.sort(np.concatenate(each))[:3], atol=1e-8)
    assert (vectors[laplacian.isolated] == 0).all()


def test_large_thin_graphs_are_factorised():
    n = 21_000
    laplacian = NormalizedLaplacian(ring(n))
    vectors = solve(laplacian, 6)
    values = np.einsum("ij,ij->j", vectors, laplacian @ vectors)
    np.testing.assert_allclose(values, 1 - np.cos(2 * np.pi * np.array([0, 1, 1, 2, 2, 3]) / n), atol=1e-13)


def test_a_thin_graph_that_cannot_be_factorised_is_solved_as_well_as_it_can_be(monkeypatch):
    def failing(*_):
        raise RuntimeError

    monkeypatch.setattr(eigenvectors, "_inverse", failing)
    monkeypatch.setattr(eigenvectors, "LARGE", 1000)
    laplacian = NormalizedLaplacian(ring(2000))
    vectors = solve(laplacian, 5, tol=1e-4)
    values = np.einsum("ij,ij->j", vectors, laplacian @ vectors)
    assert np.linalg.norm(laplacian @ vectors - vectors * values, axis=0).max() <= 1e-4


def test_a_failure_is_an_error_that_names_the_residual(large, monkeypatch):
    monkeypatch.setattr(eigenvectors, "_PATIENCE", 5)
    monkeypatch.setattr(eigenvectors, "_MAX_PRODUCTS", 5)
    with pytest.raises(EigensolverError, match=r"best: 0\.\d+.*n_neighbors"):
        solve(large, 12)
