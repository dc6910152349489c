import numpy as np
import pytest
from scipy import sparse

from consilience.engines import threads
from consilience.engines.numba.spectrum import block_product as module
from consilience.engines.numba.spectrum.block_product import (
    BlockProduct,
    columns_inner,
    inner,
    mix,
    remove,
    squared_residuals,
    turned,
)


def matrix_and_block(n, m, dtype, seed=0):
    rng = np.random.default_rng(seed)
    matrix = sparse.random(n, n, 7 / n, format="csr", random_state=rng)
    return sparse.csr_array(matrix), rng.normal(size=(n, m)).astype(dtype)


@pytest.fixture
def small_pieces(monkeypatch):
    """Cut even small blocks into many pieces."""
    monkeypatch.setattr(module, "_ROWS", 64)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("m", [1, 5, 24])
def test_products_agree_with_scipy(small_pieces, dtype, m):
    matrix, x = matrix_and_block(700, m, dtype)
    out = np.random.default_rng(1).normal(size=x.shape).astype(dtype)
    expected = 1.5 * (matrix @ x) - 0.3 * x + 0.7 * out
    product = BlockProduct(matrix)
    product.combine(x, out, 1.5, -0.3, 0.7)
    atol = 1e-13 if dtype == np.float64 else 1e-5
    np.testing.assert_allclose(out, expected, atol=atol)
    np.testing.assert_allclose(product(x), matrix @ x, atol=atol)


def test_what_was_in_the_output_does_not_matter_unless_it_is_asked_for():
    matrix, x = matrix_and_block(50, 3, np.float32)
    out = np.full_like(x, np.nan)
    BlockProduct(matrix).combine(x, out, 1.0, 2.0, 0.0)
    assert np.isfinite(out).all()


def test_wide_indices_are_accepted():
    matrix, x = matrix_and_block(50, 3, np.float64)
    wide = sparse.csr_array((matrix.data, matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)))
    np.testing.assert_array_equal(BlockProduct(wide)(x), BlockProduct(matrix)(x))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_algebra_of_blocks_agrees_with_numpy(small_pieces, dtype):
    _, x = matrix_and_block(700, 6, dtype)
    y, theta = matrix_and_block(700, 6, dtype, seed=1)[1], np.linspace(-1, 1, 6)
    tolerance = {"rtol": 1e-4, "atol": 1e-3} if dtype == np.float32 else {"rtol": 1e-12, "atol": 1e-12}
    a, b = x.astype(np.float64), y.astype(np.float64)
    np.testing.assert_allclose(inner(x, y), a.T @ b, **tolerance)
    np.testing.assert_allclose(columns_inner(x, y), (a * b).sum(axis=0), **tolerance)
    np.testing.assert_allclose(
        squared_residuals(x, y, theta), ((b - a * theta) ** 2).sum(axis=0), **tolerance
    )
    basis = np.linalg.qr(y[:, :2])[0]
    rest = x.copy()
    remove(rest, basis)
    np.testing.assert_allclose(rest, a - basis @ (basis.T @ a), **tolerance)
    mixed = x.copy()
    mix(mixed, y, 0.3, -2.0)
    np.testing.assert_allclose(mixed, 0.3 * a - 2 * b, **tolerance)
    rotation = np.random.default_rng(2).normal(size=(6, 6))
    expected = a @ rotation
    assert turned(x, rotation[:, :2]) is not x
    same = turned(x, rotation)
    assert same is x
    np.testing.assert_allclose(same, expected, **tolerance)


def test_nothing_depends_on_the_number_of_threads(small_pieces):
    matrix, x = matrix_and_block(3001, 24, np.float32)
    found = []
    for n_jobs in (1, 2, 3):
        with threads.limit(n_jobs), threads.libraries_on_one_thread():
            y = BlockProduct(matrix)(x)
            gram = inner(x, y)
            turn = turned(x.copy(), gram)
            remove(turn, y)
            found.append([y, gram, turn, squared_residuals(x, y, np.arange(24.0)), columns_inner(x, y)])
    for other in found[1:]:
        for one, two in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(one, two)
