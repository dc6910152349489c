"""The statistics of columns that engines give: those of large views, in blocks, next to NumPy's."""

import numpy as np
import pytest

from consilience.engines import get_engine, threads
from consilience.engines import numba as numba_engine

RNG = np.random.default_rng(0)
PARTS = ("lowest", "highest", "mean", "variance", "n_nonzero")


def features(n, d, dtype=np.float64):
    x = RNG.normal(size=(n, d)) * 10.0 ** RNG.integers(-3, 4, size=d) + 100 * RNG.normal(size=d)
    x[RNG.random((n, d)) < 0.3] = 0
    return x.astype(dtype)


@pytest.fixture
def in_blocks(monkeypatch):
    """A function that describes columns as those of a large view are described, by the numba engine."""

    def describe(x, seen=None):
        with monkeypatch.context() as patch:
            patch.setattr(numba_engine, "MANY_ENTRIES", 0)
            return get_engine("numba").describe(x, seen)

    return describe


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n, d", [(2000, 37), (5000, 1), (1, 3), (300, 700)])
@pytest.mark.parametrize("masked", [False, True])
def test_blocks_agree_with_numpy(in_blocks, n, d, dtype, masked):
    x = features(n, d, dtype)
    seen = RNG.random(n) < 0.6 if masked and n > 1 else None
    if seen is not None:
        seen[: n // 2] = False  # whole blocks that were not seen
        seen[-1] = True
    found = in_blocks(x, seen)
    for engine in ("numba", "numpy"):  # of a view this small both engines ask NumPy
        plain = get_engine(engine).describe(x, seen)
        assert found.n_rows == plain.n_rows == (n if seen is None else seen.sum())
        for part in ("lowest", "highest", "n_nonzero"):
            np.testing.assert_array_equal(getattr(found, part), getattr(plain, part))
        np.testing.assert_allclose(found.mean, plain.mean, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(found.variance, plain.variance, rtol=1e-11, atol=1e-20)


def test_the_same_bits_on_any_number_of_threads(in_blocks):
    x = features(20_000, 20, np.float32)
    found = []
    for n_jobs in (1, 2, 3):
        with threads.limit(n_jobs):
            found.append(in_blocks(x))
    for part in PARTS:
        assert len({getattr(one, part).tobytes() for one in found}) == 1


def test_a_constant_column_has_no_variance_at_all(in_blocks):
    x = np.full((3000, 2), 0.1)
    x[:, 1] += 1e9
    found = in_blocks(x)
    assert found.variance.tolist() == [0, 0] and found.mean.tolist() == x[0].tolist()


def test_columns_far_from_zero_keep_their_spread(in_blocks):
    """The sum of the squares less the square of the sum would have no digit left."""
    x = 1e9 + np.arange(4000.0).reshape(-1, 1) % 2
    assert in_blocks(x).variance[0] == pytest.approx(0.25, rel=1e-12)


def test_nan_shows_in_its_column_only(in_blocks):
    x = features(1000, 3)
    x[999, 1] = np.nan
    found = in_blocks(x)
    for part in ("lowest", "highest", "mean", "variance"):
        assert np.isnan(getattr(found, part)).tolist() == [False, True, False]


def test_any_layout(in_blocks):
    """Read-only, Fortran order, every second row: as if it were a plain array."""
    x = features(2000, 6)
    frozen = x.copy()
    frozen.flags.writeable = False
    plain = in_blocks(x)
    for other in (frozen, np.asfortranarray(x), np.repeat(x, 2, axis=0)[::2]):
        found = in_blocks(other)
        for part in PARTS:
            np.testing.assert_array_equal(getattr(found, part), getattr(plain, part))
