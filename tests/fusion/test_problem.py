import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fusion.solving import pose

from consilience.engines import Sums
from consilience.fusion import FusionProblem, objective
from consilience.fusion.problem import quadratic_in_scales, quadratic_in_scales_and_fused

PENALTIES = st.sampled_from([0.0, 1e-3, 0.7, 1.0, 30.0, 1e5])


@st.composite
def problems(draw, missing=(False, True), trusting=(False, True)):
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    v, n_edges = draw(st.integers(1, 5)), draw(st.integers(1, 12))
    seen = None
    if draw(st.sampled_from(missing)):
        seen = rng.random((v, n_edges)) < 0.6
        seen[rng.integers(v, size=n_edges), np.arange(n_edges)] = True
        seen[np.arange(v), rng.integers(n_edges, size=v)] = True
    trust = None
    if draw(st.sampled_from(trusting)):
        trust = rng.choice([1e-6, 0.1, 1.0], size=(v, n_edges)) * rng.uniform(0.1, 1, size=(v, n_edges))
    return pose(
        rng.gamma(1, size=(v, n_edges)) + 1e-6,
        beta=draw(PENALTIES),
        gamma=draw(PENALTIES),
        view_weights=rng.uniform(0.2, 4, size=v),
        seen=seen,
        trust=trust,
    )


def trust_in(problem):
    """The trust in every pair: 1 if none is given, 0 where unseen."""
    if problem.trust is not None:
        return problem.trust
    return np.ones(problem.weights.shape) if problem.judged is None else problem.judged.astype(float)


def random_point(problem, seed):
    """Random scales, consistent parts and fused vector, of no special relation to each other."""
    rng = np.random.default_rng(seed)
    v, n_edges = problem.weights.shape
    consistent = problem.weights * rng.random((v, n_edges))
    return rng.dirichlet(np.ones(v)), consistent, rng.random(n_edges) / n_edges


def sums_of(problem, consistent, fused):
    """`Sums` by its definition, edge by edge."""
    v, n_edges = problem.weights.shape
    squares, dots, square = np.zeros(v), np.zeros(v), 0.0
    inconsistent_gram, consistent_gram = np.zeros((v, v)), np.zeros((v, v))
    for e in range(n_edges):
        tau = trust_in(problem)[:, e]
        total = sum(problem.view_weights[i] * tau[i] for i in range(v))
        a = consistent[:, e]
        rest = problem.weights[:, e] - a
        squares += tau * a**2
        dots += tau * a * fused[e]
        square += total * fused[e] ** 2
        inconsistent_gram += np.outer(tau * rest, tau * rest)
        consistent_gram += np.outer(tau * a, tau * a) / total
    return Sums(squares, inconsistent_gram, dots, square, consistent_gram)


def objective_in_loops(problem, scales, consistent, fused):
    """The objective as one reads it in the paper, one number at a time."""
    v, n_edges = problem.weights.shape
    result = 0.0
    for e in range(n_edges):
        weight = problem.view_weights * (1 if problem.trust is None else problem.trust[:, e])
        for i in range(v):
            if problem.judged is None or problem.judged[i, e]:
                result += weight[i] * (scales[i] * consistent[i, e] - fused[e]) ** 2
            for j in range(v):
                b = problem.beta if i == j else problem.gamma
                rest_i = problem.weights[i, e] - consistent[i, e]
                rest_j = problem.weights[j, e] - consistent[j, e]
                result += b * weight[i] * weight[j] * scales[i] * scales[j] * rest_i * rest_j
    return result


def quadratic_value(program, x):
    hessian, linear, constant = program
    return 0.5 * x @ hessian @ x - linear @ x + constant


@given(problems(), st.integers(0, 10**6))
@settings(max_examples=80, deadline=None)
def test_the_objective_is_what_the_paper_writes(problem, seed):
    point = random_point(problem, seed)
    assert objective(problem, *point) == pytest.approx(objective_in_loops(problem, *point), rel=1e-12)


@given(problems(), st.integers(0, 10**6))
@settings(max_examples=80, deadline=None)
def test_the_quadratic_in_the_scales_is_the_objective(problem, seed):
    scales, consistent, fused = random_point(problem, seed)
    program = quadratic_in_scales(problem, sums_of(problem, consistent, fused))
    np.testing.assert_array_equal(program[0], program[0].T)
    for x in (scales, np.eye(len(scales))[0], -3 * scales):  # an identity, on the simplex or not
        expected = objective(problem, x, consistent, fused)
        assert quadratic_value(program, x) == pytest.approx(expected, rel=1e-12)


@given(problems(), st.integers(0, 10**6))
@settings(max_examples=80, deadline=None)
def test_the_quadratic_without_the_fused_vector_is_the_objective_at_the_best_one(problem, seed):
    scales, consistent, fused = random_point(problem, seed)
    sums = sums_of(problem, consistent, fused)
    program = quadratic_in_scales_and_fused(problem, sums)
    np.testing.assert_array_equal(program[0], program[0].T)
    count = problem.view_weights[:, None] * trust_in(problem)
    best = np.sum(count * scales[:, None] * consistent, axis=0) / count.sum(axis=0)
    terms = np.abs(quadratic_in_scales(problem, sums)[0]).sum()  # this is a difference of larger numbers
    expected = objective(problem, scales, consistent, best)
    assert quadratic_value(program, scales) == pytest.approx(expected, rel=1e-12, abs=1e-14 * terms)
    assert expected <= objective(problem, scales, consistent, fused)


@given(problems(missing=(False,)))
@settings(max_examples=50, deadline=None)
def test_each_view_is_scaled_to_sum_1(problem):
    assert problem.judged is None
    np.testing.assert_allclose(problem.weights.sum(axis=1), 1, rtol=1e-12)


@given(problems(missing=(True,)))
@settings(max_examples=50, deadline=None)
def test_with_missing_samples_each_view_is_scaled_to_the_mean_over_what_it_has_seen(problem):
    seen = np.ones(problem.weights.shape, dtype=bool) if problem.judged is None else problem.judged
    n_edges = seen.shape[1]
    for row, has in zip(problem.weights, seen, strict=True):
        assert row[has].mean() == pytest.approx(1 / n_edges, rel=1e-12)
        assert not row[~has].any()


@given(problems(trusting=(True,)))
@settings(max_examples=50, deadline=None)
def test_trust_does_not_change_the_scaling(problem):
    plain = pose(problem.weights, beta=1, gamma=1, seen=problem.judged)
    np.testing.assert_allclose(problem.weights, plain.weights, rtol=1e-12)


def test_scaling_keeps_proportions():
    problem = pose(np.array([[1.0, 3.0], [5.0, 0.0]]), beta=1, gamma=1)
    np.testing.assert_allclose(problem.weights, [[0.25, 0.75], [1, 0]], rtol=1e-15)


def test_what_a_view_has_not_seen_is_ignored_whatever_stands_there():
    weights = np.array([[1.0, 2.0, np.nan], [4.0, -5.0, 1.0], [np.inf, 1.0, 1.0]])
    seen = np.array([[True, True, False], [True, False, True], [False, True, True]])
    problem = pose(weights, beta=1, gamma=1, seen=seen)
    np.testing.assert_allclose(
        problem.weights, np.array([[1 / 3, 2 / 3, 0], [0.8, 0, 0.2], [0, 0.5, 0.5]]) * 2 / 3, rtol=1e-14
    )


def test_a_mask_that_hides_nothing_is_dropped():
    assert pose(np.ones((2, 3)), beta=1, gamma=1, seen=np.ones((2, 3), dtype=bool)).judged is None


def test_trust_of_1_is_dropped():
    problem = pose(np.ones((2, 3)), beta=1, gamma=1, trust=np.ones((2, 3)))
    assert problem.trust is None
    assert problem.judged is None


def test_trust_of_1_in_all_that_was_seen_is_dropped():
    seen = np.array([[True, False, True], [True, True, True]])
    problem = pose(np.ones((2, 3)), beta=1, gamma=1, seen=seen, trust=np.ones((2, 3)))
    assert problem.trust is None
    np.testing.assert_array_equal(problem.judged, seen)


@pytest.mark.parametrize("dtype", [bool, int, np.uint8, np.float16, np.float32, np.float64])
def test_trust_of_0_and_1_is_what_seen_is(dtype):
    weights = np.arange(1.0, 7.0).reshape(2, 3)
    seen = np.array([[True, False, True], [True, True, False]])
    problem, expected = (
        pose(weights, beta=1, gamma=1, **given) for given in ({"trust": seen.astype(dtype)}, {"seen": seen})
    )
    assert problem.trust is None
    np.testing.assert_array_equal(problem.judged, seen)
    np.testing.assert_array_equal(problem.weights, expected.weights)


@pytest.mark.parametrize("nothing", [0.0, 1e-300, 0.999e-9])
def test_a_pair_without_trust_is_one_that_was_not_seen(nothing):
    weights = np.array([[1.0, np.nan, 3.0], [1.0, 2.0, 3.0]])
    problem = pose(weights, beta=1, gamma=1, trust=[[0.5, nothing, 0.25], [1, 1, 1]])
    np.testing.assert_array_equal(problem.judged, [[True, False, True], [True, True, True]])
    np.testing.assert_array_equal(problem.trust, [[0.5, 0, 0.25], [1, 1, 1]])
    np.testing.assert_allclose(problem.weights[0], np.array([0.25, 0, 0.75]) * 2 / 3, rtol=1e-14)


def test_trust_where_nothing_was_seen_is_ignored_whatever_stands_there():
    seen = np.array([[True, False, True], [False, True, True]])
    trust = [[0.5, np.nan, 1.0], [-3.0, 1.0, 0.5]]
    problem = pose(np.ones((2, 3)), beta=1, gamma=1, seen=seen, trust=trust)
    np.testing.assert_array_equal(problem.trust, [[0.5, 0, 1], [0, 1, 0.5]])
    np.testing.assert_array_equal(problem.judged, seen)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_trust_has_the_precision_of_the_weights(dtype):
    trust = np.array([[1.0, 1e-9, 0.5], [1.0, 1.0, 1.0]])
    problem = pose(np.ones((2, 3), dtype=dtype), beta=1, gamma=1, trust=trust)
    assert problem.trust.dtype == dtype
    np.testing.assert_allclose(problem.trust, trust, rtol=1e-7)
    assert problem.judged is None


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (1.5, r"'moon' has the trust 1\.5 at edge 2; trust must be from 0 to 1"),
        (1 + 1e-9, r"'moon' has the trust 1\.000000001 at edge 2"),
        (-1e-9, r"'moon' has the trust -1e-09 at edge 2"),
        (np.nan, r"'moon' has the trust nan at edge 2"),
        (np.inf, r"'moon' has the trust inf at edge 2"),
        (-np.inf, r"'moon' has the trust -inf at edge 2"),
    ],
)
def test_trust_out_of_range_is_refused_by_name(value, message):
    trust = np.ones((3, 4))
    trust[1, 2] = value
    with pytest.raises(ValueError, match=message):
        pose(np.ones((3, 4)), beta=1, gamma=1, trust=trust, names=["sun", "moon", "star"])


@pytest.mark.parametrize(
    ("trust", "message"),
    [
        (np.ones((3, 2)), r"trust has shape \(3, 2\).*\(2, 3\)"),
        (np.ones(3), r"trust has shape \(3,\).*\(2, 3\)"),
        (0.5, r"trust has shape \(\).*\(2, 3\)"),
        (np.full((2, 3), "1"), r"trust must be an array of real numbers"),
        (np.full((2, 3), 1j), r"trust must be an array of real numbers"),
        (np.full((2, 3), None), r"trust must be an array of real numbers"),
    ],
)
def test_trust_that_is_no_array_of_numbers_of_the_right_shape_is_refused(trust, message):
    with pytest.raises(ValueError, match=message):
        pose(np.ones((2, 3)), beta=1, gamma=1, trust=trust)


@pytest.mark.parametrize("nothing", [0.0, 1e-12])
def test_an_edge_on_which_nobody_is_trusted_is_refused_by_number(nothing):
    trust = np.ones((3, 4))
    trust[:, 2] = nothing
    with pytest.raises(ValueError, match=r"On edge 2 no view that has seen it has any trust"):
        pose(np.ones((3, 4)), beta=1, gamma=1, trust=trust)


def test_trust_in_a_view_that_has_not_seen_the_edge_does_not_count():
    trust, seen = np.ones((2, 4)), np.ones((2, 4), dtype=bool)
    trust[0, 2], seen[1, 2] = 0, False
    with pytest.raises(ValueError, match=r"On edge 2 no view that has seen it has any trust"):
        pose(np.ones((2, 4)), beta=1, gamma=1, trust=trust, seen=seen)


def test_a_view_that_is_trusted_nowhere_is_refused_by_name():
    trust = np.ones((2, 4))
    trust[1] = 0
    with pytest.raises(ValueError, match=r"'moon' has no positive edge weight"):
        pose(np.ones((2, 4)), beta=1, gamma=1, trust=trust, names=["sun", "moon"])


def test_the_input_is_not_modified():
    given = {
        "weights": np.arange(1.0, 7.0).reshape(2, 3),
        "seen": np.array([[True, False, True], [True, True, True]]),
        "view_weights": np.array([1.0, 2.0]),
        "trust": np.array([[0.5, 1e-12, 1.0], [1e-12, 1.0, 0.2]]),
    }
    copies = {name: array.copy() for name, array in given.items()}
    for some in (given, {**given, "seen": None}):
        problem = pose(**some, beta=1, gamma=1)
        for array in (problem.weights, problem.view_weights, problem.trust):
            array[:] = -1
        problem.judged[:] = False
    for name, array in given.items():
        np.testing.assert_array_equal(array, copies[name])


@pytest.mark.parametrize(
    ("dtype", "kept"),
    [
        (np.float64, np.float64),
        (np.float32, np.float32),
        (np.float16, np.float64),
        (np.int64, np.float64),
        (np.uint8, np.float64),
        (bool, np.float64),
    ],
)
def test_number_types(dtype, kept):
    problem = pose(np.array([[1, 0, 1], [1, 1, 1]], dtype=dtype), beta=1, gamma=1)
    assert problem.weights.dtype == kept
    np.testing.assert_allclose(problem.weights, [[0.5, 0, 0.5], [1 / 3, 1 / 3, 1 / 3]], rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("extreme", ["largest", "smallest"])
def test_only_proportions_count_whatever_the_size_of_the_numbers(dtype, extreme):
    limits = np.finfo(dtype)
    unit = limits.max / 4 if extreme == "largest" else limits.smallest_subnormal * 2**16
    weights = np.array([[1, 2, 3], [3, 3, 1]], dtype=dtype) * dtype(unit)
    problem = pose(weights, beta=1, gamma=1)
    np.testing.assert_allclose(
        problem.weights, [[1 / 6, 2 / 6, 3 / 6], [3 / 7, 3 / 7, 1 / 7]], rtol=10 * limits.eps
    )


def test_the_problem_is_frozen_and_holds_its_parts():
    problem = pose(np.ones((2, 3)), beta=2, gamma=3, view_weights=[1, 5], names=["sun", "moon"])
    assert isinstance(problem, FusionProblem)
    assert (problem.beta, problem.gamma, problem.names) == (2.0, 3.0, ("sun", "moon"))
    np.testing.assert_array_equal(problem.penalty, [[2, 15], [15, 50]])
    with pytest.raises(dataclasses.FrozenInstanceError):
        problem.beta = 1.0


def spoilt(value):
    weights = np.ones((3, 4))
    weights[1, 2] = value
    return weights


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (spoilt(-0.5), r"'moon'.*negative weight -0\.5 at edge 2"),
        (spoilt(np.nan), r"'moon'.*nan at edge 2"),
        (spoilt(np.inf), r"'moon'.*inf at edge 2"),
        (spoilt(-np.inf), r"'moon'.*-inf at edge 2"),
        (np.array([[1.0, 1.0], [0.0, 0.0], [1.0, 0.0]]), r"'moon' has no positive edge weight"),
        (np.ones(4), r"2-D"),
        (np.ones((3, 4, 1)), r"2-D"),
        (np.ones((3, 4)) * 1j, r"real"),
        (np.full((3, 4), "a"), r"real"),
        (np.full((3, 4), None), r"real"),
        (np.ones((0, 4)), r"0 views on 4 edges"),
        (np.ones((3, 0)), r"3 views on 0 edges"),
    ],
)
def test_edge_weights_that_make_no_sense_are_refused_by_name(weights, message):
    with pytest.raises(ValueError, match=message):
        pose(weights, beta=1, gamma=1, names=["sun", "moon", "star"])


def test_a_negative_weight_next_to_infinities_is_not_hidden_by_their_sum():
    weights = np.array([[1.0, np.inf, -np.inf], [1.0, 1.0, 1.0]])
    with pytest.raises(ValueError, match=r"'view_0'.*inf at edge 1"):
        pose(weights, beta=1, gamma=1)


def test_names_must_be_one_per_view():
    with pytest.raises(ValueError, match="names"):
        pose(np.ones((3, 4)), beta=1, gamma=1, names=["sun", "moon"])


def test_the_mask_must_have_the_shape_of_the_weights():
    with pytest.raises(ValueError, match=r"seen has shape \(4, 3\).*\(3, 4\)"):
        pose(np.ones((3, 4)), beta=1, gamma=1, seen=np.ones((4, 3), dtype=bool))


def test_an_edge_that_nobody_has_seen_is_refused_by_number():
    seen = np.ones((3, 4), dtype=bool)
    seen[:, 2] = False
    with pytest.raises(ValueError, match=r"Edge 2 has been seen by no view"):
        pose(np.ones((3, 4)), beta=1, gamma=1, seen=seen)


def test_a_view_that_has_seen_nothing_is_refused_by_name():
    seen = np.ones((2, 4), dtype=bool)
    seen[1] = False
    with pytest.raises(ValueError, match=r"'moon' has no positive edge weight"):
        pose(np.ones((2, 4)), beta=1, gamma=1, seen=seen, names=["sun", "moon"])


@pytest.mark.parametrize("name", ["beta", "gamma"])
@pytest.mark.parametrize("value", [-1, -1e-300, np.nan, np.inf, "1", True, None, [1.0], 1j, np.array([1.0])])
def test_penalties_must_be_numbers_that_are_not_negative(name, value):
    with pytest.raises(ValueError, match=f"^{name} must be a finite number"):
        pose(np.ones((2, 3)), **({"beta": 1, "gamma": 1} | {name: value}))


@pytest.mark.parametrize("value", [0, 2, 0.5, np.float32(0.5), np.int64(2)])
def test_penalties_may_be_any_real_number(value):
    problem = pose(np.ones((2, 3)), beta=value, gamma=value)
    assert type(problem.beta) is type(problem.gamma) is float
    assert problem.beta == problem.gamma == value


@pytest.mark.parametrize(
    ("view_weights", "message"),
    [
        ([1.0], r"2 views \(sun, moon\), got shape \(1,\)"),
        ([1.0, 1.0, 1.0], r"got shape \(3,\)"),
        ([[1.0, 1.0]], r"got shape \(1, 2\)"),
        (2.0, r"got shape \(\)"),
        ([1.0, 0.0], r"'moon' is 0"),
        ([1.0, -2.0], r"'moon' is -2"),
        ([1.0, np.nan], r"'moon' is nan"),
        ([1.0, np.inf], r"'moon' is inf"),
        (["a", "b"], r"must be numbers"),
        ("uniform", r"must be numbers"),
        (["1", "2"], r"must be numbers"),
        ([1.0, None], r"'moon' is nan|must be numbers"),
        ([1.0, 2j], r"must be numbers"),
    ],
)
def test_view_weights_must_be_positive_numbers_one_per_view(view_weights, message):
    with pytest.raises(ValueError, match=message):
        pose(np.ones((2, 3)), beta=1, gamma=1, view_weights=view_weights, names=["sun", "moon"])


def test_view_weights_are_1_by_default_and_kept_as_given():
    np.testing.assert_array_equal(pose(np.ones((2, 3)), beta=1, gamma=1).view_weights, [1, 1])
    given_weights = pose(np.ones((2, 3)), beta=1, gamma=1, view_weights=(3, 0.5)).view_weights
    np.testing.assert_array_equal(given_weights, [3, 0.5])
