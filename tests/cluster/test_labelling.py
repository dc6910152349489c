"""Reading labels off a graph: cluster_qr and Leiden beside k-means."""

from __future__ import annotations

import random
import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster._spectral import cluster_qr

from consilience import PAPER, DistanceGraphFusion, make_multiview
from consilience.cluster import SNF, AverageGraph, CoReg, spectral_embedding
from consilience.cluster.leiden import leiden_communities
from consilience.cluster.spectral import assign_cluster_qr, canonical_labels
from consilience.metrics import ari
from consilience.testing import assert_same_partition

PAIR = np.array([[0.0, 1.0], [1.0, 0.0]])


@pytest.fixture(scope="module")
def sample():
    return make_multiview(300, n_clusters=4, random_state=0)


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


def test_the_paper_reads_labels_by_kmeans():
    assert (PAPER["assign_labels"], PAPER["n_init"]) == ("kmeans", 30)


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
    finer = clone(model).set_params(resolution=5.0).fit(sample.views)
    assert finer.n_clusters_ > 4
