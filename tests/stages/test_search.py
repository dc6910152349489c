"""How neighbours are found: the stage, and the parameter of the systems."""

import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from tests.engines.names import HOST_ENGINES

from consilience import (
    PAPER,
    DistanceGraphFusion,
    SimilarityGraphFusion,
    Views,
    ampute,
    config_context,
    load,
    make_multiview,
)
from consilience.engines import SearchReport, get_engine, host
from consilience.engines.numba import NumbaEngine
from consilience.engines.numba.points import features
from consilience.engines.numba.search import approximate
from consilience.metrics import ari
from consilience.models import AverageGraph, SharedViews, systems
from consilience.run.execution import Run
from consilience.stages import nearest_neighbors, structure
from consilience.stages.search import auto_neighbors, n_neighbors_of_seen, resolve_n_neighbors

pytestmark = [
    pytest.mark.filterwarnings("ignore:The graph has .* connected components"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:.* about who is near whom"),
    pytest.mark.filterwarnings("ignore:View .* is constant"),
]
N = 240
UNIFIED = [SimilarityGraphFusion, DistanceGraphFusion, AverageGraph]
every_unified = pytest.mark.parametrize("system", UNIFIED)


@pytest.fixture(scope="module")
def sample():
    return make_multiview(N, n_views=3, n_clusters=3, separation=6.0, random_state=0)


class Stop(BaseException):
    """Ends a fit; where it is not expected, it fails a test and does not end the run of all tests."""


def fitted(system, X, search="approximate", **parameters):
    """Fit to the default description alone: others are searched again."""
    made = {"n_clusters": 3, "n_neighbors": 8, "descriptions": "default", "random_state": 0}
    return system(**made, neighbor_search=search, **parameters).fit(X)


@pytest.fixture
def asked(monkeypatch):
    """The searches by regions that were made, by the names of the views."""
    names = []
    search = approximate._among_regions

    def noting(points, *args, **options):
        names.append(points.name)
        return search(points, *args, **options)

    monkeypatch.setattr(approximate, "_among_regions", noting)
    return names


@every_unified
def test_the_report_of_each_view_says_how_it_was_searched(system, sample, asked):
    model = fitted(system, sample.views)
    assert asked == list(sample.views)
    assert len(model.neighbor_searches_) == 3
    for report in model.neighbor_searches_:
        assert isinstance(report, SearchReport)
        assert report.search == "approximate" and report.n_regions > 0
        assert 0.9 < report.recall <= 1 and 0 < report.pairs
    assert ari(sample.y, model.labels_) == 1


@every_unified
@pytest.mark.parametrize("search", ["auto", "exact"])
def test_small_problems_are_searched_exactly_and_say_so(system, search, sample, asked):
    model = fitted(system, sample.views, search)
    assert asked == []
    assert all(report.search == "exact" and report.recall == 1 for report in model.neighbor_searches_)
    exact = fitted(system, sample.views, "exact")
    np.testing.assert_array_equal(model.graph_.toarray(), exact.graph_.toarray())


@every_unified
def test_auto_takes_over_from_a_size_on(system, sample, asked, monkeypatch):
    monkeypatch.setattr(features, "FEWEST_SAMPLES", N)
    fitted(system, sample.views, "auto")
    assert asked == list(sample.views)


@every_unified
def test_a_view_that_is_left_out_was_not_searched(system, sample):
    views = {"a": sample.views["view_0"], "constant": np.ones((N, 2)), "b": sample.views["view_1"]}
    first, none, last = fitted(system, views).neighbor_searches_
    assert none is None
    assert first.search == last.search == "approximate"


@every_unified
def test_samples_that_views_have_not_seen(system, sample):
    views = ampute(Views(sample.views), 0.2, random_state=0)
    model = fitted(system, views)
    assert [report.search for report in model.neighbor_searches_] == ["approximate"] * 3
    assert ari(sample.y, model.labels_) > 0.95


@every_unified
def test_ids_decide_the_order_of_samples(system, sample):
    order = np.random.default_rng(0).permutation(N)
    ids = np.array([f"sample {i:03d}" for i in range(N)])
    one = fitted(system, Views(sample.views, sample_ids=ids))
    shuffled = {name: x[order] for name, x in sample.views.items()}
    other = fitted(system, Views(shuffled, sample_ids=ids[order]))
    assert one.neighbor_searches_ == other.neighbor_searches_
    np.testing.assert_array_equal(other.graph_.toarray(), one.graph_.toarray()[np.ix_(order, order)])


@every_unified
def test_views_that_are_not_features_are_searched_exactly(system, sample):
    views = {
        "features": sample.views["view_0"],
        "sparse": sparse.csr_array(np.maximum(sample.views["view_1"], 0)),
        "distances": cdist(sample.views["view_2"], sample.views["view_2"]),
        "city blocks": sample.views["view_1"],
    }
    metric = ["euclidean", "cosine", "precomputed_distance", "manhattan"]
    model = fitted(system, views, metric=metric)
    searches = [report.search for report in model.neighbor_searches_]
    assert searches == ["approximate", "approximate", "exact", "exact"]


@every_unified
def test_new_samples_are_predicted_after_an_approximate_fit(system, sample):
    model = fitted(system, sample.views)
    exact = fitted(system, sample.views, "exact")
    new = {name: x[::7] + 1e-9 for name, x in sample.views.items()}
    np.testing.assert_array_equal(model.predict(new), model.labels_[::7])
    np.testing.assert_array_equal(model.predict(new), exact.predict(new))


@every_unified
def test_the_reports_are_kept_in_files(system, sample, tmp_path):
    model = fitted(system, {"constant": np.ones((N, 1)), **sample.views})
    model.save(tmp_path / "model.consilience")
    loaded = load(tmp_path / "model.consilience")
    assert loaded.neighbor_searches_ == model.neighbor_searches_
    assert loaded.neighbor_search == "approximate"
    assert pickle.loads(pickle.dumps(model)).neighbor_searches_ == model.neighbor_searches_
    new = {name: x[:5] for name, x in sample.views.items()}
    new["constant"] = np.ones((5, 1))
    np.testing.assert_array_equal(loaded.predict(new), model.predict(new))


@every_unified
def test_a_fit_that_is_resumed_has_the_reports(system, sample, tmp_path, monkeypatch):
    expected = fitted(system, sample.views)

    def fail(*args, **options):
        raise Stop

    plain = Run._run

    def until_agree(run, name, detail, work):
        return plain(run, name, detail, fail if name == "agree" else work)

    with config_context(checkpoint_dir=tmp_path):
        with monkeypatch.context() as patch:
            patch.setattr(Run, "_run", until_agree)
            with pytest.raises(Stop):
                fitted(system, sample.views)
        with monkeypatch.context() as patch:
            patch.setattr(NumbaEngine, "nearest", fail)
            resumed = fitted(system, sample.views)
    assert resumed.neighbor_searches_ == expected.neighbor_searches_
    np.testing.assert_array_equal(resumed.labels_, expected.labels_)


@every_unified
def test_nothing_of_the_search_stays_in_the_model(system, sample):
    sizes = [len(pickle.dumps(fitted(system, sample.views, search))) for search in ("exact", "approximate")]
    assert abs(sizes[1] - sizes[0]) < 0.1 * sizes[0]


@pytest.mark.parametrize("name", systems())
def test_every_system_takes_approximate_neighbours(name, sample, asked):
    model = systems()[name](n_clusters=3, neighbor_search="approximate", random_state=0)
    assert ari(sample.y, model.fit(sample.views).labels_) > 0.95
    # All others search the neighbours of each view, or of their concatenation.
    if name not in ("SNF", "FastMICE"):
        assert asked, name


@pytest.mark.parametrize("name", systems())
@pytest.mark.parametrize("bad", ["fast", None, 1])
def test_a_search_that_does_not_exist_is_one_line(name, bad, sample):
    with pytest.raises(ValueError, match="neighbor_search") as caught:
        systems()[name](n_clusters=3, neighbor_search=bad).fit(sample.views)
    message = str(caught.value)
    assert "\n" not in message and repr(bad) in message
    assert all(repr(search) in message for search in ("auto", "exact", "approximate"))


@pytest.mark.parametrize("system", [SimilarityGraphFusion, DistanceGraphFusion])
def test_the_paper_searches_exactly_at_any_size(system, sample, asked, monkeypatch):
    monkeypatch.setattr(features, "FEWEST_SAMPLES", 10)
    assert PAPER["neighbor_search"] == "exact"
    model = system(n_clusters=3, n_neighbors=6, random_state=0, **PAPER).fit(sample.views)
    assert asked == []
    assert all(report.search == "exact" for report in model.neighbor_searches_)


def test_shared_views_keep_the_searches_apart(sample, asked):
    shared = SharedViews(sample.views)
    for search, times in (("approximate", 3), ("exact", 3), ("approximate", 3), ("auto", 3)):
        for system in UNIFIED:
            model = fitted(system, shared, search, scale="none")
            assert len(asked) == times
            alone = fitted(system, sample.views, search, scale="none")
            del asked[times:]
            assert model.neighbor_searches_ == alone.neighbor_searches_
            np.testing.assert_array_equal(model.graph_.toarray(), alone.graph_.toarray())


def test_the_same_for_any_number_of_threads(sample):
    fits = [fitted(DistanceGraphFusion, sample.views, n_jobs=n_jobs) for n_jobs in (1, 2, 2)]
    for model in fits[1:]:
        assert (model.graph_ != fits[0].graph_).nnz == 0
        np.testing.assert_array_equal(model.labels_, fits[0].labels_)


@pytest.mark.parametrize("engine", HOST_ENGINES)
def test_the_function_returns_the_lists_of_the_engine(engine, sample):
    found = nearest_neighbors(sample.views, 5, metric="euclidean", engine=engine)
    assert len(found) == 3
    for lists, x in zip(found, sample.views.values(), strict=True):
        distances = cdist(x, x)
        np.fill_diagonal(distances, np.inf)
        np.testing.assert_array_equal(lists, np.argsort(distances, axis=1)[:, :5])
        assert lists.dtype == np.int32


def test_the_function_leaves_constant_views_out(sample):
    views = {"constant": np.ones((N, 2)), "other": sample.views["view_0"]}
    with pytest.warns(UserWarning, match="View 'constant' is constant"):
        (found,) = nearest_neighbors(views, 3)
    np.testing.assert_array_equal(found, nearest_neighbors([sample.views["view_0"]], 3)[0])


def test_the_function_searches_as_asked(sample, asked):
    (found,) = nearest_neighbors([sample.views["view_0"]], 8, search="approximate")
    assert asked == ["view_0"]
    (exact,) = nearest_neighbors([sample.views["view_0"]], 8, engine=get_engine("numba"))
    assert np.mean(found == exact) > 0.9


@pytest.mark.parametrize(
    ("n_samples", "n_clusters", "expected"),
    [(2000, 10, 20), (240, 3, 20), (160, 8, 12), (100, 20, 6), (5, 2, 4), (160, "auto", 12)],
)
def test_auto_is_a_share_of_the_mean_cluster(n_samples, n_clusters, expected):
    assert resolve_n_neighbors("auto", n_samples, n_clusters) == expected
    if n_clusters != "auto":
        assert auto_neighbors(n_samples, n_clusters) == expected


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("many", "Unknown n_neighbors 'many'; known: 'auto' or an integer."),
        (0, "n_neighbors must be 'auto' or a positive integer, got 0."),
        (2.0, "n_neighbors must be 'auto' or a positive integer, got 2.0."),
        (True, "n_neighbors must be 'auto' or a positive integer, got True."),
        (10, "n_neighbors=10 asks for more neighbours than there are other samples (n_samples=10)"),
    ],
)
def test_numbers_of_neighbours_that_cannot_be(given, message):
    with pytest.raises(ValueError) as caught:
        resolve_n_neighbors(given, 10, 2)
    assert str(caught.value).startswith(message)


def test_a_view_that_has_seen_a_share_names_that_share():
    assert n_neighbors_of_seen(20, np.ones(100, dtype=bool)) == 20
    assert n_neighbors_of_seen(20, np.arange(100) < 50) == 10
    assert n_neighbors_of_seen(20, np.arange(100) < 10) == 6  # never fewer, if there are so many others
    assert n_neighbors_of_seen(4, np.arange(100) < 50) == 4
    assert n_neighbors_of_seen(20, np.arange(100) < 1) == 1


@pytest.mark.parametrize("missing", [False, True])
def test_ties_are_broken_without_comparing_all_pairs_of_an_approximate_search(missing, monkeypatch):
    """Among many samples that would take hours."""
    rng = np.random.default_rng(0)
    centers = rng.integers(0, 40, size=(3, 4))
    views = [centers[rng.integers(0, 3, size=900)] + rng.integers(0, 3, size=(900, 4)) for _ in range(3)]
    views = [view.astype(float) for view in views]
    if missing:
        views[0][::10] = np.nan

    def refuse(*_):
        raise AssertionError("all pairs are compared")

    drawn = []
    plain = host._drawn_lists
    monkeypatch.setattr(host, "_drawn_lists", lambda *given: drawn.append(given[-1]) or plain(*given))
    monkeypatch.setattr(features.DensePoints, "nearest_of_all", refuse)
    # It compares all pairs, but of no more than 2000 samples.
    monkeypatch.setattr(structure, "has_structure", lambda *_, **__: True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted(DistanceGraphFusion, views)
    assert drawn and set(drawn) == {"approximate"}
