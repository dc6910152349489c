import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from consilience import KMeansLabels, SimilarityGraphFusion, Views, make_multiview
from consilience.engines import get_engine
from consilience.metrics import ari
from consilience.models import FastMICE, SharedViews
from consilience.models.systems import anchors as anchors_module
from consilience.models.systems.anchors import (
    anchor_graph,
    choose_anchors,
    nearest_anchors,
    picked_features,
)
from consilience.models.systems.fastmice import (
    ViewGroup,
    base_clustering,
    cluster_graph_of,
    draw_groups,
    transfer_cut,
)
from consilience.testing import assert_same_partition

ENGINE = get_engine("numba")
pytestmark = pytest.mark.filterwarnings("ignore:The graph has .* connected components")


@pytest.fixture(scope="module")
def sample():
    return make_multiview(150, n_views=3, n_clusters=4, separation=7.0, random_state=0)


# The pieces, next to plain dense programs.


def whole_graph(graph, n_vectors):
    """Return eigenvalues of the normalised Laplacian of all n + p nodes, and D^-1/2 v of the samples."""
    n, p = graph.shape
    whole = np.block([[np.zeros((n, n)), graph], [graph.T, np.zeros((p, p))]])
    scale = 1 / np.sqrt(whole.sum(axis=1))
    values, vectors = np.linalg.eigh(np.eye(n + p) - scale[:, None] * whole * scale)
    return values[:n_vectors], (scale[:, None] * vectors)[:n, :n_vectors]


@pytest.mark.parametrize(("n", "p", "c"), [(40, 7, 3), (200, 30, 5), (500, 400, 12), (9, 9, 4)])
def test_the_transfer_cut_is_that_of_the_whole_bipartite_graph(n, p, c):
    rng = np.random.default_rng(n)
    dense = rng.random((n, p)) ** 6 + 1e-3  # connected, and no two eigenvalues alike
    cut = transfer_cut(sparse.csr_array(dense), c, engine=ENGINE)
    values, vectors = whole_graph(dense, c)
    assert cut.n_components == 1 and cut.n_lost == 0
    # One side has the squares of the correlations that both sides have.
    np.testing.assert_allclose(1 - cut.eigenvalues, (1 - values) ** 2, atol=1e-9)
    for ours, theirs in zip(cut.vectors.T, vectors.T, strict=True):
        cosine = ours @ theirs / np.linalg.norm(ours) / np.linalg.norm(theirs)
        assert abs(cosine) == pytest.approx(1, abs=1e-9)


def test_the_transfer_cut_of_components_and_of_nothing():
    blocks = sparse.csr_array(sparse.block_diag([np.ones((6, 2)), np.ones((4, 3)), np.ones((1, 1))]))
    cut = transfer_cut(blocks, 3, engine=ENGINE)
    np.testing.assert_allclose(cut.eigenvalues, 0, atol=1e-12)
    assert np.linalg.matrix_rank(cut.vectors) == 3 and cut.n_components == 3
    for rows in (cut.vectors[:6], cut.vectors[6:10]):
        np.testing.assert_allclose(rows, rows[:1].repeat(len(rows), axis=0), atol=1e-12)
    fewer = transfer_cut(blocks, 2, engine=ENGINE)
    assert fewer.n_lost == 1 and not fewer.vectors[10].any()  # the smallest component
    empty = transfer_cut(sparse.csr_array((5, 3)), 2, engine=ENGINE)
    assert empty.vectors.shape == (5, 2) and not empty.vectors.any() and empty.n_lost == 5


@pytest.mark.parametrize("form", ["dense", "sparse", "sparse, many anchors"])
@pytest.mark.parametrize("k", [1, 3, 20])
def test_nearest_anchors(form, k, monkeypatch):
    rng = np.random.default_rng(k)
    rows, anchors = rng.random((1300, 6)), rng.random((20, 6))  # several blocks
    rows[rows < 0.4] = 0
    given = (rows, anchors)
    if form != "dense":
        given = sparse.csr_array(rows), sparse.csr_array(anchors)
    if form == "sparse, many anchors":
        monkeypatch.setattr(anchors_module, "_DENSE", 0)
    index, squared = nearest_anchors(*given, k)
    distances = cdist(rows, anchors)
    np.testing.assert_array_equal(index, np.argsort(distances, axis=1)[:, :k])
    np.testing.assert_allclose(squared, np.sort(distances**2, axis=1)[:, :k], atol=1e-13)


def plain_anchors(rows, start, n_rounds, metric):
    centers = start
    for _ in range(n_rounds):
        labels = cdist(rows, centers).argmin(axis=1)
        centers = np.array([rows[labels == j].mean(axis=0) for j in np.unique(labels)])
        if metric == "cosine":
            centers /= np.linalg.norm(centers, axis=1, keepdims=True)
    return centers


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_anchors_are_centres_of_a_few_rounds_of_kmeans(metric, form):
    rows = np.random.default_rng(0).random((300, 5))
    if metric == "cosine":
        rows[7] = 0  # no direction: never drawn
        rows[rows.any(axis=1)] /= np.linalg.norm(rows[rows.any(axis=1)], axis=1, keepdims=True)
    found = choose_anchors(form(rows), 12, metric, np.random.default_rng(5))
    rng = np.random.default_rng(5)
    usable = np.flatnonzero(rows.any(axis=1))
    drawn = rows[np.sort(rng.permutation(usable)[:120])]
    expected = plain_anchors(drawn, drawn[rng.permutation(120)[:12]], 5, metric)
    found = found.toarray() if sparse.issparse(found) else found
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_anchors_of_few_and_of_equal_rows():
    rng = np.random.default_rng(0)
    few = rng.normal(size=(7, 2))
    np.testing.assert_allclose(
        np.sort(choose_anchors(few, 50, "euclidean", rng), axis=0), np.sort(few, axis=0), atol=1e-14
    )
    equal = np.repeat(np.eye(3), 20, axis=0)
    assert len(choose_anchors(equal, 30, "euclidean", rng)) == 3
    assert len(choose_anchors(np.zeros((5, 2)), 3, "euclidean", rng)) == 1
    assert choose_anchors(np.zeros((5, 2)), 3, "cosine", rng).shape == (0, 2)


def plain_anchor_graph(rows, anchors, k, metric):
    graph = np.zeros((len(rows), len(anchors)))
    if metric == "cosine":
        similarity = rows @ anchors.T
        for i, nearest in enumerate(np.argsort(-similarity, axis=1)[:, :k]):
            graph[i, nearest] = np.maximum(similarity[i, nearest], 0)
    else:
        distances = cdist(rows, anchors)
        nearest = np.argsort(distances, axis=1)[:, :k]
        width = np.take_along_axis(distances, nearest, axis=1).mean()
        for i in range(len(rows)):
            graph[i, nearest[i]] = np.exp(-(distances[i, nearest[i]] ** 2) / (2 * width**2))
    norms = np.linalg.norm(graph, axis=1, keepdims=True)
    return np.divide(graph, norms, out=np.zeros_like(graph), where=norms > 0)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_the_graph_of_samples_and_anchors(metric, form):
    rng = np.random.default_rng(1)
    rows, anchors = rng.normal(size=(60, 4)), rng.normal(size=(9, 4))
    if metric == "cosine":
        rows[3] = 0
        rows[rows.any(axis=1)] /= np.linalg.norm(rows[rows.any(axis=1)], axis=1, keepdims=True)
        anchors /= np.linalg.norm(anchors, axis=1, keepdims=True)
    for k in (1, 4, 9, 30):
        graph = anchor_graph(form(rows), form(anchors), k, metric)
        np.testing.assert_allclose(graph.toarray(), plain_anchor_graph(rows, anchors, k, metric), atol=1e-12)
        assert (graph.data > 0).all()


def test_far_samples_and_samples_on_their_anchors_keep_their_links():
    rows = np.append(np.zeros((50, 1)), [[1e6]], axis=0)
    graph = anchor_graph(rows, np.array([[0.0], [1.0]]), 2, "euclidean").toarray()
    np.testing.assert_allclose(np.linalg.norm(graph, axis=1), 1)
    on = anchor_graph(np.zeros((3, 1)), np.zeros((1, 1)), 1, "euclidean").toarray()
    np.testing.assert_array_equal(on, np.ones((3, 1)))
    assert anchor_graph(rows, np.zeros((0, 1)), 2, "cosine").shape == (51, 0)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_features_are_picked_in_a_unit_of_their_own(form):
    rows = np.random.default_rng(0).random((20, 6))
    columns = np.array([1, 4, 5])
    picked = picked_features(form(1e140 * rows), columns, "euclidean")
    picked = picked.toarray() if sparse.issparse(picked) else picked
    ratio = cdist(picked, picked)[0, 1:] / cdist(rows[:, columns], rows[:, columns])[0, 1:]
    np.testing.assert_allclose(ratio, ratio[0])
    assert 0.1 < np.abs(picked).max() <= 1
    for unit in (1.0, 1e-200, 1e200):
        turned = picked_features(form(unit * rows), columns, "cosine")
        turned = turned.toarray() if sparse.issparse(turned) else turned
        expected = rows[:, columns] / np.linalg.norm(rows[:, columns], axis=1, keepdims=True)
        np.testing.assert_allclose(turned, expected)


def test_stored_zeros_are_no_features():
    stored = sparse.csr_array((np.array([0.0, 3.0]), ([0, 1], [0, 1])), shape=(2, 2))
    turned = picked_features(stored, np.array([0, 1]), "cosine").toarray()
    np.testing.assert_array_equal(turned, [[0, 0], [0, 1]])
    assert stored.nnz == 2  # the data are left as they were


def test_what_is_drawn():
    groups = draw_groups([1, 10, 300], 400, (3, 6), (0.2, 0.8), np.random.RandomState(0))
    sizes = np.bincount([len(group.columns) for group in groups], minlength=4)
    assert sizes[0] == 0 and sizes[1:].min() > 100  # 400 / 3 each, on average
    assert {group.n_clusters for group in groups} == {3, 4, 5, 6}
    assert len({group.seed for group in groups}) == 400
    drawn = {view: [len(g.columns[view]) for g in groups if view in g.columns] for view in range(3)}
    assert set(drawn[0]) == {1} and set(drawn[1]) == set(range(3, 9))
    assert 60 <= min(drawn[2]) < 80 and 220 < max(drawn[2]) <= 240
    for group in groups:
        for columns in group.columns.values():
            assert (np.diff(columns) > 0).all()
    again = draw_groups([1, 10, 300], 400, (3, 6), (0.2, 0.8), np.random.RandomState(0))
    assert all(
        first.seed == second.seed and first.columns.keys() == second.columns.keys()
        for first, second in zip(groups, again, strict=True)
    )


def test_a_base_clustering_is_that_of_the_plain_steps():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 3
    views = [rng.normal(size=(200, 6)) + 2.5 * np.eye(3, 6)[y], rng.random((200, 5)) + 2 * np.eye(3, 5)[y]]
    group = ViewGroup({0: np.array([0, 1, 2, 5]), 1: np.arange(5)}, 4, 11)
    found = base_clustering(
        0, [group], list(zip(views, ("euclidean", "cosine"), strict=True)), 41, 5, engine=ENGINE
    )
    # 41 anchors and 5 of them near, in two views: 21 and 3 in each.
    first = views[0][:, [0, 1, 2, 5]] - views[0][:, [0, 1, 2, 5]].mean(axis=0)
    first /= np.abs(first).max()
    second = views[1] / np.linalg.norm(views[1], axis=1, keepdims=True)
    stream = np.random.default_rng(11)
    parts = []
    for rows, metric in ((first, "euclidean"), (second, "cosine")):
        drawn = rows[np.sort(stream.permutation(200)[:210])]
        start = drawn[stream.permutation(200)[:21]]
        parts.append(plain_anchor_graph(rows, plain_anchors(drawn, start, 5, metric), 3, metric))
    together = np.hstack(parts)
    values, vectors = whole_graph(together[:, together.any(axis=0)], 4)
    vectors *= 1 - values  # from anchors to samples, each vector shrinks by its correlation
    expected = ENGINE.kmeans(
        vectors, 4, n_init=1, max_iter=5, unit=True, random_state=np.random.RandomState(11)
    ).labels
    assert_same_partition(found, expected)
    assert ari(y, found) > 0.5


def test_the_graph_of_samples_and_clusters():
    labels = np.random.default_rng(0).integers(0, 4, size=(30, 3)) * 2  # numbers that are not used
    graph = cluster_graph_of(labels).toarray()
    expected = [labels[:, m] == label for m in range(3) for label in np.unique(labels[:, m])]
    np.testing.assert_array_equal(graph, np.array(expected, dtype=float).T)


# The estimator.


def test_planted_clusters_are_found_in_dense_sparse_and_mixed_views(sample):
    rng = np.random.default_rng(0)
    words = rng.poisson(0.05 + 2.0 * np.kron(np.eye(4), np.ones((1, 20)))[sample.y])
    arrays = list(sample.views.values())
    mixed = {
        "numbers": arrays[0],
        "single": arrays[1].astype(np.float32),
        "words": sparse.csr_array(words),
        "few": words[:, ::2],
    }
    metrics = {"numbers": "euclidean", "single": "cosine", "words": "cosine", "few": "euclidean"}
    for scale in ("none", "auto", "standard"):
        for views, metric in ((sample.views, "auto"), (mixed, metrics), ([words.astype(float)], "auto")):
            model = FastMICE(n_clusters=4, metric=metric, scale=scale, random_state=0).fit(views)
            assert_same_partition(model.labels_, sample.y)
    same = FastMICE(n_clusters=4, metric="cosine", random_state=0).fit([sparse.csr_array(words)] * 2)
    assert same.metrics_ == ("cosine", "cosine")
    assert_same_partition(same.labels_, sample.y)


def test_what_a_fit_leaves(sample):
    model = FastMICE(n_clusters=4, n_groups=7, base_clusters=(1.5, 1.5), random_state=0).fit(sample.views)
    assert model.base_labels_.shape == (150, 7)
    assert (model.base_labels_.max(axis=0) == 5).all()
    np.testing.assert_allclose(np.linalg.norm(model.embedding_, axis=1), 1)
    assert (np.diff(model.eigenvalues_) >= 0).all() and model.eigenvalues_.shape == (4,)
    assert list(model.timings_) == ["prepare", "learn", "embed", "label"]
    again = cluster_graph_of(model.base_labels_)
    cut = transfer_cut(again, 4, engine=ENGINE)
    np.testing.assert_allclose(cut.eigenvalues, model.eigenvalues_, atol=1e-9)


@pytest.mark.long
def test_the_same_seed_gives_the_same_bits():
    views = make_multiview(700, n_views=3, n_clusters=4, separation=1.5, random_state=0).views
    given = {"n_clusters": 4, "n_groups": 6}
    model = FastMICE(**given, random_state=3).fit(views)
    for other in (
        FastMICE(**given, random_state=3).fit(views),
        FastMICE(**given, random_state=3, n_jobs=1).fit(views),
        FastMICE(**given, random_state=3, n_jobs=2).fit(SharedViews(views)),
    ):
        np.testing.assert_array_equal(other.base_labels_, model.base_labels_)
        np.testing.assert_array_equal(other.embedding_, model.embedding_)
        np.testing.assert_array_equal(other.labels_, model.labels_)
    seeded = FastMICE(**given, random_state=4).fit(views)
    assert not np.array_equal(seeded.base_labels_, model.base_labels_)
    plain = FastMICE(**given, random_state=3, engine="numpy").fit(views)
    np.testing.assert_array_equal(plain.labels_, model.labels_)


@pytest.mark.long
def test_many_groups_are_steadier_than_few():
    data = make_multiview(400, n_views=4, n_clusters=4, separation=2.0, random_state=1)
    scores = {
        n_groups: [
            ari(data.y, FastMICE(n_clusters=4, n_groups=n_groups, random_state=seed).fit(data.views).labels_)
            for seed in range(5)
        ]
        for n_groups in (2, 20)
    }
    assert np.mean(scores[20]) > np.mean(scores[2]) + 0.05
    assert np.std(scores[20]) < np.std(scores[2])


def test_nothing_is_n_by_n():
    n = 6000
    views = make_multiview(n, n_views=2, n_clusters=3, separation=4.0, random_state=0).views
    FastMICE(n_clusters=3, n_groups=2, n_anchors=60, random_state=0).fit(views)
    tracemalloc.start()
    try:
        FastMICE(n_clusters=3, n_groups=2, n_anchors=60, random_state=0).fit(views)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < n * n  # bytes: an eighth of an n x n array


@pytest.mark.filterwarnings("ignore:Only .* clusters have samples")
def test_few_samples_many_base_clusters_one_view():
    rng = np.random.default_rng(0)
    for n in range(2, 7):
        views = [rng.normal(size=(n, 2)), rng.normal(size=(n, 1))]
        for n_clusters in range(1, n + 1):
            for given in (views, views[:1]):
                model = FastMICE(n_clusters=n_clusters, n_groups=5, base_clusters=(2, 5), random_state=0)
                model.fit(given)
                assert model.labels_.shape == (n,) and np.isfinite(model.embedding_).all()
                assert model.labels_.max() < n_clusters
                assert model.base_labels_.max() < n
    alone = make_multiview(120, n_views=1, n_clusters=3, separation=8.0, random_state=0)
    assert_same_partition(FastMICE(n_clusters=3, random_state=0).fit(alone.views).labels_, alone.y)


def test_fewer_anchors_than_base_clusters(sample):
    model = FastMICE(n_clusters=4, n_anchors=3, random_state=0).fit(sample.views)
    assert 1 <= model.base_labels_.max() < 4  # two views have two each, three views one each
    assert model.labels_.max() < 4


def test_constant_views_and_equal_rows(sample):
    with pytest.warns(UserWarning, match="View 'flat' is constant"):
        model = FastMICE(n_clusters=4, random_state=0).fit({**sample.views, "flat": np.ones((150, 3))})
    assert_same_partition(model.labels_, sample.y)
    flat_columns = {name: np.hstack([array, np.ones((150, 8))]) for name, array in sample.views.items()}
    assert_same_partition(FastMICE(n_clusters=4, random_state=0).fit(flat_columns).labels_, sample.y)
    x = np.repeat([[0.0, 0.0], [0.0, 1.0], [9.0, 9.0], [9.0, 8.0]], 25, axis=0)
    model = FastMICE(n_clusters=4, random_state=0).fit([x, x[:, ::-1] ** 2])
    assert_same_partition(model.labels_, np.repeat(range(4), 25))


def test_rows_without_direction_are_put_somewhere():
    words = np.kron(np.eye(3), np.ones((20, 4)))
    words[::20] = 0
    model = FastMICE(n_clusters=3, metric="cosine", random_state=0).fit([words, sparse.csr_array(words)])
    told = words.any(axis=1)
    assert_same_partition(model.labels_[told], np.repeat(range(3), 20)[told])
    assert np.isfinite(model.embedding_).all()


@pytest.mark.filterwarnings("default:The graph has .* connected components")
def test_more_components_than_clusters_are_reported(sample):
    with pytest.warns(UserWarning, match=r"The graph has 8 connected components, and .* Raise n_groups"):
        FastMICE(n_clusters=4, n_groups=1, base_clusters=(2, 2), random_state=0).fit(sample.views)


def test_the_order_of_samples_and_views_does_not_matter_to_clear_clusters(sample):
    order = np.random.default_rng(0).permutation(150)
    turned = {name: array[order] for name, array in reversed(sample.views.items())}
    assert_same_partition(FastMICE(n_clusters=4, random_state=0).fit(turned).labels_, sample.y[order])


def test_a_view_of_noise_can_be_left_out(sample):
    views = {**sample.views, "noise": np.random.default_rng(0).normal(size=(150, 5))}
    with pytest.warns(UserWarning, match="'noise'"):
        model = FastMICE(n_clusters=4, view_selection="agreement", random_state=0).fit(views)
    alone = FastMICE(n_clusters=4, random_state=0).fit(sample.views)
    np.testing.assert_array_equal(model.base_labels_, alone.base_labels_)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_groups": 0}, "n_groups must be a positive integer, got 0"),
        ({"n_anchors": 2.5}, "n_anchors must be a positive integer, got 2.5"),
        ({"n_nearest_anchors": -1}, "n_nearest_anchors must be a positive integer, got -1"),
        ({"feature_share": 0.5}, "feature_share must be two numbers, the least and the largest, got 0.5"),
        ({"feature_share": (0.0, 0.5)}, "feature_share must be a finite number above 0, got 0"),
        ({"feature_share": (0.5, 1.5)}, r"feature_share must be ascending and at most 1, got \(0.5, 1.5\)"),
        ({"base_clusters": (2, 1)}, r"base_clusters must be ascending, got \(2, 1\)"),
        ({"base_clusters": (1, 2, 3)}, "base_clusters must be two numbers"),
        ({"base_clusters": ("one", 2)}, "base_clusters must be a finite number above 0, got 'one'"),
        ({"metric": "manhattan"}, "'view_0' is measured by 'manhattan', and FastMICE takes features"),
        ({"metric": max}, "'view_0' is measured by 'max', and FastMICE takes features"),
        ({"n_clusters": "auto"}, "FastMICE needs the number of clusters"),
        ({"assign_labels": "cluster_qr"}, "by k-means; assign_labels='cluster_qr' needs"),
        ({"assign_labels": KMeansLabels(n_init=0)}, "n_init must be 'auto' or a positive integer, got 0"),
    ],
)
def test_bad_parameters(parameters, message, sample):
    with pytest.raises(ValueError, match=message):
        FastMICE(**{"n_clusters": 4, **parameters}).fit(sample.views)


def test_views_without_features_and_missing_samples_are_refused(sample):
    x = sample.views["view_0"]
    for metric in ("precomputed_distance", "precomputed_similarity"):
        with pytest.raises(ValueError, match="'pairs' is a graph or a matrix between samples, and FastMICE"):
            FastMICE(n_clusters=4, metric=metric).fit(
                {"pairs": 1 - np.eye(150) if "dis" in metric else x @ x.T}
            )
    graph = SimilarityGraphFusion(n_clusters=4, random_state=0).fit(sample.views).graph_
    views = Views({"links": graph, "numbers": x}, pairwise=["links"])
    with pytest.raises(ValueError, match=r"'links' is a graph or a matrix .* use SimilarityGraphFusion"):
        FastMICE(n_clusters=4, metric={"links": "precomputed_similarity", "numbers": "auto"}).fit(views)
    pd = pytest.importorskip("pandas")
    kinds = pd.DataFrame({"colour": ["red", "blue", "red"] * 50, "size": np.arange(150.0)})
    with pytest.raises(ValueError, match="'kinds' is measured by 'gower'"):
        FastMICE(n_clusters=4).fit({"kinds": kinds})
    rows = [array.copy() for array in sample.views.values()]
    rows[1][:3] = np.nan
    with pytest.raises(ValueError, match="not defined for samples that a view has not seen"):
        FastMICE(n_clusters=4).fit(rows)
