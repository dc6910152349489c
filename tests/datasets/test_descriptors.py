import numpy as np
import pytest
from scipy.signal import correlate
from sklearn.decomposition import PCA

from consilience.datasets import descriptors
from consilience.datasets.descriptors import fourier, karhunen, morphology, pixels, profiles, zernike
from consilience.datasets.shapes import largest_pieces, trace_outlines

TURNS = [1, 2, 3]


@pytest.fixture(scope="module")
def shapes():
    return largest_pieces(np.random.default_rng(0).random((50, 8, 8)) < 0.55)


@pytest.fixture(scope="module")
def images():
    return np.random.default_rng(1).integers(0, 17, size=(100, 8, 8)).astype(np.float64)


def moved(images, down, right, size=12):
    """Place the images in larger ones."""
    height, width = images.shape[1:]
    whole = np.zeros((len(images), size, size), dtype=images.dtype)
    whole[:, down : down + height, right : right + width] = images
    return whole


@pytest.mark.parametrize("turns", TURNS)
def test_fourier_does_not_change_when_the_shape_is_turned(shapes, turns):
    turned = np.rot90(shapes, turns, axes=(1, 2))
    np.testing.assert_allclose(fourier(trace_outlines(turned)), fourier(trace_outlines(shapes)), atol=1e-12)


def test_fourier_does_not_depend_on_the_place(shapes):
    elsewhere = fourier(trace_outlines(moved(shapes, 3, 1)))
    np.testing.assert_allclose(elsewhere, fourier(trace_outlines(shapes)), atol=1e-12)


def test_fourier_does_not_depend_on_the_size():
    def square(size):
        return np.pad(np.ones((1, size, size), dtype=bool), ((0, 0), (1, 1), (1, 1)))

    small, large = fourier(trace_outlines(square(20))), fourier(trace_outlines(square(40)))
    np.testing.assert_allclose(small, large, atol=1e-3)
    # A square is the same after a quarter turn: only coefficients 1, 5, 9, ... and -3, -7, ... are not 0, and
    # they fall with the square of their number.
    frequencies = [*range(-7, 0), *range(2, 9)]
    expected = [1 / k**2 if k % 4 == 1 else 0 for k in frequencies]
    np.testing.assert_allclose(large[0], expected, atol=2e-3)


def test_fourier_of_each_shape_alone(shapes):
    together = fourier(trace_outlines(shapes))
    for i in range(10):
        np.testing.assert_allclose(fourier(trace_outlines(shapes[i : i + 1]))[0], together[i], atol=1e-12)


def test_profiles_by_hand():
    shape = np.zeros((1, 8, 8), dtype=bool)
    shape[0, 2:7, 3] = shape[0, 2, 3:6] = True
    left = [8, 8, 3, 3, 3, 3, 3, 8]
    right = [8, 8, 2, 4, 4, 4, 4, 8]
    above = [8, 8, 8, 2, 2, 2, 8, 8]
    below = [8, 8, 8, 1, 5, 5, 8, 8]
    pairs = [(left, right), (left, above), (left, below), (right, above), (right, below), (above, below)]
    expected = np.concatenate([correlate(other, one) for one, other in pairs])
    np.testing.assert_array_equal(profiles(shape)[0], expected)


def test_karhunen_coefficients_are_the_principal_components(images):
    found = karhunen(images)
    expected = PCA(n_components=17).fit_transform(images.reshape(100, -1))
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-9)
    covariance = found.T @ found
    np.testing.assert_allclose(covariance, np.diag(np.diag(covariance)), atol=1e-8)
    assert (np.diff(np.diag(covariance)) < 0).all()
    np.testing.assert_allclose(found.mean(axis=0), 0, atol=1e-12)


def test_karhunen_signs_follow_the_largest_component(images):
    flat = images.reshape(100, -1)
    centered = flat - flat.mean(axis=0)
    axes = np.linalg.lstsq(karhunen(images), centered, rcond=None)[0]
    assert (axes[np.arange(17), np.abs(axes).argmax(axis=1)] > 0).all()


def test_pixels_are_a_copy(images):
    np.testing.assert_array_equal(pixels(images).reshape(images.shape), images)
    assert not np.shares_memory(pixels(images), images)


@pytest.mark.parametrize("turns", TURNS)
def test_zernike_does_not_change_when_the_image_is_turned(images, turns):
    turned = np.rot90(images, turns, axes=(1, 2))
    np.testing.assert_allclose(zernike(turned), zernike(images), atol=1e-9)


def test_zernike_does_not_depend_on_place_size_and_amount_of_ink(images):
    found = zernike(images)
    np.testing.assert_allclose(zernike(moved(images, 1, 3)), found, atol=1e-9)
    np.testing.assert_allclose(zernike(np.kron(images, np.ones((1, 3, 3)))), found, atol=1e-9)
    np.testing.assert_allclose(zernike(0.25 * images), found, atol=1e-9)


def test_zernike_of_orders_0_and_1_would_say_nothing(images, monkeypatch):
    monkeypatch.setattr(descriptors, "LOWEST_ORDER", 0)
    np.testing.assert_allclose(zernike(images)[:, :2], np.tile([1.0, 0.0], (100, 1)), atol=1e-12)


def test_zernike_against_a_fine_raster():
    """Sum polynomials over dots: an oracle with the radial polynomial in polar coordinates."""
    image = np.random.default_rng(0).random((8, 8))
    image[0] = 0.0
    dots = 50
    place = (np.arange(8 * dots) + 0.5) / dots
    ink = np.kron(image, np.ones((dots, dots)))
    down, right = (ink.sum(axis=1) @ place) / ink.sum(), (ink.sum(axis=0) @ place) / ink.sum()
    y, x = place[:, np.newaxis] - down, place - right
    farthest = max(
        np.hypot(row - down, column - right)
        for i, j in np.argwhere(image > 0)
        for row in (i, i + 1)
        for column in (j, j + 1)
    )
    radius, angle = np.hypot(x, y) / farthest, np.arctan2(y, x)
    expected = []
    for order in range(2, 13):
        for turns in range(order % 2, order + 1, 2):
            radial = sum(c * radius**p for p, c in descriptors._radial_coefficients(order, turns).items())
            moment = (ink * radial * np.exp(-1j * turns * angle)).sum() / ink.sum()
            expected.append((order + 1) * np.abs(moment))
    np.testing.assert_allclose(zernike(image[np.newaxis])[0], expected, atol=5e-3)


def test_radial_polynomials():
    assert descriptors._radial_coefficients(3, 3) == {3: 1}
    assert descriptors._radial_coefficients(3, 1) == {3: 3, 1: -2}
    assert descriptors._radial_coefficients(4, 0) == {4: 6, 2: -6, 0: 1}
    for order in range(2, 13):
        for turns in range(order % 2, order + 1, 2):
            assert sum(descriptors._radial_coefficients(order, turns).values()) == 1


def test_morphology_by_hand():
    shape = np.zeros((1, 10, 10), dtype=bool)
    shape[0, 1:6, 2:7] = True
    shape[0, 2:5, 3:6] = False  # a ring, one pixel wide, with a tail
    shape[0, 6:9, 4] = True
    perimeter = 18 + 8 * np.sqrt(0.5)  # 26 sides of pixels; at 8 of them the outline turns
    found = morphology(shape, trace_outlines(shape))[0]
    assert found[:3].tolist() == [1, 1, 1]
    assert found[3] == pytest.approx(perimeter)
    assert found[4] == pytest.approx(perimeter / np.sqrt(4 * np.pi * 19))


def test_a_convex_shape_is_as_long_as_its_hull():
    shape = np.zeros((1, 8, 8), dtype=bool)
    shape[0, 2:7, 3:5] = True
    found = morphology(shape, trace_outlines(shape))[0]
    np.testing.assert_allclose(found[3], 2 * 4 + 2 * 1 + 4 * np.sqrt(0.5))
    np.testing.assert_allclose(found[5], 0, atol=1e-12)


@pytest.mark.parametrize("turns", TURNS)
def test_measures_of_the_outline_do_not_change_when_the_shape_is_turned(shapes, turns):
    turned = np.rot90(shapes, turns, axes=(1, 2))
    found, before = morphology(turned, trace_outlines(turned)), morphology(shapes, trace_outlines(shapes))
    np.testing.assert_allclose(found[:, [0, 3, 4, 5]], before[:, [0, 3, 4, 5]], atol=1e-9)
