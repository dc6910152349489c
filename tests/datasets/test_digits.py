from itertools import combinations

import numpy as np
import pytest

from consilience.datasets import load_digits_views

NAMES = ["fourier", "profiles", "karhunen", "pixels", "zernike", "morphology"]
# Of the first, the second and the last digit: three features of each view, and the sum of all.
GOLDEN = {
    "fourier": (
        [
            [0.008323123101, 0.01298218987, 0.01077602875],
            [0.009992577261, 0.04267009431, 0.03369130976],
            [0.04054043302, 0.06716980763, 0.01939102193],
        ],
        [0.4734714188, 1.047683412, 0.9919067966],
    ),
    "profiles": ([[12.0, 17.0, 88.0], [15.0, 39.0, 128.0], [11.0, 27.0, 56.0]], [2963.0, 5042.0, 2460.0]),
    "karhunen": (
        [
            [-21.27488348, 7.128822779, -2.743593388],
            [20.76869896, -5.89624878, 2.134027247],
            [-6.365549194, 3.310615359, -0.2015407192],
        ],
        [-34.66378061, 49.30648617, 19.94298578],
    ),
    "pixels": ([[0.0, 9.0, 0.0], [0.0, 13.0, 0.0], [0.0, 8.0, 1.0]], [294.0, 313.0, 392.0]),
    "zernike": (
        [
            [0.3868181311, 0.9281076774, 0.04200602431],
            [0.5873625973, 0.4976382709, 0.03183392028],
            [0.424907529, 0.1914339203, 0.06087318143],
        ],
        [9.691796062, 9.425386328, 8.457411724],
    ),
    "morphology": (
        [[0.0, 1.281866357, 1.281866357], [2.0, 1.417269256, 1.417269256], [1.0, 1.3936609, 1.3936609]],
        [23.77372044, 26.68823516, 33.57914176],
    ),
}


@pytest.fixture(scope="module")
def bunch():
    return load_digits_views()


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
    # In the images of scikit-learn three pixels at the border never have ink.
    assert (np.ptp(X, axis=0) == 0).sum() == (3 if name == "pixels" else 0)


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


@pytest.mark.parametrize("name", NAMES)
def test_values_stay(bunch, name):
    X = bunch.views[name]
    np.testing.assert_allclose(X[[0, 1, -1]][:, [1, 4, -2]], GOLDEN[name][0], rtol=1e-8)
    np.testing.assert_allclose(X.sum(axis=1)[[0, 1, -1]], GOLDEN[name][1], rtol=1e-8)


def test_karhunen_axes_are_apart(bunch):
    """Were two eigenvalues equal, the axes and so the view would depend on the machine."""
    spread = bunch.views["karhunen"].var(axis=0)
    assert (spread[1:] < 0.98 * spread[:-1]).all()


def test_every_digit_has_one_shape_with_an_outline(bunch):
    holes, ends, branches, length, roundness, excess = bunch.views["morphology"].T
    assert holes.min() == ends.min() == branches.min() == 0
    assert (holes.max(), ends.max(), branches.max()) == (3, 4, 5)
    assert 10 < length.min() < length.max() < 48
    assert roundness.min() > 1  # a circle has the shortest outline
    assert excess.min() > -1e-9
