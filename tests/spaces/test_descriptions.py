"""Other descriptions of the same features, next to the same written out in plain loops."""

import math
from bisect import bisect_left, bisect_right

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from consilience import Views
from consilience.spaces import Space
from consilience.spaces.descriptions import OTHERS, can_be_described, described

every_form = pytest.mark.parametrize("name", OTHERS)


def numbers(n=40, d=5, seed=0):
    """Return features of very different sizes, some negative, some 0 and some the same."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)) * np.logspace(-2, 3, d)
    x[rng.random((n, d)) < 0.1] = 0.0
    x[:, 1] = np.round(x[:, 1])
    return x


def words(n=40, d=12, seed=0):
    return np.random.default_rng(seed).poisson(0.4, size=(n, d)).astype(float)


def of(x, name, seen=None):
    """Return the space of features in another description."""
    return described(Space("x", x, "euclidean", seen=seen), name)


def values(x, name, seen=None):
    """Return what the features become, dense."""
    space = of(x, name, seen)
    changed = space.scaling(space.rows)
    return changed.toarray() if sparse.issparse(changed) else changed


# The twins


def unit(row):
    length = math.sqrt(sum(value * value for value in row))
    return [value / length if length > 0 else 0.0 for value in row]


def logarithm(value):
    return math.copysign(math.log(1 + abs(value)), value)


def directions(x):
    means = [sum(column) / len(x) for column in x.T]
    return [unit([value - mean for value, mean in zip(row, means, strict=True)]) for row in x]


def logarithms(x):
    filled = sorted(abs(value) for value in x.ravel() if value != 0)
    unit_of_size = (filled[(len(filled) - 1) // 2] + filled[len(filled) // 2]) / 2 if filled else 1.0
    logs = np.array([[logarithm(value / unit_of_size) for value in row] for row in x])
    for column in logs.T:
        mean = sum(column) / len(column)
        variance = sum((value - mean) ** 2 for value in column) / len(column)
        column[:] = [(value - mean) / math.sqrt(variance) if variance > 1e-24 else 0.0 for value in column]
    return logs


def ranks(x):
    columns = [sorted(column) for column in x.T]
    found = []
    for row in x:
        below = [
            (bisect_left(column, value) + bisect_right(column, value)) / (2 * len(x))
            for column, value in zip(columns, row, strict=True)
        ]
        found.append(unit([share - 0.5 for share in below]))
    return found


def rarity(x):
    return [math.log((1 + len(x)) / max(sum(value != 0 for value in column), 1)) for column in x.T]


def roots(x):
    return [unit([math.copysign(math.sqrt(abs(value)), value) for value in row]) for row in x]


def rare_logarithms(x):
    return [unit([logarithm(v) * f for v, f in zip(row, rarity(x), strict=True)]) for row in x]


def presence(x):
    return [unit([(int(v > 0) - int(v < 0)) * f for v, f in zip(row, rarity(x), strict=True)]) for row in x]


DENSE = {"direction": directions, "log": logarithms, "rank": ranks}
SPARSE = {"direction": roots, "log": rare_logarithms, "rank": presence}


@every_form
@pytest.mark.parametrize("seed", range(3))
def test_dense_features_become_what_the_twin_says(name, seed):
    x = numbers(seed=seed)
    np.testing.assert_allclose(values(x, name), DENSE[name](x), atol=1e-12)


@every_form
@pytest.mark.parametrize("sign", [1, -1])
def test_sparse_features_become_what_the_twin_says(name, sign):
    x = words() * np.where(np.arange(12) % 3, 1, sign)
    space = of(sparse.csr_array(x), name)
    changed = space.scaling(space.rows)
    assert sparse.issparse(changed) and changed.nnz == np.count_nonzero(x)
    np.testing.assert_allclose(changed.toarray(), SPARSE[name](x), atol=1e-12)


def test_zeros_that_are_stored_are_no_presence():
    x = sparse.csr_array(words())
    stored = x.copy()
    stored.data[::5] = 0.0
    plain = stored.copy()
    plain.eliminate_zeros()
    for name in OTHERS:
        np.testing.assert_allclose(values(stored, name), values(plain, name), atol=1e-15)


@every_form
@pytest.mark.parametrize("make", [numbers, words, lambda: sparse.csr_array(words())])
def test_rows_that_come_later_become_what_they_became_in_the_fit(name, make):
    x = make()
    space = of(x, name)
    whole = space.scaling(space.rows)
    some = space.scaling(x[[7, 3, 7, 30]])
    if sparse.issparse(whole):
        whole, some = whole.toarray(), some.toarray()
    np.testing.assert_array_equal(some, whole[[7, 3, 7, 30]])
    np.testing.assert_array_equal(values(x, name), whole)  # and the features are as they were


@every_form
@pytest.mark.parametrize("learned", [np.asarray, sparse.csr_array])
def test_new_rows_may_be_sparse_or_dense_whatever_the_fit_was(name, learned):
    space = of(learned(words()), name)
    new = words(n=9, seed=1)
    found = [space.scaling(kind(new)) for kind in (np.asarray, sparse.csr_array)]
    assert all(sparse.issparse(one) == (learned is sparse.csr_array) for one in found)
    np.testing.assert_array_equal(*(one.toarray() if sparse.issparse(one) else one for one in found))


@every_form
def test_a_transform_knows_what_it_was_learned_from(name):
    for x, other in ((numbers(), sparse.csr_array(numbers())), (sparse.csr_array(words()), words())):
        transform = of(x, name).scaling
        assert transform.fits(x) and not transform.fits(other)
        if name != "direction" or not sparse.issparse(x):  # which has learned nothing
            assert not transform.fits(x[:, :3])


@every_form
def test_new_values_beyond_those_of_the_fit_stay_finite(name):
    space = of(numbers(), name)
    assert np.isfinite(space.scaling(np.array([[1e9] * 5, [-1e9] * 5, [0.0] * 5]))).all()


@every_form
@pytest.mark.parametrize("make", [numbers, lambda: sparse.csr_array(words())])
def test_rows_that_a_view_has_not_seen_have_no_influence(name, make):
    x = make()
    seen = np.arange(40) % 4 > 0
    other = x.copy()
    if sparse.issparse(x):
        other = sparse.csr_array(np.where(seen[:, None], x.toarray(), 99.0))
        x = sparse.csr_array(np.where(seen[:, None], x.toarray(), 0.0))
    else:
        x[~seen], other[~seen] = 0.0, 1e6
    np.testing.assert_array_equal(values(x, name, seen)[seen], values(other, name, seen)[seen])
    alone = values(x[seen], name)
    np.testing.assert_allclose(values(x, name, seen)[seen], alone, atol=1e-15)


def test_equal_values_have_equal_ranks_in_the_middle_of_theirs():
    x = np.array([[1.0, 0.0, 5.0], [1.0, 0.0, 5.0], [1.0, 1.0, 5.0], [2.0, 2.0, 5.0]])
    expected = np.array([[3 / 8, 1 / 4], [3 / 8, 1 / 4], [3 / 8, 5 / 8], [7 / 8, 7 / 8]]) - 0.5
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    found = values(x, "rank")
    np.testing.assert_allclose(found[:, :2], expected)
    np.testing.assert_array_equal(found[:, 2], 0.0)


@every_form
def test_a_constant_feature_says_nothing(name):
    x = numbers()
    flat = np.column_stack([x, np.full(40, 0.1)])
    found = values(flat, name)
    np.testing.assert_allclose(found[:, 5], 0.0, atol=1e-12)
    if name != "log":  # of which a typical entry is the unit
        np.testing.assert_allclose(values(x, name), found[:, :5], atol=1e-12)


@every_form
def test_features_that_are_all_the_same_become_all_the_same(name):
    for x in (np.zeros((9, 4)), np.full((9, 4), -3.7)):
        found = values(x, name)
        np.testing.assert_array_equal(found, np.tile(found[0], (9, 1)))
        assert np.isfinite(found).all()


@every_form
def test_a_row_of_zeros_stays_one_in_sparse_features(name):
    x = words()
    x[[0, 17]] = 0.0
    found = values(sparse.csr_array(x), name)
    np.testing.assert_array_equal(found[[0, 17]], 0.0)
    assert np.isfinite(found).all()


@every_form
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_single_precision_is_computed_in_double(name, kind):
    x = words().astype(np.float32)
    space = of(kind(x), name)
    found = space.scaling(space.rows)
    assert found.dtype == np.float64
    np.testing.assert_array_equal(values(kind(x), name), values(kind(x.astype(np.float64)), name))


def test_ranks_of_many_samples_are_those_of_a_thousand_quantiles():
    x = np.random.default_rng(0).normal(size=(5000, 3))
    space = of(x, "rank")
    assert space.scaling.quantiles.shape == (1000, 3)
    exact = x.argsort(axis=0).argsort(axis=0) / 5000 - 0.5
    lengths = np.linalg.norm(exact, axis=1, keepdims=True)
    wide = lengths.ravel() > 0.1  # the direction of a shorter row is that of the last digits of its ranks
    assert wide.mean() > 0.9
    np.testing.assert_allclose(values(x, "rank")[wide], (exact / lengths)[wide], atol=0.02)


FLOATS = hnp.arrays(
    np.float64,
    st.tuples(st.integers(2, 12), st.integers(1, 5)),
    elements=st.floats(-1e6, 1e6, allow_subnormal=False),
)


@given(FLOATS)
def test_directions_and_ranks_have_unit_length_or_none(x):
    for name in ("direction", "rank"):
        lengths = np.linalg.norm(values(x, name), axis=1)
        assert np.all((np.abs(lengths - 1) < 1e-9) | (lengths == 0))
    for name in OTHERS:
        lengths = np.linalg.norm(values(sparse.csr_array(x), name), axis=1)
        assert np.all((np.abs(lengths - 1) < 1e-9) | (lengths == 0))


@given(hnp.arrays(np.float64, st.tuples(st.integers(2, 12), st.integers(1, 5)), elements=st.integers(-9, 9)))
def test_ranks_depend_on_the_order_alone(x):
    np.testing.assert_array_equal(values(x, "rank"), values(np.exp(x / 3) * 7 - 2, "rank"))
    np.testing.assert_array_equal(values(x, "rank"), values(x**3, "rank"))


@given(FLOATS, st.floats(1e-3, 1e3))
def test_a_unit_changes_no_direction_and_no_logarithm(x, factor):
    for name in ("direction", "log"):
        first, other = values(x, name), values(x * factor, name)
        # A column that hardly varies may vary no longer.
        varies = x.std(axis=0) > 1e-6 * np.maximum(np.abs(x).max(axis=0), 1e-6)
        if varies.all() and np.linalg.norm(x - x.mean(axis=0), axis=1).min() > 1e-6 * np.abs(x).max():
            np.testing.assert_allclose(other, first, atol=1e-6)


def test_which_views_have_other_descriptions():
    rng = np.random.default_rng(0)
    views = Views({"wide": rng.normal(size=(9, 3)), "narrow": rng.normal(size=(9, 2))})
    assert can_be_described(views, 0, "euclidean", views.arrays[0])
    assert can_be_described(views, 0, "cosine", views.arrays[0])
    assert not can_be_described(views, 0, "manhattan", views.arrays[0])
    assert not can_be_described(views, 0, np.linalg.norm, views.arrays[0])
    assert not can_be_described(views, 1, "euclidean", views.arrays[1])
    square = Views({"square": np.abs(np.subtract.outer(range(9), range(9))) * 1.0}, pairwise=True)
    assert not can_be_described(square, 0, "euclidean", square.arrays[0])


def test_categories_have_no_other_descriptions():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({name: list("abcabcabc") for name in "xyz"})
    views = Views({"table": table})
    assert views.encodings[0] is not None
    assert not can_be_described(views, 0, "euclidean", views.arrays[0])
