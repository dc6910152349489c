import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from consilience.fusion import minimize_on_simplex

SCALES = (1e-20, 1e-6, 1.0, 1e6, 1e20)


def value(hessian, linear, x):
    return 0.5 * x @ hessian @ x - linear @ x


def size(hessian, linear):
    return np.abs(hessian).max() + np.abs(linear).max()


def faces(v):
    """All supports: the non-empty subsets of the coordinates."""
    for count in range(1, v + 1):
        yield from (list(face) for face in itertools.combinations(range(v), count))


def brute_force(hessian, linear):
    """Return the best stationary point over all faces of the simplex; for convex problems the minimiser."""
    scale = size(hessian, linear) or 1.0
    h, c = hessian / scale, linear / scale
    best = None
    for face in faces(len(c)):
        count = len(face)
        system = np.ones((count + 1, count + 1))
        system[:count, :count] = h[np.ix_(face, face)]
        system[count, count] = 0.0
        solution = np.linalg.lstsq(system, np.append(c[face], 1.0), rcond=None)[0][:count]
        if solution.min() < 0:
            continue
        point = np.zeros(len(c))
        point[face] = solution / solution.sum()
        if best is None or value(h, c, point) < value(h, c, best):
            best = point
    return best


def stationarity_gap(hessian, linear, x):
    """Return how much the gradient falls below its level on the support; 0 at a stationary point."""
    gradient = hessian @ x - linear
    return max(gradient @ x - gradient.min(), gradient[x > 0].max() - gradient @ x)


def assert_on_simplex(x):
    assert x.min() >= 0
    assert x.sum() == pytest.approx(1, abs=1e-14)


@st.composite
def starts(draw, v):
    """A point of the simplex, often on a face of it."""
    weights = draw(arrays(float, v, elements=st.sampled_from([0.0, 0.0, 1.0, 2.0, 7.5, 1e-9])))
    if weights.sum() == 0:
        weights[draw(st.integers(0, v - 1))] = 1.0
    return weights / weights.sum()


@st.composite
def convex_programs(draw):
    """Programs of small integers: zero, rank-one and repeated rows and columns come by themselves."""
    v = draw(st.integers(1, 5))
    root = draw(arrays(float, (draw(st.integers(1, 5)), v), elements=st.integers(-3, 3)))
    linear = draw(arrays(float, v, elements=st.integers(-4, 4)))
    return root.T @ root, linear, draw(starts(v))


@st.composite
def indefinite_programs(draw):
    v = draw(st.integers(1, 5))
    half = draw(arrays(float, (v, v), elements=st.floats(-3, 3, width=16)))
    linear = draw(arrays(float, v, elements=st.floats(-3, 3, width=16)))
    return half + half.T, linear, draw(starts(v))


@given(convex_programs(), st.sampled_from(SCALES))
@settings(max_examples=300, deadline=None)
def test_convex_programs_reach_the_least_value_over_all_faces(program, scale):
    hessian, linear, start = program[0] * scale, program[1] * scale, program[2]
    x = minimize_on_simplex(hessian, linear, start)
    assert_on_simplex(x)
    best = brute_force(hessian, linear)
    assert value(hessian, linear, x) - value(hessian, linear, best) <= 1e-10 * size(hessian, linear)


@given(st.integers(0, 10**6), st.integers(1, 5), st.sampled_from(SCALES))
@settings(max_examples=150, deadline=None)
def test_strictly_convex_programs_reach_the_minimiser_itself(seed, v, scale):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(v + 1, v))
    hessian, linear = scale * (root.T @ root + 0.5 * np.eye(v)), scale * rng.normal(size=v)
    x = minimize_on_simplex(hessian, linear, rng.dirichlet(np.ones(v)))
    np.testing.assert_allclose(x, brute_force(hessian, linear), rtol=0, atol=1e-10)


@given(st.integers(0, 10**6), st.integers(2, 5))
@settings(max_examples=100, deadline=None)
def test_a_coordinate_outside_of_the_best_face_is_exactly_0(seed, v):
    """Not 1e-18: a view is used or it is not."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(v + 1, v))
    hessian, linear = root.T @ root + 0.5 * np.eye(v), 3 * rng.normal(size=v)
    x = minimize_on_simplex(hessian, linear, rng.dirichlet(np.ones(v)))
    np.testing.assert_array_equal(x > 0, brute_force(hessian, linear) > 0)


@pytest.mark.parametrize("v", [3, 8, 30])
def test_ill_conditioned_programs_take_few_steps(v):
    """Frank-Wolfe alone would need thousands; the minimiser of the face that it found is taken at once."""
    rng = np.random.default_rng(v)
    basis = np.linalg.qr(rng.normal(size=(v, v)))[0]
    hessian = basis @ np.diag(np.logspace(0, 6, v)) @ basis.T
    hessian = (hessian + hessian.T) / 2
    inside = rng.dirichlet(np.full(v, 5.0))
    x = minimize_on_simplex(hessian, hessian @ inside, np.eye(v)[0], max_iter=100)
    np.testing.assert_allclose(x, inside, atol=1e-8)


@given(indefinite_programs())
@settings(max_examples=300, deadline=None)
def test_indefinite_programs_stay_on_the_simplex_and_never_get_worse(program):
    hessian, linear, start = program
    x = minimize_on_simplex(hessian, linear, start)
    assert_on_simplex(x)
    slack = 1e-14 * size(hessian, linear)
    assert value(hessian, linear, x) <= value(hessian, linear, start) + slack


def test_a_coordinate_that_has_to_go_goes_in_one_step():
    # The stationary point of the first face is outside; Frank-Wolfe steps alone creep to the edge for ever.
    tiny = 2.0**-10
    hessian = np.full((4, 4), -tiny)
    hessian[0, 0], hessian[0, 1], hessian[1, 0], hessian[3, 3] = 0, -tiny / 2, -tiny / 2, 2
    linear = np.array([0.0, 0.0, 0.0, 1.0])
    x = minimize_on_simplex(hessian, linear, np.eye(4)[0])
    assert stationarity_gap(hessian, linear, x) <= 1e-12 * size(hessian, linear)


def test_a_saddle_is_left_behind_in_one_step():
    hessian = np.array([[2.0, 1.0, 0.99993896], [1.0, 2.0, 2.0], [0.99993896, 2.0, 2.0]])
    x = minimize_on_simplex(hessian, np.zeros(3), np.eye(3)[1])
    np.testing.assert_allclose(x, [0.5, 0.0, 0.5], atol=1e-12)


def test_a_valley_is_followed_to_its_end():
    # The second and third coordinate have no curvature and nearly the same slope: the system of that face is
    # singular, and Frank-Wolfe steps alone shift weight from one to the other for ever.
    hessian, linear = np.diag([2.0, 0.0, 0.0]), np.array([1.0, 2.0**-15, 0.0])
    x = minimize_on_simplex(hessian, linear, np.eye(3)[2], max_iter=20)
    np.testing.assert_allclose(x, [0.5 - 2.0**-16, 0.5 + 2.0**-16, 0.0], rtol=0, atol=1e-15)


@given(indefinite_programs())
@settings(max_examples=300, deadline=None)
def test_indefinite_programs_end_at_a_stationary_point(program):
    hessian, linear, start = program
    x = minimize_on_simplex(hessian, linear, start)
    assert stationarity_gap(hessian, linear, x) <= 1e-12 * size(hessian, linear)


@given(convex_programs())
@settings(max_examples=150, deadline=None)
def test_a_warm_start_at_the_optimum_is_returned(program):
    hessian, linear, start = program
    optimum = minimize_on_simplex(hessian, linear, start)
    np.testing.assert_allclose(minimize_on_simplex(hessian, linear, optimum), optimum, rtol=0, atol=1e-12)


@given(convex_programs())
@settings(max_examples=100, deadline=None)
def test_the_input_is_not_modified_and_the_result_is_new(program):
    copies = [part.copy() for part in program]
    x = minimize_on_simplex(*program)
    assert not np.shares_memory(x, program[2])
    for part, copy in zip(program, copies, strict=True):
        np.testing.assert_array_equal(part, copy)


@given(convex_programs(), st.randoms())
@settings(max_examples=100, deadline=None)
def test_renaming_the_coordinates_changes_nothing(program, random):
    hessian, linear, start = program
    hessian = hessian + np.eye(len(linear))  # one minimiser
    order = list(range(len(linear)))
    random.shuffle(order)
    x = minimize_on_simplex(hessian, linear, start)
    renamed = minimize_on_simplex(hessian[np.ix_(order, order)], linear[order], start[order])
    np.testing.assert_allclose(renamed, x[order], rtol=0, atol=1e-10)


def test_one_coordinate():
    np.testing.assert_array_equal(minimize_on_simplex(np.array([[3.0]]), np.array([-2.0]), np.ones(1)), [1.0])


def test_a_program_without_terms_keeps_the_start():
    start = np.array([0.25, 0.0, 0.75])
    np.testing.assert_array_equal(minimize_on_simplex(np.zeros((3, 3)), np.zeros(3), start), start)


@pytest.mark.parametrize("scale", SCALES)
def test_a_linear_program_goes_to_the_best_vertex(scale):
    x = minimize_on_simplex(np.zeros((3, 3)), scale * np.array([1.0, 3.0, 2.0]), np.full(3, 1 / 3))
    np.testing.assert_allclose(x, [0, 1, 0], atol=1e-12)


@pytest.mark.parametrize("vertex", range(4))
def test_a_start_on_a_wrong_face_is_left(vertex):
    hessian, linear = np.diag([1.0, 2.0, 4.0, 1.0]), np.array([0.0, 0.0, 0.0, -9.0])
    x = minimize_on_simplex(hessian, linear, np.eye(4)[vertex])
    np.testing.assert_allclose(x, np.array([4, 2, 1, 0]) / 7, atol=1e-12)


def test_equal_coordinates_share_a_value_that_is_best_whatever_the_split():
    hessian, linear = np.ones((3, 3)), np.zeros(3)
    hessian[2, :2] = hessian[:2, 2] = 0.5
    x = minimize_on_simplex(hessian, linear, np.array([1.0, 0.0, 0.0]))
    assert value(hessian, linear, x) == pytest.approx(0.375, abs=1e-12)
    assert x[2] == pytest.approx(0.5, abs=1e-6)


@pytest.mark.parametrize("spread", [1e3, 1e8])
def test_badly_scaled_programs(spread):
    """A diagonal program: coordinates are inversely proportional to the curvatures."""
    curvature = np.array([1.0, spread, np.sqrt(spread), 3.0])
    x = minimize_on_simplex(np.diag(curvature), np.zeros(4), np.array([0.0, 1.0, 0.0, 0.0]))
    np.testing.assert_allclose(x, (1 / curvature) / np.sum(1 / curvature), atol=1e-12)


def test_a_huge_curvature_outside_of_the_support_does_not_stop_the_search():
    hessian = np.diag([1e14, 1.0, 3.0])
    x = minimize_on_simplex(hessian, np.zeros(3), np.array([0.0, 0.5, 0.5]))
    np.testing.assert_allclose(x, [0, 0.75, 0.25], atol=1e-9)


@pytest.mark.parametrize("v", [8, 20, 40])
def test_many_views(v):
    rng = np.random.default_rng(v)
    root = rng.normal(size=(v, v))
    hessian, linear = root.T @ root, rng.normal(size=v)
    x = minimize_on_simplex(hessian, linear, np.full(v, 1 / v))
    assert_on_simplex(x)
    assert stationarity_gap(hessian, linear, x) <= 1e-12 * size(hessian, linear)


def test_a_local_maximum_on_an_edge_is_not_returned():
    """From near the maximum of a concave program, the way leads to a vertex."""
    x = minimize_on_simplex(np.diag([-1.0, -1.0]), np.zeros(2), np.array([0.5 + 1e-3, 0.5 - 1e-3]))
    np.testing.assert_allclose(x, [1, 0], atol=1e-12)
