"""Placed views on a device, next to those of the readable engine."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

torch = pytest.importorskip("torch", reason="needs the extra 'gpu': consilience[gpu]")

from consilience.engines import get_engine
from consilience.engines.torch import device as devices
from consilience.engines.torch.device import Device
from consilience.engines.torch.handles import DeviceEdges
from consilience.engines.torch.points import (
    features,
    ties,
)
from consilience.engines.torch.points import placing as points
from consilience.engines.torch.points.cached import CachedPoints
from consilience.engines.torch.points.host import HostPoints
from consilience.engines.torch.points.wrappers import MaskedPoints
from consilience.engines.torch.search import regions
from consilience.graphs import EdgeSet
from consilience.spaces import Scaling, Space

CPU, ORACLE = Device.of("cpu"), get_engine("numpy")
N = 120
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 5))
COUNTS = sparse.csr_array(RNG.poisson(0.2, size=(N, 30)).astype(float))
SEEN = RNG.random(N) < 0.7
SPACES = {
    "euclidean": Space("a", X, "euclidean"),
    "single precision": Space("a", X.astype(np.float32), "euclidean"),
    "standardised": Space("a", X, "euclidean", Scaling.standard(X, None, ORACLE)),
    "cosine": Space("a", X, "cosine"),
    "correlation": Space("a", X, "correlation"),
    "counts": Space("a", COUNTS, "cosine"),
    "sparse": Space("a", COUNTS, "euclidean"),
    "thin": Space("a", np.where(X > 1.6, X, 0.0), "cosine"),
    "missing samples": Space("a", X, "cosine", seen=SEEN),
    "one sample seen": Space("a", X, "euclidean", seen=np.arange(N) == 3),
    "ties": Space("a", np.round(X[:, :2]), "euclidean"),
    "manhattan": Space("a", X, "manhattan"),
    "matrix": Space("a", np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2)), "precomputed_similarity"),
    "graph": Space("a", sparse.csr_array(np.exp(-(X[:, :1] ** 2)) * (X @ X.T > 2)), "precomputed_similarity"),
}
every_space = pytest.mark.parametrize("name", SPACES)


def placed(name):
    return points.place(SPACES[name], CPU), ORACLE.place(SPACES[name])


def some_edges(lists):
    return EdgeSet.union([np.asarray(lists)])


@every_space
def test_the_same_neighbours_and_values(name):
    own, theirs = placed(name)
    found, expected = points.nearest(own, 6), ORACLE.nearest(theirs, 6)
    assert found.lists.dtype == torch.int32 and found.report.search == "exact"
    np.testing.assert_array_equal(found.lists, expected.lists)
    edges = some_edges(expected.lists)
    values = points.measure(own, DeviceEdges.put(edges, CPU), found.known)
    assert values.dtype == torch.float64
    np.testing.assert_allclose(values, ORACLE.measure(theirs, edges), rtol=1e-9, atol=1e-15)
    assert points.is_constant(own) == ORACLE.is_constant(theirs)
    if SPACES[name].is_complete:
        mean = ORACLE.mean_over_pairs(theirs)
        assert points.mean_over_pairs(own) == pytest.approx(mean, rel=1e-9)


@every_space
def test_subsets_and_caches(name):
    own, theirs = placed(name)
    rows = np.flatnonzero(np.arange(N) % 3 > 0)
    cached = points.cached(own)
    part, expected = points.subset(cached, rows, N), ORACLE.subset(theirs, rows, N)
    lists = ORACLE.nearest(expected, 5).lists
    np.testing.assert_array_equal(points.nearest(part, 5).lists, lists)
    edges = some_edges(lists)
    for _ in range(2):
        values = points.measure(part, DeviceEdges.put(edges, CPU))
        np.testing.assert_allclose(values, ORACLE.measure(expected, edges), rtol=1e-9, atol=1e-15)
        values[:] = 0  # what is done to an answer does not come back
    np.testing.assert_array_equal(points.nearest(cached, 4).lists, points.nearest(own, 4).lists)
    queries = SPACES[name].rows[:3]
    new, other = points.query(part, queries), ORACLE.query(expected, queries)
    np.testing.assert_array_equal(points.nearest_new(new, 90), ORACLE.nearest_new(other, 90))


@every_space
def test_new_samples(name):
    own, theirs = placed(name)
    rows = SPACES[name].rows[:7]
    new, other = points.query(own, rows), ORACLE.query(theirs, rows)
    lists = ORACLE.nearest_new(other, 6)
    np.testing.assert_array_equal(points.nearest_new(new, 6), lists)
    asked = np.isin(np.arange(10), [0, 1, 3, 4, 6, 8, 9])
    edges = ORACLE.unite_new([lists], asked[:, None], [SPACES[name].seen])
    if edges.n_edges:
        values = points.measure_new(new, DeviceEdges.put(edges, CPU), asked)
        np.testing.assert_allclose(values, ORACLE.measure_new(other, edges, asked), rtol=1e-9, atol=1e-15)


def test_a_sample_that_comes_again_is_measured_to_the_same_bits():
    everyone, edges = np.ones(N, dtype=bool), EdgeSet(np.arange(N + 1) * N, np.tile(np.arange(N), N))
    for name in ("euclidean", "cosine", "correlation", "counts", "sparse"):
        own, _ = placed(name)
        on_all = DeviceEdges.put(edges, CPU)
        values = points.measure(own, on_all).view(N, N)
        np.testing.assert_array_equal(values, values.T)
        again = points.measure_new(points.query(own, SPACES[name].rows), on_all, everyone).view(N, N)
        blank = own.rows.blank.numpy()
        np.testing.assert_array_equal(again[~blank], values[~blank])


@every_space
def test_ties_are_drawn_as_by_the_readable_engine(name):
    own, theirs = placed(name)
    lists = ORACLE.nearest(theirs, 6).lists
    found = ties.break_ties(own, torch.from_numpy(lists), (N, 1))
    expected = ORACLE.break_ties(theirs, lists, (N, 1))
    assert found.dtype == torch.int32
    np.testing.assert_array_equal(np.sort(found, axis=1), np.sort(expected, axis=1))
    assert np.array_equal(found, lists) == np.array_equal(expected, lists)


def test_ties_in_blocks_are_the_same(monkeypatch):
    own, _ = placed("ties")
    lists = points.nearest(own, 5).lists
    whole = ties.break_ties(own, lists, (N, 0))
    assert not torch.equal(whole, lists)
    monkeypatch.setitem(devices._BLOCK_BYTES, "cpu", 1000)
    np.testing.assert_array_equal(ties.break_ties(own, lists, (N, 0)), whole)


def test_restricted_lists():
    lists = ORACLE.nearest(placed("euclidean")[1], 4).lists
    some = np.arange(N) % 4 == 1
    np.testing.assert_array_equal(
        ties.restrict(torch.from_numpy(lists), some, CPU), ORACLE.restrict(lists, some)
    )


def test_where_views_are():
    assert isinstance(placed("matrix")[0], HostPoints) and isinstance(placed("manhattan")[0], HostPoints)
    assert isinstance(placed("missing samples")[0], MaskedPoints)
    assert isinstance(points.cached(placed("thin")[0]), CachedPoints)
    columns = points.describe(X, SEEN)
    np.testing.assert_allclose(columns.mean, X[SEEN].mean(axis=0))


def test_answers_are_kept_for_a_few_sets_of_edges():
    cached = points.cached(placed("euclidean")[0])
    for k in range(1, 9):
        edges = DeviceEdges.put(some_edges(points.nearest(cached, k).lists), CPU)
        first = points.measure(cached, edges)
        copy = DeviceEdges(edges.indptr.clone(), edges.indices.clone())
        np.testing.assert_array_equal(cached.kept(copy), first)
    assert len(cached._measured) == 4


def test_edges_that_lead_nowhere_are_refused():
    queries = points.query(placed("euclidean")[0], X[:2])
    edges = DeviceEdges.put(EdgeSet(np.array([0, 1, 2]), np.array([3, N])), CPU)
    with pytest.raises(ValueError, match=f"sample {N}, and the view has samples 0 to {N - 1}"):
        points.measure_new(queries, edges, np.ones(2, dtype=bool))
    with pytest.raises(ValueError, match="of 3 new samples, there are 2"):
        points.measure_new(queries, edges, np.ones(3, dtype=bool))


def test_wrong_views_and_new_samples_are_refused():
    with pytest.raises(ValueError, match="does not take the sparse view"):
        points.place(Space("a", COUNTS, "correlation"), CPU)
    whole = points.place(Space("a", np.arange(8)[:, None], "euclidean"), CPU)
    assert points.nearest(whole, 1).lists[3] == 2
    with pytest.raises(ValueError, match="too large for numbers"):
        points.place(Space("a", np.array([[1e200], [-1e200]]), "euclidean"), CPU)
    with pytest.raises(ValueError, match="have 4 features, those of the view 5"):
        points.query(placed("euclidean")[0], X[:, :4])
    with pytest.raises(ValueError, match="New sample 0 holds NaN"):
        points.query(placed("euclidean")[0], np.full((1, 5), np.nan))


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "correlation"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_approximate_search_finds_most(metric, dtype):
    rng = np.random.default_rng(1)
    x = (rng.normal(size=(1500, 3)) @ rng.normal(size=(3, 12)) + 2.0).astype(dtype)
    x[[4, 900]] = 0
    own = points.place(Space("a", x, metric), CPU)
    exact, found = points.nearest(own, 8), points.nearest(own, 8, "approximate")
    assert found.report.search == "approximate"
    assert (found.lists[..., None] == exact.lists[:, None]).any(dim=2).double().mean() > 0.97
    assert torch.equal(points.nearest(own, 8, "auto").lists, exact.lists)
    if metric != "euclidean":  # rows without a direction are equally far from all
        np.testing.assert_array_equal(found.lists[4], [0, 1, 2, 3, 5, 6, 7, 8])


def words(n, d, rng):
    """Counts of words in short texts of some topics."""
    topics = rng.dirichlet(np.full(d, 0.02), 12)[rng.integers(0, 12, n)]
    return sparse.csr_array(np.minimum(rng.poisson(30 * topics), 5).astype(float))


@pytest.mark.parametrize("d", [200, 700])  # with more columns than a sketch has, too
def test_the_approximate_search_of_sparse_rows(d, recwarn):
    own = points.place(Space("a", words(1500, d, np.random.default_rng(2)), "cosine"), CPU)
    exact, found = points.nearest(own, 8), points.nearest(own, 8, "approximate")
    shared = (found.lists[..., None] == exact.lists[:, None]).any(dim=2).double().mean()
    assert found.report.search == "approximate" and shared > 0.8
    assert found.report.recall >= shared - 0.05  # any of equally far ones is right


def test_too_few_neighbours_found(monkeypatch):
    x = sparse.random_array((1500, 700), density=0.02, rng=np.random.default_rng(3), format="csr")
    own = points.place(Space("noise", x, "cosine"), CPU)
    monkeypatch.setattr(features, "_WIDER", 1)
    with pytest.warns(UserWarning, match="View 'noise': the approximate search found"):
        points.nearest(own, 8, "approximate")
    monkeypatch.setitem(regions.FEWEST_SAMPLES, "cpu", 1000)
    found = points.nearest(own, 8, "auto")  # that compares all pairs then
    assert found.report.search == "exact" and torch.equal(found.lists, points.nearest(own, 8).lists)
