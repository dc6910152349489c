"""How far views agree: the statistics of neighbour lists, by definition and over all orders."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from tests.engines.names import HOST_ENGINES
from tests.engines.placed import place

from consilience.agreement import view_agreement
from consilience.agreement.statistics import DOUBT, _beyond_chance
from consilience.engines import get_engine, threads

every_engine = pytest.mark.parametrize("engine", HOST_ENGINES)


def random_lists(n, k, rng, hubs=0.0):
    """Lists of k others, drawn at random; with hubs, some samples are drawn far more often."""
    weights = np.exp(hubs * rng.standard_normal(n))
    lists = np.empty((n, k), dtype=np.int32)
    for s in range(n):
        chance = np.where(np.arange(n) == s, 0, weights)
        lists[s] = rng.choice(n, k, replace=False, p=chance / chance.sum())
    return lists


def matrix(lists):
    """The graph of neighbour lists, dense."""
    n = len(lists)
    graph = np.zeros((n, n))
    for s in range(n):
        graph[s, lists[s]] = 1
    np.fill_diagonal(graph, 0)
    return graph


def without_ties(views, lists):
    """Return lists that do not depend on the order of the samples."""
    return [view.broken_ties(one, i) for i, (view, one) in enumerate(zip(views, lists, strict=True))]


@every_engine
def test_mean_and_variance_are_those_over_all_orders(engine):
    # Six samples have 720 orders: all of them are tried.
    rng = np.random.default_rng(0)
    one, two = random_lists(6, 2, rng), random_lists(6, 3, rng)
    a, b = matrix(one), matrix(two)
    counts = [(a * b[np.ix_(order, order)]).sum() for order in map(list, itertools.permutations(range(6)))]
    engine = get_engine(engine)
    pairs = engine.overlaps(engine.stack([one, two]), None).pairs
    for shared in (0.0, 5.0, 12.0):
        share, z_score, _, _ = _beyond_chance(shared, pairs[0, 1], pairs[1, 0], 6)
        assert z_score == pytest.approx((shared - np.mean(counts)) / np.std(counts), rel=1e-10)
        assert share == pytest.approx((shared - np.mean(counts)) / (12 - np.mean(counts)), rel=1e-10)


@every_engine
@settings(deadline=None, max_examples=30)
@given(st.integers(5, 40), st.integers(1, 6), st.integers(2, 4), st.integers(0, 10**6))
def test_counts_equal_products_of_matrices(engine, n, k, v, seed):
    rng = np.random.default_rng(seed)
    lists = [random_lists(n, min(k, n - 1), rng) for _ in range(v)]
    shared = view_agreement(lists, engine=engine).shared
    for i, j in itertools.combinations(range(v), 2):
        assert shared[i, j] * n == pytest.approx((matrix(lists[i]) * matrix(lists[j])).sum())


@pytest.mark.parametrize("hubs", [0.0, 1.5])
@pytest.mark.parametrize(("n", "k"), [(60, 6), (400, 15)])
def test_unrelated_views_have_standard_normal_scores(n, k, hubs):
    rng = np.random.default_rng(1)
    z = view_agreement([random_lists(n, k, rng, hubs) for _ in range(16)]).z_scores
    z = z[np.triu_indices(16, 1)]  # 120 of them
    assert abs(z.mean()) < 0.35 and 0.75 < z.std() < 1.25


@pytest.mark.long
@pytest.mark.parametrize("hubs", [0.0, 1.5])
def test_unrelated_views_are_seldom_said_to_agree(hubs):
    rng = np.random.default_rng(2)
    wrong = sum(
        view_agreement([random_lists(60, 6, rng, hubs) for _ in range(5)]).significant.any()
        for _ in range(100)
    )
    assert wrong <= 4  # 1 is to be expected


@pytest.mark.parametrize("n", [150, 3000])
def test_the_share_hardly_depends_on_n(n):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(n, 3))
    k = n // 15  # the same neighbourhoods
    views = [x + 0.3 * rng.normal(size=x.shape) for _ in range(2)]
    share = view_agreement([place("numba", view, "euclidean").nearest(k) for view in views]).shares[0, 1]
    assert 0.33 < share < 0.47


def test_clusters_alone_are_evidence_at_any_size():
    # Independent within 10 clusters, so that one list in a hundred agrees by the clusters alone.
    rng = np.random.default_rng(4)
    y = rng.integers(10, size=20_000)
    lists = []
    for _ in range(2):
        members = [np.flatnonzero(y == c) for c in range(10)]
        lists.append(np.stack([rng.choice(members[y[s]], 10) for s in range(len(y))]).astype(np.int32))
    order = rng.permutation(len(y))
    agreement = view_agreement([*lists, np.argsort(order)[lists[0][order]].astype(np.int32)])
    assert agreement.shares[0, 1] < 0.01 and agreement.z_scores[0, 1] > 50
    assert agreement.significant[0, 1] and not agreement.significant[2].any()


@every_engine
def test_copies_agree_wholly_and_order_does_not_matter(engine):
    lists = random_lists(50, 7, np.random.default_rng(5))
    agreement = view_agreement([lists, lists[:, ::-1]], engine=engine)
    assert agreement.shares[0, 1] == 1.0 and agreement.significant[0, 1]
    np.testing.assert_array_equal(np.diag(agreement.shares), 1)
    assert np.isnan(np.diag(agreement.z_scores)).all() and not np.diag(agreement.significant).any()


def test_symmetric_and_the_same_for_any_number_of_threads():
    rng = np.random.default_rng(6)
    lists = [random_lists(5000, 3, rng) for _ in range(3)]
    results = []
    for n_jobs in (1, 2):
        with threads.limit(n_jobs):
            results.append(view_agreement(lists))
    for name in ("shares", "z_scores", "shared"):
        one, two = getattr(results[0], name), getattr(results[1], name)
        np.testing.assert_array_equal(one, two)
        np.testing.assert_array_equal(one, one.T)


@every_engine
def test_views_are_compared_on_what_both_have_seen(engine):
    rng = np.random.default_rng(7)
    x = rng.normal(size=(120, 3))
    seen = np.ones((120, 2), dtype=bool)
    seen[:40, 0] = False
    seen[100:, 1] = False
    views = [x, x + 0.2 * rng.normal(size=x.shape)]
    whole = [place(engine, view, "euclidean", seen=seen[:, i]).nearest(6) for i, view in enumerate(views)]
    agreement = view_agreement(whole, seen, engine=engine)
    # The same from the graphs among the 60 common samples.
    common = np.arange(40, 100)
    a, b = (matrix(one)[np.ix_(common, common)] for one in whole)
    counts = []
    for _ in range(4000):
        order = rng.permutation(60)
        counts.append((a * b[np.ix_(order, order)]).sum())
    shared = (a * b).sum()
    assert agreement.shared[0, 1] == shared / 60
    assert agreement.z_scores[0, 1] == pytest.approx((shared - np.mean(counts)) / np.std(counts), rel=0.06)
    expected = (shared - np.mean(counts)) / (min(a.sum(), b.sum()) - np.mean(counts))
    assert agreement.shares[0, 1] == pytest.approx(expected, rel=0.02)


@every_engine
def test_nothing_in_common_is_not_a_number(engine):
    lists = np.repeat(np.arange(10, dtype=np.int32)[:, None], 3, axis=1)
    lists[:5] = [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2], [0, 1, 2]]
    other = np.repeat(np.arange(10, dtype=np.int32)[:, None], 3, axis=1)
    other[5:] = [[6, 7, 8], [5, 7, 8], [5, 6, 8], [5, 6, 7], [5, 6, 7]]
    seen = np.stack([np.arange(10) < 5, np.arange(10) >= 5], axis=1)
    agreement = view_agreement([lists, other], seen, engine=engine)
    assert np.isnan(agreement.shares[0, 1]) and not agreement.significant.any()


@every_engine
def test_everyone_a_neighbour_of_everyone_says_nothing(engine):
    lists = np.stack([np.delete(np.arange(5), s) for s in range(5)]).astype(np.int32)
    agreement = view_agreement([lists, lists], engine=engine)
    assert np.isnan(agreement.z_scores).all() and not agreement.significant.any()
    assert not agreement.comparable.any()


def test_some_of_the_views_keep_what_was_significant():
    rng = np.random.default_rng(8)
    x = rng.normal(size=(80, 3))
    arrays = [x + noise * rng.normal(size=x.shape) for noise in (0, 0.5, 1.5, 9)]
    agreement = view_agreement([place("numba", array, "euclidean").nearest(5) for array in arrays])
    kept = np.array([True, False, True, True])
    np.testing.assert_array_equal(agreement.only(kept).significant, agreement.significant[np.ix_(kept, kept)])
    assert agreement.only(kept).p_values.shape == (3, 3)


def test_views_without_structure_do_not_make_it_harder_for_others():
    rng = np.random.default_rng(10)
    x = rng.normal(size=(120, 3))
    real = [x, x + rng.normal(size=x.shape), rng.normal(size=x.shape)]
    lists = [place("numba", array, "euclidean").nearest(5) for array in real]
    noise = [place("numba", rng.normal(size=(120, 9)), "euclidean").nearest(5) for _ in range(6)]
    alone, many = view_agreement(lists), view_agreement([*lists, *noise])
    structured = np.arange(9) < 3
    judged = many.judged_by(structured)
    np.testing.assert_array_equal(judged.bars[:3, :3], alone.bars)
    np.testing.assert_array_equal(judged.only(structured).significant, alone.significant)
    assert (many.bars < alone.bars.max()).all()  # without that, it is harder
    np.testing.assert_array_equal(judged.bars[3:], many.level / DOUBT / 36)
    np.testing.assert_array_equal(alone.judged_by(np.ones(3, dtype=bool)).bars, alone.bars)


def test_sparse_products_give_the_same_on_real_lists():
    rng = np.random.default_rng(9)
    x = rng.normal(size=(500, 4))
    lists = [place("numba", x + 0.5 * rng.normal(size=x.shape), "euclidean").nearest(9) for _ in range(3)]
    graphs = [
        sparse.csr_array((np.ones(one.size), one.ravel(), np.arange(0, one.size + 1, 9)), shape=(500, 500))
        for one in lists
    ]
    shared = view_agreement(lists).shared
    for i, j in itertools.combinations(range(3), 2):
        assert shared[i, j] == graphs[i].multiply(graphs[j]).sum() / 500


DISCRETE = {
    "kinds": lambda rng: np.eye(5)[rng.integers(5, size=300)],
    "yes and no": lambda rng: (rng.random((300, 3)) < 0.5) * 1.0,
    "ages": lambda rng: rng.integers(20, 40, size=(300, 1)).astype(float),
    "continuous": lambda rng: rng.normal(size=(300, 3)),
}


@every_engine
@pytest.mark.parametrize("kind", DISCRETE)
def test_ties_are_no_agreement(engine, kind):
    # Of equally near samples the first are named, in all views: their order would pass for agreement.
    rng = np.random.default_rng(0)
    views = [place(engine, DISCRETE[kind](rng), "euclidean") for _ in range(10)]
    lists = [view.nearest(10) for view in views]
    fair = without_ties(views, lists)
    z = view_agreement(fair).z_scores[np.triu_indices(10, 1)]
    assert abs(z.mean()) < 0.5 and z.std() < 1.3 and not view_agreement(fair).significant.any()
    if kind == "continuous":
        assert all(one is other for one, other in zip(fair, lists, strict=True))
    else:
        assert view_agreement(lists).z_scores[np.triu_indices(10, 1)].mean() > 1.5


@every_engine
def test_rows_of_zeros_are_no_agreement(engine):
    rng = np.random.default_rng(1)
    arrays = [sparse.csr_array(rng.poisson(0.02, size=(300, 60)).astype(float)) for _ in range(6)]
    views = [place(engine, array, "cosine") for array in arrays]
    lists = [view.nearest(10) for view in views]
    assert view_agreement(lists).significant.any()
    assert not view_agreement(without_ties(views, lists)).significant.any()


@every_engine
def test_real_agreement_of_discrete_views_is_found(engine):
    rng = np.random.default_rng(3)
    y = rng.integers(5, size=400)
    arrays = [np.eye(5)[np.where(rng.random(400) < 0.2, rng.integers(5, size=400), y)] for _ in range(3)]
    views = [place(engine, array, "euclidean") for array in arrays]
    agreement = view_agreement(without_ties(views, [view.nearest(10) for view in views]))
    assert agreement.significant.sum() == 6
