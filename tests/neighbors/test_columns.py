import numpy as np
import pytest

from consilience import threads
from consilience.neighbors import columns
from consilience.neighbors.columns import describe_columns

RNG = np.random.default_rng(0)
PARTS = ("lowest", "highest", "mean", "variance", "n_nonzero")


def features(n, d, dtype=np.float64):
    x = RNG.normal(size=(n, d)) * 10.0 ** RNG.integers(-3, 4, size=d) + 100 * RNG.normal(size=d)
    x[RNG.random((n, d)) < 0.3] = 0
    return x.astype(dtype)


def in_blocks(monkeypatch, x, seen=None):
    monkeypatch.setattr(columns, "SMALL", 0)
    return describe_columns(x, seen)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n, d", [(2000, 37), (5000, 1), (1, 3), (300, 700)])
@pytest.mark.parametrize("masked", [False, True])
def test_blocks_agree_with_numpy(monkeypatch, n, d, dtype, masked):
    x = features(n, d, dtype)
    seen = RNG.random(n) < 0.6 if masked and n > 1 else None
    if seen is not None:
        seen[: n // 2] = False  # whole blocks that were not seen
        seen[-1] = True
    plain, found = describe_columns(x, seen), in_blocks(monkeypatch, x, seen)
    assert found.n_rows == plain.n_rows == (n if seen is None else seen.sum())
    for part in ("lowest", "highest", "n_nonzero"):
        np.testing.assert_array_equal(getattr(found, part), getattr(plain, part))
    np.testing.assert_allclose(found.mean, plain.mean, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.variance, plain.variance, rtol=1e-11, atol=1e-20)


def test_the_same_bits_on_any_number_of_threads(monkeypatch):
    x = features(20_000, 20, np.float32)
    found = []
    for n_jobs in (1, 2, 3):
        with threads.limit(n_jobs):
            found.append(in_blocks(monkeypatch, x))
    for part in PARTS:
        assert len({getattr(one, part).tobytes() for one in found}) == 1


def test_a_constant_column_has_no_variance_at_all(monkeypatch):
    x = np.full((3000, 2), 0.1)
    x[:, 1] += 1e9
    found = in_blocks(monkeypatch, x)
    assert found.variance.tolist() == [0, 0] and found.mean.tolist() == x[0].tolist()


def test_columns_far_from_zero_keep_their_spread(monkeypatch):
    """The sum of the squares less the square of the sum would have no digit left."""
    x = 1e9 + np.arange(4000.0).reshape(-1, 1) % 2
    assert in_blocks(monkeypatch, x).variance[0] == pytest.approx(0.25, rel=1e-12)


def test_nan_is_told_by_its_column(monkeypatch):
    x = features(1000, 3)
    x[999, 1] = np.nan
    found = in_blocks(monkeypatch, x)
    for part in ("lowest", "highest", "mean", "variance"):
        assert np.isnan(getattr(found, part)).tolist() == [False, True, False]


def test_any_layout(monkeypatch):
    """Read-only, Fortran order, every second row: as if it were a plain array."""
    x = features(2000, 6)
    frozen = x.copy()
    frozen.flags.writeable = False
    plain = in_blocks(monkeypatch, x)
    for other in (frozen, np.asfortranarray(x), np.repeat(x, 2, axis=0)[::2]):
        found = in_blocks(monkeypatch, other)
        for part in PARTS:
            np.testing.assert_array_equal(getattr(found, part), getattr(plain, part))
