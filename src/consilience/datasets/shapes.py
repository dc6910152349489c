"""Shapes in small black-and-white images: their outline, skeleton, holes and convex hull.

All images of a stack, booleans of shape (n, height, width), are worked on at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import label

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Images = NDArray[np.bool_]

FAR = 2.0**20  # beyond every image; a power of two, so that halves of pixels added to it are exact
# Right, down, left, up: each is the one before turned clockwise.
STEPS_DOWN = np.array([0, 1, 0, -1])
STEPS_RIGHT = np.array([1, 0, -1, 0])
# Where the pixels ahead of a corner lie in the image with a border of one pixel, for each of these steps: the
# one to the left of the way and the one to its right.
AHEAD_LEFT = np.array([[0, 1], [1, 1], [1, 0], [0, 0]])
AHEAD_RIGHT = np.array([[1, 1], [1, 0], [0, 0], [0, 1]])


@dataclass(frozen=True)
class Outlines:
    """Outer outlines, clockwise.

    Attributes
    ----------
    points : complex array of shape (n, longest)
        Middles of the pixel sides between shape and ground: `column + 1j * row`, in pixels from the upper
        left corner of the image. Rows of shorter outlines end in copies of their first point.
    lengths : int array of shape (n,)
        Number of points of each.
    """

    points: NDArray[np.complex128]
    lengths: Integers

    def perimeters(self) -> Floats:
        """Return the length of the polygon through the points."""
        closed = np.hstack([self.points, self.points[:, :1]])
        perimeters: Floats = np.abs(np.diff(closed, axis=1)).sum(axis=1)
        return perimeters

    def hull_perimeters(self) -> Floats:
        """Return the length of the convex hull of the points."""
        n = len(self.points)
        # Points lie on half rows: the hull is found from the first and the last of each.
        level = np.rint(2 * self.points.imag).astype(np.int64)
        left = np.full((n, level.max() + 1), FAR)
        right = np.full_like(left, -FAR)
        each = np.broadcast_to(np.arange(n)[:, np.newaxis], level.shape)
        np.minimum.at(left, (each, level), self.points.real)
        np.maximum.at(right, (each, level), self.points.real)
        sides = _lower_envelope(np.vstack([left, -right])).reshape(2, n, -1)
        levels, top, bottom = np.arange(level.max()), level.min(axis=1), level.max(axis=1)
        between = (levels >= top[:, np.newaxis]) & (levels < bottom[:, np.newaxis])
        slanted: Floats = np.where(between, np.hypot(0.5, np.diff(sides, axis=2)), 0.0).sum(axis=(0, 2))
        widths = right - left
        return slanted + widths[np.arange(n), top] + widths[np.arange(n), bottom]


def _lower_envelope(values: Floats) -> Floats:
    """Return the largest convex function that is nowhere above the values, row by row."""
    lower = values.copy()
    for i, j in combinations(range(values.shape[1]), 2):
        first, last = values[:, i : i + 1], values[:, j : j + 1]
        chord = first + np.arange(j - i + 1) / (j - i) * (last - first)
        np.minimum(lower[:, i : j + 1], chord, out=lower[:, i : j + 1])
    return lower


def largest_pieces(dark: Images) -> Images:
    """Return the largest connected piece of each image; pixels that touch in a corner are connected."""
    within_images = np.zeros((3, 3, 3), dtype=int)
    within_images[1] = 1
    pieces, _ = label(dark, within_images)
    sizes = np.bincount(pieces.ravel())
    sizes[0] = 0
    first = sizes[pieces].reshape(len(dark), -1).argmax(axis=1)
    chosen = pieces.reshape(len(dark), -1)[np.arange(len(dark)), first]
    largest: Images = dark & (pieces == chosen[:, np.newaxis, np.newaxis])
    return largest


def trace_outlines(shapes: Images) -> Outlines:
    """Walk once around each shape, with the shape on the right hand, from side to side of its pixels.

    Each shape is in one piece. All walks take their steps at the same time; those that are back where they
    began wait for the others.
    """
    n, _, width = shapes.shape
    padded = np.pad(shapes, ((0, 0), (1, 1), (1, 1)))
    each = np.arange(n)
    # The side above the first dark pixel is on the outer outline.
    first_row, first_column = np.divmod(shapes.reshape(n, -1).argmax(axis=1), width)
    row, column, step = first_row, first_column, np.zeros(n, dtype=int)
    start = first_column + 0.5 + 1j * first_row
    points, lengths = [], np.zeros(n, dtype=np.int64)
    walking = np.ones(n, dtype=bool)
    while walking.any():
        middle = column + STEPS_RIGHT[step] / 2 + 1j * (row + STEPS_DOWN[step] / 2)
        points.append(np.where(walking, middle, start))
        lengths += walking
        row, column = row + STEPS_DOWN[step], column + STEPS_RIGHT[step]
        left, right = AHEAD_LEFT[step].T, AHEAD_RIGHT[step].T
        dark_left = padded[each, row + left[0], column + left[1]]
        dark_right = padded[each, row + right[0], column + right[1]]
        step = (step + np.where(dark_left, -1, np.where(dark_right, 0, 1))) % 4
        walking &= (row != first_row) | (column != first_column) | (step != 0)
    return Outlines(np.stack(points, axis=1), lengths)


def thin(shapes: Images) -> Images:
    """Return skeletons, one pixel wide, by the algorithm of Zhang and Suen (1984)."""
    skeleton, before = shapes.copy(), -1
    while skeleton.sum() != before:
        before = skeleton.sum()
        for sides in ((0, 2, 4, 6), (4, 6, 0, 2)):
            around = _around(skeleton)
            up, right, down, left = around[list(sides)]
            n_dark = around.sum(axis=0, dtype=np.int8)
            on_border = ~(right & down & (up | left))
            skeleton &= ~((n_dark >= 2) & (n_dark <= 6) & (_crossings(around) == 1) & on_border)
    return skeleton


def count_ends_and_branches(skeletons: Images) -> tuple[Integers, Integers]:
    """Count pixels with one neighbour, and those from which three or more lines part."""
    around = _around(skeletons)
    ends = skeletons & (around.sum(axis=0) == 1)
    branches = skeletons & (_crossings(around) >= 3)
    return ends.sum(axis=(1, 2)), branches.sum(axis=(1, 2))


def _around(images: Images) -> Images:
    """Return the eight neighbours of every pixel, clockwise from the one above."""
    height, width = images.shape[1:]
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1)))
    places = [(0, 1), (0, 2), (1, 2), (2, 2), (2, 1), (2, 0), (1, 0), (0, 0)]
    return np.stack([padded[:, i : i + height, j : j + width] for i, j in places])


def _crossings(around: Images) -> NDArray[np.int8]:
    """Count the changes from light to dark on the way around a pixel."""
    crossings: NDArray[np.int8] = (~around & np.roll(around, -1, axis=0)).sum(axis=0, dtype=np.int8)
    return crossings


def count_holes(shapes: Images) -> Integers:
    """Count the holes of shapes in one piece, from their Euler numbers.

    The Euler number is pieces less holes; Gray (1971) counts it from windows of 2 x 2 pixels.
    """
    padded = np.pad(shapes, ((0, 0), (1, 1), (1, 1))).astype(np.int64)
    windows = np.stack([padded[:, :-1, :-1], padded[:, :-1, 1:], padded[:, 1:, :-1], padded[:, 1:, 1:]])
    n_dark = windows.sum(axis=0)
    diagonal = (n_dark == 2) & (windows[0] == windows[3])
    ones, threes, diagonals = (found.sum(axis=(1, 2)) for found in (n_dark == 1, n_dark == 3, diagonal))
    holes: Integers = 1 - (ones - threes - 2 * diagonals) // 4
    return holes
