import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from tests.engines.names import HOST_ENGINES
from tests.fusion.solving import learn, pose, solve

from consilience.fusion import RoundInfo, Schedule, objective

GRID = tuple(itertools.product((1e-3, 1e-1, 1.0, 10.0, 1e4), repeat=2))
MIN_ROUNDS = 5


def planted_weights(seed, v, n_edges, noise=0.1):
    """Views of one graph at different scales, a few of their edges far too heavy."""
    rng = np.random.default_rng(seed)
    truth = rng.gamma(2.0, size=n_edges)
    weights = truth * np.maximum(1 + noise * rng.normal(size=(v, n_edges)), 0.05)
    weights += (rng.random((v, n_edges)) < 0.15) * rng.gamma(4.0, size=(v, n_edges))
    return weights * rng.uniform(0.1, 10, size=(v, 1))


def random_weights(seed, v, n_edges):
    return np.random.default_rng(seed).gamma(1.0, size=(v, n_edges))


def random_mask(seed, v, n_edges):
    rng = np.random.default_rng(seed)
    seen = rng.random((v, n_edges)) < 0.7
    seen[rng.integers(v, size=n_edges), np.arange(n_edges)] = True
    seen[:, 0] = True
    return seen


@st.composite
def problems(draw):
    seed, v = draw(st.integers(0, 10**6)), draw(st.integers(1, 6))
    n_edges = draw(st.sampled_from([1, 2, 30, 300]))
    weights = draw(st.sampled_from([planted_weights, random_weights]))(seed, v, n_edges)
    return pose(
        weights,
        beta=10 ** draw(st.floats(-5, 5)),
        gamma=10 ** draw(st.floats(-5, 5)),
        view_weights=draw(st.sampled_from([None, np.random.default_rng(seed).uniform(0.3, 3, size=v)])),
        seen=random_mask(seed, v, n_edges) if draw(st.booleans()) else None,
    )


def terms(problem):
    """The size of the sums that cancel in the objective; rounding is relative to it."""
    return problem.view_weights @ np.sum(problem.weights.astype(float) ** 2, axis=1)


def total_weight(problem):
    """The weight of the views that judge an edge, for each edge."""
    if problem.judged is None:
        return np.full(problem.weights.shape[1], problem.view_weights.sum())
    return problem.view_weights @ problem.judged


def weighted_mean(problem, scales, consistent):
    return (problem.view_weights * scales) @ consistent / total_weight(problem)


def best_scales(hessian, linear):
    """The minimiser of a convex program on the simplex, by trying all faces."""
    v = len(linear)
    best, least = None, np.inf
    for count in range(1, v + 1):
        for face in map(list, itertools.combinations(range(v), count)):
            system = np.zeros((count + 1, count + 1))
            system[:count, :count] = hessian[np.ix_(face, face)]
            system[:count, count] = system[count, :count] = 1
            x = np.zeros(v)
            x[face] = np.linalg.solve(system, np.append(linear[face], 1))[:count]
            value = x @ hessian @ x / 2 - linear @ x
            if x.min() >= 0 and value < least:
                best, least = x, value
    return best


def algorithm_3(problem, rounds, dca_steps=3):
    """The paper's Algorithm 3, plainly: yield alpha_t, A_{t-1}, and s_{t-1}, as they stand after line 5."""
    weights, lambdas, beta, gamma = problem.weights, problem.view_weights, problem.beta, problem.gamma
    v = len(lambdas)
    b = np.full((v, v), gamma) + (beta - gamma) * np.eye(v)
    consistent, alpha = weights.copy(), np.full(v, 1 / v)
    fused = weighted_mean(problem, alpha, consistent)
    for _ in range(rounds):
        rest = weights - consistent
        hessian = 2 * (
            np.diag(lambdas * (consistent**2).sum(1)) + b * np.outer(lambdas, lambdas) * (rest @ rest.T)
        )
        alpha = best_scales(hessian, 2 * lambdas * (consistent @ fused))
        yield alpha, consistent, fused
        fused = weighted_mean(problem, alpha, consistent)
        t = lambdas * alpha
        k = b * np.outer(t, t)
        d = 2 * (np.diag(lambdas * alpha**2) + k)
        rho = np.linalg.eigvalsh(d).max()
        for _ in range(dca_steps):
            step = ((rho * np.eye(v) - d) @ consistent + 2 * (np.outer(t, fused) + k @ weights)) / rho
            consistent = np.clip(step, 0, weights)


def rounds_until_settled(history, tol, rounding):
    """Return the round at which the rule of the authors' program stops, or None."""
    for t in range(MIN_ROUNDS, len(history)):
        last_gain, whole_gain = history[t - 1] - history[t], history[0] - history[t]
        if last_gain < tol * whole_gain or last_gain <= rounding:
            return t
    return None


@pytest.mark.parametrize("solver", ["dca", "exact"])
@given(problem=problems())
@settings(max_examples=60, deadline=None)
def test_the_objective_never_rises_and_the_history_is_true(solver, problem):
    values = []

    def stop_after_8(iteration, info):
        values.append(info.objective)
        return iteration == 8

    result = learn(problem, solver=solver, tol=0, callback=stop_after_8)
    noise = 1e-13 * terms(problem)
    assert np.diff(result.history).max() <= noise
    np.testing.assert_array_equal(result.history[1:], values)
    assert result.n_iter == len(result.history) - 1 == len(values)
    final = objective(problem, result.view_scales, result.consistent.T, result.fused)
    if solver == "exact":  # stopped before its own rounds, it still fuses what it returns
        assert final <= result.history[-1] * (1 + 1e-9) + noise
    else:
        assert final == pytest.approx(result.history[-1], rel=1e-9, abs=noise)


@pytest.mark.parametrize("solver", ["dca", "exact"])
@given(problem=problems())
@settings(max_examples=30, deadline=None)
def test_what_comes_out_is_feasible(solver, problem):
    result = learn(problem, solver=solver)
    assert result.view_scales.min() >= 0
    assert result.view_scales.sum() == pytest.approx(1, abs=1e-12)
    assert (result.consistent >= 0).all()
    assert (result.inconsistent >= 0).all()
    assert (result.consistent <= problem.weights.T).all()
    assert (result.fused >= 0).all()
    assert result.converged == (result.status == "converged")
    assert result.solver == solver


@pytest.mark.parametrize("tol", [0.3, 0.05, 1e-3, 1e-6])
@pytest.mark.parametrize("seed", range(6))
def test_the_stopping_rule_is_the_one_of_the_authors_program(tol, seed):
    make = (planted_weights, random_weights)[seed % 2]
    beta, gamma = GRID[(7 * seed) % len(GRID)]
    problem = pose(make(seed, 2 + seed % 3, 200), beta=beta, gamma=gamma)
    long = learn(problem, tol=0, max_iter=60)
    expected = rounds_until_settled(long.history, tol, 1e-15 * terms(problem))
    result = learn(problem, tol=tol, max_iter=60)
    np.testing.assert_allclose(result.history, long.history[: len(result.history)], rtol=1e-12)
    if expected is None:
        assert (result.status, result.n_iter, result.converged) == ("max_iter reached", 60, False)
    else:
        assert (result.status, result.n_iter, result.converged) == ("converged", expected, True)


@pytest.mark.parametrize("tol", [0.3, 0.05, 1e-3])
@pytest.mark.parametrize("seed", range(6))
def test_exact_rounds_begin_where_dca_ends_and_stop_by_the_same_rule(tol, seed):
    make = (planted_weights, random_weights)[seed % 2]
    beta, gamma = GRID[(7 * seed) % len(GRID)]
    problem = pose(make(seed, 2 + seed % 3, 200), beta=beta, gamma=gamma)
    dca, exact = (learn(problem, solver=solver, tol=tol, max_iter=60) for solver in ("dca", "exact"))
    np.testing.assert_array_equal(exact.history[: len(dca.history)], dca.history)
    assert exact.history[-1] <= dca.history[-1] * (1 + 1e-12)
    own = np.concatenate([exact.history[:1], exact.history[len(dca.history) :]])
    expected = rounds_until_settled(own, tol, 1e-15 * terms(problem))
    assert exact.n_iter - dca.n_iter == (expected or 60)


def test_the_stopping_rule_is_met_at_different_rounds():
    """The problems above would not test the rule if all stopped at round 5."""
    rounds = {
        learn(pose(planted_weights(1, 3, 200), beta=0.1, gamma=1.0), tol=tol, max_iter=60).n_iter
        for tol in (0.3, 0.05, 1e-3, 1e-6)
    }
    assert len(rounds) >= 3


@pytest.mark.parametrize("engine", HOST_ENGINES)
@pytest.mark.parametrize("cap", range(1, 9))
@pytest.mark.parametrize("missing", [False, True])
def test_the_cap_returns_s_from_the_last_scales(engine, cap, missing):
    """At the cap: alpha_t, A_{t-1} and the s that belongs to both."""
    seen = random_mask(3, 3, 150) if missing else None
    problem = pose(
        planted_weights(3, 3, 150), beta=0.1, gamma=2.0, view_weights=[1, 0.5, 2], seen=seen, names="abc"
    )
    with pytest.warns(ConvergenceWarning, match=rf"max_iter={cap}"):
        result = solve(problem, tol=0, max_iter=cap, engine=engine)
    *_, (alpha, consistent, _) = algorithm_3(problem, cap)
    assert result.n_iter == cap
    assert not result.converged
    np.testing.assert_allclose(result.view_scales, alpha, rtol=1e-9)
    np.testing.assert_allclose(result.consistent.T, consistent, rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(result.fused, weighted_mean(problem, alpha, consistent), rtol=1e-9)


@pytest.mark.parametrize("engine", HOST_ENGINES)
@pytest.mark.parametrize("last", range(1, 9))
def test_without_the_cap_s_is_the_one_of_the_last_completed_round(engine, last):
    """Stopped at round t: alpha_t and A_{t-1}, but s from alpha_{t-1} and A_{t-2}."""
    problem = pose(planted_weights(4, 3, 150), beta=0.1, gamma=2.0, view_weights=[1, 0.5, 2])
    result = learn(problem, tol=0, engine=engine, callback=lambda iteration, info: iteration == last)
    states = list(algorithm_3(problem, last))
    alpha, consistent, fused = states[-1]
    assert result.n_iter == last
    np.testing.assert_allclose(result.view_scales, alpha, rtol=1e-9)
    np.testing.assert_allclose(result.consistent.T, consistent, rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(result.fused, fused, rtol=1e-9)
    if last > 1:
        previous_alpha, previous_consistent, _ = states[-2]
        expected = weighted_mean(problem, previous_alpha, previous_consistent)
        np.testing.assert_allclose(result.fused, expected, rtol=1e-9)
        assert (
            np.abs(result.fused - weighted_mean(problem, alpha, consistent)).max() > 1e-6 * result.fused.max()
        )


@pytest.mark.parametrize("engine", HOST_ENGINES)
@pytest.mark.parametrize("tol", [0.3, 0.05, 0.02, 0.01])
def test_when_the_rule_is_met_s_is_the_one_of_the_last_completed_round(engine, tol):
    problem = pose(planted_weights(5, 4, 150), beta=0.1, gamma=2.0)
    result = solve(problem, tol=tol, engine=engine)
    *_, (alpha, consistent, fused) = algorithm_3(problem, result.n_iter)
    assert result.converged
    np.testing.assert_allclose(result.view_scales, alpha, rtol=1e-9)
    np.testing.assert_allclose(result.consistent.T, consistent, rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(result.fused, fused, rtol=1e-9)


@pytest.mark.parametrize("dca_steps", [1, 2, 7])
def test_the_number_of_dca_steps_is_what_was_asked_for(dca_steps):
    problem = pose(planted_weights(6, 3, 100), beta=0.1, gamma=2.0)
    result = learn(problem, tol=0, max_iter=4, dca_steps=dca_steps)
    *_, (alpha, consistent, _) = algorithm_3(problem, 4, dca_steps)
    np.testing.assert_allclose(result.view_scales, alpha, rtol=1e-9)
    np.testing.assert_allclose(result.consistent.T, consistent, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("schedule", [{}, {"max_iter": 3}, {"callback": lambda iteration, info: True}])
def test_exact_returns_the_fused_vector_of_its_scales_and_consistent_parts(missing, schedule):
    seen = random_mask(7, 4, 200) if missing else None
    problem = pose(planted_weights(7, 4, 200), beta=0.1, gamma=1.0, view_weights=[1, 2, 0.5, 1], seen=seen)
    result = learn(problem, solver="exact", **schedule)
    expected = weighted_mean(problem, result.view_scales, result.consistent.T)
    np.testing.assert_allclose(result.fused, expected, rtol=1e-12)
    if not missing:
        t = result.view_weights * result.view_scales / result.view_weights.sum()
        np.testing.assert_allclose(result.fused, result.consistent @ t, rtol=1e-12)


@pytest.mark.parametrize(("beta", "gamma"), GRID)
def test_exact_ends_at_most_where_dca_ends(beta, gamma):
    """Not a theorem, both being local: but it holds with some margin on these, over all penalties."""
    for seed, make in itertools.product(range(4), (planted_weights, random_weights)):
        v = (2, 3, 5, 4)[seed]
        view_weights = None if seed % 2 == 0 else np.random.default_rng(seed).uniform(0.3, 3, size=v)
        problem = pose(make(seed, v, 300), beta=beta, gamma=gamma, view_weights=view_weights)
        exact, dca = learn(problem, solver="exact"), learn(problem, solver="dca")
        assert exact.history[-1] <= dca.history[-1] * (1 + 1e-5)


@pytest.mark.parametrize("solver", ["dca", "exact"])
@pytest.mark.parametrize("v", [2, 5])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_identical_views_have_nothing_to_settle(solver, v, dtype):
    row = random_weights(8, 1, 300).astype(dtype)
    problem = pose(np.repeat(row, v, axis=0), beta=1, gamma=100)
    result = solve(problem, solver=solver)
    eps = np.finfo(dtype).eps
    assert result.converged
    assert result.n_iter == MIN_ROUNDS * (2 if solver == "exact" else 1)
    np.testing.assert_allclose(result.history, 0, atol=100 * eps * terms(problem))
    np.testing.assert_allclose(result.view_scales, 1 / v, rtol=100 * eps)
    np.testing.assert_allclose(result.fused, problem.weights[0] / v, rtol=100 * eps)
    np.testing.assert_allclose(result.inconsistent, 0, atol=100 * eps * problem.weights.max())


@pytest.mark.parametrize("solver", ["dca", "exact"])
@pytest.mark.parametrize("gamma", [0.1, 100.0])
def test_one_view_is_its_own_graph(solver, gamma):
    problem = pose(random_weights(9, 1, 50), beta=0.1, gamma=gamma, view_weights=[3.0])
    result = solve(problem, solver=solver)
    np.testing.assert_array_equal(result.view_scales, [1])
    np.testing.assert_allclose(result.fused, problem.weights[0], rtol=1e-12)
    np.testing.assert_allclose(result.inconsistent, 0, atol=1e-15)
    assert result.converged


@pytest.mark.parametrize("solver", ["dca", "exact"])
@pytest.mark.parametrize("v", [1, 2, 4])
def test_one_edge(solver, v):
    """Scaled to sum 1, all views say 1 on the only edge."""
    result = solve(pose(random_weights(9, v, 1), beta=1, gamma=100), solver=solver)
    np.testing.assert_allclose(result.fused, [1 / v], rtol=1e-12)
    np.testing.assert_allclose(result.view_scales, 1 / v, rtol=1e-12)


@pytest.mark.parametrize("solver", ["dca", "exact"])
def test_the_callback_is_called_each_round_and_may_stop(solver):
    problem = pose(planted_weights(10, 3, 100), beta=0.1, gamma=1)
    calls = []

    def callback(iteration, info):
        assert isinstance(info, RoundInfo)
        info.view_scales[:] = np.nan  # what a callback does to its copy must not matter
        calls.append((iteration, info.objective))
        return iteration == 3

    result = learn(problem, solver=solver, callback=callback)
    assert [iteration for iteration, _ in calls] == [1, 2, 3]
    assert [value for _, value in calls] == list(result.history[1:])
    assert (result.status, result.n_iter, result.converged) == ("stopped by callback", 3, False)
    assert np.isfinite(result.view_scales).all()


@pytest.mark.parametrize("answer", [None, False, 0])
def test_a_callback_that_does_not_say_stop_changes_nothing(answer):
    problem = pose(planted_weights(10, 3, 100), beta=0.1, gamma=1)
    result = solve(problem, callback=lambda iteration, info: answer)
    silent = solve(problem)
    np.testing.assert_array_equal(result.fused, silent.fused)
    assert result.status == silent.status == "converged"


def test_stopping_by_callback_does_not_warn():
    problem = pose(planted_weights(10, 3, 100), beta=0.1, gamma=1)
    solve(problem, callback=lambda iteration, info: True)


def test_the_convergence_warning_names_the_value_reached_and_a_remedy():
    problem = pose(planted_weights(11, 3, 100), beta=0.1, gamma=1)
    with pytest.warns(ConvergenceWarning) as caught:
        result = solve(problem, tol=1e-12, max_iter=7)
    message = str(caught[0].message)
    share = (result.history[-2] - result.history[-1]) / (result.history[0] - result.history[-1])
    assert "max_iter=7" in message
    assert f"{share:.2g}" in message
    assert "Raise max_iter" in message


@pytest.mark.parametrize("max_iter", [1, 2, 3, 4])
def test_the_convergence_warning_tells_the_truth_below_the_least_number_of_rounds(max_iter):
    """Identical views gain nothing; that fewer than five rounds were allowed is all there is to say."""
    problem = pose(np.repeat(random_weights(8, 1, 300), 3, axis=0), beta=1, gamma=100)
    with pytest.warns(ConvergenceWarning) as caught:
        solve(problem, max_iter=max_iter)
    message = str(caught[0].message)
    assert "above tol" not in message
    assert "5" in message


@pytest.mark.parametrize("gamma", [10.0, 1e4])
@pytest.mark.parametrize("beta", [1e-5, 1e-3])
def test_the_warning_of_a_collapse_onto_one_view_has_its_name_and_a_remedy(beta, gamma):
    weights = np.random.default_rng(0).gamma(0.3, size=(5, 300))
    problem = pose(weights, beta=beta, gamma=gamma, names=("sun", "moon", "star", "sky", "sea"))
    with pytest.warns(UserWarning, match="collapsed onto one view") as caught:
        result = solve(problem, solver="exact", tol=1e-8, max_iter=1000)
    assert result.view_contributions.max() > 0.98
    taken = problem.names[int(np.argmax(result.view_contributions))]
    messages = [str(one.message) for one in caught if "collapsed" in str(one.message)]
    assert len(messages) == 1
    assert repr(taken) in messages[0]
    assert "Raise beta" in messages[0]


def test_the_same_views_with_a_larger_beta_do_not_collapse():
    weights = np.random.default_rng(0).gamma(0.3, size=(5, 300))
    problem = pose(weights, beta=1.0, gamma=10.0)
    result = solve(problem, solver="exact", tol=1e-8, max_iter=1000)
    assert result.view_contributions.max() < 0.5


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"solver": "newton"}, "Unknown solver 'newton'; known solvers: 'dca', 'exact'"),
        ({"solver": None}, "Unknown solver None"),
        ({"dca_steps": 0}, "dca_steps must be an integer of at least 1, got 0"),
        ({"dca_steps": 1.5}, "dca_steps must be an integer"),
        ({"dca_steps": True}, "dca_steps must be an integer"),
        ({"max_iter": 0}, "max_iter must be an integer of at least 1, got 0"),
        ({"max_iter": -3}, "max_iter must be an integer of at least 1"),
        ({"max_iter": "10"}, "max_iter must be an integer"),
        ({"tol": -1e-9}, "tol must be a number with 0 <= tol < 1"),
        ({"tol": 1}, "tol must be a number with 0 <= tol < 1"),
        ({"tol": np.nan}, "tol must be a number with 0 <= tol < 1"),
        ({"tol": "0.1"}, "tol must be a number with 0 <= tol < 1"),
        ({"tol": None}, "tol must be a number with 0 <= tol < 1"),
        ({"callback": 3}, "callback must be callable or None, got 3"),
    ],
)
def test_a_schedule_is_checked(parameters, message):
    with pytest.raises(ValueError, match=message):
        Schedule(**parameters)


def test_a_schedule_takes_numbers_from_numpy():
    Schedule(dca_steps=np.int64(2), max_iter=np.int32(5), tol=np.float32(0.5))


@pytest.mark.parametrize("solver", ["dca", "exact"])
@pytest.mark.parametrize("seed", range(4))
def test_permuting_the_views_permutes_what_comes_out(solver, seed):
    make = (planted_weights, random_weights)[seed % 2]
    weights, view_weights = make(seed, 4, 200), np.array([1.0, 0.5, 2.0, 1.5])
    order = np.random.default_rng(seed).permutation(4)
    beta, gamma = ((0.1, 1.2), (1.0, 100.0), (0.1, 0.4), (2.0, 2.5))[seed]
    one = learn(pose(weights, beta=beta, gamma=gamma, view_weights=view_weights), solver=solver)
    other = learn(
        pose(weights[order], beta=beta, gamma=gamma, view_weights=view_weights[order]), solver=solver
    )
    np.testing.assert_allclose(other.view_scales, one.view_scales[order], rtol=1e-9)
    np.testing.assert_allclose(other.consistent, one.consistent[:, order], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(other.fused, one.fused, rtol=1e-9)
    np.testing.assert_allclose(other.history, one.history, rtol=1e-9)


@pytest.mark.parametrize("solver", ["dca", "exact"])
def test_scaling_a_view_changes_nothing(solver):
    weights = planted_weights(13, 4, 200)
    scaled = weights * np.array([1.0, 7.0, 1.0, 1.0])[:, None]
    one, other = (learn(pose(w, beta=0.1, gamma=1.0), solver=solver) for w in (weights, scaled))
    np.testing.assert_allclose(other.view_scales, one.view_scales, rtol=1e-12)
    np.testing.assert_allclose(other.fused, one.fused, rtol=1e-12)
    np.testing.assert_allclose(other.inconsistent, one.inconsistent, atol=1e-12 * one.fused.max())


@pytest.mark.parametrize("solver", ["dca", "exact"])
def test_engines_agree_on_a_whole_fusion(solver):
    problem = pose(planted_weights(14, 4, 1000), beta=0.1, gamma=1.2, view_weights=[1, 0.5, 2, 1])
    results = [solve(problem, solver=solver, engine=name) for name in HOST_ENGINES]
    for result in results[1:]:
        np.testing.assert_allclose(result.history, results[0].history, rtol=1e-9)
        np.testing.assert_allclose(result.fused, results[0].fused, rtol=1e-8)


@pytest.mark.parametrize("solver", ["dca", "exact"])
def test_single_precision_ends_near_double_precision(solver):
    problems = [
        pose(planted_weights(15, 3, 1000).astype(dtype), beta=0.5, gamma=0.7)
        for dtype in (np.float32, np.float64)
    ]
    single, double = (learn(problem, solver=solver) for problem in problems)
    assert single.fused.dtype == single.consistent.dtype == np.float32
    assert single.view_scales.dtype == single.history.dtype == np.float64
    assert single.n_iter == double.n_iter
    np.testing.assert_allclose(single.view_scales, double.view_scales, rtol=1e-3)
    np.testing.assert_allclose(single.fused, double.fused, rtol=1e-3)
