import numpy as np
import pytest
from scipy import linalg, optimize, sparse
from sklearn.exceptions import ConvergenceWarning

from consilience import make_multiview
from consilience.models.systems.aasc import AASC, aggregate_affinities, lower_quotient
from consilience.testing import assert_same_partition

pytestmark = pytest.mark.filterwarnings("ignore:The graph has .* connected components")

SETS = {"MSRC_v1": ("euclidean", 210, 7), "3Sources": ("cosine", 169, 6)}
by_set = pytest.mark.parametrize("name", SETS)


def stored_graphs(stored, n):
    return [
        sparse.csr_array((values, (stored["rows"], stored["cols"])), shape=(n, n))
        for values in stored["values"]
    ]


def prism(within, across):
    """Return two triangles with edges of one weight, and edges of another between their corners."""
    triangles = np.kron(np.eye(2), within * (np.ones((3, 3)) - np.eye(3)))
    return sparse.csr_array(triangles + np.kron([[0, 1], [1, 0]], across * np.eye(3)))


# Degrees 2.5 and 1.5; the lighter graph has the cheaper cut. See the test of the prism for the answer.
HEAVY, LIGHT = prism(0.75, 1.0), prism(0.7, 0.1)


@by_set
def test_golden_rounds_from_the_stored_graphs(golden, name):
    stored = golden(f"systems/{name}_AASC")
    _, n, c = SETS[name]
    result = aggregate_affinities(stored_graphs(stored, n), c, random_state=0)
    assert result.n_iter == len(stored["weights_exact"]) and result.converged
    np.testing.assert_allclose(result.weights, stored["weights_exact"], rtol=1e-10)
    np.testing.assert_allclose(result.eigenvalues, stored["eigenvalues_exact"][:, :c], atol=1e-12)
    np.testing.assert_allclose(result.changes, stored["f_change_exact"], rtol=1e-6)
    f = stored["f_exact"]
    np.testing.assert_allclose(result.f @ result.f.T, f @ f.T, atol=1e-11 * np.abs(f @ f.T).max())
    # The program's own root finder leaves this much in its weights.
    np.testing.assert_allclose(result.weights, stored["weights"], rtol=5e-6)


@by_set
def test_golden_weights_and_multipliers_from_the_stored_forms(golden, name):
    stored = golden(f"systems/{name}_AASC")
    used = stored["weights_exact"]
    for t, (a, g, multiplier) in enumerate(
        zip(stored["a_exact"], stored["g_exact"], stored["l1_exact"], strict=True)
    ):
        weights = lower_quotient(a, a * g, used[t])
        np.testing.assert_allclose(weights, used[t + 1], rtol=1e-11)
        # u_k a_k (g_k - l1) is the same for all views, which gives l1 from any two.
        first, last = weights[[0, -1]] * a[[0, -1]]
        ours = (first * g[0] - last * g[-1]) / (first - last)
        np.testing.assert_allclose(ours, multiplier, rtol=1e-8)


@by_set
def test_golden_weights_from_features(golden, dataset, name):
    metric, _, c = SETS[name]
    stored = golden(f"systems/{name}_AASC")
    model = AASC(n_clusters=c, n_neighbors=6, metric=metric, random_state=0).fit(dataset(name)[0])
    np.testing.assert_allclose(model.view_weights_, stored["weights_exact"][-1], rtol=1e-9)
    np.testing.assert_allclose(model.eigenvalues_, stored["eigenvalues_exact"][-1, :c], atol=1e-9)
    assert model.graph_.nnz == len(stored["rows"]) and model.n_iter_ == len(stored["weights_exact"])


def test_two_prisms_by_hand():
    """With degrees d_k and edges t_k across, u = 1/2: D = I, f_2 = +-1/sqrt(6), a = d, b = 2 t, g = 0.8 and
    2/15. Weights (x, 1 - x) with 2.5 x^2 + 1.5 (1 - x)^2 = 1 are x = 1/2 and x = 1/4, of objective 0.55 and
    0.2375, which is the eigenvalue as well. f_2 stays, so the second round ends it."""
    result = aggregate_affinities([HEAVY, LIGHT], 2)
    np.testing.assert_allclose(result.weights, [[0.5, 0.5], [0.25, 0.75]], atol=1e-14)
    np.testing.assert_allclose(result.objective, [0.55, 0.2375], atol=1e-14)
    np.testing.assert_allclose(result.f[:, 1] * result.f[0, 1], [1 / 6] * 3 + [-1 / 6] * 3, atol=1e-14)
    np.testing.assert_allclose(result.graph.toarray(), (HEAVY / 16 + LIGHT * 9 / 16).toarray(), atol=1e-14)


def test_of_a_disconnected_graph_the_first_eigenvector_that_says_something_counts():
    pair = sparse.csr_array([[0.0, 1.0], [1.0, 0.0]])
    graphs = [sparse.csr_array(sparse.block_diag([prism, pair])) for prism in (HEAVY, LIGHT)]
    weights = aggregate_affinities(graphs, 3).weights[-1]
    np.testing.assert_allclose(weights, [0.25, 0.75], atol=1e-12)  # that of the prism
    with_two_clusters = aggregate_affinities(graphs, 2)
    np.testing.assert_array_equal(with_two_clusters.weights, [[0.5, 0.5]])
    assert with_two_clusters.converged and with_two_clusters.objective[-1] < 1e-14


def test_a_view_that_the_eigenvector_does_not_touch_keeps_its_weight():
    pair = sparse.csr_array([[0.0, 1.0], [1.0, 0.0]])
    nothing = sparse.csr_array((6, 6))
    graphs = [sparse.csr_array(sparse.block_diag([g, pair])) for g in (HEAVY, LIGHT, nothing)]
    # The other two share 2/3, and the condition on their squares scales with it.
    np.testing.assert_allclose(aggregate_affinities(graphs, 3).weights[-1], [1 / 6, 1 / 2, 1 / 3], atol=1e-12)


def feasible_curve(a, weights, n_points=20_000):
    """Return the points with sum(a u^2) = 1 and sum(u) = 1, for three views: an ellipse."""
    centre = (1 / a) / (1 / a).sum()
    plane = linalg.null_space(np.ones((1, 3)))
    root = linalg.inv(linalg.sqrtm(plane.T @ np.diag(a) @ plane))
    angle = np.linspace(0, 2 * np.pi, n_points)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    curve = centre + np.sqrt(1 - (a * centre**2).sum()) * circle @ root @ plane.T
    np.testing.assert_allclose((a * curve**2).sum(axis=1), 1)
    np.testing.assert_allclose((a * weights**2).sum(), 1)
    return curve


def test_the_weights_are_the_global_minimum_or_stay():
    rng = np.random.default_rng(0)
    n_moved = 0
    for _ in range(100):
        weights = rng.dirichlet(np.full(3, 2.0))
        a, b = rng.uniform(0.1, 1.0, (2, 3))
        a /= (a * weights**2).sum()
        found = lower_quotient(a, b, weights)
        assert (found > 0).all() and abs(found.sum() - 1) < 1e-12 and abs(a @ found**2 - 1) < 1e-12
        curve = feasible_curve(a, weights)
        least = curve[np.argmin(curve**2 @ b)]
        if found is weights:
            assert least.min() < 0, "the least was at positive weights, and was not taken"
        else:
            n_moved += 1
            assert b @ found**2 <= b @ least**2 + 1e-12
            np.testing.assert_allclose(found, least, atol=2e-3)
    assert 20 < n_moved < 100


def test_against_a_dense_reference():
    sample = make_multiview(90, n_views=3, n_clusters=3, separation=[5.0, 2.0, 1.0], random_state=1)
    model = AASC(n_clusters=4, n_neighbors=8, scale="standard", random_state=0)
    views = [array**3 if i == 1 else array for i, array in enumerate(sample.views.values())]
    model.fit(views)
    assert model.n_iter_ > 1 and np.ptp(model.view_weights_) > 0.005
    graphs = [graph.toarray() for graph in dense_graphs(views)]
    u = np.full(3, 1 / 3)
    for _ in range(model.n_iter_):
        total = sum(weight**2 * graph for weight, graph in zip(u, graphs, strict=True))
        degrees = np.diag(total.sum(axis=1))
        values, f = linalg.eigh(degrees - total, degrees)
        last, f2 = u, f[:, 1]
        a = np.array([f2 @ np.diag(graph.sum(axis=1)) @ f2 for graph in graphs])
        b = a - np.array([f2 @ graph @ f2 for graph in graphs])
        u = constrained_minimum(a, b, u)
    np.testing.assert_allclose(model.view_weights_, last, atol=1e-6)
    np.testing.assert_allclose(model.eigenvalues_, values[:4], atol=1e-8)
    np.testing.assert_allclose(model.graph_.toarray(), total, atol=1e-6)


def dense_graphs(views):
    """Return the union of the views' neighbours with Gaussian weights, made by hand."""
    scaled = [(array - array.mean(axis=0)) / array.std(axis=0) for array in views]
    squared = [((x[:, None] - x[None]) ** 2).sum(axis=2) for x in scaled]
    nearest = [np.argsort(d + np.diag(np.full(len(d), np.inf)), axis=1)[:, :8] for d in squared]
    union = np.zeros(squared[0].shape, dtype=bool)
    for index in nearest:
        np.put_along_axis(union, index, True, axis=1)
    for d in squared:
        similarity = union * np.exp(-d / (2 * np.sqrt(d[union]).mean() ** 2))
        yield sparse.csr_array((similarity + similarity.T) / 2)


def constrained_minimum(a, b, start):
    conditions = [
        {"type": "eq", "fun": lambda u: a @ u**2 - 1},
        {"type": "eq", "fun": lambda u: u.sum() - 1},
    ]
    found = optimize.minimize(
        lambda u: b @ u**2, start, constraints=conditions, method="SLSQP", options={"ftol": 1e-15}
    )
    return found.x


def test_planted_clusters_are_found():
    sample = make_multiview(150, n_views=3, n_clusters=4, separation=9.0, random_state=0)
    model = AASC(n_clusters=4, random_state=0).fit(sample.views)
    assert_same_partition(model.labels_, sample.y)
    degrees = model.graph_.sum(axis=1)
    gram = model.embedding_.T @ (degrees[:, None] * model.embedding_)
    np.testing.assert_allclose(gram, np.eye(4), atol=1e-9)


def test_one_view_one_cluster_and_a_constant_view():
    sample = make_multiview(60, n_views=2, n_clusters=2, separation=4.0, random_state=0)
    first, second = sample.views.values()
    alone = AASC(n_clusters=2, random_state=0).fit(first)
    np.testing.assert_array_equal(alone.view_weights_, [1.0])
    assert alone.n_iter_ == 1 and alone.converged_
    whole = AASC(n_clusters=1, random_state=0).fit([first, second])
    assert not whole.labels_.any() and np.array_equal(whole.view_weights_, [0.5, 0.5])
    with pytest.warns(UserWarning, match="is constant"):
        model = AASC(n_clusters=2, random_state=0).fit([first, np.ones((60, 1)), second])
    assert model.view_weights_[1] == 0 and abs(model.view_weights_.sum() - 1) < 1e-12


def test_a_cap_on_the_rounds_that_is_reached_is_reported():
    with pytest.warns(ConvergenceWarning, match="did not converge in 1 rounds"):
        result = aggregate_affinities([HEAVY, LIGHT], 2, max_iter=1)
    assert not result.converged and result.n_iter == 1
