import re
from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from consilience import Views, graph_view, load_digits_views, make_multiview
from consilience.datasets import Corrupted, corrupt, corruptions

NAMES = (
    "clean",
    "noise-1:1",
    "noise-2:1",
    "shuffled-view",
    "shuffle-one-10",
    "shuffle-one-30",
    "shuffle-all-10",
    "shuffle-all-30",
    "copies",
    "batch-shift",
    "rescaled-columns",
    "huge-columns",
    "missing-10",
    "missing-30",
)
ADDING = {"noise-1:1": 1, "noise-2:1": 2}
SHARES = {"shuffled-view": 1.0, "10": 0.1, "30": 0.3}
IN_COLUMNS = ("rescaled-columns", "huge-columns")
SEEDS = range(4)
N = 40


# Views of all kinds, of N samples -------------------------------------------------------------------------


def numbers(d=5, dtype=np.float64, seed=0, n=N):
    return np.random.default_rng(seed).normal(size=(n, d)).astype(dtype)


def counts(d=30, dtype=np.float64, seed=0, n=N, kind=sparse.csr_array):
    """Return words of documents, each with its own number of the first."""
    x = np.random.default_rng(seed).poisson(0.3, size=(n, d)).astype(dtype)
    x[:, 0] = 1 + np.arange(n)
    return kind(x)


def between(seed=0, n=N):
    """Return distances that are not the same in both directions; the diagonal tells who is who."""
    d = np.abs(np.random.default_rng(seed).normal(size=(n, n)))
    d[np.diag_indices(n)] = 100 + np.arange(n)
    return d


def network(n=N):
    """Return a graph in which every sample has its own weights; one edge has the distance 0."""
    edges = [(i, (i + step) % n, float(i * step)) for i in range(n) for step in (1, 3)]
    return graph_view(edges, kind="distance", nodes=n)


def hidden(v, share=0.3, seed=0, n=N):
    mask = np.random.default_rng(seed).random((n, v)) > share
    mask[np.arange(n), np.arange(n) % v] = True
    return mask


def table():
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "age": rng.normal(40, 10, N),
            "sex": rng.choice(["f", "m"], N),
            "income": rng.normal(size=N),
            "size": pd.Categorical(rng.choice(["small", "large"], N), ["small", "large"], ordered=True),
        },
        index=[f"s{i}" for i in range(N)],
    )
    return frame


def all_kinds():
    return {
        "text": counts(),
        "between": between(),
        "table": numbers(12),
        "graph": network(),
        "matrix": counts(kind=sparse.csr_matrix, dtype=np.float32, seed=2),
    }


CASES = {
    "dense": lambda: Views([numbers(), numbers(11, np.float32, 1), numbers(1, seed=2)]),
    "sparse": lambda: Views({"a": counts(), "b": counts(40, np.float32, 1, kind=sparse.csr_matrix)}),
    "mixed": lambda: Views({"noise_0": numbers(), "copy_1": counts(), "c": numbers(3, np.float32, 2)}),
    "masked": lambda: Views([numbers(), counts(), numbers(2, seed=2)], mask=hidden(3)),
    "pairwise": lambda: Views({"x": numbers(), "d": between()}, pairwise=["d"]),
    "masked pairwise": lambda: Views(
        {"x": numbers(), "d": between(), "e": between(1)}, pairwise=["d", "e"], mask=hidden(3)
    ),
    "graph": lambda: Views({"x": numbers(), "g": network()}),
    "ids": lambda: Views(
        {"a": pd.DataFrame(numbers(3), [f"s{i}" for i in range(N)], list("xyz")), "b": numbers(2)},
        sample_ids=[f"s{i}" for i in range(N)],
    ),
    "categories": lambda: Views({"t": table(), "x": numbers()}, sample_ids=[f"s{i}" for i in range(N)]),
    "all": lambda: Views(all_kinds(), pairwise=["between"], mask=hidden(5), sample_ids=range(100, 100 + N)),
}


# What is the same ------------------------------------------------------------------------------------------


def dense(array):
    return array.toarray() if sparse.issparse(array) else array


def parts(array):
    return (array.data, array.indices, array.indptr) if sparse.issparse(array) else (array,)


def assert_same_array(found, expected):
    assert type(found) is type(expected)
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    for one, other in zip(parts(found), parts(expected), strict=True):
        assert one.tobytes() == other.tobytes()


def kept_parts(views, i):
    """Return what a view is besides its values."""
    labels = views.columns[i]
    return views.pairwise[i], views.encodings[i], views.graphs[i], None if labels is None else labels.tolist()


def assert_same_views(found, expected):
    assert found.names == expected.names
    assert (found.sample_ids is None) == (expected.sample_ids is None)
    if expected.sample_ids is not None:
        assert found.sample_ids.tolist() == expected.sample_ids.tolist()
        assert found.sample_ids.dtype == expected.sample_ids.dtype
    np.testing.assert_array_equal(seen(found), seen(expected))
    for i in range(expected.n_views):
        assert kept_parts(found, i) == kept_parts(expected, i)
        assert_same_array(found.arrays[i], expected.arrays[i])


def seen(views):
    return np.ones((views.n_samples, views.n_views), dtype=bool) if views.mask is None else views.mask


def the_one(views, seed):
    """Return the number of the view that is hit, as the description of the copies says."""
    text = corrupt(views, "copies", random_state=seed).description
    return views.names.index(re.search("'(.*)'", text)[1])


def share_of(name):
    return SHARES[name if name == "shuffled-view" else name[-2:]]


def reason_to_refuse(views, name, seed):
    """Say whether there is a reason, from the rules and not from what the code finds."""
    one, here = the_one(views, seed), seen(views)
    n_rows = here.sum(axis=0)
    if name in ("shuffled-view", "missing-10", "missing-30") and views.n_views < 2:
        return "needs 2 views or more; there is 1"
    if name.startswith("shuffle"):
        hit = range(views.n_views) if "all" in name else [one]
        if any(round(share_of(name) * n_rows[i]) < 2 for i in hit):
            return "too few to permute"
        if name == "shuffled-view" and not np.delete(here, one, axis=1).any():
            return "leaves nothing of any sample"
    if name in ("batch-shift", "huge-columns") and views.pairwise[one]:
        return "is a matrix between samples" if name == "huge-columns" else "has no column of numbers"
    if name == "batch-shift" and n_rows[one] < 2:
        return "has too few rows"
    if name == "rescaled-columns" and all(views.pairwise):
        return "No view has a column of numbers"
    if name.startswith("missing"):
        if min(round(share_of(name) * here.sum()), here.sum() - views.n_samples) == 0:
            return "No row can be taken away"
    return None


def check(views, name, seed):
    """Check everything that holds for every corruption; return it, or None if it is refused as it must be."""
    before = deepcopy(views)
    for array in views.arrays:
        for part in parts(array):
            part.flags.writeable = False  # a write would raise
    reason = reason_to_refuse(views, name, seed)
    if reason is not None:
        with pytest.raises(ValueError, match=reason) as caught:
            corrupt(views, name, random_state=seed)
        assert "\n" not in str(caught.value)
        return None
    found = corrupt(views, name, random_state=seed)
    again = corrupt(views, name, random_state=seed)
    assert_same_views(views, before)
    assert_same_views(found.views, again.views)
    assert_same_views(found.oracle, again.oracle)
    np.testing.assert_array_equal(found.rows, again.rows)

    assert found.name == name
    check_what_is_given(views, found)
    check_rows(views, found)
    check_oracle(views, found)
    return found


def check_what_is_given(views, found):
    n, v = views.n_samples, views.n_views
    after = found.views
    assert after.n_samples == n
    assert after.names[:v] == views.names
    assert len(set(after.names)) == after.n_views
    if views.sample_ids is None:
        assert after.sample_ids is None
    else:
        np.testing.assert_array_equal(after.sample_ids, views.sample_ids)
    for i in range(v):
        assert type(after.arrays[i]) is type(views.arrays[i])
        assert after.arrays[i].dtype == views.arrays[i].dtype
        if found.name != "huge-columns":
            assert after.arrays[i].shape == views.arrays[i].shape
            assert kept_parts(after, i) == kept_parts(views, i)
    if found.name.startswith("missing"):
        assert not (seen(after) & ~seen(views)).any()
    else:
        np.testing.assert_array_equal(seen(after)[:, :v], seen(views))


def check_rows(views, found):
    """What is not spoiled is as it was, bit for bit."""
    n, v = views.n_samples, views.n_views
    assert found.rows.shape == (n, found.views.n_views)
    assert found.rows.dtype == bool
    assert not (found.rows & ~seen(found.views)).any()
    if found.name in IN_COLUMNS:
        assert not found.rows.any()
        return
    for i in range(v):
        good = np.flatnonzero(~found.rows[:, i] & seen(found.views)[:, i])
        was, now = views.arrays[i][good], found.views.arrays[i][good]
        if views.pairwise[i]:  # what is said about two samples, neither of them spoiled
            was, now = was[:, good], now[:, good]
        assert_same_array(now, was)


def check_oracle(views, found):
    v = views.n_views
    good = seen(views) & ~found.rows[:, :v]
    np.testing.assert_array_equal(found.scored, good.any(axis=1))
    np.testing.assert_array_equal(found.oracle_samples, np.flatnonzero(good.any(axis=1)))
    kept = [i for i in range(v) if found.name != "shuffled-view" or not found.rows[:, i].any()]
    expected = Views(views[found.oracle_samples].select(kept), mask=good[np.ix_(found.oracle_samples, kept)])
    assert_same_views(found.oracle, expected)
    if not found.rows[:, :v].any():
        assert_same_views(found.oracle, views)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("case", CASES)
def test_what_must_stay_stays_and_the_oracle_has_the_rest(case, name):
    views = CASES[case]()
    made = [found for seed in SEEDS if (found := check(views, name, seed)) is not None]
    assert made
    # Rows of these views differ, so one that is spoiled shows it.
    for found in made if name not in IN_COLUMNS and "missing" not in name else ():
        for i in np.flatnonzero(~np.array(views.pairwise)):
            changed = (dense(found.views.arrays[i]) != dense(views.arrays[i])).any(axis=1)
            np.testing.assert_array_equal(found.rows[:, i], changed)


@st.composite
def small_views(draw):
    n, v = draw(st.integers(1, 24)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    arrays, pairwise = [], []
    for _ in range(v):
        kind = draw(st.sampled_from(["dense", "single", "sparse", "counts", "pairwise"]))
        x = rng.normal(size=(n, n if kind == "pairwise" else draw(st.integers(1, 4))))
        if kind == "sparse":
            x = sparse.csr_array(np.where(rng.random(x.shape) < 0.5, x, 0))
        elif kind == "counts":
            x = sparse.csr_matrix(rng.poisson(0.7, x.shape))
        arrays.append(x.astype(np.float32) if kind == "single" else x)
        pairwise.append(kind == "pairwise")
    mask = rng.random((n, v)) < draw(st.sampled_from([0.2, 0.6, 1.0]))
    mask[np.arange(n), rng.integers(v, size=n)] = True
    ids = rng.permutation(1000)[:n] if draw(st.booleans()) else None
    return Views(arrays, pairwise=pairwise, mask=mask, sample_ids=ids)


@given(views=small_views(), name=st.sampled_from(NAMES), seed=st.integers(0, 2**70))
def test_small_views_of_any_shape(views, name, seed):
    check(views, name, seed)


# Which, and how many ----------------------------------------------------------------------------------------


def test_names_and_descriptions():
    known = corruptions()
    assert tuple(known) == NAMES
    assert len(set(known.values())) == len(NAMES)
    for text in known.values():
        assert re.fullmatch(r"[A-Z0-9][^{}\n]*\.", text)
    found = corrupt([numbers(), numbers(3)], "shuffled-view")
    hit = f"view 'view_{the_one(Views([numbers(), numbers(3)]), 0)}'"
    assert found.description == known["shuffled-view"].replace("one view", hit)
    known.clear()
    assert corruptions()


def test_the_one_view_is_that_of_the_seed_and_over_seeds_each():
    views = CASES["dense"]()
    hit = []
    for seed in range(30):
        one = the_one(views, seed)
        for name in ("shuffled-view", "shuffle-one-10", "shuffle-one-30", "batch-shift"):
            assert np.flatnonzero(corrupt(views, name, random_state=seed).rows.any(axis=0)).tolist() == [one]
        huge = corrupt(views, "huge-columns", random_state=seed).views
        assert [new - old for new, old in zip(huge.n_features, views.n_features, strict=True)] == [
            2 * (i == one) for i in range(3)
        ]
        hit.append(one)
    assert set(hit) == {0, 1, 2}


@pytest.mark.parametrize("n", [20, 25, 37])
@pytest.mark.parametrize("share", [10, 30])
def test_shares_of_rows_are_exact(n, share):
    mask = hidden(3, n=n)
    views = Views([numbers(n=n), numbers(3, seed=1, n=n), counts(seed=2, n=n)], mask=mask)
    expected = [round(share / 100 * rows) for rows in mask.sum(axis=0)]
    found = corrupt(views, f"shuffle-all-{share}")
    assert found.rows.sum(axis=0).tolist() == expected
    one = the_one(views, 0)
    assert corrupt(views, f"shuffle-one-{share}").rows.sum() == expected[one]
    assert corrupt(views, "shuffled-view").rows.sum() == mask[:, one].sum()
    assert corrupt(views, "batch-shift").rows.sum() == round(mask[:, one].sum() / 2)
    removed = mask & ~corrupt(views, f"missing-{share}").views.mask
    assert removed.sum() == round(share / 100 * mask.sum())


@pytest.mark.parametrize("family", ["shuffle-one", "shuffle-all", "missing"])
@pytest.mark.parametrize("seed", SEEDS)
def test_what_the_smaller_share_spoils_is_among_what_the_larger_does(family, seed):
    views = CASES["masked"]()
    few, many = (corrupt(views, f"{family}-{share}", random_state=seed) for share in (10, 30))
    fewer, more = (found.rows | (seen(views) & ~seen(found.views)) for found in (few, many))
    assert not (fewer & ~more).any()
    assert 0 < fewer.sum() < more.sum()


def test_rows_of_every_view_are_drawn_anew():
    rows = corrupt([numbers(seed=i) for i in range(3)], "shuffle-all-30").rows
    assert len({tuple(np.flatnonzero(column)) for column in rows.T}) == 3


def test_seeds_and_names_differ():
    views = CASES["mixed"]()
    for name in NAMES[1:]:
        if name == "copies":
            continue
        made = {corrupt(views, name, random_state=seed).views.fingerprint() for seed in range(5)}
        assert len(made) == 5, name
    assert len({corrupt(views, name).views.fingerprint() for name in NAMES}) == len(NAMES)


def test_draws_do_not_depend_on_values():
    views, others = Views([numbers(), numbers(3)]), Views([numbers(seed=7), numbers(3, seed=8)])
    for name in NAMES:
        one, other = corrupt(views, name), corrupt(others, name)
        np.testing.assert_array_equal(one.rows, other.rows)
        np.testing.assert_array_equal(seen(one.views), seen(other.views))


def test_draws_stay_what_they_are():
    """Tables of scores rest on them: who changes them changes every table."""
    views = [numbers(20, n=20), numbers(3, n=20)]

    def made(name):
        return corrupt(views, name)

    assert np.argwhere(made("shuffle-one-30").rows).tolist() == [[i, 0] for i in (5, 6, 11, 13, 16, 17)]
    assert np.flatnonzero(made("batch-shift").rows[:, 0]).tolist() == [0, 1, 3, 5, 8, 9, 10, 12, 15, 16]
    assert np.argwhere(~made("missing-10").views.mask).tolist() == [[0, 0], [4, 1], [8, 1], [19, 0]]
    rescaled = made("rescaled-columns").views.arrays[0] != views[0]
    assert np.flatnonzero(rescaled.any(axis=0)).tolist() == [6, 10, 12, 14]
    np.testing.assert_allclose(made("noise-1:1").views.arrays[2][0, :2], [-0.41647535, 0.62565727], rtol=1e-7)


# Rows of other samples --------------------------------------------------------------------------------------


def order_of(views, found, i):
    """Return whose row each sample shows, by what is different in every row."""
    was, now = dense(views.arrays[i]), dense(found.views.arrays[i])
    key = np.diag if views.pairwise[i] else lambda x: x[:, 0]
    return np.array([int(np.flatnonzero(key(was) == value)[0]) for value in key(now)])


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("shuffle")])
@pytest.mark.parametrize("masked", [False, True])
def test_spoiled_rows_are_permuted_among_themselves_and_none_stays(name, masked):
    mask = hidden(3) if masked else None
    views = Views({"x": numbers(), "t": counts(), "d": between()}, pairwise=["d"], mask=mask)
    hit = set()
    for seed in range(8):
        found = corrupt(views, name, random_state=seed)
        for i in np.flatnonzero(found.rows.any(axis=0)):
            hit.add(int(i))
            rows, members = np.flatnonzero(found.rows[:, i]), np.flatnonzero(seen(views)[:, i])
            order = np.arange(N)
            order[members] = order_of(views, found, i)[members]
            assert (order[rows] != rows).all()
            assert sorted(order[rows]) == rows.tolist()
            array = views.arrays[i][order]
            assert_same_array(found.views.arrays[i], array[:, order] if views.pairwise[i] else array)
    assert hit == {0, 1, 2}


def test_samples_change_their_places_in_a_graph_as_a_whole():
    views = Views({"x": numbers(), "g": network()})
    seed = next(seed for seed in range(20) if the_one(views, seed) == 1)
    was = views.arrays[1]
    now = corrupt(views, "shuffle-one-30", random_state=seed).views.arrays[1]
    assert now.nnz == was.nnz  # also the edge with the distance 0
    np.testing.assert_array_equal(np.sort(now.data), np.sort(was.data))
    assert (abs(now - now.T)).nnz == 0
    degrees = [np.sort([row.sum() for row in dense(x)]) for x in (was, now)]
    np.testing.assert_allclose(*degrees)
    assert (dense(now) != dense(was)).any()


def test_a_sample_of_which_nothing_is_left_is_not_scored():
    mask = np.ones((N, 2), dtype=bool)
    views = Views([numbers(), numbers(3)])
    one = the_one(views, 0)
    mask[:15, 1 - one] = False
    found = corrupt(Views(views, mask=mask), "shuffled-view")
    np.testing.assert_array_equal(found.oracle_samples, np.arange(15, N))
    assert found.oracle.names == (views.names[1 - one],)
    assert found.oracle.mask is None
    both = corrupt(views, "shuffle-all-30")
    assert (~both.scored).sum() == (both.rows.sum(axis=1) == 2).sum() > 0
    assert len(both.oracle) == both.scored.sum()


def test_a_view_that_has_seen_nothing_stays():
    mask = np.ones((N, 3), dtype=bool)
    mask[:, 2] = False
    views = Views([numbers(), numbers(2), numbers(3)], mask=mask)
    seed = next(seed for seed in range(20) if the_one(views, seed) == 0)
    found = corrupt(views, "shuffle-one-30", random_state=seed)
    assert found.oracle.names == views.names


def test_categories_move_with_their_rows():
    views = CASES["categories"]()
    seed = next(seed for seed in range(20) if the_one(views, seed) == 0)
    found = corrupt(views, "shuffle-one-30", random_state=seed)
    was = views.encodings[0].decode(views.arrays[0])
    now = found.views.encodings[0].decode(found.views.arrays[0])
    assert sorted(map(tuple, was.tolist())) == sorted(map(tuple, now.tolist()))


# Views that are added ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ADDING)
def test_noise_views(name):
    views = Views({"noise_1": numbers(n=500), "a": counts(n=500)})
    found = corrupt(views, name)
    n_new = 2 * ADDING[name]
    assert found.views.names[2:] == ("noise_0", "noise_2", "noise_3", "noise_4")[:n_new]
    assert found.views.n_features[2:] == (10, 50, 200, 10)[:n_new]
    assert found.rows[:, 2:].all()
    assert not found.rows[:, :2].any()
    for noise in found.views.arrays[2:]:
        assert abs(noise.mean()) < 5 / np.sqrt(noise.size)
        assert abs(noise.std() - 1) < 5 / np.sqrt(noise.size)
    assert_same_views(found.oracle, views)
    assert_same_views(found.views.select(views.names), views)


def test_noise_is_single_precision_where_all_views_are():
    single, double = numbers(dtype=np.float32), numbers()
    assert {x.dtype for x in corrupt([single, single], "noise-1:1").views.arrays} == {np.dtype(np.float32)}
    assert corrupt([single, double], "noise-1:1").views.arrays[-1].dtype == np.float64


def test_noise_of_the_smaller_ratio_is_among_that_of_the_larger():
    one, two = (corrupt([numbers(), numbers()], name).views for name in ADDING)
    assert_same_views(two.select(range(4)), one)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", SEEDS)
def test_copies_are_all_that_the_view_is(case, seed):
    views = CASES[case]()
    found = corrupt(views, "copies", random_state=seed)
    one = the_one(views, seed)
    new = [f"copy_{k}" for k in range(4) if f"copy_{k}" not in views.names][:3]
    assert found.views.names == (*views.names, *new)
    for i in range(views.n_views, views.n_views + 3):
        assert_same_array(found.views.arrays[i], views.arrays[one])
        assert kept_parts(found.views, i) == kept_parts(views, one)
        np.testing.assert_array_equal(seen(found.views)[:, i], seen(views)[:, one])
    assert not found.rows.any()
    assert found.scored.all()


# Columns ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_a_fifth_of_the_columns_is_in_another_unit(case):
    views = CASES[case]()
    found = corrupt(views, "rescaled-columns")
    for i, (was, now) in enumerate(zip(views.arrays, found.views.arrays, strict=True)):
        if views.pairwise[i]:
            assert_same_array(now, was)
            continue
        if sparse.issparse(was):
            np.testing.assert_array_equal(now.indices, was.indices)
        was, now = dense(was), dense(now)
        changed = (was != now).any(axis=0)
        encoding = views.encodings[i]
        numeric = np.array([encoding is None or encoding.kinds[j] == "numeric" for j in range(was.shape[1])])
        assert changed.sum() == max(1, round(numeric.sum() / 5))
        assert not (changed & ~numeric).any()
        np.testing.assert_array_equal(now[:, changed], was[:, changed] * was.dtype.type(1000))
    assert found.scored.all()
    assert_same_views(found.oracle, views)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", SEEDS)
def test_huge_columns(case, seed):
    views = CASES[case]()
    one = the_one(views, seed)
    if views.pairwise[one]:
        return  # refused, which is tested elsewhere
    found = corrupt(views, "huge-columns", random_state=seed)
    was, now = views.arrays[one], found.views.arrays[one]
    assert_same_array(now[:, : was.shape[1]], was)
    noise = dense(now)[:, was.shape[1] :]
    here = seen(views)[:, one]
    size = 1000 * np.abs(dense(was)).max()
    assert noise.shape == (N, 2)
    assert 0.5 * size < noise[here].std() < 1.6 * size
    assert not noise[~here].any()
    for i in range(views.n_views):
        if i != one:
            assert_same_array(found.views.arrays[i], views.arrays[i])
            assert kept_parts(found.views, i) == kept_parts(views, i)
    assert_same_views(found.oracle, views)


def test_huge_columns_have_labels_and_kinds():
    numbered = pd.DataFrame(numbers(3), columns=["noise_0", "b", 3])
    found = corrupt(Views(numbered), "huge-columns").views
    assert found.columns[0].tolist() == ["noise_0", "b", 3, "noise_1", "noise_2"]
    named = Views(pd.DataFrame(numbers(2), columns=["a", "b"]))
    named.columns = (named.columns[0].astype("U"),)
    longer = corrupt(named, "huge-columns").views
    assert longer.feature_names[0].tolist() == ["a", "b", "noise_0", "noise_1"]
    coded = corrupt(Views(table()), "huge-columns").views
    assert coded.encodings[0].kinds == ("numeric", "categorical", "numeric", "ordinal", "numeric", "numeric")
    assert coded.encodings[0].decode(coded.arrays[0])[0, 1] in ("f", "m")


def test_noise_is_huge_next_to_nothing():
    for zeros in (np.zeros((N, 3)), sparse.csr_array((N, 3))):
        assert abs(corrupt(Views(zeros), "huge-columns").views.arrays[0]).max() > 100


@pytest.mark.parametrize("name", ["rescaled-columns", "huge-columns"])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_entries_too_large_for_their_precision_are_named(name, kind):
    x = kind(np.full((N, 1), 1e37, dtype=np.float32))
    with pytest.raises(ValueError, match=r"view 'view_0', row \d+, column \d holds -?infinity"):
        corrupt(Views([x]), name)


# Another source ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("masked", [False, True])
def test_another_source_has_other_scales_and_offsets_of_measurements(dtype, masked):
    x = numbers(8, dtype, n=200) * np.logspace(-3, 3, 8).astype(dtype) + 5
    mask = hidden(2, n=200) if masked else None
    views = Views({"x": x, "y": numbers(n=200)}, mask=mask)
    seed = next(seed for seed in range(20) if the_one(views, seed) == 0)
    found = corrupt(views, "batch-shift", random_state=seed)
    batch = found.rows[:, 0]
    was, now = (dense(one.arrays[0])[batch].astype(float) for one in (views, found.views))
    deviations = x[seen(views)[:, 0]].astype(float).std(axis=0)
    for j in range(8):
        factor, offset = np.polyfit(was[:, j], now[:, j], 1)
        # Factor and offset are the same for all rows, up to rounding.
        np.testing.assert_allclose(now[:, j], factor * was[:, j] + offset, rtol=1e-4)
        assert 0.3 < factor < 3
        assert 1.9 < abs(offset) / deviations[j] < 4.1
    assert (now != was).all()


def test_empty_cells_stay_empty_in_another_source():
    x = numbers(4)
    x[::3, 0] = np.nan
    x[:, 2] = np.nan
    found = corrupt(Views(x), "batch-shift")
    np.testing.assert_array_equal(np.isnan(found.views.arrays[0]), np.isnan(x))
    assert (found.views.arrays[0] != x)[found.rows[:, 0]][:, [1, 3]].all()


def test_categories_are_the_same_in_another_source():
    views = Views(table())
    found = corrupt(views, "batch-shift")
    was, now = views.arrays[0], found.views.arrays[0]
    np.testing.assert_array_equal(now[:, [1, 3]], was[:, [1, 3]])
    assert (now != was)[found.rows[:, 0]][:, [0, 2]].all()
    with pytest.raises(ValueError, match="View 'view_0' has no column of numbers that another source"):
        corrupt(Views(table()[["sex"]]), "batch-shift")


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("unit", [1.0, 0.1])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_counts_of_another_source_stay_counts(kind, unit, dtype):
    x = np.random.default_rng(0).poisson(0.3, size=(N, 60))
    x[3] = 0
    views = Views(kind((unit * x).astype(dtype)))
    found = corrupt(views, "batch-shift")
    batch = found.rows[:, 0] & (x.sum(axis=1) > 0)
    was, now = dense(views.arrays[0]), dense(found.views.arrays[0])
    assert now.min() >= 0
    assert (now[was > 0] > 0).all()
    assert ((now > 0) & (was == 0)).sum(axis=1).max() <= 6  # a tenth of the columns
    assert (now[batch].sum(axis=1) > 2 * was[batch].sum(axis=1)).all()
    assert not now[3].any()
    if unit == 1:
        np.testing.assert_array_equal(now, np.round(now))


def test_what_is_sparse_and_negative_stays_sparse():
    x = np.where(np.random.default_rng(0).random((N, 50)) < 0.1, numbers(50), 0)
    found = corrupt(Views(sparse.csr_array(x)), "batch-shift").views.arrays[0]
    assert sparse.issparse(found)
    assert found.nnz <= np.count_nonzero(x) + 5 * N


def neighbors(x, metric):
    search = NearestNeighbors(n_neighbors=10, metric=metric, algorithm="brute")
    return search.fit(dense(x)).kneighbors(return_distance=False)


def text_of_topics():
    rng = np.random.default_rng(0)
    topics = rng.gamma(0.1, size=(5, 500)) + 1e-3
    weights = topics[rng.integers(5, size=300)] * rng.gamma(1.0, size=(300, 500))
    return sparse.csr_array(rng.poisson(150 * weights / weights.sum(axis=1, keepdims=True)))


@pytest.mark.parametrize("kind", ["measured", "text"])
def test_neighbourhoods_within_a_source_are_kept_and_the_sources_are_apart(kind):
    if kind == "measured":
        x, metric = make_multiview(300, n_views=1, n_features=30, random_state=0).views["view_0"], "euclidean"
    else:
        x, metric = text_of_topics(), "cosine"
    found = corrupt(Views(x), "batch-shift")
    batch = np.flatnonzero(found.rows[:, 0])
    y = found.views.arrays[0]
    inside = zip(neighbors(x[batch], metric), neighbors(y[batch], metric), strict=True)
    assert np.mean([len(set(a) & set(b)) / 10 for a, b in inside]) > 0.6
    in_batch = found.rows[:, 0]
    assert np.mean(in_batch[neighbors(x, metric)[batch]]) < 0.6
    assert np.mean(in_batch[neighbors(y, metric)[batch]]) > 0.95


# Missing rows -----------------------------------------------------------------------------------------------


def test_as_many_are_missing_as_every_sample_in_one_view_permits():
    mask = np.ones((N, 2), dtype=bool)
    mask[3:, 0] = False
    views = Views([numbers(), numbers(2)], mask=mask)
    found = corrupt(views, "missing-30")
    assert (mask & ~seen(found.views)).sum() == 3
    assert found.views.mask.any(axis=1).all()
    assert not found.rows.any()
    assert_same_views(found.oracle, views)


# What is refused --------------------------------------------------------------------------------------------


def test_what_cannot_be_is_refused():
    x = numbers()
    with pytest.raises(
        ValueError, match=r"Unknown corruption 'rot'; known: 'clean', 'noise-1:1', .*'missing-30'"
    ):
        corrupt([x, x], "rot")
    for name in ("shuffled-view", "missing-10", "missing-30"):
        with pytest.raises(ValueError, match=f"'{name}' needs 2 views or more; there is 1"):
            corrupt(x, name)
    for seed in (-1, 0.5, None, True):
        with pytest.raises(ValueError, match="random_state must be an integer of at least 0"):
            corrupt([x, x], "clean", random_state=seed)
    with pytest.raises(ValueError, match=r"View 'view_0' has 14 rows: a share of 0\.1 is too few to permute"):
        corrupt(x[:14], "shuffle-one-10")
    with pytest.raises(ValueError, match="View 'd' is a matrix between samples"):
        corrupt(Views({"d": between()}, pairwise=True), "huge-columns")
    with pytest.raises(ValueError, match="View 'g' has no column of numbers"):
        corrupt(Views({"g": network()}), "batch-shift")
    with pytest.raises(ValueError, match="No view has a column of numbers"):
        corrupt(Views({"d": between(), "g": network()}, pairwise=["d"]), "rescaled-columns")
    alone = np.zeros((N, 2), dtype=bool)
    one = the_one(Views([x, x[:, :2]]), 0)
    alone[:, one] = True
    with pytest.raises(ValueError, match="'shuffled-view' leaves nothing of any sample"):
        corrupt(Views([x, x[:, :2]], mask=alone), "shuffled-view")


# As people use it -------------------------------------------------------------------------------------------


def test_it_takes_whatever_views_takes_and_shows_itself():
    arrays, _ = load_digits_views(return_X_y=True)
    found = corrupt(arrays, "shuffle-all-10")
    assert isinstance(found, Corrupted)
    assert found.views.names == tuple(arrays)
    n, v = len(found.scored), len(arrays)
    assert repr(found) == (
        f"Corrupted('shuffle-all-10': {v * round(n / 10)} spoiled rows, {found.scored.sum()} of {n} samples "
        f"scored, {v} of {v} views for the oracle)"
    )
    with pytest.raises(AttributeError):
        found.name = "clean"
    x = numbers()
    for given_views in ([x, x], (x, sparse.csr_array(x)), {"a": x, "b": x}):
        assert corrupt(given_views, "copies").views.n_views == 5
    views = Views([x, x])
    assert corrupt(views, "clean").views is views
    assert corrupt(views, "clean").oracle is views
