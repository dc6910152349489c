"""Which rows belong to their sample: the probabilities by brute force, and planted rows of others."""

from itertools import combinations, product

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import NearestNeighbors

from consilience.engines import matching
from consilience.engines.matching import LEAST_TRUST, matched_rows

N, C = 600, 4


def by_brute_force(ratios, shares):
    """Return P(g_m = 1) for one sample, every way to be matched written out."""
    v = len(shares)
    pairs = list(combinations(range(v), 2))
    total, matched = 0.0, [0.0] * v
    for way in product((0, 1), repeat=v):
        weight = 1.0
        for m in range(v):
            weight *= shares[m] if way[m] else 1 - shares[m]
        for ratio, (m, o) in zip(ratios, pairs, strict=True):
            if way[m] and way[o]:
                weight *= np.exp(ratio)
        total += weight
        for m in range(v):
            matched[m] += weight * way[m]
    return [one / total for one in matched]


@pytest.mark.parametrize("v", [2, 3, 4, 5])
def test_probabilities_are_the_sum_over_all_ways(v):
    rng = np.random.default_rng(v)
    ratios = rng.normal(scale=2.0, size=(20, v * (v - 1) // 2))
    shares = rng.uniform(0.1, 0.95, size=v)
    found = matching._enumerated(ratios, shares)
    expected = [by_brute_force(one, shares) for one in ratios]
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_strong_evidence_does_not_overflow():
    strongest = np.log(matching.STRONGEST)
    for v in (3, 8):
        ratios = np.array([[strongest], [-strongest]]) * np.ones(v * (v - 1) // 2)
        found = matching._enumerated(ratios, np.full(v, 0.999))
        assert np.isfinite(found).all() and found[0].min() > 0.999 and found[1].max() < found[0].min()


@pytest.mark.parametrize("v", [3, 6, 8])
def test_the_mean_field_is_close_where_the_evidence_is_clear(v):
    """Most views match each other; one of some samples matches none."""
    rng = np.random.default_rng(0)
    wrong = np.where(np.arange(60) % 3 == 0, rng.integers(0, v, size=60), -1)
    pairs = list(combinations(range(v), 2))
    matches = np.array([[m not in (w,) and o not in (w,) for m, o in pairs] for w in wrong])
    ratios = np.where(matches, 3.0, -3.0) + rng.normal(scale=0.3, size=matches.shape)
    shares = np.full(v, 0.8)
    exact, about = matching._enumerated(ratios, shares), matching._mean_field(ratios, shares)
    np.testing.assert_allclose(about, exact, atol=0.05)
    assert np.array_equal(about < 0.5, np.arange(v) == wrong[:, None])


def neighbours(x, k=10):
    found = NearestNeighbors(n_neighbors=k + 1).fit(x).kneighbors(x, return_distance=False)
    return np.array([[j for j in row if j != i][:k] for i, row in enumerate(found)])


def embedded(y, rng, noise=0.15):
    """Return what an embedding of the unified graph looks like: clusters in orthogonal directions."""
    vectors = np.eye(C)[y] + rng.normal(scale=noise, size=(len(y), C))
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def planted(v, share, seed=0, separation=8.0):
    """Return views in which a share of the rows are those of other samples: lists, embedding, which."""
    rng = np.random.default_rng(seed)
    y = np.arange(N) % C
    exchanged = np.zeros((N, v), dtype=bool)
    lists = []
    for m in range(v):
        x = separation * rng.normal(size=(C, 6))[y] / np.sqrt(6) + rng.normal(size=(N, 6))
        rows = np.flatnonzero(rng.random(N) < share)
        other = rng.permutation(rows)
        x[rows] = x[other]
        exchanged[rows, m] = y[rows] != y[other]  # a row of the same cluster cannot be told from its own
        lists.append(neighbours(x))
    return lists, embedded(y, rng), exchanged


@pytest.mark.parametrize("v", [3, 4, 10])
@pytest.mark.parametrize("seed", [0, 1])
def test_rows_of_other_samples_are_told_from_their_own(v, seed):
    lists, vectors, exchanged = planted(v, 0.3, seed)
    trust, shares = matched_rows(lists, vectors, None, None, seed=0)
    assert trust.shape == (N, v) and LEAST_TRUST <= trust.min() and trust.max() == 1
    for m in range(v):
        assert roc_auc_score(~exchanged[:, m], trust[:, m]) > 0.9
    assert np.all(np.abs(shares - (1 - exchanged.mean(axis=0))) < 0.15)


def test_rows_that_all_belong_are_all_trusted():
    lists, vectors, _ = planted(3, 0.0)
    trust, shares = matched_rows(lists, vectors, None, None, seed=0)
    assert shares.min() > 0.95 and np.mean(trust > 0.9) > 0.95


def test_a_view_that_shares_nothing_has_no_evidence_against_its_rows():
    rng = np.random.default_rng(3)
    y = np.arange(N) % C
    lists = [neighbours(rng.normal(size=(N, 5))) for _ in range(3)]
    trust, shares = matched_rows(lists, embedded(y, rng), None, None, seed=0)
    likely = trust ** (1 / (1 + np.sum(1 - shares)))  # in units of the likeliest row of the view
    assert np.mean(np.abs(likely - np.median(likely)) < 0.15) > 0.97 and np.median(likely) > 0.8


@pytest.mark.parametrize("seen", [1.0, 0.7])
def test_doubt_counts_more_the_more_rows_of_a_sample_are_unmatched(seen, monkeypatch):
    """By hand, from probabilities that are given: to the power of 1 + the expected number of these."""
    matched = np.random.default_rng(0).uniform(0.2, 1.0, size=(N, 3))
    shares = np.array([0.9, 0.75, 0.6])
    monkeypatch.setattr(matching, "_probabilities", lambda *_: (matched, shares))
    lists = planted(3, 0.3)[0]
    mask = np.random.default_rng(1).random((N, 3)) < seen
    trust, _ = matched_rows(lists, np.eye(C)[np.arange(N) % C], None, None if seen == 1 else mask, seed=0)
    n_unmatched = sum((1 - shares[m]) * (mask[:, m].mean() if seen < 1 else 1.0) for m in range(3))
    expected = np.maximum((matched / matched.max(axis=0)) ** (1 + n_unmatched), LEAST_TRUST)
    judged = mask if seen < 1 else np.ones((N, 3), dtype=bool)
    np.testing.assert_allclose(trust, np.where(judged, expected, 1.0), rtol=1e-12)


def test_of_two_views_both_rows_of_a_sample_get_the_same():
    lists, vectors, exchanged = planted(2, 0.3)
    trust, shares = matched_rows(lists, vectors, None, None, seed=0)
    np.testing.assert_allclose(trust[:, 0], trust[:, 1], rtol=1e-9)
    assert shares[0] == pytest.approx(shares[1])
    assert roc_auc_score(~exchanged.any(axis=1), trust[:, 0]) > 0.9


def test_rows_that_are_not_seen_are_not_judged():
    lists, vectors, exchanged = planted(4, 0.3)
    mask = np.random.default_rng(0).random((N, 4)) > 0.25
    mask[~mask.any(axis=1), 0] = True
    trust, _ = matched_rows(lists, vectors, None, mask, seed=0)
    assert np.all(trust[~mask] == 1)
    for m in range(4):
        assert roc_auc_score(~exchanged[mask[:, m], m], trust[mask[:, m], m]) > 0.85


def test_what_a_view_says_of_samples_that_it_has_not_seen_does_not_matter():
    lists, vectors, _ = planted(3, 0.3)
    mask = np.random.default_rng(0).random((N, 3)) > 0.2
    seen = [np.where(mask[one, m], one, np.arange(N)[:, None]) for m, one in enumerate(lists)]
    other = [np.where(mask[:, [m]], one, 0) for m, one in enumerate(seen)]
    for m in range(3):  # a sample that is not seen is nobody's neighbour
        assert not np.any((seen[m] != np.arange(N)[:, None]) & ~mask[seen[m], m])
    first, _ = matched_rows(seen, vectors, None, mask, seed=0)
    again, _ = matched_rows(other, vectors, None, mask, seed=0)
    np.testing.assert_array_equal(first, again)


def test_samples_in_another_order_get_the_same_up_to_the_draws():
    lists, vectors, _ = planted(3, 0.3)
    order = np.random.default_rng(1).permutation(N)
    places = np.argsort(order)
    moved = [places[one][order] for one in lists]
    first, first_shares = matched_rows(lists, vectors, None, None, seed=0)
    other, other_shares = matched_rows(moved, vectors[order], None, None, seed=0)
    redrawn, _ = matched_rows(lists, vectors, None, None, seed=1)
    np.testing.assert_allclose(first_shares, other_shares, atol=0.02)
    by_draws = np.abs(first - redrawn).mean()
    assert 0 < np.abs(first[order] - other).mean() < 3 * by_draws + 1e-3


def test_the_same_seed_gives_the_same():
    lists, vectors, _ = planted(3, 0.3)
    first, other = (matched_rows(lists, vectors, None, None, seed=4) for _ in range(2))
    np.testing.assert_array_equal(first[0], other[0])
    np.testing.assert_array_equal(first[1], other[1])


def test_neighbours_count_by_the_trust_in_them():
    lists, everybody = np.array([[1, 2], [0, 2], [0, 1], [0, 2]]), np.ones(4, dtype=bool)
    found = matching._places(lists, np.eye(4), np.array([1.0, 1.0, 0.25, 1.0]), everybody)
    means = np.array([[0, 0.8, 0.2, 0], [0.8, 0, 0.2, 0], [0.5, 0.5, 0, 0], [0.8, 0, 0.2, 0]])
    means = means - means.mean(axis=0)
    np.testing.assert_allclose(found, means / np.linalg.norm(means, axis=1, keepdims=True))


def test_a_sample_without_neighbours_has_no_place_and_moves_no_other():
    lists = np.array([[1, 2], [0, 2], [0, 1], [3, 3], [0, 1]])
    seen = np.array([True, True, True, True, False])
    found = matching._places(lists, np.eye(5), np.ones(5), seen)
    assert np.all(found[3:] == 0)
    alone = matching._places(lists[:3], np.eye(5)[:3], np.ones(3), seen[:3])
    np.testing.assert_array_equal(found[:3], alone)


def test_a_sample_that_is_its_own_neighbour_is_not_counted():
    vectors = np.eye(3)
    everybody = np.ones(3, dtype=bool)
    own = matching._places(np.array([[0, 1], [1, 0], [2, 0]]), vectors, np.ones(3), everybody)
    without = matching._places(np.array([[1], [0], [0]]), vectors, np.ones(3), everybody)
    np.testing.assert_allclose(own, without)


@pytest.mark.parametrize("n", [2, 3, 5])
def test_a_handful_of_samples(n):
    lists = [np.array([[(i + 1) % n] for i in range(n)])] * 3
    trust, shares = matched_rows(lists, np.eye(n)[:, :2], None, None, seed=0)
    assert np.isfinite(trust).all() and trust.shape == (n, 3) and np.isfinite(shares).all()


@pytest.mark.parametrize("missing", [False, True])
def test_copies_do_not_vouch_for_each_other_and_are_trusted_as_their_originals(missing):
    lists, vectors, _ = planted(3, 0.3)
    mask = np.random.default_rng(0).random((N, 3)) > 0.2 if missing else None
    alone, shares = matched_rows(lists, vectors, None, mask, seed=0)
    with_copies = None if mask is None else mask[:, [0, 1, 2, 0, 2]]
    found, all_shares = matched_rows(
        [*lists, lists[0], lists[2]], vectors, None, with_copies, seed=0, copy_of=[0, 1, 2, 0, 2]
    )
    np.testing.assert_array_equal(found, alone[:, [0, 1, 2, 0, 2]])
    np.testing.assert_array_equal(all_shares, shares[[0, 1, 2, 0, 2]])
