"""Labels from an embedding or a graph: k-means, cluster_qr, Leiden, and label assigners of your own."""

from __future__ import annotations

import pickle
import random
import sys
from dataclasses import FrozenInstanceError, dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster._spectral import cluster_qr
from tests.engines.names import HOST_ENGINES
from tests.stages.made_graphs import neighbor_graph, quiet

from consilience import (
    PAPER,
    ClusterQRLabels,
    DistanceGraphFusion,
    KMeansLabels,
    LeidenLabels,
    make_multiview,
)
from consilience.engines import embedding, get_engine
from consilience.metrics import ari
from consilience.models import SNF, AverageGraph, CoReg, systems
from consilience.spectra import NormalizedLaplacian
from consilience.stages import (
    LabelAssigner,
    SpectralEmbedding,
    assign_cluster_qr,
    assign_kmeans,
    canonical_labels,
    label,
    spectral_clustering,
    spectral_embedding,
)
from consilience.stages.label import resolve_assigner
from consilience.stages.leiden import leiden_communities
from consilience.testing import assert_same_partition

PAIR = np.array([[0.0, 1.0], [1.0, 0.0]])


@pytest.fixture(scope="module")
def sample():
    return make_multiview(300, n_clusters=4, random_state=0)


def test_the_whole_is_its_parts():
    graph, _ = neighbor_graph(350, 8, 2, n_blobs=4, spread=2.0)
    whole = quiet(spectral_clustering, graph, 4, n_init=5, random_state=11)
    first = quiet(spectral_embedding, graph, 4, random_state=11)
    np.testing.assert_array_equal(whole.embedding.vectors, first.vectors)
    np.testing.assert_array_equal(whole.labels, assign_kmeans(first, 4, n_init=5, random_state=11))


@given(st.lists(st.integers(-3, 5), min_size=1))
def test_canonical_labels(labels):
    found = canonical_labels(labels)
    assert found.dtype.kind == "i"
    pairs = set(zip(labels, found.tolist(), strict=True))
    assert len(pairs) == len(set(labels)) == len(set(found.tolist()))  # the same partition
    assert list(dict.fromkeys(found.tolist())) == list(range(len(pairs)))  # numbered as they appear


def test_kmeans_of_one_cluster_and_of_lone_samples():
    np.testing.assert_array_equal(assign_kmeans(np.eye(4), 1, random_state=0), [0, 0, 0, 0])
    np.testing.assert_array_equal(assign_kmeans(np.eye(4), 4, random_state=0), [0, 1, 2, 3])
    rows = np.array([[1, 0.01], [1, 0], [1, -0.01], [-0.3, 1]])
    np.testing.assert_array_equal(assign_kmeans(rows, 2, random_state=0), [0, 0, 0, 1])


def test_kmeans_with_too_few_distinct_rows_warns_once():
    rows = np.repeat(np.eye(2), 5, axis=0)
    with pytest.warns(UserWarning) as record:
        labels = assign_kmeans(rows, 4, random_state=0)
    assert len(record) == 1
    assert "Only 2 of 4 clusters" in str(record[0].message)
    np.testing.assert_array_equal(labels, np.repeat([0, 1], 5))
    with pytest.warns(UserWarning, match="Only 2 of 3"):  # fewer fitted rows than clusters
        np.testing.assert_array_equal(assign_kmeans([[0, 0], [1, 0], [0, 2]], 3, random_state=0)[1:], [1, 0])


def test_zero_rows_do_not_move_the_centres():
    rows = np.array([[1.0, 0], [1, 0.2], [0, 1], [0.2, 1]])
    padded = np.vstack([rows, np.zeros((40, 2))])
    labels = assign_kmeans(padded, 2, random_state=0)
    np.testing.assert_array_equal(labels[:4], [0, 0, 1, 1])
    assert len(set(labels[4:])) == 1


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 2, 1, 0]])
def test_zero_rows_go_to_the_nearest_centre(order):
    # The centre of a wide cluster of unit rows is nearer to the origin than that of a tight one.
    rows = np.array([[1, 0.01], [1, 0.02], [0.5, 1.0], [-0.5, 1.0]])[order]
    labels = assign_kmeans(np.vstack([np.zeros((2, 2)), rows]), 2, random_state=0)
    wide = labels[2 + order.index(2)]
    assert (labels[:2] == wide).all()
    assert labels[2 + order.index(0)] != wide


def test_restarts_of_the_paper(monkeypatch):
    seen = []

    class Recorder(embedding.KMeans):
        def __init__(self, n_clusters, *, n_init, max_iter, tol, random_state):
            seen.append((n_init, max_iter))
            super().__init__(n_clusters, n_init=1, max_iter=2, random_state=0)

    monkeypatch.setattr(embedding, "KMeans", Recorder)
    for n in (4999, 5000, 9999, 10_000, 29_999, 30_000):
        assign_kmeans(np.ones((n, 1)), 1, n_init="auto")
    assign_kmeans(np.ones((9, 1)), 1)
    assert [s[0] for s in seen] == [30, 20, 20, 5, 5, 3, 30]
    assert {s[1] for s in seen} == {1000}


def test_blobs_are_found():
    graph, blob = neighbor_graph(600, 10, 6, n_blobs=6, spread=8.0)
    labels = quiet(spectral_clustering, graph, 6, random_state=0).labels
    np.testing.assert_array_equal(labels, canonical_labels(blob))


def test_fifty_components_are_the_partition():
    parts = [neighbor_graph(20 + i, 6, i, spread=0)[0] for i in range(50)]
    truth = np.repeat(np.arange(50), [p.shape[0] for p in parts])
    order = np.random.default_rng(0).permutation(len(truth))
    graph = sparse.csr_array(sparse.block_diag(parts))[order][:, order]
    assert NormalizedLaplacian(graph).n_connected == 50
    with pytest.warns(UserWarning, match="50 connected components"):
        result = spectral_clustering(graph, 50, random_state=0)
    np.testing.assert_array_equal(result.labels, canonical_labels(truth[order]))
    np.testing.assert_array_equal(result.embedding.eigenvalues.round(14), np.zeros(50))
    assert result.embedding.n_connected == 50


def test_permuting_the_samples_permutes_the_result():
    graph, _ = neighbor_graph(400, 8, 2, n_blobs=4, spread=2.5)
    order = np.random.default_rng(1).permutation(400)
    here = quiet(spectral_clustering, graph, 4, random_state=0)
    there = quiet(spectral_clustering, graph[order][:, order], 4, random_state=5)
    np.testing.assert_allclose(there.embedding.vectors, here.embedding.vectors[order], atol=1e-7)
    np.testing.assert_array_equal(there.labels, canonical_labels(here.labels[order]))


@pytest.mark.parametrize("seed", range(5))
def test_cluster_qr_is_that_of_scikit_learn(seed):
    views = make_multiview(150, n_clusters=5, separation=2.0, random_state=seed).views
    graph = AverageGraph(n_clusters=5, random_state=0).fit(views).graph_
    vectors = spectral_embedding(graph, 5, random_state=0).vectors
    ours = assign_cluster_qr(vectors, 5)
    np.testing.assert_array_equal(ours, canonical_labels(cluster_qr(vectors)))


def test_cluster_qr_puts_isolated_samples_somewhere():
    graph = sparse.block_diag([np.ones((5, 5)) - np.eye(5), np.ones((4, 4)) - np.eye(4), np.zeros((2, 2))])
    with pytest.warns(UserWarning, match="2 isolated samples"):
        embedding = spectral_embedding(sparse.csr_array(graph), 2, random_state=0)
    labels = assign_cluster_qr(embedding, 2)
    assert labels[:9].tolist() == [0] * 5 + [1] * 4
    assert set(labels[9:].tolist()) <= {0, 1}


def test_cluster_qr_without_any_edge():
    with pytest.warns(UserWarning, match="Only 1 of 2 clusters have samples"):
        assert assign_cluster_qr(np.zeros((3, 2)), 2).tolist() == [0, 0, 0]


def test_cluster_qr_wants_a_column_for_each_cluster():
    with pytest.raises(ValueError, match="There must be 3 columns, one for each cluster; got 2"):
        assign_cluster_qr(np.eye(4, 2), 3)


@pytest.mark.parametrize("system", [DistanceGraphFusion, AverageGraph, SNF])
def test_cluster_qr_in_a_system(system, sample):
    model = system(n_clusters=4, assign_labels="cluster_qr", random_state=0).fit(sample.views)
    other = clone(model).set_params(random_state=1).fit(sample.views)
    assert ari(sample.y, model.labels_) > 0.9
    np.testing.assert_array_equal(model.labels_, other.labels_)  # nothing is random
    chosen = clone(model).set_params(n_clusters="auto").fit(sample.views)
    assert chosen.n_clusters_ == 4


@pytest.mark.parametrize("way", ["cluster_qr", "leiden"])
def test_systems_with_an_embedding_of_their_own_refuse(way, sample):
    with pytest.raises(
        ValueError, match=rf"CoReg reads .* assign_labels='{way}' needs .* such as Similarity"
    ):
        CoReg(n_clusters=4, assign_labels=way).fit(sample.views)


def test_the_paper_finds_labels_by_kmeans():
    assert PAPER["assign_labels"] == KMeansLabels(n_init=30, max_iter=1000)


def test_leiden_without_igraph_names_the_extra(sample, monkeypatch):
    monkeypatch.setitem(sys.modules, "igraph", None)
    with pytest.raises(ValueError, match=r"needs the package igraph; .* pip install 'consilience\[leiden\]'"):
        DistanceGraphFusion(assign_labels="leiden").fit(sample.views)


def test_leiden_finds_the_pairs():
    pytest.importorskip("igraph")
    graph = sparse.block_diag([PAIR, PAIR, np.zeros((1, 1))], format="csr")
    assert leiden_communities(graph, random_state=0).tolist() == [0, 0, 1, 1, 2]


def test_leiden_has_a_resolution_and_a_seed(sample):
    pytest.importorskip("igraph")
    graph = AverageGraph(n_clusters=4, random_state=0).fit(sample.views).graph_
    few, some, many = (leiden_communities(graph, r, random_state=0).max() + 1 for r in (0.05, 1.0, 8.0))
    assert few < some < many
    for seed in (0, np.random.RandomState(0)):
        np.testing.assert_array_equal(
            leiden_communities(graph, 3.0, random_state=seed), leiden_communities(graph, 3.0, random_state=0)
        )


def test_leiden_leaves_pythons_generator_alone(sample):
    pytest.importorskip("igraph")
    graph = AverageGraph(n_clusters=4, random_state=0).fit(sample.views).graph_
    random.seed(3)
    state = random.getstate()
    leiden_communities(graph, random_state=0)
    assert random.getstate() == state


@pytest.mark.parametrize(("n_clusters", "width"), [(8, 8), ("auto", 4)])
def test_leiden_in_a_system(n_clusters, width, sample):
    pytest.importorskip("igraph")
    model = DistanceGraphFusion(n_clusters=n_clusters, assign_labels="leiden", random_state=0)
    model.fit(sample.views)
    assert model.n_clusters_ == model.labels_.max() + 1 == 4
    assert model.cluster_selection_ is None
    assert model.embedding_.shape == (300, width)
    assert_same_partition(model.labels_, leiden_communities(model.graph_, random_state=0))
    assert ari(sample.y, model.labels_) > 0.9
    finer = clone(model).set_params(assign_labels=LeidenLabels(resolution=5.0)).fit(sample.views)
    assert finer.n_clusters_ > 4


@pytest.mark.parametrize(
    "settings",
    [
        {"n_init": 0},
        {"n_init": "many"},
        {"max_iter": 0},
        {"n_init": 2.5},
        {"max_iter": 1.5},
    ],
    ids=str,
)
def test_bad_settings_of_the_function_are_refused(settings):
    with pytest.raises(ValueError):
        assign_kmeans(np.eye(4), 2, random_state=0, **settings)


# Label assigners are objects with settings of their own


BAD_SETTINGS = [
    (KMeansLabels(n_init=0), "n_init must be 'auto' or a positive integer, got 0"),
    (KMeansLabels(n_init=2.5), "n_init must be 'auto' or a positive integer, got 2.5"),
    (KMeansLabels(n_init=True), "n_init must be 'auto' or a positive integer, got True"),
    (KMeansLabels(n_init="many"), "n_init must be 'auto' or a positive integer, got 'many'"),
    (KMeansLabels(max_iter=0), "max_iter must be a positive integer, got 0"),
    (KMeansLabels(max_iter="auto"), "max_iter must be a positive integer, got 'auto'"),
    (LeidenLabels(resolution=0), "resolution must be a finite number above 0, got 0"),
    (LeidenLabels(resolution=-1.0), "resolution must be a finite number above 0, got -1"),
    (LeidenLabels(resolution=np.nan), "resolution must be a finite number above 0, got nan"),
    (LeidenLabels(resolution="fine"), "resolution must be a finite number above 0, got 'fine'"),
]


@pytest.mark.parametrize(("assigner", "message"), BAD_SETTINGS, ids=lambda value: str(value)[:40])
def test_settings_are_checked_before_the_work(assigner, message, sample, monkeypatch):
    with pytest.raises(ValueError, match=message):
        assigner.check()
    with pytest.raises(ValueError, match=message):
        resolve_assigner(assigner).check()
    monkeypatch.setattr(type(get_engine("numba")), "place", None)  # no view is placed
    with pytest.raises(ValueError, match=message):
        DistanceGraphFusion(n_clusters=4, assign_labels=assigner).fit(sample.views)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("kmeans", KMeansLabels(n_init=30, max_iter=1000)), ("cluster_qr", ClusterQRLabels())],
)
def test_a_name_stands_for_an_assigner_with_its_defaults(name, expected):
    assert resolve_assigner(name) == expected
    assert resolve_assigner(expected) is expected


def test_the_name_leiden_stands_for_its_assigner():
    pytest.importorskip("igraph")
    assert resolve_assigner("leiden") == LeidenLabels(resolution=1.0)


@pytest.mark.parametrize("wrong", ["k-means", None, 3, KMeansLabels, np.ones(3)])
def test_an_unknown_assigner_is_refused_and_the_known_ones_are_listed(wrong, sample):
    message = (
        r"Unknown assign_labels .*; known: 'kmeans', 'cluster_qr', 'leiden', or an object such as KMeans"
    )
    with pytest.raises(ValueError, match=message):
        DistanceGraphFusion(n_clusters=4, assign_labels=wrong).fit(sample.views)


@pytest.mark.parametrize("assigner", [KMeansLabels(7), ClusterQRLabels(), LeidenLabels(2.0)])
def test_assigners_are_values(assigner):
    again = pickle.loads(pickle.dumps(assigner))
    assert again == assigner and hash(again) == hash(assigner)
    assert clone(DistanceGraphFusion(assign_labels=assigner)).assign_labels == assigner
    with pytest.raises(FrozenInstanceError):
        assigner.n_init = 3
    assert assigner.needs == ("graph" if isinstance(assigner, LeidenLabels) else "embedding")


@pytest.mark.parametrize("engine", HOST_ENGINES)
@pytest.mark.parametrize("n_init", [4, np.int64(4), "auto"])
def test_kmeans_takes_its_settings_from_the_object(engine, n_init, monkeypatch):
    seen = []

    class Recorder(embedding.KMeans):
        def __init__(self, n_clusters, *, n_init, max_iter, tol, random_state):
            seen.append((n_init, max_iter))
            super().__init__(n_clusters, n_init=1, max_iter=max_iter, random_state=random_state)

    monkeypatch.setattr(embedding, "KMeans", Recorder)
    engine, state = get_engine(engine), np.random.RandomState(0)
    rows = spectral_embedding(neighbor_graph(60, 8, 0)[0], 2, random_state=0, engine=engine)
    labels = label(rows, 2, KMeansLabels(n_init, max_iter=55), state, engine=engine).labels
    assert seen == [(30 if n_init == "auto" else 4, 55)]
    assert set(labels.tolist()) == {0, 1}


def test_a_fit_with_the_object_is_that_with_the_name(sample):
    named = DistanceGraphFusion(n_clusters=4, assign_labels="kmeans", random_state=0).fit(sample.views)
    given = clone(named).set_params(assign_labels=KMeansLabels(n_init=30, max_iter=1000)).fit(sample.views)
    np.testing.assert_array_equal(given.labels_, named.labels_)


@pytest.mark.parametrize("engine", HOST_ENGINES)
def test_each_assigner_finds_what_its_function_finds(engine):
    graph, _ = neighbor_graph(200, 8, 2, n_blobs=4, spread=2.0)
    engine, rows = get_engine(engine), quiet(spectral_embedding, graph, 4, random_state=0)
    by_kmeans = label(rows, 4, KMeansLabels(5), np.random.RandomState(3), engine=engine).labels
    expected = assign_kmeans(rows, 4, n_init=5, random_state=np.random.RandomState(3), engine=engine)
    np.testing.assert_array_equal(by_kmeans, expected)
    by_qr = label(rows, 4, ClusterQRLabels(), np.random.RandomState(3), engine=engine).labels
    np.testing.assert_array_equal(by_qr, assign_cluster_qr(rows, 4))


def test_leiden_finds_what_its_function_finds():
    pytest.importorskip("igraph")
    graph, _ = neighbor_graph(200, 8, 2, n_blobs=4, spread=2.0)
    engine = get_engine("numba")
    found = label(engine.adopt(graph), 1, LeidenLabels(2.0), np.random.RandomState(3), engine=engine).labels
    expected = leiden_communities(graph, 2.0, random_state=np.random.RandomState(3))
    np.testing.assert_array_equal(found, canonical_labels(expected))


@dataclass(frozen=True)
class BySign(LabelAssigner):
    """Two clusters by the sign of an eigenvector: an assigner as a user may write it."""

    column: int = 1

    def check(self):
        if self.column < 0:
            raise ValueError(f"column must not be negative, got {self.column}.")

    def assign(self, given, n_clusters, random_state, engine):
        assert isinstance(given, SpectralEmbedding)
        assert isinstance(random_state, np.random.RandomState)
        return np.where(engine.fetch(given.vectors)[:, self.column] > 0, 7, -2)


@dataclass(frozen=True)
class ByDegree(LabelAssigner):
    """Clusters by the number of neighbours, from the graph itself."""

    needs = "graph"

    def assign(self, given, n_clusters, random_state, engine):
        assert isinstance(given, sparse.csr_array)
        return [f"{count} neighbours" for count in np.diff(given.indptr)]


def test_an_own_assigner_that_needs_the_embedding():
    two = make_multiview(120, n_clusters=2, separation=4.0, random_state=0)
    model = DistanceGraphFusion(n_clusters=2, assign_labels=BySign(), random_state=0).fit(two.views)
    assert ari(two.y, model.labels_) == 1.0
    assert model.labels_[0] == 0  # numbered by first appearance
    expected = canonical_labels(model.embedding_[:, 1] > 0)
    np.testing.assert_array_equal(model.labels_, expected)
    chosen = clone(model).set_params(n_clusters="auto").fit(two.views)
    assert chosen.n_clusters_ == 2
    np.testing.assert_array_equal(chosen.labels_, model.labels_)


def test_an_own_assigner_that_needs_the_graph(sample):
    model = AverageGraph(n_clusters=4, assign_labels=ByDegree(), random_state=0).fit(sample.views)
    expected = canonical_labels(np.diff(model.graph_.indptr))
    np.testing.assert_array_equal(model.labels_, expected)
    assert model.n_clusters_ == expected.max() + 1 != 4
    assert model.cluster_selection_ is None


def test_an_own_assigner_checks_its_settings(sample):
    with pytest.raises(ValueError, match="column must not be negative, got -1"):
        DistanceGraphFusion(n_clusters=2, assign_labels=BySign(-1)).fit(sample.views)


def test_an_own_assigner_that_leaves_clusters_empty_is_warned_about():
    graph, _ = neighbor_graph(60, 8, 0)
    rows = spectral_embedding(graph, 3, random_state=0)
    with pytest.warns(UserWarning, match=r"Only 2 of 3 clusters have samples: .* Lower n_clusters\."):
        label(rows, 3, BySign(), np.random.RandomState(0), engine=get_engine("numba"))


def test_an_assigner_without_settings_has_nothing_to_check():
    assert ByDegree().check() is None
    with pytest.raises(TypeError, match="abstract"):
        LabelAssigner()


# A setting that would have no effect is an error


@pytest.mark.parametrize(
    ("assigner", "setting"),
    [
        (KMeansLabels, "resolution"),
        (ClusterQRLabels, "n_init"),
        (ClusterQRLabels, "resolution"),
        (LeidenLabels, "n_init"),
        (LeidenLabels, "max_iter"),
    ],
)
def test_an_assigner_takes_only_its_own_settings(assigner, setting):
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{setting}'"):
        assigner(**{setting: 3})


@pytest.mark.parametrize("system", systems().values(), ids=systems())
@pytest.mark.parametrize("setting", ["n_init", "resolution"])
def test_settings_of_assigners_are_not_parameters_of_systems(system, setting):
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{setting}'"):
        system(n_clusters=3, **{setting: 3})


@pytest.mark.parametrize("assigner", [ClusterQRLabels(), BySign(), ByDegree()], ids=repr)
@pytest.mark.parametrize("system", ["AASC", "CoReg", "RMSC", "WMSC"])
def test_an_assigner_that_a_system_would_not_use_is_refused(system, assigner, sample):
    with pytest.raises(ValueError) as caught:
        systems()[system](n_clusters=4, assign_labels=assigner).fit(sample.views)
    assert f"assign_labels={assigner!r} needs a system that clusters one graph" in str(caught.value)


TAKES_ASSIGNER = [name for name, system in systems().items() if "assign_labels" in system().get_params()]


@pytest.mark.parametrize("name", TAKES_ASSIGNER)
def test_a_system_that_takes_an_assigner_uses_its_settings(name, monkeypatch):
    seen = []

    class Recorder(embedding.KMeans):
        def __init__(self, n_clusters, *, n_init, max_iter, tol, random_state):
            seen.append((n_init, max_iter))
            super().__init__(n_clusters, n_init=1, max_iter=max_iter, random_state=random_state)

    monkeypatch.setattr(embedding, "KMeans", Recorder)
    views = make_multiview(60, n_clusters=3, separation=3.0, random_state=0).views
    systems()[name](n_clusters=3, assign_labels=KMeansLabels(2, max_iter=55), random_state=0).fit(views)
    # Clusterings that come before: of FastMICE its base, of SGF and DGF those of the single views.
    base = {"FastMICE": {(1, 5)}, "SGF": {(3, 1000)}, "DGF": {(3, 1000)}}.get(name, set())
    assert set(seen) == {(2, 55)} | base
    assert seen[-1] == (2, 55)
