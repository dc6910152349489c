from itertools import combinations

import numpy as np
import pytest
from scipy.ndimage import label
from sklearn.cluster import SpectralClustering
from sklearn.neighbors import NearestNeighbors

from consilience.datasets import digits, load_digits_views
from consilience.metrics import nmi

NAMES = ["pixels", "fourier", "gradients", "profiles", "moments", "topology"]


@pytest.fixture(scope="module")
def bunch():
    return load_digits_views()


def blank(n=1):
    return np.zeros((n, 8, 8))


def test_contents(bunch):
    assert list(bunch.views) == NAMES
    assert bunch.target.shape == (1797,)
    assert bunch.target.dtype == np.int64
    assert sorted(set(bunch.target.tolist())) == list(range(10)) == bunch.target_names.tolist()
    assert bunch.images.shape == (1797, 8, 8)
    assert (bunch.images.min(), bunch.images.max()) == (0, 16)


@pytest.mark.parametrize("name", NAMES)
def test_view_is_well_formed(bunch, name):
    X = bunch.views[name]
    assert X.dtype == np.float64
    assert len(X) == 1797
    assert X.flags.c_contiguous and X.flags.writeable
    assert np.isfinite(X).all()
    assert np.ptp(X, axis=0).min() > 1e-3, "a constant column"
    assert len(np.unique(X, axis=0)) == len(X), "two digits with the same features"


def test_description_agrees_with_the_views(bunch):
    rows = [line.split() for line in bunch.DESCR.splitlines()]
    described = {row[0]: int(row[1]) for row in rows if len(row) > 2 and row[1].isdigit()}
    assert {name: described.get(name) for name in NAMES} == {
        name: X.shape[1] for name, X in bunch.views.items()
    }


def test_return_X_y(bunch):
    views, y = load_digits_views(return_X_y=True)
    assert list(views) == NAMES
    assert type(views) is dict
    np.testing.assert_array_equal(y, bunch.target)
    for name in NAMES:
        np.testing.assert_array_equal(views[name], bunch.views[name])


def test_arrays_are_fresh_and_do_not_share_memory():
    first, second = load_digits_views(), load_digits_views()
    arrays = [*first.views.values(), first.images, first.target]
    for a, b in combinations(arrays, 2):
        assert not np.shares_memory(a, b)
    for a, b in zip(arrays, [*second.views.values(), second.images, second.target], strict=True):
        a[:] = -1
        assert not np.shares_memory(a, b)
        assert not (b == -1).all()


@pytest.mark.parametrize("k", [6, 10, 20])
def test_views_have_different_neighbors(bunch, k):
    neighbors = {}
    for name, X in bunch.views.items():
        found = NearestNeighbors(n_neighbors=k).fit(X).kneighbors(return_distance=False)
        neighbors[name] = np.zeros((len(X), len(X)), dtype=bool)
        np.put_along_axis(neighbors[name], found, True, axis=1)
    for a, b in combinations(NAMES, 2):
        overlap = (neighbors[a] & neighbors[b]).sum(axis=1).mean() / k
        assert overlap < 0.6, f"{a} and {b} share {overlap:.2f} of their neighbours"
        assert overlap > 2 * k / 1797, f"{a} and {b} agree no better than by chance"


# Measured: 0.83, 0.66, 0.78, 0.60, 0.56, 0.55, the same to 0.002 for five seeds.
@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("pixels", 0.78, 0.88),
        ("fourier", 0.60, 0.72),
        ("gradients", 0.72, 0.83),
        ("profiles", 0.54, 0.66),
        ("moments", 0.50, 0.62),
        ("topology", 0.48, 0.60),
    ],
)
@pytest.mark.filterwarnings("ignore:Graph is not fully connected")
def test_quality_of_each_view_alone(bunch, name, low, high):
    model = SpectralClustering(10, affinity="nearest_neighbors", n_neighbors=10, random_state=0)
    assert low < nmi(bunch.target, model.fit_predict(bunch.views[name])) < high


def test_fourier_does_not_change_when_the_digit_moves():
    images = blank(2)
    images[0, 1:5, 2:6] = np.arange(16).reshape(4, 4) / 16
    images[1] = np.roll(images[0], (2, -1), axis=(0, 1))
    X = digits._fourier(images)
    np.testing.assert_allclose(X[0], X[1], atol=1e-12)
    assert not np.allclose(digits._profiles(images)[0], digits._profiles(images)[1])


def test_fourier_against_the_sum():
    image = np.random.default_rng(0).random((1, 8, 8))
    place = np.arange(8)
    expected = [
        abs((image[0] * np.exp(-2j * np.pi * (u * place[:, None] + v * place) / 16)).sum())
        for u in range(-4, 5)
        for v in range(5)
        if u**2 + v**2 <= 16 and (v > 0 or u > 0)
    ]
    np.testing.assert_allclose(np.sort(digits._fourier(image)[0]), np.sort(expected))


def test_gradients_point_uphill():
    ramp = np.tile(np.arange(8) / 8, (1, 8, 1))
    rightward = digits._gradients(ramp).reshape(2, 2, 8)
    # Direction 0 is to the right, 2 is down; the borders add up, down and left in the outer quarters.
    assert rightward[0, 0].argmax() == 0
    downward = digits._gradients(ramp.transpose(0, 2, 1)).reshape(2, 2, 8)
    assert downward[0, 0].argmax() == 2
    np.testing.assert_allclose(np.linalg.norm(rightward), 1)


def test_gradients_do_not_depend_on_the_amount_of_ink():
    image = np.random.default_rng(0).random((3, 8, 8))
    np.testing.assert_allclose(digits._gradients(image), digits._gradients(0.3 * image))


def test_profiles_by_hand():
    image = blank()
    image[0, 0, 0] = 1.0
    image[0, 3, 7] = 0.5
    above, left = digits._profiles(image)[0].reshape(2, 7)
    np.testing.assert_allclose(above, [2 / 3, 2 / 3, 2 / 3, 1, 1, 1, 1])
    np.testing.assert_allclose(left, [2 / 3] * 7)


def test_moments_do_not_change_when_the_digit_moves():
    rng = np.random.default_rng(0)
    images = np.zeros((20, 8, 8))
    images[:10, :5, :5] = rng.random((10, 5, 5))
    images[10:, 3:, 2:7] = images[:10, :5, :5]
    X = digits._moments(images)
    np.testing.assert_allclose(X[:10], X[10:], atol=1e-9)
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(X.std(axis=0), 1)


def test_topology_by_hand():
    images = blank(3)
    images[0, 1:6, 1:6] = 1
    images[0, 2:5, 2:5] = 0  # a ring
    images[1, 0, 0] = images[1, 1, 1] = images[1, 5, 5] = 1  # a diagonal pair is one part, the dot another
    images[2] = images[0]
    images[2, 1, 3] = 0.25  # a ring that is closed in 4 of 16 levels
    X = digits._topology(images)
    rows, columns, parts, holes = X[:, :8], X[:, 8:16], X[:, 16], X[:, 17]
    assert rows[0].tolist() == columns[0].tolist() == [0, 1, 2, 2, 2, 1, 0, 0]
    assert parts.tolist() == [1, 2, 1]
    assert holes.tolist() == [1, 0, 0.25]
    assert rows[2].tolist() == [0, 1.75, 2, 2, 2, 1, 0, 0]


def test_topology_equals_counting_level_by_level(bunch):
    images = bunch.images[:40]
    X = digits._topology(images / 16)
    expected = np.zeros((40, 18))
    for i, image in enumerate(images):
        for level in range(1, 17):
            black = image >= level
            expected[i, :8] += [label(line)[1] for line in black]
            expected[i, 8:16] += [label(line)[1] for line in black.T]
            expected[i, 16] += label(black, np.ones((3, 3)))[1]
            expected[i, 17] += label(np.pad(~black, 1, constant_values=True))[1] - 1
    np.testing.assert_allclose(X, expected / 16)
