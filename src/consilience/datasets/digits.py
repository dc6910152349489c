"""Handwritten digits described in six ways.

Every view is a function from images, ink between 0 (none) and 1, to features of shape (n_samples,
n_features). None of them uses the classes.
"""

from __future__ import annotations

from math import factorial
from typing import Literal, overload

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import map_coordinates
from sklearn.utils import Bunch

Floats = NDArray[np.float64]

INK_LEVELS = 16

DESCRIPTION = """\
Handwritten digits in six views
-------------------------------
1797 images of the digits 0 to 9, 8 x 8 pixels with ink from 0 to 16, as bundled with scikit-learn (the test
part of "Optical Recognition of Handwritten Digits", E. Alpaydin and C. Kaynak, UCI repository, 1998). The
images are described in six ways, all computed from the ink alone:

=========== ======== ==========================================================================
view        features what a sample is described by
=========== ======== ==========================================================================
zones             16 mean ink in 4 x 4 overlapping zones of the upright digit
projections       32 ink in each of 16 rows and 16 columns of the upright digit
crossings         16 strokes crossed by each of 8 rows and 8 columns of the upright digit
moments           45 magnitudes of the Zernike moments of the upright digit, of orders 3 to 12
autocorr          40 similarity of the image to itself moved by up to 4 pixels
directions        36 slopes of the edges, as a histogram of 9 slopes in each overlapping quarter
=========== ======== ==========================================================================

The upright digit is the image moved, sheared and stretched such that the ink has its mean in the middle, the
same standard deviation down and across, and no covariance. What this removes (place, slant, width) is still
in `directions`, and all of it except the place in `autocorr`.

Within a view the features have one unit and are left as they are, except for the moments, which differ by
orders of magnitude: each is brought to mean 0 and standard deviation 1 over the images.

The views are of about the same quality, and each is blind to something else: `moments` do not change when a
digit is turned, `autocorr` does not when it is moved or put upside down, `crossings` see no lengths,
`projections` see no corners, `zones` no detail, and `directions` hardly where a stroke is.

No label enters a view, but which six descriptors to bundle, and their coarse settings, were chosen among
several hundred combinations by how well they cluster, fused and alone, against the labels. They show what
fusing views does; scores on them are no evidence that fusing wins.
"""


@overload
def load_digits_views(*, return_X_y: Literal[False] = False) -> Bunch: ...
@overload
def load_digits_views(*, return_X_y: Literal[True]) -> tuple[dict[str, Floats], NDArray[np.int64]]: ...
def load_digits_views(*, return_X_y: bool = False) -> Bunch | tuple[dict[str, Floats], NDArray[np.int64]]:
    """Load 1797 handwritten digits, each described in six ways.

    The images come with scikit-learn: nothing is downloaded. The views differ in kind, are of about
    the same quality, and fail on different digits: together they show far more than the best of them.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return `(views, y)` instead of a Bunch.

    Returns
    -------
    sklearn.utils.Bunch or tuple
        The Bunch has

        - `views`, dict of str to float64 array of shape (1797, n_features): `"zones"`,
          `"projections"`, `"crossings"`, `"moments"`, `"autocorr"`, `"directions"`, in this order;
        - `target`, int array of shape (1797,): the digit;
        - `target_names`, int array of shape (10,);
        - `images`, float array of shape (1797, 8, 8): ink from 0 to 16;
        - `DESCR`, str: where the images are from and what each view is.

        With `return_X_y=True`, the tuple `(views, target)`. All arrays are new on every call.

    Examples
    --------
    >>> from consilience.datasets import load_digits_views
    >>> views, y = load_digits_views(return_X_y=True)
    >>> {name: X.shape[1] for name, X in views.items()}
    {'zones': 16, 'projections': 32, 'crossings': 16, 'moments': 45, 'autocorr': 40, 'directions': 36}
    >>> y[:5].tolist()
    [0, 1, 2, 3, 4]
    """
    from sklearn.datasets import load_digits  # here, because it imports many modules that nothing else needs

    digits = load_digits()
    ink = digits.images / INK_LEVELS
    upright = _upright(ink, 16)
    views = {
        "zones": _zones(upright),
        "projections": _projections(upright),
        "crossings": _crossings(_upright(ink, 8)),
        "moments": _moments(upright),
        "autocorr": _autocorr(ink),
        "directions": _directions(ink),
    }
    target = digits.target.astype(np.int64)
    if return_X_y:
        return views, target
    return Bunch(
        views=views,
        target=target,
        target_names=digits.target_names,
        images=digits.images,
        DESCR=DESCRIPTION,
    )


def _upright(ink: Floats, size: int, reach: float = 2.2) -> Floats:
    """Move, shear and stretch the digits to uncorrelated ink of the same deviation down and across.

    The result has `size` pixels each way and shows `reach` standard deviations of the ink to every side of
    its mean. Ink between the pixels is interpolated linearly.
    """
    n, height, width = ink.shape
    share = ink / ink.sum(axis=(1, 2), keepdims=True)
    rows, columns = np.arange(height), np.arange(width)
    in_rows, in_columns = share.sum(axis=2), share.sum(axis=1)
    middle, center = in_rows @ rows, in_columns @ columns
    # Interpolated, the ink of one pixel falls linearly to 0 at the next ones: it has variance 1/6 itself.
    down = in_rows @ rows**2 - middle**2 + 1 / 6
    across = in_columns @ columns**2 - center**2 + 1 / 6
    slant = (np.einsum("nij,i,j->n", share, rows, columns, optimize=True) - middle * center) / down
    across -= slant**2 * down  # what is left when the digit has been sheared
    steps = reach * ((2 * np.arange(size) + 1) / size - 1)
    away = np.sqrt(down)[:, np.newaxis] * steps
    y = (middle[:, np.newaxis] + away)[:, :, np.newaxis]
    x = (center[:, np.newaxis] + slant[:, np.newaxis] * away)[:, :, np.newaxis]
    x = x + (np.sqrt(across)[:, np.newaxis] * steps)[:, np.newaxis, :]
    places = np.stack(np.broadcast_arrays(np.arange(n)[:, np.newaxis, np.newaxis], y, x))
    upright: Floats = map_coordinates(ink, places, order=1, mode="grid-constant")
    return upright


def _pool(values: Floats, n_zones: int) -> Floats:
    """Mean of an image's values, shape (n, size, size, ...), in n_zones x n_zones overlapping zones.

    A zone's weight falls linearly from its middle to nothing in the middle of the next.
    """
    size = values.shape[1]
    place = (np.arange(size) + 0.5) / size * n_zones
    weight = np.maximum(0.0, 1.0 - np.abs(place - np.arange(n_zones)[:, np.newaxis] - 0.5))
    weight /= weight.sum(axis=1, keepdims=True)
    pooled: Floats = np.einsum("nij...,ai,bj->nab...", values, weight, weight, optimize=True)
    return pooled.reshape(len(values), -1)


def _zones(ink: Floats) -> Floats:
    """Mean ink in 4 x 4 overlapping zones."""
    return _pool(ink, 4)


def _projections(ink: Floats) -> Floats:
    """Mean ink of every row and every column."""
    return np.hstack([ink.mean(axis=2), ink.mean(axis=1)])


def _crossings(ink: Floats) -> Floats:
    """Strokes crossed by each row and column, in the mean over the black-and-white images of all levels.

    A stroke starts wherever ink rises above the level, so the mean over levels is the sum of all rises.
    """
    in_rows = np.maximum(0.0, np.diff(ink, axis=2, prepend=0.0)).sum(axis=2)
    in_columns = np.maximum(0.0, np.diff(ink, axis=1, prepend=0.0)).sum(axis=1)
    return np.hstack([in_rows, in_columns])


def _moments(ink: Floats, max_order: int = 12) -> Floats:
    """Magnitudes of the Zernike moments, which do not change when the digit is turned, standardised.

    They are taken over the disc that the image circumscribes. Orders 0 to 2 are left out: what they measure
    (amount, place and spread of the ink) is the same in all upright digits.
    """
    size = ink.shape[1]
    place = (2 * np.arange(size) + 1) / size - 1
    radius = np.hypot(place[:, np.newaxis], place)
    angle = np.arctan2(place[:, np.newaxis], place)
    basis = [
        _zernike_radial(radius, order, turns) * np.exp(1j * turns * angle) * (radius <= 1)
        for order in range(3, max_order + 1)
        for turns in range(order % 2, order + 1, 2)
    ]
    flat = ink.reshape(len(ink), -1)
    moments: Floats = np.abs(flat @ np.reshape(basis, (len(basis), -1)).T)
    moments /= flat.sum(axis=1, keepdims=True)
    moments -= moments.mean(axis=0)
    moments /= moments.std(axis=0)
    return moments


def _zernike_radial(radius: Floats, order: int, turns: int) -> Floats:
    """Return the radial Zernike polynomial, for a number of turns of the phase around the disc."""
    value = np.zeros_like(radius)
    for s in range((order - turns) // 2 + 1):
        below = factorial(s) * factorial((order + turns) // 2 - s) * factorial((order - turns) // 2 - s)
        value += (-1) ** s * (factorial(order - s) // below) * radius ** (order - 2 * s)
    return value


def _autocorr(ink: Floats, reach: int = 4) -> Floats:
    """Overlap of every image with itself moved by up to `reach` pixels each way, as share of its square."""
    height, width = ink.shape[1:]
    # Empty borders, so that a digit that moves does not come back in on the other side.
    power = np.abs(np.fft.rfft2(ink, s=(2 * height, 2 * width))) ** 2
    overlap = np.fft.irfft2(power, s=(2 * height, 2 * width))
    # A move and its opposite give the same: keep one half of the plane.
    moves = [(i, j) for i in range(reach + 1) for j in range(-reach, reach + 1) if (i, j) > (0, 0)]
    down, right = np.transpose(moves)
    return np.ascontiguousarray(overlap[:, down, right] / overlap[:, :1, 0])


def _directions(ink: Floats, n_directions: int = 9) -> Floats:
    """Histogram of the slopes of edges per overlapping quarter, weighted by steepness, of unit length.

    Opposite gradients count as one: the two sides of a stroke have the same slope.
    """
    padded = np.pad(ink, ((0, 0), (1, 1), (1, 1)))
    down = padded[:, 2:, 1:-1] - padded[:, :-2, 1:-1]
    right = padded[:, 1:-1, 2:] - padded[:, 1:-1, :-2]
    # A direction between two bins counts for both, by nearness.
    position = np.arctan2(down, right)[..., np.newaxis] / np.pi * n_directions
    apart = (position - np.arange(n_directions) + n_directions / 2) % n_directions - n_directions / 2
    votes = np.hypot(down, right)[..., np.newaxis] * np.maximum(0.0, 1.0 - np.abs(apart))
    histogram = _pool(votes, 2)
    histogram /= np.linalg.norm(histogram, axis=1, keepdims=True)
    return histogram
