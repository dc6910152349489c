"""The rounds of a fusion: every engine against the readable one, and that one against the model."""

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engines.names import HOST_ENGINES
from tests.engines.round_problems import (
    assert_close,
    assert_same_state,
    assert_same_sums,
    doubted,
    loaded,
    one_round,
    random_problem,
    random_scales,
)

from consilience.engines import get_engine, threads
from consilience.engines.numba import rounds
from consilience.fusion import objective

FAST = [name for name in HOST_ENGINES if name != "numpy"]
N_EDGES = (1, 2, 127, 128, 129, 1000, 40000)  # around one block, several, enough for several threads

problems = st.builds(
    random_problem, st.integers(0, 10**6), st.integers(1, 9), st.sampled_from(N_EDGES), st.booleans()
)


@pytest.mark.parametrize("name", FAST)
@pytest.mark.parametrize("kind", ["dca", "exact"])
@pytest.mark.parametrize("trusting", [False, True])
@given(problem=problems, seed=st.integers(0, 10**6))
@settings(max_examples=50, deadline=None)
def test_every_function_gives_what_numpy_gives(name, kind, trusting, problem, seed):
    problem = doubted(problem, seed) if trusting else problem
    rng = np.random.default_rng(seed)
    v = len(problem.view_weights)
    engine, state = loaded(name, problem)
    oracle, expected = loaded("numpy", problem)
    exact = kind != "dca"
    scales = np.full(v, 1 / v)
    sums = engine.start(state, scales)
    assert_same_sums(sums, oracle.start(expected, scales), problem, 1e-10, False)
    for _ in range(3):
        scales = random_scales(rng, v)
        sums = one_round(engine, state, problem, kind, scales)
        assert_same_sums(sums, one_round(oracle, expected, problem, kind, scales), problem, 1e-10, exact)
        assert_same_state(engine.collect(state), oracle.collect(expected), problem, 1e-10)
    scales = random_scales(rng, v)
    engine.fuse(state, scales)
    oracle.fuse(expected, scales)
    assert_same_state(engine.collect(state), oracle.collect(expected), problem, 1e-10)


@pytest.mark.parametrize("name", FAST)
@pytest.mark.parametrize("kind", ["dca", "exact"])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("trusting", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_single_precision_gives_what_numpy_gives_in_double_precision(name, kind, missing, trusting, seed):
    problem = random_problem(seed, 1 + seed, 1000, missing)
    problem = doubted(problem, seed) if trusting else problem
    problem = dataclasses.replace(problem, beta=0.5, gamma=(0.1, 1.0, 40.0)[seed % 3])
    single = dataclasses.replace(problem, weights=problem.weights.astype(np.float32))
    rng = np.random.default_rng(seed)
    engine, state = loaded(name, single)
    oracle, expected = loaded("numpy", problem)
    for _ in range(3):
        scales = random_scales(rng, 1 + seed, with_zeros=False)
        sums = one_round(engine, state, single, kind, scales)
        assert_same_sums(
            sums, one_round(oracle, expected, problem, kind, scales), problem, 1e-4, kind == "exact"
        )
        assert all(array.dtype == np.float32 for array in engine.collect(state))
        assert_same_state(engine.collect(state), oracle.collect(expected), problem, 1e-4)


@pytest.mark.parametrize("name", HOST_ENGINES)
@pytest.mark.parametrize("kind", ["dca", "exact"])
@pytest.mark.parametrize(("beta", "gamma"), [(1e-2, 1e5), (1e-5, 1e5), (1e5, 1e5), (1e5, 1e-5), (1e-5, 1.0)])
def test_single_precision_holds_over_the_grid_of_penalties(name, kind, beta, gamma):
    """The corners of the paper's grid; (1e-5, 1) leaves a curvature of 1e-5."""
    problem = dataclasses.replace(random_problem(0, 4, 1000), beta=beta, gamma=gamma, view_weights=np.ones(4))
    single = dataclasses.replace(problem, weights=problem.weights.astype(np.float32))
    scales = np.array([0.2, 0.3, 0.1, 0.4])
    states, values = [], []
    for case in (problem, single):
        engine, state = loaded(name, case)
        one_round(engine, state, case, kind, scales)
        inconsistent, fused = (array.astype(float) for array in engine.collect(state))
        states.append((inconsistent, fused))
        values.append(objective(problem, scales, problem.weights - inconsistent, fused))
    assert values[1] == pytest.approx(values[0], rel=1e-5)
    assert_same_state(states[1], states[0], problem, 1e-3)


@pytest.mark.parametrize("name", HOST_ENGINES)
@pytest.mark.parametrize("gamma", [1e8, 1e12, 1e20])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_huge_gamma_blames_at_most_one_view_and_by_the_right_amount(name, gamma, dtype):
    problem = dataclasses.replace(random_problem(1, 3, 200, dtype=dtype), beta=0.01, gamma=gamma)
    scales = np.array([0.3, 0.3, 0.4])
    engine, state = loaded(name, problem)
    one_round(engine, state, problem, "exact", scales)
    inconsistent, fused = engine.collect(state)
    assert (np.count_nonzero(inconsistent, axis=0) <= 1).all()
    excess = np.maximum(scales[:, None] * problem.weights - fused, 0)
    softness = 1 / (1 / problem.view_weights + problem.beta)
    blamed = np.argmax(excess**2 * softness[:, None], axis=0)
    edge = np.arange(200)
    expected = np.zeros_like(excess)
    expected[blamed, edge] = (excess * (softness / problem.view_weights / scales)[:, None])[blamed, edge]
    assert_close(inconsistent, expected, 1e-5 if dtype == np.float32 else 1e-10, problem.weights.max())


@pytest.mark.parametrize("name", FAST)
@pytest.mark.parametrize("kind", ["dca", "exact"])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("trusting", [False, True])
@pytest.mark.parametrize("gamma", [0.3, 1.5, 50.0])  # all curvatures positive, of both signs, none positive
def test_any_number_of_threads_gives_the_same_bits(name, kind, missing, trusting, gamma, monkeypatch):
    n_edges = 128 * rounds._GRAIN * 5 + 77
    problem = dataclasses.replace(random_problem(3, 3, n_edges, missing), beta=0.1, gamma=gamma)
    problem = dataclasses.replace(problem, view_weights=np.array([0.5, 1.0, 2.0]))
    problem = doubted(problem, 3) if trusting else problem
    scales = np.array([0.5, 0.2, 0.3])
    ranges = []
    for_ranges = threads.for_ranges

    def spy(kernel, *args, **kwargs):
        def spied(first, last):
            ranges.append((first, last))
            kernel(first, last)

        for_ranges(spied, *args, **kwargs)

    monkeypatch.setattr(threads, "for_ranges", spy)
    results = []
    for n_jobs in (1, 2, 3):
        ranges.clear()
        with threads.limit(n_jobs):
            engine, state = loaded(name, problem)
            first = engine.start(state, np.full(3, 1 / 3))
            second = one_round(engine, state, problem, kind, scales)
        assert len(set(ranges)) > 1
        results.append((first, second, *engine.collect(state)))
    for result in results[1:]:
        for actual, desired in zip(result[:2], results[0][:2], strict=True):
            for part, other in zip(dataclasses.astuple(actual), dataclasses.astuple(desired), strict=True):
                np.testing.assert_array_equal(part, other)
        np.testing.assert_array_equal(result[2], results[0][2])
        np.testing.assert_array_equal(result[3], results[0][3])


@pytest.mark.parametrize("name", HOST_ENGINES)
@pytest.mark.parametrize("trusting", [False, True])
@given(problem=problems, seed=st.integers(0, 10**6))
@settings(max_examples=25, deadline=None)
def test_each_step_lowers_the_objective_and_keeps_the_bounds(name, trusting, problem, seed):
    problem = doubted(problem, seed) if trusting else problem
    rng = np.random.default_rng(seed)
    v = len(problem.view_weights)
    engine, state = loaded(name, problem)
    weights = problem.weights

    def read():
        inconsistent, fused = (array.copy() for array in engine.collect(state))
        return weights - inconsistent, fused

    engine.start(state, np.full(v, 1 / v))
    for kind in ("dca", "exact", "dca"):
        scales = random_scales(rng, v)
        consistent, fused = read()
        before = objective(problem, scales, consistent, fused)
        engine.fuse(state, scales)
        _, fused = read()
        after_fuse = objective(problem, scales, consistent, fused)
        one_round(engine, state, problem, kind, scales)
        consistent, fused = read()
        after_round = objective(problem, scales, consistent, fused)
        # What is compared is the objective's last digits, of the size of the penalties' terms.
        slack = 1e-12 * (before + problem.view_weights @ (scales**2 * (weights**2).sum(axis=1)))
        assert after_fuse <= before + slack
        assert after_round <= after_fuse + slack
        assert (consistent >= 0).all()
        assert (consistent <= weights).all()
        assert (fused >= 0).all()


@pytest.mark.parametrize("name", HOST_ENGINES)
@pytest.mark.parametrize("steps", [1, 2, 3, 10])
@pytest.mark.parametrize("trusting", [False, True])
def test_each_dca_step_lowers_the_objective(name, steps, trusting):
    """One call with t + 1 steps against one with t: the objective falls from step to step."""
    for seed, (beta, gamma) in enumerate(itertools.product((1e-3, 1.0, 1e3), repeat=2)):
        problem = dataclasses.replace(random_problem(seed, 4, 300, seed % 2 == 0), beta=beta, gamma=gamma)
        problem = doubted(problem, seed) if trusting else problem
        scales = random_scales(np.random.default_rng(seed), 4)
        values = []
        for count in (steps - 1, steps):
            engine, state = loaded(name, problem)
            engine.dca_round(state, scales, beta, gamma, count)
            inconsistent, fused = engine.collect(state)
            values.append(objective(problem, scales, problem.weights - inconsistent, fused))
        assert values[1] <= values[0] * (1 + 1e-13)


@pytest.mark.parametrize("name", HOST_ENGINES)
@pytest.mark.parametrize("kind", ["dca", "exact"])
@pytest.mark.parametrize("trusting", [False, True])
def test_pairs_that_were_not_seen_stay_0(name, kind, trusting):
    problem = random_problem(4, 5, 1000, missing=True)
    problem = doubted(problem, 4) if trusting else problem
    engine, state = loaded(name, problem)
    rng = np.random.default_rng(0)
    for _ in range(3):
        one_round(engine, state, problem, kind, random_scales(rng, 5))
    inconsistent, _ = engine.collect(state)
    assert not problem.judged.all()
    assert not inconsistent[~problem.judged].any()
    assert inconsistent[problem.judged].any()


@pytest.mark.parametrize("name", HOST_ENGINES)
@pytest.mark.parametrize("kind", ["dca", "exact"])
@pytest.mark.parametrize("trusting", [False, True])
@pytest.mark.parametrize("gamma", [0.1, 0.4, 5.0, 50.0])
def test_a_view_with_scale_0_keeps_its_whole_weight_consistent(name, kind, trusting, gamma):
    problem = dataclasses.replace(random_problem(5, 3, 500), beta=0.1, gamma=gamma)
    problem = doubted(problem, 5) if trusting else problem
    engine, state = loaded(name, problem)
    one_round(engine, state, problem, kind, np.array([0.4, 0.0, 0.6]))
    inconsistent, _ = engine.collect(state)
    assert not inconsistent[1].any()
    assert inconsistent[0].any()


@pytest.mark.parametrize("name", HOST_ENGINES)
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("trusting", [False, True])
@pytest.mark.parametrize("kind", ["dca", "exact"])
def test_the_fused_vector_is_the_weighted_mean_of_the_scaled_consistent_parts(name, missing, trusting, kind):
    problem = random_problem(6, 4, 300, missing)
    problem = doubted(problem, 6) if trusting else problem
    engine, state = loaded(name, problem)
    one_round(engine, state, problem, kind, np.array([0.1, 0.2, 0.3, 0.4]))
    scales = np.array([0.4, 0.0, 0.5, 0.1])
    engine.fuse(state, scales)
    inconsistent, fused = engine.collect(state)
    expected = np.empty(300)
    for e in range(300):
        judges = [i for i in range(4) if problem.judged is None or problem.judged[i, e]]
        trust = np.ones(4) if problem.trust is None else problem.trust[:, e]
        count = problem.view_weights * trust
        parts = [count[i] * scales[i] * (problem.weights - inconsistent)[i, e] for i in judges]
        expected[e] = sum(parts) / sum(count[i] for i in judges)
    np.testing.assert_allclose(fused, expected, rtol=1e-12, atol=1e-18)


@pytest.mark.parametrize("name", HOST_ENGINES)
def test_an_engine_does_not_change_edge_weights_and_trust(name):
    problem = doubted(random_problem(7, 3, 200, missing=True), 7)
    copies = problem.weights.copy(), problem.trust.copy()
    engine, state = loaded(name, problem)
    for kind in ("dca", "exact"):
        one_round(engine, state, problem, kind, np.array([0.5, 0.2, 0.3]))
    np.testing.assert_array_equal(problem.weights, copies[0])
    np.testing.assert_array_equal(problem.trust, copies[1])


def test_an_unknown_engine_is_refused_and_the_known_ones_are_listed():
    with pytest.raises(ValueError, match=r"Unknown engine 'cuda'; known: 'numba', 'numpy'"):
        get_engine("cuda")


@pytest.mark.parametrize("name", HOST_ENGINES)
def test_each_engine_has_every_function(name):
    engine = get_engine(name)
    for function in ("load", "start", "dca_round", "exact_round", "fuse", "collect"):
        assert callable(getattr(engine, function))
