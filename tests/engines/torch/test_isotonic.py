"""Shares that grow, against scikit-learn's isotonic regression."""

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

torch = pytest.importorskip("torch", reason="needs the extra 'gpu': consilience[gpu]")

from consilience.engines.torch import isotonic


def by_scikit_learn(found, null, weight):
    kinds = np.repeat([1.0, 0.0], [len(found), len(null)])
    weights = np.repeat([1.0, weight], [len(found), len(null)])
    regression = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
    return regression.fit(np.concatenate([found, null]), kinds, weights).predict(found)


def shares(found, null, weight):
    return isotonic.growing_shares(torch.from_numpy(found), torch.from_numpy(null), weight).numpy()


@pytest.mark.parametrize("few", [0, 50, 1 << 14], ids=["device", "both", "host"])
@pytest.mark.parametrize("rounds", [1, 40])
@pytest.mark.parametrize("digits", [1, 15], ids=["ties", "no ties"])
def test_the_same_as_scikit_learn(few, rounds, digits, monkeypatch):
    monkeypatch.setattr(isotonic, "_FEW", few)
    monkeypatch.setattr(isotonic, "_ROUNDS", rounds)
    rng = np.random.default_rng(0)
    for n, repeats, shift in ((300, 1, 0.5), (40, 20, -0.5), (1, 3, 0.0), (500, 2, 5.0), (500, 2, -5.0)):
        found = rng.normal(shift, size=n).round(digits)
        null = rng.normal(size=n * repeats).round(digits)
        expected = by_scikit_learn(found, null, 1 / repeats)
        np.testing.assert_allclose(shares(found, null, 1 / repeats), expected, rtol=1e-9, atol=1e-12)


def test_all_values_are_equal():
    np.testing.assert_allclose(shares(np.ones(3), np.ones(6), 0.5), 0.5)


def test_the_device_leaves_few_blocks():
    """Most are pooled in the first rounds; after all of them the shares grow."""
    rng = np.random.default_rng(0)
    is_found = rng.random(20_000) < np.linspace(0.2, 0.9, 20_000)
    counted = torch.from_numpy(np.concatenate([[0], np.cumsum(is_found)]))
    bounds = isotonic._pooled(torch.arange(20_001), counted)
    assert len(bounds) == 20_001 if isotonic._FEW >= 20_001 else len(bounds) <= isotonic._FEW
