"""The rounds of a fusion on a device: against the readable engine."""

import dataclasses

import numpy as np
import pytest
from tests.engines.round_problems import (
    assert_same_state,
    assert_same_sums,
    doubted,
    random_problem,
    random_scales,
)

torch = pytest.importorskip("torch", reason="needs the extra 'gpu': consilience[gpu]")

from consilience.engines import get_engine
from consilience.engines.numpy.rounds import exact_edge_step
from consilience.engines.torch import device as devices
from consilience.engines.torch import rounds
from consilience.engines.torch.device import Device
from consilience.engines.torch.exact_steps import least_on_edges

CPU, ORACLE = Device.of("cpu"), get_engine("numpy")


@pytest.fixture(params=[1 << 26, 100000], ids=["one block", "many blocks"])
def blocks(request, monkeypatch):
    """Do all work in one block, then in many."""
    monkeypatch.setitem(devices._BLOCK_BYTES, "cpu", request.param)


def loaded(problem):
    parts = (None if part is None else CPU.put(part) for part in (problem.judged, problem.trust))
    return rounds.load(CPU.put(problem.weights), *parts, problem.view_weights)


def collected(state):
    return tuple(part.numpy().copy() for part in rounds.collect(state))


def one_round(functions, state, problem, kind, scales):
    if kind == "dca":
        return functions.dca_round(state, scales, problem.beta, problem.gamma, 3)
    return functions.exact_round(state, scales, problem.beta, problem.gamma)


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize("kind", ["dca", "exact"])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("trusting", [False, True])
@pytest.mark.parametrize("v", [1, 2, 3, 20])
def test_rounds_give_what_numpy_gives(kind, missing, trusting, v):
    for seed in range(3):
        problem = random_problem(seed, v, 600, missing)
        problem = doubted(problem, seed) if trusting else problem
        rng, exact = np.random.default_rng(seed), kind == "exact"
        mine = loaded(problem)
        theirs = ORACLE.load(problem.weights, problem.judged, problem.trust, problem.view_weights)
        even = np.full(v, 1 / v)
        assert_same_sums(rounds.start(mine, even), ORACLE.start(theirs, even), problem, 1e-10, False)
        for _ in range(3):
            scales = random_scales(rng, v)
            found = one_round(rounds, mine, problem, kind, scales)
            expected = one_round(ORACLE, theirs, problem, kind, scales)
            assert_same_sums(found, expected, problem, 1e-10, exact)
            assert_same_state(collected(mine), ORACLE.collect(theirs), problem, 1e-10)
        rounds.fuse(mine, even)
        ORACLE.fuse(theirs, even)
        assert_same_state(collected(mine), ORACLE.collect(theirs), problem, 1e-10)


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize("kind", ["dca", "exact"])
@pytest.mark.parametrize("trusting", [False, True])
@pytest.mark.parametrize("gamma", [0.1, 1.0, 40.0])
def test_single_precision_is_kept_and_sums_are_in_double_precision(kind, trusting, gamma):
    problem = dataclasses.replace(random_problem(1, 3, 1000, True), beta=0.5, gamma=gamma)
    problem = doubted(problem, 1) if trusting else problem
    single = dataclasses.replace(problem, weights=problem.weights.astype(np.float32))
    mine = loaded(single)
    theirs = ORACLE.load(problem.weights, problem.judged, problem.trust, problem.view_weights)
    rng = np.random.default_rng(1)
    for _ in range(3):
        scales = random_scales(rng, 3, with_zeros=False)
        found = one_round(rounds, mine, single, kind, scales)
        expected = one_round(ORACLE, theirs, problem, kind, scales)
        assert_same_sums(found, expected, problem, 1e-4, kind == "exact")
        state = collected(mine)
        assert all(part.dtype == np.float32 for part in state)
        assert_same_state(state, ORACLE.collect(theirs), problem, 1e-4)
    total = mine.total.double().numpy()
    fused = state[1].astype(float)
    assert found.fused_square == pytest.approx(np.sum(total * fused**2), rel=1e-13)


@pytest.mark.parametrize("gamma", [1e8, 1e12, 1e20])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("trusting", [False, True])
def test_a_huge_gamma_blames_at_most_one_view_and_by_the_right_amount(gamma, dtype, trusting):
    problem = dataclasses.replace(random_problem(1, 3, 200, dtype=dtype), beta=0.01, gamma=gamma)
    trust = np.random.default_rng(0).uniform(0.01, 1, size=(3, 200)).astype(dtype)
    problem = dataclasses.replace(problem, trust=trust) if trusting else problem
    scales = np.array([0.3, 0.3, 0.4])
    state = loaded(problem)
    rounds.exact_round(state, scales, problem.beta, gamma)
    inconsistent, fused = collected(state)
    assert (np.count_nonzero(inconsistent, axis=0) <= 1).all()
    counts = problem.view_weights[:, None] * (trust if trusting else np.ones((3, 200)))
    excess = np.maximum(scales[:, None] * problem.weights - fused, 0)
    blamed = np.argmax(excess**2 / (1 / counts + 0.01), axis=0)
    expected = np.where(np.arange(3)[:, None] == blamed, excess / (1 + 0.01 * counts) / scales[:, None], 0.0)
    rtol = 1e-4 if dtype == np.float32 else 1e-10
    np.testing.assert_allclose(inconsistent, expected, rtol=rtol, atol=rtol * expected.max())


@pytest.mark.parametrize("trusting", [False, True])
def test_weights_and_trust_are_not_changed(trusting):
    problem = random_problem(7, 3, 200, missing=True)
    problem = doubted(problem, 7) if trusting else problem
    weights = CPU.put(problem.weights)
    trust = None if problem.trust is None else CPU.put(problem.trust)
    copies = weights.clone(), None if trust is None else trust.clone()
    state = rounds.load(weights, CPU.put(problem.judged), trust, problem.view_weights)
    for kind in ("dca", "exact"):
        one_round(rounds, state, problem, kind, np.array([0.5, 0.2, 0.3]))
    assert torch.equal(weights, copies[0])
    assert trust is None or torch.equal(trust, copies[1])


def test_no_edges_give_sums_of_0():
    state = rounds.load(CPU.zeros(2, 0), None, None, np.ones(2))
    sums = rounds.dca_round(state, np.array([0.5, 0.5]), 1.0, 1.0, 3)
    assert not sums.inconsistent_gram.any() and sums.fused_square == 0


def both_minimisers(excess, own, gamma):
    """Return the minimisers of the two implementations."""
    curvature = own - gamma
    active = excess > 0
    mine = least_on_edges(
        *map(CPU.put, (excess, own, active & (curvature > 0), active & (curvature <= 0))), gamma
    )
    return mine.numpy(), exact_edge_step(excess, curvature, gamma)


@pytest.mark.parametrize("gamma", [0.0, 0.4, 1.0, 1.5, 9.0])
@pytest.mark.parametrize("v", [1, 2, 3, 6])
def test_exact_steps_reach_the_objective_of_the_readable_one(gamma, v):
    rng = np.random.default_rng(v)
    excess = rng.normal(0.3, 1, size=(v, 400))
    excess[:, :130] = np.round(2 * excess[:, :130]) / 2  # ties
    own = 2.0 ** rng.integers(-1, 3, size=(v, 400))  # curvatures of 0 among them

    def value(z):
        return ((own - gamma) * z**2).sum(axis=0) + gamma * z.sum(axis=0) ** 2 - 2 * (excess * z).sum(axis=0)

    mine, theirs = both_minimisers(excess, own, gamma)
    assert (mine >= 0).all()
    np.testing.assert_allclose(value(mine), value(theirs), rtol=1e-10, atol=1e-12)
