"""Number by number against outputs of the authors' own program (k = 6, beta = 1, gamma = 1e4)."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from tests.engines.names import HOST_ENGINES

from consilience import fusion
from consilience.engines import get_engine
from consilience.fusion import Schedule, learn_consistent_graph
from consilience.graphs import EdgeKernel, EdgeSet
from consilience.metrics import ari, clustering_accuracy, nmi, purity
from consilience.spaces import Space
from consilience.stages import spectral_clustering, spectral_embedding
from consilience.testing import assert_same_partition
from consilience.views import Views

METRICS = {"MSRC_v1": "euclidean", "UCI_Digits": "euclidean", "BBCSport": "cosine", "3Sources": "cosine"}
N_CLUSTERS = {"MSRC_v1": 7, "UCI_Digits": 10, "BBCSport": 5, "3Sources": 6}
FILES = [(name, method) for name in METRICS for method in ("SGF", "DGF")]
K = 6

by_file = pytest.mark.parametrize(("name", "method"), FILES)
every_engine = pytest.mark.parametrize(
    "engine", [get_engine(name) for name in HOST_ENGINES], ids=HOST_ENGINES
)
SMALL = ("MSRC_v1", "3Sources")  # the readable engine is slow with the features of the others


def learn(weights, engine, beta=1.0, gamma=1e4, **schedule):
    """Fuse weights on edges, and return the result with arrays."""
    problem = fusion.pose(weights, beta=beta, gamma=gamma, engine=engine)
    return learn_consistent_graph(problem, Schedule(**schedule), engine).fetched(engine)


def of_features(names):
    """Return the engines to measure the features of each data set with."""
    return [
        pytest.param(*one, get_engine(engine), id="-".join((*one, engine)))
        for one in names
        for engine in HOST_ENGINES
        if engine != "numpy" or one[0] in SMALL
    ]


def placed(engine, array, metric):
    return engine.place(Space("view", array, metric))


def measured(engine, points, edges):
    return engine.fetch(engine.measure(points, engine.adopt(edges)))


def weighed(engine, squared, method):
    """Return the weights of squared distances: standardised (DGF), then similarities (SGF)."""
    values = engine.adopt(squared)
    kernel = EdgeKernel(moments=engine.moments(values, None, 0))
    if method == "SGF":
        sigma = engine.mean_root(values, None, 0, kernel)
        kernel = EdgeKernel(moments=kernel.moments, width=2 * sigma**2)
    return engine.fetch(engine.transform(values, kernel))


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
@every_engine
def test_fusion_from_the_stored_weights(golden, name, method, engine):
    stored = golden(f"{name}_{method}")
    result = learn(stored["weights"], engine)
    assert result.n_iter == stored["n_iter"]
    np.testing.assert_allclose(result.history, stored["objective"], rtol=1e-8)
    np.testing.assert_allclose(result.view_scales, stored["alpha"], rtol=1e-8)
    assert relative_error(result.fused, stored["fused"]) < 1e-8


@by_file
@every_engine
def test_fusion_at_every_cap(golden, name, method, engine):
    stored = golden(f"{name}_{method}")
    for cap, (scales, fused) in enumerate(
        zip(stored["alpha_by_cap"], stored["fused_by_cap"], strict=True), 1
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            result = learn(stored["weights"], engine, max_iter=cap)
        np.testing.assert_allclose(result.view_scales, scales, rtol=1e-8)
        assert relative_error(result.fused, fused) < 1e-8


@pytest.mark.parametrize(("name", "engine"), of_features([(name,) for name in METRICS]))
def test_neighbours_and_distances_from_features(golden, dataset, name, engine):
    stored = golden(f"{name}_SGF")
    views = Views(dataset(name)[0])
    points = [placed(engine, array, METRICS[name]) for array in views.arrays]
    ours = engine.fetch(engine.unite([engine.nearest(one, K).lists for one in points], None))
    theirs, order = edges_of(stored)

    squared = np.stack([measured(engine, one, theirs) for one in points])
    for i in range(len(points)):
        assert relative_error(squared[i], stored["squared_distances"][i][order]) < 1e-8

    # The edge sets differ only in ties: whatever one has beyond the other is, in some view, exactly as far
    # (to rounding in their distances) as the k-th nearest neighbour.
    n = views.n_samples
    key = lambda edges: edges.rows.astype(np.int64) * n + edges.indices  # noqa: E731
    only_ours, only_theirs = np.setdiff1d(key(ours), key(theirs)), np.setdiff1d(key(theirs), key(ours))
    assert len(only_ours) <= 80 and len(only_theirs) <= 80
    doubtful = np.concatenate([only_ours, only_theirs])
    starts, ends = doubtful // n, doubtful % n
    is_tie = np.any([are_ties(engine, one, starts, ends, n) for one in points], axis=0)
    assert is_tie.all(), f"the edges {doubtful[~is_tie]} are no ties"


def are_ties(engine, points, starts, ends, n):
    """Say for each pair of samples whether the second is as far from the first as its k-th nearest."""
    whole = np.unique(starts)
    counts = np.isin(np.arange(n), whole) * (n - 1)
    others = np.array([np.delete(np.arange(n), i) for i in whole], dtype=np.int32).reshape(len(whole), n - 1)
    rows = EdgeSet(np.concatenate([[0], np.cumsum(counts)]), others.ravel())
    distances = measured(engine, points, rows).reshape(len(whole), n - 1)[np.searchsorted(whole, starts)]
    to_end = distances[np.arange(len(starts)), ends - (ends > starts)]
    kth = np.sort(distances, axis=1)[:, K - 1]
    return np.abs(to_end - kth) <= 1e-12 * distances.max(axis=1, initial=0.0)


@by_file
@every_engine
def test_weights_from_distances(golden, name, method, engine):
    stored = golden(f"{name}_{method}")
    for squared, weights in zip(stored["squared_distances"], stored["weights"], strict=True):
        assert relative_error(weighed(engine, squared, method), weights) < 1e-8


@pytest.mark.parametrize(("name", "method", "engine"), of_features(FILES))
def test_weights_from_features(golden, dataset, name, method, engine):
    stored = golden(f"{name}_{method}")
    edges, order = edges_of(stored)
    for array, weights in zip(Views(dataset(name)[0]).arrays, stored["weights"], strict=True):
        squared = measured(engine, placed(engine, array, METRICS[name]), edges)
        assert relative_error(weighed(engine, squared, method), weights[order]) < 1e-8


@by_file
@every_engine
def test_unified_graph_from_the_fused_vector(golden, name, method, engine):
    stored = golden(f"{name}_{method}")
    edges, order = edges_of(stored)
    fused = engine.adopt(stored["fused"][order])
    kernel = EdgeKernel() if method == "SGF" else EdgeKernel(width=2 * engine.mean(fused))
    similarity = engine.transform(fused, kernel)
    graph = engine.fetch(engine.sparsify(engine.adopt(edges), similarity, K))
    n = edges.n_samples
    theirs = sparse.csr_array(
        (stored["graph_values"], (stored["graph_rows"], stored["graph_cols"])), shape=(n, n)
    )
    differs = abs(graph - theirs).tocoo()
    wrong = differs.data > 1e-12 * theirs.max()
    # Which of several equal entries is the k-th largest of a row is anybody's choice.
    directed = edges.to_csr(engine.fetch(similarity))
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
    ours = [score(y, labels) for score in (clustering_accuracy, ari, nmi, purity)]
    np.testing.assert_allclose(ours, stored["acc_ari_nmi_purity"].ravel(), atol=1e-9)


@by_file
def test_the_exact_solver_ends_no_higher_than_dca_on_real_weights(golden, name, method):
    weights = golden(f"{name}_{method}")["weights"]
    engine, ratios = get_engine("numba"), []
    for beta in (1e-5, 1e-3, 1e-1, 1, 10, 1e3):
        for gamma in (1e-5, 1e-3, 1e-1, 1, 10, 1e3, 1e5):
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="The fusion collapsed")
                dca, exact = (learn(weights, engine, beta, gamma, solver=s) for s in ("dca", "exact"))
            for history in (dca.history, exact.history):
                assert np.diff(history).max() <= 1e-13 * history[0]
            ratios.append(exact.history[-1] / dca.history[-1])
    assert max(ratios) <= 1 + 1e-5
    assert min(ratios) < 0.7  # and far lower where there is something to gain
