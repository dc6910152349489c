import numpy as np
import pytest

from consilience import make_multiview, threads
from consilience.neighbors import Agreement, as_space, row_reliability, view_agreement, view_reliability
from consilience.neighbors.reliability import LEAST_TRUST, _shrunk_rates


def agreement_of(shares):
    """An agreement in which everything above 0.01 is significant."""
    shares = np.array(shares, dtype=float)
    off = np.where(np.eye(len(shares)) > 0, np.nan, 1.0)
    p_values, shared = np.where(shares > 0.01, 0.0, 0.5) * off, 10 * shares * (1 - np.eye(len(shares)))
    return Agreement(shares, 100 * shares * off, p_values, 0 * off, shared, 0.01)


def lists_of(views, k=10):
    return [as_space(view, "euclidean").nearest(k) for view in views]


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
    lists = [as_space(view, "euclidean", seen=seen[:, i]).nearest(6) for i, view in enumerate(views)]
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


@pytest.mark.parametrize("copies", [1, 2, 5])
def test_of_copies_only_the_first_is_heard(copies):
    kappa = np.array([[1, 0.3, 0.2], [0.3, 1, 0.25], [0.2, 0.25, 1]])
    alone = view_reliability(agreement_of(kappa))
    places = [1, *[0] * copies, 0, 2]
    with_copies = view_reliability(agreement_of(kappa[np.ix_(places, places)]))
    heard = [1, 0, -1]
    np.testing.assert_allclose(with_copies.weights[heard], alone.weights)
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
    told = 1 + kin**2 + 2 * 0.04
    # Their mutual agreement raises their reliability by a vote that shrinks as they become one.
    vote, others = (1 - kin**2) / told, 2 * 0.96 / 1.12
    expected = (vote * kin + others * 0.2) / (vote + others)
    np.testing.assert_allclose(reliability.values[0], expected)
    np.testing.assert_allclose(reliability.weights[0] / reliability.weights[3], expected / 0.2 * 1.12 / told)


def test_a_bad_view_does_not_become_good_by_being_told_twice():
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


def test_groups_that_agree_among_themselves_only():
    kappa = np.eye(5)
    kappa[0, 1] = kappa[1, 0] = kappa[2, 3] = kappa[3, 2] = 0.3
    reliability = view_reliability(agreement_of(kappa))
    assert reliability.groups[0] == reliability.groups[1] != reliability.groups[2] == reliability.groups[3]
    assert reliability.weights[4] == 0 and reliability.weights[:4].all()


def test_a_view_that_agrees_less_counts_less():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 3))
    views = [x + noise * rng.normal(size=x.shape) for noise in (0.2, 0.2, 0.2, 0.6)]
    reliability = view_reliability(view_agreement(lists_of(views)))
    assert reliability.weights[3] < 0.6 * reliability.weights[:3].min()


def test_rows_that_were_shuffled_are_trusted_less():
    sample = make_multiview(600, n_views=4, n_clusters=5, separation=8.0, random_state=0)
    rng = np.random.default_rng(1)
    views = [np.array(view) for view in sample.views.values()]
    views = [np.concatenate([views[0], view + 0.5 * rng.normal(size=view.shape)], axis=1) for view in views]
    spoiled = rng.choice(600, 180, replace=False)
    views[2][spoiled] = views[2][rng.permutation(spoiled)]
    lists = lists_of(views)
    rows = row_reliability(lists, view_agreement(lists))
    good = np.setdiff1d(np.arange(600), spoiled)
    assert rows[spoiled, 2].mean() < 0.6 < 0.9 < rows[good, 2].mean()
    assert (
        np.mean(rows[spoiled, 2][:, None] < rows[good, 2]) > 0.85
    )  # the area under the curve; ties do not count
    assert rows[:, 0].mean() > 0.85 and rows.min() >= LEAST_TRUST and rows.max() <= 1


def test_two_views_have_no_rows_to_blame():
    x = np.random.default_rng(2).normal(size=(50, 2))
    lists = lists_of([x, x[::-1]], k=5)
    np.testing.assert_array_equal(row_reliability(lists, view_agreement(lists)), 1)


def test_without_evidence_all_rows_count_alike():
    rng = np.random.default_rng(3)
    lists = lists_of([rng.normal(size=(100, 3)) for _ in range(4)], k=5)
    np.testing.assert_array_equal(row_reliability(lists, view_agreement(lists)), 1)


def test_copies_do_not_confirm_each_others_rows():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(300, 2))
    views = [x + 0.1 * rng.normal(size=x.shape) for _ in range(3)]
    views[0][:60] = views[0][rng.permutation(60)]
    lists = lists_of([*views, views[0]])
    rows = row_reliability(lists, view_agreement(lists))
    assert rows[:60, [0, 3]].mean() < 0.6 < 0.9 < rows[60:, [0, 3]].mean()


def test_views_that_have_not_seen_a_sample_have_no_vote_on_it():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(300, 2))
    views = [x + 0.1 * rng.normal(size=x.shape) for _ in range(3)]
    seen = np.ones((300, 3), dtype=bool)
    seen[:100, 2] = False
    lists = [as_space(view, "euclidean", seen=seen[:, i]).nearest(10) for i, view in enumerate(views)]
    rows = row_reliability(lists, view_agreement(lists, seen), seen)
    # Confirmed by one of one other view, or by two of two: both are all there are.
    assert abs(rows[:100, :2].mean() - rows[100:, :2].mean()) < 0.08


def test_shrunk_rates_are_the_posterior_means():
    rng = np.random.default_rng(6)
    rates = rng.gamma(4.0, 1 / 4.0, size=200_000)
    expected = np.where(np.arange(len(rates)) % 2, 3.0, 8.0)
    counts = rng.poisson(rates * expected).astype(float)
    found = _shrunk_rates(counts, expected)
    np.testing.assert_allclose(found, (4 + counts) / (4 + expected), rtol=0.03)
    assert np.mean((found - rates) ** 2) < np.mean((counts / expected - rates) ** 2)
    np.testing.assert_array_equal(_shrunk_rates(np.full(9, 5.0), np.full(9, 5.0)), 1)


def test_the_same_for_any_number_of_threads():
    rng = np.random.default_rng(7)
    x = rng.normal(size=(5000, 2))
    lists = lists_of([x + 0.2 * rng.normal(size=x.shape) for _ in range(3)], k=4)
    results = []
    for n_jobs in (1, 2):
        with threads.limit(n_jobs):
            results.append(row_reliability(lists, view_agreement(lists)))
    np.testing.assert_array_equal(*results)
