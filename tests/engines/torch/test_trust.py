"""Trust in rows: the same as on the host, for few and many views, samples and blocks."""

import numpy as np
import pytest
from tests.engines.test_matching import N, planted

torch = pytest.importorskip("torch", reason="needs the extra 'gpu': consilience[gpu]")

from consilience.engines import matching
from consilience.engines.torch import device as devices
from consilience.engines.torch import isotonic, trust
from consilience.engines.torch.device import Device

CPU = Device.of("cpu")


def handles(lists):
    return [torch.from_numpy(one.astype(np.int32)) for one in lists]


def both(lists, vectors, known=None, mask=None, copy_of=None):
    """Return the trust and the shares that torch finds, and those of the host."""
    theirs = matching.matched_rows(lists, vectors, known, mask, 3, copy_of)
    known = None if known is None else torch.from_numpy(known)
    found, shares = trust.matched_rows(
        handles(lists), torch.from_numpy(vectors), known, mask, 3, copy_of, CPU
    )
    assert found.dtype == torch.float64
    return (found.numpy(), shares), theirs


def assert_same(found, expected):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("v", [2, 4, 9])
def test_the_same_as_on_the_host(v, missing, monkeypatch):
    lists, vectors, _ = planted(v, 0.3)
    rng = np.random.default_rng(1)
    mask = rng.random((N, v)) < 0.7 if missing else None
    assert_same(*both(lists, vectors, rng.uniform(0.01, 1, size=(N, v)), mask))
    found, _ = both(lists, vectors, None, mask)
    monkeypatch.setitem(devices._BLOCK_BYTES, "cpu", 3000)
    monkeypatch.setattr(isotonic, "_FEW", 1)
    assert_same(both(lists, vectors, None, mask)[0], found)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("v", [3, 9])
def test_shares_from_some_of_many_samples_and_views_that_settle_by_blocks(v, missing, monkeypatch):
    monkeypatch.setattr(matching, "_BLOCK", 70)
    monkeypatch.setattr(matching, "_NULL_PAIRS", 50)
    lists, vectors, _ = planted(v, 0.3, separation=4.0)
    mask = np.random.default_rng(2).random((N, v)) < 0.7 if missing else None
    assert_same(*both(lists, vectors, None, mask))


@pytest.mark.parametrize("missing", [False, True])
def test_copies_are_trusted_as_their_originals(missing):
    lists, vectors, _ = planted(3, 0.3)
    copy_of = [0, 1, 2, 0, 2]
    mask = np.random.default_rng(0).random((N, 5)) > 0.2 if missing else None
    known = np.random.default_rng(1).uniform(0.1, 1, size=(N, 5))
    assert_same(*both([lists[i] for i in copy_of], vectors, known, mask, copy_of))


@pytest.mark.parametrize("n", [2, 3, 5])
def test_a_handful_of_samples(n):
    lists = [np.array([[(i + 1) % n] for i in range(n)])] * 3
    for mask in (None, np.eye(n, 3, dtype=bool)):
        vectors = torch.eye(n, dtype=torch.float64)[:, :2]
        found, shares = trust.matched_rows(handles(lists), vectors, None, mask, 0, None, CPU)
        assert bool(found.isfinite().all()) and found.shape == (n, 3) and np.isfinite(shares).all()


def test_places_are_those_of_the_host(monkeypatch):
    monkeypatch.setitem(devices._BLOCK_BYTES, "cpu", 500)
    lists, vectors, _ = planted(2, 0.3)
    lists[0][:20] = np.arange(20)[:, None]  # these have no neighbour
    rng = np.random.default_rng(0)
    known, seen = rng.uniform(0.1, 1, N), rng.random(N) < 0.7
    for one in (vectors, vectors.astype(np.float32)):
        expected = matching._places(lists[0], one, known, seen)
        parts = [torch.from_numpy(array) for array in (one, known, seen)]
        found = trust._places(handles(lists)[0], *parts, CPU).numpy()
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    nobody = trust._places(handles(lists)[0], parts[0], parts[1], torch.zeros(N) > 0, CPU)
    assert not nobody.any()


def test_samples_in_the_same_place_are_told_from_no_other():
    """An embedding of separate parts has the same row for all samples of a part, up to rounding."""
    lists, _, _ = planted(3, 0.3)
    y = np.arange(N) % 4
    inside = [np.where(y[one] == y[:, None], one, np.arange(N)[:, None]) for one in lists]
    rng = np.random.default_rng(0)
    vectors = np.eye(4)[y] @ np.linalg.qr(rng.normal(size=(4, 4)))[0]
    noisy = vectors + 1e-16 * rng.normal(size=vectors.shape)
    found = [
        trust.matched_rows(handles(inside), torch.from_numpy(one), None, None, 0, None, CPU)[0]
        for one in (vectors, noisy)
    ]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-9)


def test_quantiles_are_those_of_numpy():
    values = np.sort(np.random.default_rng(0).normal(size=101))
    levels = np.linspace(0, 1, 21)
    for some in (values, values[:38], values[:1]):
        found = trust._quantiles(torch.from_numpy(some), levels, CPU)
        np.testing.assert_allclose(found, np.quantile(some, levels), rtol=1e-14)


def test_trust_is_lowered_and_bounded():
    known = torch.rand(6, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    columns, rows = np.array([True, False, True]), np.arange(6) < 2
    for one in (known, None):
        lowered = trust.lower_trust(one, 3, columns, rows, 0.05, CPU)
        expected = (np.ones((6, 3)) if one is None else one.numpy()).copy()
        expected[:2, [0, 2]] = 0.05
        np.testing.assert_array_equal(lowered, expected)
    assert float(known[0, 0]) != 0.05
    np.testing.assert_array_equal(trust.bounded(2 * known, 0.3), np.clip(2 * known.numpy(), 0.3, 1))
    assert trust.bounded(1 + known, 0.3) is None
