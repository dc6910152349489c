"""Choosing the number of clusters: what is measured, what is chosen, and what is said about it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from consilience import DistanceGraphFusion, LeidenLabels, SimilarityGraphFusion, make_multiview
from consilience.engines import threads
from consilience.models import SNF, AverageGraph, SimilarityGraphFusion2019, systems
from consilience.stages import ClusterSelection, select_n_clusters, spectral_embedding
from consilience.stages.stability import adjusted_rand, kmeans_centres, null_stability

WITH_ONE_GRAPH = {"Average", "SNF", "SGF-0", "DGF-0", "SGF", "DGF"}


def blocks(sizes: list[int], within: float = 0.5, between: float = 0.02, seed: int = 0) -> sparse.csr_array:
    """Return a random graph with groups of these sizes."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(sizes)), sizes)
    upper = np.triu(rng.random((len(y), len(y))) < np.where(y[:, None] == y, within, between), 1)
    return sparse.csr_array((upper | upper.T).astype(float))


@pytest.fixture(scope="module")
def sample():
    return make_multiview(300, n_clusters=4, random_state=0)


@pytest.fixture(scope="module")
def fitted(sample):
    return DistanceGraphFusion(n_clusters="auto", random_state=0).fit(sample.views)


@pytest.mark.parametrize("sizes", [[60, 60], [50, 50, 50], [80, 40, 30, 30, 20, 20]])
def test_finds_the_groups_of_a_random_graph(sizes):
    assert select_n_clusters(blocks(sizes), random_state=0).chosen == len(sizes)


def test_a_graph_without_groups_has_one_cluster():
    graph = blocks([200], within=0.1)
    with pytest.warns(UserWarning, match=r"^1 cluster: no number from 2 to 20 stands out .* Pass n_clusters"):
        found = select_n_clusters(graph, random_state=0)
    assert found.chosen == 1


@pytest.mark.long
def test_the_null_is_what_random_graphs_show():
    with pytest.warns(UserWarning, match="stands out"):
        found = [select_n_clusters(blocks([400], within=0.1, seed=s), random_state=0) for s in range(8)]
    null = found[0].null
    assert null[0] > 0.8 > 0.6 > null[2] > null[-1]
    differences = np.array([one.stability - null for one in found])
    # Where few clusters are cut is a matter of chance in each graph, so the mean of the graphs is compared.
    assert np.abs(differences.mean(axis=0)).mean() < 0.05


def test_the_largest_candidate_is_a_warning():
    graph = blocks([50, 50, 50])
    with pytest.warns(
        UserWarning,
        match=r"chosen, 3, is the largest candidate\. Pass a larger max_clusters to look for more",
    ):
        assert select_n_clusters(graph, max_clusters=3, random_state=0).chosen == 3


def test_more_components_than_candidates():
    graph = sparse.block_diag([np.ones((8, 8)) - np.eye(8)] * 25, format="csr")
    with pytest.warns(UserWarning) as caught:
        found = select_n_clusters(sparse.csr_array(graph), random_state=0)
    assert found.chosen == 20
    assert "25 connected components" in found.reason
    assert any("is the largest candidate" in str(warning.message) for warning in caught)


def test_components_are_clusters():
    graph = sparse.block_diag([blocks([40], within=0.5, seed=i) for i in range(3)], format="csr")
    with pytest.warns(UserWarning, match="3 connected components"):
        assert select_n_clusters(sparse.csr_array(graph), random_state=0).chosen == 3


@pytest.mark.parametrize("n", [2, 3, 5, 7])
def test_too_few_samples_for_candidates(n):
    found = select_n_clusters(np.ones((n, n)) - np.eye(n), random_state=0)
    assert found.chosen == 1
    assert len(found.n_clusters) == 0
    assert "too few samples" in found.reason
    assert (found.by_eigengap, found.by_stability) == (1, 1)


@pytest.mark.filterwarnings("ignore:The graph has .* isolated samples")
def test_a_graph_without_edges_has_no_candidates():
    found = select_n_clusters(sparse.csr_array((30, 30)), random_state=0)
    assert found.chosen == 1
    assert len(found.n_clusters) == 0


def test_candidates_end_at_a_quarter_of_the_samples():
    found = select_n_clusters(blocks([16, 16], between=0.05), random_state=0)
    assert found.n_clusters.tolist() == list(range(2, 9))


def test_curves_are_what_they_say():
    graph = blocks([50, 50, 50, 50])
    found = select_n_clusters(graph, max_clusters=10, random_state=0)
    values = spectral_embedding(graph, 21, random_state=0).eigenvalues
    np.testing.assert_allclose(found.eigengaps, np.diff(values)[1:10], atol=1e-8)
    left = values[-1] - values[1:10]
    np.testing.assert_allclose(found.relative_gaps, found.eigengaps / ((left[0] + left) / 2), atol=1e-7)
    beyond = np.clip((found.stability - found.null) / (1 - found.null), 0, 1)
    np.testing.assert_allclose(found.scores, found.relative_gaps * beyond)
    assert found.n_clusters[np.argmax(found.scores)] == found.chosen == found.by_eigengap == 4
    assert found.stability[2] == pytest.approx(1.0, abs=0.02)
    assert np.all((found.stability_se >= 0) & np.isfinite(found.stability_se))
    assert found.reason.startswith("4 clusters: the step behind eigenvalue 4 is ")


def test_the_same_for_a_seed_and_any_number_of_threads(fitted, sample):
    curves = ("eigengaps", "relative_gaps", "stability", "stability_se", "null")
    for n_jobs in (1, 2):
        again = DistanceGraphFusion(n_clusters="auto", random_state=0, n_jobs=n_jobs).fit(sample.views)
        for curve in curves:
            np.testing.assert_array_equal(
                getattr(again.cluster_selection_, curve), getattr(fitted.cluster_selection_, curve)
            )
        np.testing.assert_array_equal(again.labels_, fitted.labels_)
    other = select_n_clusters(fitted.graph_, random_state=1)
    assert np.any(other.stability != fitted.cluster_selection_.stability)


def test_the_null_can_be_kept():
    first = null_stability(5, 100, 2)
    assert first is null_stability(5, 100, 2)
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 1.0


def test_a_model_that_chose_is_like_one_that_was_given_the_number(sample):
    # Before a number is chosen, trust and descriptions are found with the usual one.
    model = DistanceGraphFusion(n_clusters="auto", effort="low", random_state=0)
    fitted = clone(model).fit(sample.views)
    found = fitted.cluster_selection_
    assert isinstance(found, ClusterSelection)
    assert fitted.n_clusters == "auto" == fitted.get_params()["n_clusters"]
    assert fitted.n_clusters_ == found.chosen == 4
    given = clone(model).set_params(n_clusters=4, n_neighbors=fitted.n_neighbors_).fit(sample.views)
    np.testing.assert_array_equal(given.labels_, fitted.labels_)
    np.testing.assert_allclose(given.eigenvalues_, fitted.eigenvalues_, atol=1e-8)
    assert given.embedding_.shape == fitted.embedding_.shape == (300, 4)
    assert given.n_clusters_ == 4
    assert given.cluster_selection_ is None
    assert "select" in fitted.timings_
    assert "select" not in given.timings_


def test_neighbours_are_counted_as_for_eight_clusters():
    views = make_multiview(120, n_clusters=2, separation=4.0, random_state=0).views
    model = DistanceGraphFusion(n_clusters="auto", random_state=0).fit(views)
    assert (
        model.n_neighbors_ == DistanceGraphFusion(n_clusters=8, random_state=0).fit(views).n_neighbors_ == 9
    )


@pytest.mark.parametrize("system", [SimilarityGraphFusion, SimilarityGraphFusion2019, AverageGraph, SNF])
def test_systems_that_end_with_one_graph_choose(system, sample):
    model = system(n_clusters="auto", max_clusters=10, random_state=0).fit(sample.views)
    assert model.n_clusters_ == 4 == model.labels_.max() + 1
    assert model.cluster_selection_.n_clusters[-1] == 10


@pytest.mark.parametrize("name", sorted(set(systems()) - WITH_ONE_GRAPH))
def test_other_systems_refuse(name, sample):
    with pytest.raises(
        ValueError, match=r"cannot be 'auto'; use SimilarityGraphFusion or DistanceGraphFusion"
    ):
        systems()[name](n_clusters="auto").fit(sample.views)


@pytest.mark.parametrize("name", sorted(systems()))
def test_every_system_says_its_number(name):
    views = make_multiview(60, n_clusters=3, separation=3.0, random_state=0).views
    assert systems()[name](n_clusters=3, random_state=0).fit(views).n_clusters_ == 3


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_clusters": "many"}, r"Unknown n_clusters 'many'; known: 'auto' or an integer\."),
        ({"n_clusters": 2.0}, r"n_clusters must be a positive integer, got 2\.0"),
        ({"n_clusters": "auto", "max_clusters": 0}, r"max_clusters must be a positive integer, got 0"),
        ({"n_clusters": 3, "max_clusters": 9}, r"max_clusters=9 has no effect with n_clusters=3; pass n_cl"),
        ({"assign_labels": LeidenLabels(resolution=0)}, r"resolution must be a finite number above 0, got 0"),
    ],
)
def test_bad_parameters(parameters, message, sample):
    with pytest.raises(ValueError, match=message):
        DistanceGraphFusion(**parameters).fit(sample.views)


def test_bad_arguments():
    with pytest.raises(ValueError, match="n_resamples must be at least 2, got 1"):
        select_n_clusters(blocks([20, 20]), n_resamples=1)
    with pytest.raises(ValueError, match="max_clusters must be a positive integer, got '3'"):
        select_n_clusters(blocks([20, 20]), "3")


def test_the_plain_rand_index_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    for c in (2, 5, 9):
        first, second = rng.integers(c, size=(2, 200))
        assert adjusted_rand(first, second, c) == pytest.approx(adjusted_rand_score(first, second), abs=1e-12)
        assert adjusted_rand(first, (first + 1) % c, c) == pytest.approx(1.0)
    assert adjusted_rand(np.zeros(9, dtype=int), np.zeros(9, dtype=int), 2) == 1.0


def test_the_plain_kmeans_finds_what_that_of_scikit_learn_does():
    rng = np.random.default_rng(0)
    rows = np.repeat(rng.standard_normal((6, 4)) * 5, 40, axis=0) + 0.3 * rng.standard_normal((240, 4))
    with threads.libraries_on_one_thread():
        centres = kmeans_centres(rows, 6, np.random.default_rng(1))
        theirs = KMeans(6, n_init=5, random_state=0).fit(rows).cluster_centers_
    order, same = np.lexsort(centres.T), np.lexsort(theirs.T)
    np.testing.assert_allclose(centres[order], theirs[same], atol=1e-8)
