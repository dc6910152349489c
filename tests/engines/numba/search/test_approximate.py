"""The approximate search on every kind of features, compared with a plain search of all pairs."""

import logging
import warnings
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse
from tests.engines.placed import place

from consilience.engines import SearchReport, threads
from consilience.engines.numba.points import features
from consilience.engines.numba.search import approximate as module
from consilience.engines.numba.search import regions
from consilience.engines.numba.search.approximate import sought_recall
from consilience.engines.points.cached import CachedPoints
from consilience.engines.points.masked import MaskedPoints
from consilience.engines.points.protocol import CompressedRows
from consilience.graphs import EdgeSet

pytestmark = pytest.mark.long

KINDS = {
    "dense Euclidean": ("euclidean", np.ascontiguousarray),
    "dense Euclidean, float32": ("euclidean", lambda x: x.astype(np.float32)),
    "dense cosine": ("cosine", np.ascontiguousarray),
    "correlation": ("correlation", np.ascontiguousarray),
    "sparse Euclidean": ("euclidean", sparse.csr_array),
    "sparse cosine": ("cosine", sparse.csr_array),
}
every_kind = pytest.mark.parametrize("kind", KINDS)
DENSE = [kind for kind in KINDS if not kind.startswith("sparse")]
N, K = 2500, 10


def placed(x, kind, **options):
    """The features, placed by the engine."""
    metric, form = KINDS[kind]
    return place("numba", form(x), metric, **options)


def few_dimensions(seed=0, n=N, d=40):
    """Points near a surface of three dimensions."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)) @ rng.normal(size=(3, d)) + 0.01 * rng.normal(size=(n, d))


def many_dimensions(seed=0, n=N, d=24):
    return np.random.default_rng(seed).normal(size=(n, d))


def words(seed=0, n=1500, d=700):
    """Counts of words in short texts of 12 topics: sparse, and more columns than a sketch has."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(d, 0.03), 12)
    share = topics[rng.integers(0, 12, n)]
    return np.minimum(rng.poisson(40 * share), 5).astype(float) + (rng.random((n, d)) < 0.005)


DATA = {"few dimensions": few_dimensions, "many dimensions": many_dimensions, "words": words}


def squared_differences(x, metric):
    """All pairs by definition, or nearly: squared Euclidean distances, or twice the cosine distances."""
    x = np.asarray(x, dtype=np.float64)
    if metric == "correlation":
        x = x - x.mean(axis=1, keepdims=True)
        x[np.abs(x).max(axis=1) < 1e-12] = 0
    if metric == "euclidean":
        x = x - np.median(x, axis=0)
    else:
        length = np.linalg.norm(x, axis=1, keepdims=True)
        x = x / np.where(length == 0, 1, length)
        blank = length.ravel() == 0
        x = x - x[~blank].mean(axis=0)
    squares = (x**2).sum(axis=1)
    found = np.maximum(squares[:, None] + squares - 2 * x @ x.T, 0)
    if metric != "euclidean":
        found[blank | blank[:, None]] = 2.0
    np.fill_diagonal(found, np.inf)
    return found


def recall(found, x, kind):
    """The share of members that are as near as the true last one: of equally near ones any will do."""
    pairs = squared_differences(x.astype(np.float32) if "float32" in kind else x, KINDS[kind][0])
    last = np.partition(pairs, found.shape[1] - 1, axis=1)[:, found.shape[1] - 1]
    return float((np.take_along_axis(pairs, found, axis=1) <= last[:, None] * (1 + 1e-7) + 1e-13).mean())


def check_lists(found, points):
    """No sample is in its own list, or twice in one; lists ascend by distance, those equally far by index."""
    n, k = found.shape
    assert found.dtype == np.int32
    assert found.min() >= 0 and found.max() < n
    assert (found != np.arange(n)[:, None]).all()
    in_order = np.sort(found, axis=1)
    assert (in_order[:, 1:] > in_order[:, :-1]).all()
    squares = points.measure(rows_of(found)).reshape(n, k)
    rise = np.diff(squares, axis=1)
    assert (rise >= -1e-11 * squares[:, 1:]).all()
    assert (np.diff(found, axis=1)[rise == 0] > 0).all()


def rows_of(lists):
    """The lists as compressed rows, in the order they have."""
    n, k = lists.shape
    return CompressedRows(np.arange(0, n * k + 1, k, dtype=np.int64), lists.ravel())


@every_kind
@pytest.mark.parametrize("data", DATA)
def test_recall_is_what_was_wanted_and_what_is_reported(kind, data):
    x = DATA[data]()
    points = placed(x, kind)
    found = points.search(K, "approximate")
    check_lists(found.lists, points)
    reached = recall(found.lists, x, kind)
    # The effort is chosen by 800 samples, and the report is of 400: each has an error of some 0.004.
    assert reached >= sought_recall(len(x)) - 0.015
    assert found.report.search == "approximate"
    assert abs(found.report.recall - reached) < 0.015
    assert found.report.pairs < len(x) / 3 or data != "few dimensions"


def test_few_pairs_are_enough_where_dimensions_are_few():
    report = placed(few_dimensions(n=6000), "dense Euclidean").search(K, "approximate").report
    assert report.n_regions == round(1.4 * np.sqrt(6000))
    assert report.pairs < 600


@every_kind
@pytest.mark.parametrize("ties", [False, True])
def test_the_same_bits_for_any_number_of_threads_and_again(kind, ties):
    x = few_dimensions(n=4000, d=5)
    if ties:
        x = np.round(2 * x) + 1.0
    answers = []
    for n_threads in (1, 2, 2, 3):
        with threads.limit(n_threads):
            points = placed(x, kind)
            found = points.search(7, "approximate")
            measured = points.measure(rows_of(found.lists), found.known)
            answers.append((found.lists.tobytes(), measured.tobytes(), found.report))
    assert all(answer == answers[0] for answer in answers)


@every_kind
def test_distances_known_from_the_search_are_those_of_the_view_to_the_bit(kind):
    x = words(d=60)
    x[[3, 50, 51]] = 0
    points = placed(x, kind)
    found = points.search(K, "approximate")
    edges = EdgeSet.union([found.lists, points.nearest(3)])
    assert found.known is not None
    known = points.measure(edges, found.known)
    assert known.tobytes() == placed(x, kind).measure(edges).tobytes()
    assert points.measure(edges).tobytes() == known.tobytes()


@every_kind
def test_distances_that_are_known_are_not_measured_again(kind):
    points = placed(words(d=60), kind)
    found = points.search(K, "approximate")
    edges = EdgeSet.union([found.lists])
    other = replace(found.known, squares=np.full_like(found.known.squares, 2.0))
    np.testing.assert_array_equal(points.measure(edges, other), 2.0 if "Euclidean" in kind else 1.0)


@every_kind
def test_rows_without_a_direction_are_as_far_as_in_the_exact_search(kind):
    x = many_dimensions()
    blank = np.array([0, 1, 17, 400, N - 1])
    x[blank] = 5.0 if kind == "correlation" else 0.0
    points = placed(x, kind)
    found = points.nearest(K, "approximate")
    check_lists(found, points)
    assert recall(found, x, kind) >= sought_recall(N) - 0.015
    if kind.endswith(("cosine", "correlation")):
        np.testing.assert_array_equal(found[blank], points.nearest(K)[blank])


@pytest.mark.parametrize("kind", ["dense cosine", "sparse cosine", "correlation"])
def test_almost_only_rows_without_a_direction(kind):
    x = np.full((300, 6), 0.0)
    x[:15] = np.random.default_rng(0).normal(size=(15, 6))
    points = placed(x, kind)
    found = points.search(5, "approximate")
    np.testing.assert_array_equal(found.lists, points.nearest(5))
    assert found.report.search == "exact"


@every_kind
def test_many_copies_of_a_row(kind):
    x = few_dimensions(n=3000, d=12)
    copies = np.sort(np.random.default_rng(1).choice(3000, 1000, replace=False))
    x[copies] = x[copies[0]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        points = placed(x, kind)
        found = points.search(K, "approximate")
    check_lists(found.lists, points)
    assert recall(found.lists, x, kind) >= sought_recall(3000) - 0.015
    assert found.report.recall >= sought_recall(3000) - 0.02
    own = points.measure(rows_of(found.lists), found.known).reshape(found.lists.shape)[copies]
    np.testing.assert_array_equal(own, 0.0)
    np.testing.assert_array_equal(found.lists[copies], points.nearest(K)[copies])


@every_kind
def test_hardly_any_rows_that_differ(kind):
    x = np.repeat(np.eye(4)[:, :3] + 1.0, 200, axis=0)[np.random.default_rng(0).permutation(800)]
    x[:, 0] += 1.0
    points = placed(x, kind)
    found = points.nearest(K, "approximate")
    check_lists(found, points)
    assert recall(found, x, kind) == 1.0


@pytest.mark.parametrize("kind", ["dense Euclidean", "sparse Euclidean"])
@pytest.mark.parametrize("times", [1e6, 1e12])
def test_outliers_do_not_spoil_the_rest(kind, times):
    x = many_dimensions()
    x[[5, 77, 1200]] *= times
    points = placed(x, kind)
    found = points.search(K, "approximate")
    check_lists(found.lists, points)
    rest = np.delete(np.arange(N), [5, 77, 1200])
    pairs = squared_differences(many_dimensions(), "euclidean")
    pairs[:, [5, 77, 1200]] = np.inf
    last = np.partition(pairs[rest], K - 1, axis=1)[:, K - 1]
    there = np.take_along_axis(pairs[rest], found.lists[rest], axis=1) <= last[:, None] * (1 + 1e-9)
    assert there.mean() >= sought_recall(N) - 0.015
    assert found.report.recall >= sought_recall(N) - 0.02


@pytest.mark.parametrize("kind", DENSE)
def test_small_differences_and_a_large_common_part(kind):
    x = many_dimensions()
    common = 1e6 if kind == "dense Euclidean" else 100.0
    moved = common + x if kind != "correlation" else x + common * np.arange(x.shape[1])
    found = placed(moved, kind).search(K, "approximate")
    assert recall(found.lists, moved, kind) >= sought_recall(N) - 0.015
    assert found.report.recall >= sought_recall(N) - 0.02


def test_very_near_neighbours_on_a_long_line():
    x = np.random.default_rng(0).random((30_000, 1)) * [1.0, -2.0]
    found = placed(x, "dense Euclidean").search(K, "approximate")
    order = np.argsort(x[:, 0])
    middle = order[K:-K]
    position = np.empty(len(x), dtype=int)
    position[order] = np.arange(len(x))
    for i in middle[::300]:
        around = order[position[i] - K : position[i] + K + 1]
        last = np.sort(np.abs(x[around, 0] - x[i, 0]))[K]
        assert (np.abs(x[found.lists[i], 0] - x[i, 0]) <= last * (1 + 1e-9)).mean() > 0.5
    assert found.report.recall > 0.97


@pytest.mark.parametrize("size", [1e-30, 1e-15, 1e15, 1e30])
@every_kind
def test_numbers_of_any_size(kind, size):
    if "float32" in kind:
        size = np.sqrt(size)
    x = few_dimensions(n=1000, d=6)
    scaled = placed(x * size, kind)
    found = scaled.search(5, "approximate")
    check_lists(found.lists, scaled)
    assert recall(found.lists, x, kind) >= sought_recall(1000) - 0.02
    assert found.report.recall >= sought_recall(1000) - 0.025


@every_kind
@pytest.mark.parametrize(("n", "k"), [(3, 1), (11, 10), (12, 1), (40, 10), (41, 10), (90, 1), (60, 14)])
def test_few_samples(kind, n, k):
    x = many_dimensions(n=n, d=3)
    points = placed(x, kind)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "View 'view': the approximate search")
        found = points.nearest(k, "approximate")
    check_lists(found, points)
    assert recall(found, x, kind) > 0.9


@every_kind
def test_the_nearest_alone(kind):
    x = many_dimensions(n=1500, d=8)
    points = placed(x, kind)
    found = points.nearest(1, "approximate")
    check_lists(found, points)
    assert recall(found, x, kind) >= sought_recall(1500) - 0.03


@every_kind
def test_as_many_neighbours_as_half_of_a_region_and_more(kind):
    x = many_dimensions(n=1200, d=6)
    points = placed(x, kind)
    found = points.nearest(60, "approximate")
    check_lists(found, points)
    assert recall(found, x, kind) >= sought_recall(1200) - 0.015


@every_kind
@pytest.mark.parametrize("columns", ["constant ones", "one that varies", "two values"])
def test_columns_that_say_little(kind, columns):
    rng = np.random.default_rng(0)
    x = np.ones((1500, 4))
    if columns == "constant ones":
        x[:, :2] = rng.normal(size=(1500, 2))
    elif columns == "one that varies":
        x[:, 1] = rng.random(1500)
    else:
        x[:, 1] = rng.integers(0, 2, 1500)
    points = placed(x, kind)
    found = points.nearest(6, "approximate")
    check_lists(found, points)
    assert recall(found, x, kind) >= sought_recall(1500) - 0.015


@pytest.mark.parametrize("kind", DENSE)
def test_features_on_disk_are_only_read(kind, tmp_path):
    x = many_dimensions(n=1500, d=8).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    metric, _ = KINDS[kind]
    on_disk, there = (place("numba", array, metric) for array in (mapped, x))
    np.testing.assert_array_equal(on_disk.nearest(5, "approximate"), there.nearest(5, "approximate"))


@every_kind
def test_samples_that_a_view_has_not_seen(kind):
    x, seen = many_dimensions(n=2000, d=6), np.arange(2000) % 4 > 0
    masked = placed(x, kind, seen=seen)
    assert isinstance(masked.points, MaskedPoints)
    found = masked.search(K, "approximate")
    lists = found.lists
    assert (lists[~seen] == np.flatnonzero(~seen)[:, None]).all()
    assert seen[lists[seen]].all()
    number = np.cumsum(seen) - 1
    inner = placed(x[seen], kind)
    check_lists(number[lists[seen]].astype(np.int32), inner)
    assert recall(number[lists[seen]], x[seen], kind) >= sought_recall(1500) - 0.015
    assert found.report == inner.search(K, "approximate").report
    assert found.report.search == "approximate"
    edges = EdgeSet.union([lists], seen[:, None])
    assert masked.measure(edges, found.known).tobytes() == masked.measure(edges).tobytes()


@every_kind
def test_points_that_keep_their_answers(kind):
    x = many_dimensions(n=1500, d=6)
    points = placed(x, kind)
    cached = points.cached()
    assert isinstance(cached.points, CachedPoints)
    plain, found = points.search(K, "approximate"), cached.search(K, "approximate")
    np.testing.assert_array_equal(found.lists, plain.lists)
    shorter = cached.search(4, "approximate")
    np.testing.assert_array_equal(shorter.lists, plain.lists[:, :4])
    edges = EdgeSet.union([plain.lists])
    assert cached.measure(edges, shorter.known).tobytes() == points.measure(edges).tobytes()
    assert found.report == shorter.report == plain.report
    np.testing.assert_array_equal(cached.nearest(K), points.nearest(K))  # the exact search is kept apart


@every_kind
def test_another_order_of_the_samples(kind):
    x = many_dimensions(n=1500, d=6)
    points = placed(x, kind)
    order = np.random.default_rng(0).permutation(1500)
    other = points.reordered(order)
    assert type(other.points) is type(points.points)
    found = other.search(K, "approximate")
    assert found.report.search == "approximate"
    check_lists(found.lists, other)
    assert recall(found.lists, x[order], kind) >= sought_recall(1500) - 0.015
    edges = EdgeSet.union([found.lists])
    expected = placed(x[order], kind).measure(edges)
    assert other.measure(edges, found.known).tobytes() == expected.tobytes()


@every_kind
def test_auto_is_exact_for_few_samples(kind):
    points = placed(many_dimensions(n=500, d=6), kind)
    found = points.search(K, "auto")
    np.testing.assert_array_equal(found.lists, points.nearest(K))
    assert found.report == SearchReport("exact", 1.0, 0, 499.0)


@every_kind
def test_auto_compares_all_pairs_where_regions_are_not_cheaper_and_says_so(kind, caplog, monkeypatch):
    monkeypatch.setattr(features, "FEWEST_SAMPLES", 1000)
    caplog.set_level(logging.INFO, module.logger.name)
    points = placed(many_dimensions(n=1000, d=200), kind, name="noise")
    found = points.search(K, "auto")
    np.testing.assert_array_equal(found.lists, points.nearest(K))
    assert found.report.search == "exact"
    (said,) = (record.getMessage() for record in caplog.records)
    assert said.startswith("view 'noise': exact search, because each sample would have to be compared with ")
    assert said.endswith(" of 1000")


@every_kind
def test_auto_searches_regions_where_that_is_cheaper_and_says_so(kind, caplog, monkeypatch):
    monkeypatch.setattr(features, "FEWEST_SAMPLES", 3000)
    caplog.set_level(logging.INFO, module.logger.name)
    report = placed(few_dimensions(n=3000, d=8), kind, name="surface").search(K, "auto").report
    assert report.search == "approximate"
    (said,) = (record.getMessage() for record in caplog.records)
    assert said.startswith(f"view 'surface': approximate search, recall {report.recall:.3f} of 10 ")


@every_kind
def test_a_recall_that_falls_short_is_a_warning(kind, monkeypatch):
    least = regions.Regions.least_effort

    def too_little(self, *args):
        return replace(least(self, *args), weight=0.0, reach=-1.0)

    monkeypatch.setattr(regions.Regions, "least_effort", too_little)
    x = many_dimensions()
    points = placed(x, kind, name="noise")
    with pytest.warns(UserWarning) as caught:
        found = points.search(K, "approximate")
    (message,) = (str(one.message) for one in caught)
    reached = recall(found.lists, x, kind)
    assert abs(found.report.recall - reached) < 0.03
    assert message == (
        f"View 'noise': the approximate search found {100 * found.report.recall:.0f} % of the neighbours of "
        "some samples, 99 % were wanted. Pass neighbor_search='exact' to find all."
    )
    check_lists(found.lists, points)


def test_the_recall_that_is_wanted_falls_slowly_with_size():
    sizes = [10, 100_000, 100_001, 500_000, 1_000_000, 10**9]
    sought = [sought_recall(n) for n in sizes]
    assert (
        sought[0] == 0.99
        and sought[1] == pytest.approx(0.98)
        and sought[-1] == sought[-2] == pytest.approx(0.91)
    )
    assert all(a >= b for a, b in pairwise(sought))


def test_other_metrics_are_searched_exactly():
    x = many_dimensions(n=100, d=3)
    for metric in ("manhattan", "chebyshev"):
        points = place("numba", x, metric)
        found = points.search(3, "approximate")
        np.testing.assert_array_equal(found.lists, points.nearest(3))
        assert found.report.search == "exact"


@every_kind
def test_the_exact_search_measures_nothing_in_advance(kind):
    points = placed(many_dimensions(n=100, d=3), kind)
    assert points.search(3, "exact").known is None
    assert points.search(3, "auto").known is None
