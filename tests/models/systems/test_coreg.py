import numpy as np
import pytest

from consilience import KMeansLabels, make_multiview
from consilience.models.systems.coreg import CoReg, coregularize
from consilience.spectra.laplacian import NormalizedLaplacian
from consilience.stages import spectral_embedding
from consilience.testing import assert_same_partition

pytestmark = pytest.mark.filterwarnings("ignore:The graph has .* connected components")


def projection(vectors):
    return vectors @ vectors.T


def random_graphs(seed, n=40, v=3):
    rng = np.random.default_rng(seed)
    graphs = []
    for _ in range(v):
        half = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.3), 1)
        graphs.append(half + half.T)
    return graphs


def dense_rounds(graphs, c, pull, n_rounds):
    """Return centroid and objectives by dense eigen-solves of the sums themselves."""

    def top(matrix):
        values, vectors = np.linalg.eigh(matrix)
        return values[::-1][:c], vectors[:, ::-1][:, :c]

    affinities = [NormalizedLaplacian(graph).adjacency.toarray() for graph in graphs]
    embeddings = [top(matrix)[1] for matrix in affinities]
    objectives = []
    for _ in range(n_rounds):
        centroid = top(sum(pull * projection(u) for u in embeddings))[1]
        found = [top(matrix + pull * projection(centroid)) for matrix in affinities]
        embeddings = [vectors for _, vectors in found]
        objectives.append([values.sum() for values, _ in found])
    return centroid, embeddings, np.array(objectives)


@pytest.mark.parametrize("name", ["MSRC_v1", "3Sources"])
def test_every_number_of_the_authors_program(golden, golden_graphs, name):
    stored, inputs = golden(f"systems/{name}_CoReg"), golden(f"systems/{name}_graphs")
    found = coregularize(
        golden_graphs(name), int(inputs["n_clusters"]), coregularization=float(stored["lambda"])
    )
    c = int(inputs["n_clusters"])
    assert found.view_objectives.shape == stored["objective"].shape
    assert found.converged == (name == "3Sources")
    np.testing.assert_allclose(found.view_objectives, stored["objective"], rtol=1e-10)
    np.testing.assert_allclose(found.centroid_eigenvalues, stored["eigenvalues_centroid"][:, :c], rtol=1e-11)
    np.testing.assert_allclose(projection(found.centroid), projection(stored["Ustar"]), atol=1e-11)
    for ours, theirs in zip(found.view_embeddings, stored["U"], strict=True):
        np.testing.assert_allclose(projection(ours), projection(theirs), atol=1e-11)


@pytest.mark.parametrize("pull", [0.001, 0.1, 10.0])
def test_every_round_is_that_of_dense_eigen_solves(pull):
    graphs = random_graphs(0)
    found = coregularize(graphs, 4, coregularization=pull, max_iter=5, tol=0)
    centroid, embeddings, objectives = dense_rounds(graphs, 4, pull, 5)
    np.testing.assert_allclose(found.view_objectives, objectives, rtol=1e-10)
    np.testing.assert_allclose(projection(found.centroid), projection(centroid), atol=1e-8)
    for ours, theirs in zip(found.view_embeddings, embeddings, strict=True):
        np.testing.assert_allclose(projection(ours), projection(theirs), atol=1e-8)


def test_a_strong_pull_is_solved_as_well():
    for pull in (1e6, 1e12):
        found = coregularize(random_graphs(0), 3, coregularization=pull, max_iter=3)
        for vectors in found.view_embeddings:  # all views are drawn onto the centroid
            np.testing.assert_allclose(projection(vectors), projection(found.centroid), atol=10 / pull)


@pytest.mark.parametrize("seed", range(3))
def test_the_objective_never_falls_and_embeddings_stay_orthonormal(seed):
    found = coregularize(random_graphs(seed, v=4), 3, coregularization=0.5)
    assert np.all(np.diff(found.view_objectives.sum(axis=1)) > -1e-9)
    for vectors in [found.centroid, *found.view_embeddings]:
        np.testing.assert_allclose(vectors.T @ vectors, np.eye(3), atol=1e-9)


def test_without_pull_every_view_keeps_its_own_embedding():
    graphs = random_graphs(1)
    found = coregularize(graphs, 3, coregularization=0)
    for graph, vectors in zip(graphs, found.view_embeddings, strict=True):
        np.testing.assert_allclose(
            projection(vectors), projection(spectral_embedding(graph, 3).vectors), atol=1e-8
        )


def test_six_samples_by_hand():
    # Two triangles: M has the eigenvalue 1 twice, with U the two indicators over sqrt 3. Both views say this,
    # and the centroid: each view's two leading eigenvalues are 1 + lambda, those of the centroid 2 lambda.
    triangles = np.kron(np.eye(2), np.ones((3, 3)) - np.eye(3))
    found = coregularize([triangles, triangles], 2, coregularization=0.25)
    np.testing.assert_allclose(found.view_objectives, np.full((3, 2), 2.5), rtol=1e-12)
    np.testing.assert_allclose(found.centroid_eigenvalues, np.full((3, 2), 0.5), rtol=1e-12)
    np.testing.assert_allclose(
        projection(found.centroid), np.kron(np.eye(2), np.full((3, 3), 1 / 3)), atol=1e-12
    )


def test_a_planted_problem_and_the_attributes():
    sample = make_multiview(150, n_views=3, n_clusters=4, separation=7.0, random_state=1)
    model = CoReg(n_clusters=4, random_state=0).fit(sample.views)
    assert_same_partition(model.labels_, sample.y)
    assert model.embedding_.shape == (150, 4)
    assert model.view_embeddings_.shape == (3, 150, 4)
    assert model.n_iter_ == len(model.history_)


@pytest.mark.filterwarnings("ignore:The graph has .* eigenvector represents")
def test_samples_that_no_vector_represents_have_no_say():
    # Three groups far apart and two clusters: the smallest group is in neither of the two leading vectors.
    x = np.concatenate([np.linspace(0, 1, 20), np.linspace(100, 101, 20), np.linspace(200, 201, 5)])[:, None]
    model = CoReg(n_clusters=2, n_neighbors=3, random_state=0).fit([x, x + 1])
    assert not model.embedding_[40:].any()
    assert_same_partition(model.labels_[:40], np.repeat([0, 1], 20))


def test_a_constant_view_is_left_out():
    sample = make_multiview(80, n_views=2, n_clusters=2, separation=6.0, random_state=0)
    with pytest.warns(UserWarning, match="'flat' is constant"):
        model = CoReg(n_clusters=2, random_state=0).fit({**sample.views, "flat": np.ones((80, 2))})
    assert len(model.view_embeddings_) == 2
    assert_same_partition(model.labels_, sample.y)


@pytest.mark.parametrize("n_clusters", [1, 2, 5])
def test_few_samples_and_any_number_of_clusters(n_clusters):
    x = np.array([[0.0], [0.1], [1.0], [1.1], [5.0]])
    labels = CoReg(n_clusters=n_clusters, random_state=0).fit([x, x**2]).labels_
    assert labels.max() + 1 == n_clusters


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"coregularization": -1}, "coregularization must be a finite number of at least 0, got -1"),
        ({"coregularization": "much"}, "coregularization must be a finite number of at least 0, got 'much'"),
        ({"tol": np.nan}, "tol must be a finite number"),
        ({"coregularization": 10**400}, "coregularization must be at most 1e\\+100"),
        ({"max_iter": 0}, "max_iter must be a positive integer, got 0"),
        ({"assign_labels": KMeansLabels(n_init=0)}, "n_init must be 'auto' or a positive integer, got 0"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        CoReg(n_clusters=2, **parameters).fit(np.arange(10.0)[:, None])
