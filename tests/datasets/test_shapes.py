import numpy as np
import pytest
from scipy.ndimage import label
from scipy.spatial import ConvexHull

from consilience.datasets.shapes import (
    count_ends_and_branches,
    count_holes,
    largest_pieces,
    thin,
    trace_outlines,
)

RING = ["....", ".##.", "#..#", ".##."]
CROSS = [".......", "...#...", "...#...", ".#####.", "...#...", "...#...", "......."]
GAMMA = ["######", "######", "##....", "##....", "##....", "##...."]


def drawn(*pictures):
    return np.array([[[mark == "#" for mark in row] for row in picture] for picture in pictures])


@pytest.fixture(scope="module")
def random_shapes():
    return largest_pieces(np.random.default_rng(0).random((200, 8, 8)) < 0.5)


def test_largest_pieces():
    dark = drawn(["##...", "...#.", "..#..", ".#..."], ["#..##", ".....", "##...", "....."])
    kept = drawn([".....", "...#.", "..#..", ".#..."], ["...##", ".....", ".....", "....."])
    np.testing.assert_array_equal(largest_pieces(dark), kept)


def test_outline_of_one_pixel():
    outlines = trace_outlines(drawn(["...", "..#", "..."]))
    assert outlines.points.tolist() == [[2.5 + 1j, 3 + 1.5j, 2.5 + 2j, 2 + 1.5j]]
    assert outlines.lengths.tolist() == [4]
    np.testing.assert_allclose(outlines.perimeters(), 4 * np.sqrt(0.5))


def test_outline_of_a_diagonal_goes_around_both_pixels():
    outlines = trace_outlines(drawn(["#.", ".#"], ["#.", ".."]))
    assert outlines.lengths.tolist() == [8, 4]
    assert (outlines.points[1, 4:] == outlines.points[1, 0]).all()


def test_outlines_are_the_outer_sides_of_the_shape(random_shapes):
    outlines = trace_outlines(random_shapes)
    for shape, points, length in zip(random_shapes, outlines.points, outlines.lengths, strict=True):
        own = points[:length]
        assert len(np.unique(own)) == length
        steps = np.abs(np.diff(own, append=own[0]))
        assert set(steps.round(9)) <= {1.0, round(np.sqrt(0.5), 9)}
        # The ground that can be reached from outside without stepping over a corner of the shape.
        padded = np.pad(shape, 1)
        ground, _ = label(~padded)
        outside = ground == ground[0, 0]
        between_rows = outside[:-1] & padded[1:] | padded[:-1] & outside[1:]
        between_columns = outside[:, :-1] & padded[:, 1:] | padded[:, :-1] & outside[:, 1:]
        expected = [column - 0.5 + 1j * row for row, column in np.argwhere(between_rows)]
        expected += [column + 1j * (row - 0.5) for row, column in np.argwhere(between_columns)]
        assert set(own) == set(expected)


def test_hull_perimeters_are_those_of_scipy(random_shapes):
    outlines = trace_outlines(random_shapes)
    points = np.stack([outlines.points.real, outlines.points.imag], axis=2)
    expected = [ConvexHull(own[:length]).area for own, length in zip(points, outlines.lengths, strict=True)]
    np.testing.assert_allclose(outlines.hull_perimeters(), expected)
    assert (outlines.perimeters() > outlines.hull_perimeters() - 1e-9).all()


def test_thinned_strokes_keep_their_middle():
    skeleton = thin(drawn([".........", ".#######.", ".#######.", ".#######.", "........."]))[0]
    assert skeleton[2].sum() == skeleton.sum() == 4
    line = drawn([".#...", ".#...", "..#..", "..#.."])
    np.testing.assert_array_equal(thin(line), line)


def thin_by_the_book(shape):
    """Thin one image pixel by pixel; p[2] to p[9] are the neighbours as Zhang and Suen number them."""
    dark = np.pad(shape, 1).astype(int)
    around = [(-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1)]
    removed = [(0, 0)]
    while removed:
        removed = []
        for one, other in [((2, 4, 6), (4, 6, 8)), ((2, 4, 8), (2, 6, 8))]:
            now = []
            for row, column in np.argwhere(dark):
                p = dict(enumerate((dark[row + i, column + j] for i, j in around), start=2))
                rises = sum(p[i] == 0 and p[2 if i == 9 else i + 1] == 1 for i in range(2, 10))
                free = min(p[i] for i in one) == 0 and min(p[i] for i in other) == 0
                if 2 <= sum(p.values()) <= 6 and rises == 1 and free:
                    now.append((row, column))
            for place in now:
                dark[place] = 0
            removed += now
    return dark[1:-1, 1:-1] == 1


def test_thinning_by_the_book(random_shapes):
    for shape, skeleton in zip(random_shapes[:50], thin(random_shapes), strict=False):
        np.testing.assert_array_equal(skeleton, thin_by_the_book(shape))


def test_thinning_keeps_pieces_and_holes(random_shapes):
    skeletons = thin(random_shapes)
    # The algorithm is known to lose blocks of 2 x 2: those that vanish are left aside.
    whole = skeletons.any(axis=(1, 2))
    assert whole.mean() > 0.9
    np.testing.assert_array_equal(largest_pieces(skeletons)[whole], skeletons[whole])
    np.testing.assert_array_equal(count_holes(skeletons)[whole], count_holes(random_shapes)[whole])


def test_ends_and_branches():
    ring, cross = drawn(RING), drawn(CROSS)
    assert [found.tolist() for found in count_ends_and_branches(ring)] == [[0], [0]]
    assert [found.tolist() for found in count_ends_and_branches(cross)] == [[4], [1]]
    assert [found.tolist() for found in count_ends_and_branches(thin(drawn(GAMMA)))] == [[2], [0]]


def test_holes():
    assert count_holes(drawn(RING)).tolist() == [1]
    assert count_holes(drawn(CROSS)).tolist() == [0]
    assert count_holes(drawn(["###", "#.#", "###", "#.#", "###"])).tolist() == [2]


def test_holes_equal_pieces_of_ground(random_shapes):
    expected = [label(~np.pad(shape, 1))[1] - 1 for shape in random_shapes]
    np.testing.assert_array_equal(count_holes(random_shapes), expected)
