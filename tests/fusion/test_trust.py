"""Whole fusions with trust per edge and view."""

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engines.names import HOST_ENGINES
from tests.fusion.solving import learn, pose, solve
from tests.fusion.test_alternation import (
    best_scales,
    planted_weights,
    random_mask,
    random_weights,
    terms,
)

from consilience.fusion import consistent_graph, objective

PENALTIES = tuple(itertools.product((1e-3, 0.1, 1.0, 1e4), (0.1, 1.2, 100.0)))


def random_trust(seed, v, n_edges, lowest=-3):
    """Trust in full, in part and nearly none, a third of the pairs each."""
    rng = np.random.default_rng([seed, 9])
    shape = (v, n_edges)
    kind = rng.integers(3, size=shape)
    return np.where(kind == 0, 1.0, np.where(kind == 1, rng.uniform(0.1, 1, shape), 10.0**lowest))


@st.composite
def problems(draw):
    seed, v = draw(st.integers(0, 10**6)), draw(st.integers(1, 6))
    n_edges = draw(st.sampled_from([1, 2, 30, 300]))
    return pose(
        draw(st.sampled_from([planted_weights, random_weights]))(seed, v, n_edges),
        beta=10 ** draw(st.floats(-5, 5)),
        gamma=10 ** draw(st.floats(-5, 5)),
        view_weights=draw(st.sampled_from([None, np.random.default_rng(seed).uniform(0.3, 3, size=v)])),
        seen=random_mask(seed, v, n_edges) if draw(st.booleans()) else None,
        trust=random_trust(seed, v, n_edges, draw(st.sampled_from([-1, -3, -8]))),
    )


def assert_same_bits(one, other):
    for name in ("fused", "view_scales", "history", "consistent", "inconsistent", "view_contributions"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


def algorithm_3(problem, rounds, dca_steps=3):
    """Algorithm 3 with trust, one edge at a time; return alpha_t, A_{t-1}, and the s that belongs to both."""
    weights, lambdas, beta, gamma = problem.weights, problem.view_weights, problem.beta, problem.gamma
    v, n_edges = weights.shape
    b = np.full((v, v), gamma) + (beta - gamma) * np.eye(v)
    count = lambdas[:, None] * problem.trust
    consistent, alpha = weights.copy(), np.full(v, 1 / v)

    def fused():
        return np.sum(count * alpha[:, None] * consistent, axis=0) / count.sum(axis=0)

    s = fused()
    for number in range(rounds):
        if number > 0:
            t = lambdas * alpha
            rho = np.linalg.eigvalsh(2 * (np.diag(lambdas * alpha**2) + b * np.outer(t, t))).max()
            s = fused()
            for e, _ in itertools.product(range(n_edges), range(dca_steps)):
                a, t = consistent[:, e], count[:, e] * alpha
                gradient = 2 * t * (alpha * a - s[e]) - 2 * t * (b @ (t * (weights[:, e] - a)))
                consistent[:, e] = np.clip(a - gradient / rho, 0, weights[:, e])
        hessian = 2 * np.diag(np.sum(count * consistent**2, axis=1))
        for e in range(n_edges):
            rest = count[:, e] * (weights - consistent)[:, e]
            hessian += 2 * b * np.outer(rest, rest)
        alpha = best_scales(hessian, 2 * np.sum(count * consistent * s, axis=1))
    return alpha, consistent, fused()


@pytest.mark.parametrize("solver", ["dca", "exact"])
@given(problem=problems())
@settings(max_examples=60, deadline=None)
def test_the_objective_never_rises_and_the_history_is_true(solver, problem):
    result = learn(problem, solver=solver, tol=0, callback=lambda iteration, info: iteration == 8)
    noise = 1e-13 * terms(problem)
    assert np.diff(result.history).max() <= noise
    final = objective(problem, result.view_scales, result.consistent.T, result.fused)
    if solver == "exact":  # stopped before its own rounds, it still fuses what it returns
        assert final <= result.history[-1] * (1 + 1e-9) + noise
    else:
        assert final == pytest.approx(result.history[-1], rel=1e-9, abs=noise)


@given(problem=problems())
@settings(max_examples=40, deadline=None)
def test_exact_begins_where_dca_ends_and_does_not_rise(problem):
    dca, exact = (learn(problem, solver=solver, max_iter=15) for solver in ("dca", "exact"))
    noise = 1e-13 * terms(problem)
    np.testing.assert_array_equal(exact.history[: len(dca.history)], dca.history)
    assert len(exact.history) >= len(dca.history) + 5
    assert np.diff(exact.history).max() <= noise
    assert exact.history[-1] <= dca.history[-1] + noise
    final = objective(problem, exact.view_scales, exact.consistent.T, exact.fused)
    assert final == pytest.approx(exact.history[-1], rel=1e-9, abs=noise)
    for result in (dca, exact):
        assert (result.consistent >= 0).all()
        assert (result.inconsistent >= 0).all()
        assert (result.fused >= 0).all()
        assert result.view_scales.min() >= 0
        if problem.judged is not None:
            assert not result.inconsistent.T[~problem.judged].any()


@pytest.mark.parametrize("engine", HOST_ENGINES)
@pytest.mark.parametrize("rounds", [1, 2, 4, 7])
@pytest.mark.parametrize("missing", [False, True])
def test_it_is_algorithm_3_with_trust(engine, rounds, missing):
    seen = random_mask(3, 3, 60) if missing else None
    problem = pose(
        planted_weights(3, 3, 60),
        beta=0.1,
        gamma=2.0,
        view_weights=[1, 0.5, 2],
        seen=seen,
        trust=random_trust(3, 3, 60),
    )
    result = learn(problem, tol=0, max_iter=rounds, engine=engine)
    alpha, consistent, fused = algorithm_3(problem, rounds)
    assert result.n_iter == rounds
    np.testing.assert_allclose(result.view_scales, alpha, rtol=1e-9)
    np.testing.assert_allclose(result.consistent.T, consistent, rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(result.fused, fused, rtol=1e-9)


@pytest.mark.parametrize("solver", ["dca", "exact"])
@pytest.mark.parametrize(("beta", "gamma"), PENALTIES)
def test_engines_agree_on_a_whole_fusion(solver, beta, gamma):
    problem = pose(
        planted_weights(14, 4, 500),
        beta=beta,
        gamma=gamma,
        view_weights=[1, 0.5, 2, 1],
        seen=random_mask(14, 4, 500),
        trust=random_trust(14, 4, 500),
    )
    results = [learn(problem, solver=solver, engine=name) for name in HOST_ENGINES]
    for result in results[1:]:
        assert result.n_iter == results[0].n_iter
        np.testing.assert_allclose(result.history, results[0].history, rtol=1e-9)
        np.testing.assert_allclose(result.fused, results[0].fused, rtol=1e-7)


@pytest.mark.parametrize("solver", ["dca", "exact"])
@pytest.mark.parametrize("engine", HOST_ENGINES)
def test_full_trust_changes_no_bit(solver, engine):
    weights, seen = planted_weights(1, 3, 300).T, random_mask(1, 3, 300).T
    options = {"beta": 0.1, "gamma": 1.2, "solver": solver, "engine": engine}
    for given_seen in (None, seen):
        plain = consistent_graph(weights, seen=given_seen, **options)
        trusted = consistent_graph(weights, seen=given_seen, trust=np.ones_like(weights), **options)
        assert trusted.trust_by_view is None
        assert_same_bits(trusted, plain)


@pytest.mark.parametrize("solver", ["dca", "exact"])
@pytest.mark.parametrize("engine", HOST_ENGINES)
def test_trust_of_0_and_1_changes_no_bit_from_seen(solver, engine):
    weights, seen = planted_weights(2, 3, 300).T, random_mask(2, 3, 300).T
    options = {"beta": 0.1, "gamma": 1.2, "solver": solver, "engine": engine}
    masked = consistent_graph(weights, seen=seen, **options)
    trusted = consistent_graph(weights, trust=seen.astype(float), **options)
    assert_same_bits(trusted, masked)
    np.testing.assert_array_equal(trusted.seen_by_view, masked.seen_by_view)


@pytest.mark.parametrize("solver", ["dca", "exact"])
def test_almost_full_trust_is_almost_no_change(solver):
    """Through the other kernels: nothing jumps as trust becomes 1."""
    weights, seen = planted_weights(4, 4, 300).T, random_mask(4, 4, 300).T
    options = {"beta": 0.1, "gamma": 1.2, "solver": solver, "seen": seen}
    plain = consistent_graph(weights, **options)
    trusted = consistent_graph(weights, trust=np.full_like(weights, 1 - 1e-9), **options)
    assert trusted.trust_by_view is not None
    np.testing.assert_allclose(trusted.history, plain.history, rtol=1e-7)
    np.testing.assert_allclose(trusted.fused, plain.fused, rtol=1e-6)
    np.testing.assert_allclose(trusted.inconsistent, plain.inconsistent, atol=1e-6 * plain.fused.max())


@pytest.mark.parametrize("solver", ["dca", "exact"])
@pytest.mark.parametrize("n_edges", [1000, 200_000])  # one range of blocks, and several
def test_one_thread_and_two_give_the_same_bits(solver, n_edges):
    weights, trust = random_weights(5, 3, n_edges).T, random_trust(5, 3, n_edges).T
    options = {"beta": 0.3, "gamma": 1.5, "solver": solver, "trust": trust, "max_iter": 5, "tol": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one, two = (consistent_graph(weights, n_jobs=n_jobs, **options) for n_jobs in (1, 2))
    assert_same_bits(one, two)


@pytest.mark.parametrize("solver", ["dca", "exact"])
def test_single_precision_ends_near_double_precision(solver):
    weights, trust = planted_weights(15, 3, 1000), random_trust(15, 3, 1000)
    single, double = (
        learn(pose(weights.astype(dtype), beta=0.5, gamma=0.7, trust=trust), solver=solver)
        for dtype in (np.float32, np.float64)
    )
    assert single.fused.dtype == single.trust_by_view.dtype == np.float32
    assert single.n_iter == double.n_iter
    np.testing.assert_allclose(single.view_scales, double.view_scales, rtol=1e-3)
    np.testing.assert_allclose(single.fused, double.fused, rtol=1e-3)


@pytest.mark.parametrize("solver", ["dca", "exact"])
def test_a_fault_in_what_is_hardly_trusted_hardly_moves_the_fused_graph(solver):
    """What trust is for: a view is wrong on some edges, and that is known."""
    rng = np.random.default_rng(6)
    truth = rng.gamma(2.0, size=400)
    weights = np.stack([truth * (1 + 0.02 * rng.random(400)) for _ in range(3)], axis=1)
    wrong = rng.random(400) < 0.1
    weights[wrong, 2] = 3 * weights[wrong, 2].max()
    trust = np.ones_like(weights)
    trust[wrong, 2] = 1e-3

    def error(**options):
        fused = consistent_graph(weights, beta=1.0, gamma=100.0, solver=solver, **options).fused
        ratio = fused[wrong] / truth[wrong]
        return np.abs(ratio / np.median(fused[~wrong] / truth[~wrong]) - 1).max()

    assert error(trust=trust) < 0.05
    assert error() > 10 * error(trust=trust)


def test_consistent_graph_takes_trust_by_edges_and_views():
    weights, trust = planted_weights(7, 3, 40).T, random_trust(7, 3, 40).T
    result = consistent_graph(weights, beta=0.2, gamma=0.5, trust=trust)
    expected = solve(pose(weights.T, beta=0.2, gamma=0.5, trust=trust.T))
    assert_same_bits(result, expected)
    assert_same_bits(consistent_graph(weights, beta=0.2, gamma=0.5, trust=trust.tolist()), expected)
    np.testing.assert_array_equal(result.trust_by_view, trust.T)


def test_trust_of_another_shape_is_refused_in_the_caller_s_terms():
    with pytest.raises(ValueError, match=r"trust.*\(2, 5\).*\(5, 2\)"):
        consistent_graph(np.ones((5, 2)), trust=np.ones((2, 5)))


def test_bad_trust_is_refused_by_view_and_edge():
    trust = np.ones((5, 2))
    trust[3, 1] = 2
    with pytest.raises(ValueError, match=r"'view_1' has the trust 2\.0 at edge 3"):
        consistent_graph(np.ones((5, 2)), trust=trust)


def test_without_trust_the_result_has_none():
    assert consistent_graph(random_weights(1, 3, 40).T).trust_by_view is None


@pytest.mark.parametrize("missing", [False, True])
def test_contributions_count_the_mean_trust(missing):
    seen = random_mask(8, 3, 200).T if missing else None
    trust = random_trust(8, 3, 200).T
    result = consistent_graph(
        planted_weights(8, 3, 200).T, beta=1, gamma=2, view_weights=[1, 2, 0.5], trust=trust, seen=seen
    )
    mean = np.where(True if seen is None else seen, trust, 0).mean(axis=0)
    share = np.array([1, 2, 0.5]) * result.view_scales * mean
    np.testing.assert_allclose(result.view_contributions, share / share.sum(), rtol=1e-12)


def test_the_warning_of_a_collapse_names_trust_only_where_it_was_given():
    weights = np.repeat(random_weights(9, 1, 100), 2, axis=0)
    trust = np.ones((2, 100))
    trust[1] = 0.01
    with pytest.warns(UserWarning, match=r"collapsed onto one view: 'view_0'.*more even weights or trust\."):
        solve(pose(weights, beta=1, gamma=2, trust=trust))
    with pytest.warns(UserWarning, match=r"collapsed onto one view: 'view_0'.*more even weights\."):
        solve(pose(weights, beta=1, gamma=2, view_weights=[1, 0.01]))
