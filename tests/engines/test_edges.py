"""Edges and the values on them, by every engine: union of lists, standardising, similarities."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tests.engines.names import HOST_ENGINES

from consilience.engines import get_engine, threads
from consilience.engines.numba import edges as edge_passes
from consilience.graphs import EdgeKernel, EdgeSet


@pytest.fixture(params=HOST_ENGINES, scope="module")
def engine(request):
    return get_engine(request.param)


def star(n_edges, seen=None):
    """Return edges from one sample to all others, to have values on; `seen` by the only view."""
    indptr = np.concatenate([[0], np.full(n_edges + 1, n_edges)])
    return EdgeSet(indptr, np.arange(1, n_edges + 1), None if seen is None else seen[None])


def weights_of(engine, values, kernel, seen):
    parts = [(engine.adopt(values), kernel)]
    return engine.fetch(engine.weigh(engine.adopt(star(len(values), seen)), 1, parts, double=True))[0]


def standardize(engine, squared, seen=None):
    """Standardise squared distances as before a fusion of distances."""
    judged = engine.judged(engine.adopt(star(len(squared), seen)))
    moments = engine.moments(engine.adopt(squared), judged, 0)
    return weights_of(engine, squared, EdgeKernel(moments=moments), seen)


def gaussian_similarity(engine, values, seen=None):
    """Turn standardised squared distances into similarities as before a fusion of similarities."""
    judged = engine.judged(engine.adopt(star(len(values), seen)))
    sigma = engine.mean_root(engine.adopt(values), judged, 0)
    return weights_of(engine, values, EdgeKernel(width=2 * sigma**2), seen)


def fused_similarity(engine, fused):
    """Turn fused squared distances into similarities, as after a fusion of distances."""
    handle = engine.adopt(fused)
    return engine.fetch(engine.transform(handle, EdgeKernel(width=2 * engine.mean(handle))))


@st.composite
def neighbor_lists(draw):
    """Neighbour lists of one to four views over the same samples, own indices and repeats among them."""
    n = draw(st.integers(1, 12))
    dtype = draw(st.sampled_from([np.int32, np.int64]))
    widths = draw(st.lists(st.integers(0, 5), min_size=1, max_size=4))
    return [draw(hnp.arrays(dtype, (n, k), elements=st.integers(0, n - 1))) for k in widths]


def pairs(edges):
    return list(zip(edges.rows.tolist(), edges.indices.tolist(), strict=True))


def assert_well_formed(edges):
    """Rows ascending and without repeats or self-edges, one boundary more than rows."""
    assert len(edges.indptr) == edges.n_samples + 1
    assert edges.indptr[0] == 0
    assert edges.indptr[-1] == edges.n_edges == len(edges.indices) == len(edges.rows)
    found = pairs(edges)
    assert found == sorted(set(found))
    assert all(i != j for i, j in found)


def united(engine, neighbors, mask=None):
    return engine.fetch(engine.unite([engine.adopt(lists) for lists in neighbors], mask))


@given(neighbors=neighbor_lists())
@settings(max_examples=80, deadline=None)
def test_union_is_the_union_of_sets(engine, neighbors):
    edges = united(engine, neighbors)
    n = len(neighbors[0])
    expected = {(i, int(j)) for view in neighbors for i in range(n) for j in view[i] if i != j}
    assert edges.n_samples == n
    assert_well_formed(edges)
    assert set(pairs(edges)) == expected
    assert edges.seen is None


@given(neighbors=neighbor_lists(), data=st.data())
@settings(max_examples=50, deadline=None)
def test_an_edge_is_judged_by_the_views_that_have_seen_both_ends(engine, neighbors, data):
    n, v = len(neighbors[0]), len(neighbors)
    mask = data.draw(hnp.arrays(bool, (n, v)))
    edges = united(engine, neighbors, mask)
    assert pairs(edges) == pairs(united(engine, neighbors))
    if mask.all():
        assert edges.seen is None
        return
    assert edges.seen.shape == (v, edges.n_edges)
    assert edges.seen.dtype == bool
    assert edges.seen.flags.c_contiguous
    for e, (i, j) in enumerate(pairs(edges)):
        np.testing.assert_array_equal(edges.seen[:, e], mask[i] & mask[j])


@pytest.mark.parametrize("n_threads", [1, 2, 3])
@pytest.mark.parametrize("missing", [False, True])
def test_threads_unite_the_same(n_threads, missing):
    rng = np.random.default_rng(0)
    neighbors = [rng.integers(9000, size=(9000, k)).astype(np.int32) for k in (5, 1, 8)]
    mask = rng.random((9000, 3)) < 0.7 if missing else None
    with threads.limit(n_threads):
        found = united(get_engine("numba"), neighbors, mask)
    expected = EdgeSet.union(neighbors, mask)
    assert found == expected
    assert found.indices.dtype == expected.indices.dtype


distances = hnp.arrays(np.float64, st.integers(2, 60), elements=st.floats(0, 1e6, width=32))
seeds = st.integers(0, 2**32 - 1)


def uneven(squared):
    """Whether the distances differ by more than rounding."""
    return np.std(squared) > 1e-6 * np.mean(squared)


def by_formula(squared):
    n = len(squared)
    mean = sum(squared) / n
    deviation = (sum((x - mean) ** 2 for x in squared) / (n - 1)) ** 0.5
    return np.array([max((x - mean) / deviation + 1, 0) for x in squared])


@given(squared=distances.filter(uneven))
@settings(max_examples=50, deadline=None)
def test_standardize_is_the_formula(engine, squared):
    before = squared.copy()
    found = standardize(engine, squared)
    np.testing.assert_allclose(found, by_formula(squared), rtol=1e-6, atol=1e-8)
    assert (found >= 0).all()
    np.testing.assert_array_equal(squared, before)


def test_standardize_divides_by_n_minus_one_and_clips(engine):
    # mean 4, deviation sqrt(38 / 3)
    np.testing.assert_allclose(
        standardize(engine, np.array([1.0, 1.0, 6.0, 8.0])), np.array([-3, -3, 2, 4]) / np.sqrt(38 / 3) + 1
    )
    found = standardize(engine, np.array([0.0, 10.0, 10.0, 10.0, 10.0]))
    assert found[0] == 0, "more than one deviation below the mean"
    np.testing.assert_allclose(found[1:], 2 / np.sqrt(20) + 1)


@given(squared=distances.filter(uneven), power=st.integers(-900, 900))
@settings(max_examples=50, deadline=None)
def test_standardize_does_not_see_a_scale(engine, squared, power):
    squared = squared / squared.max()
    squared[squared < 2.0**-100] = 0  # or the scale would push it out of range
    scaled = squared * 2.0**power
    np.testing.assert_array_equal(standardize(engine, scaled), standardize(engine, squared))


@given(squared=distances.filter(uneven), shift=st.floats(0, 100))
@settings(max_examples=50, deadline=None)
def test_standardize_does_not_see_a_shift(engine, squared, shift):
    squared = squared / squared.mean()
    np.testing.assert_allclose(standardize(engine, squared + shift), standardize(engine, squared), atol=1e-6)


@pytest.mark.parametrize("length", [0.0, 1e-300, 0.1, 1.0, 1e300])
@pytest.mark.parametrize("n", [1, 2, 7])
def test_equal_distances_become_ones(engine, length, n):
    np.testing.assert_array_equal(standardize(engine, np.full(n, length)), np.ones(n))


def test_distances_that_differ_by_rounding_are_equal_and_others_are_not(engine):
    rng = np.random.default_rng(0)
    np.testing.assert_array_equal(standardize(engine, 0.3 * (1 + 1e-15 * rng.normal(size=50))), np.ones(50))
    assert standardize(engine, 0.3 * (1 + 1e-9 * rng.normal(size=50))).std() > 0.5


@pytest.mark.parametrize("unit", [1e-300, 1e-200, 1e200, 1e300])
def test_tiny_and_huge_distances_standardize_like_any(engine, unit):
    squared = np.random.default_rng(1).random(30)
    np.testing.assert_allclose(standardize(engine, squared * unit), standardize(engine, squared), rtol=1e-12)


@given(squared=distances.filter(uneven), seed=seeds)
@settings(max_examples=30, deadline=None)
def test_edges_not_judged_count_nowhere_and_come_out_as_zero(engine, squared, seed):
    rng = np.random.default_rng(seed)
    seen = np.zeros(len(squared) + 10, dtype=bool)
    seen[rng.choice(len(seen), len(squared), replace=False)] = True
    spread = rng.random(len(seen)) * 1e9
    spread[seen] = squared
    for function in (standardize, gaussian_similarity):
        found = function(engine, spread, seen)
        np.testing.assert_array_equal(found[seen], function(engine, squared))
        assert not found[~seen].any()


def test_all_edges_judged_is_the_same_as_no_mask(engine):
    squared = np.random.default_rng(2).random(20)
    everything = np.ones(20, dtype=bool)
    np.testing.assert_array_equal(standardize(engine, squared, everything), standardize(engine, squared))
    np.testing.assert_array_equal(
        gaussian_similarity(engine, squared, everything), gaussian_similarity(engine, squared)
    )


@given(squared=distances.filter(uneven))
@settings(max_examples=50, deadline=None)
def test_gaussian_similarity_is_the_formula(engine, squared):
    sigma = sum(x**0.5 for x in squared) / len(squared)
    expected = [np.exp(-x / (2 * sigma**2)) for x in squared]
    found = gaussian_similarity(engine, squared)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-300)
    assert (found[squared == 0] == 1).all()


@given(fused=distances.filter(uneven))
@settings(max_examples=50, deadline=None)
def test_fused_similarity_is_the_formula(engine, fused):
    sigma = sum(fused) / len(fused)
    expected = [np.exp(-x / (2 * sigma)) for x in fused]
    np.testing.assert_allclose(fused_similarity(engine, fused), expected, rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("function", [gaussian_similarity, fused_similarity])
def test_nothing_but_zeros_is_nothing_but_ones(engine, function):
    np.testing.assert_array_equal(function(engine, np.zeros(5)), np.ones(5))


@pytest.mark.parametrize("function", [gaussian_similarity, fused_similarity])
@pytest.mark.parametrize("unit", [1e-300, 1e-100, 1e100, 1e300])
def test_similarities_do_not_depend_on_the_unit(engine, function, unit):
    values = np.random.default_rng(3).random(40)
    values[0] = 0
    np.testing.assert_allclose(function(engine, values * unit), function(engine, values), rtol=1e-11)


@pytest.mark.parametrize("function", [gaussian_similarity, fused_similarity])
def test_nearer_is_more_similar(engine, function):
    values = np.sort(np.random.default_rng(4).random(40))
    assert (np.diff(function(engine, values)) < 0).all()
    assert (function(engine, values) <= 1).all()


def test_input_is_left_alone(engine):
    values = np.random.default_rng(5).random(20)
    before, seen = values.copy(), values > 0.3
    standardize(engine, values, seen)
    gaussian_similarity(engine, values, seen)
    fused_similarity(engine, values)
    np.testing.assert_array_equal(values, before)


def test_fused_values_in_single_precision_give_similarities_in_single_precision(engine):
    fused = np.random.default_rng(6).random(50, dtype=np.float32)
    found = fused_similarity(engine, fused)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, fused_similarity(engine, fused.astype(np.float64)), rtol=1e-6)


def test_sums_over_very_many_values_are_taken_block_by_block(monkeypatch):
    numba, numpy = get_engine("numba"), get_engine("numpy")
    values = np.random.default_rng(7).random(3 * edge_passes._BLOCK + 5) * 1e200
    monkeypatch.setattr(edge_passes, "_MANY", 100)
    found, expected = numba.moments(values, None, 0), numpy.moments(values, None, 0)
    assert found.exponent == expected.exponent
    assert (found.mean, found.deviation) == pytest.approx((expected.mean, expected.deviation), rel=1e-13)
    assert numba.mean_root(values, None, 0) == pytest.approx(numpy.mean_root(values, None, 0), rel=1e-13)
    with threads.limit(1):
        assert numba.moments(values, None, 0) == found


def test_very_many_weights_are_in_single_precision_unless_double_is_asked_for(monkeypatch):
    numba = get_engine("numba")
    values = np.random.default_rng(8).random((2, 50))
    parts, edges = [(row, EdgeKernel(width=2.0)) for row in values], star(50)
    monkeypatch.setattr(edge_passes, "MANY_VALUES", 100)
    assert numba.weigh(edges, 2, parts).dtype == np.float64
    monkeypatch.setattr(edge_passes, "MANY_VALUES", 99)
    single, double = numba.weigh(edges, 2, parts), numba.weigh(edges, 2, parts, double=True)
    assert (single.dtype, double.dtype) == (np.float32, np.float64)
    np.testing.assert_array_equal(single, double.astype(np.float32))
