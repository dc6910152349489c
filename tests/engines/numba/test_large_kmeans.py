import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from consilience.engines import get_engine, threads
from consilience.engines.numba import large_kmeans as module
from consilience.engines.numba.large_kmeans import kmeans_of_many, lloyd
from consilience.stages import assign_kmeans


def blobs(n, k, d, spread, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n)
    return (spread * rng.normal(size=(k, d))[y] + rng.normal(size=(n, d))).astype(np.float32), y


def inertia(rows, labels):
    return sum(
        ((rows[labels == c] - rows[labels == c].mean(axis=0)) ** 2).sum(dtype=np.float64)
        for c in np.unique(labels)
    )


def state(seed=0):
    return np.random.RandomState(seed)


def test_lloyd_agrees_with_scikit_learn(monkeypatch):
    monkeypatch.setattr(module, "_BLOCK", 100)
    monkeypatch.setattr(module, "_SETTLED", 0.0)
    rows, _ = blobs(3000, 6, 4, 1.0)
    centres = rows[:6].astype(np.float64)
    found = lloyd(rows, centres, 300)
    model = KMeans(6, init=centres, n_init=1, max_iter=300, tol=0.0).fit(rows.astype(np.float64))
    np.testing.assert_array_equal(found.labels, model.labels_)
    np.testing.assert_allclose(found.centers, model.cluster_centers_, atol=1e-5)


def test_an_empty_cluster_keeps_its_centre():
    rows = np.array([[0.0], [1.0]], dtype=np.float32)
    found = lloyd(rows, np.array([[0.4], [50.0]]), 10)
    np.testing.assert_array_equal(found.labels, [0, 0])
    np.testing.assert_allclose(found.centers.ravel(), [0.5, 50.0])


def test_a_sample_is_as_good_as_all_rows(monkeypatch):
    monkeypatch.setattr(module, "_SAMPLE", 1000)
    rows, _ = blobs(20_000, 8, 6, 1.5)
    found = kmeans_of_many(rows, 8, n_init=10, max_iter=300, unit=False, random_state=state())
    best = inertia(rows, KMeans(8, n_init=10, random_state=0).fit_predict(rows))
    assert inertia(rows, found.labels) <= 1.001 * best


def test_small_clusters_are_in_the_sample(monkeypatch):
    monkeypatch.setattr(module, "_SAMPLE", 300)
    sizes = np.array([19_950, 30, 20])
    y = np.repeat(np.arange(3), sizes)
    drawn, weights = module._sample(1 / sizes[y], 300, state())
    assert np.bincount(y[drawn], minlength=3).tolist()[1:] == [30, 20]
    assert weights.sum() == pytest.approx(20_000, rel=0.2)
    rows = (np.eye(3) / np.sqrt(sizes))[y]  # orthonormal columns: the squares of a cluster add up to 1
    found = kmeans_of_many(rows, 3, n_init=5, max_iter=100, unit=True, random_state=state())
    assert adjusted_rand_score(y, found.labels) == 1.0


def test_the_same_on_two_threads_and_again(monkeypatch):
    monkeypatch.setattr(module, "MANY", 5000)
    rows, _ = blobs(30_000, 12, 12, 1.0)  # they overlap
    labels = []
    for n_jobs in (1, 2, 2):
        with threads.limit(n_jobs):
            labels.append(assign_kmeans(rows, 12, n_init=3, random_state=0))
    np.testing.assert_array_equal(labels[0], labels[1])
    np.testing.assert_array_equal(labels[1], labels[2])


@pytest.mark.parametrize("scale_rows", [True, False])
def test_many_rows_are_labelled_as_few_are(monkeypatch, scale_rows):
    rows, _ = blobs(6000, 5, 5, 4.0)
    rows[[3, 77]] = 0.0
    few = assign_kmeans(rows, 5, n_init=10, scale_rows=scale_rows, random_state=0)
    monkeypatch.setattr(module, "MANY", 5000)
    many = assign_kmeans(rows, 5, n_init=10, scale_rows=scale_rows, random_state=0)
    assert many.dtype == few.dtype
    assert adjusted_rand_score(few, many) > 0.999
    assert (many[[3, 77]] == few[[3, 77]]).all()


def test_more_clusters_than_distinct_rows_is_a_warning(monkeypatch):
    monkeypatch.setattr(module, "MANY", 100)
    rows = np.repeat(np.eye(3), 50, axis=0)
    with pytest.warns(UserWarning, match="Only 3 of 5 clusters"):
        labels = assign_kmeans(rows, 5, random_state=0)
    np.testing.assert_array_equal(labels, np.repeat([0, 1, 2], 50))


def test_no_rows_at_all(monkeypatch):
    monkeypatch.setattr(module, "MANY", 10)
    with pytest.warns(UserWarning, match="Only 1 of 2 clusters"):
        assert not assign_kmeans(np.zeros((20, 2)), 2).any()


@pytest.mark.parametrize("unit", [True, False])
def test_many_rows_are_as_close_to_their_centers_as_with_the_readable_engine(monkeypatch, unit):
    monkeypatch.setattr(module, "MANY", 5000)
    rows, _ = blobs(6000, 5, 5, 4.0)
    rows = rows.astype(np.float64)
    rows[[3, 77]] = 0.0
    settings = {"n_init": 10, "max_iter": 300, "unit": unit, "random_state": 0}
    many, few = (get_engine(name).kmeans(rows, 5, **settings) for name in ("numba", "numpy"))
    assert many.centers.shape == few.centers.shape == (5, 5)
    seen = get_engine("numpy").unit_rows(rows) if unit else rows
    apart = [((seen - one.centers[one.labels]) ** 2).sum() for one in (many, few)]
    assert apart[0] <= 1.001 * apart[1]
    for one in (many, few):
        assert (one.labels[[3, 77]] == np.linalg.norm(one.centers, axis=1).argmin()).all()
