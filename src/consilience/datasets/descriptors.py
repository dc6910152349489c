"""Six descriptions of small images of characters, of the kinds of the "Multiple Features" data set.

Each is a function to features of shape (n, n_features): from images of shape (n, height, width), from the
character shapes in them, black-and-white images with one connected piece each, or from their outlines.
`DESCRIPTION` in `digits.py` says where every setting comes from.
"""

from __future__ import annotations

from itertools import combinations
from math import comb, factorial

import numpy as np
from numpy.typing import NDArray

from .shapes import Images, Outlines, count_ends_and_branches, count_holes, thin

Floats = NDArray[np.float64]

N_FOURIER = 16  # coefficients, two of which are the same for all outlines
N_KARHUNEN = 17
LOWEST_ORDER, HIGHEST_ORDER = 2, 12  # of the Zernike moments


def fourier(outlines: Outlines) -> Floats:
    """Magnitudes of the Fourier coefficients of the outline, relative to the first.

    The outline is a function of the number of steps from its start. Its magnitudes do not depend on the start
    nor on turning the shape; without coefficient 0 not on its place, and relative to coefficient 1 not on its
    size.
    """
    frequencies = [k for k in range(1 - N_FOURIER // 2, N_FOURIER // 2 + 1) if k not in (0, 1)]
    features = np.empty((len(outlines.points), len(frequencies)))
    for length in np.unique(outlines.lengths):
        rows = outlines.lengths == length
        magnitudes = np.abs(np.fft.fft(outlines.points[rows, :length], axis=1))
        features[rows] = magnitudes[:, np.mod(frequencies, length)] / magnitudes[:, 1:2]
    return features


def profiles(shapes: Images) -> Floats:
    """Correlations of every two of the four profiles, at every lag.

    A profile is the number of pixels from one side of the image to the shape, line by line; all of the line
    where there is none. A correlation is a plain sum of products.
    """
    turned = shapes.transpose(0, 2, 1)
    seen_from = [shapes, shapes[:, :, ::-1], turned, turned[:, :, ::-1]]  # left, right, above, below
    distances = [np.where(side.any(axis=2), side.argmax(axis=2), side.shape[2]) for side in seen_from]
    features = []
    for one, other in combinations(distances, 2):
        products = one[:, :, np.newaxis] * other[:, np.newaxis, :]
        lags = range(1 - one.shape[1], other.shape[1])
        features += [np.trace(products, offset=lag, axis1=1, axis2=2) for lag in lags]
    return np.stack(features, axis=1).astype(np.float64)


def karhunen(images: Floats) -> Floats:
    """Coefficients of the images along the main axes of their covariance, the widest first.

    The largest component of every axis is positive: eigenvectors have no sign of their own.
    """
    pixels = images.reshape(len(images), -1)
    centered = pixels - pixels.mean(axis=0)
    axes = np.linalg.eigh(centered.T @ centered)[1][:, : -N_KARHUNEN - 1 : -1]
    largest = np.abs(axes).argmax(axis=0)
    axes = axes * np.sign(axes[largest, np.arange(N_KARHUNEN)])
    return np.ascontiguousarray(centered @ axes)


def pixels(images: Floats) -> Floats:
    """Return the pixels, row by row."""
    return images.reshape(len(images), -1).astype(np.float64)


def zernike(images: Floats) -> Floats:
    """Magnitudes of the Zernike moments, relative to that of order 0.

    They are taken over the smallest disc around the centre of mass that holds all ink, and do not change when
    the image is turned. A pixel is a square of even ink, over which the polynomials are integrated without
    error (Wee and Paramesran, 2007): with pixels this large, values in their middles would not do.
    """
    n, height, width = images.shape
    total = images.sum(axis=(1, 2))
    down = images.sum(axis=2) @ (np.arange(height) + 0.5) / total
    across = images.sum(axis=1) @ (np.arange(width) + 0.5) / total
    rows = np.arange(height + 1) - down[:, np.newaxis]
    columns = np.arange(width + 1) - across[:, np.newaxis]
    farthest_row = np.maximum(np.abs(rows[:, :-1]), np.abs(rows[:, 1:]))
    farthest_column = np.maximum(np.abs(columns[:, :-1]), np.abs(columns[:, 1:]))
    corners = np.hypot(farthest_row[:, :, np.newaxis], farthest_column[:, np.newaxis, :])
    radius = np.where(images > 0, corners, 0.0).max(axis=(1, 2))[:, np.newaxis]
    in_rows, in_columns = _integrals_of_powers(rows / radius), _integrals_of_powers(columns / radius)
    geometric = in_rows @ images @ in_columns.transpose(0, 2, 1)
    conjugates = [
        (order + 1) * _zernike_polynomial(order, turns)
        for order in range(LOWEST_ORDER, HIGHEST_ORDER + 1)
        for turns in range(order % 2, order + 1, 2)
    ]
    moments: Floats = np.abs(geometric.reshape(n, -1) @ np.reshape(conjugates, (len(conjugates), -1)).T)
    return moments / geometric[:, 0, :1]


def _integrals_of_powers(edges: Floats) -> Floats:
    """Integrate 1, x, x^2, ... between neighbouring edges; shape (n, number of powers, number of pixels)."""
    powers = np.repeat(edges[:, np.newaxis, :], HIGHEST_ORDER + 1, axis=1).cumprod(axis=1)
    integrals: Floats = np.diff(powers, axis=2) / np.arange(1, HIGHEST_ORDER + 2)[:, np.newaxis]
    return integrals


def _zernike_polynomial(order: int, turns: int) -> NDArray[np.complex128]:
    """Return the coefficients of y^i x^j in the conjugate of the Zernike polynomial.

    It is the radial polynomial of r times exp(-1j * turns * angle): sums of (x^2 + y^2)^k (x - 1j * y)^turns.
    """
    coefficients = np.zeros((HIGHEST_ORDER + 1, HIGHEST_ORDER + 1), dtype=np.complex128)
    for power, factor in _radial_coefficients(order, turns).items():
        k = (power - turns) // 2
        for a in range(k + 1):
            for b in range(turns + 1):
                term = factor * comb(k, a) * comb(turns, b) * (-1j) ** b
                coefficients[2 * a + b, 2 * (k - a) + turns - b] += term
    return coefficients


def _radial_coefficients(order: int, turns: int) -> dict[int, int]:
    """Return power -> coefficient of the radial Zernike polynomial."""
    coefficients = {}
    for s in range((order - turns) // 2 + 1):
        below = factorial(s) * factorial((order + turns) // 2 - s) * factorial((order - turns) // 2 - s)
        coefficients[order - 2 * s] = (-1) ** s * (factorial(order - s) // below)
    return coefficients


def morphology(shapes: Images, outlines: Outlines) -> Floats:
    """Six numbers: holes, ends and branch points of the skeleton, and three about the outline.

    These are its length, its length over that of a circle around the same area, and how much longer it is
    than the convex hull.
    """
    perimeters = outlines.perimeters()
    circle = np.sqrt(4 * np.pi * shapes.sum(axis=(1, 2)))
    ends, branches = count_ends_and_branches(thin(shapes))
    outline = [perimeters, perimeters / circle, perimeters - outlines.hull_perimeters()]
    return np.stack([count_holes(shapes), ends, branches, *outline], axis=1).astype(np.float64)
