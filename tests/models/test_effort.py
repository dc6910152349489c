"""`effort`: what the three levels do, and that nothing else about a fit changes with them."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from consilience import PAPER, DistanceGraphFusion, SimilarityGraphFusion, Views, load, make_multiview
from consilience.metrics import ari
from consilience.models import AverageGraph
from consilience.run.config import config_context
from consilience.run.execution import Run
from consilience.stages import canonical_labels

pytestmark = [
    pytest.mark.filterwarnings("ignore:The graph has .* connected components"),
    pytest.mark.filterwarnings("ignore:.* about who is near whom"),
]
N, C = 120, 3
SYSTEMS = (SimilarityGraphFusion, DistanceGraphFusion, AverageGraph)
every = pytest.mark.parametrize("system", SYSTEMS)
both = pytest.mark.parametrize("system", SYSTEMS[:2])


@pytest.fixture(scope="module")
def sample():
    return make_multiview(N, n_views=3, n_clusters=C, separation=4.0, random_state=0)


def fit(system, views, **parameters):
    return system(**{"n_clusters": C, "effort": "high", "random_state": 0, **parameters}).fit(views)


def assert_same_fit(one, other):
    """Compare two fits to the last bit."""
    np.testing.assert_array_equal(one.labels_, other.labels_)
    assert (one.graph_ != other.graph_).nnz == 0
    np.testing.assert_array_equal(one.embedding_, other.embedding_)
    np.testing.assert_array_equal(one.row_reliability_, other.row_reliability_)


# The three levels


@both
@pytest.mark.parametrize(
    ("effort", "stands_for"),
    [
        ("low", {"row_weights": "agreement", "descriptions": "default"}),
        ("medium", {"row_weights": "learned", "descriptions": "default"}),
        ("high", {"row_weights": "learned", "descriptions": "confirmed"}),
    ],
)
def test_a_level_is_what_the_parameters_that_are_auto_stand_for(system, effort, stands_for, sample):
    model = fit(system, sample.views, effort=effort)
    for other in ("low", "medium", "high"):  # without effect if both are given
        assert_same_fit(model, fit(system, sample.views, effort=other, **stands_for))
    assert (model.matched_shares_ is None) == (effort == "low")
    assert (model.descriptions_ is None) == (effort != "high")
    assert ("trust" in model.timings_) == (effort != "low")
    assert ("redescribe" in model.timings_) == (effort == "high")


@both
def test_the_levels_differ_and_high_is_the_default(system, sample):
    low, medium, high = (fit(system, sample.views, effort=one) for one in ("low", "medium", "high"))
    assert np.abs(low.row_reliability_ - medium.row_reliability_).max() > 0.01
    np.testing.assert_array_equal(medium.row_reliability_, high.row_reliability_)
    assert (medium.graph_ != high.graph_).nnz > 0
    np.testing.assert_array_equal(medium.inconsistent_, high.inconsistent_)  # of the default description
    assert_same_fit(high, system(n_clusters=C, random_state=0).fit(sample.views))


@both
@pytest.mark.parametrize("effort", ["low", "medium", "high"])
def test_the_settings_of_the_paper_leave_nothing_to_the_effort(system, effort, sample):
    plain = system(n_clusters=C, n_neighbors=6, random_state=0, **PAPER).fit(sample.views)
    made = {**PAPER, "effort": effort, "row_weights": "uniform"}
    model = system(n_clusters=C, n_neighbors=6, random_state=0, **made).fit(sample.views)
    assert_same_fit(plain, model)
    assert plain.descriptions_ is None and plain.matched_shares_ is None
    assert np.all(plain.row_reliability_ == 1)
    assert not {"trust", "describe", "redescribe"} & set(plain.timings_)


def test_the_average_can_make_an_effort_too(sample):
    plain = AverageGraph(n_clusters=C, random_state=0).fit(sample.views)
    assert plain.descriptions_ is None and plain.matched_shares_ is None
    high = fit(AverageGraph, sample.views, scale="auto", row_weights="auto")
    assert len(high.descriptions_) == 12 and high.predictor_.others and high.matched_shares_.shape == (3,)
    assert ari(sample.y, high.labels_) > 0.9
    assert np.mean(high.predict(sample.views) == high.labels_) > 0.97
    # Its rows count alike and its features are not rescaled by default: other neighbours remain.
    some = fit(AverageGraph, sample.views)
    assert set(some.descriptions_.name) == {"default"} and some.matched_shares_ is None


# Nothing else changes


@pytest.mark.long
@every
@pytest.mark.parametrize("solver", ["dca", "exact"])
def test_engines_agree(system, solver, sample):
    made = {} if system is AverageGraph else {"solver": solver}
    if system is AverageGraph and solver == "exact":
        made = {"row_weights": "learned", "scale": "auto"}
    fast, readable = (fit(system, sample.views, engine=engine, **made) for engine in ("numba", "numpy"))
    np.testing.assert_array_equal(fast.labels_, readable.labels_)
    np.testing.assert_allclose(fast.graph_.toarray(), readable.graph_.toarray(), atol=1e-9)
    np.testing.assert_allclose(fast.descriptions_.confirmation, readable.descriptions_.confirmation)
    np.testing.assert_array_equal(fast.descriptions_.share, readable.descriptions_.share)
    new = {name: x[:20] + 0.05 for name, x in sample.views.items()}
    np.testing.assert_allclose(fast.predict_proba(new), readable.predict_proba(new), atol=1e-7)


@both
def test_one_thread_and_two_give_the_same_bits(system, sample):
    assert_same_fit(*(fit(system, sample.views, n_jobs=n_jobs) for n_jobs in (1, 2)))


@both
@pytest.mark.parametrize("missing", [False, True])
def test_rows_may_come_in_any_order(system, missing, sample):
    order = np.random.default_rng(1).permutation(N)
    mask = np.random.default_rng(2).random((N, 3)) > (0.2 if missing else -1)
    mask[~mask.any(axis=1)] = True
    first = fit(system, Views(sample.views, mask=mask))
    moved = fit(system, Views({name: x[order] for name, x in sample.views.items()}, mask=mask[order]))
    np.testing.assert_array_equal(moved.labels_, canonical_labels(first.labels_[order]))
    np.testing.assert_array_equal(moved.graph_.toarray(), first.graph_.toarray()[np.ix_(order, order)])
    np.testing.assert_array_equal(moved.row_reliability_, first.row_reliability_[order])
    np.testing.assert_array_equal(moved.matched_shares_, first.matched_shares_)


@both
@pytest.mark.parametrize("solver", ["dca", "exact"])
def test_both_solvers_find_planted_clusters_in_views_that_lack_samples(system, solver):
    made = make_multiview(200, n_views=3, n_clusters=C, separation=6.0, missing=0.25, random_state=1)
    model = fit(system, Views(made.views, mask=made.mask), solver=solver)
    assert ari(made.y, model.labels_) > 0.9
    assert len(model.descriptions_) > 1 and model.graph_.shape == (200, 200)
    assert abs(model.graph_ - model.graph_.T).max() == 0 and model.graph_.diagonal().max() == 0


def test_the_unified_graph_is_the_mean_of_graphs_scaled_by_their_degrees(sample):
    """Of the default description alone it is half of that, at least."""
    model = fit(SimilarityGraphFusion, sample.views)
    graph = fit(SimilarityGraphFusion, sample.views, descriptions="default").graph_
    roots = np.sqrt(graph.sum(axis=1))
    alone = sparse.csr_array(graph / roots[:, None] / roots[None, :])
    rest = (model.graph_ - model.descriptions_.share[0] * alone).toarray()
    assert rest.min() > -1e-12 and rest.max() > 0.01


def test_a_callback_and_warnings_are_of_the_default_description(sample):
    rounds = []
    model = fit(SimilarityGraphFusion, sample.views, callback=lambda i, info: rounds.append(i))
    assert rounds == list(range(1, model.n_iter_ + 1))
    with pytest.warns(UserWarning, match="max_iter") as warned:
        fit(SimilarityGraphFusion, sample.views, max_iter=5, tol=1e-9)
    assert len(warned) == 1


# New samples, files, checkpoints


@every
@pytest.mark.parametrize("missing", [False, True])
def test_samples_that_come_again_get_their_cluster(system, missing, sample):
    mask = np.random.default_rng(2).random((N, 3)) > (0.2 if missing else -1)
    mask[~mask.any(axis=1)] = True
    views = Views(sample.views, mask=mask)
    model = fit(system, views)
    shares = model.predict_proba(views)
    assert shares.shape == (N, C) and shares.min() >= 0
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert np.mean(model.predict(views) == model.labels_) > 0.95
    near = Views({name: x + 1e-7 for name, x in sample.views.items()}, mask=mask)
    assert np.mean(model.predict(near) == model.labels_) > 0.9


def test_probabilities_are_the_mean_of_those_by_each_description(sample):
    model = fit(DistanceGraphFusion, sample.views)
    rng = np.random.default_rng(0)
    new = {name: x[:30] + rng.normal(size=(30, x.shape[1])) for name, x in sample.views.items()}
    default = fit(DistanceGraphFusion, sample.views, descriptions="default")
    default.predictor_ = replace(default.predictor_, labels=model.predictor_.labels)
    rest = model.predict_proba(new) - model.descriptions_.share[0] * default.predict_proba(new)
    assert rest.min() > -1e-12
    np.testing.assert_allclose(rest.sum(axis=1), 1 - model.descriptions_.share[0])


@pytest.mark.parametrize("kind", [np.float32, np.float64, sparse.csr_array])
@every
def test_a_file_gives_the_same_predictions(system, kind, sample, tmp_path):
    def made(x):
        return kind(np.maximum(x, 0)) if kind is sparse.csr_array else x.astype(kind)

    views = {name: made(x) for name, x in sample.views.items()}
    model = fit(system, views)
    loaded = load(model.save(tmp_path / "model.consilience"))
    new = {name: made(x[:25] + 0.1) for name, x in sample.views.items()}
    np.testing.assert_array_equal(loaded.predict_proba(new), model.predict_proba(new))
    assert str(loaded.descriptions_) == str(model.descriptions_)
    assert (loaded.matched_shares_ is None) == (model.matched_shares_ is None) == (system is AverageGraph)
    if model.matched_shares_ is not None:
        np.testing.assert_array_equal(loaded.matched_shares_, model.matched_shares_)


class Stop(BaseException):
    """Ends a fit."""


@pytest.mark.long
@pytest.mark.parametrize("search", ["exact", "approximate"])
@pytest.mark.parametrize(
    "stage", ["agree", "connect", "trust", "weigh", "fuse", "sparsify", "describe", "redescribe", "embed"]
)
def test_stopped_after_any_stage_it_ends_as_if_it_had_not_been_stopped(
    stage, search, sample, tmp_path, monkeypatch
):
    made = {"neighbor_search": search}
    expected = fit(SimilarityGraphFusion, sample.views, **made)
    ran, plain = [], Run._run

    def stopping(run, name, detail, work):
        value = plain(run, name, detail, lambda: ran.append(name) or work())
        if name == stage:
            raise Stop
        return value

    def noting(run, name, detail, work):
        return plain(run, name, detail, lambda: again.append(name) or work())

    again = []
    with config_context(checkpoint_dir=tmp_path / "kept"):
        monkeypatch.setattr(Run, "_run", stopping)
        with pytest.raises(Stop):
            fit(SimilarityGraphFusion, sample.views, **made)
        monkeypatch.setattr(Run, "_run", noting)
        model = fit(SimilarityGraphFusion, sample.views, **made)
    done = set(ran) - {"prepare"}
    assert stage in done
    assert not done & set(again)  # nothing that was finished is run again
    assert_same_fit(model, expected)
    np.testing.assert_array_equal(model.matched_shares_, expected.matched_shares_)
    new = {name: x[:9] + 0.1 for name, x in sample.views.items()}
    np.testing.assert_array_equal(model.predict_proba(new), expected.predict_proba(new))


@pytest.mark.long
def test_resumed_with_approximate_neighbours_fewer_are_still_the_first_of_all(tmp_path, monkeypatch):
    views = make_multiview(3000, n_views=2, n_clusters=6, separation=3.5, n_features=30, random_state=0).views
    made = {"n_clusters": 6, "metric": "euclidean", "neighbor_search": "approximate"}
    expected = fit(SimilarityGraphFusion, views, **made)
    assert [expected.descriptions_.name[i] for i in expected.descriptions_.others] == ["default"]
    plain = Run._run

    def stopping(run, name, detail, work):
        if name == "describe":
            raise Stop
        return plain(run, name, detail, work)

    with config_context(checkpoint_dir=tmp_path):
        with monkeypatch.context() as patch:
            patch.setattr(Run, "_run", stopping)
            with pytest.raises(Stop):
                fit(SimilarityGraphFusion, views, **made)
        assert_same_fit(fit(SimilarityGraphFusion, views, **made), expected)
