"""Stages, models, inspection and prediction leave handles alone: an engine may keep them anywhere."""

import numpy as np
import pytest
from tests.engines.opaque import OpaqueEngine, Sealed

from consilience import (
    DistanceGraphFusion,
    Views,
    ampute,
    config_context,
    consistent_graph,
    load,
    load_digits_views,
    make_multiview,
)
from consilience.engines import Engine
from consilience.inspection import does_fusion_help, inspect
from consilience.models import SharedViews, systems
from consilience.testing import check_engine

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def views():
    views, _ = load_digits_views(return_X_y=True)
    # Of so few samples, the pixels are nearly a copy of the Karhunen-Loeve coefficients, and left out.
    return {name: views[name][:200] for name in ("fourier", "profiles", "karhunen", "zernike")}


def assert_same_fit(one, other):
    np.testing.assert_array_equal(one.labels_, other.labels_)
    if hasattr(one, "graph_"):
        graphs = [
            model.graph_ if isinstance(model.graph_, np.ndarray) else model.graph_.toarray()
            for model in (one, other)
        ]
        np.testing.assert_array_equal(*graphs)


def assert_nothing_sealed(model):
    for name, value in vars(model).items():
        values = value if isinstance(value, (tuple, list)) else [value]
        assert not any(isinstance(one, Sealed) for one in values), f"{name} is a handle"


def test_handles_are_closed():
    handle = OpaqueEngine().adopt(np.ones(3))
    for look in (len, list, np.asarray, bool, lambda x: x[0], lambda x: x.shape, lambda x: x + 1):
        with pytest.raises((TypeError, AttributeError)):
            look(handle)
    with pytest.raises(AssertionError, match="another engine"):
        OpaqueEngine().fetch(handle)


def test_the_seam_works_with_closed_handles():
    check_engine(OpaqueEngine())


@pytest.mark.parametrize("name", systems())
def test_every_model(name, views):
    given = {"n_clusters": 4, "random_state": 0}
    sealed = systems()[name](**given, engine=OpaqueEngine()).fit(views)
    assert_same_fit(sealed, systems()[name](**given).fit(views))
    assert_nothing_sealed(sealed)


@pytest.mark.parametrize("name", ["SGF", "DGF", "Average"])
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"n_clusters": "auto"},
        {"view_weights": "uniform", "row_weights": "uniform"},
        {"view_weights": "agreement", "row_weights": "agreement"},
        {"assign_labels": "cluster_qr"},
        {"missing": "plain"},
    ],
    ids=str,
)
def test_every_way_to_fit_and_predict(name, more, views):
    partial = ampute(Views(views), 0.25, random_state=1)
    given = {"n_clusters": 4, "random_state": 0, **more}
    for data in (views, partial):
        sealed = systems()[name](**given, engine=OpaqueEngine()).fit(data)
        plain = systems()[name](**given).fit(data)
        assert_same_fit(sealed, plain)
        assert_nothing_sealed(sealed)
        new = {key: array[:30] + 0.01 for key, array in views.items()}
        np.testing.assert_array_equal(sealed.predict_proba(new), plain.predict_proba(new))


def test_exact_solver(views):
    given = {"n_clusters": 4, "random_state": 0, "solver": "exact"}
    assert_same_fit(
        DistanceGraphFusion(**given, engine=OpaqueEngine()).fit(views),
        DistanceGraphFusion(**given).fit(views),
    )


def test_inspection_and_the_question_whether_fusing_helps(views):
    given = {"n_clusters": 4, "random_state": 0}
    sealed = inspect(DistanceGraphFusion(**given, engine=OpaqueEngine()).fit(views))
    plain = inspect(DistanceGraphFusion(**given).fit(views))
    np.testing.assert_array_equal(sealed.samples.scores, plain.samples.scores)
    np.testing.assert_array_equal(sealed.pairs.pairs, plain.pairs.pairs)
    few = {name: array[:90] for name, array in list(views.items())[:3]}
    answers = [
        does_fusion_help(few, 3, n_resamples=2, random_state=0, engine=one)
        for one in (OpaqueEngine(), "numba")
    ]
    np.testing.assert_array_equal(answers[0].labels, answers[1].labels)
    assert answers[0].sentence == answers[1].sentence


def test_functional_twins():
    weights = np.random.default_rng(0).random((50, 3))
    sealed, plain = (consistent_graph(weights, engine=one) for one in (OpaqueEngine(), "numba"))
    np.testing.assert_array_equal(sealed.fused, plain.fused)
    np.testing.assert_array_equal(sealed.consistent, plain.consistent)


def test_shared_views_checkpoints_and_files(views, tmp_path):
    engine, given = OpaqueEngine(), {"n_clusters": 4, "random_state": 0}
    plain = DistanceGraphFusion(**given).fit(views)
    shared = SharedViews(views)
    for _ in range(2):
        assert_same_fit(DistanceGraphFusion(**given, engine=engine).fit(shared), plain)
    with config_context(checkpoint_dir=tmp_path / "kept"):
        assert_same_fit(DistanceGraphFusion(**given, engine=engine).fit(views), plain)
    model = DistanceGraphFusion(**given).fit(views)
    assert_same_fit(load(model.save(tmp_path / "fit.consilience")), plain)


def test_all_functions_are_used(views):
    """What no model, prediction or inspection calls does not belong to the seam."""
    used = set()
    data = make_multiview(80, n_views=3, n_clusters=3, separation=4.0, random_state=0)
    partial = ampute(Views(data.views), 0.3, random_state=0)
    for name, system in systems().items():
        engine = OpaqueEngine()
        model = system(n_clusters=3, random_state=0, engine=engine)
        model.fit(partial if system.takes_missing else data.views)
        if name in ("SGF", "DGF", "Average"):
            model.predict(data.views)
        if name in ("SGF", "DGF"):
            inspect(model)
            model.set_params(solver="exact", n_clusters="auto").fit(data.views)
        used |= engine.calls
    engine = OpaqueEngine()
    does_fusion_help(data.views, 3, n_resamples=2, random_state=0, engine=engine)
    consistent_graph(np.random.default_rng(0).random((20, 2)), engine=engine)
    spoiled = make_multiview(200, n_views=3, n_clusters=3, separation=4.0, random_state=0).views
    rng = np.random.default_rng(0)
    rows = [np.array(array) for array in spoiled.values()]
    rows[2][:60] = rng.permutation(rows[2][:60])  # some rows are not to be trusted
    DistanceGraphFusion(n_clusters=3, random_state=0, engine=engine).fit(rows).predict(rows)
    noise = rng.normal(size=(200, 4))  # agrees with no other view, but alone has seen five samples
    for array in rows:
        array[:5] = np.nan
    with pytest.warns(UserWarning, match="agrees with no other view"):
        DistanceGraphFusion(n_clusters=3, random_state=0, engine=engine).fit([*rows, noise])
    similar = np.exp(-((spoiled["view_0"][:, None] - spoiled["view_0"][None]) ** 2).sum(-1) / 8)
    views = Views({"a": similar, "b": similar**2}, pairwise=True)
    DistanceGraphFusion(
        n_clusters=3, metric="precomputed_similarity", view_weights="uniform", engine=engine, random_state=0
    ).fit(views)
    used |= engine.calls
    # `keep_largest` is for the inspection of a FusionResult, which does not know its engine.
    unused = Engine.__abstractmethods__ - used - {"n_threads", "limit", "fetch", "adopt", "keep_largest"}
    assert not unused
