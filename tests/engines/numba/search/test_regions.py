"""The parts of the approximate search, each compared with a plain twin."""

import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numba as nb
import numpy as np
import pytest
from scipy import sparse

from consilience.engines import threads
from consilience.engines.numba.points.features import DensePoints, SparsePoints
from consilience.engines.numba.search import byte_products, copies, copy_kernels, region_kernels
from consilience.engines.numba.search.copies import Copies
from consilience.engines.numba.search.exact import Lists, middle_and_reach, shifted_rows32
from consilience.engines.numba.search.locks import unlocked
from consilience.engines.numba.search.region_rows import (
    ByteRows,
    Centers,
    CloseRows,
    DenseRows32,
    SparseRows32,
    room_for,
)
from consilience.engines.numba.search.regions import Effort, Regions, exact_sample, search_regions
from consilience.engines.points.protocol import CompressedRows


def whole(rng, *shape, below=6):
    """Whole numbers in single precision: sums are exact, and there are ties."""
    return rng.integers(-below, below, shape).astype(np.float32)


def lists_of(pairs, width):
    """The smallest members (distance, index) of each list, as two arrays, filled up as kernels do."""
    distance = np.full((len(pairs), width), np.inf, dtype=np.float32)
    index = np.full((len(pairs), width), -1, dtype=np.int32)
    for i, members in enumerate(pairs):
        for slot, (d, j) in enumerate(sorted(members)[:width]):
            distance[i, slot], index[i, slot] = d, j
    return distance, index


def squared_differences(x):
    x = np.asarray(x, dtype=np.float64)
    return ((x[:, None, :] - x) ** 2).sum(axis=2)


@pytest.mark.parametrize("n_centers", [1, 15, 16, 17, 50])
def test_nearest_centers(n_centers):
    rng = np.random.default_rng(n_centers)
    products, squares = whole(rng, 40, n_centers), whole(rng, n_centers)
    labels = np.empty(40, dtype=np.int32)
    region_kernels.nearest_centers(products, squares, labels)
    np.testing.assert_array_equal(labels, (squares - 2 * products).argmin(axis=1))


@pytest.mark.parametrize("n_regions", [4, 16, 21, 64])
@pytest.mark.parametrize(("weight", "reach"), [(0.0, -100.0), (0.0, 9.0), (0.5, 6.0), (1.0, 1e6)])
def test_regions_to_search(n_regions, weight, reach):
    rng = np.random.default_rng(n_regions)
    products, squares, own = whole(rng, 30, n_regions), whole(rng, n_regions), whole(rng, 30) + 6
    counts, chosen = np.empty(30, dtype=np.int64), np.empty(30 * n_regions, dtype=np.int32)
    written = region_kernels.choose_regions(
        products, squares, own, np.float32(weight), np.float32(reach), 4, counts, chosen
    )
    assert written == counts.sum()
    distances = squares - 2 * products
    for r, found in enumerate(np.split(chosen[:written], np.cumsum(counts)[:-1])):
        nearest = np.argsort(distances[r], kind="stable")[:4].tolist()
        within = distances[r] <= reach + weight * (distances[r].min() + own[r]) - own[r]
        assert found.tolist() == nearest + [c for c in np.flatnonzero(within).tolist() if c not in nearest]


@pytest.mark.parametrize("skip", [0, 1])
def test_rows_by_region(skip):
    rng = np.random.default_rng(0)
    chosen = [rng.choice(9, rng.integers(1, 6), replace=False) for _ in range(50)]
    starts = np.concatenate([[0], np.cumsum([len(one) for one in chosen])])
    rows = rng.permutation(50)[:20].astype(np.int32)
    ends, grouped = np.empty(9, dtype=np.int64), np.empty(starts[-1], dtype=np.int32)
    total = region_kernels.group_by_region(
        rows, starts, np.concatenate(chosen).astype(np.int32), skip, ends, grouped
    )
    expected = [[r for r, row in enumerate(rows) if c in chosen[row][skip:]] for c in range(9)]
    assert total == sum(map(len, expected))
    np.testing.assert_array_equal(ends, np.cumsum([len(one) for one in expected]))
    np.testing.assert_array_equal(grouped[:total], np.concatenate(expected))


@pytest.mark.parametrize(("n_columns", "first"), [(1, 0), (16, 16), (30, 5), (45, 0)])
def test_lists_are_improved(n_columns, first):
    rng = np.random.default_rng(n_columns)
    x = whole(rng, 60, 3)
    squares, samples = (x**2).sum(axis=1), np.arange(10, 30, dtype=np.int32)
    pairs = squared_differences(x)
    distance, index = lists_of([[] for _ in samples], 5)
    products = x[samples] @ x[first : first + n_columns].T
    region_kernels.improve_lists(products, samples, first, squares, distance, index)
    candidates = [[(pairs[i, j], j) for j in range(first, first + n_columns) if j != i] for i in samples]
    for found, true in zip((distance, index), lists_of(candidates, 5), strict=True):
        np.testing.assert_array_equal(found, true)


@pytest.mark.parametrize("seed", range(4))
def test_pairs_go_into_the_lists_of_both_ends_in_any_order(seed):
    rng = np.random.default_rng(seed)
    n, width = 70, 4
    x = whole(rng, n, 3, below=4)
    squares, pairs = (x**2).sum(axis=1), squared_differences(x)
    tiles = [
        (rng.choice(n, rng.integers(1, 20), replace=False).astype(np.int32), *sorted(rng.choice(n, 2, False)))
        for _ in range(12)
    ]
    candidates = [set() for _ in range(n)]
    for queries, first, last in tiles:
        for i in queries.tolist():
            for j in range(first, last):
                if i != j:
                    candidates[i].add((pairs[i, j], j))
                    candidates[j].add((pairs[i, j], i))
    for order in (range(12), rng.permutation(12)):
        distance, index = lists_of([[] for _ in range(n)], width)
        locks = unlocked()
        for queries, first, last in (tiles[t] for t in order):
            offered(x[queries] @ x[first:last].T, queries, first, squares, locks, distance, index)
        for one, true in zip((distance, index), lists_of(candidates, width), strict=True):
            np.testing.assert_array_equal(one, true)
        assert not locks.any()  # none is left locked


def offered(products, queries, first, squares, locks, distance, index, aside=()):
    """Offer the pairs of a tile; return those put aside."""
    room = products.size + region_kernels.ASIDE
    found, values = np.empty((room, 2), dtype=np.int32), np.empty(room, dtype=np.float32)
    for place, (i, j, value) in enumerate(aside):
        found[place], values[place] = (i, j), value
    left = region_kernels.offer_pairs(
        np.ascontiguousarray(products),
        queries,
        first,
        squares,
        locks,
        distance,
        index,
        found,
        values,
        len(aside),
    )
    return [(*map(int, pair), float(value)) for pair, value in zip(found[:left], values[:left], strict=True)]


def inserted(pairs, values, locks, distance, index):
    pairs, values = np.array(pairs, dtype=np.int32), np.array(values, dtype=np.float32)
    left = region_kernels.insert_pairs(pairs, values, len(values), locks, distance, index)
    return pairs[:left].tolist()


def test_a_pair_that_comes_again_with_another_rounding_is_there_once_with_the_smaller_value():
    distance, index = np.array([[1, 2, 3]], dtype=np.float32), np.array([[7, 8, 9]], dtype=np.int32)
    distance, index = np.repeat(distance, 10, axis=0), np.repeat(index, 10, axis=0)
    for value, expected in ((2.5, [1, 2, 3]), (1.5, [1, 1.5, 3]), (0.5, [0.5, 1, 3])):
        assert inserted([[0, 8]], [value], unlocked(), distance, index) == []
        assert distance[0].tolist() == expected
        assert sorted(index[0].tolist()) == [7, 8, 9]


@pytest.mark.parametrize("locked", [0, 1])
def test_pairs_of_which_a_list_is_locked_are_put_aside(locked):
    distance, index = lists_of([[] for _ in range(5)], 2)
    locks = unlocked()
    locks[16 * locked] = 1  # another thread changes list 0, or list 1
    assert inserted([[0, 1], [2, 3], [4, 4]], [1.0, 2.0, 0.0], locks, distance, index) == [[0, 1]]
    assert index[1 - locked].tolist() in ([-1, -1], [locked, -1])  # at most one of both ends is done
    assert index[locked].tolist() == [-1, -1] and index[2, 0] == 3 and index[3, 0] == 2
    locks[16 * locked] = 0
    assert inserted([[0, 1]], [1.0], locks, distance, index) == []
    assert index[:2].tolist() == [[1, -1], [0, -1]] and distance[:2, 0].tolist() == [1, 1]


def test_pairs_too_far_for_a_list_do_not_wait_for_it():
    distance, index = lists_of([[(1.0, 3), (2.0, 4)]] * 5, 2)
    locks = unlocked()
    locks[:] = 1
    assert inserted([[0, 1]], [5.0], locks, distance, index) == []


def test_pairs_put_aside_are_offered_with_the_next_tile():
    x = whole(np.random.default_rng(0), 30, 3)
    squares, (distance, index) = (x**2).sum(axis=1), lists_of([[] for _ in range(30)], 4)
    locks, queries = unlocked(), np.arange(4, dtype=np.int32)
    locks[16 * 12] = 1
    left = offered(x[:4] @ x[10:14].T, queries, 10, squares, locks, distance, index)
    assert sorted(pair[:2] for pair in left) == [(i, 12) for i in range(4)]
    locks[:] = 0
    assert offered(x[:4] @ x[20:22].T, queries, 20, squares, locks, distance, index, left) == []
    assert set(index[12]) == {0, 1, 2, 3}


def test_threads_that_change_the_same_list_lose_nothing():
    """Four threads put pairs of falling values into one list, so that each pair changes it.

    Without locks this goes wrong about every third time: so it is done ten times.
    """
    n, width, m = 100_000, 64, 500
    places = np.arange(n)
    for _ in range(10):
        distance = np.full((4 * m + 1, width), np.inf, dtype=np.float32)
        index = np.full((4 * m + 1, width), -1, dtype=np.int32)
        distance[1:] = -1.0  # the lists of the partners are full
        locks = unlocked()

        def work(thread, locks=locks, distance=distance, index=index):
            pairs = np.stack([np.zeros(n, int), 1 + thread + 4 * (places % m)], axis=1).astype(np.int32)
            values = (4.0 * (n - places) + thread).astype(np.float32)
            left = n
            while left:
                left = region_kernels.insert_pairs(pairs, values, left, locks, distance, index)

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(work, range(4)))
        assert distance[0].tolist() == [4.0 + i for i in range(width)]
        assert len(set(index[0].tolist())) == width
        assert not locks.any()


def sparse_rows(rng, n=40, d=25):
    dense = whole(rng, n, d) * (rng.random((n, d)) < 0.3)
    return dense, sparse.csr_array(dense)


def test_products_of_sparse_rows():
    rng = np.random.default_rng(0)
    dense, x = sparse_rows(rng)
    rows, centers = SparseRows32(x, x), whole(rng, 25, 7)
    out = np.full((40, 7), np.nan, dtype=np.float32)
    np.testing.assert_array_equal(
        rows.center_products(3, 30, Centers(centers), out[: 30 - 3]), dense[3:30] @ centers
    )
    queries = np.array([4, 39, 0, 4], dtype=np.int32)
    for start, stop in ((0, 40), (5, 6), (7, 7)):
        out = np.full((room_for(4), stop - start), np.nan, dtype=np.float32)
        np.testing.assert_array_equal(
            rows.products(queries, start, stop, out), dense[queries] @ dense[start:stop].T
        )


def test_products_of_rows_without_entries():
    empty = sparse.csr_array((6, 4), dtype=np.float32)
    out = np.full((room_for(2), 6), np.nan, dtype=np.float32)
    found = SparseRows32.of(empty).products(np.array([0, 5], dtype=np.int32), 0, 6, out)
    np.testing.assert_array_equal(found, 0)


def test_the_sketch_keeps_products_about_and_is_always_the_same():
    x = sparse.random(200, 4000, density=0.02, random_state=0, format="csr")
    one, other = SparseRows32.of(x), SparseRows32.of(1e30 * x)
    assert one.sketch.shape == (200, 512)
    np.testing.assert_allclose(one.sketch.toarray(), other.sketch.toarray(), rtol=1e-5, atol=1e-6)
    true, found = ((rows @ rows.T).toarray() for rows in (one.x, one.sketch))
    assert np.abs(found - true).mean() < 0.1 * true.diagonal().mean()


def test_no_bytes_for_another_processor(monkeypatch):
    byte_products.supported.cache_clear()
    monkeypatch.setattr(nb.config, "CPU_NAME", "generic", raising=False)
    try:
        assert not byte_products.supported()
    finally:
        byte_products.supported.cache_clear()


@pytest.mark.skipif(not byte_products.supported(), reason="the processor does not multiply bytes")
@pytest.mark.parametrize(("n", "d"), [(1, 1), (16, 4), (50, 7), (133, 64)])
def test_products_of_bytes(n, d):
    rng = np.random.default_rng(d)
    x, order = rng.normal(size=(n, d)).astype(np.float32), rng.permutation(n).astype(np.int32)
    step = 3 / 127  # so that some are cut off
    rows = ByteRows(x, order, step)
    whole_rows = np.clip(np.rint(x / np.float32(step)), -127, 127)[order].astype(np.float64)
    np.testing.assert_array_equal(rows.squares[:n], (whole_rows**2).sum(axis=1))
    assert (rows.squares[n:] == np.inf).all()
    queries = rng.integers(0, n, 11).astype(np.int32)
    stop = len(rows.squares)
    for start in range(0, stop, 48):
        out = np.full((room_for(11), stop - start), np.nan, dtype=np.float32)
        found = rows.products(queries, start, stop, out)
        np.testing.assert_array_equal(found[:, : n - start], whole_rows[queries] @ whole_rows[start:].T)


def test_products_about_the_middle_of_a_region():
    rng = np.random.default_rng(0)
    x = (1000 * rng.integers(0, 2, (60, 1)) + rng.random((60, 3))).astype(np.float32)
    rows, queries = CloseRows(x), np.array([3, 59, 0], dtype=np.int32)
    assert not rows.squares.any()
    near = x[10:30, 0].round(-3) == x[3, 0].round(-3)
    found = rows.products(queries, 10, 30, np.full((room_for(3), 20), np.nan, dtype=np.float32))
    true = squared_differences(x)[queries, 10:30]
    np.testing.assert_allclose(-2 * found, true, rtol=1e-5, atol=2)
    same = np.flatnonzero(near) + 10
    whole_region = CloseRows(x[same])
    found = whole_region.products(
        np.arange(len(same), dtype=np.int32),
        0,
        len(same),
        np.zeros((room_for(len(same)), len(same)), np.float32),
    )
    np.testing.assert_allclose(-2 * found, squared_differences(x[same]), rtol=1e-4, atol=1e-6)


def test_where_neighbours_are_very_near_products_are_taken_about_the_middle_of_regions():
    rng = np.random.default_rng(0)
    line, some = rng.random((20_000, 1)).astype(np.float32), np.arange(100, dtype=np.int32)
    for x, close in ((line, True), (rng.normal(size=(500, 9)).astype(np.float32), False)):
        rows = DenseRows32(x)
        rows.choose_precision(some, exact_sample(rows, some, 5)[:, -1])
        assert rows.close is close
        assert isinstance(rows.arranged(np.arange(len(x), dtype=np.int32)), CloseRows) is close


@pytest.mark.skipif(not byte_products.supported(), reason="the processor does not multiply bytes")
def test_rows_are_rounded_only_if_that_is_fine():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 60)).astype(np.float32)
    some = np.arange(100, dtype=np.int32)

    def rounded(x):
        rows = DenseRows32(x)
        rows.choose_precision(some, exact_sample(rows, some, 5)[:, -1])
        return rows.step is not None

    assert rounded(x)
    assert not rounded(x[:, :1])  # neighbours are much nearer than one step
    assert not rounded(x + 100 * (np.arange(500) % 2)[:, None].astype(np.float32))
    assert not rounded(np.zeros_like(x))


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_lists_are_measured(form):
    rng = np.random.default_rng(0)
    dense, x = sparse_rows(rng, 40, 6)
    samples = rng.choice(40, 30, replace=False).astype(np.int32)
    lists = np.array([rng.choice(np.delete(np.arange(30), i), 8, replace=False) for i in range(30)], np.int32)
    lists[3, 2:], lists[4] = -1, -1
    points = DensePoints(dense, cosine=False) if form == "dense" else SparsePoints(x, cosine=False)
    found = points.measure_lists(np.arange(40, dtype=np.int32), samples, lists, 5)
    pairs = squared_differences(dense)
    for place, i in enumerate(samples):
        members = sorted((pairs[i, j], j) for j in samples[lists[place][lists[place] >= 0]])[:5]
        squares, index = [d for d, _ in members], [j for _, j in members]
        assert found.nearest[i].tolist() == index + [i] * (5 - len(index))
        assert found.squares[i, : len(index)].tolist() == squares


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("k", [1, 7, 39])
def test_the_sample_is_searched_exactly(form, k):
    rng = np.random.default_rng(k)
    dense, x = sparse_rows(rng, 40, 30)
    rows = DenseRows32(dense) if form == "dense" else SparseRows32.of(x)
    queries = rng.permutation(40)[:25].astype(np.int32)
    pairs = squared_differences(dense)
    np.fill_diagonal(pairs, np.inf)
    found = exact_sample(rows, queries, k)
    true = np.sort(pairs[queries], axis=1)[:, :k]
    np.testing.assert_array_equal(np.take_along_axis(pairs[queries], found, axis=1), true)


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("data", ["apart", "in two groups", "with ties"])
def test_how_far_the_last_neighbour_truly_is(form, data):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 5)) * (rng.random((300, 5)) < 0.7)
    if data == "in two groups":  # about which single precision is never sure
        x[:, 0] += 1e5 * (np.arange(300) % 2)
    elif data == "with ties":
        x = x.round()
    points = (
        DensePoints(x, cosine=False) if form == "dense" else SparsePoints(sparse.csr_array(x), cosine=False)
    )
    rows = np.flatnonzero(rng.random(300) < 0.8).astype(np.int32)
    places = rng.choice(len(rows), 50, replace=False).astype(np.int32)
    features = points.searchable(rows)
    pairs = squared_differences(x[rows])
    np.fill_diagonal(pairs, np.inf)
    for k in (1, 6, len(rows) - 1):
        true = np.sort(pairs[places], axis=1)[:, k - 1]
        if form == "dense" or data != "in two groups":
            np.testing.assert_allclose(points.reach(rows, features, places, k), true, rtol=1e-11)


def test_lists_in_single_precision_are_sure_where_the_next_ones_are_clearly_farther():
    apart = np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 2.0 + 1e-6], [2.0, 2.0, 2.0]])
    x = np.ones((9, 4), dtype=np.float32)
    places = np.arange(3, dtype=np.int32)
    assert DenseRows32(x).are_sure(places, 2, apart).tolist() == [True, False, False]
    assert DenseRows32(x[:4]).are_sure(places, 2, apart).all()  # all others are in the list


def test_the_middle_is_where_most_rows_are():
    x = np.random.default_rng(0).normal(size=(3000, 4)) + 50
    x[:20] *= 1e9
    middle, reach = middle_and_reach(x)
    np.testing.assert_allclose(middle, 50, atol=0.3)
    assert reach == np.abs(x - middle).max()
    assert np.abs(shifted_rows32(x, middle, reach)).max() == 1
    assert middle_and_reach(np.ones((5, 2)))[1] == 1.0


def blobs(n=3000, d=5, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(8, d))[rng.integers(0, 8, n)] * 3 + rng.normal(size=(n, d))).astype(np.float32)


@pytest.mark.parametrize("n_regions", [1, 2, 60, 150])
def test_regions_of_a_sample(n_regions):
    rows = DenseRows32(blobs(300))
    found = Regions.among(rows, n_regions, np.random.default_rng(0))
    assert len(found) == n_regions
    assert found.sizes.sum() == pytest.approx(300)
    true = ((rows.x[:, None] - found.centers.columns.T) ** 2).sum(axis=2)
    np.testing.assert_allclose(found.distances(rows), true, rtol=1e-4, atol=1e-4)
    again = Regions.among(rows, n_regions, np.random.default_rng(0))
    assert again.centers.columns.tobytes() == found.centers.columns.tobytes()


def test_more_recall_takes_more_pairs_and_is_reached():
    rows = DenseRows32(blobs())
    found = Regions.among(rows, 100, np.random.default_rng(0))
    some = np.arange(0, 3000, 5, dtype=np.int32)
    near = exact_sample(rows, some, 8)
    efforts = [found.least_effort(rows, some, near, recall) for recall in (0.5, 0.9, 0.99, 1.0)]
    assert all(a.pairs < b.pairs for a, b in pairwise(efforts))
    for effort, recall in zip(efforts, (0.5, 0.9, 0.99, 1.0), strict=True):
        assert recall <= effort.recall < recall + 0.02
        order, lists = search_regions(rows, 8, found, effort)
        place = np.empty(3000, dtype=int)
        place[order] = np.arange(3000)
        members = order[lists[place[some]]]
        reached = (members[:, :, None] == near[:, None, :]).any(axis=1).mean()
        assert reached >= effort.recall - 0.002  # or more: some regions are searched by all


def one_large_region(rows, n_regions=20):
    """Regions of which all but one are far from all samples."""
    centers = np.full((rows.x.shape[1], n_regions), 1000, dtype=np.float32)
    centers[:, 1:] += np.arange(n_regions - 1, dtype=np.float32)
    centers[:, 0] = 0
    return Regions(Centers(centers), (centers**2).sum(axis=0), np.eye(n_regions)[0] * len(rows))


def test_a_large_region_is_searched_in_parts_and_empty_ones_are_skipped():
    rows = DenseRows32(blobs(6000))
    effort = Effort(weight=0.0, reach=-1.0, recall=1.0, pairs=6000.0)
    search_regions(rows.take(np.arange(100)), 5, one_large_region(rows), effort)  # compiled by now
    tracemalloc.start()
    order, lists = search_regions(rows, 5, one_large_region(rows), effort)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6000**2  # bytes: of all pairs it would be four times that
    some = np.arange(0, 6000, 50, dtype=np.int32)
    place = np.empty(6000, dtype=int)
    place[order] = np.arange(6000)
    found, near = order[lists[place[some]]], exact_sample(rows, some, 5)
    assert (found[:, :, None] == near[:, None, :]).any(axis=1).mean() > 0.999


def test_samples_in_regions_of_their_own_get_full_lists():
    x = np.concatenate([blobs(400), 1e4 * np.eye(6, 5, dtype=np.float32)])
    rows = DenseRows32(x)
    found = Regions.among(DenseRows32(x), 200, np.random.default_rng(0))
    order, lists = search_regions(rows, 30, found, Effort(0.0, -1.0, 1.0, 1.0))
    assert lists[:, :30].min() >= 0
    for place, members in enumerate(lists):
        assert place not in members
        assert len(set(members.tolist())) == len(members)
    outlier = int(np.flatnonzero(order == 400)[0])
    assert set(order[lists[outlier][:30]]) == set(exact_sample(rows, np.array([400], np.int32), 30)[0])


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_lists_do_not_depend_on_threads_where_many_are_equally_far(form):
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, (4000, 24)).astype(np.float32)
    rows = DenseRows32(x) if form == "dense" else SparseRows32.of(sparse.csr_array(x))
    found = Regions.among(rows, 100, np.random.default_rng(0))
    near = exact_sample(rows, np.arange(300, dtype=np.int32), 5)
    effort = found.least_effort(rows, np.arange(300, dtype=np.int32), near, 0.9)
    answers = set()
    for n_threads in (1, 2, 2, 4):
        with threads.limit(n_threads):
            answers.add(search_regions(rows, 5, found, effort)[1].tobytes())
    assert len(answers) == 1


@pytest.mark.parametrize("form", ["dense", "dense float32", "sparse"])
def test_groups_of_copies(form, monkeypatch):
    monkeypatch.setattr(copies, "_MANY", 0)
    rng = np.random.default_rng(0)
    dense = rng.integers(0, 3, (200, 4)).astype(float)
    samples = np.flatnonzero(rng.random(200) < 0.8).astype(np.int32)
    x = {"dense": dense, "dense float32": dense.astype(np.float32), "sparse": sparse.csr_array(dense)}[form]
    found = Copies.among(x, samples)
    groups = {}
    for i in samples.tolist():
        groups.setdefault(tuple(dense[i]), []).append(i)
    assert [one.tolist() for one in np.split(found.members, found.starts[1:-1])] == list(groups.values())
    np.testing.assert_array_equal(found.first, [one[0] for one in groups.values()])


def test_rows_with_the_same_mark_need_not_be_copies():
    x = np.array([[1.0], [1.0], [2.0], [1.0]])
    bits, begins = copies._bits(x), np.ones(4, dtype=bool)
    copy_kernels.find_begins(*bits, np.arange(4), np.zeros(4, dtype=np.uint64), begins)
    assert begins.tolist() == [True, False, True, True]


def test_a_few_copies_are_searched_like_all_others():
    x = blobs(2000)
    x[:40] = x[0]
    assert Copies.among(x, np.arange(2000, dtype=np.int32)) is None
    x[:800] = x[0]
    assert len(Copies.among(x, np.arange(2000, dtype=np.int32)).first) == 1201


@pytest.mark.parametrize("k", [1, 4, 9])
def test_lists_spread_to_copies_are_those_of_the_exact_search(k, monkeypatch):
    monkeypatch.setattr(copies, "_MANY", 0)
    x = np.random.default_rng(0).integers(0, 4, (300, 2)).astype(float)
    points = DensePoints(x, cosine=False)
    found = Copies.among(x, np.arange(300, dtype=np.int32))
    first = found.first
    lists = np.array([np.delete(np.arange(len(first)), i) for i in range(len(first))], dtype=np.int32)
    spread = found.spread(points.measure_lists(first, np.arange(len(first), dtype=np.int32), lists, k))
    np.testing.assert_array_equal(spread.nearest, points.nearest(k).lists)
    pairs = squared_differences(x)
    np.testing.assert_array_equal(spread.squares, np.take_along_axis(pairs, spread.nearest, axis=1))


def test_those_with_nothing_in_common_are_listed_in_order():
    rng = np.random.default_rng(0)
    x = (rng.random((400, 300)) < 0.004).astype(float)
    points = SparsePoints(sparse.csr_array(x), cosine=True)
    true = points.nearest(6).lists
    squares = np.sqrt(points.measure(_rows(true))).reshape(400, 6) * 2
    assert (squares == 2).any() and (squares < 2).any()
    last_ones = np.sort(rng.choice(np.arange(200, 400), (400, 6)), axis=1)
    mixed = np.where(squares < 2, true, last_ones).astype(np.int32)
    clear = (mixed != np.arange(400)[:, None]).all(axis=1)
    clear &= [len(set(one)) == 6 for one in mixed.tolist()]
    clear &= (np.sqrt(points.measure(_rows(mixed))).reshape(400, 6) * 2 >= squares - 1e-12).all(axis=1)
    found = Lists(mixed.copy(), np.sqrt(points.measure(_rows(mixed))).reshape(400, 6) * 2)
    points.settle(found)
    with_direction = clear & ~points.blank
    assert with_direction.sum() > 100
    np.testing.assert_array_equal(found.nearest[with_direction], true[with_direction])


def _rows(lists):
    n, k = lists.shape
    return CompressedRows(np.arange(0, n * k + 1, k, dtype=np.int64), lists.ravel())
