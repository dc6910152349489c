import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics import pairwise_distances

from consilience import threads
from consilience.graph import EdgeSet
from consilience.neighbors import as_space, is_precomputed, metric_names, spaces
from consilience.neighbors.features import DenseSpace

BOOLEAN = {
    "dice", "jaccard", "kulsinski", "matching", "rogerstanimoto", "russellrao", "sokalmichener",
    "sokalsneath", "yule",
}  # fmt: skip
OTHER = [
    name
    for name in metric_names()
    if name not in ("auto", "euclidean", "cosine", "gower") and not is_precomputed(name)
]
BOTH = pytest.mark.parametrize("metric", ["euclidean", "cosine"])


def with_long_indices(csr):
    # The constructor would choose the narrowest type again.
    csr.indices, csr.indptr = csr.indices.astype(np.int64), csr.indptr.astype(np.int64)
    return csr


FORMS = {
    "dense": np.ascontiguousarray,
    "dense float32": lambda x: x.astype(np.float32),
    "csr_array": sparse.csr_array,
    "csr_matrix": sparse.csr_matrix,
    "csr int64": lambda x: with_long_indices(sparse.csr_array(x)),
    "csr float32": lambda x: sparse.csr_array(x.astype(np.float32)),
}
DOUBLE = ("dense", "csr_array")
every_form = pytest.mark.parametrize("form", FORMS)
double_forms = pytest.mark.parametrize("form", DOUBLE)


def dense(array):
    """What a form holds, in float64."""
    return np.asarray(array.toarray() if sparse.issparse(array) else array, dtype=np.float64)


def unit_rows(x):
    largest = np.abs(x).max(axis=1, keepdims=True)
    scaled = x / np.where(largest == 0, 1, largest)
    length = np.sqrt((scaled**2).sum(axis=1, keepdims=True))
    return scaled / np.where(length == 0, 1, length)


def squared_differences(x):
    return np.array([((x - row) ** 2).sum(axis=1) for row in x])


def keys(array, metric):
    """All pairs by definition: squared Euclidean distances, or twice the cosine distances."""
    x = dense(array)
    if metric == "euclidean":
        return squared_differences(x)
    found = squared_differences(unit_rows(x))
    blank = ~x.any(axis=1)
    found[blank | blank[:, None]] = 2.0
    np.fill_diagonal(found, 0)
    return found


def smallest(pairs, k):
    """The k smallest of each row by (value, index), itself left out."""
    pairs = pairs.copy()
    np.fill_diagonal(pairs, np.inf)
    return np.argsort(pairs, axis=1, kind="stable")[:, :k]


def assert_as_near(found, pairs, k, tolerance=1e-12):
    """The answer is right up to rounding: k others, as near as the k nearest."""
    assert found.shape == (len(pairs), k)
    assert all(len(set(row) - {i}) == k for i, row in enumerate(found.tolist()))
    expected = np.take_along_axis(pairs, smallest(pairs, k), axis=1)
    np.testing.assert_allclose(np.take_along_axis(pairs, found, axis=1), expected, rtol=tolerance, atol=0)


def all_pairs(n):
    return EdgeSet.from_support([sparse.csr_array(np.ones((n, n)))])


def on_pairs(space, n):
    """The values of a space on all pairs, as a matrix with zeros on the diagonal."""
    return all_pairs(n).to_csr(space.on_edges(all_pairs(n))).toarray()


@st.composite
def sizes(draw, most=300):
    """Number of samples, features and neighbours; often few neighbours, sometimes all."""
    n = draw(st.integers(2, most))
    k = draw(st.one_of(st.integers(1, min(n - 1, 12)), st.integers(1, n - 1), st.just(n - 1)))
    return n, draw(st.integers(1, 50)), k


seeds = st.integers(0, 2**32 - 1)


# Euclidean and cosine: the exact search


@every_form
@BOTH
@given(sizes(120), seeds)
@settings(max_examples=15, deadline=None)
def test_nearest_on_random_data(form, metric, size, seed):
    n, d, k = size
    # In one dimension there are but two directions, and all ties.
    x = FORMS[form](np.random.default_rng(seed).normal(size=(n, max(d, 3))))
    found = as_space(x, metric).nearest(k)
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, smallest(keys(x, metric), k))


@double_forms
@given(sizes(), seeds, st.integers(1, 3))
@settings(max_examples=30, deadline=None)
def test_ties_go_to_the_lower_index(form, size, seed, largest):
    n, d, k = size
    x = np.random.default_rng(seed).integers(-largest, largest + 1, size=(n, d)).astype(float)
    np.testing.assert_array_equal(
        as_space(FORMS[form](x), "euclidean").nearest(k), smallest(keys(x, "euclidean"), k)
    )


@every_form
def test_distances_equal_but_for_rounding_are_ties_and_others_are_not(form):
    rng = np.random.default_rng(0)
    # All at the same distance from row 0, as sums of the same squares in other orders.
    others = np.array([rng.permutation(np.arange(1, 12) / 10) for _ in range(60)])
    x = FORMS[form](np.vstack([np.zeros(11), others]))
    assert len(np.unique((dense(x)[1:] ** 2).sum(axis=1))) > 1
    np.testing.assert_array_equal(as_space(x, "euclidean").nearest(20)[0], np.arange(1, 21))
    rest = dense(x)
    rest[1:] *= np.linspace(1 + 1e-6, 1, 60)[:, None]
    if "32" not in form:
        np.testing.assert_array_equal(
            as_space(FORMS[form](rest), "euclidean").nearest(20)[0], np.arange(60, 40, -1)
        )


@double_forms
def test_ties_are_found_where_the_bounds_of_the_fast_search_are_tighter(form):
    # Squared distances from row 0 fall from 1 + 1.2e-13 to 1; rounding of so few terms is far below that.
    x = np.r_[0, 1 + np.arange(60, 0, -1) * 1e-15][:, None]
    np.testing.assert_array_equal(as_space(FORMS[form](x), "euclidean").nearest(20)[0], np.arange(1, 21))


@double_forms
@given(sizes(100), seeds)
@settings(max_examples=20, deadline=None)
def test_cosine_of_integers_is_right_up_to_rounding(form, size, seed):
    n, d, k = size
    x = np.random.default_rng(seed).integers(-1, 2, size=(n, d)).astype(float)
    found, pairs = as_space(FORMS[form](x), "cosine").nearest(k), keys(x, "cosine")
    # Adding 1 turns an absolute tolerance, needed at distance 0, into a relative one.
    assert_as_near(found, pairs + 1, k)


@every_form
@BOTH
def test_every_row_many_times_keeps_k_neighbours_and_never_itself(form, metric):
    rng = np.random.default_rng(1)
    kinds = rng.normal(size=(4, 3))
    x = FORMS[form](kinds[rng.integers(4, size=90)])
    for k in (1, 5, 40, 89):
        found = as_space(x, metric).nearest(k)
        np.testing.assert_array_equal(found, smallest(keys(x, metric), k))
        assert not (found == np.arange(90)[:, None]).any()


@every_form
@BOTH
@pytest.mark.parametrize("value", [0.0, 0.5, 0.3])  # the mean of many 0.3 is another number
def test_all_rows_the_same(form, metric, value):
    x = FORMS[form](np.full((70, 3), value))
    np.testing.assert_array_equal(as_space(x, metric).nearest(4), smallest(np.zeros((70, 70)), 4))


@every_form
def test_rows_of_zeros_are_at_cosine_distance_one_from_all(form):
    rng = np.random.default_rng(2)
    dense_rows = rng.normal(size=(40, 6))  # some nearer than 1, some farther
    blank = np.array([0, 7, 8, 20, 39])
    dense_rows[blank] = 0
    x = FORMS[form](dense_rows)
    space = as_space(x, "cosine")
    for k in (1, 6, 39):
        np.testing.assert_array_equal(space.nearest(k), smallest(keys(x, "cosine"), k))
    pairs = on_pairs(space, 40)
    off = ~np.eye(40, dtype=bool)
    assert (pairs[blank][off[blank]] == 1).all()
    assert (pairs[:, blank][off[:, blank]] == 1).all()


@every_form
def test_orthogonal_rows_tie_with_each_other_and_with_rows_of_zeros(form):
    # Samples without a common feature are common in text; 1 - cos is exactly 1 for each such pair.
    rng = np.random.default_rng(3)
    counts = np.zeros((40, 60))
    for row in counts[:35]:
        row[rng.choice(60, 3, replace=False)] = rng.integers(1, 4, 3)
    common = (counts > 0).astype(int) @ (counts > 0).T
    found = as_space(FORMS[form](counts), "cosine").nearest(39)
    for i, row in enumerate(found):
        apart = row[common[i, row] == 0]
        np.testing.assert_array_equal(apart, np.sort(apart))
        np.testing.assert_array_equal(row[len(row) - len(apart) :], apart)  # no cosine is negative here


@every_form
def test_rows_of_equal_direction_tie_whatever_their_length(form):
    rng = np.random.default_rng(4)
    x = FORMS[form](np.outer(rng.permutation(np.arange(1.0, 51.0)), [1.0, 2.0, 3.0, 7.0]))
    space = as_space(x, "cosine")
    np.testing.assert_array_equal(space.nearest(8), smallest(np.zeros((50, 50)), 8))
    assert not on_pairs(space, 50).any()


@pytest.mark.parametrize("form", ["dense float32", "csr float32"])
def test_single_precision_data_is_measured_in_double_precision(form):
    x = FORMS[form](1 + 1e-4 * np.random.default_rng(5).normal(size=(150, 8)))
    for metric in ("euclidean", "cosine"):
        space, pairs = as_space(x, metric), keys(x, metric)
        np.testing.assert_array_equal(space.nearest(6), smallest(pairs, 6))
        expected = pairs if metric == "euclidean" else (pairs / 2) ** 2
        np.testing.assert_allclose(on_pairs(space, 150), expected, rtol=1e-6)


@double_forms
@given(sizes(120), seeds)
@settings(max_examples=15, deadline=None)
def test_a_huge_common_offset_does_not_matter(form, size, seed):
    n, d, k = size
    # Sixteenths near 1e9 and their differences have no rounding, so that ties are ties.
    near = np.random.default_rng(seed).integers(-20, 21, size=(n, d)) / 16
    space = as_space(FORMS[form](1e9 + near), "euclidean")
    np.testing.assert_array_equal(space.nearest(k), smallest(keys(near, "euclidean"), k))
    np.testing.assert_array_equal(on_pairs(space, n), keys(near, "euclidean"))


def one_outlier(rng):
    x = rng.normal(size=(150, 5))
    x[77] = 1e13
    return x


def outliers_on_both_sides(rng):
    x = rng.normal(size=(150, 5))
    x[10], x[90] = 1e22, -1e22
    return x


def one_column_rules(rng):
    x = rng.normal(size=(150, 5))
    x[:, 2] = rng.uniform(-3e13, 3e13, size=150)
    return x


def one_column_rules_with_ties(rng):
    x = rng.normal(size=(150, 5))
    x[:, 2] = rng.integers(0, 4, size=150) * 1e13
    return x


def every_row_has_its_own_scale(rng):
    return rng.normal(size=(150, 5)) * 10.0 ** rng.integers(-12, 13, size=(150, 1))


@double_forms
@pytest.mark.parametrize(
    "make",
    [
        one_outlier,
        outliers_on_both_sides,
        one_column_rules,
        one_column_rules_with_ties,
        every_row_has_its_own_scale,
    ],
)
def test_scales_far_apart(form, make):
    x = make(np.random.default_rng(6))
    for metric in ("euclidean", "cosine"):
        pairs = keys(x, metric)
        space = as_space(FORMS[form](x), metric)
        shift = 1 if metric == "cosine" else 0  # rows on one line: absolute, not relative accuracy
        for k in (1, 7, 149):
            assert_as_near(space.nearest(k), pairs + shift, k)


@BOTH
@pytest.mark.parametrize(
    ("form", "unit"),
    [(form, unit) for form in DOUBLE for unit in (1e-200, 1e-30, 1e30, 1e150)]
    + [(form, unit) for form in ("dense float32", "csr float32") for unit in (1e-30, 1e-20, 1e30)],
)
def test_tiny_and_huge_values(form, unit, metric):
    x = np.random.default_rng(7).normal(size=(130, 4))
    x[::3, 0] = 0
    x = FORMS[form](x * unit)
    space, pairs = as_space(x, metric), keys(x, metric)
    expected = pairs if metric == "euclidean" else (pairs / 2) ** 2
    np.testing.assert_allclose(on_pairs(space, 130), expected, rtol=1e-9, atol=1e-300)
    if pairs.any():
        np.testing.assert_array_equal(space.nearest(9), smallest(pairs, 9))
    else:  # the squares of 1e-200 are 0 in float64
        assert_as_near(space.nearest(9), pairs, 9)


@every_form
@pytest.mark.parametrize("n", [2, 3, 65, 300])
def test_one_feature(form, n):
    x = FORMS[form](np.random.default_rng(n).integers(-9, 10, size=(n, 1)) / 4)
    for k in {1, min(3, n - 1), n - 1}:
        found = as_space(x, "euclidean").nearest(k)
        np.testing.assert_array_equal(found, smallest(keys(x, "euclidean"), k))
        # 1 - cos is 0, 1 or 2 here: same sign, a zero, other sign.
        found = as_space(x, "cosine").nearest(k)
        np.testing.assert_array_equal(found, smallest(keys(x, "cosine"), k))


@every_form
@BOTH
def test_number_of_features_beyond_number_of_samples(form, metric):
    x = FORMS[form](np.random.default_rng(8).normal(size=(12, 700)))
    np.testing.assert_array_equal(as_space(x, metric).nearest(11), smallest(keys(x, metric), 11))


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan", "precomputed_squared_distance"])
def test_blocks_of_rows_do_not_matter(metric, monkeypatch):
    x = np.random.default_rng(9).normal(size=(203, 5))
    x = keys(x, "euclidean") if metric == "precomputed_squared_distance" else x
    edges = EdgeSet.union([as_space(x, metric).nearest(7)])
    whole = as_space(x, metric).nearest(7), as_space(x, metric).on_edges(edges)
    for size in (1, 4 * 203 * 50):
        monkeypatch.setattr(spaces, "_BLOCK_BYTES", size)
        np.testing.assert_array_equal(as_space(x, metric).nearest(7), whole[0])
        np.testing.assert_array_equal(as_space(x, metric).on_edges(edges), whole[1])


@pytest.mark.parametrize("size", [1, 1000, 10**5, 10**9])
def test_blocks_cover_the_rows_once(size, monkeypatch):
    monkeypatch.setattr(spaces, "_BLOCK_BYTES", size)
    for first, last in ((0, None), (5, 90), (8, 8)):
        rows = [i for start, stop in spaces.row_blocks(100, 8, first, last) for i in range(start, stop)]
        assert rows == list(range(first, 100 if last is None else last))


@every_form
@BOTH
def test_one_thread_and_several_give_the_same_bits(form, metric):
    x = FORMS[form](np.random.default_rng(10).normal(size=(800, 6)))
    found = []
    for n_threads in (1, 2, 5):
        with threads.limit(n_threads):
            space = as_space(x, metric)
            nearest = space.nearest(5)
            found.append((nearest, space.on_edges(EdgeSet.union([nearest]))))
    for nearest, values in found[1:]:
        np.testing.assert_array_equal(nearest, found[0][0])
        np.testing.assert_array_equal(values, found[0][1])


def test_several_python_threads_may_search_one_space_at_once():
    space = as_space(np.random.default_rng(11).normal(size=(400, 6)), "euclidean")
    expected = space.nearest(5)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: space.nearest(5), range(8)):
            np.testing.assert_array_equal(found, expected)


@every_form
@BOTH
def test_values_on_edges_are_squared_distances_the_same_both_ways(form, metric):
    x = np.random.default_rng(12).normal(size=(60, 5))
    x[x < -0.5] = 0
    x = FORMS[form](x)
    found = on_pairs(as_space(x, metric), 60)
    expected = pairwise_distances(dense(x), metric=metric) ** 2
    np.testing.assert_allclose(found, expected, rtol=1e-6 if "32" in form else 1e-9, atol=1e-14)
    np.testing.assert_array_equal(found, found.T)
    assert found.dtype == np.float64


def parts(x):
    return (x.data, x.indices, x.indptr) if sparse.issparse(x) else (x,)


@every_form
@BOTH
def test_input_is_left_alone(form, metric):
    x = FORMS[form](np.random.default_rng(13).normal(size=(50, 4)))
    before = [part.copy() for part in parts(x)]
    space = as_space(x, metric)
    space.nearest(3)
    on_pairs(space, 50)
    space.is_constant()
    for part, old in zip(parts(x), before, strict=True):
        np.testing.assert_array_equal(part, old)


@double_forms
def test_input_may_be_read_only(form):
    x = FORMS[form](np.random.default_rng(13).normal(size=(50, 4)))
    for part in parts(x):
        part.setflags(write=False)
    space = as_space(x, "euclidean")
    np.testing.assert_array_equal(space.nearest(3), smallest(keys(x, "euclidean"), 3))
    np.testing.assert_allclose(on_pairs(space, 50), keys(x, "euclidean"), rtol=1e-12)


@BOTH
def test_stored_zeros_change_nothing(metric):
    x = np.random.default_rng(14).integers(-2, 3, size=(40, 5)).astype(float)
    full = sparse.csr_array(np.ones((40, 5)))
    full.data = x.ravel().copy()
    assert full.nnz == x.size
    np.testing.assert_array_equal(
        as_space(full, metric).nearest(9), as_space(sparse.csr_array(x), metric).nearest(9)
    )


# Other metrics


def data_for(metric, n=40):
    rng = np.random.default_rng(15)
    if metric in BOOLEAN:
        x = rng.random((n, 8)) < 0.4
        x[:, 0] |= ~x.any(axis=1)  # between two rows of zeros some of them are 0 / 0
        return x
    return rng.uniform(0.1, 1.5, size=(n, 2 if metric == "haversine" else 4))


@pytest.mark.parametrize("metric", OTHER)
def test_every_other_metric_is_that_of_scikit_learn(metric, monkeypatch):
    monkeypatch.setattr(spaces, "_BLOCK_BYTES", 1)
    x = data_for(metric)
    name = {"sqeuclidean": "euclidean"}.get(metric, metric)  # resolve_metrics does the same
    distances = pairwise_distances(x, metric=name)
    space = as_space(x, name)
    for k in (1, 6, 39):
        np.testing.assert_array_equal(space.nearest(k), smallest(distances, k))
    np.fill_diagonal(distances, 0)
    np.testing.assert_allclose(on_pairs(space, 40), distances**2, rtol=1e-12)
    assert space.kind == "distance"


@pytest.mark.parametrize("metric", sorted(BOOLEAN & set(OTHER)))
def test_metrics_of_booleans_take_zeros_and_ones_without_a_warning(metric):
    # Views turns booleans into floats.
    x = data_for(metric)
    np.testing.assert_array_equal(
        as_space(x.astype(float), metric).nearest(5), smallest(pairwise_distances(x, metric=metric), 5)
    )


@pytest.mark.parametrize("metric", sorted(BOOLEAN & set(OTHER)))
def test_metrics_of_booleans_refuse_numbers_that_say_nothing_to_them(metric):
    x = np.random.default_rng(15).uniform(1, 2, size=(20, 3))
    with pytest.raises(ValueError, match=f"{metric}.*view 'sizes'.*0 and 1"):
        as_space(x, metric, name="sizes")
    assert as_space(np.ones((20, 3)), metric).is_constant()
    x[3, 1] = 0
    assert not as_space(x, metric).is_constant()


@pytest.mark.parametrize("metric", ["seuclidean", "mahalanobis"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_metrics_defined_by_the_whole_data_do_not_depend_on_blocks(metric, dtype, monkeypatch):
    rng = np.random.default_rng(16)
    x = (rng.normal(size=(60, 3)) @ rng.normal(size=(3, 3))).astype(dtype)
    x[:8] *= 100  # the first block alone would give another variance
    whole = on_pairs(as_space(x, metric), 60)
    monkeypatch.setattr(spaces, "_BLOCK_BYTES", 1)
    np.testing.assert_array_equal(on_pairs(as_space(x, metric), 60), whole)
    if metric == "seuclidean":
        inverse = np.diag(1 / np.var(x.astype(float), axis=0, ddof=1))
    else:
        inverse = np.linalg.inv(np.cov(x.astype(float).T))
    differences = (x[:, None] - x[None]).astype(float)
    expected = np.einsum("ijf,fg,ijg->ij", differences, inverse, differences)
    np.testing.assert_allclose(whole, expected, rtol=1e-10 if dtype == np.float64 else 1e-3, atol=1e-12)


def test_mahalanobis_of_one_feature_is_the_difference_in_deviations():
    x = np.random.default_rng(17).normal(size=(20, 1))
    expected = (x - x.T) ** 2 / np.var(x, ddof=1)
    np.testing.assert_allclose(on_pairs(as_space(x, "mahalanobis"), 20), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("metric", "spoil"),
    [
        ("seuclidean", lambda x: x[:, 1].fill(4.0)),  # a constant feature: 0 / 0
        ("mahalanobis", lambda x: x[:, 1].fill(4.0)),
        ("braycurtis", lambda x: x[3:5].fill(0.0)),  # two rows of zeros: 0 / 0
    ],
    ids=["seuclidean", "mahalanobis", "braycurtis"],
)
def test_undefined_distances_are_refused_or_defined_but_never_nan(metric, spoil):
    x = data_for(metric)
    spoil(x)
    try:
        space = as_space(x, metric, name="sizes")
        values = on_pairs(space, 40)
        nearest = space.nearest(5)
    except ValueError as error:
        assert "sizes" in str(error)
    else:
        assert np.isfinite(values).all()
        assert not (nearest == np.arange(40)[:, None]).any()


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("metric", ["manhattan", "haversine"])
def test_sparse_views_under_other_metrics(kind, metric):
    x = np.random.default_rng(18).uniform(0, 1.5, size=(40, 2))
    x[x < 0.5] = 0
    distances = pairwise_distances(x, metric=metric)
    space = as_space(kind(x), metric)
    np.testing.assert_allclose(on_pairs(space, 40), distances**2, rtol=1e-12, atol=1e-30)
    # Sums of few terms: the same to the last bit, ties at 0 included.
    assert_as_near(space.nearest(5), distances + 1, 5)


def test_sparse_view_under_a_metric_that_needs_dense_data():
    with pytest.raises(ValueError, match="'chebyshev' does not take the sparse view 'words'"):
        as_space(sparse.csr_array(np.eye(5)), "chebyshev", name="words")


def test_haversine_takes_two_features():
    with pytest.raises(ValueError, match="2 features, view 'places' has 3"):
        as_space(np.ones((5, 3)), "haversine", name="places")


# Precomputed


def symmetric(n, seed, largest=9):
    upper = np.triu(np.random.default_rng(seed).integers(0, largest + 1, size=(n, n)), 1)
    return (upper + upper.T).astype(float)


@given(st.integers(2, 80), seeds, st.data())
@settings(max_examples=30, deadline=None)
def test_precomputed_distances(n, seed, data):
    k = data.draw(st.integers(1, n - 1))
    matrix = symmetric(n, seed)
    plain = as_space(matrix, "precomputed_distance")
    squared = as_space(matrix, "precomputed_squared_distance")
    assert plain.kind == squared.kind == "distance"
    np.testing.assert_array_equal(plain.nearest(k), smallest(matrix, k))
    np.testing.assert_array_equal(squared.nearest(k), smallest(matrix, k))
    np.testing.assert_array_equal(on_pairs(plain, n), matrix**2)
    np.testing.assert_array_equal(on_pairs(squared, n), matrix)


@given(st.integers(2, 80), seeds, st.integers(1, 3), st.data())
@settings(max_examples=30, deadline=None)
def test_precomputed_similarities(n, seed, largest, data):
    k = data.draw(st.integers(1, n - 1))
    matrix = symmetric(n, seed, largest)
    np.fill_diagonal(matrix, 5)
    ordered = smallest(-matrix, k)
    none = np.take_along_axis(matrix, ordered, axis=1) == 0
    expected = np.where(none, np.arange(n)[:, None], ordered)
    off = matrix - np.diag(matrix.diagonal())
    for form in (matrix, matrix.astype(np.float32), sparse.csr_array(matrix), sparse.csr_matrix(matrix)):
        space = as_space(form, "precomputed_similarity")
        assert space.kind == "similarity"
        found = space.nearest(k)
        if sparse.issparse(form):  # which of equal ones: test_ties.py
            np.testing.assert_array_equal(
                np.take_along_axis(off, found, 1), np.take_along_axis(off, expected, 1)
            )
            named = [row[row != i].tolist() for i, row in enumerate(found)]
            assert all(len(set(row)) == len(row) for row in named)
        else:
            np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(on_pairs(space, n), off)


def test_matrices_need_not_be_symmetric():
    matrix = np.array([[0.0, 2, 1, 9], [5, 0, 6, 7], [1, 8, 0, 2], [3, 3, 2, 0]])
    np.testing.assert_array_equal(
        as_space(matrix, "precomputed_distance").nearest(2), [[2, 1], [0, 2], [0, 3], [2, 0]]
    )
    np.fill_diagonal(matrix, 1)
    np.testing.assert_array_equal(
        as_space(matrix, "precomputed_similarity").nearest(2), [[3, 1], [3, 2], [1, 3], [0, 1]]
    )


def test_the_least_positive_similarity_is_a_neighbour_and_zero_is_not():
    matrix = np.zeros((3, 3))
    matrix[0, 2] = matrix[2, 0] = 5e-324
    matrix[1, 1] = 1
    for form in (matrix, sparse.csr_array(matrix)):
        np.testing.assert_array_equal(
            as_space(form, "precomputed_similarity").nearest(2), [[2, 0], [1, 1], [0, 2]]
        )


def test_stored_zero_similarity_is_no_neighbour():
    stored = sparse.csr_array((np.array([1.0, 0, 1, 2]), ([0, 0, 1, 2], [1, 2, 0, 2])), shape=(3, 3))
    np.testing.assert_array_equal(
        as_space(stored, "precomputed_similarity").nearest(2), [[1, 0], [0, 1], [2, 2]]
    )


GOOD = symmetric(5, 0) + 1 - np.eye(5)


def spoiled(*places):
    """Distances with some entries replaced: (i, j, value)."""
    matrix = GOOD.copy()
    for i, j, value in places:
        matrix[i, j] = value
    return matrix


@pytest.mark.parametrize(
    ("matrix", "metric", "message"),
    [
        (np.ones((3, 4)), "precomputed_distance", "'m' is 3 x 4.*square"),
        (sparse.csr_array(np.ones((4, 3))), "precomputed_similarity", "'m' is 4 x 3.*square"),
        (spoiled((1, 3, -2.5)), "precomputed_distance", "'m'.*distance -2.5 between samples 1 and 3"),
        (spoiled((1, 3, -2.5)), "precomputed_squared_distance", "-2.5 .* distances must not be negative"),
        (spoiled((4, 0, -1)), "precomputed_similarity", "similarity -1 between samples 4 and 0"),
        (spoiled((4, 0, -1)), "precomputed_similarity", "similarities must not be negative"),
        (sparse.csr_array(spoiled((4, 0, -1))), "precomputed_similarity", "-1 between samples 4 and 0"),
        (spoiled((2, 2, 7)), "precomputed_distance", "7 from sample 2 to itself.*'precomputed_similarity'"),
        (spoiled((2, 2, 7)), "precomputed_squared_distance", "7 from sample 2 to itself"),
        (GOOD, "precomputed_similarity", "'m' is 0 on the diagonal.*'precomputed_distance'"),
        (sparse.csr_array(GOOD), "precomputed_distance", "'m' holds distances in a sparse matrix"),
        (sparse.csr_matrix(GOOD), "precomputed_squared_distance", "'m' holds distances in a sparse matrix"),
    ],
)
def test_bad_matrices_are_refused_with_advice(matrix, metric, message):
    with pytest.raises(ValueError, match=message):
        as_space(matrix, metric, name="m")


def test_refusing_a_large_sparse_graph_takes_no_dense_copy():
    graph = sparse.csr_array((np.array([1.0, -1.0]), ([3, 7], [8, 5])), shape=(10**6, 10**6))
    with pytest.raises(ValueError, match="-1 between samples 7 and 5"):
        as_space(graph, "precomputed_similarity")


def test_a_complete_part_of_a_sparse_graph_is_not_taken_for_distances():
    # Nobody stores distances sparsely, and two linked samples are a complete graph.
    chain = sparse.csr_array(np.diag(np.ones(5), 1) + np.diag(np.ones(5), -1))
    seen = np.array([True, True, False, False, False, False])
    found = as_space(chain, "precomputed_similarity", seen=seen).nearest(1)
    np.testing.assert_array_equal(found[:, 0], [1, 0, 2, 3, 4, 5])


# Samples that a view has not seen


def views_with_gaps():
    rng = np.random.default_rng(19)
    x = rng.normal(size=(50, 4))
    x[x < -0.7] = 0
    similarity = symmetric(50, 3, 4) + np.eye(50)
    return [
        ("euclidean", x),
        ("euclidean", sparse.csr_array(x)),
        ("cosine", x),
        ("cosine", sparse.csr_matrix(x)),
        ("manhattan", x),
        ("chebyshev", x),
        ("precomputed_distance", keys(x, "euclidean")),
        ("precomputed_similarity", similarity),
        ("precomputed_similarity", sparse.csr_array(similarity)),
    ]


@pytest.mark.parametrize("n_seen", [2, 3, 9, 30, 49])
@pytest.mark.parametrize(
    ("metric", "array"), views_with_gaps(), ids=[f"{m}-{type(a).__name__}" for m, a in views_with_gaps()]
)
def test_only_samples_seen_are_neighbours_as_if_there_were_no_others(metric, array, n_seen):
    rng = np.random.default_rng(n_seen)
    seen = np.zeros(50, dtype=bool)
    members = np.sort(rng.choice(50, n_seen, replace=False))
    seen[members] = True
    part = array[members]
    part = part[:, members] if metric.startswith("precomputed") else part
    alone, space = as_space(part, metric), as_space(array, metric, seen=seen)
    assert space.kind == alone.kind

    k = 5
    expected = np.repeat(np.arange(50)[:, None], k, axis=1)
    k_alone = min(k, n_seen - 1)
    expected[members, :k_alone] = members[alone.nearest(k_alone)]
    found = space.nearest(k)
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, expected)

    values = on_pairs(space, 50)
    np.testing.assert_array_equal(values[np.ix_(members, members)], on_pairs(alone, n_seen))
    assert not values[~seen].any()
    assert not values[:, ~seen].any()


@pytest.mark.parametrize("n_seen", [0, 1])
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
def test_views_that_saw_nobody_or_one_sample_have_no_neighbours(metric, n_seen):
    x = np.random.default_rng(20).random((8, 3))
    seen = np.arange(8) < n_seen
    for form in (x, sparse.csr_array(x)):
        space = as_space(form, metric, seen=seen)
        np.testing.assert_array_equal(space.nearest(2), np.repeat(np.arange(8)[:, None], 2, axis=1))
        assert not on_pairs(space, 8).any()
        assert space.is_constant()


def test_values_of_unseen_samples_do_not_matter():
    x = np.random.default_rng(21).normal(size=(30, 3))
    seen = np.arange(30) % 3 > 0
    other = x.copy()
    other[~seen] = 1e9
    for metric in ("euclidean", "cosine", "seuclidean"):
        one, two = (as_space(values, metric, seen=seen) for values in (x, other))
        np.testing.assert_array_equal(one.nearest(4), two.nearest(4))
        np.testing.assert_array_equal(on_pairs(one, 30), on_pairs(two, 30))


def test_a_view_that_has_seen_all_is_an_ordinary_space():
    x = np.random.default_rng(22).normal(size=(10, 3))
    assert isinstance(as_space(x, "euclidean", seen=np.ones(10, dtype=bool)), DenseSpace)


# Constant views


@every_form
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
def test_equal_rows_are_constant_and_one_other_row_is_not(form, metric):
    x = np.tile([0.1, 0.0, 0.7], (20, 1))
    assert as_space(FORMS[form](x), metric).is_constant()
    assert as_space(FORMS[form](np.zeros((20, 3))), metric).is_constant()
    for place in (0, 11, 19):
        other = x.copy()
        other[place, 1] = 1e-3  # one entry more in sparse form
        assert not as_space(FORMS[form](other), metric).is_constant()
        other[place] = [0.7, 0.0, 0.1]  # as many entries
        assert not as_space(FORMS[form](other), metric).is_constant()
        other[place] = 0
        assert not as_space(FORMS[form](other), metric).is_constant()


@every_form
def test_rows_of_one_direction_are_constant_under_cosine_only(form):
    x = FORMS[form](np.outer(np.arange(1.0, 51.0), [1.0, 2.0, 3.0]))
    assert as_space(x, "cosine").is_constant()
    assert not as_space(x, "euclidean").is_constant()


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
def test_stored_zeros_do_not_make_rows_differ(metric):
    x = sparse.csr_array((np.array([1.0, 1, 0, 1]), ([0, 1, 1, 2], [0, 0, 1, 0])), shape=(3, 2))
    assert as_space(x, metric).is_constant()


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csr_matrix])
def test_constant_similarities(form):
    def constant(matrix):
        return as_space(form(matrix), "precomputed_similarity").is_constant()

    assert constant(np.zeros((4, 4)))
    assert constant(np.eye(4)), "a sample's similarity to itself is no edge"
    assert constant(np.full((4, 4), 0.5))
    assert constant(np.full((4, 4), 0.5) + np.diag([1.0, 2, 3, 4]))
    for place in ((0, 1), (0, 3), (3, 0), (2, 1)):
        almost = np.full((4, 4), 0.5)
        almost[place] = 0.25
        assert not constant(almost)
        almost[place] = 0
        assert not constant(almost)
        lonely = np.eye(4)
        lonely[place] = 1
        assert not constant(lonely)


def test_stored_zero_similarities_are_constant():
    stored = sparse.csr_array((np.zeros(3), ([0, 1, 2], [1, 2, 0])), shape=(4, 4))
    assert as_space(stored, "precomputed_similarity").is_constant()


@pytest.mark.parametrize("metric", ["precomputed_distance", "precomputed_squared_distance"])
def test_constant_distances(metric):
    assert as_space(np.zeros((4, 4)), metric).is_constant()
    assert as_space(1 - np.eye(4), metric).is_constant()
    for place in ((0, 1), (0, 3), (3, 2)):
        almost = 1 - np.eye(4)
        almost[place] = 2
        assert not as_space(almost, metric).is_constant()


def test_constant_among_the_samples_seen():
    x = np.array([[1.0], [5.0], [1.0], [1.0]])
    assert as_space(x, "euclidean", seen=np.array([True, False, True, True])).is_constant()
    assert not as_space(x, "euclidean", seen=np.array([True, True, True, False])).is_constant()


# The mean over all pairs


def assert_mean_over_pairs(space, pairs, rtol=1e-12):
    """The mean of these pairs by definition, a sample's with itself counted as 0."""
    pairs = pairs.copy()
    np.fill_diagonal(pairs, 0)
    np.testing.assert_allclose(space.mean_over_pairs(), pairs.mean(), rtol=rtol)


@every_form
@BOTH
@pytest.mark.parametrize("n_zero", [0, 1, 7, 30])
def test_mean_of_squared_euclidean_and_of_plain_cosine_distances(form, metric, n_zero):
    x = np.random.default_rng(20).normal(size=(30, 6))
    x[x < -0.5] = 0
    x[:n_zero] = 0
    x = FORMS[form](x)
    pairs = keys(x, metric) if metric == "euclidean" else keys(x, metric) / 2
    assert_mean_over_pairs(as_space(x, metric), pairs, rtol=1e-6 if "32" in form else 1e-12)


@double_forms
@BOTH
def test_mean_over_pairs_of_data_far_from_the_origin(form, metric):
    # Sums of squares, or of unit rows, would cancel here to nothing.
    x = 1e8 + np.random.default_rng(21).integers(0, 5, size=(40, 3)).astype(float)
    exact = (x[:, None] - x[None]) ** 2
    pairs = exact.sum(axis=2)
    if metric == "cosine":
        unit = unit_rows(x)
        pairs = ((unit[:, None] - unit[None]) ** 2).sum(axis=2) / 2
    assert_mean_over_pairs(as_space(FORMS[form](x), metric), pairs, rtol=1e-6)


@pytest.mark.parametrize("metric", OTHER)
def test_mean_over_pairs_of_other_metrics(metric, monkeypatch):
    monkeypatch.setattr(spaces, "_BLOCK_BYTES", 1)
    x = data_for(metric)
    name = {"sqeuclidean": "euclidean"}.get(metric, metric)
    distances = pairwise_distances(x, metric=name)
    assert_mean_over_pairs(as_space(x, name), distances if name == "correlation" else distances**2)


def test_mean_over_pairs_of_given_matrices():
    matrix = np.random.default_rng(22).uniform(1, 2, size=(20, 20))  # not symmetric
    np.fill_diagonal(matrix, 0)
    for dtype, rtol in ((np.float64, 1e-12), (np.float32, 1e-6)):
        given = matrix.astype(dtype)
        assert_mean_over_pairs(as_space(given, "precomputed_distance"), matrix**2, rtol)
        assert_mean_over_pairs(as_space(given, "precomputed_squared_distance"), matrix, rtol)
    np.fill_diagonal(matrix, 3)
    for form in (matrix, sparse.csr_array(matrix), sparse.csr_matrix(matrix)):
        assert_mean_over_pairs(as_space(form, "precomputed_similarity"), matrix)


@BOTH
def test_mean_over_pairs_is_of_samples_seen(metric):
    x = np.random.default_rng(23).normal(size=(30, 4))
    seen = np.arange(30) % 3 > 0
    expected = as_space(x[seen], metric).mean_over_pairs()
    assert as_space(x, metric, seen=seen).mean_over_pairs() == expected


def test_mean_over_pairs_of_a_given_matrix_takes_no_second_one():
    matrix = np.ones((1000, 1000), dtype=np.float32)
    np.fill_diagonal(matrix, 0)
    space = as_space(matrix, "precomputed_distance")
    tracemalloc.start()
    try:
        space.mean_over_pairs()
        assert tracemalloc.get_traced_memory()[1] < matrix.nbytes / 4
    finally:
        tracemalloc.stop()
