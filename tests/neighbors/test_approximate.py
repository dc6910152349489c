"""The approximate search on every kind of features, beside a plain search of all pairs."""

import logging
import warnings
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from consilience import threads
from consilience.graph import EdgeSet
from consilience.neighbors import ApproximateSpace, RememberingSpace, as_space, regions, search_report
from consilience.neighbors import approximate as module
from consilience.neighbors.approximate import forget, plain, searched, sought_recall
from consilience.neighbors.features import DenseSpace
from consilience.neighbors.spaces import CompressedRows, SeenSpace

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


def approximate(x, kind, search="approximate", **options):
    """The space of the features with its neighbours searched for so, and the same without."""
    metric, form = KINDS[kind]
    array = form(x)
    return (as_space(array, metric, search=how, **options) for how in (search, "exact"))


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


def check_lists(found, space):
    """Nobody is in its own list, or twice in one; lists ascend by distance, those equally far by index."""
    n, k = found.shape
    assert found.dtype == np.int32
    assert found.min() >= 0 and found.max() < n
    assert (found != np.arange(n)[:, None]).all()
    in_order = np.sort(found, axis=1)
    assert (in_order[:, 1:] > in_order[:, :-1]).all()
    squares = plain(space).on_edges(rows_of(found)).reshape(n, k)
    rise = np.diff(squares, axis=1)
    assert (rise >= -1e-11 * squares[:, 1:]).all()
    assert (np.diff(found, axis=1)[rise == 0] > 0).all()


def rows_of(lists):
    """The lists as compressed rows, in the order they have."""
    n, k = lists.shape
    return CompressedRows(np.arange(0, n * k + 1, k, dtype=np.int64), lists.ravel())


@every_kind
@pytest.mark.parametrize("data", DATA)
def test_recall_is_what_was_sought_and_what_is_reported(kind, data):
    x = DATA[data]()
    space, _ = approximate(x, kind)
    found = space.nearest(K)
    check_lists(found, space)
    reached = recall(found, x, kind)
    # The effort is chosen by 800 samples, and the report is of 400: each has an error of some 0.004.
    assert reached >= sought_recall(len(x)) - 0.015
    assert space.report.search == "approximate"
    assert abs(space.report.recall - reached) < 0.015
    assert space.report.pairs < len(x) / 3 or data != "few dimensions"


def test_looking_at_few_pairs_is_enough_where_dimensions_are_few():
    space, _ = approximate(few_dimensions(n=6000), "dense Euclidean")
    space.nearest(K)
    assert space.report.n_regions == round(1.4 * np.sqrt(6000))
    assert space.report.pairs < 600


@every_kind
@pytest.mark.parametrize("ties", [False, True])
def test_the_same_bits_for_any_number_of_threads_and_again(kind, ties):
    x = few_dimensions(n=4000, d=5)
    if ties:
        x = np.round(2 * x) + 1.0
    answers = []
    for n_threads in (1, 2, 2, 3):
        with threads.limit(n_threads):
            space, _ = approximate(x, kind)
            found = space.nearest(7)
            answers.append((found.tobytes(), space.on_edges(rows_of(found)).tobytes(), space.report))
    assert all(answer == answers[0] for answer in answers)


@every_kind
def test_distances_known_from_the_search_are_those_of_the_space_to_the_bit(kind):
    x = words(d=60)
    x[[3, 50, 51]] = 0
    space, exact = approximate(x, kind)
    edges = EdgeSet.union([space.nearest(K), exact.nearest(3)])
    known = space.on_edges(edges)
    assert known.tobytes() == exact.on_edges(edges).tobytes()
    forget(space)
    assert space._known is None
    assert space.on_edges(edges).tobytes() == known.tobytes()


@every_kind
def test_rows_without_a_direction_are_as_far_as_in_the_exact_search(kind):
    x = many_dimensions()
    blank = np.array([0, 1, 17, 400, N - 1])
    x[blank] = 5.0 if kind == "correlation" else 0.0
    space, exact = approximate(x, kind)
    found = space.nearest(K)
    check_lists(found, space)
    assert recall(found, x, kind) >= sought_recall(N) - 0.015
    if kind.endswith(("cosine", "correlation")):
        np.testing.assert_array_equal(found[blank], exact.nearest(K)[blank])


@pytest.mark.parametrize("kind", ["dense cosine", "sparse cosine", "correlation"])
def test_only_rows_without_a_direction_but_a_few(kind):
    x = np.full((300, 6), 0.0)
    x[:15] = np.random.default_rng(0).normal(size=(15, 6))
    space, exact = approximate(x, kind)
    np.testing.assert_array_equal(space.nearest(5), exact.nearest(5))
    assert space.report.search == "exact"


@every_kind
def test_many_copies_of_a_row(kind):
    x = few_dimensions(n=3000, d=12)
    copies = np.sort(np.random.default_rng(1).choice(3000, 1000, replace=False))
    x[copies] = x[copies[0]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        space, exact = approximate(x, kind)
        found = space.nearest(K)
    check_lists(found, space)
    assert recall(found, x, kind) >= sought_recall(3000) - 0.015
    assert space.report.recall >= sought_recall(3000) - 0.02
    own = space.on_edges(rows_of(found)).reshape(found.shape)[copies]
    np.testing.assert_array_equal(own, 0.0)
    np.testing.assert_array_equal(found[copies], exact.nearest(K)[copies])


@every_kind
def test_hardly_any_rows_that_differ(kind):
    x = np.repeat(np.eye(4)[:, :3] + 1.0, 200, axis=0)[np.random.default_rng(0).permutation(800)]
    x[:, 0] += 1.0
    space, _ = approximate(x, kind)
    found = space.nearest(K)
    check_lists(found, space)
    assert recall(found, x, kind) == 1.0


@pytest.mark.parametrize("kind", ["dense Euclidean", "sparse Euclidean"])
@pytest.mark.parametrize("times", [1e6, 1e12])
def test_outliers_do_not_spoil_the_rest(kind, times):
    x = many_dimensions()
    x[[5, 77, 1200]] *= times
    space, _ = approximate(x, kind)
    found = space.nearest(K)
    check_lists(found, space)
    rest = np.delete(np.arange(N), [5, 77, 1200])
    pairs = squared_differences(many_dimensions(), "euclidean")
    pairs[:, [5, 77, 1200]] = np.inf
    last = np.partition(pairs[rest], K - 1, axis=1)[:, K - 1]
    there = np.take_along_axis(pairs[rest], found[rest], axis=1) <= last[:, None] * (1 + 1e-9)
    assert there.mean() >= sought_recall(N) - 0.015
    assert space.report.recall >= sought_recall(N) - 0.02


@pytest.mark.parametrize("kind", DENSE)
def test_small_differences_beside_a_large_common_part(kind):
    x = many_dimensions()
    common = 1e6 if kind == "dense Euclidean" else 100.0
    moved = common + x if kind != "correlation" else x + common * np.arange(x.shape[1])
    space, _ = approximate(moved, kind)
    found = space.nearest(K)
    assert recall(found, moved, kind) >= sought_recall(N) - 0.015
    assert space.report.recall >= sought_recall(N) - 0.02


def test_very_near_neighbours_on_a_long_line():
    x = np.random.default_rng(0).random((30_000, 1)) * [1.0, -2.0]
    space, _ = approximate(x, "dense Euclidean")
    found = space.nearest(K)
    order = np.argsort(x[:, 0])
    middle = order[K:-K]
    place = np.empty(len(x), dtype=int)
    place[order] = np.arange(len(x))
    for i in middle[::300]:
        around = order[place[i] - K : place[i] + K + 1]
        last = np.sort(np.abs(x[around, 0] - x[i, 0]))[K]
        assert (np.abs(x[found[i], 0] - x[i, 0]) <= last * (1 + 1e-9)).mean() > 0.5
    assert space.report.recall > 0.97


@pytest.mark.parametrize("size", [1e-30, 1e-15, 1e15, 1e30])
@every_kind
def test_numbers_of_any_size(kind, size):
    if "float32" in kind:
        size = np.sqrt(size)
    x = few_dimensions(n=1000, d=6)
    scaled, _ = approximate(x * size, kind)
    found = scaled.nearest(5)
    check_lists(found, scaled)
    assert recall(found, x, kind) >= sought_recall(1000) - 0.02
    assert scaled.report.recall >= sought_recall(1000) - 0.025


@every_kind
@pytest.mark.parametrize(("n", "k"), [(3, 1), (11, 10), (12, 1), (40, 10), (41, 10), (90, 1), (60, 14)])
def test_few_samples(kind, n, k):
    x = many_dimensions(n=n, d=3)
    space, _ = approximate(x, kind)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "View 'view': the approximate search")
        found = space.nearest(k)
    check_lists(found, space)
    assert recall(found, x, kind) > 0.9


@every_kind
def test_the_nearest_alone(kind):
    x = many_dimensions(n=1500, d=8)
    space, _ = approximate(x, kind)
    found = space.nearest(1)
    check_lists(found, space)
    assert recall(found, x, kind) >= sought_recall(1500) - 0.03


@every_kind
def test_as_many_neighbours_as_half_of_a_region_and_more(kind):
    x = many_dimensions(n=1200, d=6)
    space, _ = approximate(x, kind)
    found = space.nearest(60)
    check_lists(found, space)
    assert recall(found, x, kind) >= sought_recall(1200) - 0.015


@every_kind
@pytest.mark.parametrize("columns", ["constant beside", "one that varies", "two values"])
def test_columns_that_say_little(kind, columns):
    rng = np.random.default_rng(0)
    x = np.ones((1500, 4))
    if columns == "constant beside":
        x[:, :2] = rng.normal(size=(1500, 2))
    elif columns == "one that varies":
        x[:, 1] = rng.random(1500)
    else:
        x[:, 1] = rng.integers(0, 2, 1500)
    space, _ = approximate(x, kind)
    found = space.nearest(6)
    check_lists(found, space)
    assert recall(found, x, kind) >= sought_recall(1500) - 0.015


@pytest.mark.parametrize("kind", DENSE)
def test_features_on_disk_are_only_read(kind, tmp_path):
    x = many_dimensions(n=1500, d=8).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    metric, _ = KINDS[kind]
    on_disk, there = (as_space(array, metric, search="approximate") for array in (mapped, x))
    np.testing.assert_array_equal(on_disk.nearest(5), there.nearest(5))


@every_kind
def test_samples_that_a_view_has_not_seen(kind):
    x, seen = many_dimensions(n=2000, d=6), np.arange(2000) % 4 > 0
    space, exact = approximate(x, kind, seen=seen)
    assert isinstance(space, SeenSpace) and isinstance(space.space, ApproximateSpace)
    found = space.nearest(K)
    assert (found[~seen] == np.flatnonzero(~seen)[:, None]).all()
    assert seen[found[seen]].all()
    place = np.cumsum(seen) - 1
    check_lists(place[found[seen]].astype(np.int32), space.space)
    assert recall(place[found[seen]], x[seen], kind) >= sought_recall(1500) - 0.015
    assert search_report(space) is space.space.report
    edges = EdgeSet.union([found], seen[:, None])
    assert space.on_edges(edges).tobytes() == exact.on_edges(edges).tobytes()
    assert isinstance(plain(space), SeenSpace) and not isinstance(plain(space).space, ApproximateSpace)


@every_kind
def test_what_is_remembered(kind):
    x = many_dimensions(n=1500, d=6)
    space, exact = approximate(x, kind)
    remembering = RememberingSpace(space)
    found = remembering.nearest(K)
    np.testing.assert_array_equal(found, space.nearest(K))
    np.testing.assert_array_equal(remembering.nearest(4), found[:, :4])
    edges = EdgeSet.union([found])
    assert remembering.on_edges(edges).tobytes() == exact.on_edges(edges).tobytes()
    assert search_report(remembering) == space.report
    assert plain(remembering) is space.space


@every_kind
def test_another_order_is_another_space_of_the_same_kind(kind):
    x = many_dimensions(n=1500, d=6)
    space, exact = approximate(x, kind)
    order = np.random.default_rng(0).permutation(1500)
    other = space.permuted(order)
    assert isinstance(other, ApproximateSpace) and other.search == space.search
    found = other.nearest(K)
    check_lists(found, other)
    assert recall(found, x[order], kind) >= sought_recall(1500) - 0.015
    edges = EdgeSet.union([found])
    assert other.on_edges(edges).tobytes() == exact.permuted(order).on_edges(edges).tobytes()


@every_kind
def test_everything_else_is_answered_by_the_space(kind):
    x = words(n=300, d=30)
    space, exact = approximate(x, kind)
    assert space.kind == exact.kind
    assert space.mean_over_pairs() == exact.mean_over_pairs()
    assert space.is_constant() == exact.is_constant()
    queries = x[:5]
    np.testing.assert_array_equal(space.beside(queries).nearest(4), exact.beside(queries).nearest(4))


@every_kind
def test_auto_is_exact_for_few_samples(kind):
    x = many_dimensions(n=500, d=6)
    space, exact = approximate(x, kind, "auto")
    np.testing.assert_array_equal(space.nearest(K), exact.nearest(K))
    assert space.report == module.SearchReport("exact", 1.0, 0, 499.0)


@every_kind
def test_auto_looks_at_all_pairs_where_regions_do_not_pay_and_says_so(kind, caplog, monkeypatch):
    monkeypatch.setattr(module, "FEWEST_SAMPLES", 1000)
    caplog.set_level(logging.INFO, module.logger.name)
    x = many_dimensions(n=1000, d=200)
    space, exact = approximate(x, kind, "auto", name="noise")
    np.testing.assert_array_equal(space.nearest(K), exact.nearest(K))
    assert space.report.search == "exact"
    (said,) = (record.getMessage() for record in caplog.records)
    assert said.startswith("view 'noise': exact search, because ")
    assert said.endswith(" of 1000 samples would have to be looked at each")


@every_kind
def test_auto_searches_regions_where_that_pays_and_says_so(kind, caplog, monkeypatch):
    monkeypatch.setattr(module, "FEWEST_SAMPLES", 3000)
    caplog.set_level(logging.INFO, module.logger.name)
    space, _ = approximate(few_dimensions(n=3000, d=8), kind, "auto", name="surface")
    space.nearest(K)
    assert space.report.search == "approximate"
    (said,) = (record.getMessage() for record in caplog.records)
    assert said.startswith(f"view 'surface': approximate search, recall {space.report.recall:.3f} of 10 ")


@every_kind
def test_a_recall_that_falls_short_is_told(kind, monkeypatch):
    least = regions.Regions.least_effort

    def too_little(self, *args):
        return replace(least(self, *args), weight=0.0, reach=-1.0)

    monkeypatch.setattr(regions.Regions, "least_effort", too_little)
    x = many_dimensions()
    space, _ = approximate(x, kind, name="noise")
    with pytest.warns(UserWarning) as told:
        found = space.nearest(K)
    (message,) = (str(one.message) for one in told)
    reached = recall(found, x, kind)
    assert abs(space.report.recall - reached) < 0.03
    assert message == (
        f"View 'noise': the approximate search found {100 * space.report.recall:.0f} % of the neighbours of "
        "some samples, 99 % were sought. Pass neighbor_search='exact' to find all."
    )
    check_lists(found, space)


def test_what_is_sought_falls_slowly_with_size():
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
        space = as_space(x, metric, search="approximate")
        np.testing.assert_array_equal(space.nearest(3), as_space(x, metric).nearest(3))
        assert search_report(space).search == "exact"
    assert isinstance(searched(DenseSpace(x, cosine=False), "exact"), DenseSpace)
