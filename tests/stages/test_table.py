"""The table of stages: plans, costs and memory estimates follow from its entries."""

import logging
from importlib import import_module
from typing import get_type_hints

import numpy as np
import pytest

from consilience import ampute, config_context, make_multiview
from consilience.engines import get_engine
from consilience.models import systems
from consilience.run.execution import Run
from consilience.stages import table
from consilience.stages.sizes import FitSize, ViewSize
from consilience.stages.table import LIBRARIES, STAGES, Memory, Stage, estimate, plan_of
from consilience.views import Views

pytestmark = [
    pytest.mark.filterwarnings("ignore:The graph has .* connected components"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]
NAMES = [stage.name for stage in STAGES]
OF_THE_TABLE = ["SGF", "DGF", "Average"]  # models that fuse views on shared edges
SIZE = FitSize(1000, (ViewSize(64), ViewSize(32)), 10, 5)
SIZES = {
    "few samples": FitSize(3, (ViewSize(1),), 2, 2),
    "usual": SIZE,
    "average": FitSize(1000, (ViewSize(64), ViewSize(32)), 10, 5, method="average"),
    "missing": FitSize(1000, (ViewSize(64), ViewSize(32)), 10, 5, missing=True, weighs_rows=True),
    "many samples": FitSize(10**6, (ViewSize(64), ViewSize(32), ViewSize(128)), 10, 20, n_threads=8),
    "exact": FitSize(10**5, (ViewSize(64),), 10, 20, search="exact"),
    "approximate": FitSize(10**4, (ViewSize(64),), 10, 20, search="approximate"),
    "trust": FitSize(1000, (ViewSize(64), ViewSize(32)), 10, 5, learns_trust=True),
    "high effort": FitSize(1000, (ViewSize(64), ViewSize(32)), 10, 5, learns_trust=True, describes=True),
    "too many to describe": FitSize(10**5, (ViewSize(64),), 10, 20, learns_trust=True, describes=True),
}
every_size = pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)


@pytest.fixture(scope="module")
def sample():
    return make_multiview(80, n_views=3, n_clusters=3, separation=4.0, random_state=0)


def names_of(size, selects=False):
    """Return the stages that a fit of a size has."""
    has = {"select": selects, "trust": size.learns_trust}
    has |= dict.fromkeys(("describe", "redescribe"), size.describes)
    return [name for name in NAMES if has.get(name, True)]


def planned(model, views):
    engine = get_engine(model.engine)
    views = Views(views)
    with engine.limit(model.n_jobs):
        return model.plan_stages(views, model._resolve(views, engine), engine)


def test_names_are_different_and_those_of_modules():
    assert len(set(NAMES)) == len(NAMES)
    for stage in STAGES:
        module = import_module(f"consilience.stages.{stage.name.removeprefix('re')}")
        assert stage.what and stage.returns
        hints = get_type_hints(getattr(module, stage.name))
        assert hints["return"].__dataclass_params__.frozen
        assert stage.returns.split(",")[0] == hints["return"].__name__


def test_a_stage_needs_only_stages_before_it():
    for i, stage in enumerate(STAGES):
        assert set(stage.needs) <= set(NAMES[:i]), stage.name


@pytest.mark.parametrize("name", OF_THE_TABLE)
@pytest.mark.parametrize("n_clusters", [3, "auto"])
@pytest.mark.parametrize("effort", ["low", "medium", "high"])
def test_every_stage_that_a_model_plans_is_an_entry(name, n_clusters, effort, sample):
    made = {"n_clusters": n_clusters, "row_weights": "auto", "effort": effort}
    plan = planned(systems()[name](random_state=0, **made), sample.views)
    left_out = {
        "low": {"trust", "describe", "redescribe"},
        "medium": {"describe", "redescribe"},
        "high": set(),
    }
    left_out = left_out[effort] | (set() if n_clusters == "auto" else {"select"})
    assert [stage.name for stage in plan] == [one for one in NAMES if one not in left_out]
    for stage in plan:
        needed = STAGES[NAMES.index(stage.name)].needs
        assert stage.needs == tuple(one for one in needed if one not in left_out)
    assert len(plan[NAMES.index("search")].seconds) == 3  # a part for each view


@pytest.mark.parametrize("name", systems())
def test_systems_plan_entries_of_the_table(name, sample):
    plan = [stage.name for stage in planned(systems()[name](n_clusters=3), sample.views)]
    assert set(plan) <= {*NAMES, *(stage.name for stage in table.OTHER_STAGES)}
    assert plan[0] == "prepare" and "label" in plan


@pytest.mark.parametrize("name", systems())
def test_the_stages_that_are_run_are_those_that_are_planned(name, sample, monkeypatch):
    ran, plain = [], Run._run

    def noting(run, stage, detail, work):
        ran.append(stage)
        return plain(run, stage, detail, work)

    monkeypatch.setattr(Run, "_run", noting)
    model = systems()[name](n_clusters=3, random_state=0)
    plan = planned(model, sample.views)
    model.fit(sample.views)
    assert sorted(ran) == sorted(stage.name for stage in plan for _ in stage.seconds)
    assert set(model.timings_) == {stage.name for stage in plan}


@every_size
@pytest.mark.parametrize("selects", [False, True])
def test_costs_are_positive(size, selects):
    plan = plan_of(size, selects=selects)
    assert [stage.name for stage in plan] == names_of(size, selects)
    # An average has no agreement to measure, and many samples have one description: nothing else is free.
    free = set() if size.is_fusion else {"agree"}
    free |= set() if size.tries_descriptions else {"describe", "redescribe"}
    for stage in plan:
        assert np.isfinite(stage.seconds).all() and min(stage.seconds) >= 0
        assert min(stage.seconds) > 0 or stage.name in free, stage.name


@every_size
def test_memory_is_never_negative_and_every_stage_needs_some(size):
    for stage in STAGES:
        for one in stage.memory:
            assert np.isfinite(one.n_bytes(size)) and one.n_bytes(size) >= 0, one.what
    needed = estimate(size)
    assert list(needed.stages) == names_of(size)
    assert min(needed.stages.values()) >= LIBRARIES + size.n_input > LIBRARIES
    assert needed.peak == max(needed.stages.values())


@pytest.mark.parametrize("more", [{"n_samples": 2000}, {"n_neighbors": 20}, {"n_vectors": 10}], ids=str)
def test_more_work_costs_no_less(more):
    larger = FitSize(**{"n_samples": 1000, "views": SIZE.views, "n_neighbors": 10, "n_vectors": 5, **more})
    few, many = (sum(sum(stage.seconds) for stage in plan_of(size)) for size in (SIZE, larger))
    assert many > few


def held(needed, name):
    return needed.stages[name] - needed.libraries - needed.input


@pytest.fixture
def with_smoothing(monkeypatch):
    """A table with one more stage, as one who adds a stage would write it."""
    entry = Stage(
        "smooth",
        "similarities smoothed along the edges",
        "Smoothed",
        ("connect", "fuse"),
        lambda s: [3e-8 * s.n_edges, 1e-8 * s.n_edges],
        (Memory("smoothed", "end", lambda s: 1000.0), Memory("scratch", "smooth", lambda s: 500.0)),
    )
    place = NAMES.index("fuse") + 1
    monkeypatch.setattr(table, "STAGES", (*STAGES[:place], entry, *STAGES[place:]))
    return entry


def test_adding_a_stage_is_one_entry(with_smoothing):
    before = {stage.name: stage for stage in STAGES}
    plan = plan_of(SIZE)
    names = [stage.name for stage in plan]
    assert names.index("smooth") == names.index("fuse") + 1 == names.index("sparsify") - 1
    (added,) = (stage for stage in plan if stage.name == "smooth")
    assert added.needs == ("connect", "fuse")
    assert added.seconds == (3e-8 * SIZE.n_edges, 1e-8 * SIZE.n_edges)
    for stage in plan:
        if stage is not added:
            assert stage.seconds == tuple(before[stage.name].seconds(SIZE))
    assert "smooth" in estimate(SIZE).stages


def test_what_a_new_stage_holds_is_in_the_estimate(with_smoothing, monkeypatch):
    added = estimate(SIZE)
    monkeypatch.setattr(table, "STAGES", STAGES)
    plain = estimate(SIZE)
    for name in plain.stages:
        later = NAMES.index(name) > NAMES.index("fuse")
        assert held(added, name) == held(plain, name) + (1000 if later else 0)
    assert held(added, "sparsify") == held(plain, "sparsify") + 1000
    assert held(added, "smooth") >= 1500  # with the scratch, which is not held after it


def test_a_new_stage_is_run_timed_shown_and_kept(with_smoothing, tmp_path, caplog):
    caplog.set_level(logging.INFO, "consilience")
    run = Run(get_engine("numpy"), plan_of(SIZE))
    assert run.stage("smooth", lambda x, *, engine: x + 1, 1) == 2
    assert "smooth" in run.progress.seconds
    assert any("smooth" in record.getMessage() for record in caplog.records)


def test_the_plan_of_views_that_lack_samples(sample):
    views = ampute(Views(sample.views), 0.2, random_state=0)
    with config_context(memory_limit="100 GB"):
        plan = planned(systems()["DGF"](n_clusters=3), views)
    assert [stage.name for stage in plan] == [name for name in NAMES if name != "select"]
