"""How much memory a fit is estimated to need, and the refusal of fits that would need too much."""

import re
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from consilience import (
    DistanceGraphFusion,
    SimilarityGraphFusion,
    Views,
    config_context,
    make_multiview,
    memory_estimate,
)
from consilience.engines import get_engine
from consilience.engines.numba import NumbaEngine
from consilience.models import AverageGraph, fusion
from consilience.stages import table
from consilience.stages.memory import with_samples
from consilience.stages.memory_advice import Bound, cheapest
from consilience.stages.sizes import FitSize, ViewSize, is_mapped, view_sizes
from consilience.stages.table import LIBRARIES, LITTLE, STAGES, estimate, plan_of, require_memory

pytestmark = pytest.mark.filterwarnings("ignore:The graph has .* connected components")
MILLION = {"n_samples": 10**6, "views": [64, 32, 128], "n_neighbors": 10, "n_clusters": 20}
NAMES = [stage.name for stage in STAGES]
ESTIMATED = [name for name in NAMES if name != "select"]  # which takes nothing
FITTED = {"SGF": SimilarityGraphFusion, "DGF": DistanceGraphFusion, "Average": AverageGraph}


@pytest.fixture(scope="module")
def sample():
    return make_multiview(300, n_clusters=3, separation=5.0, random_state=0)


def of(**changed):
    return memory_estimate(**{**MILLION, **changed})


@pytest.fixture
def size_of(monkeypatch):
    """Return a function: the size that a model plans a fit with."""

    def size(model, views):
        sizes, engine = [], get_engine(model.engine)
        with monkeypatch.context() as patch, engine.limit(model.n_jobs):
            patch.setattr(fusion, "require_memory", lambda size, who, _: sizes.append(size))
            model.plan_stages(views, model._resolve(views, engine), engine)
        return sizes[0]

    return size


def test_everything_that_takes_memory_is_held_until_a_stage_that_comes_later():
    for i, stage in enumerate(STAGES):
        assert set(stage.needs) <= set(NAMES[:i])
        for one in stage.memory:
            assert one.until in (*NAMES[i:], "end"), one.what


def test_the_peak_is_that_of_the_largest_stage():
    needed = of()
    assert needed.peak == needed.stages[needed.peak_stage] == max(needed.stages.values())
    assert list(needed.stages) == ESTIMATED
    assert needed.libraries == LIBRARIES and needed.input == 8 * 10**6 * 224
    assert needed.added == needed.peak - needed.libraries - needed.input > 0
    lines = str(needed).splitlines()
    assert len(lines) == 2 + len(ESTIMATED) and sum("peak" in line for line in lines) == 1
    assert repr(needed).startswith("MemoryEstimate(peak='") and "\n" not in repr(needed)


@pytest.mark.parametrize(
    "more",
    [
        {"n_samples": 2 * 10**6},
        {"views": [64, 32, 128, 64]},
        {"n_neighbors": 20},
        {"n_clusters": 400},
        {"metric": "cosine"},
        {"missing": True},
    ],
)
def test_more_of_anything_needs_more(more):
    assert of(**more).peak > of().peak


@pytest.mark.parametrize(
    "less", [{"dtype": np.float32}, {"mapped": True}, {"system": "Average"}, {"row_weights": "uniform"}]
)
def test_what_needs_less(less):
    assert of(**less).peak < of().peak


def test_the_number_of_views_is_enough_if_features_are_not_to_count():
    needed = memory_estimate(10**6, 3, 10, 20)
    assert needed.input == 0 and needed.stages["fuse"] == of(mapped=True).stages["fuse"]


def test_sparse_views_count_what_they_store():
    dense, stored = of(views=[10_000]), of(views=[10_000], n_nonzero=[10**8])
    assert stored.input == pytest.approx(12 * 10**8, rel=0.01)
    assert dense.input == 8 * 10**10


def test_views_in_an_order_of_the_fit_are_copies_up_to_a_number():
    given, content = (of(n_samples=10**5, row_order=order) for order in ("given", "content"))
    copies = 8 * 10**5 * 224
    for name in ESTIMATED[:-1]:
        assert content.stages[name] - given.stages[name] == copies
    assert content.stages["label"] - given.stages["label"] > copies  # results are put back, too
    given, content = (of(n_samples=10**5, mapped=True, row_order=order) for order in ("given", "content"))
    assert content.stages["search"] - given.stages["search"] == copies  # of views in files, too
    assert of(row_order="given").stages == of().stages  # 224 million numbers are not copied
    with pytest.raises(ValueError, match="row_order"):
        of(row_order="sorted")


def test_samples_with_ids_are_not_taken_to_be_in_an_order_of_the_content(sample, size_of):
    model, arrays = DistanceGraphFusion(n_clusters=3), list(sample.views.values())
    assert size_of(model, Views(arrays)).is_reordered
    assert not size_of(model, Views(arrays, sample_ids=range(300))).is_reordered
    assert not size_of(model.set_params(row_order="given"), Views(arrays)).is_reordered


def test_the_order_given_is_advised_where_it_saves_enough():
    size = FitSize(10**5, (ViewSize(400),), 5, 2, row_order="content")
    advice = [str(one.what) for one in cheapest(size, Bound(0), 10)]
    assert "row_order='given'" in advice
    assert "row_order='given'" not in [
        str(one.what) for one in cheapest(replace(size, row_order="given"), Bound(0), 10)
    ]


def test_the_exact_search_has_a_buffer_for_each_thread():
    few, many = (of(n_samples=50_000, n_jobs=n, neighbor_search="exact") for n in (1, 64))
    assert many.stages["search"] - few.stages["search"] == 63 * (2 << 20)


@pytest.mark.parametrize(
    "bad",
    [
        {"system": "SNF"},
        {"n_samples": 0},
        {"n_clusters": -1},
        {"mapped": [True]},
        {"views": 0},
        {"n_nonzero": [1, 2]},
    ],
)
def test_what_cannot_be_estimated_is_refused(bad):
    with pytest.raises(ValueError):
        of(**bad)


@pytest.mark.parametrize("system", FITTED)
def test_a_fit_needs_what_the_function_estimates(system, sample, size_of):
    views = Views([array.astype(np.float32) for array in sample.views.values()])
    for asked in (
        {},
        {"effort": "low"},
        {"effort": "medium"},
        {"effort": "high", "row_weights": "agreement"},
        {"descriptions": "default"},
        {"row_weights": "learned", "effort": "low"},
    ):
        model = FITTED[system](n_clusters=3, n_neighbors=7, n_jobs=1, **asked)
        needed = memory_estimate(
            300,
            [array.shape[1] for array in views.arrays],
            n_neighbors=7,
            n_clusters=3,
            dtype=np.float32,
            system=system,
            n_jobs=1,
            **({"row_weights": "uniform"} if system == "Average" else {}) | asked,
        )
        planned = size_of(model, views)
        assert estimate(planned).stages == needed.stages and needed.input == estimate(planned).input
        assert planned == needed.size


def test_effort_needs_memory_and_descriptions_do_not_with_many_samples():
    low, medium, high = (of(n_samples=20_000, effort=effort) for effort in ("low", "medium", "high"))
    assert set(medium.stages) - set(low.stages) == {"trust"}
    assert set(high.stages) - set(medium.stages) == {"describe", "redescribe"}
    assert high.peak > medium.peak >= low.peak
    copies = 3 * 8 * 20_000 * 224  # three other forms, in double precision
    assert high.stages["describe"] == high.stages["sparsify"] + copies - both_directions(high)
    in_files = of(n_samples=20_000, mapped=True, dtype=np.float32)
    assert in_files.stages["describe"] >= in_files.libraries + copies
    assert of(n_samples=20_001).stages["describe"] < high.stages["describe"] - copies / 2
    assert of(effort="high").peak == of(effort="medium").peak


def both_directions(needed):
    """Return what only the stage `sparsify` holds."""
    size = needed.size
    return int(2 * (size.edge_bytes + 4) * size.n_kept)


@pytest.mark.parametrize(
    ("asked", "advised"),
    [
        ({}, "effort='low'"),
        ({"effort": "medium"}, "effort='low'"),
        ({"descriptions": "confirmed"}, "descriptions='default'"),
        ({"row_weights": "uniform"}, "descriptions='default'"),
        ({"effort": "low"}, None),
        ({"descriptions": "default", "row_weights": "learned"}, None),
    ],
)
def test_less_effort_is_advised_where_it_helps(asked, advised):
    # Of the default, other descriptions need the most; of medium effort, the vectors of many clusters.
    asked = {"n_samples": 10_000, "n_clusters": 500 if "medium" in asked.values() else 20, **asked}
    size = of(**asked).size
    found = {str(one.what): one.needed for one in cheapest(size, Bound(0), 20)}
    of_effort = [what for what in found if what.startswith(("effort", "descriptions"))]
    assert of_effort == ([] if advised is None else [advised])
    if advised is not None:
        parameter, value = advised.split("=")
        changed = {**asked, parameter: value.strip("'")}
        assert found[advised] == of(**changed).peak


@pytest.mark.parametrize("bad", [{"effort": "most"}, {"descriptions": "all"}, {"row_weights": "fair"}])
def test_unknown_settings_are_named(bad):
    ((name, value),) = bad.items()
    with pytest.raises(ValueError, match=f"Unknown {name} '{value}'; known: "):
        of(**bad)


def test_what_views_are(tmp_path):
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(40, 6)))
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    stored = (
        sparse.random_array((40, 9), density=0.5, format="csr", rng=0)
        if hasattr(sparse, "random_array")
        else None
    )
    assert is_mapped(mapped) and is_mapped(mapped[3:]) and is_mapped(np.asarray(mapped))
    assert not is_mapped(np.array(mapped))
    views = Views([mapped, np.eye(40, dtype=np.float32), *([] if stored is None else [stored])])
    sizes = view_sizes(views, ["euclidean", "precomputed_similarity", "cosine"][: views.n_views])
    assert sizes[1] == ViewSize(40, 4, kind="matrix") and sizes[0].n_features == 6
    if stored is not None:
        assert sizes[2] == ViewSize(9, 8, stored.nnz, kind="scaled")


@pytest.mark.parametrize("system", FITTED)
def test_a_limit_below_the_estimate_is_refused_at_once_and_one_above_is_not(
    system, sample, size_of, monkeypatch
):
    model = FITTED[system](n_clusters=3, random_state=0)
    views = Views(sample.views)
    needed = estimate(size_of(model, views)).peak
    with config_context(memory_limit=needed + 1):
        model.fit(views)
    before = model.labels_
    monkeypatch.setattr(NumbaEngine, "nearest", None)  # nothing is searched
    monkeypatch.setattr(NumbaEngine, "place", None)  # nothing is even placed
    with config_context(memory_limit=needed - 1):
        with pytest.raises(
            MemoryError, match=r"needs about .* more than the limit of .* What would help: "
        ) as refused:
            model.fit(views)
    assert "\n" not in str(refused.value) and model.labels_ is before


def test_what_is_not_free_is_refused(sample, monkeypatch):
    monkeypatch.setattr(table, "LITTLE", 0)  # otherwise fits as small as this are never refused
    monkeypatch.setattr(table, "available_bytes", lambda: 1000)
    with pytest.raises(MemoryError, match=r"of memory in addition to the data, and 1\.0 KiB are free"):
        SimilarityGraphFusion(n_clusters=3).fit(sample.views)
    monkeypatch.setattr(table, "available_bytes", lambda: None)
    SimilarityGraphFusion(n_clusters=3, random_state=0).fit(sample.views)


def test_only_fits_that_need_much_depend_on_what_is_free(sample, monkeypatch):
    monkeypatch.setattr(table, "available_bytes", lambda: 1000)
    SimilarityGraphFusion(n_clusters=3, random_state=0).fit(sample.views)
    assert of().added > LITTLE
    with pytest.raises(
        MemoryError, match=r"SGF on 1,000,000 .* in addition to the data, and 1\.0 KiB are free"
    ):
        require_memory(of().size, "SGF", get_engine("numba"))
    monkeypatch.setattr(table, "available_bytes", lambda: int(of().added / 0.9) + 1)
    require_memory(of().size, "SGF", get_engine("numba"))


def test_a_limit_that_not_even_the_libraries_keep(sample):
    with config_context(memory_limit="20 MiB"):
        with pytest.raises(MemoryError, match=r"libraries alone take 320 MiB\. Raise the limit\.$"):
            SimilarityGraphFusion(n_clusters=3).fit(sample.views)


def limited(share, **changed):
    size = of(**changed).size
    bound = Bound(share * estimate(size).peak)
    return size, bound, cheapest(size, bound)


@pytest.mark.parametrize("share", [0.95, 0.8, 0.6, 0.4])
@pytest.mark.parametrize("changed", [{}, {"dtype": np.float32}, {"views": [2000] * 2}, {"n_clusters": 300}])
def test_three_changes_those_that_are_enough_first(share, changed):
    size, bound, found = limited(share, **changed)
    assert len(found) == 3
    assert all(one.needed < bound.needed(size) for one in found)
    enough = [one.needed <= bound.allowed for one in found]
    assert enough == sorted(enough, reverse=True) and enough[0]  # fewer samples are always enough


def test_what_is_needed_after_a_change_is_what_the_advice_says():
    size, bound, found = limited(0.7, views=[2000, 1000])
    in_file = next(one for one in found if one.what.startswith("memory-mapped"))
    assert in_file.needed == of(views=[2000, 1000], mapped=True).peak
    some = next(one for one in found if one.what.startswith("a fit to"))
    n = int(re.search(r"[\d,]+", some.what)[0].replace(",", ""))
    assert some.needed == estimate(with_samples(size, n)).peak <= bound.allowed
    assert estimate(with_samples(size, int(1.1 * n))).peak > bound.allowed  # and a tenth more are too many


def test_the_number_of_neighbours_that_is_advised_is_the_largest_that_is_enough():
    _, bound, found = limited(0.85, mapped=True, row_weights="uniform")
    k = int(next(one.what for one in found if one.what.startswith("n_neighbors")).split("=")[1])
    assert of(mapped=True, row_weights="uniform", n_neighbors=k).peak <= bound.allowed
    assert of(mapped=True, row_weights="uniform", n_neighbors=k + 1).peak > bound.allowed


@pytest.mark.parametrize("model", [SimilarityGraphFusion, AverageGraph])
def test_every_stage_of_a_fit_is_planned_and_no_other(model, sample, size_of):
    for n_clusters in (3, "auto"):
        fitted = model(n_clusters=n_clusters, random_state=0).fit(sample.views)
        plan = plan_of(size_of(fitted, Views(sample.views)), selects=n_clusters == "auto")
        assert [stage.name for stage in plan] == list(fitted.timings_)
        costs = {stage.name: stage.seconds for stage in plan}
        assert {name: len(cost) for name, cost in costs.items()} == {
            name: len(sample.views) if name == "search" else 1 for name in costs
        }
        if model is AverageGraph:  # it compares no views
            assert costs.pop("agree") == (0,)
        assert all(cost > 0 for parts in costs.values() for cost in parts)


def test_an_approximate_search_has_a_cost():
    plan = plan_of(FitSize(10**6, (ViewSize(64),), 10, 20, search="approximate"))
    assert all(cost > 0 for stage in plan for cost in stage.seconds)
