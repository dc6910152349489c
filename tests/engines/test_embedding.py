"""What all engines in this memory do with embeddings: rows of unit length, and signs."""

import numpy as np

from consilience.engines import embedding
from consilience.engines.embedding import signs, unit_rows


def fix_signs(vectors):
    return vectors * signs(vectors)


def test_rounding_does_not_choose_the_sign():
    mirrored = np.array([[1 - 1e-12], [0.5], [-1.0]])
    np.testing.assert_array_equal(fix_signs(mirrored), mirrored)
    np.testing.assert_array_equal(fix_signs(-mirrored), mirrored)


def test_unit_rows():
    x = np.array([[3.0, -4.0], [0.0, 0.0], [1e-200, 0.0], [1e200, 1e200]])
    before = x.copy()
    np.testing.assert_allclose(unit_rows(x), [[0.6, -0.8], [0, 0], [1, 0], [0.5**0.5, 0.5**0.5]])
    np.testing.assert_array_equal(x, before)


def test_rows_and_signs_do_not_depend_on_the_size_of_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(50, 6))
    vectors[:, 1] = 0.0
    vectors[[3, 41], 2] = [-9.0, 9.0]  # the first of the largest decides, in whatever block
    vectors[[12, 44], 3] = [-9.0 * (1 - 1e-7), -9.0]
    rows, signed = unit_rows(vectors), fix_signs(vectors)
    monkeypatch.setattr(embedding, "_ROWS", 7)
    np.testing.assert_array_equal(unit_rows(vectors), rows)
    np.testing.assert_array_equal(fix_signs(vectors), signed)
    assert signed[3, 2] > 0 > signed[41, 2]
    assert (signed[[12, 44], 3] > 0).all()
