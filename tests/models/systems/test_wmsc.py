import numpy as np
import pytest
from scipy import optimize, sparse
from tests.models.systems.references import own_graph

from consilience import make_multiview
from consilience.engines.embedding import unit_rows
from consilience.models.systems.wmsc import WMSC, weigh_by_perturbation
from consilience.spectra.laplacian import NormalizedLaplacian
from consilience.stages import spectral_embedding
from consilience.testing import assert_same_partition

pytestmark = pytest.mark.filterwarnings("ignore:The graph has .* connected components")

SETS = {"MSRC_v1": ("euclidean", 210, 7), "3Sources": ("cosine", 169, 6)}
by_set = pytest.mark.parametrize("name", SETS)

TRIANGLES = sparse.csr_array(np.kron(np.eye(2), np.ones((3, 3)) - np.eye(3)))
PAIRS = sparse.csr_array(np.kron([[0.0, 1.0], [1.0, 0.0]], np.eye(3)))


@by_set
def test_golden_from_the_stored_graphs(golden, golden_graphs, name):
    _, _, c = SETS[name]
    stored = golden(f"systems/{name}_WMSC")
    graphs = golden_graphs(name)
    result = weigh_by_perturbation(graphs, c, ridge=0.1, smoothness=0.1, random_state=0)
    problem = result.problem
    np.testing.assert_allclose(problem.gram, stored["H"], rtol=1e-11)
    np.testing.assert_allclose(problem.gram, stored["T"].sum(axis=0), rtol=1e-11)
    np.testing.assert_allclose(problem.linear, stored["Y"].sum(axis=1), rtol=1e-11)
    np.testing.assert_allclose(problem.nearness, stored["R"], rtol=1e-11)
    np.testing.assert_allclose(problem.disagreement, stored["Q"], rtol=1e-11)
    np.testing.assert_allclose([problem.beta, problem.eta], [stored["beta"], stored["eta"]], rtol=1e-11)
    np.testing.assert_allclose(result.weights, stored["x"], rtol=1e-11)
    np.testing.assert_allclose(result.eigenvalues, stored["eigenvalues"][:c], rtol=1e-11)
    np.testing.assert_allclose(result.vectors @ result.vectors.T, stored["U"] @ stored["U"].T, atol=1e-11)


@by_set
def test_golden_weights_from_features(golden, dataset, name):
    metric, _, c = SETS[name]
    stored = golden(f"systems/{name}_WMSC")
    model = WMSC(n_clusters=c, n_neighbors=6, metric=metric, random_state=0).fit(dataset(name)[0])
    np.testing.assert_allclose(model.view_weights_, stored["x"], rtol=1e-9)
    np.testing.assert_allclose(model.eigenvalues_, stored["eigenvalues"][:c], rtol=1e-9)


def test_triangles_and_pairs_by_hand():
    """M_1 keeps the indicators of the triangles and M_2, which swaps them, does not; M_2 keeps the pairs
    {0, 3} and {1, 4}, M_1 takes them to what is orthogonal and half as long. So H = diag(2 + 1, 2 + 2) and
    y = (2, 2). Every triangle meets every pair in one sample, V_1'V_2 has rank 1, and the angle is pi/2. In
    (x, 1 - x) the program is a parabola with its least at the value below."""
    for ridge, smoothness in [(0.0, 0.0), (0.1, 0.0), (0.0, 0.1), (0.5, 2.0)]:
        result = weigh_by_perturbation([TRIANGLES, PAIRS], 2, ridge=ridge, smoothness=smoothness)
        quarter = np.pi / 2
        q = quarter * np.array([[1, -1], [-1, 1]])
        np.testing.assert_allclose(result.problem.gram, [[3, 0], [0, 4]], atol=1e-13)
        np.testing.assert_allclose(result.problem.linear, [2, 2], atol=1e-13)
        np.testing.assert_allclose(result.problem.disagreement, q, atol=1e-13)
        beta = ridge * np.sqrt(((3 + quarter) ** 2 + (4 + quarter) ** 2 + 2 * quarter**2) / 2)
        eta = smoothness * np.sqrt(4**2 + 5**2) / np.pi
        x = (4 + beta + eta * np.pi) / (7 + 2 * beta + 2 * eta * np.pi)
        np.testing.assert_allclose(result.weights, [x, 1 - x], rtol=1e-12)
        # A sample's share: half of x to each of its triangle, the rest to its partner.
        np.testing.assert_allclose(result.graph[[0]].toarray()[0], [0, x / 2, x / 2, 1 - x, 0, 0], atol=1e-13)


def test_against_a_dense_reference():
    """The objective as it is written, with a general solver."""
    sample = make_multiview(80, n_views=2, noise_views=1, n_clusters=3, separation=4.0, random_state=0)
    graphs = [own_graph(array, 8) for array in sample.views.values()]
    result = weigh_by_perturbation(graphs, 3, ridge=0.05, smoothness=0.02)
    matrices = [NormalizedLaplacian(graph).adjacency.toarray() for graph in graphs]
    pairs = [np.linalg.eigh(matrix) for matrix in matrices]
    problem = result.problem

    def objective(x):
        total = sum(weight * matrix for weight, matrix in zip(x, matrices, strict=True))
        misfit = sum(
            np.linalg.norm(total @ vectors[:, -3:] - vectors[:, -3:] * values[-3:]) ** 2
            for values, vectors in pairs
        )
        alike = sum(problem.nearness[i, j] * (x[i] - x[j]) ** 2 for i in range(3) for j in range(i))
        return misfit / 2 + problem.beta / 2 * (x**2).sum() + problem.eta / 2 * alike

    found = optimize.minimize(
        objective,
        np.full(3, 1 / 3),
        bounds=[(0, 1)] * 3,
        constraints={"type": "eq", "fun": lambda x: x.sum() - 1},
        method="SLSQP",
        options={"ftol": 1e-15},
    )
    np.testing.assert_allclose(result.weights, found.x, atol=1e-6)
    assert objective(result.weights) <= found.fun + 1e-12
    assert result.weights[2] < result.weights[:2].min()  # noise counts less
    top = np.linalg.eigvalsh(sum(x * m for x, m in zip(result.weights, matrices, strict=True)))[:-4:-1]
    np.testing.assert_allclose(result.eigenvalues, top, atol=1e-12)


def test_the_program_is_convex_whatever_the_views():
    rng = np.random.default_rng(0)
    graphs = []
    for _ in range(3):
        weights = np.triu(rng.random((30, 30)) * (rng.random((30, 30)) < 0.3), 1)
        graphs.append(sparse.csr_array(weights + weights.T))
    graphs.append(graphs[0])  # H alone is singular
    for ridge, smoothness in [(0.0, 1e-3), (1e-3, 0.0), (10.0, 10.0)]:
        problem = weigh_by_perturbation(graphs, 4, ridge=ridge, smoothness=smoothness).problem
        assert np.linalg.eigvalsh(problem.gram)[0] > -1e-12
        assert np.linalg.eigvalsh(problem.hessian)[0] > 1e-6
    plain = weigh_by_perturbation(graphs, 4, ridge=0.0, smoothness=0.0)
    assert np.linalg.eigvalsh(plain.problem.hessian)[0] < 1e-12
    np.testing.assert_allclose(plain.weights[0], plain.weights[3], rtol=1e-9)  # from uniform ones


def test_equal_views_weigh_the_same_and_one_view_is_spectral_clustering():
    sample = make_multiview(80, n_views=1, n_clusters=3, separation=4.0, random_state=0)
    view = sample.views["view_0"]
    graph = own_graph(view, 8)
    alone = weigh_by_perturbation([graph], 3)
    assert alone.weights == [1.0] and alone.problem.eta == 0
    subspace = spectral_embedding(graph, 3).vectors
    np.testing.assert_allclose(alone.vectors @ alone.vectors.T, subspace @ subspace.T, atol=1e-10)
    np.testing.assert_allclose(weigh_by_perturbation([graph] * 3, 3).weights, np.full(3, 1 / 3), rtol=1e-12)


def test_samples_that_no_eigenvector_represents_have_rows_of_zeros():
    clique, path = np.ones((6, 6)) - np.eye(6), np.diag(np.ones(2), 1) + np.diag(np.ones(2), -1)
    whole = sparse.csr_array(sparse.block_diag([clique, path, np.zeros((1, 1))]))
    # The second view ties the ends of the path otherwise, so its eigenvalue is below that of the clique.
    other = whole.copy()
    other[6, 7] = other[7, 6] = 5.0
    with pytest.warns(UserWarning, match="has 3 connected components, and 4 samples .* Raise n_neighbors"):
        result = weigh_by_perturbation([whole, other], 1)
    assert not result.vectors[6:].any() and result.vectors[:6].all()
    assert not unit_rows(result.vectors)[6:].any()
    with pytest.warns(UserWarning, match="and 1 samples"):
        both = weigh_by_perturbation([whole, other], 2)
    assert both.vectors[:9].any(axis=1).all() and not both.vectors[9].any()


def test_planted_clusters_are_found():
    sample = make_multiview(150, n_views=3, n_clusters=4, separation=9.0, random_state=0)
    model = WMSC(n_clusters=4, random_state=0).fit(sample.views)
    assert_same_partition(model.labels_, sample.y)
    np.testing.assert_allclose(np.linalg.norm(model.embedding_, axis=1), 1)
    assert (np.diff(model.eigenvalues_) <= 0).all()


def test_one_view_one_cluster_and_a_constant_view():
    sample = make_multiview(60, n_views=2, n_clusters=2, separation=4.0, random_state=0)
    first, second = sample.views.values()
    np.testing.assert_array_equal(WMSC(n_clusters=2).fit(first).view_weights_, [1.0])
    assert not WMSC(n_clusters=1).fit([first, second]).labels_.any()
    with pytest.warns(UserWarning, match="is constant"):
        model = WMSC(n_clusters=2, random_state=0).fit([first, np.ones((60, 1)), second])
    assert model.view_weights_[1] == 0 and abs(model.view_weights_.sum() - 1) < 1e-12


@pytest.mark.parametrize("parameter", ["ridge", "smoothness"])
@pytest.mark.parametrize("value", [-0.1, np.inf, np.nan, "0.1", None, True])
def test_bad_parameters(parameter, value):
    with pytest.raises(ValueError, match=f"{parameter} must be a finite number of at least 0, got"):
        WMSC(n_clusters=2, **{parameter: value}).fit(np.eye(6))
