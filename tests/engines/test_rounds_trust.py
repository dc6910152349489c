"""Trust per edge and view: against what it generalises, and the exact step against all faces of the box."""

import itertools
import subprocess
import sys

import numpy as np
import pytest
from tests.engines.names import HOST_ENGINES
from tests.engines.round_problems import assert_same_state, assert_same_sums, random_problem, random_scales

from consilience.engines import get_engine
from consilience.engines.host import edge_hessian

KINDS = ("positive", "none positive", "mixed", "far apart", "zero", "gamma 0")


def random_case(rng, kind, v, n_edges):
    """Draw view weights, trust, beta and gamma with curvatures 1 / (lambda tau) + beta - gamma of a kind."""
    # Powers of two, so that a curvature can be 0.
    view_weights = 2.0 ** rng.integers(-1, 2, size=v)
    beta = rng.integers(0, 9) / 8
    trust = 2.0 ** rng.integers(-4, 1, size=(v, n_edges))
    if kind in ("positive", "none positive", "mixed"):
        trust = rng.uniform(0.05, 1, size=(v, n_edges))
    if kind == "far apart":
        trust = 10 ** rng.uniform(-9, 0, size=(v, n_edges))
    if n_edges > 4:
        trust[rng.random((v, n_edges)) < 0.2] = 0
    trust[rng.integers(v, size=n_edges), np.arange(n_edges)] = 1.0
    own = 1 / (view_weights[:, None] * trust)[trust > 0] + beta
    gamma = {
        "positive": rng.uniform(0, 0.95) * own.min(),
        "none positive": own.max() * 10 ** rng.uniform(0.01, 4),
        "mixed": own.min() + (np.median(own) - own.min()) * rng.uniform(0.1, 0.9),
        "far apart": 10 ** rng.uniform(0, 8),
        "zero": rng.choice(own),
        "gamma 0": 0.0,
    }[kind]
    return view_weights, trust, beta, gamma


class Edges:
    """All edges' programs in E, given the scales and s, as one reads them in the model."""

    def __init__(self, weights, view_weights, trust, scales, fused, beta, gamma):
        v = len(weights)
        count = (view_weights[:, None] * trust).T  # lambda tau, by edges
        b = np.full((v, v), gamma) + (beta - gamma) * np.eye(v)
        t = count * scales
        self.weights, self.count, self.scales, self.fused = weights.T, count, scales, fused
        self.coupling = b * t[:, :, None] * t[:, None, :]

    def values(self, inconsistent):
        apart = self.scales * (self.weights - inconsistent) - self.fused[:, None]
        coupled = np.einsum("ei,eij,ej->e", inconsistent, self.coupling, inconsistent)
        return np.sum(self.count * apart**2, axis=1) + coupled

    def least_values(self):
        """Try all faces of the box: each E at 0, at W, or where the derivative is 0, clipped to the box."""
        n_edges, v = self.weights.shape
        hessian = self.coupling + np.eye(v) * (self.count * self.scales**2)[:, :, None]
        slope = self.count * self.scales * (self.scales * self.weights - self.fused[:, None])
        best = np.full(n_edges, np.inf)
        for face in itertools.product("0W?", repeat=v):
            inconsistent = np.where(np.array(face) == "W", self.weights, 0.0)
            free = np.flatnonzero(np.array(face) == "?")
            if len(free):
                right = slope - np.einsum("eij,ej->ei", hessian, inconsistent)
                system = hessian[:, free[:, None], free]
                # In units in which the diagonal is 1, so that little trust alone does not look singular.
                diagonal = np.diagonal(system, axis1=1, axis2=2)
                unit = 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
                system = system * unit[:, :, None] * unit[:, None, :]
                # Where it is singular, or a view does not judge, a smaller face does as well.
                system[np.abs(np.linalg.det(system)) < 1e-13] = np.eye(len(free))
                right = (right[:, free] * unit)[:, :, None]
                inconsistent[:, free] = np.linalg.solve(system, right)[:, :, 0] * unit
            best = np.minimum(best, self.values(np.clip(inconsistent, 0, self.weights)))
        return best

    def off_stationary(self, inconsistent):
        """By how much each E misses the conditions of a minimum, in the units of the scaled weights."""
        gradient = self.scales * (self.weights - inconsistent) - self.fused[:, None]
        with np.errstate(invalid="ignore"):
            coupled = np.einsum("eij,ej->ei", self.coupling, inconsistent) / (self.count * self.scales)
        gradient = np.where(self.count > 0, gradient - coupled, 0.0)  # in A: below 0 where less E is better
        return np.where(inconsistent > 0, np.abs(gradient), np.maximum(gradient, 0))


def loaded(name, weights, view_weights, trust):
    engine = get_engine(name)
    return engine, engine.load(weights * (trust > 0), trust > 0, trust, view_weights)


@pytest.mark.parametrize("name", HOST_ENGINES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("v", [1, 2, 3, 4, 5])
def test_an_exact_round_reaches_the_least_value_over_all_faces(name, kind, v):
    rng = np.random.default_rng([v, KINDS.index(kind), 2])
    for n_edges in (1, 3, 129, 200, 200) if v < 5 else (200,):
        view_weights, trust, beta, gamma = random_case(rng, kind, v, n_edges)
        weights = rng.gamma(0.5, size=(v, n_edges)) * (trust > 0)
        scales = rng.dirichlet(np.full(v, 3.0))
        engine, state = loaded(name, weights, view_weights, trust)
        for _ in range(2):  # from E = 0, then from the E of the first round
            engine.exact_round(state, scales, beta, gamma)
            inconsistent, fused = engine.collect(state)
            edges = Edges(weights, view_weights, trust, scales, fused, beta, gamma)
            size = edges.values(np.zeros((n_edges, v)))
            apart = edges.values(inconsistent.T) - edges.least_values()
            np.testing.assert_array_less(np.abs(apart), 1e-9 * size + 1e-28)
            # The objective hardly notices a view of little trust; the conditions of a minimum do.
            # (NumPy subtracts a gamma of up to 1e8 from numbers about 1: eight digits are gone.)
            noise = 1e-8 if (name, kind) == ("numpy", "far apart") else 1e-11
            assert edges.off_stationary(inconsistent.T).max() <= noise * np.max(scales[:, None] * weights)


@pytest.mark.parametrize("name", HOST_ENGINES)
def test_what_is_too_little_for_the_objective_is_blamed_all_the_same(name):
    """The third view has a trust of 1e-8, and an excess that leaves it hardly any blame next to the first.

    On every other edge the first two views have curvatures below 0; gamma is 1.5, beta 0, all weights 1.
    """
    rest = 10 ** np.random.default_rng(0).uniform(-9, 0, size=600)
    trust = np.where(np.arange(600) % 2, 0.5, 1.0) * np.ones((2, 1))
    fused, gamma, scales = 1.5, 1.5, np.full(3, 1 / 3)
    blame = 0.5 * trust[0]  # the excess of the first, times lambda tau
    third = fused + gamma * blame + rest
    weights = np.stack([np.full(600, 2.0), np.full(600, 1.0), third]) / scales[:, None]
    trust = np.vstack([trust, np.full(600, 1e-8)])
    engine, state = loaded(name, weights, np.ones(3), trust)
    engine.exact_round(state, scales, 0.0, gamma)
    inconsistent, actual = engine.collect(state)
    np.testing.assert_allclose(actual, fused, rtol=1e-7)
    edges = Edges(weights, np.ones(3), trust, scales, actual, 0.0, gamma)
    assert edges.off_stationary(inconsistent.T).max() <= 1e-11
    assert np.median(inconsistent[2] / 3) == pytest.approx(np.median(rest), rel=0.1)


@pytest.mark.parametrize("name", HOST_ENGINES)
def test_a_view_with_scale_0_and_curvature_0_does_not_disturb_the_others(name):
    """Its curvature is exactly 0, that of the others positive: nothing may be divided by it."""
    rng = np.random.default_rng(1)
    weights = rng.gamma(1.0, size=(3, 200))
    trust = np.repeat([[0.5], [0.25], [1.0]], 200, axis=1)
    scales = np.array([0.4, 0.6, 0.0])
    engine, state = loaded(name, weights, np.ones(3), trust)
    engine.exact_round(state, scales, 0.0, 1.0)
    inconsistent, fused = engine.collect(state)
    assert not inconsistent[2].any()
    edges = Edges(weights, np.ones(3), trust, scales, fused, 0.0, 1.0)
    assert (edges.values(inconsistent.T) <= edges.least_values() * (1 + 1e-12)).all()
    assert inconsistent[:2].any()


@pytest.mark.parametrize("name", HOST_ENGINES)
@pytest.mark.parametrize("kind", KINDS)
def test_in_single_precision_an_exact_round_stays_near_the_least_value(name, kind):
    rng = np.random.default_rng([KINDS.index(kind), 3])
    for _ in range(5):
        view_weights, trust, beta, gamma = random_case(rng, kind, 3, 300)
        weights = (rng.gamma(0.5, size=(3, 300)) * (trust > 0)).astype(np.float32)
        trust = trust.astype(np.float32)
        scales = rng.dirichlet(np.full(3, 3.0))
        engine, state = loaded(name, weights, view_weights, trust)
        engine.exact_round(state, scales, beta, gamma)
        inconsistent, fused = engine.collect(state)
        assert inconsistent.dtype == fused.dtype == np.float32
        edges = Edges(*(x.astype(float) for x in (weights, view_weights, trust, scales, fused)), beta, gamma)
        least = edges.least_values()
        start = edges.values(np.zeros((300, 3)))
        apart = np.abs(edges.values(inconsistent.T.astype(float)) - least)
        assert apart.sum() <= 1e-4 * np.sum(start - least)


def behind_a_doubtful_edge(weights, view_weights, trust):
    """Put an edge with hardly any trust in front: gamma must not be cut for the others by what it allows."""
    doubt = np.array([[1e-9], [1.0], [1.0]], dtype=trust.dtype)
    return np.hstack([weights[:, :1], weights]), view_weights, np.hstack([doubt, trust])


@pytest.mark.parametrize("name", HOST_ENGINES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("gamma", [1e8, 1e12, 1e20])
def test_a_huge_gamma_blames_at_most_one_view_and_by_the_right_amount(name, dtype, gamma):
    rng = np.random.default_rng(5)
    view_weights, beta, scales = np.array([0.5, 1.0, 2.0]), 0.01, np.array([0.3, 0.3, 0.4])
    weights = rng.gamma(1.0, size=(3, 200)).astype(dtype)
    trust = rng.uniform(0.01, 1, size=(3, 200)).astype(dtype)
    engine, state = loaded(name, *behind_a_doubtful_edge(weights, view_weights, trust))
    engine.exact_round(state, scales, beta, gamma)
    inconsistent, fused = (array[..., 1:] for array in engine.collect(state))
    assert (np.count_nonzero(inconsistent, axis=0) <= 1).all()
    count = view_weights[:, None] * trust.astype(float)
    excess = np.maximum(scales[:, None] * weights - fused, 0)
    blamed = np.argmax(excess**2 / (1 / count + beta), axis=0)
    expected = np.zeros_like(excess)
    every = np.arange(200)
    expected[blamed, every] = (excess / (1 + beta * count) / scales[:, None])[blamed, every]
    rtol = 1e-4 if dtype == np.float32 else 1e-10
    np.testing.assert_allclose(inconsistent, expected, rtol=rtol, atol=rtol * expected.max())


@pytest.mark.parametrize("name", HOST_ENGINES)
@pytest.mark.parametrize("kind", ["dca", "exact"])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("gamma", [0.2, 1.0, 50.0])
@pytest.mark.parametrize("v", [1, 2, 3, 4, 5, 6])
def test_a_trust_of_0_and_1_is_what_seen_is(name, kind, missing, gamma, v):
    """Given to the engine itself: the kernels for trust against those without, to rounding."""
    problem = random_problem(v, v, 300, missing)
    trust = np.ones(problem.weights.shape) if problem.judged is None else problem.judged.astype(float)
    engine = get_engine(name)
    plain = engine.load(problem.weights, problem.judged, None, problem.view_weights)
    trusted = engine.load(problem.weights, problem.judged, trust, problem.view_weights)
    rng = np.random.default_rng(v)
    even = np.full(v, 1 / v)
    assert_same_sums(engine.start(trusted, even), engine.start(plain, even), problem, 1e-10, False)
    for _ in range(3):
        scales = random_scales(rng, v)
        if kind == "dca":
            sums = [engine.dca_round(state, scales, 0.1, gamma, 3) for state in (trusted, plain)]
        else:
            sums = [engine.exact_round(state, scales, 0.1, gamma) for state in (trusted, plain)]
        assert_same_sums(*sums, problem, 1e-10, kind == "exact")
        assert_same_state(engine.collect(trusted), engine.collect(plain), problem, 1e-10)


@pytest.mark.parametrize("name", HOST_ENGINES)
@pytest.mark.parametrize("kind", ["dca", "exact"])
@pytest.mark.parametrize("factor", [0.5, 1e-3])
def test_the_same_trust_on_all_edges_is_a_smaller_weight_of_the_view(name, kind, factor):
    problem = random_problem(8, 3, 500)
    trust = np.repeat([[1.0], [factor], [1.0]], 500, axis=1)
    engine = get_engine(name)
    lighter = problem.view_weights * [1, factor, 1]
    states = [
        engine.load(problem.weights, None, trust, problem.view_weights),
        engine.load(problem.weights, None, None, lighter),
    ]
    scales = np.array([0.3, 0.5, 0.2])
    for state in states:
        if kind == "exact":
            engine.exact_round(state, scales, 0.3, 2.0)
        else:
            engine.fuse(state, scales)  # DCA steps are of another length
    assert_same_state(engine.collect(states[0]), engine.collect(states[1]), problem, 1e-10)


@pytest.mark.parametrize("seed", range(20))
def test_no_edge_has_a_larger_eigenvalue_than_the_hessian_without_trust(seed):
    """What allows the DCA steps with trust to be as long as those without."""
    rng = np.random.default_rng(seed)
    v = 1 + seed % 6
    view_weights, scales = rng.uniform(0.3, 3, size=v), random_scales(rng, v)
    beta, gamma = 10 ** rng.uniform(-3, 3, size=2)
    hessian, coupling = edge_hessian(view_weights, scales, beta, gamma)
    largest = np.linalg.eigvalsh(hessian)[-1]
    for trust in rng.random((50, v)) * (rng.random((50, v)) < 0.8):
        own = np.diag(view_weights * trust * scales**2) + coupling * np.outer(trust, trust)
        assert np.abs(np.linalg.eigvalsh(2 * own)).max() <= largest * (1 + 1e-12)


@pytest.mark.long
def test_without_trust_nothing_for_it_is_compiled():
    program = """
import numpy as np
from consilience.engines.numba import trusted_kernels
from consilience.fusion import consistent_graph
W = np.random.default_rng(0).gamma(1.0, size=(50, 3))
def compiled():
    kernels = (trusted_kernels.dca_blocks, trusted_kernels.exact_blocks)
    return [len(kernel.signatures) for kernel in kernels]
judged = W >= np.median(W, axis=1, keepdims=True)
consistent_graph(W, solver="exact", seen=judged)
consistent_graph(W, solver="exact", trust=judged)
print(compiled())
consistent_graph(W, trust=np.where(W > 1, 1, 0.5))
print(compiled())
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.split("\n") == ["[0, 0]", "[1, 0]", ""]
