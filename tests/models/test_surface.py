"""What people meet: how models are made, which parameters they have, and the table of the views."""

import inspect

import numpy as np
import pytest

import consilience
from consilience import (
    DistanceGraphFusion,
    KMeansLabels,
    fusion,
    inspection,
    make_multiview,
    metrics,
    stages,
)
from consilience.models import PAPER, GraphFusion, MultiviewClusterer, systems

pytestmark = pytest.mark.filterwarnings("ignore:The graph has .* connected components")
EVERY_SYSTEM = pytest.mark.parametrize("system", systems().values(), ids=systems())
GONE = {"backend", "n_init", "resolution", "lambda_", "b_hat", "n_hat", "help", "warn"}


@EVERY_SYSTEM
def test_parameters_are_given_by_name(system):
    with pytest.raises(TypeError, match=rf"{system.__name__}\(n_clusters=12\)"):
        system(12)
    with pytest.raises(TypeError, match="no_such"):
        system(no_such=1)


@EVERY_SYSTEM
def test_old_names_are_gone(system):
    names = set(system().get_params())
    assert not names & GONE and {"engine", "n_clusters", "metric", "scale"} <= names
    assert system().get_params().get("missing", "impute") == "impute"


@EVERY_SYSTEM
def test_one_default_of_restarts(system):
    assert system().get_params().get("assign_labels", "kmeans") == "kmeans"
    assert KMeansLabels().n_init == 30


def test_no_public_function_has_a_parameter_of_an_old_name():
    for package in (consilience, inspection, stages, fusion, metrics):
        for name in package.__all__:
            one = getattr(package, name)
            if inspect.isfunction(one):
                parameters = inspect.signature(one).parameters
                assert not set(parameters) & (GONE - {"n_init", "resolution"}), name
                assert not any(p.kind is p.VAR_KEYWORD for p in parameters.values()), name


@EVERY_SYSTEM
def test_one_base_and_leaves_below_it(system):
    ours = [cls for cls in system.__mro__[1:] if cls.__module__.startswith("consilience.")]
    assert ours[-1] is MultiviewClusterer
    assert len(ours) <= 2


def test_the_paper_fixes_every_behaviour_that_it_names():
    assert set(PAPER) <= set(DistanceGraphFusion().get_params())
    assert PAPER["view_weights"] == PAPER["row_weights"] == "uniform"
    for key in PAPER:
        assert f"`{key}`" in inspect.getsource(inspect.getmodule(GraphFusion)), key


def test_the_views_are_one_table():
    data = make_multiview(120, n_views=3, n_clusters=3, separation=4.0, random_state=0)
    noise = np.random.default_rng(0).normal(size=(120, 5))
    views = {**data.views, "noise": noise, "flat": np.ones((120, 2))}
    with pytest.warns(UserWarning):
        model = DistanceGraphFusion(n_clusters=3, random_state=0).fit(views)
    table = model.views_
    assert list(table.name) == list(views)
    assert table.kept.tolist() == [True, True, True, False, False]
    assert table.status[0] == "kept" and len(set(table.status[3:])) == 2
    assert table.weight[3] == table.weight[4] == 0
    np.testing.assert_allclose(table.contribution.sum(), 1)
    np.testing.assert_array_equal(table.weight, model.view_weights_)
    np.testing.assert_array_equal(table.scale, model.view_scales_)
    np.testing.assert_array_equal(table.contribution, model.view_contributions_)
    frame = table.to_frame()
    assert "weight" in frame and len(frame) == len(views)
    assert table["noise"]["weight"] == 0
    for text in ("noise", "kept"):
        assert text in str(table)


@EVERY_SYSTEM
def test_nothing_private_stays_on_a_model(system):
    data = make_multiview(60, n_views=3, n_clusters=3, separation=4.0, random_state=0)
    model = system(n_clusters=3, random_state=0).fit(data.views)
    extra = set(vars(model)) - set(model.get_params())
    assert extra and all(name.endswith("_") and not name.startswith("_") for name in extra)
