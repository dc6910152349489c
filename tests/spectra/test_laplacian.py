import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from consilience.spectra import GraphKernels, NormalizedLaplacian, check_graph, smallest_eigenvectors


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


def test_blocks_are_multiplied_by_the_function_that_is_given():
    graph, shapes = random_graph(20, 0.3, 4), []

    def multiply(matrix, block):
        assert block.flags.c_contiguous and block.dtype == np.float64
        shapes.append(block.shape)
        return matrix @ block

    plain = NormalizedLaplacian(graph)
    kernels = GraphKernels(multiply, lambda of: plain.components, lambda of: True)
    operator, block = NormalizedLaplacian(graph, kernels), np.random.default_rng(0).normal(size=(20, 3))
    np.testing.assert_allclose(operator @ block, dense_laplacian(graph) @ block, atol=1e-13)
    np.testing.assert_allclose(operator @ block[:, ::2], dense_laplacian(graph) @ block[:, ::2], atol=1e-13)
    assert shapes == [(20, 3), (20, 2)]


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
            (np.repeat(graph.data / 2, 2), np.repeat(graph.nonzero(), 2, axis=1)), shape=(9, 9)
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
