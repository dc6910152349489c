"""Number by number against outputs of the authors' own program (k = 6, beta = 1, gamma = 1e4)."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from consilience.backends import backend_names
from consilience.stages import spectral_clustering, spectral_embedding
from consilience.fusion import Schedule, learn_consistent_graph, pose
from consilience.graph import (
    EdgeSet,
    fused_similarity,
    gaussian_similarity,
    keep_largest,
    standardize,
    symmetrize,
)
from consilience.metrics import clustering_accuracy, ari, nmi, purity
from consilience.neighbors import as_space
from consilience.testing import assert_same_partition
from consilience.views import Views

METRICS = {"MSRC_v1": "euclidean", "UCI_Digits": "euclidean", "BBCSport": "cosine", "3Sources": "cosine"}
N_CLUSTERS = {"MSRC_v1": 7, "UCI_Digits": 10, "BBCSport": 5, "3Sources": 6}
FILES = [(name, method) for name in METRICS for method in ("SGF", "DGF")]
K = 6

by_file = pytest.mark.parametrize(("name", "method"), FILES)


def relative_error(ours, theirs):
    """Return the largest difference relative to the largest entry: sums cancel at best to that."""
    return np.abs(ours - theirs).max() / np.abs(theirs).max()


def edges_of(stored):
    """Return the stored edges as an EdgeSet, and the order that sorts stored edge arrays accordingly."""
    order = np.lexsort((stored["cols"], stored["rows"]))
    n = 1 + max(stored["rows"].max(), stored["cols"].max())
    counts = np.bincount(stored["rows"], minlength=n)
    return EdgeSet(np.concatenate([[0], np.cumsum(counts)]), stored["cols"][order].astype(np.int32)), order


@by_file
@pytest.mark.parametrize("backend", backend_names())
def test_fusion_from_the_stored_weights(golden, name, method, backend):
    stored = golden(f"{name}_{method}")
    problem = pose(stored["weights"], beta=1, gamma=1e4)
    result = learn_consistent_graph(problem, Schedule(backend=backend))
    assert result.n_iter == stored["n_iter"]
    np.testing.assert_allclose(result.history, stored["objective"], rtol=1e-8)
    np.testing.assert_allclose(result.view_scales, stored["alpha"], rtol=1e-8)
    assert relative_error(result.fused, stored["fused"]) < 1e-8


@by_file
@pytest.mark.parametrize("backend", backend_names())
def test_fusion_at_every_cap(golden, name, method, backend):
    stored = golden(f"{name}_{method}")
    problem = pose(stored["weights"], beta=1, gamma=1e4)
    for cap, (scales, fused) in enumerate(
        zip(stored["alpha_by_cap"], stored["fused_by_cap"], strict=True), 1
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            result = learn_consistent_graph(problem, Schedule(backend=backend, max_iter=cap))
        np.testing.assert_allclose(result.view_scales, scales, rtol=1e-8)
        assert relative_error(result.fused, fused) < 1e-8


@pytest.mark.parametrize("name", METRICS)
def test_neighbours_and_distances_from_features(golden, dataset, name):
    stored = golden(f"{name}_SGF")
    views = Views(dataset(name)[0])
    spaces = [as_space(array, METRICS[name]) for array in views.arrays]
    ours = EdgeSet.union([space.nearest(K) for space in spaces])
    theirs, order = edges_of(stored)

    squared = np.stack([space.on_edges(theirs) for space in spaces])
    for i in range(len(spaces)):
        assert relative_error(squared[i], stored["squared_distances"][i][order]) < 1e-8

    # The edge sets differ only in ties: whatever one has beyond the other is, in some view, exactly as far
    # (to rounding in their distances) as the k-th nearest neighbour.
    n = views.n_samples
    key = lambda edges: edges.rows.astype(np.int64) * n + edges.indices  # noqa: E731
    only_ours, only_theirs = np.setdiff1d(key(ours), key(theirs)), np.setdiff1d(key(theirs), key(ours))
    assert len(only_ours) <= 80 and len(only_theirs) <= 80
    for edge in np.concatenate([only_ours, only_theirs]):
        i, j = int(edge // n), int(edge % n)
        assert any(is_tie(space, i, j, n) for space in spaces), f"edge ({i}, {j}) is no tie"


def is_tie(space, i, j, n):
    others = np.delete(np.arange(n), i)
    row = EdgeSet(np.concatenate([np.zeros(i + 1, int), np.full(n - i, n - 1)]), others.astype(np.int32))
    distances = space.on_edges(row)
    to_j = distances[np.flatnonzero(others == j)[0]]
    kth = np.sort(distances)[K - 1]
    return abs(to_j - kth) <= 1e-12 * distances.max()


@by_file
def test_weights_from_distances(golden, name, method):
    stored = golden(f"{name}_{method}")
    for squared, weights in zip(stored["squared_distances"], stored["weights"], strict=True):
        ours = standardize(squared)
        if method == "SGF":
            ours = gaussian_similarity(ours)
        assert relative_error(ours, weights) < 1e-8


@by_file
def test_weights_from_features(golden, dataset, name, method):
    stored = golden(f"{name}_{method}")
    edges, order = edges_of(stored)
    for array, weights in zip(Views(dataset(name)[0]).arrays, stored["weights"], strict=True):
        ours = standardize(as_space(array, METRICS[name]).on_edges(edges))
        if method == "SGF":
            ours = gaussian_similarity(ours)
        assert relative_error(ours, weights[order]) < 1e-8


@by_file
def test_unified_graph_from_the_fused_vector(golden, name, method):
    stored = golden(f"{name}_{method}")
    edges, order = edges_of(stored)
    fused = stored["fused"][order]
    similarity = fused if method == "SGF" else fused_similarity(fused)
    graph = symmetrize(keep_largest(edges, similarity, K))
    n = edges.n_samples
    theirs = sparse.csr_array(
        (stored["graph_values"], (stored["graph_rows"], stored["graph_cols"])), shape=(n, n)
    )
    differs = abs(graph - theirs).tocoo()
    wrong = differs.data > 1e-12 * theirs.max()
    # Which of several equal entries is the k-th largest of a row is anybody's choice.
    directed = edges.to_csr(similarity)
    for i, j in zip(differs.row[wrong], differs.col[wrong], strict=True):
        assert is_kth_tie(directed, i, j) or is_kth_tie(directed, j, i), f"entry ({i}, {j}) is no tie"
    assert wrong.sum() <= 24


def is_kth_tie(directed, i, j):
    row = directed[[i]].toarray()[0]
    stored = np.sort(directed.data[directed.indptr[i] : directed.indptr[i + 1]])[::-1]
    return abs(row[j] - stored[K - 1]) <= 1e-12 * stored[0] and row[j] > 0


@by_file
def test_eigenvalues_and_scores_of_the_stored_graph(golden, dataset, name, method):
    stored = golden(f"{name}_{method}")
    y = dataset(name)[1]
    graph = sparse.csr_array((stored["graph_values"], (stored["graph_rows"], stored["graph_cols"])))
    n_eigenvalues = len(stored["smallest_eigenvalues"])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The graph has .* connected components")
        embedding = spectral_embedding(graph, n_eigenvalues, random_state=0)
        labels = spectral_clustering(graph, N_CLUSTERS[name], random_state=0).labels
    np.testing.assert_allclose(embedding.eigenvalues, stored["smallest_eigenvalues"], atol=1e-8)
    assert_same_partition(labels, stored["labels"].ravel())
    ours = [score(y, labels) for score in (accuracy, ari, nmi, purity)]
    np.testing.assert_allclose(ours, stored["acc_ari_nmi_purity"].ravel(), atol=1e-9)


@by_file
def test_the_exact_solver_ends_no_higher_than_dca_on_real_weights(golden, name, method):
    weights = golden(f"{name}_{method}")["weights"]
    ratios = []
    for beta in (1e-5, 1e-3, 1e-1, 1, 10, 1e3):
        for gamma in (1e-5, 1e-3, 1e-1, 1, 10, 1e3, 1e5):
            problem = pose(weights, beta=beta, gamma=gamma)
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="The fusion collapsed")
                dca, exact = (learn_consistent_graph(problem, Schedule(solver=s)) for s in ("dca", "exact"))
            for history in (dca.history, exact.history):
                assert np.diff(history).max() <= 1e-13 * history[0]
            ratios.append(exact.history[-1] / dca.history[-1])
    assert max(ratios) <= 1 + 1e-5
    assert min(ratios) < 0.7  # and far lower where there is something to gain
