import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.utils.estimator_checks import check_estimator
from tests.models.systems.references import own_graph

from consilience import Views, make_multiview
from consilience.metrics import nmi
from consilience.models.systems.single import SingleViewSpectral, score_partitions, weight_inside_clusters
from consilience.testing import assert_same_partition, check_multiview_estimator

pytestmark = pytest.mark.filterwarnings("ignore:The graph has .* connected components")

METRICS = {"MSRC_v1": "euclidean", "3Sources": "cosine", "BBCSport": "cosine", "UCI_Digits": "euclidean"}
N_CLUSTERS = {"MSRC_v1": 7, "3Sources": 6, "BBCSport": 5, "UCI_Digits": 10}


def with_noise(n=150, separation=5.0):
    """Three views with clusters and, in the second place, one of noise."""
    sample = make_multiview(n, n_views=3, n_clusters=3, separation=separation, random_state=0)
    first, *rest = sample.views.values()
    noise = np.random.default_rng(0).normal(size=(n, 4))
    return {"first": first, "noise": noise, "second": rest[0], "third": rest[1]}, sample.y


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:Only .* clusters have samples")
def test_scikit_learn_and_multiview_checks_pass():
    results = check_estimator(SingleViewSpectral(), on_fail=None, on_skip=None)
    assert not [r for r in results if r["status"] not in ("passed", "skipped")]
    check_multiview_estimator(SingleViewSpectral())
    check_multiview_estimator(SingleViewSpectral(view=1))


# Against the authors' program


@pytest.mark.parametrize("name", ["MSRC_v1", "3Sources"])
def test_graph_and_eigenvalues_of_every_view(golden, dataset, name):
    stored = golden(f"systems/{name}_graphs")
    views = dataset(name)[0]
    c = N_CLUSTERS[name]
    for i in range(len(views)):
        model = SingleViewSpectral(
            view=i, n_clusters=c, n_neighbors=6, metric=METRICS[name], random_state=0
        ).fit(views)
        here = stored["graph_view"] == i
        theirs = sparse.csr_array(
            (stored["graph_values"][here], (stored["graph_rows"][here], stored["graph_cols"][here])),
            shape=model.graph_.shape,
        )
        assert abs(model.graph_ - theirs).max() < 1e-12
        np.testing.assert_allclose(model.eigenvalues_, stored["eigenvalues"][i][:c], atol=1e-9)


@pytest.mark.parametrize(
    ("name", "view", "theirs"),
    [
        ("MSRC_v1", 2, 64.89),
        ("MSRC_v1", 0, 24.17),
        ("3Sources", 2, 56.49),
        ("BBCSport", 0, 87.11),
        ("BBCSport", 1, 64.77),
        ("UCI_Digits", 0, 92.52),
    ],
)
def test_scores_of_single_views(dataset, name, view, theirs):
    views, y = dataset(name)
    model = SingleViewSpectral(
        view=view, n_clusters=N_CLUSTERS[name], n_neighbors=6, metric=METRICS[name], random_state=0
    )
    assert abs(100 * nmi(y, model.fit(views).labels_) - theirs) < 1.0


# What "best" goes by


def test_weight_inside_clusters_by_hand():
    graph = np.zeros((6, 6))
    for i, j, weight in [(0, 1, 2), (1, 2, 1), (3, 4, 1), (2, 3, 4)]:  # 5 is isolated
        graph[i, j] = graph[j, i] = weight
    graph = sparse.csr_array(graph)
    # Cluster 0 = {0, 1, 2}: 6 of 10; cluster 1 = {3, 4}: 2 of 6; cluster 2 = {5}: nothing.
    assert weight_inside_clusters(np.array([0, 0, 0, 1, 1, 2]), graph, 3) == pytest.approx(
        (6 / 10 + 2 / 6) / 3
    )
    # A cluster that got no samples counts as one that keeps nothing.
    assert weight_inside_clusters(np.array([0, 0, 0, 1, 1, 1]), graph, 4) == pytest.approx(
        (6 / 10 + 2 / 6) / 4
    )
    assert weight_inside_clusters(np.zeros(6, dtype=int), graph, 1) == 1


def test_it_is_one_minus_the_normalised_cut_per_cluster():
    rng = np.random.default_rng(1)
    graph = own_graph(rng.normal(size=(60, 3)), 5)
    labels = rng.integers(4, size=60)
    dense = graph.toarray()
    cut = sum(
        dense[labels == c][:, labels != c].sum() / dense[labels == c].sum() for c in range(4)
    )  # by definition
    assert weight_inside_clusters(labels, graph, 4) == pytest.approx(1 - cut / 4)


def test_scores_are_means_over_all_graphs():
    first = sparse.csr_array(np.kron(np.eye(2), [[0, 1], [1, 0]]))
    second = sparse.csr_array(np.ones((4, 4)) - np.eye(4))
    partitions = [np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])]
    np.testing.assert_allclose(
        score_partitions(partitions, [first, second], 2), [(1 + 1 / 3) / 2, (0 + 1 / 3) / 2]
    )


def test_the_best_view_is_not_the_noise_and_the_scores_say_so():
    views, y = with_noise()
    model = SingleViewSpectral(n_clusters=3, random_state=0).fit(views)
    assert model.view_ in ("first", "second", "third")
    assert model.view_ == list(views)[model.view_index_]
    assert model.view_index_ == np.argmax(model.view_scores_)
    assert np.argmin(model.view_scores_) == 1
    assert ((model.view_scores_ >= 0) & (model.view_scores_ <= 1)).all()
    assert nmi(y, model.labels_) > 0.8
    np.testing.assert_array_equal(model.view_weights_, np.arange(4) == model.view_index_)


def test_the_scores_are_those_of_the_views_own_partitions():
    views, _ = with_noise()
    model = SingleViewSpectral(n_clusters=3, random_state=0).fit(views)
    alone = [SingleViewSpectral(view=name, n_clusters=3, random_state=0).fit(views) for name in views]
    expected = score_partitions([one.labels_ for one in alone], [one.graph_ for one in alone], 3)
    np.testing.assert_allclose(model.view_scores_, expected, rtol=1e-12)


@pytest.mark.parametrize("random_state", [0, 7])
def test_a_view_has_the_same_clusters_whether_named_or_found(random_state):
    views, _ = with_noise(separation=3.0)
    found = SingleViewSpectral(n_clusters=3, random_state=random_state).fit(views)
    named = SingleViewSpectral(view=found.view_, n_clusters=3, random_state=random_state).fit(views)
    np.testing.assert_array_equal(found.labels_, named.labels_)
    np.testing.assert_array_equal(found.embedding_, named.embedding_)
    assert named.view_index_ == found.view_index_
    assert np.isnan(named.view_scores_).all()


def test_of_equal_views_the_first_is_taken():
    x = make_multiview(80, n_views=1, n_clusters=2, random_state=0).views["view_0"]
    assert SingleViewSpectral(n_clusters=2, random_state=0).fit([x, 3 * x, x]).view_index_ == 0
    assert SingleViewSpectral(n_clusters=1, random_state=0).fit([x, x[:, :2]]).view_index_ == 0


# Naming a view


@pytest.mark.parametrize(("view", "index"), [("noise", 1), (2, 2), (-1, 3), (-4, 0), (np.int64(1), 1)])
def test_names_and_numbers(view, index):
    views, _ = with_noise(60)
    model = SingleViewSpectral(view=view, n_clusters=3, random_state=0).fit(views)
    assert model.view_index_ == index
    assert model.view_ == list(views)[index]
    alone = SingleViewSpectral(n_clusters=3, random_state=0).fit(list(views.values())[index])
    np.testing.assert_array_equal(model.labels_, alone.labels_)
    assert set(model.timings_) == {"prepare", "search", "embed", "label"}


@pytest.mark.parametrize(
    ("view", "message"),
    [
        ("third eye", "There is no view 'third eye'; give 'best', a number, or one of 'first', 'noise'"),
        (4, "There is no view 4: there are 4 views"),
        (-5, "There is no view -5"),
        (1.0, "view must be 'best', a view's name or its number, got 1.0"),
        (True, "view must be .* got True"),
        (None, "view must be .* got None"),
    ],
)
def test_views_that_do_not_exist(view, message):
    with pytest.raises(ValueError, match=message):
        SingleViewSpectral(view=view, n_clusters=3).fit(with_noise(60)[0])


def test_a_view_named_best():
    x = np.random.default_rng(2).normal(size=(40, 2))
    with pytest.raises(ValueError, match=r"view='best' is ambiguous.*number, 1, to take it"):
        SingleViewSpectral(n_clusters=2).fit({"other": x, "best": x})
    assert (
        SingleViewSpectral(view=1, n_clusters=2, random_state=0).fit({"other": x, "best": x}).view_ == "best"
    )
    assert SingleViewSpectral(n_clusters=2, random_state=0).fit({"best": x}).view_ == "best"


@pytest.mark.filterwarnings("ignore:View 'flat' is constant")
def test_constant_views():
    views, _ = with_noise(60)
    views["flat"] = np.ones((60, 3))
    model = SingleViewSpectral(n_clusters=3, random_state=0).fit(views)
    assert np.isnan(model.view_scores_[4])
    assert not np.isnan(model.view_scores_[:4]).any()
    reordered = {"flat": views["flat"], **views}
    again = SingleViewSpectral(n_clusters=3, random_state=0).fit(reordered)
    assert (again.view_, again.view_index_) == (model.view_, model.view_index_ + 1)
    for view in ("flat", -1):
        with pytest.raises(ValueError, match="View 'flat', which was asked for, is constant"):
            SingleViewSpectral(view=view, n_clusters=3).fit(views)


# Manners


def test_only_the_graph_of_the_view_taken_is_warned_of():
    views, y = with_noise(60)
    apart = {"noise": views["noise"], "apart": 100.0 * y[:, None] + views["noise"]}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SingleViewSpectral(view="noise", n_clusters=3, n_neighbors=10, random_state=0).fit(apart)
    with pytest.warns(UserWarning, match="The graph has 3 connected components"):
        model = SingleViewSpectral(n_clusters=3, n_neighbors=10, random_state=0).fit(apart)
    assert model.view_ == "apart"
    assert_same_partition(model.labels_, y)


@pytest.mark.parametrize("n", [2, 3, 5, 10])
@pytest.mark.parametrize("n_clusters", [1, 2])
def test_few_samples(n, n_clusters):
    x = np.random.default_rng(n).normal(size=(n, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = SingleViewSpectral(n_clusters=n_clusters, random_state=0).fit([x, x[:, :1]])
    assert len(np.unique(model.labels_)) <= n_clusters
    assert np.isfinite(model.view_scores_).all()


def test_samples_without_any_neighbour_in_a_view():
    x = np.random.default_rng(3).normal(size=(20, 2))
    similarity = np.exp(-((x[:, None] - x[None]) ** 2).sum(axis=2))
    similarity[5] = similarity[:, 5] = 0
    metric = ["precomputed_similarity", "euclidean"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = SingleViewSpectral(n_clusters=2, metric=metric, random_state=0).fit([similarity, x])
    assert np.isfinite(model.view_scores_).all()


def test_missing_samples_are_refused():
    sample = make_multiview(60, n_views=2, n_clusters=3, missing=0.2, random_state=0)
    with pytest.raises(ValueError, match="SingleViewSpectral is not defined for samples that a view"):
        SingleViewSpectral(n_clusters=3).fit(Views(sample.views, mask=sample.mask))
