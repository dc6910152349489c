"""How much views and rows count, from how far the views agree."""

import dataclasses

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from tests.engines.names import HOST_ENGINES
from tests.engines.placed import place

from consilience import make_multiview
from consilience.agreement import Agreement, row_reliability, view_agreement, view_reliability
from consilience.agreement.reliability import LEAST_ROW_TRUST
from consilience.engines import threads
from consilience.engines.numba import overlaps as compiled_overlaps
from consilience.engines.numpy import overlaps as plain_overlaps

every_engine = pytest.mark.parametrize("engine", HOST_ENGINES)


def agreement_of(shares):
    """An agreement in which everything above 0.01 is significant."""
    shares = np.array(shares, dtype=float)
    off = np.where(np.eye(len(shares)) > 0, np.nan, 1.0)
    p_values, shared = np.where(shares > 0.01, 0.0, 0.5) * off, 10 * shares * (1 - np.eye(len(shares)))
    n_seen = np.full(shares.shape, 500)
    bars = np.full(shares.shape, 0.01)
    return Agreement(shares, 100 * shares * off, p_values, 0 * off, shared, n_seen, 0.01, bars)


def lists_of(views, k=10):
    return [place("numba", view, "euclidean").nearest(k) for view in views]


def test_one_view_is_taken_as_it_is():
    reliability = view_reliability(agreement_of([[1]]))
    np.testing.assert_array_equal(reliability.weights, [1])
    assert np.isnan(reliability.values).all() and not reliability.any_agree


def test_with_a_handful_of_samples_nothing_is_said():
    rng = np.random.default_rng(0)
    lists = lists_of([rng.normal(size=(5, 2)) for _ in range(3)], k=2)
    agreement = view_agreement(lists)
    assert not agreement.comparable.any()
    reliability = view_reliability(agreement)
    np.testing.assert_array_equal(reliability.weights, 1)
    assert np.isnan(reliability.values).all()


def test_a_view_that_has_hardly_seen_anyone_is_not_judged():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 2))
    views = [x + 0.1 * rng.normal(size=x.shape) for _ in range(3)]
    seen = np.ones((200, 3), dtype=bool)
    seen[4:, 2] = False
    lists = [place("numba", view, "euclidean", seen=seen[:, i]).nearest(6) for i, view in enumerate(views)]
    reliability = view_reliability(view_agreement(lists, seen))
    np.testing.assert_array_equal(reliability.weights, 1)
    np.testing.assert_array_equal(np.isnan(reliability.values), [False, False, True])


def test_of_two_views_neither_is_preferred():
    reliability = view_reliability(agreement_of([[1, 0.3], [0.3, 1]]))
    np.testing.assert_allclose(reliability.values, [0.3, 0.3])
    np.testing.assert_array_equal(reliability.weights, [1, 1])
    assert reliability.any_agree


def test_views_that_agree_with_nobody_get_nothing():
    reliability = view_reliability(
        agreement_of([[1, 0.3, 0, 0.2], [0.3, 1, 0, 0.4], [0, 0, 1, 0], [0.2, 0.4, 0, 1]])
    )
    assert reliability.values[2] == reliability.weights[2] == 0
    assert reliability.weights.sum() == pytest.approx(3)
    assert reliability.weights[1] > reliability.weights[3] > reliability.weights[0]


def test_if_none_agree_all_count_alike():
    reliability = view_reliability(agreement_of(np.eye(4)))
    assert not reliability.any_agree
    np.testing.assert_array_equal(reliability.weights, np.ones(4))
    np.testing.assert_array_equal(reliability.values, np.zeros(4))


def test_if_none_agree_those_with_structure_count_alike():
    agreement = agreement_of(np.eye(4))
    reliability = view_reliability(agreement, np.array([True, False, True, False]))
    np.testing.assert_array_equal(reliability.weights, [1, 0, 1, 0])
    nothing = view_reliability(agreement, np.zeros(4, dtype=bool))
    np.testing.assert_array_equal(nothing.weights, np.ones(4))  # better all than none


def test_structure_is_not_asked_for_where_views_agree():
    kappa = np.array([[1, 0.3, 0.2], [0.3, 1, 0.25], [0.2, 0.25, 1]])
    plain = view_reliability(agreement_of(kappa))
    one_without = view_reliability(agreement_of(kappa), np.array([True, True, False]))
    np.testing.assert_array_equal(one_without.weights, plain.weights)


@pytest.mark.parametrize("copies", [1, 2, 5])
def test_of_copies_only_the_first_is_kept(copies):
    kappa = np.array([[1, 0.3, 0.2], [0.3, 1, 0.25], [0.2, 0.25, 1]])
    alone = view_reliability(agreement_of(kappa))
    places = [1, *[0] * copies, 0, 2]
    with_copies = view_reliability(agreement_of(kappa[np.ix_(places, places)]))
    kept = [1, 0, -1]
    np.testing.assert_allclose(with_copies.weights[kept], alone.weights)
    np.testing.assert_allclose(with_copies.values, alone.values[places])
    np.testing.assert_array_equal(with_copies.copy_of, [0, *[1] * (copies + 1), copies + 2])
    assert np.count_nonzero(with_copies.weights) == 3


@pytest.mark.parametrize("kin", [0.5, 0.8])
def test_views_much_alike_count_as_little_more_than_one(kin):
    kappa = np.full((4, 4), 0.2)
    kappa[:2, :2] = kin
    np.fill_diagonal(kappa, 1)
    reliability = view_reliability(agreement_of(kappa))
    np.testing.assert_allclose(reliability.weights[0], reliability.weights[1])
    # Their mutual agreement is not in the middle of the votes, so it does not raise their reliability.
    np.testing.assert_allclose(reliability.values, 0.2, atol=0.03)
    times = 1 + kin**2 + 2 * 0.04
    expected = reliability.values[0] / reliability.values[3] * 1.12 / times
    np.testing.assert_allclose(reliability.weights[0] / reliability.weights[3], expected)


@pytest.mark.parametrize("kin", [0.3, 0.8])
def test_a_chance_link_does_not_let_noise_with_kin_win(kin):
    kappa = np.array(in_groups([3, 2], [0.02, kin])[0].shares)
    kappa[2, 3:] = kappa[3:, 2] = 0.011
    reliability = view_reliability(agreement_of(kappa))
    assert reliability.weights[3:].sum() < 0.35 * reliability.weights[:3].sum()


def test_a_bad_view_does_not_become_good_by_being_given_twice():
    kappa = np.array(
        [[1, 0.3, 0.2, 0, 0], [0.3, 1, 0.2, 0, 0], [0.2, 0.2, 1, 0, 0], [0, 0, 0, 1, 1], [0, 0, 0, 1, 1]]
    )
    reliability = view_reliability(agreement_of(kappa))
    np.testing.assert_array_equal(reliability.weights[3:], 0)
    assert reliability.weights[:3].all()


def test_copies_are_no_evidence_even_if_there_is_no_other():
    reliability = view_reliability(agreement_of([[1, 1, 0], [1, 1, 0], [0, 0, 1]]))
    assert not reliability.any_agree
    np.testing.assert_array_equal(reliability.weights, [1, 0, 1])


def in_groups(sizes, kappa):
    """Views that agree within their group, by what is given for it, and with nobody else."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    shares = np.where(labels[:, None] == labels, np.asarray(kappa)[labels], 0.0)
    np.fill_diagonal(shares, 1)
    return agreement_of(shares), labels


@pytest.mark.parametrize("kin", [0.1, 0.3, 0.5, 0.8])
def test_two_views_of_noise_with_something_in_common_do_not_win_against_three(kin):
    agreement, labels = in_groups([3, 2], [0.05, kin])
    reliability = view_reliability(agreement)
    np.testing.assert_array_equal(reliability.weights > 0, labels == 0)
    np.testing.assert_array_equal(reliability.groups, labels)
    np.testing.assert_array_equal(reliability.values[3:], 0)


def test_between_groups_of_one_size_none_is_preferred():
    agreement, labels = in_groups([2, 2, 1], [0.3, 0.05, 0.0])
    reliability = view_reliability(agreement)
    np.testing.assert_array_equal(reliability.groups, [0, 0, 1, 1, -1])
    np.testing.assert_array_equal(reliability.weights > 0, labels < 2)
    np.testing.assert_allclose(reliability.weights[:4], 1, atol=0.05)  # views much alike a little less


def with_samples(n, seen_by, noise=0.1, d=2, seed=0):
    """Views of the same points, each seen by a mask; a mask of None: seen by all, and noise."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    views = [
        rng.normal(size=x.shape) if mask is None else x + noise * rng.normal(size=x.shape) for mask in seen_by
    ]
    seen = np.stack([np.ones(n, dtype=bool) if mask is None else mask for mask in seen_by], axis=1)
    lists = [place("numba", view, "euclidean", seen=seen[:, i]).nearest(8) for i, view in enumerate(views)]
    return view_agreement(lists, seen)


def test_views_that_share_no_samples_are_not_apart_for_that():
    first, second = np.arange(300) < 150, np.arange(300) >= 150
    reliability = view_reliability(with_samples(300, [first, first, second, second]))
    np.testing.assert_array_equal(reliability.groups, 0)
    assert np.all(reliability.weights > 0) and np.all(reliability.values > 0.3)


def test_a_view_that_only_noise_can_be_compared_with_is_not_judged():
    first, second = np.arange(300) < 150, np.arange(300) >= 150
    reliability = view_reliability(with_samples(300, [first, first, second, None]))
    assert reliability.weights[3] == 0 and np.all(reliability.weights[:3] > 0)
    assert np.isnan(reliability.values[2])


def test_of_copies_the_one_that_has_seen_more_is_kept():
    rng = np.random.default_rng(0)
    x, other = rng.normal(size=(200, 2)), rng.normal(size=(200, 2))
    views = [x, x, x + 0.2 * rng.normal(size=x.shape), other]
    seen = np.ones((200, 4), dtype=bool)
    seen[60:, 0] = False
    lists = [place("numba", view, "euclidean", seen=seen[:, i]).nearest(8) for i, view in enumerate(views)]
    agreement = view_agreement(lists, seen)
    shares = agreement.shares.copy()
    shares[0, 1] = shares[1, 0] = 1.0  # lists among fewer samples are not quite the same
    reliability = view_reliability(dataclasses.replace(agreement, shares=shares))
    np.testing.assert_array_equal(reliability.copy_of, [1, 1, 2, 3])
    np.testing.assert_array_equal(reliability.weights > 0, [False, True, True, False])


def test_copies_that_have_seen_different_samples_are_both_kept():
    first, second = np.arange(300) < 200, np.arange(300) >= 100
    agreement = with_samples(300, [first, second, np.ones(300, dtype=bool)])
    shares = agreement.shares.copy()
    shares[0, 1] = shares[1, 0] = 1.0
    reliability = view_reliability(dataclasses.replace(agreement, shares=shares))
    np.testing.assert_array_equal(reliability.copy_of, [0, 1, 2])
    assert np.all(reliability.weights > 0)


def test_a_view_that_agrees_less_counts_less():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 3))
    views = [x + noise * rng.normal(size=x.shape) for noise in (0.2, 0.2, 0.2, 0.6)]
    reliability = view_reliability(view_agreement(lists_of(views)))
    assert reliability.weights[3] < 0.6 * reliability.weights[:3].min()


@every_engine
def test_rows_that_were_shuffled_are_trusted_less(engine):
    sample = make_multiview(600, n_views=4, n_clusters=5, separation=8.0, random_state=0)
    rng = np.random.default_rng(1)
    views = [np.array(view) for view in sample.views.values()]
    views = [np.concatenate([views[0], view + 0.5 * rng.normal(size=view.shape)], axis=1) for view in views]
    spoiled = rng.choice(600, 180, replace=False)
    views[2][spoiled] = views[2][rng.permutation(spoiled)]
    lists = lists_of(views)
    rows = row_reliability(lists, view_agreement(lists), engine=engine)
    is_spoiled = np.isin(np.arange(600), spoiled)
    assert rows[is_spoiled, 2].mean() < 0.6 < 0.9 < rows[~is_spoiled, 2].mean()
    assert roc_auc_score(is_spoiled, -rows[:, 2]) > 0.93  # five other seeds give 0.949 to 0.973
    assert rows[:, 0].mean() > 0.85 and rows.min() >= LEAST_ROW_TRUST and rows.max() <= 1


@every_engine
def test_two_views_have_no_rows_to_blame(engine):
    x = np.random.default_rng(2).normal(size=(50, 2))
    lists = lists_of([x, x[::-1]], k=5)
    np.testing.assert_array_equal(row_reliability(lists, view_agreement(lists), engine=engine), 1)


@every_engine
def test_without_evidence_all_rows_count_alike(engine):
    rng = np.random.default_rng(3)
    lists = lists_of([rng.normal(size=(100, 3)) for _ in range(4)], k=5)
    np.testing.assert_array_equal(row_reliability(lists, view_agreement(lists), engine=engine), 1)


@every_engine
def test_copies_do_not_confirm_each_others_rows(engine):
    rng = np.random.default_rng(4)
    x = rng.normal(size=(300, 2))
    views = [x + 0.1 * rng.normal(size=x.shape) for _ in range(3)]
    views[0][:60] = views[0][rng.permutation(60)]
    lists = lists_of([*views, views[0]])
    rows = row_reliability(lists, view_agreement(lists), engine=engine)
    assert rows[:60, [0, 3]].mean() < 0.6 < 0.9 < rows[60:, [0, 3]].mean()


@every_engine
def test_views_that_have_not_seen_a_sample_have_no_vote_on_it(engine):
    rng = np.random.default_rng(5)
    x = rng.normal(size=(300, 2))
    views = [x + 0.1 * rng.normal(size=x.shape) for _ in range(3)]
    seen = np.ones((300, 3), dtype=bool)
    seen[:100, 2] = False
    lists = [place("numba", view, "euclidean", seen=seen[:, i]).nearest(10) for i, view in enumerate(views)]
    rows = row_reliability(lists, view_agreement(lists, seen), seen, engine=engine)
    # Confirmed by one of one other view, or by two of two: both are all there are.
    assert abs(rows[:100, :2].mean() - rows[100:, :2].mean()) < 0.08


@pytest.mark.parametrize("shrunk", [compiled_overlaps.shrunk_rates, plain_overlaps._shrunk])
def test_shrunk_rates_are_the_posterior_means(shrunk):
    rng = np.random.default_rng(6)
    rates = rng.gamma(4.0, 1 / 4.0, size=200_000)
    expected = np.where(np.arange(len(rates)) % 2, 3.0, 8.0)
    counts = rng.poisson(rates * expected).astype(float)
    found = shrunk(counts, expected)
    np.testing.assert_allclose(found, (4 + counts) / (4 + expected), rtol=0.03)
    assert np.mean((found - rates) ** 2) < np.mean((counts / expected - rates) ** 2)
    np.testing.assert_array_equal(shrunk(np.full(9, 5.0), np.full(9, 5.0)), 1)


def test_the_same_for_any_number_of_threads():
    rng = np.random.default_rng(7)
    x = rng.normal(size=(5000, 2))
    lists = lists_of([x + 0.2 * rng.normal(size=x.shape) for _ in range(3)], k=4)
    results = []
    for n_jobs in (1, 2):
        with threads.limit(n_jobs):
            results.append(row_reliability(lists, view_agreement(lists)))
    np.testing.assert_array_equal(*results)
