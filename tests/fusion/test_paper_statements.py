"""What the paper says of its model, as tests that could fail.

Liang et al., "Multi-view Graph Learning by Joint Modeling of Consistency and Inconsistency".
"""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from tests.engines.names import HOST_ENGINES
from tests.fusion.solving import learn, pose

from consilience.engines import get_engine
from consilience.engines.host import edge_hessian
from consilience.engines.numpy.rounds import exact_edge_step
from consilience.fusion import consistent_graph, minimize_on_simplex, objective

pytestmark = pytest.mark.long


def random_weights(seed, v, n_edges):
    return np.random.default_rng(seed).gamma(1.0, size=(v, n_edges))


def planted_weights(seed, v, n_edges):
    """Views of one graph, a few of their edges far too heavy."""
    rng = np.random.default_rng(seed)
    weights = rng.gamma(2.0, size=n_edges) * np.maximum(1 + 0.1 * rng.normal(size=(v, n_edges)), 0.05)
    return weights + (rng.random((v, n_edges)) < 0.15) * rng.gamma(4.0, size=(v, n_edges))


def random_point(problem, rng):
    v, n_edges = problem.weights.shape
    consistent = problem.weights * rng.random((v, n_edges))
    return rng.dirichlet(np.ones(v)), consistent, rng.normal(size=n_edges) / n_edges


# Lemma 1: a minimiser over an unconstrained S has S >= 0.


@given(st.integers(0, 10**6), st.integers(1, 5), st.booleans())
@settings(max_examples=60, deadline=None)
def test_lemma_1_replacing_negative_entries_by_0_lowers_the_objective(seed, v, weighted):
    rng = np.random.default_rng(seed)
    view_weights = rng.uniform(0.1, 5, size=v) if weighted else None
    problem = pose(
        random_weights(seed, v, 6), beta=rng.gamma(1), gamma=rng.gamma(1), view_weights=view_weights
    )
    scales, consistent, fused = random_point(problem, rng)
    fused[0] = -abs(fused[0])
    assert objective(problem, scales, consistent, np.maximum(fused, 0)) < objective(
        problem, scales, consistent, fused
    )


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.filterwarnings("ignore:Values in x were outside bounds")  # older SciPy tells of every clipping
def test_lemma_1_a_generic_optimiser_ends_with_s_that_is_not_negative(seed):
    """SLSQP over alpha, A and a free S together, from a start with negative entries in S."""
    rng = np.random.default_rng(seed)
    v, n_edges = 2 + seed % 2, 3
    problem = pose(
        random_weights(seed, v, n_edges),
        beta=rng.uniform(0.1, 2),
        gamma=rng.uniform(0.1, 2),
        view_weights=rng.uniform(0.5, 2, size=v),
    )

    def split(x):
        return x[:v], x[v : v + v * n_edges].reshape(v, n_edges), x[v + v * n_edges :]

    scales, consistent, fused = random_point(problem, rng)
    start = np.concatenate([scales, consistent.ravel(), -np.abs(fused) - 0.1])
    bounds = [(0, 1)] * v + [(0, w) for w in problem.weights.ravel()] + [(None, None)] * n_edges
    solution = minimize(
        lambda x: 100 * objective(problem, *split(x)),
        start,
        method="SLSQP",
        bounds=bounds,
        constraints={"type": "eq", "fun": lambda x: x[:v].sum() - 1},
        options={"maxiter": 500, "ftol": 1e-12},
    )
    assert solution.success
    scales, consistent, fused = split(solution.x)
    assert fused.min() >= -1e-5
    # Subproblem 2: at the end S is the weighted mean of the scaled consistent parts, from any start.
    mean = (problem.view_weights * scales) @ consistent / problem.view_weights.sum()
    np.testing.assert_allclose(fused, mean, atol=1e-4)


# Lemma 2: D has at least one positive eigenvalue.


@given(
    st.integers(0, 10**6),
    st.integers(1, 8),
    st.sampled_from([0.0, 1e-5, 1.0, 1e5]),
    st.floats(0, 1e5, allow_subnormal=False),
)
@settings(max_examples=200, deadline=None)
def test_lemma_2_the_hessian_of_an_edge_has_a_positive_eigenvalue(seed, v, beta, gamma):
    rng = np.random.default_rng(seed)
    scales = rng.dirichlet(np.ones(v)) * (rng.random(v) < 0.6)
    scales = scales / scales.sum() if scales.any() else np.eye(v)[0]
    view_weights = 10 ** rng.uniform(-3, 3, size=v)
    hessian, coupling = edge_hessian(view_weights, scales, beta, gamma)
    np.testing.assert_array_equal(hessian, hessian.T)
    largest = np.linalg.eigvalsh(hessian)[-1]
    assert largest >= 2 * np.max(view_weights * scales**2) * (1 - 1e-12) > 0
    # D = 2 (Q + K), entry by entry.
    for i, j in itertools.product(range(v), repeat=2):
        b = beta if i == j else gamma
        k = b * view_weights[i] * view_weights[j] * scales[i] * scales[j]
        q = view_weights[i] * scales[i] ** 2 if i == j else 0.0
        assert coupling[i, j] == pytest.approx(k, rel=1e-9, abs=1e-12 * np.abs(coupling).max())
        assert hessian[i, j] == pytest.approx(2 * (q + k), rel=1e-9, abs=1e-12 * largest)


def test_d_can_be_indefinite():
    """Section 4.6: why DCA is needed."""
    hessian, _ = edge_hessian(np.ones(3), np.full(3, 1 / 3), 1.0, 100.0)
    assert np.linalg.eigvalsh(hessian)[0] < 0 < np.linalg.eigvalsh(hessian)[-1]


# Section 3: a similarity matrix is as good as any multiple of it.


@pytest.mark.parametrize("solver", ["dca", "exact"])
@pytest.mark.parametrize("factor", [1e-6, 0.3, 7.0, 1e6])
def test_scale_invariance(solver, factor):
    weights = planted_weights(0, 4, 200).T
    scaled = weights * np.array([1.0, 1.0, factor, 1.0])
    one, other = (consistent_graph(w, beta=0.1, gamma=1, solver=solver) for w in (weights, scaled))
    np.testing.assert_allclose(other.fused, one.fused, rtol=1e-11)
    np.testing.assert_allclose(other.view_scales, one.view_scales, rtol=1e-11)


# Section 3: a larger lambda says that a view is more important.


@pytest.mark.parametrize("solver", ["dca", "exact"])
@pytest.mark.parametrize(("beta", "gamma"), [(0.1, 0.5), (1.0, 1.0), (1.0, 100.0), (1.0, 1e4), (0.1, 10.0)])
@pytest.mark.parametrize("make", [random_weights, planted_weights])
def test_raising_a_view_s_weight_brings_the_unified_graph_closer_to_it(solver, beta, gamma, make):
    for seed, v in ((0, 2), (1, 3), (2, 5)):
        weights = make(seed, v, 150)
        for i in (0, v - 1):
            own = weights[i] / weights[i].sum()
            apart = []
            for weight in (0.25, 0.5, 1.0, 2.0, 4.0, 8.0):
                view_weights = np.ones(v)
                view_weights[i] = weight
                result = learn(
                    pose(weights, beta=beta, gamma=gamma, view_weights=view_weights), solver=solver
                )
                apart.append(np.linalg.norm(result.fused / result.fused.sum() - own))
            assert (np.diff(apart) < 0).all()
            assert apart[-1] < 0.8 * apart[0]


# Algorithm 1: away-step Frank-Wolfe returns a stationary point.


@given(st.integers(0, 10**6), st.integers(1, 8))
@settings(max_examples=100, deadline=None)
def test_algorithm_1_returns_a_stationary_point(seed, v):
    """Of Subproblem 1 itself: H and c from random consistent parts, penalties of every size."""
    rng = np.random.default_rng(seed)
    beta, gamma = 10 ** rng.uniform(-5, 5, size=2)
    problem = pose(random_weights(seed, v, 20), beta=beta, gamma=gamma)
    _, consistent, fused = random_point(problem, rng)
    rest = problem.weights - consistent
    hessian = 2 * (np.diag((consistent**2).sum(axis=1)) + problem.penalty * (rest @ rest.T))
    linear = 2 * consistent @ np.abs(fused)
    alpha = minimize_on_simplex(hessian, linear, np.full(v, 1 / v))
    gradient = hessian @ alpha - linear
    scale = np.abs(hessian).max() + np.abs(linear).max()
    # KKT: one multiplier on the support, nothing below it anywhere.
    np.testing.assert_allclose(gradient[alpha > 0], gradient @ alpha, atol=1e-12 * scale)
    assert gradient.min() >= gradient @ alpha - 1e-12 * scale


# Algorithm 2: DCA lowers the objective at each step and ends at a Karush-Kuhn-Tucker point.


@pytest.mark.parametrize("name", HOST_ENGINES)
@pytest.mark.parametrize(("beta", "gamma"), [(0.1, 0.3), (1.0, 1.0), (0.5, 3.0), (0.2, 20.0)])
@pytest.mark.parametrize("seed", [0, 1])
def test_algorithm_2_is_monotone_and_ends_at_a_kkt_point(name, beta, gamma, seed):
    rng = np.random.default_rng(seed)
    problem = pose(
        planted_weights(seed, 4, 60), beta=beta, gamma=gamma, view_weights=rng.uniform(0.5, 2, size=4)
    )
    scales = np.array([0.2, 0.3, 0.4, 0.1])
    engine = get_engine(name)
    values = []
    for steps in (0, 1, 2, 3, 10, 100, 1000, 20_000):
        state = engine.load(problem.weights, None, None, problem.view_weights)
        engine.dca_round(state, scales, beta, gamma, steps)
        inconsistent, fused = engine.collect(state)
        consistent = problem.weights - inconsistent
        values.append(objective(problem, scales, consistent, fused))
    assert (np.diff(values) <= 1e-14 * values[0]).all()
    assert values[-1] < values[0]
    # The gradient of the objective in A: 0 inside the box, pointing outward at its sides.
    t = problem.view_weights * scales
    pull = 2 * t[:, None] * (scales[:, None] * consistent - fused)
    gradient = pull - 2 * (problem.penalty * np.outer(scales, scales)) @ inconsistent
    noise = 1e-9 * np.abs(pull).max()
    at_top, at_bottom = inconsistent == 0, consistent == 0
    inside = ~at_top & ~at_bottom
    assert inside.any()
    np.testing.assert_allclose(gradient[inside], 0, atol=noise)
    assert (gradient[at_top] <= noise).all()
    assert (gradient[at_bottom & ~at_top] >= -noise).all()


# Algorithm 3: the objective falls and is bounded below by 0, so it converges.


@pytest.mark.parametrize("make", [random_weights, planted_weights])
@pytest.mark.parametrize(("beta", "gamma"), [(0.1, 0.1), (1.0, 1.0), (1.0, 100.0)])
def test_algorithm_3_converges(make, beta, gamma):
    problem = pose(make(3, 3, 100), beta=beta, gamma=gamma)
    result = learn(problem, tol=1e-9, max_iter=5000)
    assert result.converged
    assert (result.history >= 0).all()
    assert (np.diff(result.history) <= 1e-15).all()
    # Twice as many rounds gain nothing to speak of.
    more = learn(problem, tol=0, max_iter=2 * result.n_iter)
    assert more.history[-1] == pytest.approx(result.history[-1], rel=1e-5)


# Section 3, the example: similarities 3.16, 3.19, 3.22, 3.17 and 3.95 of two nodes in five views.

EXAMPLE = np.array([3.16, 3.19, 3.22, 3.17, 3.95])


@pytest.mark.parametrize("gamma", [2.0, 100.0, 1e4])
def test_the_example_s_fifth_view_is_blamed_for_its_deviation(gamma):
    """With a good measure of 3.20, what is inconsistent is 0.75 on the fifth view, and nothing else."""
    excess = (EXAMPLE - 3.20)[:, None]
    blame = exact_edge_step(excess, np.full(5, 1 + 0.0 - gamma), gamma)[:, 0]
    np.testing.assert_allclose(blame, [0, 0, 0, 0, 0.75], atol=1e-9)


@pytest.mark.parametrize("solver", ["dca", "exact"])
@pytest.mark.parametrize("gamma", [2.0, 100.0])
def test_the_example_within_a_graph(solver, gamma):
    """Two hundred edges on which the views agree about as well as the first four do, and the example."""
    rng = np.random.default_rng(0)
    agreed = rng.uniform(1, 6, size=(200, 1)) * (1 + 0.005 * rng.normal(size=(200, 5)))
    result = consistent_graph(np.vstack([EXAMPLE, agreed]), beta=0.1, gamma=gamma, solver=solver)
    blame = result.inconsistent[0]
    assert blame.argmax() == 4
    assert blame[4] > 5 * blame[:4].max()
    assert np.unravel_index(result.inconsistent.argmax(), result.inconsistent.shape) == (0, 4)


def test_the_example_s_unified_value_is_that_of_the_four_that_agree():
    rng = np.random.default_rng(0)
    agreed = rng.uniform(1, 6, size=(200, 1)) * (1 + 0.005 * rng.normal(size=(200, 5)))
    weights = np.vstack([EXAMPLE, agreed])
    result = consistent_graph(weights, beta=0.1, gamma=100, solver="exact", tol=1e-6, max_iter=1000)
    unit = (result.fused[1:] / agreed.mean(axis=1)).mean()  # from the model's units back to similarities
    assert result.fused[0] / unit == pytest.approx(3.20, abs=0.03)
    assert EXAMPLE.mean() == pytest.approx(3.338)
    # Of what the fifth view has too much, nearly all is found: beta keeps a little of it in A.
    found = result.inconsistent[0, 4] / (result.inconsistent + result.consistent)[0, 4]
    assert found == pytest.approx(0.75 / 3.95, rel=0.15)
