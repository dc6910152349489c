"""k-means on a device, next to the other engines' and to scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

torch = pytest.importorskip("torch", reason="needs the extra 'gpu': consilience[gpu]")

from consilience.engines import embedding
from consilience.engines.torch import device as devices
from consilience.engines.torch import kmeans as on_device
from consilience.engines.torch.device import Device

CPU = Device.of("cpu")


def kmeans(x, c, unit=False, n_init=5, max_iter=300, seed=0):
    settings = {"n_init": n_init, "max_iter": max_iter, "unit": unit, "random_state": seed}
    return on_device.kmeans(torch.from_numpy(x), c, **settings, device=CPU)


def oracle(x, c, unit=False, n_init=5, max_iter=300, seed=0):
    return embedding.kmeans(x, c, n_init=n_init, max_iter=max_iter, unit=unit, random_state=seed)


def inertia(x, found):
    return ((x - found.centers[found.labels]) ** 2).sum()


@pytest.fixture
def many(monkeypatch):
    """Let all rows be many."""
    monkeypatch.setattr(on_device, "FEW", 0)


def test_few_rows_are_clustered_as_by_other_engines():
    x = np.random.default_rng(0).normal(size=(300, 4))
    found, expected = kmeans(x, 5, unit=True), oracle(x, 5, unit=True)
    np.testing.assert_array_equal(found.labels, expected.labels)
    np.testing.assert_array_equal(found.centers, expected.centers)


@pytest.mark.parametrize("unit", [True, False])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_as_good_as_scikit_learn(many, unit, seed):
    x, _ = make_blobs(1500, 6, centers=8, cluster_std=2.0, random_state=seed)
    found, expected = kmeans(x, 8, unit, n_init=20, seed=seed), oracle(x, 8, unit, n_init=20)
    rows = embedding.unit_rows(x) if unit else x
    assert inertia(rows, found) <= 1.001 * inertia(rows, expected)
    assert adjusted_rand_score(found.labels, expected.labels) > 0.9
    assert found.labels.dtype == np.intp and found.centers.dtype == np.float64
    apart = ((rows[:, None] - found.centers) ** 2).sum(axis=2)
    np.testing.assert_array_equal(found.labels, apart.argmin(axis=1))
    np.testing.assert_allclose(found.centers[3], rows[found.labels == 3].mean(axis=0))


def test_a_sample_finds_small_clusters(many, monkeypatch):
    monkeypatch.setattr(on_device, "_SAMPLE", 300)
    monkeypatch.setattr(on_device, "_PER_CLUSTER", 10)
    # An orthonormal embedding of four groups, one very small.
    sizes = np.array([2000, 1500, 1490, 10])
    truth = np.repeat(np.arange(4), sizes)
    x = np.eye(4)[truth] / np.sqrt(sizes)[truth, None]
    x += 1e-4 * np.random.default_rng(0).normal(size=x.shape)
    for seed in range(3):
        assert adjusted_rand_score(truth, kmeans(x, 4, unit=True, seed=seed).labels) == 1.0


def test_the_same_in_every_run_and_with_small_blocks(many, monkeypatch):
    x, _ = make_blobs(800, 5, centers=6, cluster_std=2.0, random_state=0)
    first, again = kmeans(x, 6), kmeans(x, 6)
    np.testing.assert_array_equal(first.labels, again.labels)
    np.testing.assert_array_equal(first.centers, again.centers)
    monkeypatch.setitem(devices._BLOCK_BYTES, "cpu", 4096)
    small = kmeans(x, 6)
    np.testing.assert_array_equal(first.labels, small.labels)
    np.testing.assert_allclose(first.centers, small.centers)


def test_the_random_state_goes_on(many):
    x, state = np.random.default_rng(0).normal(size=(400, 5)), np.random.RandomState(0)
    one, two = kmeans(x, 5, n_init=1, seed=state), kmeans(x, 5, n_init=1, seed=state)
    assert not np.array_equal(one.labels, two.labels)


def test_rows_of_zeros_go_to_the_nearest_centre(many):
    x = np.concatenate([np.zeros((3, 2)), [[1.0, 0.0]] * 50, [[5.0, 5.0]] * 50, np.zeros((1, 2))])
    found = kmeans(x, 2)
    np.testing.assert_array_equal(np.unique(found.centers, axis=0), [[1.0, 0.0], [5.0, 5.0]])
    assert len(set(found.labels[[0, 1, 2, 3, -1]])) == 1 and found.labels[60] != found.labels[0]


@pytest.mark.parametrize("unit", [True, False])
def test_all_rows_of_zeros(many, unit):
    found, expected = kmeans(np.zeros((5, 3)), 2, unit), oracle(np.zeros((5, 3)), 2, unit)
    np.testing.assert_array_equal(found.labels, expected.labels)
    np.testing.assert_array_equal(found.centers, expected.centers)


@pytest.mark.parametrize("x", [np.ones((20, 3)), np.repeat([[1.0, 2.0], [3.0, 4.0]], 10, axis=0)])
def test_fewer_distinct_rows_than_clusters(many, x):
    found, expected = kmeans(x, 4), oracle(x, 4)
    assert found.centers.shape == expected.centers.shape
    assert adjusted_rand_score(found.labels, expected.labels) == 1.0
    assert inertia(x, found) < 1e-20


def test_fewer_rows_than_clusters(many):
    x = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    assert kmeans(x, 5).centers.shape == oracle(x, 5).centers.shape == (2, 2)


@pytest.mark.parametrize("max_iter", [1, 2])
def test_few_iterations(many, max_iter):
    x = np.random.default_rng(0).normal(size=(500, 3))
    found = kmeans(x, 4, max_iter=max_iter)
    apart = ((x[:, None] - found.centers) ** 2).sum(axis=2)
    np.testing.assert_array_equal(found.labels, apart.argmin(axis=1))


def test_one_cluster(many):
    x = np.random.default_rng(0).normal(size=(50, 3))
    found = kmeans(x, 1)
    assert not found.labels.any()
    np.testing.assert_allclose(found.centers[0], x.mean(axis=0))


def test_unit_rows(monkeypatch):
    x = np.random.default_rng(0).normal(size=(200, 3))
    x[0], x[1], x[2] = 0.0, [1e-200, 0.0, 1e-200], [1e200, 1e200, 0.0]
    expected = embedding.unit_rows(x)
    np.testing.assert_allclose(on_device.unit_rows(torch.from_numpy(x), CPU).numpy(), expected, rtol=1e-14)
    monkeypatch.setitem(devices._BLOCK_BYTES, "cpu", 1000)
    np.testing.assert_allclose(on_device.unit_rows(torch.from_numpy(x), CPU).numpy(), expected, rtol=1e-14)
