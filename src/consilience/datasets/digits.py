"""Handwritten digits described in six ways."""

from __future__ import annotations

from typing import Literal, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from .descriptors import fourier, karhunen, morphology, pixels, profiles, zernike
from .shapes import largest_pieces, trace_outlines

Floats = NDArray[np.float64]

HALF_FULL = 8  # of 16 levels of ink: from here on a pixel belongs to the shape

DESCRIPTION = """\
Handwritten digits in six views
-------------------------------
1797 images of the digits 0 to 9, 8 x 8 pixels with ink from 0 to 16, as bundled with scikit-learn (the test
part of "Optical Recognition of Handwritten Digits", E. Alpaydin and C. Kaynak, UCI repository, 1998). The
images are described in six ways, all computed from the ink alone:

=========== ======== =====================================================================================
view        features what a sample is described by
=========== ======== =====================================================================================
fourier           14 magnitudes of the Fourier coefficients of the outline
profiles          90 correlations of the distances from the four sides of the image to the shape
karhunen          17 Karhunen-Loeve coefficients: the image along the main axes of all images
pixels            64 the pixels
zernike           47 magnitudes of the Zernike moments
morphology         6 holes, ends, branch points, and three measures of the outline
=========== ======== =====================================================================================

The six kinds, and their order, are those of a published data set, "Multiple Features" (R. Duin, UCI
repository, 1998, known as mfeat): 76, 216, 64, 240, 47 and 6 features of other digits, black-and-white images
of 30 x 48 pixels. The settings are those of mfeat, brought to the size of these images; where mfeat says
nothing, the plainest textbook form. The shape is the largest connected piece of the pixels that are at least
half full.

- fourier: the outline as complex numbers, one for each pixel side, its coefficients relative to the first. As
  many as the image has rows and columns, less numbers 0 and 1, which place and size decide: 8 + 8 - 2, as 76
  is 30 + 48 - 2.
- profiles: no more is known of those of mfeat than the name. Here, the sums of products of every two of the
  four profiles at every lag: 6 pairs, 15 lags.
- karhunen: mfeat has 64 for 240 pixel averages; the same share of 64 pixels is 17.
- pixels: mfeat counts black pixels in windows of 2 x 3. The pixels of these images are such counts already,
  in windows of 4 x 4 of the scanned digits.
- zernike: orders 2 to 12, which make 47 (A. Khotanzad and Y. H. Hong, 1990). The disc has its middle in the
  centre of mass and holds all ink; the magnitudes are relative to that of order 0.
- morphology: mfeat does not name its six. The numbers show the first five: holes, ends and branch points of
  the skeleton (here by T. Y. Zhang and C. Y. Suen, 1984), length of the outline, and that length over the one
  of a circle around the same area. The sixth goes with how much longer the outline is than the convex hull
  (correlation 0.99), which is taken here.

All features are left as they come: their sizes differ, between views and within.

What to compute was written down before any score of any clustering of it was looked at. Nothing was changed
afterwards.
"""


@overload
def load_digits_views(*, return_X_y: Literal[False] = False) -> Bunch: ...
@overload
def load_digits_views(*, return_X_y: Literal[True]) -> tuple[dict[str, Floats], NDArray[np.int64]]: ...
def load_digits_views(*, return_X_y: bool = False) -> Bunch | tuple[dict[str, Floats], NDArray[np.int64]]:
    """Load 1797 handwritten digits, each described in six ways.

    The images come with scikit-learn: nothing is downloaded. The six descriptions are of the kinds of the
    published "Multiple Features" data set, and were fixed before any score on them was seen.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return `(views, y)` instead of a Bunch.

    Returns
    -------
    sklearn.utils.Bunch or tuple
        The Bunch has

        - `views`, dict of str to float64 array of shape (1797, n_features): `"fourier"`, `"profiles"`,
          `"karhunen"`, `"pixels"`, `"zernike"`, `"morphology"`, in this order;
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
    {'fourier': 14, 'profiles': 90, 'karhunen': 17, 'pixels': 64, 'zernike': 47, 'morphology': 6}
    >>> y[:5].tolist()
    [0, 1, 2, 3, 4]
    """
    from sklearn.datasets import load_digits  # here, because it imports many modules that nothing else needs

    digits = load_digits()
    shapes = largest_pieces(digits.images >= HALF_FULL)
    outlines = trace_outlines(shapes)
    views = {
        "fourier": fourier(outlines),
        "profiles": profiles(shapes),
        "karhunen": karhunen(digits.images),
        "pixels": pixels(digits.images),
        "zernike": zernike(digits.images),
        "morphology": morphology(shapes, outlines),
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
