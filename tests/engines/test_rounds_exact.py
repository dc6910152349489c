"""The exact edge step against the enumeration of all faces.

An edge's program: minimise sum_i d_i z_i^2 + gamma (sum_i z_i)^2 - 2 sum_i r_i z_i over z >= 0, with
d_i = 1 / lambda_i + beta - gamma.
"""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engines.names import HOST_ENGINES

from consilience.engines import get_engine
from consilience.engines.numpy.rounds import exact_edge_step


def program_value(z, excess, curvature, gamma):
    """The objective of every column."""
    return curvature @ z**2 + gamma * z.sum(axis=0) ** 2 - 2 * np.sum(excess * z, axis=0)


def least_value(excess, curvature, gamma):
    """Enumerate all supports, solve for a stationary point on each, and return the least feasible value.

    Every candidate is clipped, so feasible: the result is never below the minimum. A support on which
    the system is singular can be left out: moving along its null space costs nothing and ends on a
    smaller one.
    """
    v, n_edges = excess.shape
    best = np.zeros(n_edges)
    for count in range(1, v + 1):
        for support in itertools.combinations(range(v), count):
            rows = list(support)
            try:
                solution = np.linalg.solve(np.diag(curvature[rows]) + gamma, excess[rows])
            except np.linalg.LinAlgError:
                continue
            z = np.zeros_like(excess)
            z[rows] = np.maximum(solution, 0)
            best = np.fmin(best, program_value(z, excess, curvature, gamma))
    return best


def assert_least(z, excess, curvature, gamma, rtol=1e-9):
    """Hold every column to the enumeration, relative to what its largest excess could gain alone."""
    assert (z >= 0).all()
    size = np.maximum(excess, 0).max(axis=0) ** 2 / np.min(curvature + gamma)
    apart = program_value(z, excess, curvature, gamma) - least_value(excess, curvature, gamma)
    np.testing.assert_array_less(np.abs(apart), rtol * size + 1e-28)


def assert_nearly_least(z, excess, curvature, gamma, rtol):
    """Hold the columns to the enumeration together, relative to what they gain in all."""
    assert (z >= 0).all()
    best = least_value(excess, curvature, gamma)
    apart = program_value(z, excess, curvature, gamma) - best
    assert np.abs(apart).sum() <= rtol * np.abs(best).sum()


def random_excess(rng, v, n_edges):
    """Excesses of every sign pattern; a third of the columns with ties."""
    excess = rng.normal(rng.uniform(-1, 1), 1, size=(v, n_edges))
    excess[:, : n_edges // 3] = np.round(2 * excess[:, : n_edges // 3]) / 2
    return excess


def penalties_for(rng, kind, view_weights):
    """Draw beta and gamma so that the curvatures are of this kind; None if these weights do not allow it."""
    beta = 10 ** rng.uniform(-4, 2) * rng.integers(0, 2)
    low, high = (1 / view_weights).min() + beta, (1 / view_weights).max() + beta
    if kind == "positive":
        return beta, rng.uniform(0, 0.95) * low
    if kind == "none positive":
        return beta, high * 10 ** rng.uniform(0.01, 4)
    if kind == "mixed":
        return beta, low + (high - low) * rng.uniform(0.1, 0.9)
    if kind == "gamma 0":
        return beta, 0.0
    return beta, 1 / rng.choice(view_weights) + beta  # "zero": up to rounding


KINDS = ("positive", "none positive", "mixed", "zero", "gamma 0")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("v", [1, 2, 3, 4, 5])
def test_numpy_reaches_the_least_value_over_all_faces(kind, v):
    rng = np.random.default_rng([v, KINDS.index(kind)])
    for _ in range(12):  # 12 x 400 edges x 25 cases
        view_weights = np.ones(v) if rng.random() < 0.3 else 2 ** rng.uniform(-2, 2, size=v)
        beta, gamma = penalties_for(rng, kind, view_weights)
        curvature = 1 / view_weights + beta - gamma
        if kind == "zero":  # exactly, which rounding may have spoilt
            curvature[np.abs(curvature) < 1e-9] = 0.0
            assert (curvature == 0).any()
        excess = random_excess(rng, v, 400)
        assert_least(exact_edge_step(excess, curvature, gamma), excess, curvature, gamma)


@pytest.mark.parametrize("name", HOST_ENGINES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("v", [1, 2, 3, 4, 5])
def test_a_round_reaches_the_least_value_over_all_faces(name, kind, v):
    """Through `exact_round`, which for Numba means three kernels, one for each sign of the curvatures."""
    rng = np.random.default_rng([v, KINDS.index(kind), 1])
    engine = get_engine(name)
    for _ in range(10):
        view_weights = 2.0 ** rng.integers(-2, 3, size=v)  # powers of two, so that curvatures can be 0
        beta, gamma = penalties_for(rng, kind, view_weights)
        if kind == "zero":
            beta = rng.integers(0, 9) / 8
            gamma = 1 / rng.choice(view_weights) + beta
        curvature = 1 / view_weights + beta - gamma
        weights = rng.gamma(0.5, size=(v, 300))
        scales = rng.dirichlet(np.full(v, 3.0))
        state = engine.load(weights, None, None, view_weights)
        for _ in range(2):  # from E = 0, then from the E of the first round
            engine.exact_round(state, scales, beta, gamma)
            inconsistent, fused = engine.collect(state)
            excess = scales[:, None] * weights - fused
            z = (view_weights * scales)[:, None] * inconsistent
            assert_least(z, excess, curvature, gamma)


@pytest.mark.parametrize("name", HOST_ENGINES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("tiny", [4e-16, 1e-15, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4])
@pytest.mark.parametrize("others", [(), (0.5,), (2.0,), (0.5, 2.0)])
def test_a_round_with_curvatures_that_are_nearly_0_stays_near_the_least_value(
    name, dtype, sign, tiny, others
):
    """Dividing by what rounding has left of a curvature must not make up an answer."""
    view_weights = np.array([1.0, 1.0, 1.0, *others])
    v = len(view_weights)
    beta, gamma = 0.25, 1.25 - sign * tiny
    curvature = 1 / view_weights + beta - gamma
    assert 0 < np.abs(curvature[:3]).max() < 2 * tiny
    weights = np.random.default_rng(0).gamma(1.0, size=(v, 400)).astype(dtype)
    scales = np.full(v, 1 / v)
    engine = get_engine(name)
    state = engine.load(weights, None, None, view_weights)
    engine.exact_round(state, scales, beta, gamma)
    inconsistent, fused = (array.astype(float) for array in engine.collect(state))
    excess = scales[:, None] * weights - fused
    z = (view_weights * scales)[:, None] * inconsistent
    assert_nearly_least(z, excess, curvature, gamma, 1e-7 if dtype == np.float64 else 1e-4)


@given(st.integers(0, 10**6), st.integers(1, 6), st.sampled_from(KINDS))
@settings(max_examples=100, deadline=None)
def test_the_upper_bounds_never_bind(seed, v, kind):
    """With r = p - s and s >= 0, (1 + lambda beta) e <= r at the minimum, so e <= p."""
    rng = np.random.default_rng(seed)
    view_weights = 2 ** rng.uniform(-2, 2, size=v)
    beta, gamma = penalties_for(rng, kind, view_weights)
    curvature = 1 / view_weights + beta - gamma
    curvature[np.abs(curvature) < 1e-9] = 0.0
    scaled = rng.gamma(0.5, size=(v, 50))
    excess = scaled - rng.gamma(0.5, size=50)
    blame = exact_edge_step(excess, curvature, gamma) / view_weights[:, None]
    bound = np.maximum(excess, 0) / (1 + view_weights * beta)[:, None]
    assert (blame <= bound * (1 + 1e-9) + 1e-12).all()
    assert (blame <= scaled * (1 + 1e-9) + 1e-12).all()


@pytest.mark.parametrize("name", HOST_ENGINES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_view_with_scale_0_is_not_blamed_and_does_not_disturb_the_others(name, kind):
    rng = np.random.default_rng(3)
    view_weights = np.array([1.0, 0.5, 2.0, 1.0])
    beta, gamma = penalties_for(rng, kind, view_weights[:3])
    weights = rng.gamma(0.5, size=(4, 300))
    scales = np.array([0.5, 0.2, 0.3, 0.0])
    engine = get_engine(name)
    state = engine.load(weights, None, None, view_weights)
    engine.exact_round(state, scales, beta, gamma)
    inconsistent, fused = engine.collect(state)
    assert not inconsistent[3].any()
    curvature = (1 / view_weights + beta - gamma)[:3]
    excess = scales[:3, None] * weights[:3] - fused
    assert_least((view_weights * scales)[:3, None] * inconsistent[:3], excess, curvature, gamma)


@pytest.mark.parametrize("kind", KINDS)
def test_ties_give_the_same_objective_in_any_order(kind):
    rng = np.random.default_rng(4)
    view_weights = np.array([1.0, 1.0, 0.5, 0.5])
    beta, gamma = penalties_for(rng, kind, view_weights)
    curvature = 1 / view_weights + beta - gamma
    excess = np.repeat(rng.normal(size=(1, 200)), 4, axis=0)
    expected = program_value(exact_edge_step(excess, curvature, gamma), excess, curvature, gamma)
    for order in itertools.permutations(range(4)):
        d = curvature[list(order)]
        actual = program_value(exact_edge_step(excess, d, gamma), excess, d, gamma)
        np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-14)


def test_a_large_gamma_blames_one_view_alone():
    """With weights 1 and gamma >= 1 + beta: the largest excess, over 1 + beta."""
    excess = np.array([[0.3, -1.0, 2.0], [0.5, -0.1, 1.0], [0.4, -0.2, 2.5]])
    z = exact_edge_step(excess, np.full(3, 1 + 0.25 - 7.0), 7.0)
    np.testing.assert_allclose(z, [[0, 0, 0], [0.4, 0, 0], [0, 0, 2]], rtol=1e-12)


def test_a_small_gamma_shares_the_blame():
    """With weights 1 and gamma < 1 + beta: the closed form for the t largest excesses, worked by hand.

    beta = 0.5, gamma = 1: d = 0.5. Both in: m = (2 + 1.5) / (0.5 + 2) = 1.4, z = (0.6, 0.1) / 0.5. With
    an excess of 1 the second would be negative: m = 2 / (0.5 + 1), z = (2 - 4/3) / 0.5.
    """
    excess = np.array([[2.0, 2.0], [1.5, 1.0]])
    z = exact_edge_step(excess, np.full(2, 0.5), 1.0)
    np.testing.assert_allclose(z, [[1.2, 4 / 3], [0.2, 0]], rtol=1e-12)


def test_gamma_0_treats_the_views_one_by_one():
    excess = np.array([[2.0, -2.0], [1.5, 1.0]])
    z = exact_edge_step(excess, np.array([2.0, 4.0]), 0.0)
    np.testing.assert_allclose(z, [[1, 0], [0.375, 0.25]], rtol=1e-12)
