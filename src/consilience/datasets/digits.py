"""Handwritten digits described in six ways.

Every view is a function from images of shape (n_samples, 8, 8), ink between 0 (none) and 1, to features of
shape (n_samples, n_features). None of them looks at the classes.
"""

from __future__ import annotations

from typing import Literal, overload

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import label
from sklearn.utils import Bunch

Floats = NDArray[np.float64]

SIDE = 8
INK_LEVELS = 16

DESCRIPTION = """\
Handwritten digits in six views
-------------------------------
1797 images of the digits 0 to 9, 8 x 8 pixels with ink from 0 to 16, as bundled with scikit-learn (the test
part of "Optical Recognition of Handwritten Digits", E. Alpaydin and C. Kaynak, UCI repository, 1998). The
images are described in six ways, all computed from the ink alone:

========== ======== =============================================================================
view       features what a sample is described by
========== ======== =============================================================================
pixels           61 ink of every pixel that is inked in some image
fourier          24 magnitudes of the low frequencies, which do not change when the digit is moved
gradients        32 directions of the edges, as a histogram of 8 directions in each quarter
profiles         14 share of the ink above each row and left of each column boundary
moments          12 central moments of orders 2 to 4, for position and amount of ink removed
topology         18 strokes crossed by each row and column, number of parts and of holes
========== ======== =============================================================================

Within a view the features have one unit and are left as they are, except for the moments, which differ by
orders of magnitude: each is brought to mean 0 and standard deviation 1 over the images.
"""


@overload
def load_digits_views(*, return_X_y: Literal[False] = False) -> Bunch: ...
@overload
def load_digits_views(*, return_X_y: Literal[True]) -> tuple[dict[str, Floats], NDArray[np.int64]]: ...
def load_digits_views(*, return_X_y: bool = False) -> Bunch | tuple[dict[str, Floats], NDArray[np.int64]]:
    """Load 1797 handwritten digits, each described in six ways.

    The images come with scikit-learn: nothing is downloaded. The views differ in kind and in quality:
    `pixels` and `gradients` alone tell most digits apart, `moments` and `topology` little more than half.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return `(views, y)` instead of a Bunch.

    Returns
    -------
    sklearn.utils.Bunch or tuple
        The Bunch has

        - `views`, dict of str to float64 array of shape (1797, n_features): `"pixels"`, `"fourier"`,
          `"gradients"`, `"profiles"`, `"moments"`, `"topology"`, in this order;
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
    {'pixels': 61, 'fourier': 24, 'gradients': 32, 'profiles': 14, 'moments': 12, 'topology': 18}
    >>> y[:5].tolist()
    [0, 1, 2, 3, 4]
    """
    from sklearn.datasets import load_digits  # here, because it imports much that nothing else needs

    digits = load_digits()
    ink = digits.images / INK_LEVELS
    views = {
        "pixels": _pixels(ink),
        "fourier": _fourier(ink),
        "gradients": _gradients(ink),
        "profiles": _profiles(ink),
        "moments": _moments(ink),
        "topology": _topology(ink),
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


def _pixels(ink: Floats) -> Floats:
    """Ink of every pixel that is not the same in all images."""
    flat = ink.reshape(len(ink), -1)
    return np.ascontiguousarray(flat[:, np.ptp(flat, axis=0) > 0])


def _fourier(ink: Floats, radius: int = 4) -> Floats:
    """Magnitudes of all frequencies up to `radius`/16 cycles per pixel, but for the constant one.

    Twice the size with empty borders, so that a digit that moves does not come back in on the other side.
    """
    spectrum = np.abs(np.fft.rfft2(ink, s=(2 * SIDE, 2 * SIDE)))
    down = np.fft.fftfreq(2 * SIDE, d=1 / (2 * SIDE))[:, np.newaxis]
    right = np.arange(SIDE + 1)
    # Opposite frequencies have the same magnitude: keep one half of the plane.
    kept = (down**2 + right**2 <= radius**2) & ((right > 0) | (down > 0))
    return np.ascontiguousarray(spectrum[:, kept])


def _gradients(ink: Floats, n_directions: int = 8) -> Floats:
    """Histogram of gradient directions per quarter of the image, weighted by steepness, of unit length."""
    padded = np.pad(ink, ((0, 0), (1, 1), (1, 1)))
    down = padded[:, 2:, 1:-1] - padded[:, :-2, 1:-1]
    right = padded[:, 1:-1, 2:] - padded[:, 1:-1, :-2]
    steepness = np.hypot(down, right)
    # A direction between two bins counts for both, by nearness.
    position = np.arctan2(down, right) / (2 * np.pi) * n_directions
    bins = np.arange(n_directions)
    apart = np.abs((position[..., np.newaxis] - bins + n_directions / 2) % n_directions - n_directions / 2)
    votes = steepness[..., np.newaxis] * np.maximum(0.0, 1.0 - apart)
    half = SIDE // 2
    histogram: Floats = (
        votes.reshape(-1, 2, half, 2, half, n_directions).sum(axis=(2, 4)).reshape(len(ink), -1)
    )
    histogram /= np.linalg.norm(histogram, axis=1, keepdims=True)
    return histogram


def _profiles(ink: Floats) -> Floats:
    """Share of the ink above each boundary between rows and left of each boundary between columns."""
    total = ink.sum(axis=(1, 2))[:, np.newaxis]
    above = np.cumsum(ink.sum(axis=2), axis=1)[:, :-1] / total
    left = np.cumsum(ink.sum(axis=1), axis=1)[:, :-1] / total
    return np.hstack([above, left])


def _moments(ink: Floats) -> Floats:
    """Central moments of orders 2 to 4, independent of position and amount of ink, standardised."""
    total = ink.sum(axis=(1, 2))
    place = np.arange(SIDE, dtype=np.float64)
    down = place - (ink.sum(axis=2) @ place / total)[:, np.newaxis]
    right = place - (ink.sum(axis=1) @ place / total)[:, np.newaxis]
    orders = [(p, q) for p in range(5) for q in range(5) if 2 <= p + q <= 4]
    moments: Floats = np.stack(
        [
            np.einsum("nij,ni,nj->n", ink, down**p, right**q, optimize=True) / total ** (1 + (p + q) / 2)
            for p, q in orders
        ],
        axis=1,
    )
    moments -= moments.mean(axis=0)
    moments /= moments.std(axis=0)
    return moments


def _topology(ink: Floats) -> Floats:
    """Strokes crossed by each row and column, parts of the digit and holes in it.

    All are counts in the black-and-white images at every ink level, averaged over the levels. Pixels that
    touch at a corner belong to one part.
    """
    # A stroke starts wherever ink rises above the level, so the mean over levels is the sum of all rises.
    in_rows = np.maximum(0.0, np.diff(ink, axis=2, prepend=0.0)).sum(axis=2)
    in_columns = np.maximum(0.0, np.diff(ink, axis=1, prepend=0.0)).sum(axis=1)
    levels = np.arange(1, INK_LEVELS + 1)[:, np.newaxis, np.newaxis, np.newaxis] / INK_LEVELS
    black = (ink >= levels).reshape(-1, SIDE, SIDE)
    white = np.pad(~black, ((0, 0), (1, 1), (1, 1)), constant_values=True)
    parts = _count_components(black, corners=True)
    holes = _count_components(white, corners=False) - 1  # all but what is around the digit
    counts = np.stack([parts, holes], axis=1).reshape(INK_LEVELS, len(ink), 2)
    return np.hstack([in_rows, in_columns, counts.mean(axis=0)])


def _count_components(images: NDArray[np.bool_], *, corners: bool) -> NDArray[np.int64]:
    """Count connected components in each image of a stack."""
    within = np.ones((3, 3)) if corners else np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]])
    structure = np.zeros((3, 3, 3))
    structure[1] = within  # images of the stack do not touch one another
    labels, n_components = label(images, structure)
    image_of = np.zeros(n_components + 1, dtype=np.int64)
    image_of[labels] = np.arange(len(images))[:, np.newaxis, np.newaxis]
    return np.bincount(image_of[1:], minlength=len(images))
