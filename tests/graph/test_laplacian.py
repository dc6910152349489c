import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from consilience.graph import laplacian as module
from consilience.graph.laplacian import (
    EigensolverError,
    NormalizedLaplacian,
    check_graph,
    smallest_eigenvectors,
)


def random_graph(n, density, seed, weights=None):
    rng = np.random.default_rng(seed)
    upper = sparse.triu(sparse.random(n, n, density, random_state=rng, data_rvs=weights), 1)
    return sparse.csr_array(upper + upper.T)


def ring(n):
    rows = np.arange(n)
    half = sparse.csr_array((np.ones(n), (rows, (rows + 1) % n)), shape=(n, n))
    return half + half.T


def dense_laplacian(graph):
    """L_sym from its definition, isolated samples with rows of zeros."""
    s = graph.toarray()
    d = s.sum(axis=1)
    scale = np.array([x**-0.5 if x > 0 else 0.0 for x in d])
    return np.diag((d > 0).astype(float)) - scale[:, None] * s * scale[None, :]


graphs = st.builds(random_graph, st.integers(1, 25), st.floats(0, 0.5), st.integers(0, 10**6))


@given(graphs)
@settings(max_examples=60, deadline=None)
def test_operator_equals_its_definition(graph):
    operator, expected = NormalizedLaplacian(graph), dense_laplacian(graph)
    n = graph.shape[0]
    block = np.random.default_rng(0).normal(size=(n, 3))
    np.testing.assert_allclose(operator.toarray(), expected, atol=1e-14)
    np.testing.assert_allclose(operator @ block, expected @ block, atol=1e-13)
    np.testing.assert_allclose(operator @ block[:, 0], expected @ block[:, 0], atol=1e-13)
    np.testing.assert_allclose(operator.H @ block, expected @ block, atol=1e-13)
    np.testing.assert_allclose(operator.degrees, graph.toarray().sum(axis=1), rtol=1e-14)


@given(graphs)
@settings(max_examples=60, deadline=None)
def test_null_space_is_the_whole_null_space(graph):
    operator = NormalizedLaplacian(graph)
    null = operator.null_space()
    seen = ~operator.isolated
    values = np.linalg.eigvalsh(operator.toarray()[seen][:, seen])
    assert null.shape == (graph.shape[0], operator.n_connected)
    assert operator.n_connected == (values < 1e-10).sum()
    assert operator.n_isolated == (graph.toarray().sum(axis=1) == 0).sum()
    np.testing.assert_allclose(null.T @ null, np.eye(null.shape[1]), atol=1e-14)
    np.testing.assert_allclose(operator @ null, 0, atol=1e-14)
    assert (operator.components[operator.isolated] == -1).all()


def test_components_are_numbered_by_first_appearance():
    # samples 0-4-5 | 1 isolated | 2-3
    graph = np.zeros((6, 6))
    for i, j in ((0, 4), (4, 5), (2, 3)):
        graph[i, j] = graph[j, i] = 1
    operator = NormalizedLaplacian(graph)
    np.testing.assert_array_equal(operator.components, [0, -1, 1, 1, 0, 0])
    assert (operator.n_connected, operator.n_isolated) == (2, 1)
    np.testing.assert_array_equal(
        operator.null_space([1])[:, 0] > 0, [False, False, True, True, False, False]
    )


def test_stored_zeros_are_not_edges():
    graph = sparse.csr_array((np.array([1.0, 1.0, 0.0, 0.0]), ([0, 1, 1, 2], [1, 0, 2, 1])), shape=(3, 3))
    operator = NormalizedLaplacian(graph)
    np.testing.assert_array_equal(operator.isolated, [False, False, True])
    assert graph.nnz == 4
    assert check_graph(graph).nnz == 2


def test_weights_lost_to_rounding_are_not_edges():
    pairs = np.kron(np.eye(2), [[0, 1], [1, 0]])
    pairs[0, 2] = pairs[2, 0] = 5e-324
    operator = NormalizedLaplacian(pairs)
    np.testing.assert_allclose(operator @ operator.null_space(), 0, atol=1e-15)
    assert operator.n_connected == 2


@pytest.mark.parametrize("unit", [1e-300, 1e-320, 1e307, 1.7e308])
def test_unit_of_the_weights_does_not_matter(unit):
    graph = random_graph(20, 0.3, 1) > 0
    expected = NormalizedLaplacian(graph.astype(float))
    found = NormalizedLaplacian(graph.astype(float) * unit)
    np.testing.assert_allclose(found.toarray(), expected.toarray(), atol=1e-14)


@pytest.mark.parametrize("kind", ["csr64", "coo", "matrix", "float32", "bool", "int", "dense", "duplicates"])
def test_kinds_of_input(kind):
    graph = ring(9)
    made = {
        "csr64": lambda: sparse.csr_array(
            (graph.data, graph.indices.astype(np.int64), graph.indptr.astype(np.int64)), shape=(9, 9)
        ),
        "coo": lambda: graph.tocoo(),
        "matrix": lambda: sparse.csr_matrix(graph),
        "float32": lambda: graph.astype(np.float32),
        "bool": lambda: graph.astype(bool),
        "int": lambda: graph.astype(int),
        "dense": lambda: graph.toarray(),
        "duplicates": lambda: sparse.coo_array(
            (np.repeat(graph.data / 2, 2), np.repeat(graph.tocoo().coords, 2, axis=1)), shape=(9, 9)
        ),
    }[kind]()
    np.testing.assert_array_equal(NormalizedLaplacian(made).toarray(), NormalizedLaplacian(graph).toarray())


def test_input_is_not_changed():
    graph = random_graph(30, 0.2, 0)
    graph.data[::7] = 0
    graph = graph + graph.T
    graph.indices = graph.indices.copy()
    before = [graph.data.copy(), graph.indices.copy(), graph.indptr.copy()]
    for array in (graph.data, graph.indices, graph.indptr):
        array.setflags(write=False)
    smallest_eigenvectors(NormalizedLaplacian(graph), 3)
    for array, old in zip((graph.data, graph.indices, graph.indptr), before, strict=True):
        np.testing.assert_array_equal(array, old)


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (np.ones((2, 3)), "square"),
        (np.ones(3), "square"),
        (np.ones((0, 0)), "square"),
        ([[0, np.nan], [np.nan, 0]], "finite"),
        ([[0, np.inf], [np.inf, 0]], "finite"),
        ([[0, -1.0], [-1.0, 0]], "negative"),
        ([[0, 1.0], [2.0, 0]], "symmetric"),
        ([[0, 1.0], [0, 0]], "symmetric"),
        ([[0, 1j], [1j, 0]], "real"),
        ([["a", "b"], ["b", "a"]], "real"),
    ],
)
def test_bad_graphs_are_refused_in_one_line(graph, message):
    with pytest.raises(ValueError, match=message) as error:
        check_graph(graph)
    assert "\n" not in str(error.value)


def test_asymmetry_of_rounding_is_averaged_away():
    graph = random_graph(20, 0.3, 2)
    uneven = graph.copy()
    uneven.data *= 1 + 1e-12 * np.random.default_rng(0).normal(size=uneven.nnz)
    checked = check_graph(uneven)
    assert (checked != checked.T).nnz == 0
    np.testing.assert_allclose(checked.toarray(), graph.toarray(), rtol=1e-10)


METHODS = {
    "direct": lambda p, rng: module._krylov(p, module._direct(p), 40, 1000, rng),
    "inverse": lambda p, rng: module._krylov(p, module._inverse(p), 40, 1000, rng),
    "dense": lambda p, rng: module._dense(p),
}


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("kind", ["random", "ring", "long ring", "copies"])
def test_every_method_agrees_with_a_dense_solver(name, kind):
    graph = {
        "random": lambda: random_graph(200, 0.05, 3),
        "ring": lambda: ring(150),
        "long ring": lambda: ring(900),  # what may be missed lies within 1e-4 of what is found
        "copies": lambda: sparse.csr_array(sparse.block_diag([random_graph(30, 0.4, 4)] * 6)),
    }[kind]()
    operator = NormalizedLaplacian(graph)
    null = operator.null_space()
    problem = module._Problem(operator.adjacency, null, 7, 1e-9)
    theta, vectors, residual = module._ritz(problem, METHODS[name](problem, np.random.default_rng(0)))
    expected = np.linalg.eigvalsh(operator.toarray())[null.shape[1] :][:7]
    np.testing.assert_allclose(1 - theta, expected, atol=1e-9)
    np.testing.assert_allclose(vectors.T @ null, 0, atol=1e-12)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(7), atol=1e-12)
    assert residual < 1e-9


def test_one_krylov_run_misses_copies_so_the_second_search_is_needed():
    # If one run ever gets these right, the tests on multiple eigenvalues no longer test the second search.
    operator = NormalizedLaplacian(sparse.block_diag([random_graph(60, 0.1, 9)] * 20))
    problem = module._Problem(operator.adjacency, operator.null_space(), 20, 1e-9)
    direct, rng = module._direct(problem), np.random.default_rng(0)
    expected = np.linalg.eigvalsh(operator.toarray()[~operator.isolated][:, ~operator.isolated])
    expected = expected[problem.null.shape[1] :][:20]
    once = module._arpack(
        direct, problem.null, np.full(problem.null.shape[1], 3.0), 20, (41, 1000, 1e-10), rng
    )
    assert np.abs(1 - module._ritz(problem, once)[0] - expected).max() > 1e-4
    found = 1 - module._ritz(problem, module._krylov(problem, direct, 41, 1000, rng))[0]
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_a_rough_search_that_is_too_close_is_followed_by_a_fine_one(monkeypatch):
    path = sparse.diags_array([np.ones(999), np.ones(999)], offsets=[-1, 1])
    operator = NormalizedLaplacian(path)
    values, vectors = np.linalg.eigh(operator.toarray())
    assert 1e-6 < values[4] - values[3] < values[5] - values[3] < 1e-4
    # The third is missed at first, and a rough search finds only the fifth.
    answers = iter([[1, 2, 4], [5], [3], [3, 5, 6], [5], [4]])
    asked = []

    def scripted(operator, known, values, k, effort, rng):
        asked.append((k, effort[2]))
        return vectors[:, next(answers)]

    monkeypatch.setattr(module, "_arpack", scripted)
    problem = module._Problem(operator.adjacency, operator.null_space(), 3, 1e-9)
    found = module._krylov(problem, module._direct(problem), 40, 100, np.random.default_rng(0))
    np.testing.assert_allclose(1 - module._ritz(problem, found)[0], values[1:4], atol=1e-12)
    assert asked == [(3, 1e-10), (1, 1e-5), (1, 1e-10)] * 2


def test_copies_that_stay_missing_are_an_error(monkeypatch):
    operator = NormalizedLaplacian(ring(30))
    vectors = np.linalg.eigh(operator.toarray())[1]
    answers = iter([[9], *[[1], [9]] * 99])
    monkeypatch.setattr(module, "_arpack", lambda *_: vectors[:, next(answers)])
    problem = module._Problem(operator.adjacency, operator.null_space(), 1, 1e-9)
    with pytest.raises(np.linalg.LinAlgError, match="missing"):
        module._krylov(problem, module._direct(problem), 40, 100, np.random.default_rng(0))


def test_a_failed_solve_is_an_error_and_names_the_residual(monkeypatch):
    operator = NormalizedLaplacian(random_graph(400, 0.02, 0))

    def nonsense(problem, *_):
        return np.random.default_rng(0).normal(size=(problem.adjacency.shape[0], problem.n_wanted))

    monkeypatch.setattr(module, "_krylov", nonsense)
    monkeypatch.setattr(module, "_dense", nonsense)
    with pytest.raises(EigensolverError, match=r"best: 0\.\d+.*n_neighbors"):
        smallest_eigenvectors(operator, 4)
    assert issubclass(EigensolverError, np.linalg.LinAlgError)


def test_a_method_that_fails_is_followed_by_the_next(monkeypatch):
    operator = NormalizedLaplacian(random_graph(400, 0.02, 0))
    expected = smallest_eigenvectors(operator, 4)

    def failing(*_):
        raise RuntimeError

    monkeypatch.setattr(module, "_krylov", failing)
    found = smallest_eigenvectors(operator, 4)
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-8)


@pytest.mark.parametrize("tol", [0, -1, float("nan")])
def test_bad_tolerance(tol):
    with pytest.raises(ValueError, match="tol"):
        smallest_eigenvectors(NormalizedLaplacian(ring(5)), 2, tol=tol)


def test_envelope_tells_thin_graphs_from_wide_ones():
    assert module._envelope(NormalizedLaplacian(ring(1000)).adjacency) < 5000
    assert module._envelope(NormalizedLaplacian(random_graph(1000, 0.02, 0)).adjacency) > 100_000
