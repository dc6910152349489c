"""Every back end against the NumPy one, step by step, and the NumPy one against the model."""

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from consilience import threads
from consilience.backends import Sums, backend_names, edges_numba, get_backend
from consilience.fusion import objective, pose

FAST = [name for name in backend_names() if name != "numpy"]
N_EDGES = (1, 2, 127, 128, 129, 1000, 40000)  # around one block, several, enough for several threads


def random_problem(seed, v, n_edges, missing=False, dtype=np.float64):
    rng = np.random.default_rng(seed)
    weights = rng.gamma(1.0, size=(v, n_edges)) * (rng.random((v, n_edges)) < 0.9)
    weights[:, 0] += 0.1
    seen = None
    if missing:
        seen = rng.random((v, n_edges)) < 0.7
        seen[rng.integers(v, size=n_edges), np.arange(n_edges)] = True
        seen[:, 0] = True
    beta, gamma = 10 ** rng.uniform(-5, 5, size=2)
    view_weights = rng.uniform(0.3, 3, size=v)
    return pose(weights.astype(dtype), beta=beta, gamma=gamma, view_weights=view_weights, seen=seen)


def doubted(problem, seed):
    """The same problem, and in what a view has seen trust of every size: in full, in part, next to none."""
    rng = np.random.default_rng([seed, 1])
    shape = problem.weights.shape
    kind = rng.integers(3, size=shape)
    trust = np.where(kind == 0, rng.uniform(0.01, 1, size=shape), 10 ** rng.uniform(-9, 0, size=shape))
    trust = np.where(kind == 2, 1.0, trust) * (True if problem.seen is None else problem.seen)
    return dataclasses.replace(problem, trust=trust.astype(problem.weights.dtype))


def random_scales(rng, v, with_zeros=True):
    scales = rng.dirichlet(np.ones(v))
    if with_zeros and v > 1:
        scales[rng.random(v) < 0.3] = 0
    scales[rng.integers(v)] += 0.1
    return scales / scales.sum()


def loaded(name, problem):
    backend = get_backend(name)
    dtype = problem.weights.dtype
    return backend, backend.load(problem.weights, problem.view_weights, problem.seen, problem.trust, dtype)


def one_round(backend, state, problem, kind, scales):
    if kind == "dca":
        return backend.dca_round(state, scales, problem.beta, problem.gamma, 3)
    return backend.exact_round(state, scales, problem.beta, problem.gamma)


def assert_close(actual, desired, rtol, size):
    """Compare arrays that are differences of numbers of this size, in double or in single precision."""
    assert actual.shape == desired.shape
    noise = (1e-14 if rtol <= 1e-10 else 1e-6) * size
    np.testing.assert_allclose(actual, desired, rtol=rtol, atol=rtol * np.abs(desired).max() + noise)


def assert_same_sums(actual: Sums, desired: Sums, problem, rtol, with_gram):
    size = np.sum(problem.weights.astype(float) ** 2)
    for field in dataclasses.fields(Sums):
        if with_gram or field.name != "consistent_gram":
            pair = (np.asarray(getattr(sums, field.name)) for sums in (actual, desired))
            assert_close(*pair, rtol, size)


def assert_same_state(actual, desired, problem, rtol):
    """Compare what two back ends have collected."""
    for one, other in zip(actual, desired, strict=True):
        assert_close(one, other, rtol, problem.weights.max())


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
    backend, state = loaded(name, problem)
    oracle, expected = loaded("numpy", problem)
    exact = kind != "dca"
    scales = np.full(v, 1 / v)
    sums = backend.start(state, scales)
    assert_same_sums(sums, oracle.start(expected, scales), problem, 1e-10, False)
    for _ in range(3):
        scales = random_scales(rng, v)
        sums = one_round(backend, state, problem, kind, scales)
        assert_same_sums(sums, one_round(oracle, expected, problem, kind, scales), problem, 1e-10, exact)
        assert_same_state(backend.collect(state), oracle.collect(expected), problem, 1e-10)
    scales = random_scales(rng, v)
    backend.fuse(state, scales)
    oracle.fuse(expected, scales)
    assert_same_state(backend.collect(state), oracle.collect(expected), problem, 1e-10)


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
    backend, state = loaded(name, single)
    oracle, expected = loaded("numpy", problem)
    for _ in range(3):
        scales = random_scales(rng, 1 + seed, with_zeros=False)
        sums = one_round(backend, state, single, kind, scales)
        assert_same_sums(
            sums, one_round(oracle, expected, problem, kind, scales), problem, 1e-4, kind == "exact"
        )
        assert all(array.dtype == np.float32 for array in backend.collect(state))
        assert_same_state(backend.collect(state), oracle.collect(expected), problem, 1e-4)


@pytest.mark.parametrize("name", backend_names())
@pytest.mark.parametrize("kind", ["dca", "exact"])
@pytest.mark.parametrize(("beta", "gamma"), [(1e-2, 1e5), (1e-5, 1e5), (1e5, 1e5), (1e5, 1e-5), (1e-5, 1.0)])
def test_single_precision_holds_over_the_grid_of_penalties(name, kind, beta, gamma):
    """The corners of the paper's grid; (1e-5, 1) leaves a curvature of 1e-5."""
    problem = dataclasses.replace(random_problem(0, 4, 1000), beta=beta, gamma=gamma, view_weights=np.ones(4))
    single = dataclasses.replace(problem, weights=problem.weights.astype(np.float32))
    scales = np.array([0.2, 0.3, 0.1, 0.4])
    states, values = [], []
    for case in (problem, single):
        backend, state = loaded(name, case)
        one_round(backend, state, case, kind, scales)
        inconsistent, fused = (array.astype(float) for array in backend.collect(state))
        states.append((inconsistent, fused))
        values.append(objective(problem, scales, problem.weights - inconsistent, fused))
    assert values[1] == pytest.approx(values[0], rel=1e-5)
    assert_same_state(states[1], states[0], problem, 1e-3)


@pytest.mark.parametrize("name", backend_names())
@pytest.mark.parametrize("gamma", [1e8, 1e12, 1e20])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_huge_gamma_blames_at_most_one_view_and_by_the_right_amount(name, gamma, dtype):
    problem = dataclasses.replace(random_problem(1, 3, 200, dtype=dtype), beta=0.01, gamma=gamma)
    scales = np.array([0.3, 0.3, 0.4])
    backend, state = loaded(name, problem)
    one_round(backend, state, problem, "exact", scales)
    inconsistent, fused = backend.collect(state)
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
    n_edges = 128 * edges_numba._GRAIN * 5 + 77
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
            backend, state = loaded(name, problem)
            first = backend.start(state, np.full(3, 1 / 3))
            second = one_round(backend, state, problem, kind, scales)
        assert len(set(ranges)) > 1
        results.append((first, second, *backend.collect(state)))
    for result in results[1:]:
        for actual, desired in zip(result[:2], results[0][:2], strict=True):
            for part, other in zip(dataclasses.astuple(actual), dataclasses.astuple(desired), strict=True):
                np.testing.assert_array_equal(part, other)
        np.testing.assert_array_equal(result[2], results[0][2])
        np.testing.assert_array_equal(result[3], results[0][3])


@pytest.mark.parametrize("name", backend_names())
@pytest.mark.parametrize("trusting", [False, True])
@given(problem=problems, seed=st.integers(0, 10**6))
@settings(max_examples=25, deadline=None)
def test_each_step_lowers_the_objective_and_keeps_the_bounds(name, trusting, problem, seed):
    problem = doubted(problem, seed) if trusting else problem
    rng = np.random.default_rng(seed)
    v = len(problem.view_weights)
    backend, state = loaded(name, problem)
    weights = problem.weights

    def read():
        inconsistent, fused = (array.copy() for array in backend.collect(state))
        return weights - inconsistent, fused

    backend.start(state, np.full(v, 1 / v))
    for kind in ("dca", "exact", "dca"):
        scales = random_scales(rng, v)
        consistent, fused = read()
        before = objective(problem, scales, consistent, fused)
        backend.fuse(state, scales)
        _, fused = read()
        after_fuse = objective(problem, scales, consistent, fused)
        one_round(backend, state, problem, kind, scales)
        consistent, fused = read()
        after_round = objective(problem, scales, consistent, fused)
        # What is compared is the objective's last digits, of the size of the penalties' terms.
        slack = 1e-12 * (before + problem.view_weights @ (scales**2 * (weights**2).sum(axis=1)))
        assert after_fuse <= before + slack
        assert after_round <= after_fuse + slack
        assert (consistent >= 0).all()
        assert (consistent <= weights).all()
        assert (fused >= 0).all()


@pytest.mark.parametrize("name", backend_names())
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
            backend, state = loaded(name, problem)
            backend.dca_round(state, scales, beta, gamma, count)
            inconsistent, fused = backend.collect(state)
            values.append(objective(problem, scales, problem.weights - inconsistent, fused))
        assert values[1] <= values[0] * (1 + 1e-13)


@pytest.mark.parametrize("name", backend_names())
@pytest.mark.parametrize("kind", ["dca", "exact"])
@pytest.mark.parametrize("trusting", [False, True])
def test_pairs_that_were_not_seen_stay_0(name, kind, trusting):
    problem = random_problem(4, 5, 1000, missing=True)
    problem = doubted(problem, 4) if trusting else problem
    backend, state = loaded(name, problem)
    rng = np.random.default_rng(0)
    for _ in range(3):
        one_round(backend, state, problem, kind, random_scales(rng, 5))
    inconsistent, _ = backend.collect(state)
    assert not problem.seen.all()
    assert not inconsistent[~problem.seen].any()
    assert inconsistent[problem.seen].any()


@pytest.mark.parametrize("name", backend_names())
@pytest.mark.parametrize("kind", ["dca", "exact"])
@pytest.mark.parametrize("trusting", [False, True])
@pytest.mark.parametrize("gamma", [0.1, 0.4, 5.0, 50.0])
def test_a_view_with_scale_0_keeps_its_whole_weight_consistent(name, kind, trusting, gamma):
    problem = dataclasses.replace(random_problem(5, 3, 500), beta=0.1, gamma=gamma)
    problem = doubted(problem, 5) if trusting else problem
    backend, state = loaded(name, problem)
    one_round(backend, state, problem, kind, np.array([0.4, 0.0, 0.6]))
    inconsistent, _ = backend.collect(state)
    assert not inconsistent[1].any()
    assert inconsistent[0].any()


@pytest.mark.parametrize("name", backend_names())
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("trusting", [False, True])
@pytest.mark.parametrize("kind", ["dca", "exact"])
def test_the_fused_vector_is_the_weighted_mean_of_the_scaled_consistent_parts(name, missing, trusting, kind):
    problem = random_problem(6, 4, 300, missing)
    problem = doubted(problem, 6) if trusting else problem
    backend, state = loaded(name, problem)
    one_round(backend, state, problem, kind, np.array([0.1, 0.2, 0.3, 0.4]))
    scales = np.array([0.4, 0.0, 0.5, 0.1])
    backend.fuse(state, scales)
    inconsistent, fused = backend.collect(state)
    expected = np.empty(300)
    for e in range(300):
        judges = [i for i in range(4) if problem.seen is None or problem.seen[i, e]]
        trust = np.ones(4) if problem.trust is None else problem.trust[:, e]
        count = problem.view_weights * trust
        parts = [count[i] * scales[i] * (problem.weights - inconsistent)[i, e] for i in judges]
        expected[e] = sum(parts) / sum(count[i] for i in judges)
    np.testing.assert_allclose(fused, expected, rtol=1e-12, atol=1e-18)


@pytest.mark.parametrize("name", backend_names())
def test_the_edge_weights_and_trust_are_read_only_to_a_back_end(name):
    problem = doubted(random_problem(7, 3, 200, missing=True), 7)
    copies = problem.weights.copy(), problem.trust.copy()
    backend, state = loaded(name, problem)
    for kind in ("dca", "exact"):
        one_round(backend, state, problem, kind, np.array([0.5, 0.2, 0.3]))
    np.testing.assert_array_equal(problem.weights, copies[0])
    np.testing.assert_array_equal(problem.trust, copies[1])


def test_an_unknown_back_end_is_refused_and_the_known_ones_are_listed():
    with pytest.raises(ValueError, match=r"Unknown backend 'cuda'; known back ends: 'numpy', 'numba'"):
        get_backend("cuda")


@pytest.mark.parametrize("name", backend_names())
def test_each_back_end_has_every_function(name):
    backend = get_backend(name)
    for function in ("load", "start", "dca_round", "exact_round", "fuse", "collect"):
        assert callable(getattr(backend, function))
