"""Weights on a device, against the readable engine."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'gpu': consilience[gpu]")

from consilience.engines import get_engine
from consilience.engines.torch import device as devices
from consilience.engines.torch import weights as passes
from consilience.engines.torch.device import Device
from consilience.engines.torch.expected import expected_average

CPU, ORACLE = Device.of("cpu"), get_engine("numpy")
NAMES = ("a", "b", "c", "d")


@pytest.fixture(params=[1 << 26, 1000], ids=["one block", "many blocks"], autouse=True)
def blocks(request, monkeypatch):
    """Do all work in one block, then in many."""
    monkeypatch.setitem(devices._BLOCK_BYTES, "cpu", request.param)


def problem(v=4, n_edges=300, dtype=np.float64, share=0.6):
    """Return weights, which view judges which edge, view weights, and trust."""
    rng = np.random.default_rng(v)
    judged = rng.random((v, n_edges)) < share
    judged[rng.integers(v, size=n_edges), np.arange(n_edges)] = True
    common = rng.gamma(1.0, size=n_edges)
    weights = (common + rng.gamma(1.0, size=(v, n_edges))) * judged
    trust = rng.uniform(0.01, 1, size=(v, n_edges)) * judged
    return weights.astype(dtype), judged, rng.uniform(0.3, 3, size=v), trust.astype(dtype)


def put(*arrays):
    return [None if array is None else CPU.put(array) for array in arrays]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sums_quotients_and_scaled_parts(dtype):
    weights, _, units, _ = problem(dtype=dtype)
    (mine,) = put(weights)
    rtol = 1e-15 if dtype == np.float64 else 1e-6
    assert (passes.n_values(mine), passes.precision(mine)) == (300, np.dtype(dtype))
    np.testing.assert_allclose(passes.totals(mine), ORACLE.totals(weights), rtol=1e-14)
    for found, expected in (
        (passes.divide(mine, units), ORACLE.divide(weights, units)),
        (passes.consistent(mine, mine / 3, units), ORACLE.consistent(weights, weights / 3, units)),
    ):
        assert found.dtype == mine.dtype
        np.testing.assert_allclose(found.numpy(), expected, rtol=rtol, atol=rtol / 10)
    np.testing.assert_array_equal(mine.numpy(), weights)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("trusting", [False, True])
@pytest.mark.parametrize("v", [1, 4])
def test_averages(missing, weighted, trusting, v):
    weights, judged, view_weights, trust = problem(v, share=0.6 if missing else 1.0)
    parts = (
        judged if missing else None,
        view_weights if weighted else None,
        trust if trusting else None,
    )
    expected = ORACLE.average(weights, *parts)
    found = passes.average(*put(weights, parts[0]), parts[1], *put(parts[2]))
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-13)


@pytest.mark.parametrize("trusting", [False, True])
@pytest.mark.parametrize("v", [1, 2, 4, 6])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_averages_with_expected_values(trusting, v, dtype):
    weights, judged, view_weights, trust = problem(v, dtype=dtype)
    trust = trust if trusting else None
    expected = ORACLE.expected_average(weights, judged, view_weights, trust)
    found = expected_average(*put(weights, judged), view_weights, *put(trust))
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-10 if dtype == np.float64 else 1e-5)


def test_expected_values_of_views_that_hardly_meet():
    weights, judged, view_weights, _ = problem(3, 200)
    judged[0], judged[1] = np.arange(200) < 101, np.arange(200) >= 99  # two edges in common: too few
    weights *= judged
    expected = ORACLE.expected_average(weights, judged, view_weights)
    found = expected_average(*put(weights, judged), view_weights)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-10)


@pytest.mark.parametrize("trusting", [False, True])
@pytest.mark.parametrize(("v", "n_edges"), [(62, 15), (63, 200)])
def test_expected_values_of_very_many_views(trusting, v, n_edges):
    weights, judged, view_weights, trust = problem(v, n_edges, share=0.9)
    trust = trust if trusting else None
    expected = ORACLE.expected_average(weights, judged, view_weights, trust)
    found = expected_average(*put(weights, judged), view_weights, *put(trust))
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-7)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("missing", [False, True])
def test_weights_are_normalized_in_their_own_memory(dtype, missing):
    weights, judged, _, _ = problem(dtype=dtype)
    judged = judged if missing else None
    expected = ORACLE.normalize(weights.copy(), judged, NAMES)
    (mine,) = put(weights)
    found = passes.normalize(mine, *put(judged), NAMES)
    assert found.data_ptr() == mine.data_ptr()
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-14 if dtype == np.float64 else 1e-6)


@pytest.mark.parametrize("unit", [1e-300, 1e300])
def test_sums_that_are_not_finite_do_not_matter(unit):
    weights, *_ = problem()
    found = passes.normalize(CPU.put(weights * unit), None, NAMES)
    np.testing.assert_allclose(found, passes.normalize(CPU.put(weights), None, NAMES), rtol=1e-13)


@pytest.mark.parametrize("bad", [-1.5, np.nan, np.inf, -np.inf, 0.0])
def test_bad_weights_are_refused_as_by_the_readable_engine(bad):
    weights, *_ = problem()
    weights[2, [7, 9]] = bad
    if bad == 0:
        weights[2] = 0
    messages = []
    for normalize, given in ((ORACLE.normalize, weights.copy()), (passes.normalize, CPU.put(weights))):
        with pytest.raises(ValueError) as error:
            normalize(given, None, NAMES)
        messages.append(str(error.value))
    assert messages[0] == messages[1]
    assert "'c'" in messages[0]
