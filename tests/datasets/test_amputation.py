import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from consilience import Views, ampute, load_digits_views, make_multiview
from consilience.datasets import amputation

PATTERNS = amputation.PATTERNS


def views_of(n=100, v=4, seed=0):
    return Views(make_multiview(n, n_views=v, n_clusters=4, random_state=seed).views)


def n_missing(views):
    return 0 if views.mask is None else int((~views.mask).sum())


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("rate", [0.1, 0.35, 0.7])
def test_every_sample_stays_and_nothing_else_changes(pattern, rate):
    views = Views(views_of(), sample_ids=[f"s{i}" for i in range(100)])
    found = ampute(views, rate, pattern, random_state=0)
    assert found.mask.any(axis=1).all()
    assert found.names == views.names
    np.testing.assert_array_equal(found.sample_ids, views.sample_ids)
    assert views.mask is None
    for before, after, seen in zip(views.arrays, found.arrays, found.mask.T, strict=True):
        np.testing.assert_array_equal(before[seen], after[seen])


@pytest.mark.parametrize("pattern", ["random", "not_at_random"])
@pytest.mark.parametrize(("rate", "expected"), [(0.0, 0), (0.1, 40), (0.333, 133), (0.5, 200), (0.75, 300)])
def test_the_rate_is_of_pairs(pattern, rate, expected):
    assert n_missing(ampute(views_of(), rate, pattern, random_state=0)) == expected


def test_the_rate_is_of_samples_that_keep_one_view_if_paired():
    found = ampute(views_of(), 0.3, "paired", random_state=0)
    counts = found.mask.sum(axis=1)
    assert ((counts == 1) | (counts == 4)).all()
    assert (counts == 1).sum() == 30
    assert found.mask[counts == 1].sum(axis=0).min() > 0


def test_the_rate_is_of_samples_of_the_last_view():
    found = ampute(views_of(), 0.8, "one_view", random_state=0)
    np.testing.assert_array_equal((~found.mask).sum(axis=0), [0, 0, 0, 80])


def test_pairs_are_drawn_evenly():
    masks = np.array([ampute(views_of(30, 3), 0.4, random_state=seed).mask for seed in range(300)])
    np.testing.assert_allclose((~masks).mean(axis=0), 0.4, atol=0.12)
    np.testing.assert_allclose((~masks).mean(axis=(0, 1)), 0.4, atol=0.02)


def test_not_at_random_takes_more_from_one_end_of_the_first_component():
    x = np.arange(400.0)[:, None] * [1.0, 2.0] + np.random.default_rng(0).normal(size=(400, 2))
    dense = [x, -x, x[:, ::-1]]
    found = ampute(dense, 0.3, "not_at_random", random_state=0)
    halves = (~found.mask).reshape(2, 200, 3).mean(axis=1)
    low, high = halves.min(axis=0), halves.max(axis=0)
    assert (high > 1.5 * low).all()  # by ranks three times, but of each sample one pair is spared
    np.testing.assert_array_equal(
        found.mask,
        ampute([sparse.csr_array(one) for one in dense], 0.3, "not_at_random", random_state=0).mask,
    )


def test_not_at_random_leaves_clusters_out_unevenly_and_random_does_not():
    data = make_multiview(600, n_views=3, n_clusters=3, separation=8.0, random_state=0)
    spread = {}
    for pattern in ("random", "not_at_random"):
        missing = ~ampute(data.views, 0.3, pattern, random_state=0).mask
        shares = np.array([missing[data.y == c].mean(axis=0) for c in range(3)])
        spread[pattern] = np.ptp(shares, axis=0).min()
    assert spread["random"] < 0.12
    assert spread["not_at_random"] > 0.2


def test_views_in_which_all_look_the_same_have_no_component():
    x = np.random.default_rng(0).normal(size=(50, 3))
    found = ampute([x, np.ones((50, 2)), x[:, :1]], 0.3, "not_at_random", random_state=0)
    assert n_missing(found) == 45


@pytest.mark.parametrize("pattern", PATTERNS)
def test_what_is_missing_at_one_rate_is_so_at_every_larger_one(pattern):
    masks = [ampute(views_of(), rate, pattern, random_state=3).mask for rate in (0.1, 0.3, 0.6)]
    for fewer, more in zip(masks[1:], masks, strict=False):
        assert not (fewer & ~more).any()
        assert fewer.sum() < more.sum()


@pytest.mark.parametrize("pattern", PATTERNS)
def test_what_is_missing_already_stays_missing_and_counts(pattern):
    once = ampute(views_of(), 0.2, pattern, random_state=0)
    twice = ampute(once, 0.5, pattern, random_state=1)
    assert not (twice.mask & ~once.mask).any()
    assert twice.mask.any(axis=1).all()
    assert n_missing(twice) == n_missing(ampute(views_of(), 0.5, pattern, random_state=0))
    assert n_missing(ampute(once, 0.1, pattern, random_state=1)) == n_missing(once)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_seed_gives_the_same_every_time_and_another_one_another(pattern):
    one, same, other = (ampute(views_of(), 0.4, pattern, random_state=seed).mask for seed in (5, 5, 6))
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()


def test_it_takes_whatever_views_takes():
    arrays, _ = load_digits_views(return_X_y=True)
    assert ampute(arrays, 0.2, random_state=0).names == tuple(arrays)
    x = np.random.default_rng(0).normal(size=(20, 3))
    for given in ([x, x], (x, sparse.csr_array(x)), {"a": x, "b": x}):
        assert n_missing(ampute(given, 0.25, random_state=0)) == 10
    between = Views({"x": x, "d": cdist(x, x)}, pairwise=["d"])
    assert ampute(between, 0.25, "not_at_random", random_state=0).pairwise == (False, True)


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match=r"rate must be at most 0.75 with 4 views, .* got 0.8"):
        ampute(views_of(), 0.8)
    with pytest.raises(ValueError, match=r"rate must be a finite number from 0 to 1, got -0\.1"):
        ampute(views_of(), -0.1, "paired")
    with pytest.raises(ValueError, match="Unknown pattern 'some'; known: 'random', 'not_at_random'"):
        ampute(views_of(), 0.1, "some")
    with pytest.raises(ValueError, match="There is 1 view"):
        ampute(np.ones((5, 2)), 0.1)
    mask = np.ones((10, 2), dtype=bool)
    mask[:4, 0] = False
    x = np.random.default_rng(0).normal(size=(10, 2))
    with pytest.raises(ValueError, match="cannot miss 8 of 10 samples: no other view has seen 4 of them"):
        ampute(Views([x, x], mask=mask), 0.8, "one_view")
