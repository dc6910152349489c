"""Problems for the rounds of a fusion, and how close their results must be."""

import dataclasses

import numpy as np

from consilience.engines import Sums, get_engine
from consilience.fusion import pose


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
    return pose(
        weights.astype(dtype),
        beta=beta,
        gamma=gamma,
        view_weights=view_weights,
        seen=seen,
        engine=get_engine("numpy"),
    )


def doubted(problem, seed):
    """Return the same problem with trust of every size, where a view has seen the edge."""
    rng = np.random.default_rng([seed, 1])
    shape = problem.weights.shape
    kind = rng.integers(3, size=shape)
    trust = np.where(kind == 0, rng.uniform(0.01, 1, size=shape), 10 ** rng.uniform(-9, 0, size=shape))
    trust = np.where(kind == 2, 1.0, trust) * (True if problem.judged is None else problem.judged)
    return dataclasses.replace(problem, trust=trust.astype(problem.weights.dtype))


def random_scales(rng, v, with_zeros=True):
    scales = rng.dirichlet(np.ones(v))
    if with_zeros and v > 1:
        scales[rng.random(v) < 0.3] = 0
    scales[rng.integers(v)] += 0.1
    return scales / scales.sum()


def loaded(name, problem):
    """Return an engine and its state of a problem; trust is in the precision of the weights."""
    engine = get_engine(name)
    trust = None if problem.trust is None else problem.trust.astype(problem.weights.dtype)
    return engine, engine.load(problem.weights, problem.judged, trust, problem.view_weights)


def one_round(engine, state, problem, kind, scales):
    if kind == "dca":
        return engine.dca_round(state, scales, problem.beta, problem.gamma, 3)
    return engine.exact_round(state, scales, problem.beta, problem.gamma)


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
    """Compare what two engines have collected."""
    for one, other in zip(actual, desired, strict=True):
        assert_close(one, other, rtol, problem.weights.max())
