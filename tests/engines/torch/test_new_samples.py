"""Edges from new samples and their votes, against the functions for arrays."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'gpu': consilience[gpu]")

from consilience.engines import get_engine
from consilience.engines import new_samples as oracle
from consilience.engines.torch import new_samples
from consilience.engines.torch.device import Device

CPU, ORACLE = Device.of("cpu"), get_engine("numpy")
N, M, K, V = 60, 25, 5, 3


def problem(missing, seed=0):
    """Return the lists of new samples, which were asked, and which samples of the fit each view has seen."""
    rng = np.random.default_rng(seed)
    asked = rng.random((M, V)) < 0.6 if missing else np.ones((M, V), dtype=bool)
    asked[:, 0] |= ~asked.any(axis=1)
    masks = [None, rng.random(N) < 0.7, None] if missing else [None] * V
    if missing:
        asked[:, 2] = False
    lists = []
    for one, mask in zip(asked.T, masks, strict=True):
        of = np.arange(N) if mask is None else np.flatnonzero(mask)
        near = np.array([rng.permutation(of)[:K] for _ in range(one.sum())], dtype=np.int32)
        if len(near):
            near[0, -1] = -1
        lists.append(near if len(near) else None)
    return lists, asked, masks


def both(missing):
    lists, asked, masks = problem(missing)
    given = [None if one is None else torch.from_numpy(one) for one in lists]
    return new_samples.unite_new(given, asked, masks, CPU), oracle.unite_new(lists, asked, masks)


@pytest.mark.parametrize("missing", [False, True])
def test_edges_and_the_trust_in_their_ends(missing):
    edges, expected = both(missing)
    assert edges.get() == expected and (edges.seen is None) == (not missing)
    trust = np.random.default_rng(1).random((N, V))
    found = new_samples.trust_of_ends(edges, torch.from_numpy(trust))
    np.testing.assert_array_equal(found, oracle.trust_of_ends(expected, trust))
    assert found.is_contiguous()


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("some", ["some", "none", "all"])
def test_edges_of_those_that_were_asked(missing, some):
    edges, expected = both(missing)
    asked = {"some": np.arange(M) % 3 > 0, "none": np.zeros(M, bool), "all": np.ones(M, bool)}[some]
    asked.setflags(write=False)
    (own, inside), theirs = new_samples.edges_of_asked(edges, asked), oracle.edges_of_asked(expected, asked)
    assert own.get() == theirs[0]
    np.testing.assert_array_equal(inside, theirs[1])


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("views", [(), (1,), (0, 2), (0, 1, 2)])
def test_coinciding(missing, views):
    edges, expected = both(missing)
    rng = np.random.default_rng(2)
    parts = [(view, rng.integers(0, 2, expected.n_edges) / 2.0) for view in views]
    found = new_samples.coinciding(edges, [(view, torch.from_numpy(one)) for view, one in parts], V)
    np.testing.assert_array_equal(found, oracle.coinciding(expected, parts, V))


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("copies", [0.0, 0.05])
def test_votes_for_clusters(missing, dtype, copies):
    edges, expected = both(missing)
    rng = np.random.default_rng(3)
    values = rng.random(expected.n_edges).round(1).astype(dtype)
    same = rng.random(expected.n_edges) < copies
    labels = rng.integers(0, 4, N)
    kept = ORACLE.mark_strongest(expected, values, K)
    marks = [torch.from_numpy(one) for one in (values, kept, same)]
    found = new_samples._count_votes(edges, *marks, labels, 5)
    np.testing.assert_allclose(found, oracle.count_votes(expected, values, kept, same, labels, 5), rtol=1e-12)
    assert found.dtype == np.float64 and found.shape == (M, 5)


def test_the_strongest_edges_vote():
    pytest.importorskip("consilience.engines.torch.graphs")
    edges, expected = both(True)
    values, same = np.random.default_rng(4).random(expected.n_edges), np.zeros(expected.n_edges, dtype=bool)
    labels = np.arange(N) % 4
    found = new_samples.cluster_shares(edges, torch.from_numpy(values), torch.from_numpy(same), labels, 4, 3)
    np.testing.assert_allclose(found, ORACLE.cluster_shares(expected, values, same, labels, 4, 3), rtol=1e-12)
